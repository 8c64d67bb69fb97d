"""Feature maps reproduce their kernels."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from models import kernels
from models.kernels import (
    Expansion,
    ExpansionGroup,
    Kernel,
    KernelSum,
    NumericalMap,
    PolynomialMap,
    evaluate,
    grouped,
)

RANDOM = np.random.default_rng(0)
LEFT, RIGHT = RANDOM.normal(size=(9, 4)), RANDOM.normal(size=(7, 4))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("coef0", [0.0, 1.0, 0.3])
def test_the_polynomial_map_reproduces_the_kernel(degree, coef0):
    kernel = Kernel.resolve("poly", {"degree": degree, "coef0": coef0, "gamma": 0.7}, 4)
    explicit = PolynomialMap(kernel, 4)
    expected = pairwise_kernels(LEFT, RIGHT, metric="poly", degree=degree, coef0=coef0, gamma=0.7)
    np.testing.assert_allclose(
        explicit.transform(LEFT) @ explicit.transform(RIGHT).T, expected, atol=1e-12 * expected.max()
    )
    assert explicit.transform(LEFT).shape == (9, explicit.size)
    coefficients = RANDOM.normal(size=explicit.size)
    combined = explicit.combine(LEFT, coefficients)
    np.testing.assert_allclose(combined, explicit.transform(LEFT) @ coefficients, atol=1e-12)
    expansion = explicit.expansion(np.arange(4), coefficients)
    assert (expansion.form is not None) == (degree <= 2)
    np.testing.assert_allclose(evaluate([expansion], LEFT), combined, atol=1e-12)
    weights = RANDOM.normal(size=7)
    supported = Expansion(np.arange(4), kernel, RIGHT, weights)
    assert (supported.form is not None) == (degree <= 2)
    np.testing.assert_allclose(evaluate([supported], LEFT), expected @ weights, atol=1e-12 * expected.max())


def test_the_linear_map_is_the_identity():
    kernel = Kernel.resolve("linear", None, 4)
    np.testing.assert_array_equal(PolynomialMap(kernel, 4).transform(LEFT), LEFT)
    np.testing.assert_allclose(PolynomialMap(kernel, 4).combine(LEFT, np.arange(4.0)), LEFT @ np.arange(4.0))
    weights = np.arange(7.0)
    supported = Expansion(np.arange(4), kernel, RIGHT, weights)
    assert supported.form is not None
    np.testing.assert_allclose(evaluate([supported], LEFT), LEFT @ RIGHT.T @ weights)


def test_a_short_support_stays_what_is_evaluated():
    kernel = Kernel.resolve("poly", {"degree": 2, "coef0": 1.0}, 4)
    assert Expansion(np.arange(4), kernel, RIGHT[:2], np.ones(2)).form is None
    assert Expansion(np.arange(4), kernel, RIGHT[:3], np.ones(3)).form is not None


@pytest.mark.parametrize("name", ["rbf", "sigmoid", "linear"])
def test_a_degree_says_nothing_of_other_kernels_than_polynomials(name):
    kernel = Kernel.resolve(name, {"degree": 2}, 4)
    expansion = Expansion(np.arange(4), kernel, RIGHT, np.ones(7))
    np.testing.assert_allclose(evaluate([expansion], LEFT), kernel.matrix(LEFT, RIGHT).sum(axis=1))
    if name == "linear":
        explicit = expansion.explicit(Kernel.resolve(name, None, 4), np.full(4, 2.0))
        np.testing.assert_allclose(evaluate([explicit], LEFT), 2 * evaluate([expansion], LEFT))


@pytest.mark.parametrize("name", ["poly", "rbf", "laplacian", "sigmoid", "cosine", "linear", "chi2"])
def test_no_rows_have_no_values(name):
    kernel = Kernel.resolve(name, None, 4)
    assert kernel.matrix(LEFT, RIGHT[:0]).shape == (len(LEFT), 0)
    assert kernel.matrix(LEFT[:0], RIGHT).shape == (0, len(RIGHT))


def test_defaults_are_those_of_scikit_learn():
    for name in ("poly", "rbf", "laplacian", "sigmoid", "cosine", "linear"):
        kernel = Kernel.resolve(name, None, 4)
        np.testing.assert_allclose(kernel.matrix(LEFT, RIGHT), pairwise_kernels(LEFT, RIGHT, metric=name))
    assert Kernel.resolve("rbf", {"gamma": None, "degree": None}, 4) == Kernel.resolve("rbf", {}, 4)
    kernel = Kernel.resolve("chi2", None, 4)
    expected = pairwise_kernels(LEFT**2, RIGHT**2, metric="chi2")
    np.testing.assert_allclose(kernel.matrix(LEFT**2, RIGHT**2), expected)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_values_of_distances_are_those_of_scikit_learn_to_the_bit(name):
    kernel = Kernel.resolve(name, {"gamma": 0.7}, 4)
    for right in (RIGHT, LEFT):  # the same rows are exactly as near as can be
        expected = pairwise_kernels(LEFT, right, metric=name, gamma=0.7)
        np.testing.assert_array_equal(kernel.matrix(LEFT, right), expected)
        if kernel.differentiable:
            np.testing.assert_array_equal(kernel.derivatives(LEFT)(right)[0], expected)


def test_rows_are_never_nearer_than_the_same():
    """Squared distances by products of large values may be rounded to less than 0."""
    kernel = Kernel.resolve("rbf", {"gamma": 10.0}, 4)
    rows = LEFT + 1e6
    close = rows + 1e-5
    for values in (kernel.matrix(rows, close), kernel.derivatives(rows)(close)[0]):
        assert values.max() <= 1


@pytest.mark.parametrize(("name", "rank"), [("rbf", 9), ("linear", 4), ("poly", 9)])
def test_the_numerical_map_reproduces_the_kernel_at_its_rank(name, rank):
    kernel = Kernel.resolve(name, None, 4)
    rows = np.vstack([LEFT, LEFT[:3]])  # duplicates add nothing to the rank
    numerical, features = NumericalMap.factor(kernel.matrix(rows, rows))
    assert features.shape == (12, rank)
    np.testing.assert_allclose(features @ features.T, kernel.matrix(rows, rows), atol=1e-12)
    coefficients = RANDOM.normal(size=rank)
    expansion = numerical.landmark_map(kernel, rows).expansion(np.arange(4), coefficients)
    np.testing.assert_allclose(evaluate([expansion], rows), features @ coefficients, atol=1e-9)


def test_a_zero_kernel_has_no_features():
    numerical, features = NumericalMap.factor(np.zeros((3, 3)))
    assert len(numerical.support) == 0
    assert features.shape == (3, 0)
    expansion = Expansion(np.arange(4), Kernel("linear"), LEFT[:0], np.zeros(0))
    np.testing.assert_array_equal(evaluate([expansion], LEFT), 0)


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(ValueError, match="not positive semi-definite"):
        NumericalMap.factor(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_a_kernel_that_overflows_is_refused():
    for value in (np.nan, np.inf):
        for matrix in (np.full((2, 2), value), np.array([[1.0, value], [value, 1.0]])):
            with pytest.raises(ValueError, match="kernel values overflow"):
                NumericalMap.factor(matrix)


def test_a_sum_of_kernels_has_a_derivative_where_all_of_them_have_one():
    columns = (np.array([0, 1]), np.array([2]))
    for name in ("linear", "laplacian"):
        similarity = KernelSum(columns, (Kernel("rbf"), Kernel(name)), (0.5, 0.5))
        assert similarity.differentiable == (name == "linear")


@pytest.mark.parametrize("n_parts", [2, 5])
def test_more_linear_functions_than_rows_of_a_block_have_their_sum(monkeypatch, n_parts):
    monkeypatch.setattr(kernels, "BLOCK_ROWS", 3)
    parts = [Expansion(np.array([k % 4, 3]), Kernel("linear"), None, np.ones(2)) for k in range(n_parts)]
    (group,) = grouped(parts)
    assert isinstance(group, ExpansionGroup)
    expected = sum(LEFT[:, k % 4] + LEFT[:, 3] for k in range(n_parts))
    np.testing.assert_allclose(evaluate([group], LEFT), expected)


@pytest.mark.parametrize("with_support", [False, True])
def test_columns_of_polynomials_alone_are_scaled(with_support):
    scale = np.array([2.0, 0.1, -1.0, 3.0])
    for kernel in (Kernel("linear"), Kernel("poly", 1.0, 0.5, 2)):
        support = RIGHT if with_support else None
        coefficients = np.arange(7.0 if with_support else kernel.map_size(4))
        expansion = Expansion(np.arange(4), kernel, support, coefficients)
        scaled = expansion.scaled(scale)
        assert (scaled.support is None) == (not with_support)
        np.testing.assert_allclose(evaluate([scaled], LEFT), evaluate([expansion], LEFT * scale))
    with pytest.raises(ValueError, match="linear or polynomial kernel, got 'rbf'"):
        Expansion(np.arange(4), Kernel("rbf"), RIGHT, np.ones(7)).scaled(scale)


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, np.float32(np.inf), pytest.param(10**400, id="huge"), "1"]
)
@pytest.mark.parametrize("key", ["gamma", "coef0", "degree"])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_parameters_are_finite_numbers(name, key, value):
    with pytest.raises(ValueError, match=f"expected a finite kernel parameter {key}"):
        Kernel.resolve(name, {key: value}, 4)


@pytest.mark.parametrize(
    "parameters", [{"gamma": 0}, {"gamma": -1}, {"coef0": -0.5}, {"degree": 0}, {"degree": 2.5}]
)
def test_a_polynomial_that_is_no_kernel_is_refused_and_no_other_is_one(parameters):
    for name in ("poly", "polynomial"):
        with pytest.raises(ValueError, match="a polynomial kernel needs gamma > 0, coef0 >= 0"):
            Kernel.resolve(name, parameters, 4)
    assert Kernel.resolve("sigmoid", parameters, 4).name == "sigmoid"


def test_a_parameter_may_be_a_number_of_numpy():
    assert Kernel.resolve("rbf", {"gamma": np.float32(0.5)}, 4).gamma == 0.5
    assert Kernel.resolve("poly", {"degree": np.float64(2)}, 4).map_size(4) == 15


def test_evaluation_in_blocks_covers_every_row():
    expansion = Expansion(np.array([2]), Kernel("linear"), None, np.array([3.0]))
    rows = RANDOM.normal(size=(1300, 4))
    np.testing.assert_allclose(evaluate([expansion, expansion], rows), 6 * rows[:, 2])


@pytest.mark.parametrize("with_support", [False, True])
@pytest.mark.parametrize("name", ["linear", "poly"])
def test_an_expansion_of_scaled_columns_is_one_in_explicit_features(name, with_support):
    own = Kernel.resolve(name, {"degree": 2, "coef0": 3.0} if name == "poly" else None, 3)
    other = Kernel.resolve(name, {"degree": 2, "coef0": 0.5} if name == "poly" else None, 3)
    columns, scale = np.array([3, 0, 1]), np.array([2.0, 0.1, -1.0])
    support = RANDOM.normal(size=(5, 3)) if with_support else None
    size = 5 if with_support else own.map_size(3)
    expansion = Expansion(columns, own, support, RANDOM.normal(size=size))
    rows = LEFT.copy()
    rows[:, columns] *= scale
    explicit = expansion.explicit(other, scale)
    assert explicit.support is None
    np.testing.assert_allclose(evaluate([explicit], LEFT), evaluate([expansion], rows), atol=1e-12)


def test_other_monomials_cannot_be_had():
    expansion = Expansion(np.arange(4), Kernel("poly", 1.0, 1.0, 2), LEFT, np.ones(9))
    for kernel in (Kernel("poly", 1.0, 1.0, 3), Kernel("poly", 1.0, 0.0, 2), Kernel("linear"), Kernel("rbf")):
        with pytest.raises(ValueError, match="same monomials"):
            expansion.explicit(kernel, np.ones(4))
    with pytest.raises(ValueError, match="same monomials"):
        Expansion(np.arange(4), Kernel("rbf"), LEFT, np.ones(9)).explicit(Kernel("rbf"), np.ones(4))
