"""What night, weather and lamps do to a video file: counts stay about those of the same clip as it was."""

from itertools import product

import cv2
import numpy as np
import pytest

import crowdcount
from crowdcount.counting import open_counting
from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.training import evaluate
from crowdcount.model import default_model
from crowdcount.pipeline import Pipeline
from crowdcount.scene import load_scene
from crowdcount.video.files import FileSource
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


def out_of_focus(frame, k, rng):
    return cv2.GaussianBlur(frame, (0, 0), 3.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("weather") / "street.mp4"
    write_clip(preset("street", 31, people=6.0, fps=10.0, n_frames=N_FRAMES), path)
    return path


@pytest.fixture(scope="module")
def plaza(tmp_path_factory):
    path = tmp_path_factory.mktemp("weather") / "plaza.mp4"
    write_clip(preset("plaza", 101, people=8.0, fps=10.0, n_frames=N_FRAMES), path)
    return path


def counted(clip):
    rows = crowdcount.count(clip, scene=clip.parent / "street.scene.json")
    return [(row.count, row.flags) for row in rows]


@pytest.fixture(scope="module")
def as_it_was(clip):
    return [count for count, _ in counted(clip)]


def behind_fog(frame, above, below, noise, rng):
    """A frame that fog hides by a share, from the one above to the one below."""
    share = np.linspace(above, below, len(frame))[:, None, None]
    foggy = (1 - share) * frame + 200 * share + rng.normal(0, noise, frame.shape)
    return np.clip(foggy, 0, 255).astype(np.uint8)


def fog(frame, k, rng):
    return behind_fog(frame, 0.9, 0.75, 2, rng)


def thin_fog(frame, k, rng):
    return behind_fog(frame, 0.6, 0.4, 1, rng)


def gathering_fog(frame, k, rng):
    gathered = np.clip((k - FIRST) / 100, 0, 1)
    return behind_fog(frame, 0.9 * gathered, 0.5 * gathered, 1, rng)


def spoil(clip, change, fps=10, first=FIRST):
    """Path of the clip, played at some rate, of which all frames but the first are changed."""
    path, rng = clip.with_name(f"{change.__name__}.{fps}.avi"), np.random.default_rng(5)
    capture, video = cv2.VideoCapture(str(clip)), None
    for k in range(N_FRAMES):
        frame = capture.read()[1]
        if video is None:
            video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), fps, frame.shape[1::-1])
            video.set(cv2.VIDEOWRITER_PROP_QUALITY, 95)
        video.write(frame if k < first else change(frame, k, rng))
    video.release()
    return path


@pytest.mark.parametrize("spoilt", [grey, rain, bands, out_of_focus])
def test_counts_are_about_the_same(clip, as_it_was, spoilt):
    path = spoil(clip, spoilt)
    counts, flags = zip(*counted(path), strict=True)
    off = np.abs(np.subtract(counts, as_it_was))
    assert off[:FIRST].mean() < 2  # grey was 6, rain 25 and bands 3 people off
    assert off[SETTLED:].mean() < 2
    assert (spoilt is grey) == ("light_change" in flags[FIRST + 10])
    assert not any(flags[SETTLED:])


@pytest.mark.parametrize("is_live", [False, True])
def test_motion_jpeg_of_low_quality_is_no_crowd(tmp_path, monkeypatch, is_live):
    """From a file, and from a camera, whose first seconds tell."""
    path, spoilt, scene = (tmp_path / name for name in ("plaza.mp4", "coarse.mjpeg", "plaza.scene.json"))
    write_clip(preset("plaza", 101, people=8.0, fps=10.0, n_frames=100), path)
    expected = [row.count for row in crowdcount.count(path, scene=scene)]
    capture, rng = cv2.VideoCapture(str(path)), np.random.default_rng(5)
    with spoilt.open("wb") as file:
        for _ in expected:
            frame = capture.read()[1]
            noisy = np.clip(frame + rng.normal(0, 3, frame.shape), 0, 255).astype(np.uint8)
            file.write(cv2.imencode(".jpg", noisy, [cv2.IMWRITE_JPEG_QUALITY, 15])[1].tobytes())
    if is_live:
        monkeypatch.setattr(FileSource, "sample", lambda *_: [])
    found = [row.count for row in crowdcount.count(spoilt, scene=scene, fps=10)]
    assert np.abs(np.subtract(found, expected))[60:].mean() < 0.8  # of a file 1.1, of a camera 1.3


