"""HuberLossRegressor against independent solves, the paper's propositions and its limiting cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import HuberLossRegressor, hlr, objective

VIEWS = [[0, 1, 2], [3, 4], [5, 6, 7]]
QUADRATIC = {"kernel": "poly", "kernel_params": {"degree": 2, "gamma": 0.5}}


@pytest.fixture
def rows_and_labels():
    """60 rows, 40 labels, four of them 20 too high."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 8))
    y = 3 * X[:, 0] - X[:, 4] * X[:, 3] + X[:, 6] + random.normal(size=60) / 4
    y[:4] += 20
    y[40:] = np.nan
    return X, y


@parametrize_with_checks([HuberLossRegressor(), HuberLossRegressor(kernel="rbf")])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def dense_theorem_1(y, kept, matrices, M, weights, lam, gamma):
    """w (n, m) and h (n,) from the (m n) x (m n) system of Theorem 1, all kept residuals being quadratic."""
    n, m = len(y), len(matrices)
    K = block_diag(*matrices)
    C = np.kron(np.asarray(weights)[None, :], np.eye(n))  # h = C K w
    J = np.diag(kept.astype(float))
    left = C.T @ J @ C @ K + 2 * kept.sum() * (gamma * M @ K + lam * np.eye(m * n))
    w = np.linalg.solve(left, C.T @ J @ np.where(kept, y, 0))
    return w.reshape(m, n).T, C @ K @ w


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("between", ["full", "diagonal", None])
@pytest.mark.parametrize("gamma", [0.0, 0.02])
@pytest.mark.parametrize("views", [None, VIEWS[:2], VIEWS])
def test_agrees_with_a_dense_solve_of_theorem_1(
    rows_and_labels, dense_manifold, solver, between, gamma, views
):
    X, y = rows_and_labels
    model = HuberLossRegressor(
        views=views, **QUADRATIC, lam=0.01, gamma=gamma, between_views=between, n_neighbors=4, solver=solver
    ).fit(X, y)
    assert model.n_iter_ > 0
    views = [list(range(8))] if views is None else views
    matrices = [pairwise_kernels(X[:, v], metric="poly", degree=2, gamma=0.5) for v in views]
    weights = np.full(len(views), 1 / len(views))
    M = dense_manifold(X, views, between, 4)
    _, h = dense_theorem_1(y, model.labelled_, matrices, M, weights, 0.01, gamma)
    np.testing.assert_allclose(model.predict(X), h, atol=1e-9)
    assert model.optimality_ <= 1e-12


