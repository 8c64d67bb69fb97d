import math
import os
import re
import shutil
import threading
import time
from dataclasses import replace

import cv2
import numpy as np
import pytest

import crowdcount.counting
from crowdcount.counting import count, make_pipeline, open_counting
from crowdcount.errors import ModelError, SceneError, VideoError
from crowdcount.jobs import count_sources, plan_counting
from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.training import train
from crowdcount.pipeline import Pipeline
from crowdcount.results import FrameCount
from crowdcount.scene import load_scene, scene_from
from crowdcount.terminal import Terminal
from crowdcount.video import SourceInfo, VideoSource, parse_position
from features.vehicles import VehicleFinder
from samples.make import write_clip
from samples.scenes import preset


@pytest.fixture(scope="module")
def clip(street, tmp_path_factory):
    """24 frames of the street as a video of 10 frames per second."""
    path = tmp_path_factory.mktemp("clip") / "street.avi"
    images = sorted(street.frames.iterdir())[:24]
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10.0, street.scene.size_wh)
    for image in images:
        video.write(cv2.imread(str(image)))
    video.release()
    return path


@pytest.fixture(scope="module")
def counted(street, trained):
    """All frames of the street, counted."""
    with open_counting(street.frames, model=trained.model) as counting:
        return list(counting.frames())


def readers():
    """Threads that decode ahead."""
    return [thread for thread in threading.enumerate() if thread.name == "read-ahead"]


def open_files():
    """The files that this process holds open."""
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


class TestLatest:
    """A live source that is faster than the counting."""

    @pytest.fixture
    def stream(self, street, monkeypatch):
        image = cv2.imread(str(next(iter(sorted(street.frames.iterdir())))))

        class Stream(VideoSource):
            """60 frames, of which the first 20 are there at once, then one every 5 ms."""

            info = SourceInfo("stream", "stream", street.scene.size_wh, 10.0, None)

            def sample(self, n, reduce=None):
                return []

            def _slots(self, start):
                for k in range(60):
                    if k >= 20:
                        time.sleep(0.005)
                    yield k, k / 10, lambda: image

        monkeypatch.setattr(crowdcount.counting, "open_source", lambda *_, **__: Stream("stream"))
        measure = Pipeline.measure

        def slowly(pipeline, frame):
            time.sleep(0.03)
            return measure(pipeline, frame)

        monkeypatch.setattr(Pipeline, "measure", slowly)

    @pytest.mark.usefixtures("stream")
    def test_drops_frames_rather_than_lagging(self, trained):
        threads = threading.active_count()
        numbers = [row.frame for row in count("live", model=trained.model, latest=True)]
        assert 3 < len(numbers) < 30
        assert numbers == sorted(set(numbers))
        assert numbers[-1] == 59
        assert threading.active_count() == threads
        assert [row.frame for row in count("live", model=trained.model)] == list(range(60))

    @pytest.mark.usefixtures("stream")
    def test_dropped_frames_are_told(self, trained, tmp_path, capsys):
        trained.model.save(tmp_path / "m.npz")
        jobs = plan_counting(["live"], output=str(tmp_path / "a.csv"))
        watcher = Terminal()
        assert not count_sources(jobs, model=tmp_path / "m.npz", watcher=watcher, latest=True)
        told = capsys.readouterr().err
        assert re.search(r"measured at \d+x\d+ pixels, a typical person 19 pixels tall", told)
        assert re.search(r"[1-9]\d of 60 frames dropped to keep up", told)  # those before the first count too
        assert 1 < float(re.search(r" s, ([\d.]+) frames/s", told)[1]) < 60

    def test_a_file_waits(self, clip, trained):
        with pytest.raises(VideoError, match="neither camera nor stream"):
            next(count(clip, model=trained.model, latest=True))


