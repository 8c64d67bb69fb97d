"""The quadratic programs that robust kernel regression is compared with, for a general convex solver.

Source: J. Zhu, S. C. H. Hoi and M. R. Lyu, "Robust Regularized Kernel Regression", section IV-A. Needs cvxpy
with Clarabel (the extra `test`).
"""

from dataclasses import dataclass

import numpy as np

#: Dual I, Dual II without regularization, and Dual II with it.
PROGRAMS = ("D-H1", "D-H2", "D-H3")
RANK_TOLERANCE = 1e-12  # eigenvalues below this share of the largest are rounding


@dataclass(frozen=True, eq=False)
class Solution:
    """The least value of the program, and its function: `alpha` (n,) and `bias`."""

    value: float
    alpha: np.ndarray
    bias: float


def solve_program(
    program: str, matrix: np.ndarray, y: np.ndarray, lam: float, switch: float, epsilon: float = 0.0
) -> Solution:
    """Solve one of `PROGRAMS` for a kernel matrix (n, n), labels y (n,) and R3's settings.

    D-H2 leaves out lam. The tube is Dual I's |u| <= epsilon + w + v; the others have none. With
    matrix = R R^T the variable is theta = R^T alpha, whose square is alpha^T K alpha.
    """
    import cvxpy

    values, vectors = np.linalg.eigh(matrix)
    kept = values > RANK_TOLERANCE * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    n = len(y)
    theta, bias = cvxpy.Variable(root.shape[1]), cvxpy.Variable()
    w, v = cvxpy.Variable(n), cvxpy.Variable(n)
    residuals = root @ theta + bias - y
    penalty = lam * cvxpy.sum_squares(theta)
    if program == "D-H1":
        limits = [cvxpy.abs(residuals) <= epsilon + w + v, w >= 0, w <= switch, v >= 0]
        linear = cvxpy.sum(v)
    elif program == "D-H3" and not epsilon:
        limits = [residuals - w <= v, w - residuals <= v, v >= 0]
        linear = cvxpy.sum(v)
    elif program == "D-H2" and not epsilon:
        t = cvxpy.Variable(n)
        limits = [residuals - w == v - t, v >= 0, t >= 0]
        linear, penalty = cvxpy.sum(v + t), 0.0
    else:
        raise ValueError(f"expected one of {PROGRAMS}, with a tube D-H1, not {program!r}")
    objective = cvxpy.sum_squares(w) + 2 * switch * linear + penalty
    problem = cvxpy.Problem(cvxpy.Minimize(objective), limits)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    alpha = vectors[:, kept] @ (theta.value / np.sqrt(values[kept]))
    return Solution(float(problem.value), alpha, float(bias.value))