@pytest.mark.parametrize("gamma", [0.0, 0.02])
def test_dual_coefficients_are_those_of_theorem_1(rows_and_labels, dense_manifold, gamma):
    X, y = rows_and_labels
    weights = [0.5, 0.2, 0.3]
    model = HuberLossRegressor(
        views=VIEWS, kernel="rbf", kernel_params=[{"gamma": 0.5}, {"gamma": 2.0}, {}], view_weights=weights,
        lam=0.01, gamma=gamma, n_neighbors=4,
    ).fit(X, y)  # fmt: skip
    matrices = [
        pairwise_kernels(X[:, v], metric="rbf", gamma=g)
        for v, g in zip(VIEWS, [0.5, 2.0, 1 / 3], strict=True)
    ]
    M = dense_manifold(X, VIEWS, "full", 4)
    w, h = dense_theorem_1(y, model.labelled_, matrices, M, weights, 0.01, gamma)
    np.testing.assert_allclose(model.dual_coef_, w, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), h, atol=1e-10)
    assert model.optimality_ <= 1e-12


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_is_the_minimizer_that_a_general_solver_finds_for_the_huber_loss(rows_and_labels, solver):
    X, y = rows_and_labels
    model = HuberLossRegressor(lam=0.01, gamma=0, delta_xi=4.0, n_refinements=3, solver=solver).fit(X, y)
    assert model.n_iter_ > 0
    kept = model.labelled_

    def huber_objective(theta):
        r = y[kept] - X[kept] @ theta
        loss = np.where(np.abs(r) <= model.xi_, r**2 / 2, model.xi_ * np.abs(r) - model.xi_**2 / 2)
        return loss.mean() + 0.01 * theta @ theta

    found = minimize(huber_objective, np.ones(8), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(model.predict(X), X @ found.x, atol=1e-5)


@pytest.mark.parametrize("lam", [1e-7, 1e-3])
@pytest.mark.parametrize("gamma", [0.0, 1e-3])
@pytest.mark.parametrize("labels", [12, 40])
def test_primal_and_dual_agree(rows_and_labels, lam, gamma, labels):
    X, y = rows_and_labels
    y[labels:] = np.nan
    settings = dict(views=VIEWS, **QUADRATIC, lam=lam, gamma=gamma, delta_xi=1.0, n_refinements=5)
    primal, dual = (HuberLossRegressor(**settings, solver=s).fit(X, y) for s in ("primal", "dual"))
    np.testing.assert_allclose(primal.predict(X), dual.predict(X), atol=1e-8 * np.nanmax(np.abs(y)))
    np.testing.assert_array_equal(primal.removed_at_, dual.removed_at_)
    assert max(primal.optimality_, dual.optimality_) <= 1e-8


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    delta_xi=st.one_of(st.just("auto"), st.floats(0.01, 2)),
    lam=st.sampled_from([1e-10, 1e-4, 1.0]),
    gamma=st.sampled_from([0.0, 1e-3]),
    solver=st.sampled_from(["primal", "dual"]),
)
def test_propositions_1_and_2(seed, n, delta_xi, lam, gamma, solver):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).round(1)
    y = random.standard_t(2, size=n)
    y[random.uniform(size=n) < 0.2] = np.nan
    y[0] = 1.0
    model = HuberLossRegressor(
        views=[[0, 1], [2]], lam=lam, gamma=gamma, delta_xi=delta_xi, n_refinements=6, solver=solver
    ).fit(X, y)
    assert (np.diff(model.xi_path_) < 0).all()
    assert model.xi_ == model.xi_path_[-1]
    assert len(model.xi_path_) == model.n_iter_ + 1
    residuals = np.abs(y - model.predict(X))
    largest = np.nanmax(np.abs(y))
    assert residuals[model.labelled_].max() == pytest.approx(model.xi_, abs=1e-8 * largest)
    assert model.optimality_ <= 1e-8
    labelled = ~np.isnan(y)
    np.testing.assert_array_equal(model.labelled_, labelled & (model.removed_at_ == -1))
    assert set(model.removed_at_[~labelled]) <= {-1}
    assert set(model.removed_at_[labelled]) <= {-1, *range(1, model.n_iter_ + 1)}


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "chi2"])
def test_without_refinements_and_manifold_it_is_kernel_ridge(rows_and_labels, kernel):
    X, y = np.abs(rows_and_labels[0][:40]), rows_and_labels[1][:40]
    ours = HuberLossRegressor(kernel=kernel, lam=0.01, gamma=0, n_refinements=0).fit(X, y)
    # J/2 = |y - h|^2 / (4 l) + …: scikit-learn's alpha is 2 l lam
    gamma = 1.0 if kernel == "chi2" else None
    theirs = KernelRidge(alpha=2 * 40 * 0.01, kernel=kernel, gamma=gamma).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    assert ours.labelled_.all()


def test_a_huge_step_of_the_threshold_ends_at_once(rows_and_labels):
    X, y = rows_and_labels
    model = HuberLossRegressor(delta_xi=1e6).fit(X, y)
    assert model.n_iter_ == 0
    assert model.labelled_.sum() == 40


def test_refinements_that_would_leave_no_label_are_not_made():
    X = np.ones((4, 1))
    model = HuberLossRegressor(gamma=0, delta_xi=0.5).fit(X, [-1.0, -1.0, 1.0, 1.0])
    assert model.n_iter_ == 0
    assert model.labelled_.all()
    np.testing.assert_allclose(model.predict(X), 0)


@pytest.mark.parametrize("lam", [1e-10, 1e-3])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize(
    "case", ["constant y", "zero y", "one label", "one row", "duplicate rows", "constant column", "far apart"]
)
def test_degenerate_data_are_fitted_exactly(rows_and_labels, case, kernel, lam):
    X, y = rows_and_labels
    if case == "constant y":
        y = np.full(60, 5.0)
    elif case == "zero y":
        y = np.zeros(60)
    elif case == "one label":
        y = np.where(np.arange(60) == 3, 7.0, np.nan)
    elif case == "one row":
        X, y = X[:1], y[:1]
    elif case == "duplicate rows":
        X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    elif case == "constant column":
        X = np.column_stack([X[:, :7], np.ones(60)])
    else:
        X = X + np.where(np.arange(60) < 30, 0, 50)[:, None]  # two components of the graph
    model = HuberLossRegressor(views=VIEWS, kernel=kernel, lam=lam, gamma=lam / 10).fit(X, y)
    assert model.optimality_ <= 1e-8
    assert np.isfinite(model.predict(X)).all()
    if case == "zero y":
        np.testing.assert_array_equal(model.predict(X), 0)
    elif case == "constant y" and kernel == "poly" and lam == 1e-10:
        np.testing.assert_allclose(model.predict(X), 5, atol=1e-3)


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps == np.finfo(float).eps, reason="this machine has no extended precision"
)
@pytest.mark.parametrize("gamma", [0.0, 1e-4])
def test_a_violation_by_rounding_is_polished_away(rows_and_labels, monkeypatch, gamma):
    X, y = rows_and_labels
    nearly_sums = X @ np.ones((8, 4)) + 1e-6 * np.random.default_rng(1).normal(size=(60, 4))
    X = np.column_stack([X, nearly_sums])
    settings = {"lam": 1e-3, "gamma": gamma, "solver": "primal"}
    rounded = HuberLossRegressor(**settings).fit(X, y)
    assert rounded.optimality_ > 1e-11
    monkeypatch.setattr(hlr, "CERTIFIED", 1e-11)
    polished = HuberLossRegressor(**settings).fit(X, y)
    assert polished.optimality_ < rounded.optimality_ / 30
    assert (polished.coef_ != rounded.coef_).any()  # what is certified is what predicts
    np.testing.assert_allclose(polished.predict(X), rounded.predict(X), atol=1e-11)


