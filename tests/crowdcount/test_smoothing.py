"""Counts are steadied by the frames around them."""

import numpy as np
import pytest

from crowdcount.counting import count, make_pipeline, open_counting
from crowdcount.errors import VideoError
from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.training import evaluate
from crowdcount.model import default_model
from crowdcount.overview import Overview
from crowdcount.smoothing import SMOOTHING_S, around, smoothed
from crowdcount.video import open_source


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


def arriving(n, rate, seen):
    """The numbers of frames at their times; `seen` is told each when it comes."""
    for k in range(n):
        seen.append(k)
        yield k / rate, k


def test_frames_far_apart_are_counted_alone_and_come_at_once():
    seen = []
    for k, (thing, near) in enumerate(around(arriving(3, 2.0, seen), 2.0)):
        assert (thing, near) == (k, [k])
        assert seen == list(range(k + 1))


def test_a_frame_comes_as_soon_as_one_is_out_of_reach():
    seen = []
    things = around(arriving(30, 10.0, seen), 10.0)
    assert next(things) == (0, [0, 1, 2, 3])
    assert seen[-1] == 4
    assert next(things) == (1, [0, 1, 2, 3, 4])
    assert [thing for thing, _ in things] == list(range(2, 30))


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


def test_counting_tells_medians_of_what_single_frames_show(clip):
    model = default_model()
    with open_source(clip) as source:
        overview = Overview(source)
        pipeline = make_pipeline(model, overview.scene, source.info.rate)
        overview.teach(pipeline)
        frames = list(source.frames())
        alone = model.predict(np.stack([pipeline.measure(frame.image_bgr).features for frame in frames]))
    rows = list(count(clip))
    medians = plainly(np.array([frame.time_s for frame in frames]), alone)
    assert max(medians) > 0
    assert alone.tolist() != medians
    np.testing.assert_allclose([row.count for row in rows], medians, rtol=0, atol=1e-9)
    assert all(row.low <= row.count <= row.high for row in rows)


def test_images_are_held_only_where_they_are_asked_for(clip):
    with open_counting(clip) as counting:
        assert all(item.frame.image_bgr is not None for item in counting.frames())
        assert all(item.frame.image_bgr is None for item in counting.frames(images=False))


def test_a_single_label_is_judged_by_what_is_told_of_its_frame(clip, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("frame,count\n9,3\n", encoding="utf-8")
    told = evaluate(load_dataset(clip, counts=labels), default_model()).predictions
    assert told == pytest.approx([list(count(clip))[9].count], abs=1e-9)
