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


def test_residuals_below_a_thousandth_of_the_labels_never_count():
    residuals = np.zeros(100)
    residuals[3] = 0.02
    assert outlier_threshold(residuals, 10.0) == np.inf
    residuals[3] = 2.0
    assert outlier_threshold(residuals, 10.0) == 0.0
    assert outlier_threshold(np.zeros(5), 0.0) == np.inf


def test_labels_that_went_before_count_in_the_share():
    residuals = np.resize([1.0, -1.0], 484)
    residuals[::11] = np.resize([20, 4.05, -20, -4.05], 44)  # 4.05: 2.7 standard deviations
    left = np.abs(residuals) < 10
    assert outlier_threshold(residuals[left], 30.0) == np.inf
    assert outlier_threshold(residuals, 30.0) == 1
    fit = HuberLossRegressor(lam=1e-9, gamma=0.0).fit(np.ones((484, 1)), 30 + residuals)
    assert np.flatnonzero(fit.removed_at_ > 0).tolist() == list(range(0, 484, 11))
