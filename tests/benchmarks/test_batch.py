"""The benchmark of batches still runs; what it measures is for docs/batch.md."""

import os
import re

from click.testing import CliRunner

from benchmarks.batch import main
from samples.make import write_clip
from samples.scenes import preset


def output(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_a_small_year_is_linear(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing here has to outlive a crash
    lines = output("year", "--entries", 480, "--cameras", 7).splitlines()
    names = ["list", "first run", "resume", "report by hour", "report by day", "together"]
    assert [line.partition(":")[0] for line in lines] == names
    ratios = [float(re.search(r"([\d.]+) times a quarter", line)[1]) for line in lines[:-1]]
    assert max(ratios) < 8  # 4 where it is linear, 16 where each entry looks at all others


def test_speed_memory_and_seams_of_a_tiny_clip(tmp_path):
    spec = preset("plaza", seed=3, size_wh=(160, 120), n_frames=20, people=4.0)
    clip = write_clip(spec, tmp_path / "a.avi")[0]
    text = output("speed", "--videos", 2, "--frames", 20, "--runs", 1, "--clip", clip)
    assert re.search(r"two processes: \d+\.\d\d times one\n", text)
    assert re.search(r"bytes a frame\n$", text)
    assert len(re.findall(r"\d+ MiB\n", output("memory", "--short", 10, "--long", 20, "--clip", clip))) == 3
    text = output("seams", clip, "--segment", 60, "--warm-up", 1, "--frames", 30, "--every", 2, "--dim", 20)
    assert "mean difference 0.0000" in text
