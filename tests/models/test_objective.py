"""The loss, the objective and its gradient."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from models.graphs import neighbor_laplacian
from models.linear_algebra import Factor
from models.losses import huber_loss
from models.objective import (
    FeatureRows,
    FeatureSystem,
    LabelSystem,
    Manifold,
    Minimizer,
    Objective,
    PenaltyInverse,
)

RANDOM = np.random.default_rng(0)


def test_huber_loss_is_continuous_quadratic_inside_and_linear_outside():
    residuals = np.array([-5.0, -2.0, 0.0, 1.0, 2.0, 3.0])
    values = [huber_loss(np.array([r]), 2.0)[0] for r in residuals]
    np.testing.assert_allclose(values, [8.0, 2.0, 0.0, 0.5, 2.0, 4.0])
    np.testing.assert_allclose(huber_loss(residuals, 2.0)[1], [-2, -2, 0, 1, 2, 2])
    assert huber_loss(residuals, np.inf)[0] == pytest.approx((residuals**2).sum() / 2)


def test_the_slope_of_the_huber_loss_by_finite_differences():
    for xi in (0.5, 2.0, np.inf):
        loss, slope = (lambda r, xi=xi: huber_loss(r, xi)[0]), (lambda r, xi=xi: huber_loss(r, xi)[1])
        assert check_grad(loss, slope, RANDOM.normal(size=20)) < 1e-6


@pytest.fixture(params=["full", "diagonal", None, "no manifold", "few labels"])
def objective(request):
    """20 labelled of 30 rows with 7 features in two views; with "few labels", 5 labelled rows alone."""
    features = RANDOM.normal(size=(30, 7))
    views = [slice(0, 3), slice(3, 7)]
    count = 5 if request.param == "few labels" else 20
    y, weights = RANDOM.normal(size=count), np.array([0.7, 0.3])
    labelled = FeatureRows(count, 7, features[:count])
    if request.param in ("few labels", "no manifold"):
        return Objective(labelled, y, views, weights, 0.1, 0.0, None)
    laplacians = [neighbor_laplacian(features[:, view], 3) for view in views]
    manifold = Manifold(features, views, laplacians, request.param, True)
    return Objective(labelled, y, views, weights, 0.1, 0.2, manifold)


def some_labels(objective):
    return np.arange(len(objective.y)) % 4 != 0


def test_the_value_is_that_of_equation_3(objective):
    theta, kept = RANDOM.normal(size=7), some_labels(objective)
    residuals = objective.y - objective.labelled.array @ (objective.column_weights * theta)
    for xi in (0.5, np.inf):
        expected = huber_loss(residuals[kept], xi)[0] / kept.sum() + 0.1 * theta @ theta
        if objective.manifold is not None:
            expected += 0.2 * theta @ objective.manifold.gram() @ theta
        assert objective.value_and_gradient(theta, kept, xi)[0] == pytest.approx(expected)


def test_the_gradient_by_finite_differences(objective):
    kept = some_labels(objective)
    for xi in (0.5, np.inf):
        value = lambda theta, xi=xi: objective.value_and_gradient(theta, kept, xi)[0]  # noqa: E731
        gradient = lambda theta, xi=xi: objective.value_and_gradient(theta, kept, xi)[1]  # noqa: E731
        assert check_grad(value, gradient, RANDOM.normal(size=7)) < 1e-5


def test_the_gradient_vanishes_at_the_minimizer_and_the_value_is_least_there(objective):
    kept = some_labels(objective)
    minimizer = objective.minimize(kept)
    value, gradient, residuals = objective.value_and_gradient(minimizer.theta, kept)
    np.testing.assert_allclose(gradient, 0, atol=1e-13)
    np.testing.assert_allclose(residuals, minimizer.residuals, atol=1e-13)
    for _ in range(20):
        nearby = minimizer.theta + RANDOM.normal(size=7) / 100
        assert objective.value_and_gradient(nearby, kept)[0] > value
    assert objective.violation(minimizer, kept) < 1e-12


def dense_system(objective, quadratic, count):
    """phi (l, 7) and H (7, 7) of Theorem 1's system in explicit features."""
    phi = objective.labelled.array * objective.column_weights
    R = 0.1 * np.eye(7)
    if objective.manifold is not None:
        R += 0.2 * objective.manifold.gram()
    return phi, phi[quadratic].T @ phi[quadratic] / count + 2 * R


@pytest.mark.parametrize("n_quadratic", [0, 1, 3, 5])
def test_newton_systems_are_those_of_theorem_1(objective, n_quadratic):
    """Of few labels and of most, whether features are held or expanded anew, in either of the two forms."""
    n = len(objective.y)
    quadratic = np.arange(n) % 5 < n_quadratic
    target = np.where(quadratic, objective.y, np.arange(n) % 3 - 1.0)
    phi, H = dense_system(objective, quadratic, n)
    expected = np.linalg.solve(H, phi.T @ target / n)
    views, weights, array = objective.views, objective.column_weights, objective.labelled.array
    gamma = 0.0 if objective.manifold is None else 0.2
    penalty = (H - phi[quadratic].T @ phi[quadratic] / n) / 2
    expanded = FeatureRows(n, 7, None, lambda index: array[index])
    for system in (
        FeatureSystem(objective.labelled, objective.y, weights, penalty),
        FeatureSystem(expanded, objective.y, weights, penalty),
        LabelSystem(phi, PenaltyInverse(views, 0.1, gamma, objective.manifold)),
    ):
        solve, theta = system.newton(quadratic, target, n)
        np.testing.assert_allclose(theta, expected, atol=1e-12)
        np.testing.assert_allclose(solve(np.arange(7.0)), np.linalg.solve(H, np.arange(7.0)), atol=1e-11)


