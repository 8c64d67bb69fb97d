"""The objective of Huber loss regression in explicit features, its minimizers and their certificate.

Source: J. Cavazza and V. Murino, "Active Regression with Adaptive Huber Loss", eq. 3 and Theorem 1. With
psi^a the features of view a, theta^a its coefficients, phi = [c^1 psi^1 … c^m psi^m] and l labels,

    J(theta) = (1/l) sum_i H_xi(y_i - phi(x_i).theta) + lam |theta|^2 + gamma F.(M F),  F^a = psi^a theta^a.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from .linear_algebra import Factor, diagonal_of, plus_diagonal
from .losses import huber_loss

Solve = Callable[[np.ndarray], np.ndarray]

BLOCK_ROWS = 1024  # expanded at a time: their features stay in the processor's cache
_HALVINGS = 10
FOLDS = 5  # of held-out predictions
SETTLED = 1e-13  # of max|y|: a Newton step that would move no prediction further is not made


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

    @cached_property
    def _gram(self) -> np.ndarray:
        return _gram(self.array)

    def moments(self, values: np.ndarray, index: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """psi^T psi (size, size) and psi^T values (size,) over the rows `index`; `values` are all rows'."""
        if index is None and self.array is not None:
            return self._gram, self.array.T @ values
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
        return {"full": len(self.views), "diagonal": len(self.views) - 1}[self.between]

    def values(self, theta: np.ndarray) -> np.ndarray:
        """F (rows, m)."""
        return _view_values(self.features, self.views, theta)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M F (rows, m)."""
        parts = [matrix @ column for matrix, column in zip(self.laplacians, values.T, strict=True)]
        result = np.column_stack(parts)
        if self.between is not None:
            result += self._diagonal() * values
        if self.between == "full":
            result -= values.sum(axis=1, keepdims=True)
        return result

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """The views' psi^aT v^a (D,) for `values` (rows, m)."""
        parts = [self.features[:, view].T @ values[:, a] for a, view in enumerate(self.views)]
        return np.concatenate(parts)

    def view_gram(self, a: int) -> np.ndarray:
        """Block (a, a) of psi^T M psi but for what "full" subtracts of it: psi^T psi."""
        part = self.features[:, self.views[a]]
        smooth = part.T @ (self.laplacians[a] @ part)
        smooth = (smooth + smooth.T) / 2
        return smooth if self.between is None else smooth + self._diagonal() * (part.T @ part)

    def gram(self) -> np.ndarray:
        """psi^T M psi (D, D), block-diagonal over the views unless `between` is "full"."""
        size = self.features.shape[1]
        result = -_gram(self.features) if self.between == "full" else np.zeros((size, size))
        for a, view in enumerate(self.views):
            result[view, view] += self.view_gram(a)
        return result


class PenaltyInverse:
    """Products with R^-1, R = lam I + gamma psi^T M psi.

    With more features than rows, R is never formed: per view, A = lam I + gamma psi^T (L + m I) psi is
    factored, and the coupling R = A - gamma psi^T psi of the views is undone over the rows (Woodbury).
    """

    def __init__(self, views: list[slice], lam: float, gamma: float, manifold: Manifold | None):
        size = views[-1].stop
        coupled = manifold is not None and manifold.between == "full"
        self._coupling = None
        if coupled and size <= len(manifold.features):
            self._blocks = [slice(0, size)]
            matrices = [gamma * manifold.gram()]
        else:
            self._blocks = views
            matrices = (
                gamma * manifold.view_gram(a) if manifold else np.zeros((view.stop - view.start,) * 2)
                for a, view in enumerate(views)
            )
        self._factors = [Factor(plus_diagonal(matrix, lam)) for matrix in matrices]
        if coupled and self._blocks is views:
            self._features, self._gamma = manifold.features, gamma
            self._solved = self.solve(manifold.features.T)
            self._coupling = Factor(plus_diagonal(-gamma * (self._features @ self._solved), 1.0))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """R^-1 right for (D,) or (D, k)."""
        parts = [
            factor.solve(right[block]) for factor, block in zip(self._factors, self._blocks, strict=True)
        ]
        result = np.concatenate(parts)
        if self._coupling is not None:
            result += self._gamma * (self._solved @ self._coupling.solve(self._features @ result))
        return result


