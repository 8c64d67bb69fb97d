"""How large the foreground's blobs are: one person alone, or clumps in which people hide each other.

A blob of a person's size is one person whatever the clothes; in larger ones more people share an area. After
Kong, Gray & Tao 2006, "A viewpoint invariant approach for crowd counting", who count the blobs in each of
several ranges of size; here a blob is shared out between the two sizes nearest to its own.
"""

import numpy as np

from .geometry import Figures
from .schema import Quantity

#: Sizes of blobs, squared person heights: half a person, one, two, a group, a crowd.
SIZES = (0.1, 0.2, 0.4, 1.0, 2.5)
#: To each size the one below it, and the step from there.
_SMALLER = np.array((0.0, *SIZES[:-1]))
_STEPS = SIZES - _SMALLER
QUANTITIES = tuple(Quantity(f"clumps_{100 * size:.0f}", "size", "1", additive=True) for size in SIZES)


def clump_features(figures: Figures) -> np.ndarray:
    """Measure how many blobs there are of each size.

    Parameters
    ----------
    figures : Figures

    Returns
    -------
    (n_regions, 5) float64
        Columns as `QUANTITIES`. A blob that spans several regions counts in each with the share of its area
        there. An empty mask gives zeros.
    """
    areas = figures.blob_areas
    in_regions = figures.sums(figures.areas, figures.blobs, len(areas))
    return in_regions @ (nearest_sizes(areas) / np.maximum(areas, np.finfo(float).tiny)[:, None])


def nearest_sizes(areas) -> np.ndarray:
    """Blobs of some areas as numbers of blobs of `SIZES` that cover as much.

    Parameters
    ----------
    areas : (n,) float, squared person heights

    Returns
    -------
    (n, 5) float64
        `nearest_sizes(areas) @ SIZES` are the areas. Between two sizes the two add up to one blob; below the
        smallest size and above the largest there is a part or a multiple of that one.
    """
    numbers = np.minimum(np.maximum((areas[:, None] - _SMALLER) / _STEPS, 0.0), 1.0)
    numbers[:, :-1] -= numbers[:, 1:]
    numbers[:, -1] *= np.maximum(areas / SIZES[-1], 1.0)
    return numbers
