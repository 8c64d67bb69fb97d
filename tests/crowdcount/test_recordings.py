"""Several recordings of one camera, learnt from together."""

import re
import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest

from crowdcount.counting import count
from crowdcount.errors import DatasetError
from crowdcount.learning import recordings
from crowdcount.learning.datasets import Dataset, load_dataset, points_inside
from crowdcount.learning.measuring import measure
from crowdcount.learning.recalibration import recalibrate
from crowdcount.learning.recordings import joined, measure_recordings
from crowdcount.learning.reports import training_report
from crowdcount.learning.training import evaluate, train
from crowdcount.model import load_model

pytestmark = pytest.mark.usefixtures("few_kernels")


@pytest.fixture(scope="module")
def days(make_street, tmp_path_factory):
    """The street on three days: few people, more of them and less light, some of both."""
    root = tmp_path_factory.mktemp("days")
    return [
        make_street(root / name, n_frames=40, seed=seed, busier=busier, lights=lights)
        for name, seed, busier, lights in [("mon", 3, -2.0, 1.0), ("tue", 4, 3.0, 0.8), ("wed", 5, 1.0, 0.9)]
    ]


@pytest.fixture(scope="module")
def datasets(days):
    return [day.dataset() for day in days]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Where measured features are kept, as many tests learn from the same days and are judged by them."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def of_two(days, datasets, cache):
    return train(datasets[:2], scene=days[0].scene, cache=cache)


def test_seconds_between_recordings_are_not_of_the_footage(days, datasets, cache, monkeypatch):
    spans = []

    def quantile(blocked, level, span_s):
        spans.append(span_s)
        return blocked

    monkeypatch.setattr("crowdcount.learning.training.later_quantile", quantile)
    sparse = [some(dataset, slice(4, 37, 4)) for dataset in datasets[:2]]
    model = train(sparse, scene=days[0].scene, cache=cache).model
    assert spans == [(32 + 32) / model.rate]


def some(dataset, labelled, **changes):
    """The data set with some of its labels."""
    counts = np.full_like(dataset.counts, np.nan)
    counts[labelled] = dataset.counts[labelled]
    return replace(dataset, counts=counts, **changes)


def on_video(day, path, fps=10.0):
    """A day's images as a video, with its counts."""
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), fps, day.scene.size_wh)
    for image in sorted(day.frames.iterdir()):
        video.write(cv2.imread(str(image)))
    video.release()
    return load_dataset(path, counts=day.labels)


@pytest.fixture(scope="module")
def of_monday(days, datasets, cache):
    return train(datasets[0], scene=days[0].scene, cache=cache)


def test_two_days_teach_more_than_each_of_them(days, datasets, of_monday, of_two, cache):
    of_tuesday = train(datasets[1], scene=days[0].scene, cache=cache)
    trained = [of_monday, of_tuesday, of_two]
    errors = [evaluate(datasets[2], one.model, cache=cache).metrics.mae for one in trained]
    assert errors[2] < min(errors[:2])
    assert of_two.metrics.n == 80
    assert of_two.model.scene.line == days[0].scene.line
    name = of_two.model.facts["trained_on"]
    assert name == f"{days[0].frames}, {days[1].frames}"
    assert "of 2 recordings in" in training_report(of_two, "m.npz")[0]
    assert "0 to 12 people" in training_report(of_two, "m.npz")[0]


@pytest.fixture(scope="module")
def by_night(days, tmp_path_factory):
    """The third day as an infrared picture shows it, without colours."""
    frames = tmp_path_factory.mktemp("night") / "frames"
    frames.mkdir()
    for image in days[2].frames.iterdir():
        cv2.imwrite(str(frames / image.name), cv2.imread(str(image), cv2.IMREAD_GRAYSCALE))
    return load_dataset(frames, counts=days[2].labels)


