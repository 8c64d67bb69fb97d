"""A model of a drifted or new camera is corrected by a few counts, and counts like any other."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from crowdcount.counting import count
from crowdcount.errors import DatasetError
from crowdcount.learning.datasets import Dataset, load_dataset
from crowdcount.learning.measuring import FeatureTable, has_learnt
from crowdcount.learning.recalibration import recalibrate
from crowdcount.learning.reports import recalibration_report
from crowdcount.learning.training import evaluate, train
from crowdcount.model import default_model, load_model
from crowdcount.terminal import describe_model
from models import Correction
from samples.make import main as make_clip
from tests.crowdcount.helpers import run

CLIPS = Path(__file__).resolve().parent / "clips"


@pytest.fixture(scope="module")
def drifted(street, tmp_path_factory):
    """The street's frames with ten counts, 3 more than there are people."""
    labels = tmp_path_factory.mktemp("drifted") / "few.csv"
    rows = [f"{k},{street.counts[k] + 3}\n" for k in range(2, 60, 6)]
    labels.write_text("frame,count\n" + "".join(rows))
    return labels


def test_ten_counts_correct_a_model_of_the_camera(trained, street, drifted, tmp_path):
    model = trained.model
    found = recalibrate(load_dataset(street.frames, counts=drifted), model)
    assert found.before.n == 10
    assert found.before.bias == pytest.approx(-3, abs=0.5)
    assert found.after.mae < 0.4 * found.before.mae
    assert found.keeps_level
    assert not found.contradicts
    assert [replace(found, before=replace(found.before, n=n)).keeps_level for n in (8, 9)] == [False, True]
    found.model.save(tmp_path / "new.npz")
    loaded = load_model(tmp_path / "new.npz")
    frames = street.dataset()
    before, after = evaluate(frames, model).predictions, evaluate(frames, loaded).predictions
    np.testing.assert_allclose(after[before > 0.5], found.correction(before)[before > 0.5], rtol=1e-9)
    assert np.abs(after - street.counts - 3).mean() < 0.5 * np.abs(before - street.counts - 3).mean()
    assert loaded.quantile == found.model.quantile != model.quantile
    assert loaded.most == found.correction(model.most)
    assert "recalibrated by 10 counts of" in describe_model(loaded)
    row = next(count(street.frames, model=loaded))
    assert row.count == pytest.approx(after[0])
    assert row.low <= row.count <= row.high


def test_as_many_people_as_in_the_frames_it_was_corrected_by_are_not_more_than_ever(trained, street, drifted):
    few = replace(trained.model, most=3.0)
    found = recalibrate(load_dataset(street.frames, counts=drifted), few)
    assert found.model.most == max(street.counts[k] + 3 for k in range(2, 60, 6)) + 0.5  # rounded, it is that


def test_counts_that_the_model_was_trained_on_make_no_interval_narrower(trained, street, drifted):
    """Its errors on them are next to nothing, and so would the interval be."""
    found = recalibrate(street.dataset(), trained.model, frames="1-30")
    assert found.is_learnt
    assert found.after.mae < 0.5 * trained.metrics.mae
    assert found.model.quantile == trained.model.quantile
    assert "has learnt from most of these counts" in "".join(recalibration_report(found, "m.npz"))
    assert evaluate(street.dataset(), trained.model, frames="1-30").is_learnt
    assert not recalibrate(load_dataset(street.frames, counts=drifted), trained.model).is_learnt
    again = recalibrate(load_dataset(street.frames, counts=drifted), found.model)
    for few in drifted, None:  # those of the correction, and those of the training, are known
        dataset = load_dataset(street.frames, counts=few) if few else street.dataset()
        assert evaluate(dataset, again.model, frames=None if few else "0-1,3-7,9-13").is_learnt
    foreign = replace(trained.model, facts={"labels": [1, 2]})
    assert not evaluate(street.dataset(), foreign, frames="1-30").is_learnt


