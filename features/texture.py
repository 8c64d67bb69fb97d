"""The texture view: grey-level co-occurrence (GLCM) and local binary patterns (LBP) over the foreground.

Both agree with scikit-image's functions on the same pixels, which the tests check; here they look only at
foreground pixels, which are a small part of a frame, and at the neighbours of each once for both.
"""

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

#: A pixel and its neighbours (rows, columns) from it, around the circle: the first four are the second pixels
#: of its co-occurrence pairs, in the order of `ANGLES`.
_NEIGHBOURHOOD = ((0, 0), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
_STRAIGHT, _DIAGONAL = slice(1, None, 2), slice(2, None, 2)
#: Distance of a diagonal point from the pixel's rows and columns, rounded as scikit-image rounds it, in parts
#: of `_WHOLE`.
_STEP, _WHOLE = 70711, 100_000
#: The diagonal points (rows, columns) from the pixel, and where in `_NEIGHBOURHOOD` the four pixels around
#: each are: upper left and right, lower left and right.
_DIAGONAL_POINTS = np.array(_NEIGHBOURHOOD[_DIAGONAL]).T * _STEP / _WHOLE
_AROUND = np.array([
    [_NEIGHBOURHOOD.index((row, column)) for row in (min(down, 0), max(down, 0))
     for column in (min(right, 0), max(right, 0))]
    for down, right in _NEIGHBOURHOOD[_DIAGONAL]
]).T  # fmt: skip

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
    values, inside = neighbourhoods(grey, figures)
    statistics = pair_statistics(pair_counts(values, inside, figures))
    return np.hstack([statistics.reshape(len(statistics), -1), _lbp_histogram(values, figures)])


def lbp_features(grey, figures: Figures) -> np.ndarray:
    """The columns `LBP_QUANTITIES` of `texture_features` alone, (n_regions, 10) float64."""
    return _lbp_histogram(neighbourhoods(grey, figures)[0], figures)


def _lbp_histogram(values, figures: Figures) -> np.ndarray:
    return figures.sums(figures.areas, lbp_codes(values, figures), N_LBP_CODES)


def neighbourhoods(grey, figures: Figures) -> tuple[np.ndarray, np.ndarray]:
    """The foreground's pixels and their eight neighbours, in the order of `_NEIGHBOURHOOD`.

    Parameters
    ----------
    grey : (H, W) uint8
    figures : Figures

    Returns
    -------
    values : (9, k) uint16
        Brightness; 0 outside the image.
    inside : (9, k) bool
        Whether the neighbour lies in the foreground too.
    """
    width = grey.shape[1] + 2
    both = cv2.merge([grey, figures.mask.view(np.uint8)])
    both = cv2.copyMakeBorder(both, 1, 1, 1, 1, cv2.BORDER_CONSTANT).reshape(-1).view("<u2")
    centres = figures.pixels + 2 * figures.rows + (width + 1)
    steps = np.array([row * width + column for row, column in _NEIGHBOURHOOD])
    found = both.take(centres + steps[:, None])
    return found & 255, found > 255


def pair_counts(values, inside, figures: Figures) -> np.ndarray:
    """Grey-level co-occurrence counts of the pairs that lie in the foreground with both pixels.

    A pair belongs to the regions of its first pixel; the second lies to the right of it or below. Counted are
    pairs of levels whatever their order, half of the symmetric matrix.

    Parameters
    ----------
    values, inside : (9, k) uint16, (9, k) bool
        As `neighbourhoods` gives them.
    figures : Figures

    Returns
    -------
    (n_regions, 4, N_PAIRS) float32, whole numbers
        In the order of `ANGLES`, and of the upper triangle's rows.
    """
    n_angles, n_parts = len(ANGLES), figures.geometry.n_parts
    levels = values[: 1 + n_angles] >> 4
    index = _PAIR_OF_CODE.take((levels[0] << 4) | levels[1:])
    index += figures.parts * np.intp(n_angles * N_PAIRS) + N_PAIRS * np.arange(n_angles)[:, None]
    counts = np.bincount(index[inside[1 : 1 + n_angles]], minlength=n_parts * n_angles * N_PAIRS)
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
    values : (9, k) uint16
        The pixels and their neighbours, as `neighbourhoods` gives them.
    figures : Figures

    Returns
    -------
    (k,) uint8 in 0 … 9
    """
    n = values.shape[1]
    bits = np.empty((LBP_POINTS, n), bool)
    np.greater_equal(values[_STRAIGHT], values[0], out=bits[::2])
    # With s = _STEP / _WHOLE a diagonal point is (1 − s)² centre + s (1 − s) (beside + above) + s² corner:
    # its difference from the centre has the sign of a whole number.
    wide = values.astype(np.int32)
    straight = wide[_STRAIGHT]
    difference = straight + straight[[1, 2, 3, 0]]
    difference *= _WHOLE - _STEP
    difference += _STEP * wide[_DIAGONAL]
    difference -= (2 * _WHOLE - _STEP) * wide[0]
    np.greater(difference, 0, out=bits[1::2])
    diagonal, tied = np.divmod(np.flatnonzero(difference.ravel() == 0), n)
    bits[1 + 2 * diagonal, tied] = _tied_bits(values, figures, diagonal, tied)
    return _CODE_OF_PATTERN.take(np.packbits(bits, axis=0)[0])


_BITS = np.arange(256)[:, None] >> np.arange(LBP_POINTS) & 1
_CODE_OF_PATTERN = np.where(
    (np.roll(_BITS, 1, axis=1) != _BITS).sum(axis=1) <= 2, _BITS.sum(axis=1), LBP_POINTS + 1
).astype(np.uint8)


def _tied_bits(values, figures, diagonal, tied) -> np.ndarray:
    """Whether diagonal points (their numbers) are at least as bright as the centres of the
    pixels `tied`, by scikit-image's arithmetic: where they are exactly as bright, the rounding decides.
    """
    down, right = _DIAGONAL_POINTS.take(diagonal, axis=1)
    down, right = _fraction(figures.rows.take(tied), down), _fraction(figures.columns.take(tied), right)
    around = _AROUND.take(diagonal, axis=1) * values.shape[1] + tied
    upper_left, upper_right, lower_left, lower_right = values.ravel().take(around).astype(np.float64)
    upper = (1 - right) * upper_left + right * upper_right
    lower = (1 - right) * lower_left + right * lower_right
    return (1 - down) * upper + down * lower >= values[0, tied]


def _fraction(coordinate, step):
    """Fractional part of coordinate + step, with the rounding of that sum, which decides ties."""
    position = coordinate + step
    return position - np.floor(position)
