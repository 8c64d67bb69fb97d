"""Perspective of a fixed camera: how tall a person is where, cells of equal ground, the scale seen in masks.

On level ground the height in pixels of a standing person grows linearly with the image row y of the feet,
h = slope · y + intercept, and vanishes at the horizon's row −intercept / slope. Rows count downwards from the
middle of the first row of pixels, in pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import cv2
import numpy as np

from .films import films
from .images import largest_difference, median_of, medians, noise_of, percentile_of
from .light import LightMeter, are_grey, unevenness
from .shadows import IN_GREY, SHADOW, is_shadow_at

#: Bounds of the slope of a line of person height over foot row. It is roughly a person's height over the
#: camera's: 1.9 stands for a camera at 0.9 m, and at 2 the height over the *centre's* row has no limit.
MIN_SLOPE, MAX_SLOPE = 0.0, 1.9
#: Heads are seen from below where heights by the body's centre grow by so many pixels per row: up to there
#: people are counted better by both ends (docs/decisions/2026-11-29-low-cameras.md).
FROM_BELOW_HEADS = 3.0
#: What is assumed of a camera about which nothing is known: the slope, and the horizon in frame heights above
#: the frame's top. A person in the middle of the frame is then 0.22 frame heights tall.
TYPICAL_SLOPE, TYPICAL_HORIZON = 0.25, 0.3
#: People smaller than this, in frame heights, are neither searched nor assumed.
SMALLEST_PERSON = 0.03
#: An estimate below this reliability is replaced by the typical line.
TRUSTED_RELIABILITY = 0.3

# A blob that is one whole person: its height against the line, and its width over its height, log-normal.
_STATURE_SPREAD = 0.07
_ASPECT, _ASPECT_SPREAD = 0.4, 0.25
# Other blobs are parts of people (any height below a person's), people who overlap (rarely much taller than
# one, mean excess 0.3 in the logarithm), or anything. Prior shares of the four kinds:
_PERSON, _PART, _GROUP, _ANYTHING = 0.38, 0.42, 0.15, 0.05
_GROUP_EXCESS = 0.3
_LARGEST_ASPECT = 5.0  # blobs are searched from as wide as tall to five times as tall as wide
# Spreads (of logarithms) of cameras around the typical line: of the slope, and of the height.
_SLOPE_SPREAD, _HEIGHT_SPREAD = 0.9, 0.8
_INDEPENDENT_BLOBS = 40  # people walk on from frame to frame: evidence saturates at so many blobs
_TOLERANCE = 0.2  # of the logarithm of height: what counts as the same scale
# The share of whole people among the blobs, by height: up to 0.21 of random blobs are explained by the best
# line, 0.26 to 0.7 of those of real footage. Trust grows from the first on as 1 − exp(−excess / the second).
_EXPLAINED_BY_CHANCE, _EXPLAINED_SCALE = 0.18, 0.08
_FEW_PEOPLE = 5.0  # and with their number, as 1 − exp(−number / this)
# and with that of the places where they are seen, as 1 − exp(−(number / this)²): leaves and screens
# move where they are, in 1 to 4 places, people through 8 and more. Feet so many heights apart are in two.
_FEW_PLACES, _PLACE = 5.0, 0.25
_COMPARED_BLOBS = 300  # at a threshold, to tell in how many places they are
# and with where anything moves at all, as 1 − exp(−(area / this)²), in strips a person high and a frame's
# width wide: a bush of many leaves stays within .2 or .3 of one, people sweep .7 and more.
_LITTLE_SWEPT = 0.3
# and falls with the share of blobs that lie: up to 0.1 where people walk, 0.24 where a low sun throws their
# shadows aside, 0.6 and more where cars drive
_LYING_SCALE = 0.17
_NOBODY = 1e-9  # so few upright people, as specks are, are none
#: Light is of parts of the frame where its `unevenness` is above this; below, people and what they are
#: reflected in would be evened out too.
_LOCAL_LIGHT = 0.04
_LEARNING_FRAMES = 40
_LINES_AT_ONCE = 32
# What makes a pixel moving, in grey levels: more than 4 standard deviations of its noise, and than this. Low
# ones keep people whole, high ones keep shadows and reflections out; the footage decides.
_THRESHOLDS = (16, 32, 64)


def height_map(
    slope: float, intercept: float, size_wh: tuple[int, int], smallest: float, largest: float
) -> np.ndarray:
    """Height of a standing person whose body centre lies at each pixel.

    With the feet at row f a person is h = slope · f + intercept tall and the centre lies at c = f − h / 2;
    putting f = c + h / 2 into the first gives h = (slope · c + intercept) / (1 − slope / 2). Above the
    horizon no person stands, but heads of near people reach there: heights are clipped to
    [smallest, largest], so that the scale 1 / h stays bounded.

    Parameters
    ----------
    slope : float in [0, 1.9]
    intercept : float, pixels
    size_wh : (int, int)
        Width and height of the map, pixels.
    smallest, largest : float, pixels, 0 < smallest <= largest

    Returns
    -------
    (H, W) float32, pixels

    Raises
    ------
    ValueError
        When the slope or the bounds are outside their ranges.
    """
    if not MIN_SLOPE <= slope <= MAX_SLOPE:
        raise ValueError(f"slope must lie between {MIN_SLOPE} and {MAX_SLOPE}, got {slope}")
    if not 0 < smallest <= largest:
        raise ValueError(f"bounds of height must satisfy 0 < smallest <= largest, got {smallest}, {largest}")
    width, height = size_wh
    by_row = (slope * np.arange(height) + intercept) / (1 - slope / 2)
    by_row = np.clip(by_row, smallest, largest).astype(np.float32)
    return np.repeat(by_row[:, None], width, axis=1)


def heights_by_end(person_height) -> tuple[np.ndarray, np.ndarray]:
    """Height of a standing person by where the head's top, and by where the feet are.

    Parameters
    ----------
    person_height : (H, W) float32, pixels
        Height by where the body's centre is, as of `height_map`; grows downwards. Where by 2 per row or more,
        heads tell little, see `is_from_below_heads`.

    Returns
    -------
    by_top, by_foot : (H, W) float32, pixels
        Height of the person whose topmost (lowest) pixel lies at each pixel; where that person's centre lies
        outside the map, the height at its nearest row.
    """
    height, width = person_height.shape
    rows = np.arange(height, dtype=np.float32)
    ends = []
    for sign in (-0.5, 0.5):
        by_end = np.empty_like(person_height)
        for column in range(width):
            column_heights = person_height[:, column]
            end_rows = np.maximum.accumulate(rows + sign * column_heights)
            by_end[:, column] = np.interp(rows, end_rows, column_heights)
        ends.append(by_end)
    return tuple(ends)


def is_from_below_heads(person_height: np.ndarray) -> bool:
    """Whether a camera is so far below people's heads that a head's row does not tell how tall a person is.

    Heights (H, W) by the body's centre grow by s = slope / (1 - slope / 2) per row there, and heads move by
    1 - s / 2 rows downwards as people come nearer: from s = 2 on upwards, to where nobody's head would be.
    """
    by_row = person_height.mean(axis=1)
    reach = 1 + len(by_row) // 32
    return bool((by_row[reach:] - by_row[:-reach] >= FROM_BELOW_HEADS * reach).any())


def depth_cells(person_height, roi, rows: int, columns: int) -> np.ndarray:
    """Divide a region into bands along the depth and cells across them that hold equal ground.

    Ground is measured in persons: the sum of 1 / person_height² over the region. Each of the `rows` bands of
    image rows holds the same ground as far as whole image rows allow, and within a band each of the `columns`
    runs of image columns does.

    Parameters
    ----------
    person_height : (H, W) float, pixels, positive
    roi : (H, W) bool
    rows, columns : int, at least 1

    Returns
    -------
    (H, W) int32
        band · columns + column, band 0 the farthest (uppermost), column 0 the leftmost; −1 outside the
        region. A region with fewer image rows (columns) than bands (cells) leaves some labels unused; an
        empty one gives −1 everywhere.

    Raises
    ------
    ValueError
        When `rows` or `columns` is below 1 or the shapes differ.
    """
    roi = np.asarray(roi, bool)
    if rows < 1 or columns < 1:
        raise ValueError(f"expected at least one row and one column of cells, got {rows} and {columns}")
    if np.shape(person_height) != roi.shape:
        raise ValueError(f"person_height {np.shape(person_height)} and roi {roi.shape} differ in shape")
    ground = np.where(roi, 1.0 / np.square(person_height, dtype=np.float64), 0.0)
    bands = _equal_parts(ground.sum(axis=1), rows)
    labels = np.full(roi.shape, -1, np.int32)
    for band in range(rows):
        inside = bands == band
        across = _equal_parts(ground[inside].sum(axis=0), columns)
        labels[inside] = band * columns + across
    labels[~roi] = -1
    return labels


def _equal_parts(weights, n_parts) -> np.ndarray:
    """Part (0 … n_parts − 1) of each of a row of weights so that the parts' sums are as equal as can be."""
    total = weights.sum()
    if total == 0:
        return np.zeros(len(weights), np.int32)
    middle = (np.cumsum(weights) - weights / 2) / total
    return np.minimum((middle * n_parts).astype(np.int32), n_parts - 1)