def test_an_active_set_step_pulls_with_the_threshold_beyond_it(objective):
    kept = some_labels(objective)
    minimizer = objective.minimize(kept)
    sizes = np.abs(minimizer.residuals)
    for xi in np.quantile(sizes[kept], [0.0, 0.1, 0.5, 0.9]):
        quadratic = kept & (sizes < xi)
        force = np.where(quadratic, objective.y, xi * np.sign(minimizer.residuals)) * kept
        phi, H = dense_system(objective, quadratic, kept.sum())
        way = np.linalg.solve(H, phi.T @ force / kept.sum()) - minimizer.theta
        before, *_ = objective.value_and_gradient(minimizer.theta, kept, xi)
        while objective.value_and_gradient(minimizer.theta + way, kept, xi)[0] > before:
            way /= 2
        expected = objective.y - phi @ (minimizer.theta + way)
        np.testing.assert_allclose(objective.active_set_step(kept, minimizer, xi), expected, atol=1e-12)


def test_an_active_set_step_far_beyond_the_least_is_cut_short():
    """Of the labels only the last is quadratic at their mean, 0: nine of the others pull to -4, past -1."""
    y = np.array([-1.0] * 9 + [9.0, 0.0])
    rows, every = FeatureRows(11, 1, np.ones((11, 1))), np.ones(11, bool)
    objective = Objective(rows, y, [slice(0, 1)], np.ones(1), 1e-12, 0.0, None)
    residuals = objective.active_set_step(every, objective.minimize(every), 0.5)
    np.testing.assert_allclose(y - residuals, -1)  # a quarter of the way


def test_polishing_is_a_whole_newton_step(objective):
    """From wherever it begins, as J is quadratic there: to its minimizer, with the residuals of that."""
    kept = some_labels(objective)
    minimizer = objective.minimize(kept)
    theta = minimizer.theta + RANDOM.normal(size=7)
    polished = objective.polish(Minimizer(theta, *objective.value_and_gradient(theta, kept)[1:]), kept)
    np.testing.assert_allclose(polished.theta, minimizer.theta, atol=1e-12)
    np.testing.assert_allclose(polished.gradient, 0, atol=1e-12)
    np.testing.assert_allclose(polished.residuals, minimizer.residuals, atol=1e-12)


def test_the_certificate_is_the_least_violation_among_all_w_of_a_function(objective):
    kept = some_labels(objective)
    rows = objective.labelled.array if objective.manifold is None else objective.manifold.features
    theta = objective.minimize(kept).theta + 1e-3 * rows.T @ RANDOM.normal(size=len(rows))
    _, gradient, residuals = objective.value_and_gradient(theta, kept)
    moved = Minimizer(theta, gradient, residuals)
    wanted = objective.dual_coefficients(moved, kept) * (2 * kept.sum() * 0.1)
    violations = []
    for a, view in enumerate(objective.views):
        missing = 2 * kept.sum() * 0.1 * theta[view] - rows[:, view].T @ wanted[:, a]
        violations.append(np.abs(np.linalg.lstsq(rows[:, view].T, missing)[0]).max())
    expected = max(violations) / np.abs(objective.y).max()
    assert expected > 1e-5
    assert objective.violation(moved, kept) == pytest.approx(expected)


def test_held_out_predictions_do_not_know_their_label(objective):
    kept = some_labels(objective)
    predictions = objective.held_out_predictions(kept)
    without = kept & (np.arange(len(kept)) % 5 != 1)
    expected = objective.y - objective.minimize(without).residuals
    np.testing.assert_allclose(predictions[1::5], expected[1::5], atol=1e-12)
    alone = np.arange(len(kept)) == 2
    np.testing.assert_allclose(
        objective.held_out_predictions(alone)[2], (objective.y - objective.minimize(alone).residuals)[2]
    )


def test_manifold_gram_and_products_agree(objective):
    if objective.manifold is None:
        pytest.skip("no manifold")
    theta = RANDOM.normal(size=7)
    smoothed = objective.manifold.apply(objective.manifold.values(theta))
    by_products = objective.manifold.adjoint(smoothed)
    np.testing.assert_allclose(objective.manifold.gram() @ theta, by_products, atol=1e-12)


def test_a_singular_matrix_still_gets_a_factor():
    vector = np.array([1.0, 2.0, 3.0])
    factor = Factor(np.outer(vector, vector))
    solution = factor.solve(vector)
    np.testing.assert_allclose(np.outer(vector, vector) @ solution, vector, rtol=1e-6)


def test_an_empty_system_has_an_empty_solution():
    factor = Factor(np.empty((0, 0)))
    assert factor.solve(np.empty(0)).shape == (0,)
    assert factor.solve(np.empty((0, 3))).shape == (0, 3)
