"""BetaSVMClassifier against independent solvers of both problems, its starts and its limiting cases."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import BetaSVMClassifier, beta_svm
from models.kernels import Kernel


@pytest.fixture
def moons():
    """120 rows (n, 2) in two moons, and their classes 0 and 1 as float64."""
    X, y = make_moons(120, noise=0.15, random_state=0)
    return X, y.astype(float)


@parametrize_with_checks(
    [BetaSVMClassifier(), BetaSVMClassifier(start="standard", kernel="linear", balanced=True)]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def hinge(z):
    return np.maximum(0, 1 - z)


def smallest_risk(margins, costs):
    """The optimal value of P2's linear program over u, by scipy."""
    found = linprog(
        costs * (hinge(-margins) - hinge(margins)),
        A_eq=(costs * margins)[None],
        b_eq=[0.0],
        bounds=(0, 1),
        method="highs",
    )
    assert found.success
    return found.fun


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 40),
    scale=st.sampled_from([0.3, 1.0, 3.0]),
    positive=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    rounded=st.booleans(),
    even_costs=st.booleans(),
)
def test_sorting_solves_the_linear_program_as_scipy_does(seed, n, scale, positive, rounded, even_costs):
    random = np.random.default_rng(seed)
    margins = np.abs(random.normal(scale=scale, size=n)) * np.where(random.random(n) < positive, 1, -1)
    if rounded:  # ties, and margins of 0 and 1
        margins = margins.round()
    costs = np.ones(n) if even_costs else random.uniform(0.1, 5, n)
    before = random.uniform(0, 1, n)
    u = beta_svm.doubt(margins, costs, before)
    assert ((u >= 0) & (u <= 1)).all()
    np.testing.assert_array_equal(u[margins == 0], before[margins == 0])
    size = 1 + (costs * np.abs(margins)).sum()
    assert abs(costs @ (u * margins)) <= 1e-10 * size
    if n:
        risk = (costs * u) @ (hinge(-margins) - hinge(margins))
        assert risk == pytest.approx(smallest_risk(margins, costs), abs=1e-7 * size)


@pytest.mark.parametrize("seed", range(5))
def test_confidences_reconsidered_are_those_of_the_papers_linear_program(seed):
    """P2: the least beta-risk with the SVM's decisions, where the doubt in the likelier labels balances; of a
    row for which both were as likely, the label is the one that is decided for."""
    random = np.random.default_rng(seed)
    decision, costs = random.normal(0, 2, 30), random.uniform(0.5, 2, 30)
    confidence = np.r_[np.full(10, 0.5), random.uniform(0, 1, 20)]
    found = beta_svm.reconsider(decision, confidence, costs)
    signs = np.where(confidence == 0.5, np.sign(decision), np.sign(confidence - 0.5))
    weights = costs * signs * decision  # sum_i weights_i doubt_i = 0, doubt_i = (1 - s_i) / 2 + s_i beta_i
    program = linprog(
        costs * (hinge(decision) - hinge(-decision)),
        A_eq=(weights * -signs)[None],
        b_eq=[-(weights * (1 + signs) / 2).sum()],
        bounds=(0, 1),
    )
    doubts = np.where(signs > 0, 1 - found, found)
    assert weights @ doubts == pytest.approx(0, abs=1e-9)
    least = program.fun + costs @ hinge(-decision)
    assert costs @ beta_svm.risk(decision, found) == pytest.approx(least)


def test_of_all_minimizers_the_nearest_to_the_confidence_before_is_taken():
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    random = np.random.default_rng(3)
    margins = np.r_[random.uniform(-1, 1, 12), 1.5, -2.0]
    costs, before = random.uniform(0.5, 2, 14), random.uniform(0, 0.5, 14)
    gains = costs * (hinge(-margins) - hinge(margins))
    u = cvxpy.Variable(14)
    within = [u >= 0, u <= 1, (costs * margins) @ u == 0, gains @ u <= smallest_risk(margins, costs) + 1e-9]
    distance = cvxpy.sum_squares(cvxpy.multiply(np.sqrt(costs), u - before))
    cvxpy.Problem(cvxpy.Minimize(distance), within).solve(solver=cvxpy.CLARABEL)
    np.testing.assert_allclose(beta_svm.doubt(margins, costs, before), u.value, atol=1e-4)


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("rbf", 0.7), Kernel("poly", 0.5, 1.0, 2)])
def test_the_svm_on_the_doubled_set_agrees_with_a_general_convex_solver(kernel):
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    random = np.random.default_rng(0)
    rows = random.normal(size=(40, 3))
    confidence = np.r_[0.0, 1.0, random.uniform(0, 1, 38)]
    costs = random.uniform(0.2, 3, 40)
    found = beta_svm.separate(rows, confidence, costs, kernel)
    matrix = kernel.matrix(rows, rows) + 1e-9 * np.eye(40)
    root = np.linalg.cholesky(matrix)
    theta, offset = cvxpy.Variable(40), cvxpy.Variable()
    h = root @ theta + offset
    loss = (costs * confidence) @ cvxpy.pos(1 - h) + (costs * (1 - confidence)) @ cvxpy.pos(1 + h)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(theta) / 2 + loss))
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    assert found.objective == pytest.approx(problem.value, rel=1e-6)
    assert found.gap <= 1e-6
    np.testing.assert_allclose(found.decide(rows) - found.intercept, root @ theta.value, atol=2e-3)


