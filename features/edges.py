"""The edges view: how much structure the foreground has, in which directions, and how it fills the plane."""

import cv2
import numpy as np

from .geometry import Geometry
from .schema import Quantity
from .size import N_ORIENTATIONS, orientation_bins

QUANTITIES = (
    Quantity("edges", "edges", "h", additive=True),
    *(Quantity(f"edges_{30 * k}", "edges", "h", additive=True) for k in range(N_ORIENTATIONS)),
    Quantity("minkowski_dimension", "edges", "1", additive=False),
)

#: Hysteresis thresholds of the Canny detector, grey levels per pixel times the Sobel kernel's weight of 4.
CANNY_LOW, CANNY_HIGH = 60, 140
#: Side lengths of the boxes that cover the edges, pixels.
BOX_SIZES = (1, 2, 4, 8, 16)


def edge_features(grey, mask, geometry: Geometry) -> np.ndarray:
    """Measure the edges view: Canny edges inside the foreground.

    Parameters
    ----------
    grey : (H, W) uint8
        The frame's brightness.
    mask : (H, W) bool
        Foreground inside the region of interest.
    geometry : Geometry

    Returns
    -------
    (n_regions, 8) float64
        Columns as `QUANTITIES`. No edges give zeros.
    """
    gradient_x = cv2.Sobel(grey, cv2.CV_16S, 1, 0)
    gradient_y = cv2.Sobel(grey, cv2.CV_16S, 0, 1)
    edges = cv2.Canny(gradient_x, gradient_y, CANNY_LOW, CANNY_HIGH)
    pixels = np.flatnonzero((edges > 0) & mask)
    bins = orientation_bins(
        gradient_x.ravel()[pixels].astype(np.float32), gradient_y.ravel()[pixels].astype(np.float32)
    )
    directed = geometry.sums(pixels, geometry.scale[pixels], bins, N_ORIENTATIONS)
    dimension = minkowski_dimension(pixels, geometry)
    return np.hstack([directed.sum(axis=1, keepdims=True), directed, dimension[:, None]])


def minkowski_dimension(pixels, geometry: Geometry) -> np.ndarray:
    """Box-counting dimension of a set of pixels, in each region.

    The slope of log N(r) over log 1/r, N(r) the number of boxes of side r that hold a pixel of the set
    (Marana, Costa, Lotufo & Velastin 1999, "Estimating crowd density with Minkowski fractal dimension").

    Parameters
    ----------
    pixels : (k,) int
        Flat indices of the set's pixels, inside the region of interest.
    geometry : Geometry

    Returns
    -------
    (n_regions,) float64, between 0 and 2; 0 for an empty set.
    """
    height, width = geometry.person_height.shape
    rows, columns = np.divmod(pixels, width)
    log_counts = np.empty((len(BOX_SIZES), geometry.n_regions))
    for i, side in enumerate(BOX_SIZES):
        boxes_wide, boxes_high = -(-width // side), -(-height // side)
        box = (rows // side) * boxes_wide + columns // side
        counts = np.zeros(geometry.n_regions, np.intp)
        for grid in geometry.flat_grids:
            occupied = np.unique(grid[pixels] * np.intp(boxes_wide * boxes_high) + box)
            counts += np.bincount(occupied // (boxes_wide * boxes_high), minlength=geometry.n_regions)
        log_counts[i] = np.log(np.maximum(counts, 1))
    log_sides = np.log(BOX_SIZES) - np.log(BOX_SIZES).mean()
    return -(log_sides @ log_counts) / (log_sides @ log_sides)
