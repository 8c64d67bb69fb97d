"""SuperSparseRegressor: its gradient, its sub-problem against other solvers, and what it replicates."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import SuperSparseRegressor, prototype_path
from models.kernels import DIFFERENTIABLE_KERNELS, Kernel, KernelSum, evaluate
from models.super_sparse import Objective, ridge

#: k-medians sees the rows without their weights: a row twice is no row of weight 2. From a given start it is
#: (`test_a_row_of_weight_2_is_a_row_twice`).
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "the start depends on how often a row is there"
}


@pytest.fixture
def wave():
    """80 rows of two columns and a smooth function of them."""
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, (80, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2


@parametrize_with_checks(
    [
        SuperSparseRegressor(4, max_iter=50),
        SuperSparseRegressor(3, similarity="sigmoid", max_iter=20),
        SuperSparseRegressor(3, similarity="laplacian", start="spanning", bounds="data", max_iter=2),
    ],
    expected_failed_checks=lambda estimator: EXPECTED if estimator.start == "k-medians" else {},
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@settings(max_examples=60)
@given(
    name=st.sampled_from(DIFFERENTIABLE_KERNELS),
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 4),
    lam=st.sampled_from([1e-3, 1.0]),
)
def test_gradient_by_finite_differences(name, seed, m, lam):
    """Of the objective with its coefficients eliminated, and so of the envelope theorem."""
    random = np.random.default_rng(seed)
    X, y, u = random.normal(size=(12, 3)), random.normal(size=12), random.uniform(0.1, 2, 12)
    kernel = Kernel.resolve(name, {"gamma": 0.3, "coef0": 0.5, "degree": 3}, 3)
    columns = (np.array([0, 2]), np.array([1, 2]))
    for similarity in (kernel, KernelSum(columns, (kernel, Kernel("rbf", 0.7)), (0.4, 1.5))):
        objective = Objective(X, y, u, similarity, lam)
        prototypes = random.normal(size=(m, 3))
        np.testing.assert_allclose(
            objective.similarities(prototypes)[0], similarity.matrix(X, prototypes), atol=1e-12
        )
        value, gradient = objective.value_and_gradient(prototypes)

        def of_flat(flat, objective=objective, shape=prototypes.shape):
            return objective.value_and_gradient(flat.reshape(shape))[0]

        steps = 1e-5 * np.eye(prototypes.size)
        rises = [of_flat(prototypes.ravel() + step) - of_flat(prototypes.ravel() - step) for step in steps]
        numeric = np.reshape(rises, prototypes.shape) / 2e-5
        np.testing.assert_allclose(gradient, numeric, atol=2e-4 * max(1.0, value, np.abs(gradient).max()))


def test_a_prototype_of_zeros_has_a_finite_cosine_gradient():
    X = np.eye(3)
    _, pullback = Kernel("cosine").derivatives(X)(np.zeros((1, 3)))
    assert (pullback(np.ones((3, 1))) == 0).all()


def test_a_kernel_without_derivative_is_told():
    with pytest.raises(ValueError, match="'laplacian'"):
        Kernel("laplacian").derivatives(np.eye(2))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    m=st.integers(1, 8),
    lam=st.sampled_from([1e-6, 1e-2, 10.0]),
)
def test_coefficients_are_those_of_another_solver(seed, n, m, lam):
    """The paper's eq. 4 as it stands, and scikit-learn's ridge regression."""
    random = np.random.default_rng(seed)
    S, y, u = random.normal(size=(n, m)), random.normal(size=n), random.uniform(0.1, 2, n)
    beta, b = ridge(S, y, u, lam)
    U, ones = np.diag(u), np.ones(n)
    left = np.block(
        [[S.T @ U @ S + lam * np.eye(m), (S.T @ u)[:, None]], [(u @ S)[None], np.array([[u.sum()]])]]
    )
    solved = np.linalg.solve(left, np.vstack([S.T, ones]) @ (u * y))
    scale = 1 + np.abs(solved).max()
    np.testing.assert_allclose([*beta, b], solved, atol=1e-7 * scale)
    other = Ridge(alpha=lam, solver="svd").fit(S, y, sample_weight=u)
    np.testing.assert_allclose([*beta, b], [*other.coef_, other.intercept_], atol=1e-7 * scale)


def test_with_all_rows_as_prototypes_it_is_ridge_regression_on_all_similarities(wave):
    X, y = wave
    model = SuperSparseRegressor(len(X), start=X, max_iter=0, lam=0.1, similarity_params={"gamma": 2})
    model.fit(X, y)
    S = pairwise_kernels(X, metric="rbf", gamma=2)
    np.testing.assert_allclose(model.predict(X), Ridge(0.1, solver="svd").fit(S, y).predict(S), atol=1e-9)


def test_with_all_rows_as_prototypes_it_replicates_the_model_it_is_fitted_to(wave):
    X, y = wave
    full = KernelRidge(kernel="rbf", gamma=2, alpha=0.1).fit(X, y)
    model = SuperSparseRegressor(
        len(X), start=X, max_iter=0, lam=1e-9, similarity_params={"gamma": 2}
    ).fit(X, full.predict(X))  # fmt: skip
    new = np.random.default_rng(1).uniform(-2, 2, (200, 2))
    # The bias, which the full model does not have, takes a share of it: zero but for where rows are sparse.
    np.testing.assert_allclose(model.predict(X), full.predict(X), atol=1e-5)
    np.testing.assert_allclose(model.predict(new), full.predict(new), atol=0.01 * np.ptp(y))


@pytest.mark.parametrize("solver", ["joint", "one-by-one"])
@pytest.mark.parametrize("similarity", ["rbf", "sigmoid"])
def test_the_objective_goes_down_to_that_of_the_prototypes(wave, solver, similarity):
    X, y = wave
    model = SuperSparseRegressor(4, similarity=similarity, solver=solver, lam=1e-2, max_iter=40).fit(X, y)
    path = model.objective_path_
    assert len(path) == model.n_iter_ + 1 > 3
    if solver == "joint":
        assert (np.diff(path) <= 0).all()
    assert path.min() < path[0] / 2
    kernel = model.similarity_
    errors = kernel.matrix(X, model.prototypes_) @ model.coef_ + model.intercept_ - y
    assert errors @ errors + 1e-2 * model.coef_ @ model.coef_ == pytest.approx(path.min())


@pytest.mark.parametrize("solver", ["joint", "one-by-one"])
def test_the_path_begins_with_the_objective_at_the_start(wave, solver):
    model = SuperSparseRegressor(4, solver=solver, lam=1e-2, max_iter=0, tol=0).fit(*wave)
    (start,) = model.objective_path_
    assert model.n_iter_ == 0
    model.set_params(max_iter=3).fit(*wave)
    assert model.objective_path_[0] == pytest.approx(start)
    assert model.n_iter_ == 3


@pytest.mark.parametrize("solver", ["joint", "one-by-one"])
def test_a_round_that_gains_less_than_the_tolerance_is_the_last(wave, solver):
    model = SuperSparseRegressor(4, solver=solver, max_iter=30)
    rounds = [model.set_params(tol=tol).fit(*wave).n_iter_ for tol in (1e-6, 1)]
    assert rounds[0] > rounds[1] == 1


def test_the_prototypes_are_those_of_the_best_round(wave):
    """Of a similarity whose derivative is guessed a later round may be worse."""
    X, y = wave
    settings = {"similarity": "laplacian", "similarity_params": {"gamma": 2.0}, "bounds": "data"}
    model = SuperSparseRegressor(3, **settings, lam=1e-2, max_iter=10, tol=0).fit(X, y)
    path = model.objective_path_
    assert 0 < path.argmin() < 10
    errors = model.predict(X) - y
    assert errors @ errors + 1e-2 * model.coef_ @ model.coef_ == pytest.approx(path.min(), rel=1e-9)


def test_a_second_fit_forgets_the_expansions_of_the_first(wave):
    model = SuperSparseRegressor(3, max_iter=0).fit(*wave)
    assert len(model.expansions_) == 1
    model.set_params(similarity=lambda left, right: left @ right.T).fit(*wave)
    assert not hasattr(model, "expansions_")


def test_prototypes_pushed_apart_without_end_are_told_and_bounds_hold_them(wave):
    model = SuperSparseRegressor(3, similarity="poly", solver="one-by-one", lam=1e-2, max_iter=20)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="overflow: give bounds"):
        model.fit(*wave)
    path = model.set_params(bounds="data").fit(*wave).objective_path_
    assert path.min() < 0.8 * path[0]


@pytest.fixture
def crowded():
    """100 rows of bumps at -1 and 1, and a model whose two prototypes begin together between these."""
    X = np.linspace(-2, 2, 100)[:, None]
    y = np.exp(-4 * (X[:, 0] + 1) ** 2) - np.exp(-4 * (X[:, 0] - 1) ** 2)
    settings = {"similarity_params": {"gamma": 1.0}, "solver": "one-by-one", "lam": 1e-3, "tol": 0.0}
    return SuperSparseRegressor(2, start=[[-0.1], [0.2]], **settings), X, y


@pytest.mark.parametrize("step", [1e-12, 1e9])
def test_prototypes_are_pushed_apart_as_the_paper_has_it(crowded, step):
    """By the derivative of their similarity, over the square of the number of moves so far; steps are off, as
    they are too small or none of them lowers the objective."""
    model, X, y = crowded
    objective = Objective(X, y, np.ones(100), Kernel("rbf", 1.0), 1e-3)
    places, path = np.array([-0.1, 0.2]), []
    for move in range(1, 7):
        away = places[move % 2 - 1] - places[move % 2]
        places[move % 2 - 1] += 2 * away * np.exp(-(away**2)) / move**2
        if move % 2 == 0:
            path.append(objective.value_and_gradient(places[:, None])[0])
    model.set_params(step=step, max_iter=3).fit(X, y)
    np.testing.assert_allclose(model.prototypes_[:, 0], places, atol=1e-6)
    np.testing.assert_allclose(model.objective_path_[1:], path, rtol=1e-6)


@pytest.mark.parametrize("step", [1e-6, 1e9])
def test_a_first_step_that_is_far_too_small_or_large_does_not_matter_for_long(crowded, step):
    model, X, y = crowded
    usual = model.set_params(max_iter=60).fit(X, y).objective_path_.min()
    assert model.set_params(step=step).fit(X, y).objective_path_.min() < 1.05 * usual


def test_a_push_that_makes_it_worse_is_not_kept(crowded):
    model, X, y = crowded
    best = model.set_params(max_iter=100).fit(X, y).prototypes_
    model.set_params(start=best, step=1e-12, max_iter=3).fit(X, y)
    assert model.objective_path_[1:].min() > model.objective_path_[0]
    np.testing.assert_array_equal(model.prototypes_, best)


def test_both_solvers_find_where_the_bumps_are():
    """Targets made of three bumps; the centres are found to a hundredth, the start is some way off."""
    random = np.random.default_rng(3)
    centres = np.array([[-1.5, 0.0], [1.0, 1.2], [0.5, -1.5]])
    X = random.uniform(-2.5, 2.5, (300, 2))
    y = Kernel("rbf", 1.0).matrix(X, centres) @ [2.0, -1.0, 1.5] + 0.3
    for solver in ("joint", "one-by-one"):
        model = SuperSparseRegressor(
            3, similarity_params={"gamma": 1.0}, lam=1e-8, start=centres + 0.4, solver=solver, max_iter=500,
            tol=1e-10,
        ).fit(X, y)  # fmt: skip
        np.testing.assert_allclose(model.prototypes_, centres, atol=1e-2)
        np.testing.assert_allclose(model.coef_, [2.0, -1.0, 1.5], atol=1e-2)
        assert model.intercept_ == pytest.approx(0.3, abs=1e-2)


def test_a_support_vector_machine_is_replicated_by_few_prototypes():
    """As the paper's figure 2: 25 points in two classes, 2 prototypes for the support vectors."""
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal([-1, 0], 0.5, (12, 2)), random.normal([1, 0], 0.5, (13, 2))])
    y = np.repeat([-1, 1], [12, 13])
    machine = SVC(C=10, gamma=0.5).fit(X, y)
    model = SuperSparseRegressor(
        2, similarity_params={"gamma": 0.5}, lam=1e-6, max_iter=500
    ).fit(X, machine.decision_function(X))  # fmt: skip
    assert len(machine.support_) >= 5
    assert (np.sign(model.predict(X)) == machine.predict(X)).all()


