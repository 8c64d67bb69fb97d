"""What is trained for a camera: standardised features, Huber loss regression, counts never below 0."""

from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .hlr import HuberLossRegressor
from .kernels import Expansion, Kernel, evaluate
from .labels import check_labels

#: Standardised values are clipped to this many standard deviations: a column that hardly varied in training
#: would otherwise decide the count of the first frame in which it does.
LARGEST_DEVIATION = 5.0


class CountRegressor(RegressorMixin, BaseEstimator):
    """Counts from feature rows: columns standardised and clipped, y centred, all over the labelled rows.

    Parameters
    ----------
    regressor : HuberLossRegressor or None
        Cloned, then fitted to the standardised columns. None: HuberLossRegressor with its defaults.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (d,)
        Mean and standard deviation of each column; a constant column's scale is 1.
    low_, high_ : ndarray of shape (d,)
        Range of each column over the labelled rows.
    center_ : float
        Mean label.
    regressor_ : HuberLossRegressor
        The fitted regressor with its audit of the labels; absent after `from_arrays`.
    expansions_ : list of Expansion
        All that prediction needs of it.
    """

    def __init__(self, regressor=None):
        self.regressor = regressor

    def fit(self, X, y):
        """Fit to X (n, d) and y (n,) float64, NaN in y where a row has no label."""
        X = validate_data(self, X, dtype=np.float64)
        regressor = HuberLossRegressor() if self.regressor is None else clone(self.regressor)
        y = check_labels(X, y)
        labelled = X[~np.isnan(y)]
        self.mean_ = labelled.mean(axis=0)
        spread = labelled.std(axis=0)
        self.low_, self.high_ = labelled.min(axis=0), labelled.max(axis=0)
        constant = spread <= 1e-12 * np.maximum(np.abs(self.low_), np.abs(self.high_))
        self.scale_ = np.where(constant, 1.0, spread)
        self.center_ = float(np.nanmean(y))
        self.regressor_ = regressor.fit(self._standardised(X), y - self.center_)
        self.expansions_ = self.regressor_.expansions_
        return self

    def predict(self, X):
        """Counts (n,) float64, never below 0, for X (n, d)."""
        check_is_fitted(self, "expansions_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.maximum(self.center_ + evaluate(self.expansions_, self._standardised(X)), 0.0)

    def _standardised(self, X):
        return np.clip((X - self.mean_) / self.scale_, -LARGEST_DEVIATION, LARGEST_DEVIATION)

    def outside_range(self, X) -> np.ndarray:
        """(n, d) bool: the value lies outside of what the column took in the labelled training rows."""
        check_is_fitted(self, "expansions_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (self.low_ > X) | (self.high_ < X)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict]:
        """What prediction needs, as arrays by name and JSON-able metadata, for `from_arrays`."""
        check_is_fitted(self, "expansions_")
        arrays = {"mean": self.mean_, "scale": self.scale_, "low": self.low_, "high": self.high_}
        views = []
        for number, part in enumerate(self.expansions_):
            arrays[f"view{number}_columns"] = part.columns
            arrays[f"view{number}_coefficients"] = part.coefficients
            if part.support is not None:
                arrays[f"view{number}_support"] = part.support
            kernel = part.kernel
            views.append(
                {
                    "kernel": kernel.name,
                    "gamma": float(kernel.gamma),
                    "coef0": float(kernel.coef0),
                    "degree": int(kernel.degree),
                    "has_support": part.support is not None,
                }
            )
        return arrays, {"center": self.center_, "views": views}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping) -> "CountRegressor":
        """The regressor that `to_arrays` described, ready to predict.

        ValueError, saying what is wrong, when something is missing, or of another type, shape or range, or
        not finite: the arrays may come from a damaged or foreign file.
        """
        model = cls()
        model.mean_ = _array(arrays, "mean", (None,))
        d = model.n_features_in_ = len(model.mean_)
        model.scale_, model.low_, model.high_ = (
            _array(arrays, key, (d,)) for key in ("scale", "low", "high")
        )
        if not (model.scale_ > 0).all():
            raise ValueError("expected positive values in 'scale'")
        try:
            model.center_ = meta["center"] + 0.0
            views = [(_kernel(view), bool(view["has_support"])) for view in meta["views"]]
        except (KeyError, TypeError) as error:
            raise ValueError(f"expected 'center' and 'views' of a count regressor; wrong: {error}") from None
        if not np.isfinite(model.center_) or not views:
            raise ValueError("expected a finite 'center' and at least one view")
        model.expansions_ = [_expansion(arrays, i, *view, d) for i, view in enumerate(views)]
        return model


def _kernel(view: Mapping) -> Kernel:
    """The kernel of one view's metadata; KeyError or TypeError where a number is missing or none."""
    parameters = {key: view[key] + 0 for key in ("gamma", "coef0", "degree")}
    return Kernel.resolve(view["kernel"], parameters, 1)


def _expansion(arrays, number: int, kernel: Kernel, has_support: bool, n_columns: int) -> Expansion:
    columns = _array(arrays, f"view{number}_columns", (None,), kind="iu")
    if not len(columns) or columns.min() < 0 or columns.max() >= n_columns:
        raise ValueError(f"expected column numbers from 0 to {n_columns - 1} in 'view{number}_columns'")
    if has_support:
        support = _array(arrays, f"view{number}_support", (None, len(columns)))
        size = len(support)
    else:
        support, size = None, kernel.map_size(len(columns))
        if size is None:
            raise ValueError(f"expected 'view{number}_support' with the kernel {kernel.name!r}")
    return Expansion(columns, kernel, support, _array(arrays, f"view{number}_coefficients", (size,)))


def _array(arrays, key: str, shape: tuple[int | None, ...], kind: str = "f") -> np.ndarray:
    if key not in arrays:
        raise ValueError(f"expected an array {key!r}, found none")
    array = np.asarray(arrays[key])
    fits = len(array.shape) == len(shape) and all(
        want in (None, got) for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind not in kind:
        raise ValueError(f"expected {key!r} of shape {shape}, got {array.dtype} {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"expected finite values in {key!r}")
    return array