@pytest.mark.parametrize("is_live", [False, True])
def test_people_in_fog_are_counted_by_the_bundled_model(plaza, monkeypatch, is_live):
    """From a file, and from a camera, which learns its scene anew when it knows the fog."""
    scene = plaza.with_name("plaza.scene.json")
    if is_live:
        monkeypatch.setattr(FileSource, "sample", lambda *_: [])
    expected = [row.count for row in crowdcount.count(plaza, scene=scene)]
    rows = list(crowdcount.count(spoil(plaza, fog, first=0), scene=scene))
    found = [row.count for row in rows]
    assert np.abs(np.subtract(found, expected))[SETTLED:].mean() < 2  # 4.8 and 4.9, of 5
    assert all(row.flags == ("low_contrast",) for row in rows[SETTLED:])


def test_a_recording_mostly_in_fog_is_learnt_where_it_is_clear(plaza):
    """Scene and heights alike, as nothing is given."""
    expected = [row.count for row in crowdcount.count(plaza)]
    found = [row.count for row in crowdcount.count(spoil(plaza, thin_fog))]
    off = np.abs(np.subtract(found, expected))
    assert off[:FIRST].mean() < 2  # 3.4 where it was learnt in the fog
    assert off[FIRST:].mean() < 2  # 5.5


@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize("change", [fog, gathering_fog])
def test_fog_that_comes_is_seen_through(plaza, monkeypatch, change, is_live):
    """At once, or little by little; a camera's scene is not learnt anew for it."""
    scene = plaza.with_name("plaza.scene.json")
    monkeypatch.setattr("features.haze.LEARNING_FRAMES", 8)  # it is looked for each 4 seconds
    if is_live:
        monkeypatch.setattr(FileSource, "sample", lambda *_: [])
    expected = [row.count for row in crowdcount.count(plaza, scene=scene)]
    rows = list(crowdcount.count(spoil(plaza, change), scene=scene))
    off = np.abs(np.subtract([row.count for row in rows], expected))[FIRST:]
    assert off.mean() < 2  # at once 11.9 and 11.6, little by little 14.2 and 8.1, of 4
    flags = {flag for row in rows[FIRST:] for flag in row.flags}
    assert "learning" not in flags
    assert flags >= {"light_change", "low_contrast"} if change is fog else "light_change" not in flags


@pytest.fixture(scope="module")
def fast_rain(clip):
    """The clip in rain at 25 frames/s."""
    return spoil(clip, rain, 25)


@pytest.mark.parametrize("every", [1, 2])
def test_in_rain_the_frame_before_each_look_is_seen_whoever_looks(fast_rain, tmp_path, monkeypatch, every):
    """At 25 frames/s each fourth one is looked at; ahead of the counting, with images or without."""
    path, glimpsed = fast_rain, []
    glimpse = Pipeline.glimpse
    monkeypatch.setattr(Pipeline, "glimpse", lambda *arguments: glimpsed.append(1) or glimpse(*arguments))
    scene, told = path.parent / "street.scene.json", []
    for ahead, images in product((True, False), (True, False)):
        with open_counting(path, scene=scene, every=every) as counting:
            told.append([item.row for item in counting.frames(ahead=ahead, images=images)])
    assert told.count(told[0]) == 4
    assert len(glimpsed) % 4 == 0
    assert 3 <= len(glimpsed) / 4 <= (N_FRAMES - FIRST) / 4
    if every > 1:
        return
    labels = tmp_path / "labels.csv"
    labels.write_text("frame,count\n" + "".join(f"{k},3\n" for k in range(N_FRAMES)), encoding="utf-8")
    found = evaluate(load_dataset(path, counts=labels), default_model(), scene=load_scene(scene))
    assert found.predictions == pytest.approx([row.count for row in told[0]], abs=1e-9)
