"""Curves from raw feature rows, and the arrays they are kept as."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import BlockedKFold, CurvePredictor, CurveRegressor, FunctionalRegressor, out_of_fold

QUADRATIC = FunctionalRegressor(kernel="poly", kernel_params={"degree": 2}, lam=1e-4)


# Curves are never negative, while this check fits a standardised y, half of it negative.
CLIPPED = {"check_regressors_train": "predictions are clipped at 0, the check's labels are not"}


@parametrize_with_checks([CurveRegressor()], expected_failed_checks=lambda _: CLIPPED)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture
def curves():
    random = np.random.default_rng(0)
    X = random.normal(50, 7, size=(60, 3))
    X[:, 2] = 4.0  # a constant column
    theta = np.linspace(0, 1, 6)
    return X, 20 + (X[:, :1] - 50) * theta + (X[:, 1:2] - 50) * (1 - theta)


def test_scale_and_level_of_the_columns_do_not_matter(curves):
    X, Y = curves
    plain = CurveRegressor(QUADRATIC).fit(X, Y)
    moved = CurveRegressor(QUADRATIC).fit(1000 * X - 3, Y)
    np.testing.assert_allclose(plain.predict(X), moved.predict(1000 * X - 3), atol=1e-6)
    assert np.abs(plain.predict(X) - np.maximum(Y, 0)).mean() < 0.5


def test_curves_are_never_negative_and_wild_rows_stay_bounded(curves):
    X, Y = curves
    model = CurveRegressor(QUADRATIC).fit(X, Y)
    wild = np.full((1, 3), 1e9)
    assert np.isfinite(model.predict(wild)).all()
    assert (model.predict(X - 60) >= 0).all()


def test_round_trip_by_arrays(curves):
    X, Y = curves
    predictor = CurveRegressor(QUADRATIC).fit(X, Y).predictor_
    arrays, meta = predictor.to_arrays()
    np.testing.assert_array_equal(CurvePredictor.from_arrays(arrays, meta).predict(X), predictor.predict(X))


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_without_support_there_is_the_mean_curve(curves, kernel):
    X, Y = curves
    arrays, meta = CurveRegressor(FunctionalRegressor(kernel=kernel)).fit(X, np.abs(Y)).predictor_.to_arrays()
    arrays |= {name: arrays[name][:0] for name in ("support", "coefficients")}
    np.testing.assert_array_equal(
        CurvePredictor.from_arrays(arrays, meta).predict(X), np.tile(arrays["center"], (len(X), 1))
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scale", np.zeros(3), "positive values in 'scale'"),
        ("scale", np.array([1.0, 0.0, 1.0]), "positive values in 'scale'"),
        ("center", np.zeros(0), "'center'"),
        ("support", np.zeros((60, 2)), "'support' of shape"),
        ("coefficients", np.zeros((60, 5)), "'coefficients' of shape"),
        ("coefficients", np.full((60, 6), np.nan), "finite values in 'coefficients'"),
        ("mean", None, "an array 'mean'"),
    ],
)
def test_damaged_arrays_are_refused(curves, name, value, message):
    arrays, meta = CurveRegressor(QUADRATIC).fit(*curves).predictor_.to_arrays()
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    with pytest.raises(ValueError, match=message):
        CurvePredictor.from_arrays(arrays, meta)
    with pytest.raises(ValueError, match="a kernel of a curve regressor"):
        CurvePredictor.from_arrays(CurveRegressor().fit(*curves).predictor_.to_arrays()[0], {})


def test_out_of_fold_curves_come_from_the_other_blocks(curves):
    X, Y = curves
    Y = Y.copy()
    Y[7] = np.nan
    held_out = out_of_fold(CurveRegressor(QUADRATIC), np.delete(X, 7, 0), np.delete(Y, 7, 0), BlockedKFold(3))
    assert np.isfinite(held_out).all()
    train, test = next(BlockedKFold(3).split(held_out))
    rows = np.delete(X, 7, 0)
    expected = CurveRegressor(QUADRATIC).fit(rows[train], np.delete(Y, 7, 0)[train]).predict(rows[test])
    np.testing.assert_allclose(held_out[test], expected)
