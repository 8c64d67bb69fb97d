"""Minimizers of robust regularized kernel regression: finite Newton steps in the primal, with a line search.

Source: J. Zhu, S. C. H. Hoi and M. R. Lyu, "Robust Regularized Kernel Regression" (the paper below). With
f = K alpha + b over n rows and residuals u = f - y,

    E(alpha, b) = sum_i V(u_i) + lam alpha^T K alpha,    V(u) = 2 H_m(max(|u| - epsilon, 0)),

H_m the Huber loss (`losses.huber_loss`), m the switch. A residual lies in the tube, |u| < epsilon, in the
quadratic zone up to epsilon + m, or in a linear one beyond.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from .linear_algebra import Factor, plus_diagonal
from .losses import huber_loss

CERTIFIED = 1e-8  # what `RobustMinimizer.optimality` shall not exceed
PRECISE = 1e-12  # what the steps aim at
HALVED_ROWS = 400  # with more, a fit to every other row tells where to start
LARGEST_BORDER = 0.1  # of a factor's rows: with more rows changed, a new factor is cheaper


@dataclass(frozen=True)
class RobustLoss:
    """V, with `switch` m > 0, which may be infinite, and `epsilon` >= 0 (paper eqs. 4 and, corrected, 5)."""

    switch: float
    epsilon: float = 0.0

    def value_and_pulls(self, residuals: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum of V(u) over `residuals` (n,), and V'(u) / 2 (n,): the paper's I0 u + e."""
        excess = np.sign(residuals) * np.maximum(np.abs(residuals) - self.epsilon, 0)
        value, slopes = huber_loss(excess, self.switch)
        return 2 * value, slopes

    def is_quadratic(self, residuals: np.ndarray) -> np.ndarray:
        """(n,) bool: the residual lies in the quadratic zone (the diagonal of the paper's I0)."""
        excess = np.abs(residuals) - self.epsilon
        return (excess >= 0) & (excess <= self.switch)


@dataclass(frozen=True, eq=False)
class Point:
    """A function: `alpha` (n,), `bias`, and `values` K alpha (n,)."""

    alpha: np.ndarray
    bias: float
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class RobustMinimizer:
    """The least E found: `alpha` (n,), `bias`, the norm of E's gradient there, and the number of Newton steps
    on all rows that led there, the start among them.

    `optimality`: the norm is relative to the gradient's at the zero function if there all labels pulled the
    same way.
    """

    alpha: np.ndarray
    bias: float
    optimality: float
    n_steps: int


class PrincipalSystem:
    """Systems with the principal submatrices of A = K + lam I, for sets of rows that change little by little.

    The set B that was factored last serves a set of other rows too: with x = 0 for the dropped rows and the
    added ones as unknowns, the equations of B are bordered by theirs.
    """

    def __init__(self, kernel_matrix: np.ndarray, lam: float):
        self._kernel_matrix, self._lam = kernel_matrix, lam
        self._base = np.arange(0)
        self._is_bordered = False

    def renew(self) -> bool:
        """Have the next rows factored; False where those of the last solution were."""
        self._base = np.arange(0)
        return self._is_bordered

    def solve(self, rows: np.ndarray, right: np.ndarray) -> np.ndarray:
        """A[rows, rows]^-1 right, (q, k), for ascending row numbers (q,) and a right-hand side (q, k)."""
        is_member = np.isin(rows, self._base, assume_unique=True)
        is_dropped = ~np.isin(self._base, rows, assume_unique=True)
        if np.count_nonzero(~is_member) + np.count_nonzero(is_dropped) > LARGEST_BORDER * len(rows):
            self._base, self._factor = rows, None  # the old factor's memory is free for the new one
            self._factor = Factor(plus_diagonal(self._kernel_matrix[np.ix_(rows, rows)], self._lam))
            self._solved_columns = {}  # of borders so far, by row
            self._is_bordered = False
            return self._factor.solve(right)
        whole = np.zeros((len(self._base), right.shape[1]))
        whole[~is_dropped] = right[is_member]
        solved = self._factor.solve(whole)
        self._is_bordered = not is_member.all() or bool(is_dropped.any())
        if not self._is_bordered:
            return solved
        added, dropped = rows[~is_member], np.flatnonzero(is_dropped)
        border = np.zeros((len(self._base), len(added) + len(dropped)))
        border[:, : len(added)] = self._kernel_matrix[np.ix_(self._base, added)]
        border[dropped, len(added) + np.arange(len(dropped))] = 1.0
        corner = np.zeros((border.shape[1],) * 2)
        corner[: len(added), : len(added)] = plus_diagonal(
            self._kernel_matrix[np.ix_(added, added)], self._lam
        )
        solved_border = self._solved_border(np.concatenate([added, self._base[dropped]]), border)
        outer = -border.T @ solved
        outer[: len(added)] += right[~is_member]
        outer = np.linalg.solve(corner - border.T @ solved_border, outer)
        solved -= solved_border @ outer
        result = np.empty_like(right)
        result[is_member] = solved[~is_dropped]
        result[~is_member] = outer[: len(added)]
        return result

    def _solved_border(self, rows: np.ndarray, border: np.ndarray) -> np.ndarray:
        """The solution for a border's columns, which belong to `rows` and are the same in every border."""
        known = self._solved_columns
        new = [k for k, row in enumerate(rows.tolist()) if row not in known]
        known.update(zip(rows[new].tolist(), self._factor.solve(border[:, new]).T, strict=True))
        return np.stack([known[row] for row in rows.tolist()], axis=1)


