"""Symmetric positive definite systems."""

import numpy as np
from scipy.linalg import lapack


class Factor:
    """Cholesky factor of a symmetric positive definite matrix, its diagonal scaled to one beforehand.

    A matrix that rounding made indefinite gets the least of 10, 100, … roundings added to its diagonal that
    makes it definite; what that changes is for the caller's refinement to undo. ValueError when the matrix is
    not finite.
    """

    def __init__(self, matrix: np.ndarray):
        if not np.isfinite(matrix).all():
            raise ValueError("products of feature values overflow: scale the columns of X to about one")
        self._scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
        shift, is_shifted = len(matrix) * np.finfo(float).eps, False
        while True:
            scaled = matrix * self._scale
            scaled *= self._scale[:, None]
            if is_shifted:
                diagonal_of(scaled)[:] = 1 + shift
            self._lower, failed_at = lapack.dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)
            if not failed_at:
                return
            shift, is_shifted = 10 * shift, True

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for a right-hand side (n,) or (n, k)."""
        if not right.size:  # LAPACK's wrappers take no empty arrays
            return right.copy()
        scale = self._scale if right.ndim == 1 else self._scale[:, None]
        return scale * lapack.dpotrs(self._lower, scale * right, lower=1)[0]


def diagonal_of(matrix: np.ndarray) -> np.ndarray:
    """The diagonal (n,) of a matrix (n, n), a view that can be written to."""
    return np.einsum("ii->i", matrix)


def plus_diagonal(matrix: np.ndarray, value: float) -> np.ndarray:
    """`matrix` itself with `value` added to its diagonal."""
    diagonal_of(matrix)[:] += value
    return matrix
