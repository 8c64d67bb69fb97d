"""What a regressor learns from: rows, and one label per row."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

#: A label so many times as far from the median as half of those that differ from it is a slip.
_FARTHEST = 20


def check_rows(estimator: BaseEstimator, X) -> np.ndarray:
    """X as finite float64 (n, d) for a fit of `estimator`, as scikit-learn's validate_data has it.

    A plain array of such numbers is taken as it is: that it is no data frame takes longer to find out than
    a small fit.
    """
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size and np.isfinite(X).all():
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)  # of a fit before
        return X
    return validate_data(estimator, X, dtype=np.float64)


def check_labels(X: np.ndarray, y, *, all_rows: bool = False) -> np.ndarray:
    """y as float64 (n,), ValueError unless it fits X and holds a label, NaN meaning none.

    With `all_rows` every row needs one.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype == np.float64):
        y = column_or_1d(y, dtype=np.float64, warn=True)
    check_consistent_length(X, y)
    if np.isinf(y).any():
        raise ValueError("Input y contains infinity: expected a number for every label, NaN for none")
    missing = np.isnan(y)
    if missing.all():
        raise ValueError("expected at least one label, but y is NaN everywhere")
    if all_rows and missing.any():
        raise ValueError(
            f"expected a label for every row, but y is NaN in {missing.sum()} of {len(y)}: leave these rows "
            "out, or take HuberLossRegressor, which learns from rows without a label too"
        )
    return y


def are_usual(y: np.ndarray) -> np.ndarray:
    """Which labels (n,) are no slips such as 1212, typed for 12, among counts of 6 to 16; (n,) bool.

    For what a fit takes as given: one of them moves the mean, and multiplies the spread, by more than people
    differ.
    """
    distances = np.abs(y - np.median(y))
    usual = np.median(distances[distances > 0]) if distances.any() else 0.0  # nobody may be the usual count
    return distances <= _FARTHEST * usual


def without_slips(y: np.ndarray) -> np.ndarray:
    """Those of labels (n,) that `are_usual`."""
    return y[are_usual(y)]