class TestRows:
    def test_one_per_frame_in_order(self, street, counted):
        rows = [item.row for item in counted]
        assert [row.frame for row in rows] == list(range(len(street.counts)))
        assert [row.time_s for row in rows] == pytest.approx([row.frame for row in rows])
        assert all(0 <= row.low <= row.count <= row.high for row in rows)
        counts = np.array([row.count for row in rows])
        assert np.abs(counts - street.counts).mean() < 0.5
        assert all(row.flags == () for row in rows)

    def test_times_and_numbers_of_a_video(self, clip, trained):
        rows = list(count(clip, model=trained.model))
        assert [row.frame for row in rows] == list(range(24))
        assert [row.time_s for row in rows] == pytest.approx([k / 10 for k in range(24)])

    def test_numbers_of_numpy_are_numbers(self, clip, trained):
        options = {"model": trained.model, "start": np.int64(3), "end": np.int32(9), "fps": np.float32(29.97)}
        rows = list(count(clip, **options))
        assert [row.frame for row in rows] == list(range(3, 9))
        assert all(type(row.time_s) is float for row in rows)
        for place in ("start", "end"):
            with pytest.raises(VideoError, match="a position is a frame number"):
                next(count(clip, model=trained.model, **{place: 1.0}))

    def test_decoding_in_the_counting_thread_changes_nothing(self, clip, trained):
        with open_counting(clip, model=trained.model) as counting:
            here = counting.frames(ahead=False)
            rows = [next(here).row]
            assert not readers()
            rows += [item.row for item in here]
        assert rows == list(count(clip, model=trained.model))

    @pytest.mark.parametrize("cores", [1, 2])
    def test_a_second_thread_decodes_where_there_is_a_core_for_it(self, monkeypatch, clip, trained, cores):
        monkeypatch.setattr(cv2, "getNumberOfCPUs", lambda: cores)
        with open_counting(clip, model=trained.model) as counting:
            next(counting.frames())
            assert bool(readers()) == (cores > 1)

    def test_a_model_for_any_scene_sums_its_cells(self, street, cell_model):
        with open_counting(street.frames, model=cell_model, scene=street.scene, every=2) as counting:
            assert counting.scene is street.scene
            rows = [item.row for item in counting.frames()]
        counts, labels = np.array([row.count for row in rows]), street.counts[::2]
        assert np.corrcoef(counts, labels)[0, 1] > 0.9
        assert counts.mean() == pytest.approx(labels.mean(), rel=0.3)
        assert all(0 <= row.low <= row.count <= row.high for row in rows)

    def test_every_start_and_end(self, street, trained):
        rows = list(count(street.frames, model=trained.model, every=3, start=10, end="22s"))
        assert [row.frame for row in rows] == [10, 13, 16, 19]

    def test_a_frame_that_does_not_decode(self, make_street, tmp_path, trained):
        street = make_street(tmp_path, n_frames=12)
        broken = street.frames / "0005.jpg"
        broken.write_bytes(broken.read_bytes()[:600])
        with open_counting(street.frames, model=trained.model) as counting:
            items = list(counting.frames())
        assert len(items) == 12
        row = items[5].row
        assert all(map(math.isnan, (row.count, row.low, row.high)))
        assert row.flags == ("undecodable",)
        assert items[5].mask is None
        assert not any(math.isnan(item.row.count) for k, item in enumerate(items) if k != 5)

    def test_of_a_picture_that_shows_nothing_anything_may_be_true(self, make_street, tmp_path, trained):
        street = make_street(tmp_path, n_frames=12)
        cv2.imwrite(str(street.frames / "0005.jpg"), np.zeros((240, 320, 3), np.uint8))
        rows = list(count(street.frames, model=trained.model))
        assert "blank" in rows[5].flags
        assert (rows[5].low, rows[5].high) == (0, math.inf)
        assert all(row.high < math.inf for k, row in enumerate(rows) if k != 5)

    def test_flags_a_changed_size_and_counts_on(self, make_street, tmp_path, trained):
        street = make_street(tmp_path, n_frames=12)
        image = cv2.imread(str(street.frames / "0007.jpg"))
        # Smoother pixels would be out of the training range, rightly.
        twice = cv2.resize(image, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)
        cv2.imwrite(str(street.frames / "0007.jpg"), twice, [cv2.IMWRITE_JPEG_QUALITY, 100])
        rows = list(count(street.frames, model=trained.model))
        assert [row.flags for row in rows] == [("resized",) if k == 7 else () for k in range(12)]
        assert rows[7].count == pytest.approx(street.counts[7], abs=2.5)

    def test_flags_a_crowd_that_it_was_not_trained_on(self, make_street, tmp_path, trained):
        street = make_street(tmp_path, n_frames=16, busier=30.0)
        rows = list(count(street.frames, model=trained.model))
        flagged = ["outside_training_range" in row.flags for row in rows]
        assert np.mean(flagged) > 0.8

    def test_flags_a_crowd_somewhat_larger_than_all_that_it_was_trained_on(self, make_street, tmp_path):
        quiet = make_street(tmp_path / "quiet", busier=-1.0)
        model = train(quiet.dataset(), scene=quiet.scene).model
        busier = make_street(tmp_path / "busier", busier=4.0)
        is_fuller = busier.counts > 1.3 * quiet.counts.max()
        assert is_fuller.sum() > 10

        def share_flagged(model):
            flagged = ["outside_training_range" in row.flags for row in count(busier.frames, model=model)]
            return np.array(flagged)[is_fuller].mean()

        assert share_flagged(replace(model, most=np.inf)) > 0.9
        assert share_flagged(replace(model, fullness=None)) > 0.9
        assert share_flagged(replace(model, fullness=None, most=np.inf)) < 0.3

    def test_counts_nobody_in_the_empty_scene_though_no_label_is_of_it(self, make_street, tmp_path):
        busy = make_street(tmp_path / "busy", busier=6.0, labelled=slice(12))
        assert busy.counts[:12].min() > 8
        model = train(busy.dataset(), scene=busy.scene).model
        empty = make_street(tmp_path / "empty", busier=-30.0, n_frames=8)
        assert max(row.count for row in count(empty.frames, model=model)) < 0.5

    def test_flags_a_scene_of_far_weaker_edges_than_it_was_trained_on(self, street, trained):
        edges = trained.model.edges
        stronger = replace(edges, low=edges.low + 2 * edges.high + 1, high=3 * edges.high + 1)
        for model, is_flagged in ((trained.model, False), (replace(trained.model, edges=stronger), True)):
            rows = count(street.frames, model=model, end=12)
            assert all(("outside_training_range" in row.flags) == is_flagged for row in rows)

    def test_flags_a_change_of_light(self, make_street, tmp_path, trained):
        street = make_street(tmp_path / "day", n_frames=24)
        dusk = make_street(tmp_path / "dusk", n_frames=8, lights=0.55)
        for k in range(8):
            (dusk.frames / f"{k:04}.jpg").rename(street.frames / f"{30 + k:04}.jpg")
        rows = list(count(street.frames, model=trained.model))
        assert not any("light_change" in row.flags for row in rows[:24])
        assert "light_change" in rows[24].flags

    def test_the_mask_shows_the_people(self, street, counted):
        shares = [item.mask.mean() for item in counted]
        assert np.corrcoef(shares, street.counts)[0, 1] > 0.8


