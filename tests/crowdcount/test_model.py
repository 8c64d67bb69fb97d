import io
import json
import pickle
import struct
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crowdcount.arrays import load_arrays, save_arrays
from crowdcount.errors import ModelError, OutputError
from crowdcount.model import (
    CLEAR_CONTRAST,
    SCENE_UNCERTAINTY,
    VERSION,
    CounterModel,
    EdgeRange,
    Fullness,
    doubt_in_scene,
    load_model,
)
from crowdcount.scene import Scene, scene_from
from models import Correction, CountRegressor, HuberLossRegressor


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).uniform(0, 10, (40, 6))


def fitted(rows, second_kernel):
    """A model of two views, the first with a polynomial kernel, and a scene of polygons."""
    regressor = HuberLossRegressor(
        views=[[0, 1, 2], [3, 4, 5]],
        kernel=["poly", second_kernel],
        kernel_params=[{"degree": 2, "coef0": 1.0}, {"gamma": 0.1}],
        lam=1e-4,
        gamma=0.0,
    )
    return CounterModel(
        CountRegressor(regressor).fit(rows, rows @ [1, 0, 0.5, 0, 0.3, 0]).predictor_,
        tuple(f"1x1_0_0.column{k}" for k in range(6)),
        quantile=0.7,
        usual_outside=0.125,
        fullness=Fullness(np.arange(6.0), 120.0),
        most=25.0,
        edges=EdgeRange(np.array([2, 5]), np.array([0.0, 1.0]), np.array([10.0, 9.0])),
        scene=scene_from((64, 48), persons=[(30, 10, 8), (30, 40, 20)]),
        rate=12.5,
        facts={"trained_on": "a table", "cross_validation": {"mae": 1.5}},
    )


@pytest.fixture(scope="module")
def small(rows):
    """A model of explicit features."""
    return fitted(rows, "linear")


@pytest.fixture(scope="module")
def supported(rows):
    """A model of kernel values between its training rows and others."""
    return fitted(rows, "rbf")


@pytest.fixture
def file(small, tmp_path):
    small.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def refused(path, said=""):
    with pytest.raises(ModelError) as caught:
        load_model(path)
    message = str(caught.value)
    assert said in message
    assert str(path) in message
    assert message.isprintable()
    return message


def loaded_or_refused(path):
    """The model, or None after one printable line."""
    try:
        return load_model(path)
    except ModelError:
        refused(path)
        return None


def rewrite(path, change=None, **changes):
    """Write the model file again with some of its description's values changed."""
    arrays, meta = load_arrays(path, "model", VERSION)
    meta |= changes
    if change is not None:
        change(arrays, meta)
    save_arrays(path, "model", VERSION, arrays, meta)


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


class TestRoundTrip:
    def test_predicts_bit_equal(self, small, file, rows):
        loaded = load_model(file)
        probe = np.concatenate([rows, rows * 3 - 5])
        assert (loaded.predict(probe) == small.predict(probe)).all()
        assert (loaded.outside(probe) == small.outside(probe)).all()
        assert (loaded.is_outside(probe) == small.is_outside(probe)).all()
        for name in ("columns", "per_cell", "quantile", "level", "usual_outside", "most", "rate", "facts"):
            assert getattr(loaded, name) == getattr(small, name), name
        assert loaded.scene.polygons == small.scene.polygons
        assert loaded.scene.line == small.scene.line
        assert (loaded.scene.person_height == small.scene.person_height).all()

    def test_of_a_model_with_training_rows(self, supported, rows, tmp_path):
        supported.save(tmp_path / "supported.npz")
        loaded = load_model(tmp_path / "supported.npz")
        # A file keeps values, not their order in memory, which decides how sums are rounded.
        assert loaded.predict(rows * 1.5) == pytest.approx(supported.predict(rows * 1.5), rel=1e-13)

    def test_of_a_trained_model(self, trained, street, tmp_path):
        trained.model.save(tmp_path / "street.npz")
        loaded = load_model(tmp_path / "street.npz")
        probe = np.random.default_rng(1).normal(0, 3, (50, len(loaded.columns)))
        assert (loaded.predict(probe) == trained.model.predict(probe)).all()
        assert loaded.interval(4.5, loaded.scene) == trained.model.interval(4.5, street.scene)
        assert loaded.facts == trained.model.facts

    def test_of_a_model_without_scene_rate_and_interval(self, small, rows, tmp_path):
        bare = replace(small, scene=None, rate=None, quantile=np.inf, per_cell=True, fullness=None)
        bare = replace(bare, most=np.inf, edges=None)
        bare.save(tmp_path / "bare.npz")
        loaded = load_model(tmp_path / "bare.npz")
        assert (loaded.scene, loaded.rate, loaded.quantile, loaded.per_cell) == (None, None, np.inf, True)
        cells = rows.reshape(8, 5, 6)
        assert (loaded.predict(cells) == bare.predict(cells)).all()

    def test_of_a_scene_with_mask_and_map(self, small, tmp_path):
        roi = np.random.default_rng(2).random((48, 64)) < 0.5
        heights = np.random.default_rng(3).uniform(5, 30, (48, 64)).astype(np.float32)
        replace(small, scene=Scene((64, 48), roi, heights)).save(tmp_path / "masked.npz")
        loaded = load_model(tmp_path / "masked.npz")
        assert (loaded.scene.roi == roi).all()
        assert (loaded.scene.person_height == heights).all()

    def test_the_same_model_gives_the_same_bytes(self, small, file, tmp_path):
        load_model(file).save(tmp_path / "again.npz")
        assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()

    def test_a_place_that_cannot_be_written(self, small, tmp_path):
        with pytest.raises(OutputError, match="does not exist"):
            small.save(tmp_path / "none" / "model.npz")