@pytest.mark.parametrize(
    ("learnt", "is_learnt"),
    [([0, 0, 0, 1, 2, 1], True), ([0, 0, 0, 1], True), ([0, 0, 0, 2, 1, 1], False),
     ([0, 0, 0], False), ([0, 0, 5, 1, 0, 1], True), ([5, 0, 5, 1, 0, 1], False)],
)
def test_that_nobody_is_there_mostly_tells_no_recording(trained, street, learnt, is_learnt):
    """Labels beside the most frequent one tell whether a model has learnt from them."""
    counts = np.array([0.0, 0, 0, 1, 2, 1])
    dataset = replace(street.dataset(), numbers=np.arange(6), counts=counts)
    facts = {"labels": [{}, {str(number): count for number, count in enumerate(learnt)}]}
    table = FeatureTable(np.arange(6), np.zeros((6, 1)), ("area",), [[0]])
    in_two = {"labels": [{"0": 0.0, "1": 0.0, "3": 1.0}, {"2": 0.0, "4": 2.0, "5": 1.0}]}
    assert has_learnt(replace(trained.model, facts=in_two), dataset, table)
    assert has_learnt(replace(trained.model, facts=facts), dataset, table) == is_learnt
    nobody = {str(number): 0.0 for number in range(6)}
    empty = replace(dataset, counts=np.zeros(6))
    assert has_learnt(replace(trained.model, facts={"labels": nobody}), empty, table)


def test_a_wrong_count_is_left_out_and_named(trained, street, drifted, tmp_path):
    lines = drifted.read_text().splitlines()
    number, count = lines[4].split(",")
    typed_twice = 2 * str(int(float(count)))
    lines[4] = f"{number},{typed_twice}"
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("\n".join(lines))
    found = recalibrate(load_dataset(street.frames, counts=wrong), trained.model)
    without = tmp_path / "without.csv"
    without.write_text("\n".join(lines[:4] + lines[5:]))
    others = recalibrate(load_dataset(street.frames, counts=without), trained.model)
    assert asdict(found.correction) == pytest.approx(asdict(others.correction))
    assert asdict(found.after) == pytest.approx(asdict(others.after))
    assert found.model.facts["labels"] == others.model.facts["labels"]
    (slip,) = found.slips
    assert (slip.number, slip.label) == (int(number), float(typed_twice))
    assert slip.expected == pytest.approx(float(count), abs=2)
    told = "".join(recalibration_report(found, "m.npz"))
    assert f"1 count left out, far from what the others tell: frame {number} ({slip.label:g}, not" in told
    assert others.slips == ()


def test_another_view_is_told(trained, street, tmp_path, turned_away):
    """A model of one camera, corrected on another, would pass for one of that."""
    assert not recalibrate(street.dataset(), trained.model, frames="0-19").camera_moved
    for path in street.frames.iterdir():
        cv2.imwrite(str(tmp_path / path.name), turned_away(cv2.imread(str(path))))
    found = recalibrate(replace(street.dataset(), source=tmp_path), trained.model)
    assert found.camera_moved
    assert "train on this footage, or recalibrate bundled" in "".join(recalibration_report(found, "m.npz"))


def test_counts_that_contradict_the_model_are_told(trained, street, tmp_path):
    wrong = tmp_path / "wrong.csv"
    rows = [f"{k},{street.counts.max() - street.counts[k]}\n" for k in range(2, 60, 4)]
    wrong.write_text("frame,count\n" + "".join(rows))
    found = recalibrate(load_dataset(street.frames, counts=wrong), trained.model)
    assert found.contradicts
    assert "the counts contradict the model" in "".join(recalibration_report(found, "m.npz"))


