"""Rows chosen as prototypes, against definitions written out."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from models.selection import SELECTIONS, select_rows


@pytest.fixture
def clusters():
    """Three clusters of 20 rows."""
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(c, 0.3, (20, 2)) for c in ((0, 0), (5, 0), (0, 7))])


def random_state():
    return np.random.RandomState(0)


@pytest.mark.parametrize("how", SELECTIONS)
@pytest.mark.parametrize("count", [1, 3, 60])
def test_chooses_as_many_different_rows(clusters, how, count):
    chosen = select_rows(clusters, count, how, random_state())
    assert len(chosen) == len(set(chosen.tolist())) == count


@pytest.mark.parametrize("how", SELECTIONS)
def test_takes_duplicate_rows(how):
    rows = np.repeat(np.eye(2), 4, axis=0)
    assert len(set(select_rows(rows, 6, how, random_state()).tolist())) == 6


def test_spanning_begins_with_the_median_and_goes_on_with_the_farthest(clusters):
    chosen = select_rows(clusters, 4, "spanning", random_state())
    distances = pairwise_distances(clusters)
    assert chosen[0] == np.argmin(distances.sum(axis=0))
    for k in (1, 2, 3):
        assert chosen[k] == np.argmax(distances[:, chosen[:k]].min(axis=1))


def test_medians_of_clusters(clusters):
    chosen = np.sort(select_rows(clusters, 3, "k-medians", random_state()))
    for k in range(3):
        members = np.arange(20 * k, 20 * k + 20)
        sums = pairwise_distances(clusters[members]).sum(axis=0)
        assert chosen[k] == members[np.argmin(sums)]


def test_an_unknown_selection_is_told(clusters):
    with pytest.raises(ValueError, match="k-medians"):
        select_rows(clusters, 2, "best", random_state())