class TestProgress:
    def test_is_told_each_row_and_the_source(self, street, trained):
        told = []
        rows = list(count(street.frames, model=trained.model, end=parse_position("6"),
                          progress=lambda row, info: told.append((row, info))))  # fmt: skip
        assert [row for row, _ in told] == rows
        assert len(rows) == 6
        assert {info.frame_count for _, info in told} == {len(street.counts)}
        assert {info.size_wh for _, info in told} == {street.scene.size_wh}

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, 24),
            ({"every": 5}, 5),
            ({"start": "10", "end": "21"}, 11),
            ({"start": "1s", "end": "1.8s"}, 8),
            ({"end": "100"}, 24),
            ({"start": "1s", "every": 7}, 2),
            ({"start": "1.05s"}, 13),
            ({"start": "0.25s", "every": 7}, 3),
        ],
    )
    def test_expected_frames_are_those_that_come(self, clip, trained, options, expected):
        options = {name: parse_position(value) if isinstance(value, str) else value
                   for name, value in options.items()}  # fmt: skip
        with open_counting(clip, model=trained.model, **options) as counting:
            assert counting.expected_frames == expected
            assert sum(1 for _ in counting.frames()) == expected

    @pytest.mark.parametrize(("every", "rows", "lacks"), [(1, 12, True), (5, 2, True), (1, 23, False),
                                                          (23, 1, False)])  # fmt: skip
    def test_footage_that_ends_a_little_early_lacks_nothing(self, clip, trained, every, rows, lacks):
        """Of every 23rd of 24 frames, the second of two is missing as soon as the very last frame is."""
        last = FrameCount((rows - 1) * every, (rows - 1) * every / 10, 1.0, 0.0, 2.0)
        with open_counting(clip, model=trained.model, every=every) as counting:
            assert counting.lacks_its_end(rows, last) == lacks