@pytest.mark.parametrize(("label", "is_far"), [(2.0, False), (1e9, True)])
def test_counts_that_are_all_alike_or_far_from_the_models_are_told(trained, street, tmp_path, label, is_far):
    few = tmp_path / "few.csv"
    few.write_text("frame,count\n" + "".join(f"{k},{label}\n" for k in range(2, 60, 12)))
    found = recalibrate(load_dataset(street.frames, counts=few), trained.model)
    assert found.are_alike
    assert found.correction.scale == 1.0
    assert found.is_far == found.contradicts == is_far
    told = "".join(recalibration_report(found, "m.npz"))
    assert "are all alike and tell nothing of the scale" in told
    assert ("the counts contradict the model: they are far from what it counts" in told) == is_far


@pytest.mark.parametrize(("added", "is_chance"), [((1, -1), True), ((3, 3), False)])
def test_a_correction_that_lowers_no_error_is_told(trained, street, tmp_path, added, is_chance):
    """The labels are beside the model's counts to either side, or all too few."""
    dataset = street.dataset()
    rows = np.arange(3, 60, 8)
    counted = dict(zip(range(60), evaluate(dataset, trained.model).predictions, strict=True))
    few = tmp_path / "few.csv"
    lines = [f"{row},{max(0.0, counted[row] + added[k % 2]):.2f}\n" for k, row in enumerate(rows)]
    few.write_text("frame,count\n" + "".join(lines))
    found = recalibrate(load_dataset(street.frames, counts=few), trained.model)
    told = "".join(recalibration_report(found, "m.npz"))
    assert ("the correction does not lower the error" in told) == is_chance


def test_a_model_for_any_scene_keeps_the_scene_of_its_correction(cell_model, street, drifted, tmp_path):
    found = recalibrate(load_dataset(street.frames, counts=drifted), cell_model, scene=street.scene)
    assert found.after.mae < found.before.mae
    assert found.before.n == 10
    assert "so many counts teach a model of this camera, too" in "".join(recalibration_report(found, "m.npz"))
    found.model.save(tmp_path / "new.npz")
    loaded = load_model(tmp_path / "new.npz")
    assert loaded.per_cell
    assert loaded.offset == found.correction.offset != 0
    before = evaluate(street.dataset(), cell_model, scene=street.scene).predictions
    after = evaluate(street.dataset(), loaded).predictions  # in its own scene
    np.testing.assert_allclose(after, found.correction(before), rtol=1e-9)
    counted = [row.count for row in count(street.frames, model=loaded)]
    np.testing.assert_allclose(counted, after, rtol=1e-9)
    half = found.model.quantile * 10**0.5
    unsure = replace(street.scene, height_reliability=0.0)
    assert loaded.interval(10.0, unsure) == pytest.approx((max(0, 10 - half), 10 + half))
    assert cell_model.interval(10.0, unsure)[1] > cell_model.interval(10.0, street.scene)[1]


def test_the_interval_that_few_counts_keep_is_that_at_the_corrected_counts(cell_model, street, tmp_path):
    """Of ten times the people, of whom a model for any scene doubts how tall they are, it is wider."""
    few = tmp_path / "few.csv"
    few.write_text("frame,count\n" + "".join(f"{k},{10 * street.counts[k] + 20}\n" for k in range(4, 60, 9)))
    found = recalibrate(load_dataset(street.frames, counts=few), cell_model, scene=street.scene)
    counted = found.before.bias + np.mean(10 * street.counts[4::9] + 20)
    assert counted < 15
    _, high = cell_model.interval(15.0, street.scene)
    assert found.former_quantile > (high - 15) / 15**0.5 > cell_model.quantile
    assert found.model.quantile >= found.former_quantile


