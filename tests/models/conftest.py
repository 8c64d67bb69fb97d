"""The ready-made features of the Mall and UCSD data sets, standardised."""

import numpy as np
import pytest
from scipy.io import loadmat

from models.graphs import neighbor_laplacian

PUBLISHED_VIEWS = [[*range(9), 29], [*range(9, 17)], [*range(17, 29)]]  # size, edges, texture


@pytest.fixture(scope="session", params=["mall", "ucsd"])
def real_features(request, data_dir):
    """X (2000, 30) float64 standardised, y (2000,) centred with 800 labels, and the columns of each view."""
    if request.param == "mall":
        X = loadmat(data_dir / "mall" / "mall_feat.mat")["x"].astype(float)
        y = loadmat(data_dir / "mall" / "mall_gt.mat")["count"].ravel().astype(float)
    else:
        with np.load(data_dir / "ucsd" / "ucsd_peds1_features.npz") as arrays:
            X, y = arrays["features"][:2000].astype(float), arrays["count_total"].astype(float)
    labelled = ~np.isnan(y)
    return (X - X[labelled].mean(axis=0)) / X[labelled].std(axis=0), y - y[labelled].mean(), PUBLISHED_VIEWS


@pytest.fixture(scope="session")
def dense_manifold():
    """The paper's M (m n, m n), view after view, as a function of X, views, between and n_neighbors."""

    def build(X, views, between, n_neighbors):
        n, m = len(X), len(views)
        M = np.zeros((m * n, m * n))
        for a, view in enumerate(views):
            part = slice(a * n, (a + 1) * n)
            M[part, part] = neighbor_laplacian(X[:, view], n_neighbors).toarray()
        if between is not None:
            M += (m - 1) * np.eye(m * n)
        if between == "full":
            M -= np.kron(np.ones((m, m)) - np.eye(m), np.eye(n))
        return M

    return build
