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
    """What is left of a foreground, and whether vehicles were found."""
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


def test_what_is_long_and_thin_or_not_wide_is_none():
    for width, height in ((6, 0.35), (1.3, 1.0)):
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


def test_a_bus_at_the_pictures_side_is_one():
    drawn = scene()
    polygon(drawn, [(-3, 0.2), (-3, 1.8), (2.5, 1.8), (2.5, 0.2)], 0, 90, HEIGHT)
    left, is_found = find(drawn)
    assert is_found
    assert left.sum() < 0.05 * drawn.sum()
