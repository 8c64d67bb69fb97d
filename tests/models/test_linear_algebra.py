"""Factor: principal submatrices, ridges and single precision."""

import numpy as np
import pytest

from models.linear_algebra import BLOCK_ROWS, Factor


@pytest.fixture
def matrix():
    """Definite, of several blocks, its diagonal over four decades."""
    random = np.random.default_rng(0)
    n = 3 * BLOCK_ROWS + 5
    root = random.normal(size=(n, 2 * n)) * np.geomspace(0.1, 10, n)[:, None]
    return root @ root.T


@pytest.mark.parametrize(("precision", "accuracy"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_a_principal_submatrix_with_a_ridge(matrix, precision, accuracy):
    rows = np.flatnonzero(np.arange(len(matrix)) % 3)
    right = np.random.default_rng(1).normal(size=(len(rows), 2))
    expected = np.linalg.solve(matrix[np.ix_(rows, rows)] + 0.7 * np.eye(len(rows)), right)
    solved = Factor(matrix, rows, ridge=0.7, precision=precision).solve(right)
    assert solved.dtype == np.float64
    np.testing.assert_allclose(solved, expected, atol=accuracy * np.abs(expected).max())


@pytest.mark.parametrize("place", [(0, 0), (2, 150)])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_finite_is_refused(matrix, place, value):
    matrix[place] = matrix[place[::-1]] = value
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="scale the columns of X"):
        Factor(matrix)
