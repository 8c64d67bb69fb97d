"""Counts are steadied by the frames around them."""

from itertools import pairwise

import cv2
import numpy as np
import pytest

from crowdcount.counting import count, make_pipeline, open_counting
from crowdcount.errors import VideoError
from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.training import evaluate
from crowdcount.model import default_model
from crowdcount.overview import Overview
from crowdcount.pipeline import Pipeline
from crowdcount.smoothing import SMOOTHING_S, around, reach, smoothed, stride
from crowdcount.video import Position, Turns, open_source
from tests.crowdcount.numbered_frames import write_encoded


def plainly(times_s, counts):
    """The definition: medians of what is within reach."""
    return [np.nanmedian(counts[np.abs(times_s - time_s) <= SMOOTHING_S]) for time_s in times_s]


@pytest.mark.parametrize("rate", [4.0, 7.5, 10.0, 12.5, 25.0, 29.97])
def test_a_count_is_the_median_of_those_within_reach(rate):
    times_s = np.arange(60) / rate
    counts = np.random.default_rng(0).normal(20.0, 5.0, 60)
    assert smoothed(times_s, counts, rate).tolist() == plainly(times_s, counts)
    assert np.abs(np.diff(smoothed(times_s, counts, rate))).mean() < 0.8 * np.abs(np.diff(counts)).mean()


def test_frames_across_a_pause_do_not_steady_each_other():
    times_s = np.concatenate([np.arange(8) / 10, 3600 + np.arange(8) / 10])
    counts = np.repeat([2.0, 30.0], 8)
    assert smoothed(times_s, counts, 10.0).tolist() == counts.tolist()


def test_a_frame_that_was_not_estimated_takes_its_neighbours_count():
    counts = np.array([4.0, np.nan, 6.0, np.nan, np.nan, np.nan, np.nan])
    assert smoothed(np.arange(7) / 5.0, counts, 5.0)[:4].tolist() == [4.0, 5.0, 6.0, 6.0]
    assert np.isnan(smoothed(np.arange(7) / 5.0, counts, 5.0)[4:]).all()


def taken_of(times_s, step, first=0, lost=()):
    """Numbers of the frames that are estimated in a pass from the `first`; those `lost` never decode."""
    turns, taken = Turns(step), []
    for index, time_s in enumerate(times_s.tolist()):
        if index >= first and turns.is_due(index, time_s) and index not in lost:
            turns.taken(index, time_s)
            taken.append(index)
    return taken


@pytest.mark.parametrize("rate", [1.0, 4.0, 8.9, 10.0, 12.5, 25.0, 29.97, 50.0, 60.0])
def test_frames_are_estimated_evenly_and_at_least_two_steady_every_count(rate):
    times_s = np.arange(200) / rate
    taken = taken_of(times_s, stride(rate))
    assert taken == list(range(0, 200, stride(rate)))
    for time_s in times_s[: -stride(rate)]:
        n_near = (np.abs(times_s[taken] - time_s) <= SMOOTHING_S).sum()
        assert n_near >= (2 if reach(rate) else 1)


