"""OpenCV's capture, for two threads, quiet, and without senseless answers."""

import os
import threading
from collections.abc import Callable

import cv2
import numpy as np

from features.images import resized

#: cv2.CAP_PROP_PTS of OpenCV 4.11 and later: the stamp in the file, in frames; earlier ones tell 0.
STAMP_IN_FRAMES = 71

HIGHEST_FPS = 500.0  # above it the "rate" is a container's clock (1000, 90000), not a camera's
#: Pixels of a width over their height beyond this, or below its inverse, are a mistake of the file's.
_WIDEST_PIXEL = 4.0


class _Held:
    """Held by one thread at a time while it uses a capture, which another one may release meanwhile: then the
    first does so when it has ended. A `contextmanager` would take half as long as reading a packet."""

    def __init__(self, capture):
        self._capture = capture
        self._lock = threading.Lock()
        self._is_released = False

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()
        if self._is_released:
            self.release()

    def release(self) -> None:
        self._is_released = True
        if self._lock.acquire(blocking=False):
            try:
                self._capture.release()
            finally:
                self._lock.release()


class Capture:
    """A cv2.VideoCapture, or an `InterlacedVideo`, that one thread may release while another one reads it.

    ``tick`` is called whenever a frame or packet was grabbed.
    """

    def __init__(
        self, *arguments: object, reader: Callable | None = None, tick: Callable[[], None] | None = None
    ) -> None:
        self._tick = tick
        self._capture = (reader or cv2.VideoCapture)(*arguments)
        self._pixel_width = None  # over its height; told by an open video
        self._held = _Held(self._capture)

    def is_open(self) -> bool:
        with self._held:
            return self._capture.isOpened()

    def get(self, property_number: int) -> float:
        with self._held:
            return self._capture.get(property_number)

    def fps(self) -> float | None:
        """The announced rate in frames per second, None for an absurd one."""
        fps = self.get(cv2.CAP_PROP_FPS)
        return float(fps) if 0 < fps <= HIGHEST_FPS else None

    def codec(self) -> bytes:
        """The four letters that a codec goes by."""
        return int(self.get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little", signed=True)

    def frame_count(self) -> int | None:
        """The announced number of frames, None for an absurd one; too small or too large it may be anyway."""
        count = self.get(cv2.CAP_PROP_FRAME_COUNT)
        return int(count) if 0 < count < 2**31 else None

    def frames_before(self) -> int:
        """Frames by which a file's own clock is ahead of the stamps told here, once a frame was grabbed."""
        return max(0, round(self.get(STAMP_IN_FRAMES) - self.stamp_s() * self.get(cv2.CAP_PROP_FPS)))

    def go_to(self, stamp_s: float) -> None:
        with self._held:
            self._capture.set(cv2.CAP_PROP_POS_MSEC, stamp_s * 1000)

    def grab(self) -> bool:
        """Go on to the next frame, or packet; False where it does not decode, or there is none."""
        with self._held:
            is_grabbed = self._capture.grab()
        if is_grabbed and self._tick is not None:
            self._tick()
        return is_grabbed

    def stamp_s(self) -> float:
        """Time stamp of what was grabbed; 0 for a senseless one, which shows as not increasing."""
        stamp_s = self.get(cv2.CAP_PROP_POS_MSEC) / 1000
        return stamp_s if abs(stamp_s) < 1e9 else 0.0

    def is_key(self) -> bool:
        """Whether the packet that was grabbed is that of a key frame."""
        return bool(self.get(cv2.CAP_PROP_LRF_HAS_KEY_FRAME))

    def image(self) -> np.ndarray | None:
        """What was grabbed, (H, W, 3) uint8 BGR; None when it cannot be had. A raw packet is (1, n) uint8.

        Recorders keep half of the lines, or 960 columns for 768, and tell players how wide a pixel is: as
        they do, the picture is brought to square pixels by its width, or people would be twice as wide.
        """
        with self._held:
            decoded, image = self._capture.retrieve()
            if decoded and self._pixel_width is None:
                self._pixel_width = self._told_pixel_width()
        if not decoded or self._pixel_width == 1 or image.ndim < 3:
            return image if decoded else None
        width = max(1, round(image.shape[1] * self._pixel_width))
        shrinks = width < image.shape[1]
        return resized(image, (width, len(image)), cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)

    def _told_pixel_width(self) -> float:
        """Width of a pixel over its height as the video tells it; 1 where it tells none, or nonsense.

        OpenCV turns a picture that is to be shown turned, but tells the shape that its pixels have before.
        """
        width, height = (self._capture.get(side) for side in (cv2.CAP_PROP_SAR_NUM, cv2.CAP_PROP_SAR_DEN))
        if self._capture.get(cv2.CAP_PROP_ORIENTATION_META) in (90, 270):
            width, height = height, width
        is_sound = width > 0 and height > 0 and 1 / _WIDEST_PIXEL <= width / height <= _WIDEST_PIXEL
        return width / height if is_sound else 1.0

    def release(self) -> None:
        """Close it; a call that is under way in another thread does so when it ends. No image comes after."""
        self._held.release()


def silence_opencv() -> None:
    """Stop OpenCV and FFmpeg from writing to stderr, unless the user set their variables."""
    # AV_LOG_QUIET; OpenCV looks at it when the first capture is opened.
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    if "OPENCV_LOG_LEVEL" not in os.environ:
        # OpenCV before 4.13 has the first name, 5.0 the second.
        set_level = cv2.setLogLevel if hasattr(cv2, "setLogLevel") else cv2.utils.logging.setLogLevel
        set_level(0)
