"""The benchmark still runs; what it measures is for README."""

import re

import numpy as np
from click.testing import CliRunner

from benchmarks.counting import main
from crowdcount.learning import fitting, regressors
from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.training import train
from crowdcount.scene import load_scene
from samples.make import write_clip
from samples.scenes import preset


def test_counting_benchmark_prints_ratio_and_memory(tmp_path):
    spec = preset("plaza", seed=3, size_wh=(160, 120), n_frames=40, people=4.0)
    clip = write_clip(spec, tmp_path / "a.avi")[0]
    arguments = [str(clip), "--runs", "1", "--frames", "110", "--sampled", "5"]
    held = np.ones(300 * 2**17)  # 300 MiB here are none of the measured process's
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    del held
    assert result.exit_code == 0
    for line in (
        r"\| local binary patterns +\| [\d.]+ +\| [\d.]+ +\|",
        r"ratio to decoding: \d+\.\d \(\d+ frames/s on one core; \d+ by the clock while a second",
        r"start to the first frame: \d\.\d\d s",
        r"the whole command: \d\.\d\d s beside \d\.\d\d of a script that decodes, \d+\.\d times\n",
        r"peak memory: \d+ MiB after 100 frames, \d+ MiB after 110\n",
    ):
        assert re.search(line, result.output), line
    assert int(re.search(r"(\d+) MiB after 100 frames", result.output)[1]) < 300


def test_counting_benchmark_prints_what_directions_cost(tmp_path, monkeypatch):
    monkeypatch.setattr(regressors, "COEF0S", (1.0,))
    monkeypatch.setattr(regressors, "LAMBDAS", (1e-3,))
    monkeypatch.setattr(fitting, "LOCAL_LAMBDAS", (1e-3,))
    spec = preset("plaza", seed=3, size_wh=(160, 120), n_frames=60, people=4.0, fps=8.0)
    clip = write_clip(spec, tmp_path / "a.avi")[0]
    dataset = load_dataset(clip, mot=tmp_path / "a.gt.txt", annotated="1-60")
    training = train(dataset, scene=load_scene(tmp_path / "a.scene.json"), directions=True)
    training.model.save(tmp_path / "a.npz")
    arguments = [str(clip), "--model", str(tmp_path / "a.npz"), "--directions", "--runs", "1"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    line = r"a frame takes (\d+\.\d) times as long by direction \(\d+\.\d\d to \d+\.\d\d in 1 pairs of runs"
    assert float(re.match(line, result.output)[1]) > 1