def test_a_similarity_without_derivative_that_is_not_definite(wave):
    """A matcher that only gives values, and a matrix with clearly negative eigenvalues."""
    X, y = wave

    def matcher(left, right):
        distances = pairwise_distances(left, right, metric="chebyshev")
        return np.where(distances < 1.5, 1 - distances, -0.5)

    assert np.linalg.eigvalsh(matcher(X, X))[0] < -1
    moved = SuperSparseRegressor(6, similarity=matcher, lam=1e-2, max_iter=30).fit(X, y)
    still = SuperSparseRegressor(6, similarity=matcher, lam=1e-2, max_iter=0).fit(X, y)
    assert moved.objective_path_.min() < 0.7 * still.objective_path_[0]
    assert not hasattr(moved, "expansions_")
    with pytest.raises(ValueError, match="one-by-one"):
        SuperSparseRegressor(similarity=matcher, solver="joint").fit(X, y)


@pytest.mark.parametrize("result", [np.zeros((80, 1)), np.full((80, 5), np.nan)])
def test_a_similarity_that_gives_nonsense_is_told(wave, result):
    with pytest.raises(ValueError, match=r"expected finite similarities of shape \(80, 5\)"):
        SuperSparseRegressor(5, similarity=lambda left, right: result).fit(*wave)


