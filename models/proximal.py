"""Losses that are half the square convolved with a norm or a ball, and the solver of their dual problem.

Source: A. Lambert, D. Bouche, Z. Szabo and F. d'Alche-Buc, "Functional Output Regression with Infimal
Convolution" (the paper below).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class ConvolvedLoss(Protocol):
    """L = 1/2 |.|^2 [inf-convolution] g on the rows of a matrix, by the conjugate g* that its dual needs."""

    def conjugate(self, rows: np.ndarray) -> float:
        """Sum of g* over the rows (n, k); `prox` never leaves its domain."""

    def prox(self, rows: np.ndarray, step: float) -> np.ndarray:
        """argmin_a step g*(a) + 1/2 |a - u|^2 for every row u: (n, k)."""


@dataclass(frozen=True)
class SquareLoss:
    """L = 1/2 |.|^2: g is the indicator of 0, g* = 0."""

    def conjugate(self, rows: np.ndarray) -> float:
        return 0.0

    def prox(self, rows: np.ndarray, step: float) -> np.ndarray:
        return rows


@dataclass(frozen=True)
class HuberLoss:
    """g = radius |.|_p, so that g* keeps the rows within the q-ball of that radius (Proposition 3.4).

    `q` is the conjugate exponent of p: 2 (p = 2) or infinity (p = 1).
    """

    radius: float
    q: float

    def conjugate(self, rows: np.ndarray) -> float:
        return 0.0

    def prox(self, rows: np.ndarray, step: float) -> np.ndarray:
        """Projection on the ball, whatever the step (equations 3 and 4)."""
        if self.q == 2:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            return rows * (self.radius / np.maximum(norms, self.radius))
        return np.clip(rows, -self.radius, self.radius)


@dataclass(frozen=True)
class InsensitiveLoss:
    """g is the indicator of the p-ball of a radius, so that g* = radius |.|_q (Proposition 4.3).

    `q` is the conjugate exponent of p: 2 (p = 2) or 1 (p = infinity).
    """

    radius: float
    q: float

    def conjugate(self, rows: np.ndarray) -> float:
        norms = np.linalg.norm(rows, axis=1) if self.q == 2 else np.abs(rows)
        return self.radius * float(norms.sum())

    def prox(self, rows: np.ndarray, step: float) -> np.ndarray:
        """Thresholding of whole rows or of single values (equations 7 and 8)."""
        threshold = step * self.radius
        if self.q == 2:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            return rows * (1 - threshold / np.maximum(norms, max(threshold, np.finfo(float).tiny)))
        return np.sign(rows) * np.maximum(np.abs(rows) - threshold, 0)


def loss_value(loss: ConvolvedLoss, residuals: np.ndarray) -> float:
    """Sum of L over the rows of `residuals` (n, k).

    L is the conjugate of 1/2 |.|^2 + g*, whose supremum the prox with step 1 attains; Propositions 3.2 and
    4.2 are what this comes to.
    """
    dual = loss.prox(residuals, 1.0)
    return float(np.sum(dual * (residuals - dual / 2))) - loss.conjugate(dual)


@dataclass(frozen=True, eq=False)
class DualSolution:
    """What `solve_dual` found.

    Attributes
    ----------
    dual : (n, k) float64
        A, the minimizer of the dual problem.
    objective : float
        Primal objective P(A) of the function that A stands for.
    gap : float
        P(A) + F(A) >= 0: neither objective is farther than this from the optimum.
    iterations : int
        The start, the square loss's minimizer, counts as the first.
    """

    dual: np.ndarray
    objective: float
    gap: float
    iterations: int


def solve_dual(
    loss: ConvolvedLoss,
    kernel: np.ndarray,
    output: np.ndarray,
    targets: np.ndarray,
    tol: float,
    max_iter: int,
) -> DualSolution:
    """Minimize F(A) = Tr(1/2 A A^T - A T^T + 1/2 K A S A^T) + sum_i g*(a_i) to a relative duality gap.

    A stands for the function with the values H = K A S at the rows, whose primal objective is
    P(A) = sum_i L(t_i - h_i) + 1/2 Tr(A^T K A S). Accelerated proximal gradient with backtracking and
    adaptive restart (O'Donoghue and Candes 2015), started from the minimizer for the square loss,
    A + K A S = T, which is a division in the two eigenbases.

    Parameters
    ----------
    loss : ConvolvedLoss
    kernel, output : (n, n), (k, k) float64
        K and S, symmetric and positive semi-definite.
    targets : (n, k) float64
        T.
    tol : float
        Stop when gap <= tol P(A).
    max_iter : int
        Iterations at most; the caller compares the gap.

    Raises
    ------
    ValueError
        When a matrix is not positive semi-definite.
    """
    (left, left_basis), (right, right_basis) = (_eigen(matrix) for matrix in (kernel, output))
    steepest = 1 + left[-1] * right[-1]  # the largest eigenvalue of A -> A + K A S
    spectrum = 1 + np.outer(left, right)
    square = left_basis @ ((left_basis.T @ targets @ right_basis) / spectrum) @ right_basis.T

    def image(dual):
        return kernel @ dual @ output

    def certify(dual, fitted):
        energy = float(np.sum(dual * fitted)) / 2
        value = energy + loss_value(loss, targets - fitted)
        dual_value = float(np.sum(dual * (dual / 2 - targets))) + energy + loss.conjugate(dual)
        return value, max(value + dual_value, 0.0)

    dual = loss.prox(square, 0.0)  # into the domain of g*
    fitted = image(dual)
    value, gap = certify(dual, fitted)
    best = DualSolution(dual, value, gap, 1)
    previous, previous_fitted, momentum, curvature = dual, fitted, 1.0, min(steepest, 2.0)
    for iteration in range(2, max_iter + 1):
        if best.gap <= tol * best.objective:
            break
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        push = (momentum - 1) / faster
        point = dual + push * (dual - previous)
        slope = point + fitted + push * (fitted - previous_fitted) - targets
        while True:
            step = 1 / curvature
            candidate = loss.prox(point - step * slope, step)
            moved = candidate - point
            candidate_fitted = image(candidate)
            change = candidate_fitted - (fitted + push * (fitted - previous_fitted))
            if curvature >= steepest or np.sum(moved * (moved + change)) <= curvature * np.sum(moved**2):
                break
            curvature = min(2 * curvature, steepest)
        uphill = np.sum((point - candidate) * (candidate - dual)) > 0
        previous, previous_fitted, dual, fitted = dual, fitted, candidate, candidate_fitted
        momentum = 1.0 if uphill else faster
        value, gap = certify(dual, fitted)
        if gap < best.gap:
            best = DualSolution(dual, value, gap, iteration)
    return best


def _eigen(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-8 * max(values[-1], 0.0) - np.finfo(float).tiny:
        raise ValueError(
            "expected a positive semi-definite kernel matrix, but its eigenvalues go down to "
            f"{values[0]:.1e}: choose another kernel"
        )
    return np.maximum(values, 0), vectors
