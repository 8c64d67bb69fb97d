"""The benchmark of suggested frames still runs; what it measures is for the documents."""

import numpy as np
from click.testing import CliRunner

from benchmarks.suggest import curve, errors, evenly, main, plot
from crowdcount.learning.datasets import Dataset
from crowdcount.learning.measuring import measure


def drawn():
    random = np.random.default_rng(0)
    features = random.uniform(0, 10, (120, 3))
    counts = np.round(20 + features @ [1, 0.5, 0.3])
    dataset = Dataset("drawn", np.arange(120), counts, features=features,
                      feature_names=("1x1_0_0.a", "3x2_0_0.b", "6x5_0_0.c"),
                      feature_views=("size", "edges", "texture"))  # fmt: skip
    return measure(dataset, np.ones(120, bool)), dataset


def test_the_curves_fall_and_are_drawn(tmp_path):
    table, dataset = drawn()
    curves = curve(table, dataset, (10, 40), 2)
    assert list(curves) == ["evenly spaced", "at random", "suggested"]
    assert all(many[0] < few[0] < 4 for few, many in curves.values())
    plot(curves, (10, 40), 0.3, 96, str(tmp_path / "curves.svg"))
    assert "<svg" in (tmp_path / "curves.svg").read_text()


def test_what_training_fits_can_be_judged_too(monkeypatch):
    monkeypatch.setattr("crowdcount.learning.regressors.FEW_FEATURES_LAMBDAS", (1e-3,))
    table, dataset = drawn()
    assert errors(table, dataset, evenly, 25, 2, is_trained=True).mean() < 1.5


def test_absent_data_are_said(monkeypatch, tmp_path):
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 1
    assert "no mall among the data sets" in result.output
