"""Huber loss regression: multi-view, semi-supervised kernel regression that prunes labels it cannot trust.

Source: J. Cavazza and V. Murino, "Active Regression with Adaptive Huber Loss" (the paper below).
"""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy import linalg, sparse, stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .graphs import neighbor_laplacian
from .kernels import Expansion, Kernel, NumericalMap, PolynomialMap, evaluate

CERTIFIED = 1e-8  # what `optimality_` promises
GRAPH_ROWS = 20_000  # rows that carry the manifold term at most
DUAL_ROWS = 5_000  # rows of a kernel matrix at most
MAP_COLUMNS = 10_000  # columns of an explicit feature map at most
BLOCK_ROWS = 4096
KEPT_VALUES = 2**25  # feature values kept in memory (256 MiB); more are expanded anew, block by block
FALSE_DISCOVERIES = 0.05
GAUSSIAN_MAD = 1.482602218505602  # standard deviation of a Gaussian / median of its absolute values


def huber_loss(residuals: np.ndarray, xi: float) -> tuple[float, np.ndarray]:
    """Sum of H_xi(r) and its derivative per residual: r clipped to [-xi, xi] (paper eq. 2).

    H_xi(r) = r^2 / 2 for |r| <= xi, else xi |r| - xi^2 / 2.
    """
    slopes = np.clip(residuals, -xi, xi)
    return float(np.sum(slopes * residuals - slopes**2 / 2)), slopes


def outlier_threshold(residuals: np.ndarray, rate: float = FALSE_DISCOVERIES) -> float:
    """The largest absolute residual that may still be Gaussian noise, infinity when all may.

    The noise's scale is 1.48 times the median absolute residual, which up to half of the labels being wrong
    moves little. The Benjamini-Hochberg procedure on the residuals' two-sided Gaussian tail probabilities
    then holds the expected share of good labels among the rejected ones at `rate`; on purely Gaussian
    residuals it rejects anything at all with probability `rate`.

    residuals: (n,) float64. With a scale of zero (over half of the residuals are zero) nothing is rejected.
    """
    size = np.sort(np.abs(residuals))[::-1]
    scale = GAUSSIAN_MAD * np.median(size)
    if scale == 0:
        return np.inf
    tails = 2 * stats.norm.sf(size / scale)
    rejected = np.flatnonzero(tails <= rate * np.arange(1, len(size) + 1) / len(size))
    if not len(rejected):
        return np.inf
    return float(size[rejected[-1] + 1]) if rejected[-1] + 1 < len(size) else 0.0


