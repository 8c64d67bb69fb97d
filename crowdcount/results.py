"""Counts per frame, and the files they are written to and read from."""

import csv
import io
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from .errors import DatasetError, OutputError, one_line
from .storage import WholeWrites, input_errors, output_error, output_errors, partial_path
from .tables import csv_rows

#: A count and its interval.
COUNTS = ("count", "low", "high")
COLUMNS = ("frame", "time_s", *COUNTS, "flags")
DIRECTIONS = ("right", "left")
FORMATS = ("csv", "jsonl", "parquet")
#: Flags of frames whose counts are not to be relied on: means and peaks do without them where they can.
UNRELIABLE = ("learning", "light_change", "camera_moved", "noisy", "blank", "frozen")
#: Those of them whose counts say nothing of who is there.
MEANINGLESS = ("learning", "blank", "frozen")
#: What is told of counts by a model of one camera in another region, or with other person heights.
OTHER_SCENE = (
    "the region or the person heights are not those in which the model learnt, and what it tells is not to "
    "be relied on: leave --scene out, or train with it"
)
#: Where fewer of the frames are reliable, it is told how many means and peaks are of.
MOST_RELIABLE = 0.9
#: Type of a column's values; a time like them where it holds times.
Column = type[int] | type[float] | type[str] | datetime
#: Of Parquet files: what is held in memory until it is written.
ROWS_PER_GROUP = 1000
_STANDARD_OUTPUT = "the standard output"
#: What to do where rows of counts were to be written, and pyarrow is missing.
_WITHOUT_PYARROW = "pip install pyarrow, or choose csv or jsonl"
_TIME_DECIMALS, _COUNT_DECIMALS = 6, 4
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


class RowWriter:
    """Where rows go; made by `open_rows`. `rows`: number of rows written."""

    def __init__(self, sink, destination: str):
        self.rows = 0
        self._sink = sink
        self._destination = destination

    def write(self, cells: dict) -> None:
        """Append one row, its cells in the order of the columns, None for an empty one.

        It is in the file when this returns (parquet: every 1,000 rows).

        Raises
        ------
        OutputError
            When it cannot be written (full disk, closed pipe); the rows before it stay readable.
        """
        with output_errors(self._destination):
            self._sink.write(cells)
        self.rows += 1

    def close(self) -> None:
        """Write what is held back; called by `open_rows`."""
        with output_errors(self._destination):
            self._sink.close()


@contextmanager
def open_writer(
    target: str | Path, format: str, start_time: datetime | None = None, directions: bool = False
) -> Iterator[Callable[[FrameCount], None]]:
    """Open a file, or the standard output for "-", for rows of counts; gives what writes one.

    Everything is checked here, before the first row. Rows go to `<stem>.partial<suffix>` beside the file,
    which takes its final name when the body succeeds; when the body fails or is interrupted, the partial file
    is closed properly and stays, readable by `read_counts` (removed when no row was written).

    Times are rounded to 1e-6 s, counts to 1e-4. Columns are `frame,time_s,count,low,high,flags`; flags are
    joined by ";" (a list in jsonl); NaN becomes an empty cell (null in jsonl and parquet).

    Parameters
    ----------
    target : str or Path
        File to write, or "-".
    format : "csv", "jsonl" or "parquet"
    start_time : datetime, optional
        Wall-clock time of `time_s` = 0; adds the column `time` (ISO 8601 to the millisecond; a timestamp in
        parquet) after `time_s`.
    directions : bool
        The rows tell right- and left-moving people: adds the columns `right` and `left` after `high`.

    Raises
    ------
    OutputError
        When the target cannot be written, is a terminal for parquet, or pyarrow is missing for parquet.
    """
    names = (*COUNTS, *(DIRECTIONS if directions else ()))
    columns = {"frame": int, **time_columns(start_time), **dict.fromkeys(names, float), "flags": str}
    with open_rows(target, format, columns) as rows:
        yield lambda row: rows.write(row_cells(row, start_time))


