import io
import json
import math
import pickle
import resource
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdcount.arrays import load_arrays, save_arrays
from crowdcount.errors import ModelError, OutputError, SceneError

ARRAYS = {
    "weights": np.arange(12.0).reshape(3, 4),
    "mask": np.array([[True, False]]),
    "names": np.array(["area", "längen"]),
    "scalar": np.array(3, np.int16),
    "empty": np.zeros((0, 5), np.float32),
}


class TestRoundTrip:
    def test_arrays_and_meta_come_back(self, tmp_path):
        meta = {"größe": [1, 2.5, None], "nested": {"a": True}}
        save_arrays(tmp_path / "m.npz", "model", 1, ARRAYS, meta)
        arrays, found = load_arrays(tmp_path / "m.npz", "model", 1)
        assert found == meta
        assert arrays.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(arrays[name], array)
            arrays[name][...] = array  # writable

    def test_same_content_same_bytes(self, tmp_path):
        save_arrays(tmp_path / "a.npz", "model", 1, ARRAYS, {"x": 1, "y": 2})
        turned = {name: ARRAYS[name].copy(order="F") for name in reversed(ARRAYS)}
        save_arrays(tmp_path / "b.npz", "model", 1, turned, {"y": 2, "x": 1})
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()

    def test_numpy_reads_it_without_pickle(self, tmp_path):
        save_arrays(tmp_path / "m.npz", "model", 1, ARRAYS, {})
        with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
            np.testing.assert_array_equal(file["weights"], ARRAYS["weights"])
            assert json.loads(file["meta"].tobytes()) == {"kind": "model", "version": 1, "meta": {}}

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(array=hnp.arrays(st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(), hnp.floating_dtypes()),
                            hnp.array_shapes(min_dims=0, min_side=0)))
    def test_any_array(self, tmp_path, array):
        save_arrays(tmp_path / "m.npz", "model", 1, {"a": array}, {})
        found = load_arrays(tmp_path / "m.npz", "model", 1)[0]["a"]
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)

    @pytest.mark.parametrize("arrays", [
        {"a": np.array([None])}, {"a": np.array([1j])}, {"../a": np.zeros(1)}, {"meta": np.zeros(1)},
        {"": np.zeros(1)}, {"a": np.zeros(1, [("x", "f8")])},
    ])
    def test_what_cannot_be_kept_is_refused(self, tmp_path, arrays):
        with pytest.raises(ValueError, match="expected"):
            save_arrays(tmp_path / "m.npz", "model", 1, arrays, {})
        assert not list(tmp_path.iterdir())

    def test_a_description_that_could_not_be_read_again_is_not_written(self, tmp_path):
        with pytest.raises(ValueError, match="JSON"):
            save_arrays(tmp_path / "m.npz", "model", 1, {}, {"mae": math.nan})
        assert not list(tmp_path.iterdir())

    def test_size_limit_of_the_system(self, tmp_path):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            with pytest.raises(OutputError, match=r"^cannot write .*m\.npz: file too large; choose"):
                save_arrays(tmp_path / "m.npz", "model", 1, {"a": np.random.default_rng(0).random(999)}, {})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not list(tmp_path.iterdir())


def npy(array, **options):
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asarray(array), **options)
    return content.getvalue()


def header(kind="model", version=1, meta=None):
    text = json.dumps({"kind": kind, "version": version, "meta": meta or {}})
    return np.frombuffer(text.encode(), np.uint8)


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a pickle was read",)


