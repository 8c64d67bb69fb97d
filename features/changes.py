"""How a frame differs from the empty scene, pixel by pixel and without a decision what is foreground.

A person who sits in dark clothes on a dark bench, or stands for an hour, is no foreground, but changes the
bench's look a little. These quantities join the size view (areas by how much they changed) and the edges
view (edges that the empty scene does not have, and edges at all): what they mean differs from place to place.
"""

from functools import cached_property

import cv2
import numpy as np

from .geometry import Geometry
from .images import largest_difference
from .schema import Quantity
from .size import N_ORIENTATIONS, orientation_bins

#: Lower bounds of the classes of change: largest difference of a channel, grey levels.
CHANGES = (6, 10, 15, 25, 40)
#: Least length of a gradient, or of a difference of two, that counts: grey levels per pixel times the Sobel
#: kernel's weight of 4.
GRADIENTS = (60, 120)
QUANTITIES = (
    *(Quantity(f"changed_{least}", "size", "h²", additive=True) for least in CHANGES),
    *(Quantity(f"new_edges_{30 * k}", "edges", "h²", additive=True) for k in range(N_ORIENTATIONS)),
    *(Quantity(f"gradients_{least}", "edges", "h²", additive=True) for least in GRADIENTS),
)

#: What noise adds to a change, in median deviations of it.
_PER_NOISE = 4.5
_CLASSES = np.searchsorted(CHANGES, np.arange(256), side="right").astype(np.uint8)


class ChangeMeter:
    """Measures changes against one empty scene.

    Parameters
    ----------
    reference_bgr : (H, W, 3) uint8
        The empty scene.
    geometry : Geometry
    """

    def __init__(self, reference_bgr: np.ndarray, geometry: Geometry):
        self.reference_bgr = reference_bgr
        self.geometry = geometry
        self._gradients = _gradients(reference_bgr)

    @cached_property
    def _areas(self) -> np.ndarray:
        areas = 1.0 / np.square(self.geometry.person_height, dtype=np.float32)
        return areas.ravel().astype(np.float64)  # as bincount would make them each time

    def measure(self, frame_bgr: np.ndarray, excess_noise: float = 0.0) -> np.ndarray:
        """Measure a frame (H, W, 3) uint8 whose light is evened out to that of the empty scene.

        Of each change `_PER_NOISE` times the noise is taken that exceeds the usual one, grey levels.

        Returns
        -------
        (n_regions, 13) float64
            Columns as `QUANTITIES`: areas changed by at least 6 but less than 10 grey levels, …; areas with a
            difference of gradients of at least 60, by its direction; areas with a gradient of at least 60,
            and 120. A frame that equals the empty scene gives zeros but for its gradients.
        """
        roi = self.geometry.roi
        difference = largest_difference(frame_bgr, self.reference_bgr)
        change = cv2.LUT(cv2.subtract(difference, round(_PER_NOISE * excess_noise)), _CLASSES)
        changed = np.flatnonzero((change > 0) & roi)
        areas = self._sums(changed, change.ravel().take(changed) - 1, len(CHANGES))

        x, y = _gradients(frame_bgr)
        new_x, new_y = cv2.subtract(x, self._gradients[0]), cv2.subtract(y, self._gradients[1])
        new, _ = self._long(new_x, new_y)
        directions = orientation_bins(*(part.ravel().take(new).astype(np.float32) for part in (new_x, new_y)))
        new_edges = self._sums(new, directions, N_ORIENTATIONS)

        strong, squares = self._long(x, y)
        by_strength = self._sums(strong, squares >= GRADIENTS[1] ** 2, 2)
        return np.hstack([areas, new_edges, by_strength.sum(axis=1, keepdims=True), by_strength[:, 1:]])

    def _long(self, x, y) -> tuple[np.ndarray, np.ndarray]:
        """Pixels of the region (flat indices) whose gradients are long enough, and these lengths squared."""
        squares = cv2.add(cv2.multiply(x, x, dtype=cv2.CV_32F), cv2.multiply(y, y, dtype=cv2.CV_32F))
        pixels = np.flatnonzero((squares >= GRADIENTS[0] ** 2) & self.geometry.roi)
        return pixels, squares.ravel().take(pixels)

    def _sums(self, pixels, bins, n_bins) -> np.ndarray:
        """Areas (n_regions, n_bins) of pixels (flat indices) by region and bin."""
        n_parts = self.geometry.n_parts
        index = self.geometry.parts.take(pixels)
        index *= n_bins
        index += bins
        by_part = np.bincount(index, self._areas.take(pixels), n_parts * n_bins)
        return self.geometry.total(by_part.reshape(n_parts, n_bins))


def _gradients(frame_bgr) -> tuple[np.ndarray, np.ndarray]:
    """Sobel gradients (H, W) int16 in x and y of a frame's brightness."""
    return cv2.spatialGradient(cv2.cvtColor(frame_bgr, cv2.COLOR_BGR2GRAY))
