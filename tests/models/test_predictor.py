"""What predictors have in common."""

import numpy as np

from models.predictor import LARGEST_DEVIATION, column_statistics, standardised


def test_a_column_that_hardly_varied_does_not_decide_when_it_does():
    rows = np.array([[0.0, 5.0], [2.0, 5.0 + 1e-3]])
    mean, scale, *_ = column_statistics(rows)
    np.testing.assert_allclose(standardised(rows, mean, scale), [[-1, -1], [1, 1]])
    np.testing.assert_array_equal(
        standardised(np.array([[1.0, 8.0], [1.0, 2.0]]), mean, scale),
        [[0, LARGEST_DEVIATION], [0, -LARGEST_DEVIATION]],
    )
