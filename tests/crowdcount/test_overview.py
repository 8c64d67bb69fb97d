"""What is looked at of footage beforehand."""

import functools

import numpy as np
import pytest

from crowdcount import overview
from crowdcount.overview import Learning, Overview, estimated_scene
from crowdcount.pipeline import Pipeline
from crowdcount.scene import scene_from
from crowdcount.video import SourceInfo, open_source
from crowdcount.video.files import FileSource
from features.blocks import BlockMeter

RATE = 10.0


@pytest.fixture(scope="module")
def walk(make_clip, tmp_path_factory):
    """walk(n_frames): a clip of so many frames."""
    folder = tmp_path_factory.mktemp("walks")
    return functools.cache(lambda n_frames: make_clip(folder / f"{n_frames}.avi", n_frames))


@pytest.fixture
def passes(monkeypatch):
    """Grows by one whenever a file is sampled."""
    sampled = []
    sample = FileSource.sample
    monkeypatch.setattr(
        FileSource, "sample", lambda *arguments: sampled.append(1) or sample(*arguments)
    )
    return sampled


def alike(some, others):
    return len(some) == len(others) and all(map(np.array_equal, some, others))


@pytest.fixture
def long(monkeypatch):
    """Looks at short clips as at long ones."""
    monkeypatch.setattr(overview, "_SAME_PEOPLE_S", 0.0)


@pytest.mark.parametrize(
    ("kind", "fps", "frame_count", "expected"),
    [
        ("file", 10.0, 795, 60),
        ("file", 25.0, 2999, 60),
        ("file", 25.0, 3000, 120),
        ("file", None, 2999, 60),
        ("file", 25.0, None, 120),
        ("images", None, 119, 60),
        ("images", 0.1, 30, 120),
    ],
)
def test_of_two_minutes_and_more_twice_as_many_frames_are_looked_at(kind, fps, frame_count, expected):
    info = SourceInfo("a", kind, (64, 48), fps, frame_count)
    assert overview.sampled_frames(info) == expected


@pytest.mark.parametrize("n_frames", [40, 90, 150])
def test_an_estimated_scene_is_learnt_from_the_frames_that_a_given_one_is(
    walk, passes, long, n_frames
):
    with open_source(walk(n_frames)) as source:
        estimated = Overview(source)
        pipeline = Pipeline(estimated.scene, RATE)
        kept = estimated.learning(pipeline).frames
        assert len(passes) == 1
        given = Overview(source, estimated.scene).learning(pipeline).frames
        assert len(passes) == 2
        assert alike(kept, given)
        assert len(kept) == min(60, n_frames)
        assert alike(estimated.learning(pipeline).frames, given)  # kept no longer, and sampled again
    assert len(passes) == 3


def test_a_scene_alone_is_the_same_and_keeps_no_frames(walk, monkeypatch):
    with open_source(walk(90)) as source:
        expected = Overview(source).scene
        monkeypatch.setattr(overview, "halved", lambda *_: pytest.fail("kept a frame"))
        found = estimated_scene(source)
    assert found.line == expected.line
    assert found.describe() == expected.describe()


@pytest.mark.parametrize("n_frames", [40, 90])
def test_of_a_short_clip_all_frames_that_are_looked_at_are_kept(walk, passes, n_frames):
    with open_source(walk(n_frames)) as source:
        estimated = Overview(source)
        kept = estimated.learning(Pipeline(estimated.scene, RATE)).frames
        assert len(passes) == 1
        assert len(kept) == min(60, n_frames)


@pytest.mark.parametrize(("person_height", "n_passes"), [(120, 1), (45, 2)])
def test_large_frames_are_kept_halved_where_that_is_enough(
    walk, passes, monkeypatch, long, person_height, n_passes
):
    monkeypatch.setattr(overview, "_KEPT_BYTES", 3_000_000)  # 60 frames of 120x90 and no more
    with open_source(walk(130)) as source:
        estimated = Overview(source)
        scene = scene_from((240, 180), None, [(100, 60, person_height), (100, 170, person_height)])
        pipeline = Pipeline(scene, RATE)
        kept = estimated.learning(pipeline).frames
        assert len(passes) == n_passes
        assert alike(kept, Overview(source, scene).learning(pipeline).frames)


def test_a_file_of_another_length_than_it_says_is_sampled_again(walk, long):
    with open_source(walk(130)) as source:
        right = Overview(source)
        pipeline = Pipeline(right.scene, RATE)
        frames = right.learning(pipeline).frames
        for announced in (None, 20, 100, 170, 400):
            object.__setattr__(source.info, "frame_count", announced)
            wrong = Overview(source)
            assert wrong.scene.line == right.scene.line
            assert alike(wrong.learning(pipeline).frames, frames)


@pytest.mark.parametrize("is_estimated", [True, False])
def test_how_long_a_file_is_that_does_not_say_is_told_by_its_frames(walk, monkeypatch, is_estimated):
    """As one that a recorder was cut off in; people are told from leaves by what is seconds apart."""
    lengths = []
    monkeypatch.setattr(Pipeline, "learn", lambda self, frames, length_s, _: lengths.append(length_s))
    with open_source(walk(130)) as source:
        object.__setattr__(source.info, "frame_count", None)
        looked = Overview(source, None if is_estimated else scene_from(source.info.size_wh))
        looked.teach(Pipeline(looked.scene, RATE))
    assert lengths == [pytest.approx(130 / RATE, rel=0.03)]


@pytest.mark.parametrize("is_estimated", [True, False])
def test_that_frames_are_coded_coarsely_is_told_before_they_are_reduced(walk, monkeypatch, is_estimated):
    told = []
    monkeypatch.setattr(Pipeline, "learn", lambda self, frames, length_s, is_coarse: told.append(is_coarse))
    with open_source(walk(40)) as source:
        for expected in (False, True):
            monkeypatch.setattr(BlockMeter, "is_coarse", expected)
            seen = []
            monkeypatch.setattr(BlockMeter, "see", lambda self, image, seen=seen: seen.append(image.shape))
            looked = Overview(source, None if is_estimated else scene_from(source.info.size_wh))
            looked.teach(Pipeline(looked.scene, RATE))
            assert told.pop() == expected
            width, height = source.info.size_wh
            assert seen == [(height, width, 3)] * 40
            looked.teach(Pipeline(looked.scene, RATE), Learning([image_of(source)] * 8, not expected))
            assert told.pop() != expected


def image_of(source):
    return source.sample(1)[0].image_bgr