def test_prototypes_stay_in_their_box(wave):
    X, y = wave
    for solver in ("joint", "one-by-one"):
        array = np.array([[-0.5, -0.2], [1.0, 0.2]])
        for bounds, low, high in (
            ("data", X.min(0), X.max(0)), ((-0.5, [1.0, 0.2]), -0.5, [1.0, 0.2]), (array, *array)
        ):  # fmt: skip
            model = SuperSparseRegressor(5, bounds=bounds, solver=solver, lam=1e-6, max_iter=30).fit(X, y)
            assert (model.prototypes_ >= low).all()
            assert (model.prototypes_ <= high).all()


@pytest.mark.parametrize("max_iter", [0, 5])
def test_a_given_start_is_brought_into_the_box(wave, max_iter):
    X, y = wave
    model = SuperSparseRegressor(2, start=np.array([[9.0, 0], [0, -9]]), bounds=(-1, 1), max_iter=max_iter)
    assert np.abs(model.fit(X, y).prototypes_).max() <= 1


def test_expansions_are_the_function_but_for_its_intercept(wave):
    X, y = wave
    similarity = KernelSum(
        (np.array([0]), np.array([1, 0])), (Kernel("rbf", 1.0), Kernel("poly", 0.5)), (0.3, 0.7)
    )
    for model in (
        SuperSparseRegressor(4, similarity=similarity, max_iter=10).fit(X, y),
        SuperSparseRegressor(4, max_iter=10).fit(X, y),
    ):
        shares = evaluate(model.expansions_, X)
        np.testing.assert_allclose(shares + model.intercept_, model.predict(X), atol=1e-12)


