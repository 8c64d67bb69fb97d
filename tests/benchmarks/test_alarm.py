"""The benchmark of alarms still runs; what it measures is for the documents."""

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.alarm import Footage, errors, main, measure


@pytest.fixture
def drawn(tmp_path):
    random = np.random.default_rng(0)
    level = 3 * np.sin(np.arange(300) / 7)
    table = level[:, None] + random.normal(0, 0.5, (300, 3))
    rows = [f"{k},{','.join(map(str, row))}\n" for k, row in enumerate(table.tolist())]
    path = tmp_path / "table.csv"
    path.write_text("frame,a,b,c\n" + "".join(rows))
    return Footage(str(path), 1, np.arange(300), table, level > 0)


def test_clean_calls_are_learnt_and_wrong_ones_forgiven(drawn):
    clean, noisy = (measure(drawn, wrong, 0, None) for wrong in (0.0, 0.1))
    assert max(clean) < 0.15
    assert max(noisy) < 0.2


def test_errors_are_shares_of_their_own_side():
    alarms, truth = np.array([True, False, True, False, False]), np.array([True, True, False, False, False])
    assert errors(alarms, truth) == pytest.approx([1 / 2, 1 / 3])


def test_absent_data_are_said(monkeypatch, tmp_path):
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    result = CliRunner().invoke(main, ["mall-features"])
    assert result.exit_code == 1
    assert "no mall/mall_feat.mat among the data sets" in result.output