@pytest.mark.parametrize("offsets", [(1.0, 0.5), (-4.0, 1.0), (1.0, -4.0), (-4.0, -1.0)])
def test_corrections_are_of_counts_which_are_never_below_0(offsets, cell_model, trained, tmp_path):
    """What a regressor says below 0 is counted 0, and that is what corrections are fitted to."""
    regressor = trained.model.regressor
    away = np.linspace(-8, 8, 33)[:, None] * regressor.scale
    whole = regressor.mean + away
    assert regressor.values(whole).min() < 0 < regressor.values(whole).max()
    per_cell = np.random.default_rng(0).uniform(0, 1, (30, 4, len(cell_model.columns)))
    per_cell *= np.linspace(0, 1, 30)[:, None, None]
    for model, rows in (trained.model, whole), (cell_model, per_cell):
        expected, corrected = model.predict(rows), model
        for offset, scale in zip(offsets, (2.0, 3.0), strict=True):
            correction = Correction(offset, scale)
            expected, corrected = correction(expected), corrected.corrected(correction)
            np.testing.assert_allclose(corrected.predict(rows), expected)
        corrected.save(tmp_path / "model.npz")
        loaded = load_model(tmp_path / "model.npz")
        np.testing.assert_array_equal(loaded.predict(rows), corrected.predict(rows))


def test_nobody_is_added_to_an_empty_scene(cell_model, street, drifted, tmp_path):
    """Of labels of frames with somebody, what they add falls off where fewer are; of nobody it stays."""
    few = tmp_path / "few.csv"
    occupied = [k for k in range(60) if street.counts[k] >= 2][::6]
    few.write_text("frame,count\n" + "".join(f"{k},{street.counts[k] + 3}\n" for k in occupied))
    empty = np.zeros((1, 4, len(cell_model.columns)))
    for labels, falls_off in (few, True), (drifted, False):
        found = recalibrate(load_dataset(street.frames, counts=labels), cell_model, scene=street.scene)
        assert found.correction.offset > 1
        assert found.model.predict(empty) == (0 if falls_off else found.correction.offset)
        assert ("falls off to 0" in "".join(recalibration_report(found, "m.npz"))) == falls_off


def test_what_a_correction_adds_falls_off_where_no_label_tells_of_it(cell_model, tmp_path):
    rows = np.random.default_rng(0).uniform(0, 1, (40, 4, len(cell_model.columns)))
    rows *= np.linspace(0, 1, 40)[:, None, None]
    counts = cell_model.predict(rows)
    least = float(np.median(counts))
    first = Correction(3.0, 0.5)
    once = cell_model.corrected(first, least)
    corrected = once.predict(rows)
    is_told = counts >= least
    np.testing.assert_allclose(corrected[is_told], first(counts[is_told]))
    np.testing.assert_allclose(corrected[~is_told], counts[~is_told] * first(least) / least)
    second = Correction(1.0, 2.0)
    twice = once.corrected(second, 2 * first(least))  # the first one's labels hold too
    np.testing.assert_allclose(twice.predict(rows)[is_told], second(corrected[is_told]))
    lower = once.corrected(second, first(least) / 2)  # at half the count before both
    is_low = counts >= least / 2
    np.testing.assert_allclose(lower.predict(rows)[is_low], second(first(counts[is_low])))
    for model in twice, lower:
        assert model.predict(np.zeros_like(rows[:1])) == 0
        model.save(tmp_path / "model.npz")
        np.testing.assert_array_equal(load_model(tmp_path / "model.npz").predict(rows), model.predict(rows))
    lowered = cell_model.corrected(Correction(-1.0, 2.0), least)
    np.testing.assert_allclose(lowered.predict(rows), np.maximum(2 * counts - 1, 0))


def test_what_is_added_after_people_were_taken_away_falls_off_too(cell_model):
    rows = np.linspace(0, 1, 40)[:, None, None] * np.ones((1, 4, len(cell_model.columns)))
    least = float(np.median(cell_model.predict(rows)))
    lowered = cell_model.corrected(Correction(-2.0, 1.0), least)
    counts = lowered.predict(rows)
    assert counts[0] == 0 < counts[-1]
    for added in 1.0, 3.0:  # less than was taken away, and more
        raised = Correction(added, 1.0)
        some = lowered.corrected(raised, 0.5).predict(rows)
        assert some[0] == 0
        assert (np.diff(some) >= 0).all()
        np.testing.assert_allclose(some[counts >= least], raised(counts[counts >= least]))
        of_nobody_too = lowered.corrected(raised, 0.0)
        np.testing.assert_allclose(of_nobody_too.predict(rows), raised(counts))