@pytest.mark.parametrize("lost", [(), (44, 45, 52), tuple(range(41, 60))])
def test_passes_from_anywhere_estimate_the_same_frames(lost):
    times_s = np.arange(100) / 25
    whole = taken_of(times_s, 4, lost=lost)
    for first in range(40):
        later = taken_of(times_s, 4, first, lost)
        assert later[0] == first
        assert later[1:] == [index for index in whole if index >= first // 4 * 4 + 4]


def test_the_next_frame_that_decodes_takes_its_turn():
    assert taken_of(np.arange(12) / 25, 4, lost=(4, 5)) == [0, 6, 8]


def test_far_between_in_time_every_frame_is_estimated():
    times_s = np.concatenate([np.arange(8) / 25, [9.0, 9.04, 9.08, 9.5, 10.0, 10.5, 11.0]])
    assert taken_of(times_s, 4) == [0, 4, 8, 11, 12, 13, 14]


@pytest.mark.parametrize("first", range(21, 40))
def test_behind_a_pause_as_many_frames_are_estimated_as_without(first):
    """So that what is looked at by the number of estimates is where a part of a batch expects it."""
    times_s = np.arange(100) / 25 + 2 * (np.arange(100) >= first)
    taken = taken_of(times_s, 4)
    assert first in taken
    assert len(taken) == 25
    assert taken[-8:] == list(range(68, 100, 4))


def test_a_camera_slower_than_it_states_is_looked_at_in_time():
    times_s = np.arange(100) / 12.5
    gaps = np.diff(times_s[taken_of(times_s, 4)])
    assert gaps.max() < 0.25


@pytest.mark.parametrize("every", [1, 2])
def test_glimpses_begin_and_end_nine_frames_behind_when_that_is_told(every):
    """Of whoever is fewer frames ahead, so that all glimpse the same."""
    turns, glimpsed = Turns(4 * every, every), []
    for index in range(0, 100 * every, every):
        turns.look_closely(index, 20 * every <= index < 50 * every)
        if turns.is_before(index):
            glimpsed.append(index // every)
    assert glimpsed == [31, 35, 39, 43, 47, 51, 55]


def arriving(n, rate, seen):
    """The numbers of frames at their times; `seen` is told each when it comes."""
    for k in range(n):
        seen.append(k)
        yield k / rate, k


def test_frames_far_apart_are_counted_alone_and_come_at_once():
    seen = []
    found = [(thing, near, len(seen)) for thing, near in around(arriving(3, 2.0, seen), 2.0)]
    assert found == [(k, [k], k + 1) for k in range(3)]


def test_a_frame_comes_as_soon_as_one_is_out_of_reach():
    seen = []
    things = around(arriving(30, 10.0, seen), 10.0)
    assert next(things) == (0, [0, 1, 2, 3])
    assert seen[-1] == 4
    assert next(things) == (1, [0, 1, 2, 3, 4])
    assert [thing for thing, _ in things] == list(range(2, 30))


def test_of_what_arrives_at_once_no_more_steady_a_frame_than_come_at_the_rate():
    """As of a live stream in segments of 3 seconds."""
    burst = [(10 * (k // 30) + k % 30 / 1000, k) for k in range(60)]
    near = dict(around(burst, 10.0))
    assert near[0] == [0, 1, 2, 3]
    assert near[29] == [26, 27, 28, 29]
    assert near[45] == [42, 43, 44, 45, 46, 47, 48]


def test_what_is_held_comes_before_an_error():
    def timed():
        yield from ((k / 10, k) for k in range(3))
        raise VideoError("the stream broke off")

    things, found = around(timed(), 10.0), []
    with pytest.raises(VideoError, match="broke off"):
        found.extend(thing for thing, _ in things)
    assert found == [0, 1, 2]


@pytest.fixture
def clip(make_clip, tmp_path):
    return make_clip(tmp_path / "street.avi", 20)


@pytest.mark.parametrize(("fps", "step"), [(6.0, 1), (10.0, 2), (25.0, 4)])
def test_counting_tells_medians_of_what_single_frames_show(make_clip, street, tmp_path, fps, step):
    clip, model = make_clip(tmp_path / "street.avi", 20, fps=fps), default_model()
    with open_source(clip) as source:
        overview = Overview(source, street.scene)
        pipeline = make_pipeline(model, overview.scene, source.info.rate)
        overview.teach(pipeline)
        frames = list(source.frames())
        looked_at = [frame.image_bgr for frame in frames[::step]]
        alone = np.full(len(frames), np.nan)
        alone[::step] = model.predict(np.stack([pipeline.measure(image).features for image in looked_at]))
    rows = list(count(clip, scene=street.scene))
    medians = plainly(np.array([frame.time_s for frame in frames]), alone)
    assert max(medians) > 0
    assert alone.tolist() != medians
    np.testing.assert_allclose([row.count for row in rows], medians, rtol=0, atol=1e-9)
    assert all(row.low <= row.count <= row.high for row in rows)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_counts_are_the_same_whether_images_are_asked_for(make_clip, street, tmp_path, every):
    clip, told = make_clip(tmp_path / "street.avi", 40, fps=25.0), []
    for images in (True, False):
        with open_counting(clip, every=every, scene=street.scene) as counting:
            told.append([(item.row, item.mask) for item in counting.frames(images=images)])
    shown, bare = told
    assert [row for row, _ in shown] == [row for row, _ in bare]
    assert [row.frame for row, _ in shown] == list(range(0, 40, every))
    changes = [(mask != before).any() for (_, mask), (_, before) in pairwise(shown)]
    assert np.mean(changes) > 0.9  # each frame has its own


def test_only_frames_that_are_estimated_are_converted(make_clip, tmp_path):
    clip = make_clip(tmp_path / "street.avi", 20, fps=25.0)
    with open_source(clip) as source:
        frames = list(source.frames(turns=Turns(4)))
        of_a_part = list(source.frames(start=Position(frame=6), turns=Turns(4)))
    assert [frame.index for frame in frames] == list(range(20))
    assert [frame.index for frame in frames if frame.image_bgr is not None] == [0, 4, 8, 12, 16]
    assert not any(frame.flags for frame in frames)
    assert [frame.index for frame in of_a_part if frame.image_bgr is not None] == [6, 8, 12, 16]


def test_an_image_that_cannot_be_read_leaves_its_turn_to_the_next(make_clip, tmp_path):
    with open_source(make_clip(tmp_path / "street.avi", 24, fps=25.0)) as source:
        (tmp_path / "images").mkdir()
        for frame in source.frames():
            cv2.imwrite(str(tmp_path / "images" / f"{frame.index:03}.png"), frame.image_bgr)
    for index in (8, 9):
        (tmp_path / "images" / f"{index:03}.png").write_bytes(b"torn")
    with open_source(tmp_path / "images", fps=25.0) as source:
        frames = list(source.frames(turns=Turns(4)))
    assert [frame.index for frame in frames if frame.image_bgr is not None] == [0, 4, 10, 12, 16, 20]
    rows = list(count(tmp_path / "images", fps=25.0))
    assert [row.frame for row in rows if row.flags == ("undecodable",)] == [8, 9]
    assert [row.frame for row in rows if np.isnan(row.count)] == [8, 9]


@pytest.mark.parametrize(("every", "step"), [(1, 4), (2, 4), (3, 3)])
def test_a_part_goes_on_behind_as_many_frames_as_are_estimated(
    make_clip, street, tmp_path, monkeypatch, every, step
):
    clip, resumed = make_clip(tmp_path / "street.avi", 100, fps=25.0), []
    monkeypatch.setattr(Pipeline, "resume", lambda _, n, kept: resumed.append((n, len(list(kept)))))
    with open_source(clip) as source:
        *kept, start = source.landmarks([12, 36, 60])
    with open_counting(clip, every=every, start=start, kept=kept, scene=street.scene):
        assert resumed == [(60 // step, 2)]


def test_flags_are_told_of_frames_that_are_not_estimated_too(tmp_path):
    video = cv2.VideoWriter(str(tmp_path / "a.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 25.0, (64, 48))
    for _ in range(24):
        video.write(np.full((48, 64, 3), 90, np.uint8))
    video.release()
    assert all("blank" in row.flags for row in count(tmp_path / "a.avi"))


def test_images_are_held_only_where_they_are_asked_for(clip):
    with open_counting(clip) as counting:
        assert all(item.frame.image_bgr is not None for item in counting.frames())
        assert all(item.frame.image_bgr is None for item in counting.frames(images=False))


def test_a_recording_with_a_pause_is_judged_by_what_is_told_of_it(make_clip, tmp_path):
    """Its rate varies a little, too."""
    with open_source(make_clip(tmp_path / "street.avi", 90, fps=25.0)) as source:
        images = [frame.image_bgr for frame in source.frames()]
    times_ms = [40 * k + 7 * (k % 3) + 2000 * (k >= 30) for k in range(90)]
    jpeg = {"pix_fmt": "yuvj420p", "qmin": "2", "qmax": "2"}
    paused = write_encoded(tmp_path / "paused.mkv", images, "mjpeg", times_ms, **jpeg)
    labels = tmp_path / "labels.csv"
    labels.write_text("frame,count\n" + "".join(f"{k},3\n" for k in range(90)), encoding="utf-8")
    rows = [row.count for row in count(paused)]
    told = evaluate(load_dataset(paused, counts=labels), default_model()).predictions
    assert told == pytest.approx(rows, abs=1e-9)


def test_a_single_label_is_judged_by_what_is_told_of_its_frame(clip, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("frame,count\n9,3\n", encoding="utf-8")
    told = evaluate(load_dataset(clip, counts=labels), default_model()).predictions
    assert told == pytest.approx([list(count(clip))[9].count], abs=1e-9)