def test_a_hopelessly_scaled_problem_says_so(rows_and_labels):
    X, y = rows_and_labels
    with pytest.warns(ConvergenceWarning, match=r"violates the optimality condition .* raise lam or scale X"):
        HuberLossRegressor(**QUADRATIC, lam=1e-10, gamma=0, solver="dual").fit(X * 1e4 + 1e5, y)


@pytest.mark.parametrize("n_landmarks", [None, 100])
def test_what_rounding_makes_of_the_sum_of_kernel_values_is_part_of_the_violation(n_landmarks):
    """In its features the fit is exact; the sum that predicts has huge coefficients of either sign."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = np.sin(X[:, 0]) + X[:, 1] + random.normal(size=300)
    settings = {"kernel": "rbf", "kernel_params": {"gamma": 0.01}, "gamma": 0, "n_landmarks": n_landmarks}
    assert HuberLossRegressor(**settings, lam=1e-3).fit(X, y).optimality_ <= 1e-8
    with pytest.warns(ConvergenceWarning, match="too ill-conditioned; raise lam"):
        HuberLossRegressor(**settings, lam=1e-14).fit(X, y)


@pytest.mark.parametrize("n_landmarks", [None, 100])
def test_the_violation_is_relative_to_the_labels_and_grows_with_the_weight(n_landmarks):
    """Theorem 1's right-hand side is s c. All by powers of two, which rounding does not notice."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = np.sin(X[:, 0]) + X[:, 1] + random.normal(size=120)

    def violation(y, weight=1.0, lam=2.0**-20):
        settings = {"kernel": "rbf", "kernel_params": {"gamma": 0.01}, "gamma": 0, "n_refinements": 0}
        model = HuberLossRegressor(**settings, n_landmarks=n_landmarks, view_weights=[weight], lam=lam)
        return model.fit(X, y).optimality_

    usual = violation(y)
    assert usual > 0
    assert violation(-(2.0**20) * y) == pytest.approx(usual)
    assert violation(y, weight=-4.0, lam=2.0**-16) == pytest.approx(4 * usual)


def test_values_that_overflow_are_refused(rows_and_labels):
    X, y = rows_and_labels
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="scale the columns of X"):
        HuberLossRegressor(**QUADRATIC).fit(X * 1e90, y)


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
@pytest.mark.parametrize(("degree", "is_primal"), [(1, True), (2, None), (3, False)])
def test_auto_takes_the_smaller_of_both_forms(rows_and_labels, degree, is_primal, gamma):
    """Of degree 2 there are 45 features: fewer than all 60 rows, more than the 40 labelled ones."""
    settings = {"kernel": "poly", "kernel_params": {"degree": degree}, "lam": 0.1, "gamma": gamma}
    is_primal = gamma > 0 if is_primal is None else is_primal
    for solver, expected in (("auto", is_primal), ("primal", True), ("dual", False)):
        model = HuberLossRegressor(**settings, solver=solver).fit(*rows_and_labels)
        assert (hasattr(model, "coef_"), hasattr(model, "dual_coef_")) == (expected, not expected)


