"""Frames of video files, still images, cameras and streams, numbered and timed the same way on every pass.

A source is opened with :func:`open_source`, read with :meth:`VideoSource.frames` and closed by ``with``.

What is relied on, and what is not (observed alike on OpenCV 4.10, 4.14 and 5.0 unless noted):

- The announced number of frames may be negative, zero, too small or too large: it is only ever a hint.
- A packet that does not decode makes one ``grab()`` return False, and the next call goes on behind it; at
  the end of a file every call returns False. So a pass ends only after many failures in a row, and failures
  behind the last good frame cannot be told from the end: a source ends with its last frame that decodes.
- Decoders that reorder frames report the failure up to some frames before the gap appears, so a lost frame is
  placed by the gap in the container's time stamps (see :func:`_number`). A gap without a failed grab is a
  pause of the recording, not a loss. A frame whose damage the decoder conceals counts as decoded.
- Frame numbers count from the first packet that decodes or visibly fails. What a decoder drops silently
  before its first key frame (of a stream cut anywhere, or hidden by an MP4 edit list) has no number.
- When the size changes within a video, OpenCV 4.13 and later bring the frame to the first size by themselves,
  earlier versions return a wrong picture; neither gives a sign. So "resized" is seen among still images only.
- OpenCV 4.13 and later return unwritten memory for all frames of interlaced H.264 and MPEG-2, and call it a
  success; earlier versions decode them. A file that shows this is refused (see :func:`_is_stuck`), a stream
  is not examined.
- While FFmpeg opens a stream it reads about a second of it, and then gives these frames at once: their times,
  by this machine's clock, are nearly the same. The stream's own stamps do not tell how far they are behind
  before all are read, and later drift from this clock.
- OpenCV 4.10 reads an AVI file no further than its header announces.

Opening a source turns OpenCV's and FFmpeg's own messages off for the whole process, as every failure is
raised as a VideoError. Set the environment variables OPENCV_LOG_LEVEL or OPENCV_FFMPEG_LOGLEVEL to see them.
(libjpeg and libpng write what they find wrong with a damaged image to stderr by themselves.)
"""

import glob
import heapq
import itertools
import math
import os
import queue
import re
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import cv2
import numpy as np

from .errors import VideoError
from .storage import input_errors, is_utf8, natural

IMAGE_SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})

_DEFAULT_FPS = 25.0  # times frames where a file has neither usable time stamps nor a usable rate
_HIGHEST_FPS = 240.0  # above it the "rate" is a container's clock (1000, 90000), not a camera's
_LOWEST_FPS = 1e-6  # that can be given: a frame in 12 days; the highest is as far from 1
_FAILURES_AT_FILE_END = 10_000  # failed grabs in a row that end a file: 0.1 s of an MP4
_FAILURES_AT_ANNOUNCED_END = 1_000  # the same when it had as many frames as it announces
_FAILURES_AT_STREAM_END = 100
_RECONNECT_PAUSE_S = 1.0  # between trials to reach a stream again
_REORDER = 32  # frames by which a decoder may report a failure early, or a packet may be out of order
_BEFORE_SEEK = 32  # frames before the wanted one at which a seek aims: 1 s, and 16 of OpenCV's
_NEAR = 250  # a start within this many frames is reached by decoding up to it
_LONG = 8_000  # frames of a file beyond which seeking to a few costs less than decoding everything
_SHORTEST_S = 1e-4  # time stamps closer than this are not those of a camera
_SPACED = 64  # frames whose time stamps tell the rate of a file
_LEAST_STEPS = 1.5  # announced intervals between frames from which on the announced rate is not theirs
_ALIKE = 250  # first frames that are looked at for as long as they are identical


@dataclass(frozen=True)
class Frame:
    """One frame of a source.

    ``index`` is its 0-based number in the source, independent of start, end and every; ``time_s`` the seconds
    since the source's first frame (for a live source since its opening). ``image_bgr`` is (H, W, 3) uint8, or
    None when the frame could not be decoded. ``flags`` may hold "undecodable" and "resized": the frame had
    another size than the source's first one, and was brought to that (without regard to the aspect ratio).
    """

    index: int
    time_s: float
    image_bgr: np.ndarray | None
    flags: tuple[str, ...]


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
    def is_live(self) -> bool:
        """Whether the source is a camera or a stream, whose footage cannot be read again."""
        return self.kind in ("camera", "stream")


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
        return f"frame {self.frame}" if self.frame is not None else f"{self.time_s:g} s"


@dataclass(frozen=True)
class Landmark:
    """A frame of a file that is found at once: its 0-based number and its time stamp in the container (s).

    ``key`` is the number of the frame from which a seek to it is likely to decode, 0 where nobody looked.
    Made by :meth:`VideoSource.landmarks`, to start a later pass from.
    """

    frame: int
    stamp_s: float
    key: int

    def reached(self, index: int, time_s: float) -> bool:
        """Whether the frame with this index lies at or behind the place."""
        return index >= self.frame

    def __str__(self) -> str:
        return f"frame {self.frame}"


