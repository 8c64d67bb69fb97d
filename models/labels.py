"""What a regressor learns: one label per row."""

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d


def check_labels(X: np.ndarray, y, *, all_rows: bool = False) -> np.ndarray:
    """y as float64 (n,), ValueError unless it fits X and holds a label, NaN meaning none.

    With `all_rows` every row needs one.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    missing = np.isnan(y)
    if missing.all():
        raise ValueError("expected at least one label, but y is NaN everywhere")
    if all_rows and missing.any():
        raise ValueError(
            f"expected a label for every row, but y is NaN in {missing.sum()} of {len(y)}: leave these rows "
            "out, or take HuberLossRegressor, which learns from rows without a label too"
        )
    return y
