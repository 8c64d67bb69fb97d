"""What is trained for a camera: standardised features, Huber loss regression, counts never below 0."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .hlr import HuberLossRegressor
from .labels import check_labels, without_slips
from .precision import precision_weights
from .predictor import CountPredictor, column_statistics, standardised


class CountRegressor(RegressorMixin, BaseEstimator):
    """Counts from feature rows: columns standardised and clipped, all over the labelled rows, and y less its
    mean over those that are no slips (`without_slips`).

    Parameters
    ----------
    regressor : HuberLossRegressor, RobustKernelRegressor or None
        Cloned, then fitted to the standardised columns. None: HuberLossRegressor with its defaults.
    by_precision : bool
        Weight the standardised columns by how precisely each measures the count, `precision_weights`; for
        columns of which each measures the whole.
    column_weights : (d,) array or None
        Weights of the standardised columns. Columns are weighted for linear and polynomial kernels only.

    Attributes
    ----------
    regressor_ : HuberLossRegressor or RobustKernelRegressor
        The fitted regressor.
    predictor_ : CountPredictor
        All that prediction needs of it; can be saved.
    """

    def __init__(self, regressor=None, by_precision=False, column_weights=None):
        self.regressor = regressor
        self.by_precision = by_precision
        self.column_weights = column_weights

    def fit(self, X, y):
        """Fit to X (n, d) and y (n,) float64, NaN in y where a row has no label (which R3 refuses)."""
        X = validate_data(self, X, dtype=np.float64)
        regressor = HuberLossRegressor() if self.regressor is None else clone(self.regressor)
        y = check_labels(X, y)
        known = ~np.isnan(y)
        mean, scale, low, high = column_statistics(X[known])
        center = float(without_slips(y[known]).mean())
        rows = standardised(X, mean, scale)
        weights = precision_weights(rows[known], y[known]) if self.by_precision else self.column_weights
        self.regressor_ = regressor.fit(rows if weights is None else rows * weights, y - center)
        expansions = self.regressor_.expansions_
        if weights is not None:
            expansions = [part.scaled(weights[part.columns]) for part in expansions]
        center += getattr(self.regressor_, "intercept_", 0.0)
        self.predictor_ = CountPredictor(mean, scale, low, high, center, tuple(expansions))
        return self

    def predict(self, X):
        """Counts (n,) float64, never below 0, for X (n, d)."""
        check_is_fitted(self)
        return self.predictor_.predict(validate_data(self, X, dtype=np.float64, reset=False))