def parse_position(text: str) -> Position:
    """Read "120" (frame number), "2.5s" (seconds), "HH:MM:SS" or "HH:MM:SS.fff"; VideoError for other texts.

    >>> parse_position("00:01:02.5")
    Position(frame=None, time_s=62.5)
    """
    if re.fullmatch(r"[0-9]{1,15}", text):
        return Position(frame=int(text))
    if match := re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]*)?|\.[0-9]+)s", text):
        return Position(time_s=float(match[1]))
    if match := re.fullmatch(r"([0-9]{1,15}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]*)?)", text):
        return Position(time_s=int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]))
    raise VideoError(f"a position is a frame number (120), seconds (2.5s) or a time (HH:MM:SS), not {text!r}")


def check_window(start: Position | Landmark | None, end: Position | None, every: int) -> None:
    """VideoError when the arguments of :meth:`VideoSource.frames` contradict each other."""
    if every < 1:
        raise VideoError(f"every must be 1 or more, not {every}")
    if isinstance(start, Position) and end is not None:
        by_frame = None not in (start.frame, end.frame) and start.frame >= end.frame
        by_time = None not in (start.time_s, end.time_s) and start.time_s >= end.time_s
        if by_frame or by_time:
            raise VideoError(f"the end ({end}) must lie behind the start ({start})")


# A slot is one place in a source's sequence of frames: index, time in seconds, and a function that gives its
# image (None when it does not decode) as long as the next slot was not asked for.
_Slot = tuple[int, float, Callable[[], np.ndarray | None]]
#: What is made of a sampled image (H, W, 3) uint8 as soon as it is decoded.
Reduce = Callable[[np.ndarray], np.ndarray]


def _as_it_is(image: np.ndarray) -> np.ndarray:
    return image


class VideoSource(ABC):
    """An opened source of frames; made by :func:`open_source`, closed by ``with`` or :meth:`close`.

    Another thread may read it (see :func:`read_ahead`), also while it is closed.
    """

    info: SourceInfo

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = False
        self._captures: set[_Capture] = set()

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

    def images(self, marks: Iterable[Landmark]) -> Iterator[np.ndarray | None]:
        """The images (H, W, 3) uint8 of landmarks in increasing order; None for one that does not decode.

        They are those that passes from there begin with. Frames between two landmarks that a seek to the
        later one would decode anew are decoded once.
        """
        for mark in marks:
            with closing(self.frames(mark)) as found:
                yield next(found).image_bgr

    def frames(
        self, start: Position | Landmark | None = None, end: Position | None = None, every: int = 1
    ) -> Iterator[Frame]:
        """Every ``every``-th frame from ``start`` (included) to ``end`` (excluded), in order.

        Each call starts a pass of its own; a camera or stream can be read once only. A frame that does not
        decode is yielded without image. VideoError at once when the arguments contradict each other; while
        reading when no frame lies between start and end, a stream stops answering, or the source is closed.
        """
        self._check_open()
        check_window(start, end, every)
        return self._select(self._slots(start), start, end, every)

    @abstractmethod
    def sample(self, n: int, reduce: Reduce = _as_it_is) -> list[Frame]:
        """Up to ``n`` decodable frames, evenly spread over the whole source; the same on every call.

        Of each image only ``reduce(image)`` is kept. Which they are, `spread` says.

        A live source cannot be sampled and gives []. From a long file the frames are fetched by seeking,
        which may land beside the wanted frame and numbers it by its time: they serve to learn a scene.
        """

    @abstractmethod
    def _slots(self, start: Position | Landmark | None) -> Iterator[_Slot]:
        """The source's slots in order, from the first one, or from any at or before ``start``."""

    def _select(
        self, slots: Iterator[_Slot], start: Position | None, end: Position | None, every: int
    ) -> Iterator[Frame]:
        first = None
        with closing(slots):
            for index, time_s, read in slots:
                if end is not None and end.reached(index, time_s):
                    break
                if start is not None and not start.reached(index, time_s):
                    continue
                first = index if first is None else first
                if (index - first) % every == 0:
                    image = read()
                    self._check_open()
                    yield self._frame(index, time_s, image)
        if first is None:
            window = f"between {start or 'its first frame'} and {end or 'its end'}"
            raise VideoError(f"{self._name} has no frame {window}; choose another start or end")

    def _frame(
        self, index: int, time_s: float, image: np.ndarray | None, reduce: Reduce = _as_it_is
    ) -> Frame:
        if image is None:
            return Frame(index, time_s, None, ("undecodable",))
        if _size_wh(image) == self.info.size_wh:
            return Frame(index, time_s, reduce(image), ())
        resized = cv2.resize(image, self.info.size_wh, interpolation=cv2.INTER_AREA)
        return Frame(index, time_s, reduce(resized), ("resized",))

    @contextmanager
    def _capture(self, *arguments: object) -> Iterator["_Capture"]:
        capture = _Capture(*arguments)
        self._captures.add(capture)
        try:
            yield capture
        finally:
            self._captures.discard(capture)
            capture.release()

    def _check_open(self) -> None:
        if self._closed:
            raise VideoError(f"{self._name} was closed; open it again to read it")


