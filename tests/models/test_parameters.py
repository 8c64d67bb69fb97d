"""What all estimators refuse alike; what each needs besides is told in its own tests."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from models import BetaSVMClassifier, FunctionalRegressor, SuperSparseRegressor
from models.parameters import check_integers, check_numbers


class Estimator(BaseEstimator):
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize("bound", ["> 0", ">= 0"])
def test_numbers_are_finite_and_have_a_sign(bound):
    for value in (1, 1e-300, 2.5, np.float32(0.5), np.int64(3), *([0, 0.0] if bound == ">= 0" else [])):
        check_numbers(Estimator(value), value=bound)
    wrong = [-1e-9, np.nan, np.inf, -np.inf, np.float32(np.inf), None, "1", 1j, [1.0], np.ones(2)]
    for value in (*wrong, *([] if bound == ">= 0" else [0, -0.0])):
        with pytest.raises(ValueError, match=f"expected a finite value {bound}, got "):
            check_numbers(Estimator(value), value=bound)


def test_integers_have_a_lowest_value():
    for value in (2, np.int64(5)):
        check_integers(Estimator(value), value=2)
    for value in (1, -3, 2.0, np.nan, None, "2", [2]):
        with pytest.raises(ValueError, match=r"expected an integer value >= 2, got "):
            check_integers(Estimator(value), value=2)


def test_only_optional_integers_may_be_none():
    check_integers(Estimator(None), optional=("value",), value=1)
    check_integers(Estimator(1), optional=("value",), value=1)
    with pytest.raises(ValueError, match="expected an integer value >= 1 or None, got 0"):
        check_integers(Estimator(0), optional=("value",), value=1)


@pytest.mark.parametrize("estimator", [BetaSVMClassifier, FunctionalRegressor, SuperSparseRegressor])
def test_an_infinite_tolerance_is_refused(estimator):
    y = np.tile([0.0, 1.0], 3)
    with pytest.raises(ValueError, match="expected a finite tol"):
        estimator(tol=np.inf).fit(np.eye(6), np.c_[y, y] if estimator is FunctionalRegressor else y)
