"""Minimizers of robust regularized kernel regression: finite Newton steps in the primal, with a line search.

Source: J. Zhu, S. C. H. Hoi and M. R. Lyu, "Robust Regularized Kernel Regression" (the paper below). With
f = K alpha + b over n rows and residuals u = f - y,

    E(alpha, b) = sum_i V(u_i) + lam alpha^T K alpha,    V(u) = 2 H_m(max(|u| - epsilon, 0)),

H_m the Huber loss (`losses.huber_loss`), m the switch. A residual lies in the tube, |u| < epsilon, in the
quadratic zone up to epsilon + m, or in a linear one beyond.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter

import numpy as np
from scipy.optimize import brentq

from .linear_algebra import Factor, plus_diagonal
from .losses import huber_loss

CERTIFIED = 1e-8  # what `RobustMinimizer.optimality` shall not exceed
PRECISE = 1e-12  # what the steps aim at
HALVED_ROWS = 400  # with more, factors are of single precision, and every other row tells where to start
SETTLED = 0.03  # the fit to these is near enough when a step changes no larger share of their zones
CALM = 0.003  # the gradient is looked at where no larger share has changed its zone
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

    `precision` is that of the factors; what a single one lacks is for the caller's refinement to make up.
    """

    def __init__(self, kernel_matrix: np.ndarray, lam: float, precision: type = np.float64):
        self._kernel_matrix, self._lam, self._precision = kernel_matrix, lam, precision
        self._base = np.arange(0)
        self._is_bordered = False

    def renew(self) -> bool:
        """Have the next rows factored in double precision; False where those of the last solution were."""
        if self._precision == np.float64 and not self._is_bordered:
            return False
        self._base, self._precision = np.arange(0), np.float64
        return True

    def solve(self, rows: np.ndarray, right: np.ndarray) -> np.ndarray:
        """A[rows, rows]^-1 right, (q, k), for ascending row numbers (q,) and a right-hand side (q, k)."""
        is_member = np.isin(rows, self._base, assume_unique=True)
        is_dropped = ~np.isin(self._base, rows, assume_unique=True)
        added, dropped = rows[~is_member], self._base[is_dropped]
        n_bordering = len(added) + len(dropped)
        if n_bordering > LARGEST_BORDER * len(rows):
            self._factorize(rows)
            return self._factor.solve(right)
        whole = np.zeros((len(self._base), right.shape[1]))
        whole[~is_dropped] = right[is_member]
        inner = self._factor.solve(whole)
        self._is_bordered = n_bordering > 0
        if not self._is_bordered:
            return inner
        self._solve_columns(added, dropped)
        used = self._place[np.concatenate([added, dropped])]
        corner = -self._products[np.ix_(used, used)]
        corner[: len(added), : len(added)] += plus_diagonal(
            self._kernel_matrix[np.ix_(added, added)], self._lam
        )
        sides = -(self._solved @ whole)[used]
        sides[: len(added)] += right[~is_member]
        outer = np.zeros((len(self._solved), right.shape[1]))
        outer[used] = np.linalg.solve(corner, sides)
        inner -= self._solved.T @ outer
        result = np.empty_like(right)
        result[is_member] = inner[~is_dropped]
        result[~is_member] = outer[used[: len(added)]]
        return result

    def _factorize(self, rows: np.ndarray) -> None:
        self._base, self._factor = rows, None  # the old factor's memory is free for the new one
        self._factor = Factor(self._kernel_matrix, rows, self._lam, self._precision)
        self._is_bordered = False
        # Of the rows that bordered B so far, with columns C in the border: their places in the other two,
        # (A[B, B]^-1 C)^T, and C^T A[B, B]^-1 C.
        self._place = np.full(len(self._kernel_matrix), -1)
        self._solved, self._products = np.empty((0, len(rows))), np.empty((0, 0))

    def _solve_columns(self, added: np.ndarray, dropped: np.ndarray) -> None:
        """Have `_solved` and `_products` hold what belongs to these rows: the column of an added one is
        A[B, row], that of a dropped one a unit vector."""
        added, dropped = (rows[self._place[rows] < 0] for rows in (added, dropped))
        columns = np.concatenate(
            [self._kernel_matrix[np.ix_(added, self._base)], self._base == dropped[:, None]]
        )
        if not len(columns):
            return
        self._place[np.concatenate([added, dropped])] = len(self._solved) + np.arange(len(columns))
        solved = self._factor.solve(columns.T).T
        crossing = self._solved @ columns.T
        self._products = np.block([[self._products, crossing], [crossing.T, columns @ solved.T]])
        self._solved = np.concatenate([self._solved, solved])


class RobustObjective:
    """E over the rows of a positive semi-definite kernel matrix (n, n) with labels y (n,)."""

    def __init__(self, kernel_matrix: np.ndarray, y: np.ndarray, lam: float, loss: RobustLoss):
        self._kernel_matrix, self._y, self._lam, self._loss = kernel_matrix, y, lam, loss
        precision = np.float32 if len(y) > HALVED_ROWS else np.float64
        self._system = PrincipalSystem(kernel_matrix, lam, precision)
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
        best, stalled = None, 0
        for n_steps, (point, changed) in enumerate(islice(self._path(), max_steps), 1):
            if changed > CALM * len(self._y):
                continue  # the gradient is not yet worth its time
            here = self._judged(point, n_steps)
            stalled = 0 if best is None or here.optimality < best.optimality / 2 else stalled + 1
            if here.optimality <= PRECISE or (here.optimality <= CERTIFIED and stalled > 2):
                break
            if best is not None and not changed and here.optimality > best.optimality / 10:
                self._system.renew()
            best = min(here, best or here, key=attrgetter("optimality"))
        here = self._judged(point, n_steps)
        return min(here, best or here, key=attrgetter("optimality"))

    def _judged(self, point: Point, n_steps: int) -> RobustMinimizer:
        gradient = self._value_and_gradient(point)[1]
        optimality = float(np.linalg.norm(gradient) / self._largest_gradient)
        return RobustMinimizer(point.alpha, point.bias, optimality, n_steps)

    def _path(self) -> Iterator[tuple[Point, int]]:
        """Yield the start and where the steps lead, with the number of rows that changed their zone."""
        point, changed = self._start(), len(self._y)
        zones = self._zones(point)
        while point is not None:
            yield point, changed
            following = self._step(point, self._loss)
            if following is None and self._system.renew():
                following = self._step(point, self._loss)
            if following is not None:
                before, zones = zones, self._zones(following)
                changed = np.count_nonzero(zones != before)
            point = following

    def _near_minimum(self) -> Point:
        """Where the steps have come when only few rows still change their zone."""
        for point, changed in self._path():
            last = point
            if changed <= SETTLED * len(self._y):
                break
        return last

    def _zones(self, point: Point) -> np.ndarray:
        return self._loss.is_quadratic(point.values + point.bias - self._y)

    def _start(self) -> Point:
        """Where the steps begin: near the fit to every other row, or with the loss quadratic everywhere."""
        n = len(self._y)
        if n > HALVED_ROWS:
            half = np.ascontiguousarray(self._kernel_matrix[::2, ::2])
            part = RobustObjective(half, self._y[::2], self._lam / 2, self._loss)._near_minimum()
            alpha = np.zeros(n)
            alpha[::2] = part.alpha
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
        if not initial < 0:
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
        missing = -(self._lam * point.alpha + pulls)[quadratic]
        moved = np.flatnonzero(change)
        if len(moved):
            missing -= (change[moved] @ self._kernel_matrix[moved])[quadratic]
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
