"""Files that are written whole or not at all, and arrays kept with their description in one safe file."""

import codecs
import csv
import errno
import io
import itertools
import json
import math
import os
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np

from .errors import CrowdCountError, DatasetError, ModelError, OutputError

try:
    import fcntl
except ImportError:  # Windows: two runs at once are not noticed there
    fcntl = None

MAX_BYTES = 1 << 30  # of all members of one file once unpacked; far above any model or scene
_MAX_MAT_BYTES = 1 << 26  # of the published files the largest has 1.1 MiB
_META = "meta"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DTYPE_KINDS = "biufU"  # booleans, integers, floats, text: nothing that can hold a Python object


def output_error(path: str | Path, error: OSError) -> OutputError:
    """One line saying why `path` cannot be written and what to do about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "the disk is full; free some space or choose another place"
    elif error.errno == errno.EPIPE:
        why = "its reader has closed it"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        why = "writing there is not permitted; choose another folder"
    elif error.errno == errno.ENOENT:
        why = f"the folder {_followed(Path(path)).parent} does not exist; create it first"
    else:
        why = f"{(error.strerror or str(error)).lower()}; choose another place"
    return OutputError(f"cannot write {path}: {why}")


@contextmanager
def output_errors(path: str | Path) -> Iterator[None]:
    """Turn every OSError of the body into the OutputError of `path`."""
    try:
        yield
    except OSError as error:
        raise output_error(path, error) from error


@contextmanager
def input_errors(path: str | Path, kind: type[CrowdCountError]) -> Iterator[None]:
    """Turn every OSError of the body into a `kind` that says in one line why `path` cannot be read."""
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise kind(f"cannot read {path}: {why}; check its name and permissions") from error


@contextmanager
def atomic_path(path: str | Path, folder: Path | None = None) -> Iterator[Path]:
    """Write a file that appears under its name only when it is whole.

    Yields an empty temporary file with the same suffix, beside `path` or in `folder` on the same disk. When
    the body succeeds, its content is flushed to the disk and it takes the name `path`; when the body fails,
    it is removed and whatever had that name before is untouched. Where `path` is a link, it stays one, and
    what it leads to is written.

    Raises
    ------
    OutputError
        For every OSError, the body's included: missing folder, no permission, full disk, a folder or a
        device in the place of the file.
    """
    path = Path(path)
    temporary = _temporary(path if folder is None else folder / path.name)
    with output_errors(path):
        try:
            _create(temporary, path).close()
            yield temporary
            _publish(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def partial_path(path: str | Path) -> Iterator[Path]:
    """Write a file whose beginning is worth keeping when the writing is interrupted.

    Yields the empty file `<stem>.partial<suffix>` beside `path`. When the body succeeds, it takes the name
    `path`; when the body fails, it stays under its own name, which is added to the error as a note, unless
    nothing has been written to it. Links are followed as by `atomic_path`.

    Raises
    ------
    OutputError
        When the partial file cannot be created or renamed, or another run writes to the same place, or,
        where the disk knows no locks, has begun to meanwhile. Errors of the body pass unchanged.
    """
    path = Path(path)
    partial = _partial_name(path)
    _refuse_while_written(path)
    with output_errors(path):
        partial.unlink(missing_ok=True)
        ours = _create(partial, path)
    lock(ours)

    def is_ours() -> bool:
        try:
            return os.path.samestat(os.fstat(ours.fileno()), partial.stat())
        except FileNotFoundError:
            return False

    with ours:  # held open, so that no other file can pass for it
        try:
            yield partial
        except BaseException as error:
            with suppress(OSError):
                if not is_ours():
                    error.add_note(f"another run writes to {partial} now")
                elif partial.stat().st_size:
                    error.add_note(f"kept so far: {partial}")
                else:
                    partial.unlink()
            raise
        with output_errors(path):
            if not is_ours():
                raise OutputError(f"cannot write {path}: another run writes there too; choose another name")
    with output_errors(path):
        _publish(partial, path)


def _partial_name(path: Path) -> Path:
    return _followed(path).with_name(f"{path.stem}.partial{path.suffix}")


def lock(file: IO) -> bool:
    """Lock an open file as long as it stays open; False where another run has. Not all disks know locks."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
    return True


def _refuse_while_written(path: Path) -> None:
    """OutputError when another run's `partial_path` of the same file is at work."""
    partial = _partial_name(path)
    with suppress(OSError), partial.open("rb") as file:
        if not lock(file):
            raise OutputError(
                f"cannot write {path}: another run writes {partial} now; wait for it, or choose another name"
            )


