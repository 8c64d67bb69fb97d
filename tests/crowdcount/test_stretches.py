"""Of long footage with few labels, only what leads up to these is decoded, and they are measured as ever."""

import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest

from crowdcount import stretches as stretches_module
from crowdcount.learning import fitting, measuring, regressors
from crowdcount.learning.datasets import Dataset
from crowdcount.learning.measuring import measure
from crowdcount.learning.training import train
from crowdcount.pipeline import Pipeline
from crowdcount.stretches import Stretch, stretches, warm_up_frames
from crowdcount.video import Landmark, Position, open_source
from crowdcount.video.files import FileSource
from features import background
from tests.crowdcount.numbered_frames import blank

N_FRAMES = 600
LABELLED = [3, 200, 203, 380, 560]


@pytest.fixture(scope="module")
def clip(make_clip, tmp_path_factory):
    """A minute of the street, of which each frame could be a key frame."""
    return make_clip(tmp_path_factory.mktemp("long") / "street.avi", N_FRAMES)


@pytest.fixture
def short_warm_up(monkeypatch):
    monkeypatch.setattr(stretches_module, "WARM_UP_S", 2.0)


@pytest.fixture
def learns_anew(monkeypatch):
    """The empty scene is learnt anew of the last 60 frames, first when so many were seen, then each 30."""
    monkeypatch.setattr(background, "ABSORPTION_S", 3.0)
    monkeypatch.setattr(background, "ONE_SCENE_S", 30.0)


def dataset_of(clip, labelled=LABELLED):
    counts = np.full(N_FRAMES, np.nan)
    counts[labelled] = np.resize([4.0, 5.0], len(labelled))
    return Dataset("street", np.arange(N_FRAMES), counts, source=clip, fps=10.0)