class FeatureSystem:
    """Newton systems of J by Gram matrices (D, D), for fewer features than labels.

    The Gram matrix of few labels that are not quadratic is subtracted from that of all. `y` (l,),
    `column_weights` (D,), `penalty` (D, D): R.
    """

    def __init__(self, labelled: FeatureRows, y: np.ndarray, column_weights: np.ndarray, penalty: np.ndarray):
        self._labelled, self._y, self._weights, self._penalty = labelled, y, column_weights, penalty
        self.gram, self._moment = labelled.moments(y)

    def newton(self, quadratic: np.ndarray, target: np.ndarray, count: int) -> tuple[Solve, np.ndarray]:
        """The function H^-1, H = (1/count) sum over the labels `quadratic` (l,) bool of phi phi^T + 2 R, and
        H^-1 (1/count) sum_i target_i phi_i (D,); `target` (l,) is y where quadratic."""
        others = np.flatnonzero(~quadratic)
        if not len(others):
            gram, moment = self.gram, self._moment
        elif len(others) <= len(target) / 2:
            other_gram, other_moment = self._labelled.moments(self._y - target, others)
            gram, moment = self.gram - other_gram, self._moment - other_moment
        else:
            gram, moment = self._labelled.moments(target, np.flatnonzero(quadratic))
            moment += self._labelled.moments(target, np.flatnonzero(~quadratic & (target != 0)))[1]
        weights = self._weights
        factor = Factor(gram * (weights * weights[:, None] / count) + 2 * self._penalty)
        return factor.solve, factor.solve(weights * moment / count)


class LabelSystem:
    """Newton systems of J by the labels' reduced kernel phi R^-1 phi^T (l, l), where labels are fewer.

    R is factored once; each system then factors a principal block of the reduced kernel.
    """

    def __init__(self, phi: np.ndarray, inverse: PenaltyInverse):
        self._phi, self._inverse = phi, inverse
        self._solved_phi = inverse.solve(phi.T)
        self._kernel = phi @ self._solved_phi

    def newton(self, quadratic: np.ndarray, target: np.ndarray, count: int) -> tuple[Solve, np.ndarray]:
        """As `FeatureSystem.newton`."""
        index = np.flatnonzero(quadratic)
        factor = Factor(plus_diagonal(self._kernel[np.ix_(index, index)], 2 * count))
        phi, solved_phi = self._phi[index], self._solved_phi[:, index]

        def solve(right):
            solved = self._inverse.solve(right)
            return (solved - solved_phi @ factor.solve(phi @ solved)) / 2

        return solve, solve(self._phi.T @ target / count)


@dataclass(frozen=True, eq=False)
class Minimizer:
    """Coefficients (D,) where J is least, what rounding left of J's gradient there (D,), and the residuals
    y - h (l,) of all labels, dropped ones too."""

    theta: np.ndarray
    gradient: np.ndarray
    residuals: np.ndarray