def test_a_correction_turns_no_counts_around(trained):
    with pytest.raises(ValueError, match="positive scale"):
        trained.model.corrected(Correction(1.0, 0.0))


@pytest.fixture(scope="module")
def ready_made():
    """Ready-made features of 60 frames with their counts, and a model trained on the first half."""
    random = np.random.default_rng(0)
    features = random.uniform(0, 3, (60, 3))
    table = Dataset("table", np.arange(60), 5 + features @ [3, 2, 1.0], features=features,
                    feature_names=("a", "b", "c"), feature_views=("size", "edges", "texture"))  # fmt: skip
    return table, train(table, frames="0-29").model


def test_ready_made_features_are_recalibrated_too(ready_made):
    table, model = ready_made
    few = np.full(60, np.nan)
    few[30::6] = 2 * table.counts[30::6]
    found = recalibrate(replace(table, counts=few), model)
    assert found.before.n == 5
    assert found.correction.scale == pytest.approx(2, abs=0.4)
    assert not found.keeps_level
    assert found.model.quantile >= model.quantile


def test_each_count_is_judged_by_a_correction_of_the_others_alone(ready_made):
    """One of eight counts is far from what the drift of the others is."""
    table, model = ready_made
    rows = np.arange(30, 60, 4)
    few = np.full(60, np.nan)
    few[rows] = 1.5 * table.counts[rows] + 3
    few[42] += 5
    found = recalibrate(replace(table, counts=few), model)
    errors = []
    for row in rows:
        others = np.where(np.arange(60) == row, np.nan, few)
        (predicted,) = recalibrate(replace(table, counts=others), model).model.predict(table.features[[row]])
        errors.append(predicted - few[row])
        low, high = found.model.interval(predicted, None)
        assert low - 1e-9 <= few[row] <= high + 1e-9  # so few counts make no narrower interval
    assert found.after.n == 8
    assert found.after.mae == pytest.approx(np.abs(errors).mean())
    assert found.after.bias == pytest.approx(np.mean(errors))


def test_a_correction_by_few_people_after_one_by_many_is_that_of_the_model_it_makes(ready_made):
    """What the first one adds fell off below its labels, and there is all of it once labels are there."""
    table, model = ready_made
    order = np.argsort(table.counts)
    for day, night, added in ((order[-8:], order[:8], 0.0), (order[-8:], order[4:12], 2.0)):
        few = np.full(60, np.nan)
        few[day] = table.counts[day] + 6
        by_day = recalibrate(replace(table, counts=few), model).model
        few = np.full(60, np.nan)
        few[night] = by_day.predict(table.features[night]) + added
        found = recalibrate(replace(table, counts=few), by_day)
        assert by_day.offset_from > model.predict(table.features[night]).min()
        assert found.before.mae == pytest.approx(added, abs=1e-9)
        errors = found.model.predict(table.features[night]) - few[night]
        assert np.abs(errors).mean() <= found.after.mae < 1
        former, now = (one.predict(table.features[order]) for one in (by_day, found.model))
        assert found.at_ten == pytest.approx(np.interp(10, former, now), abs=0.1)


@pytest.mark.parametrize(("last", "is_local"), [(13, True), (14, False)])
def test_counts_within_a_quarter_of_the_footage_are_told(ready_made, last, is_local):
    table, model = ready_made
    few = np.where(np.isin(np.arange(60), (0, 7, last)), table.counts, np.nan)
    assert recalibrate(replace(table, counts=few), model).is_local == is_local


