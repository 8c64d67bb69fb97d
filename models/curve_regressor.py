"""What is trained for a camera to predict curves: standardised features, functional output regression."""

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .functional import FunctionalRegressor, check_curves, fill_gaps
from .predictor import CurvePredictor, column_statistics, standardised


class CurveRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Curves from feature rows: columns standardised and clipped, curves centred at their mean.

    Parameters
    ----------
    regressor : FunctionalRegressor or None
        Cloned, then fitted to the standardised columns; of any kernel that is not precomputed. None:
        FunctionalRegressor with its defaults.

    Attributes
    ----------
    regressor_ : FunctionalRegressor
        The fitted regressor with its certificate.
    predictor_ : CurvePredictor
        All that prediction needs of it; can be saved.
    """

    def __init__(self, regressor=None):
        self.regressor = regressor

    def fit(self, X, Y):
        """Fit to X (n, d) and Y (n, m) float64, the curves' samples, 0 or more; flat Y (n,) has one of each.

        Gaps, NaN in Y, are filled as `FunctionalRegressor` does.
        """
        X = validate_data(self, X, dtype=np.float64)
        Y, self._is_flat = check_curves(X, Y)
        regressor = FunctionalRegressor() if self.regressor is None else clone(self.regressor)
        mean, scale, *_ = column_statistics(X)
        Y = fill_gaps(Y, regressor.resolved_locations(Y.shape[1]))
        center = Y.mean(axis=0)
        self.regressor_ = regressor.fit(standardised(X, mean, scale), Y - center)
        self.predictor_ = CurvePredictor(mean, scale, center, self.regressor_.expansion_)
        return self

    def predict(self, X):
        """Curves (n, m) float64, never below 0, for X (n, d); (n,) after a flat Y."""
        check_is_fitted(self)
        curves = self.predictor_.predict(validate_data(self, X, dtype=np.float64, reset=False))
        return curves[:, 0] if self._is_flat else curves