class TestClosing:
    def test_in_the_middle_leaves_nothing_behind(self, monkeypatch, clip, trained):
        monkeypatch.setattr(cv2, "getNumberOfCPUs", lambda: 2)
        before = open_files()
        rows = count(clip, model=trained.model)
        assert [next(rows).frame for _ in range(3)] == [0, 1, 2]
        assert readers()
        rows.close()
        assert not readers()
        assert open_files() == before

    def test_of_a_source_whose_frames_are_still_held(self, clip, trained):
        before = open_files()
        with open_counting(clip, model=trained.model) as counting:
            frames = counting.frames()
            next(frames)
        assert not readers()
        assert open_files() == before

    def test_after_an_error_of_the_one_who_watches(self, clip, trained):
        before = open_files()

        def fail(row, info):
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            list(count(clip, model=trained.model, progress=fail))
        assert not readers()
        assert open_files() == before


class TestScene:
    def test_by_default_the_models_own(self, street, trained, clip):
        with open_counting(clip, model=trained.model) as counting:
            assert counting.scene.line == street.scene.line

    def test_is_brought_to_the_footages_size(self, street, trained, tmp_path):
        for k, image in enumerate(sorted(street.frames.iterdir())[:16]):
            larger = cv2.resize(cv2.imread(str(image)), None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
            cv2.imwrite(str(tmp_path / f"{k:04}.png"), larger)
        rows = list(count(tmp_path, model=trained.model))
        errors = [row.count - label for row, label in zip(rows, street.counts, strict=False)]
        assert np.abs(errors).mean() < 1.0

    def test_a_model_knows_the_view_of_its_camera(self, street, trained, tmp_path, turned_away):
        trained.model.save(tmp_path / "m.npz")
        moved = tmp_path / "moved"
        moved.mkdir()
        for path in sorted(street.frames.iterdir())[:20]:
            cv2.imwrite(str(moved / path.name), turned_away(cv2.imread(str(path))))
        flags = {row.flags for row in count(moved, model=tmp_path / "m.npz")}
        assert all("camera_moved" in one for one in flags)
        assert not any("camera_moved" in row.flags for row in count(street.frames, model=tmp_path / "m.npz"))
        same = replace(trained.model.scene, view=None)  # as in the file that it was trained with
        assert all("camera_moved" in row.flags for row in count(moved, model=trained.model, scene=same))
        other = replace(same, person_height=1.2 * same.person_height, line=None)
        assert not any("camera_moved" in row.flags for row in count(moved, model=trained.model, scene=other))

    def test_a_camera_that_was_moved_a_little_is_counted_as_if_it_were_in_its_place(
        self, street, trained, tmp_path
    ):
        for path in street.frames.iterdir():
            image = cv2.imread(str(path))
            moved = cv2.getRotationMatrix2D((86, 56), 1.5, 1.0)
            moved[:, 2] += (6, -4)
            shown = cv2.warpAffine(image, moved, image.shape[1::-1], borderMode=cv2.BORDER_REFLECT)
            cv2.imwrite(str(tmp_path / path.name), shown)
        in_place, rows = (list(count(frames, model=trained.model)) for frames in (street.frames, tmp_path))
        assert all("shifted_back" in row.flags and "camera_moved" not in row.flags for row in rows)
        off = [row.count - other.count for row, other in zip(rows, in_place, strict=True)]
        assert np.abs(off).mean() < 0.5

    def test_a_frame_that_does_not_decode_shows_the_view_where_the_one_before_it_does(
        self, street, trained, tmp_path
    ):
        for k in range(12):
            image = cv2.imread(str(street.frames / f"{k:04}.jpg"))
            cv2.imwrite(str(tmp_path / f"{k:04}.jpg"), np.roll(image, 6, axis=1))
        (tmp_path / "0000.jpg").write_bytes(b"")
        (tmp_path / "0005.jpg").write_bytes((tmp_path / "0005.jpg").read_bytes()[:600])
        with open_counting(tmp_path, model=trained.model) as counting:
            items = list(counting.frames())
        assert items[0].moved is None
        assert items[5].row.flags == ("undecodable",)
        assert items[4].moved is not None
        assert items[5].moved is items[4].moved

    @pytest.mark.parametrize("n_images", [1, 3, 9])
    def test_a_few_pictures_are_counted_in_the_scene_that_the_model_knows(
        self, street, trained, tmp_path, n_images
    ):
        """Who is in all of them would belong to a scene that was learnt from them."""
        errors = []
        for first in range(0, 60, 15):
            shots = tmp_path / f"shots{first}"
            shots.mkdir()
            for k in range(first, first + n_images):
                path = sorted(street.frames.iterdir())[k]
                shutil.copy(path, shots)
            rows = list(count(shots, model=trained.model))
            assert not any("learning" in row.flags for row in rows)
            errors += [row.count - street.counts[first + k] for k, row in enumerate(rows)]
        assert np.abs(errors).mean() < 1.0

    def test_another_one_than_the_model_learnt_in_is_told(self, street, trained, cell_model, capsys):
        """Rows of features are whole frames of one scene: in another, counts are wrong, and look as usual."""
        own = trained.model.scene
        width, height = own.size_wh
        half = own.redrawn(polygons=[((0, 0), (width / 2, 0), (width / 2, height), (0, height))])
        tall = replace(own, person_height=1.5 * own.person_height, line=None)
        for scene, model, is_flagged in (
            (half, trained.model, True), (tall, trained.model, True), (own, trained.model, False),
            (own.resized((2 * width, 2 * height)), trained.model, False), (half, cell_model, False),
        ):  # fmt: skip
            with open_counting(street.frames, model=model, scene=scene, end=parse_position("3")) as counting:
                rows = [item.row for item in counting.frames(images=False)]
                Terminal().started(counting)
            assert all("outside_training_range" in row.flags for row in rows) == is_flagged
            assert ("not those in which the model learnt" in capsys.readouterr().err) == is_flagged

    def test_may_be_a_file(self, street, trained, tmp_path):
        street.scene.save(tmp_path / "scene.json")
        window = {"every": 10, "end": parse_position("21")}
        given = list(count(street.frames, model=trained.model, scene=tmp_path / "scene.json", **window))
        assert given == list(count(street.frames, model=trained.model, **window))

    def test_people_are_measured_at_the_size_that_the_model_learnt_at(self, street, trained, cell_model):
        for model in (trained.model, replace(cell_model, person_height=25.0)):
            sizes = {make_pipeline(model, street.scene, rate).person_height for rate in (1.0, 25.0)}
            assert sizes == {model.person_height}

    @pytest.mark.parametrize("tall", [3.0, 5.0])
    def test_people_who_stay_small_although_enlarged_are_told(self, street, cell_model, capsys, tall):
        scene = scene_from(street.scene.size_wh, persons=[(50, 20, tall), (50, 90, tall)])
        with open_counting(street.frames, model=cell_model, scene=scene) as counting:
            assert counting.typical_height == pytest.approx(3 * tall, rel=0.02)
            Terminal().started(counting)
        told = capsys.readouterr().err
        assert f"a typical person {3 * tall:.0f} pixels tall" in told
        assert ("people as small as that are lost in part" in told) == (tall < 4)

    def test_is_estimated_for_a_model_that_counts_anywhere(self, street, cell_model):
        with open_counting(street.frames, model=cell_model) as counting:
            assert counting.scene.height_origin in ("estimated", "assumed")
            assert counting.scene.size_wh == street.scene.size_wh

    def test_counts_with_an_assumed_person_height_are_flagged(self, street, cell_model):
        assumed = scene_from(street.scene.size_wh)
        window = {"model": cell_model, "end": parse_position("20")}
        rows = list(count(street.frames, scene=assumed, **window))
        assert {"uncertain_height" in row.flags for row in rows if row.count} == {True}
        assert not any("uncertain_height" in row.flags for row in rows if not row.count)
        given = list(count(street.frames, scene=street.scene, **window))
        assert any(row.count for row in given)
        assert not any("uncertain_height" in row.flags for row in given)
        own = replace(cell_model, scene=assumed)  # recalibrated in it
        assert not any(
            "uncertain_height" in row.flags for row in count(street.frames, **window | {"model": own})
        )

    def test_low_contrast_is_flagged_for_a_model_that_counts_anywhere_alone(
        self, street, make_street, cell_model, tmp_path
    ):
        night = make_street(tmp_path / "night", n_frames=20, lights=0.3)
        own = replace(cell_model, scene=street.scene)
        for frames, model, is_low in (
            (night.frames, cell_model, True),
            (street.frames, cell_model, False),
            (night.frames, own, False),
        ):
            rows = list(count(frames, model=model, scene=street.scene, end=parse_position("20")))
            assert {"low_contrast" in row.flags for row in rows} == {is_low}

    def test_of_another_shape_is_refused(self, street, trained):
        with pytest.raises(SceneError, match="another shape"):
            next(count(street.frames, model=trained.model, scene=scene_from((640, 200))))


class TestErrors:
    def test_a_model_for_other_columns(self, street, trained):
        odd = replace(trained.model, columns=(*trained.model.columns[:-1], "flow.speed"))
        with pytest.raises(ModelError, match="other columns") as caught:
            next(count(street.frames, model=odd))
        assert "\n" not in str(caught.value)
        fewer = replace(trained.model, columns=trained.model.columns[:-1])
        with pytest.raises(ModelError, match="other columns"):
            next(count(street.frames, model=fewer))

    def test_a_model_without_a_scene(self, street, trained):
        with pytest.raises(ModelError, match="knows no scene"):
            next(count(street.frames, model=replace(trained.model, scene=None)))

    def test_a_model_of_ready_made_features_asks_for_no_scene_which_would_not_help(self, street, trained):
        tabular = replace(trained.model, scene=None, person_height=None)
        with pytest.raises(ModelError, match="ready-made features"):
            next(count(street.frames, model=tabular))

    def test_a_missing_source_and_a_missing_model(self, street, trained, tmp_path):
        with pytest.raises(VideoError, match="does not exist"):
            next(count(tmp_path / "none.mp4", model=trained.model))
        with pytest.raises(ModelError, match="does not exist"):
            next(count(street.frames, model=tmp_path / "none.npz"))

    def test_an_empty_window(self, street, trained):
        with pytest.raises(VideoError, match="no frame"):
            list(count(street.frames, model=trained.model, start=parse_position("5000")))


def test_vehicles_are_told_and_left_out(tmp_path, monkeypatch):
    clip = tmp_path / "clip.avi"
    spec = preset("plaza", 63, size_wh=(320, 240), fps=4.0, n_frames=100, people=5.0, vehicles=15.0)
    write_clip(spec, clip)
    labels = [float(line.split(",")[1]) for line in clip.with_suffix(".labels.csv").read_text().split()[1:]]
    rows = list(count(clip, scene=clip.with_suffix(".scene.json")))
    flagged = np.array(["vehicle" in row.flags for row in rows])
    assert 0.2 < flagged.mean() < 0.6
    assert all(row.is_reliable for row in rows)
    error = np.abs([row.count - label for row, label in zip(rows, labels, strict=True)])[flagged].mean()
    monkeypatch.setattr(VehicleFinder, "take_from", lambda *_: False)
    counts = [row.count for row in count(clip, scene=clip.with_suffix(".scene.json"))]
    assert error < 4
    assert np.abs(np.subtract(counts, labels))[flagged].mean() > 3 * error


def blinking(number):
    """A sign that is on for a second of two or three."""
    return (60, 60, 200) if number // 5 % 5 in (0, 2) else (40, 40, 40)


def film(number):
    """Shots of two seconds, in which the camera pans."""
    patches = np.random.default_rng(number // 10).uniform(20, 235, (4, 5, 3)).astype(np.uint8)
    return np.roll(cv2.resize(patches, (40, 45), interpolation=cv2.INTER_NEAREST), 2 * (number % 10), axis=1)


@pytest.mark.parametrize(
    ("shown", "teller", "nothing", "at_most"),
    [
        (blinking, "other_states", lambda *_: [], 0.15),
        (film, "films", lambda _, image: np.zeros(image.shape[:2], bool), 0.3),
    ],
)
def test_nobody_is_counted_on(shown, teller, nothing, at_most, tmp_path, monkeypatch, capsys):
    """A screen on the wall, above all heads, larger than four people."""
    clip = tmp_path / "clip.avi"
    spec = preset("plaza", 67, size_wh=(320, 240), fps=5.0, n_frames=120, people=4.0, roi="frame")
    write_clip(spec, clip)
    scene = clip.with_suffix(".scene.json")

    def drawn(path, screen):
        frames, video = cv2.VideoCapture(str(clip)), cv2.VideoWriter(
            str(path), cv2.VideoWriter.fourcc(*"MJPG"), spec.fps, spec.size_wh
        )
        for number in range(spec.n_frames):
            _, frame = frames.read()
            frame[10:55, 130:170] = screen(number)
            video.write(frame)
        video.release()
        return path

    def counts(path):
        return np.array([row.count for row in count(path, scene=scene)])

    without = counts(drawn(tmp_path / "without.avi", lambda _: (40, 40, 40)))
    signed = drawn(tmp_path / "signed.avi", shown)
    assert np.abs(counts(signed) - without).mean() < at_most
    below = load_scene(scene).redrawn([((0, 120), (319, 120), (319, 239), (0, 239))])
    for where, expected in ((scene, [(130, 10, 40, 45)] if shown is film else []), (below, [])):
        with open_counting(signed, scene=where) as counting:
            Terminal().started(counting)
        told = re.findall(r"films are shown at (\d+),(\d+) \((\d+)x(\d+) pix", capsys.readouterr().err)
        assert len(told) == len(expected)
        assert np.allclose(np.float64(told), expected, atol=7)
    monkeypatch.setattr(f"features.background.{teller}", nothing)
    assert np.mean(counts(signed) - without) > 2


@pytest.mark.parametrize(
    ("name", "persons"),
    [
        ("TUD-Campus", [(320, 347, 135), (320, 445, 282)]),
        ("TUD-Stadtmitte", [(320, 239, 132), (320, 310, 219)]),
    ],
)
def test_people_are_counted_from_below_their_heads(data_dir, name, persons):
    """With two people given as they stand in the picture; it counted 7.6 and 3.4 too many."""
    folder = data_dir / "tud" / name
    truth = load_dataset(folder / f"{name}.mp4", mot=folder / "gt.txt").counts
    rows = list(count(folder / f"{name}.mp4", scene=scene_from((640, 480), persons=persons)))
    assert np.abs([row.count - people for row, people in zip(rows, truth, strict=True)]).mean() < 1.6
