"""Interlaced video, which OpenCV from 4.13 on does not convert: read by PyAV, where that is installed."""

import importlib.util
import math
import os
import time
from collections import deque
from collections.abc import Iterable, Sequence

import cv2
import numpy as np

from ..errors import VideoError
from .capture import STAMP_IN_FRAMES, Capture

#: Property of an `InterlacedVideo`: whether the frame that was grabbed is interlaced.
INTERLACED = -1

_BEFORE_S = (0, 1, 10, 100)  # how long before a wanted time a key frame is looked for


def is_av_there() -> bool:
    """Whether PyAV, which is optional, is installed."""
    return importlib.util.find_spec("av") is not None


def interlaced_error(name: str, cure: str) -> VideoError:
    """What to do about a video that is interlaced while PyAV is missing; ``cure``: about the video itself."""
    return VideoError(
        f"{name} decodes to one and the same picture, as interlaced video does with OpenCV "
        f"{cv2.__version__}: install PyAV to read it (pip install av), {cure}, or take an older "
        "OpenCV (pip install 'opencv-python-headless<4.13')"
    )


def picture_changes(packets: Capture, grabs: Iterable[bool], size_wh: tuple[int, int]) -> bool:
    """Whether packets, not decoded, say that their picture changes; ``grabs`` takes one after the other.

    A frame that repeats the one before takes few bytes (half a byte per 16x16 block at most), or differs in
    few bytes from it where both are key frames.
    """
    few_bytes = math.prod(size_wh) / 512 + 200
    last_key = None
    for grabbed in grabs:
        packet = packets.image() if grabbed else None
        if packet is None:
            continue
        key = packet if packets.is_key() else None
        changed = packet.size
        if key is not None:
            changed = 0 if last_key is None else _differing_bytes(key, last_key)
        if changed > few_bytes:
            return True
        last_key = key
    return False


def _differing_bytes(one: np.ndarray, other: np.ndarray) -> int:
    """In how many places two packets (1, n) uint8 differ; what one is longer by is left out."""
    shared = min(one.size, other.size)
    return np.count_nonzero(one[0, :shared] != other[0, :shared])


