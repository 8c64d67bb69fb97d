"""Right- and left-moving people: labels, training, models, counting, and the files they are written to."""

import json
from dataclasses import replace

import cv2
import numpy as np
import pytest

from crowdcount.counting import open_counting
from crowdcount.errors import DatasetError, ModelError, SceneError
from crowdcount.learning import fitting, regressors
from crowdcount.learning.datasets import Dataset, load_dataset
from crowdcount.learning.directions import by_direction, track_speeds
from crowdcount.learning.measuring import measure
from crowdcount.model import load_model
from crowdcount.overlay import draw_overlay
from crowdcount.overview import Overview
from crowdcount.plots import plot_counts
from crowdcount.results import FrameCount, open_writer, read_counts
from crowdcount.rows import FORMATS
from crowdcount.scene import load_scene, parse_axis, scene_from
from tests.crowdcount.helpers import run

SIZE = 320, 240
SCENE = scene_from(SIZE, persons=[(160, 100, 40.0), (160, 220, 40.0)])
RATE = 10.0
CLIP_RATE = 5.0
N_FRAMES = 100


def tracked(*tracks, n_frames=20):
    """Boxes 20 wide and 40 tall whose centres are at track(frame), or absent where that is None."""
    boxes, identities = [], []
    for frame in range(n_frames):
        places = [(person, track(frame)) for person, track in enumerate(tracks, start=1)]
        there = [(person, place) for person, place in places if place is not None]
        identities.append(np.array([person for person, _ in there], np.int64))
        boxes.append(np.array([(x - 10.0, y - 20.0, 20.0, 40.0) for _, (x, y) in there]).reshape(-1, 4))
    counts = np.array([float(len(found)) for found in boxes])
    return Dataset("street", np.arange(n_frames), counts, boxes=tuple(boxes),
                   identities=tuple(identities))  # fmt: skip


def counts_of(dataset, scene=SCENE):
    return [part.counts.tolist() for part in by_direction(dataset, scene, RATE)]


class TestLabels:
    def test_speeds_are_in_person_heights_per_second(self):
        dataset = tracked(lambda k: (50 + 2 * k, 100), lambda k: (200, 150 - 4 * k))
        speeds = np.array(track_speeds(dataset, np.array([1.0, 0.0]), RATE))
        np.testing.assert_allclose(speeds, [[0.5, 0.0]] * 20, atol=1e-12)
        np.testing.assert_allclose(
            track_speeds(dataset, np.array([0.0, 1.0]), RATE), [[0.0, -1.0]] * 20, atol=1e-12
        )

    def test_boxes_without_height_have_no_speed(self):
        dataset = tracked(lambda k: (50 + 2 * k, 100), lambda k: (200 - 2 * k, 100))
        for boxes in dataset.boxes[5:8]:
            boxes[0, 3] = 0.0
        expected = np.tile([0.5, -0.5], (20, 1))
        expected[5:8, 0] = 0.0
        speeds = track_speeds(dataset, np.array([1.0, 0.0]), RATE)
        np.testing.assert_allclose(speeds, expected, atol=1e-12)

    def test_who_stands_or_walks_across_belongs_to_neither(self):
        dataset = tracked(
            lambda k: (50 + 2 * k, 100),
            lambda k: (250 - 2 * k, 100),
            lambda k: (250 - 3 * k, 140),
            lambda k: (160 + k % 2, 100),  # a box that trembles
            lambda k: (100, 80 + 3 * k),
        )
        assert counts_of(dataset) == [[1.0] * 20, [2.0] * 20]

    def test_another_axis_turns_them(self):
        dataset = tracked(lambda k: (50 + 2 * k, 100), lambda k: (100, 80 + 3 * k))
        down = replace(SCENE, axis=((10.0, 10.0), (10.0, 200.0)))
        assert counts_of(dataset, down) == [[1.0] * 20, [0.0] * 20]
        back = replace(SCENE, axis=((300.0, 10.0), (10.0, 10.0)))
        assert counts_of(dataset, back) == [[0.0] * 20, [1.0] * 20]

    def test_tracks_with_gaps_and_lone_frames(self):
        gappy = tracked(lambda k: (50 + 2 * k, 100) if k in (0, 3, 4, 19) else None)
        right, left = counts_of(gappy)
        assert [k for k in range(20) if right[k]] == [0, 3, 4]  # frame 19 is alone: nobody knows
        assert not any(left)

    def test_people_outside_of_the_region_and_frames_without_annotation(self):
        half = scene_from(SIZE, [((0, 0), (159, 0), (159, 239), (0, 239))], [(9, 99, 40.0), (9, 200, 40.0)])
        dataset = tracked(lambda k: (110 + 5 * k, 100))
        right, _ = counts_of(dataset, half)
        assert right == [1.0] * 10 + [0.0] * 10
        identities = (None, *dataset.identities[1:])
        boxes = (None, *dataset.boxes[1:])
        right, _ = counts_of(replace(dataset, identities=identities, boxes=boxes))
        assert np.isnan(right[0])
        assert right[1:] == [1.0] * 19

    def test_a_data_set_without_tracks_is_refused(self):
        with pytest.raises(DatasetError, match=r"^street does not tell who moves where; give tracks"):
            by_direction(replace(tracked(), identities=None), SCENE, RATE)

    def test_columns_that_nobody_filled_in_tell_nothing(self):
        half = np.column_stack([np.arange(20.0), np.full(20, np.nan)])
        with pytest.raises(DatasetError, match="with the columns frame,count,right,left, filled in"):
            by_direction(replace(tracked(), boxes=None, identities=None, directed=half), SCENE, RATE)


