"""The texture view: grey-level co-occurrence (GLCM) and local binary patterns (LBP) over the foreground.

Both agree with scikit-image's functions on the same pixels, which the tests check; here they look only at
foreground pixels, which are a small part of a frame.
"""

import numpy as np

from .geometry import Geometry
from .schema import Quantity

ANGLES = (0, 45, 90, 135)
#: Offset (rows, columns) of the second pixel of a pair for each angle, at distance 1.
_OFFSETS = ((0, 1), (1, 1), (1, 0), (1, -1))
N_LEVELS = 16
_STATISTICS = (("homogeneity", "1"), ("energy", "1"), ("entropy", "bit"), ("contrast", "level²"))

LBP_POINTS = 8
N_LBP_CODES = LBP_POINTS + 2

QUANTITIES = (
    *(Quantity(f"glcm_{name}_{angle}", "texture", unit, additive=False)
      for angle in ANGLES for name, unit in _STATISTICS),
    *(Quantity(f"lbp_{code}", "texture", "h²", additive=True) for code in range(N_LBP_CODES)),
)  # fmt: skip


def texture_features(grey, mask, geometry: Geometry) -> np.ndarray:
    """Measure the texture view.

    Parameters
    ----------
    grey : (H, W) uint8
        The frame's brightness.
    mask : (H, W) bool
        Foreground inside the region of interest.
    geometry : Geometry

    Returns
    -------
    (n_regions, 26) float64
        Columns as `QUANTITIES`. An empty mask gives zeros.
    """
    statistics = [glcm_statistics(glcm(grey, mask, geometry, offset)) for offset in _OFFSETS]
    pixels = np.flatnonzero(mask)
    codes = lbp_codes(grey, pixels)
    histogram = geometry.sums(pixels, geometry.area_scale[pixels], codes, N_LBP_CODES)
    return np.hstack([*statistics, histogram])


def glcm(grey, mask, geometry: Geometry, offset) -> np.ndarray:
    """Symmetric grey-level co-occurrence counts of the pairs that lie in the foreground with both pixels.

    A pair belongs to the regions of its first pixel.

    Parameters
    ----------
    grey : (H, W) uint8
    mask : (H, W) bool
    geometry : Geometry
    offset : (rows, columns)
        Where the second pixel lies, seen from the first; rows ≥ 0.

    Returns
    -------
    (n_regions, N_LEVELS, N_LEVELS) float64
    """
    height, width = grey.shape
    row_step, column_step = offset
    first_columns = slice(max(0, -column_step), width - max(0, column_step))
    second_columns = slice(max(0, column_step), width - max(0, -column_step))
    pairs = np.zeros_like(mask)
    pairs[: height - row_step, first_columns] = (
        mask[: height - row_step, first_columns] & mask[row_step:, second_columns]
    )
    first = np.flatnonzero(pairs)
    levels = grey.ravel() // (256 // N_LEVELS)
    pair_code = levels[first].astype(np.intp) * N_LEVELS + levels[first + row_step * width + column_step]
    counts = geometry.sums(first, None, pair_code, N_LEVELS**2).reshape(-1, N_LEVELS, N_LEVELS)
    return counts + counts.transpose(0, 2, 1)


def glcm_statistics(counts) -> np.ndarray:
    """Homogeneity, energy, entropy and contrast of co-occurrence counts (Haralick 1973).

    Parameters
    ----------
    counts : (n, L, L) float64

    Returns
    -------
    (n, 4) float64; zeros where a matrix holds no pair.
    """
    totals = counts.sum(axis=(1, 2), keepdims=True)
    p = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    level = np.arange(counts.shape[1])
    squared_difference = (level[:, None] - level) ** 2
    homogeneity = (p / (1 + squared_difference)).sum(axis=(1, 2))
    energy = np.sqrt((p**2).sum(axis=(1, 2)))
    entropy = -(p * np.log2(p, out=np.zeros_like(p), where=p > 0)).sum(axis=(1, 2))
    contrast = (p * squared_difference).sum(axis=(1, 2))
    return np.stack([homogeneity, energy, entropy, contrast], axis=1)


def lbp_codes(grey, pixels) -> np.ndarray:
    """Rotation-invariant uniform local binary pattern (riu2, 8 points, radius 1) at some pixels.

    Ojala, Pietikäinen & Mäenpää 2002, eq. 9: the number of ones for a uniform pattern (at most two changes
    around the circle), 9 otherwise. Points on the diagonals are interpolated bilinearly, points outside the
    image are 0, as in scikit-image's `local_binary_pattern(…, method="uniform")`.

    Parameters
    ----------
    grey : (H, W) uint8
    pixels : (k,) int
        Flat indices.

    Returns
    -------
    (k,) intp in 0 … 9
    """
    width = grey.shape[1] + 2
    padded = np.pad(grey, 1).astype(np.float64).ravel()
    rows, columns = np.divmod(pixels, grey.shape[1])
    centre_index = (rows + 1) * width + columns + 1
    centre = padded[centre_index]
    near = {(i, j): padded[centre_index + i * width + j] for i in (-1, 0, 1) for j in (-1, 0, 1)}
    # Distance of a diagonal point from the pixel's rows and columns, rounded as scikit-image rounds it.
    step = 0.70711

    def diagonal(i, j):
        row_fraction = _fraction(rows, i * step)
        column_fraction = _fraction(columns, j * step)
        top, bottom = min(i, 0), max(i, 0)
        left, right = min(j, 0), max(j, 0)
        upper = (1 - column_fraction) * near[top, left] + column_fraction * near[top, right]
        lower = (1 - column_fraction) * near[bottom, left] + column_fraction * near[bottom, right]
        return (1 - row_fraction) * upper + row_fraction * lower

    circle = [
        near[0, 1], diagonal(-1, 1), near[-1, 0], diagonal(-1, -1),
        near[0, -1], diagonal(1, -1), near[1, 0], diagonal(1, 1),
    ]  # fmt: skip
    bits = np.stack([point >= centre for point in circle])
    ones = bits.sum(axis=0)
    changes = (bits != np.roll(bits, 1, axis=0)).sum(axis=0)
    return np.where(changes <= 2, ones, LBP_POINTS + 1).astype(np.intp)


def _fraction(coordinate, step):
    """Fractional part of coordinate + step, with the rounding of that sum, which decides ties."""
    position = coordinate + step
    return position - np.floor(position)
