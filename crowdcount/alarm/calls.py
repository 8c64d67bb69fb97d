"""What operators said of footage: too crowded or fine, of single frames or of stretches, or of a share."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from ..errors import DatasetError, VideoError
from ..learning.datasets.labelled import seconds_in
from ..tables import number_in, table_rows
from ..video import Position, parse_position

#: What a cell may say, in small letters, and the vote that it is; NaN: no vote.
WORDS = {"too crowded": 1.0, "crowded": 1.0, "1": 1.0, "fine": 0.0, "ok": 0.0, "0": 0.0}
WORDS |= dict.fromkeys(("unknown", "?", ""), math.nan)
_PLACES = ("frame", "start", "end")
_OTHERS = ("operator", "call", "share")
_IGNORED = ("note", "time_s", "time", "count")  # such as `crowdcount suggest` writes


@dataclass(frozen=True)
class Statement:
    """One cell of a file of calls: a vote or the share of a stretch that is too crowded.

    Attributes
    ----------
    start : Position
    end : Position or None
        The stretch, its end not included; a single frame k is k to k + 1, without end the frame at a time.
    value : float
        1 too crowded, 0 fine; for a share anything from 0 to 1.
    operator : str or None
        Who voted; None for a share.
    line : int
        Its line in the file.
    """

    start: Position
    end: Position | None
    value: float
    operator: str | None
    line: int


@dataclass(frozen=True, eq=False)
class Calls:
    """What was said of each of n frames.

    Attributes
    ----------
    votes : (n,) float64
        Share of the votes that say too crowded; NaN where nobody voted.
    shares : (n,) float64
        Mean share of the stretches around the frame for which one was given; NaN without any.
    bags : tuple of (rows, share)
        Row numbers of each stretch with a share, and the share.
    operators : tuple of str
    """

    votes: np.ndarray
    shares: np.ndarray
    bags: tuple[tuple[np.ndarray, float], ...]
    operators: tuple[str, ...]

    @property
    def confidence(self) -> np.ndarray:
        """(n,) confidence that it was too crowded: the votes, else the shares, else NaN."""
        return np.where(np.isnan(self.votes), self.shares, self.votes)

    def among(self, chosen: np.ndarray) -> Self:
        """What was said of the `chosen` frames, (n,) bool; a stretch's share is that of those in it."""
        rows = np.cumsum(chosen) - 1
        bags = tuple((rows[bag[chosen[bag]]], share) for bag, share in self.bags if chosen[bag].any())
        return replace(self, votes=self.votes[chosen], shares=self.shares[chosen], bags=bags)


def read_calls(path: str | Path) -> list[Statement]:
    """Read a CSV file of calls.

    A line speaks of one `frame` (from 0, or as a data set numbers its own), or of the stretch from `start` to
    `end` (a frame, 2.5s or HH:MM:SS; the end is not included), or where there is neither column of the frame
    at `time_s` (seconds or HH:MM:SS). It says `call` (with who said it in `operator`, if there are several),
    `share` (0.3 or 30%: how much of the stretch was too crowded), or has a column for each operator. Columns
    `note`, `time` and `count` are ignored, and `time_s` beside others.

    Raises
    ------
    DatasetError
        One line with the number of the wrong one.
    """
    path = Path(path)
    header, rows = table_rows(path)
    small = [name.lower() for name in header]
    voting = [name for name in header if name.lower() not in (*_PLACES, *_OTHERS, *_IGNORED)]
    voting += ["call"] if "call" in small else []
    has_place = any(columns <= set(small) for columns in ({"frame"}, {"start", "end"}, {"time_s"}))
    if not has_place or not (voting or "share" in small) or len(set(small)) < len(small):
        raise DatasetError(
            f"{path}, line 1: expected the columns frame, or start and end, or time_s, and call, share, "
            f"or one for each operator, each once, found {','.join(header)[:80]!r}; add what is missing"
        )
    statements = []
    for line, cells in rows:
        where = f"{path}, line {line}"
        row = dict(zip(small, (cell.strip() for cell in cells), strict=True))
        start, end = _stretch(row, where)
        for name in voting:
            text = row[name.lower()]
            value = WORDS.get(text.lower())
            if value is None:
                taken = f" in the column {name[:40]!r}, taken for an operator's" if name != "call" else ""
                raise DatasetError(
                    f"{where}: expected too crowded, fine or unknown, found {text[:40]!r}{taken}; "
                    + ("correct it, or name the column note" if taken else "correct it")
                )
            if not math.isnan(value):
                operator = name if name != "call" else row.get("operator") or "operator"
                statements.append(Statement(start, end, value, operator, line))
        if row.get("share"):
            statements.append(Statement(start, end, _share(row["share"], where), None, line))
    if not statements:
        raise DatasetError(f"{path}: expected calls (too crowded or fine) or shares, found none; add them")
    return statements


