"""Places in a source's footage, and what their texts mean."""

import re
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral

from ..errors import VideoError

#: Frames behind a key frame from which on OpenCV, which goes back by 16, seeks to that one.
BEHIND_KEY = 17
_LONGEST_S = 1e9  # that is told by the clock


@dataclass(frozen=True)
class Position:
    """A place in a source: a 0-based frame number or seconds since the first frame; the other one is None."""

    frame: int | None = None
    time_s: float | None = None

    def reached(self, index: int, time_s: float) -> bool:
        """Whether the frame with this index and time lies at or behind the place."""
        if self.frame is not None:
            return index >= self.frame
        return time_s >= self.time_s - 1e-6

    def __str__(self) -> str:
        if self.frame is not None:
            return f"frame {self.frame}"
        if not 60 <= self.time_s < _LONGEST_S:
            return f"{self.time_s:g} s"
        text = str(timedelta(seconds=self.time_s))
        return text.rstrip("0") if "." in text else text


@dataclass(frozen=True)
class Landmark:
    """A frame of a file or an image that is found at once: its 0-based number, and its time stamp in the
    container, of an image its time (s).

    ``key`` is the number of the frame from which a seek to it is likely to decode, 0 where nobody looked.
    Made by :meth:`VideoSource.landmarks`, to start a later pass from.
    """

    frame: int
    stamp_s: float
    key: int

    def reached(self, index: int, time_s: float) -> bool:
        """Whether the frame with this index lies at or behind the place."""
        return index >= self.frame

    def decoded_after(self, frame: int | None) -> int:
        """About how many frames are decoded to get here from the one with this number; None: by a seek."""
        is_on_the_way = frame is not None and frame >= self.key
        return self.frame - (frame if is_on_the_way else self.key - BEHIND_KEY)

    def __str__(self) -> str:
        return f"frame {self.frame}"


def parse_position(text: str) -> Position:
    """Read "120" (frame number), "2.5s" (seconds), "HH:MM:SS.fff" or "MM:SS"; VideoError for other texts.

    >>> parse_position("00:01:02.5"), parse_position("1:02")
    (Position(frame=None, time_s=62.5), Position(frame=None, time_s=62.0))
    """
    if re.fullmatch(r"[0-9]{1,15}", text):
        return Position(frame=int(text))
    if match := re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]*)?|\.[0-9]+)s", text):
        return Position(time_s=float(match[1]))
    if match := re.fullmatch(r"(?:([0-9]{1,15}):)?([0-5]?[0-9]):([0-5][0-9](?:\.[0-9]*)?)", text):
        return Position(time_s=int(match[1] or 0) * 3600 + int(match[2]) * 60 + float(match[3]))
    raise _no_position(text)


def position_of(place: Position | Landmark | str | int | None) -> Position | Landmark | None:
    """A place given as text, see `parse_position`, or as a frame's number; VideoError for other types."""
    if place is None or isinstance(place, (Position, Landmark)):
        return place
    if isinstance(place, Integral):
        place = str(int(place))
    if not isinstance(place, str):
        raise _no_position(place)
    return parse_position(place)


def _no_position(found: object) -> VideoError:
    return VideoError(
        f"a position is a frame number (120), seconds (2.5s) or a time (HH:MM:SS, MM:SS), not {found!r}"
    )


def check_window(start: Position | Landmark | None, end: Position | None, every: int) -> None:
    """VideoError when the arguments of :meth:`VideoSource.frames` contradict each other."""
    if every < 1 or every % 1:
        raise VideoError(f"every must be 1 or more, a whole number, not {every}")
    if isinstance(start, Position) and end is not None:
        by_frame = None not in (start.frame, end.frame) and start.frame >= end.frame
        by_time = None not in (start.time_s, end.time_s) and start.time_s >= end.time_s
        if by_frame or by_time:
            raise VideoError(f"the end ({end}) must lie behind the start ({start})")
