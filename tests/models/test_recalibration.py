"""A few labels correct bias and scale, and too few change little."""

import numpy as np
import pytest

from models import Correction, are_alike, are_slips, fit_correction, leave_one_out, renewed_quantile
from models.recalibration import LEAST_SCALE, OFFSET_PRECISION, SCALE_PRECISION


@pytest.fixture
def drifted():
    """Predictions of a drifted counter and the labels that it should have given."""
    random = np.random.default_rng(0)
    predictions = random.uniform(10, 40, 200)
    return predictions, 3 + 1.3 * predictions + random.normal(0, 1, 200)


def test_many_labels_give_the_drift(drifted):
    found = fit_correction(*drifted)
    assert found.offset == pytest.approx(3, abs=0.8)
    assert found.scale == pytest.approx(1.3, abs=0.03)
    np.testing.assert_allclose(found(np.array([0.0, 10.0])), found.offset + found.scale * np.array([0, 10.0]))


def test_the_correction_is_the_mode_of_its_posterior(drifted):
    predictions, labels = (values[:7] for values in drifted)

    def cost(offset, scale):
        errors = (labels - offset - scale * predictions) ** 2 / np.maximum(predictions, 1)
        return errors.sum() + OFFSET_PRECISION * offset**2 + SCALE_PRECISION * (scale - 1) ** 2

    found = fit_correction(predictions, labels)
    best = cost(found.offset, found.scale)
    for step in ((1e-3, 0), (-1e-3, 0), (0, 1e-4), (0, -1e-4), (1e-3, -1e-4)):
        assert cost(found.offset + step[0], found.scale + step[1]) > best


def test_no_count_is_corrected_to_less_than_nobody():
    np.testing.assert_array_equal(Correction(-1.0, 2.0)(np.array([0.25, 0.5, 0.75])), [0, 0, 0.5])


def test_no_label_changes_nothing_and_one_over_an_empty_scene_little():
    assert fit_correction(np.empty(0), np.empty(0))(7.0) == 7.0
    assert fit_correction(np.zeros(1), np.ones(1))(20.0) == pytest.approx(21.0, abs=0.05)


def test_a_count_that_tells_nothing_is_neither_turned_round_nor_negative():
    predictions = np.array([2.0, 4, 6, 8])
    labels = np.array([40.0, 30, 20, 10])
    found = fit_correction(predictions, labels)
    assert found.scale == pytest.approx(LEAST_SCALE)
    weighted = np.average(labels, weights=1 / predictions)
    assert np.average(found(predictions), weights=1 / predictions) == pytest.approx(weighted, rel=0.05)
    low = fit_correction(np.full(9, 5.0), np.zeros(9))
    assert low(np.array([0.0, 5.0])).min() >= 0
    assert low(5.0) < 0.2


@pytest.mark.parametrize("label", [0.0, 5.0, 30.0])
def test_labels_that_are_all_alike_leave_the_scale_as_it_is(drifted, label):
    """Or all counts would become one: the more labels, the less do they rise with predictions of the same."""
    predictions = drifted[0]
    labels = label + np.linspace(0, 0.9, len(predictions))
    assert are_alike(labels)
    found = fit_correction(predictions, labels)
    assert found.scale == 1.0
    weights = 1 / predictions
    expected = np.average(labels - predictions, weights=weights)
    assert found.offset == pytest.approx(expected, rel=0.01)
    assert not are_alike(np.append(labels, label + 1))
    assert fit_correction(predictions, labels + drifted[0]).scale > 1


def test_leaving_one_out_does_not_see_it(drifted):
    predictions, labels = (values[:6].copy() for values in drifted)
    first = leave_one_out(predictions, labels)
    labels[2] += 30
    second = leave_one_out(predictions, labels)
    assert second[2] == first[2]
    assert (np.delete(second, 2) != np.delete(first, 2)).all()


def test_the_interval_is_conformal_or_no_narrower_than_before():
    predictions, labels = np.full(20, 25.0), 25 + np.arange(20.0)
    assert renewed_quantile(predictions, labels, 0.9, 9.0) == pytest.approx(18 / 5)  # 19th of 20 scores
    assert renewed_quantile(predictions[:5], labels[:5], 0.9, 9.0) == 9.0
    assert renewed_quantile(predictions[:5], labels[:5], 0.9, 0.1) == pytest.approx(4 / 5)
    assert renewed_quantile(predictions[:9], labels[:9], 0.9, 9.0) == pytest.approx(8 / 5)


@pytest.mark.parametrize("n", [5, 10, 25])
@pytest.mark.parametrize("wrong", [0.0, 77.0, 400.0, 1e6])
def test_a_label_far_from_what_the_others_tell_is_a_slip(drifted, n, wrong):
    predictions, labels = (values[:n].copy() for values in drifted)
    assert not are_slips(predictions, labels).any()
    labels[3] = wrong
    assert np.flatnonzero(are_slips(predictions, labels)).tolist() == [3]


def test_few_labels_or_many_odd_ones_are_no_slips(drifted):
    predictions, labels = (values[:12].copy() for values in drifted)
    labels[:3] = 500.0
    assert are_slips(predictions, labels).tolist() == [True] * 3 + [False] * 9
    assert not are_slips(predictions[:11], labels[:11]).any()  # more than a quarter
    assert not are_slips(predictions[2:6], labels[2:6]).any()


def test_small_errors_are_no_slips_however_alike_the_others_are():
    predictions = np.full(10, 9.0)
    for wrong, is_slip in ((17.0, False), (19.0, True)):
        labels = np.where(np.arange(10) == 4, wrong, 9.0)
        assert are_slips(predictions, labels).any() == is_slip
