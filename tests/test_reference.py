"""docs/features.md and docs/formats.md name everything that there is."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from crowdcount.arrays import load_arrays
from crowdcount.model import CounterModel
from crowdcount.pipeline import ALL_QUANTITIES, ANY_SCENE_QUANTITIES, GRIDS
from crowdcount.results import COLUMNS, UNRELIABLE
from crowdcount.rows import FORMATS
from crowdcount.scene import Scene, load_scene, scene_from
from features.schema import VIEWS
from models import CountRegressor, HuberLossRegressor

PROJECT = Path(__file__).resolve().parent.parent
DOCS = PROJECT / "docs"
#: Modules that make flags: of what is seen in a frame, and of what else is told of it.
SEEN = ("features/*.py", "crowdcount/pipeline.py")
TOLD = ("crowdcount/counting.py", "crowdcount/video/*.py")


@pytest.fixture(scope="module")
def features_text():
    return (DOCS / "features.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def formats_text():
    return (DOCS / "formats.md").read_text(encoding="utf-8")


def rows_of(text):
    """Cells of every line of every table."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows]


def flags_described(text):
    """First cells of the table of flags."""
    table = re.search(r"^\| flag \|.*?\n\n", text, re.DOTALL | re.MULTILINE)[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def flags_made(*patterns):
    """Words that modules make flags of: alone in a tuple, keys of what is found, or why a scene is learnt."""
    words = set()
    for path in (path for pattern in patterns for path in PROJECT.glob(pattern)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Tuple(elts=[ast.Constant(value=str(word))]):
                    words.add(word)
                case ast.Call(
                    func=ast.Attribute(ast.Name(id="flags"), attr="add"), args=[ast.Constant(str(word))]
                ):
                    words.add(word)
                case ast.Assign(targets=[ast.Name(id="found")], value=ast.Dict(keys=keys)):
                    words.update(key.value for key in keys)
                case ast.Assign(targets=[ast.Attribute(attr="_learning_for")], value=ast.Constant(str(word))):
                    words.add(word)
    return words


def test_flags_are_found_where_they_are_made():
    assert flags_made(*SEEN) == {*UNRELIABLE, "shifted_back", "vehicle"}
    told = {"undecodable", "resized", "outside_training_range", "low_contrast", "uncertain_height"}
    assert flags_made(*TOLD) == told


class TestFeatures:
    def test_every_quantity_has_its_unit_and_whether_it_sums(self, features_text):
        described = {}
        for first, *others in rows_of(features_text):
            for name in re.findall(r"`(\w+)`", first):
                described.setdefault(name, others)
        for quantity in ALL_QUANTITIES + ANY_SCENE_QUANTITIES:
            assert quantity.name in described, quantity.name
            unit, summed = described[quantity.name][:2]
            assert unit == quantity.unit, quantity.name
            assert summed == ("yes" if quantity.additive else "no"), quantity.name

    def test_no_quantity_is_made_up(self, features_text):
        names = {quantity.name for quantity in ALL_QUANTITIES + ANY_SCENE_QUANTITIES}
        for first, unit, summed, *_ in (row for row in rows_of(features_text) if len(row) == 4):
            if summed in ("yes", "no"):
                assert set(re.findall(r"`(\w+)`", first)) <= names, (first, unit)

    def test_views_grids_and_flags(self, features_text):
        for view in VIEWS:
            assert f"## {view.capitalize()} view" in features_text
        for rows, columns in GRIDS:
            assert f"`{rows}x{columns}`" in features_text
        n_regions = sum(rows * columns for rows, columns in GRIDS)
        assert f"{n_regions} · {len(ALL_QUANTITIES)} = {n_regions * len(ALL_QUANTITIES)}" in features_text
        assert f"| {len(ANY_SCENE_QUANTITIES)} per cell |" in features_text
        flags = flags_made(*SEEN)
        assert sorted(flags_described(features_text)) == sorted(flags)


class TestFormats:
    def test_counts(self, formats_text):
        columns = {name for first, *_ in rows_of(formats_text) for name in re.findall(r"`(\w+)`", first)}
        assert {*COLUMNS, *FORMATS, "time"} <= columns
        flags = flags_made(*SEEN, *TOLD)
        assert sorted(flags_described(formats_text)) == sorted(flags)

    def test_model(self, formats_text, tmp_path):
        rows = np.random.default_rng(0).uniform(0, 1, (12, 4))
        roi = np.ones((4, 4), bool)
        for kernel in ("linear", "rbf"):
            regressor = HuberLossRegressor(views=[[0, 1], [2, 3]], kernel=kernel, lam=0.1, gamma=0.0)
            model = CounterModel(
                CountRegressor(regressor).fit(rows, rows.sum(axis=1)).predictor_,
                ("a", "b", "c", "d"),
                scene=Scene((4, 4), roi, roi.astype(np.float32)),
            )
            model.save(tmp_path / "model.npz")
            arrays, meta = load_arrays(tmp_path / "model.npz", "model", 1)
            for name in (*meta, *meta["regressor"], *meta["regressor"]["views"][0]):
                assert f"`{name}`" in formats_text, name
            for name in arrays:
                assert f"`{name.replace('view1', 'view0')}`" in formats_text, name

    def test_scene(self, formats_text, tmp_path):
        scene = scene_from((64, 48), persons=[(1, 10, 5), (1, 40, 20)])
        _, description = scene.to_arrays()
        for name in (*description, *description["line"], "kind", "version"):
            assert f"`{name}`" in formats_text, name
        example = re.search(r"```json\n(.*?)```", formats_text, re.DOTALL)[1]
        (tmp_path / "scene.json").write_text(example, encoding="utf-8")
        assert load_scene(tmp_path / "scene.json").height_reliability == 0.8
