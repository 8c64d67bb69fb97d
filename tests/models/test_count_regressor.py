"""The regressor of a camera: scaling, clipping, ranges, and its arrays."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import (
    BlockedKFold,
    CountPredictor,
    CountRegressor,
    HuberLossRegressor,
    RobustKernelRegressor,
    count_metrics,
    mean_predictor,
    out_of_fold,
)
from models.precision import precision_weights

REGRESSORS = [
    HuberLossRegressor(),
    HuberLossRegressor(views=[[0, 2], [1, 3]], kernel=["poly", "linear"], lam=1e-3),
    HuberLossRegressor(views=[[0, 2], [1, 3]], kernel="rbf", lam=1e-3, gamma=1e-3),
    HuberLossRegressor(views=[[0, 2], [1, 3]], kernel="rbf", lam=1e-3, gamma=0),
]
ROBUST = [
    RobustKernelRegressor(kernel="poly", kernel_params={"degree": 2}, lam=0.1),
    RobustKernelRegressor(loss="huber_epsilon_insensitive", lam=0.1),
]


@pytest.fixture
def scene():
    """Areas and lengths on very different scales, one constant column; counts of 0 to about 12."""
    random = np.random.default_rng(0)
    count = random.uniform(0, 12, size=80)
    X = np.column_stack(
        [1e4 * count + random.normal(size=80), 1e-3 * count, np.full(80, 7.0), random.normal(size=80)]
    )
    y = np.where(np.arange(80) < 60, count.round(), np.nan)
    return X, y


# Counts are never negative, while this check fits a standardised y, half of it negative.
CLIPPED = {"check_regressors_train": "predictions are clipped at 0, the check's labels are not"}


@parametrize_with_checks([CountRegressor()], expected_failed_checks=lambda _: CLIPPED)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_counts_are_right_and_never_negative(scene):
    X, y = scene
    model = CountRegressor(HuberLossRegressor(kernel="linear", lam=1e-6)).fit(X, y)
    assert count_metrics(y, model.predict(X)).mae < 0.4
    assert (model.predict(X * [-1, -1, 1, 1]) == 0).all()
    assert model.predictor_.scale[2] == 1


def test_scaling_of_the_columns_does_not_matter(scene):
    X, y = scene
    model = CountRegressor().fit(X, y)
    other = CountRegressor().fit(X * np.array([1e-6, 1e6, -2, 5]) + 3, y)
    scaled = other.predict(X * np.array([1e-6, 1e6, -2, 5]) + 3)
    np.testing.assert_allclose(scaled, model.predict(X), atol=1e-5)


def test_the_parameter_is_not_touched(scene):
    regressor = HuberLossRegressor()
    model = CountRegressor(regressor).fit(*scene)
    assert not hasattr(regressor, "coef_")
    assert hasattr(model.regressor_, "coef_")


@pytest.mark.parametrize("regressor", ROBUST)
def test_a_bias_of_the_regressor_belongs_to_the_count(scene, regressor):
    X, y = scene[0][:60], scene[1][:60]
    y[::4] += 30  # so that the bias is not the mean label
    model = CountRegressor(regressor).fit(X, y)
    assert abs(model.regressor_.intercept_) > 1
    assert np.median(np.abs(model.predict(X) - y)) < 1


def test_values_outside_of_the_labelled_range_are_told(scene):
    X, y = scene
    model = CountRegressor().fit(X, y)
    assert not model.predictor_.outside_range(X[:60]).any()
    strange = X[:2] + np.array([[0, 0, 1e-9, 0], [0, 99, 0, -99]])
    np.testing.assert_array_equal(model.predictor_.outside_range(strange), [[0, 0, 1, 0], [0, 1, 0, 1]])


@pytest.mark.parametrize("regressor", [*REGRESSORS, *ROBUST])
def test_arrays_and_json_carry_all_that_prediction_needs(scene, regressor, tmp_path):
    X, y = scene
    n = 60 if regressor in ROBUST else 80  # the last 20 rows have no label
    model = CountRegressor(regressor).fit(X[:n], y[:n])
    arrays, meta = model.predictor_.to_arrays()
    np.savez(tmp_path / "model.npz", **arrays)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as loaded:
        restored = CountPredictor.from_arrays(dict(loaded), json.loads(json.dumps(meta)))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    np.testing.assert_array_equal(restored.outside_range(X + 1), model.predictor_.outside_range(X + 1))
    with pytest.raises(ValueError, match="rows of 4 features"):
        restored.predict(X[:, :3])
    for name, array in restored.to_arrays()[0].items():
        np.testing.assert_array_equal(array, arrays[name])


@pytest.mark.parametrize(
    "name", ["mean", "scale", "low", "view1_columns", "view0_coefficients", "view1_support"]
)
@pytest.mark.parametrize("damage", ["missing", "short", "text", "nan", "scalar"])
def test_damaged_arrays_are_refused_by_name(scene, name, damage):
    arrays, meta = CountRegressor(REGRESSORS[2]).fit(*scene).predictor_.to_arrays()
    if damage == "missing":
        del arrays[name]
    elif damage == "short":
        arrays[name] = arrays[name][:, :0] if arrays[name].ndim == 2 else arrays[name][:0]
    elif damage == "text":
        arrays[name] = np.full(arrays[name].shape, "x")
    elif damage == "nan":
        arrays[name] = np.full(arrays[name].shape, np.nan)
    else:
        arrays[name] = np.float64(1)
    with pytest.raises(ValueError, match=r"expected"):
        CountPredictor.from_arrays(arrays, meta)


@pytest.mark.parametrize(
    "change",
    [
        {"center": "many"},
        {"center": float("inf")},
        {"views": []},
        {"views": 3},
        {"views": [{"kernel": "rbf"}]},
        {"views": [{"kernel": "evil", "gamma": 1, "coef0": 1, "degree": 2, "has_support": True}] * 2},
        {"views": [{"kernel": "poly", "gamma": 1, "coef0": 1, "degree": 10**9, "has_support": False}] * 2},
        {"views": [{"kernel": "rbf", "gamma": "1", "coef0": 1, "degree": 2, "has_support": True}] * 2},
        {"views": [{"kernel": "rbf", "gamma": 1, "coef0": 1, "degree": 2, "has_support": False}] * 2},
    ],
)
def test_damaged_metadata_are_refused(scene, change):
    arrays, meta = CountRegressor(REGRESSORS[2]).fit(*scene).predictor_.to_arrays()
    with pytest.raises(ValueError, match=r"expected|unknown kernel"):
        CountPredictor.from_arrays(arrays, {**meta, **change})


def test_blocked_validation_on_published_features(real_features):
    X, y, views = real_features
    X, y = X[~np.isnan(y)], y[~np.isnan(y)] + 30  # away from 0, where counts are clipped
    folds = BlockedKFold(5)
    quadratic = HuberLossRegressor(views=views, kernel="poly", kernel_params={"degree": 2}, lam=1e-4, gamma=0)
    ours = count_metrics(y, out_of_fold(CountRegressor(quadratic), X, y, folds))
    pruned = CountRegressor(quadratic).fit(X, y).regressor_.removed_at_ > 0
    ridge = count_metrics(y, out_of_fold(make_pipeline(StandardScaler(), Ridge(10.0)), X, y, folds))
    assert ours.mae < 1.1 * ridge.mae
    assert pruned.mean() < 0.01  # published labels: nothing to find


def test_a_tenth_of_wrong_labels_is_found_and_does_little_harm(real_features):
    X, y, views = real_features
    X, y = X[~np.isnan(y)], y[~np.isnan(y)] + 30
    random = np.random.default_rng(0)
    wrong = random.choice(800, 80, replace=False)
    corrupted = y.copy()
    corrupted[wrong] *= 1 + random.choice([-1, 1], 80) * random.uniform(0.3, 1, 80)
    quadratic = HuberLossRegressor(views=views, kernel="poly", kernel_params={"degree": 2}, lam=1e-4, gamma=0)
    removed = np.flatnonzero(CountRegressor(quadratic).fit(X, corrupted).regressor_.removed_at_ > 0)
    assert 2 * len(np.intersect1d(removed, wrong)) / (len(removed) + len(wrong)) >= 0.9
    folds = BlockedKFold(5)
    clean = count_metrics(y, out_of_fold(CountRegressor(quadratic), X, y, folds)).mae
    dirty = count_metrics(y, out_of_fold(CountRegressor(quadratic), X, corrupted, folds)).mae
    assert dirty <= 1.05 * clean


def quadratic(coef0, lam, **settings):
    kernel_params = {"degree": 2, "coef0": coef0}
    return HuberLossRegressor(
        views=[[0, 2], [1, 3]], kernel="poly", kernel_params=kernel_params, lam=lam, gamma=0, **settings
    )


def test_precise_columns_are_trusted_where_others_mislead():
    """A column follows the count; of forty others each does a little, but not any more after training."""
    random = np.random.default_rng(1)
    count = random.uniform(5, 15, size=300)
    others = 0.3 * count[:, None] * (np.arange(300) < 60)[:, None] + random.normal(size=(300, 40))
    X = np.column_stack([count + random.normal(0, 0.5, size=300), others])
    errors = {}
    for by_precision in (False, True):
        model = CountRegressor(HuberLossRegressor(lam=1e-2, gamma=0), by_precision=by_precision)
        model.fit(X[:60], count[:60])
        errors[by_precision] = np.abs(model.predict(X[60:]) - count[60:]).mean()
    assert errors[True] < 0.7 * errors[False]


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_weights_are_part_of_the_saved_function(scene, solver):
    X, y = scene
    model = CountRegressor(quadratic(1.0, 1e-4, solver=solver), by_precision=True).fit(X, y)
    assert count_metrics(y, model.predict(X)).mae < 0.5
    predictor = model.predictor_
    rows = np.clip((X - predictor.mean) / predictor.scale, -5, 5)
    weights = precision_weights(rows[:60], y[:60])
    expected = predictor.center + model.regressor_.predict(rows * weights)
    np.testing.assert_allclose(model.predictor_.values(X), expected, atol=1e-9)
    loaded = CountPredictor.from_arrays(*predictor.to_arrays())
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "regressor",
    [
        HuberLossRegressor(views=[[0, 2], [1, 3]], kernel=["poly", "linear"], lam=1e-3, solver="primal"),
        HuberLossRegressor(views=[[0, 2], [1, 3]], kernel=["poly", "linear"], lam=1e-3, solver="dual"),
        ROBUST[0],
    ],
    ids=["primal", "dual", "robust"],
)
def test_given_weights_are_part_of_the_saved_function_too(scene, regressor):
    X, y = scene[0][:60], scene[1][:60]
    weights = np.array([0.2, 3.0, 1.0, 0.5])
    model = CountRegressor(regressor, column_weights=weights).fit(X, y)
    predictor = model.predictor_
    expected = y.mean() + model.regressor_.predict(weights * (X - predictor.mean) / predictor.scale)
    np.testing.assert_allclose(predictor.values(X), expected, atol=1e-9)
    assert np.abs(predictor.values(X) - CountRegressor(regressor).fit(X, y).predictor_.values(X)).max() > 1e-3
    loaded = CountPredictor.from_arrays(*predictor.to_arrays())
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_weights_need_a_polynomial_kernel(scene):
    with pytest.raises(ValueError, match="expected a linear or polynomial kernel, got 'rbf'"):
        CountRegressor(HuberLossRegressor(kernel="rbf"), by_precision=True).fit(*scene)


def test_the_mean_of_several_is_one_function(scene):
    X, y = scene
    fitted = [
        CountRegressor(quadratic(1.0, 1e-4), by_precision=True).fit(X, y),
        CountRegressor(quadratic(3.0, 1e-3)).fit(X, y),
        CountRegressor(quadratic(3.0, 1e-2, solver="dual")).fit(X, y),
    ]
    mean = mean_predictor([model.predictor_ for model in fitted])
    assert len(mean.expansions) == 2
    np.testing.assert_allclose(
        mean.values(X), np.mean([model.predictor_.values(X) for model in fitted], axis=0), atol=1e-9
    )
    other = CountRegressor(quadratic(1.0, 1e-4)).fit(2 * X, y)
    with pytest.raises(ValueError, match="fitted to the same rows"):
        mean_predictor([mean, other.predictor_])


@pytest.mark.parametrize("slip", [1212.0, 1e6])
@pytest.mark.parametrize("regressor", [HuberLossRegressor(), RobustKernelRegressor(lam=0.1)])
def test_a_slip_of_the_keyboard_moves_no_other_count(scene, regressor, slip):
    """One label of a hundred times the people: what is fitted beside the centre is penalised."""
    X, y = scene
    X, y = X[:60], y[:60]
    expected = CountRegressor(regressor).fit(X, y).predict(X)
    wrong = y.copy()
    wrong[7] = slip
    found = CountRegressor(regressor).fit(X, wrong).predict(X)
    assert np.median(np.abs(found - expected)) < 0.5
