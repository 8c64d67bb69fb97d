"""Plain operations on images: reducing them, and order statistics of a pixel over many of them."""

from collections.abc import Iterable, Sequence
from functools import cache

import cv2
import numpy as np

#: `cv2.spatialGradient` of a slope of one grey level per pixel.
SLOPE = 8.0
#: Values of one image that are sorted at a time: with those of 60 others they stay in the cache.
_STRIP = 1 << 15
#: Coarse noise is no more than so many times the median of its upper quartile over the picture.
_MOST_COARSE = 2.0
_MOST_BLURRED = 0.9  # standard deviation of the strongest blur, pixels
_SHARPENED = 0.8  # and of the one that tells fine detail, of which sharpening adds
_MOST_SHARPENED = 0.6  # this share at the most


def reduced(image: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
    """An image (H, W, …) uint8 at a smaller size: halved while three times as large, then interpolated."""
    image = halved(image, halvings(image.shape[1::-1], size_wh))
    return image if image.shape[1::-1] == size_wh else resized(image, size_wh, cv2.INTER_LINEAR)


def halvings(from_wh: tuple[int, int], to_wh: tuple[int, int]) -> int:
    """How often `reduced` halves an image of one size on the way to another."""
    (width, height), n = from_wh, 0
    while width >= 3 * to_wh[0] and height >= 3 * to_wh[1]:
        width, height, n = width // 2, height // 2, n + 1
    return n


def halved(image: np.ndarray, n: int) -> np.ndarray:
    """An image (H, W, …) uint8 with its width and height halved n times: itself for 0."""
    for _ in range(n):
        height, width = image.shape[:2]
        image = cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    return image


def resized(image: np.ndarray, size_wh: tuple[int, int], interpolation: int) -> np.ndarray:
    """`cv2.resize` of an image (H, W, …) uint8, by Intel's primitives where OpenCV has them.

    They take half the time but round some values to the other side, which has to be allowed, in each thread
    anew.
    """
    inexact = cv2.ipp.useIPP_NotExact()
    cv2.ipp.setUseIPP_NotExact(True)
    try:
        return cv2.resize(image, size_wh, interpolation=interpolation)
    finally:
        cv2.ipp.setUseIPP_NotExact(inexact)


def with_sharpness(image: np.ndarray, sharpness: float) -> np.ndarray:
    """An image (H, W, …) uint8 as another lens shows it: ever blurrier from 0 to -1, ever sharper to 1."""
    if sharpness < 0:
        return cv2.GaussianBlur(image, (0, 0), _MOST_BLURRED * max(-sharpness, 0.05))
    blurred = cv2.GaussianBlur(image, (0, 0), _SHARPENED)
    return cv2.addWeighted(image, 1 + _MOST_SHARPENED * sharpness, blurred, -_MOST_SHARPENED * sharpness, 0)


def contrast_of(image_bgr: np.ndarray) -> int:
    """By how many grey levels the brightness of an image (H, W, 3) uint8 differs.

    Left out are noise, by looking at an eighth of the rows and columns, and the time that a camera writes
    into its picture: the darkest and brightest 2 %.
    """
    height, width = image_bgr.shape[:2]
    size_wh = max(1, width // 8), max(1, height // 8)
    few_bgr = cv2.resize(image_bgr, size_wh, interpolation=cv2.INTER_LINEAR)
    values = cv2.cvtColor(few_bgr, cv2.COLOR_BGR2GRAY).ravel()
    few = len(values) // 50
    values = np.partition(values, (few, len(values) - 1 - few))
    return int(values[-1 - few]) - int(values[few])


class Closing:
    """Morphological closing of masks by a tall element, in three steps with two smaller ones.

    A convex element with upright axes of symmetry, such as an ellipse, is a line as long as its shortest
    column, dilated by what is left of the other columns: a fraction of the places to look at.

    Parameters
    ----------
    element : (h, w) uint8, both odd
        Columns of ones around the middle row.
    """

    def __init__(self, element: np.ndarray):
        self._line = np.ones((element.sum(axis=0).min(), 1), np.uint8)
        rest = cv2.erode(element, self._line, borderType=cv2.BORDER_CONSTANT, borderValue=0)
        margin = len(self._line) // 2
        self._rest = rest[margin : len(rest) - margin]
        self._down, self._across = len(element) // 2, element.shape[1] // 2

    def apply(self, mask: np.ndarray) -> np.ndarray:
        """Close a (H, W) uint8 mask as if nothing were beyond its edges, from which OpenCV's would fill."""
        height, width = mask.shape
        down, across = self._down, self._across
        wider = cv2.copyMakeBorder(mask, down, down, across, across, cv2.BORDER_CONSTANT, value=0)
        spread = cv2.dilate(wider, self._rest)
        closed = cv2.erode(cv2.morphologyEx(spread, cv2.MORPH_CLOSE, self._line), self._rest)
        return closed[down : down + height, across : across + width]


def middle_of(image: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """Median of each value of three images (H, W, …) uint8."""
    darker, brighter = cv2.min(image, second), cv2.max(image, second)
    return cv2.max(darker, cv2.min(brighter, third))


def medians(rows: np.ndarray) -> np.ndarray:
    """Median (k,) of each row (k, n) of floats; sorted, as that takes NumPy half as long as a partition."""
    ascending = np.sort(rows, axis=1)
    return (ascending[:, (rows.shape[1] - 1) // 2] + ascending[:, rows.shape[1] // 2]) / 2


def percentile_of(images: np.ndarray | Sequence[np.ndarray], percent: float) -> np.ndarray:
    """Percentile of each pixel over images, as `numpy.percentile` (linear) over the first axis.

    All pixels of a strip are sorted at once by the comparators of a sorting network (Batcher's odd-even merge
    sort), each of which is a minimum and a maximum of whole strips: a seventh of the time of a partition.

    Parameters
    ----------
    images : (n, …) uint8, n at least 1, of one shape each
    percent : float
        Between 0 and 100.

    Returns
    -------
    (…) float64
    """
    place = percent / 100 * (len(images) - 1)
    below = int(place)
    above = min(below + 1, len(images) - 1)
    flat = [image.reshape(-1) for image in images]
    result = np.empty(flat[0].shape)
    for first in range(0, len(result), _STRIP):
        strip = slice(first, first + _STRIP)
        values = [image[strip].copy() for image in flat]
        spare = np.empty_like(values[0])
        for low, high in _comparators(len(values)):
            np.minimum(values[low], values[high], out=spare)
            np.maximum(values[low], values[high], out=values[high])
            values[low], spare = spare, values[low]
        result[strip] = values[below] + (place - below) * (values[above].astype(np.float64) - values[below])
    return result.reshape(images[0].shape)


def median_of(images: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    """Median of each pixel over images (n, …) uint8, rounded down to uint8."""
    return percentile_of(images, 50).astype(np.uint8)


def larger_of(values: np.ndarray, factor: float) -> np.ndarray | None:
    """(n,) bool: which of values (n,), all over 0, are the larger ones of two groups that lie apart by a
    factor or more, but for the least and the greatest tenth; None where there is one group."""
    least, most = np.quantile(values, [0.1, 0.9])
    return values >= np.sqrt(least * most) if most >= factor * least else None


def narrowest_of(images: np.ndarray, n_members: int) -> np.ndarray:
    """Where the values of each pixel crowd: those in the narrowest interval that holds so many of them.

    Parameters
    ----------
    images : (n, k) uint8
    n_members : int
        At least 1, at most n.

    Returns
    -------
    (n, k) bool
        True where the value lies in the pixel's interval, the lowest of several as narrow; more than
        `n_members` only where values are alike.
    """
    ascending = np.sort(images, axis=0)
    last = len(images) - n_members
    first = (ascending[n_members - 1 :] - ascending[: last + 1]).argmin(axis=0)
    pixels = np.arange(images.shape[1])
    return (images >= ascending[first, pixels]) & (images <= ascending[first + n_members - 1, pixels])


def largest_difference(image_bgr: np.ndarray, other_bgr: np.ndarray) -> np.ndarray:
    """Largest absolute difference of the three channels of two images (H, W, 3) uint8: (H, W) uint8."""
    return largest_channel(cv2.absdiff(image_bgr, other_bgr))


def largest_channel(image_bgr: np.ndarray) -> np.ndarray:
    """The largest of the three channels of an image (H, W, 3) uint8: (H, W) uint8."""
    blue, green, red = cv2.split(image_bgr)
    return cv2.max(cv2.max(blue, green), red)


def steepness(across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """(H, W) float32: by how many grey levels per pixel an image changes, by its gradients (H, W) int16 as
    `cv2.spatialGradient` has them."""
    return cv2.magnitude(np.float32(across), np.float32(down)) / SLOPE


def channel_spread(channels: Sequence[np.ndarray]) -> np.ndarray:
    """By how much the largest of three channels (3, n) exceeds the smallest: (n,). Channel by channel, as
    NumPy takes twenty times as long along an axis of three that is not contiguous."""
    blue, green, red = channels
    return np.maximum(np.maximum(blue, green), red) - np.minimum(np.minimum(blue, green), red)


def noise_of(
    frames_bgr: Iterable[np.ndarray], empty_bgr: np.ndarray, is_coarse: bool = False
) -> np.ndarray:
    """Standard deviation of each pixel's noise, grey levels, from its `largest_difference` to an empty scene.

    The lower quartile sees the noise even where people stand most of the time; for Gaussian noise in three
    channels it lies at 0.55 standard deviations.

    Parameters
    ----------
    frames_bgr : (H, W, 3) uint8 arrays
        Spread over the footage.
    empty_bgr : (H, W, 3) uint8
    is_coarse : bool
        It is noise of a `BlockMeter`'s kind: mostly none, and at times much. Then it is what nine in ten
        frames do not exceed, where that is not far beyond the picture's usual noise: there it is people.

    Returns
    -------
    (H, W) float64
    """
    differences = [largest_difference(frame, empty_bgr) for frame in frames_bgr]
    noise = percentile_of(differences, 25) / 0.55
    if is_coarse:
        most = _MOST_COARSE * np.median(percentile_of(differences, 75))
        noise = np.maximum(noise, np.minimum(percentile_of(differences, 90), most))
    return noise


@cache
def _comparators(n: int) -> list[tuple[int, int]]:
    """Pairs of places that sort n values when each pair is put in order in turn: odd-even merge sort."""
    pairs, sorted_run = [], 1
    while sorted_run < n:
        step = sorted_run
        while step:
            for first in range(step % sorted_run, n - step, 2 * step):
                for low in range(first, min(first + step, n - step)):
                    if low // (2 * sorted_run) == (low + step) // (2 * sorted_run):
                        pairs.append((low, low + step))
            step //= 2
        sorted_run *= 2
    return pairs
