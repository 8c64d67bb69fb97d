"""Every experiment of every paper still runs; what it measures is for the documents."""

import sys
from importlib import import_module
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import data
from benchmarks.data import DataError
from benchmarks.papers import hlr
from benchmarks.papers.__main__ import METHODS, main
from benchmarks.tables import Table
from crowdcount.learning import regressors

PRESENT = [name for name in METHODS if name in main.list_commands(None)]
EXPERIMENTS = [
    (method, experiment)
    for method in PRESENT
    for experiment in import_module(f"benchmarks.papers.{method}").EXPERIMENTS
]


@pytest.mark.parametrize(("method", "experiment"), EXPERIMENTS)
def test_every_experiment_gives_tables(monkeypatch, method, experiment):
    monkeypatch.setattr(regressors, "FEW_FEATURES_LAMBDAS", (1e-4, 1e-3))  # that training chooses from
    run = import_module(f"benchmarks.papers.{method}").EXPERIMENTS[experiment]
    try:
        tables = list(run(True))
    except DataError as error:
        pytest.skip(str(error))
    assert tables
    for table in tables:
        assert table.rows
        assert "|" in table.markdown()


def test_one_experiment_is_printed_by_command():
    result = CliRunner().invoke(main, ["hlr", "--quick", "--only", "curve-fitting"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "### Noisy curve fitting\n\n| inverted" in result.output


def test_an_unknown_experiment_and_absent_data_are_said(monkeypatch, tmp_path):
    result = CliRunner().invoke(main, ["hlr", "--only", "weather"])
    assert result.exit_code == 2
    assert "no experiment 'weather'; expected some of" in result.output
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="set CROWDCOUNT_DATA"):
        data.tabular("boston")
    monkeypatch.setenv("CROWDCOUNT_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"no tabular/boston\.csv"):
        data.tabular("boston")


def test_a_package_that_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    result = CliRunner().invoke(main, ["r3", "--quick", "--only", "sinc"])
    assert result.exit_code == 1
    assert result.output.endswith("needs cvxpy, which the tests' packages hold: pip install -e '.[test]'\n")


def test_left_out_errors_are_those_of_refits_without_the_row():
    random = np.random.default_rng(0)
    X, y = np.column_stack([random.normal(size=(12, 3)), np.ones(12)]), random.choice([-1.0, 1.0], 12)
    settings = list(product(hlr.SHARES, hlr.KERNELS, hlr.LAMBDAS))
    found = hlr._left_out_errors(X, y[None])[:, 0]
    for number in range(0, len(settings), 73):
        shares, kernel, lam = settings[number]
        model = hlr._three_views(shares, kernel, lam * 12 / 11, 3)  # lam l as with all rows
        errors = [
            model.fit(np.delete(X, i, axis=0), np.delete(y, i)).predict(X[[i]])[0] - y[i] for i in range(12)
        ]
        np.testing.assert_allclose(found[number], np.mean(np.square(errors)))


def test_a_table_is_markdown_and_refuses_a_row_that_does_not_fit():
    rows = [["a|b", 12.3456], ["c", 0.0012], ["d", None], ["e", 7]]
    table = Table("Errors", ["set", "MAE"], rows, ["Seed 1."])
    lines = table.markdown().splitlines()
    assert lines[0] == "### Errors"
    assert [line.replace(" ", "") for line in lines[2:8]] == [
        "|set|MAE|", "|----|-----|", "|a\\|b|12.3|", "|c|0.001|", "|d||", "|e|7|",
    ]  # fmt: skip
    assert lines[-1] == "Seed 1."
    with pytest.raises(ValueError, match="expected 2 cells"):
        Table("Errors", ["set", "MAE"], [[1]])


@pytest.mark.usefixtures("data_dir")
class TestLoaders:
    def test_tables(self):
        X, y = data.tabular("boston")
        assert X.shape == (506, 13)
        assert y.shape == (506,)
        assert data.tabular("robot_arm", n_targets=2)[1].shape == (600, 2)

    @pytest.mark.parametrize("name", data.RAETSCH_SIZES)
    def test_raetsch_splits_have_the_official_sizes_and_are_disjoint(self, name):
        loaded = data.raetsch(name, n_splits=12)
        assert set(loaded.y) == {-1, 1}
        assert len({tuple(split.test) for split in loaded.splits}) == 12
        for split in loaded.splits:
            assert (len(split.train), len(split.test)) == data.RAETSCH_SIZES[name]
            assert not np.intersect1d(split.train, split.test).size
        n_official = {"breast_cancer": 10, "german": 10, "image": 9}.get(name, 0)
        start = f"official splits 1-{n_official}, random" if n_official else "random"
        assert loaded.provenance.startswith(start)
        assert loaded.provenance.endswith(f"seeds {n_official + 1}-12")

    @pytest.mark.parametrize(("name", "first"), [("mall", 0), ("ucsd", 600)])
    def test_ready_made_crowd_features(self, name, first):
        loaded = data.crowd(name)
        assert loaded.X.shape == (2000, 30)
        assert np.flatnonzero(np.isfinite(loaded.y)).tolist() == list(range(first, first + 800))
        assert sorted(np.concatenate(loaded.views)) == list(range(30))

    def test_faces_and_curves(self):
        images, persons = data.faces()
        assert images.shape == (400, 112, 92)
        assert np.bincount(persons).tolist() == [10] * 40
        cca, rcst = data.diffusion_tensor_curves()
        assert cca.shape == (100, 93)
        assert rcst.shape == (100, 55)
        assert np.isnan(rcst).any()
        emg, acceleration = data.lip_curves()
        assert emg.shape == acceleration.shape == (32, 641)
        word = data.speech()[0]
        assert word.word == "a"
        assert word.tracts.shape == (8, 60)
        assert word.sound.shape == (3001,)