def open_source(
    source: str | Path | int | Sequence[Path],
    *,
    fps: float | None = None,
    timeout_s: float = 10.0,
    reconnect_s: float = 0.0,
) -> VideoSource:
    """Open a video file, a folder or glob pattern of images, a list of images, a camera or a stream.

    - A whole number is a camera; a text with "://" is a stream (rtsp, http, …). A stream must begin to
      answer, and then bring each next frame, within ``timeout_s`` seconds. A camera or live stream that
      breaks off later is opened again, for ``reconnect_s`` seconds; the break shows as one undecodable frame.
    - An existing file is a video, or a still image when its name ends like one (IMAGE_SUFFIXES).
    - The images of a folder or pattern are taken in natural order (img2 before img10), those of a list as
      they come. Their ``time_s`` is index / ``fps``; without ``fps``, ``info.fps`` is None and one image per
      second is assumed for the times.
    - The times of a file, and of a stream that announces its length, are the container's time stamps as long
      as these increase, from there on one frame interval per frame; a given ``fps`` (for files and images
      only) overrules them. Frames of a camera or live stream are timed by this machine's clock.

    VideoError when the source is missing, empty, unreadable, no video, or has no frame that decodes; also for
    a ``reconnect_s`` of what is not live, and an ``fps`` of what is.
    """
    if fps is not None and not _LOWEST_FPS <= fps <= 1 / _LOWEST_FPS:
        raise VideoError(f"fps must be {_LOWEST_FPS:g} to {1 / _LOWEST_FPS:g} frames per second, not {fps}")
    if not 0 < timeout_s < math.inf:
        raise VideoError(f"timeout_s must be a positive number of seconds, not {timeout_s}")
    if not 0 <= reconnect_s < math.inf:
        raise VideoError(f"reconnect_s must be a number of seconds from 0, not {reconnect_s}")
    _silence_opencv()
    if isinstance(source, int):
        return _LiveSource(source, fps, timeout_s, reconnect_s)
    if not isinstance(source, (str, Path)):
        return _ImageSource([Path(path) for path in source], "the list of images", fps)
    text = str(source)
    if not is_utf8(text):
        raise VideoError(f"{text!a} cannot be opened: its name is not valid UTF-8; rename it")
    if "://" in text:
        return _LiveSource(text, fps, timeout_s, reconnect_s)
    if reconnect_s and not is_camera(text):
        raise VideoError(f"{text} is neither camera nor stream: it does not break off; leave out reconnect")
    if os.path.isdir(text):
        with input_errors(text, VideoError):
            paths = _images(path for path in Path(text).iterdir() if not path.name.startswith("."))
        return _ImageSource(paths, text, fps)
    if os.path.exists(text):
        _check_file(Path(text))
        is_image = Path(text).suffix.lower() in IMAGE_SUFFIXES
        return _ImageSource([Path(text)], text, fps) if is_image else _FileSource(text, fps)
    if is_camera(text):
        return _LiveSource(int(text), fps, timeout_s, reconnect_s)
    if glob.has_magic(text):
        folder, name = os.path.split(text)
        pattern = os.path.join(glob.escape(folder), name) if os.path.isdir(folder) else text
        return _ImageSource(_images(Path(path) for path in glob.glob(pattern)), text, fps)
    raise VideoError(f"{text} does not exist; give a video, a folder of images, a camera number or a URL")


