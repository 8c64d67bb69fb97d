"""Frames worth counting are chosen, written, filled in and trained on."""

import csv
from dataclasses import replace

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from crowdcount.errors import DatasetError
from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.suggestion import chosen_rows, suggest
from crowdcount.video import open_source
from samples.make import main as make_clip
from tests.crowdcount.helpers import run

pytestmark = pytest.mark.usefixtures("few_kernels")


def test_rare_situations_are_among_few_frames(make_street, tmp_path):
    """Of 40 frames, 4 are crowded: evenly spaced ones would hold none of them with probability .35."""
    quiet, busy = make_street(tmp_path / "quiet", n_frames=40), make_street(tmp_path / "busy", busier=9.0)
    for k in (21, 22, 31, 33):
        (quiet.frames / f"{k:04}.jpg").write_bytes((busy.frames / f"{k:04}.jpg").read_bytes())
    chosen = [one.frame for one in suggest(str(quiet.frames), 8, scene=quiet.scene)]
    assert chosen == sorted(set(chosen))
    assert len(chosen) == 8
    assert np.diff(chosen).min() >= 2
    assert set(chosen) & {21, 22, 31, 33}


@pytest.mark.parametrize("view", [0, 1])
def test_situations_that_one_view_alone_shows_are_each_chosen_once(view):
    """Four of them, one after the other, whatever the units of the columns are."""
    kind = np.arange(48) // 12
    views = np.split(np.arange(8), 2)
    features = np.zeros((48, 8))
    features[:, views[view]] = np.eye(4)[kind]
    for units in (1.0, [1.0, 100.0, 1e-3, 1e-4] * 2):
        chosen = chosen_rows(features * units, ["1x1_0_0.area"] * 8, views, np.arange(48.0), 4)
        assert sorted(kind[chosen]) == [0, 1, 2, 3]


def test_there_are_twice_as_many_frames_to_choose_among_as_are_chosen(monkeypatch, street):
    monkeypatch.setattr("crowdcount.learning.suggestion.MAX_CANDIDATES", 20)
    told = []
    suggest(str(street.frames), 15, scene=street.scene, progress=lambda *one: told.append(one))
    assert told[-1] == (30, 30)


def test_long_footage_is_thinned_out(monkeypatch, street):
    monkeypatch.setattr("crowdcount.learning.suggestion.MAX_CANDIDATES", 20)
    told = []
    chosen = suggest(str(street.frames), 5, scene=street.scene, progress=lambda *one: told.append(one))
    assert all(one.frame % 3 == 0 for one in chosen)
    assert told[-1] == (20, 20)


def test_a_video_is_suggested_filled_in_and_trained_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(make_clip, ["clip.mp4", "--people", "6", "--fps", "5", "--seconds", "12"])
    assert made.exit_code == 0, made.output
    (tmp_path / "clip.labels.csv").rename("true.csv")
    result = run("suggest", "clip.mp4", "-n", 12, "--pictures", "new/pictures", "--scene", "clip.scene.json")
    assert result.exit_code == 0, result.output
    assert "clip.labels.csv: 12 frames; fill in the counts" in result.stdout
    with open("clip.labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["frame", "time_s", "count"]
    assert len(rows) == 12
    assert {row["count"] for row in rows} == {""}
    assert all(float(row["time_s"]) == pytest.approx(int(row["frame"]) / 5, abs=0.01) for row in rows)
    pictures = sorted((tmp_path / "new/pictures").iterdir())
    assert [path.name for path in pictures] == [f"frame-{int(row['frame']):06d}.png" for row in rows]
    assert cv2.imread(str(pictures[0])).shape == (480, 640, 3)

    result = run("train", "clip.mp4", "--counts", "clip.labels.csv", "-m", "clip.npz")
    assert result.exit_code == 1
    assert "12 of 12 frames have no count and are taken as unlabelled" in result.stderr
    assert "expected 10 or more labelled frames" in result.stderr
    with open("true.csv", newline="") as file:
        truth = {row["frame"]: row["count"] for row in csv.DictReader(file)}
    lines = [f"{row['frame']},{row['time_s']},{truth[row['frame']]}" for row in rows[:11]]
    lines.append(f"{rows[11]['frame']},{rows[11]['time_s']},")
    (tmp_path / "clip.labels.csv").write_text("\n".join(["frame,time_s,count", *lines]) + "\n")
    dataset = load_dataset("clip.mp4", counts="clip.labels.csv")
    assert np.isfinite(dataset.counts).sum() == 11
    assert dataset.notes == ("clip.labels.csv: 1 of 12 frames have no count and are taken as unlabelled",)

    filled_in = (tmp_path / "clip.labels.csv").read_bytes()
    for named in ([], ["-o", "clip.labels.csv"]):
        result = run("suggest", "clip.mp4", "-n", 3, *named)
        assert result.exit_code == 1
        assert "clip.labels.csv is there and may hold counts" in result.stderr
        assert (tmp_path / "clip.labels.csv").read_bytes() == filled_in
    result = run("suggest", "clip.mp4", "-n", 3, "-o", "-", "-q", "--scene", "clip.scene.json")
    assert result.stdout.startswith("frame,time_s,count\n")
    assert len(result.stdout.splitlines()) == 4


def test_what_cannot_be_suggested_is_said(street, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match="expected 99 or more frames that can be decoded, found 60"):
        suggest(str(street.frames), 99, scene=street.scene)
    assert run("suggest", "none.mp4", "--pictures", "new/pictures").exit_code == 1
    assert run("suggest", street.frames, "-n", 0).exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stated", [1, 20, 5_000, 10**9])
def test_what_a_file_states_of_its_length_is_only_a_hint(street, monkeypatch, stated):
    """Frames are chosen among as many as of a file that states its 60 frames rightly."""
    monkeypatch.setattr("crowdcount.learning.suggestion.MAX_CANDIDATES", 20)
    right = suggest(str(street.frames), 5, scene=street.scene)

    def opened(*arguments, **options):
        source = open_source(*arguments, **options)
        source.info = replace(source.info, frame_count=stated)
        return source

    monkeypatch.setattr("crowdcount.learning.datasets.dataset.open_source", opened)
    told = []
    assert suggest(str(street.frames), 5, scene=street.scene, progress=lambda *one: told.append(one)) == right
    assert told[-1] == (20, 20)
    assert all(done <= of for done, of in told)
