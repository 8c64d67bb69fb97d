"""Kernels as explicit feature maps: exact for polynomials, to rounding for every other kernel.

Predicting with polynomial kernels needs NumPy alone: SciPy and scikit-learn, which take a second to load, are
imported where they are used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, isfinite, sqrt
from numbers import Real

import numpy as np

POLYNOMIAL_KERNELS = ("poly", "polynomial")
DIFFERENTIABLE_KERNELS = ("linear", *POLYNOMIAL_KERNELS, "rbf", "sigmoid", "cosine")
DUAL_ROWS = 5_000  # rows of a kernel matrix at most
FORM_COLUMNS = 100  # with more, a support is evaluated at a block of rows before it is made a quadratic form
BLOCK_ROWS = 512  # evaluated at a time: their features stay in the processor's cache
PARAMETERS = ("gamma", "coef0", "degree")

#: Takes weights (n_left, n_right) and gives sum_i weights_ij dk(left_i, right_j)/dright_j, (n_right, d).
Pullback = Callable[[np.ndarray], np.ndarray]
#: Takes rows `right` (n_right, d) and gives their kernel values (n_left, n_right), and the pullback there.
Derivatives = Callable[[np.ndarray], tuple[np.ndarray, Pullback]]


@dataclass(frozen=True)
class Kernel:
    """A pair-wise kernel of scikit-learn with all of its parameters resolved.

    `gamma` belongs to every kernel but linear and cosine, `coef0` and `degree` to poly, `coef0` to sigmoid.
    """

    name: str
    gamma: float = 1.0
    coef0: float = 1.0
    degree: int = 3

    @classmethod
    def resolve(cls, name: str, parameters: Mapping | None, n_columns: int) -> "Kernel":
        """The kernel with scikit-learn's defaults (gamma 1/n_columns or, for chi2, 1; coef0 1; degree 3).

        Raises ValueError for an unknown kernel or parameter, for parameters that are no finite numbers and
        for those without a positive semi-definite polynomial kernel (gamma <= 0, coef0 < 0, a degree that is
        no positive integer).
        """
        if name != "linear" and name not in POLYNOMIAL_KERNELS:
            from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

            if name not in PAIRWISE_KERNEL_FUNCTIONS:
                known = ", ".join(sorted(PAIRWISE_KERNEL_FUNCTIONS))
                raise ValueError(f"unknown kernel {name!r}; expected one of {known}")
        given = {key: value for key, value in (parameters or {}).items() if value is not None}
        unknown = sorted(set(given) - set(PARAMETERS))
        if unknown:
            raise ValueError(f"unknown kernel parameters {unknown}; expected some of {list(PARAMETERS)}")
        for key, value in given.items():
            if not _is_finite(value):
                raise ValueError(f"expected a finite kernel parameter {key}, got {value!r}")
        kernel = cls(name, **{"gamma": 1.0 if name == "chi2" else 1.0 / n_columns, **given})
        if name in POLYNOMIAL_KERNELS and (
            kernel.gamma <= 0 or kernel.coef0 < 0 or kernel.degree < 1 or kernel.degree != int(kernel.degree)
        ):
            raise ValueError(
                "a polynomial kernel needs gamma > 0, coef0 >= 0 and a whole degree >= 1 to be positive "
                f"semi-definite, not gamma={kernel.gamma}, coef0={kernel.coef0}, degree={kernel.degree}"
            )
        return replace(kernel, degree=int(kernel.degree))

    def matrix(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Kernel values (n_left, n_right) between the rows of `left` and `right`, float64."""
        if self.name == "linear":
            return left @ right.T
        if self.name in POLYNOMIAL_KERNELS:
            return (self.gamma * (left @ right.T) + self.coef0) ** self.degree
        # these two to the bit as scikit-learn, whose checks take longer
        if self.name == "rbf":
            return self._decayed(_squared_distances(left, right, _squared_lengths(left)))
        if self.name == "laplacian":
            from scipy.spatial.distance import cdist

            return self._decayed(cdist(left, right, "cityblock"))
        if not (len(left) and len(right)):  # as of a kernel that is 0 everywhere, which has no support
            return np.zeros((len(left), len(right)))
        from sklearn.metrics.pairwise import pairwise_kernels

        parameters = {"gamma": self.gamma, "coef0": self.coef0}
        return pairwise_kernels(left, right, metric=self.name, filter_params=True, **parameters)

    def _decayed(self, distances: np.ndarray) -> np.ndarray:
        """exp(-gamma distances), in their place."""
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def require_positive_semidefinite(self, matrix: np.ndarray) -> None:
        """ValueError when the kernel's values `matrix` (n, n) are indefinite beyond rounding."""
        if self.name in ("linear", "cosine", *POLYNOMIAL_KERNELS):
            return
        if self.name in ("rbf", "laplacian", "chi2") and self.gamma >= 0:
            return
        NumericalMap.factor(matrix)

    @property
    def differentiable(self) -> bool:
        """Whether `derivatives` knows them."""
        return self.name in DIFFERENTIABLE_KERNELS

    def derivatives(self, left: np.ndarray) -> Derivatives:
        """Kernel values of `left` (n, d) with any rows, as `matrix` gives them, and the derivatives there.

        What depends on `left` alone is computed once. Where a kernel has no derivative (cosine at a row of
        zeros) 0 takes its place. ValueError for a kernel that is not `differentiable`.
        """
        if not self.differentiable:
            raise ValueError(f"expected a kernel with a derivative, not {self.name!r}")
        find = {"rbf": self._rbf_derivatives, "cosine": self._cosine_derivatives}
        return find.get(self.name, self._product_derivatives)(left)

    def _rbf_derivatives(self, left: np.ndarray) -> Derivatives:
        squares = _squared_lengths(left)

        def at(right):
            values = self._decayed(_squared_distances(left, right, squares))
            return values, lambda weights: pulled(2 * self.gamma * weights * values, left, right)

        return at

    def _cosine_derivatives(self, left: np.ndarray) -> Derivatives:
        from sklearn.preprocessing import normalize

        unit = normalize(left)

        def at(right):
            length = np.linalg.norm(right, axis=1, keepdims=True)
            inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
            values = unit @ (right * inverse).T

            def pullback(weights):
                radial = (weights * values).sum(axis=0)[:, None] * (right * inverse)
                return inverse * (weights.T @ unit - radial)

            return values, pullback

        return at

    def _product_derivatives(self, left: np.ndarray) -> Derivatives:
        """Of the kernels that are functions of the inner product."""

        def at(right):
            products = left @ right.T
            if self.name == "linear":
                return products, lambda weights: weights.T @ left
            inner = self.gamma * products + self.coef0
            if self.name == "sigmoid":
                values = np.tanh(inner)
                slopes = self.gamma * (1 - values**2)
            else:
                values = inner**self.degree
                slopes = self.gamma * self.degree * inner ** (self.degree - 1)
            return values, lambda weights: (weights * slopes).T @ left

        return at

    def expansions(self, support: np.ndarray, coefficients: np.ndarray) -> "list[Expansion]":
        """The function z -> sum_p k(z, support_p) coefficients_p, for `support` (p, d)."""
        return [Expansion(np.arange(support.shape[1]), self, support, coefficients)]

    def map_size(self, n_columns: int) -> int | None:
        """Number of columns of the exact finite feature map, None where the kernel has none."""
        if self.name == "linear":
            return n_columns
        if self.name in POLYNOMIAL_KERNELS:
            n_variables = n_columns + (self.coef0 > 0)  # the constant is one too
            return comb(n_variables + self.degree - 1, self.degree)
        return None


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, Real) and isfinite(value)
    except OverflowError:  # a whole number beyond all of float64
        return False