def walkers(n_frames, rng):
    """Frames (120, 240, 3) uint8 of people 36 pixels tall who cross, and number, left and top of each.

    Those in the upper half walk right, those in the lower half left.
    """
    street = cv2.resize(rng.uniform(70, 170, (30, 60, 3)).astype(np.float32), (240, 120))
    texture = [cv2.resize(rng.uniform(0, 255, (12, 6, 3)).astype(np.float32), (18, 36)) for _ in range(60)]
    lanes = [{} for _ in range(2)]  # x by number
    rows, people = (6, 76), 0
    for frame in range(n_frames):
        busy = 0.1 + 0.09 * np.sin(2 * np.pi * frame / 30 + np.arange(2) * 2)
        image, boxes = street.copy(), []
        for k, lane in enumerate(lanes):
            sign = 1 if k == 0 else -1
            start = 0.0 if sign == 1 else 221.0
            if rng.random() < busy[k] and all(abs(x - start) > 40 for x in lane.values()):
                people += 1
                lane[people] = start
            for number, x in list(lane.items()):
                lane[number] = x = x + sign * 5.0
                if not 0 <= x <= 222:
                    del lane[number]
                    continue
                left, top = round(x), rows[k]
                image[top : top + 36, left : left + 18] = texture[number % 60]
                boxes.append((number, left, top))
        noisy = image + rng.normal(0, 2, image.shape)
        yield np.clip(noisy, 0, 255).astype(np.uint8), boxes


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A clip of 100 frames at 5 frames/s in which people walk right and left, with its boxes and scene."""
    path = tmp_path_factory.mktemp("clip") / "walk.avi"
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), CLIP_RATE, (240, 120))
    lines = []
    for frame, (image, boxes) in enumerate(walkers(N_FRAMES, np.random.default_rng(4)), start=1):
        video.write(image)
        lines += [f"{frame},{number},{left + 1},{top + 1},18,36,1\n" for number, left, top in boxes]
    video.release()
    path.with_suffix(".gt.txt").write_text("".join(lines))
    scene = scene_from((240, 120), persons=[(120, 38, 36.0), (120, 116, 36.0)])
    scene.save(path.with_suffix(".scene.json"))
    return path


@pytest.fixture(scope="module", autouse=True)
def _few_choices():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regressors, "COEF0S", (1.0,))
        patch.setattr(regressors, "LAMBDAS", (1e-3, 1e-2))
        patch.setattr(fitting, "LOCAL_LAMBDAS", (1e-3,))
        yield


def labels_of(clip):
    return ["--mot", clip.with_suffix(".gt.txt"), "--annotated", f"1-{N_FRAMES}"]


@pytest.fixture(scope="module")
def trained(clip):
    """The model file, and what training printed as JSON."""
    model = clip.with_name("directions.npz")
    scene = ["--scene", clip.with_suffix(".scene.json"), "--cache", clip.with_name("cache")]
    result = run("train", clip, *labels_of(clip), *scene, "-m", model, "--directions", "--json", "-q")
    assert result.exit_code == 0, result.output
    return model, json.loads(result.stdout)


@pytest.fixture(scope="module")
def truth(clip):
    dataset = load_dataset(clip, mot=labels_of(clip)[1], annotated=f"1-{N_FRAMES}")
    scene = load_scene(clip.with_suffix(".scene.json"))
    return [part.counts for part in by_direction(dataset, scene, CLIP_RATE)]


class TestTraining:
    def test_it_tells_the_error_of_each_and_of_their_sum(self, trained, truth):
        told = trained[1]["directions"]
        for name, counts in zip(("right", "left"), truth, strict=True):
            spread = np.abs(counts - np.median(counts)).mean()
            assert told[name]["n"] == N_FRAMES - 1  # before the second frame there is no motion
            assert told[name]["mae"] < 0.7 * spread
        assert told["both"]["mae"] < told["right"]["mae"] + told["left"]["mae"]

    def test_the_motion_is_that_between_all_frames(self, clip):
        dataset = load_dataset(clip, mot=labels_of(clip)[1], annotated=f"1-{N_FRAMES}")
        scene = load_scene(clip.with_suffix(".scene.json"))
        wanted = np.arange(N_FRAMES) % 7 == 0
        every, some = (
            measure(dataset, rows, scene=scene, directions=True) for rows in (wanted | True, wanted)
        )
        for whole, part in zip(every.directed, some.directed, strict=True):
            assert part.rows.tolist() == np.flatnonzero(wanted)[1:].tolist()
            np.testing.assert_array_equal(part.features, whole.features[np.isin(whole.rows, part.rows)])

    def test_the_cache_gives_the_same(self, trained, clip):
        scene = ["--scene", clip.with_suffix(".scene.json"), "--cache", clip.with_name("cache")]
        again = clip.with_name("again.npz")
        result = run("train", clip, *labels_of(clip), *scene, "-m", again, "--directions", "-q")
        assert "right-moving, cross-validated: MAE" in result.stdout
        assert again.read_bytes() == trained[0].read_bytes()

    def test_images_at_their_rate_teach_what_the_video_does(self, trained, clip, tmp_path):
        frames, video = tmp_path / "frames", cv2.VideoCapture(str(clip))
        frames.mkdir()
        for k in range(N_FRAMES):
            cv2.imwrite(str(frames / f"{k:03}.png"), video.read()[1])
        scene, written = clip.with_suffix(".scene.json"), tmp_path / "of_images.npz"
        options = ["--scene", scene, "-m", written, "--directions"]
        result = run("train", frames, *labels_of(clip), *options)
        assert result.exit_code == 1
        assert "images are taken to be 1 s apart; give their rate (--fps)" in result.stderr
        assert "directions need video of at least 4 frames/s" in result.stderr
        result = run("train", frames, *labels_of(clip), *options, "--fps", CLIP_RATE, "-q")
        assert result.exit_code == 0, result.output
        model, other = load_model(trained[0]), load_model(written)
        assert (other.rate, other.person_height) == (model.rate, model.person_height)
        rows = np.random.default_rng(0).uniform(0, 1, (2, model.directions[0].n_columns))
        assert other.predict_directions(rows) == model.predict_directions(rows)

    def test_counts_of_both_can_come_from_a_table(self, clip, truth, tmp_path):
        table = tmp_path / "counts.csv"
        total = np.sum(truth, axis=0)
        rows = np.column_stack([np.arange(N_FRAMES), total, *truth])
        table.write_text(
            "frame,count,right,left\n" + "".join(f"{int(f)},{c},{r},{left}\n" for f, c, r, left in rows)
        )
        dataset = load_dataset(clip, counts=table)
        np.testing.assert_array_equal(dataset.counts, total)
        found = by_direction(dataset, SCENE, CLIP_RATE)
        np.testing.assert_array_equal([part.counts for part in found], truth)
        table.write_text("frame,count,right,left\n3,2,1,\n4,2,1,1\n")
        right, left = by_direction(load_dataset(clip, counts=table), SCENE, CLIP_RATE)
        assert np.flatnonzero(np.isfinite(right.counts)).tolist() == [4]  # both must be known
        assert np.flatnonzero(np.isfinite(left.counts)).tolist() == [4]
        table.write_text("frame,count,right,left\n3,2,-1,0\n")
        with pytest.raises(DatasetError, match=r"line 2: expected a right of 0 or more"):
            load_dataset(clip, counts=table)

    def test_counts_without_directions_and_slow_images_are_refused_before_the_look(
        self, clip, street, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(Overview, "__init__", lambda *_: pytest.fail("looked at the footage"))
        table = tmp_path / "counts.csv"
        table.write_text("frame,count\n" + "".join(f"{k},{k % 3}\n" for k in range(30)))
        result = run("train", clip, "--counts", table, "-m", tmp_path / "m.npz",
                     "--directions", "-q")  # fmt: skip
        assert result.exit_code == 1
        assert "give tracks (--mot), or --counts with the columns frame,count,right,left" in result.stderr
        result = run("train", street.frames, "--counts", street.labels, "-m", tmp_path / "m.npz",
                     "--directions", "-q")  # fmt: skip
        assert result.exit_code == 1
        assert "directions need video of at least 4 frames/s" in result.stderr
        assert list(tmp_path.iterdir()) == [table]


class TestCounting:
    def test_the_columns_come_after_high_and_follow_the_people(self, clip, trained, truth, tmp_path):
        counts = tmp_path / "walk.csv"
        result = run("count", clip, "-m", trained[0], "--directions", "-o", counts, "-q")
        assert result.exit_code == 0, result.output
        rows = read_counts(counts)
        assert len(rows) == N_FRAMES
        found = np.array([(row.right, row.left) for row in rows]).T  # those of the first as of those after it
        for side in (0, 1):
            assert np.abs(found[side] - truth[side]).mean() < 0.5  # frames it was trained on
            assert np.corrcoef(found[side], truth[side])[0, 1] > 0.8
        header = counts.read_text(encoding="utf-8").splitlines()[0]
        assert header == "frame,time_s,count,low,high,right,left,flags"

    def test_they_cost_nothing_and_change_nothing_unless_asked_for(self, clip, trained, tmp_path):
        for name, options in (("plain", ()), ("directed", ("--directions",))):
            result = run("count", clip, "-m", trained[0], "-o", tmp_path / f"{name}.csv", "-q", *options)
            assert result.exit_code == 0, result.output
        plain, directed = (read_counts(tmp_path / f"{name}.csv") for name in ("plain", "directed"))
        assert plain == [replace(row, right=None, left=None) for row in directed]
        assert "right" not in (tmp_path / "plain.csv").read_text()

    def test_of_faster_video_they_are_told_by_every_second_frame(self, clip, trained, truth):
        with open_counting(clip, fps=10.0, model=trained[0], directions=True) as counting:
            assert counting.stride == 2
            rows = [item.row for item in counting.frames(images=False)]
        for side, found in zip(truth, np.array([(row.right, row.left) for row in rows]).T, strict=True):
            assert np.corrcoef(found, side)[0, 1] > 0.8

    def test_evaluation_tells_their_errors_as_they_are_counted(self, clip, trained, truth):
        every = ["evaluate", clip, *labels_of(clip), "-m", trained[0]]
        told = json.loads(run(*every, "--json").stdout)["directions"]
        with open_counting(clip, model=trained[0], directions=True) as counting:
            rows = [item.row for item in counting.frames(images=False)]
        for name, labels in zip(("right", "left"), truth, strict=True):
            errors = np.abs([getattr(row, name) for row in rows[1:]] - labels[1:])
            assert told[name]["n"] == N_FRAMES - 1
            assert told[name]["mae"] == pytest.approx(errors.mean(), abs=1e-6)
        errors = np.array([row.right + row.left for row in rows]) - np.sum(truth, axis=0)
        assert told["both"]["mae"] == pytest.approx(np.abs(errors[1:]).mean(), abs=1e-6)
        part = run(*every, "--frames", "30-59", "--fps", 10.0, "-q").stdout
        assert [line.split(":")[0] for line in part.splitlines()[2:5]] == [
            *("right-moving", "left-moving", "their sum")
        ]
        assert json.loads(run(*every, "--frames", "30-59", "--json").stdout)["directions"]["left"]["n"] == 30

    def test_evaluation_goes_without_them_where_nobody_told_them(self, clip, trained, tmp_path):
        counts = tmp_path / "counts.csv"
        counts.write_text("frame,count\n20,2\n40,3\n")
        told = json.loads(run("evaluate", clip, "--counts", counts, "-m", trained[0], "--json").stdout)
        assert "directions" not in told
        first = run("evaluate", clip, *labels_of(clip), "-m", trained[0], "--frames", "0", "--json")
        assert "directions" not in json.loads(first.stdout)  # before the second frame there is no motion
        slow = run("evaluate", clip, *labels_of(clip), "-m", trained[0], "--fps", 1.0, "--json")
        assert "directions" not in json.loads(slow.stdout)

    def test_a_rate_too_low_for_motion_is_refused(self, clip, trained, tmp_path):
        result = run(
            "count", clip, "-m", trained[0], "--directions", "--every", 2, "-o", tmp_path / "a.csv", "-q"
        )
        assert result.exit_code == 1
        assert "at least 4 frames/s" in result.stderr
        assert "gives 2.5: take every frame" in result.stderr
        assert not list(tmp_path.iterdir())

    def test_a_model_without_directions_is_refused(self, clip, tmp_path):
        result = run("count", clip, "--directions", "-o", tmp_path / "a.csv", "-q")
        assert result.exit_code == 1
        assert "the model knows no directions; train one with --directions" in result.stderr


class TestModel:
    def test_a_saved_model_predicts_the_same(self, trained, tmp_path):
        model = load_model(trained[0])
        rows = np.random.default_rng(0).uniform(0, 1, (2, model.directions[0].n_columns))
        model.save(tmp_path / "again.npz")
        assert load_model(tmp_path / "again.npz").predict_directions(rows) == model.predict_directions(rows)
        assert min(model.predict_directions(rows)) >= 0

    def test_other_columns_are_refused(self, trained):
        model = load_model(trained[0])
        with pytest.raises(ModelError, match=r"found 7; train it again"):
            model.predict_directions(np.zeros((2, 7)))
        with pytest.raises(ModelError, match="knows no directions"):
            replace(model, directions=None).predict_directions(np.zeros((2, 7)))


class TestAxis:
    def test_it_is_saved_with_the_scene_and_follows_its_size(self, tmp_path):
        scene = replace(SCENE, axis=((20.0, 30.0), (20.0, 230.0)))
        for name in ("scene.json", "scene.npz"):
            scene.save(tmp_path / name)
            assert load_scene(tmp_path / name).axis == scene.axis
        assert scene.resized((160, 120)).axis == ((10.0, 15.0), (10.0, 115.0))
        np.testing.assert_allclose(scene.right, [0, 1])
        np.testing.assert_allclose(SCENE.right, [1, 0])

    def test_the_command_draws_and_tells_it(self, clip, tmp_path):
        scene = tmp_path / "scene.json"
        result = run("scene", clip, "--scene", clip.with_suffix(".scene.json"), "--axis", "10,20 190,40",
                     "-o", scene, "--preview", tmp_path / "scene.png", "-q")  # fmt: skip
        assert result.exit_code == 0, result.output
        assert "right-moving: along the axis 10,20 to 190,40 (given)" in result.stdout
        assert load_scene(scene).axis == ((10.0, 20.0), (190.0, 40.0))

    @pytest.mark.parametrize("text", ["", "1,2", "1,2 3", "5,5 5,5", "1,2 3,4 5,6", "a,b c,d", "nan,1 2,3"])
    def test_what_is_no_axis_is_refused(self, text):
        with pytest.raises(SceneError, match=r"^expected [^\n]+found"):
            parse_axis(text)

    def test_a_file_with_a_point_as_axis_is_refused(self, tmp_path):
        replace(SCENE, axis=((20.0, 30.0), (20.0, 230.0))).save(tmp_path / "a.json")
        text = json.loads((tmp_path / "a.json").read_text())
        (tmp_path / "a.json").write_text(json.dumps(text | {"axis": [[1, 2], [1, 2]]}))
        with pytest.raises(SceneError, match="no length"):
            load_scene(tmp_path / "a.json")


class TestDrawing:
    ROWS = tuple(FrameCount(k, k / 10, 5.0, 4.0, 6.0, (), 1.0 + k % 3, 2.0) for k in range(2500))

    def test_the_overlay_tells_both(self):
        frame, roi = np.full((240, 320, 3), 90, np.uint8), np.ones((240, 320), bool)
        plain = draw_overlay(frame, roi, None, replace(self.ROWS[0], right=None, left=None))
        told = draw_overlay(frame, roi, None, self.ROWS[0])
        assert (plain != told).any()

    def test_the_plot_has_a_line_for_each(self, tmp_path):
        unknown = replace(self.ROWS[0], right=np.nan, left=np.nan)
        for rows in ([unknown, *self.ROWS[1:30]], self.ROWS, [unknown]):
            plot_counts(rows, tmp_path / "plot.svg", "walk")
            text = (tmp_path / "plot.svg").read_text()
            assert "<!-- right -->" in text
            assert "<!-- left -->" in text


def test_a_row_that_could_not_be_decoded_has_empty_cells(tmp_path):
    nan = float("nan")
    with open_writer(tmp_path / "a.csv", "csv", directions=True) as write:
        write(FrameCount(0, 0.0, nan, nan, nan, ("undecodable",), nan, nan))
        write(FrameCount(1, 0.1, 3.0, 2.0, 4.0, (), 1.25, 0.5))
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[1:] == ["0,0.0,,,,,,undecodable", "1,0.1,3.0,2.0,4.0,1.25,0.5,"]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_keeps_both(tmp_path, format):
    rows = [FrameCount(k, k / 10, 3.0, 2.0, 4.0, (), 1.25, 0.5 * k) for k in range(3)]
    with open_writer(tmp_path / f"a.{format}", format, directions=True) as write:
        for row in rows:
            write(row)
    assert read_counts(tmp_path / f"a.{format}") == rows


def test_pets_2009_is_learnt_from_its_tracks(data_dir):
    """The published labels: people who walk right and left in the first 400 frames."""
    folder = data_dir / "pets2009"
    truth = folder / "PETS09-S2L1_gt_001-400.txt"
    dataset = load_dataset(folder / "vtest.avi", mot=truth, annotated="1-400")
    right, left = by_direction(dataset, scene_from((768, 576)), rate=10.0)
    assert right.counts[:400].mean() == pytest.approx(2.22, abs=0.005)
    assert left.counts[:400].mean() + right.counts[:400].mean() < dataset.counts[:400].mean()