def set_aside(path: str | Path) -> None:
    """Give what `partial_path` left of an earlier run other names, which nothing will be written to.

    A file that holds anything, `path` itself or its partial file, becomes `<stem>.1<suffix>`, or the first
    free number.

    Raises
    ------
    OutputError
        When it cannot be renamed, or another run is at work on it.
    """
    _refuse_while_written(Path(path))
    for earlier in (_followed(Path(path)), _partial_name(Path(path))):
        with output_errors(earlier):
            if earlier.is_file() and earlier.stat().st_size:
                names = (earlier.with_name(f"{earlier.stem}.{k}{earlier.suffix}") for k in itertools.count(1))
                earlier.rename(next(name for name in names if not name.exists()))


def refuse_foreign(path: str | Path, columns: Collection[str]) -> None:
    """OutputError where a table with these columns would replace a CSV file that holds something else: labels
    that somebody wrote, and whose name was mistaken."""
    path = Path(path)
    if path.suffix != ".csv" or not path.is_file():
        return
    with path.open("rb") as file:
        header = file.readline(200).decode(errors="replace").strip()
    if header and not set(columns) <= set(header.split(",")):
        raise OutputError(f"{path} is not from crowdcount; move it, or choose another name with -o")


def check_writable(path: str | Path, suffixes: Collection[str] = ()) -> None:
    """Find out before the work whether its result can be written; leaves nothing behind.

    Raises
    ------
    OutputError
        As `atomic_path` and `partial_path` would, or when the name ends in none of `suffixes` (".png", …; any
        if empty).
    """
    path = Path(path)
    _refuse_while_written(path)
    if suffixes and path.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise OutputError(f"cannot write {path}: expected a name ending in {known}; rename it")
    with output_errors(path), _create(_temporary(path), path) as file:
        Path(file.name).unlink()


def _temporary(path: Path) -> Path:
    return _followed(path).with_name(f".{path.stem}.{os.urandom(4).hex()}{path.suffix}")