def test_a_picture_without_colours_is_unlike_those_of_the_day(datasets, of_two, by_night, cache, tmp_path):
    of_two.model.save(tmp_path / "day.npz")
    model = load_model(tmp_path / "day.npz")
    assert model.needs_colours
    flagged = ["outside_training_range" in row.flags for row in count(by_night.source, model=model)]
    assert all(flagged)
    assert evaluate(by_night, model, cache=cache).outside == 1
    assert evaluate(datasets[2], model, cache=cache).outside < 0.5


def test_who_learnt_by_night_too_knows_pictures_without_colours(days, datasets, by_night, cache):
    model = train([datasets[0], by_night], scene=days[0].scene, cache=cache).model
    assert not model.needs_colours
    assert evaluate(by_night, model, cache=cache).outside < 0.5


def test_a_correction_by_counts_of_the_night_holds_by_night(datasets, of_two, by_night, cache):
    """What it adds there is of no use by day."""
    few = range(0, 40, 4)
    for corrected_on, other in (by_night, datasets[2]), (datasets[2], by_night):
        model = recalibrate(some(corrected_on, few), of_two.model).model
        assert evaluate(corrected_on, model, cache=cache).outside < 0.5
        assert evaluate(other, model, cache=cache).outside == 1


def test_each_is_measured_in_the_scene_of_the_first(days, datasets):
    chosen = [some(datasets[0], range(0, 40, 3)), some(datasets[1], range(5, 40, 2))]
    first, second = measure_recordings(chosen, scene=days[0].scene)
    assert second.scene.view is not None
    alone = measure(chosen[1], np.ones(40, bool), scene=first.scene)
    np.testing.assert_array_equal(second.features, alone.features)
    unaware = measure(chosen[1], np.ones(40, bool), scene=days[0].scene)
    assert not np.array_equal(second.features, unaware.features)


def test_of_too_many_labels_each_recording_keeps_its_share(datasets, monkeypatch):
    monkeypatch.setattr(recordings, "MOST_LABELS", 30)
    chosen = [datasets[0], some(datasets[1], range(0, 40, 2))]
    fewer, n_spared = recordings.thinned(chosen)
    kept = [np.flatnonzero(np.isfinite(one.counts)) for one in fewer]
    assert n_spared == 30
    np.testing.assert_array_equal(kept[1], range(0, 40, 4))
    assert (len(kept[0]), np.diff(kept[0]).max(), kept[0][0]) == (20, 2, 0)
    assert np.isfinite(chosen[0].counts).all()
    fewer, n_spared = recordings.thinned(chosen, "0-29")
    assert n_spared == 45 - 30
    assert np.isfinite(fewer[0].counts[30:]).all()
    assert recordings.thinned(chosen[1:]) == (chosen[1:], 0)


def test_rows_keep_their_labels_dots_and_copies(days, tmp_path):
    videos = [on_video(day, tmp_path / f"{k}.avi") for k, day in enumerate(days[:2])]
    dots = [tuple(np.full((int(count), 2), 100.0) for count in one.counts) for one in videos]
    counts = np.column_stack([videos[0].counts, videos[0].counts + 1])
    chosen = [
        some(videos[0], range(0, 40, 3), points=dots[0], directed=counts),
        some(videos[1], range(5, 40, 2), points=dots[1], directed=counts + 2),
    ]
    tables = measure_recordings(chosen, scene=days[0].scene, with_copies=True, directions=True)
    dataset, table = joined(chosen, tables)
    assert dataset.numbers[table.rows].tolist() == [*range(40), *range(40)]
    assert dataset.recordings == (chosen[0].name,) * 40 + (chosen[1].name,) * 40
    np.testing.assert_array_equal(dataset.counts, np.concatenate([one.counts for one in chosen]))
    np.testing.assert_array_equal(dataset.directed, np.concatenate([one.directed for one in chosen]))
    assert [len(found) for found in dataset.points] == [len(found) for one in dots for found in one]
    assert dataset.boxes is None
    assert len(table.copies.of) == 14 + 18
    np.testing.assert_array_equal(np.isfinite(dataset.counts[table.copies.of]), True)
    np.testing.assert_array_equal(table.copies.X[14:], tables[1].copies.X)
    for side in range(2):
        part = table.directed[side]
        n_first = len(tables[0].directed[side].rows)
        assert part.rows[:n_first].tolist() == tables[0].directed[side].rows.tolist()
        assert (part.rows[n_first:] - 40).tolist() == tables[1].directed[side].rows.tolist()
        np.testing.assert_array_equal(part.features[n_first:], tables[1].directed[side].features)
    dataset, _ = joined([chosen[0], replace(chosen[1], points=None)], tables)
    assert dataset.points is None


