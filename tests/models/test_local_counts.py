"""Counts as sums of local counts."""

import numpy as np
import pytest
from sklearn.base import clone

from models import CountPredictor, CountRegressor, HuberLossRegressor, local_predictors
from models.kernels import evaluate, grouped

VIEWS = [
    [np.array([0, 1]), np.array([2])],
    [np.array([3, 4]), np.array([5])],
    [np.array([6, 7]), np.array([8])],
]
HLR = HuberLossRegressor(
    kernel="poly", kernel_params={"degree": 2}, lam=1e-4, gamma=0, between_views=None, n_refinements=0
)


def learnt(views, regressor, X, people):
    return local_predictors(views, [regressor], X, people)[0]


@pytest.fixture
def street():
    """120 rows of three parts with three columns each; a part's people show in its own columns only."""
    random = np.random.default_rng(0)
    people = random.poisson([3.0, 6.0, 1.0], (120, 3)).astype(float)
    columns = [
        np.column_stack([n, n**2 / 5, random.normal(size=120)]) + random.normal(0, 0.3, (120, 3))
        for n in people.T
    ]
    return np.hstack(columns), people


def test_is_the_sum_of_one_regression_per_part(street):
    X, people = street
    model = learnt(VIEWS, HLR, X, people)
    separate = sum(
        CountRegressor(clone(HLR).set_params(views=views)).fit(X, counts).predictor_.values(X)
        for views, counts in zip(VIEWS, people.T, strict=True)
    )
    np.testing.assert_allclose(model.values(X), separate, rtol=1e-10)


def test_dots_beat_totals_where_parts_are_noisy(street):
    X, people = street
    totals = people.sum(axis=1)
    local = learnt(VIEWS, HLR, X[:60], people[:60])
    whole = CountRegressor(clone(HLR).set_params(views=[np.arange(9)])).fit(X[:60], totals[:60])
    errors = [np.abs(model.predict(X[60:]) - totals[60:]).mean() for model in (local, whole)]
    assert errors[0] < 0.9 * errors[1]


def test_a_part_that_never_changes_keeps_its_count(street):
    X, people = street
    people = np.column_stack([people[:, 0], people[:, 1], np.full(len(X), 2.0)])
    model = learnt(VIEWS, HLR, X, people)
    without = learnt(VIEWS[:2], HLR, X, people[:, :2])
    np.testing.assert_allclose(model.values(X), without.values(X) + 2)


def test_a_mixture_of_two_predictors(street):
    X, people = street
    one = CountRegressor(clone(HLR).set_params(views=[np.arange(9)])).fit(X, people.sum(axis=1)).predictor_
    other = learnt(VIEWS, HLR, X, people)
    mixture = one.mixed_with(other, 0.6)
    np.testing.assert_allclose(mixture.values(X), 0.4 * one.values(X) + 0.6 * other.values(X))
    restored = CountPredictor.from_arrays(*mixture.to_arrays())
    np.testing.assert_array_equal(restored.predict(X), mixture.predict(X))
    for share in (0, 1):
        with pytest.raises(ValueError, match="positive scale"):
            one.mixed_with(other, share)


def test_predictors_of_other_rows_do_not_mix(street):
    X, people = street
    one, other = (learnt(VIEWS, HLR, X[:n], people[:n]) for n in (100, 120))
    with pytest.raises(ValueError, match="fitted to the same rows"):
        one.mixed_with(other, 0.5)


@pytest.mark.parametrize("n", [0, 1, 700])
def test_groups_of_expansions_have_the_same_sum(street, n):
    X, people = street
    predictor = learnt(VIEWS, HLR, X, people)
    rows = np.random.default_rng(1).normal(size=(n, X.shape[1]))
    groups = grouped(predictor.expansions)
    assert len(groups) == 2 < len(predictor.expansions) == 6
    np.testing.assert_allclose(
        evaluate(groups, rows), evaluate(predictor.expansions, rows), rtol=1e-10, atol=1e-10
    )


def test_expansions_of_other_kernels_stay_alone(street):
    X, people = street
    model = learnt(VIEWS, clone(HLR).set_params(kernel="rbf", kernel_params=None), X, people)
    groups = grouped(model.expansions)
    assert len(groups) == 6
    np.testing.assert_allclose(evaluate(groups, X), evaluate(model.expansions, X))


def test_refuses_counts_of_other_parts_and_missing_ones(street):
    X, people = street
    with pytest.raises(ValueError, match="counts of 3 parts, found 2"):
        learnt(VIEWS, HLR, X, people[:, :2])
    people[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        learnt(VIEWS, HLR, X, people)


def test_several_regressors_are_fitted_as_each_alone(street):
    regressors = [HLR, clone(HLR).set_params(lam=0.1), clone(HLR).set_params(solver="dual")]
    several = local_predictors(VIEWS, regressors, *street)
    for regressor, predictor in zip(regressors, several, strict=True):
        alone = learnt(VIEWS, regressor, *street)
        np.testing.assert_array_equal(predictor.values(street[0]), alone.values(street[0]))
