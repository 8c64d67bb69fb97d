"""What a model takes for unlike what it learnt from: one in a hundred frames of another block may be."""

import numpy as np
import pytest

from crowdcount.learning.training_range import edge_range, fullness, most_counted, usual_outside
from models import BlockedKFold

FOLDS = BlockedKFold(5)


def test_the_flag_leaves_one_frame_in_a_hundred_of_an_unseen_block_marked():
    """Of 1000 frames, 8 of the second block have one of ten columns beyond all others', 6 have five."""
    rows = np.random.default_rng(0).uniform(0, 1, (1000, 10))
    rows[::200], rows[1::200] = 0.0, 1.0  # of each block
    rows[210:218, 3] = 7.0
    rows[230:236, 5:] = -7.0
    assert usual_outside(rows, FOLDS) == pytest.approx(0.1)


@pytest.fixture
def filling():
    """A column (1000, 1) that follows the labels from 0 to 1, and in 8 and 6 frames is 1.1 and 2."""
    rows = np.tile(np.linspace(0, 1, 200), 5)
    rows[210:218] = 1.1
    rows[230:236] = 2.0
    return rows[:, None], 3 + 10 * rows


def test_fuller_is_what_exceeds_the_fullest_by_as_much_as_few_unseen_frames_do(filling):
    """All but one in a hundred exceed the other blocks' range by a tenth of it, and the fullest is 2."""
    found = fullness(*filling, FOLDS, None)
    assert found.most / found.weights[0] == pytest.approx(2.0 + 0.1 * 2.0)


def test_what_was_learnt_from_is_not_fuller_however_its_sum_is_rounded():
    """Of frames that are alike in all blocks, no margin is left but for that."""
    rows = np.tile(np.random.default_rng(3).uniform(0, 1e3, (40, 500)), (5, 1))
    labels = rows.sum(axis=1)
    found = fullness(rows, labels, FOLDS, None)
    values = [row @ found.weights for row in rows] + [float(np.sum(row * found.weights)) for row in rows]
    assert max(values) < found.most < max(values) + 1e-8 * np.ptp(values)


def test_what_is_fuller_does_not_depend_on_the_units_of_columns_and_labels(filling):
    rows, labels = filling
    rows = rows + np.random.default_rng(2).normal(0, 0.3, (1000, 2))
    missing = [
        found.most - features @ found.weights
        for features, found in (
            (units * rows, fullness(units * rows, people * labels, FOLDS, None))
            for units, people in (((1.0, 1.0), 1.0), ((60.0, 0.1), 7.0))
        )
    ]
    np.testing.assert_allclose(missing[1], 7 * missing[0])


def test_how_full_an_unseen_block_looks_is_judged_by_what_the_others_tell():
    """A second column is above 0 in twenty crowded frames of one block alone: the others do not know it."""
    rows = np.tile(np.linspace(0, 1, 200), 5)
    labels, other = rows.copy(), np.zeros(1000)
    labels[380:400], other[380:400] = 9.0, 1.0
    features = np.column_stack([rows, other])
    found = fullness(features, labels, FOLDS, None)
    assert found.most == pytest.approx((features @ found.weights).max())


def test_a_column_of_a_larger_weight_counts_as_several_alike():
    rng = np.random.default_rng(1)
    labels = rng.uniform(0, 9, 100)
    rows = labels[:, None] + rng.normal(0, [2.0, 3.0], (100, 2))
    weighted = fullness(rows, labels, FOLDS, np.sqrt([3.0, 1.0]))
    repeated = fullness(rows[:, [0, 0, 0, 1]], labels, FOLDS, None)
    np.testing.assert_allclose(rows @ weighted.weights, rows[:, [0, 0, 0, 1]] @ repeated.weights)
    assert weighted.most == pytest.approx(repeated.most)


def test_blocks_that_are_less_full_do_not_lower_the_mark():
    """Of two blocks one frame each is far fuller than all others, and so no frame of three exceeds these."""
    rows = np.tile(np.linspace(0, 1, 200), 5)
    rows[[250, 450]] = 9.0
    found = fullness(rows[:, None], rows, FOLDS, None)
    assert found.most / found.weights[0] == pytest.approx(9.0)


def test_more_people_are_a_count_that_exceeds_all_labels_by_as_much_as_few_unseen_ones_do():
    """Of 1000 frames with 0 to 10 people, 8 are taken for a fifth more than that, and 6 for ten times."""
    labels = np.tile(np.linspace(0, 10, 200), 5)
    predictions = labels.copy()
    predictions[210:218] = 12.0
    predictions[230:236] = 100.0
    assert most_counted(labels, predictions, FOLDS) == pytest.approx(10 + 0.2 * 10)
    assert most_counted(labels, 0.5 * labels, FOLDS) == 10.5  # as labels are whole
    assert most_counted(labels[:4], labels[:4], FOLDS) == labels[:4].max() + 0.5  # pruning left so few


def test_edges_are_those_of_the_frames_as_they_are():
    rows = np.random.default_rng(3).uniform(0, 1, (50, 3))
    found = edge_range(rows, ["1x1_0_0.gradients_60", "1x1_0_0.area", "6x5_0_0.gradients_120"])
    assert found.columns.tolist() == [0, 2]
    np.testing.assert_array_equal(found.low, rows[:, [0, 2]].min(axis=0))
    np.testing.assert_array_equal(found.high, rows[:, [0, 2]].max(axis=0))
    assert edge_range(rows, ["area", "perimeter", "edges"]) is None  # ready-made ones
