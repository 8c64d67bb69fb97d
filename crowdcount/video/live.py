"""Cameras and streams.

While FFmpeg opens a stream it reads about a second of it, and then gives these frames at once: their times,
by this machine's clock, are nearly the same. The stream's own stamps do not tell how far they are behind
before all are read, and later drift from this clock.
"""

import itertools
import math
import os
import re
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import cv2
import numpy as np

from ..errors import VideoError
from .ahead import read_ahead
from .capture import Capture
from .interlaced import INTERLACED, InterlacedVideo, interlaced_error, is_av_there, picture_changes
from .numbering import SHORTEST_S, first_stamp, numbered, numbered_live
from .positions import Position
from .source import DEFAULT_FPS, Frame, Reduce, Slot, SourceInfo, VideoSource, as_it_is, no_image, size_wh
from .turns import Turns

_FAILURES_AT_END = 100  # failed grabs in a row that end a stream
_RECONNECT_PAUSE_S = 1.0  # at least, from one connection to a stream to the next
_PASSWORD = re.compile(r"(://[^/?#:@\[]*:)(?:[^/?#]*|(?!\d+(?:[/?#]|$)).*)@")
#: A value that gives access; it ends where another one begins, even if but with an underscore.
_SECRET = re.compile(
    r"((?:\b|_)(?:login|user|auth|api|access)?(?:p|pass?(?:word|wd)?|pwd?|psw|auth|token|key|secret)=)"
    r"(?:(?!_[a-z]+=)[^&/;#])*",
    re.IGNORECASE,
)
_TIMED, _TIMED_S, _TIMED_BYTES = 16, 1.0, 100e6  # of the first frames, by which a rate is told: at the most
_ALIKE = 50  # first frames of a stream that are looked at for as long as they are identical