class TestPrediction:
    def test_a_frame_of_cells_is_their_sum(self, small, rows):
        cells = rows.reshape(8, 5, 6)
        counts = replace(small, per_cell=True).predict(cells)
        assert counts == pytest.approx([sum(small.predict(frame)) for frame in cells])

    def test_outside_is_the_share_of_columns(self, small, rows):
        frame = rows[:1].copy()
        assert small.outside(frame) == [0]
        frame[0, [1, 4]] = 100, -100
        assert small.outside(frame) == pytest.approx([2 / 6])
        cells = np.stack([rows[:5], np.concatenate([frame, rows[1:5]])])
        assert small.outside(cells) == pytest.approx([0, 2 / 30])

    def test_a_scene_whose_edges_are_all_far_beyond_their_range_is_outside(self, small, rows):
        """By more than the width of the range, in more than .6 of the columns: one of two is less."""
        model = replace(small, usual_outside=1.0, fullness=None, most=np.inf)
        frames = rows[:4].copy()
        frames[:, [2, 5]] = (5, 5), (21, 9), (20, 17), (-11, 18)  # ranges are 0 to 10, and 1 to 9
        assert model.edges.beyond(frames).tolist() == [0, 0.5, 0, 1]
        assert model.is_outside(frames).tolist() == [False, False, False, True]
        assert not replace(model, edges=None).is_outside(frames).any()

    def test_a_count_of_more_people_than_in_all_that_it_learnt_from_is_outside(self, small, rows):
        model = replace(small, usual_outside=1.0, fullness=None, edges=None)
        counts = model.predict(rows)
        model = replace(model, most=float(np.median(counts)))
        assert (model.is_outside(rows) == (counts > model.most)).all()
        doubled = model.corrected(Correction(1.0, 2.0))
        assert doubled.most == 1 + 2 * model.most
        assert (doubled.is_outside(rows) == model.is_outside(rows)).all()

    @given(count=st.floats(0, 1e4), reliability=st.floats(0, 1), quantile=st.floats(0, 50))
    def test_interval_holds_the_count(self, small, count, reliability, quantile):
        scene = replace(small.scene, height_reliability=reliability)
        low, high = replace(small, per_cell=True, quantile=quantile).interval(count, scene)
        assert 0 <= low <= count <= high

    def test_a_model_for_any_scene_may_err_by_a_factor_and_more_so_where_heights_are_unreliable(self, small):
        sure, unsure = (replace(small.scene, height_reliability=value) for value in (1.0, 0.2))
        anywhere = replace(small, per_cell=True, scene=None)
        ends = [small.interval(10.0, unsure), anywhere.interval(10.0, sure), anywhere.interval(10.0, unsure)]
        (low, high), (low_sure, high_sure), (low_unsure, high_unsure) = ends
        assert low > low_sure > low_unsure
        assert high < high_sure < high_unsure
        low, high = replace(anywhere, quantile=0.0).interval(10.0, unsure)  # as many times fewer as more
        assert 10 / low == pytest.approx(high / 10)
        assert high == pytest.approx(10 * np.exp(doubt_in_scene(0.2)))
        assert doubt_in_scene(1.0) == pytest.approx(1.645 * SCENE_UNCERTAINTY)

    def test_a_model_for_any_scene_may_miss_more_where_people_hardly_stand_out(self, small):
        anywhere = replace(small, per_cell=True, scene=None)
        usual = doubt_in_scene(1.0)
        assert doubt_in_scene(1.0, CLEAR_CONTRAST) == usual
        assert doubt_in_scene(1.0, 2 * CLEAR_CONTRAST) == pytest.approx(np.hypot(usual, 1.645 * np.log(2)))
        scene = replace(small.scene, height_reliability=1.0)
        low, high = anywhere.interval(10.0, scene)
        assert anywhere.interval(10.0, scene, CLEAR_CONTRAST) == (low, high)
        low_by_night, high_by_night = anywhere.interval(10.0, scene, 0.3)
        assert low_by_night == low  # people are missed, not added
        assert high_by_night > 1.2 * high
        own = small.interval(10.0, scene)  # it learnt how people stand out there
        assert small.interval(10.0, scene, 0.3) == own

    def test_half_width_is_that_of_the_interval_in_units_of_the_scale(self, small):
        counts = np.array([0.0, 4.0, 9.0])
        assert small.half_width(counts) == small.quantile
        anywhere = replace(small, per_cell=True, scene=None)
        sure = replace(small.scene, height_reliability=1.0)
        above = [anywhere.interval(n, sure)[1] - n for n in counts]
        assert anywhere.half_width(counts) == pytest.approx(np.mean(np.array(above) / [1, 2, 3]))
        assert anywhere.half_width(counts) > small.quantile

    def test_an_unknown_interval_is_infinite(self, small):
        assert replace(small, quantile=np.inf).interval(3.0, small.scene) == (0.0, np.inf)

    def test_other_columns_are_refused(self, small):
        small.check_columns(list(small.columns))
        for columns, said in (
            (small.columns[:-1], "in another order or number"),
            (small.columns[::-1], "in another order or number"),
            ((*small.columns[:-1], "flow\nspeed"), r"'flow\\nspeed'"),
        ):
            with pytest.raises(ModelError) as caught:
                small.check_columns(columns)
            assert said.replace("\\\\", "\\") in str(caught.value)
            assert "\n" not in str(caught.value)


