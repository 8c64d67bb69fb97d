"""HuberLossRegressor against independent solves, the paper's propositions and its limiting cases."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import HuberLossRegressor
from models.graphs import neighbor_laplacian

VIEWS = [[0, 1, 2], [3, 4], [5, 6, 7]]
QUADRATIC = {"kernel": "poly", "kernel_params": {"degree": 2, "gamma": 0.5}}


@pytest.fixture
def rows_and_labels():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 8))
    y = 3 * X[:, 0] - X[:, 4] * X[:, 3] + X[:, 6] + random.normal(size=60) / 4
    y[:4] += 20
    y[40:] = np.nan
    return X, y


@parametrize_with_checks([HuberLossRegressor(), HuberLossRegressor(kernel="rbf")])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def dense_theorem_1(X, y, kept, kernels, weights, lam, gamma, between, n_neighbors):
    """w (n, m) from the (m n) x (m n) system of Theorem 1, with the residuals of `kept` all quadratic."""
    n, m = len(X), len(kernels)
    K = np.zeros((m * n, m * n))
    M = np.zeros((m * n, m * n))
    for a, (columns, kernel) in enumerate(kernels):
        part = slice(a * n, (a + 1) * n)
        K[part, part] = kernel(X[:, columns])
        M[part, part] = neighbor_laplacian(X[:, columns], n_neighbors).toarray()
    identity = np.eye(n)
    if between is not None:
        M += (m - 1) * np.kron(np.eye(m), identity)
    if between == "full":
        M -= np.kron(np.ones((m, m)) - np.eye(m), identity)
    C = np.kron(np.asarray(weights)[None, :], identity)  # h = C K w
    J = np.diag(kept.astype(float))
    count = kept.sum()
    left = C.T @ J @ C @ K + 2 * count * (gamma * M @ K + lam * np.eye(m * n))
    w = np.linalg.solve(left, C.T @ J @ np.where(kept, y, 0))
    return w.reshape(m, n).T, C @ K @ w


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("between", ["full", "diagonal", None])
@pytest.mark.parametrize("gamma", [0.0, 0.02])
@pytest.mark.parametrize("views", [None, VIEWS[:2], VIEWS])
def test_agrees_with_a_dense_solve_of_theorem_1(rows_and_labels, solver, between, gamma, views):
    X, y = rows_and_labels
    model = HuberLossRegressor(
        views=views, **QUADRATIC, lam=0.01, gamma=gamma, between_views=between, n_neighbors=4, solver=solver
    ).fit(X, y)
    assert model.n_iter_ > 0
    views = [list(range(8))] if views is None else views
    kernels = [(v, lambda A: pairwise_kernels(A, metric="poly", degree=2, gamma=0.5)) for v in views]
    weights = np.full(len(views), 1 / len(views))
    _, h = dense_theorem_1(X, y, model.labelled_, kernels, weights, 0.01, gamma, between, 4)
    np.testing.assert_allclose(model.predict(X), h, atol=1e-9)
    assert model.optimality_ <= 1e-8
    if solver == "dual":
        function = [kernel(X[:, v]) @ model.dual_coef_[:, a] for a, (v, kernel) in enumerate(kernels)]
        np.testing.assert_allclose(np.array(function).T @ weights, h, atol=1e-8)
