"""Counts as sums of local counts: one regression per part of the scene, each on that part's columns alone.

Totals say how many people a frame shows; dots say where. A part's count depends on that part's columns alone,
which no regression of the totals can know: it is the knowledge that dots add.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from .hlr import HuberLossRegressor
from .predictor import CountPredictor, column_statistics, standardised
from .reuse import reusing


def local_predictors(
    views: Sequence[Sequence[np.ndarray]],
    regressors: Sequence[HuberLossRegressor],
    X: np.ndarray,
    Y: np.ndarray,
) -> list[CountPredictor]:
    """For each regressor, the sum of the parts' counts, each learnt from where the people of that part stand.

    One part after the other, as neighbours that differ in lam alone share most of their work on a part.

    Parameters
    ----------
    views : sequence of (sequence of integer arrays)
        For each part, the columns of X of each view.
    regressors : sequence of HuberLossRegressor
        Cloned for each part, with the part's views.
    X : array (n, d) float64
    Y : array (n, n_parts) float64
        The parts' counts. A part whose count never changes keeps it.

    Raises
    ------
    ValueError
        For counts of other parts than the views', or NaN.
    """
    if Y.shape[1] != len(views):
        raise ValueError(f"expected counts of {len(views)} parts, found {Y.shape[1]} columns")
    if np.isnan(Y).any():
        raise ValueError("expected a count of each part in each row, found NaN")
    mean, scale, low, high = column_statistics(X)
    rows = standardised(X, mean, scale)
    expansions = [[] for _ in regressors]
    with reusing():
        for part_views, counts in zip(views, Y.T, strict=True):
            if np.ptp(counts) == 0:
                continue
            for regressor, found in zip(regressors, expansions, strict=True):
                part = clone(regressor).set_params(views=list(part_views))
                found += part.fit(rows, counts - counts.mean()).expansions_
    center = float(Y.mean(axis=0).sum())
    return [CountPredictor(mean, scale, low, high, center, tuple(found)) for found in expansions]
