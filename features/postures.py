"""Who stands or sits in one place through most of the footage, told by the outline of a body.

The empty scene shows whoever is there in most of its frames. But nobody is quite still: at the edge of a body
each frame is somewhat beside that picture, often by less than makes a pixel foreground, and inside hardly. A
posture is kept for seconds, where leaves are elsewhere in each frame, all over; and where people pass, the
frames in between show the scene as it is.
"""

import math
from collections.abc import Iterator, Sequence

import cv2
import numpy as np

from .images import largest_difference, percentile_of

#: Bodies are outlined by pixels that sway more than each of these: a faint one in plain view by the lowest,
#: one beside which people pass by the highest.
LEVELS = 0.7, 1.2, 2.0, 4.0
#: Of so many pixels, of 3 x 3, fewer that sway are noise.
_FEWEST = 3
#: Pixels so far apart belong to one body: width and height of a closing, person heights.
_JOINING = 0.15, 0.2
#: Outlines of one or two people, or what is seen of them, in person heights.
HEIGHTS, AREAS = (0.3, 1.6), (0.05, 0.9)  # from the first to the second
WIDTH, SLIM = 1.3, 0.2  # at the most; the least width over height: slimmer are poles in a view that shifts
#: What outlines people of twice as many pixels and more is joined in squares of two pixels, four and so on: a
#: closing takes as long as its element is large, and some people may fill the picture.
_CLOSED_AT = 64
#: How far its edge reaches into an outline, person heights.
_EDGE = 0.06
#: What is added to sway, to that at the edge and inside, and to differences in grey levels before logarithms.
_FAINT, _FAINT_PART, _FAINT_DIFFERENCE = 0.1, 0.2, 0.3
#: Logarithm of the odds that an outline is a body's: a quadratic form of its quantities, each less its mean
#: and over its standard deviation; products in the order of `numpy.triu_indices`. From so much on it is one.
_MEANS = np.array([0.12, 0.60, -0.05, -0.86, -0.29])
_DEVIATIONS = np.array([0.12, 0.67, 0.38, 0.91, 0.58])
_LINEAR = np.array([1.76, 1.00, -0.76, -1.91, -1.00])
_PRODUCTS = np.array([
    -1.39, 0.72, -0.53, 0.61, 0.14,
    -0.60, 0.49, -1.53, -0.14,
    -0.12, 0.37, 0.26,
    -1.76, -0.20,
    -0.31,
])  # fmt: skip
_CONSTANT = -0.06
SOMEBODY = 0.7
_LATER_S = 0.8  # a frame is compared with one so much later, or more: before, leaves are where they were, too
_LEAST_S = 5.0  # in shorter footage leaves are not told from bodies


def who_stays(
    frames: np.ndarray,
    differences: np.ndarray,
    away: np.ndarray,
    person_height: np.ndarray,
    length_s: float,
) -> np.ndarray:
    """Find who is in one place in most of the frames.

    Parameters
    ----------
    frames : (n, H, W, 3) uint8
        Spread over footage, in the order of time.
    differences : (n, H, W) uint8
        The `largest_difference` of each to the empty scene.
    away : (n, H, W) uint8
        1 where it is foreground by that, else 0.
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel.
    length_s : float
        Seconds that the frames are spread over; 0 where they are far apart.

    Returns
    -------
    (H, W) bool
    """
    stays = np.zeros(person_height.shape, bool)
    if 0 < length_s < _LEAST_S:
        return stays
    sway = sway_of(differences)
    step = math.ceil(_LATER_S * len(frames) / length_s) if length_s else 1
    for box, outline, tall in bodies(sway, person_height):
        share = away[:, *box][:, outline].mean()
        of_body = quantities(outline, tall, frames[:, *box], sway[box], share, step)
        if log_odds(of_body) >= SOMEBODY:
            stays[box] |= outline
    return stays


def sway_of(differences: np.ndarray) -> np.ndarray:
    """(H, W) float32: by how much each pixel differs from the empty scene beyond what pixels usually do, in
    times one grey level more than that. `differences` (n, H, W) uint8 are as `calm_means` takes them."""
    means = calm_means(differences)
    usual = np.median(means)
    return np.maximum(means - usual, 0) / (usual + 1)


def calm_means(differences: np.ndarray) -> np.ndarray:
    """Mean (…) float32 of each pixel's differences (n, …) uint8 from the empty scene; those above its median,
    in which somebody passes, count as the median."""
    middle = np.ceil(percentile_of(differences, 50)).astype(np.uint8)
    return np.minimum(differences, middle).mean(axis=0, dtype=np.float32)