def in_one_go(source, wanted, step, pipeline):
    return [Stretch(Position(frame=wanted[0] // step * step), wanted[-1] + 1)]


class Seen:
    """Counts the frames that pipelines see."""

    def __init__(self, monkeypatch):
        self.n_frames = 0
        for name in ("measure", "pass_over"):
            monkeypatch.setattr(Pipeline, name, self._counting(getattr(Pipeline, name)))

    def _counting(self, method):
        def counted(pipeline, frame):
            self.n_frames += 1
            return method(pipeline, frame)

        return counted


class TestPlan:
    def planned(self, clip, scene, wanted, step=1):
        with open_source(clip) as source:
            pipeline = Pipeline(scene, source.info.rate)
            pipeline.learn([frame.image_bgr for frame in source.sample(30)], source.info.length_s)
            return stretches(source, wanted, step, pipeline)

    def test_few_frames_are_led_up_to(self, clip, street, short_warm_up):
        parts = self.planned(clip, street.scene, LABELLED)
        assert [(part.start.frame, part.end) for part in parts] == [
            (3, 4), (173, 204), (353, 381), (533, 561)
        ]
        assert [part.n_seen for part in parts] == [0, 170, 350, 530]
        assert all(part.kept == () for part in parts)

    def test_the_first_looked_at_is_one_that_a_pass_over_all_looks_at(self, clip, street, short_warm_up):
        parts = self.planned(clip, street.scene, [5, 301], step=2)
        assert [part.start.frame for part in parts] == [4, 274]
        assert parts[1].n_seen == 135

    def test_near_frames_are_one_stretch(self, clip, street, short_warm_up):
        parts = self.planned(clip, street.scene, range(0, N_FRAMES, 45))
        assert [(part.start, part.end) for part in parts] == [(Position(frame=0), 586)]

    def test_with_what_is_kept_meanwhile(self, clip, street, short_warm_up, learns_anew):
        parts = self.planned(clip, street.scene, [0, 560])
        assert [mark.frame for mark in parts[-1].kept] == list(range(480, 540))

    def test_nothing_is_passed_over_where_leading_up_takes_as_long(self, clip, street, monkeypatch):
        monkeypatch.setattr(stretches_module, "WARM_UP_S", 10.0)
        assert len(self.planned(clip, street.scene, [0, 300])) == 2
        found = [Landmark(200, 20.0, key=100)]
        monkeypatch.setattr(FileSource, "landmarks", lambda *_: found)
        assert len(self.planned(clip, street.scene, [0, 300])) == 1

    def test_nor_where_frames_cannot_be_told_apart(self, clip, street, monkeypatch):
        monkeypatch.setattr(FileSource, "landmarks", lambda *_: None)
        assert len(self.planned(clip, street.scene, [0, 560])) == 1

    def test_a_warm_up_is_whole_turns(self):
        assert warm_up_frames(2.0, 10.0, 1) == 20
        assert warm_up_frames(2.1, 10.0, 1) == 30
        assert warm_up_frames(2.0, 25.0, 4) == 72


def measured_both_ways(monkeypatch, dataset, **options):
    """The labelled frames measured in stretches, how many frames that saw, and measured in one pass."""
    wanted = np.isfinite(dataset.counts)
    seen = Seen(monkeypatch)
    found = measure(dataset, wanted, **options)
    n_seen = seen.n_frames
    monkeypatch.setattr(measuring, "stretches", in_one_go)
    whole = measure(dataset, wanted, **options)
    np.testing.assert_array_equal(found.rows, whole.rows)
    np.testing.assert_array_equal(found.times_s, whole.times_s)
    np.testing.assert_array_equal(found.estimated, whole.estimated)
    return found, n_seen, whole


def test_labelled_frames_are_measured_as_in_a_pass_over_all(clip, street, short_warm_up, monkeypatch):
    found, n_seen, whole = measured_both_ways(
        monkeypatch, dataset_of(clip), scene=street.scene, with_copies=True
    )
    assert n_seen < 110
    np.testing.assert_array_equal(found.features, whole.features)
    np.testing.assert_array_equal(found.copies.X, whole.copies.X)


def test_directions_are_measured_in_stretches_too(clip, street, short_warm_up, monkeypatch):
    labelled = [*range(20), *range(560, 580)]
    dataset = replace(dataset_of(clip, labelled), directed=np.ones((N_FRAMES, 2)))
    found, n_seen, whole = measured_both_ways(
        monkeypatch, dataset, scene=street.scene, directions=True
    )
    assert n_seen < 70
    for side in range(2):
        np.testing.assert_array_equal(found.directed[side].features, whole.directed[side].features)


def test_labels_behind_what_can_be_decoded_are_left_out(clip, street, tmp_path, short_warm_up):
    """The index still knows of them."""
    damaged = shutil.copy(clip, tmp_path / "damaged.avi")
    blank(damaged, range(400, N_FRAMES))
    dataset = dataset_of(damaged, [*range(3, 23), 560])
    training = train(dataset, scene=street.scene, frames="3-22,560")
    assert (training.metrics.n, training.n_lost_labels) == (20, 1)


def test_the_cache_knows_which_frames_had_labels(clip, street, tmp_path, short_warm_up, monkeypatch):
    monkeypatch.setattr(measuring, "MOST_FOR_OTHERS", 5)
    few, all_four = (np.isin(np.arange(N_FRAMES), chosen) for chosen in ([0, 400], [0, 5, 400, 405]))
    options = {"others": all_four, "scene": street.scene, "cache": tmp_path}
    rows = [measure(dataset_of(clip), wanted, **options).rows.tolist() for wanted in (few, all_four)]
    assert rows == [[0, 400], [0, 5, 400, 405]]


@pytest.fixture
def changed(clip, street, tmp_path):
    """changed(change): the clip as `change(number, image)` makes each of its images."""

    def write(change):
        path = tmp_path / "changed.avi"
        video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10.0, street.scene.size_wh)
        with open_source(clip) as source:
            for frame in source.frames():
                video.write(change(frame.index, frame.image_bgr))
        video.release()
        return path

    return write


def test_what_was_put_there_meanwhile_is_scene(changed, street, short_warm_up, learns_anew, monkeypatch):
    def parked(number, image):
        return cv2.rectangle(image, (150, 80), (230, 140), (250, 250, 250), -1) if number >= 330 else image

    found, n_seen, whole = measured_both_ways(
        monkeypatch, dataset_of(changed(parked), [3, 555, 560]), scene=street.scene
    )
    assert n_seen < 100
    assert np.abs(found.features - whole.features).mean() < 0.01 * np.abs(whole.features).mean()


def test_each_stretch_knows_the_scene_alone(changed, street, short_warm_up):
    """What is learnt of one in which the lamps went out does not pass on to the next."""
    clip = changed(lambda number, image: image // 5 if 10 <= number < 60 or 240 <= number < 300 else image)
    rows = []
    for labelled in ([3, 50, 230, 290, 480], [3, 480]):
        dataset = dataset_of(clip, labelled)
        rows.append(measure(dataset, np.isfinite(dataset.counts), scene=street.scene).features[-1])
    np.testing.assert_array_equal(*rows)


def test_a_model_looks_at_the_same_frames(clip, street, trained, short_warm_up, monkeypatch):
    model = replace(trained.model, rate=10.0, person_height=18.0)
    found, n_seen, whole = measured_both_ways(
        monkeypatch, dataset_of(clip), scene=street.scene, model=model
    )
    assert n_seen < 70
    np.testing.assert_array_equal(found.features, whole.features)


def test_frames_without_label_take_part_where_that_is_cheap(clip, street, short_warm_up, monkeypatch):
    monkeypatch.setattr(regressors, "COEF0S", (1.0,))
    monkeypatch.setattr(regressors, "LAMBDAS", (1e-3,))
    monkeypatch.setattr(fitting, "LOCAL_LAMBDAS", (1e-3,))
    whole = dataset_of(clip, list(range(20)))
    dataset = replace(whole, numbers=whole.numbers[:120], counts=whole.counts[:120])
    assert train(dataset, scene=street.scene).n_unlabelled == 120 - 20
    monkeypatch.setattr(measuring, "MOST_FOR_OTHERS", 90)
    seen = Seen(monkeypatch)
    assert train(dataset, scene=street.scene).n_unlabelled == 0
    assert seen.n_frames == 20 + 1  # and the empty scene


@pytest.mark.parametrize(("most", "n_measured"), [(59, 2), (60, 5)])
def test_what_is_cheap_is_what_is_decoded_for_them_alone(clip, street, monkeypatch, most, n_measured):
    """Up to the last label 101 frames are decoded anyway, and for the last one without label 60 more."""
    monkeypatch.setattr(measuring, "MOST_FOR_OTHERS", most)
    wanted, others = (np.isin(np.arange(N_FRAMES), rows) for rows in ([0, 100], [30, 60, 160]))
    assert len(measure(dataset_of(clip), wanted, others=others, scene=street.scene).rows) == n_measured


def test_images_are_passed_over_too(clip, street, tmp_path, short_warm_up, monkeypatch):
    with open_source(clip) as source:
        for frame in source.frames(end=Position(frame=300)):
            cv2.imwrite(str(tmp_path / f"{frame.index:04}.png"), frame.image_bgr)
    counts = np.full(300, np.nan)
    counts[[0, 150, 299]] = 4.0
    dataset = Dataset("street", np.arange(300), counts, source=tmp_path, fps=10.0)
    seen = Seen(monkeypatch)
    assert list(measure(dataset, np.isfinite(counts), scene=street.scene).rows) == [0, 150, 299]
    assert seen.n_frames < 70


def test_progress_is_of_what_is_decoded(clip, street, short_warm_up):
    told = []
    dataset = dataset_of(clip)
    measure(dataset, np.isfinite(dataset.counts), scene=street.scene,
            progress=lambda done, total: told.append((done, total)))  # fmt: skip
    total = told[-1][1]
    assert told == [(k, total) for k in range(1, total + 1)]
    assert total < 110


def test_nor_is_what_is_learnt_from_left_out_of_it(clip, street, short_warm_up, learns_anew):
    told = []
    dataset = dataset_of(clip, [0, 560])
    measure(dataset, np.isfinite(dataset.counts), scene=street.scene,
            progress=lambda done, total: told.append((done, total)))  # fmt: skip
    assert told[-1] == (60 + 22, 60 + 22)
