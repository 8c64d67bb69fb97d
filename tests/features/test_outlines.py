"""People, light and what is near the lens, drawn large and reduced as a camera's frames are."""

import cv2
import numpy as np
import pytest

from features.geometry import Figures, Geometry
from features.outlines import OutlineMeter

SIZE_WH, TALL = (160, 120), 20  # a person is so tall
TIMES = 4  # drawn so much larger


def reduced(large):
    return cv2.resize(large, SIZE_WH, interpolation=cv2.INTER_AREA)


def paved(seed=0):
    """A yard with paving stones and a wall, (H, W, 3) uint8, large."""
    rng = np.random.default_rng(seed)
    stones = rng.integers(95, 150, (30, 20)).astype(np.uint8)
    yard = cv2.resize(stones, None, fx=32, fy=16, interpolation=cv2.INTER_NEAREST)
    yard[:120] = 190
    cv2.rectangle(yard, (60, 20), (200, 120), 60, -1)  # a door
    return cv2.merge([yard] * 3)


def even():
    """The same without stones."""
    yard = paved()
    yard[120:] = 120
    return yard


def with_person(large, x=80, foot=90, clothes=30):
    """A person on a picture; x and foot as they are reduced."""
    drawn, unit = large.copy(), TIMES * TALL
    x, foot = TIMES * x, TIMES * foot
    cv2.circle(drawn, (x, round(foot - 0.92 * unit)), round(0.08 * unit), (120, 140, 180), -1)
    top, waist = foot - round(0.84 * unit), foot - round(0.4 * unit)
    cv2.rectangle(drawn, (x - 14, top), (x + 14, waist), (clothes,) * 3, -1)
    for side in (-1, 1):
        cv2.line(drawn, (x + 6 * side, foot - 32), (x + 10 * side, foot), (clothes + 10,) * 3, 9)
    return drawn


def spot(x=80, y=70, axes=(14, 8), blur=3.0):
    """A soft spot: (H, W, 1) float32 from 0 to 1, reduced."""
    drawn = np.zeros(SIZE_WH[::-1], np.float32)
    cv2.ellipse(drawn, (x, y), axes, 20, 0, 360, 1, -1)
    return cv2.GaussianBlur(drawn, (0, 0), blur)[..., None]


def covered(frame, by, spot):
    return (frame * (1 - spot) + by * spot).astype(np.uint8)


def soft_blobs(scene_bgr, frame_bgr, mask=None, tall=TALL):
    """Which blobs of the difference of two reduced pictures, or of a mask, are soft; by size."""
    if mask is None:
        mask = cv2.absdiff(scene_bgr, frame_bgr).max(axis=2) > 14
    mask = cv2.medianBlur(mask.astype(np.uint8), 3).astype(bool)
    geometry = Geometry.of_grids(np.full(mask.shape, tall, np.float32), np.ones_like(mask), [(1, 1)])
    figures = Figures(mask, geometry)
    is_soft = OutlineMeter(scene_bgr).soft(cv2.cvtColor(frame_bgr, cv2.COLOR_BGR2GRAY), figures)
    assert is_soft.shape == figures.blob_areas.shape
    return [bool(is_soft[blob]) for blob in np.argsort(-figures.blob_areas) if figures.blob_areas[blob] > 0]


@pytest.mark.parametrize("clothes", [30, 90, 230])
@pytest.mark.parametrize("place", [(80, 90), (4, 90), (80, 128), (40, 45)], ids=str)
def test_people_have_outlines(place, clothes):
    for yard in (paved(), even()):
        assert not any(soft_blobs(reduced(yard), reduced(with_person(yard, *place, clothes))))


@pytest.mark.parametrize("light", [0.25, 0.6, 1.3])
@pytest.mark.parametrize("blur", [0, 2, 5])
def test_people_have_outlines_in_any_light_and_as_sharp_as_the_picture(light, blur):
    seen = [np.clip(light * image, 0, 255).astype(np.uint8) for image in (paved(), with_person(paved()))]
    if blur:
        seen = [cv2.GaussianBlur(image, (0, 0), blur) for image in seen]
    assert not any(soft_blobs(*map(reduced, seen)))