def _squared_lengths(rows: np.ndarray) -> np.ndarray:
    """Of rows (n, d): (n,)."""
    return np.einsum("ij,ij->i", rows, rows)


def _squared_distances(left: np.ndarray, right: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances (n_left, n_right) between rows, of which those on the left have the squared
    lengths `squares` (n_left,); 0 between those of the same array."""
    distances = -2 * (left @ right.T)
    distances += squares[:, None]
    distances += _squared_lengths(right)
    np.maximum(distances, 0, out=distances)
    if left is right:
        np.fill_diagonal(distances, 0)
    return distances


def pulled(weights: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """sum_i weights_ij (left_i - right_j): (n_right, d), for `weights` (n_left, n_right)."""
    return weights.T @ left - weights.sum(axis=0)[:, None] * right


@dataclass(frozen=True)
class PolynomialMap:
    """The exact feature map of (gamma x.z + coef0)^degree, or of x.z when the kernel is linear.

    By the multinomial theorem its columns are all monomials x^k of total degree |k| <= degree, weighted by
    sqrt(degree! / (k! (degree - |k|)!) gamma^|k| coef0^(degree - |k|)); only |k| = degree when coef0 is 0.
    """

    kernel: Kernel
    n_columns: int

    @property
    def size(self) -> int:
        return self.kernel.map_size(self.n_columns)

    def weight(self, monomial: tuple[int, ...]) -> float:
        """The weight of a monomial x_i x_j …, by the numbers i <= j <= … of its columns."""
        top = self.kernel.degree
        multinomial = factorial(top) // factorial(top - len(monomial))
        for column in set(monomial):
            multinomial //= factorial(monomial.count(column))
        return sqrt(
            multinomial * self.kernel.gamma ** len(monomial) * self.kernel.coef0 ** (top - len(monomial))
        )

    def _levels(self, columns: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Per degree among the outputs: the monomials (k, n) and their weights (k,)."""
        if self.kernel.name == "linear":
            yield columns.T, np.ones(self.n_columns)
            return
        top = self.kernel.degree
        columns_by_row = np.ascontiguousarray(columns.T)
        level = np.ones((1, len(columns)))
        if self.kernel.coef0 > 0:
            yield level, np.array([self.kernel.coef0 ** (top / 2)])
        for degree, (parents, factors, weights) in enumerate(_plan(self), 1):
            level = level[parents] * columns_by_row[factors]
            if self.kernel.coef0 > 0 or degree == top:
                yield level, weights

    def transform(self, columns: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Feature rows (n, size) float64 of `columns` (n, n_columns), written into `out` where given."""
        out = np.empty((self.size, len(columns))).T if out is None else out
        start = 0
        for level, weights in self._levels(columns):
            stop = start + len(weights)
            np.multiply(level.T, weights, out=out[:, start:stop])
            start = stop
        return out

    def expansion(self, columns: np.ndarray, coefficients: np.ndarray) -> "Expansion":
        """The function z -> phi(z).coefficients, for prediction."""
        return Expansion(columns, self.kernel, None, coefficients)

    def combine(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """transform(columns) @ coefficients: (n,), without forming the features' rows."""
        result = np.zeros(len(columns))
        start = 0
        for level, weights in self._levels(columns):
            result += (weights * coefficients[start : start + len(weights)]) @ level
            start += len(weights)
        return result

    def quadratic_form(self, coefficients: np.ndarray) -> "QuadraticForm | None":
        """The function z -> phi(z).coefficients, for coefficients (size,), if it is of degree 2 at most."""
        if self.kernel.name == "linear":
            return QuadraticForm(np.float64(0), coefficients, None)
        d, top, start = self.n_columns, self.kernel.degree, 0
        if top > 2:
            return None
        constant, linear, square = np.float64(0), np.zeros(d), None
        if self.kernel.coef0 > 0:
            constant = self.weight(()) * coefficients[0]
            start = 1
        if self.kernel.coef0 > 0 or top == 1:
            linear = self.weight((0,)) * coefficients[start : start + d]
            start += d
        if top == 2:
            square = np.zeros((d, d))
            above = np.triu_indices(d)
            weights = np.where(above[0] == above[1], self.weight((0, 0)), self.weight((0, 1)))
            square[above] = weights * coefficients[start:]
        return QuadraticForm(constant, linear, square)


@lru_cache(maxsize=64)  # a cross-validation takes the same few maps in every fit
def _plan(polynomial: PolynomialMap) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Per degree 1, 2, …: each monomial's parent in the degree before, its last column, its weight."""
    plan = []
    place = {(): 0}
    for degree in range(1, polynomial.kernel.degree + 1):
        monomials = list(combinations_with_replacement(range(polynomial.n_columns), degree))
        parents = np.array([place[monomial[:-1]] for monomial in monomials])
        factors = np.array([monomial[-1] for monomial in monomials])
        plan.append((parents, factors, np.array([polynomial.weight(monomial) for monomial in monomials])))
        place = {monomial: i for i, monomial in enumerate(monomials)}
    return plan


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """The functions z -> constant + linear.z + z.square z, which take a few products of matrices each.

    `constant` (...), `linear` (..., d), `square` (..., d, d) or None for a linear function.
    """

    constant: np.ndarray
    linear: np.ndarray
    square: np.ndarray | None

    def evaluate(self, points: np.ndarray) -> np.ndarray:
        """Values (..., n) float64 at `points` (..., n, d)."""
        slopes = self.linear[..., None, :]
        if self.square is not None:
            slopes = points @ self.square + slopes
        return self.constant[..., None] + (slopes * points).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class NumericalMap:
    """The feature map of any positive semi-definite kernel on given rows, by pivoted Cholesky.

    With P K P^T = L L^T (LAPACK pstrf, stopped where every remaining pivot is rounding error), the rows of L
    are features of the given rows, and L_pp^-1 k(X_p, z) those of any other z: exact to rounding on the span
    of the data; the numerical rank, their number, is often far below the number of rows.

    `support` (rank,) row numbers of the pivots p; `triangle` (rank, rank) L_pp, lower.
    """

    support: np.ndarray
    triangle: np.ndarray

    @classmethod
    def factor(cls, matrix: np.ndarray) -> tuple["NumericalMap", np.ndarray]:
        """The map and the features (n, rank) of the rows whose kernel values `matrix` (n, n) holds.

        ValueError when the matrix is indefinite beyond rounding, or not finite.
        """
        from scipy.linalg import lapack

        if not np.isfinite(matrix).all():
            raise ValueError("kernel values overflow: scale the columns of X to about one")
        diagonal = matrix.diagonal()
        largest = max(float(diagonal.max()), np.finfo(float).tiny)
        factor, pivots, rank, _ = lapack.dpstrf(matrix, tol=largest * np.finfo(float).eps * 10, lower=1)
        pivots = pivots - 1
        triangle = np.tril(factor[:rank, :rank])
        features = np.empty((len(matrix), rank))
        features[pivots[:rank]] = triangle
        features[pivots[rank:]] = factor[rank:, :rank]
        left = diagonal - np.einsum("ij,ij->i", features, features)
        if left.min() < -1e-8 * largest:
            raise ValueError(
                "the kernel matrix of these rows is not positive semi-definite: choose another kernel, or "
                "centre and scale X when its values are so large that rounding did it"
            )
        return cls(pivots[:rank], triangle), features

    def landmark_map(self, kernel: Kernel, rows: np.ndarray) -> "LandmarkMap":
        """The map of any rows that this one extends to; `rows` (n, d) are those it was factored from."""
        return LandmarkMap(kernel, rows[self.support], self.triangle)


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """The feature map z -> L^-1 k(X_p, z) of a kernel restricted to the span of landmarks (Nystroem).

    `landmarks` (p, d) X_p; `triangle` (p, p) lower L, L L^T = k(X_p, X_p).
    """

    kernel: Kernel
    landmarks: np.ndarray
    triangle: np.ndarray

    @property
    def size(self) -> int:
        return len(self.landmarks)

    def transform(self, columns: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Feature rows (n, size) float64 of `columns` (n, d), written into `out`."""
        from scipy.linalg import solve_triangular

        out[:] = solve_triangular(self.triangle, self.kernel.matrix(self.landmarks, columns), lower=True).T
        return out

    def expansion(self, columns: np.ndarray, coefficients: np.ndarray) -> "Expansion":
        """The function z -> phi(z).coefficients as a sum of kernel values."""
        from scipy.linalg import solve_triangular

        weights = solve_triangular(self.triangle, coefficients, lower=True, trans="T")
        return Expansion(columns, self.kernel, self.landmarks, weights)


@dataclass(frozen=True, eq=False)
class Expansion:
    """One view's share of a fitted function, all that prediction needs.

    `columns` (d,) integer column numbers of X. With `support` (p, d) float64, z -> sum_p k(z, x_p)
    coefficients_p; with `support` None, z -> phi(z).coefficients of the kernel's polynomial map.
    """

    columns: np.ndarray
    kernel: Kernel
    support: np.ndarray | None
    coefficients: np.ndarray

    @cached_property
    def _map(self) -> PolynomialMap:
        return PolynomialMap(self.kernel, len(self.columns))

    @cached_property
    def form(self) -> QuadraticForm | None:
        """The function as a quadratic form, where it is one and that takes less time than the support."""
        if self.support is None:
            return self._map.quadratic_form(self.coefficients)
        kernel, n_products = self.kernel, 1 if self.kernel.name == "linear" else self.kernel.degree
        if self.coefficients.ndim > 1 or self._map.size is None or n_products > 2:
            return None
        if not len(self.columns) < min(2 * len(self.support), FORM_COLUMNS):
            return None
        by_column = self.support.T @ self.coefficients
        if kernel.name == "linear":
            return QuadraticForm(np.float64(0), by_column, None)
        total = self.coefficients.sum()
        if kernel.degree == 1:
            return QuadraticForm(kernel.coef0 * total, kernel.gamma * by_column, None)
        products = self.support.T @ (self.coefficients[:, None] * self.support)
        return QuadraticForm(
            kernel.coef0**2 * total, 2 * kernel.gamma * kernel.coef0 * by_column, kernel.gamma**2 * products
        )

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        """Values (n,) float64 for `rows` (n, n_features) float64, or (n, m) of coefficients (p, m)."""
        view = rows[:, self.columns]
        if self.form is not None:
            return self.form.evaluate(view)
        if self.support is None:
            return self._map.combine(view, self.coefficients)
        if not len(self.support):
            return np.zeros((len(rows), *self.coefficients.shape[1:]))
        return self.kernel.matrix(view, self.support) @ self.coefficients

    def scaled(self, scale: np.ndarray) -> "Expansion":
        """The function z -> self(scale * z), scale (d,); ValueError unless linear or polynomial."""
        if self.support is None:
            return self.explicit(self.kernel, scale)
        if self.kernel.name not in ("linear", *POLYNOMIAL_KERNELS):
            raise ValueError(f"expected a linear or polynomial kernel, got {self.kernel.name!r}")
        return replace(self, support=self.support * scale)

    def explicit(self, kernel: Kernel, scale: np.ndarray) -> "Expansion":
        """The function z -> self(scale * z), scale (d,), in the features of a polynomial `kernel`.

        ValueError unless this expansion's kernel is a polynomial of the same monomials.
        """
        target = PolynomialMap(kernel, len(self.columns))
        same_degree = self.kernel.degree == kernel.degree and (self.kernel.coef0 > 0) == (kernel.coef0 > 0)
        if target.size is None or self.kernel.name != kernel.name or not (
            same_degree or kernel.name == "linear"
        ):
            raise ValueError(f"expected two polynomials of the same monomials, got {self.kernel}, {kernel}")
        coefficients = self.coefficients
        if self.support is not None:
            coefficients = self._map.transform(self.support).T @ coefficients
        own, other = self._map.transform(scale[None])[0], target.transform(np.ones((1, len(scale))))[0]
        return Expansion(self.columns, kernel, None, coefficients * own / other)


@dataclass(frozen=True, eq=False)
class ExpansionGroup:
    """The sum of p quadratic forms of as many columns each, `columns` (p, d), evaluated in one go.

    A frame's count that is a sum of local counts has a hundred of them, whose overhead one by one would
    outweigh their arithmetic by far.
    """

    columns: np.ndarray
    form: QuadraticForm

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        """Values (n,) float64 for `rows` (n, n_features) float64."""
        n_parts = len(self.columns)
        step = max(1, BLOCK_ROWS // n_parts)
        result = np.empty(len(rows))
        for start in range(0, len(rows), step):
            views = rows[start : start + step, self.columns]
            result[start : start + step] = self.form.evaluate(views.swapaxes(0, 1)).sum(axis=0)
        return result


def grouped(expansions: Sequence[Expansion]) -> "list[Expansion | ExpansionGroup]":
    """Expansions with the same sum, quadratic forms of as many columns put together."""
    groups: dict[tuple, list[Expansion]] = {}
    for number, part in enumerate(expansions):
        alike = (number,) if part.form is None else (len(part.columns), part.form.square is None)
        groups.setdefault(alike, []).append(part)
    return [
        parts[0]
        if len(parts) == 1
        else ExpansionGroup(np.stack([part.columns for part in parts]), _stacked(parts))
        for parts in groups.values()
    ]


def _stacked(parts: Sequence[Expansion]) -> QuadraticForm:
    constant, linear, square = zip(
        *((part.form.constant, part.form.linear, part.form.square) for part in parts), strict=True
    )
    return QuadraticForm(
        np.stack(constant), np.stack(linear), None if square[0] is None else np.stack(square)
    )


@dataclass(frozen=True, eq=False)
class KernelSum:
    """The similarity sum_a weights_a k^a(x^a, z^a) over views, whose columns of X are `columns`_a."""

    columns: tuple[np.ndarray, ...]
    kernels: tuple[Kernel, ...]
    weights: tuple[float, ...]

    @property
    def differentiable(self) -> bool:
        return all(kernel.differentiable for kernel in self.kernels)

    def matrix(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Similarities (n_left, n_right) between the rows of `left` and `right`, float64."""
        return sum(
            weight * kernel.matrix(left[:, view], right[:, view])
            for view, kernel, weight in zip(self.columns, self.kernels, self.weights, strict=True)
        )

    def derivatives(self, left: np.ndarray) -> Derivatives:
        """As `Kernel.derivatives`."""
        parts = [
            (view, weight, kernel.derivatives(np.ascontiguousarray(left[:, view])))
            for view, kernel, weight in zip(self.columns, self.kernels, self.weights, strict=True)
        ]

        def at(right):
            values, pulls = 0.0, []
            for view, weight, derivatives in parts:
                share, pull = derivatives(right[:, view])
                values = values + weight * share
                pulls.append(pull)

            def pullback(weights):
                result = np.zeros_like(right)
                for (view, weight, _), pull in zip(parts, pulls, strict=True):
                    result[:, view] += weight * pull(weights)
                return result

            return values, pullback

        return at

    def expansions(self, support: np.ndarray, coefficients: np.ndarray) -> list[Expansion]:
        """As `Kernel.expansions`."""
        return [
            Expansion(view, kernel, support[:, view], weight * coefficients)
            for view, kernel, weight in zip(self.columns, self.kernels, self.weights, strict=True)
        ]


def evaluate(expansions: Sequence[Expansion | ExpansionGroup], rows: np.ndarray) -> np.ndarray:
    """The fitted function (n,) at `rows` (n, n_features) float64: the sum of its views' shares."""
    result = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS]
        result[start : start + BLOCK_ROWS] = sum(part.evaluate(block) for part in expansions)
    return result
