"""The edges view: how much structure the foreground has, in which directions, and how it fills the plane."""

import cv2
import numpy as np

from .geometry import Figures, Geometry
from .schema import Quantity
from .size import N_ORIENTATIONS, orientation_bins

QUANTITIES = (
    Quantity("edges", "edges", "h", additive=True),
    *(Quantity(f"edges_{30 * k}", "edges", "h", additive=True) for k in range(N_ORIENTATIONS)),
    Quantity("minkowski_dimension", "edges", "1", additive=False),
)

#: Hysteresis thresholds of the Canny detector, grey levels per pixel times the Sobel kernel's weight of 4.
CANNY_LOW, CANNY_HIGH = 60, 140
#: Edges count to so many pixels around the foreground, where they may join edges inside.
REACH = 4
_AROUND = np.ones((2 * REACH + 1, 2 * REACH + 1), np.uint8)
#: Side lengths of the boxes that cover the edges, pixels; `Geometry.boxes` has them from the second on.
BOX_SIDES = (1, 2, 4, 8, 16)


def edge_features(grey, figures: Figures) -> np.ndarray:
    """Measure the edges view: Canny edges inside the foreground.

    A strong edge farther than `REACH` from the foreground does not bring in weak ones that lead to it.

    Parameters
    ----------
    grey : (H, W) uint8
        The frame's brightness.
    figures : Figures

    Returns
    -------
    (n_regions, 8) float64
        Columns as `QUANTITIES`. No edges give zeros.
    """
    near = cv2.dilate(figures.mask.view(np.uint8), _AROUND)
    gradients = [cv2.copyTo(gradient, near) for gradient in cv2.spatialGradient(grey)]
    edges = cv2.Canny(*gradients, CANNY_LOW, CANNY_HIGH)
    on_edge = np.flatnonzero(edges.ravel().take(figures.pixels))
    pixels = figures.pixels[on_edge]
    directions = orientation_bins(*(one.ravel().take(pixels).astype(np.float32) for one in gradients))
    directed = figures.sums(figures.lengths[on_edge], directions, N_ORIENTATIONS, on_edge)
    dimension = minkowski_dimension(pixels, figures.geometry)
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
    by_part = np.bincount(geometry.parts[pixels], minlength=geometry.n_parts).astype(np.float64)
    counts = [geometry.total(by_part)]
    occupied = pixels
    for box_of, region_of in geometry.boxes:
        is_occupied = np.zeros(len(region_of), bool)
        is_occupied[box_of.take(occupied, axis=-1)] = True
        occupied = np.flatnonzero(is_occupied)
        counts.append(np.bincount(region_of[occupied], minlength=geometry.n_regions))
    log_counts = np.log(np.maximum(counts, 1))
    log_sides = np.log(BOX_SIDES) - np.log(BOX_SIDES).mean()
    return -(log_sides @ log_counts) / (log_sides @ log_sides)
