"""Huber loss regression: multi-view, semi-supervised kernel regression that drops labels it cannot trust.

Source: J. Cavazza and V. Murino, "Active Regression with Adaptive Huber Loss" (the paper below).
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .graphs import neighbor_laplacian
from .kernels import DUAL_ROWS, Expansion, Kernel, LandmarkMap, NumericalMap, PolynomialMap, evaluate
from .labels import check_labels, check_rows
from .objective import FeatureRows, Manifold, Minimizer, Objective
from .parameters import check_integers, check_numbers
from .pruning import Refinements, refine
from .reuse import reused

CERTIFIED = 1e-8  # what `optimality_` promises
GRAPH_ROWS = 20_000  # rows that carry the manifold term at most
MAP_COLUMNS = 5_000  # columns of all explicit feature maps at most
HELD_VALUES = 2**25  # feature values of labelled rows held in memory at most (256 MiB)


@dataclass(frozen=True, eq=False)
class _View:
    """A view's columns of X, kernel, weight c and, where there is a manifold term, graph Laplacian."""

    columns: np.ndarray
    kernel: Kernel
    weight: float
    laplacian: sparse.csr_array | None = None


@dataclass(frozen=True, eq=False)
class _DualRows:
    """Rows in the kernels' numerical features: what a fit by kernel matrices needs, whatever lam is.

    Attributes
    ----------
    columns : list of (n, d) float64
        Each view's.
    kernels : list of Kernel
    weights : list of float or None
        c where the views' kernels are merged in one, sum_a (c^a)^2 k^a; else None.
    maps : tuple of NumericalMap
        One, or one per view.
    places : list of slice
        Their features.
    labelled : FeatureRows
        All features of the labelled rows, which are the first ones.
    features : (n, size) float64
    """

    columns: list[np.ndarray]
    kernels: list[Kernel]
    weights: list[float] | None
    maps: tuple[NumericalMap, ...]
    places: list[slice]
    labelled: FeatureRows
    features: np.ndarray

    @classmethod
    def factor(
        cls, columns: list[np.ndarray], kernels: list[Kernel], weights: list[float] | None, n_labels: int
    ) -> "_DualRows":
        # a copy, for the product of an array with itself is rounded otherwise
        matrices = (kernel.matrix(view, view.copy()) for kernel, view in zip(kernels, columns, strict=True))
        if weights is not None:
            matrices = [sum(c**2 * matrix for c, matrix in zip(weights, matrices, strict=True))]
        maps, parts = zip(*(NumericalMap.factor(matrix) for matrix in matrices), strict=True)
        features = np.hstack(parts)
        labelled = FeatureRows(n_labels, features.shape[1], features[:n_labels])
        places = _slices([part.shape[1] for part in parts])
        return cls(columns, kernels, weights, maps, places, labelled, features)

    def part(self, a: int) -> tuple[NumericalMap, slice]:
        """The map of view a and the places of its features."""
        a = a if self.weights is None else 0
        return self.maps[a], self.places[a]

    @cached_property
    def _values(self) -> list[np.ndarray]:
        """Kernel values of the labelled rows with each view's support."""
        n = self.labelled.count
        return [
            kernel.matrix(view[:n], view[self.part(a)[0].support])
            for a, (kernel, view) in enumerate(zip(self.kernels, self.columns, strict=True))
        ]

    def evaluate(self, expansions: list[Expansion], rows: np.ndarray) -> np.ndarray:
        """As `kernels.evaluate`, for the labelled rows (l, n_features) and a fit's expansions."""
        n_values = len(rows) * sum(len(part.support) for part in expansions)
        if n_values > HELD_VALUES or any(part.form is not None for part in expansions):
            return evaluate(expansions, rows)
        return sum(
            values @ part.coefficients for values, part in zip(self._values, expansions, strict=True)
        )


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
    n_landmarks : int or None
        Where kernel matrices would hold more rows than this: restrict each view's function to the span of the
        kernel at this many evenly spaced rows (Nystroem); the fit is then linear in the number of rows, and
        exact for the restricted problem. None: never; more than 5,000 rows are then refused.

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
        Dual: w of Theorem 1, f^a = sum_j k^a(., x_j) w_j^a. Its size and its rounding grow as 1/lam;
        `predict` takes `expansions_`, which do not.
    expansions_ : list of Expansion
        The fitted function, one share per view: what `predict` sums up.
    graph_rows_ : ndarray of int
        Numbers of the rows that carry the manifold term: all rows, or 20,000 evenly spaced ones where there
        are more; empty when gamma is 0.
    landmarks_ : ndarray of int
        Numbers of the rows that are landmarks; empty without. `coef_` are then their features' coefficients.

    Notes
    -----
    Departures from the paper: the factor 2 of Theorem 1 and its roles of lam and gamma hold throughout;
    refinements follow the scheme that makes both propositions true; l counts the labels still kept.

    The estimator neither scales nor centres. NaN in y marks a row without a label.

    With delta_xi="auto" a refinement goes half of the way from the largest residual to
    `models.pruning.outlier_threshold`, and the fit ends as soon as no remaining residual stands out: clean
    data keep their labels. `n_refinements` then only bounds the work.
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
        n_landmarks=None,
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
        self.n_landmarks = n_landmarks

    def fit(self, X, y):
        """Fit to X (n, d) and y (n,), NaN where a row has no label; at least one label is needed."""
        X = check_rows(self, X)
        y = check_labels(X, y)
        self._check_parameters()
        views = self._resolve_views(X.shape[1])
        missing = np.isnan(y)
        labels = np.flatnonzero(~missing)
        graph = self._choose_graph_rows(labels, np.flatnonzero(missing))
        if len(graph):
            columns = [X[graph][:, view.columns] for view in views]
            laplacians = reused(_laplacians, columns, self.n_neighbors)
            views = [
                replace(view, laplacian=laplacian) for view, laplacian in zip(views, laplacians, strict=True)
            ]
        for name in ("coef_", "dual_coef_"):  # of a fit before, by the other solver
            self.__dict__.pop(name, None)
        active = graph if len(graph) else labels
        self.landmarks_ = np.arange(0)
        if self._is_primal(views, labels, graph):
            maps = [PolynomialMap(view.kernel, len(view.columns)) for view in views]
            refinements = self._fit_primal(X, y[labels], labels, graph, views, maps)
        elif self.n_landmarks is not None and len(active) > self.n_landmarks:
            self.landmarks_ = np.sort(active)[np.linspace(0, len(active) - 1, self.n_landmarks).astype(int)]
            maps = [self._landmark_map(X[self.landmarks_][:, view.columns], view.kernel) for view in views]
            refinements = self._fit_primal(X, y[labels], labels, graph, views, maps)
        else:
            refinements = self._fit_dual(X, y[labels], labels, graph, views)
        self.graph_rows_ = graph
        self.xi_path_ = np.array(refinements.thresholds)
        self.xi_ = refinements.thresholds[-1]
        self.n_iter_ = len(refinements.thresholds) - 1
        self.labelled_ = np.zeros(len(X), bool)
        self.labelled_[labels] = refinements.kept
        self.removed_at_ = np.full(len(X), -1)
        self.removed_at_[labels] = refinements.removed_at
        if self.optimality_ > CERTIFIED:
            warnings.warn(
                f"the fit violates the optimality condition by {self.optimality_:.1e} of max|y| "
                f"(expected <= {CERTIFIED:.0e}): the problem is too ill-conditioned; raise lam or scale X",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _landmark_map(self, landmarks: np.ndarray, kernel: Kernel) -> PolynomialMap | LandmarkMap:
        """The kernel's features at the landmarks, or its exact ones where they are not more."""
        size = kernel.map_size(landmarks.shape[1])
        if size is not None and size <= len(landmarks):
            return PolynomialMap(kernel, landmarks.shape[1])
        return NumericalMap.factor(kernel.matrix(landmarks, landmarks))[0].landmark_map(kernel, landmarks)

    def _fit_primal(self, X, y, labels, graph, views, maps) -> Refinements:
        """Fit in the features of `maps`, one per view; sets coef_, expansions_ and optimality_."""
        places = _slices([part.size for part in maps])
        size = places[-1].stop

        def expand(index):
            features = np.empty((size, len(index))).T
            rows = X[index]
            for view, part, place in zip(views, maps, places, strict=True):
                part.transform(rows[:, view.columns], out=features[:, place])
            return features

        manifold = None
        if len(graph):
            manifold = self._manifold(expand(graph), places, views, covers_labels=len(graph) == len(X))
        if manifold is not None and manifold.covers_labels:
            labelled = FeatureRows(len(labels), size, manifold.features[: len(labels)])
        elif len(labels) * size <= HELD_VALUES:
            labelled = FeatureRows(len(labels), size, expand(labels))
        else:
            labelled = FeatureRows(len(labels), size, None, lambda index: expand(labels[index]))
        weights = np.array([view.weight for view in views])
        objective = Objective(labelled, y, places, weights, self.lam, self.gamma, manifold)
        refinements = refine(objective, self.n_refinements, self.delta_xi)
        self.optimality_ = objective.violation(refinements.minimizer, refinements.kept)
        if self.optimality_ > CERTIFIED:
            polished = objective.polish(refinements.minimizer, refinements.kept)
            refinements = replace(refinements, minimizer=polished)
            self.optimality_ = objective.violation(polished, refinements.kept)
        self.coef_ = refinements.minimizer.theta
        self.expansions_ = [
            part.expansion(view.columns, view.weight * self.coef_[place])
            for view, part, place in zip(views, maps, places, strict=True)
        ]
        if len(self.landmarks_):
            predicted = evaluate(self.expansions_, X[labels])
            self.optimality_ += self._rounding(predicted, y, refinements.minimizer, weights)
        return refinements

    def _fit_dual(self, X, y, labels, graph, views) -> Refinements:
        """Fit in the kernels' numerical features; sets dual_coef_, expansions_ and optimality_.

        Without manifold term Theorem 1 makes w^a = c^a a for one vector a: one view, the merged kernel
        sum_a (c^a)^2 k^a over the labelled rows, is the same problem.
        """
        active = graph if len(graph) else labels
        if len(active) > DUAL_ROWS:
            raise ValueError(
                f"the dual form holds kernel matrices over {len(active)} rows, more than {DUAL_ROWS}: set "
                "n_landmarks (1000, say), take a linear or poly kernel of low degree, or fewer rows (at "
                "gamma=0 only labelled ones count)"
            )
        rows = X[active]
        weights = np.array([view.weight for view in views])
        merged = not len(graph)
        known = reused(
            _DualRows.factor,
            [rows[:, view.columns] for view in views],
            [view.kernel for view in views],
            [view.weight for view in views] if merged else None,
            len(labels),
        )
        places = known.places
        manifold = None if merged else self._manifold(known.features, places, views, covers_labels=True)
        objective = Objective(
            known.labelled, y, places, np.ones(1) if merged else weights, self.lam, self.gamma, manifold
        )
        refinements = refine(objective, self.n_refinements, self.delta_xi)

        dual = objective.dual_coefficients(refinements.minimizer, refinements.kept)
        self.dual_coef_ = np.zeros((len(X), len(views)))
        self.dual_coef_[active] = dual * weights if merged else dual
        self.expansions_ = []
        for a, view in enumerate(views):
            part, place = known.part(a)
            landmarks = part.landmark_map(view.kernel, known.columns[a])
            theta = (view.weight**2 if merged else view.weight) * refinements.minimizer.theta[place]
            self.expansions_.append(landmarks.expansion(view.columns, theta))
        self.optimality_ = objective.violation(refinements.minimizer, refinements.kept)
        predicted = known.evaluate(self.expansions_, rows[: len(labels)])
        self.optimality_ += self._rounding(predicted, y, refinements.minimizer, weights)
        return refinements

    def _rounding(
        self, predicted: np.ndarray, y: np.ndarray, minimizer: Minimizer, weights: np.ndarray
    ) -> float:
        """What the rounding of a sum of kernel values, which predicts, adds to the violation."""
        difference = np.abs(y - predicted - minimizer.residuals).max()
        return float(difference * np.abs(weights).max() / (np.abs(y).max() or 1.0))

    def _manifold(self, features, places, views, covers_labels: bool) -> Manifold:
        between = self.between_views if len(views) > 1 else None
        return Manifold(features, places, [view.laplacian for view in views], between, covers_labels)

    def predict(self, X):
        """Predictions (n,) float64 for X (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return evaluate(self.expansions_, X)

    def _check_parameters(self):
        check_numbers(self, lam="> 0", gamma=">= 0")
        check_integers(self, optional=("n_landmarks",), n_refinements=0, n_neighbors=1, n_landmarks=1)
        if self.delta_xi != "auto" and not (isinstance(self.delta_xi, Real) and self.delta_xi > 0):
            raise ValueError(f'expected a delta_xi > 0 or "auto", got {self.delta_xi!r}')
        if self.between_views not in ("full", "diagonal", None):
            raise ValueError(f'expected between_views "full", "diagonal" or None, got {self.between_views!r}')
        if self.solver not in ("auto", "primal", "dual"):
            raise ValueError(f'expected solver "auto", "primal" or "dual", got {self.solver!r}')

    def _resolve_views(self, n_columns: int) -> list[_View]:
        every = np.arange(n_columns)
        try:
            columns = [
                every[view if isinstance(view, slice) else np.asarray(view, None if len(view) else int)]
                for view in ([slice(None)] if self.views is None else self.views)
            ]
        except (IndexError, TypeError) as error:
            raise ValueError(
                f"expected views that are lists of some of the {n_columns} columns of X: {error}"
            ) from None
        if not columns or any(view.ndim != 1 or not len(view) for view in columns):
            raise ValueError("expected at least one view, each a non-empty one-dimensional list of columns")
        m = len(columns)
        names = [self.kernel] * m if isinstance(self.kernel, str) else list(self.kernel)
        shared = self.kernel_params is None or isinstance(self.kernel_params, dict)
        parameters = [self.kernel_params] * m if shared else list(self.kernel_params)
        weights = [1 / m] * m if self.view_weights is None else [float(c) for c in self.view_weights]
        for name, given in (("kernel", names), ("kernel_params", parameters), ("view_weights", weights)):
            if len(given) != m:
                raise ValueError(f"expected one {name} or one for each of {m} views, got {len(given)}")
        if not np.isfinite(weights).all():
            raise ValueError(f"expected finite view_weights, got {weights}")
        return [
            _View(view, Kernel.resolve(name, parameter, len(view)), weight)
            for view, name, parameter, weight in zip(columns, names, parameters, weights, strict=True)
        ]

    def _choose_graph_rows(self, labels: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Row numbers that carry the manifold term; when these are all rows, the labelled ones come first."""
        n = len(labels) + len(others)
        if self.gamma == 0:
            return np.arange(0)
        if n > GRAPH_ROWS:
            return np.linspace(0, n - 1, GRAPH_ROWS).astype(int)
        return np.concatenate([labels, others])

    def _is_primal(self, views, labels, graph) -> bool:
        """Whether to fit in explicit features: as told, or when they are fewer than the dual's unknowns."""
        if self.solver == "dual":
            return False
        sizes = [view.kernel.map_size(len(view.columns)) for view in views]
        if None in sizes:
            if self.solver == "primal":
                raise ValueError('solver "primal" needs linear or poly kernels; take "dual" or "auto"')
            return False
        if self.solver == "primal":
            return True
        unknowns = sum(min(size, len(graph)) for size in sizes) if len(graph) else len(labels)
        return sum(sizes) <= min(unknowns, MAP_COLUMNS)


def _laplacians(columns: list[np.ndarray], n_neighbors: int) -> list[sparse.csr_array]:
    return [neighbor_laplacian(view, n_neighbors) for view in columns]


def _slices(sizes: list[int]) -> list[slice]:
    return [slice(start, end) for start, end in pairwise(accumulate(sizes, initial=0))]