def test_a_second_fit_forgets_the_first(rows_and_labels):
    model = HuberLossRegressor(solver="dual").fit(*rows_and_labels)
    assert hasattr(model, "dual_coef_")
    model.set_params(solver="primal").fit(*rows_and_labels)
    assert hasattr(model, "coef_")
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_auto_finds_the_wrong_labels_and_only_those(rows_and_labels, solver):
    X, y = rows_and_labels
    model = HuberLossRegressor(views=VIEWS, **QUADRATIC, lam=0.01, gamma=0.001, solver=solver).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.removed_at_ > 0), range(4))
    clean = HuberLossRegressor(views=VIEWS, **QUADRATIC, lam=0.01, gamma=0.001).fit(X[4:], y[4:])
    assert clean.n_iter_ == 0
    np.testing.assert_allclose(model.predict(X), clean.predict(X), atol=0.3)


def test_expanding_blocks_anew_changes_nothing(rows_and_labels, monkeypatch):
    X, y = np.tile(rows_and_labels[0], (5, 1)), np.tile(rows_and_labels[1], 5)
    settings = dict(**QUADRATIC, lam=1e-4, gamma=0, delta_xi=0.1)
    held = HuberLossRegressor(**settings).fit(X, y)
    monkeypatch.setattr(hlr, "HELD_VALUES", 0)
    monkeypatch.setattr(objective, "BLOCK_ROWS", 64)
    blocks = HuberLossRegressor(**settings).fit(X, y)
    assert blocks.n_iter_ == held.n_iter_ > 0
    np.testing.assert_allclose(blocks.predict(X), held.predict(X), atol=1e-9)
    assert blocks.optimality_ <= 1e-8


def test_beyond_the_limit_evenly_spaced_rows_carry_the_manifold(rows_and_labels, monkeypatch):
    X, y = rows_and_labels
    settings = dict(views=VIEWS, **QUADRATIC, lam=1e-3, gamma=1e-3)
    monkeypatch.setattr(hlr, "GRAPH_ROWS", 30)
    model = HuberLossRegressor(**settings).fit(X, y)
    assert len(model.graph_rows_) == 30
    assert set(np.diff(model.graph_rows_)) == {2, 3}
    np.testing.assert_array_equal(model.graph_rows_[[0, -1]], [0, 59])
    assert model.optimality_ <= 1e-8
    # rows outside of the graph and without a label have no part in the fit
    used = np.union1d(model.graph_rows_, np.arange(40))
    X[np.setdiff1d(np.arange(60), used)] = 1e3
    np.testing.assert_allclose(HuberLossRegressor(**settings).fit(X, y).coef_, model.coef_)
    with pytest.raises(ValueError, match="expected"):
        HuberLossRegressor(kernel="rbf", gamma=-1).fit(X, y)


def test_views_may_be_slices_masks_or_indices(rows_and_labels):
    X, y = rows_and_labels
    mask = np.arange(8) < 3
    fits = [
        HuberLossRegressor(views=views).fit(X, y).predict(X)
        for views in ([[0, 1, 2], [3, 4, 5, 6, 7]], [slice(3), slice(3, None)], [mask, ~mask])
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])


def test_works_in_pipeline_grid_search_and_clone(rows_and_labels):
    X, y = rows_and_labels
    pipeline = make_pipeline(StandardScaler(), HuberLossRegressor(views=VIEWS, **QUADRATIC))
    search = GridSearchCV(pipeline, {"huberlossregressor__lam": [1e-4, 1e-1]}, cv=4)
    search.fit(X[:40], y[:40])
    assert set(search.best_params_) == {"huberlossregressor__lam"}
    assert clone(search.best_estimator_[-1]).get_params()["views"] == VIEWS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": 0.0}, "lam > 0"),
        ({"lam": np.nan}, "lam > 0"),
        ({"gamma": -1.0}, "gamma >= 0"),
        ({"n_refinements": -1}, "n_refinements >= 0"),
        ({"n_neighbors": 0}, "n_neighbors >= 1"),
        ({"delta_xi": 0}, "delta_xi > 0"),
        ({"delta_xi": "best"}, "delta_xi > 0"),
        ({"between_views": "some"}, "between_views"),
        ({"solver": "fast"}, "solver"),
        ({"solver": "primal", "kernel": "rbf"}, "linear or poly"),
        ({"kernel": "huh"}, "unknown kernel 'huh'"),
        ({"kernel_params": {"width": 1}}, "unknown kernel parameters"),
        ({"kernel": "poly", "kernel_params": {"coef0": -1}}, "coef0 >= 0"),
        ({"kernel": "sigmoid", "kernel_params": {"coef0": -5}}, "positive semi-definite"),
        ({"views": []}, "at least one view"),
        ({"views": [[0], []]}, "at least one view"),
        ({"views": [[0, 8]]}, "8 columns"),
        ({"views": [0, 1]}, "lists of some of the 8 columns of X"),
        ({"views": 3}, "lists of some of the 8 columns of X"),
        ({"views": VIEWS, "kernel": ["linear"]}, "one kernel or one for each of 3 views, got 1"),
        ({"views": VIEWS, "view_weights": [1, 1]}, "one view_weights"),
        ({"views": [[[0, 1], [2, 3]]]}, "one-dimensional list of columns"),
        ({"view_weights": [np.nan]}, "finite view_weights"),
        ({"views": VIEWS, "view_weights": [1, np.nan, 1]}, "finite view_weights"),
    ],
)
def test_wrong_settings_are_named(rows_and_labels, settings, message):
    with pytest.raises(ValueError, match=message):
        HuberLossRegressor(**settings).fit(*rows_and_labels)


