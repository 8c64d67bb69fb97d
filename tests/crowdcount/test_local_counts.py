import numpy as np
import pytest

from crowdcount.learning.datasets import Dataset
from crowdcount.learning.local_counts import BODY_BELOW_HEAD, body_centres, local_counts
from crowdcount.scene import Scene


@pytest.fixture
def scene():
    """People are 40 pixels tall everywhere; nobody is counted in the last 20 columns."""
    roi = np.ones((240, 320), bool)
    roi[:, 300:] = False
    return Scene((320, 240), roi, np.full((240, 320), 40.0, np.float32))


@pytest.fixture
def cells():
    """Four quarters at half the size."""
    quarters = (np.arange(120)[:, None] >= 60) * 2 + (np.arange(160) >= 80)
    quarters[:, 150:] = -1
    return quarters


def dataset(points=None, boxes=None):
    rows = points if points is not None else boxes
    counts = np.array([np.nan if row is None else len(row) for row in rows])
    as_arrays = [None if row is None else tuple(None if r is None else np.array(r, float) for r in row)
                 for row in ([points] if points is not None else [boxes])]  # fmt: skip
    key = "points" if points is not None else "boxes"
    return Dataset("street", np.arange(len(rows)), counts, **{key: as_arrays[0]})


def test_a_dot_lies_on_the_head(scene):
    centres, heights = body_centres(dataset(points=[[(100, 50)]]), 0, scene)
    np.testing.assert_allclose(centres, [(100, 50 + BODY_BELOW_HEAD * 40)])
    np.testing.assert_allclose(heights, [40])


def test_a_persons_height_is_that_where_the_body_is():
    """People grow by half a pixel with each row: who has the head's place is smaller."""
    height = np.repeat(np.linspace(10, 130, 241, dtype=np.float32)[:240, None], 320, axis=1)
    grown = Scene((320, 240), np.ones((240, 320), bool), height)
    centres, heights = body_centres(dataset(points=[[(100, 50)]]), 0, grown)
    np.testing.assert_allclose(heights, 10 + centres[:, 1] / 2, atol=0.5)
    np.testing.assert_allclose(centres, [(100, 50 + BODY_BELOW_HEAD * heights[0])], atol=0.5)


def test_a_box_is_the_body(scene):
    centres, heights = body_centres(dataset(boxes=[[(90, 50, 20, 60)]]), 0, scene)
    np.testing.assert_allclose(centres, [(100, 80)])
    np.testing.assert_allclose(heights, [60])


def test_people_count_in_their_cell_and_on_a_border_in_both(scene, cells):
    data = dataset(points=[[(40, 30), (250, 30), (160, 160)], np.empty((0, 2))])
    counts = local_counts(data, np.array([0, 1]), scene, cells)
    np.testing.assert_allclose(counts, [[1, 1, 0.5, 0.5], [0, 0, 0, 0]])


def test_people_near_a_border_count_beyond_it_as_far_as_they_reach(scene, cells):
    above = 120 - BODY_BELOW_HEAD * 40
    data = dataset(points=[[(155, 30)], [(40, above - 5)], [(155, above - 5)]])
    counts = local_counts(data, np.arange(3), scene, cells)
    np.testing.assert_allclose(counts * 16, [[12, 4, 0, 0], [12, 0, 4, 0], [9, 3, 3, 1]])


def test_people_at_the_frames_sides_count_whole_in_their_cell(scene, cells):
    data = dataset(points=[[(1, 1), (1, 239), (299, 239)]])
    np.testing.assert_allclose(local_counts(data, np.array([0]), scene, cells), [[1, 0, 1, 1]])


def test_people_outside_the_region_do_not_count_and_its_edge_keeps_its_own(scene, cells):
    dots = dataset(points=[[(310, 30), (298, 230)]])
    boxes = dataset(boxes=[[(300, 20, 20, 40), (288, 210, 20, 40)]])
    for data in (dots, boxes):
        np.testing.assert_allclose(local_counts(data, np.array([0]), scene, cells), [[0, 0, 0, 1]])


def test_a_row_without_dots_leaves_all_without_local_counts(scene, cells):
    data = dataset(points=[[(40, 30)], None])
    assert local_counts(data, np.array([0, 1]), scene, cells) is None
    assert local_counts(data, np.array([0]), scene, cells) is not None
    plain = Dataset("street", np.arange(1), np.ones(1))
    assert local_counts(plain, np.array([0]), scene, cells) is None


def test_who_stands_elsewhere_is_told_from_what_was_measured_before():
    nobody = np.empty((0, 2))
    rows = [[(40, 30)], [(40, 31)], None, nobody], [[(40, 30)], [(40, 30)], None, nobody]
    rows += [[(40, 30)], [(40, 31)], nobody, None], [[(40, 30), (40, 31)], nobody, None, nobody]
    digests = [dataset(points=points).digest_of_people() for points in rows]
    assert len(set(digests)) == 4
    assert dataset(points=rows[0]).digest_of_people() == digests[0]
    boxes = [dataset(boxes=[[(90, 50, 20, height)]]).digest_of_people() for height in (60, 61)]
    assert boxes[0] != boxes[1]
