"""What night, weather and lamps do to a video file: counts stay about those of the same clip as it was."""

import cv2
import numpy as np
import pytest

import crowdcount
from samples.make import write_clip
from samples.scenes import preset

#: Frames, from which the picture is spoilt, and after which the program has seen that: 4 seconds of video.
N_FRAMES, FIRST, SETTLED = 150, 50, 95


def grey(frame, k, rng):
    return cv2.merge([cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)] * 3)


def rain(frame, k, rng):
    height, width = frame.shape[:2]
    streaks = np.zeros((height, width), np.uint8)
    for x, y, length in rng.integers((0, -30, 12), (width, height, 40), (250, 3)).tolist():
        cv2.line(streaks, (x, y), (x + length // 6, y + length), 255, 1, cv2.LINE_AA)
    share = 0.6 / 255 * cv2.GaussianBlur(streaks, (3, 3), 0)[..., None]
    return ((1 - share) * frame + 210 * share).astype(np.uint8)


def bands(frame, k, rng):
    rows = np.linspace(0, 1, len(frame))[:, None, None]
    light = 1 + 0.08 * np.sin(2 * np.pi * (1.5 * rows + 0.37 * k))
    return np.clip(frame * light, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("weather") / "street.mp4"
    write_clip(preset("street", 31, people=6.0, fps=10.0, n_frames=N_FRAMES), path)
    return path


def counted(clip):
    rows = crowdcount.count(clip, scene=clip.parent / "street.scene.json")
    return [(row.count, row.flags) for row in rows]


@pytest.fixture(scope="module")
def as_it_was(clip):
    return [count for count, _ in counted(clip)]


@pytest.mark.parametrize("spoilt", [grey, rain, bands])
def test_counts_are_about_the_same(clip, as_it_was, spoilt):
    path, rng = clip.with_name(f"{spoilt.__name__}.avi"), np.random.default_rng(5)
    capture, video = cv2.VideoCapture(str(clip)), None
    for k in range(N_FRAMES):
        frame = capture.read()[1]
        if video is None:
            video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, frame.shape[1::-1])
            video.set(cv2.VIDEOWRITER_PROP_QUALITY, 95)
        video.write(frame if k < FIRST else spoilt(frame, k, rng))
    video.release()
    counts, flags = zip(*counted(path), strict=True)
    off = np.abs(np.subtract(counts, as_it_was))
    assert off[:FIRST].mean() < 2  # grey was 6, rain 25 and bands 3 people off
    assert off[SETTLED:].mean() < 2
    assert (spoilt is grey) == ("light_change" in flags[FIRST + 10])
    assert not any(flags[SETTLED:])