def _stretch(row: dict[str, str], where: str) -> tuple[Position, Position | None]:
    if not set(_PLACES) & set(row):
        return Position(time_s=seconds_in(row["time_s"], where)), None
    frame, start, end = (row.get(name, "") for name in _PLACES)
    if bool(frame) == bool(start or end) or bool(start) != bool(end):
        raise DatasetError(f"{where}: expected a frame, or a start and an end; correct it")
    try:
        first = _position(frame or start)
        if not frame:
            return first, _position(end)
        if first.frame is None:
            raise DatasetError(f"{where}: expected a frame number from 0, found {frame[:40]!r}; correct it")
        return first, Position(frame=first.frame + 1)
    except VideoError as error:
        raise DatasetError(f"{where}: {error}; correct it") from error


def _position(text: str) -> Position:
    """As `parse_position`, a frame's number also as pandas writes it in a column that has gaps: 12.0."""
    return parse_position(re.sub(r"(?<=[0-9])\.0*$", "", text))


def _share(text: str, where: str) -> float:
    value = number_in(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= value <= 1:
        raise DatasetError(f"{where}: expected a share such as 0.3 or 30%, found {text[:40]!r}; correct it")
    return value


def assign_calls(
    statements: Sequence[Statement], frames: np.ndarray, times_s: np.ndarray, where: str, step: int = 1
) -> Calls:
    """What the statements say of frames.

    Parameters
    ----------
    statements : sequence of Statement
    frames : (n,) int64
        Increasing numbers of frames.
    times_s : (n,) float64
        Their seconds since the first frame of the source.
    where : str
        The file of the statements, for messages.
    step : int
        One of so many frames is there: what is said of those between it and the next is said of it.

    Raises
    ------
    DatasetError
        When a statement speaks of no frame there is.
    """
    n = len(frames)
    said, crowded, shares, n_shares = np.zeros((4, n))
    bags = []
    for statement in statements:
        # Frames and times increase, so that whether one has reached a place does too.
        first = _first(statement.start, frames, times_s)
        behind = first + 1 if statement.end is None else _first(statement.end, frames, times_s)
        if first == behind > 0 and _stands_for(frames, first - 1, statement.start, step):
            first -= 1
        rows = np.arange(first, min(behind, n))
        if not len(rows):
            end = "" if statement.end is None else f" to {statement.end}"
            raise DatasetError(
                f"{where}, line {statement.line}: there is no measured frame from {statement.start}{end}; "
                f"correct it (there are frames {frames[0]} to {frames[-1]}, {times_s[0]:g} to "
                f"{times_s[-1]:g} s)"
            )
        if statement.operator is None:
            shares[rows] += statement.value
            n_shares[rows] += 1
            bags.append((rows, statement.value))
        else:
            crowded[rows] += statement.value
            said[rows] += 1
    operators = dict.fromkeys(s.operator for s in statements if s.operator is not None)
    return Calls(_ratio(crowded, said), _ratio(shares, n_shares), tuple(bags), tuple(operators))


def _first(position: Position, frames: np.ndarray, times_s: np.ndarray) -> int:
    """Row of the first frame at or behind a place; see `Position.reached`."""
    if position.frame is not None:
        return int(np.searchsorted(frames, position.frame))
    return int(np.searchsorted(times_s, position.time_s - 1e-6))


def _stands_for(frames: np.ndarray, row: int, place: Position, step: int) -> bool:
    """Whether a place behind a row's frame, and before the next, is less than `step` frames away from it."""
    if place.frame is not None:
        return place.frame - frames[row] < step
    return row + 1 < len(frames) and frames[row + 1] - frames[row] <= step


def _ratio(total: np.ndarray, number: np.ndarray) -> np.ndarray:
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
