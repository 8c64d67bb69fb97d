"""The benchmark of recalibration still runs; what it measures is for the documents."""

import numpy as np
from click.testing import CliRunner

from benchmarks.recalibrate import drawn, main, measure, rows
from crowdcount import default_model


def test_labels_are_spread():
    chosen = drawn(100, 10, np.random.default_rng(0))
    assert (chosen // 10).tolist() == list(range(10))


def test_labels_correct_a_drift_and_intervals_hold():
    random = np.random.default_rng(0)
    counts = random.uniform(5, 15, 400)
    labels = 1.5 * counts + random.normal(0, 1, 400)
    before, after, inside = measure(default_model(), counts, labels, 0.25, 25, range(5))
    assert before > 4
    assert after < 1
    assert 0.8 < inside < 1
    (spread, first) = rows("drawn", default_model(), counts, labels, range(2), sizes=(5,))
    assert spread[:2] == ["drawn", "spread"]
    assert first[1] == "first"
    assert spread[2] > 4 > 1.5 > spread[3]


def test_prints_a_table(data_dir, tmp_path, monkeypatch):
    result = CliRunner().invoke(main, ["TUD-Campus", "--draws", "2"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "| TUD-Campus | spread" in result.output
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    result = CliRunner().invoke(main, ["vtest"])
    assert result.exit_code == 1
    assert "among the data sets" in result.output