def test_a_row_of_weight_2_is_a_row_twice(wave):
    X, y = wave
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    settings = {"start": X[:5], "max_iter": 20}
    weighted = SuperSparseRegressor(5, **settings).fit(X, y, sample_weight=weights)
    repeated = SuperSparseRegressor(5, **settings).fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


def test_the_path_drops_the_smallest_coefficients_and_goes_on_from_there(wave):
    X, y = wave
    fits = list(prototype_path(SuperSparseRegressor(max_iter=0), X, y, [8, 5, 2]))
    assert [len(fit.coef_) for fit in fits] == [8, 5, 2]
    for larger, smaller in pairwise(fits):
        largest = np.sort(np.argsort(-np.abs(larger.coef_))[: len(smaller.coef_)])
        np.testing.assert_array_equal(smaller.prototypes_, larger.prototypes_[largest])
    moved = [fit.objective_path_.min() for fit in prototype_path(SuperSparseRegressor(), X, y, [8, 5, 2])]
    assert moved == sorted(moved)
    for sizes in ([], [3, 3], [2, 5], [1, 0]):
        with pytest.raises(ValueError, match="decreasing"):
            prototype_path(SuperSparseRegressor(), X, y, sizes)


def test_degenerate_cases(wave):
    X, y = wave
    constant = SuperSparseRegressor(3).fit(X, np.full(80, 7.0))
    np.testing.assert_allclose(constant.predict(X), 7)
    few = SuperSparseRegressor(10).fit(X[:3], y[:3])
    assert len(few.prototypes_) == 3
    same = SuperSparseRegressor(4).fit(np.ones((9, 2)), y[:9])
    np.testing.assert_allclose(same.predict(np.ones((1, 2))), y[:9].mean())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_prototypes": 0}, "n_prototypes >= 1"),
        ({"n_prototypes": 2.5}, "n_prototypes >= 1"),
        ({"max_iter": -1}, "max_iter >= 0"),
        ({"lam": 0}, "lam > 0"),
        ({"step": np.inf}, "step > 0"),
        ({"tol": -1}, "tol >= 0"),
        ({"start": "best"}, "a start among"),
        ({"start": np.zeros((3, 2))}, r"shape \(10, 2\), got \(3, 2\)"),
        ({"solver": "newton"}, "expected solver"),
        ({"bounds": "box"}, "expected bounds"),
        ({"bounds": (1, -1)}, "expected bounds"),
        ({"bounds": (0, [1, 2, 3])}, "expected bounds"),
        ({"bounds": (0, [1, np.nan])}, "expected bounds"),
        ({"similarity": "rbfs"}, "unknown kernel 'rbfs'"),
    ],
)
def test_wrong_parameters_are_told(wave, settings, message):
    with pytest.raises(ValueError, match=message):
        SuperSparseRegressor(**settings).fit(*wave)


@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(80), np.zeros(80)])
def test_wrong_weights_are_told(wave, weights):
    with pytest.raises(ValueError, match="80 sample weights >= 0"):
        SuperSparseRegressor().fit(*wave, sample_weight=weights)
