"""When a recording began, as its container says: what OpenCV does not tell."""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

_MP4_EPOCH = datetime(1904, 1, 1, tzinfo=UTC)
_MATROSKA_EPOCH = datetime(2001, 1, 1, tzinfo=UTC)
#: Before it there was no digital camera, but clocks that were not set.
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_EBML, _SEGMENT, _INFO, _DATE = 0x1A45DFA3, 0x18538067, 0x1549A966, 0x4461
_MOST_ELEMENTS = 10_000  # of one level: a file is not trusted to end


def creation_time(path: str | Path) -> datetime | None:
    """Time in UTC at which a container says that its recording was made; None when it says nothing.

    MP4 and QuickTime (`mvhd`, ISO/IEC 14496-12, 8.2.2) and Matroska (`DateUTC`, RFC 9559, 5.1.2.10) are read.
    OSError when the file cannot be read.
    """
    with Path(path).open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(12)
        try:
            if head[:4] == _EBML.to_bytes(4):
                found = _of_matroska(file, size)
            elif head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
                found = _of_mp4(file, size)
            else:
                found = None
        except (struct.error, ValueError, OverflowError):  # cut off or damaged
            return None
    latest = datetime.now(UTC) + timedelta(days=1)
    return found if found is not None and _EARLIEST <= found <= latest else None


def _of_mp4(file: IO[bytes], size: int) -> datetime | None:
    for kind, start, end in _boxes(file, 0, size):
        if kind != b"moov":
            continue
        for inner, inner_start, _ in _boxes(file, start, end):
            if inner == b"mvhd":
                file.seek(inner_start)
                (version,) = struct.unpack(">Bxxx", file.read(4))
                (seconds,) = struct.unpack(*((">Q", file.read(8)) if version else (">I", file.read(4))))
                return _MP4_EPOCH + timedelta(seconds=seconds)
    return None


def _boxes(file: IO[bytes], start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Kind, start and end of the content of each box between two places."""
    for _ in range(_MOST_ELEMENTS):
        if start + 8 > end:
            return
        file.seek(start)
        size, kind = struct.unpack(">I4s", file.read(8))
        content = start + 8
        if size == 1:
            (size,) = struct.unpack(">Q", file.read(8))
            content += 8
        after = end if size == 0 else start + size
        if after < content or after > end:
            return
        yield kind, content, after
        start = after


def _of_matroska(file: IO[bytes], size: int) -> datetime | None:
    for kind, start, end in _elements(file, 0, size):
        if kind != _SEGMENT:
            continue
        for inner, inner_start, inner_end in _elements(file, start, end):
            if inner != _INFO:
                continue
            for item, item_start, item_end in _elements(file, inner_start, inner_end):
                if item == _DATE and item_end - item_start == 8:
                    file.seek(item_start)
                    (nanoseconds,) = struct.unpack(">q", file.read(8))
                    return _MATROSKA_EPOCH + timedelta(microseconds=nanoseconds // 1000)
    return None


def _elements(file: IO[bytes], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Identifier, start and end of the content of each EBML element between two places."""
    for _ in range(_MOST_ELEMENTS):
        if start >= end:
            return
        file.seek(start)
        identifier, _ = _variable_integer(file, keep_marker=True)
        size, length = _variable_integer(file, keep_marker=False)
        content = file.tell()
        after = end if size == (1 << 7 * length) - 1 else content + size  # all ones: unknown, to the end
        if after > end:
            return
        yield identifier, content, after
        start = after


def _variable_integer(file: IO[bytes], keep_marker: bool) -> tuple[int, int]:
    """An integer of EBML and the number of its bytes; ValueError where there is none."""
    first = file.read(1)
    if not first or not first[0]:
        raise ValueError("expected a length")
    length = 9 - first[0].bit_length()
    rest = file.read(length - 1)
    if len(rest) < length - 1:
        raise ValueError("cut off")
    lead = first[0] if keep_marker else first[0] & ((1 << 8 - length) - 1)
    return int.from_bytes(bytes([lead]) + rest), length