def _followed(path: Path) -> Path:
    """What is written under the name `path`: of a link, what it leads to."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _create(temporary: Path, path: Path) -> IO[bytes]:
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "device or a pipe"
        raise OutputError(f"cannot write {path}: expected the name of a file, but it is a {kind}; "
                          "choose another name, or - for the standard output")
    return temporary.open("xb")


def _publish(temporary: Path, path: Path) -> None:
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(_followed(path))


def is_utf8(name: str | Path) -> bool:
    """Whether a file's name is text; the system also allows other bytes, on which OpenCV crashes."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def number_in(text: str) -> float:
    """`float(text)`, but that `1_0`, a slip of 1.0, is no number; ValueError."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def natural(name: str) -> list:
    """Sorting key that takes the numbers in a name by their size, of any length.

    >>> sorted(["img10.png", "img2.png", "img1b.png"], key=natural)
    ['img1b.png', 'img2.png', 'img10.png']
    """
    parts = [(part, part.lstrip("0")) for part in re.split("([0-9]+)", name)]  # every second one is a number
    return [(len(number), number, part) if k % 2 else part for k, (part, number) in enumerate(parts)]


class WholeWrites(io.FileIO):
    """A file without a buffer: a write is in the file as a whole or not at all.

    So a full disk shows at the write that meets it, the file ends with the one before, and nothing is left
    over that closing the file would stumble on. Closing cuts the file off at its position.
    """

    def write(self, data) -> int:
        start = self.tell()
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest:
                rest = rest[super().write(rest):]
        except OSError:
            self.seek(start)
            self.truncate()
            raise
        return size

    def reserve(self, size: int) -> None:
        """Take `size` bytes of the disk for the next writes, or raise OSError."""
        start = self.tell()
        self.write(bytes(size))
        self.seek(start)

    def close(self) -> None:
        if not self.closed:
            self.truncate()
        super().close()


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


def write_picture(path: str | Path, image_bgr: np.ndarray) -> None:
    """Write an image (H, W, 3) uint8 as its suffix tells, whole or not at all; OutputError."""
    import cv2

    _, encoded = cv2.imencode(Path(path).suffix, image_bgr)
    with atomic_path(path) as temporary:
        temporary.write_bytes(encoded.tobytes())


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
        raise error(f"expected a crowdcount {kind}, but {path} holds {_one_line(repr(found))}; "
                    "give another file")
    if version > max_version:
        raise error(f"{path} was written by a newer crowdcount (format {version}, this one reads up to "
                    f"{max_version}); update crowdcount")
    return arrays, meta


def read_npz(path: str | Path, error: type[CrowdCountError]) -> dict[str, np.ndarray]:
    """Read all arrays of an untrusted .npz file, without pickle and within `MAX_BYTES`.

    Raises
    ------
    CrowdCountError
        Of class `error`, one line, for whatever is wrong with the file.
    """
    path = Path(path)
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
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
        raise error(f"{path} is damaged or was not written by crowdcount ({_one_line(str(reason))}); "
                    "copy or make it again") from reason


def read_bytes(path: str | Path, most: int, kind: str, advice: str, error: type[CrowdCountError]) -> bytes:
    """Read an untrusted file of a `kind` that has at most so many bytes; `advice` says what to do if not.

    Raises
    ------
    CrowdCountError
        Of class `error`, one line, when it cannot be read or is larger.
    """
    with input_errors(path, error), Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise error(f"{path} is larger than any {kind} ({most >> 20} MiB); {advice}")
    return content


def csv_rows(path: Path, *kinds: Sequence[str]) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """The names of a table's columns, in small letters, and number and cells of each line of `csv_lines`.

    Parameters
    ----------
    path : Path
    kinds : sequences of str
        The columns that it must have, of each kind of table that it may be.

    Raises
    ------
    DatasetError
        When it is of no kind, a column stands twice, or, later, a line has more or fewer cells.
    """
    lines = csv_lines(path)
    header = [cell.strip().lower() for cell in next(lines, (1, []))[1]]
    named = [name for name in header if name]
    if len(set(named)) < len(named) or not any(set(columns) <= set(named) for columns in kinds):
        wanted = ", or ".join(f"{', '.join(columns[:-1])} and {columns[-1]}" for columns in kinds)
        found = f"found {','.join(header)[:80]!r}" if header else "found none"
        raise DatasetError(f"{path}, line 1: expected a header with the columns {wanted}, each once, "
                           f"{found}; add or correct it")

    def rows():
        for line, cells in lines:
            if len(cells) != len(header):
                raise DatasetError(f"{path}, line {line}: expected {len(header)} values, found {len(cells)}; "
                                   "correct it")
            yield line, dict(zip(header, cells, strict=True))

    return header, rows()


def csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that is not blank, of UTF-8 or of what spreadsheets write.

    Where the first line holds no comma, semicolons or tabs separate, as in many countries; or what a line
    `sep=;` before it tells a spreadsheet. Between semicolons, numbers may have a decimal comma; it is given
    as a point. What is not UTF-8 is UTF-16 with its mark, or Windows-1252.

    DatasetError when it is no such text; with the number of the line where a quotation mark is not closed,
    which would swallow the lines up to the next one.
    """
    done = 0
    try:
        with input_errors(path, DatasetError):
            text = _text(path)
        told = re.match(r"sep=([,;\t])\s*$", text, re.IGNORECASE | re.MULTILINE)
        first = next((line for line in text.splitlines() if line.strip()), "")
        delimiter = told[1] if told else next((mark for mark in ",;\t" if mark in first), ",")
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        for cells in lines:
            done = lines.line_num
            if told and done == 1:
                continue
            if any(cell.strip() for cell in cells):
                if delimiter == ";":
                    cells = [re.sub(r"^(\s*-?\d+),(\d+\s*[%s]?\s*)$", r"\1.\2", cell) for cell in cells]
                yield done, cells
    except (UnicodeDecodeError, csv.Error) as error:
        place = f" from line {done + 1} on, where a quotation mark may be left open" if done else ""
        raise DatasetError(
            f"{path} is not a text file of comma-separated values{place}; check the name, or save the table "
            "as CSV"
        ) from error


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(65_536)
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return (content + file.read()).decode("utf-16")
        if b"\0" in content:  # no text: a video may be long
            raise csv.Error("holds a zero byte")
        content += file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


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


def jsonable(content):
    """JSON content with None in the place of NaN and infinity, which JSON cannot hold, in dicts and lists
    too."""
    if isinstance(content, Mapping):
        return {name: jsonable(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [jsonable(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def same_file(one: Path, other: Path) -> bool:
    """Whether two names are one file, or would be."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


def refuse_to_replace(written: str | Path, *used: str | Path | None) -> None:
    """OutputError when a file to write, or its partial file, is one of those that are read, or written
    otherwise."""
    for name in (Path(written), _partial_name(Path(written))):
        if any(file is not None and same_file(name, Path(file)) for file in used):
            raise OutputError(f"{name} would be written over, but is used otherwise too; choose another name")


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:120]
