"""Super-sparse regression: a function of a few similarities to virtual prototypes, learnt with them.

Source: A. Demontis, M. Melis, B. Biggio, G. Fumera and F. Roli, "Super-sparse Learning in Similarity Spaces"
(the paper below).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .kernels import Derivatives, Kernel, pulled
from .parameters import check_integers, check_numbers
from .selection import SELECTIONS, select_rows

HALVINGS = 10  # of a step tried at most, until it lowers the objective


class Similarity(Protocol):
    """What `SuperSparseRegressor` needs of a similarity; `models.kernels` has some."""

    differentiable: bool

    def matrix(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Similarities (n_left, n_right), float64, of rows (n_left, d) and (n_right, d)."""

    def derivatives(self, left: np.ndarray) -> Derivatives:
        """The same as a function of the rows on the right, with what gives its derivatives there."""


@dataclass(frozen=True)
class BlackBox:
    """A similarity of which only values are known; the paper's guess takes the place of its derivative.

    `function` maps rows (n, d) and (m, d) to similarities (n, m).
    """

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]
    differentiable = False

    def matrix(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """ValueError when the function gives something else than finite similarities of the right shape."""
        values = np.asarray(self.function(left, right), np.float64)
        expected = (len(left), len(right))
        if values.shape != expected or not np.isfinite(values).all():
            raise ValueError(f"expected finite similarities of shape {expected}, got them of {values.shape}")
        return values

    def derivatives(self, left: np.ndarray) -> Derivatives:
        """With ds(x, z)/dz = s(x, z) (x - z), the paper's eq. 7."""

        def at(right):
            values = self.matrix(left, right)
            return values, lambda weights: pulled(weights * values, left, right)

        return at


def ridge(
    similarities: np.ndarray, y: np.ndarray, weights: np.ndarray, lam: float
) -> tuple[np.ndarray, float]:
    """beta (m,) and b that minimize sum_i weights_i (similarities_i.beta + b - y_i)^2 + lam |beta|^2.

    The paper's eq. 4, by QR of the centred rows: its normal equations would square their condition.
    similarities: (n, m); y, weights: (n,), weights > 0; lam > 0. ValueError where similarities overflowed.
    """
    if not np.isfinite(similarities).all():
        raise ValueError("similarities to the prototypes overflow: give bounds, or scale the columns of X")
    n, m = similarities.shape
    middle = weights @ similarities / weights.sum()
    level = weights @ y / weights.sum()
    root = np.sqrt(weights)
    stacked = np.zeros((n + m, m + 1))
    stacked[:n, :m] = root[:, None] * (similarities - middle)
    stacked[:n, m] = root * (y - level)
    stacked[np.arange(n, n + m), np.arange(m)] = np.sqrt(lam)
    triangle = np.linalg.qr(stacked, mode="r")
    beta = solve_triangular(triangle[:m, :m], triangle[:m, m])
    return beta, float(level - middle @ beta)


@dataclass(frozen=True, eq=False)
class Objective:
    """Omega of the paper's eq. 2 as a function of the prototypes alone, beta and b being the best for them.

    X (n, d), y (n,), weights u (n,) > 0, lam > 0.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    similarity: Similarity
    lam: float

    @cached_property
    def similarities(self) -> Derivatives:
        """Similarities (n, m) of the rows X to prototypes (m, d), with their derivatives there."""
        return self.similarity.derivatives(self.X)

    def of_constant(self) -> float:
        """Omega of the best constant."""
        return float(self.weights @ (self.y - np.average(self.y, weights=self.weights)) ** 2)

    def value(self, similarities: np.ndarray) -> tuple[float, np.ndarray]:
        """Omega, and its derivatives (n, m) in the similarities (n, m) of the rows to the prototypes.

        As beta and b minimize Omega, the terms in which the paper's eq. 5 and 6 follow their change cancel;
        2 beta_j u_i (g_i - y_i) is left.
        """
        beta, b = ridge(similarities, self.y, self.weights, self.lam)
        errors = similarities @ beta + b - self.y
        weighted = self.weights * errors
        return float(weighted @ errors + self.lam * beta @ beta), 2 * weighted[:, None] * beta

    def value_and_gradient(self, prototypes: np.ndarray) -> tuple[float, np.ndarray]:
        """Omega and its gradient (m, d) at prototypes (m, d)."""
        similarities, pullback = self.similarities(prototypes)
        value, slopes = self.value(similarities)
        return value, pullback(slopes)


@dataclass(frozen=True, eq=False)
class Descent:
    """Prototypes (m, d) and Omega at the start and after every iteration, of which they have the least."""

    prototypes: np.ndarray
    path: list[float]


def descend_jointly(
    objective: Objective, start: np.ndarray, box: np.ndarray | None, max_iter: int, tol: float
) -> Descent:
    """Move all prototypes at once by a quasi-Newton method (L-BFGS-B of scipy).

    start: (m, d); `box`: (2, d) lowest and highest values, or None; ends after `max_iter` iterations or when
    one lowers Omega by less than `tol` times that of the best constant.
    """
    scale = objective.of_constant()
    path = []

    def scaled(flat):
        value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
        if not path:
            path.append(value)
        return value / scale, gradient.ravel() / scale

    found = minimize(
        scaled,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=None if box is None else np.tile(box, len(start)).T,
        callback=lambda intermediate_result: path.append(intermediate_result.fun * scale),
        options={"maxiter": max_iter, "maxfun": 3 * max_iter, "ftol": tol, "gtol": 0.0},
    )
    return Descent(found.x.reshape(start.shape), path)


def descend_one_by_one(
    objective: Objective, start: np.ndarray, box: np.ndarray | None, max_iter: int, tol: float, step: float
) -> Descent:
    """Move one prototype after the other, as the paper's Algorithm 1 does; an iteration is one round.

    The t-th move first pushes the prototype away from the others, by t^-2 times the derivative of its
    similarities to them, then follows the gradient by a step that begins at `step`, doubles with every
    success and is halved, at most ten times, until Omega goes down. Other arguments as for `descend_jointly`.
    """
    prototypes = start.copy()
    similarities, _ = objective.similarities(prototypes)
    value, _ = objective.value(similarities)
    best, path = prototypes.copy(), [value]
    steps = np.full(len(start), step)
    moves = 0

    def project(row):
        return row if box is None else np.clip(row, *box)

    for _ in range(max_iter):
        for j in range(len(prototypes)):
            moves += 1
            others = np.delete(prototypes, j, axis=0)
            if len(others):
                _, pullback = objective.similarity.derivatives(others)(prototypes[[j]])
                crowding = pullback(np.ones((len(others), 1)))[0]
                prototypes[j] = project(prototypes[j] - crowding / moves**2)
            column, pullback = objective.similarities(prototypes[[j]])
            similarities[:, j] = column[:, 0]
            value, slopes = objective.value(similarities)
            gradient = pullback(slopes[:, [j]])[0]
            for size in steps[j] * 0.5 ** np.arange(HALVINGS):
                moved = project(prototypes[j] - size * gradient)
                trial = similarities.copy()
                trial[:, j] = objective.similarities(moved[None])[0][:, 0]
                trial_value, _ = objective.value(trial)
                if trial_value < value:
                    prototypes[j], similarities, value = moved, trial, trial_value
                    steps[j] = 2 * size
                    break
            else:
                steps[j] /= 2
        if value < min(path):
            best = prototypes.copy()
        gain = path[-1] - value
        path.append(value)
        if 0 <= gain < tol * objective.of_constant():
            break
    return Descent(best, path)


class SuperSparseRegressor(RegressorMixin, BaseEstimator):
    """Regression by similarities to a few virtual prototypes, which are learnt together with their weights.

    Minimizes over beta, b and the prototypes z (paper eq. 1 and 2, u being the sample weights)

        sum_i u_i (g(x_i) - y_i)^2 + lam |beta|^2,  g(x) = sum_j beta_j s(x, z_j) + b.

    Fitted to the outputs of another model it makes a smaller one of it.

    Parameters
    ----------
    n_prototypes : int
        Prototypes m; as many as there are rows, where there are fewer.
    similarity : str, callable or Similarity
        A pair-wise kernel of scikit-learn ("rbf", "poly", "sigmoid", "laplacian", …), a function that maps
        rows (n, d) and (m, d) to similarities (n, m), or an object that also knows the derivative
        (`models.kernels.KernelSum`). It need not be positive semi-definite.
    similarity_params : dict or None
        gamma, coef0, degree of a named similarity, with scikit-learn's meaning and defaults.
    lam : float
        Weight of the squared coefficients, > 0. It is added to a sum over the rows, not to a mean.
    bounds : None, "data" or (low, high)
        Box in which the prototypes stay: none, the range of the rows, or numbers or arrays (d,).
    start : "k-medians", "spanning", "random" or array of shape (m, d)
        Where the prototypes begin: rows chosen by `models.selection.select_rows`, or any rows.
    solver : "auto", "joint" or "one-by-one"
        All prototypes at once by a quasi-Newton method; or the paper's Algorithm 1, which also works where
        the similarity's derivative is only guessed, but diverges without bounds where the similarity has none
        ("poly"). "auto": the former where the derivative is known.
    step : float
        First step of "one-by-one", > 0.
    max_iter : int
        Iterations at most; 0 leaves the prototypes where they begin and only fits their coefficients.
    tol : float
        An iteration that lowers the objective by less than this share of a constant's is the last.
    random_state : int, RandomState or None
        For the start.

    Attributes
    ----------
    prototypes_ : ndarray of shape (m, d)
    coef_ : ndarray of shape (m,)
        beta.
    intercept_ : float
        b.
    objective_path_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after every iteration; the prototypes have the smallest.
    n_iter_ : int
    similarity_ : Similarity
    expansions_ : list of Expansion
        g - b for `models.kernels.evaluate`; absent where the similarity is a function.

    Notes
    -----
    The objective has local minima: another start can end in another one. Departures from the paper: for
    known derivatives, beta and b are eliminated and all prototypes move at once, without its penalty for
    close prototypes, which the start at cluster medians makes needless; in Algorithm 1, steps are halved
    until they lower the objective, and the best round counts.
    """

    def __init__(
        self,
        n_prototypes=10,
        *,
        similarity="rbf",
        similarity_params=None,
        lam=1e-3,
        bounds=None,
        start="k-medians",
        solver="auto",
        step=0.5,
        max_iter=200,
        tol=1e-6,
        random_state=0,
    ):
        self.n_prototypes = n_prototypes
        self.similarity = similarity
        self.similarity_params = similarity_params
        self.lam = lam
        self.bounds = bounds
        self.start = start
        self.solver = solver
        self.step = step
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit to X (n, d) and y (n,), with weights u (n,) >= 0, by default 1."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._check_parameters()
        weights = _checked_weights(sample_weight, X)
        X, y, weights = X[weights > 0], np.asarray(y, np.float64)[weights > 0], weights[weights > 0]
        self.similarity_ = self._resolved_similarity(X.shape[1])
        differentiable = self.similarity_.differentiable
        moved = self.similarity_ if differentiable else BlackBox(self.similarity_.matrix)
        objective = Objective(X, y, weights, moved, self.lam)
        box = self._box(X)
        start = self._starting_prototypes(X)
        start = start if box is None else np.clip(start, *box)
        if self.max_iter == 0 or objective.of_constant() == 0:
            found = Descent(start, [objective.value_and_gradient(start)[0]])
        elif self._is_joint():
            found = descend_jointly(objective, start, box, self.max_iter, self.tol)
        else:
            found = descend_one_by_one(objective, start, box, self.max_iter, self.tol, self.step)
        self.prototypes_ = found.prototypes
        self.objective_path_ = np.array(found.path)
        self.n_iter_ = len(found.path) - 1
        similarities = self.similarity_.matrix(X, self.prototypes_)
        self.coef_, self.intercept_ = ridge(similarities, y, weights, self.lam)
        self.__dict__.pop("expansions_", None)  # of a fit before, with another similarity
        if hasattr(self.similarity_, "expansions"):
            self.expansions_ = self.similarity_.expansions(self.prototypes_, self.coef_)
        return self

    def predict(self, X):
        """Predictions (n,) float64 for X (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.similarity_.matrix(X, self.prototypes_) @ self.coef_ + self.intercept_

    def _check_parameters(self):
        check_integers(self, n_prototypes=1, max_iter=0)
        check_numbers(self, lam="> 0", step="> 0", tol=">= 0")
        if isinstance(self.start, str) and self.start not in SELECTIONS:
            raise ValueError(f"expected a start among {list(SELECTIONS)} or an array, got {self.start!r}")
        if self.solver not in ("auto", "joint", "one-by-one"):
            raise ValueError(f'expected solver "auto", "joint" or "one-by-one", got {self.solver!r}')

    def _resolved_similarity(self, n_columns: int) -> Similarity:
        if hasattr(self.similarity, "matrix"):
            return self.similarity
        if callable(self.similarity):
            return BlackBox(self.similarity)
        return Kernel.resolve(self.similarity, self.similarity_params, n_columns)

    def _box(self, X) -> np.ndarray | None:
        if self.bounds is None:
            return None
        if isinstance(self.bounds, str) and self.bounds == "data":
            return np.stack([X.min(axis=0), X.max(axis=0)])
        try:
            low, high = self.bounds
            box = np.stack([np.broadcast_to(np.asarray(end, float), X.shape[1:]) for end in (low, high)])
        except (TypeError, ValueError):
            box = None
        if box is None or np.isnan(box).any() or (box[0] > box[1]).any():
            raise ValueError(
                f'expected bounds None, "data" or a pair low <= high of numbers or arrays ({X.shape[1]},), '
                f"got {self.bounds!r}"
            )
        return box

    def _starting_prototypes(self, X) -> np.ndarray:
        if not isinstance(self.start, str):
            start = check_array(self.start, dtype=np.float64, input_name="start")
            if start.shape != (self.n_prototypes, X.shape[1]):
                raise ValueError(
                    f"expected a start of shape {(self.n_prototypes, X.shape[1])}, got {start.shape}"
                )
            return start
        count = min(self.n_prototypes, len(X))
        return X[select_rows(X, count, self.start, check_random_state(self.random_state))]

    def _is_joint(self) -> bool:
        if self.solver == "joint" and not self.similarity_.differentiable:
            raise ValueError(
                'solver "joint" needs a similarity with a known derivative; take "one-by-one" or "auto"'
            )
        return self.solver != "one-by-one" and self.similarity_.differentiable


def prototype_path(
    estimator: SuperSparseRegressor, X: np.ndarray, y: np.ndarray, sizes: Sequence[int]
) -> Iterator[SuperSparseRegressor]:
    """Fits of `estimator` with fewer and fewer prototypes, the paper's incremental procedure.

    The first has sizes[0] prototypes and begins as `estimator` does; each following one begins where the one
    before ended, without its prototypes of the smallest |beta|.

    sizes: strictly decreasing, the last at least 1, else ValueError. Where there are fewer rows than that, a
    fit has as many prototypes as rows.
    """
    if not len(sizes) or min(sizes) < 1 or any(a <= b for a, b in pairwise(sizes)):
        raise ValueError(f"expected decreasing numbers of prototypes >= 1, got {list(sizes)}")
    return _prototype_path(estimator, X, y, sizes)


def _prototype_path(estimator, X, y, sizes):
    fitted = None
    for size in sizes:
        if fitted is None:
            step = clone(estimator).set_params(n_prototypes=size)
        else:
            largest = np.argsort(-np.abs(fitted.coef_), kind="stable")[:size]
            start = fitted.prototypes_[np.sort(largest)]
            step = clone(estimator).set_params(n_prototypes=len(start), start=start)
        fitted = step.fit(X, y)
        yield fitted


def _checked_weights(sample_weight, X: np.ndarray) -> np.ndarray:
    if sample_weight is None:
        return np.ones(len(X))
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (len(X),) or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"expected {len(X)} sample weights >= 0, not all of them zero, got an array {weights.shape}"
        )
    return weights
