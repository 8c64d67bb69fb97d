"""What files, images and live sources have in common: frames, what is known beforehand, passes over them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import cv2
import numpy as np

from ..errors import NoFrameError, VideoError
from .ahead import read_ahead
from .capture import Capture
from .positions import Landmark, Position, check_window
from .turns import Turns

#: Rate that is assumed when a source states none, frames per second: still images, rarely taken.
ASSUMED_RATE = 1.0
#: Times frames where a container has neither usable time stamps nor a usable rate.
DEFAULT_FPS = 25.0
#: Frames that are decoded ahead in a second thread.
_AHEAD = 4

# A slot is one place in a source's sequence of frames: index, time in seconds, and a function that gives its
# image (None when it does not decode) as long as the next slot was not asked for.
Slot = tuple[int, float, Callable[[], np.ndarray | None]]
#: What is made of a sampled image (H, W, 3) uint8 as soon as it is decoded.
Reduce = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Frame:
    """One frame of a source.

    ``index`` is its 0-based number in the source, independent of start, end and every; ``time_s`` the seconds
    since the source's first frame (for a live source since its opening). ``image_bgr`` is (H, W, 3) uint8, or
    None when the frame could not be decoded, or its image was not asked for. ``flags`` may hold "undecodable"
    and "resized": the frame had another size, ``size_wh`` (None where nothing was decoded), than the source's
    first one, and was brought to that (without regard to the aspect ratio).
    """

    index: int
    time_s: float
    image_bgr: np.ndarray | None
    flags: tuple[str, ...]
    size_wh: tuple[int, int] | None = None


@dataclass(frozen=True)
class SourceInfo:
    """What is known of a source before it is read.

    ``kind`` is "file", "images", "camera" or "stream"; ``size_wh`` the size in pixels of the first frame that
    decodes; ``fps`` the rate in frames per second as given or announced, that of the first frames where a
    file's are much farther apart than announced, None when missing or absurd; ``frame_count`` the exact
    number of still images, an estimate for a file, None when unknown; ``name`` the source as it was given,
    without a URL's password; ``opened`` the local time at which ``time_s`` is 0, of a camera or stream that
    is timed by this machine's clock, else None.
    """

    name: str
    kind: str
    size_wh: tuple[int, int]
    fps: float | None
    frame_count: int | None
    opened: datetime | None = None

    @property
    def rate(self) -> float:
        """Frames per second; where none is known `DEFAULT_FPS` for a file, else `ASSUMED_RATE`."""
        return self.fps or (DEFAULT_FPS if self.kind == "file" else ASSUMED_RATE)

    @property
    def length_s(self) -> float:
        """About how long it is, seconds; 0 where that is unknown."""
        return (self.frame_count or 0) / self.rate

    @property
    def is_live(self) -> bool:
        """Whether the source is a camera or a stream, whose footage cannot be read again."""
        return self.kind in ("camera", "stream")


def as_it_is(image: np.ndarray) -> np.ndarray:
    return image


def no_image() -> None:
    return None


def size_wh(image: np.ndarray) -> tuple[int, int]:
    """Width and height of an image (H, W, …), pixels."""
    return image.shape[1], image.shape[0]


def spread(n: int, count: int) -> list[int]:
    """Which n of `count` things are evenly spread, from 0; all of fewer. For n / 2, every second of those.

    >>> spread(4, 10), spread(2, 10), spread(4, 3)
    ([0, 2, 5, 7], [0, 5], [0, 1, 2])
    """
    n = min(n, count)
    return [k * count // n for k in range(n)]


def first_reached(times_s: Sequence[float], frames: Iterable[tuple[int, float]]) -> list[int]:
    """Of numbered and timed frames in order, the number of the first one at or behind each of the times."""
    found = []
    for index, time_s in frames:
        while len(found) < len(times_s) and Position(time_s=times_s[len(found)]).reached(index, time_s):
            found.append(index)
        if len(found) == len(times_s):
            break
    return found


class VideoSource(ABC):
    """An opened source of frames; made by :func:`open_source`, closed by ``with`` or :meth:`close`.

    Another thread may read it (see :meth:`read_ahead`), also while it is closed.
    """

    info: SourceInfo

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = False
        self._captures: set[Capture] = set()
        #: From when to when, seconds, a camera or stream had broken off.
        self.absences: list[tuple[float, float]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free what the source holds; may be called again. A pass that goes on after it gets a VideoError."""
        self._closed = True
        while self._captures:
            self._captures.pop().release()

    def landmarks(self, indices: Sequence[int]) -> list[Landmark] | None:
        """Where later passes may start at once: of increasing frame numbers those that the source has.

        None when the source's frames cannot be told apart by their time stamps: then every start costs the
        decoding of all frames before it.
        """
        self._check_open()
        return None

    def reached(self, marks: Iterable[Landmark]) -> list[Landmark]:
        """Those of landmarks in increasing order from which passes start at once.

        The others do not decode, or come just behind frames that do not: a pass from there decodes all frames
        before it, if it finds any at all.
        """
        self._check_open()
        return list(marks)

    def images(self, marks: Iterable[Landmark]) -> Iterator[np.ndarray | None]:
        """The images (H, W, 3) uint8 of landmarks in increasing order; None for one that does not decode.

        They are those that passes from there begin with. Frames between two landmarks that a seek to the
        later one would decode anew are decoded once.
        """
        for mark in marks:
            with closing(self.frames(mark)) as found:
                yield next(found).image_bgr

    def frames(
        self,
        start: Position | Landmark | None = None,
        end: Position | None = None,
        every: int = 1,
        turns: Turns | None = None,
    ) -> Iterator[Frame]:
        """Every ``every``-th frame from ``start`` (included) to ``end`` (excluded), in order.

        Each call starts a pass of its own; a camera or stream can be read once only. A frame that does not
        decode is yielded without image; so is one that is not due, where ``turns`` are given, and that need
        not be converted from what was decoded. VideoError at once when the arguments contradict each other;
        while reading when no frame lies between start and end, a stream stops answering, or the source is
        closed.
        """
        self._check_open()
        check_window(start, end, every)
        return self._select(self._slots(start), start, end, every, turns or Turns(1))

    def ends_at(self, end: Position | None) -> float:
        """When a pass is over that ends there, by the monotonic clock; infinity where that does not tell."""
        return math.inf

    def read_ahead(
        self,
        frames: Iterator[Frame],
        end: Position | None,
        latest: bool = False,
        tick_s: float = math.inf,
    ) -> AbstractContextManager[Iterator[Frame | None]]:
        """Decode `frames` of this source, which stop at `end`, in a second thread; see `ahead.read_ahead`.

        There are ticks, `None` each, of what is timed by the clock alone.
        """
        depth = 1 if latest else _AHEAD
        until = self.ends_at(end)
        tick_s = math.inf if self.info.opened is None else tick_s
        is_live = self.info.is_live
        return read_ahead(frames, depth, latest=latest, is_live=is_live, until=until, tick_s=tick_s)

    def frames_at(self, indices: Sequence[int]) -> Iterator[Frame]:
        """Those of some frames, by increasing numbers, that the source has; without image where one does not
        decode. What lies between them is decoded only where that costs less than going to each.
        """
        self._check_open()
        return self._picked(indices, Position(frame=indices[0]))

    def indices_at(self, times_s: Sequence[float]) -> list[int]:
        """Number of the first frame at or behind each of some increasing times (s); of those behind the last
        frame, none."""
        self._check_open()
        with closing(self._slots(None)) as slots:
            return first_reached(times_s, ((index, time_s) for index, time_s, _ in slots))

    def _picked(self, indices: Sequence[int], start: Position | Landmark) -> Iterator[Frame]:
        wanted = set(indices)
        with closing(self._slots(start)) as slots:
            for index, time_s, read in slots:
                if index > indices[-1]:
                    return
                if index in wanted:
                    yield self._frame(index, time_s, read())

    @abstractmethod
    def sample(self, n: int, reduce: Reduce = as_it_is) -> list[Frame]:
        """Up to ``n`` decodable frames, evenly spread over the whole source; the same on every call.

        Of each image only ``reduce(image)`` is kept. Which they are, `spread` says.

        A live source cannot be sampled and gives []. Where that costs less than half, frames of a file are
        fetched by seeking, to just behind the nearest key frames, and numbered by their times: they serve to
        learn a scene.
        """

    @abstractmethod
    def _slots(self, start: Position | Landmark | None) -> Iterator[Slot]:
        """The source's slots in order, from the first one, or from any at or before ``start``."""

    def _select(
        self, slots: Iterator[Slot], start: Position | None, end: Position | None, every: int, turns: Turns
    ) -> Iterator[Frame]:
        first = time_s = None
        with closing(slots):
            for index, time_s, read in slots:
                if end is not None and end.reached(index, time_s):
                    time_s = None  # of a frame, though not the last
                    break
                if start is not None and not start.reached(index, time_s):
                    continue
                first = index if first is None else first
                if (index - first) % every:
                    continue
                is_due = turns.is_due(index, time_s)
                if read is not no_image and not is_due and not turns.is_before(index):
                    yield Frame(index, time_s, None, ())
                    continue
                image = read()
                self._check_open()
                if is_due and image is not None:
                    turns.taken(index, time_s)
                yield self._frame(index, time_s, image)
        if first is None:
            window = f"between {start or 'its first frame'} and {end or 'its end'}"
            last = "" if time_s is None else f" (the last one read is at {Position(time_s=time_s)})"
            raise NoFrameError(f"{self._name} has no frame {window}{last}; choose another start or end")

    def _frame(self, index: int, time_s: float, image: np.ndarray | None, reduce: Reduce = as_it_is) -> Frame:
        if image is None:
            return Frame(index, time_s, None, ("undecodable",))
        own_wh = size_wh(image)
        if own_wh == self.info.size_wh:
            return Frame(index, time_s, reduce(image), (), own_wh)
        resized = cv2.resize(image, self.info.size_wh, interpolation=cv2.INTER_AREA)
        return Frame(index, time_s, reduce(resized), ("resized",), own_wh)

    def _check_open(self) -> None:
        if self._closed:
            raise VideoError(f"{self._name} was closed; open it again to read it")
