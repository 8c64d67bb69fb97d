"""Regions and lines of person height as they are given, and what they are per pixel."""

import math
from dataclasses import dataclass

import cv2
import numpy as np

from features.perspective import MAX_SLOPE, MIN_SLOPE, height_map

from ..errors import SceneError

#: Largest width or height, and largest number of pixels of a frame: a line of JSON must not fill the memory.
MAX_SIDE, MAX_PIXELS = 16384, 1 << 26
#: Of a corner, which may lie outside of the frame.
MAX_COORDINATE = 2 * MAX_SIDE
#: Share of the frame's size by which corners may lie outside of it, to take in its edge.
_OVER_THE_EDGE = 0.1

Polygon = tuple[tuple[float, float], ...]
#: From where to where, pixels.
Axis = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class HeightLine:
    """Person height over the row of the feet.

    A standing person with the feet at row y is `slope · y + intercept` pixels tall, at least `smallest` and
    at most `largest` pixels: nobody is expected beyond. Rows count from the middle of the first row.
    """

    slope: float
    intercept: float
    smallest: float
    largest: float

    def scaled(self, factor: float) -> "HeightLine":
        """The line in an image of `factor` times as many rows."""
        return HeightLine(
            self.slope,
            factor * self.intercept + self.slope * (1 - factor) / 2,
            factor * self.smallest,
            factor * self.largest,
        )


def whole_frame(size_wh: tuple[int, int]) -> tuple[Polygon, ...]:
    """The polygon of all pixels; SceneError where a side has but one."""
    right, bottom = size_wh[0] - 1, size_wh[1] - 1
    if not (right and bottom):
        found = f"{size_wh[0]}x{size_wh[1]}"
        raise SceneError(f"the frames are too small: expected 2x2 pixels or more, found {found}; give larger")
    return (((0, 0), (right, 0), (right, bottom), (0, bottom)),)


def region_of(polygons, size_wh) -> np.ndarray:
    """`mask_of` polygons as they are given; SceneError where one encloses nothing, crosses itself or has a
    corner beyond `MAX_COORDINATE`, or all lie outside."""
    for number, polygon in enumerate(polygons, start=1):
        points = np.array(polygon, np.float64).reshape(-1, 2)  # one without corners too
        if not np.abs(points).max(initial=0) <= MAX_COORDINATE:  # nor does NaN
            raise SceneError(f"polygon {number} of the ROI has a point far outside any frame; correct it")
        if _crosses_itself(points):  # of an hourglass, the middle of the sides would not be counted
            raise SceneError(f"polygon {number} of the ROI crosses itself; give its corners in order")
        if len(points) < 3 or cv2.contourArea(points.astype(np.float32)) < 1:
            raise SceneError(f"polygon {number} of the ROI encloses no area; give three or more corners")
    mask = mask_of(polygons, size_wh)
    if not mask.any():
        raise SceneError(f"the ROI lies outside the {size_wh[0]}x{size_wh[1]} frame; draw it inside")
    return mask


def corner_beyond(polygons, size_wh: tuple[int, int]) -> tuple[float, float] | None:
    """The corner that lies farthest outside of frames of that size, if by more than who draws on them goes
    over their edge; None without one."""
    points = np.concatenate([np.array(polygon, np.float64).reshape(-1, 2) for polygon in polygons])
    last = np.array(size_wh) - 1.0
    by = (np.maximum(-points, points - last) / size_wh).max(axis=1)
    return tuple(points[by.argmax()]) if by.max() > _OVER_THE_EDGE else None


def _crosses_itself(points: np.ndarray) -> bool:
    """Whether two sides of a polygon (n, 2) cross, the ends of each on either side of the other."""

    def side(start, end, point):  # of the line from start to end on which a point lies, by the sign
        (x, y), (u, v) = (end - start).T, (point - start).T
        return x * v - y * u

    starts, ends = points, np.roll(points, -1, axis=0)
    return any(
        (
            (side(start, end, starts) * side(start, end, ends) < 0)
            & (side(starts, ends, start) * side(starts, ends, end) < 0)
        ).any()
        for start, end in zip(starts, ends, strict=True)
    )


