"""The empty scene behind people who hardly ever leave, where dots or boxes tell who is where."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from crowdcount.counting import count
from crowdcount.learning.measuring import measure
from crowdcount.learning.training import train
from crowdcount.learning.witnesses import FEWEST_FREE, SHORTEST_S, behind_people
from crowdcount.model import load_model
from crowdcount.overview import Overview
from crowdcount.pipeline import Pipeline
from crowdcount.video import open_source
from features.empty_scene import EmptyScene

#: A person who sits in most frames, where nobody else comes: box x, y, width, height.
SITTER = np.array([[100.0, 17.0, 9.0, 22.0]])
#: Frames per second: sixty take a minute more than `SHORTEST_S`.
RATE = 60 / (SHORTEST_S + 60)
_COLOUR = (20, 200, 230)


def with_sitter(street, folder, is_there, brighter=None):
    """The street's frames in a folder, somebody sitting in those of `is_there` (n,) bool, perhaps dressed
    like the wall but so many grey levels brighter; all boxes."""
    folder.mkdir()
    boxes = []
    for k, path in enumerate(sorted(street.frames.iterdir())):
        image, people = cv2.imread(str(path)), street.boxes[k]
        if is_there[k]:
            x, y, width, height = SITTER[0].astype(int).tolist()
            body = image[y : y + height + 1, x : x + width + 1]
            body[:] = _COLOUR if brighter is None else cv2.add(body, (brighter,) * 3)
            people = np.vstack([people, SITTER])
        cv2.imwrite(str(folder / path.name), image, [cv2.IMWRITE_JPEG_QUALITY, 92])
        boxes.append(people)
    return boxes


def annotated(street, folder, boxes, is_annotated=None):
    """A data set of a folder of frames with boxes, but None in frames that are not annotated."""
    if is_annotated is None:
        is_annotated = np.ones(len(boxes), bool)
    counts = np.where(is_annotated, [float(len(people)) for people in boxes], np.nan)
    kept = tuple(people if known else None for people, known in zip(boxes, is_annotated, strict=True))
    return replace(street.dataset(), source=folder, counts=counts, boxes=kept, fps=RATE)


@pytest.fixture(scope="module")
def is_there():
    """The sitter is away in 15 of 60 frames, early and late."""
    there = np.ones(60, bool)
    there[[*range(5, 13), *range(44, 51)]] = False
    return there


@pytest.fixture(scope="module")
def sat_on(street, is_there, tmp_path_factory):
    """Folder and boxes of the street with its sitter."""
    folder = tmp_path_factory.mktemp("sitter") / "frames"
    return folder, with_sitter(street, folder, is_there)


@pytest.fixture(scope="module")
def learnt(street, sat_on):
    """A pipeline that has learnt the empty scene of the street with its sitter, whoever tells what of it."""
    with open_source(sat_on[0], fps=RATE) as source:
        return taught_by(source, street.scene, RATE)


def taught_by(source, scene, rate):
    pipeline = Pipeline(scene, rate)
    Overview(source, scene).teach(pipeline)
    return pipeline


def found(street, dataset, rows=None, learnt=None):
    """What is learnt of the empty scene at first, unless it is known, and behind the people."""
    with open_source(dataset.source, fps=dataset.fps) as source:
        pipeline = learnt or taught_by(source, street.scene, dataset.fps)
        rows = np.arange(len(dataset.counts)) if rows is None else rows
        return pipeline, behind_people(source, dataset.fps, dataset, rows, street.scene, pipeline)


def of_sitter(image):
    """The sitter's part of a picture at the working size (h, w, …), the margins left out."""
    scale = image.shape[1] / 240
    x, y, width, height = (SITTER[0] * scale).round().astype(int).tolist()
    return image[y + 2 : y + height - 2, x + 2 : x + width - 2]


def difference(image, other):
    """Mean difference, grey levels."""
    return np.abs(image.astype(float) - other).mean()


