"""FunctionalRegressor against a general convex solver on the primal problem, and its certificate."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import FunctionalRegressor
from models.functional import fill_gaps

N, M = 18, 7
LAM = 0.003
LOSSES = [
    {"loss": "square"},
    {"loss": "huber", "p": 1, "kappa": 0.15},
    {"loss": "huber", "p": 2, "kappa": 0.15},
    {"loss": "epsilon_insensitive", "p": 2, "epsilon": 0.2},
    {"loss": "epsilon_insensitive", "p": np.inf, "epsilon": 0.2},
]
OUTPUT = {"output_kernel": "laplacian", "output_kernel_params": {"gamma": 3.0}}


@pytest.fixture
def curves():
    """X (18, 2) and noisy curves (18, 7), one of them turned around and one with a peak."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 2))
    theta = np.linspace(0, 1, M)
    Y = X[:, :1] * np.sin(3 * theta) + X[:, 1:] * theta + random.normal(size=(N, M)) / 10
    Y[0] *= -3
    Y[1, 3] += 4
    return X, Y


@parametrize_with_checks(
    [
        FunctionalRegressor(),
        FunctionalRegressor(loss="huber", p=1, kappa=0.1),
        FunctionalRegressor(kernel="linear"),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0))


def convex_minimum(matrix, output, Y, samples, lam, loss, p=2, kappa=1.0, epsilon=0.1):
    """Values (n, k) of the minimizer of problem 0, and the minimum.

    With |f|_p^p = |row|_p^p / samples, h = root(matrix) W root(output)^T and |h| = |W|; the infimal
    convolution is a minimum over a second part Z of the residuals (Definitions 3.1 and 4.1).
    """
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy, with which the losses are compared, is not installed")
    W, Z = cvxpy.Variable((len(matrix), len(output))), cvxpy.Variable(Y.shape)
    H = root(matrix) @ W @ root(output).T
    norms = cvxpy.norm(Z, p, axis=1) * samples ** (-1 / p)
    constraints = []
    risk = cvxpy.sum_squares(Y - H - Z) / 2 / samples
    if loss == "huber":
        risk += kappa * cvxpy.sum(norms)
    else:
        constraints = [norms <= (epsilon if loss == "epsilon_insensitive" else 0.0)]
    objective = risk / len(Y) + lam / 2 * cvxpy.sum_squares(W)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return H.value, problem.value


@pytest.mark.parametrize("settings", LOSSES)
def test_splines_agree_with_a_general_convex_solver(curves, settings):
    X, Y = curves
    model = FunctionalRegressor(**settings, **OUTPUT, lam=LAM, tol=1e-9).fit(X, Y)
    between = pairwise_kernels(np.linspace(0, 1, M)[:, None], metric="laplacian", gamma=3.0)
    values, minimum = convex_minimum(pairwise_kernels(X, metric="rbf"), between, Y, M, LAM, **settings)
    np.testing.assert_allclose(model.predict(X), values, atol=2e-4)
    assert model.objective_ == pytest.approx(minimum, rel=1e-6)
    assert model.gap_ <= 1e-9
    assert np.abs(Y - values).max() > 0.3  # the thresholds bite


@pytest.mark.parametrize("rank", [3, M])
@pytest.mark.parametrize("settings", [loss for loss in LOSSES if loss.get("p", 2) == 2])
def test_the_eigenbasis_agrees_with_a_general_convex_solver(curves, settings, rank):
    X, Y = curves
    model = FunctionalRegressor(
        **settings, **OUTPUT, lam=LAM, tol=1e-9, representation="eigenbasis", rank=rank
    ).fit(X, Y)
    between = pairwise_kernels(np.linspace(0, 1, M)[:, None], metric="laplacian", gamma=3.0)
    values, vectors = np.linalg.eigh(between / M)
    values, psi = values[::-1][:rank], np.sqrt(M) * vectors[:, ::-1][:, :rank]
    coefficients, minimum = convex_minimum(
        pairwise_kernels(X, metric="rbf"), np.diag(values), Y @ psi / M, 1, LAM, **settings
    )
    np.testing.assert_allclose(model.predict(X), coefficients @ psi.T, atol=2e-4)
    assert model.objective_ == pytest.approx(minimum, rel=1e-6)
    assert model.dual_coef_.shape == (N, rank)


def test_an_output_kernel_of_zeros_has_the_zero_function(curves):
    X, Y = curves
    for representation in ("splines", "eigenbasis"):
        model = FunctionalRegressor(output_kernel="linear", representation=representation).fit(X, Y[:, 0])
        np.testing.assert_array_equal(model.predict(X), 0)  # the one location is 0


