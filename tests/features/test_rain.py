"""Drops before a plain wall, of which everything that is not of its grey is foreground."""

import numpy as np
import pytest

from features.motion import LOW_RATE_FPS
from features.rain import RainWatch

#: Blocks of 15 x 15 pixels.
SHAPE = 90, 120
ROI = np.ones(SHAPE, bool)
PLACES = np.array([(y, x) for y in range(3, 90, 15) for x in range(3, 120, 15)])
WALL = np.full((*SHAPE, 3), 100, np.uint8)
PERSON = np.s_[30:60, 50:60]


def mask_of(image):
    return (image != 100).any(axis=2)


def speck(frame, y, x, height=3, width=3):
    frame[y : y + height, x : x + width] = 220


def drops(k, places=PLACES, **size):
    """The wall with somebody before it and drops at places, which is empty but for one in four frames."""
    frame = WALL.copy()
    for y, x in places if k % 4 == 1 else ():
        speck(frame, y, x, **size)
    frame[PERSON] = 20
    return frame


def watched(frames, rate=10.0, roi=ROI):
    """A watch that has seen frames, and what it gave for each."""
    watch = RainWatch(rate, roi)
    return watch, [watch.without_drops(frame, k, mask_of) for k, frame in enumerate(frames)]


def rains(*arguments, roi=ROI, **size):
    return watched([drops(k, *arguments, **size) for k in range(3)], roi=roi)[0].rains


def test_while_it_rains_what_lasts_is_shown_from_the_third_frame_on():
    frames = [drops(k) for k in range(30)]
    watch, shown = watched(frames)
    assert watch.rains
    assert all(one is frame for one, frame in zip(shown[:2], frames, strict=False))
    assert all((one == drops(0)).all() for one in shown[2:])


def test_without_rain_frames_stay_as_they_are():
    frames = [drops(k, ()) for k in range(6)]
    watch, shown = watched(frames)
    assert not watch.rains
    assert all(one is frame for one, frame in zip(shown, frames, strict=True))


def test_it_is_looked_for_every_four_seconds():
    """And what it was found to be stays so in between."""
    looked_at = []

    def looked(image):
        looked_at.append(len(shown))
        return mask_of(image)

    watch, shown = RainWatch(10.0, ROI), []
    for k in range(90):
        frame = drops(k) if k < 45 else drops(k, ())
        shown.append(watch.without_drops(frame, k, looked) is frame)
    assert looked_at == [2, 2, 42, 42, 82, 82]
    assert shown == [True] * 2 + [False] * 80 + [True] * 8


@pytest.mark.parametrize(("roi", "n_blocks"), [(ROI, 48), (np.arange(120) < np.full((90, 1), 60), 24)])
def test_drops_are_all_over_the_region(roi, n_blocks):
    """In more than a fifth of its blocks: those of a fountain are in fewer."""
    places = PLACES[PLACES[:, 1] < 45]
    least = int(0.2 * n_blocks) + 1
    assert rains(places[:least], roi=roi)
    assert not rains(places[: least - 1], roi=roi)


def test_drops_are_small():
    assert rains(height=8, width=4)
    assert not rains(height=11, width=3)


@pytest.mark.parametrize(("size", "expected"), [(20, True), (24, False)])
def test_drops_are_most_of_what_is_in_one_frame_alone(size, expected):
    """Where people run past, specks come of them."""
    frames = [drops(k, PLACES[PLACES[:, 1] < 40][:15], height=8) for k in range(3)]
    frames[1][:15, 80 : 80 + size // 2] = 20
    assert watched(frames)[0].rains == expected


@pytest.mark.parametrize(("apart", "expected"), [(7, False), (8, True)])
@pytest.mark.parametrize("is_beside", [False, True])
def test_drops_are_not_near_what_lasts(is_beside, apart, expected):
    """As limbs of who runs are."""
    frames = np.repeat(WALL[None], 3, axis=0)
    turned = frames.swapaxes(1, 2) if is_beside else frames
    turned[:, ::40] = 20
    for near in (apart, 40 - apart):
        turned[1, near, 2::10] = 220
    assert watched(frames)[0].rains == expected


def test_a_time_lapse_stays_as_it_is():
    frames = [drops(k) for k in range(30)]
    for rate in (0.9 * LOW_RATE_FPS, LOW_RATE_FPS):
        watch, _ = watched(frames, rate)
        assert watch.rains == (rate == LOW_RATE_FPS)
    _, shown = watched(frames, 0.9 * LOW_RATE_FPS)
    assert all(one is frame for one, frame in zip(shown, frames, strict=True))


def test_of_one_frame_nothing_is_told_whatever_its_number():
    frame = drops(1)
    assert RainWatch(10.0, ROI).without_drops(frame, 42, mask_of) is frame


def test_without_a_background_nothing_is_told():
    watch = RainWatch(10.0, ROI)
    frames = [drops(k) for k in range(3)]
    assert all(watch.without_drops(frame, k, None) is frame for k, frame in enumerate(frames))
    assert not watch.rains


def test_frames_that_are_passed_over_tell_people_from_drops():
    watch = RainWatch(10.0, ROI)
    for k in range(2):
        watch.glimpse(drops(k))
    assert (watch.without_drops(drops(2), 2, mask_of) == drops(0)).all()
    assert watch.rains


def test_a_frame_in_between_is_shown_likewise_and_not_remembered():
    watch, _ = watched([drops(k) for k in range(3)])
    between = drops(1, PLACES + 5)
    for _ in range(3):
        assert (watch.in_between(between) == drops(0)).all()
    assert (watch.without_drops(drops(3), 3, mask_of) == drops(0)).all()
    for level in (90, 100, 110):
        watch.glimpse(np.full_like(WALL, level))
    assert (watch.in_between(np.full_like(WALL, 120)) == 110).all()  # of the two before it and itself
    dry, _ = watched([drops(k, ()) for k in range(3)])
    assert dry.in_between(between) is between