def bodies(
    sway: np.ndarray, person_height: np.ndarray
) -> Iterator[tuple[tuple[slice, slice], np.ndarray, float]]:
    """What may be bodies by their size, in a picture of sway (H, W), as `outlines` has it, without holes."""
    for level in LEVELS:
        beyond = (sway > level).view(np.uint8)
        around = cv2.boxFilter(beyond, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
        beyond &= around >= _FEWEST
        for box, outline, tall in outlines(beyond.view(bool), person_height, _JOINING):
            height, width = outline.shape
            if not (HEIGHTS[0] <= height / tall <= HEIGHTS[1] and SLIM * height <= width <= WIDTH * tall):
                continue
            padded = np.pad(outline, 1).view(np.uint8)
            cv2.floodFill(padded, None, (0, 0), 2)
            outline = (padded != 2)[1:-1, 1:-1]
            if AREAS[0] <= outline.sum() / tall**2 <= AREAS[1]:
                yield box, outline, tall


def outlines(
    pixels: np.ndarray, person_height: np.ndarray, joining: tuple[float, float]
) -> Iterator[tuple[tuple[slice, slice], np.ndarray, float]]:
    """What pixels (H, W) bool outline together, as joined by a closing of such a width and height in person
    heights (H, W): the box, which of its pixels are inside, (h, w) bool, and the person height there."""
    sizes = np.round(2 * np.log2(person_height)).astype(int)  # alike by a factor of the root of two
    joined = np.zeros(pixels.shape, np.uint8)
    for size in np.unique(sizes[pixels]):
        tall, is_size = 2 ** (size / 2), sizes == size
        step = 2 ** max(0, int(np.log2(tall / _CLOSED_AT)))
        element_wh = [2 * round(share * tall / step / 2) + 1 for share in joining]
        reach = step * max(element_wh)
        rows = np.flatnonzero(is_size.any(axis=1))
        band = slice(max(0, rows[0] - reach), rows[-1] + 1 + reach)
        joined[band] |= _closed(pixels[band], element_wh, step) * is_size[band]
    n_labels, labels, stats, _ = cv2.connectedComponentsWithStats(joined)
    for label in range(1, n_labels):
        left, top, width, height, _ = stats[label]
        box = slice(top, top + height), slice(left, left + width)
        yield box, labels[box] == label, float(person_height[top + height // 2, left + width // 2])


def _closed(pixels: np.ndarray, element_wh: Sequence[int], step: int) -> np.ndarray:
    """Pixels (H, W) bool closed by an ellipse of squares of `step` pixels, any of which counts; uint8."""
    height, width = pixels.shape
    any_of = np.ones((step, step), np.uint8)
    squares = cv2.dilate(pixels.view(np.uint8), any_of, anchor=(0, 0))[::step, ::step]
    margin = max(element_wh)
    padded = cv2.copyMakeBorder(squares, *[margin] * 4, cv2.BORDER_CONSTANT, value=0)
    element = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, element_wh)
    closed = cv2.morphologyEx(padded, cv2.MORPH_CLOSE, element)[margin:-margin, margin:-margin]
    return closed.repeat(step, axis=0).repeat(step, axis=1)[:height, :width]


def quantities(
    outline: np.ndarray, tall: float, frames: np.ndarray, sway: np.ndarray, away: float, step: int = 1
) -> np.ndarray:
    """What tells whether an outline is a body's.

    Parameters
    ----------
    outline : (h, w) bool
        In its box.
    tall : float, pixels
        A person's height there.
    frames : (n, h, w, 3) uint8
    sway : (h, w) float32
    away : float
        The share of it that is foreground, in the mean of the frames.
    step : int
        A frame is compared with the one so many frames later, when the posture may be another.

    Returns
    -------
    (5,) float64
        That share, and the logarithms of its sway; of its inside's over its edge's, 0 if it is all edge; of
        how far a frame differs from that a step later over how far from that half of the footage later, the
        first following the last; and of its width over its height.
    """
    reach = max(1, round(_EDGE * tall))
    within = cv2.erode(np.pad(outline, 1).view(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8))
    inside = within[1:-1, 1:-1].view(bool)
    hollow = 0.0
    if inside.any():
        parts = [sway[part].mean() + _FAINT_PART for part in (inside, outline & ~inside)]
        hollow = np.log(parts[0] / parts[1])
    seen = frames[:, outline]
    others = (np.roll(seen, -k, axis=0) for k in (step, len(seen) // 2))
    next_to, later = (calm_means(largest_difference(seen, one)).mean() for one in others)
    height, width = outline.shape
    return np.array([
        away,
        np.log(sway[outline].mean() + _FAINT),
        hollow,
        np.log((next_to + _FAINT_DIFFERENCE) / (later + _FAINT_DIFFERENCE)),
        np.log(width / height),
    ])  # fmt: skip


def log_odds(quantities: np.ndarray) -> float:
    """Logarithm of the odds that an outline with these `quantities` (5,) is a body's."""
    scaled = (quantities - _MEANS) / _DEVIATIONS
    first, second = np.triu_indices(len(scaled))
    return float(_CONSTANT + scaled @ _LINEAR + (scaled[first] * scaled[second]) @ _PRODUCTS)