@pytest.mark.parametrize("settings", [loss for loss in LOSSES if loss.get("p", 2) == 2])
def test_splines_and_the_whole_eigenbasis_are_one_function(curves, settings):
    X, Y = curves
    models = [
        FunctionalRegressor(**settings, **OUTPUT, lam=LAM, tol=1e-10, representation=name).fit(X, Y)
        for name in ("splines", "eigenbasis")
    ]
    elsewhere = np.array([-0.1, 0.03, 0.5, 0.77])
    splines, eigenbasis = (model.predict(X[:5] + 0.1, elsewhere) for model in models)
    np.testing.assert_allclose(splines, eigenbasis, atol=1e-4)
    np.testing.assert_allclose(models[0].predict(X, models[0].locations_), models[0].predict(X))


@pytest.mark.parametrize("settings", LOSSES)
@pytest.mark.parametrize("lam", [1e-6, 1e-3, 1.0])
def test_the_gap_is_closed_over_many_orders_of_regularization(curves, settings, lam):
    model = FunctionalRegressor(**settings, **OUTPUT, lam=lam).fit(*curves)
    assert model.gap_ <= 1e-6
    assert (model.n_iter_ == 1) == (settings["loss"] == "square")


def test_too_few_iterations_are_told(curves):
    with pytest.warns(ConvergenceWarning, match="duality gap is .* after 2 iterations"):
        FunctionalRegressor(loss="huber", p=1, kappa=0.01, lam=1e-6, max_iter=2).fit(*curves)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "huber", "p": 1, "kappa": 1e3},
        {"loss": "huber", "p": 2, "kappa": 1e3},
        {"loss": "epsilon_insensitive", "p": 2, "epsilon": 0.0},
        {"loss": "epsilon_insensitive", "p": np.inf, "epsilon": 0.0},
    ],
)
def test_thresholds_at_their_limits_give_the_square_loss(curves, settings):
    X, Y = curves
    square = FunctionalRegressor(lam=LAM).fit(X, Y)
    limit = FunctionalRegressor(**settings, lam=LAM).fit(X, Y)
    np.testing.assert_allclose(limit.predict(X), square.predict(X), atol=1e-9)


def test_curves_of_one_sample_are_kernel_ridge(curves):
    X, Y = curves
    model = FunctionalRegressor(lam=LAM).fit(X, Y[:, 0])
    ridge = KernelRidge(alpha=N * LAM, kernel="rbf").fit(X, Y[:, 0])
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-10)


@pytest.mark.parametrize("representation", ["splines", "eigenbasis"])
def test_the_square_loss_is_kernel_ridge_on_pairs_of_rows_and_locations(curves, representation):
    """With k_X k_Theta between the pairs; at other locations than those of the fit too, and whatever p."""
    X, Y = curves
    theta, elsewhere = np.array([-1.0, 0.0, 0.1, 0.4, 0.5, 0.9, 2.5]), np.array([-2.0, 0.03, 1.7])

    def between(rows, locations):
        of_rows = pairwise_kernels(rows, X, metric="rbf")
        of_locations = pairwise_kernels(locations[:, None], theta[:, None], metric="laplacian")
        return np.kron(of_rows, of_locations)

    ridge = KernelRidge(alpha=N * M * LAM, kernel="precomputed").fit(between(X, theta), Y.ravel())
    model = FunctionalRegressor(p=1, locations=theta, lam=LAM, representation=representation).fit(X, Y)
    new = X[:5] + 0.1
    for curves_found, locations in ((model.predict(new), theta), (model.predict(new, elsewhere), elsewhere)):
        expected = ridge.predict(between(new, locations)).reshape(5, -1)
        np.testing.assert_allclose(curves_found, expected, atol=1e-9)


def test_epsilon_within_which_all_curves_lie_leaves_nothing(curves):
    X, Y = curves
    model = FunctionalRegressor(loss="epsilon_insensitive", p=np.inf, epsilon=10.0).fit(X, Y)
    np.testing.assert_array_equal(model.dual_coef_, 0)
    np.testing.assert_array_equal(model.predict(X), 0)
    assert model.objective_ == 0


def test_sparsity_is_of_curves_or_of_samples(curves):
    X, Y = curves
    by_curve, by_sample = (
        FunctionalRegressor(loss="epsilon_insensitive", p=p, epsilon=0.25, **OUTPUT, lam=LAM)
        .fit(X, Y)
        .dual_coef_
        for p in (2, np.inf)
    )
    zero = by_curve == 0
    assert 0 < zero.all(axis=1).sum() < N
    np.testing.assert_array_equal(zero.any(axis=1), zero.all(axis=1))
    zero = by_sample == 0
    assert (zero.any(axis=1) & ~zero.all(axis=1)).any()


@pytest.mark.parametrize(
    ("settings", "kind"), [({"p": 2}, "curves"), ({"p": 1}, "curves"), ({"p": 1}, "samples")]
)
def test_the_huber_losses_withstand_outliers_that_move_the_square_loss(settings, kind):
    random = np.random.default_rng(1)
    X, theta = random.uniform(-1, 1, size=(80, 1)), np.linspace(0, 1, 15)
    clean = np.sin(3 * X) * (1 + theta)
    Y = clean + random.normal(size=clean.shape) / 20
    if kind == "curves":
        Y[::8] = 3 - Y[::8]
    else:
        wrong = random.uniform(size=Y.shape) < 0.15
        Y[wrong] = random.uniform(-8, 8, size=wrong.sum())

    def error(**settings):
        model = FunctionalRegressor(**settings, **OUTPUT, lam=1e-3, kernel_params={"gamma": 1.0})
        return np.abs(model.fit(X, Y).predict(X) - clean).mean()

    assert error(loss="huber", kappa=0.1, **settings) < 0.5 * error(loss="square")


