"""Tables of any columns, written row by row as CSV, JSON lines or Parquet."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from .errors import DatasetError, OutputError
from .output import STANDARD_OUTPUT, StandardOutput, is_terminal_output
from .storage import WholeWrites, output_errors, partial_path

FORMATS = ("csv", "jsonl", "parquet")
#: Type of a column's values; a time like them where it holds times.
Column = type[int] | type[float] | type[str] | datetime
#: Of Parquet files: what is held in memory until it is written.
ROWS_PER_GROUP = 1000
_TIME_DECIMALS, _COUNT_DECIMALS = 6, 4
#: What to do where rows of counts were to be written, and pyarrow is missing.
_WITHOUT_PYARROW = "pip install pyarrow, or choose csv or jsonl"


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
def open_rows(target: str | Path, format: str, columns: Mapping[str, Column]) -> Iterator[RowWriter]:
    """Open a file, or the standard output for "-", for rows; gives what writes one.

    Everything is checked here, before the first row. Rows go to `<stem>.partial<suffix>` beside the file,
    which takes its final name when the body succeeds; when the body fails or is interrupted, the partial file
    is closed properly and stays, readable (removed when no row was written). An empty cell is null in jsonl
    and parquet, a list a text joined by ";" but in jsonl.

    Parameters
    ----------
    target : str or Path
        File to write, or "-".
    format : "csv", "jsonl" or "parquet"
    columns : dict of str to type
        Names of the columns, in order, with int, float or str; for a column of times a datetime like them.

    Raises
    ------
    OutputError
        When the target cannot be written, is a terminal for parquet, or pyarrow is missing for parquet.
    """
    if format not in FORMATS:
        raise ValueError(f"expected a format among {FORMATS}, not {format!r}")
    make_sink = {"csv": _CsvSink, "jsonl": _JsonLinesSink, "parquet": _ParquetSink}[format]
    check_format(target, format)
    if str(target) == "-":
        writer = RowWriter(make_sink(StandardOutput(), columns), STANDARD_OUTPUT)
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


def count_cell(value: float) -> float | None:
    """A number of people rounded to 1e-4; None when it is not finite."""
    return round(float(value), _COUNT_DECIMALS) if math.isfinite(value) else None


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