def typical_line(frame_height: int) -> tuple[float, float]:
    """Slope and intercept (pixels) that are assumed of an unknown camera: the middle of common views."""
    return TYPICAL_SLOPE, TYPICAL_SLOPE * TYPICAL_HORIZON * frame_height


@dataclass(frozen=True)
class HeightEstimate:
    """A line of person height over foot row found in foreground masks.

    Attributes
    ----------
    slope, intercept : float
        Height in pixels of a standing person with the feet at row y: slope · y + intercept.
    smallest, largest : float
        Range of heights in pixels in which people were seen, with a margin.
    reliability : float
        Between 0 and 1: the posterior probability that the heights are right within 20 % wherever people
        were seen, times the trust in the line, which grows with the number of whole people, that of the
        places where they are seen, their share of the blobs and the area in which anything moves, and falls
        with the share of blobs that lie.
        0 when the line is the typical one.
    """

    slope: float
    intercept: float
    smallest: float
    largest: float
    reliability: float


def estimate_height_line(frames_bgr: Sequence[np.ndarray]) -> HeightEstimate:
    """Find the line of person height over foot row from the people that move in footage.

    The masks of moving pixels at several thresholds all testify, and the line that explains their blobs best
    wins: see `height_line_of_blobs`.

    Parameters
    ----------
    frames_bgr : sequence of (H, W, 3) uint8
        Frames spread over the footage, in order of time or not; 60 to 200 are enough. Some 360 rows do.

    Returns
    -------
    HeightEstimate
        The typical line with reliability 0 when nobody moves or no line can be trusted.

    Raises
    ------
    ValueError
        When there is no frame.
    """
    # smoothing what exceeds a threshold is the same as smoothing first
    differences = [cv2.medianBlur(difference, 3) for difference in moving_differences(frames_bgr)]
    blobs = [
        np.concatenate([
            moving_blobs(cv2.compare(difference, threshold, cv2.CMP_GT)) for difference in differences
        ])
        for threshold in _THRESHOLDS
    ]
    swept = reduce(cv2.max, differences) > _THRESHOLDS[1]
    return height_line_of_blobs(blobs, len(frames_bgr[0]), float(swept.mean()))


