"""Vehicles and people as drawn outlines, at three sizes."""

import cv2
import numpy as np
import pytest

from features.vehicles import VehicleFinder

HEIGHT = 20  # of a person, pixels


def polygon(mask, points, x, y, unit):
    """Points in person heights, x to the right and y up from the ground at (x, y)."""
    place = np.array([(x + unit * a, y - unit * b) for a, b in points])
    cv2.fillPoly(mask, [np.rint(place).astype(np.int32)], 1)


def car(mask, x, y, unit=HEIGHT):
    rear = [(-1.3, 0.1), (-1.3, 0.52), (-0.9, 0.55), (-0.7, 0.86)]
    polygon(mask, [*rear, (0.3, 0.86), (0.7, 0.55), (1.3, 0.5), (1.3, 0.1)], x, y, unit)
    for wheel in (-0.8, 0.8):
        cv2.circle(mask, (round(x + wheel * unit), round(y - 0.17 * unit)), round(0.17 * unit), 1, -1)


def person(mask, x, y, unit=HEIGHT):
    cv2.circle(mask, (round(x), round(y - 0.92 * unit)), round(0.08 * unit), 1, -1)
    polygon(mask, [(-0.14, 0.45), (-0.14, 0.82), (0.14, 0.82), (0.14, 0.45)], x, y, unit)
    for side in (-1, 1):
        polygon(mask, [(0.02 * side, 0.5), (0.13 * side, 0.5), (0.2 * side, 0), (0.1 * side, 0)], x, y, unit)


def find(drawn, roi=None, unit=HEIGHT):
    """What is left of a foreground, and whether vehicles were found; unit: a person's height, or a map."""
    foreground = drawn.astype(bool)
    roi = np.ones_like(foreground) if roi is None else roi
    finder = VehicleFinder(np.full(foreground.shape, unit, np.float32), roi)
    is_found = finder.take_from(foreground.copy(), foreground)
    return foreground, is_found


def scene(unit=HEIGHT):
    return np.zeros((6 * unit, 10 * unit), np.uint8)


@pytest.mark.parametrize("unit", [14, 20, 36])
def test_a_car_is_no_part_of_the_foreground(unit):
    drawn = scene(unit)
    car(drawn, 5 * unit, 4 * unit, unit)
    left, is_found = find(drawn, unit=unit)
    assert is_found
    assert left.sum() < 0.1 * drawn.sum()


def test_people_beside_before_and_behind_it_stay():
    drawn, people = scene(), scene()
    car(drawn, 100, 80)
    for x, y in ((100, 88), (40, 80), (102, 68)):
        person(people, x, y)
    before = people.copy()
    car(people, 100, 80)
    left, is_found = find(people)
    assert is_found
    assert left[:, 30:50].sum() == before[:, 30:50].sum()
    assert 0.3 < left[:, 50:].sum() / before[:, 50:].sum() < 1.1  # but for what is before or behind the car


@pytest.mark.parametrize("distance", [0.34, 0.45, 0.6])
@pytest.mark.parametrize("n_people", [5, 9])
def test_people_side_by_side_are_none(distance, n_people):
    drawn = scene()
    for k in range(n_people):
        person(drawn, 30 + distance * HEIGHT * k, 80 + 2 * (k % 3))
        person(drawn, 30 + distance * HEIGHT * (k + 0.5), 74 + 2 * (k % 2))
    drawn = cv2.morphologyEx(drawn, cv2.MORPH_CLOSE, np.ones((9, 3), np.uint8))
    left, is_found = find(drawn)
    assert not is_found
    assert (left == drawn).all()


def test_a_crowd_that_fills_the_region_is_none():
    """Whose heads and legs are beyond it."""
    drawn = np.ones_like(scene())
    assert not find(drawn)[1]
    roi = np.zeros(drawn.shape, bool)
    roi[40:60, 20:180] = True
    assert not find(drawn & roi, roi)[1]


def van():
    """Three heights wide and one high, in the middle."""
    drawn = scene()
    drawn[50:70, 70:130] = 1
    return drawn


