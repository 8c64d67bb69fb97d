"""Validation on contiguous blocks of frames, and the measures of a counter's error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone

from .reuse import reusing


class BlockedKFold:
    """Folds that are contiguous blocks of rows in their order, as a scikit-learn splitter.

    Neighbouring frames are near copies: a random split would train on the test frames' twins.
    """

    def __init__(self, n_splits: int = 5):
        """`n_splits` >= 2 folds, else ValueError."""
        if n_splits < 2:
            raise ValueError(f"expected n_splits >= 2, got {n_splits}")
        self.n_splits = n_splits

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        return self.n_splits

    def split(self, X, y=None, groups=None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test) row numbers; the blocks' sizes differ by one at most.

        ValueError when there are fewer rows than folds.
        """
        n = len(X)
        if n < self.n_splits:
            raise ValueError(f"expected at least {self.n_splits} rows for {self.n_splits} folds, got {n}")
        rows = np.arange(n)
        blocks = np.array_split(rows, self.n_splits)
        return ((np.delete(rows, test), test) for test in blocks)


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows that take part in a fit with the row of X of which each is a copy, changed in some way.

    Attributes
    ----------
    X : (k, d) float64
    of : (k,) int
        Rows of X that they are copies of, and whose label they have. -1: of none of them, but with the label
        0, in every fit.
    """

    X: np.ndarray
    of: np.ndarray

    def joined(self, X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some rows of X (n, d) and y (n, …), and behind them the copies of these."""
        taken = np.isin(self.of, rows) | (self.of < 0)
        of = self.of[taken]
        labels = y[of]
        labels[of < 0] = 0.0
        return np.vstack([X[rows], self.X[taken]]), np.concatenate([y[rows], labels])


def out_of_fold(
    estimator: BaseEstimator, X: np.ndarray, y: np.ndarray, folds: BlockedKFold
) -> np.ndarray:
    """Predictions like y for every labelled row by clones fitted without its block, NaN for the other rows.

    The folds are blocks of the labelled rows; rows without a label (NaN in y) take part in every fit, those
    of the block held out in none. X: (n, d) float64; y: (n,) float64, or (n, m) of which a row with NaN is
    unlabelled.
    """
    return out_of_fold_each([estimator], X, y, folds)[0]


def out_of_fold_each(
    estimators: Sequence[BaseEstimator],
    X: np.ndarray,
    y: np.ndarray,
    folds: BlockedKFold,
    copies: Copies | None = None,
) -> list[np.ndarray]:
    """`out_of_fold` of each estimator; neighbours that differ in lam alone share most of their work.

    Copies of rows that are held out take part in no fit either.
    """
    missing = np.isnan(y).reshape(len(y), -1).any(axis=1)
    labelled, unlabelled = np.flatnonzero(~missing), np.flatnonzero(missing)
    predictions = [np.full(y.shape, np.nan) for _ in estimators]
    with reusing():
        for train, test in folds.split(labelled):
            rows = np.sort(np.concatenate([labelled[train], unlabelled]))
            taught = (X[rows], y[rows]) if copies is None else copies.joined(X, y, rows)
            for estimator, prediction in zip(estimators, predictions, strict=True):
                prediction[labelled[test]] = clone(estimator).fit(*taught).predict(X[labelled[test]])
    return predictions


def fold_outputs(estimator: BaseEstimator, X: np.ndarray, y: np.ndarray, folds: BlockedKFold) -> np.ndarray:
    """Predictions (n, n_splits) for every row, column f by a clone fitted without the block of fold f.

    X: (n, d) float64; y: (n,) float64, a label in every row.
    """
    fits = (clone(estimator).fit(X[train], y[train]) for train, _ in folds.split(X))
    return np.column_stack([fit.predict(X) for fit in fits])


@dataclass(frozen=True)
class CountMetrics:
    """Errors of counts over `n` labelled frames: mean absolute, mean square, its root, relative, bias."""

    n: int
    mae: float
    mse: float
    rmse: float
    mre: float
    bias: float


def count_metrics(y: np.ndarray, prediction: np.ndarray) -> CountMetrics:
    """Errors of `prediction` (n,) against the labels `y` (n,); frames with NaN in y are left out.

    mae, rmse and bias (mean of prediction - y) are in people, mse in people squared; mre is the mean of
    |prediction - y| / y over the frames with y > 0 (NaN without one). ValueError when shapes differ or when
    no frame has a label.
    """
    y, prediction = np.asarray(y, float), np.asarray(prediction, float)
    if y.shape != prediction.shape or y.ndim != 1:
        raise ValueError(f"expected one prediction per label, got shapes {prediction.shape} and {y.shape}")
    labelled = ~np.isnan(y)
    if not labelled.any():
        raise ValueError("expected at least one labelled frame, got none")
    y, error = y[labelled], (prediction - y)[labelled]
    mse = float(np.mean(error**2))
    positive = y > 0
    mre = float(np.mean(np.abs(error[positive]) / y[positive])) if positive.any() else float("nan")
    return CountMetrics(
        n=len(y),
        mae=float(np.mean(np.abs(error))),
        mse=mse,
        rmse=mse**0.5,
        mre=mre,
        bias=float(np.mean(error)),
    )
