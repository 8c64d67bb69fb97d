"""HuberLossRegressor against a general convex solver on the same objective (needs cvxpy with Clarabel)."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.metrics.pairwise import pairwise_kernels

from models import HuberLossRegressor

cvxpy = pytest.importorskip("cvxpy", reason="cvxpy, with which HLR is compared, is not installed")


def root(matrix: np.ndarray) -> np.ndarray:
    """S with S S^T = matrix, of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0))


def convex_predictions(y, kept, matrices, M, weights, lam, gamma, xi):
    """h (n,) of the minimizer of (3): f^a = root(K^a) theta^a, |f^a| = |theta^a|."""
    roots = [root(matrix) for matrix in matrices]
    theta = [cvxpy.Variable(len(y)) for _ in roots]
    values = [part @ coefficients for part, coefficients in zip(roots, theta, strict=True)]
    h = sum(weight * value for weight, value in zip(weights, values, strict=True))
    loss = cvxpy.sum(cvxpy.huber(y[kept] - h[kept], xi)) / 2 / kept.sum()  # theirs is 2 H_xi
    penalty = lam * sum(cvxpy.sum_squares(coefficients) for coefficients in theta)
    if gamma > 0:
        penalty += gamma * cvxpy.sum_squares(np.real(sqrtm(M)) @ cvxpy.hstack(values))
    problem = cvxpy.Problem(cvxpy.Minimize(loss + penalty))
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return h.value


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("unlabelled", [0, 12])
@pytest.mark.parametrize(
    ("gamma", "between"), [(0.0, "full"), (0.02, "full"), (0.02, "diagonal"), (0.02, None)]
)
@pytest.mark.parametrize("views", [[[0, 1, 2, 3, 4, 5]], [[0, 1, 2], [3, 4]], [[0, 1], [2, 3], [4, 5]]])
def test_agrees_with_a_general_convex_solver(dense_manifold, views, gamma, between, unlabelled, solver):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 6))
    y = 3 * X[:, 0] - X[:, 4] * X[:, 3] + random.normal(size=40) / 4
    y[:3] += 20
    y[40 - unlabelled :] = np.nan
    model = HuberLossRegressor(
        views=views, kernel="poly", kernel_params={"degree": 2, "gamma": 0.5}, lam=0.01, gamma=gamma,
        between_views=between, n_neighbors=4, solver=solver,
    ).fit(X, y)  # fmt: skip
    assert model.n_iter_ > 0
    matrices = [pairwise_kernels(X[:, v], metric="poly", degree=2, gamma=0.5) for v in views]
    M = dense_manifold(X, views, between, 4)
    weights = np.full(len(views), 1 / len(views))
    expected = convex_predictions(y, model.labelled_, matrices, M, weights, 0.01, gamma, model.xi_)
    np.testing.assert_allclose(model.predict(X), expected, atol=2e-4)
