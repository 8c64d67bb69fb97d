"""What never comes to rest in one place: who stands there all through the footage, or a bush in the wind.

The empty scene shows whoever is there in most of its frames, and people who stand or sit would not be
counted. But nobody is quite still: who shifts from one foot to the other, turns or lifts an arm is somewhat
beside the picture of the scene in every frame, somewhere within one person's outline. So are leaves and tape,
which are to be left out. They are told apart by their shape, and by what of it moves and how far: see
`_odds`. Who sways by less than makes a pixel foreground is told by `features.postures`.
"""

import cv2
import numpy as np

from .images import largest_difference, percentile_of
from .postures import outlines, who_stays

#: In footage of less seconds people who walk past can be all there is of a place, and outlines alone tell.
LEAST_S = 20.0
#: A pixel is restless where somebody may stay: who comes and goes is not there in some of the frames, and
#: hides all around it in others.
OFTEN = 0.12  # it differs from the empty scene in this share of the frames or more,
WITHIN = 0.2  # and of the square that reaches so many person heights from it to each side
SOME, NEARLY_ALL = 0.02, 0.97  # more than the first share differs in 95 % of them, less than the second too
#: Restless pixels so far apart belong to one outline: width and height of a closing, person heights.
_JOINING = 0.25, 0.35
#: Logarithm of the odds that an outline is somebody's, see `_odds`: the sum of each of these times
_PER_RESTLESS = 9.0  # the share of it that is restless (in leaves it is less),
_PER_STRENGTH = 6.0  # the logarithm of its strength (leaves are a little beside, people all elsewhere),
_PER_ASPECT = -3.5  # the logarithm of its width over its height (people are upright),
_CONSTANT = -9.0  # and one
SOMEBODY, NOBODY = 1.4, -1.6  # from the first on it is counted, below the second it sways
#: What sways too: what differs as much in every frame; and unless people pass, what has nobody's shape.
STEADY = 0.06  # the standard deviation of the share of it that differs is less than this
SPARSE = 0.3  # it fills less of its box, as the edge of a road does
FLAT, LOW = 2.5, 0.3  # it is more than so many times as wide as high, or lower, in person heights
#: Outlines of one or two people, in person heights.
HEIGHTS, AREAS = (0.4, 1.3), (0.09, 0.75)  # from the first to the second
WIDTH, SLIM = 1.3, 0.33  # at the most; the least width over height: slimmer are edges of a picture that sways
#: The share of an outline that differs from the empty scene in a frame, over the frames.
MOST_DIFFERING, MOST_VARYING = 0.29, 0.22  # people pass where its mean or its standard deviation is larger
EVEN = 0.034  # water runs or birds peck where its quartiles are closer to each other
#: Of who stands the empty scene shows a picture, of birds and passers-by the ground.
SHOWN = 8.0  # grey levels: the median difference of a picture from what is around it, at the least
_AROUND = 0.12  # person heights: what is so near is around
#: What sways is foreground where it differs by so many grey levels more than in nearly all frames.
_MARGIN = 4
MOST = 254  # the highest threshold
_NEIGHBOURS = np.ones((3, 3), np.uint8)  # a pixel and those around it
#: Pixels whose shares are compared at a time: of all in a crowd they would take half a gigabyte.
_AT_A_TIME = 1 << 12