@pytest.mark.parametrize(("rows", "is_found"), [((46, 74), True), ((50, 74), False), ((46, 70), False)])
def test_what_the_region_ends_at_is_none_but_what_is_near_its_end_may_be(rows, is_found):
    """Heads, or legs, may be beyond the end; those of who stands elsewhere are not its own."""
    roi, drawn = np.zeros(scene().shape, bool), van()
    roi[slice(*rows)] = True
    drawn[:, 60:64] = 1
    assert find(drawn & roi, roi)[1] == is_found


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(
    ("n_heads", "tall", "apart", "is_found"),
    [
        (4, 4, 0, True),
        (5, 4, 0, False),  # above a third of its columns
        (5, 2, 0, True),  # too flat for heads
        (5, 3, 4, False),
        (5, 3, 8, True),  # of others
    ],
)
def test_heads_above_or_legs_below_a_part_of_it_tell_people(n_heads, tall, apart, is_found, is_turned):
    drawn = van()
    for k in range(n_heads):
        drawn[50 - apart - tall : 50 - apart, 75 + 11 * k : 79 + 11 * k] = 1
    assert find(drawn[::-1] if is_turned else drawn)[1] == is_found


def test_is_found_whoever_is_at_the_pictures_upper_and_left_end():
    drawn = van()
    drawn[:10, :5] = 1
    assert find(drawn)[1]


def test_who_is_far_above_its_bonnet_is_no_part_of_it():
    drawn = van()
    drawn[34:50, 70:100] = 1
    drawn[36:40, 103:128] = 1
    assert find(drawn)[1]


def test_is_as_large_as_people_in_its_middle_make_it():
    around = np.full(scene().shape, 20, np.float32)
    around[59:62, 99:102] = 40
    assert not find(van(), unit=around)[1]
    there = np.full(scene().shape, 40, np.float32)
    there[52:68, 72:128] = 20
    assert find(van(), unit=there)[1]


@pytest.mark.parametrize(("width", "is_found"), [(2.2, False), (3, True)])
def test_what_is_somewhat_bent_is_one_where_several_may_overlap(width, is_found):
    drawn = scene()
    outline = [(0, 0), (0, 1.6), (0.8, 1.6), (0.8, 0.8), (width, 0.8), (width, 0)]
    polygon(drawn, outline, 60, 80, HEIGHT)
    assert find(drawn)[1] == is_found


def test_what_is_long_and_thin_or_not_wide_is_none():
    """Nor what is higher than wide, as people behind each other are."""
    for width, height in ((6, 0.35), (1.3, 1.0), (2, 2.4)):
        drawn = scene()
        polygon(drawn, [(0, 0), (0, height), (width, height), (width, 0)], 40, 80, HEIGHT)
        assert not find(drawn)[1], (width, height)


def test_what_is_thick_and_wide_but_bent_is_none():
    drawn = scene()
    polygon(drawn, [(0, 0), (0, 2.6), (0.55, 2.6), (0.55, 0.55), (3, 0.55), (3, 0)], 60, 80, HEIGHT)
    assert not find(drawn)[1]


def test_of_nothing_nothing_is_taken():
    drawn = scene()
    drawn[50, 50] = 1
    left, is_found = find(drawn)
    assert not is_found
    assert left.sum() == 1


def test_vehicles_that_overlap_each_other_are_taken_together():
    drawn = scene()
    car(drawn, 52, 72)
    polygon(drawn, [(-2, 0.2), (-2, 1.8), (2, 1.8), (2, 0.2)], 114, 104, HEIGHT)
    left, is_found = find(drawn)
    assert is_found
    assert left.sum() < 0.1 * drawn.sum()


@pytest.mark.parametrize(("x", "y"), [(0, 90), (200, 90)])
def test_a_bus_at_the_pictures_side_is_one(x, y):
    drawn = scene()
    polygon(drawn, [(-3, 0.2), (-3, 1.8), (2.5, 1.8), (2.5, 0.2)], x, y, HEIGHT)
    left, is_found = find(drawn)
    assert is_found
    assert left.sum() < 0.05 * drawn.sum()
