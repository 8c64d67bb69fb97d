"""Counts per frame, and the files they are written to and read from."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from .errors import DatasetError
from .rows import ROWS_PER_GROUP, count_cell, import_parquet, open_rows, time_cells, time_columns
from .storage import input_errors
from .tables import csv_rows
from .wording import clock, to_the_second

#: A count and its interval.
COUNTS = ("count", "low", "high")
COLUMNS = ("frame", "time_s", *COUNTS, "flags")
DIRECTIONS = ("right", "left")
#: Flags of frames whose counts are not to be relied on: means and peaks do without them where they can.
UNRELIABLE = ("learning", "light_change", "camera_moved", "noisy", "blank", "frozen")
#: Those of them whose counts say nothing of who is there.
MEANINGLESS = ("learning", "blank", "frozen")
#: Where fewer of the frames are reliable, it is told how many means and peaks are of.
MOST_RELIABLE = 0.9
#: No count of people and no place in pixels is larger: the sum of their squares is a number.
LARGEST = 1e9
#: Letters of a wrong row that are repeated.
_LONGEST_FOUND = 200
#: No time lies further away, in seconds: differences of any longer ones may overflow.
_LATEST_S = 1e18


@dataclass(frozen=True)
class FrameCount:
    """The people counted in one frame.

    Parameters
    ----------
    frame : int
        Number of the frame in its source, from 0.
    time_s : float
        Seconds since the source's first frame.
    count, low, high : float
        Estimated number of people in the region of interest (never negative) and the ends of its interval,
        all three NaN when the frame could not be decoded; 0 and infinity where nothing is known of it.
    flags : tuple of str
        What was unusual about the frame, such as "undecodable"; words without ";".
    right, left : float or None
        Right- and left-moving people, NaN where unknown; None when directions were not asked for.
    """

    frame: int
    time_s: float
    count: float
    low: float
    high: float
    flags: tuple[str, ...] = ()
    right: float | None = None
    left: float | None = None

    @property
    def is_reliable(self) -> bool:
        """Whether the frame carries no flag of `UNRELIABLE`."""
        return is_reliable(self.flags)


def is_reliable(flags: Iterable[str]) -> bool:
    """Whether none of a frame's flags is of `UNRELIABLE`."""
    return set(UNRELIABLE).isdisjoint(flags)


def is_meaningless(flags: Iterable[str]) -> bool:
    """Whether one of a frame's flags is of `MEANINGLESS`."""
    return not set(MEANINGLESS).isdisjoint(flags)


@dataclass
class CountSummary:
    """What a source's counts come to.

    Attributes
    ----------
    frames : int
        Frames counted, those that could not be decoded included.
    peak : FrameCount or None
        The first frame with the highest count, of the reliable ones if there are any; None when no frame
        could be decoded.
    flags : Counter of str
        Number of frames that carry each flag.
    expected : int or None
        Frames that there should have been, as the file states its length, where it ends early; else None.
    broke_off_s : float
        How long before the given end a camera or stream broke off, seconds; else 0.
    dropped : int
        Frames that were left out to keep up with a camera or stream.
    start_time : datetime or None
        Wall-clock time of `time_s` = 0, as far as it is known.
    seconds : float
        How long it took, from opening the source.
    """

    frames: int = 0
    peak: FrameCount | None = None
    flags: Counter = field(default_factory=Counter)
    expected: int | None = None
    broke_off_s: float = 0.0
    dropped: int = 0
    start_time: datetime | None = None
    seconds: float = 0.0
    _counted: int = 0
    _total: float = 0.0
    _is_reliable: bool = False

    def add(self, row: FrameCount) -> None:
        """Take one more frame in."""
        self.frames += 1
        self.flags.update(row.flags)
        if math.isnan(row.count) or (self._is_reliable and not row.is_reliable):
            return
        if row.is_reliable and not self._is_reliable:  # what the others told no longer counts
            self._is_reliable, self._counted, self._total, self.peak = True, 0, 0.0, None
        self._counted += 1
        self._total += row.count
        if self.peak is None or row.count > self.peak.count:
            self.peak = row

    @property
    def mean(self) -> float:
        """Mean count of the reliable frames, or of all that could be decoded; NaN without one."""
        return self._total / self._counted if self._counted else math.nan

    @property
    def peak_time(self) -> str:
        """When the peak was: by the clock where that is known, else since the source's first frame."""
        if self.start_time is None:
            return clock(self.peak.time_s, 1)
        return to_the_second(self.start_time + timedelta(seconds=self.peak.time_s))

    @property
    def n_reliable(self) -> int:
        """Number of frames that mean and peak are of, unless there is no reliable one: then 0."""
        return self._counted if self._is_reliable else 0

    @property
    def few_are_reliable(self) -> bool:
        """Whether mean and peak are of so few of the frames that their number is worth telling."""
        return 0 < self.n_reliable < MOST_RELIABLE * self.frames


