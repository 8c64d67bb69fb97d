"""Blocked folds and the measures of error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_score

from models import BlockedKFold, Copies, CountRegressor, count_metrics, out_of_fold, out_of_fold_each


@given(n=st.integers(5, 200), n_splits=st.integers(2, 5))
def test_blocks_are_contiguous_and_cover_all(n, n_splits):
    folds = BlockedKFold(n_splits)
    splits = list(folds.split(np.zeros(n)))
    assert folds.get_n_splits() == len(splits) == n_splits
    np.testing.assert_array_equal(np.concatenate([test for _, test in splits]), np.arange(n))
    sizes = [len(test) for _, test in splits]
    assert max(sizes) - min(sizes) <= 1
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
        assert (test == np.arange(test[0], test[-1] + 1)).all()


def test_it_is_a_splitter_for_scikit_learn():
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert (cross_val_score(LinearRegression(), X, X @ [1, 2], cv=BlockedKFold(4)) > 0.99).all()


@pytest.mark.parametrize("n_splits", [1, 0])
def test_impossible_folds_are_refused(n_splits):
    with pytest.raises(ValueError, match="n_splits >= 2"):
        BlockedKFold(n_splits)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="at least 5 rows"):
        BlockedKFold(5).split(np.zeros(4))


def test_out_of_fold_predictions_never_saw_their_block():
    X, y = np.ones((10, 1)), np.array([0.0, 0, 0, 0, np.nan, 10, 10, 10, 10, np.nan])
    # each half is predicted by (about) the mean of the other, clipped at 0
    prediction = out_of_fold(CountRegressor(), X, y, BlockedKFold(2))
    np.testing.assert_allclose(prediction, [10, 10, 10, 10, np.nan, 0, 0, 0, 0, np.nan], atol=1e-6)


def test_out_of_fold_agrees_with_fits_by_hand():
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    y = X @ [1.0, 2.0, 3.0] + random.normal(size=30)
    prediction = out_of_fold(Ridge(), X, y, BlockedKFold(3))
    by_hand = Ridge().fit(np.delete(X, range(10, 20), axis=0), np.delete(y, range(10, 20))).predict(X[10:20])
    np.testing.assert_allclose(prediction[10:20], by_hand)


def test_rows_without_a_label_take_part_in_every_fit_at_their_places():
    X = np.arange(9.0)[:, None]
    y = np.array([1.0, np.nan, 2, 3, np.nan, 4, np.nan, 5, 6])
    fits = []

    class Recorder(Ridge):
        def fit(self, X, y):
            fits.append(X.ravel().tolist())
            return super().fit(X[~np.isnan(y)], y[~np.isnan(y)])

    out_of_fold(Recorder(), X, y, BlockedKFold(2))
    assert fits == [[1, 4, 5, 6, 7, 8], [0, 1, 2, 3, 4, 6]]


def test_a_copy_of_no_row_has_the_label_0_in_every_fit():
    X, y = np.arange(6.0)[:, None], np.arange(1.0, 7.0)
    copies = Copies(np.array([[2.5], [-9.0]]), np.array([2, -1]))
    for labels in y, np.column_stack([y, y]):
        rows, taught = copies.joined(X, labels, np.array([0, 2]))
        np.testing.assert_array_equal(rows, [[0], [2], [2.5], [-9]])
        np.testing.assert_array_equal(taught, [labels[0], labels[2], labels[2], 0 * labels[0]])
        rows, taught = copies.joined(X, labels, np.array([0]))
        np.testing.assert_array_equal(rows, [[0], [-9]])
        np.testing.assert_array_equal(taught, [labels[0], 0 * labels[0]])


def test_copies_take_part_where_their_row_does_and_only_there():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(30, 3)), random.normal(size=30)
    y[4] = np.nan
    copies = Copies(X[[2, 12, 13, 25]] + 0.1, np.array([2, 12, 13, 25]))
    prediction = out_of_fold_each([_Nearest()], X, y, BlockedKFold(3), copies)[0]
    labelled = np.flatnonzero(~np.isnan(y))
    for train, test in BlockedKFold(3).split(labelled):
        taken = [k for k, row in enumerate(copies.of) if row in labelled[train]]
        rows = np.vstack([X[labelled[train]], copies.X[taken]])
        labels = np.concatenate([y[labelled[train]], y[copies.of[taken]]])
        nearest = ((rows - X[labelled[test], None]) ** 2).sum(axis=-1).argmin(axis=1)
        np.testing.assert_array_equal(prediction[labelled[test]], labels[nearest])
    shown = X.copy()
    shown[12] = copies.X[1]  # the nearest of all: its own label must not be known
    assert out_of_fold_each([_Nearest()], shown, y, BlockedKFold(3), copies)[0][12] != y[12]


class _Nearest(BaseEstimator):
    """The label of the nearest row that has one."""

    def fit(self, X, y):
        self.rows_, self.labels_ = X[~np.isnan(y)], y[~np.isnan(y)]
        return self

    def predict(self, X):
        return self.labels_[((self.rows_ - X[:, None]) ** 2).sum(axis=-1).argmin(axis=1)]


def test_metrics_by_hand():
    metrics = count_metrics(np.array([2.0, 0.0, 4.0, np.nan]), np.array([3.0, 2.0, 1.0, 9.0]))
    assert metrics.n == 3
    assert metrics.mae == 2
    assert metrics.mse == pytest.approx(14 / 3)
    assert metrics.rmse == pytest.approx((14 / 3) ** 0.5)
    assert metrics.mre == pytest.approx((1 / 2 + 3 / 4) / 2)
    assert metrics.bias == 0


def test_metrics_of_empty_scenes_and_wrong_shapes():
    assert np.isnan(count_metrics(np.zeros(3), np.ones(3)).mre)
    with pytest.raises(ValueError, match="at least one labelled frame"):
        count_metrics(np.array([np.nan]), np.array([1.0]))
    with pytest.raises(ValueError, match="one prediction per label"):
        count_metrics(np.zeros(3), np.zeros(2))
