"""The benchmark of the audit still runs; what it measures is for the documents."""

import numpy as np
from click.testing import CliRunner

from benchmarks.audit import corrupted, main, measure_set
from crowdcount.learning.datasets import Dataset


def test_a_tenth_of_the_labels_is_changed_by_30_to_100_percent():
    counts = np.full(300, 100.0)
    counts[::3] = np.nan
    wrong = corrupted(counts, seed=1)
    change = np.abs(wrong / counts - 1)[np.flatnonzero((wrong != counts) & np.isfinite(counts))]
    assert len(change) == 20
    assert 0.3 <= change.min() < change.max() <= 1
    assert {-1, 1} == set(np.sign(wrong - counts)[(wrong != counts) & np.isfinite(counts)])
    assert (np.isnan(wrong) == np.isnan(counts)).all()
    assert np.array_equal(wrong, corrupted(counts, seed=1), equal_nan=True)
    assert not np.array_equal(wrong, corrupted(counts, seed=2), equal_nan=True)


def test_wrong_labels_are_found_and_cost_ridge_more():
    random = np.random.default_rng(0)
    features = random.uniform(0, 10, (120, 3))
    counts = np.round(20 + features @ [1, 0.5, 0.3] + random.normal(0, 0.2, 120))
    dataset = Dataset("drawn", np.arange(120), counts, features=features,
                      feature_names=("a", "b", "c"), feature_views=("size", "edges", "texture"))  # fmt: skip
    name, index, worst, error, ratio, _, listed, ridge_error, ridge_ratio, _ = measure_set(
        "drawn", dataset, "0-119", seeds=[0]
    )
    assert name == "drawn"
    assert index == worst > 0.9
    assert error < 0.4
    assert ridge_error < 0.4
    assert ratio < 1.5
    assert ridge_ratio > 1.5 * ratio
    assert listed <= 2


def test_absent_data_are_said(monkeypatch, tmp_path):
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    result = CliRunner().invoke(main, ["vtest"])
    assert result.exit_code == 1
    assert "no pets2009/vtest.avi among the data sets" in result.output


def test_prints_a_table(data_dir, monkeypatch):
    monkeypatch.setattr("crowdcount.learning.regressors.FEW_FEATURES_LAMBDAS", (1e-3,))
    result = CliRunner().invoke(main, ["ucsd-features", "--seeds", "1"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "| ucsd-features | 0.9" in result.output
