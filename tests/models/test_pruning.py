"""The threshold that the data choose."""

import numpy as np
import pytest

from models import HuberLossRegressor
from models.pruning import outlier_threshold

RANDOM = np.random.default_rng(0)


def test_gaussian_residuals_lose_next_to_nothing():
    thresholds = [np.isfinite(outlier_threshold(RANDOM.normal(size=400), 10.0)) for _ in range(200)]
    assert np.mean(thresholds) < 0.25


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_scattered_errors_lie_beyond_the_threshold(share):
    residuals = RANDOM.normal(size=500)
    wrong = RANDOM.choice(500, int(500 * share), replace=False)
    residuals[wrong] += 10
    threshold = outlier_threshold(residuals, 30.0)
    gone = np.flatnonzero(np.abs(residuals) > threshold)
    assert set(wrong) <= set(gone)
    assert len(gone) <= len(wrong) / 0.75


@pytest.mark.parametrize("length", [25, 60])
def test_a_run_that_the_model_misses_is_not_taken_for_wrong_labels(length):
    residuals = RANDOM.normal(size=500)
    residuals[200 : 200 + length] += 6
    assert outlier_threshold(residuals, 30.0) == np.inf
    scattered = RANDOM.permutation(residuals)
    assert outlier_threshold(scattered, 30.0) < 6


def test_an_error_that_grows_with_the_count_is_not_taken_for_wrong_labels():
    random = np.random.default_rng(0)
    counts = random.permutation(np.linspace(0, 50, 500))
    predictions = counts + random.normal(size=500)
    noise = np.exp(counts / 15)
    residuals = noise * random.normal(size=500)
    assert outlier_threshold(residuals, 50.0) < 40
    assert outlier_threshold(residuals, 50.0, predictions) == np.inf
    residuals[::25] = 8 * noise[::25]
    largest = outlier_threshold(residuals, 50.0, predictions)
    assert (np.abs(residuals) > largest).sum() <= 15
    assert largest < 8 * noise[::25].max()


def test_a_model_that_misses_the_largest_values_keeps_their_labels():
    """An exponential by a line: its residuals are largest at the top, which every tenth row reaches."""
    rows = np.tile(np.linspace(-1, 1, 14), 20)[:, None] * [1, 1]
    rows[:, 1] = RANDOM.normal(size=280)
    y = np.exp(4 * rows[:, 0]) + RANDOM.normal(size=280)
    settings = {"lam": 1e-6, "gamma": 0.0, "kernel": "poly", "kernel_params": {"degree": 2}}
    assert (HuberLossRegressor(**settings).fit(rows, y - y.mean()).removed_at_ == -1).all()
    wrong = np.array([18, 110, 200])
    y[wrong] += 60
    removed = HuberLossRegressor(**settings).fit(rows, y - y.mean()).removed_at_ > 0
    assert np.flatnonzero(removed).tolist() == wrong.tolist()


def test_residuals_below_a_thousandth_of_the_labels_never_count():
    residuals = np.zeros(100)
    residuals[3] = 0.02
    assert outlier_threshold(residuals, 10.0) == np.inf
    residuals[3] = 2.0
    assert outlier_threshold(residuals, 10.0) == 0.0
    assert outlier_threshold(np.zeros(5), 0.0) == np.inf


def test_labels_that_went_before_count_in_the_share():
    residuals = np.resize([1.0, -1.0], 484)
    residuals[::11] = np.resize([20, 3.78, -20, -3.78], 44)  # 3.78: 2.55 standard deviations
    left = np.abs(residuals) < 10
    assert outlier_threshold(residuals[left], 30.0) == np.inf
    assert outlier_threshold(residuals, 30.0) == 1
    fit = HuberLossRegressor(lam=1e-9, gamma=0.0).fit(np.ones((484, 1)), 30 + residuals)
    assert np.flatnonzero(fit.removed_at_ > 0).tolist() == list(range(0, 484, 11))


@pytest.mark.parametrize(("n_wrong", "is_found"), [(15, True), (25, False)])
def test_like_values_are_compared_with_41_of_them(n_wrong, is_found):
    """Fifteen wrong labels of like values stand out; where most of these are missed, the model errs."""
    random = np.random.default_rng(0)
    predictions, residuals = random.permutation(np.arange(500.0)), random.normal(size=500)
    wrong = np.abs(predictions - 250) <= n_wrong // 2
    residuals[wrong] += 8
    gone = np.abs(residuals) > outlier_threshold(residuals, 500.0, predictions)
    assert gone[wrong].all() == gone.any() == is_found
    assert gone[~wrong].sum() <= 2


def test_an_error_that_grows_with_the_value_costs_no_labels():
    """Of counts whose noise grows, few values would else be taken for a line's outliers."""
    random = np.random.default_rng(0)
    counts = random.permutation(np.linspace(0, 50, 500))
    y = counts + np.exp(counts / 15) * random.normal(size=500)
    X = np.column_stack([counts, np.ones(500)])
    assert (HuberLossRegressor(lam=1e-9, gamma=0.0).fit(X, y).removed_at_ == -1).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_labels_below_0_are_as_large_as_those_above(sign):
    """A residual of less than a thousandth of them is no annotation error."""
    y = np.full(100, 10.0)
    y[3] += 0.008
    fit = HuberLossRegressor(lam=1e-9, gamma=0.0).fit(np.ones((100, 1)), sign * y)
    assert (fit.removed_at_ == -1).all()


def test_labels_that_a_wrong_one_pulls_the_line_away_from_stay():
    """Beside 20 rows on a line one is far away and 16 too low: it takes the fitted line off five of them."""
    x = np.append(np.linspace(0, 1, 20), 3.0)
    y = 2 * x + np.resize([0.1, -0.1], 21)
    y[20] -= 16
    X = np.column_stack([x, np.ones(21)])
    settings = {"lam": 1e-8, "gamma": 0.0, "delta_xi": 1.6}
    everything, without = (
        HuberLossRegressor(**settings, n_refinements=refinements).fit(X, y) for refinements in (0, 1)
    )
    beyond = np.abs(y - everything.predict(X)) > everything.xi_ - 1.6
    assert beyond.sum() > 5
    assert np.flatnonzero(without.removed_at_ == 1).tolist() == [20]


@pytest.mark.parametrize("seed", [330, 355])
def test_a_step_beyond_the_minimum_costs_no_good_labels(seed):
    """Ten labels, two of them slips: where few residuals are below the threshold, one solve of the system
    with these alone went so far beyond the loss's minimum that six labels were left out."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (10, 2))
    y = np.maximum(np.round(10 * X[:, 0] + rng.normal(0, 1, 10)), 0)
    y[rng.choice(10, 2, replace=False)] *= rng.choice([10, 100], 2)
    settings = {"kernel": "poly", "kernel_params": {"degree": 2}, "lam": 1e-5}
    fit = HuberLossRegressor(**settings, n_refinements=20, delta_xi="auto").fit(X, y)
    assert (fit.removed_at_ >= 0).sum() <= 3