def test_a_looser_solver_comes_within_its_gap():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 80)), random.uniform(size=60)
    exact, loose = (
        BetaSVMClassifier(kernel="linear", start="proportions", max_iter=1, solver_tol=tol).fit(X, y)
        for tol in (1e-6, 1e-2)
    )
    assert exact.optimality_ < 1e-6 < loose.optimality_ < 1e-2
    excess = loose.objective_path_[0] - exact.objective_path_[0]
    assert 0 < excess <= 60 * loose.optimality_


@settings(max_examples=25)
@example(seed=137, n=22, start="k-nn", kernel_and_C=("linear", 30.0), keep_certain=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 40),
    start=st.sampled_from(beta_svm.STARTS),
    # in few columns libsvm takes seconds to minutes for a linear kernel with a large C
    kernel_and_C=st.sampled_from(
        [("linear", 0.1), ("linear", 1.0), ("rbf", 0.1), ("rbf", 1.0), ("rbf", 30.0)]
    ),
    keep_certain=st.sampled_from([None, True, False]),
)
def test_the_objective_never_rises_and_every_svm_is_certified(seed, n, start, kernel_and_C, keep_certain):
    kernel, C = kernel_and_C
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2)).round(1)
    y = (X[:, 0] + random.normal(size=n) > 0).astype(float)
    if start == "proportions":
        y = random.uniform(size=n)
    elif start == "experts":
        y = random.integers(0, 2, (n, 3)).astype(float)
    y[random.random(n) < 0.3] = np.nan
    y[0] = 1.0
    model = BetaSVMClassifier(C=C, kernel=kernel, start=start, keep_certain=keep_certain).fit(X, y)
    assert (np.diff(model.objective_path_) <= 0).all()
    assert len(model.objective_path_) == model.n_iter_ <= 20
    assert model.optimality_ <= 1e-6
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    h = model.decision_function(X)
    alone = model.expansion_.evaluate(model.expansion_.support) @ model.expansion_.coefficients / 2
    known = ~np.isnan(y).all(axis=1) if y.ndim == 2 else ~np.isnan(y)
    costs = C * np.where(known, 1.0, known.mean())
    assert alone + costs @ beta_svm.risk(h, model.confidence_) == pytest.approx(model.objective_path_[-1])


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_one_round_on_labels_is_an_ordinary_svm(moons, C):
    X, y = moons
    ours = BetaSVMClassifier(C=C, start="standard", max_iter=1, kernel_params={"gamma": 2.0}).fit(X, y)
    theirs = SVC(C=C, gamma=2.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    # with labels that all keep their confidence there is nothing to reconsider
    trusting = BetaSVMClassifier(C=C, kernel_params={"gamma": 2.0}).fit(X, y)
    np.testing.assert_array_equal(trusting.decision_function(X), ours.decision_function(X))
    assert trusting.n_iter_ == 1


def test_balanced_classes_weigh_alike_however_few_rows_one_has(moons):
    """scikit-learn's class weights balance what is known of all rows."""
    X, y = moons
    kept = np.flatnonzero((y == 0) | (np.cumsum(y) <= 8))
    X, y = X[kept], y[kept]
    options = {"C": 0.5, "kernel_params": {"gamma": 1.0}, "max_iter": 1, "start": "standard"}
    svm = SVC(C=0.5, gamma=1.0, class_weight="balanced", tol=1e-6).fit(X, y)
    values = BetaSVMClassifier(balanced=True, **options).fit(X, y).decision_function(X)
    np.testing.assert_allclose(values, svm.decision_function(X), atol=1e-4)
    shares = np.where(y == 1, 0.9, 0.1)
    found = BetaSVMClassifier(balanced=True, **options | {"start": "proportions"}).fit(X, shares)
    weights = shares / (2 * shares.mean()) + (1 - shares) / (2 * (1 - shares.mean()))
    rows = beta_svm.separate(X, shares, 0.5 * weights, Kernel("rbf", gamma=1.0))
    np.testing.assert_allclose(found.decision_function(X), rows.decide(X), atol=1e-9)
    assert weights.mean() == pytest.approx(1)


def test_balance_is_that_of_the_rows_that_say_something(moons, monkeypatch):
    X, y = moons
    y = np.where(np.arange(120) % 3 == 0, y, np.nan)
    y[np.flatnonzero(y == 1)[5:]] = np.nan
    seen, separate = [], beta_svm.separate
    monkeypatch.setattr(
        beta_svm, "separate", lambda *given: (seen.append(given[2]), separate(*given))[1]
    )
    BetaSVMClassifier(balanced=True, max_iter=1).fit(X, y)
    (costs,) = seen
    known = np.isfinite(y)
    assert known.sum() < 30
    assert costs[known & (y == 1)].sum() == pytest.approx(costs[known & (y == 0)].sum())
    np.testing.assert_allclose(costs[~known], known.mean())  # silent ones are of neither class


def test_unlabelled_rows_help():
    gains = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        y = np.repeat([0.0, 1.0], 100)
        X = random.normal(size=(200, 6))
        X[:, 0] += 4 * y - 2
        few = np.full(200, np.nan)
        for k in (0, 1):
            few[random.choice(np.flatnonzero(y == k), 3, replace=False)] = k
        labelled = ~np.isnan(few)
        alone = SVC(kernel="linear").fit(X[labelled], few[labelled])
        model = BetaSVMClassifier(kernel="linear").fit(X, few)
        np.testing.assert_array_equal(model.confidence_[labelled], few[labelled])
        gains.append((model.predict(X) == y).mean() - (alone.predict(X) == y).mean())
    assert np.mean(gains) > 0.02


def test_confidences_at_the_start(moons):
    X, y = moons

    def begun(start, y, **settings):
        model = BetaSVMClassifier(start=start, max_iter=1, **settings).fit(X, y)
        return model.confidence_

    y[5] = np.nan
    assert begun("semi-supervised", y)[5] == begun("standard", y)[5] == 0.5
    distances = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(120, np.inf))
    distances[:, 5] = np.inf  # has no label
    nearest = np.argsort(distances, axis=1)[:, :4]
    np.testing.assert_array_equal(begun("k-nn", y), y[nearest].mean(axis=1))
    bags = np.where(np.arange(120) < 60, 0.2, 0.7)
    bags[0] = np.nan
    np.testing.assert_array_equal(begun("proportions", bags), np.r_[0.5, bags[1:]])
    votes = np.column_stack([y, y, 1 - y])
    votes[9] = [1, np.nan, np.nan]
    mean = begun("experts", votes)
    np.testing.assert_allclose(mean[:5], np.where(y[:5] == 1, 2 / 3, 1 / 3))
    assert mean[5] == 0.5
    assert mean[9] == 1


