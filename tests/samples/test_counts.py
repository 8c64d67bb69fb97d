"""Simulated files of counts."""

import numpy as np
from click.testing import CliRunner

from crowdcount.results import read_counts, read_start_time
from samples.counts import daily_counts, main


def test_the_same_seed_gives_the_same_counts_and_weekends_differ():
    times_s, counts = daily_counts(28, seed=1)
    np.testing.assert_array_equal(counts, daily_counts(28, seed=1)[1])
    day, hour = (times_s // 86400).astype(int), times_s % 86400 // 3600
    rush = counts[hour == 8]
    weekend = day[hour == 8] % 7 >= 5
    assert rush[~weekend].mean() > 3 * rush[weekend].mean()


def test_the_command_writes_a_file_of_counts(tmp_path):
    path = tmp_path / "hall.csv"
    assert CliRunner().invoke(main, [str(path), "--days", "2"], catch_exceptions=False).exit_code == 0
    assert len(read_counts(path)) == 288
    assert read_start_time(path).isoformat() == "2024-03-04T00:00:00"
    assert CliRunner().invoke(main, [str(tmp_path / "hall.txt")]).exit_code == 2
    assert CliRunner().invoke(main, [str(tmp_path / "no" / "hall.csv")]).exit_code == 1
