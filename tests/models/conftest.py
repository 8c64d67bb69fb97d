"""The ready-made features of the Mall and UCSD data sets, standardised; linear algebra on one thread."""

import numpy as np
import pytest
from scipy.io import loadmat
from threadpoolctl import threadpool_limits

PUBLISHED_VIEWS = [[*range(9), 29], [*range(9, 17)], [*range(17, 29)]]  # size, edges, texture


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Small matrices on busy cores: threads that wait for each other make the tests many times slower."""
    with threadpool_limits(1):
        yield


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
