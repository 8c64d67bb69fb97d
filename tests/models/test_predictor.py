"""What predictors have in common."""

from dataclasses import replace

import numpy as np
import pytest

from models.kernels import Expansion, Kernel
from models.predictor import LARGEST_DEVIATION, CountPredictor, column_statistics, standardised


@pytest.fixture
def predictor():
    """7 + the sum of two columns, in units of their deviations."""
    expansion = Expansion(np.arange(2), Kernel.resolve("linear", None, 2), None, np.ones(2))
    mean, scale = np.array([1.0, 2.0]), np.array([1.0, 4.0])
    return CountPredictor(mean, scale, mean - scale, mean + scale, 7.0, (expansion,))


@pytest.mark.parametrize("shape", [(3, 1), (3, 3), (2,), (1, 1, 2)])
def test_rows_of_another_number_of_columns_are_refused(predictor, shape):
    """A single column would else be taken for each of them."""
    for ask in (predictor.predict, predictor.values, predictor.outside_range):
        with pytest.raises(ValueError, match="expected rows of 2 features"):
            ask(np.zeros(shape))


def test_only_functions_of_the_same_standardised_columns_mix(predictor):
    rows = np.array([[2.0, 2.0], [1.0, 6.0], [0.0, 2.0]])
    mixed = predictor.mixed_with(replace(predictor, center=3.0), 0.25)
    np.testing.assert_allclose(mixed.predict(rows), [7, 7, 5])
    for change in ({"mean": predictor.mean + 1}, {"scale": 2 * predictor.scale}):
        with pytest.raises(ValueError, match="fitted to the same rows"):
            predictor.mixed_with(replace(predictor, **change), 0.5)


def test_a_column_that_hardly_varied_does_not_decide_when_it_does():
    rows = np.array([[0.0, 5.0], [2.0, 5.0 + 1e-3]])
    mean, scale, *_ = column_statistics(rows)
    np.testing.assert_allclose(standardised(rows, mean, scale), [[-1, -1], [1, 1]])
    np.testing.assert_array_equal(
        standardised(np.array([[1.0, 8.0], [1.0, 2.0]]), mean, scale),
        [[0, LARGEST_DEVIATION], [0, -LARGEST_DEVIATION]],
    )


def test_a_column_that_is_constant_but_for_rounding_keeps_its_unit():
    level = np.array([0.0, 3e6, -3e6])
    rows = level + np.array([[0.0], [1e-16], [1e-15]]) * level
    assert rows[:, 1:].std(axis=0).all()
    np.testing.assert_array_equal(column_statistics(rows)[1], 1)
    np.testing.assert_array_equal(column_statistics(np.array([[0.0, -2e-9], [0.0, 2e-9]]))[1], [1, 2e-9])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scale", [0.0, 1.0], "positive values in 'scale'"),
        ("scale", [1.0, -1.0], "positive values in 'scale'"),
        ("view0_columns", [0, 2], "column numbers from 0 to 1"),
        ("view0_columns", [-1, 0], "column numbers from 0 to 1"),
        ("view0_columns", np.zeros(0, int), "column numbers from 0 to 1"),
    ],
)
def test_a_foreign_file_names_no_columns_that_there_are_not_and_divides_by_nothing(
    predictor, name, value, message
):
    arrays, meta = predictor.to_arrays()
    with pytest.raises(ValueError, match=message):
        CountPredictor.from_arrays({**arrays, name: np.array(value)}, meta)
