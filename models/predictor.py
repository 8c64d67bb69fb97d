"""All that a fitted count regressor needs to predict, without scikit-learn, which takes a second to load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .kernels import Expansion, Kernel, evaluate, grouped

#: Standardised values are clipped to this many standard deviations: a column that hardly varied in training
#: would otherwise decide the count of the first frame in which it does.
LARGEST_DEVIATION = 5.0


def standardised(rows, mean, scale) -> np.ndarray:
    """(rows − mean) / scale, clipped to `LARGEST_DEVIATION`: (n, d) float64 for rows (n, d), mean and scale
    (d,), as of `column_statistics`."""
    return np.clip((rows - mean) / scale, -LARGEST_DEVIATION, LARGEST_DEVIATION)


def column_statistics(rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean, scale, lowest and highest value (d,) of each column of rows (n, d).

    The scale is the standard deviation, 1 for a column that is constant but for rounding.
    """
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    constant = spread <= 1e-12 * np.abs(mean)
    return mean, np.where(constant, 1.0, spread), rows.min(axis=0), rows.max(axis=0)


@dataclass(frozen=True, eq=False)
class CountPredictor:
    """Counts from feature rows: what `CountRegressor.fit` finds, and all that prediction needs of it.

    Attributes
    ----------
    mean, scale : (d,) float64
        Mean and standard deviation of each column over the labelled rows; a constant column's scale is 1.
    low, high : (d,) float64
        Range of each column over the labelled rows.
    center : float
        Mean of the labels that are no slips, plus the regressor's bias where it has one.
    expansions : sequence of Expansion
        The fitted function of the standardised columns; its values are counts less `center`.
    """

    mean: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    center: float
    expansions: tuple[Expansion, ...]

    @property
    def n_columns(self) -> int:
        """Number of columns d."""
        return len(self.mean)

    @cached_property
    def _groups(self):
        return grouped(self.expansions)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Counts (n,) float64, never below 0, for rows (n, d) float64; ValueError for another d."""
        return np.maximum(self.values(rows), 0.0)

    def values(self, rows: np.ndarray) -> np.ndarray:
        """The fitted function (n,) float64 itself, `center` included, for rows as in `predict`."""
        self._check(rows)
        return self.center + evaluate(self._groups, standardised(rows, self.mean, self.scale))

    def mixed_with(self, other: "CountPredictor", share: float) -> "CountPredictor":
        """The function (1 - share) * self + share * other of the same standardised columns.

        ValueError when those differ, or the share does not lie between 0 and 1.
        """
        _check_same_rows(self, other)
        one, two = self.scaled(1 - share), other.scaled(share)
        return replace(self, center=one.center + two.center, expansions=one.expansions + two.expansions)

    def scaled(self, scale: float) -> "CountPredictor":
        """The function scale * self; ValueError unless the scale is positive."""
        if not scale > 0:
            raise ValueError(f"expected a positive scale, got {scale}")
        expansions = tuple(
            replace(part, coefficients=part.coefficients * scale) for part in self.expansions
        )
        return replace(self, center=scale * self.center, expansions=expansions)

    def outside_range(self, rows: np.ndarray) -> np.ndarray:
        """(n, d) bool: the value lies outside of what the column took in the labelled training rows."""
        self._check(rows)
        return (self.low > rows) | (self.high < rows)

    def _check(self, rows):
        if rows.ndim != 2 or rows.shape[1] != self.n_columns:
            raise ValueError(f"expected rows of {self.n_columns} features, found an array {rows.shape}")

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict]:
        """What prediction needs, as arrays by name and JSON-able metadata, for `from_arrays`."""
        arrays = {"mean": self.mean, "scale": self.scale, "low": self.low, "high": self.high}
        views = []
        for number, part in enumerate(self.expansions):
            arrays[f"view{number}_columns"] = part.columns
            arrays[f"view{number}_coefficients"] = part.coefficients
            if part.support is not None:
                arrays[f"view{number}_support"] = part.support
            views.append({**_described(part.kernel), "has_support": part.support is not None})
        return arrays, {"center": self.center, "views": views}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping) -> "CountPredictor":
        """The predictor that `to_arrays` described.

        ValueError, saying what is wrong, when something is missing, or of another type, shape or range, or
        not finite: the arrays may come from a damaged or foreign file.
        """
        mean = checked_array(arrays, "mean", (None,))
        d = len(mean)
        scale, low, high = (checked_array(arrays, key, (d,)) for key in ("scale", "low", "high"))
        if not (scale > 0).all():
            raise ValueError("expected positive values in 'scale'")
        try:
            center = meta["center"] + 0.0
            views = [(_kernel(view), bool(view["has_support"])) for view in meta["views"]]
        except (KeyError, TypeError) as error:
            raise ValueError(f"expected 'center' and 'views' of a count regressor; wrong: {error}") from None
        if not np.isfinite(center) or not views:
            raise ValueError("expected a finite 'center' and at least one view")
        expansions = tuple(_expansion(arrays, i, *view, d) for i, view in enumerate(views))
        return cls(mean, scale, low, high, center, expansions)


def mean_predictor(predictors: Sequence[CountPredictor]) -> CountPredictor:
    """The mean of functions of the same standardised columns and views, in one expansion per view.

    Their kernels are polynomials of one degree; ValueError when they are not, or the columns differ.
    """
    first = predictors[0]
    for other in predictors:
        _check_same_rows(first, other)
    expansions = []
    for parts in zip(*(predictor.expansions for predictor in predictors), strict=True):
        kernel, scale = parts[0].kernel, np.ones(len(parts[0].columns))
        explicit = [part.explicit(kernel, scale) for part in parts]
        coefficients = np.mean([part.coefficients for part in explicit], axis=0)
        expansions.append(replace(explicit[0], coefficients=coefficients))
    center = float(np.mean([predictor.center for predictor in predictors]))
    return replace(first, center=center, expansions=tuple(expansions))


def _check_same_rows(one: CountPredictor, other: CountPredictor) -> None:
    if not (np.array_equal(one.mean, other.mean) and np.array_equal(one.scale, other.scale)):
        raise ValueError("expected predictors that were fitted to the same rows")


@dataclass(frozen=True, eq=False)
class CurvePredictor:
    """Curves from feature rows: what `CurveRegressor.fit` finds, and all that prediction needs of it.

    Attributes
    ----------
    mean, scale : (d,) float64
        Mean and standard deviation of each column over the training rows; a constant column's scale is 1.
    center : (m,) float64
        Mean curve.
    expansion : Expansion
        The fitted function of the standardised columns, with coefficients (p, m); its values are curves less
        `center`.
    """

    mean: np.ndarray
    scale: np.ndarray
    center: np.ndarray
    expansion: Expansion

    @property
    def n_columns(self) -> int:
        """Number of columns d."""
        return len(self.mean)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Curves (n, m) float64, never below 0, for rows (n, d) float64."""
        standard = standardised(rows, self.mean, self.scale)
        return np.maximum(self.center + self.expansion.evaluate(standard), 0.0)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict]:
        """What prediction needs, as arrays by name and JSON-able metadata, for `from_arrays`."""
        part = self.expansion
        arrays = {"mean": self.mean, "scale": self.scale, "center": self.center}
        return arrays | {"support": part.support, "coefficients": part.coefficients}, _described(part.kernel)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping) -> "CurvePredictor":
        """The predictor that `to_arrays` described; ValueError as for `CountPredictor.from_arrays`."""
        mean, center = checked_array(arrays, "mean", (None,)), checked_array(arrays, "center", (None,))
        scale = checked_array(arrays, "scale", (len(mean),))
        if not (scale > 0).all() or not len(center):
            raise ValueError("expected positive values in 'scale', and some in 'center'")
        try:
            kernel = _kernel(meta)
        except (KeyError, TypeError) as error:
            raise ValueError(f"expected a kernel of a curve regressor; wrong: {error}") from None
        support = checked_array(arrays, "support", (None, len(mean)))
        coefficients = checked_array(arrays, "coefficients", (len(support), len(center)))
        return cls(mean, scale, center, Expansion(np.arange(len(mean)), kernel, support, coefficients))


