"""What is compared on ready-made features of a crowd, each with the settings that are tried."""

from itertools import product

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from crowdcount.learning.regressors import ROBUST_COEF0S, ROBUST_LAMBDAS, RobustKernelSetting
from models import CountRegressor, HuberLossRegressor

Candidates = dict[str, BaseEstimator]

LAMBDAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
#: Weights of the size, edges and texture view, before they are scaled to unit length.
VIEW_WEIGHTS = ((1.0, 1.0, 1.0), (1.0, 1.0, 0.2), (0.5, 1.0, 0.2), (0.2, 1.0, 0.2))


def hlr_candidates(views: list[np.ndarray], quick: bool) -> dict[str, Candidates]:
    """HLR by the grid of `crowdcount train`, and with weights of the views."""

    def candidate(weights, coef0, lam, n_refinements=0):
        regressor = HuberLossRegressor(
            views=views,
            kernel="linear" if coef0 is None else "poly",
            kernel_params=None if coef0 is None else {"degree": 2, "coef0": coef0},
            view_weights=np.array(weights) / np.linalg.norm(weights),
            lam=lam * (coef0 or 10.0),
            gamma=0,
            n_refinements=n_refinements,
        )
        return CountRegressor(regressor)

    def grid(all_weights, coefs, refinements):
        return {
            f"weights {weights}, coef0 {coef0}, lam {lam:g}, T {n_refinements}": candidate(
                weights, coef0, lam, n_refinements
            )
            for weights, coef0, lam, n_refinements in product(all_weights, coefs, LAMBDAS, refinements)
        }

    if quick:
        return {"HLR": grid(VIEW_WEIGHTS[:1], (1.0,), (0,))}
    return {
        "HLR, equal weights": grid(VIEW_WEIGHTS[:1], (1.0, 3.0), (0, 10)),
        "HLR, weighted views": grid(VIEW_WEIGHTS[1:2], (1.0, 3.0, 10.0), (0,)),
        "HLR, weights chosen": grid(VIEW_WEIGHTS, (1.0, 3.0, 10.0, None), (0,)),
    }


def robust_candidates(quick: bool) -> dict[str, Candidates]:
    """R3 by the kernels of `crowdcount train --regressor r3`, with switches in people."""
    switches = (1.0,) if quick else (0.5, 1.0, 2.0)
    settings = (
        RobustKernelSetting(coef0, coef0 * lam, switch)
        for coef0, lam, switch in product(ROBUST_COEF0S, ROBUST_LAMBDAS, switches)
    )
    return {
        "R3": {
            f"coef0 {one.coef0:g}, lam {one.lam:g}, switch {one.switch:g}": CountRegressor(one.regressor([]))
            for one in settings
        }
    }


def peers(quick: bool) -> dict[str, Candidates]:
    """scikit-learn's regressors on standardised columns."""

    def scaled(model):
        return make_pipeline(StandardScaler(), model)

    def centred(model):
        return TransformedTargetRegressor(scaled(model), transformer=StandardScaler())

    ridge = {f"alpha {alpha:g}": scaled(Ridge(alpha)) for alpha in (0.1, 1, 10, 100, 1000)}
    if quick:
        return {"Ridge": ridge}
    kernel = ConstantKernel() * DotProduct() + ConstantKernel() * RBF(10.0) + WhiteKernel()
    return {
        "Ridge": ridge,
        "KernelRidge": {
            f"{name} {width:g}, alpha {alpha:g}": centred(
                KernelRidge(alpha=alpha, kernel=name, gamma=width, degree=2)
            )
            for name, widths in (("rbf", (0.001, 0.003, 0.01)), ("poly", (0.003, 0.03)))
            for width, alpha in product(widths, (0.001, 0.01, 0.1, 1))
        },
        "SVR": {
            f"gamma {width:g}, C {cost:g}, epsilon {epsilon:g}": centred(
                SVR(gamma=width, C=cost, epsilon=epsilon)
            )
            for width, cost, epsilon in product((0.0003, 0.001, 0.003, 0.01), (1, 10, 100), (0.05, 0.2))
        },
        "GPR": {
            "linear + RBF + noise, by likelihood": centred(
                GaussianProcessRegressor(kernel, random_state=0)
            )
        },
        "RandomForest": {
            f"leaf {leaf}, features {share:g}": RandomForestRegressor(
                200, min_samples_leaf=leaf, max_features=share, random_state=0
            )
            for leaf, share in product((1, 5), (0.33, 1.0))
        },
        "HuberRegressor": {
            f"epsilon {epsilon:g}, alpha {alpha:g}": scaled(
                HuberRegressor(epsilon=epsilon, alpha=alpha, max_iter=10_000)
            )
            for epsilon, alpha in product((1.35, 2), (0.1, 10, 100))
        },
    }