class LiveSource(VideoSource):
    """A camera or a stream: opened once, read once."""

    def __init__(self, source: int | str, fps: float | None, timeout_s: float, reconnect_s: float) -> None:
        self._is_camera = isinstance(source, int)
        super().__init__(f"camera {source}" if self._is_camera else without_password(source))
        if fps is not None:
            raise VideoError(f"{self._name} keeps its own time; fps is for files and images, leave it out")
        self._source = source
        self._timeout_s, self._reconnect_s = timeout_s, reconnect_s
        self._was_read = False
        self._reader = None  # OpenCV's
        self._opened_at, self._opened = time.monotonic(), datetime.now()
        try:
            if self._is_camera:  # where leave to use it is asked for, it is in the main thread
                next(self._opening())
            else:  # in another: an interrupt would wait for OpenCV, which waits for the sender
                with read_ahead(self._opening(), 1, is_live=True) as opening:
                    next(opening)
        except BaseException:
            self.close()
            raise

    def _opening(self) -> Iterator[None]:
        self._connect()
        self.info = self._start()
        if not self._is_camera and self._is_of_stills():
            if not self._is_recorded and not self._source.lower().startswith("rtsp"):  # whose stamps tell it
                self.info = replace(self.info, fps=self._rate_of_arrivals() or self.info.fps)
        elif not self._is_camera and self._is_stuck():
            self.info = self._start_anew()
        yield

    def _connect(self, as_packets: bool = False) -> None:
        self._connected_at = time.monotonic()
        if self._is_camera:
            self._device = Capture(self._source)
        else:
            limit = math.ceil(min(self._timeout_s * 1000, 2**31 - 1))
            told = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, limit, cv2.CAP_PROP_READ_TIMEOUT_MSEC, limit]
            told += [cv2.CAP_PROP_FORMAT, -1] * as_packets
            self._device = Capture(self._source, cv2.CAP_FFMPEG, told, reader=self._reader)
        self._captures.add(self._device)
        if self._closed:  # by another thread, meanwhile
            self._device.release()

    def _start(self) -> SourceInfo:
        """Wait for the first frame."""
        waited_s = time.monotonic() - self._opened_at
        if not self._device.is_open():
            if self._is_camera:
                raise VideoError(f"{self._name} cannot be opened; check its number and that it is not in use")
            check = "the address, with user name and password, and the sender"
            if waited_s >= self._timeout_s:
                problem = "did not answer in time"
            else:
                from .refusals import refusal  # takes time to load

                unknown = "cannot be read as a video", check
                problem, check = refusal(self._source, self._timeout_s) or unknown
            raise VideoError(f"{self._name} {problem} ({waited_s:.1f} s); check {check}")
        fps = self._device.fps()
        count = None if self._is_camera else self._device.frame_count()
        self._is_recorded = count is not None
        self._interval_s = 1 / (fps or DEFAULT_FPS)
        failures, first_s = first_stamp(self._unbroken_arrivals())
        image = None if first_s is None else self._device.image()
        self._origin_s = (first_s or 0) - failures * self._interval_s
        self._begun = [None] * failures + [first_s]  # arrivals that were awaited already …
        self._kept = deque([image])  # … and their images
        if image is None:
            raise VideoError(
                f"{self._name} answers, but sends no stream that decodes; check its settings, or fetch a "
                "single picture or a file first, and count that"
            )
        kind = "camera" if self._is_camera else "stream"
        opened = None if self._is_recorded else self._opened
        return SourceInfo(self._name, kind, size_wh(image), fps, count, opened)

    def _is_of_stills(self) -> bool:
        """Whether it is motion JPEG, which over HTTP tells no rate, and is never flagged as interlaced."""
        return self._device.codec().upper() == b"MJPG"

    def _rate_of_arrivals(self) -> float | None:
        """Frames per second by when the first ones come, for which FFmpeg says 25 whatever comes.

        The first two come at once, as it has read them by then. None where more do.
        """
        times_s, frame_bytes = [self._begun[-1]], 3 * math.prod(self.info.size_wh)
        for arrival, image in self._further_frames():
            self._kept.append(image)
            times_s.append(arrival)
            is_enough = len(times_s) * frame_bytes > _TIMED_BYTES or len(times_s) == _TIMED
            if len(times_s) > 2 and (is_enough or arrival - times_s[1] >= _TIMED_S):
                break
        if len(times_s) < 3:
            return None
        spacing_s = (times_s[-1] - times_s[1]) / (len(times_s) - 2)
        return float(f"{1 / spacing_s:.2g}") if spacing_s >= SHORTEST_S else None

    def _is_stuck(self) -> bool:
        """Whether the first frames are all alike, read up to the first that differs, mostly the second."""
        first = self._kept[0]
        for _, image in self._further_frames():
            is_alike = np.array_equal(image, first)
            self._kept.append(first if is_alike else image)  # not as much memory again
            if not is_alike or len(self._kept) == _ALIKE:
                return is_alike
        return False

    def _further_frames(self) -> Iterator[tuple[float, np.ndarray]]:
        """Arrivals and images of frames behind the first one; what is awaited is known to have come."""
        try:
            for arrival in self._unbroken_arrivals():
                self._begun.append(arrival)
                if arrival is not None:
                    yield arrival, self._device.image()
        except VideoError:  # the pass will meet it again
            pass
        while self._begun[-1] is None:  # those at the end are the end
            self._begun.pop()

    def _start_anew(self) -> SourceInfo:
        """Open a stream again that shows one and the same picture: by PyAV if that is as it is interlaced.

        VideoError if it is, and there is no PyAV. One that goes no further tells nothing: OpenCV reads it.
        """
        is_interlaced = False
        try:
            if is_av_there():
                self._reader = InterlacedVideo
                self._reconnect()
                info = self._start()
                grabs = itertools.chain([None], itertools.islice(self._unbroken_arrivals(), _ALIKE))
                if any(self._device.get(INTERLACED) for _ in grabs):
                    return info
            else:
                self._reconnect(as_packets=True)
                arrivals = itertools.islice(self._unbroken_arrivals(), 2 * _ALIKE)
                grabs = (arrival is not None for arrival in arrivals)
                is_interlaced = picture_changes(self._device, grabs, self.info.size_wh)
        except VideoError:
            pass
        if is_interlaced:
            raise interlaced_error(self._name, "let the camera or its recorder send progressive video")
        self._reader = None
        self._reconnect()
        return self._start()

    def sample(self, n: int, reduce: Reduce = as_it_is) -> list[Frame]:
        self._check_open()
        return []

    def frames(
        self,
        start: Position | None = None,
        end: Position | None = None,
        every: int = 1,
        turns: Turns | None = None,
    ) -> Iterator[Frame]:
        if self._was_read:
            raise VideoError(f"{self._name} can be read once only; open it again")
        selected = super().frames(start, end, every, turns)
        self._was_read = True
        return selected

    def ends_at(self, end: Position | None) -> float:
        is_timed = not self._is_recorded and end is not None and end.time_s is not None
        return self._opened_at + end.time_s if is_timed else math.inf

    def _slots(self, start: Position | None) -> Iterator[Slot]:
        arrivals = itertools.chain(self._begun, self._arrivals())
        if self._is_recorded:
            slots = numbered(arrivals, self._interval_s, self._origin_s, 0)
        else:
            slots = numbered_live(arrivals)
        for index, time_s, decoded in slots:
            self._check_open()
            read = self._device.image if decoded else no_image
            if decoded and self._kept:
                read = partial(as_it_is, self._kept.popleft())
            yield index, time_s, read

    def _arrivals(self) -> Iterator[float | None]:
        """As `_unbroken_arrivals`, and one None where what is live broke off and was opened again."""
        last_at, is_broken = time.monotonic(), False
        while True:
            problem, failures = None, 0
            try:
                for arrival in self._unbroken_arrivals():
                    if arrival is None:
                        failures += 1
                        continue
                    yield from [None] * failures  # those at the end are the end
                    if is_broken:
                        self.absences.append((last_at - self._opened_at, arrival))
                    yield arrival
                    last_at, failures, is_broken = time.monotonic(), 0, False
            except VideoError as error:
                problem = error
            if self._is_recorded or not self._open_again(last_at + self._reconnect_s):
                self._check_open()
                if self._reconnect_s and not self._is_recorded:
                    raise self._given_up(last_at) from problem
                if problem is not None:
                    raise problem
                return
            if not is_broken:  # else it was opened, but sent no frame
                yield None
            is_broken = True

    def _open_again(self, until: float) -> bool:
        """Open what broke off; False when it could not be opened until then, by the monotonic clock."""
        while not self._closed and time.monotonic() < until:
            self._reconnect()
            if self._device.is_open():
                return True
        return False

    def _given_up(self, last_at: float) -> VideoError:
        broke_off = self._opened + timedelta(seconds=last_at - self._opened_at)
        return VideoError(
            f"{self._name} broke off at {broke_off:%Y-%m-%d %H:%M:%S} and was given up after "
            f"{time.monotonic() - last_at:.0f} s; check that it is on, or try it for longer (--reconnect)"
        )

    def _reconnect(self, as_packets: bool = False) -> None:
        self._captures.discard(self._device)
        self._device.release()
        time.sleep(max(0.0, self._connected_at + _RECONNECT_PAUSE_S - time.monotonic()))
        self._connect(as_packets)

    def _unbroken_arrivals(self) -> Iterator[float | None]:
        """Advance frame by frame: its time in seconds, or None where a grab failed.

        The time is the container's stamp for a recording, seconds since the opening for what is live.
        """
        failures = 0
        while failures < _FAILURES_AT_END:
            self._check_open()
            if failures == 0:
                waiting_since = time.monotonic()
            grabbed = self._device.grab()
            now = time.monotonic()
            # A stream that broke off still gives what it has of the last frame, but only when time is up.
            if now - waiting_since >= self._timeout_s:
                raise VideoError(
                    f"{self._name} sent no frame for {self._timeout_s:g} s; check that it is on, "
                    "or wait longer (--timeout)"
                )
            failures = 0 if grabbed else failures + 1
            if not grabbed:
                yield None
            else:
                yield self._device.stamp_s() if self._is_recorded else now - self._opened_at
        if self._is_camera:
            raise VideoError(f"{self._name} sends no more frames; check that it is still plugged in")


def is_camera(source: str) -> bool:
    """Whether a source is the number of a camera: a whole number, not as long as a date, that is no file's
    name."""
    return re.fullmatch(r"[0-9]{1,7}", source) is not None and not os.path.exists(source)


def without_password(url: str) -> str:
    """The address with *** for its password, before the @ or, as recorders have it, in the path or query.

    A password may hold a / or # that should have been encoded; what begins as a port does is none.
    """
    return _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1***@", url, count=1))
