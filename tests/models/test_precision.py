"""Weights of columns by how precisely each measures the count."""

import numpy as np
import pytest

from models.precision import precision_weights


@pytest.fixture
def measured():
    """Counts, and columns that measure them with noise of deviation .2, .5 and 1, and nothing at all."""
    random = np.random.default_rng(0)
    y = random.normal(size=2000)
    rows = y[:, None] + random.normal(size=(2000, 4)) * [0.2, 0.5, 1.0, 0.0]
    rows[:, 3] = random.normal(size=2000)
    return rows / rows.std(axis=0), y


def test_are_the_inverse_of_what_a_column_leaves_unexplained(measured):
    rows, y = measured
    weights = precision_weights(rows, y)
    r = np.array([np.corrcoef(column, y)[0, 1] for column in rows.T])
    expected = 1 / (1 - r**2)
    np.testing.assert_allclose(weights / weights[3], expected / expected[3], rtol=0.1)
    assert np.mean(weights**2) == pytest.approx(1)


def test_do_not_depend_on_units_or_signs(measured):
    rows, y = measured
    np.testing.assert_allclose(precision_weights(rows * [1, -3, 1, 7], 5 - 2 * y), precision_weights(rows, y))


def test_wrong_labels_hardly_change_them(measured):
    rows, y = measured
    wrong = y.copy()
    wrong[::10] += np.where(np.arange(200) % 2, 4, -4)
    weights = precision_weights(rows, y)
    np.testing.assert_allclose(precision_weights(rows, wrong), weights, rtol=0.15)
    naive = 1 / (1 - np.array([np.corrcoef(column, wrong)[0, 1] for column in rows.T]) ** 2)
    assert naive[0] / naive[3] < 0.2 * weights[0] / weights[3]


def test_of_perfect_and_constant_columns_are_finite():
    y = np.arange(20.0) - 9.5
    weights = precision_weights(np.column_stack([y, np.zeros(20), np.tile([1.0, -1.0], 10)]), y)
    assert weights[0] / weights[1] == pytest.approx(100)
    assert weights[1] == pytest.approx(weights[2], rel=0.05)
    assert (precision_weights(np.column_stack([y, y**2]), np.zeros(20)) > 0).all()


@pytest.mark.parametrize("every", [7, 10, 50])
def test_of_mostly_equal_labels_are_told_by_the_others(every):
    """Trimming to the empty frames would leave no variance to explain, and call each column perfect."""
    random = np.random.default_rng(0)
    y = np.where(np.arange(200) % every, 0.0, 10.0)
    rows = np.column_stack([y + random.normal(0, 0.3, 200), random.normal(size=200), np.zeros(200), y])
    weights = precision_weights(rows / np.maximum(rows.std(axis=0), 1e-9), y)
    assert weights[0] > 20 * weights[1]
    assert weights[1] == pytest.approx(weights[2], rel=0.05)
    assert weights[3] / weights[2] == pytest.approx(100)
