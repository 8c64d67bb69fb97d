"""Files that are written whole or not at all, and what may be read and written."""

import errno
import io
import itertools
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from .errors import CrowdCountError, OutputError

if TYPE_CHECKING:  # takes a twentieth of a second to load, and complaints come from here
    import numpy as np

try:
    import fcntl
except ImportError:  # Windows: two runs at once are not noticed there
    fcntl = None


def output_error(path: str | Path, error: OSError) -> OutputError:
    """One line saying why `path` cannot be written and what to do about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "the disk is full; free some space or choose another place"
    elif error.errno == errno.EPIPE:
        why = "its reader has closed it"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        why = "writing there is not permitted; choose another folder"
    elif error.errno == errno.ENAMETOOLONG:
        why = "its name is too long; give a shorter one"
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


def refuse_locked(path: str | Path, kind: type[CrowdCountError]) -> None:
    """A `kind` of error where `path` may not be looked at, of which `os.path` says that it is not there."""
    try:
        os.stat(path)
    except PermissionError:
        raise kind(f"{path} cannot be read: no permission; change its permissions") from None
    except (OSError, ValueError):
        pass


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
        When the partial file cannot be created or renamed, was moved or removed, or another run writes to the
        same place, or, where the disk knows no locks, has begun to meanwhile. Errors of the body pass
        unchanged.
    """
    path = Path(path)
    partial = partial_name(path)
    _refuse_while_written(path)
    with output_errors(path):
        partial.unlink(missing_ok=True)
        ours = _create(partial, path)
    lock(ours)

    def loss() -> str | None:
        try:
            is_ours = os.path.samestat(os.fstat(ours.fileno()), partial.stat())
        except FileNotFoundError:
            return f"{partial} was moved or removed while it was written"
        return None if is_ours else f"another run writes to {partial} now"

    with ours:  # held open, so that no other file can pass for it
        try:
            yield partial
        except BaseException as error:
            with suppress(OSError):
                if lost := loss():
                    error.add_note(lost)
                elif partial.stat().st_size:
                    error.add_note(f"kept so far: {partial}")
                else:
                    partial.unlink()
            raise
        with output_errors(path):
            if lost := loss():
                raise OutputError(f"cannot write {path}: {lost}; choose another name")
    with output_errors(path):
        _publish(partial, path)


def partial_name(path: Path) -> Path:
    """What a file is called of which the beginning is kept: `<stem>.partial<suffix>`, beside it."""
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
    partial = partial_name(path)
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
    for earlier in (_followed(Path(path)), partial_name(Path(path))):
        with output_errors(earlier):
            if earlier.is_file() and earlier.stat().st_size:
                names = (earlier.with_name(f"{earlier.stem}.{k}{earlier.suffix}") for k in itertools.count(1))
                earlier.rename(next(name for name in names if not name.exists()))


def refuse_foreign(path: str | Path, columns: Collection[str], without: Collection[str] = ()) -> None:
    """OutputError where a table with these columns, and `without` others, would replace a CSV file that holds
    something else: labels that somebody wrote, or results of another kind, whose name was mistaken."""
    path = Path(path)
    if path.suffix.lower() != ".csv" or not os.path.isfile(path):
        return
    with input_errors(path, OutputError), path.open("rb") as file:
        header = file.readline(200).decode(errors="replace").strip()
    found = set(header.split(","))
    if header and not (set(columns) <= found and found.isdisjoint(without)):
        raise OutputError(f"{path} is there already and holds other columns than {', '.join(columns)}; "
                          "move it, or choose another name")


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
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def _create(temporary: Path, path: Path) -> IO[bytes]:
    """A new file that is to become `path`, with the permissions of one that is there, as far as the disk
    knows them; its owner may write it."""
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "device or a pipe"
        raise OutputError(f"cannot write {path}: expected the name of a file, but it is a {kind}; "
                          "choose another name, or - for the standard output")
    file = temporary.open("xb")
    if path.exists():
        with suppress(OSError):
            temporary.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IWUSR)
    return file


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


def name_error(name: str | Path, cure: str = "rename it") -> str:
    """Why a file's name is not text (`is_utf8`), and what to do about it: the `cure`, or about the locale."""
    try:
        os.fsencode(name).decode()
    except UnicodeError:
        return f"its name is not valid UTF-8; {cure}"
    return "its name is UTF-8, the locale is not: set LANG to a UTF-8 locale, or PYTHONUTF8=1"


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
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest:
                rest = rest[super().write(rest):]
        except OSError:
            self.seek(len(rest) - size, os.SEEK_CUR)
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


def write_picture(path: str | Path, image_bgr: "np.ndarray") -> None:
    """Write an image (H, W, 3) uint8 as its suffix tells, whole or not at all; OutputError."""
    import cv2

    _, encoded = cv2.imencode(Path(path).suffix, image_bgr)
    with atomic_path(path) as temporary:
        temporary.write_bytes(encoded.tobytes())


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


def file_identity(path: str | Path) -> tuple[int, int] | str:
    """What two names have in common that are one file, or would be."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    return found.st_dev, found.st_ino


def same_file(one: Path, other: Path) -> bool:
    """Whether two names are one file, or would be."""
    return file_identity(one) == file_identity(other)


def refuse_to_replace(written: str | Path, *used: str | Path | None) -> None:
    """OutputError when a file to write, or its partial file, is one of those that are read, or written
    otherwise."""
    refuse_any_to_replace([written], used)


def refuse_any_to_replace(written: Iterable[str | Path], used: Iterable[str | Path | None]) -> None:
    """As `refuse_to_replace`, of several files to write."""
    identities = {file_identity(file) for file in used if file is not None}
    for path in map(Path, written):
        for name in (path, partial_name(path)):
            if file_identity(name) in identities:
                raise OutputError(
                    f"{name} would be written over, but is used otherwise too; choose another name"
                )
