"""The size view: how much of the scene people cover and how their outline runs.

Areas and lengths are weighted by perspective (an area by the scale squared, a length by the scale), after
Chan, Liang & Vasconcelos 2008, "Privacy preserving crowd monitoring", section 4.
"""

import cv2
import numpy as np

from .geometry import Figures
from .schema import Quantity

N_DIRECTIONS = 12
N_ORIENTATIONS = N_DIRECTIONS // 2
QUANTITIES = (
    Quantity("area", "size", "h²", additive=True),
    Quantity("perimeter", "size", "h", additive=True),
    *(Quantity(f"perimeter_{30 * k}", "size", "h", additive=True) for k in range(N_DIRECTIONS)),
    Quantity("perimeter_area_ratio", "size", "1/h", additive=False),
    Quantity("blobs", "size", "1", additive=True),
)

_CROSS = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))


def direction_bins(gradient_x, gradient_y) -> np.ndarray:
    """Bin of each gradient's direction, bins centred on 0°, 30°, … 330°.

    Parameters
    ----------
    gradient_x, gradient_y : (k,) float
        Gradient components; the direction is that of the edge's normal.

    Returns
    -------
    (k,) intp in 0 … N_DIRECTIONS − 1; a zero gradient falls into bin 0.
    """
    angle = np.arctan2(gradient_y, gradient_x)
    return np.rint(angle * (N_ORIENTATIONS / np.pi)).astype(np.intp) % N_DIRECTIONS


def orientation_bins(gradient_x, gradient_y) -> np.ndarray:
    """As `direction_bins`, modulo 180°: bins 0 … N_ORIENTATIONS − 1."""
    return direction_bins(gradient_x, gradient_y) % N_ORIENTATIONS


def ratio(numerator, denominator) -> np.ndarray:
    """numerator / denominator, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def size_features(figures: Figures) -> np.ndarray:
    """Measure the size view.

    Parameters
    ----------
    figures : Figures

    Returns
    -------
    (n_regions, 16) float64
        Columns as `QUANTITIES`. An empty mask gives zeros.
    """
    area = figures.sums(figures.areas)

    mask = figures.mask.view(np.uint8)
    inner = cv2.erode(mask, _CROSS, borderType=cv2.BORDER_REPLICATE)
    normal_x, normal_y = cv2.spatialGradient(cv2.GaussianBlur(mask * np.uint8(255), (5, 5), 0))
    on_outline = np.flatnonzero(inner.ravel().take(figures.pixels) == 0)
    outline = figures.pixels[on_outline]
    directions = direction_bins(normal_x.ravel().take(outline), normal_y.ravel().take(outline))
    directed = figures.sums(figures.lengths[on_outline], directions, N_DIRECTIONS, on_outline)

    blobs = figures.sums(figures.blob_shares)
    perimeter = directed.sum(axis=1, keepdims=True)
    return np.hstack([area, perimeter, directed, ratio(perimeter, area), blobs])
