"""What a regressor learns: one label per row."""

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d


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
