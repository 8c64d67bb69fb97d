"""The benchmark of shade makes the footage that it says; and what of it must hold."""

import numpy as np
from click.testing import CliRunner

from benchmarks import shade
from benchmarks.shade import LIGHT_LEFT, PERSON, building, in_shade, leaves, main, shown

SIZE_HW = 144, 192


def test_frames_are_shown_to_and_fro():
    assert shown(162).tolist() == [*range(0, 400, 5), *range(398, 0, -5), 2, 7]


def test_shade_of_a_building_wanders_to_the_right():
    first, second = building(SIZE_HW, np.array([0.0, 40.0]))
    assert first.shape == SIZE_HW
    assert first[:, :40].min() > 0.99
    assert first[0, 60:].max() < 0.01
    assert np.abs(first[:, :-40] - second[:, 40:]).max() < 1e-4


def test_shade_of_leaves_is_of_half_of_the_ground_and_sways():
    shades = np.stack(list(leaves(SIZE_HW, np.zeros(8))))
    assert shades[:, :10].max() < 0.1
    assert 0.3 < shades[:, 50:].mean() < 0.7
    changes = np.abs(shades[1:] - shades[0]).mean(axis=(1, 2))
    assert np.median(changes) > 0.01
    one, other = leaves(SIZE_HW, np.array([0.0, 16.0]))
    assert np.abs(one - other).mean() > changes.max()


def test_what_is_in_shade_has_less_light():
    frames = [np.full((*SIZE_HW, 3), 200, np.uint8)] * 400
    made = list(in_shade(frames, building, 0.5, 10))
    assert len(made) == 10
    assert abs(int(made[0][70, 5, 0]) - 200 * LIGHT_LEFT) <= 1
    n_shaded = [np.count_nonzero(image[0, :, 0] < 150) for image in made]
    assert np.diff(n_shaded).tolist() == [PERSON / 2 / 10] * 9


def test_shade_is_not_counted(data_dir, monkeypatch):
    kinds = {"a building": (building, 1.5), "leaves": (leaves, 0.1)}
    monkeypatch.setattr(shade, "KINDS", kinds)
    result = CliRunner().invoke(main, ["--minutes", "6"], catch_exceptions=False)
    assert result.exit_code == 0
    for name, most in (("a building", 1.5), ("leaves", 5.0)):
        (row,) = (line for line in result.output.splitlines() if line.startswith(f"| {name}"))
        mae = float(row.split("|")[2])
        assert mae < most  # 7.3 and 11 if it was not told


def test_says_where_the_data_are_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    result = CliRunner().invoke(main)
    assert result.exit_code == 1
    assert "among the data sets" in result.output
