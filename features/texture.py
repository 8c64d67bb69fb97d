"""The texture view: grey-level co-occurrence (GLCM) and local binary patterns (LBP) over the foreground.

Both agree with scikit-image's functions on the same pixels, which the tests check; here they look only at
foreground pixels, which are a small part of a frame, and at their neighbours.
"""

from functools import cache

import cv2
import numpy as np

from .geometry import Figures
from .schema import Quantity

ANGLES = (0, 45, 90, 135)
N_LEVELS = 16
_STATISTICS = (("homogeneity", "1"), ("energy", "1"), ("entropy", "bit"), ("contrast", "level²"))

#: Pairs of levels, whatever their order: the levels of each (of `N_PAIRS`), and by 16 times the one level
#: plus the other the number of the pair.
_LEVELS = np.triu_indices(N_LEVELS)
N_PAIRS = len(_LEVELS[0])
_PAIR_OF_CODE = np.zeros((N_LEVELS, N_LEVELS), np.intp)
_PAIR_OF_CODE[_LEVELS] = _PAIR_OF_CODE.T[_LEVELS] = np.arange(N_PAIRS)
_PAIR_OF_CODE = _PAIR_OF_CODE.ravel()
_SQUARED_DIFFERENCE = np.square(_LEVELS[0] - _LEVELS[1]).astype(np.float64)
_HOMOGENEITY = 1 / (1 + _SQUARED_DIFFERENCE)
#: In how many places of the symmetric matrix a pair stands.
_PLACES = np.where(_SQUARED_DIFFERENCE > 0, 2.0, 1.0)

LBP_POINTS = 8
N_LBP_CODES = LBP_POINTS + 2

#: Where in the neighbourhood of a pixel, nine pixels row by row, it is itself, the ones straight beside it,
#: and the second pixels of its co-occurrence pairs, in the order of `ANGLES`.
_CENTRE, _STRAIGHT, _SECOND = 4, slice(1, None, 2), [5, 8, 7, 6]
#: Pixels whose patterns are found at a time: what is computed for them stays in the cache.
_BLOCK = 1 << 12
#: Distance of a diagonal point from the pixel's row and column, rounded as scikit-image rounds it.
_STEP = 0.70711

LBP_QUANTITIES = tuple(
    Quantity(f"lbp_{code}", "texture", "h²", additive=True) for code in range(N_LBP_CODES)
)
QUANTITIES = (
    *(Quantity(f"glcm_{name}_{angle}", "texture", unit, additive=False)
      for angle in ANGLES for name, unit in _STATISTICS),
    *LBP_QUANTITIES,
)  # fmt: skip


def texture_features(grey, figures: Figures) -> np.ndarray:
    """Measure the texture view.

    Parameters
    ----------
    grey : (H, W) uint8
        The frame's brightness.
    figures : Figures

    Returns
    -------
    (n_regions, 26) float64
        Columns as `QUANTITIES`. An empty mask gives zeros.
    """
    values = neighbourhoods(grey, figures)
    statistics = pair_statistics(pair_counts(values, neighbourhoods(figures.mask, figures), figures))
    return np.hstack([statistics.reshape(len(statistics), -1), _lbp_histogram(values, figures)])


def lbp_features(grey, figures: Figures) -> np.ndarray:
    """The columns `LBP_QUANTITIES` of `texture_features` alone, (n_regions, 10) float64."""
    return _lbp_histogram(neighbourhoods(grey, figures), figures)


def _lbp_histogram(values, figures: Figures) -> np.ndarray:
    return figures.sums(figures.areas, lbp_codes(values, figures), N_LBP_CODES)