@contextmanager
def open_rows(target: str | Path, format: str, columns: Mapping[str, Column]) -> Iterator[RowWriter]:
    """Open a file, or the standard output for "-", for rows of any columns, as `open_writer` does for counts.

    Parameters
    ----------
    target, format
        As for `open_writer`.
    columns : dict of str to type
        Names of the columns, in order, with int, float or str; for a column of times a datetime like them.

    Raises
    ------
    OutputError
        As for `open_writer`.
    """
    if format not in FORMATS:
        raise ValueError(f"expected a format among {FORMATS}, not {format!r}")
    make_sink = {"csv": _CsvSink, "jsonl": _JsonLinesSink, "parquet": _ParquetSink}[format]
    check_format(target, format)
    if str(target) == "-":
        writer = RowWriter(make_sink(_StandardOutput(), columns), _STANDARD_OUTPUT)
        with _closing(writer):
            yield writer
        return
    with partial_path(target) as partial:
        with output_errors(target):
            file = WholeWrites(partial, "wb")
        with file:
            writer = RowWriter(make_sink(file, columns), str(target))
            with _closing(writer):
                yield writer


def check_format(target: str | Path, format: str) -> None:
    """OutputError when rows could not be written in a format: without pyarrow, or parquet to a terminal."""
    if format == "parquet":
        import_parquet(_WITHOUT_PYARROW)
        if str(target) == "-" and is_terminal_output():
            raise OutputError("parquet is not for a terminal: redirect the output, or choose csv or jsonl")


@contextmanager
def _closing(writer: RowWriter) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if writer.rows:
            with suppress(OutputError):  # the first error is the one to tell
                writer.close()
        raise
    writer.close()


def format_of(target: str | Path, advice: str = "") -> str:
    """The format of `FORMATS` that a file's name tells, CSV for "-"; OutputError, with advice, for none."""
    format = "csv" if str(target) == "-" else Path(target).suffix[1:].lower()
    if format not in FORMATS:
        known = " or ".join(f".{name}" for name in FORMATS)
        raise OutputError(f"cannot write {target}: expected a name ending in {known}{advice}")
    return format


def row_cells(row: FrameCount, start_time: datetime | None) -> dict:
    """A row as it is written, column by column: rounded, None for NaN; `time` only with a start time."""
    cells = {"frame": int(row.frame), **time_cells(row.time_s, start_time)}
    for name in (*COUNTS, *DIRECTIONS):
        value = getattr(row, name)
        if value is not None:
            cells[name] = count_cell(value)
    return cells | {"flags": list(row.flags)}


def time_columns(start_time: datetime | None) -> dict[str, Column]:
    """The columns of `time_cells`."""
    return {"time_s": float} | ({} if start_time is None else {"time": start_time})


def time_cells(time_s: float, start_time: datetime | None) -> dict:
    """`time_s` and, where the start is known, `time`; DatasetError when that is after the year 9999."""
    cells = {"time_s": round(float(time_s), _TIME_DECIMALS)}
    if start_time is not None:
        try:
            cells["time"] = start_time + timedelta(seconds=float(time_s))
        except OverflowError:
            raise DatasetError(f"expected times up to the year 9999, found {time_s:g} s after {start_time}; "
                               "correct the start time or the rate") from None
    return cells


def clock(seconds: float, decimals: int = 0) -> str:
    """Time since the start as h:mm:ss.

    >>> clock(3725.26, 1), clock(3599.6), clock(-90)
    ('1:02:05.3', '1:00:00', '-0:01:30')
    """
    ticks = round(seconds * 10**decimals)
    whole, part = divmod(abs(ticks), 10**decimals)
    text = f"{'-' * (ticks < 0)}{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{text}.{part:0{decimals}}" if decimals else text


def to_the_second(time: datetime) -> str:
    """A time of day, rounded as `clock` rounds.

    >>> to_the_second(datetime(2024, 5, 1, 8, 0, 3, 700_000))
    '2024-05-01 08:00:04'
    """
    return (time + timedelta(seconds=0.5)).isoformat(sep=" ", timespec="seconds")


def plural(count: int, what: str) -> str:
    """
    >>> plural(1, "video"), plural(2, "video")
    ('1 video', '2 videos')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def flagged(flags: Mapping[str, int]) -> str:
    """How many frames carry each flag, on one line."""
    return f"  frames flagged: {', '.join(f'{flag} {number}' for flag, number in sorted(flags.items()))}"


def count_cell(value: float) -> float | None:
    """A number of people rounded to 1e-4; None when it is not finite."""
    return round(float(value), _COUNT_DECIMALS) if math.isfinite(value) else None


def is_terminal_output() -> bool:
    """Whether the standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