class TestDamagedFiles:
    def test_missing_and_foreign_ones(self, tmp_path):
        refused(tmp_path / "none.npz", "does not exist")
        refused(tmp_path, "is not a file")
        for content in (b"", b"PK", b"hello", b"\x89PNG\r\n\x1a\n" + bytes(100), b"\x93NUMPY" + bytes(200)):
            (tmp_path / "foreign.npz").write_bytes(content)
            refused(tmp_path / "foreign.npz", "damaged")

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(share=st.floats(0, 1, exclude_max=True))
    def test_truncated_ones(self, file, share):
        content = file.read_bytes()
        cut = file.with_name("cut.npz")
        cut.write_bytes(content[: int(share * len(content))])
        refused(cut)

    @settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_damaged_bytes_are_refused_or_harmless(self, file, rows, data):
        content = bytearray(file.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        damaged = file.with_name("damaged.npz")
        damaged.write_bytes(bytes(content))
        loaded = loaded_or_refused(damaged)
        if loaded is not None:
            assert np.isfinite(loaded.predict(rows)).all()

    def test_another_kind_and_a_newer_version(self, small, file, tmp_path):
        small.scene.save(tmp_path / "scene.npz")
        refused(tmp_path / "scene.npz", "expected a crowdcount model")
        arrays, meta = load_arrays(file, "model", VERSION)
        save_arrays(tmp_path / "newer.npz", "model", VERSION + 1, arrays, meta)
        refused(tmp_path / "newer.npz", "newer crowdcount")
        np.savez(tmp_path / "numbers.npz", x=np.arange(3))
        refused(tmp_path / "numbers.npz")

    def test_pickled_objects_are_never_loaded(self, file, tmp_path):
        class Evil:
            def __reduce__(self):
                return (open, (str(tmp_path / "owned"), "w"))

        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        evil = np.empty(1, object)
        evil[0] = Evil()
        content = io.BytesIO()
        np.save(content, evil, allow_pickle=True)
        for victim in ("regressor_mean.npy", "meta.npy", "extra.npy"):
            write_zip(tmp_path / "evil.npz", members | {victim: content.getvalue()})
            refused(tmp_path / "evil.npz")
        (tmp_path / "evil.npz").write_bytes(pickle.dumps(Evil()))
        refused(tmp_path / "evil.npz")
        assert not (tmp_path / "owned").exists()

    def test_a_zip_bomb(self, file, tmp_path):
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        write_zip(tmp_path / "bomb.npz", members)
        bomb = bytearray((tmp_path / "bomb.npz").read_bytes())
        place = bomb.rfind(b"PK\x01\x02")
        bomb[place + 24 : place + 28] = struct.pack("<I", 0xFFFFFFF0)
        (tmp_path / "bomb.npz").write_bytes(bytes(bomb))
        refused(tmp_path / "bomb.npz", "MiB")


class TestHostileDescriptions:
    """A file whose parts are sound but say something else."""

    @pytest.mark.parametrize(
        "changes",
        [
            {"columns": []},
            {"columns": ["a", "b"]},
            {"columns": "abcdef"},
            {"columns": None},
            {"per_cell": "perhaps"},
            {"per_cell": True},
            {"quantile": -1.0},
            {"quantile": "wide"},
            {"level": 0},
            {"level": 1.5},
            {"usual_outside": 2},
            {"fullest": "very"},
            {"most": -1.0},
            {"has_edges": "some"},
            {"rate": 0.0},
            {"rate": -3},
            {"person_height": 1e9},
            {"facts": [1]},
            {"regressor": {}},
            {"regressor": None},
            {"scene": {}},
            {"scene": {"size_wh": [4, 4]}},
            {"scene": "plaza"},
            {"more\nthan\x1b[31m asked": 1},
        ],
        ids=str,
    )
    def test_values(self, file, changes):
        rewrite(file, **changes)
        refused(file)

    @pytest.mark.parametrize(
        "changes",
        [
            {"center": "4"},
            {"center": [1]},
            {"center": None},
            {"center": 10**400},
            {"views": []},
            {"views": "ab"},
            {"views": [[]]},
            {"views": None},
        ],
        ids=lambda changes: str(changes)[:30],
    )
    def test_of_the_regressor(self, file, changes):
        rewrite(file, lambda arrays, meta: meta["regressor"].update(changes))
        refused(file)

    @pytest.mark.parametrize(
        "changes",
        [
            {"kernel": "evil"},
            {"kernel": ["poly"]},
            {"kernel": {"name": "poly"}},
            {"kernel": None},
            {"kernel": "rbf"},
            {"kernel": "linear"},
            {"degree": 3},
            {"degree": 10**9},
            {"degree": 2.5},
            {"degree": "2"},
            {"degree": -1},
            {"gamma": -1},
            {"gamma": 10**400},
            {"coef0": []},
            {"coef0": -0.5},
            {"has_support": True},
        ],
        ids=str,
    )
    def test_of_a_kernel(self, file, changes):
        rewrite(file, lambda arrays, meta: meta["regressor"]["views"][0].update(changes))
        refused(file)

    @pytest.mark.parametrize(
        "changes", [{"kernel": "chi2"}, {"kernel": "sigmoid"}, {"gamma": -1e300}], ids=str
    )
    def test_of_a_kernel_with_a_support(self, supported, file, changes):
        supported.save(file)
        rewrite(file, lambda arrays, meta: meta["regressor"]["views"][1].update(changes))
        refused(file)

    @pytest.mark.parametrize("name", ["mean", "scale", "low", "high", "view0_columns", "view1_support"])
    @pytest.mark.parametrize(
        "change",
        [
            lambda array: None,
            lambda array: array[:-1],
            lambda array: array[None],
            lambda array: array.astype("U8"),
            lambda array: array * np.nan,
        ],
        ids=["missing", "cut", "another shape", "text", "not finite"],
    )
    def test_of_arrays(self, supported, file, name, change):
        supported.save(file)

        def replace_array(arrays, meta):
            array = change(arrays.pop(f"regressor_{name}"))
            if array is not None:
                arrays[f"regressor_{name}"] = array

        rewrite(file, replace_array)
        refused(file)

    @pytest.mark.parametrize(("name", "value"), [("scale", 0), ("scale", -1), ("view0_columns", -1),
                                                 ("view0_columns", 6)])  # fmt: skip
    def test_of_arrays_out_of_range(self, supported, file, name, value):
        supported.save(file)
        rewrite(file, lambda arrays, meta: arrays[f"regressor_{name}"].__setitem__(1, value))
        refused(file)

    def test_of_two_directions_of_other_columns(self, small, rows, file):
        wide, narrow = (
            CountRegressor(HuberLossRegressor(lam=1e-4)).fit(part, rows[:, 0]).predictor_
            for part in (rows, rows[:, :5])
        )
        replace(small, directions=(wide, narrow)).save(file)
        refused(file, "the two directions differ in their columns")

    def test_numbers_beyond_floats(self, file):
        """JSON holds numbers that a float does not: 1e999 reads as infinity."""
        arrays, meta = load_arrays(file, "model", VERSION)
        for name in ("gamma", "coef0"):
            text = json.dumps({"kind": "model", "version": VERSION, "meta": meta})
            hostile = text.replace(f'"{name}": {json.dumps(meta["regressor"]["views"][0][name])}',
                                   f'"{name}": 1e999', 1)  # fmt: skip
            assert hostile != text
            np.savez(file, **arrays, meta=np.frombuffer(hostile.encode(), np.uint8))
            refused(file)

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        name=st.sampled_from(["columns", "per_cell", "quantile", "level", "usual_outside", "rate", "facts",
                              "regressor", "scene"]),
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=20),
            lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=3),
            max_leaves=6,
        ),
    )  # fmt: skip
    def test_any_json_in_the_place_of_a_value(self, small, file, name, value):
        small.save(file)
        rewrite(file, **{name: value})
        loaded_or_refused(file)