def test_where_few_rows_have_a_label_all_others_are_neighbours():
    rows, positive = np.arange(4.0)[:, None], np.array([True, False, True, False])
    labelled = np.array([True, True, True, False])
    np.testing.assert_array_equal(beta_svm.neighbour_share(rows, positive, labelled, 4), [0.5, 1, 0.5, 0.5])
    np.testing.assert_array_equal(beta_svm.neighbour_share(rows, positive, positive, 1), [1, 1, 1, 1])
    np.testing.assert_array_equal(beta_svm.neighbour_share(rows, positive, np.arange(4) == 0, 4), 0.5)


def test_bags_of_known_shares_are_enough_to_separate_the_classes(moons):
    X, y = moons
    random = np.random.default_rng(0)
    order = np.concatenate([random.permutation(np.flatnonzero(y == k)) for k in (0, 1)])
    bags = np.empty(120)
    for k, part in enumerate(np.array_split(order, 6)):  # pure bags but for a swapped fifth
        bags[part] = 0.2 if k < 3 else 0.8
    model = BetaSVMClassifier(C=10.0, start="proportions", kernel_params={"gamma": 3.0}).fit(X, bags)
    assert (model.predict(X) == y).mean() > 0.95
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_rounds_end_when_no_confidence_changes_by_more_than_the_tolerance(moons):
    X, y = moons
    y[5:] = np.nan
    rounds = [BetaSVMClassifier(tol=tol).fit(X, y).n_iter_ for tol in (1e-3, 1.0)]
    assert rounds[0] > rounds[1] == 1


def test_certain_rows_keep_their_confidence_where_asked(moons):
    X, y = moons
    votes = np.column_stack([y, y])
    votes[::4, 1] = 1 - votes[::4, 1]  # split
    kept = BetaSVMClassifier(start="experts", keep_certain=True).fit(X, votes)
    unanimous = votes[:, 0] == votes[:, 1]
    np.testing.assert_array_equal(kept.confidence_[unanimous], y[unanimous])
    assert (kept.confidence_[~unanimous] != 0.5).all()
    shares = np.where(np.arange(120) % 4 == 0, 0.3, y)
    kept = BetaSVMClassifier(start="proportions", keep_certain=True).fit(X, shares)
    np.testing.assert_array_equal(kept.confidence_[shares != 0.3], y[shares != 0.3])
    assert (kept.confidence_[shares == 0.3] != 0.3).all()


