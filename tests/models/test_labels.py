"""What a regressor accepts to learn from."""

import numpy as np
import pytest

from models import HuberLossRegressor
from models.labels import centre_of, check_rows


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


def test_the_centre_is_the_mean_but_for_slips():
    labels = np.random.default_rng(0).poisson(3, 50).astype(float)
    assert centre_of(labels) == labels.mean()
    assert centre_of(np.append(labels, [1212.0, -500.0])) == labels.mean()
    assert centre_of(np.full(5, 7.0)) == 7.0
    assert centre_of(np.array([3.0])) == 3.0