class InterlacedVideo:
    """PyAV as a cv2.VideoCapture, as far as `Capture` knows one, with the same arguments.

    Frames, time stamps and failures are those of OpenCV. The two fields of a frame are woven, line by line,
    as OpenCV before 4.13 does: see docs/decisions/2026-11-25-interlaced.md.
    """

    def __init__(self, source: str, _: int, parameters: Sequence[int] = ()) -> None:
        import av

        self._errors = av.FFmpegError
        told = dict(zip(parameters[::2], parameters[1::2], strict=True))
        self._is_raw = told.get(cv2.CAP_PROP_FORMAT) == -1
        limits = (cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, cv2.CAP_PROP_READ_TIMEOUT_MSEC)
        limits_s = tuple(told[limit] / 1000 if limit in told else None for limit in limits)
        self._patience_s = limits_s[1] or math.inf
        self._container = self._packets = self._grabbed = None
        self._waiting = deque()  # what was read before it is grabbed
        self._needs_key = self._is_at_end = False
        options = {"rtsp_flags": "prefer_tcp"}  # as OpenCV has it
        # titles that are no UTF-8 are no failure: from 19 on they never are
        lenient = {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}
        try:
            self._container = av.open(source, options=options, timeout=limits_s, **lenient)
        except self._errors:
            return
        if not self._container.streams.video:
            self.release()
            return
        self._stream = self._container.streams.video[0]
        self._stream.codec_context.thread_count = int(os.environ.get("OPENCV_FFMPEG_THREADS", "0"))
        self._origin = self._stream.start_time or 0

    def isOpened(self) -> bool:
        return self._container is not None

    def get(self, number: int) -> float:
        if self._container is None:
            return 0.0
        fps = float(self._stream.guessed_rate or 0)
        shape = self._stream.sample_aspect_ratio
        codec = self._stream.codec_context.codec.canonical_name  # whatever the decoder is called
        duration_s = (self._container.duration or 0) / 1e6
        tell = {
            cv2.CAP_PROP_FPS: lambda: fps,
            cv2.CAP_PROP_FRAME_COUNT: lambda: self._stream.frames or math.floor(duration_s * fps + 0.5),
            cv2.CAP_PROP_FOURCC: lambda: int.from_bytes(codec[:4].encode(), "little"),
            cv2.CAP_PROP_SAR_NUM: lambda: shape.numerator if shape else 0,
            cv2.CAP_PROP_SAR_DEN: lambda: shape.denominator if shape else 1,
            cv2.CAP_PROP_POS_MSEC: lambda: self._stamp_s() * 1000,
            STAMP_IN_FRAMES: lambda: (self._stamp_s() + self._origin * self._stream.time_base) * fps,
            cv2.CAP_PROP_LRF_HAS_KEY_FRAME: lambda: self._grabbed.is_keyframe,
            cv2.CAP_PROP_ORIENTATION_META: lambda: 0 if self._is_raw else self._grabbed.rotation % 360,
            INTERLACED: lambda: self._grabbed.interlaced_frame,
        }
        return float(tell[number]()) if number in tell else 0.0

    def set(self, _: int, stamp_ms: float) -> None:
        """Go to a time: the first frame from there on is grabbed next, or a packet before it."""
        stamp_s = stamp_ms / 1000
        for before_s in _BEFORE_S:
            sought = self._seek(stamp_s - before_s) or self._seek(0)  # AVI has nothing before its beginning
            if not sought or self._is_raw:
                return
            is_met = self.grab()
            if is_met and (self._stamp_s() <= stamp_s or before_s > stamp_s):
                break
        if not is_met:
            return
        while self._stamp_s() < stamp_s and self.grab():
            pass
        self._waiting.appendleft(self._grabbed)

    def _seek(self, stamp_s: float) -> bool:
        if self._container is None:
            return False
        self._waiting.clear()
        self._packets = None
        self._needs_key, self._is_at_end = True, False
        place = self._origin + math.floor(stamp_s / self._stream.time_base)
        try:
            self._container.seek(place, stream=self._stream)
        except self._errors:
            return False
        return True

    def grab(self) -> bool:
        until = time.monotonic() + self._patience_s
        try:
            while not self._waiting:
                if self._container is None or self._is_at_end or time.monotonic() > until:
                    return False
                self._fetch()
        except self._errors:
            return False  # the next call goes on behind it
        self._grabbed = self._waiting.popleft()
        return True

    def _fetch(self) -> None:
        """Read a packet, of the sound too, and what frames it completes."""
        if self._packets is None:
            self._packets = self._container.demux()
        try:
            packet = next(self._packets)
        except self._errors:
            self._packets = None
            raise
        if packet.stream.index != self._stream.index:
            return
        self._is_at_end = packet.size == 0
        if self._needs_key and not packet.is_keyframe and packet.size:
            return  # the frames before it would be put together from nothing
        self._needs_key = False
        if not self._is_raw:
            self._waiting.extend(packet.decode())
        elif packet.size:
            self._waiting.append(packet)

    def _stamp_s(self) -> float:
        """Time of what was grabbed in the stream, seconds; 0 where it has none."""
        stamps = () if self._grabbed is None else (self._grabbed.pts, self._grabbed.dts)
        stamp = next((stamp for stamp in stamps if stamp is not None), self._origin)
        return float((stamp - self._origin) * self._stream.time_base)

    def retrieve(self) -> tuple[bool, np.ndarray | None]:
        """A frame (H, W, 3) uint8 BGR, turned as it is to be shown; a packet is (1, n) uint8."""
        if self._grabbed is None:
            return False, None
        if self._is_raw:
            return True, np.frombuffer(bytes(self._grabbed), np.uint8)[None]
        try:
            image = self._grabbed.to_ndarray(format="bgr24")
        except self._errors:
            return False, None
        return True, np.ascontiguousarray(np.rot90(image, round(self._grabbed.rotation / 90)))

    def release(self) -> None:
        if self._container is not None:
            self._container.close()
        self._container = self._packets = self._grabbed = None
        self._waiting.clear()
