"""Rows are chosen that tell most of all rows."""

import numpy as np
import pytest

from models import transductive_design
from models.design import NOISE


@pytest.fixture
def clusters():
    """Points of four clusters of 30, 20, 10 and 5 rows, in no order of time."""
    random = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10], [10, 10.0]])
    owners = np.repeat(np.arange(4), (30, 20, 10, 5))
    random.shuffle(owners)
    rows = centres[owners] + random.normal(0, 0.3, (65, 2))
    return owners, np.exp(-np.square(rows[:, None] - rows).sum(axis=2) / 8)


def test_each_situation_is_covered_before_one_is_repeated(clusters):
    owners, kernel = clusters
    chosen = transductive_design(kernel, np.arange(65.0), 4)
    assert sorted(owners[chosen]) == [0, 1, 2, 3]


def test_each_choice_lowers_the_mean_variance_most(clusters):
    _, kernel = clusters
    centred = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    centred /= np.trace(centred) / len(centred)

    def variance(rows):
        inner = centred[np.ix_(rows, rows)] + NOISE * np.eye(len(rows))
        return np.trace(centred - centred[:, rows] @ np.linalg.solve(inner, centred[rows]))

    chosen = transductive_design(kernel, np.arange(65.0), 3).tolist()
    for k in range(3):
        gains = [variance([*chosen[:k], row]) for row in range(65) if row not in chosen[:k]]
        assert variance(chosen[: k + 1]) == pytest.approx(min(gains))


def test_chosen_rows_are_apart_while_they_can_be(clusters):
    _, kernel = clusters
    chosen = transductive_design(kernel, np.arange(65.0), 6, gap=8)
    assert np.diff(np.sort(chosen)).min() >= 8
    everything = transductive_design(kernel, np.arange(65.0), 65, gap=30)
    assert sorted(everything) == list(range(65))


def test_rows_that_are_all_alike_are_chosen_apart():
    assert transductive_design(np.ones((9, 9)), np.arange(9.0), 3, gap=3).tolist() == [0, 3, 6]
    assert transductive_design(np.ones((2, 2)), np.arange(2.0), 0).size == 0
    assert transductive_design(np.ones((3, 3)), np.arange(3.0), 3).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="at most 2 rows"):
        transductive_design(np.ones((2, 2)), np.arange(2.0), 3)


def test_labels_are_not_spent_on_what_differs_by_less_than_their_noise():
    """Four situations of 20 rows, in one of which each row differs a little, and a row like no other."""
    owners = np.append(np.repeat(np.arange(4), 20), 4)
    little = np.random.default_rng(0).normal(0, 0.1 / 9, (81, 81)) * (owners == 0)[:, None]
    rows = np.hstack([np.eye(5)[owners], little])
    chosen = owners[transductive_design(rows @ rows.T, np.arange(81.0), 9)]
    assert sorted(chosen[:5]) == [0, 1, 2, 3, 4]
    assert sorted(chosen[5:]) == [0, 1, 2, 3]