def never_at_rest(
    frames: np.ndarray,
    image_bgr: np.ndarray,
    threshold: np.ndarray,
    person_height: np.ndarray,
    length_s: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Find who stands in one place in most of the frames or all, and leave out what sways there.

    Parameters
    ----------
    frames : (n, H, W, 3) uint8
        Spread over footage, in the order of time.
    image_bgr : (H, W, 3) uint8
        The empty scene.
    threshold : (H, W) uint8
        By how many grey levels a pixel must differ from it to be foreground.
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel.
    length_s : float
        Seconds that the frames are spread over; 0 where they are far apart.

    Returns
    -------
    standing : (H, W) bool
        Where people stand.
    threshold : (H, W) uint8
        The same, but where something sways so high that hardly a frame differs by more.
    """
    differences = np.stack([largest_difference(frame, image_bgr) for frame in frames])
    away = (differences > threshold).view(np.uint8)
    standing = who_stays(frames, differences, away, person_height, length_s)
    if 0 < length_s < LEAST_S:
        return standing, threshold
    restless = _restless(away, person_height)
    swaying = np.zeros(threshold.shape, bool)
    for box, outline, tall in outlines(restless, person_height, _JOINING):
        differing = away[:, *box][:, outline].view(bool)
        shares = differing.mean(axis=1)
        is_calm = shares <= np.median(shares)
        times = differences[:, *box][is_calm][:, outline] / threshold[box][outline].astype(np.float32)
        strengths = times[times > 1]
        strength = np.median(strengths) if len(strengths) else 1.0
        odds = _odds(outline, restless[box][outline].mean(), strength)
        if odds >= SOMEBODY and _may_be_somebody(outline, tall, shares):
            standing[box] |= outline & _is_shown(box, outline, tall, image_bgr)
        elif _is_swaying(outline, tall, shares, odds):
            swaying[box] |= outline
    if swaying.any():
        swaying = cv2.dilate(swaying.view(np.uint8), _NEIGHBOURS).view(bool) & ~standing
        most = np.minimum(percentile_of(differences[:, swaying], 95) + _MARGIN, MOST)
        threshold = threshold.copy()
        threshold[swaying] = np.maximum(threshold[swaying], most)
    return standing, threshold


def _restless(away, person_height) -> np.ndarray:
    """(H, W) bool: pixels that are often away, (n, H, W) uint8, where some around them always are."""
    often = away.sum(axis=0, dtype=np.uint8) >= OFTEN * len(away)
    rows, columns = np.nonzero(often)
    reach = np.maximum(1, np.round(WITHIN * person_height[rows, columns])).astype(np.intp)
    height, width = often.shape
    top, bottom = np.maximum(rows - reach, 0), np.minimum(rows + reach + 1, height)
    left, right = np.maximum(columns - reach, 0), np.minimum(columns + reach + 1, width)
    corners = [row * (width + 1) + column for row in (top, bottom) for column in (left, right)]
    n_around = np.empty((len(away), len(rows)), np.int32)
    for n, one in zip(n_around, away, strict=True):
        sums = cv2.integral(one).ravel()
        a, b, c, d = (sums.take(corner) for corner in corners)
        n[:] = a - b - c + d
    areas = (bottom - top) * (right - left)
    for first in range(0, len(rows), _AT_A_TIME):
        some = slice(first, first + _AT_A_TIME)
        shares = n_around[:, some] / areas[some]
        least, most = np.quantile(shares, (0.05, 0.95), axis=0, overwrite_input=True)
        often[rows[some], columns[some]] = (least > SOME) & (most < NEARLY_ALL)
    return often


def _odds(outline, restless_share: float, strength: float) -> float:
    """Logarithm of the odds that an outline (h, w) bool is somebody's.

    `strength` is how many times the threshold the differences beyond it are, in the median of the calmer half
    of the frames, in which nobody passes.
    """
    height, width = outline.shape
    of_shape = _PER_ASPECT * np.log(width / height) + _CONSTANT
    return _PER_RESTLESS * restless_share + _PER_STRENGTH * np.log(strength) + of_shape


def _may_be_somebody(outline, tall: float, shares) -> bool:
    """Whether an outline has the size of one or two people who are so many pixels tall and stay."""
    height, width = outline.shape
    lower, upper = np.quantile(shares, (0.25, 0.75))
    return bool(
        HEIGHTS[0] <= height / tall <= HEIGHTS[1]
        and AREAS[0] <= outline.sum() / tall**2 <= AREAS[1]
        and not _is_sparse(outline)
        and SLIM * height <= width <= WIDTH * tall
        and shares.mean() <= MOST_DIFFERING
        and shares.std() <= MOST_VARYING
        and upper - lower >= EVEN
    )


def _is_shown(box, outline, tall: float, image_bgr) -> bool:
    """Whether an empty scene shows something else in an outline (h, w) bool in a box than around it."""
    inside = np.zeros(image_bgr.shape[:2], np.uint8)
    inside[box] = outline
    reach = max(1, round(_AROUND * tall))
    around = cv2.dilate(inside, np.ones((2 * reach + 1,) * 2, np.uint8)) > inside
    if not around.any():
        return False
    usual = np.median(image_bgr[around], axis=0)
    return bool(np.median(np.abs(image_bgr[box][outline] - usual).max(axis=1)) >= SHOWN)


def _is_swaying(outline, tall: float, shares, odds: float) -> bool:
    """Whether an outline has the shape of what sways, or moves like it.

    In one of a dense crowd as much differs in every frame too, as some come where others go.
    """
    is_steady = shares.std() < STEADY
    if shares.mean() > MOST_DIFFERING:
        return bool(is_steady and odds < SOMEBODY)
    height, width = outline.shape
    is_shapeless = _is_sparse(outline) or width > FLAT * height or height < LOW * tall
    return bool(is_steady or is_shapeless or odds < NOBODY)


def _is_sparse(outline) -> bool:
    """Whether an outline (h, w) bool fills so little of its box that it is nobody's."""
    return outline.sum() < SPARSE * outline.size