class Objective:
    """J over labelled feature rows and a manifold, and its minimizers on subsets of the labels.

    The rows are (l, D), `y` (l,), `weights` (m,) those of the views, of which `views` are the columns.
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
        if labelled.size <= len(y):
            penalty = gamma * manifold.gram() if manifold is not None else np.zeros((labelled.size,) * 2)
            self._system = FeatureSystem(labelled, y, self.column_weights, plus_diagonal(penalty, lam))
        else:
            phi = labelled.whole() * self.column_weights
            self._system = LabelSystem(phi, PenaltyInverse(views, lam, gamma, manifold))

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
        solve, theta = self._system.newton(kept, self.y * kept, int(kept.sum()))
        _, gradient, residuals = self.value_and_gradient(theta, kept)
        settled = SETTLED * np.abs(self.y).max()
        last = np.inf
        for _ in range(10):
            step = solve(gradient)
            change = np.abs(self._predictions(step)).max()
            if change <= settled or change > last / 2:  # rounding error is all that is left
                break
            theta = theta - step
            _, gradient, residuals = self.value_and_gradient(theta, kept)
            last = change
        return Minimizer(theta, gradient, residuals)

    def polish(self, minimizer: Minimizer, kept: np.ndarray) -> Minimizer:
        """`minimizer` after one more Newton step, gradients summed in extended precision where there is one.

        Columns of features that are nearly combinations of each other leave directions in which the features
        are tiny. The rounding of J's gradient is not, and it takes large w to make up for it there.
        """
        solve, _ = self._system.newton(kept, self.y * kept, int(kept.sum()))
        theta = minimizer.theta - solve(self._gradient_in_extended_precision(minimizer.theta, kept))
        gradient = self._gradient_in_extended_precision(theta, kept)
        return Minimizer(theta, gradient, self.y - self._predictions(theta))

    def _gradient_in_extended_precision(self, theta: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """J's gradient (D,) with xi infinite; of the products, only residuals and M F are rounded."""
        slopes = (self.y - self._predictions(theta)) * kept
        pull = sum(_wide_product(block, slopes[part]) for part, block in self.labelled.blocks())
        gradient = 2 * self.lam * theta.astype(np.longdouble) - self.column_weights * pull / kept.sum()
        if self.manifold is not None:
            smoothed = self.manifold.apply(self.manifold.values(theta))
            for a, view in enumerate(self.views):
                features = self.manifold.features[:, view]
                gradient[view] += 2 * self.gamma * _wide_product(features, smoothed[:, a])
        return gradient.astype(float)

    def held_out_predictions(self, kept: np.ndarray) -> np.ndarray:
        """h (l,) of every label by a minimizer that has not seen it: every fifth label is left out in turn.

        Where no other label is kept, by the minimizer on those that are.
        """
        fold = np.arange(len(self.y)) % FOLDS
        predictions = np.empty(len(self.y))
        for number in range(FOLDS):
            held_out = fold == number
            others = kept & ~held_out
            residuals = self.minimize(others if others.any() else kept).residuals
            predictions[held_out] = (self.y - residuals)[held_out]
        return predictions

    def _predictions(self, theta: np.ndarray) -> np.ndarray:
        """h (l,) at the labelled rows."""
        weighted = self.column_weights * theta
        return np.concatenate([block @ weighted for _, block in self.labelled.blocks()])

    def active_set_step(self, kept: np.ndarray, minimizer: Minimizer, xi: float) -> np.ndarray:
        """Residuals (l,) after one solve of Theorem 1's system with its sets taken at a minimizer and `xi`.

        L0, |r| < xi, is quadratic; beyond it a label pulls with the constant force +xi where h is too small
        (L-) and -xi where it is too large (L+). Where few labels are left in L0 the solution may lie far
        beyond J's minimum: a half, a quarter, … of the way there is gone until J with threshold `xi` falls.
        """
        quadratic = kept & (np.abs(minimizer.residuals) < xi)
        force = np.where(quadratic, self.y, xi * np.sign(minimizer.residuals)) * kept
        _, theta = self._system.newton(quadratic, force, int(kept.sum()))
        before, *_ = self.value_and_gradient(minimizer.theta, kept, xi)
        for share in 0.5 ** np.arange(_HALVINGS + 1):
            partly = minimizer.theta + share * (theta - minimizer.theta) if share < 1 else theta
            value, _, residuals = self.value_and_gradient(partly, kept, xi)
            if value <= before:
                return residuals
        return minimizer.residuals

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
                gram = gram + self._labelled_gram(view)
            diagonal_of(gram)[:] *= 1 + len(gram) * np.finfo(float).eps
            correction[view] = Factor(gram).solve(gradient[view])
        largest = 0.0
        if self.manifold is not None:
            largest += np.abs(self.manifold.values(correction)).max()
        if own_rows:
            blocks = (block for _, block in self.labelled.blocks())
            largest += max(np.abs(_view_values(block, self.views, correction)).max() for block in blocks)
        return float(largest / (np.abs(self.y).max() or 1.0))

    def _labelled_gram(self, view: slice) -> np.ndarray:
        if isinstance(self._system, FeatureSystem):
            return self._system.gram[view, view]
        return _gram(self.labelled.whole()[:, view])


def _gram(features: np.ndarray) -> np.ndarray:
    return features.T @ features


def _wide_product(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    """psi^T values (D,) in extended precision, of `features` (rows, D) and `values` (rows,)."""
    return np.array([column.astype(np.longdouble) @ values for column in features.T])


def _view_values(features: np.ndarray, views: list[slice], theta: np.ndarray) -> np.ndarray:
    """psi^a theta^a of every view: (rows, m)."""
    return np.column_stack([features[:, view] @ theta[view] for view in views])