class RobustObjective:
    """E over the rows of a positive semi-definite kernel matrix (n, n) with labels y (n,)."""

    def __init__(self, kernel_matrix: np.ndarray, y: np.ndarray, lam: float, loss: RobustLoss):
        self._kernel_matrix, self._y, self._lam, self._loss = kernel_matrix, y, lam, loss
        self._system = PrincipalSystem(kernel_matrix, lam)
        pulls = np.abs(loss.value_and_pulls(y)[1])
        largest = 2 * np.linalg.norm(np.append(kernel_matrix @ pulls, pulls.sum()))
        self._largest_gradient = float(largest) or 1.0

    def value_and_gradient(self, alpha: np.ndarray, bias: float) -> tuple[float, np.ndarray]:
        """E and its gradient (n + 1,): by alpha, and by the bias last."""
        return self._value_and_gradient(Point(alpha, bias, self._kernel_matrix @ alpha))

    def _value_and_gradient(self, point: Point) -> tuple[float, np.ndarray]:
        loss, pulls = self._loss.value_and_pulls(point.values + point.bias - self._y)
        by_alpha = self._kernel_matrix @ (self._lam * point.alpha + pulls)
        return loss + self._lam * (point.alpha @ point.values), 2 * np.append(by_alpha, pulls.sum())

    def minimize(self, max_steps: int) -> RobustMinimizer:
        """The minimizer, unless `max_steps` Newton steps do not reach it; `optimality` tells."""
        point, best = self._start(max_steps), None
        n_steps, stalled = 1, 0
        while point is not None:
            optimality = self._optimality(point)
            stalled = 0 if best is None or optimality < best.optimality / 2 else stalled + 1
            if best is None or optimality < best.optimality:
                best = RobustMinimizer(point.alpha, point.bias, optimality, n_steps)
            if optimality <= PRECISE or n_steps == max_steps or (optimality <= CERTIFIED and stalled > 2):
                break
            following = self._step(point, self._loss)
            if following is None and self._system.renew():
                following = self._step(point, self._loss)
            point, n_steps = following, n_steps + 1
        return best

    def _optimality(self, point: Point) -> float:
        return float(np.linalg.norm(self._value_and_gradient(point)[1]) / self._largest_gradient)

    def _start(self, max_steps: int) -> Point:
        """Where the steps begin: at the fit to every other row, or with the loss quadratic everywhere."""
        n = len(self._y)
        if n > HALVED_ROWS:
            half = np.arange(0, n, 2)
            part = RobustObjective(
                self._kernel_matrix[np.ix_(half, half)], self._y[half], self._lam / 2, self._loss
            ).minimize(max_steps)
            alpha = np.zeros(n)
            alpha[half] = part.alpha
            return Point(alpha, part.bias, self._kernel_matrix @ alpha)
        constant = Point(np.zeros(n), float(np.median(self._y)), np.zeros(n))
        return self._step(constant, replace(self._loss, switch=np.inf)) or constant

    def _step(self, point: Point, loss: RobustLoss) -> Point | None:
        """The least E on the way from `point` to where its gradient would vanish if no residual changed its
        zone; None where rounding leaves no way down."""
        residuals = point.values + point.bias - self._y
        alpha, bias = self._target(point, residuals, loss)
        values = self._kernel_matrix @ alpha
        alpha_change, values_change = alpha - point.alpha, values - point.values
        residuals_change = values_change + (bias - point.bias)

        def slope(share):
            pulls = loss.value_and_pulls(residuals + share * residuals_change)[1]
            bend = point.alpha @ values_change + share * (alpha_change @ values_change)
            return pulls @ residuals_change + self._lam * bend

        initial = slope(0.0)
        if initial >= 0:
            return None
        if slope(1.0) <= 1e-9 * -initial:
            return Point(alpha, bias, values)
        share = brentq(slope, 0.0, 1.0)
        return Point(
            point.alpha + share * alpha_change,
            point.bias + share * (bias - point.bias),
            point.values + share * values_change,
        )

    def _target(self, point: Point, residuals: np.ndarray, loss: RobustLoss) -> tuple[np.ndarray, float]:
        """alpha (n,) and bias of the paper's eq. 12, corrected: its rows of the quadratic zone have I0 1.

        Rows outside of that zone have alpha = -e / lam, zero in the tube; what is left is a system over the
        zone, bordered by sum alpha = 0. It is solved for the change of alpha, so that steps within the same
        zones refine each other. With an empty zone the bias has no equation: it is the best for the values.
        """
        _, pulls = loss.value_and_pulls(residuals)
        alpha = -pulls / self._lam
        quadratic = np.flatnonzero(loss.is_quadratic(residuals))
        if not len(quadratic):
            return alpha, self._best_bias(point.values, loss)
        change = alpha - point.alpha
        change[quadratic] = 0.0
        missing = -(self._lam * point.alpha + pulls + self._kernel_matrix @ change)[quadratic]
        solved, of_ones = self._system.solve(
            quadratic, np.column_stack([missing, np.ones(len(quadratic))])
        ).T
        shift = (solved.sum() + change.sum() + point.alpha.sum()) / of_ones.sum()
        alpha[quadratic] = point.alpha[quadratic] + solved - shift * of_ones
        return alpha, point.bias + shift

    def _best_bias(self, values: np.ndarray, loss: RobustLoss) -> float:
        """The bias at which the pulls of all residuals cancel."""
        wanted = self._y - values
        low, high = wanted.min() - loss.epsilon - 1, wanted.max() + loss.epsilon + 1
        return brentq(lambda bias: loss.value_and_pulls(bias - wanted)[1].sum(), low, high)
