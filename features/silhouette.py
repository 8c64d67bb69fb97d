"""How wide the foreground is where it begins, and where it ends: heads and shoulders, and feet.

People who hide each other from sight cover less ground together than apart; their heads are seen above each
other all the same.
"""

import numpy as np

from .geometry import Figures
from .schema import Quantity

QUANTITIES = (
    Quantity("silhouette_top", "size", "h", additive=True),
    Quantity("silhouette_bottom", "size", "h", additive=True),
)


def silhouette_features(figures: Figures) -> np.ndarray:
    """Measure the upper and the lower outline of the foreground.

    Parameters
    ----------
    figures : Figures

    Returns
    -------
    (n_regions, 2) float64
        Columns as `QUANTITIES`: widths of the pixels that have none of the foreground above them, and of
        those that have none below them. An empty mask gives zeros.
    """
    mask = figures.mask
    top, bottom = mask.copy(), mask.copy()
    np.greater(mask[1:], mask[:-1], out=top[1:])
    np.greater(mask[:-1], mask[1:], out=bottom[:-1])
    tops, bottoms = (np.flatnonzero(outline.ravel().take(figures.pixels)) for outline in (top, bottom))
    chosen = np.concatenate([tops, bottoms])
    return figures.sums(figures.lengths[chosen], np.arange(len(chosen)) >= len(tops), 2, chosen)
