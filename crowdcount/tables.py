"""Tables as text: what people and their spreadsheets write."""

import codecs
import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from .errors import DatasetError
from .storage import input_errors

#: Of a number or a time (00:00:03,5), with its unit.
_DECIMAL_COMMA = re.compile(r"^(\s*-?(?:\d+:)*\d+),(\d+\s*[%s]?\s*)$")


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
    header, rows = table_rows(path)
    header = [name.lower() for name in header]
    named = [name for name in header if name]
    if len(set(named)) < len(named) or not any(set(columns) <= set(named) for columns in kinds):
        wanted = ", or ".join(f"{', '.join(columns[:-1])} and {columns[-1]}" for columns in kinds)
        found = f"found {','.join(header)[:80]!r}" if header else "found none"
        raise DatasetError(f"{path}, line 1: expected a header with the columns {wanted}, each once, "
                           f"{found}; add or correct it")
    return header, ((line, dict(zip(header, cells, strict=True))) for line, cells in rows)


def table_rows(path: Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of a table's columns, and number and cells of each line of `csv_lines` behind them.

    DatasetError, later, when a line has more or fewer cells.
    """
    lines = csv_lines(path)
    header = [cell.strip() for cell in next(lines, (1, []))[1]]

    def rows():
        for line, cells in lines:
            if len(cells) != len(header):
                raise DatasetError(f"{path}, line {line}: expected {len(header)} values, found {len(cells)}; "
                                   "correct it")
            yield line, cells

    return header, rows()


def csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that is not blank, of UTF-8 or of what spreadsheets write.

    Where the first line holds no comma, semicolons or tabs separate, as in many countries; or what a line
    `sep=;` before it tells a spreadsheet. Between semicolons, numbers and times may have a decimal comma; it
    is given as a point. What is not UTF-8 is UTF-16 with its mark, or Windows-1252.

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
                    cells = [_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in cells]
                yield done, cells
    except (UnicodeDecodeError, csv.Error) as error:
        place = f" from line {done + 1} on, where a quotation mark may be left open" if done else ""
        raise DatasetError(
            f"{path} is not a text file of comma-separated values{place}; check the name, or save the table "
            "as CSV"
        ) from error


def number_in(text: str) -> float:
    """`float(text)`; NaN for what is no number, as `1_0`, a slip of 1.0."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


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