def test_y_without_labels_and_too_many_rows_for_the_dual_are_refused(rows_and_labels, monkeypatch):
    X, y = rows_and_labels
    with pytest.raises(ValueError, match="at least one label"):
        HuberLossRegressor().fit(X, np.full(60, np.nan))
    monkeypatch.setattr(hlr, "DUAL_ROWS", 50)
    with pytest.raises(ValueError, match="kernel matrices over 60 rows"):
        HuberLossRegressor(kernel="rbf").fit(X, y)
    HuberLossRegressor(kernel="rbf", gamma=0).fit(X, y)


@pytest.mark.parametrize(("lam", "gamma"), [(1e-10, 1e-11), (1e-5, 1e-6), (1e-7, 0.0)])
def test_certified_on_real_features_with_the_papers_settings(real_features, lam, gamma):
    X, y, views = real_features
    model = HuberLossRegressor(
        views=views,
        kernel="poly",
        kernel_params={"degree": 2},
        lam=lam,
        gamma=gamma,
        delta_xi=0.1,
        n_refinements=3,
    ).fit(X, y)
    assert model.n_iter_ == 3
    assert model.optimality_ <= 1e-8


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
def test_as_many_landmarks_as_rows_change_nothing(rows_and_labels, gamma):
    X, y = rows_and_labels
    settings = {"views": VIEWS, "kernel": ["rbf", "linear", "poly"], "lam": 1e-3, "gamma": gamma}
    exact = HuberLossRegressor(**settings).fit(X, y)
    model = HuberLossRegressor(**settings, n_landmarks=60).fit(X, y)
    assert not len(model.landmarks_)
    np.testing.assert_array_equal(model.predict(X), exact.predict(X))


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
def test_landmarks_restrict_the_function_to_their_kernels(gamma):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    y[3] += 20
    settings = {"views": [[0, 1], [2]], "kernel": ["rbf", "linear"], "lam": 1e-4, "gamma": gamma}
    settings["kernel_params"] = {"gamma": 0.1}
    exact = HuberLossRegressor(**settings).fit(X, y)
    models = [HuberLossRegressor(**settings, n_landmarks=count).fit(X, y) for count in (10, 150)]
    few, many = (np.abs(model.predict(X) - exact.predict(X)).max() for model in models)
    assert many < 1e-2 < few
    for model, count in zip(models, (10, 150), strict=True):
        assert len(model.landmarks_) == len(np.unique(model.landmarks_)) == count
        assert model.optimality_ <= 1e-8
        assert model.removed_at_[3] > 0
        assert len(model.expansions_[0].support) <= count
        assert model.expansions_[1].support is None


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
def test_landmarks_are_spread_evenly_and_never_more_features_than_asked_for(rows_and_labels, gamma):
    """Over the rows that have a part in the fit, also where the kernel has more explicit features."""
    settings = {"kernel": "poly", "kernel_params": {"degree": 3}, "n_landmarks": 10, "gamma": gamma}
    model = HuberLossRegressor(**settings).fit(*rows_and_labels)
    assert len(model.coef_) == 10
    last = 59 if gamma else 39
    np.testing.assert_array_equal(model.landmarks_[[0, -1]], [0, last])
    assert set(np.diff(model.landmarks_)) <= {last // 9, last // 9 + 1}


def test_landmarks_allow_more_rows_than_kernel_matrices_hold(rows_and_labels, monkeypatch):
    monkeypatch.setattr(hlr, "DUAL_ROWS", 50)
    with pytest.raises(ValueError, match="set n_landmarks"):
        HuberLossRegressor(kernel="rbf").fit(*rows_and_labels)
    assert HuberLossRegressor(kernel="rbf", n_landmarks=20).fit(*rows_and_labels).optimality_ <= 1e-8
    with pytest.raises(ValueError, match="n_landmarks >= 1"):
        HuberLossRegressor(n_landmarks=0).fit(*rows_and_labels)
