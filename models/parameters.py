"""What an estimator's numbers must be; ValueError where they are not."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator


def check_numbers(estimator: BaseEstimator, **bounds: str) -> None:
    """Finite parameters, by name, that must be "> 0" or ">= 0"."""
    for name, bound in bounds.items():
        value = getattr(estimator, name)
        fits = isinstance(value, Real) and 0 <= value < np.inf
        if not fits or (value == 0 and bound == "> 0"):
            raise ValueError(f"expected a finite {name} {bound}, got {value!r}")


def check_integers(estimator: BaseEstimator, optional: tuple[str, ...] = (), **lowest: int) -> None:
    """Whole parameters, by name, and the lowest value of each; those named in `optional` may be None."""
    for name, low in lowest.items():
        value, may_lack = getattr(estimator, name), name in optional
        if not ((isinstance(value, Integral) and value >= low) or (may_lack and value is None)):
            raise ValueError(f"expected an integer {name} >= {low}{' or None' * may_lack}, got {value!r}")
