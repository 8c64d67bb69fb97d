"""RobustKernelRegressor against the three dual programs of its paper in a general convex solver (cvxpy)."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from benchmarks.papers.dual_programs import solve_program
from models import RobustKernelRegressor
from models.finite_newton import RobustLoss, RobustObjective

pytest.importorskip("cvxpy", reason="cvxpy, with which R3 is compared, is not installed")

KERNELS = [("rbf", {"gamma": 0.5}), ("poly", {"degree": 2, "gamma": 0.5}), ("laplacian", {"gamma": 1.0})]


@pytest.fixture
def rows_and_labels():
    """50 rows, six of their labels wrong by 8."""
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3))
    y = 3 + X[:, 0] - X[:, 1] * X[:, 2] + random.normal(size=50) / 5
    y[:6] += 8
    return X, y


@pytest.mark.parametrize("switch", [0.05, 0.5, 5.0])
@pytest.mark.parametrize(("kernel", "parameters"), KERNELS)
@pytest.mark.parametrize(
    ("program", "epsilon"), [("D-H1", 0.0), ("D-H3", 0.0), ("D-H1", 0.2)], ids=["D-H1", "D-H3", "tube"]
)
def test_equals_the_regularized_programs(rows_and_labels, program, epsilon, kernel, parameters, switch):
    X, y = rows_and_labels
    model = RobustKernelRegressor(
        loss="huber_epsilon_insensitive", kernel=kernel, kernel_params=parameters, lam=0.1, switch=switch,
        epsilon=epsilon,
    ).fit(X, y)  # fmt: skip
    matrix = pairwise_kernels(X, metric=kernel, filter_params=True, coef0=1, **parameters)
    solution = solve_program(program, matrix, y, 0.1, switch, epsilon)
    objective = RobustObjective(matrix, y, 0.1, RobustLoss(switch, epsilon))
    ours = objective.value_and_gradient(model.dual_coef_, model.intercept_)[0]
    assert ours == pytest.approx(solution.value, rel=1e-7)
    assert ours <= solution.value * (1 + 1e-9)
    np.testing.assert_allclose(model.predict(X), matrix @ solution.alpha + solution.bias, atol=1e-4)


@pytest.mark.parametrize("switch", [0.05, 0.5, 5.0])
def test_tends_to_the_program_without_regularization(rows_and_labels, switch):
    """With more rows than columns and a linear kernel the function of D-H2 is unique: the limit of R3's."""
    X, y = rows_and_labels
    solution = solve_program("D-H2", X @ X.T, y, 0.0, switch)
    expected = X @ (X.T @ solution.alpha) + solution.bias
    errors = []
    for lam in (1e-1, 1e-3, 1e-5):
        model = RobustKernelRegressor(kernel="linear", lam=lam, switch=switch).fit(X, y)
        errors.append(np.abs(model.predict(X) - expected).max())
    assert errors[0] > 3 * errors[1]
    assert errors[-1] < 1e-4


def test_programs_that_do_not_exist_are_named(rows_and_labels):
    X, y = rows_and_labels
    with pytest.raises(ValueError, match="expected one of"):
        solve_program("D-H4", X @ X.T, y, 0.1, 1.0)