def _described(kernel: Kernel) -> dict:
    """A kernel as JSON-able metadata, for `_kernel`."""
    numbers = {"gamma": float(kernel.gamma), "coef0": float(kernel.coef0), "degree": kernel.degree}
    return {"kernel": kernel.name, **numbers}


def _kernel(view: Mapping) -> Kernel:
    """The kernel of one view's metadata; KeyError or TypeError where a number is missing or none."""
    parameters = {key: view[key] + 0 for key in ("gamma", "coef0", "degree")}
    return Kernel.resolve(view["kernel"], parameters, 1)


def _expansion(arrays, number: int, kernel: Kernel, has_support: bool, n_columns: int) -> Expansion:
    columns = checked_array(arrays, f"view{number}_columns", (None,), kind="iu")
    if not len(columns) or columns.min() < 0 or columns.max() >= n_columns:
        raise ValueError(f"expected column numbers from 0 to {n_columns - 1} in 'view{number}_columns'")
    if has_support:
        support = checked_array(arrays, f"view{number}_support", (None, len(columns)))
        size = len(support)
    else:
        support, size = None, kernel.map_size(len(columns))
        if size is None:
            raise ValueError(f"expected 'view{number}_support' with the kernel {kernel.name!r}")
    return Expansion(columns, kernel, support, checked_array(arrays, f"view{number}_coefficients", (size,)))


def checked_array(
    arrays: Mapping[str, np.ndarray], key: str, shape: tuple[int | None, ...], kind: str = "f"
) -> np.ndarray:
    """The array `key` of an untrusted file, finite, of a shape (None: any length) and one of the dtype kinds.

    ValueError, saying what is wrong, when it is anything else or missing.
    """
    if key not in arrays:
        raise ValueError(f"expected an array {key!r}, found none")
    array = np.asarray(arrays[key])
    fits = len(array.shape) == len(shape) and all(
        want in (None, got) for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind not in kind:
        raise ValueError(f"expected {key!r} of shape {shape}, got {array.dtype} {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"expected finite values in {key!r}")
    return array
