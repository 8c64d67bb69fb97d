import cv2
import numpy as np
import pytest

from features.blocks import BlockMeter


def noisy_frames(n=40, size=(120, 160), noise=4.0):
    """Of one picture with edges that lie anywhere, before which a square of eight pixels walks."""
    rng = np.random.default_rng(3)
    picture = cv2.resize(rng.integers(60, 190, (13, 17, 3)).astype(np.float32), size[::-1])
    for k in range(n):
        frame = picture + rng.normal(0, noise, picture.shape)
        frame[40:96, 8 * (k % 12) : 8 * (k % 12) + 16] = 20
        yield np.clip(frame, 0, 255).astype(np.uint8)


def through_jpeg(frame, quality):
    return cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def is_coarse(frames):
    meter = BlockMeter()
    for frame in frames:
        meter.see(frame)
    return meter.is_coarse


@pytest.mark.parametrize(("quality", "expected"), [(95, False), (80, False), (20, True), (10, True)])
def test_coarse_is_what_differs_in_blocks(quality, expected):
    assert is_coarse(through_jpeg(frame, quality) for frame in noisy_frames()) == expected


def test_neither_noise_nor_stillness_nor_what_moves_in_squares_is_coarse():
    assert not is_coarse(noisy_frames())
    assert not is_coarse(noisy_frames(noise=0))
    still = through_jpeg(next(noisy_frames()), 10)
    assert not is_coarse([still] * 10)
    assert not is_coarse([still])
    assert not is_coarse([])


@pytest.mark.parametrize("size", [(5, 300), (300, 5), (9, 9), (40, 7), (15, 300), (300, 15)])
def test_of_frames_that_are_small_nothing_is_told(size):
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for _ in range(4)]
    assert not is_coarse(frames)


def test_sizes_that_change_from_frame_to_frame_tell_nothing():
    coarse = [through_jpeg(frame, 10) for frame in noisy_frames(6)]
    assert is_coarse(coarse)
    assert not is_coarse(frame[: 120 - 8 * (k % 2)] for k, frame in enumerate(coarse))


def test_frames_of_another_size_are_told_by_themselves():
    fine, coarse = ([through_jpeg(frame, quality) for frame in noisy_frames(8)] for quality in (95, 10))
    assert is_coarse([*fine, *(frame[:80] for frame in coarse)])
    assert not is_coarse([*coarse, *(frame[:80] for frame in fine)])
