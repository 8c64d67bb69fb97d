import cv2
import numpy as np
import pytest

from features.blobs import BlobWeigher
from features.geometry import Geometry
from features.vehicles import VehicleFinder


def weigher(person_height, seen_height=18.0, roi=None):
    """Of a picture of which a person is so tall at each pixel, (H, W) or (H, 1)."""
    tall = np.broadcast_to(np.float32(person_height), (150, 200)).copy()
    roi = np.ones(tall.shape, bool) if roi is None else roi
    return BlobWeigher(Geometry.of_grids(tall, roi, [(1, 1)]), seen_height)


def of(blobs, mask):
    """What is made of a mask where no scene is known."""
    return blobs.figures(mask, np.zeros(mask.shape, np.uint8), None)


def drawn(*boxes):
    mask = np.zeros((150, 200), bool)
    for top, left, height, width in boxes:
        mask[top : top + height, left : left + width] = True
    return mask


def test_parts_are_joined_in_the_band_of_rows_around_them_as_in_a_larger_frame(monkeypatch):
    monkeypatch.setattr(VehicleFinder, "take_from", lambda *_: False)  # a band of people is one
    blobs = weigher(18.0)
    rng = np.random.default_rng(0)
    element = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 17))
    for top, bottom in ((0, 40), (60, 90), (100, 150), (0, 150)):
        mask = np.zeros((150, 200), bool)
        mask[top:bottom] = rng.random((bottom - top, 200)) < 0.2
        closed = cv2.morphologyEx(np.pad(mask, 20).view(np.uint8), cv2.MORPH_CLOSE, element)[20:-20, 20:-20]
        joined = cv2.medianBlur(closed, 3)
        _, labels, statistics, _ = cv2.connectedComponentsWithStats(joined)
        least = statistics[:, cv2.CC_STAT_AREA] >= 0.01 * 18**2
        found = of(blobs, mask.copy()).mask
        assert found.any()
        np.testing.assert_array_equal(found, (least & (np.arange(len(least)) > 0))[labels])


def test_specks_are_no_people():
    blobs = weigher(36.0, 36.0)
    assert not len(of(blobs, drawn((50, 50, 3, 4))).pixels)  # 12 pixels of 36² to a squared person height
    found = of(blobs, drawn((50, 50, 3, 4), (100, 150, 6, 6)))
    assert found.mask[100:106, 150:156].sum() == found.mask.sum() == len(found.pixels) > 20
    assert found.areas.sum() == pytest.approx(len(found.pixels) / 36**2)


@pytest.mark.parametrize("tall", [40.0, 20.0])
def test_a_pixel_is_of_whoever_can_have_the_head_at_it_and_the_feet_at_the_end_of_its_blob(tall):
    """Of the one who stands at the blob's foot, and farther up of who is smaller in the picture."""
    rows = np.arange(150, dtype=np.float32)[:, None]
    middle = rows - 90 + tall  # so tall is who has the middle of the body in row 90
    blobs = weigher(np.maximum(4.0, 0.5 * middle + tall / 2))
    foot, heights = 90 + round(tall / 2), 1.0 / of(blobs, drawn((40, 100, 130 - 40, 8))).lengths
    lone = of(blobs, drawn((foot - round(tall), 100, round(tall), 8)))
    assert 1.0 / lone.lengths.min() == pytest.approx(tall, rel=0.04)
    assert np.ptp(1.0 / lone.lengths[lone.rows > 90]) < 0.04 * tall
    assert heights.min() < 0.7 * heights.max()


def test_what_is_seen_from_below_heads_is_of_who_stands_at_its_foot():
    """Whoever comes nearer has the head higher up there: its row bounds no height."""
    rows = np.arange(150, dtype=np.float32)[:, None]
    lone = of(weigher(np.maximum(4.0, 4.5 * rows - 260)), drawn((30, 100, 100, 20)))
    assert np.ptp(lone.lengths) == 0


def test_a_vehicle_is_left_out_and_told():
    blobs = weigher(18.0)
    person, car = (20, 20, 18, 6), (80, 60, 30, 80)
    found = of(blobs, drawn(person, car))
    assert found.without_vehicles
    assert found.mask[20:38, 20:26].mean() > 0.9
    assert not found.mask[85:105, 65:135].any()
    assert not of(blobs, drawn(person)).without_vehicles


def test_a_small_vehicle_is_told_and_where_specks_are_left_of_it_too():
    """Of 1.4 squared person heights."""
    mask = cv2.ellipse(drawn().view(np.uint8), (100, 80), (37, 14), 0, 0, 360, 1, -1)
    found = of(weigher(36.0, 36.0), mask.view(bool))
    assert found.without_vehicles
    assert not len(found.pixels)


def test_nothing_beyond_the_region_of_interest_is_people():
    roi = np.ones((150, 200), bool)
    roi[:, :100] = False
    found = of(weigher(18.0, roi=roi), drawn((60, 85, 18, 30)))
    np.testing.assert_array_equal(np.unique(found.columns), np.arange(100, 115))


def test_what_has_no_outlines_is_left_out_against_the_scene_of_each_frame():
    """A patch of light on one paving, and on another."""
    stones = np.random.default_rng(0).integers(40, 140, (2, 15, 20))
    scenes = [cv2.merge([np.kron(one, np.ones((10, 10))).astype(np.uint8)] * 3) for one in stones]
    pool = np.zeros((150, 200), np.float32)
    cv2.ellipse(pool, (120, 80), (9, 7), 0, 0, 360, 1, -1)
    pool = cv2.GaussianBlur(pool, (0, 0), 3)
    person = drawn((40, 30, 18, 6))
    blobs = weigher(18.0)
    for scene in *scenes, scenes[0]:
        grey = (scene[..., 0] * (1 + 0.7 * pool)).astype(np.uint8)
        grey[person] = 5
        light = (grey > 1.2 * scene[..., 0]) & ~person
        assert light[77:83, 115:125].all()
        found = blobs.figures(person | light, grey, scene)
        assert not found.without_vehicles
        assert found.mask.sum() == len(found.pixels) == found.mask[person].sum() > 0.9 * person.sum()