@contextmanager
def open_writer(
    target: str | Path, format: str, start_time: datetime | None = None, directions: bool = False
) -> Iterator[Callable[[FrameCount], None]]:
    """Open a file, or the standard output for "-", for rows of counts, as `open_rows` does; gives what writes
    one. The partial file of a body that fails can be read by `read_counts`.

    Times are rounded to 1e-6 s, counts to 1e-4. Columns are `frame,time_s,count,low,high,flags`; flags are
    joined by ";" (a list in jsonl); NaN becomes an empty cell (null in jsonl and parquet).

    Parameters
    ----------
    target, format
        As for `open_rows`.
    start_time : datetime, optional
        Wall-clock time of `time_s` = 0; adds the column `time` (ISO 8601 to the millisecond; a timestamp in
        parquet) after `time_s`.
    directions : bool
        The rows tell right- and left-moving people: adds the columns `right` and `left` after `high`.

    Raises
    ------
    OutputError
        As for `open_rows`.
    """
    names = (*COUNTS, *(DIRECTIONS if directions else ()))
    columns = {"frame": int, **time_columns(start_time), **dict.fromkeys(names, float), "flags": str}
    with open_rows(target, format, columns) as rows:
        yield lambda row: rows.write(row_cells(row, start_time))


def row_cells(row: FrameCount, start_time: datetime | None) -> dict:
    """A row as it is written, column by column: rounded, None for NaN; `time` only with a start time."""
    cells = {"frame": int(row.frame), **time_cells(row.time_s, start_time)}
    for name in (*COUNTS, *DIRECTIONS):
        value = getattr(row, name)
        if value is not None:
            cells[name] = count_cell(value)
    return cells | {"flags": list(row.flags)}


def read_counts(path: str | Path) -> list[FrameCount]:
    """Read the rows of a file of `open_writer`, finished or partial; its suffix tells its format.

    Raises
    ------
    DatasetError
        When the file is missing or holds something else; with the number of the line or row.
    OutputError
        When pyarrow is missing for a parquet file.
    """
    return [_row(place, cells) for place, cells in _read_rows(Path(path))]


def read_start_time(path: str | Path) -> datetime | None:
    """Wall-clock time of `time_s` = 0 in a file of `open_writer`; None when it has no rows or no `time`.

    Raises
    ------
    DatasetError, OutputError
        As for `read_counts`.
    """
    for place, cells in _read_rows(Path(path)):
        row = _row(place, cells)
        time = cells.get("time")
        if time is None:
            return None
        try:
            time = time if isinstance(time, datetime) else datetime.fromisoformat(time)
            return time - timedelta(seconds=row.time_s)
        except (TypeError, ValueError, OverflowError):
            raise DatasetError(
                f"{place}: expected an ISO 8601 time, found {time!r} at {row.time_s:g} s; correct it"
            ) from None
    return None


def _read_rows(path: Path) -> Iterator[tuple[str, dict]]:
    """The place and the cells of each row."""
    readers = {".csv": _read_csv, ".jsonl": _read_json_lines, ".parquet": _read_parquet}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise DatasetError(f"expected counts in a {', '.join(readers)} file, found {path}; rename it")
    with input_errors(path, DatasetError):
        yield from readers[suffix](path)


def _row(place: str, cells: object) -> FrameCount:
    try:
        directions = DIRECTIONS if set(DIRECTIONS) <= set(cells) else ()
        names = ("time_s", *COUNTS, *directions)
        numbers = [math.nan if cells[name] is None else float(cells[name]) for name in names]
        if not abs(numbers[0]) <= _LATEST_S or numbers[1] < 0 or numbers[1] > LARGEST:
            raise ValueError
        flags = cells["flags"] or ()
        flags = tuple(flags.split(";") if isinstance(flags, str) else map(str, flags))
        return FrameCount(int(cells["frame"]), *numbers[:4], flags, *numbers[4:])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        wanted = ",".join(COLUMNS)
        raise DatasetError(f"{place}: expected values for {wanted}, the count 0 or more, found "
                           f"{str(cells)[:_LONGEST_FOUND]}; correct or remove it") from error


def _read_csv(path: Path) -> Iterator[tuple[str, dict]]:
    _, rows = csv_rows(path, COLUMNS)
    for line, texts in rows:
        yield f"{path}, line {line}", {name: text.strip() or None for name, text in texts.items()}


def _read_json_lines(path: Path) -> Iterator[tuple[str, object]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            place = f"{path}, line {number}"
            try:
                yield place, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DatasetError(f"{place}: expected one JSON object; correct or remove it") from error


def _read_parquet(path: Path) -> Iterator[tuple[str, dict]]:
    _, parquet = import_parquet()
    try:
        with path.open("rb") as file:
            batches = parquet.ParquetFile(file).iter_batches(ROWS_PER_GROUP)
            rows = chain.from_iterable(batch.to_pylist() for batch in batches)
            for number, cells in enumerate(rows, start=1):
                yield f"{path}, row {number}", cells
    except (ValueError, OverflowError) as error:  # of times that are none, too
        raise DatasetError(f"{path} is not a parquet file, or it is damaged; make it again") from error
