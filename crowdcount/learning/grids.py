"""What the columns of whole, coarse and fine regions count for in a kernel."""

from collections.abc import Sequence

import numpy as np

#: Share of each of the grids of `crowdcount.pipeline.GRIDS`. Were all columns alike, the whole region would
#: have 1/37: the error on eleven clips is then higher by a quarter with 10 labels, by 8 % with all of them
#: (docs/decisions/2026-11-22-mixture.md).
GRID_SHARES = {"1x1": 0.25, "3x2": 0.25, "6x5": 0.5}


def grid_weights(columns: Sequence[str]) -> np.ndarray:
    """Weights (d,), of mean square 1, with which the columns of each grid have its share, by their names.

    >>> grid_weights(["1x1_0_0.area", "3x2_0_0.area", "6x5_0_0.area", "6x5_0_1.area"])
    array([1., 1., 1., 1.])
    """
    grids, places, counts = np.unique(
        [name.partition("_")[0] for name in columns], return_inverse=True, return_counts=True
    )
    shares = np.array([GRID_SHARES[grid] for grid in grids]) / counts
    return np.sqrt(len(columns) * shares)[places]
