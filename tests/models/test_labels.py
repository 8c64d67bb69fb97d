"""What a regressor accepts to learn from."""

import numpy as np
import pytest

from models import HuberLossRegressor
from models.labels import check_rows, without_slips


def test_a_plain_array_is_taken_as_it_is():
    rows, model = np.arange(6.0).reshape(3, 2), HuberLossRegressor()
    model.feature_names_in_ = np.array(["of", "before"])
    assert check_rows(model, rows) is rows
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


def test_everything_else_is_what_scikit_learn_makes_of_it():
    for rows in ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]], np.float32)):
        checked = check_rows(HuberLossRegressor(), rows)
        assert checked.dtype == np.float64
        assert checked.tolist() == [[1, 2], [3, 4]]
    for rows, message in (
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.array([[1.0, np.inf]]), "infinity"),
        (np.ones(3), "2D array"),
        (np.ones((0, 3)), "0 sample"),
        (np.ones((3, 0)), "0 feature"),
    ):
        with pytest.raises(ValueError, match=message):
            check_rows(HuberLossRegressor(), rows)


def test_slips_are_far_beyond_what_labels_differ_by():
    labels = np.random.default_rng(0).poisson(3, 50).astype(float)
    assert without_slips(labels).tolist() == labels.tolist()
    assert without_slips(np.append(labels, [1212.0, -500.0])).tolist() == labels.tolist()
    seldom = np.repeat([0.0, 1.0, 4.0], [90, 8, 2])  # a yard at night
    assert without_slips(seldom).tolist() == seldom.tolist()
    assert without_slips(np.append(seldom, 100.0)).tolist() == seldom.tolist()
    for same in np.full(5, 7.0), np.array([3.0]):
        assert without_slips(same).tolist() == same.tolist()