def test_dots_and_boxes_are_placed_in_pixels_of_the_first(days, tmp_path):
    tue = replace(days[1].dataset(), boxes=days[1].boxes)
    width, height = days[0].scene.size_wh
    for image in sorted(days[1].frames.iterdir()):
        large = cv2.resize(cv2.imread(str(image)), (2 * width, height * 21 // 10))
        cv2.imwrite(str(tmp_path / image.name), large)
    scale = np.array([2, height * 21 // 10 / height] * 2)
    doubled = replace(tue, source=tmp_path, boxes=(None, *(scale * boxes for boxes in tue.boxes[1:])))
    mon = replace(days[0].dataset(), boxes=days[0].boxes)
    chosen = [mon, doubled]
    dataset, _ = joined(chosen, measure_recordings(chosen, scene=days[0].scene))
    assert dataset.boxes[40] is None
    for found, boxes in zip(dataset.boxes[:40] + dataset.boxes[41:], mon.boxes + tue.boxes[1:], strict=True):
        np.testing.assert_allclose(found, boxes)


def test_frames_are_those_of_each(days, datasets):
    assert train(datasets[:2], frames="0-19", scene=days[0].scene).metrics.n == 40


def test_each_is_kept_in_the_cache(days, datasets, tmp_path):
    """The second one is measured in the first one's view, and so known by it."""
    first, again = (
        measure_recordings(datasets[:2], scene=days[0].scene, cache=tmp_path) for _ in range(2)
    )
    assert len(list(tmp_path.iterdir())) == 2
    np.testing.assert_array_equal(first[1].features, again[1].features)


def test_dots_of_all_teach_local_counts_and_profiles(days, tmp_path):
    chosen = []
    for day in days[:2]:
        rows = [
            f"{k},{left + width / 2:.1f},{top + 3:.1f}"
            for k, people in enumerate(day.boxes)
            for left, top, width, _ in people
        ]
        rows += [f"{k},," for k, people in enumerate(day.boxes) if not len(people)]
        labels = tmp_path / f"{day.frames.parent.name}.csv"
        labels.write_text("\n".join(["frame,x,y", *rows]), encoding="utf-8")
        chosen.append(load_dataset(day.frames, counts=labels))
    training = train(chosen, scene=days[0].scene, target="profile")
    assert training.profile is not None
    assert training.local is not None
    assert any("learnt from where people are" in line for line in training_report(training, "m.npz"))
    with pytest.raises(DatasetError, match=r"tue.*does not tell where people are"):
        train([chosen[0], days[1].dataset()], scene=days[0].scene, target="profile")


def test_directions_are_of_columns(days, tmp_path):
    videos = [on_video(day, tmp_path / f"{k}.avi") for k, day in enumerate(days[:2])]
    halves = [np.column_stack([one.counts // 2, one.counts - one.counts // 2]) for one in videos]
    chosen = [replace(one, directed=half) for one, half in zip(videos, halves, strict=True)]
    training = train(chosen, scene=days[0].scene, directions=True)
    assert training.directions.errors.both.n > 70
    with pytest.raises(DatasetError, match="the columns right and left"):
        train([chosen[0], videos[1]], scene=days[0].scene, directions=True)


def test_a_pruned_label_tells_its_recording(days, datasets, cache):
    wrong = replace(datasets[1], counts=datasets[1].counts + np.where(np.arange(40) == 17, 40.0, 0.0))
    training = train([datasets[0], wrong], scene=days[0].scene, cache=cache)
    [odd] = [one for one in training.removed if one.label > 30]
    assert (odd.number, odd.recording) == (17, wrong.name)
    assert any(line.endswith(f"  {wrong.name}") for line in training_report(training, "m.npz"))
    alone = train(wrong, scene=days[0].scene, cache=cache)
    assert {one.recording for one in alone.removed} == {None}


def test_the_model_knows_the_counts_of_each(datasets, of_monday, of_two, cache):
    def learnt(model):
        return [evaluate(one, model, cache=cache).is_learnt for one in datasets]

    assert [len(learnt) for learnt in of_two.model.facts["labels"]] == [40, 40]
    assert learnt(of_two.model) == [True, True, False]
    corrected = recalibrate(some(datasets[2], range(10, 30)), of_two.model, cache=cache)
    assert not corrected.is_learnt
    again = evaluate(datasets[2], corrected.model, frames=np.arange(10, 30), cache=cache)
    assert again.is_learnt
    assert evaluate(datasets[0], corrected.model, cache=cache).is_learnt
    both = recalibrate(datasets[2], of_monday.model, cache=cache).model
    assert learnt(both) == [True, False, True]


def test_few_labels_of_each_are_enough(days, datasets):
    chosen = [some(datasets[0], range(0, 40, 7)), some(datasets[1], range(0, 40, 8))]
    assert train(chosen, scene=days[0].scene).metrics.n == 11
    told = []
    chosen = [some(datasets[0], [3]), some(datasets[1], range(0, 40, 8))]
    with pytest.raises(DatasetError, match=r"expected 10 or more labelled frames .*, found 6 in .*mon.*tue"):
        train(chosen, scene=days[0].scene, progress=lambda *now: told.append(now))
    assert not told
    with pytest.raises(DatasetError, match=r"expected 1 or more labelled frames .*, found 0 in .*tue"):
        train([datasets[0], some(datasets[1], [])], scene=days[0].scene)


def test_progress_is_that_of_all(days, datasets):
    told = []
    measure_recordings(datasets, scene=days[0].scene, progress=lambda *now: told.append(now))
    assert told == [(k, 120) for k in range(1, 121)]


def test_one_whose_camera_was_knocked_in_the_end_is_learnt_from(days, datasets, cache, tmp_path):
    """Alone and with others: most of it shows the view."""
    for k, image in enumerate(sorted(days[1].frames.iterdir())):
        shown = np.roll(cv2.imread(str(image)), 20 if k >= 30 else 0, axis=1)
        cv2.imwrite(str(tmp_path / image.name), shown)
    knocked = load_dataset(tmp_path, counts=days[1].labels)
    for chosen in ([knocked], [knocked, datasets[2]], [datasets[0], knocked]):
        assert len(measure_recordings(chosen, scene=days[0].scene, cache=cache)) == len(chosen)


#: How the camera is knocked: to each place of the street, 240 x 180 pixels, from that before.
KNOCK = np.array([[1.0, 0, 14], [0, 1, -9], [0, 0, 1]])
REGION = ((30, 20), (215, 20), (215, 160), (30, 160))


def dotted(day, path, scene, knocked, fps=2.0):
    """A day as a video, knocked (n,) bool in some frames, with dots on the heads in view, and their places
    where nothing was knocked."""
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), fps, (240, 180))
    video.set(cv2.VIDEOWRITER_PROP_QUALITY, 95)
    lines, places = ["frame,x,y"], []
    for k, image in enumerate(sorted(day.frames.iterdir())):
        heads = day.boxes[k][:, :2] + day.boxes[k][:, 2:] * (0.5, 0.1)
        moved = KNOCK if knocked[k] else np.eye(3)
        shown = cv2.warpPerspective(cv2.imread(str(image)), moved, (240, 180), borderMode=cv2.BORDER_REFLECT)
        video.write(shown)
        seen = cv2.perspectiveTransform(heads[None] - 0.5, moved)[0] if len(heads) else heads
        in_view = ((seen >= 0) & (seen < (239, 179))).all(axis=1)
        lines += [f"{k},{x:.2f},{y:.2f}" for x, y in seen[in_view]] or [f"{k},,"]
        places.append(heads[in_view])
    video.release()
    labels = path.with_suffix(".csv")
    labels.write_text("\n".join(lines), encoding="utf-8")
    return load_dataset(path, counts=labels, roi_scene=scene), places


@pytest.fixture(scope="module")
def scene(days):
    return days[0].scene.redrawn([REGION])


@pytest.fixture(scope="module")
def knocked(days, scene, tmp_path_factory):
    """Both days' dots, the second day knocked, and where they are in place."""
    root = tmp_path_factory.mktemp("knocked")
    both = [
        dotted(day, root / f"{k}.avi", scene, np.full(40, k == 1)) for k, day in enumerate(days[:2])
    ]
    return tuple(zip(*both, strict=True))


@pytest.fixture(scope="module")
def of_knocked(scene, knocked, cache):
    """A counter trained on both days."""
    return train(knocked[0], scene=scene, cache=cache)


class TestKnocked:
    """Dots are where the features are: where they were before the camera was knocked."""

    def test_between_recordings(self, scene, knocked):
        chosen, places = knocked
        tables = measure_recordings(chosen, scene=scene)
        assert np.isnan(tables[0].moved).all()
        assert np.isfinite(tables[1].moved).all()
        dataset, table = joined(chosen, tables)
        for found, expected in zip(dataset.points, places[0] + places[1], strict=True):
            np.testing.assert_allclose(found, expected, atol=1.5)
        inside = [points_inside(one, scene.roi).sum() for one in places[1]]
        found, told = dataset.counts[40:], chosen[1].counts
        assert (found != inside).sum() < 0.5 * (told != inside).sum()
        assert table.moved is None

    def test_what_is_learnt_holds_in_its_place(self, scene, knocked, of_knocked, days, cache, tmp_path):
        chosen, _ = knocked
        unmoved, _ = dotted(days[1], tmp_path / "tue.avi", scene, np.zeros(40, bool))
        later, _ = dotted(days[2], tmp_path / "wed.avi", scene, np.zeros(40, bool))
        models = [train([chosen[0], unmoved], scene=scene, cache=cache), of_knocked]
        assert all(one.local is not None for one in models)
        in_place, moved = (evaluate(later, one.model, cache=cache).metrics.mae for one in models)
        assert moved < 1.3 * in_place + 0.1

    def test_of_footage_that_is_evaluated_people_count_in_the_region(self, scene, knocked, of_knocked, cache):
        """And a model tells that it has learnt from its labels all the same."""
        chosen, places = knocked
        model = of_knocked.model
        evaluation = evaluate(chosen[1], model, cache=cache)
        inside = [points_inside(one, scene.roi).sum() for one in places[1]]
        assert np.mean(evaluation.labels == inside) > 0.8 > np.mean(chosen[1].counts == inside)
        assert evaluation.is_learnt
        assert evaluation.metrics.mae < 0.5
        corrected = recalibrate(chosen[1], model, cache=cache)
        assert corrected.before.mae == evaluation.metrics.mae
        assert evaluate(chosen[1], corrected.model, cache=cache).is_learnt

    def test_a_pruned_label_is_told_as_it_was_counted_in_its_place(self, scene, knocked, cache):
        """Which no frame need have where it was labelled."""
        chosen, _ = knocked
        beyond = np.column_stack([np.linspace(60, 180, 13), np.full(13, 157)])  # in place, 9 pixels lower
        points, counts = list(chosen[1].points), chosen[1].counts.copy()
        points[20] = np.vstack([points[20], beyond, beyond[:9] - (0, 60)])
        counts[20] += 22
        odd = replace(chosen[1], points=tuple(points), counts=counts)
        training = train([chosen[0], odd], scene=scene, cache=cache)
        [label] = [one for one in training.removed if one.number == 20 and one.recording == odd.name]
        assert label.label < counts[20] - 8
        most = max([*chosen[0].counts, *chosen[1].counts]) + 2
        report = training_report(training, "m.npz")[0]
        assert float(re.search(r"80 labelled \(\d+ to (\d+) people\)", report)[1]) <= most

    def test_within_a_recording(self, scene, days, tmp_path):
        is_knocked = np.arange(40) >= 25
        dataset, places = dotted(days[0], tmp_path / "mon.avi", scene, is_knocked)
        found, table = joined([dataset], measure_recordings([dataset], scene=scene))
        is_found = np.isfinite(table.moved).all(axis=(1, 2))
        assert is_found[is_knocked].mean() > 0.8 > 0 == is_found[~is_knocked].mean()
        for k in np.flatnonzero(is_found | ~is_knocked):
            np.testing.assert_allclose(found.points[k], places[k], atol=1.5)
        np.testing.assert_array_equal(found.counts[:25], dataset.counts[:25])

    def test_given_counts_stay(self, days, datasets, scene, knocked):
        """And teach as if the camera had not been knocked."""
        chosen, _ = knocked
        given = [replace(one, points=None, counted_in=None) for one in chosen]
        tables = measure_recordings(given, scene=scene)
        dataset, _ = joined(given, tables)
        np.testing.assert_array_equal(dataset.counts, [*chosen[0].counts, *chosen[1].counts])
        assert np.isfinite(tables[1].moved).all()


class TestRefused:
    def test_another_view(self, days, datasets, tmp_path):
        for image in sorted(days[1].frames.iterdir()):
            cv2.imwrite(str(tmp_path / image.name), np.roll(cv2.imread(str(image)), 80, axis=1))
        moved = load_dataset(tmp_path, counts=days[1].labels)
        with pytest.raises(DatasetError, match=f"{tmp_path} shows another view than .*mon"):
            train([datasets[0], moved], scene=days[0].scene)

    def test_another_rate(self, days, datasets, tmp_path):
        fast = on_video(days[1], tmp_path / "fast.avi", 25.0)
        told = []
        with pytest.raises(DatasetError, match=r"found 1 in .*mon.* and 25 in .*fast"):
            train([datasets[0], fast], scene=days[0].scene, progress=lambda *now: told.append(now))
        assert not told
        both = [on_video(days[k], tmp_path / f"{k}.avi", fps) for k, fps in enumerate((5.0, 20.0))]
        assert len(measure_recordings(both, scene=days[0].scene)) == 2

    def test_another_shape(self, days, datasets, tmp_path):
        for image in sorted(days[1].frames.iterdir()):
            cv2.imwrite(str(tmp_path / image.name), cv2.imread(str(image))[:90])
        flat = load_dataset(tmp_path, counts=days[1].labels)
        with pytest.raises(DatasetError, match=f"{tmp_path} has frames of .*, another shape than .*mon"):
            train([datasets[0], flat])

    def test_one_that_is_there_twice(self, days, datasets, tmp_path):
        copied = load_dataset(shutil.copytree(days[0].frames, tmp_path / "copy"), counts=days[0].labels)
        with pytest.raises(DatasetError, match=r"copy is the same recording as .*mon.*; give each once"):
            train([*datasets[:2], copied])

    def test_one_that_begins_as_another_does_is_another(self, days):
        images = sorted(days[0].frames.iterdir())
        assert recordings._are_the_same(images, list(images))
        assert not recordings._are_the_same(images, images[:-1])

    def test_but_not_where_images_cannot_be_read(self, days, datasets, monkeypatch):
        def unreadable(*files, shallow):
            raise PermissionError(13, "Permission denied", files[0])

        monkeypatch.setattr("filecmp.cmp", unreadable)
        assert len(measure_recordings(datasets[:2], scene=days[0].scene)) == 2

    def test_rbf_kernels_of_several(self, datasets):
        with pytest.raises(DatasetError, match="RBF kernels learn from one recording, found 2"):
            train(datasets[:2], kernel="rbf")

    def test_tables_of_features(self, datasets):
        features = np.random.default_rng(0).random((40, 3))
        names, views = ("a", "b", "c"), ("size", "edges", "texture")
        table = Dataset(
            "t", np.arange(40), np.arange(40.0), features=features, feature_names=names, feature_views=views
        )
        with pytest.raises(DatasetError, match="one table of ready-made features, or several recordings"):
            train([table, table])


class TestCommand:
    def test_trains_on_all_of_them(self, run, days, tmp_path):
        mon, tue, wed = days
        days[0].scene.save(tmp_path / "s.json")
        model = tmp_path / "m.npz"
        given = f"--counts {mon.labels} --counts {tue.labels} --scene {tmp_path / 's.json'} -m {model}"
        code, out, err = run(f"train {mon.frames} {tue.frames} {given}")
        assert code == 0, err
        assert "trained on 80 labelled (0 to 12 people) and 0 unlabelled frames of 2 recordings" in out
        assert len(load_model(model).facts["labels"]) == 2
        code, out, _ = run(f"evaluate {wed.frames} --counts {wed.labels} -m {model}")
        assert code == 0
        assert "learnt from most" not in out

    @pytest.mark.parametrize("given", ["", "--counts {0}", "--counts {0} --counts {0} --counts {0}"])
    def test_wants_the_counts_of_each(self, run, days, tmp_path, given):
        given = f"{given.format(days[0].labels)} -m {tmp_path / 'm.npz'}"
        code, _, err = run(f"train {days[0].frames} {days[1].frames} {given}")
        assert code == 1
        n_files = given.count("--counts")
        assert f"expected a file of counts for each recording, in their order, found {n_files} for 2" in err
        assert not (tmp_path / "m.npz").exists()

    @pytest.mark.parametrize("option", ["--mot gt.txt", "--annotated 1-9", "--frames 0-9"])
    def test_knows_some_options_for_one_alone(self, run, days, option):
        code, _, err = run(f"train {days[0].frames} {days[1].frames} {option} -m m.npz")
        assert code == 2
        assert f"{option.split()[0]} goes with one DATASET" in err

    def test_takes_several_counts_from_the_environment(self, run, days, tmp_path, monkeypatch):
        monkeypatch.setenv("CROWDCOUNT_TRAIN_COUNTS", f"{days[0].labels}; {days[1].labels};")
        code, out, err = run(f"train {days[0].frames} {days[1].frames} -m {tmp_path / 'm.npz'}")
        assert code == 0, err
        assert "of 2 recordings" in out

    def test_takes_one_file_with_a_colon_from_the_environment(self, run, days, tmp_path, monkeypatch):
        labels = shutil.copy(days[0].labels, tmp_path / "08:00.csv")
        monkeypatch.setenv("CROWDCOUNT_TRAIN_COUNTS", str(labels))
        code, _, err = run(f"train {days[0].frames} -m {tmp_path / 'm.npz'}")
        assert code == 0, err

    def test_takes_one_file_from_the_settings_without_a_list(self, run, days, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "crowdcount.toml").write_text(f'[train]\ncounts = "{days[0].labels}"\n')
        code, _, err = run(f"train {days[0].frames} -m m.npz")
        assert code == 0, err