def test_a_precomputed_kernel_is_the_same(curves):
    X, Y = curves
    named = FunctionalRegressor(loss="huber", p=1, kappa=0.2).fit(X, Y)
    matrix = pairwise_kernels(X, metric="rbf")
    given = FunctionalRegressor(loss="huber", p=1, kappa=0.2, kernel="precomputed").fit(matrix, Y)
    np.testing.assert_allclose(given.predict(matrix[:4]), named.predict(X[:4]))
    np.testing.assert_allclose(named.expansion_.evaluate(X[:4]), named.predict(X[:4]))
    assert given.expansion_ is None
    held_out = (cross_val_predict(model, of, Y, cv=3) for model, of in ((given, matrix), (named, X)))
    np.testing.assert_allclose(*held_out)
    with pytest.raises(ValueError, match="square precomputed kernel matrix"):
        given.fit(matrix[:4], Y[:4])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_precomputed_kernel_is_symmetric_but_for_rounding(curves, scale):
    X, Y = curves
    matrix = scale * pairwise_kernels(X, metric="rbf", gamma=3.0)
    matrix[0, 1] *= 1 + 1e-12
    FunctionalRegressor(kernel="precomputed").fit(matrix, Y)
    matrix[0, 1] += 0.01 * scale
    with pytest.raises(ValueError, match="a symmetric precomputed kernel matrix"):
        FunctionalRegressor(kernel="precomputed").fit(matrix, Y)


def test_gaps_are_filled_by_linear_interpolation(curves):
    X, Y = curves
    nan = np.nan
    theta = np.array([0.0, 1.0, 3.0, 4.0])
    filled = fill_gaps(np.array([[nan, 1.0, nan, 4.0], [5.0, nan, nan, nan]]), theta)
    np.testing.assert_allclose(filled, [[1, 1, 3, 4], [5, 5, 5, 5]])
    Y[2, 3] = (Y[2, 2] + Y[2, 4]) / 2
    whole = FunctionalRegressor().fit(X, Y).predict(X)
    Y[2, 3] = nan
    np.testing.assert_allclose(FunctionalRegressor().fit(X, Y).predict(X), whole)
    assert np.isnan(Y[2, 3])
    Y[2] = nan
    with pytest.raises(ValueError, match="NaN in all of row 2"):
        FunctionalRegressor().fit(X, Y)


@pytest.mark.parametrize(
    ("shape", "message"), [((N - 1, M), "inconsistent numbers of samples"), ((N, M, 1), "array with dim 3")]
)
def test_what_are_no_curves_of_the_rows_is_refused(curves, shape, message):
    with pytest.raises(ValueError, match=message):
        FunctionalRegressor().fit(curves[0], np.zeros(shape))


def test_works_in_grid_search_and_clone(curves):
    X, Y = curves
    search = GridSearchCV(FunctionalRegressor(loss="huber"), {"lam": [1e-4, 1e-1], "p": [1, 2]}, cv=3).fit(
        X, Y
    )
    assert search.best_params_["lam"] == 1e-4
    assert clone(search.best_estimator_).get_params()["loss"] == "huber"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "absolute"}, "a loss among"),
        ({"loss": "huber", "p": np.inf}, r"p among \(1, 2\)"),
        ({"loss": "epsilon_insensitive", "p": 1}, "p among"),
        ({"representation": "eigenbasis", "loss": "huber", "p": 1}, "take splines"),
        ({"representation": "wavelets"}, "a representation among"),
        ({"lam": 0.0}, "lam > 0"),
        ({"kappa": 0}, "kappa > 0"),
        ({"epsilon": -1.0}, "epsilon >= 0"),
        ({"tol": np.nan}, "tol > 0"),
        ({"rank": 0}, "rank >= 1"),
        ({"max_iter": 0}, "max_iter >= 1"),
        ({"locations": [0.0, 1.0]}, "7 increasing locations"),
        ({"locations": np.zeros(7)}, "7 increasing locations"),
        ({"locations": [0, 1, 2, 3, 4, 6, 5]}, "7 increasing locations"),
        ({"locations": [0, 1, 2, 3, 4, 5, np.inf]}, "7 increasing locations"),
        ({"kernel": "huh"}, "unknown kernel 'huh'"),
        ({"kernel": "sigmoid", "kernel_params": {"coef0": -5}}, "positive semi-definite"),
    ],
)
def test_wrong_settings_are_named(curves, settings, message):
    with pytest.raises(ValueError, match=message):
        FunctionalRegressor(**settings).fit(*curves)
