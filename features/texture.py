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
_LEVEL = np.arange(N_LEVELS)
_SQUARED_DIFFERENCE = np.square(_LEVEL[:, None] - _LEVEL).ravel()
_STATISTICS = (("homogeneity", "1"), ("energy", "1"), ("entropy", "bit"), ("contrast", "level²"))

LBP_POINTS = 8
N_LBP_CODES = LBP_POINTS + 2

#: A pixel and its neighbours (rows, columns) from it: those on the right and below are the second pixels of
#: its co-occurrence pairs, in the order of `ANGLES`.
_NEIGHBOURHOOD = ((0, 0), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
_PLACE = {offset: k for k, offset in enumerate(_NEIGHBOURHOOD)}
#: Distance of a diagonal point from the pixel's rows and columns, rounded as scikit-image rounds it, in parts
#: of `_WHOLE`.
_STEP, _WHOLE = 70711, 100_000

QUANTITIES = (
    *(Quantity(f"glcm_{name}_{angle}", "texture", unit, additive=False)
      for angle in ANGLES for name, unit in _STATISTICS),
    *(Quantity(f"lbp_{code}", "texture", "h²", additive=True) for code in range(N_LBP_CODES)),
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
    statistics = glcm_statistics(glcm(values, inside, figures))
    codes = lbp_codes(values, *np.divmod(figures.pixels, grey.shape[1]))
    histogram = figures.sums(figures.areas, codes, N_LBP_CODES)
    return np.hstack([statistics.reshape(len(statistics), -1), histogram])


def neighbourhoods(grey, figures: Figures) -> tuple[np.ndarray, np.ndarray]:
    """The foreground's pixels and their eight neighbours, in the order of `_NEIGHBOURHOOD`.

    Parameters
    ----------
    grey : (H, W) uint8
    figures : Figures

    Returns
    -------
    values : (9, k) uint8
        Brightness; 0 outside the image.
    inside : (9, k) bool
        Whether the neighbour lies in the foreground too.
    """
    width = grey.shape[1] + 2
    both = cv2.merge([grey, figures.mask.view(np.uint8)])
    both = cv2.copyMakeBorder(both, 1, 1, 1, 1, cv2.BORDER_CONSTANT).reshape(-1).view(np.uint16)
    centres = figures.pixels + 2 * (figures.pixels // grey.shape[1]) + (width + 1)
    steps = np.array([row * width + column for row, column in _NEIGHBOURHOOD])
    found = both.take(centres + steps[:, None]).view(np.uint8).reshape(len(steps), -1, 2)
    return found[..., 0], found[..., 1].view(bool)


def glcm(values, inside, figures: Figures) -> np.ndarray:
    """Symmetric grey-level co-occurrence counts of the pairs that lie in the foreground with both pixels.

    A pair belongs to the regions of its first pixel; the second lies to the right of it or below.

    Parameters
    ----------
    values, inside : (9, k) uint8, (9, k) bool
        As `neighbourhoods` gives them.
    figures : Figures

    Returns
    -------
    (n_regions, 4, N_LEVELS, N_LEVELS) float32, whole numbers
        In the order of `ANGLES`.
    """
    n_angles, n_codes = len(ANGLES), N_LEVELS**2
    levels = values[: 1 + n_angles] >> 4
    codes = (levels[0] << 4) | levels[1:]
    n_parts = figures.geometry.n_parts
    angles, pixels = np.nonzero(inside[1 : 1 + n_angles])
    index = (figures.parts[pixels] * np.intp(n_angles) + angles) * n_codes + codes[angles, pixels]
    counts = np.bincount(index, minlength=n_parts * n_angles * n_codes).astype(np.float32)
    counts = figures.geometry.total(counts.reshape(n_parts, n_angles, N_LEVELS, N_LEVELS))
    return counts + counts.swapaxes(-1, -2)


def glcm_statistics(counts) -> np.ndarray:
    """Homogeneity, energy, entropy and contrast of co-occurrence counts (Haralick 1973).

    Parameters
    ----------
    counts : (..., L, L) float

    Returns
    -------
    (..., 4) float64; zeros where a matrix holds no pair.
    """
    shape, counts = counts.shape[:-2], counts.reshape(-1, N_LEVELS**2)
    used = np.flatnonzero(counts)
    matrix, code = np.divmod(used, N_LEVELS**2)
    p = counts.ravel()[used] / counts.sum(axis=1, dtype=np.float64)[matrix]
    squared_difference = _SQUARED_DIFFERENCE[code]

    def total(values):
        return np.bincount(matrix, values, len(counts))

    homogeneity = total(p / (1 + squared_difference))
    energy = np.sqrt(total(p**2))
    entropy = -total(p * np.log2(p))
    contrast = total(p * squared_difference)
    return np.stack([homogeneity, energy, entropy, contrast], axis=-1).reshape(*shape, -1)


def lbp_codes(values, rows, columns) -> np.ndarray:
    """Rotation-invariant uniform local binary pattern (riu2, 8 points, radius 1) at some pixels.

    Ojala, Pietikäinen & Mäenpää 2002, eq. 9: the number of ones for a uniform pattern (at most two changes
    around the circle), 9 otherwise. Points on the diagonals are interpolated bilinearly, points outside the
    image are 0, as in scikit-image's `local_binary_pattern(…, method="uniform")`.

    Parameters
    ----------
    values : (9, k) uint8
        The pixels and their neighbours, as `neighbourhoods` gives them.
    rows, columns : (k,) int
        Where the pixels are.

    Returns
    -------
    (k,) uint8 in 0 … 9
    """
    centre = values[0]
    pattern = np.zeros(len(centre), np.uint8)
    wide = values.astype(np.int32)
    for point, (row_step, column_step) in enumerate(_CIRCLE):
        place = _PLACE[row_step, column_step]
        if row_step == 0 or column_step == 0:
            bit = values[place] >= centre
        else:
            # With s = _STEP / _WHOLE the point is (1 − s)² centre + s (1 − s) (beside + above) + s² corner:
            # its difference from the centre has the sign of a whole number.
            beside, above, corner = wide[_PLACE[0, column_step]], wide[_PLACE[row_step, 0]], wide[place]
            difference = (_WHOLE - _STEP) * (beside + above) + _STEP * corner - (2 * _WHOLE - _STEP) * wide[0]
            bit = difference > 0
            ties = np.flatnonzero(difference == 0)
            bit[ties] = _tied_bits(values[:, ties], rows[ties], columns[ties], row_step, column_step)
        pattern |= bit.view(np.uint8) << np.uint8(point)
    return _CODE_OF_PATTERN[pattern]


_CIRCLE = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
_BITS = np.arange(256)[:, None] >> np.arange(LBP_POINTS) & 1
_CODE_OF_PATTERN = np.where(
    (np.roll(_BITS, 1, axis=1) != _BITS).sum(axis=1) <= 2, _BITS.sum(axis=1), LBP_POINTS + 1
).astype(np.uint8)


def _tied_bits(values, rows, columns, row_step, column_step) -> np.ndarray:
    """Whether a diagonal point is at least as bright as the centre (k,) bool, by scikit-image's arithmetic.

    Where it is exactly as bright, the rounding of coordinates and products decides.
    """
    row_fraction = _fraction(rows, row_step * _STEP / _WHOLE)
    column_fraction = _fraction(columns, column_step * _STEP / _WHOLE)
    top, bottom = min(row_step, 0), max(row_step, 0)
    left, right = min(column_step, 0), max(column_step, 0)

    def near(row, column):
        return values[_PLACE[row, column]].astype(np.float64)

    upper = (1 - column_fraction) * near(top, left) + column_fraction * near(top, right)
    lower = (1 - column_fraction) * near(bottom, left) + column_fraction * near(bottom, right)
    return (1 - row_fraction) * upper + row_fraction * lower >= values[0]


def _fraction(coordinate, step):
    """Fractional part of coordinate + step, with the rounding of that sum, which decides ties."""
    position = coordinate + step
    return position - np.floor(position)