class TestBehindPeople:
    def test_who_is_there_most_of_the_time_is_no_part_of_the_scene(self, street, sat_on, learnt):
        pipeline, view = found(street, annotated(street, *sat_on), learnt=learnt)
        nobody = cv2.imread(str(sat_on[0] / "0008.jpg"))
        truth = of_sitter(pipeline.reduced(nobody))
        assert difference(of_sitter(pipeline.view.image_bgr), truth) > 40
        assert difference(of_sitter(view.image_bgr), truth) < 6
        assert of_sitter(view.is_proven).all()
        assert view.is_proven.mean() < 0.1
        assert (view.image_bgr[~view.is_proven] == pipeline.view.image_bgr[~view.is_proven]).all()
        assert of_sitter(view.threshold).mean() < 30

    def test_of_a_camera_that_was_knocked_they_tell_it_all_the_same(self, street, sat_on, tmp_path):
        """What is out of its picture is not learnt."""
        folder, boxes = sat_on
        seen = []
        for k, path in enumerate(sorted(folder.iterdir())):
            image, people = cv2.imread(str(path)), boxes[k].copy()
            if k >= 25:
                image = np.roll(image, (-9, 12), axis=(0, 1))
                image[-9:], image[:, :12] = 255, 255
                people[:, :2] += (12, -9)
            cv2.imwrite(str(tmp_path / path.name), image, [cv2.IMWRITE_JPEG_QUALITY, 92])
            seen.append(people)
        pipeline, view = found(street, annotated(street, tmp_path, seen))
        assert difference(of_sitter(pipeline.view.image_bgr), of_sitter(view.image_bgr)) > 40
        truth = pipeline.reduced(cv2.imread(str(folder / "0008.jpg")))
        assert difference(of_sitter(view.image_bgr), of_sitter(truth)) < 6
        assert view.is_proven.mean() < 0.1
        assert np.abs(view.image_bgr.astype(float) - truth)[:, -6:].mean() < 10

    def test_who_is_hardly_seen_is_no_part_of_the_scene_either(self, street, is_there, tmp_path):
        boxes = with_sitter(street, tmp_path / "frames", is_there, brighter=12)
        pipeline, view = found(street, annotated(street, tmp_path / "frames", boxes))
        taught = Pipeline(replace(street.scene, view=view), RATE)
        with open_source(tmp_path / "frames", fps=RATE) as source:
            Overview(source, street.scene).teach(taught)
        truth = of_sitter(pipeline.reduced(cv2.imread(str(tmp_path / "frames" / "0008.jpg"))))
        assert difference(of_sitter(pipeline.view.image_bgr), truth) > 9
        for learnt in (view, taught.view):
            assert difference(of_sitter(learnt.image_bgr), truth) < 4

    def test_at_the_feet_of_who_never_leaves_fewest_people_tell(self, street, sat_on, learnt):
        folder, boxes = sat_on
        always = np.array([[100.0, 1.0, 9.0, 22.0]])  # may cover the upper half of the sitter
        boxes = [np.vstack([people, always]) for people in boxes]
        pipeline, view = found(street, annotated(street, folder, boxes), learnt=learnt)
        truth = of_sitter(pipeline.reduced(cv2.imread(str(folder / "0008.jpg"))))
        assert of_sitter(view.is_proven).all()
        assert difference(of_sitter(view.image_bgr), truth) < 6

    @pytest.mark.parametrize(("y", "covered"), [(17.0, slice(4)), (30.0, slice(-4, None))])
    def test_behind_who_never_leaves_nothing_is_known(self, street, sat_on, learnt, y, covered):
        folder, boxes = sat_on
        boxes = [np.vstack([people, [[100.0, y, 9.0, 22.0]]]) for people in boxes]
        _, view = found(street, annotated(street, folder, boxes), learnt=learnt)
        assert of_sitter(view.is_proven).any()
        assert not of_sitter(view.is_proven)[covered].any()

    def test_without_a_free_frame_nothing_is_known(self, street, sat_on, learnt, is_there):
        dataset = annotated(street, *sat_on, is_annotated=is_there)
        assert found(street, dataset, learnt=learnt)[1] is None

    def test_few_free_frames_prove_nothing(self, street, sat_on, learnt, is_there):
        free = np.flatnonzero(~is_there)
        for n_free, is_known in ((FEWEST_FREE - 1, False), (FEWEST_FREE, True)):
            rows = np.sort(np.r_[np.flatnonzero(is_there), free[:n_free]])
            assert (found(street, annotated(street, *sat_on), rows, learnt=learnt)[1] is not None) == is_known

    def test_without_dots_or_boxes_or_frames_it_is_none(self, street, sat_on, learnt):
        dataset = annotated(street, *sat_on)
        assert found(street, replace(dataset, boxes=None), learnt=learnt)[1] is None
        assert found(street, dataset, np.arange(0), learnt=learnt)[1] is None
        assert found(street, dataset, np.r_[5 : 5 + FEWEST_FREE - 2, 59], learnt=learnt)[1] is None

    @pytest.mark.parametrize(("share", "is_known"), [(0.9, False), (1.1, True)])
    def test_who_waits_for_a_moment_is_not_there_most_of_the_time(self, street, sat_on, share, is_known):
        dataset = replace(annotated(street, *sat_on), fps=59 / (share * SHORTEST_S))
        assert (found(street, dataset)[1] is not None) == is_known

    def test_dots_tell_as_well(self, street, sat_on, learnt):
        dataset = annotated(street, *sat_on)
        dots = tuple(people[:, :2] + people[:, 2:] * (0.5, 0.08) for people in dataset.boxes)
        by_dots = found(street, replace(dataset, boxes=None, points=dots), learnt=learnt)[1]
        by_boxes = found(street, dataset, learnt=learnt)[1]
        assert difference(of_sitter(by_dots.image_bgr), of_sitter(by_boxes.image_bgr)) < 6

    def test_a_box_larger_than_any_picture_hides_all(self, street, sat_on, learnt):
        folder, boxes = sat_on
        vast = [np.vstack([people, [[-1e12, -1e12, 2e12, 2e12]]]) for people in boxes]
        assert found(street, annotated(street, folder, vast), learnt=learnt)[1] is None

    def test_a_street_that_people_cross_is_left_alone(self, street):
        dataset = annotated(street, street.frames, street.boxes)
        assert found(street, dataset)[1] is None


