"""Symmetric positive definite systems."""

import numpy as np
from scipy.linalg import lapack

BLOCK_ROWS = 64  # scaled at a time: they stay in the processor's cache
_CHOLESKY = {np.float64: (lapack.dpotrf, lapack.dpotrs), np.float32: (lapack.spotrf, lapack.spotrs)}


class Factor:
    """Cholesky factor of a symmetric positive definite matrix, its diagonal scaled to one beforehand.

    A matrix that rounding made indefinite gets the least of 10, 100, … roundings added to its diagonal that
    makes it definite. What that changes is for the caller's refinement to undo, as are the roundings of a
    factor in the `precision` np.float32, which takes half the time. ValueError when the matrix is not finite.

    matrix: (n, n) float64. rows: (q,) row numbers; where given, the factor is that of matrix[rows, rows].
    ridge: what is added to the diagonal.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        rows: np.ndarray | None = None,
        ridge: float = 0.0,
        precision: type = np.float64,
    ):
        factor, self._solve = _CHOLESKY[precision]
        diagonal = (matrix.diagonal() if rows is None else matrix.diagonal()[rows]) + ridge
        self._scale = 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
        shift, is_shifted = len(diagonal) * np.finfo(precision).eps, False
        while True:
            scaled = self._scaled(matrix, rows, precision)
            diagonal_of(scaled)[:] = 1 + shift if is_shifted else diagonal * self._scale**2
            self._lower, failed_at = factor(scaled.T, lower=1, clean=0, overwrite_a=1)
            if not failed_at and np.isfinite(self._lower.diagonal()).all():
                return
            if not np.isfinite(matrix).all():
                raise ValueError("products of feature values overflow: scale the columns of X to about one")
            shift, is_shifted = 10 * shift, True

    def _scaled(self, matrix: np.ndarray, rows: np.ndarray | None, precision: type) -> np.ndarray:
        """What lies above the diagonal of the scaled matrix; the rest is not set."""
        n = len(self._scale)
        scaled = np.empty((n, n), precision)
        for first in range(0, n, BLOCK_ROWS):
            part = slice(first, first + BLOCK_ROWS)
            block = matrix[part, first:] if rows is None else matrix[rows[part]].take(rows[first:], axis=1)
            block = block * self._scale[first:]
            block *= self._scale[part, None]
            scaled[part, first:] = block
        return scaled

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for a right-hand side (n,) or (n, k)."""
        if not right.size:  # LAPACK's wrappers take no empty arrays
            return right.copy()
        scale = self._scale if right.ndim == 1 else self._scale[:, None]
        return scale * self._solve(self._lower, scale * right, lower=1)[0]


def diagonal_of(matrix: np.ndarray) -> np.ndarray:
    """The diagonal (n,) of a matrix (n, n), a view that can be written to."""
    return np.einsum("ii->i", matrix)


def plus_diagonal(matrix: np.ndarray, value: float) -> np.ndarray:
    """`matrix` itself with `value` added to its diagonal."""
    diagonal_of(matrix)[:] += value
    return matrix