def neighbourhoods(image, figures: Figures) -> np.ndarray:
    """An image (H, W) uint8 or bool at the foreground's pixels and their eight neighbours.

    Returns
    -------
    (9, k) of the same type
        Row by row, the pixel itself in the middle; 0 outside the image.
    """
    width = image.shape[1] + 2
    padded = cv2.copyMakeBorder(image.view(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT)
    corners = figures.pixels + 2 * figures.rows
    steps = np.arange(3)[:, None] * width + np.arange(3)
    return padded.ravel().take(corners + steps.reshape(-1, 1)).view(image.dtype)


def pair_counts(values, inside, figures: Figures) -> np.ndarray:
    """Grey-level co-occurrence counts of the pairs that lie in the foreground with both pixels.

    A pair belongs to the regions of its first pixel; the second lies to the right of it or below. Counted are
    pairs of levels whatever their order, half of the symmetric matrix.

    Parameters
    ----------
    values, inside : (9, k) uint8, (9, k) bool
        `neighbourhoods` of the brightness, and of the mask.
    figures : Figures

    Returns
    -------
    (n_regions, 4, N_PAIRS) float32, whole numbers
        In the order of `ANGLES`, and of the upper triangle's rows.
    """
    n_angles, n_parts = len(ANGLES), figures.geometry.n_parts
    index = _PAIR_OF_CODE.take((values[_CENTRE] & 240) | (values[_SECOND] >> 4))
    index += figures.parts * (n_angles * N_PAIRS) + N_PAIRS * np.arange(n_angles)[:, None]
    counts = np.bincount(index[inside[_SECOND]], minlength=n_parts * n_angles * N_PAIRS)
    return figures.geometry.total(counts.astype(np.float32).reshape(n_parts, n_angles, N_PAIRS))


def pair_statistics(counts) -> np.ndarray:
    """Homogeneity, energy, entropy and contrast of symmetric co-occurrence matrices (Haralick 1973).

    Parameters
    ----------
    counts : (..., N_PAIRS) float
        As of `pair_counts`: the half of each matrix above its diagonal, and of its diagonal.

    Returns
    -------
    (..., 4) float64; zeros where a matrix holds no pair.
    """
    shape, counts = counts.shape[:-1], counts.reshape(-1, N_PAIRS)
    used = np.flatnonzero(counts)
    matrix = used // N_PAIRS
    pair = used - matrix * N_PAIRS
    found = counts.ravel().take(used).astype(np.float64)
    found /= np.bincount(matrix, found, len(counts)).take(matrix)
    p = found / _PLACES.take(pair)

    def total(values):
        return np.bincount(matrix, found * values, len(counts))

    homogeneity = total(_HOMOGENEITY.take(pair))
    energy = np.sqrt(total(p))
    entropy = -total(np.log2(p))
    contrast = total(_SQUARED_DIFFERENCE.take(pair))
    return np.stack([homogeneity, energy, entropy, contrast], axis=-1).reshape(*shape, -1)


def lbp_codes(values, figures: Figures) -> np.ndarray:
    """Rotation-invariant uniform local binary pattern (riu2, 8 points, radius 1) of the foreground's pixels.

    Ojala, Pietikäinen & Mäenpää 2002, eq. 9: the number of ones for a uniform pattern (at most two changes
    around the circle), 9 otherwise. Points on the diagonals are interpolated bilinearly, points outside the
    image are 0, as in scikit-image's `local_binary_pattern(…, method="uniform")`.

    Parameters
    ----------
    values : (9, k) uint8
        `neighbourhoods` of the brightness.
    figures : Figures

    Returns
    -------
    (k,) int in 0 … 9
    """
    height, width = figures.mask.shape
    codes = np.empty(values.shape[1], np.intp)
    for first in range(0, len(codes), _BLOCK):
        block = slice(first, first + _BLOCK)
        down = _shares(height).take(figures.rows[block], axis=-1)
        right = _shares(width).take(figures.columns[block], axis=-1)
        codes[block] = _CODE_OF_PATTERN.take(_patterns(values[:, block], down, right))
    return codes


def _patterns(values, down, right) -> np.ndarray:
    """Bits (k,) uint8 of neighbourhoods (9, k): which points are at least as bright as the pixel.

    The shares `down` and `right` (2, 2, k) by which the diagonal points are interpolated are of `_shares`.
    """
    square = values.reshape(3, 3, -1).astype(np.float64)
    between = right[0] * square[:, :2] + right[1] * square[:, 1:]
    points = down[0][:, None] * between[:2] + down[1][:, None] * between[1:]
    bits = np.empty((LBP_POINTS, values.shape[1]), bool)
    np.greater_equal(values[_STRAIGHT], values[_CENTRE], out=bits[:4])
    np.greater_equal(points, square[1, 1], out=bits[4:].reshape(points.shape))
    return np.bitwise_or.reduce(bits.view(np.uint8) << _SHIFTS)


@cache
def _shares(n: int) -> np.ndarray:
    """Bilinear interpolation at `_STEP` before and behind each of n places, (2, 2, n) float64.

    Shares of the place before the point and of the one behind it, by the two points. As scikit-image
    computes them: where a point is exactly as bright as the pixel, rounding decides.
    """
    positions = np.arange(n) + np.array([[-_STEP], [_STEP]])
    behind = positions - np.floor(positions)
    return np.stack([1 - behind, behind])


#: Bits in the order in which `_patterns` finds them, and where they stand around the circle.
_SHIFTS = np.arange(LBP_POINTS, dtype=np.uint8)[:, None]
_CIRCLE = [0, 5, 2, 7, 3, 6, 1, 4]
_BITS = (np.arange(256)[:, None] >> np.arange(LBP_POINTS) & 1)[:, _CIRCLE]
_CODE_OF_PATTERN = np.where(
    (np.roll(_BITS, 1, axis=1) != _BITS).sum(axis=1) <= 2, _BITS.sum(axis=1), LBP_POINTS + 1
)
