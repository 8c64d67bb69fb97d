"""The benchmark of person heights still runs; what it measures is for the documents."""

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.perspective import KINDS, Result, by_kind, by_reliability, height_error, main, spec_of
from crowdcount.scene import scene_from


def test_the_error_is_what_a_count_feels():
    scene = scene_from((200, 100), persons=[(50, 50, 20), (50, 90, 36)])
    feet = np.array([60.0, 80.0])
    assert height_error(scene, feet, 0.4 * feet) == pytest.approx(0)
    assert height_error(scene, feet, 0.4 * feet / 1.2) == pytest.approx(np.log(1.2))
    assert height_error(scene, feet[:1], 2 * 0.4 * feet[:1]) == pytest.approx(-np.log(2))
    assert np.isnan(height_error(scene, feet[:0], feet[:0]))


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_drawn_from_seeds(kind):
    assert spec_of(kind, 7) == spec_of(kind, 7) != spec_of(kind, 8)
    assert (spec_of(kind, 7).people == 0) == kind.startswith("nobody")


def test_tables():
    results = [Result(0.5, 0.3, 4.0, 2.0, 1.0, 0.8, 0.9), Result(1.0, -0.1, 6.0, 1.0, 1.0, 1.0, 0.9)]
    nobody = Result(0.0, np.nan, 0.0, 0.0, 0.0, 1.0, 1.0)
    (row,) = by_kind({"square": results}).rows
    assert row == ["square", 2, 5.0, 0.75, pytest.approx(0.05**0.5), 0.5, 1.5, 1.0, 0.9, 0.9]
    assert by_kind({"nobody": [nobody]}).rows[0][4:6] == [None, None]
    assert [row[:4] for row in by_reliability([*results, nobody]).rows] == [
        ["0.3 to 0.6", 1, pytest.approx(0.3), 0.0],
        ["0.95 to 1", 1, pytest.approx(0.1), 1.0],
    ]


def test_prints_tables(data_dir, tmp_path, monkeypatch):
    result = CliRunner().invoke(
        main, ["few people", "nobody, cars", "TUD-Campus", "--scenes", "1", "--quick"], catch_exceptions=False
    )
    assert result.exit_code == 0
    for name in ("few people", "nobody, cars", "TUD-Campus"):
        assert f"| {name} " in result.stdout
    assert "What the reliability is worth" in result.stdout
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    result = CliRunner().invoke(main, ["vtest"])
    assert result.exit_code == 1
    assert "among the data sets" in result.output
