"""What fits that follow each other share, and that they find what each finds alone."""

import numpy as np
import pytest
from sklearn.base import clone

from models import BlockedKFold, CountRegressor, HuberLossRegressor, out_of_fold, out_of_fold_each
from models.hlr import _DualRows
from models.kernels import Kernel
from models.reuse import reused, reusing

VIEWS = [np.arange(20), np.arange(20, 50)]
QUADRATIC = HuberLossRegressor(
    views=VIEWS, kernel="poly", kernel_params={"degree": 2}, lam=1e-3, gamma=0.0, between_views=None
)
RBF = clone(QUADRATIC).set_params(kernel="rbf", kernel_params=None, n_refinements=0)


@pytest.fixture
def calls():
    return []


@pytest.fixture
def total(calls):
    def compute(arrays, factor):
        calls.append(factor)
        return factor * sum(array.sum() for array in arrays)

    return compute


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 50))
    y = 10 + X[:, :5].sum(axis=1) + X[:, 30] ** 2 + random.normal(0, 0.1, 60)
    y[[7, 40]] += 30
    return X, y


def test_equal_arguments_are_computed_once(total, calls):
    with reusing():
        assert [reused(total, [np.ones(3), np.ones(2)], 2) for _ in range(3)] == [10, 10, 10]
    assert calls == [2]


@pytest.mark.parametrize(
    ("arrays", "factor"),
    [([np.ones(3)], 3), ([np.zeros(3)], 2), ([np.ones(4)], 2), ([np.ones(3)] * 2, 2), ((), 2), (None, 2)],
)
def test_others_are_computed_anew(arrays, factor, calls):
    def compute(arrays, factor):
        calls.append(factor)

    with reusing():
        reused(compute, [np.ones(3)], 2)
        reused(compute, arrays, factor)
    assert calls == [2, factor]


def test_only_the_last_is_held(total, calls):
    with reusing():
        for factor in 1, 2, 1:
            assert reused(total, [np.ones(3)], factor) == 3 * factor
    assert calls == [1, 2, 1]


def test_nothing_is_held_outside(total, calls):
    reused(total, [np.ones(3)], 2)
    with reusing():
        reused(total, [np.ones(3)], 2)
    with reusing():
        reused(total, [np.ones(3)], 2)
    reused(total, [np.ones(3)], 2)
    assert calls == [2] * 4


@pytest.mark.parametrize("model", [QUADRATIC, RBF])
@pytest.mark.parametrize("unlabelled", [slice(0), slice(5, 60, 6)])
def test_settings_are_judged_as_each_alone(model, unlabelled, rows):
    X, y = rows
    y[unlabelled] = np.nan
    gamma = 1e-4 if np.isnan(y).any() else 0.0
    changes = [{}, {"lam": 1e-2}, {"n_refinements": 10}, {"view_weights": [1, 2]}, {"gamma": 2 * gamma}]
    models = [CountRegressor(clone(model).set_params(**{"gamma": gamma, **change})) for change in changes]
    folds = BlockedKFold(3)
    together = out_of_fold_each(models, X, y, folds)
    for model, predictions in zip(models, together, strict=True):
        np.testing.assert_array_equal(predictions, out_of_fold(model, X, y, folds))
    assert not np.array_equal(together[0], together[1], equal_nan=True)
    assert not np.array_equal(together[0], together[3], equal_nan=True)


def test_kernel_matrices_are_computed_once_per_fold(rows, monkeypatch):
    shapes = []
    matrix = Kernel.matrix

    def counted(self, left, right):
        shapes.append((len(left), len(right)))
        return matrix(self, left, right)

    monkeypatch.setattr(Kernel, "matrix", counted)
    models = [CountRegressor(clone(RBF).set_params(lam=lam)) for lam in (1e-4, 1e-3, 1e-2)]
    out_of_fold_each(models, *rows, BlockedKFold(3))
    assert shapes.count((40, 40)) == 2 * 2 * 3  # twice, for the certificate; views; folds
    assert len(shapes) == 2 * 2 * 3 + 2 * 3 * 3  # and predictions by each


def test_rows_in_kernel_features_evaluate_as_any(rows, monkeypatch):
    X, y = rows
    fitted = clone(RBF).fit(X, y)
    columns, kernels = [X[:, view] for view in VIEWS], [part.kernel for part in fitted.expansions_]
    known = _DualRows.factor(columns, kernels, [0.5, 0.5], len(X))
    expected = fitted.predict(X)
    np.testing.assert_allclose(known.evaluate(fitted.expansions_, X), expected, rtol=1e-12)
    monkeypatch.setattr("models.hlr.HELD_VALUES", 0)  # too many to hold
    np.testing.assert_array_equal(known.evaluate(fitted.expansions_, X), expected)
