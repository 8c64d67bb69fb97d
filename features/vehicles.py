"""Vehicles among the foreground: wide and solid, where people beside each other have gaps, heads and legs."""

import cv2
import numpy as np

#: What is thinner is no vehicle: people, of whom dense groups alone leave something, and who touches one. In
#: person heights, as all lengths here (docs/decisions/2026-11-23-vehicles.md has how they were chosen).
THICKNESS = 0.45
#: Least area of a blob with a vehicle, in squared person heights: a person covers about .2.
LEAST_VEHICLE = 1.0
#: Least width, of more than three people beside each other; nor is it less than the height, as that of people
#: behind each other is.
LEAST_WIDTH = 1.6
LEAST_SOLIDITY = 0.85  # share that a vehicle has of its convex hull, at the least,
OVERLAPPING, LEAST_OVERLAPPING_SOLIDITY = 2.5, 0.65  # and from this width on, where several may overlap
REACH = 0.35  # heads and legs are looked for so far above and below
LEAST_COMPANY = 0.1  # a column with more of them than this tells people;
MOST_COMPANY = 0.3  # with more of its columns so, it is no vehicle with some people before or behind it


class VehicleFinder:
    """Tells vehicles from people in a foreground.

    Parameters
    ----------
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel.
    roi : (H, W) bool
        Region of interest, beyond which no foreground is known.
    """

    def __init__(self, person_height: np.ndarray, roi: np.ndarray):
        self._person_height = person_height
        self._radius = THICKNESS / 2 * person_height
        upright = np.ones((3, 1), np.uint8)
        inner = cv2.erode(roi.view(np.uint8), upright, borderType=cv2.BORDER_CONSTANT, borderValue=0)
        self._ends = inner == 0  # of its columns, and what is beyond

    def take_from(self, blobs: np.ndarray, foreground: np.ndarray) -> bool:
        """Take the vehicles among some of its blobs (H, W) bool out of a foreground; whether there are any.

        A blob shall have `LEAST_VEHICLE` of area.
        """
        left, top, width, height = cv2.boundingRect(blobs.view(np.uint8))
        # with a margin of what is none of them, unless the image ends there
        part = np.s_[max(0, top - 1) : top + height + 1, max(0, left - 1) : left + width + 1]
        blobs, radius = blobs[part], self._radius[part]
        core = cv2.distanceTransform(blobs.view(np.uint8), cv2.DIST_L2, 3) > radius
        if not core.any():
            return False
        distance = cv2.distanceTransform((~core).view(np.uint8), cv2.DIST_L2, 3)
        solid = blobs & (distance <= radius)
        n_pieces, labels, boxes, _ = cv2.connectedComponentsWithStats(solid.view(np.uint8), connectivity=8)
        found = np.zeros_like(blobs)
        for number in range(1, n_pieces):
            x, y, width, height, _ = boxes[number]
            tall = self._person_height[part][y + height // 2, x + width // 2]
            if width < max(LEAST_WIDTH * tall, height):
                continue
            reach = round(REACH * tall)
            box = np.s_[max(0, y - reach) : y + height + reach, x : x + width]
            piece = labels[box] == number
            least = LEAST_SOLIDITY if width < OVERLAPPING * tall else LEAST_OVERLAPPING_SOLIDITY
            if _solidity(piece) < least:
                continue
            company = blobs[box] & ~solid[box] & (distance[box] <= radius[box] + reach)
            is_like_people = np.count_nonzero(company, axis=0) > LEAST_COMPANY * tall
            is_like_people |= (piece & self._ends[part][box]).any(axis=0)  # heads or legs may be beyond
            if np.count_nonzero(is_like_people) <= MOST_COMPANY * width:
                found[box] |= piece
        foreground[part] &= ~found
        return bool(found.any())


def _solidity(piece: np.ndarray) -> float:
    """Share that the pixels (h, w) bool have of their convex hull."""
    points = cv2.findNonZero(piece.view(np.uint8))
    hull = np.zeros(piece.shape, np.uint8)
    cv2.fillConvexPoly(hull, cv2.convexHull(points), 1)
    return np.count_nonzero(piece) / np.count_nonzero(hull)
