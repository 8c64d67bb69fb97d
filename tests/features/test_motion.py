from copy import deepcopy

import cv2
import numpy as np
import pytest

from features.motion import INTERVAL_S, STANDING_SPEED, MotionMeter, by_direction

HEIGHT_MAP = np.full((120, 160), 30.0, np.float32)
RIGHT, DOWN = np.array([1.0, 0.0]), np.array([0.0, 1.0])


def noise(shape, seed, grain):
    coarse = np.random.default_rng(seed).uniform(0, 255, (shape[0] // grain, shape[1] // grain))
    return cv2.resize(coarse, shape[::-1]).clip(0, 255).astype(np.uint8)


GROUND, PERSON = noise((120, 160), 0, 20), noise((36, 18), 1, 6)


def picture(*corners):
    """The ground with people whose upper left corners are at (x, y)."""
    image = GROUND.copy()
    mask = np.zeros(image.shape, bool)
    for x, y in corners:
        image[y : y + 36, x : x + 18] = PERSON
        mask[y : y + 36, x : x + 18] = True
    return image, mask


def measured(places, rate=10.0, axis=RIGHT):
    """The speed in the last of some pictures, and where the people are in it."""
    meter = MotionMeter(HEIGHT_MAP, axis, rate)
    for corners in places:
        image, mask = picture(*corners)
        speed = meter.measure(image)
    return speed, mask


def test_speeds_are_in_person_heights_per_second_along_the_axis():
    speed, mask = measured([[(40 + 2 * k, 40)] for k in range(5)])  # 20 pixels a second
    assert speed.shape == mask.shape
    assert np.median(speed[mask]) == pytest.approx(20 / 30, rel=0.2)
    assert abs(np.median(speed[~mask])) < 0.05
    across, _ = measured([[(40 + 2 * k, 40)] for k in range(5)], axis=DOWN)
    assert abs(np.median(across[mask])) < STANDING_SPEED


@pytest.mark.parametrize("rate", [5.0, 10.0, 25.0, 50.0])
def test_the_rate_does_not_change_the_speed(rate):
    places = [[(round(30 + 20 * k / rate), 40)] for k in range(round(rate))]
    speed, mask = measured(places, rate)
    assert np.median(speed[mask]) == pytest.approx(20 / 30, rel=0.3)


def test_who_walks_against_the_axis_is_negative_and_who_stands_is_neither():
    speed, mask = measured([[(20 + 2 * k, 60), (70, 60), (130 - 2 * k, 60)] for k in range(5)])
    right, left = by_direction(mask, speed)
    assert not (right & left).any()
    area = 36 * 18
    columns = [slice(20, 50), slice(66, 92), slice(115, 150)]
    shares = [[part[:, column].sum() / area for column in columns] for part in (right, left)]
    np.testing.assert_allclose(shares, [[1, 0, 0], [0, 0, 1]], atol=0.15)


def test_there_is_no_motion_before_there_is_something_to_compare_with():
    meter = MotionMeter(HEIGHT_MAP, RIGHT, 10.0)
    known = [meter.measure(picture((40, 40))[0]) is not None for _ in range(4)]
    assert known == [False, False, True, True]
    assert round(INTERVAL_S * 10) == 2


def test_an_empty_mask_moves_nowhere():
    right, left = by_direction(np.zeros((4, 5), bool), np.ones((4, 5), np.float32))
    assert not right.any()
    assert not left.any()


def test_the_smallest_working_size_is_measured():
    small = np.full((32, 32), 10.0, np.float32)
    meter = MotionMeter(small, RIGHT, 5.0)
    meter.measure(GROUND[:32, :32])
    assert np.isfinite(meter.measure(GROUND[:32, 1:33])).all()


def test_rates_too_low_for_flow_are_refused():
    with pytest.raises(ValueError, match="at least 4 frames/s, got 2"):
        MotionMeter(HEIGHT_MAP, RIGHT, 2.0)


def test_a_copy_sees_frames_of_its_own():
    meter = MotionMeter(HEIGHT_MAP, RIGHT, 10.0)
    images = [picture((40 + 2 * k, 40))[0] for k in range(6)]
    for image in images[:4]:
        meter.measure(image)
    copied = deepcopy(meter)
    for _ in range(3):
        copied.measure(GROUND)
    fresh = MotionMeter(HEIGHT_MAP, RIGHT, 10.0)
    speeds = [fresh.measure(image) for image in images[:5]]
    np.testing.assert_array_equal(meter.measure(images[4]), speeds[-1])