def test_what_spans_the_picture_has_outlines_above_and_below():
    frame = paved()
    frame[200:280] = 40
    assert soft_blobs(reduced(paved()), reduced(frame)) == [False]


def test_a_person_beside_the_lens_has_outlines():
    """So large that few of the pixels are of the outline."""
    scene = paved()
    near = cv2.resize(with_person(paved(), 80, 90), None, fx=4, fy=4)[1040:1520, 960:1600]
    behind = cv2.resize(scene, None, fx=4, fy=4)[1040:1520, 960:1600]
    assert soft_blobs(reduced(behind), reduced(near), tall=4 * TALL)[0] is False


@pytest.mark.parametrize("yard", [paved(), even()], ids=["paved", "even"])
class TestSoft:
    def test_what_is_near_the_lens(self, yard):
        """A moth, a spider, a drop: out of focus before a scene that is not."""
        scene = reduced(yard)
        for colour, axes in ((30, (14, 8)), (235, (30, 12)), (60, (12, 12))):
            assert soft_blobs(scene, covered(scene, colour, spot(axes=axes)))[0] is True

    def test_light(self, yard):
        """Of headlights and torches, and the shadow of a cloud."""
        scene = reduced(yard)
        for factor, axes in ((1.8, (30, 15)), (0.4, (60, 25)), (1.5, (12, 12))):
            lit = scene * (1 + (factor - 1) * spot(y=85, axes=axes, blur=5.0))
            assert soft_blobs(scene, np.clip(lit, 0, 255).astype(np.uint8))[0] is True

    def test_a_few_steep_places_are_no_outline(self, yard):
        scene = reduced(yard)
        frame = covered(scene, 235, spot(axes=(30, 12)))
        frame[50:54, 80] = 0  # a leg of the moth
        assert soft_blobs(scene, frame)[0] is True

    def test_a_person_with_it_is_kept(self, yard):
        scene, frame = reduced(yard), reduced(with_person(yard, 30))
        found = soft_blobs(scene, covered(frame, 235, spot(110, 80)))
        assert sorted(found) == [False, True]

    def test_what_is_too_small_to_tell(self, yard):
        scene = reduced(yard)
        frame = covered(scene, 250, spot(axes=(4, 3), blur=2.5))
        assert soft_blobs(scene, frame, tall=60) == [False]
        assert soft_blobs(scene, frame, tall=20) == [True]
        both = covered(frame, 250, spot(120, 90))
        assert soft_blobs(scene, both, tall=60) == [True, False]


def test_whoever_has_left_has_no_outlines():
    """The scene was learnt with somebody on even ground."""
    assert soft_blobs(reduced(with_person(even())), reduced(even())) == [True]


def test_whoever_stands_there_all_the_time_is_kept():
    """As a part of the scene's picture, from which little differs."""
    scene = reduced(with_person(even()))
    mask = cv2.absdiff(scene, reduced(even())).max(axis=2) > 14
    frame = covered(scene, 200, spot(80, 79, (1, 1), 1.0))
    assert soft_blobs(scene, frame, mask) == [False]


def test_nothing_is_told_out_of_focus():
    """People are as soft then."""
    blurred = [cv2.GaussianBlur(image, (0, 0), 32) for image in (paved(), with_person(paved()))]
    assert OutlineMeter(reduced(blurred[0])).sharpness < 0.25
    assert not any(soft_blobs(*map(reduced, blurred)))


@pytest.mark.parametrize("level", [0, 128])
def test_nothing_is_told_before_an_even_wall(level):
    scene = np.full((*SIZE_WH[::-1], 3), level, np.uint8)
    assert OutlineMeter(scene).sharpness == 0
    assert soft_blobs(scene, covered(scene, 250, spot())) == [False]


def test_the_sharpness_of_a_step_is_a_half():
    step = np.zeros((60, 80, 3), np.uint8)
    step[:, 40:] = 200
    assert OutlineMeter(step).sharpness == pytest.approx(0.5)
    ramp = cv2.merge([np.tile(np.arange(80, dtype=np.uint8), (60, 1))] * 3)
    assert OutlineMeter(ramp).sharpness == pytest.approx(1 / 6, rel=0.01)


def test_a_frame_without_foreground_has_nothing_soft():
    scene = reduced(paved())
    assert soft_blobs(scene, scene) == []