class TestRefusals:
    @pytest.fixture
    def good(self, tmp_path):
        save_arrays(tmp_path / "m.npz", "model", 1, ARRAYS, {})
        return tmp_path / "m.npz"

    def refused(self, path, said, **options):
        with pytest.raises(ModelError) as caught:
            load_arrays(path, "model", 1, **options)
        message = str(caught.value)
        assert said in message
        assert str(path) in message
        assert message.isprintable()  # one line, nothing a terminal would act on

    def test_missing_and_folder(self, tmp_path):
        self.refused(tmp_path / "absent.npz", "does not exist; check the name")
        self.refused(tmp_path, "is not a file")

    def test_class_of_the_error_is_the_callers(self, tmp_path):
        with pytest.raises(SceneError, match="does not exist"):
            load_arrays(tmp_path / "absent.npz", "scene", 1, SceneError)

    @pytest.mark.parametrize("content", [b"", b"not a zip", b"\x89PNG\r\n", pickle.dumps(Bomb()), npy(1.0)])
    def test_foreign(self, tmp_path, content):
        path = tmp_path / "m.npz"
        path.write_bytes(content)
        self.refused(path, "is damaged or was not written by crowdcount")

    def test_truncated_anywhere(self, good):
        whole = good.read_bytes()
        for size in range(0, len(whole), 7):
            good.write_bytes(whole[:size])
            self.refused(good, "is damaged or was not written by crowdcount")

    def test_a_plain_npz_has_no_description(self, tmp_path):
        np.savez(tmp_path / "m.npz", a=np.zeros(3))
        self.refused(tmp_path / "m.npz", "its description is missing")

    @pytest.mark.parametrize("meta", [
        np.frombuffer(b"[]", np.uint8), np.frombuffer(b"{", np.uint8), np.frombuffer(b"\xff\xfe", np.uint8),
        np.frombuffer(b'{"kind": "model", "version": NaN, "meta": {}}', np.uint8),
        header(version=True), header(version="1"), header(version=0), header(kind=3), header(meta=[1]),
        np.zeros((0,)), np.frombuffer(b"[" * 100_000, np.uint8),
    ])
    def test_damaged_description(self, tmp_path, meta):
        path = zipped(tmp_path / "m.npz", [("meta.npy", npy(meta))])
        self.refused(path, "its description is missing or damaged")

    def test_other_kind_and_newer_version(self, tmp_path):
        self.refused(zipped(tmp_path / "m.npz", [("meta.npy", npy(header("scene\x1b[2J\n")))]),
                     "expected a crowdcount model, but")
        self.refused(zipped(tmp_path / "n.npz", [("meta.npy", npy(header(version=2)))]),
                     "newer crowdcount (format 2, this one reads up to 1); update crowdcount")

    @pytest.mark.parametrize("name", ["../../up.npy", "/a.npy", "a/b.npy", "c:\\a.npy", "a.txt", ".npy"])
    def test_member_names(self, tmp_path, name):
        path = zipped(tmp_path / "m.npz", [("meta.npy", npy(header())), (name, npy(1.0))])
        self.refused(path, "unexpected member")

    def test_a_member_twice(self, tmp_path):
        with pytest.warns(UserWarning, match="Duplicate name"):
            zipped(tmp_path / "m.npz", [("meta.npy", npy(header()))] * 2)
        self.refused(tmp_path / "m.npz", "a member appears twice")

    def test_objects_are_not_unpickled(self, tmp_path):
        content = npy(np.array([Bomb()], object), allow_pickle=True)
        path = zipped(tmp_path / "m.npz", [("meta.npy", npy(header())), ("a.npy", content)])
        self.refused(path, "array a holds neither numbers nor text")

    def test_too_much_to_unpack(self, good, monkeypatch):
        monkeypatch.setattr("crowdcount.arrays.MAX_BYTES", 512)
        self.refused(good, "it unpacks to more than 0 MiB")

    def test_a_shape_that_its_bytes_do_not_fill(self, tmp_path):
        content = npy(np.zeros(3)).replace(b"(3,), }" + b" " * 9, b"(90000000000,) }")
        path = zipped(tmp_path / "m.npz", [("meta.npy", npy(header())), ("a.npy", content)])
        self.refused(path, "array a has another size than it declares")

    @settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_any_damage_is_one_line_or_harmless(self, tmp_path, data):
        path = tmp_path / "m.npz"
        save_arrays(path, "model", 1, ARRAYS, {"a": [1, 2, 3]})
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        with suppress(ModelError):  # and nothing else
            load_arrays(path, "model", 1)
