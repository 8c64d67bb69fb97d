"""Robust regularized kernel regression (R3): one view, robust to wrong labels, exact by certificate.

Source: J. Zhu, S. C. H. Hoi and M. R. Lyu, "Robust Regularized Kernel Regression" (the paper below).
"""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .finite_newton import CERTIFIED, RobustLoss, RobustObjective
from .kernels import DUAL_ROWS, Expansion, Kernel, evaluate
from .labels import check_labels
from .parameters import check_integers, check_numbers

LOSSES = ("huber", "huber_epsilon_insensitive")


class RobustKernelRegressor(RegressorMixin, BaseEstimator):
    """Kernel regression with a bias and a loss that grows linearly with large errors.

    Minimizes, exactly (paper eq. 6 with the bias of eq. 3), over alpha and b

        sum_i V(f(x_i) - y_i) + lam alpha^T K alpha,    f = sum_j alpha_j k(., x_j) + b.

    Parameters
    ----------
    loss : "huber" or "huber_epsilon_insensitive"
        V(u) = u^2 up to |u| = switch and switch (2 |u| - switch) beyond (paper eq. 4), or the same of
        max(|u| - epsilon, 0): rows that are fitted within epsilon then have no part in the function.
    kernel : str
        A positive semi-definite pair-wise kernel of scikit-learn ("linear", "poly", "rbf", "chi2", …).
    kernel_params : dict or None
        gamma, coef0, degree with scikit-learn's meaning and defaults.
    lam : float
        Weight of the kernel norm, > 0.
    switch : float
        m of the paper, > 0: the error, in the units of y, from which the loss is linear. Infinite: kernel
        ridge regression with a bias.
    epsilon : float
        Half the width of the tube without loss, >= 0, in the units of y; "huber" has none.
    max_iter : int
        Newton steps at most.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,)
        alpha; its sum is 0. Beyond the switch |alpha| = switch / lam; zero within the tube. Where the kernel
        matrix is singular, other alpha may stand for the same f, of which that is not true.
    intercept_ : float
        b.
    optimality_ : float
        Norm of the objective's gradient relative to that at the zero function if there all labels pulled the
        same way; fit warns where it exceeds 1e-8.
    n_iter_ : int
        Newton steps on all rows, the start among them.
    expansions_ : list of one Expansion
        f without its bias, over the rows whose alpha is not 0.

    Notes
    -----
    Departures from the paper: its misprints are put right (the reduced system has I0 1 where eq. 12 has 1;
    the branches of eq. 5 are quadratic in |u| - epsilon); a line search ends the cycles that full steps can
    fall into; with more than 400 rows, steps begin near the fit to every other row, and factors are of single
    precision, as steps refine each other; switch need not exceed epsilon.

    The estimator neither scales nor centres, and refuses rows without a label. The kernel matrix of all rows
    is held in memory.
    """

    def __init__(
        self,
        *,
        loss="huber",
        kernel="rbf",
        kernel_params=None,
        lam=0.1,
        switch=1.0,
        epsilon=0.1,
        max_iter=1000,
    ):
        self.loss = loss
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.lam = lam
        self.switch = switch
        self.epsilon = epsilon
        self.max_iter = max_iter

    def fit(self, X, y):
        """Fit to X (n, d) and y (n,), every row with a label."""
        X = validate_data(self, X, dtype=np.float64)
        y = check_labels(X, y, all_rows=True)
        self._check_parameters()
        kernel = Kernel.resolve(self.kernel, self.kernel_params, X.shape[1])
        if len(X) > DUAL_ROWS:
            raise ValueError(f"expected at most {DUAL_ROWS} rows for a kernel matrix, got {len(X)}")
        matrix = kernel.matrix(X, X)
        kernel.require_positive_semidefinite(matrix)
        loss = RobustLoss(self.switch, 0.0 if self.loss == "huber" else self.epsilon)
        minimizer = RobustObjective(matrix, y, self.lam, loss).minimize(self.max_iter)
        self.dual_coef_ = minimizer.alpha
        self.intercept_ = minimizer.bias
        self.optimality_ = minimizer.optimality
        self.n_iter_ = minimizer.n_steps
        used = np.flatnonzero(minimizer.alpha)
        self.expansions_ = [Expansion(np.arange(X.shape[1]), kernel, X[used], minimizer.alpha[used])]
        if not self.optimality_ <= CERTIFIED:
            warnings.warn(
                f"the gradient is still {self.optimality_:.1e} of that at zero (expected <= {CERTIFIED:.0e}) "
                f"after {self.n_iter_} steps: raise lam, switch or max_iter, or scale X",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X):
        """Predictions (n,) float64 for X (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return evaluate(self.expansions_, X) + self.intercept_

    def _check_parameters(self):
        if self.loss not in LOSSES:
            raise ValueError(f"expected a loss of {LOSSES}, got {self.loss!r}")
        check_numbers(self, lam="> 0", epsilon=">= 0")
        check_integers(self, max_iter=1)
        if not (isinstance(self.switch, Real) and self.switch > 0):
            raise ValueError(f"expected a switch > 0, got {self.switch!r}")
