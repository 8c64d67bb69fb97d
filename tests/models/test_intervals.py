"""Conformal intervals."""

import numpy as np
import pytest

from models import (
    blocked_quantile,
    conformal_quantile,
    count_interval,
    count_scale,
    later_quantile,
    normalised_scores,
)
from models.intervals import HALVED_AFTER_S, LATER_BIAS


def test_the_quantile_has_the_finite_sample_correction():
    scores = np.arange(1.0, 100.0)  # 99 scores: the 90th of them for 90 %
    np.random.default_rng(0).shuffle(scores)
    assert conformal_quantile(scores, 0.9) == 90
    assert conformal_quantile(np.arange(1.0, 10.0), 0.9) == 9
    assert conformal_quantile(np.arange(1.0, 9.0), 0.9) == np.inf
    assert conformal_quantile(np.array([]), 0.5) == np.inf


@pytest.mark.parametrize("level", [0.0, 1.0, -1, np.nan])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        conformal_quantile(np.ones(3), level)


def test_exchangeable_scores_are_covered_at_the_level():
    random = np.random.default_rng(1)
    covered = [
        random.exponential() <= conformal_quantile(random.exponential(size=19), 0.9) for _ in range(4000)
    ]
    assert np.mean(covered) == pytest.approx(0.9, abs=0.015)


def test_scores_and_intervals_belong_together():
    prediction = np.array([0.0, 0.5, 9.0, 100.0])
    np.testing.assert_allclose(count_scale(prediction), [1, 1, 3, 10])
    np.testing.assert_allclose(normalised_scores(np.array([1, np.nan, 3, 120]), prediction), [1, 2, 2])
    low, high = count_interval(prediction, 2.0)
    np.testing.assert_allclose(low, [0, 0, 3, 80])
    np.testing.assert_allclose(high, [2, 2.5, 15, 120])
    low, high = count_interval(prediction, np.inf)
    np.testing.assert_array_equal(low, 0)
    np.testing.assert_array_equal(high, np.inf)


def test_a_doubt_widens_the_interval_by_a_factor_and_is_taken_off_the_scores():
    prediction, quantile, doubt = np.array([0.0, 4.0, 50.0]), 1.3, 0.4
    low, high = count_interval(prediction, quantile, doubt)
    assert (low[0], high[0]) == (0.0, 1.3)
    np.testing.assert_allclose(low[2], 50 - np.hypot(1.3 * 50**0.5, 50 * (1 - np.exp(-0.4))))
    np.testing.assert_allclose(high[1:], [4 + np.hypot(2.6, 4 * (np.exp(0.4) - 1)), high[2]])
    for ends in (low[1:], high):  # labels at the ends of the interval score its quantile
        np.testing.assert_allclose(normalised_scores(ends, prediction[-len(ends) :], doubt), quantile)
    np.testing.assert_array_equal(normalised_scores(prediction * 1.1, prediction, doubt), 0)  # allowed for


def test_blocked_quantile_covers_a_block_with_a_bias_of_its_own():
    """Biased blocks: the plain quantile covers too little of a new one, the blocked one enough."""
    rng = np.random.default_rng(0)
    plain, blocked = [], []
    for _ in range(200):
        biases = rng.normal(0, 3, 4)
        scores = [np.abs(bias + rng.normal(0, 1, 80)) for bias in biases]
        *known, new = scores
        plain.append(np.mean(new <= conformal_quantile(np.concatenate(known), 0.9)))
        blocked.append(np.mean(new <= blocked_quantile(known, 0.9)))
    assert np.mean(plain) < 0.85
    assert 0.87 < np.mean(blocked) < 0.97


def test_blocked_quantile_of_few_labels_covers_a_block_too():
    """Ten labels promise 90 % over all, but those of the other blocks alone do not."""
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(2000):
        *known, (bias, noise) = ((rng.normal(), rng.normal(0, 0.3, 2)) for _ in range(6))
        quantile = blocked_quantile([np.abs(bias + noise) for bias, noise in known], 0.9)
        covered.append(np.mean(np.abs(bias + noise) <= quantile))
    assert 0.9 < np.mean(covered) < 0.96


def test_blocked_quantile_of_alike_blocks_is_hardly_wider():
    rng = np.random.default_rng(1)
    scores = list(np.abs(rng.normal(0, 1, (5, 400))))
    plain = conformal_quantile(np.concatenate(scores), 0.9)
    assert plain <= blocked_quantile(scores, 0.9) < 1.1 * plain


def test_later_footage_is_covered_though_its_bias_is_its_own():
    """Of a minute whose blocks share one light, the blocked quantile covers too little of the next."""
    rng = np.random.default_rng(3)
    blocked, later = [], []
    for bias in rng.normal(0, LATER_BIAS, 300):
        quantile = blocked_quantile(list(np.abs(rng.normal(0, 0.2, (5, 40)))), 0.9)
        new = np.abs(bias + rng.normal(0, 0.2, 200))
        blocked.append(np.mean(new <= quantile))
        later.append(np.mean(new <= later_quantile(quantile, 0.9, 0.0)))
    assert np.mean(blocked) < 0.75
    assert np.mean(later) == pytest.approx(0.9, abs=0.03)


def test_a_bias_of_later_footage_counts_less_the_longer_what_was_learnt_from():
    of_nothing = later_quantile(0.0, 0.9, 0.0)
    assert of_nothing == pytest.approx(1.645 * LATER_BIAS, rel=1e-3)
    assert later_quantile(0.0, 0.9, HALVED_AFTER_S) == pytest.approx(of_nothing / 2**0.5)
    assert later_quantile(0.0, 0.99, 0.0) > 1.5 * of_nothing
    assert later_quantile(0.7, 0.9, 86400.0) == pytest.approx(0.7, rel=1e-2)  # of a day
    assert later_quantile(3.0, 0.9, 0.0) < 1.02 * 3.0
    assert later_quantile(np.inf, 0.9, 60.0) == np.inf


def test_blocked_quantile_needs_two_blocks():
    with pytest.raises(ValueError, match="two or more blocks"):
        blocked_quantile([np.ones(3)], 0.9)


def test_blocked_quantile_of_perfect_blocks_is_zero():
    assert blocked_quantile([np.zeros(40), np.zeros(40)], 0.9) == 0


def test_what_perfect_blocks_say_of_another_is_nothing():
    assert blocked_quantile([np.zeros(40), np.full(40, 0.5)], 0.9) == np.inf