def spread(n: int, count: int) -> list[int]:
    """Which n of `count` things are evenly spread, from 0; all, of fewer. Of n / 2, every second one of them.

    >>> spread(4, 10), spread(2, 10), spread(4, 3)
    ([0, 2, 5, 7], [0, 5], [0, 1, 2])
    """
    return sorted({k * count // n for k in range(n)})


def is_camera(source: str) -> bool:
    """Whether a source is the number of a camera: a whole number, not as long as a date, that is no file's
    name."""
    return re.fullmatch(r"[0-9]{1,7}", source) is not None and not os.path.exists(source)


class _NotOneToOneError(Exception):
    """A file's packets do not tell which frames it has."""


class _FileSource(VideoSource):
    """A file that OpenCV's FFmpeg decodes; every pass opens it anew."""

    def __init__(self, name: str, fps: float | None) -> None:
        super().__init__(name)
        self._path = os.path.join(".", name)  # in 08:00.mp4 FFmpeg sees the protocol 08
        self._given_fps = fps
        with self._video() as capture:
            codec = int(capture.get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little", signed=True)
            if not capture.is_open() or codec == b"ansi":  # FFmpeg draws a text file as a terminal would
                raise VideoError(
                    f"{name} cannot be read as a video: it is cut off, damaged or no video; "
                    "copy it again, or convert it with ffmpeg"
                )
            failures, stamp_s = _first_stamp(_stamps(capture))
            image = None if stamp_s is None else capture.image()
            if image is None:
                raise VideoError(
                    f"{name} has no frame that decodes (codec {codec.decode('latin-1')!r}): "
                    "convert it with ffmpeg, or copy it again if it is damaged"
                )
            self._own_fps = _sane_fps(capture.get(cv2.CAP_PROP_FPS))
            count = _sane_count(capture.get(cv2.CAP_PROP_FRAME_COUNT))
            with self._packets() as packets:
                if _is_stuck(capture, image, packets):
                    raise VideoError(
                        f"{name} decodes to one and the same picture, as interlaced video does with OpenCV "
                        f"{cv2.__version__}: deinterlace it (ffmpeg -i VIDEO -vf yadif NEW.mp4)"
                    )
                steps = 0.0 if self._own_fps is None else self._own_fps * _spacing_s(packets)
        if steps > _LEAST_STEPS:  # the recorder left frames out: neither rate nor length are the frames'
            self._own_fps /= steps
            count = count and round(count / steps)
        self._interval_s = 1 / (self._own_fps or _DEFAULT_FPS)
        self._origin_s = stamp_s - failures * self._interval_s
        self.info = SourceInfo(name, "file", _size_wh(image), fps or self._own_fps, count)

    def sample(self, n: int, reduce: Reduce = _as_it_is) -> list[Frame]:
        self._check_open()
        announced = self.info.frame_count or 0
        if announced > _LONG and self._own_fps is not None:
            frames = self._sample_by_seeking(n, announced / self._own_fps, reduce)
            if len(frames) > n // 2:
                return frames
        frames, count = self._sample_in_order(n, announced, reduce)
        if announced < 0.9 * count or (n - 1) * announced // n >= count:
            frames, _ = self._sample_in_order(n, count, reduce)
        return frames

    def _sample_by_seeking(self, n: int, duration_s: float, reduce: Reduce) -> list[Frame]:
        """Seek to n times; fewer frames, or none, when the duration is wrong or the file does not seek."""
        frames = []
        with self._video() as capture:
            for k in range(n):
                wanted_s = k / n * duration_s
                capture.go_to(wanted_s)
                if not capture.grab() or (image := capture.image()) is None:
                    continue
                found_s = capture.stamp_s() - self._origin_s
                if abs(found_s - wanted_s) < duration_s / n / 2:
                    index = round(found_s / self._interval_s)
                    frames.append(self._frame(index, self._time(index, found_s), image, reduce))
        return frames

    def _sample_in_order(self, n: int, count: int, reduce: Reduce) -> tuple[list[Frame], int]:
        """Decode everything, keeping n frames of the first `count`; these, and how many there are."""
        wanted = deque(spread(n, count))
        frames, index = [], -1
        with closing(self._slots(None)) as slots:
            for index, time_s, read in slots:
                if wanted and wanted[0] <= index and (image := read()) is not None:
                    frames.append(self._frame(index, time_s, image, reduce))
                    while wanted and wanted[0] <= index:
                        wanted.popleft()
        return frames, index + 1

    def landmarks(self, indices: Sequence[int]) -> list[Landmark] | None:
        self._check_open()
        found: list[Landmark] = []
        wanted = iter(indices)
        index = next(wanted, None)
        keys = deque([0])  # the frames from which a seek may decode
        try:
            for number, (stamp_s, is_key) in enumerate(self._packets_in_order()):
                if is_key:
                    keys.append(number)
                while len(keys) > 1 and keys[1] <= number - _BEFORE_SEEK:
                    keys.popleft()
                if number == index:
                    found.append(Landmark(number, stamp_s, keys[0]))
                    index = next(wanted, None)
                    if index is None:
                        break
        except _NotOneToOneError:
            return None
        return found

    def images(self, marks: Iterable[Landmark]) -> Iterator[np.ndarray | None]:
        self._check_open()
        here = -1  # number of the frame that was decoded last
        with self._video() as capture:
            for mark in marks:
                if (here >= mark.key and _advance(capture, mark.stamp_s)) or _seek(capture, mark.stamp_s):
                    here = mark.frame
                    yield self._frame(here, mark.stamp_s, capture.image()).image_bgr
                else:
                    here = -1
                    yield from super().images([mark])

    def _slots(self, start: Position | Landmark | None) -> Iterator[_Slot]:
        found = start
        if isinstance(start, Position):
            found = self._find(start)
        if found is not None:
            with self._video() as capture:
                if _seek(capture, found.stamp_s):
                    stamps = itertools.chain([found.stamp_s], _stamps(capture))
                    yield from self._read(capture, stamps, found.frame)
                    return
        with self._video() as capture:
            yield from self._read(capture, _stamps(capture), 0)

    def _read(self, capture: "_Capture", stamps: Iterable[float | None], first_index: int) -> Iterator[_Slot]:
        for index, time_s, decoded in _number(stamps, self._interval_s, self._origin_s, first_index):
            self._check_open()
            yield index, self._time(index, time_s), capture.image if decoded else _no_image
        self._check_open()

    def _time(self, index: int, time_s: float) -> float:
        return time_s if self._given_fps is None else index / self._given_fps

    def _find(self, start: Position) -> Landmark | None:
        """The frame at ``start``, from the packets alone: some 3 µs per frame.

        None when these do not tell, or when the start is near: then decoding up to it is exact.
        """
        if start.time_s is not None and self._given_fps is not None:
            start = Position(frame=int(start.time_s * self._given_fps))  # or one more
        if start.reached(_NEAR, _NEAR * self._interval_s):
            return None
        with suppress(_NotOneToOneError):
            for index, (stamp_s, _) in enumerate(self._packets_in_order()):
                if start.reached(index, stamp_s - self._origin_s):
                    return Landmark(index, stamp_s, key=0)
        return None

    def _packets_in_order(self) -> Iterator[tuple[float, bool]]:
        """Time stamp (s) of each frame in order, and whether it is a key frame, from the packets, but for the
        last `_REORDER` ones.

        _NotOneToOneError unless the packets prove to be the frames one to one: all read without failure,
        their stamps distinct, the first ones equal to those of the frames as decoded.
        """
        with self._video() as capture:
            decoded = list(itertools.islice(_stamps(capture), _REORDER))
        waiting: list[tuple[float, bool]] = []
        last_s, n_passed = -math.inf, 0
        with self._packets() as packets:
            while packets.grab():
                heapq.heappush(waiting, (packets.stamp_s(), packets.is_key()))
                if len(waiting) <= _REORDER:
                    continue
                stamp_s, is_key = heapq.heappop(waiting)
                if stamp_s - last_s < _SHORTEST_S or (n_passed < _REORDER and stamp_s != decoded[n_passed]):
                    raise _NotOneToOneError
                yield stamp_s, is_key
                last_s = stamp_s
                n_passed += 1

    def _video(self) -> AbstractContextManager["_Capture"]:
        return self._capture(self._path, cv2.CAP_FFMPEG)

    def _packets(self) -> AbstractContextManager["_Capture"]:
        """The file as packets that are not decoded: grab() goes to the next one, image() is its bytes."""
        return self._capture(self._path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])


class _ImageSource(VideoSource):
    """Still images, read one by one."""

    def __init__(self, paths: Sequence[Path], name: str, fps: float | None) -> None:
        super().__init__(name)
        if not paths:
            known = " ".join(sorted(IMAGE_SUFFIXES))
            below = _images(Path(name).glob("[!.]*/[!.]*"))
            advice = "give videos one by one, or their folder to crowdcount batch"
            if below:
                advice = f"{below[0].parent} has some: give that"
            raise VideoError(f"{name} has no image; these are known: {known}; {advice}")
        self._paths = tuple(paths)
        first = next((image for path in paths if (image := _read_image(path)) is not None), None)
        if first is None:
            raise VideoError(f"{name} holds no image that can be read; check or replace what is there")
        self.info = SourceInfo(name, "images", _size_wh(first), fps, len(paths))

    def sample(self, n: int, reduce: Reduce = _as_it_is) -> list[Frame]:
        self._check_open()
        count = len(self._paths)
        frames = []
        for k in range(n):
            for index in range(k * count // n, (k + 1) * count // n):
                if (image := _read_image(self._paths[index])) is not None:
                    frames.append(self._frame(index, self._time(index), image, reduce))
                    break
        return frames

    def _slots(self, start: Position | None) -> Iterator[_Slot]:
        for index, path in enumerate(self._paths):
            self._check_open()
            yield index, self._time(index), lambda path=path: _read_image(path)

    def _time(self, index: int) -> float:
        return index / (self.info.fps or 1.0)


class _LiveSource(VideoSource):
    """A camera or a stream: opened once, read once."""

    def __init__(self, source: int | str, fps: float | None, timeout_s: float, reconnect_s: float) -> None:
        self._is_camera = isinstance(source, int)
        super().__init__(f"camera {source}" if self._is_camera else _without_password(source))
        if fps is not None:
            raise VideoError(f"{self._name} keeps its own time; fps is for files and images, leave it out")
        self._source = source
        self._timeout_s, self._reconnect_s = timeout_s, reconnect_s
        self._was_read = False
        self._opened_at, self._opened = time.monotonic(), datetime.now()
        self._connect()
        try:
            self.info = self._start()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        if self._is_camera:
            self._device = _Capture(self._source)
        else:
            limit = math.ceil(min(self._timeout_s * 1000, 2**31 - 1))
            limits = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, limit, cv2.CAP_PROP_READ_TIMEOUT_MSEC, limit]
            self._device = _Capture(self._source, cv2.CAP_FFMPEG, limits)
        self._captures.add(self._device)
        if self._closed:  # by another thread, meanwhile
            self._device.release()

    def _start(self) -> SourceInfo:
        """Wait for the first frame."""
        waited_s = time.monotonic() - self._opened_at
        if not self._device.is_open():
            if self._is_camera:
                raise VideoError(f"{self._name} cannot be opened; check its number and that it is not in use")
            problem = "did not answer in time" if waited_s >= self._timeout_s else "cannot be read as a video"
            raise VideoError(f"{self._name} {problem} ({waited_s:.1f} s); check the address and the sender")
        fps = _sane_fps(self._device.get(cv2.CAP_PROP_FPS))
        count = None if self._is_camera else _sane_count(self._device.get(cv2.CAP_PROP_FRAME_COUNT))
        self._is_recorded = count is not None
        self._interval_s = 1 / (fps or _DEFAULT_FPS)
        self._failures, self._first_stamp_s = _first_stamp(self._unbroken_arrivals())
        image = None if self._first_stamp_s is None else self._device.image()
        if image is None:
            raise VideoError(f"{self._name} answers, but sends no frame that decodes; check its settings")
        kind = "camera" if self._is_camera else "stream"
        opened = None if self._is_recorded else self._opened
        return SourceInfo(self._name, kind, _size_wh(image), fps, count, opened)

    def sample(self, n: int, reduce: Reduce = _as_it_is) -> list[Frame]:
        self._check_open()
        return []

    def frames(
        self, start: Position | None = None, end: Position | None = None, every: int = 1
    ) -> Iterator[Frame]:
        if self._was_read:
            raise VideoError(f"{self._name} can be read once only; open it again")
        selected = super().frames(start, end, every)
        self._was_read = True
        return selected

    def _slots(self, start: Position | None) -> Iterator[_Slot]:
        arrivals = itertools.chain([None] * self._failures, [self._first_stamp_s], self._arrivals())
        if self._is_recorded:
            origin_s = self._first_stamp_s - self._failures * self._interval_s
            numbered = _number(arrivals, self._interval_s, origin_s, 0)
        else:
            numbered = _number_live(arrivals)
        for index, time_s, decoded in numbered:
            self._check_open()
            yield index, time_s, self._device.image if decoded else _no_image

    def _arrivals(self) -> Iterator[float | None]:
        """As `_unbroken_arrivals`, and None where what is live broke off and was opened again."""
        last_at = time.monotonic()
        while True:
            problem, failures = None, 0
            try:
                for arrival in self._unbroken_arrivals():
                    if arrival is None:
                        failures += 1
                        continue
                    yield from [None] * failures  # those at the end are the end
                    yield arrival
                    last_at, failures = time.monotonic(), 0
            except VideoError as error:
                problem = error
            if self._is_recorded or not self._open_again(last_at + self._reconnect_s):
                self._check_open()
                if problem is not None:
                    raise problem
                return
            yield None

    def _open_again(self, until: float) -> bool:
        """Open what broke off; False when it could not be opened until then, by the monotonic clock."""
        while not self._closed and time.monotonic() < until:
            self._captures.discard(self._device)
            self._device.release()
            self._connect()
            if self._device.is_open():
                return True
            time.sleep(_RECONNECT_PAUSE_S)
        return False

    def _unbroken_arrivals(self) -> Iterator[float | None]:
        """Advance frame by frame: its time in seconds, or None where a grab failed.

        The time is the container's stamp for a recording, seconds since the opening for what is live.
        """
        failures = 0
        while failures < _FAILURES_AT_STREAM_END:
            self._check_open()
            if failures == 0:
                waiting_since = time.monotonic()
            grabbed = self._device.grab()
            now = time.monotonic()
            # A stream that broke off still gives what it has of the last frame, but only when time is up.
            if now - waiting_since >= self._timeout_s:
                raise VideoError(f"{self._name} sent no frame for {self._timeout_s:g} s; check that it is on")
            failures = 0 if grabbed else failures + 1
            if not grabbed:
                yield None
            else:
                yield self._device.stamp_s() if self._is_recorded else now - self._opened_at
        if self._is_camera:
            raise VideoError(f"{self._name} sends no more frames; check that it is still plugged in")


class _Capture:
    """A cv2.VideoCapture that one thread may release while another one is reading it."""

    def __init__(self, *arguments: object) -> None:
        self._capture = cv2.VideoCapture(*arguments)
        self._lock = threading.Lock()

    def is_open(self) -> bool:
        with self._lock:
            return self._capture.isOpened()

    def get(self, property_number: int) -> float:
        with self._lock:
            return self._capture.get(property_number)

    def go_to(self, stamp_s: float) -> None:
        with self._lock:
            self._capture.set(cv2.CAP_PROP_POS_MSEC, stamp_s * 1000)

    def grab(self) -> bool:
        with self._lock:
            return self._capture.grab()

    def stamp_s(self) -> float:
        """Time stamp of what was grabbed; 0 for a senseless one, which shows as not increasing."""
        stamp_s = self.get(cv2.CAP_PROP_POS_MSEC) / 1000
        return stamp_s if abs(stamp_s) < 1e9 else 0.0

    def is_key(self) -> bool:
        """Whether the packet that was grabbed is that of a key frame."""
        return bool(self.get(cv2.CAP_PROP_LRF_HAS_KEY_FRAME))

    def image(self) -> np.ndarray | None:
        """What was grabbed, (H, W, 3) uint8 BGR; None when it cannot be had."""
        with self._lock:
            decoded, image = self._capture.retrieve()
        return image if decoded else None

    def release(self) -> None:
        """Waits for a call that is under way in another thread; grab() returns False after this."""
        with self._lock:
            self._capture.release()


@contextmanager
def read_ahead(items: Iterator, depth: int, *, latest: bool = False) -> Iterator[Iterator]:
    """Advance ``items`` in a second thread, up to ``depth`` items ahead of the one who takes them.

    ::

        with read_ahead(source.frames(), depth=4) as frames:
            for frame in frames:
                ...

    The order is kept, and an error of ``items`` is raised where its item would have come. When the block is
    left, however that happens, the thread has ended (it finishes the item it is fetching) and ``items``, if
    it is a generator, is closed. With ``latest``, the oldest item that waits gives way when the buffer is
    full, instead of holding up the thread: for a live source, where the dropped frames show as gaps in
    ``Frame.index``. ValueError for a depth below 1.
    """
    if depth < 1:
        raise ValueError(f"depth must be 1 or more, not {depth}")
    # Of C: an interrupt leaves no lock behind, as it may in a queue.Queue, which would then hang for ever.
    waiting: queue.SimpleQueue[tuple[str, object]] = queue.SimpleQueue()
    places: queue.SimpleQueue[None] = queue.SimpleQueue()
    for _ in range(depth):
        places.put(None)
    stop = threading.Event()

    def await_place() -> None:
        if latest:
            for either in (places, waiting):  # where none is free, the oldest gives way
                with suppress(queue.Empty):
                    either.get_nowait()
                    return
        places.get()

    def fetch() -> None:
        try:
            for item in items:
                await_place()
                if stop.is_set():
                    return
                waiting.put(("item", item))
        except BaseException as error:
            waiting.put(("error", error))
        else:
            waiting.put(("end", None))

    def take() -> Iterator:
        while True:
            kind, value = waiting.get()
            if kind == "error":
                raise value
            if kind == "end":
                return
            places.put(None)
            yield value

    thread = threading.Thread(target=fetch, name="read-ahead", daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        stop.set()
        places.put(None)  # for the one item that the thread may be holding; it looks at stop after that
        thread.join()
        if hasattr(items, "close"):
            items.close()


def _number(
    stamps: Iterable[float | None], interval_s: float, origin_s: float, index: int
) -> Iterator[tuple[int, float, bool]]:
    """Give every frame of a container its index and its time in seconds, and say whether it decoded.

    ``stamps`` holds the time stamp (s) of each frame that decoded and None for each failed grab,
    ``interval_s`` is the announced time between frames, ``origin_s`` the stamp of time 0, ``index`` the
    number of the first frame.

    While all steps between stamps are one interval (but for gaps at failures), every interval missing near a
    failure is a lost frame: a decoder also drops, silently, frames that depended on the lost one. Once the
    rate has varied, an interval may be missing because nothing was recorded, and no more frames are taken
    for lost than grabs failed. Lost frames are spread evenly over their gap. The first stamp that does not
    increase ends their use: from there on one interval per frame, one lost frame per failed grab.
    """
    trusted = regular = True
    failed = 0  # failures for which no lost frame was found yet
    since_failure = _REORDER
    shortest_s = math.inf
    last_s = time_s = None
    for stamp_s in stamps:
        if stamp_s is None:
            failed += 1
            since_failure = 0
            continue
        since_failure += 1
        if last_s is None:
            lost = failed
            now_s = stamp_s - origin_s
            time_s = now_s - (lost + 1) * interval_s
        elif trusted and stamp_s - last_s >= _SHORTEST_S:
            now_s = stamp_s - origin_s
            step_s = stamp_s - last_s
            intervals = step_s / interval_s
            lost = 0
            if since_failure > _REORDER:
                failed = 0
            elif regular:
                lost = max(round(intervals) - 1, 0)
            else:
                lost = min(failed, max(round(step_s / shortest_s) - 1, 0))
            regular = regular and abs(intervals - (lost + 1)) < 0.3
            shortest_s = min(shortest_s, step_s / (lost + 1))
        else:
            trusted = False
            lost = failed
            now_s = time_s + (lost + 1) * interval_s
        for k in range(1, lost + 1):
            yield index, time_s + (now_s - time_s) * k / (lost + 1), False
            index += 1
        yield index, now_s, True
        index += 1
        failed = max(failed - lost, 0)
        last_s, time_s = stamp_s, now_s


def _number_live(arrivals: Iterable[float | None]) -> Iterator[tuple[int, float, bool]]:
    """As _number for frames timed by the clock: each failed grab is a lost frame, timed with the next one."""
    failed = index = 0
    for time_s in arrivals:
        if time_s is None:
            failed += 1
            continue
        for _ in range(failed):
            yield index, time_s, False
            index += 1
        yield index, time_s, True
        index += 1
        failed = 0


def _silence_opencv() -> None:
    """Stop OpenCV and FFmpeg from writing to stderr, unless the user set their variables."""
    # AV_LOG_QUIET; OpenCV looks at it when the first capture is opened.
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    if "OPENCV_LOG_LEVEL" not in os.environ:
        # OpenCV before 4.13 has the first name, 5.0 the second.
        set_level = cv2.setLogLevel if hasattr(cv2, "setLogLevel") else cv2.utils.logging.setLogLevel
        set_level(0)


def _check_file(path: Path) -> None:
    """What can be said of a file before FFmpeg is asked."""
    if not path.is_file():
        raise VideoError(f"{path} is neither a file nor a folder; a camera is given by its number")
    with input_errors(path, VideoError), path.open("rb") as file:
        empty = not file.read(1)
    if empty:
        raise VideoError(f"{path} is empty (0 bytes); record or copy it again")


def _images(paths: Iterable[Path]) -> list[Path]:
    """Those that are named like images, in natural order: img2 before img10."""
    return sorted(
        (path for path in paths if path.suffix.lower() in IMAGE_SUFFIXES), key=lambda path: natural(str(path))
    )


def _read_image(path: Path) -> np.ndarray | None:
    """(H, W, 3) uint8 BGR image of a file, None if it is missing, damaged or cut off."""
    try:
        data = path.read_bytes()
        # OpenCV 4.10 fills what a cut-off JPEG lacks with grey. It lacks an end marker behind the last scan.
        if data.startswith(b"\xff\xd8") and data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
            return None
        return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    except (OSError, cv2.error):
        return None


def _stamps(capture: _Capture) -> Iterator[float | None]:
    """Advance a file frame by frame: its time stamp in seconds, or None where a grab failed."""
    announced = _sane_count(capture.get(cv2.CAP_PROP_FRAME_COUNT)) or math.inf
    n_grabs = failures = 0
    while failures < (_FAILURES_AT_FILE_END if n_grabs < announced else _FAILURES_AT_ANNOUNCED_END):
        n_grabs += 1
        if capture.grab():
            failures = 0
            yield capture.stamp_s()
        else:
            failures += 1
            yield None


def _first_stamp(stamps: Iterator[float | None]) -> tuple[int, float | None]:
    """Failed grabs before the first frame that decodes, and its stamp (None: there is none)."""
    failures = 0
    for stamp_s in stamps:
        if stamp_s is not None:
            return failures, stamp_s
        failures += 1
    return failures, None


def _seek(capture: _Capture, stamp_s: float) -> bool:
    """Go to the frame with exactly this stamp, ready to be retrieved; False if it is not met."""
    for earlier_s in (1, 10, 100):
        capture.go_to(max(stamp_s - earlier_s, 0))
        if _advance(capture, stamp_s):
            return True
    return False


def _advance(capture: _Capture, stamp_s: float) -> bool:
    """Grab up to the frame with exactly this stamp, ready to be retrieved; False if it is not met."""
    here_s = -math.inf
    while here_s < stamp_s and capture.grab():
        here_s = capture.stamp_s()
    return here_s == stamp_s


def _spacing_s(packets: _Capture) -> float:
    """Median time in seconds between the next frames; 0.0 where there are not two."""
    stamps_s = [packets.stamp_s() for _ in range(_SPACED) if packets.grab()]
    return float(np.median(np.diff(sorted(stamps_s)))) if len(stamps_s) > 1 else 0.0


def _is_stuck(capture: _Capture, image: np.ndarray, packets: _Capture) -> bool:
    """Whether the first frames come out all alike although their packets say that the picture changes.

    ``image`` is the first one; the rest is read from ``capture`` up to the first that differs, mostly the
    second. A frame that repeats the one before takes few bytes (half a byte per 16x16 block at most).
    """
    alike = 1
    while alike < _ALIKE and capture.grab():
        if not np.array_equal(capture.image(), image):
            return False
        alike += 1
    height, width = image.shape[:2]
    few_bytes = height * width / 512 + 200
    for _ in range(alike):
        if packets.grab() and not packets.is_key():
            packet = packets.image()
            if packet is not None and packet.size > few_bytes:
                return True
    return False


def _no_image() -> None:
    return None


def _size_wh(image: np.ndarray) -> tuple[int, int]:
    return image.shape[1], image.shape[0]


def _sane_fps(fps: float) -> float | None:
    return float(fps) if 0 < fps <= _HIGHEST_FPS else None


def _sane_count(count: float) -> int | None:
    return int(count) if 0 < count < 2**31 else None


def _without_password(url: str) -> str:
    return re.sub(r"(://[^/?#:@]*:)[^/?#]*@", r"\1***@", url, count=1)