class _FeatureRows:
    """The feature maps of all views side by side, over fixed rows: psi (n, D), expanded block by block."""

    def __init__(self, rows: np.ndarray, maps: Sequence, columns: Sequence[np.ndarray]):
        self._rows, self._maps, self._columns = rows, maps, columns
        ends = np.cumsum([0, *(view.size for view in maps)])
        self.views = [slice(start, end) for start, end in itertools.pairwise(ends)]
        self.shape = (len(rows), int(ends[-1]))
        if isinstance(maps[0], NumericalMap):
            self._kept = np.hstack([view.rows for view in maps])
        elif self.shape[0] * self.shape[1] <= KEPT_VALUES:
            self._kept = np.empty(self.shape[::-1]).T
            for start in range(0, len(rows), BLOCK_ROWS):
                self._expand(rows[start : start + BLOCK_ROWS], self._kept[start : start + BLOCK_ROWS])
        else:
            self._kept = None

    def _expand(self, rows: np.ndarray, into: np.ndarray) -> np.ndarray:
        for view, columns, place in zip(self._maps, self._columns, self.views, strict=True):
            into[:, place] = view.transform(rows[:, columns])
        return into

    def blocks(self, index: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of row numbers (b,) and their features (b, D), covering `index` in order."""
        if self._kept is not None:
            whole = len(index) == self.shape[0] and np.array_equal(index, np.arange(self.shape[0]))
            yield index, self._kept if whole else self._kept[index]
            return
        for start in range(0, len(index), BLOCK_ROWS):
            part = index[start : start + BLOCK_ROWS]
            yield part, self._expand(self._rows[part], np.empty((self.shape[1], len(part))).T)

    def gram(self, index: np.ndarray) -> np.ndarray:
        """psi^T psi (D, D) over the rows `index`."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for _, block in self.blocks(index):
            total += block.T @ block
        return total

    def values(self, coefficients: np.ndarray, index: np.ndarray) -> np.ndarray:
        """psi^a theta^a per view: (len(index), m)."""
        parts = [
            np.column_stack([block[:, view] @ coefficients[view] for view in self.views])
            for _, block in self.blocks(index)
        ]
        return np.concatenate(parts)

    def adjoint(self, values: np.ndarray, index: np.ndarray) -> np.ndarray:
        """psi^aT v^a of every view: (D,), for `values` (n, m) over all rows, zero outside of `index`."""
        total = np.zeros(self.shape[1])
        for part, block in self.blocks(index):
            for a, view in enumerate(self.views):
                total[view] += block[:, view].T @ values[part, a]
        return total


class _Factor:
    """Cholesky factor of a positive definite matrix after scaling its diagonal to one."""

    def __init__(self, matrix: np.ndarray):
        self.scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
        scaled = matrix * self.scale * self.scale[:, None]
        jitter = 0.0
        while True:
            try:
                self._lower = linalg.cholesky(scaled, lower=True, check_finite=False)
                return
            except linalg.LinAlgError:
                step = max(9 * jitter, len(matrix) * np.finfo(float).eps)
                scaled[np.diag_indices_from(scaled)] += step
                jitter += step

    def solve(self, right: np.ndarray) -> np.ndarray:
        inner = linalg.cho_solve((self._lower, True), self.scale * right, check_finite=False)
        return self.scale * inner


@dataclass(frozen=True, eq=False)
class _Manifold:
    """M of the paper on the rows `index`: a Laplacian per view and the operator between the views."""

    index: np.ndarray
    laplacians: list[sparse.csr_array]
    between: str | None

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M F for F (rows, m)."""
        result = np.column_stack(
            [laplacian @ column for laplacian, column in zip(self.laplacians, values.T, strict=True)]
        )
        m = values.shape[1]
        if self.between == "full":
            result += m * values - values.sum(axis=1, keepdims=True)
        elif self.between == "diagonal":
            result += (m - 1) * values
        return result


@dataclass(frozen=True, eq=False)
class _Solution:
    """A minimizer of (3): theta (D,), labelled residuals (l,), Theorem 1's w (rows, m) and its violation."""

    theta: np.ndarray
    residuals: np.ndarray
    dual: np.ndarray
    violation: float


class _Objective:
    """J of (3) over feature rows whose first l are labelled, and its minimizers on subsets of the labels."""

    def __init__(self, features, y, weights, lam, gamma, manifold):
        self.features, self.y, self.weights = features, y, weights
        self.lam, self.gamma, self.manifold = lam, gamma, manifold
        self.largest = float(np.abs(y).max()) or 1.0
        n, size = features.shape
        self.active = np.arange(n)
        self._column_weights = np.empty(size)
        for weight, view in zip(weights, features.views, strict=True):
            self._column_weights[view] = weight
        self._labelled_gram = features.gram(np.arange(len(y)))
        self._all_gram = self._labelled_gram
        if n > len(y):
            self._all_gram = self._labelled_gram + features.gram(np.arange(len(y), n))
        self._penalty = lam * np.eye(size)
        if manifold is not None:
            self._penalty += gamma * self._manifold_gram()
        self._view_factors = [_PseudoInverse(self._all_gram[view, view]) for view in features.views]

    def _manifold_gram(self) -> np.ndarray:
        """psi^T M psi (D, D)."""
        manifold, features = self.manifold, self.features
        whole = len(manifold.index) == features.shape[0]
        gram = self._all_gram if whole else features.gram(manifold.index)
        m = len(features.views)
        result = -gram if manifold.between == "full" else np.zeros_like(gram)
        diagonal = {"full": m, "diagonal": m - 1, None: 0}[manifold.between]
        rows = np.concatenate([block for _, block in features.blocks(manifold.index)])
        for laplacian, view in zip(manifold.laplacians, features.views, strict=True):
            part = rows[:, view]
            product = part.T @ (laplacian @ part)
            result[view, view] += (product + product.T) / 2 + diagonal * gram[view, view]
        return result

    def _system(self, quadratic: np.ndarray, n_kept: int) -> _Factor:
        """Factor of Phi_L0^T Phi_L0 + 2 l R (paper Theorem 1, primal form)."""
        n_labels = len(self.y)
        if 2 * len(quadratic) < n_labels:
            gram = self.features.gram(quadratic)
        elif len(quadratic) == n_labels:
            gram = self._labelled_gram
        else:
            others = np.setdiff1d(np.arange(n_labels), quadratic, assume_unique=True)
            gram = self._labelled_gram - self.features.gram(others)
        weights = self._column_weights
        return _Factor(gram * weights * weights[:, None] + 2 * n_kept * self._penalty)

    def predict(self, theta: np.ndarray) -> np.ndarray:
        """h (l,) at the labelled rows."""
        return self.features.values(theta, np.arange(len(self.y))) @ self.weights

    def active_set_step(self, kept: np.ndarray, residuals: np.ndarray, xi: float) -> np.ndarray:
        """Residuals (l,) after one solve of Theorem 1's system, its sets taken at `residuals` and `xi`.

        `kept` (l,) bool. L0: |r| < xi, quadratic; beyond it a label pulls with the constant force
        +xi where h is too small (L-) and -xi where it is too large (L+).
        """
        inside = kept & (np.abs(residuals) < xi)
        force = np.where(inside, self.y, xi * np.sign(residuals)) * kept
        values = np.zeros((self.features.shape[0], len(self.weights)))
        values[: len(force)] = force[:, None] * self.weights
        right = self.features.adjoint(values, np.flatnonzero(kept))
        theta = self._system(np.flatnonzero(inside), int(kept.sum())).solve(right)
        return self.y - self.predict(theta)

    def minimize(self, kept: np.ndarray) -> _Solution:
        """The minimizer of (3) with xi infinite on the labels `kept` (l,) bool, with its certificate."""
        n_kept = int(kept.sum())
        factor = self._system(np.flatnonzero(kept), n_kept)
        best = None
        theta = np.zeros(self.features.shape[1])
        for _ in range(8):
            solution, gradient = self._certify(theta, kept, n_kept)
            if best is None or solution.violation < best.violation:
                best = solution
            elif best.violation <= CERTIFIED:
                break
            if best.violation <= 1e-13:
                break
            theta = theta - factor.solve(gradient)
        return best

    def _certify(self, theta, kept, n_kept) -> tuple[_Solution, np.ndarray]:
        """How far `theta` is from Theorem 1, and the gradient of l J there.

        The fitted function is psi theta = K w for more than one w where K is singular. Starting from
        b = s c - 2 l gamma M F, which Theorem 1 wants 2 l lambda w to be, the smallest correction v with
        psi^T (b + v) = 2 l lambda theta is taken: w = (b + v) / (2 l lambda) represents the fitted function,
        and v is its violation of Theorem 1. (Nothing is divided by lambda on the way.)
        """
        features = self.features
        values = features.values(theta, self.active)
        residuals = self.y - values[: len(self.y)] @ self.weights
        right = np.zeros_like(values)
        right[: len(self.y)] = (residuals * kept)[:, None] * self.weights
        if self.manifold is not None:
            index = self.manifold.index
            right[index] -= 2 * n_kept * self.gamma * self.manifold.apply(values[index])
        gradient = 2 * n_kept * self.lam * theta - features.adjoint(right, self.active)
        correction = np.concatenate(
            [
                inverse.solve(gradient[view])
                for inverse, view in zip(self._view_factors, features.views, strict=True)
            ]
        )
        violation = features.values(correction, self.active)
        dual = (right + violation) / (2 * n_kept * self.lam)
        largest = float(np.abs(violation).max()) / self.largest
        return _Solution(theta, residuals, dual, largest), gradient


class _PseudoInverse:
    """Solves with a positive semi-definite matrix on its numerical range."""

    def __init__(self, matrix: np.ndarray):
        self.scale = 1.0 / np.sqrt(np.where(matrix.diagonal() > 0, matrix.diagonal(), 1.0))
        values, self._vectors = linalg.eigh(matrix * self.scale * self.scale[:, None], check_finite=False)
        floor = len(matrix) * np.finfo(float).eps * max(values.max(initial=0.0), np.finfo(float).tiny)
        self._inverse = 1.0 / np.maximum(values, floor)

    def solve(self, right: np.ndarray) -> np.ndarray:
        return self.scale * (self._vectors @ (self._inverse * (self._vectors.T @ (self.scale * right))))


class HuberLossRegressor(RegressorMixin, BaseEstimator):
    """Huber loss regression over several views, with unlabelled rows and an audit of the labels.

    Minimizes, exactly (paper eq. 3; h = sum_a c^a f^a, one function f^a per view),

        (1/l) sum_i H_xi(y_i - h(x_i)) + lam sum_a |f^a|^2 + gamma sum_ab F_a^T M_ab F_b,

    while lowering the threshold xi: each refinement drops the labels beyond the new threshold (their rows
    stay, unlabelled) and refits, until all kept residuals lie within it.

    Parameters
    ----------
    views : list of integer arrays, boolean masks or slices, or None
        The columns of each view. None: one view of all columns.
    kernel : str or list of str
        A pair-wise kernel of scikit-learn ("linear", "poly", "rbf", "chi2", …), or one per view.
    kernel_params : dict, list of dict or None
        gamma, coef0, degree with scikit-learn's meaning and defaults, or one dict per view.
    view_weights : array of shape (m,) or None
        c; None: 1/m each.
    lam, gamma : float
        Weights of the kernel norm (> 0) and of the manifold and between-view term (>= 0).
    delta_xi : float or "auto"
        By how much a refinement lowers the threshold, in the units of y; "auto": see Notes.
    n_refinements : int
        Refinements at most (T of the paper; 0: kernel ridge regression, no label is dropped).
    n_neighbors : int
        Neighbours of a row in each view's similarity graph.
    between_views : "full", "diagonal" or None
        The operator that holds the views' functions together: with its off-diagonal blocks, its diagonal
        blocks only (as the paper's theory), or none.
    solver : "auto", "primal" or "dual"
        Explicit features (linear and poly kernels only), kernel matrices, or whichever is smaller.

    Attributes
    ----------
    xi_ : float
        The final threshold: the largest absolute residual of a kept label. J's minimizer at `xi_` with the
        kept labels is the fitted function (Proposition 1).
    xi_path_ : ndarray
        Thresholds xi_0 > xi_1 > … (Proposition 2).
    labelled_ : ndarray of bool, one per row
        The label is present and kept.
    removed_at_ : ndarray of int, one per row
        Refinement (1, 2, …) at which the row's label went, -1 for kept and missing labels.
    optimality_ : float
        Largest violation of Theorem 1 relative to max|y|; fit warns where it exceeds 1e-8.
    n_iter_ : int
        Refinements done.
    coef_ : ndarray of shape (D,)
        Primal: coefficients of the views' explicit features, one view after the other.
    dual_coef_ : ndarray of shape (n, m)
        Dual: w of Theorem 1, f^a = sum_j k^a(., x_j) w_j^a.
    expansions_ : list of Expansion
        The fitted function, one share per view: what `predict` sums up.
    graph_rows_ : ndarray of int
        Rows that carry the manifold term: all, or 20,000 evenly spaced ones of more; empty when gamma is 0.

    Notes
    -----
    Departures from the paper: the factor 2 of Theorem 1 and its roles of lam and gamma hold throughout;
    refinements follow the scheme that makes both propositions true; l counts the labels still kept.

    The estimator neither scales nor centres. NaN in y marks a row without a label.

    With delta_xi="auto" a refinement goes half of the way from the largest residual to
    `outlier_threshold`, and the fit ends as soon as the remaining residuals may be Gaussian noise: clean data
    keep their labels. `n_refinements` then only bounds the work.
    """

    def __init__(
        self,
        *,
        views=None,
        kernel="linear",
        kernel_params=None,
        view_weights=None,
        lam=1e-5,
        gamma=1e-6,
        delta_xi="auto",
        n_refinements=10,
        n_neighbors=10,
        between_views="full",
        solver="auto",
    ):
        self.views = views
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.view_weights = view_weights
        self.lam = lam
        self.gamma = gamma
        self.delta_xi = delta_xi
        self.n_refinements = n_refinements
        self.n_neighbors = n_neighbors
        self.between_views = between_views
        self.solver = solver

    def fit(self, X, y):
        """Fit to X (n, d) and y (n,), NaN where a row has no label; at least one label is needed."""
        X = validate_data(self, X, dtype=np.float64)
        y = self.check_targets(X, y)
        self._check_parameters()
        columns, kernels, weights = self._resolve_views(X.shape[1])

        present = ~np.isnan(y)
        order = np.concatenate([np.flatnonzero(present), np.flatnonzero(~present)])
        n_labels = int(present.sum())
        graph = self._graph_rows(len(X))
        if self.gamma == 0:
            order = order[:n_labels]
        elif len(graph) < len(X):
            order = np.concatenate([order[:n_labels], np.setdiff1d(graph, order[:n_labels])])
        rows = X[order]
        primal = self._choose_primal(columns, kernels, len(rows))
        maps, map_columns, map_weights = self._feature_maps(rows, columns, kernels, weights, primal)
        manifold = None
        if self.gamma > 0:
            position = np.empty(len(X), int)
            position[order] = np.arange(len(order))
            laplacians = [neighbor_laplacian(X[graph][:, view], self.n_neighbors) for view in columns]
            manifold = _Manifold(position[graph], laplacians, self.between_views)
        objective = _Objective(
            _FeatureRows(rows, maps, map_columns), y[order[:n_labels]], map_weights, self.lam, self.gamma,
            manifold,
        )  # fmt: skip
        solution, kept, removed_at, path = self._refine(objective)

        self.xi_path_ = np.array(path)
        self.xi_ = path[-1]
        self.n_iter_ = len(path) - 1
        self.labelled_ = np.zeros(len(X), bool)
        self.labelled_[order[:n_labels]] = kept
        self.removed_at_ = np.full(len(X), -1)
        self.removed_at_[order[:n_labels]] = removed_at
        self.graph_rows_ = graph
        self.optimality_ = solution.violation
        views = objective.features.views
        if primal:
            self.coef_ = solution.theta
            self.expansions_ = [
                Expansion(view, kernel, None, weight * solution.theta[place])
                for view, kernel, weight, place in zip(columns, kernels, weights, views, strict=True)
            ]
        else:
            self.dual_coef_ = np.zeros((len(X), len(columns)))
            merged = self.gamma == 0
            self.dual_coef_[order] = solution.dual * weights if merged else solution.dual
            self.expansions_ = []
            for a, (view, kernel, weight) in enumerate(zip(columns, kernels, weights, strict=True)):
                b = 0 if merged else a
                support = rows[maps[b].support][:, view]
                coefficients = maps[b].support_coefficients(solution.theta[views[b]])
                scale = weight**2 if merged else weight
                self.expansions_.append(Expansion(view, kernel, support, scale * coefficients))
        if self.optimality_ > CERTIFIED:
            warnings.warn(
                f"the fit violates the optimality condition by {self.optimality_:.1e} of max|y| "
                f"(expected <= {CERTIFIED:.0e}): the problem is too ill-conditioned; raise lam or scale X",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X):
        """Predictions (n,) float64 for X (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return evaluate(self.expansions_, X)

    def _refine(self, objective: _Objective):
        """The refinements: the final solution, kept labels, when each other went, and the thresholds."""
        kept = np.ones(len(objective.y), bool)
        removed_at = np.full(len(objective.y), -1)
        solution = objective.minimize(kept)
        path = [float(np.abs(solution.residuals).max())]
        for refinement in range(1, self.n_refinements + 1):
            xi = self._next_threshold(solution.residuals[kept], path[-1])
            if not 0 < xi < path[-1]:
                break
            huber = np.abs(objective.active_set_step(kept, solution.residuals, xi))
            remaining = kept & (huber < xi)
            while remaining.any():
                candidate = objective.minimize(remaining)
                size = np.abs(candidate.residuals)
                if size[remaining].max() <= xi:
                    break
                remaining &= size <= xi
            else:
                break
            removed_at[kept & ~remaining] = refinement
            kept, solution = remaining, candidate
            path.append(float(np.abs(solution.residuals[kept]).max()))
        return solution, kept, removed_at, path

    def _next_threshold(self, residuals: np.ndarray, xi: float) -> float:
        if self.delta_xi == "auto":
            return (xi + min(outlier_threshold(residuals), xi)) / 2
        return xi - self.delta_xi

    def check_targets(self, X: np.ndarray, y) -> np.ndarray:
        """y as float64 (n,), ValueError unless it fits X and holds a label, NaN meaning none."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if np.isnan(y).all():
            raise ValueError("expected at least one label, but y is NaN everywhere")
        return y

    def _check_parameters(self):
        for name, low in (("lam", "> 0"), ("gamma", ">= 0")):
            value = getattr(self, name)
            if not (isinstance(value, Real) and np.isfinite(value) and value >= 0):
                raise ValueError(f"expected a finite {name} {low}, got {value!r}")
        if self.lam == 0:
            raise ValueError("expected lam > 0, got 0: without it the minimizer need not be unique")
        for name, least in (("n_refinements", 0), ("n_neighbors", 1)):
            value = getattr(self, name)
            if not (isinstance(value, Integral) and value >= least):
                raise ValueError(f"expected an integer {name} >= {least}, got {value!r}")
        if self.delta_xi != "auto" and not (isinstance(self.delta_xi, Real) and self.delta_xi > 0):
            raise ValueError(f'expected a delta_xi > 0 or "auto", got {self.delta_xi!r}')
        if self.between_views not in ("full", "diagonal", None):
            raise ValueError(f'expected between_views "full", "diagonal" or None, got {self.between_views!r}')
        if self.solver not in ("auto", "primal", "dual"):
            raise ValueError(f'expected solver "auto", "primal" or "dual", got {self.solver!r}')

    def _resolve_views(self, n_columns: int) -> tuple[list[np.ndarray], list[Kernel], np.ndarray]:
        views = [slice(None)] if self.views is None else list(self.views)
        every = np.arange(n_columns)
        try:
            columns = [every[view] if isinstance(view, slice) else every[np.asarray(view)] for view in views]
        except IndexError as error:
            raise ValueError(f"views do not fit the {n_columns} columns of X: {error}") from None
        if not columns or any(view.ndim != 1 or not len(view) for view in columns):
            raise ValueError("expected at least one view, each a non-empty one-dimensional list of columns")
        m = len(columns)
        names = [self.kernel] * m if isinstance(self.kernel, str) else list(self.kernel)
        shared = self.kernel_params is None or isinstance(self.kernel_params, dict)
        parameters = [self.kernel_params] * m if shared else list(self.kernel_params)
        weights = np.full(m, 1 / m) if self.view_weights is None else np.asarray(self.view_weights, float)
        for name, given in (("kernel", names), ("kernel_params", parameters), ("view_weights", weights)):
            if len(given) != m:
                raise ValueError(f"expected one {name} or one for each of {m} views, got {len(given)}")
        kernels = [
            Kernel.resolve(name, parameter, len(view))
            for name, parameter, view in zip(names, parameters, columns, strict=True)
        ]
        return columns, kernels, weights

    def _graph_rows(self, n: int) -> np.ndarray:
        if self.gamma == 0:
            return np.arange(0)
        return np.arange(n) if n <= GRAPH_ROWS else np.linspace(0, n - 1, GRAPH_ROWS).astype(int)

    def _choose_primal(self, columns, kernels, n_rows: int) -> bool:
        sizes = [kernel.map_size(len(view)) for view, kernel in zip(columns, kernels, strict=True)]
        if self.solver == "dual":
            return False
        finite = None not in sizes
        if self.solver == "primal":
            if not finite:
                raise ValueError('solver "primal" needs linear or poly kernels; use "dual" or "auto"')
            return True
        dual = n_rows if self.gamma == 0 else sum(min(size or n_rows, n_rows) for size in sizes)
        return finite and sum(sizes) <= min(dual, MAP_COLUMNS)

    def _feature_maps(self, rows, columns, kernels, weights, primal: bool):
        """Maps, their columns and their weights c; the dual without manifold term merges the views."""
        if primal:
            maps = [PolynomialMap(kernel, len(view)) for view, kernel in zip(columns, kernels, strict=True)]
            return maps, columns, weights
        if len(rows) > DUAL_ROWS:
            raise ValueError(
                f"the dual form holds kernel matrices over {len(rows)} rows, more than {DUAL_ROWS}: use a "
                "linear or poly kernel of low degree, or fewer rows (only labelled ones count at gamma=0)"
            )
        matrices = (
            kernel.matrix(rows[:, view], rows[:, view]) for view, kernel in zip(columns, kernels, strict=True)
        )
        if self.gamma == 0:
            merged = sum(weight**2 * matrix for weight, matrix in zip(weights, matrices, strict=True))
            return [NumericalMap(merged)], [np.arange(rows.shape[1])], np.ones(1)
        return [NumericalMap(matrix) for matrix in matrices], columns, weights
