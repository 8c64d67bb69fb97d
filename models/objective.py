"""The objective of Huber loss regression in explicit features, its minimizers and their certificate.

Source: J. Cavazza and V. Murino, "Active Regression with Adaptive Huber Loss", eq. 3 and Theorem 1. With
psi^a the features of view a, theta^a its coefficients, phi = [c^1 psi^1 … c^m psi^m] and l labels,

    J(theta) = (1/l) sum_i H_xi(y_i - phi(x_i).theta) + lam |theta|^2 + gamma F.(M F),  F^a = psi^a theta^a.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

BLOCK_ROWS = 1024  # expanded at a time: their features stay in the processor's cache
SETTLED = 1e-11  # of max|y|: a Newton step that moves no prediction further has done its work


def huber_loss(residuals: np.ndarray, xi: float) -> tuple[float, np.ndarray]:
    """Sum of H_xi(r) over `residuals` (n,), and H'_xi(r) (n,): r clipped to [-xi, xi] (paper eq. 2).

    H_xi(r) = r^2 / 2 for |r| <= xi, else xi |r| - xi^2 / 2; xi may be infinite.
    """
    slopes = np.clip(residuals, -xi, xi)
    return float(slopes @ (residuals - slopes / 2)), slopes


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Feature rows (count, size), held as `array` or else expanded anew, block by block, at every pass."""

    count: int
    size: int
    array: np.ndarray | None
    expand: Callable[[np.ndarray], np.ndarray] | None = None

    def blocks(self, index: np.ndarray | None = None) -> Iterator[tuple[np.ndarray | slice, np.ndarray]]:
        """Pairs of row numbers and their features that cover `index` (None: all rows) in order."""
        if self.array is not None:
            yield (slice(None), self.array) if index is None else (index, self.array[index])
            return
        index = np.arange(self.count) if index is None else index
        for start in range(0, len(index), BLOCK_ROWS):
            part = index[start : start + BLOCK_ROWS]
            yield part, self.expand(part)

    def whole(self) -> np.ndarray:
        """All features (count, size) at once."""
        return np.concatenate([block for _, block in self.blocks()])

    def moments(self, values: np.ndarray, index: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """psi^T psi (size, size) and psi^T values (size,) over the rows `index`; `values` are all rows'."""
        gram, moment = np.zeros((self.size, self.size)), np.zeros(self.size)
        for part, block in self.blocks(index):
            gram += block.T @ block
            moment += block.T @ values[part]
        return gram, moment


@dataclass(frozen=True, eq=False)
class Manifold:
    """The paper's M (section V-D) on the graph's rows: a Laplacian per view and an operator between views.

    `features` (rows, D). `between`, None for a single view: "full" penalizes the squared differences of the
    views' functions, "diagonal" keeps only that operator's diagonal blocks, (m - 1) I. `covers_labels`: every
    labelled row is a row of the graph.
    """

    features: np.ndarray
    views: list[slice]
    laplacians: list[sparse.csr_array]
    between: str | None
    covers_labels: bool

    def _diagonal(self) -> int:
        return {"full": len(self.views), "diagonal": len(self.views) - 1, None: 0}[self.between]

    def values(self, theta: np.ndarray) -> np.ndarray:
        """F (rows, m)."""
        return _view_values(self.features, self.views, theta)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M F (rows, m)."""
        parts = [matrix @ column for matrix, column in zip(self.laplacians, values.T, strict=True)]
        result = np.column_stack(parts) + self._diagonal() * values
        if self.between == "full":
            result -= values.sum(axis=1, keepdims=True)
        return result

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The views' psi^aT v^a (D,) for `values` (rows, m)."""
        parts = [self.features[:, view].T @ values[:, a] for a, view in enumerate(self.views)]
        return np.concatenate(parts)

    def gram(self) -> np.ndarray:
        """psi^T M psi (D, D), block-diagonal over the views unless `between` is "full"."""
        size = self.features.shape[1]
        full = self.between == "full"
        result = -(self.features.T @ self.features) if full else np.zeros((size, size))
        for laplacian, view in zip(self.laplacians, self.views, strict=True):
            part = self.features[:, view]
            smooth = part.T @ (laplacian @ part)
            result[view, view] += (smooth + smooth.T) / 2 + self._diagonal() * (part.T @ part)
        return result


class Factor:
    """Cholesky factor of a symmetric positive definite matrix, its diagonal scaled to one beforehand.

    A matrix that rounding made indefinite gets the least of 10, 100, … roundings added to its diagonal that
    makes it definite; what that changes is for the caller's refinement to undo.
    """

    def __init__(self, matrix: np.ndarray):
        self._scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
        scaled = matrix * self._scale * self._scale[:, None]
        shift = len(matrix) * np.finfo(float).eps
        while True:
            try:
                self._lower = linalg.cholesky(scaled, lower=True, check_finite=False)
                return
            except linalg.LinAlgError:
                shift *= 10
                scaled[np.diag_indices_from(scaled)] = 1 + shift

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for a right-hand side (n,) or (n, k)."""
        scale = self._scale if right.ndim == 1 else self._scale[:, None]
        return scale * linalg.cho_solve((self._lower, True), scale * right, check_finite=False)


@dataclass(frozen=True, eq=False)
class Minimizer:
    """Coefficients (D,) where J is least, what rounding left of J's gradient there (D,), and the residuals
    y - h (l,) of all labels, dropped ones too."""

    theta: np.ndarray
    gradient: np.ndarray
    residuals: np.ndarray


class Objective:
    """J over labelled feature rows and a manifold, and its minimizers on subsets `kept` (l,) of the labels.

    Every Hessian is a Gram matrix over some labels plus one fixed penalty. With fewer coefficients than
    labels it is factored itself, the Gram matrix of few dropped labels being subtracted from that of all;
    otherwise the penalty is factored once, and each solve factors a principal block of the labels' reduced
    kernel phi R^-1 phi^T.
    """

    def __init__(
        self,
        labelled: FeatureRows,
        y: np.ndarray,
        views: list[slice],
        weights: np.ndarray,
        lam: float,
        gamma: float,
        manifold: Manifold | None,
    ):
        self.labelled, self.y, self.views, self.weights = labelled, y, views, weights
        self.lam, self.gamma, self.manifold = lam, gamma, manifold
        self.column_weights = np.concatenate(
            [np.full(view.stop - view.start, c) for view, c in zip(views, weights, strict=True)]
        )
        penalty = np.diag(np.full(labelled.size, lam))
        if manifold is not None:
            penalty += gamma * manifold.gram()
        self._penalty = penalty
        if labelled.size <= len(y):
            self._gram, self._moment = labelled.moments(y)
        else:
            self._gram = None
            self._factor_penalty(labelled.whole() * self.column_weights)

    def _factor_penalty(self, phi: np.ndarray):
        coupled = self.manifold is not None and self.manifold.between == "full"
        self._blocks = [slice(0, self.labelled.size)] if coupled else self.views
        self._block_factors = [Factor(self._penalty[block, block]) for block in self._blocks]
        self._phi = phi
        self._solved_phi = self._solve_penalty(phi.T)
        self._reduced_kernel = phi @ self._solved_phi

    def _solve_penalty(self, right: np.ndarray) -> np.ndarray:
        """R^-1 right, R = lam I + gamma psi^T M psi."""
        parts = [
            factor.solve(right[block])
            for factor, block in zip(self._block_factors, self._blocks, strict=True)
        ]
        return np.concatenate(parts)

    def _newton(
        self, quadratic: np.ndarray, target: np.ndarray, count: int
    ) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """The inverse of H = (1/count) sum of phi phi^T over the labels `quadratic` (l,) bool + 2 R, as a
        function, and its value at (1/count) sum_i target_i phi_i; `target` (l,) is y where quadratic."""
        solve_with = self._solver_by_labels if self._gram is None else self._solver_by_features
        return solve_with(quadratic, target, count)

    def _solver_by_features(self, quadratic, target, count):
        others = np.flatnonzero(~quadratic)
        if len(others) <= len(target) / 2:
            gram, moment = self._gram, self._moment
            if len(others):
                other_gram, other_moment = self.labelled.moments(self.y - target, others)
                gram, moment = gram - other_gram, moment - other_moment
        else:
            gram, moment = self.labelled.moments(target, np.flatnonzero(quadratic))
            moment += self.labelled.moments(target, np.flatnonzero(~quadratic & (target != 0)))[1]
        weights = self.column_weights
        factor = Factor(gram * (weights * weights[:, None] / count) + 2 * self._penalty)
        return factor.solve, factor.solve(weights * moment / count)

    def _solver_by_labels(self, quadratic, target, count):
        index = np.flatnonzero(quadratic)
        kernel = self._reduced_kernel[np.ix_(index, index)]
        kernel[np.diag_indices_from(kernel)] += 2 * count
        factor = Factor(kernel)
        phi, solved_phi = self._phi[index], self._solved_phi[:, index]

        def solve(right):
            solved = self._solve_penalty(right)
            return (solved - solved_phi @ factor.solve(phi @ solved)) / 2

        return solve, solve(self._phi.T @ target / count)

    def value_and_gradient(
        self, theta: np.ndarray, kept: np.ndarray, xi: float = np.inf
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """J with threshold `xi` on the labels `kept`, its gradient (D,), and all residuals (l,)."""
        count = kept.sum()
        weighted = self.column_weights * theta
        residuals = np.empty(len(self.y))
        loss, pull = 0.0, np.zeros(len(theta))
        for part, block in self.labelled.blocks():
            residuals[part] = self.y[part] - block @ weighted
            part_loss, slopes = huber_loss(residuals[part] * kept[part], xi)
            loss += part_loss
            pull += block.T @ slopes
        value = loss / count + self.lam * theta @ theta
        gradient = 2 * self.lam * theta - self.column_weights * pull / count
        if self.manifold is not None:
            values = self.manifold.values(theta)
            smoothed = self.manifold.apply(values)
            value += self.gamma * np.sum(values * smoothed)
            gradient += 2 * self.gamma * self.manifold.adjoint(smoothed)
        return value, gradient, residuals

    def minimize(self, kept: np.ndarray) -> Minimizer:
        """The minimizer with xi infinite: one Newton step, and more of them to undo its rounding."""
        solve, theta = self._newton(kept, self.y * kept, int(kept.sum()))
        _, gradient, residuals = self.value_and_gradient(theta, kept)
        best = Minimizer(theta, gradient, residuals)
        last = np.inf
        for _ in range(10):
            theta = best.theta - solve(best.gradient)
            _, gradient, residuals = self.value_and_gradient(theta, kept)
            change = np.abs(residuals - best.residuals).max()
            if change > last / 2:  # rounding error is all that is left
                break
            best, last = Minimizer(theta, gradient, residuals), change
            if change <= SETTLED * np.abs(self.y).max():
                break
        return best

    def active_set_step(self, kept: np.ndarray, residuals: np.ndarray, xi: float) -> np.ndarray:
        """Residuals (l,) after one solve of Theorem 1's system with its sets taken at `residuals` and `xi`.

        L0, |r| < xi, is quadratic; beyond it a label pulls with the constant force +xi where h is too small
        (L-) and -xi where it is too large (L+).
        """
        quadratic = kept & (np.abs(residuals) < xi)
        force = np.where(quadratic, self.y, xi * np.sign(residuals)) * kept
        _, theta = self._newton(quadratic, force, int(kept.sum()))
        weighted = self.column_weights * theta
        return self.y - np.concatenate([block @ weighted for _, block in self.labelled.blocks()])

    def dual_coefficients(self, minimizer: Minimizer, kept: np.ndarray) -> np.ndarray:
        """Theorem 1's w (rows, m) = (s c - 2 l gamma M F) / (2 l lam), labelled rows first.

        The manifold's rows must be those of the labels and then others; without it w has the labels' rows.
        """
        count = kept.sum()
        slopes = (minimizer.residuals * kept)[:, None] * self.weights
        if self.manifold is None:
            return slopes / (2 * count * self.lam)
        pull = -2 * count * self.gamma * self.manifold.apply(self.manifold.values(minimizer.theta))
        pull[: len(slopes)] += slopes
        return pull / (2 * count * self.lam)

    def violation(self, minimizer: Minimizer, kept: np.ndarray) -> float:
        """The largest violation of Theorem 1 by the fitted function, relative to max|y|.

        The fitted function is K w for more than one w where K is singular. Theorem 1 wants 2 l lam w to be
        b = s c - 2 l gamma M F; the v with psi^T (b + v) = 2 l lam theta, hence psi^T v = l grad J, that is
        smallest in square, makes w = (b + v) / (2 l lam) represent that function, and v is its violation. So
        nothing is divided by lam, and the certificate means something where w, of size 1/lam, drowns in
        rounding.
        """
        gradient = kept.sum() * minimizer.gradient
        own_rows = self.manifold is None or not self.manifold.covers_labels
        correction = np.empty_like(gradient)
        for view in self.views:
            gram = 0.0
            if self.manifold is not None:
                gram = _gram(self.manifold.features[:, view])
            if own_rows:
                in_memory = self._gram is None
                gram = gram + (_gram(self.labelled.whole()[:, view]) if in_memory else self._gram[view, view])
            gram[np.diag_indices_from(gram)] *= 1 + len(gram) * np.finfo(float).eps
            correction[view] = Factor(gram).solve(gradient[view])
        largest = 0.0
        if self.manifold is not None:
            largest += np.abs(self.manifold.values(correction)).max()
        if own_rows:
            blocks = (block for _, block in self.labelled.blocks())
            largest += max(np.abs(_view_values(block, self.views, correction)).max() for block in blocks)
        return float(largest / (np.abs(self.y).max() or 1.0))


def _gram(features: np.ndarray) -> np.ndarray:
    return features.T @ features


def _view_values(features: np.ndarray, views: list[slice], theta: np.ndarray) -> np.ndarray:
    """psi^a theta^a of every view: (rows, m)."""
    return np.column_stack([features[:, view] @ theta[view] for view in views])
