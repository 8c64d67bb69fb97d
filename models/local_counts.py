"""Counts as sums of local counts: one regression per part of the scene, each on that part's columns alone."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from .hlr import HuberLossRegressor
from .predictor import CountPredictor, column_statistics, standardised
from .reuse import reusing


class LocalCountRegressor(RegressorMixin, BaseEstimator):
    """The sum of the parts' counts, each learnt from where the people of that part stand.

    Totals say how many people a frame shows; dots say where. A part's count depends on that part's columns
    alone, which no regression of the totals can know: it is the knowledge that dots add.

    Parameters
    ----------
    views : sequence of (sequence of integer arrays)
        For each part, the columns of X of each view.
    regressor : HuberLossRegressor or None
        Cloned for each part, with the part's views; None: its defaults.

    Attributes
    ----------
    predictor_ : CountPredictor
        All that prediction needs; can be saved.
    """

    def __init__(self, views: Sequence[Sequence[np.ndarray]], regressor=None):
        self.views = views
        self.regressor = regressor

    def fit(self, X, Y):
        """Fit to X (n, d) and the local counts Y (n, n_parts) float64; ValueError for other shapes or NaN.

        A part whose count never changes keeps it.
        """
        X = validate_data(self, X, dtype=np.float64)
        Y = check_array(Y, dtype=np.float64)
        check_consistent_length(X, Y)
        if Y.shape[1] != len(self.views):
            raise ValueError(f"expected counts of {len(self.views)} parts, found {Y.shape[1]} columns")
        template = HuberLossRegressor() if self.regressor is None else self.regressor
        self.predictor_ = local_predictors(self.views, [template], X, Y)[0]
        return self

    def predict(self, X):
        """Counts of all parts together (n,) float64, never below 0, for X (n, d)."""
        check_is_fitted(self)
        return self.predictor_.predict(validate_data(self, X, dtype=np.float64, reset=False))


def local_predictors(
    views: Sequence[Sequence[np.ndarray]],
    regressors: Sequence[HuberLossRegressor],
    X: np.ndarray,
    Y: np.ndarray,
) -> list[CountPredictor]:
    """What LocalCountRegressor.fit finds with each regressor, for X (n, d) and Y (n, n_parts) float64.

    One part after the other, as neighbours that differ in lam alone share most of their work on a part.
    """
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
