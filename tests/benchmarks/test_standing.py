"""The benchmark of people who stand still makes the footage that it says; and what of it must hold."""

import cv2
import numpy as np
from click.testing import CliRunner

from benchmarks import standing
from benchmarks.standing import cut_out, main, to_and_fro, with_standing


def pictures():
    """Of a plain wall, each with a dark box farther to the right than the one before."""
    rng = np.random.default_rng(0)
    frames = rng.normal(150, 2, (400, 60, 420, 3)).clip(0, 255).astype(np.uint8)
    for number, frame in enumerate(frames):
        cv2.rectangle(frame, (number, 20), (number + 12, 45), (30, 30, 90), -1)
    return list(frames)


def test_frames_go_to_and_fro():
    assert to_and_fro(802).tolist() == [*range(400), *range(398, 0, -1), 0, 1, 2, 3]


def test_people_stand_there_for_a_part_of_the_time():
    frames = pictures()
    empty = np.median(frames[::12], axis=0).astype(np.uint8)
    covered = cut_out(frames[200], empty)
    assert covered[25:40, 202:210].min() > 0.95
    assert covered[:, :190].max() == 0
    made = list(with_standing(frames, 200, (0.25, 0.75), 40))
    assert len(made) == 40
    is_there = [image[22:43, 203:209].mean() < 80 for image in made]
    assert is_there == [10 <= n < 30 for n in range(40)]
    assert np.array_equal(made[5], frames[5])
    assert not np.array_equal(made[15][22:43, 203:209], made[16][22:43, 203:209])  # they sway


def test_who_stands_there_for_most_of_the_time_is_counted_then_and_only_then(data_dir, monkeypatch):
    monkeypatch.setattr(standing, "WHEN", {"62 %": (0.25, 0.875)})
    result = CliRunner().invoke(main, ["--frame", "300", "--minutes", "1"], catch_exceptions=False)
    assert result.exit_code == 0
    (row,) = (line for line in result.output.splitlines() if "62 %" in line)
    people, mae, bias, otherwise = map(float, row.strip("| ").split("|")[2:])
    assert people > 9
    assert mae < 2
    assert abs(bias) < 1
    assert abs(otherwise) < 2.5


def test_says_where_the_data_are_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    result = CliRunner().invoke(main)
    assert result.exit_code == 1
    assert "among the data sets" in result.output