def test_the_command_on_a_video_and_the_bundled_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(make_clip, ["clip.mp4", "--people", "6", "--fps", "5", "--seconds", "14"])
    assert made.exit_code == 0, made.output
    counted = [row.count for row in count("clip.mp4")]
    rows = [f"{k},{round(1.5 * counted[k]) + 2}\n" for k in range(5, len(counted), 10)]
    (tmp_path / "few.csv").write_text("frame,count\n" + "".join(rows))
    given = ("recalibrate", "bundled", "clip.mp4", "--counts", "few.csv", "--cache", "cache")
    result = run(*given, "-q")
    assert result.exit_code == 0, result.output
    assert f"bundled.recalibrated.npz: corrected by {len(rows)} counts" in result.stdout
    after = "after (each count by the others alone): MAE"
    for said in ("where it counted 10 people it counts ", "count' = ", "before: MAE", after, "half width"):
        assert said in result.stdout
    assert ("at least as wide as before" in result.stdout) == (len(rows) < 9)
    assert "spread the counts over it" not in result.stdout
    assert "so many counts teach" not in result.stdout
    result = run("count", "clip.mp4", "-m", "bundled.recalibrated.npz", "-o", "-", "-q")
    assert result.exit_code == 0, result.output
    corrected = [float(line.split(",")[2]) for line in result.stdout.splitlines()[1:]]
    correction = load_model("bundled.recalibrated.npz").facts["recalibration"]
    expected = correction["offset"] + correction["scale"] * np.array(counted)
    np.testing.assert_allclose(corrected, np.maximum(expected, 0), atol=1e-3)
    result = run(*given, "-o", "b.npz", "--json", "-q")
    content = json.loads(result.stdout)
    assert content["model"] == "b.npz"
    assert content["after"]["n"] == content["before"]["n"] == len(rows)
    assert content["offset"] == correction["offset"]
    (tmp_path / "few.csv").write_text("frame,count\n" + "".join(f"{k},{k % 3}\n" for k in range(20, 28)))
    result = run(*given, "-o", "b.npz", "-q")
    assert "the labels lie within 25% of the footage: correction and interval may not hold" in result.stdout


def test_what_share_of_the_footage_has_counts_is_not_told_by_the_length_that_it_states(tmp_path):
    """The clip states 360 frames: 25 for each second of its pause."""
    counts = tmp_path / "few.csv"
    counts.write_text("frame,count\n" + "".join(f"{k},{k % 3}\n" for k in range(2, 50, 5)))
    found = recalibrate(load_dataset(CLIPS / "paused.mkv", counts=counts), default_model())
    assert not found.is_local


def test_too_few_labels_and_counts_for_an_interval(street, drifted, few_kernels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    street.scene.save("scene.npz")
    options = ("--counts", street.labels, "--scene", "scene.npz", "--level", 0.999)
    result = run("train", street.frames, "-m", "wide.npz", *options)
    assert "no interval: 60 labels cannot promise 99.9%; label more frames, or choose" in result.stdout
    again = ("recalibrate", "wide.npz", street.frames, "--counts", drifted, "--cache", "cache")
    assert json.loads(run(*again, "--json").stdout)["quantile"] is None
    result = run(*again)
    assert "10 counts can promise an interval for 91% of the frames at most, not for 99.9%" in result.stdout


def test_what_cannot_be_recalibrated_is_said(trained, street, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained.model.save("model.npz")
    (tmp_path / "two.csv").write_text("frame,count\n3,4\n9,\n20,5\n")
    result = run("recalibrate", "model.npz", street.frames, "--counts", "two.csv")
    assert result.exit_code == 1
    assert "expected 3 or more labelled frames that can be decoded, found 2" in result.stderr
    assert not (tmp_path / "model.recalibrated.npz").exists()
    for arguments, said in (
        (("model.npz", street.frames, "--counts", street.labels, "-o", "model.npz"), "written over"),
        (("none.npz", street.frames, "--counts", street.labels), "none.npz"),
    ):
        result = run("recalibrate", *arguments)
        assert result.exit_code == 1
        assert said in result.stderr
    with pytest.raises(DatasetError, match="3 or more"):
        recalibrate(load_dataset(street.frames, counts="two.csv"), default_model())
