"""Conjugates and proximal operators of the convolved losses, by what defines them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from models.proximal import HuberLoss, InsensitiveLoss, SquareLoss, loss_value, solve_dual

LOSSES = [
    SquareLoss(),
    HuberLoss(0.7, 2),
    HuberLoss(0.7, np.inf),
    InsensitiveLoss(0.7, 2),
    InsensitiveLoss(0.7, 1),
]
FEW = settings(max_examples=30)  # each has twelve numbers, and each loss is tried with them
ROWS = arrays(np.float64, (3, 4), elements=st.floats(-3, 3, width=32))


def within(loss, rows):
    """The rows, moved into the domain of g*."""
    return loss.prox(rows, 0.0)


@pytest.mark.parametrize("loss", LOSSES)
@FEW
@given(rows=ROWS, others=ROWS, step=st.floats(0.01, 5))
def test_the_prox_is_where_the_distance_is_least(loss, rows, others, step):
    nearest = loss.prox(rows, step)
    np.testing.assert_allclose(within(loss, nearest), nearest, atol=1e-12)

    def distance(dual):
        return step * loss.conjugate(dual) + np.sum((dual - rows) ** 2) / 2

    slack = np.sum((within(loss, others) - nearest) ** 2) / 2  # the distance is strongly convex
    assert distance(nearest) + slack <= distance(within(loss, others)) + 1e-9


@pytest.mark.parametrize("loss", LOSSES)
@FEW
@given(rows=ROWS, others=ROWS)
def test_the_loss_is_the_conjugate_of_the_dual_loss(loss, rows, others):
    value = loss_value(loss, rows)
    dual = within(loss, others)
    fenchel = np.sum(rows * dual) - np.sum(dual**2) / 2 - loss.conjugate(dual)
    assert fenchel <= value + 1e-9
    assert 0 <= value + 1e-12 <= np.sum(rows**2) / 2 + 1e-9


@pytest.mark.parametrize("loss", LOSSES)
@FEW
@given(rows=ROWS)
def test_the_loss_is_the_infimal_convolution(loss, rows):
    """Propositions 3.2 and 4.2: the projections that attain the infimum are written out."""
    lengths = np.linalg.norm(rows, axis=1)
    if isinstance(loss, SquareLoss):
        expected = np.sum(lengths**2) / 2
    elif isinstance(loss, HuberLoss):
        size = lengths if loss.q == 2 else np.abs(rows)
        near = np.minimum(size, loss.radius)
        expected = np.sum(near**2 / 2 + loss.radius * (size - near))
    else:
        size = lengths if loss.q == 2 else np.abs(rows)
        expected = np.sum(np.maximum(size - loss.radius, 0) ** 2) / 2
    assert loss_value(loss, rows) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@FEW
@given(rows=ROWS, step=st.floats(0, 1e3))
def test_a_row_of_zeros_stays(loss, rows, step):
    rows[0] = 0
    np.testing.assert_array_equal(loss.prox(rows, step)[0], 0)
    assert np.isfinite(loss.prox(rows, step)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_bounds_the_distance_to_the_minimum(loss):
    random = np.random.default_rng(0)
    features, output = random.normal(size=(6, 4)), random.normal(size=(3, 3))
    K, S = features @ features.T, output @ output.T
    T = random.normal(size=(6, 3))

    def primal(B):
        B = B.reshape(6, 3)
        return loss_value(loss, T - K @ B @ S) + np.sum(B * (K @ B @ S)) / 2

    lowest = minimize(primal, np.zeros(18), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).fun
    for iterations in (1, 3, 10, 1000):
        solution = solve_dual(loss, K, S, T, 1e-10, iterations)
        assert solution.objective == pytest.approx(primal(solution.dual.ravel()))
        assert lowest - 1e-6 <= solution.objective <= lowest + solution.gap + 1e-6
    assert solution.gap <= 1e-10 * solution.objective


def test_the_solver_is_far_faster_than_plain_steps_and_ends_at_the_gap_asked_for():
    """Plain proximal gradient steps of 1/C, from where it starts too."""
    random = np.random.default_rng(0)
    features, output = random.normal(size=(12, 6)), random.normal(size=(4, 4))
    K, S = 3 * features @ features.T, output @ output.T
    T = 10 * random.normal(size=(12, 4))
    loss = HuberLoss(0.7, np.inf)
    rough, fine = (solve_dual(loss, K, S, T, tol, 10_000) for tol in (1e-2, 1e-6))
    assert rough.gap > fine.objective * 1e-6
    assert rough.iterations < fine.iterations < 10_000
    steepest = 1 + np.linalg.norm(K, 2) * np.linalg.norm(S, 2)
    dual = loss.prox(solve_dual(SquareLoss(), K, S, T, 1e-6, 1).dual, 0.0)
    for _ in range(6 * fine.iterations):
        dual = loss.prox(dual - (dual + K @ dual @ S - T) / steepest, 1 / steepest)
    fitted = K @ dual @ S
    value = np.sum(dual * fitted) / 2 + loss_value(loss, T - fitted)
    gap = value + np.sum(dual * (dual / 2 - T)) + np.sum(dual * fitted) / 2
    assert gap > 1e-6 * value


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(ValueError, match="positive semi-definite"):
        solve_dual(SquareLoss(), np.array([[1.0, 2.0], [2.0, 1.0]]), np.eye(1), np.ones((2, 1)), 1e-6, 10)
