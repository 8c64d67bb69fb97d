"""Arrays kept with their description in one safe file, and those of files by others; numbers in JSON."""

import io
import json
import math
import os
import re
import warnings
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from .errors import CrowdCountError, ModelError, OutputError, one_line
from .storage import atomic_path, read_bytes, refuse_locked

MAX_BYTES = 1 << 30  # of all members of one file once unpacked; far above any model or scene
_MAX_MAT_BYTES = 1 << 26  # of the published files the largest has 1.1 MiB
_META = "meta"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DTYPE_KINDS = "biufU"  # booleans, integers, floats, text: nothing that can hold a Python object


def save_arrays(path: str | Path, kind: str, version: int, arrays: Mapping[str, np.ndarray],
                meta: Mapping[str, object]) -> None:
    """Write arrays and their description as one .npz file, which `numpy.load` reads too.

    The same content gives the same bytes. The description is kept as the UTF-8 JSON text
    `{"kind": …, "version": …, "meta": …}` in the member `meta` (1-D uint8).

    Parameters
    ----------
    path : str or Path
        Where to write; replaced only when everything is written.
    kind : str
        What the file is, such as "model" or "scene".
    version : int
        Version of that kind's format, from 1.
    arrays : mapping of str to ndarray
        Arrays of booleans, integers, floats or text of any shape; names of letters, digits, `_`, `-`, `.`.
    meta : mapping
        Anything JSON can hold.

    Raises
    ------
    OutputError
        When the file cannot be written.
    ValueError
        When an array or a name cannot be kept in such a file.
    """
    header = json.dumps({"kind": kind, "version": version, "meta": dict(meta)}, sort_keys=True,
                        allow_nan=False, ensure_ascii=False)
    members = {_META: np.frombuffer(header.encode(), np.uint8)}
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        if name == _META or not _NAME.fullmatch(name):
            raise ValueError(f"expected an array name of letters, digits, '_', '-', '.', not {name!r}")
        if array.dtype.kind not in _DTYPE_KINDS:
            raise ValueError(f"expected booleans, numbers or text in array {name!r}, found {array.dtype}")
        members[name] = array
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, array in members.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            archive.writestr(info, content.getvalue(), zipfile.ZIP_DEFLATED)
    with atomic_path(path) as temporary:
        temporary.write_bytes(packed.getvalue())


def load_arrays(path: str | Path, kind: str, max_version: int,
                error: type[CrowdCountError] = ModelError) -> tuple[dict[str, np.ndarray], dict]:
    """Read a file of `save_arrays`: its arrays by name and its description.

    Nothing in the file is trusted: no pickle is read, and no more than `MAX_BYTES` is unpacked.

    Raises
    ------
    CrowdCountError
        Of class `error`, one line: a missing, truncated, foreign or hostile file, a file of another kind, or
        one of a newer version than `max_version`.
    """
    arrays = read_npz(path, error)
    try:
        header = json.loads(arrays.pop(_META).tobytes(), parse_constant=_refuse_constant)
        found, version, meta = header["kind"], header["version"], header["meta"]
        if not (isinstance(found, str) and type(version) is int and version > 0 and isinstance(meta, dict)):
            raise ValueError
    except (KeyError, TypeError, ValueError, RecursionError):
        raise error(f"{path} is not a crowdcount {kind}: its description is missing or damaged; "
                    "give one that crowdcount wrote") from None
    if found != kind:
        raise error(f"expected a crowdcount {kind}, but {path} holds {one_line(repr(found))[:120]}; "
                    "give another file")
    if version > max_version:
        raise error(f"{path} was written by a newer crowdcount (format {version}, this one reads up to "
                    f"{max_version}); update crowdcount")
    return arrays, meta


def refuse_other_kind(path: str | Path, kind: str) -> None:
    """OutputError where a file of a kind, .npz or .json, would replace one that is none of that kind: another
    model, or what somebody else wrote."""
    path = Path(path)
    if os.path.isfile(path) and path.stat().st_size and kind_of(path) != kind:
        raise OutputError(f"{path} is there and is no {kind} of crowdcount; move it, or choose another name")


def kind_of(path: Path) -> object:
    """What a file of ours says that it is; None of any other file."""
    try:
        if path.suffix.lower() != ".npz":
            return json.loads(read_bytes(path, MAX_BYTES, "file", "move it", ModelError))["kind"]
        with zipfile.ZipFile(path) as archive:
            _, header = _read_member(archive, archive.getinfo(f"{_META}.npy"))
        return json.loads(header.tobytes())["kind"]
    except Exception:  # as of a table of features
        return None


def read_npz(path: str | Path, error: type[CrowdCountError]) -> dict[str, np.ndarray]:
    """Read all arrays of an untrusted .npz file, without pickle and within `MAX_BYTES`.

    Raises
    ------
    CrowdCountError
        Of class `error`, one line, for whatever is wrong with the file.
    """
    path = Path(path)
    if not os.path.isfile(path):
        refuse_locked(path, error)
        what = "is not a file" if os.path.exists(path) else "does not exist"
        raise error(f"{path} {what}; check the name")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MAX_BYTES:
                raise ValueError(f"it unpacks to more than {MAX_BYTES >> 20} MiB")
            if len({member.filename for member in members}) < len(members):
                raise ValueError("a member appears twice")
            return dict(_read_member(archive, member) for member in members)
    except PermissionError:
        raise error(f"{path} cannot be read: no permission; change its permissions") from None
    except Exception as reason:  # foreign bytes can make the parsers of zip and npy raise anything
        raise error(f"{path} is damaged or was not written by crowdcount ({one_line(str(reason))[:120]}); "
                    "copy or make it again") from reason


def read_mat(path: str | Path, names: Collection[str], error: type[CrowdCountError]) -> dict[str, object]:
    """Read variables of an untrusted MATLAB file of version 4 to 7.2: those of `names` that it has.

    Numbers are arrays without axes of length 1, structs are objects with their fields as attributes.

    Raises
    ------
    CrowdCountError
        Of class `error`, one line, for whatever is wrong with the file.
    """
    from scipy.io import loadmat  # takes a third of a second, which only such a file is worth

    content = read_bytes(path, _MAX_MAT_BYTES, "known .mat file", "give that one", error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = loadmat(io.BytesIO(content), squeeze_me=True, struct_as_record=False,
                              variable_names=list(names))
    except NotImplementedError:
        raise error(f"{path} is a MATLAB 7.3 file; save it again with -v7") from None
    except Exception as reason:  # foreign bytes can make the parser raise anything
        raise error(f"{path} is not a MATLAB file, or it is damaged; fetch it again") from reason
    return {name: content[name] for name in names if name in content}


def jsonable(content):
    """JSON content with None in the place of NaN and infinity, which JSON cannot hold, in dicts and lists
    too."""
    if isinstance(content, Mapping):
        return {name: jsonable(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [jsonable(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[str, np.ndarray]:
    name = member.filename.removesuffix(".npy")
    if name == member.filename or not _NAME.fullmatch(name):
        raise ValueError(f"unexpected member {member.filename!r}")
    content = io.BytesIO(archive.read(member))
    if np.lib.format.read_magic(content) != (1, 0):
        raise ValueError(f"unknown array format in {name}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(content)
    if dtype.kind not in _DTYPE_KINDS:
        raise ValueError(f"array {name} holds neither numbers nor text")
    declared = math.prod(shape) * dtype.itemsize
    if declared != len(content.getbuffer()) - content.tell():
        raise ValueError(f"array {name} has another size than it declares")
    content.seek(0)
    return name, np.load(content, allow_pickle=False)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