def moving_differences(frames_bgr: Sequence[np.ndarray]) -> list[np.ndarray]:
    """By how much the frames of a fixed camera differ from their median, noise and soft shadows removed.

    Each channel of a frame is first divided by its median ratio to the median frame, which removes changes of
    the light over the whole frame; or each part by its own (`features.light`), where these differ much or
    black is lifted: lamps that flicker, clouds and haze hide people, or look like them. Where a pixel shows
    people more than half of the time, they become its background.

    Parameters
    ----------
    frames_bgr : sequence of (H, W, 3) uint8, at least one

    Returns
    -------
    list of (H, W) uint8
        Largest difference of the three channels in grey levels; 0 in shadows and below 4 standard deviations
        of the pixel's noise, which is taken from the lower quartile of its differences.
    """
    step = -(-len(frames_bgr) // _LEARNING_FRAMES)
    coarse = [frame[::4, ::4] for frame in frames_bgr]
    median = percentile_of(coarse[::step], 50)
    usual = (_channels(median) + 4).astype(np.float32)
    gains = [medians((_channels(image) + np.float32(4)) / usual) for image in coarse]
    meter = LightMeter(median.astype(np.uint8))
    scene_bgr = cv2.resize(meter.reference_bgr, frames_bgr[0].shape[1::-1])
    levels = np.arange(256)[:, None]

    def evened(number: int) -> np.ndarray:
        light = meter.measure(coarse[number])
        if light.tones is not None or unevenness(light.local) > _LOCAL_LIGHT:
            return replace(light, empty_bgr=scene_bgr).evened_out(frames_bgr[number])
        values = np.clip(np.rint(levels / gains[number]), 0, 255).astype(np.uint8)
        return cv2.LUT(frames_bgr[number], values[None])

    some = {number: evened(number) for number in range(0, len(frames_bgr), step)}
    background = median_of(list(some.values()))
    noise = np.minimum(4 * noise_of(some.values(), background), 255).astype(np.uint8)
    noise[films(list(some.values()), background)] = 255
    is_grey = are_grey(coarse)
    # the others one by one, and these given up meanwhile: all of them at once would fill the memory
    frames = (some.pop(number) if number in some else evened(number) for number in range(len(frames_bgr)))
    return [_moving(frame, background, noise, is_grey) for frame in frames]


def _channels(image) -> np.ndarray:
    """(3, n): the channels of an image (H, W, 3)."""
    return image.reshape(-1, 3).T


def _moving(frame, background, noise, is_grey) -> np.ndarray:
    """(H, W) uint8: by how much a frame differs from the background; 0 within its noise and in shadows."""
    difference = largest_difference(frame, background)
    moving = cv2.compare(difference, noise, cv2.CMP_GT)
    places = np.flatnonzero(moving != 0)
    is_shade = is_shadow_at(places, frame, background, depth=IN_GREY if is_grey else SHADOW)
    moving.ravel()[places[is_shade]] = 0
    return cv2.medianBlur(cv2.bitwise_and(difference, moving), 3)


def height_line_of_blobs(
    blob_sets: Sequence[np.ndarray], frame_height: int, swept: float = 1.0
) -> HeightEstimate:
    """Find the line of person height over foot row in blobs of moving people.

    Upright blobs, up to five times as tall as wide, are evidence. The likelihood of a line is a mixture: a
    blob is one whole person, whose height is log-normal around the line and whose width is log-normal around
    0.4 heights; a part of a person, shorter than the line at any ratio; people overlapping, whose excess
    decays quickly; or anything. The line's prior is broad around the typical camera. The mode over a grid of
    slopes and heights is the estimate: fragments, groups and shadows do not pull it, they only thin the
    evidence. A blob weighs as its height, since fragments are many and small; blobs alike in row and height
    weigh as the root of their number, so that what flickers in one place does not outvote the people.

    Blobs of the same frames at several thresholds share the weight of one set by the area that they cover: a
    threshold at which people fall to pieces, or merge with their shadows, is outvoted by the others, one at
    which most of what moves is lost hardly counts, and where they disagree the posterior widens.

    Parameters
    ----------
    blob_sets : sequence of (n, 4) float64, pixels
        For each threshold the blobs of `moving_blobs` in frames spread over the footage. Cut people do not
        count: a median background, to which people who stop do not belong, serves better than an adaptive
        one.
    frame_height : int, pixels
    swept : float
        Share of the frame in which anything moves, in any of the frames.

    Returns
    -------
    HeightEstimate
        The typical line with reliability 0 when there is no blob or the estimate cannot be trusted.
    """
    upright = [blobs for blobs in (_upright(blobs, frame_height) for blobs in blob_sets) if len(blobs)]
    if not upright:
        return _typical(frame_height)
    areas = [blobs[:, 1] @ blobs[:, 2] for blobs in upright]
    evidence = [_distinct(blobs, frame_height) for blobs in upright]
    shares = np.repeat(areas / np.sum(areas), [len(blobs) for blobs, _ in evidence])
    weights = [_evidence_weights(*one) for one in evidence]
    blobs, weights = np.concatenate([blobs for blobs, _ in evidence]), shares * np.concatenate(weights)
    reference_row = np.quantile(blobs[:, 0], 0.75)
    lines, log_posterior, best = _search(blobs, weights, reference_row, frame_height)
    probability = _person_probability(best, blobs, reference_row, frame_height)
    whole = weights * probability
    n_people = shares @ probability
    n_places = np.average(
        [_n_places(best, blobs, reference_row, frame_height) for blobs in upright], weights=areas
    )
    beyond_chance = (whole - _EXPLAINED_BY_CHANCE * weights) * blobs[:, 1]
    rows = _weighted_quantiles(blobs[:, 0], beyond_chance, [0.02, 0.1, 0.5, 0.9, 0.98])
    found_heights = _heights(best, rows, reference_row, frame_height)
    other_heights = _heights(lines, rows[1:4], reference_row, frame_height)
    agrees = (np.abs(np.log(other_heights / found_heights[1:4])) < _TOLERANCE).all(axis=1)
    posterior = np.exp(log_posterior - log_posterior.max())
    explained = max(0.0, whole.sum() / weights.sum() - _EXPLAINED_BY_CHANCE)
    upright_people = np.concatenate([np.sqrt(numbers) for _, numbers in evidence]) @ probability
    lying_people = _lying_people(blob_sets, best, reference_row, frame_height)
    lying = lying_people / upright_people if upright_people > _NOBODY else np.inf
    strips = swept * frame_height / found_heights[2]
    trust = (
        -np.expm1(-explained / _EXPLAINED_SCALE)
        * -np.expm1(-n_people / _FEW_PEOPLE)
        * -np.expm1(-((n_places / _FEW_PLACES) ** 2))
        * -np.expm1(-((strips / _LITTLE_SWEPT) ** 2))
        * np.exp(-0.5 * (lying / _LYING_SCALE) ** 2)
    )
    reliability = trust * posterior[agrees].sum() / posterior.sum()
    if reliability < TRUSTED_RELIABILITY:
        return _typical(frame_height)
    slope, at_reference = best
    return HeightEstimate(
        slope=float(slope),
        intercept=float(at_reference - slope * reference_row),
        smallest=float(0.8 * found_heights[0]),
        largest=float(1.25 * found_heights[-1]),
        reliability=float(reliability),
    )


def moving_blobs(mask) -> np.ndarray:
    """Blobs of a (H, W) mask, bool or uint8, that do not touch its border and are no specks.

    Returns
    -------
    (n, 4) float64, pixels
        Row of the feet (the lower edge of the lowest pixel), height, width, column of the centre.
    """
    height, width = mask.shape
    close = 2 * round(0.0075 * height) + 1  # joins heads to bodies, less than the gap between people
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((close, close), np.uint8))
    contours, hierarchy = cv2.findContours(closed, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    outer = [k for k in range(len(contours)) if hierarchy[0, k, 3] < 0]
    x, y, w, h = np.array([cv2.boundingRect(contours[k]) for k in outer], int).reshape(-1, 4).T
    whole = (x > 0) & (y > 0) & (x + w < width) & (y + h < height)
    large = np.maximum(w, h) >= SMALLEST_PERSON * height
    return np.column_stack([y + h, h, w, x + w / 2])[whole & large]


def _upright(blobs, frame_height):
    """The blobs that may be one standing person, by size and shape."""
    _, height, width, _ = blobs.T
    large = height >= SMALLEST_PERSON * frame_height
    return blobs[large & (height >= width) & (height <= _LARGEST_ASPECT * width)]


def _n_places(line, blobs, reference_row, frame_height):
    """In how many places the blobs are people: each counts one over the number of those where it is."""
    people = blobs[_person_probability(line, blobs, reference_row, frame_height) > 0.5]
    people = people[:: -(-len(people) // _COMPARED_BLOBS) or 1]
    reach = _PLACE * _heights(line, people[:, 0], reference_row, frame_height)
    places = people[:, 3] + 1j * people[:, 0]
    together = np.abs(places[:, None] - places) < reach[:, None]
    return (1 / np.count_nonzero(together, axis=1)).sum()


def _lying_people(blob_sets, line, reference_row, frame_height):
    """How many blobs would be whole people if they were stood up, those alike as the root of their number.

    Leaves, reflections and cars are as often wide as tall; people hardly ever lie.
    """
    people = 0.0
    for blobs in blob_sets:
        turned = _upright(blobs[:, [0, 2, 1, 3]], frame_height)
        if len(turned):
            turned, numbers = _distinct(turned, frame_height)
            people += np.sqrt(numbers) @ _person_probability(line, turned, reference_row, frame_height)
    return people


def _typical(frame_height) -> HeightEstimate:
    slope, intercept = typical_line(frame_height)
    return HeightEstimate(slope, intercept, SMALLEST_PERSON * frame_height, float(frame_height), 0.0)


def _distinct(blobs, frame_height):
    """Merge blobs alike in row and height: their means (m, 4) and numbers (m,)."""
    feet, heights, _, _ = blobs.T
    key = np.rint(np.column_stack([feet / (0.03 * frame_height), np.log(heights) / 0.06]))
    _, group, number = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()  # NumPy 2.0 alone gives it a second axis
    means = np.column_stack([np.bincount(group, column, len(number)) for column in blobs.T])
    return means / number[:, None], number


def _evidence_weights(blobs, numbers):
    """Weights (m,) of the blobs of one threshold, that many of each: their sum saturates."""
    weights = np.sqrt(numbers) * blobs[:, 1]
    return weights * (min(len(blobs), _INDEPENDENT_BLOBS) / weights.sum())


def _search(blobs, weights, reference_row, frame_height):
    """Lines (k, 2) on a grid, as slope and height at the reference row; their log posterior; the best."""
    log_slopes = np.arange(np.log(SMALLEST_PERSON), np.log(MAX_SLOPE), 0.1)
    log_heights = np.arange(np.log(SMALLEST_PERSON * frame_height), np.log(frame_height), 0.06)
    evidence = (blobs, weights, reference_row, frame_height)
    grid, log_posterior = _grid_posterior(log_slopes, log_heights, *evidence)
    best = grid[log_posterior.argmax()]
    for step in (0.025, 0.006):
        fine = np.arange(-5, 6) * step
        log_slopes = np.minimum(np.log(best[0]) + fine, np.log(MAX_SLOPE))
        log_heights = np.log(best[1]) + fine
        near, score = _grid_posterior(log_slopes, log_heights, *evidence)
        best = near[score.argmax()]
    return grid, log_posterior, best


def _grid_posterior(log_slopes, log_heights, blobs, weights, reference_row, frame_height):
    lines = np.exp(np.stack(np.meshgrid(log_slopes, log_heights, indexing="ij"), axis=-1).reshape(-1, 2))
    log_posterior = _log_prior(lines, reference_row, frame_height)
    shape = _shape_density(blobs)
    for first in range(0, len(lines), _LINES_AT_ONCE):
        some = slice(first, first + _LINES_AT_ONCE)
        person, other = _height_densities(lines[some], blobs, reference_row, frame_height)
        log_posterior[some] += np.log(person * shape + other) @ weights
    return lines, log_posterior


def _log_prior(lines, reference_row, frame_height):
    """Log-normal slope and height around the typical line; a horizon below the frame's middle is unlikely."""
    slopes, heights = lines.T
    typical_slope, typical_intercept = typical_line(frame_height)
    typical_height = typical_slope * reference_row + typical_intercept
    horizon = (reference_row - heights / slopes) / frame_height
    return -0.5 * (
        (np.log(slopes / typical_slope) / _SLOPE_SPREAD) ** 2
        + (np.log(heights / typical_height) / _HEIGHT_SPREAD) ** 2
        + (np.maximum(horizon - 0.5, 0) / 0.1) ** 2
    )


def _heights(lines, rows, reference_row, frame_height):
    """Heights (…, n) at the rows of lines (…, 2), not below 2 % of the frame's height."""
    slopes, at_reference = np.asarray(lines)[..., :1], np.asarray(lines)[..., 1:]
    return np.maximum(slopes * (rows - reference_row) + at_reference, 0.02 * frame_height)


def _shape_density(blobs):
    """Density of each blob's log aspect as that of a person, over the flat one of anything else."""
    log_aspect = np.log(blobs[:, 2] / blobs[:, 1] / _ASPECT)
    density = np.exp(-0.5 * (log_aspect / _ASPECT_SPREAD) ** 2) / (np.sqrt(2 * np.pi) * _ASPECT_SPREAD)
    return density * np.log(_LARGEST_ASPECT)


def _height_densities(lines, blobs, reference_row, frame_height):
    """Weighted densities (…, n) of log height over that of lines (…, 2): as one whole person, as anything
    else."""
    log_ratio = np.log(blobs[:, 1] / _heights(lines, blobs[:, 0], reference_row, frame_height))
    peak = _PERSON / (np.sqrt(2 * np.pi) * _STATURE_SPREAD)
    person = peak * np.exp(-0.5 * (log_ratio / _STATURE_SPREAD) ** 2)
    log_range = -np.log(SMALLEST_PERSON)
    group = np.exp(-np.maximum(log_ratio, 0) / _GROUP_EXCESS) * (_GROUP / _GROUP_EXCESS)
    return person, np.where(log_ratio < 0, _PART / log_range, group) + _ANYTHING / (2 * log_range)


def _person_probability(line, blobs, reference_row, frame_height):
    """How likely each blob is one whole person, if a line holds."""
    person, other = _height_densities(line, blobs, reference_row, frame_height)
    person = person * _shape_density(blobs)
    return person / (person + other)


def _weighted_quantiles(values, weights, levels):
    """Where the share of the weights below reaches each level for good: some weights may be negative."""
    order = np.argsort(values)
    shares = np.cumsum(weights[order]) / weights.sum()
    shares = np.minimum.accumulate(shares[::-1])[::-1]
    return values[order][np.minimum(np.searchsorted(shares, levels), len(values) - 1)]
