import cv2
import numpy as np
import pytest

from features.background import kept_frames, window_step
from features.foreground import look_step
from features.frozen import N_KEPT, SAME_SHARE, FreezeWatch, changed_share

WIDTH, HEIGHT = 160, 120
#: Frames per second of still images taken now and then, and of video.
both_rates = pytest.mark.parametrize("rate", [1.0, 5.0], ids=["stills", "video"])


class Camera:
    """An empty yard with noise of half a grey level, and a clock in the picture."""

    def __init__(self, brightness=1.0):
        rng = np.random.default_rng(0)
        yard = cv2.resize(rng.uniform(30, 220, (6, 8, 3)).astype(np.float32), (WIDTH, HEIGHT))
        self._yard = brightness * yard
        self._noise = rng.normal(0, 0.5, (20, HEIGHT, WIDTH, 3)).astype(np.float32)
        self._rng = np.random.default_rng(1)

    def __call__(self):
        image = self._yard + self._rng.choice(self._noise) * self._rng.choice([1, 2])
        return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def with_clock(image, k):
    return cv2.putText(image.copy(), f"03:14:{k % 60:02}", (5, 20), cv2.FONT_HERSHEY_PLAIN, 1.2, (255,) * 3)


def n_frames(seconds, rate):
    return round(seconds * rate)


@both_rates
def test_an_empty_yard_is_live(rate):
    camera, watch = Camera(), FreezeWatch(rate)
    assert not any(watch.see(camera()) for _ in range(n_frames(300, rate)))


@both_rates
def test_a_repeated_picture_is_told_after_a_minute_until_the_feed_goes_on(rate):
    camera, watch = Camera(), FreezeWatch(rate)
    for _ in range(n_frames(33, rate)):
        assert not watch.see(camera())
    image = camera()
    found = [watch.see(with_clock(image, k)) for k in range(n_frames(120, rate))]
    first = found.index(True)
    assert n_frames(60, rate) <= first <= n_frames(80, rate) + look_step(rate)
    assert all(found[first:])
    assert not any([watch.see(camera()) for _ in range(n_frames(60, rate))][look_step(rate) :])


def test_compression_makes_no_other_picture_of_one_but_the_scene_seen_again_is_another():
    camera, rng = Camera(), np.random.default_rng(2)
    image = camera()[..., 1]
    again = np.where(rng.random(image.shape) < 0.08, image + 1, image).astype(np.uint8)
    assert changed_share(image, again) < SAME_SHARE < changed_share(image, camera()[..., 1]) / 2


@pytest.mark.parametrize("level", [5, 255])
def test_what_is_dark_or_saturated_does_not_tell_pictures_apart(level):
    image = Camera()()[..., 1]
    image[:60] = level
    other = image.copy()
    other[:60] = 120
    assert changed_share(other, image) == 0


def test_nothing_is_told_in_the_dark():
    camera, watch = Camera(brightness=0.04), FreezeWatch(1.0)
    image = with_clock(camera(), 0)
    assert not any(watch.see(image) for _ in range(200))


def test_a_clip_that_is_repeated_is_not_frozen():
    camera, watch = Camera(), FreezeWatch(5.0)
    clip = [camera() for _ in range(window_step(5.0))]  # so that the kept pictures are the same
    assert not any(watch.see(clip[k % len(clip)]) for k in range(9 * len(clip)))


def test_a_strip_of_few_rows_is_told_too():
    camera, watch = Camera(), FreezeWatch(1.0)
    strip = np.tile(camera()[:2], (1, 20, 1))
    assert [watch.see(strip) for _ in range(200)][-1]


def test_pictures_of_another_size_are_others():
    watch = FreezeWatch(1.0)
    for k in range(200):
        assert not watch.see(np.full((120 + k % 2 * 50, 160, 3), 90, np.uint8))


@both_rates
@pytest.mark.parametrize("start_s", [10, 70, 110, 140, 170])
def test_resuming_goes_on_as_if_all_frames_had_been_seen(rate, start_s):
    camera = Camera()
    image = camera()
    frozen = range(n_frames(20, rate), n_frames(160, rate))
    clip = [image if k in frozen else camera() for k in range(n_frames(180, rate))]
    whole, part = FreezeWatch(rate), FreezeWatch(rate)
    expected = [whole.see(frame) for frame in clip]
    assert any(expected)
    start = n_frames(start_s, rate)
    part.resume(start, [clip[k] for k in kept_frames(start, rate)])
    assert [part.see(frame) for frame in clip[start:]] == expected[start:]


def test_kept_pictures_are_enough_to_resume():
    assert all(len(kept_frames(n, 1.0)) >= min(N_KEPT, n // window_step(1.0)) for n in range(0, 4000, 7))
