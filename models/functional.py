"""Functional output regression: kernel regression whose target is a curve, with robust or sparse losses.

Source: A. Lambert, D. Bouche, Z. Szabo and F. d'Alche-Buc, "Functional Output Regression with Infimal
Convolution" (the paper below).
"""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from .kernels import Expansion, Kernel
from .parameters import check_integers, check_numbers
from .proximal import HuberLoss, InsensitiveLoss, SquareLoss, solve_dual

LOSSES = {"square": (2,), "huber": (1, 2), "epsilon_insensitive": (2, np.inf)}
REPRESENTATIONS = ("splines", "eigenbasis")
RANK_TOLERANCE = 1e-12  # eigenvalues of the output kernel below this share of the largest are rounding
SYMMETRY_TOLERANCE = 1e-8  # of the largest value of a precomputed kernel: more is no rounding


class FunctionalRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Kernel regression from rows to curves.

    Minimizes, over the functions h of the space of the kernel k_X(x, x') T, T the integral operator of the
    output kernel k_Theta (paper, problem 0),

        (1/n) sum_i L(y_i - h(x_i)) + (lam/2) |h|^2

    by its dual, to a certified duality gap. Curves y_i are sampled at the locations theta_1 … theta_m, and
    norms of curves are means over the samples: |f|_p^p = (1/m) sum_j |f(theta_j)|^p.

    Parameters
    ----------
    loss : "square", "huber" or "epsilon_insensitive"
        1/2 |r|_2^2; the same convolved with kappa |r|_p, which bounds the pull of a curve (p = 2) or of every
        sample of it (p = 1); or with the ball |r|_p <= epsilon, within which nothing is lost and coefficients
        vanish (curve by curve with p = 2, sample by sample with p = inf).
    p : 1, 2 or inf
        Norm of the loss: 1 or 2 for huber, 2 or inf for epsilon_insensitive; without meaning for square.
    kappa, epsilon : float
        In the units of Y: > 0 and >= 0.
    kernel : str
        k_X: a pair-wise kernel of scikit-learn, or "precomputed": X then holds k_X between the rows and, in
        `predict`, between new rows and those of the fit.
    kernel_params : dict or None
        gamma, coef0, degree with scikit-learn's meaning and defaults. For inputs that are curves sampled at d
        places, gamma = rho / d is the paper's exp(-rho |x - x'|^2).
    output_kernel : str
        k_Theta, of the locations.
    output_kernel_params : dict or None
        As `kernel_params`.
    locations : (m,) array or None
        theta; None: evenly spaced from 0 to 1.
    lam : float
        > 0.
    representation : "splines" or "eigenbasis"
        Dual variables as values at the locations, or as coefficients of the leading eigenfunctions of T (with
        p = 2 and the square loss only).
    rank : int or None
        Number of eigenfunctions; None: all whose eigenvalue is more than rounding.
    tol : float
        Relative duality gap at which the solver stops.
    max_iter : int
        Iterations at most; fit warns when they did not do.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n, m) or (n, rank)
        A. Zeros are exact.
    locations_ : ndarray of shape (m,)
    objective_ : float
        Value of the problem above. In the eigenbasis y_i is replaced by its projection on the basis.
    gap_ : float
        Duality gap relative to `objective_`, which is at most this share above the minimum.
    n_iter_ : int
        Iterations; 1 for the square loss, which has a closed form.
    expansion_ : Expansion or None
        The fitted function at the locations, with coefficients (n, m); None for a precomputed kernel.

    Notes
    -----
    The estimator neither scales nor centres. NaN in Y is a gap: it is filled by linear interpolation between
    the neighbouring samples, before the first and after the last by their value. A curve without any sample
    is refused.

    Departures from the paper: the epsilon term of the splines is epsilon m^(1 - 1/q) |a_i|_q, as Definition
    4.1 demands (printed: epsilon / m^(1/q), m times too small); the step is at most 1 / C with
    C = 1 + |K_X| |K_Theta| / (lam n m), as acceleration needs (printed: 2 / C, without m).
    """

    def __init__(
        self,
        *,
        loss="square",
        p=2,
        kappa=1.0,
        epsilon=0.1,
        kernel="rbf",
        kernel_params=None,
        output_kernel="laplacian",
        output_kernel_params=None,
        locations=None,
        lam=1e-3,
        representation="splines",
        rank=None,
        tol=1e-6,
        max_iter=10_000,
    ):
        self.loss = loss
        self.p = p
        self.kappa = kappa
        self.epsilon = epsilon
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.output_kernel = output_kernel
        self.output_kernel_params = output_kernel_params
        self.locations = locations
        self.lam = lam
        self.representation = representation
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X, Y):
        """Fit to X (n, d) and Y (n, m), the curves at the locations; Y (n,) are curves of one sample."""
        X = validate_data(self, X, dtype=np.float64)
        Y, self._is_flat = check_curves(X, Y)
        self._check_parameters()
        n, m = Y.shape
        self.locations_ = self.resolved_locations(m)
        Y = fill_gaps(Y, self.locations_)
        self._rows, self._kernel, matrix = self._resolve_kernel(X)
        self._output_kernel = Kernel.resolve(self.output_kernel, self.output_kernel_params, 1)
        between = self._output_kernel.matrix(self.locations_[:, None], self.locations_[:, None])

        if self.representation == "eigenbasis":
            values, vectors = np.linalg.eigh(between / m)
            chosen = np.flatnonzero(values >= RANK_TOLERANCE * values[-1])[::-1][: self.rank]
            # psi_j(theta) = sum_k k(theta, theta_k) psi_j(theta_k) / (m delta_j); at the samples sqrt(m) U_j
            eigenfunctions = np.sqrt(m) * vectors[:, chosen]
            targets, output, samples = Y @ eigenfunctions / m, np.diag(values[chosen]), 1
            self._basis = eigenfunctions / m  # the output kernel times this is delta_j psi_j
        else:
            targets, output, samples = Y, between / m, m
            self._basis = np.eye(m) / m
        solution = solve_dual(
            self._loss(samples), matrix, output / (self.lam * n), targets, self.tol, self.max_iter
        )
        self.dual_coef_ = solution.dual
        self.objective_ = solution.objective / (n * samples)
        self.gap_ = solution.gap / solution.objective if solution.gap else 0.0
        self.n_iter_ = solution.iterations
        self._at_locations = self._coefficients(between)
        self.expansion_ = None
        if self._kernel is not None:
            self.expansion_ = Expansion(np.arange(X.shape[1]), self._kernel, self._rows, self._at_locations)
        if self.gap_ > self.tol:
            warnings.warn(
                f"the duality gap is {self.gap_:.1e} of the objective after {self.max_iter} iterations "
                f"(expected <= {self.tol:.0e}): raise max_iter, lam or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X, locations=None):
        """Curves (n, m) float64 for X (n, d), at other `locations` (k,) where given; (n,) after a flat Y."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        matrix = X if self._kernel is None else self._kernel.matrix(X, self._rows)
        if locations is None:
            curves = matrix @ self._at_locations
            return curves[:, 0] if self._is_flat else curves
        theta = np.asarray(locations, np.float64)
        return matrix @ self._coefficients(
            self._output_kernel.matrix(theta[:, None], self.locations_[:, None])
        )

    def _coefficients(self, between: np.ndarray) -> np.ndarray:
        """What each training row's kernel value is multiplied with, to give the curve at places whose output
        kernel with the locations is `between` (k, m): (n, k)."""
        return self.dual_coef_ @ (between @ self._basis).T / (self.lam * len(self.dual_coef_))

    def _loss(self, samples: int):
        """The loss on rows whose squared norm is `samples` times that of the curve (paper, Table 1)."""
        if self.loss == "huber":
            q = 2 if self.p == 2 else np.inf
            return HuberLoss(samples ** (1 / q) * self.kappa, q)
        if self.loss == "epsilon_insensitive":
            q = 2 if self.p == 2 else 1
            return InsensitiveLoss(samples ** (1 - 1 / q) * self.epsilon, q)
        return SquareLoss()

    def _resolve_kernel(self, X) -> tuple[np.ndarray | None, Kernel | None, np.ndarray]:
        """The rows that predicting needs, the kernel and its matrix; no rows and kernel when precomputed."""
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"expected a square precomputed kernel matrix, got {X.shape}")
            if np.abs(X - X.T).max() > SYMMETRY_TOLERANCE * np.abs(X).max():
                raise ValueError("expected a symmetric precomputed kernel matrix")
            return None, None, X
        kernel = Kernel.resolve(self.kernel, self.kernel_params, X.shape[1])
        return X, kernel, kernel.matrix(X, X)

    def resolved_locations(self, m: int) -> np.ndarray:
        """The locations (m,) of curves of m samples; ValueError when they do not fit."""
        if self.locations is None:
            return np.linspace(0, 1, m)
        locations = np.asarray(self.locations, np.float64)
        if locations.shape != (m,) or not (np.isfinite(locations).all() and (np.diff(locations) > 0).all()):
            raise ValueError(
                f"expected {m} increasing locations, one for each column of Y, got shape {locations.shape}"
            )
        return locations

    def _check_parameters(self):
        if self.loss not in LOSSES:
            raise ValueError(f"expected a loss among {list(LOSSES)}, got {self.loss!r}")
        if self.loss != "square" and self.p not in LOSSES[self.loss]:
            raise ValueError(f"expected p among {LOSSES[self.loss]} with {self.loss!r}, got {self.p!r}")
        if self.representation not in REPRESENTATIONS:
            known = ", ".join(REPRESENTATIONS)
            raise ValueError(f"expected a representation among {known}, got {self.representation!r}")
        if self.representation == "eigenbasis" and self.loss != "square" and self.p != 2:
            raise ValueError(f"the eigenbasis knows p = 2 only, not {self.p!r}: take splines")
        check_numbers(self, lam="> 0", kappa="> 0", tol="> 0", epsilon=">= 0")
        check_integers(self, optional=("rank",), rank=1, max_iter=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def check_curves(X: np.ndarray, Y) -> tuple[np.ndarray, bool]:
    """Y as float64 (n, m), and whether it was flat; ValueError unless it fits X and has samples in each."""
    if Y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    Y = check_array(Y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
    check_consistent_length(X, Y)
    is_flat = Y.ndim == 1
    Y = Y.reshape(len(Y), -1)
    empty = np.flatnonzero(np.isnan(Y).all(axis=1))
    if len(empty):
        raise ValueError(f"expected a sample of every curve, but y is NaN in all of row {empty[0]}")
    return Y, is_flat


def fill_gaps(Y: np.ndarray, locations: np.ndarray) -> np.ndarray:
    """Y (n, m) with every NaN replaced by linear interpolation over the locations (m,), constant at the ends.

    Every row needs a value that is not NaN.
    """
    filled = Y.copy()
    for row in filled:
        gap = np.isnan(row)
        row[gap] = np.interp(locations[gap], locations[~gap], row[~gap])
    return filled