@pytest.mark.parametrize("start", ["semi-supervised", "standard", "k-nn"])
def test_one_class_is_predicted_everywhere(moons, start):
    X, _ = moons
    for n_labels in (1, 10):
        y = np.where(np.arange(120) < n_labels, 7.0, np.nan)
        model = BetaSVMClassifier(start=start).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), 7.0)
        np.testing.assert_array_equal(model.confidence_, 0)  # 7 is no second class
        assert model.optimality_ == 0


def test_identical_rows_and_a_single_label_of_each_class(moons):
    X = np.zeros((6, 2))
    y = np.array([0.0, 1.0, *[np.nan] * 4])
    model = BetaSVMClassifier().fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_the_gaussian_scale_is_the_mean_distance(moons):
    X, y = moons
    model = BetaSVMClassifier(max_iter=1).fit(X, y)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    scale = distances.sum() / (120 * 119)
    np.testing.assert_allclose(model.expansion_.kernel.gamma, 1 / scale)
    matrix = rbf_kernel(X, model.expansion_.support, 1 / scale)
    expected = matrix @ model.expansion_.coefficients + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected)


def test_the_scale_of_a_polynomial_is_that_of_scikit_learn(moons):
    assert BetaSVMClassifier(kernel="poly", max_iter=1).fit(*moons).expansion_.kernel.gamma == 1 / 2


def test_the_mean_distance_is_that_of_evenly_spaced_rows(monkeypatch):
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    assert beta_svm.mean_distance(rows) == pytest.approx(np.mean([1, 2, 3, 10, 1, 2, 9, 1, 8, 7]))
    monkeypatch.setattr(beta_svm, "SCALE_ROWS", 3)
    assert beta_svm.mean_distance(rows) == pytest.approx(np.mean([2, 10, 8]))
    assert beta_svm.mean_distance(rows[:1]) == beta_svm.mean_distance(np.ones((4, 2))) == 1


def test_classes_of_any_kind_with_missing_ones(moons):
    X, y = moons
    names = np.array(["calm", "crowded"], object)[y.astype(int)]
    names[::3] = None
    model = BetaSVMClassifier(C=10.0).fit(X, names)
    assert list(model.classes_) == ["calm", "crowded"]
    assert (model.predict(X) == np.where(y == 1, "crowded", "calm")).mean() > 0.9


def test_works_in_pipeline_grid_search_and_clone(moons):
    X, y = moons
    pipeline = make_pipeline(StandardScaler(), BetaSVMClassifier(start="k-nn"))
    search = GridSearchCV(pipeline, {"betasvmclassifier__C": [0.1, 1]}, cv=3)
    search.fit(X, y)
    assert clone(search.best_estimator_[-1]).get_params()["start"] == "k-nn"


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"C": 0.0}, [0, 1], "finite C > 0"),
        ({"C": np.inf}, [0, 1], "finite C > 0"),
        ({"tol": 0.0}, [0, 1], "finite tol > 0"),
        ({"max_iter": 0}, [0, 1], "max_iter >= 1"),
        ({"n_neighbors": 0.5}, [0, 1], "n_neighbors >= 1"),
        ({"start": "best"}, [0, 1], "expected a start among"),
        ({"keep_certain": "yes"}, [0, 1], "keep_certain"),
        ({"kernel": "chi2"}, [0, 1], "expected a kernel among linear, poly, rbf"),
        ({"kernel_params": {"width": 1}}, [0, 1], "unknown kernel parameters"),
        ({}, [np.nan, np.nan], "at least one label"),
        ({}, [0, 1, 2], "Only binary"),
        ({"start": "proportions"}, [0, 30], "shares from 0 to 1 or NaN in y, got values from 0 to 30"),
        ({"start": "proportions"}, [-0.5, 1], "shares from 0 to 1 or NaN in y, got values from -0.5 to 1"),
        ({"start": "proportions"}, [np.nan, np.nan], "at least one label"),
        ({"start": "experts"}, [[np.nan], [np.nan]], "at least one vote"),
        ({"start": "experts"}, [[0, 2], [1, 1]], "votes 0, 1 or NaN"),
    ],
)
def test_wrong_settings_and_labels_are_named(settings, y, message):
    X = np.arange(2.0 * len(y)).reshape(len(y), 2)
    with pytest.raises(ValueError, match=message):
        BetaSVMClassifier(**settings).fit(X, y)