def mask_of(polygons, size_wh) -> np.ndarray:
    """Pixels (H, W) bool inside or on the border of any polygon, however small."""
    mask = np.zeros(size_wh[::-1], np.uint8)
    for polygon in polygons:
        cv2.fillPoly(mask, [np.rint(polygon).astype(np.int32)], 1)
    return mask.astype(bool)


def map_of(line: HeightLine, size_wh: tuple[int, int]) -> np.ndarray:
    """Person height (H, W) float32 at each pixel; SceneError where the line fits no camera."""
    try:
        return height_map(line.slope, line.intercept, size_wh, line.smallest, line.largest)
    except ValueError as error:
        raise SceneError(f"the line of person height fits no camera: {error}; correct it") from None


def line_through(persons, size_wh) -> HeightLine:
    """Least-squares line of height over foot row, through people (x, foot_y, height) in pixels; SceneError
    for fewer than two, and where they stand or grow as before no camera."""
    if len(persons) < 2:
        raise SceneError(
            f"expected two or more people for the perspective, found {len(persons)}; "
            "give one far away and one near"
        )
    x, feet, heights = np.array(persons, np.float64).T
    width, height = size_wh
    ranges = (heights, 1, 2 * height), (x, 0, width), (feet, 0, 2 * height)
    if not all(((least <= some) & (some <= most)).all() for some, least, most in ranges):  # nor does NaN
        raise SceneError(
            f"expected people as x,foot_y,height in pixels of the {width}x{height} frame, found "
            "one outside it or less than a pixel tall; measure again"
        )
    if np.ptp(feet) < max(2, 0.02 * height):
        raise SceneError(
            f"the people stand on nearly the same row ({feet.min():g} to {feet.max():g}), which "
            "gives no perspective; take one far away and one near"
        )
    slope, intercept = (float(value) for value in np.polyfit(feet, heights, 1))
    slope = 0.0 if abs(slope) < 1e-9 else slope  # rounding must not turn equal heights into a false slope
    if not MIN_SLOPE <= slope <= MAX_SLOPE or (slope * feet + intercept <= 0).any():
        raise SceneError(
            f"people grow by {slope:.2f} pixels per row, which fits no camera that looks down "
            f"on them (0 to {MAX_SLOPE}); check the rows of the feet and the heights"
        )
    return HeightLine(slope, intercept, float(heights.min() / 2), float(heights.max() * 2))


def axis_text(axis: Axis) -> str:
    return " to ".join(f"{x:g},{y:g}" for x, y in axis)


def parse_polygon(text: str) -> Polygon:
    """Parse "x,y x,y x,y …", at least three points in pixels; SceneError otherwise."""
    points = text.split()
    if len(points) < 3:
        raise SceneError(f"expected a polygon as three or more points x,y x,y x,y, found {text!r}")
    return tuple(_numbers(point, 2, "a point x,y") for point in points)


def parse_person(text: str) -> tuple[float, float, float]:
    """Parse "x,foot_y,height" in pixels; SceneError otherwise."""
    return _numbers(text.strip(), 3, "a person as x,foot_y,height")


def parse_axis(text: str) -> Axis:
    """Parse "x1,y1 x2,y2", from where to where in pixels; SceneError otherwise."""
    points = text.split()
    if len(points) != 2:
        raise SceneError(f"expected an axis as two points x1,y1 x2,y2, found {text!r}")
    axis = tuple(_numbers(point, 2, "a point x,y") for point in points)
    if math.dist(*axis) < 1:
        raise SceneError(f"expected an axis between two points that are apart, found {text!r}")
    return axis


def _numbers(text, count, what) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise SceneError(f"expected {what} in pixels, found {text!r}")
    return numbers