class _StandardOutput:
    """The bytes of the standard output, passed on at once."""

    closed = False

    def __init__(self):
        if sys.stdout is None:
            raise OutputError(f"cannot write {_STANDARD_OUTPUT}: it is closed; give a file with -o")
        sys.stdout.flush()
        self._stream = sys.stdout.buffer

    def write(self, data) -> int:
        try:
            written = self._stream.write(data)
            self._stream.flush()
        except OSError:
            _discard(self._stream)
            raise
        return written

    def reserve(self, size: int) -> None:
        """There is nothing to reserve."""

    def flush(self) -> None:
        """Nothing is ever held back."""


def print_result(text: str) -> None:
    """Write a line of text to the standard output; OutputError when that fails."""
    with output_errors(_STANDARD_OUTPUT):
        _StandardOutput().write(f"{text}\n".encode(errors="backslashreplace"))


def lost_output(error: OSError) -> OutputError:
    """Give up the standard output, to which others print, where that raised an error."""
    _discard(sys.stdout)
    return output_error(_STANDARD_OUTPUT, error)


def print_note(line: str) -> None:
    """Write a text to the standard error, as one line whatever names of files are in it; where that fails, as
    on a full disk, the work goes on."""
    if sys.stderr is None:
        return
    try:
        print(one_line(line), file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def _discard(stream) -> None:
    """Let what remains in a stream's buffer, and what follows, go nowhere: it would raise once more when the
    interpreter ends."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


class _CsvSink:
    def __init__(self, file, columns: Mapping[str, Column]):
        self._file = file
        self._header = ",".join(columns) + "\n"

    def write(self, cells: dict) -> None:
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator="\n").writerow((joined(cells) | _iso_time(cells)).values())
        self._file.write((self._header + line.getvalue()).encode())
        self._header = ""

    def close(self) -> None:
        self._file.write(self._header.encode())


class _JsonLinesSink:
    def __init__(self, file, columns: Mapping[str, Column]):
        self._file = file

    def write(self, cells: dict) -> None:
        self._file.write((json.dumps(cells | _iso_time(cells), allow_nan=False) + "\n").encode())

    def close(self) -> None:
        """Every row is in the file already."""


class _ParquetSink:
    """Row groups of 1,000 rows, and the footer without which none of them can be read.

    Before a group is written, the disk space for it and for the footer is taken, so that a full disk costs
    the rows of that group and not the file.
    """

    def __init__(self, file, columns: Mapping[str, Column]):
        arrow, self._parquet = import_parquet(_WITHOUT_PYARROW)
        self._arrow = arrow
        kinds = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
        self._schema = arrow.schema({
            name: arrow.scalar(kind).type if isinstance(kind, datetime) else kinds[kind]
            for name, kind in columns.items()
        })
        self._file = file
        self._rows = []
        self._groups = 0
        self._writer = None

    def write(self, cells: dict) -> None:
        self._rows.append(joined(cells))
        if len(self._rows) == ROWS_PER_GROUP:
            self._write_group()

    def close(self) -> None:
        try:
            if self._rows or self._writer is None:
                self._write_group()
        finally:
            if self._writer is not None:
                self._writer.close()

    def _write_group(self) -> None:
        table = self._arrow.Table.from_pylist(self._rows, self._schema)
        self._rows = []
        self._groups += 1
        self._file.reserve(8192 + 2 * table.nbytes + 2048 * self._groups)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, self._schema)
        self._writer.write_table(table)


def import_parquet(cure: str = "pip install pyarrow"):
    """The modules pyarrow and pyarrow.parquet; OutputError saying what to do when they are missing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise OutputError(f"parquet files need pyarrow: {cure}") from None
    return pyarrow, pyarrow.parquet


def joined(cells: dict) -> dict:
    """The cells, lists as texts."""
    return {name: ";".join(cell) if isinstance(cell, list) else cell for name, cell in cells.items()}


def _iso_time(cells: dict) -> dict:
    return {"time": cells["time"].isoformat(timespec="milliseconds")} if "time" in cells else {}


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