@pytest.fixture(scope="module")
def of_sat_on(street, sat_on, few_kernels):
    """A counter trained on the street with the sitter."""
    return train(annotated(street, *sat_on), scene=street.scene)


class TestTraining:
    @pytest.mark.parametrize("sits", [True, False], ids=["all the time", "never"])
    def test_who_sits_through_later_footage_is_counted(self, street, of_sat_on, tmp_path, sits):
        of_sat_on.model.save(tmp_path / "m.npz")
        with_sitter(street, tmp_path / "later", np.full(60, sits))
        rows = list(count(tmp_path / "later", model=tmp_path / "m.npz", fps=RATE))
        assert abs(np.mean([row.count for row in rows] - street.counts) - sits) < 0.3

    def test_the_model_keeps_what_is_proven(self, of_sat_on, tmp_path):
        model = of_sat_on.model
        model.save(tmp_path / "m.npz")
        view = load_model(tmp_path / "m.npz").scene.view
        assert (view.is_proven == model.scene.view.is_proven).all()
        assert of_sitter(view.is_proven).all()

    def test_kept_features_belong_to_their_boxes(self, street, sat_on, tmp_path):
        dataset, wanted = annotated(street, *sat_on), np.ones(60, bool)
        tables = [
            measure(one, wanted, scene=street.scene, cache=tmp_path)
            for one in (dataset, replace(dataset, boxes=None), dataset)
        ]
        assert len(list(tmp_path.glob("features-*.npz"))) == 2
        assert (tables[0].features == tables[2].features).all()
        assert (tables[0].features != tables[1].features).any()
        assert isinstance(tables[2].scene.view, EmptyScene)
        assert of_sitter(tables[2].scene.view.is_proven).all()

    def test_features_kept_for_judging_are_not_trained_on(self, street, sat_on, trained, tmp_path):
        """A model is judged by the empty scene as it is learnt, and trained on what boxes tell of it."""
        dataset, wanted = annotated(street, *sat_on), np.ones(60, bool)
        model = replace(trained.model, rate=RATE)
        alone, after = (
            [
                measure(dataset, wanted, scene=street.scene, model=one, cache=tmp_path / folder).features
                for one, folder in order
            ]
            for order in (((None, "a"), (model, "b")), ((None, "b"), (model, "a")))
        )
        assert (alone[0] != alone[1]).any()
        assert (after[0] == alone[0]).all()
        assert (after[1] == alone[1]).all()
