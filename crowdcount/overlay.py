"""What was counted or annotated, drawn into the frames, and the footage with it as a video."""

import math
import os
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import cv2
import numpy as np

from .errors import OutputError
from .results import FrameCount
from .storage import WholeWrites, is_utf8, name_error, output_error, partial_path
from .wording import clock

if TYPE_CHECKING:
    from .profile import Profile

_PROBE_BYTES = 1 << 16  # more than an encoder writes at once
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_CODECS = {".mp4": "mp4v", ".avi": "MJPG"}
OVERLAY_SUFFIXES = tuple(_CODECS)
_TINT_BGR, _OUTLINE_BGR, _WHITE_BGR, _PALE_BGR, _AMBER_BGR, _INK_BGR = (
    (70, 60, 240), (90, 220, 255), (255, 255, 255), (205, 205, 205), (60, 175, 255), (38, 38, 38))


class OverlayWriter:
    """Writes the footage with region of interest, foreground, count and interval drawn in, as a video.

    A context manager. Frames go to `<stem>.partial<suffix>` beside, which takes the name `path` when the body
    succeeds; when it fails or is interrupted, the partial video is closed properly and stays.

    Parameters
    ----------
    path : str or Path
        Video to write: .mp4 (MPEG-4) or .avi (motion JPEG).
    size_wh : (int, int)
        Width and height of the frames, pixels.
    fps : float
        Frames per second of the video: one at the least, as players show no fewer.
    start_time : datetime, optional
        Wall-clock time of `time_s` = 0, to be shown.

    Attributes
    ----------
    partial_path : Path
        The file being written until it takes its final name.

    Raises
    ------
    OutputError
        On entering, when the video cannot be begun; on leaving, when it did not become whole.
    """

    def __init__(
        self, path: str | Path, size_wh: tuple[int, int], fps: float, start_time: datetime | None = None
    ):
        self.path = Path(path)
        self.size_wh = size_wh
        self.fps = max(fps, 1.0)
        self._start_time = start_time

    def __enter__(self) -> Self:
        codec = _CODECS.get(self.path.suffix.lower())
        if not is_utf8(self.path):
            raise OutputError(f"cannot write {str(self.path)!a}: {name_error(self.path, 'choose another')}")
        if codec is None:
            raise OutputError(f"cannot write {self.path}: expected a name ending in {' or '.join(_CODECS)}")
        self._partial = partial_path(self.path)
        self.partial_path = self._partial.__enter__()
        self._name = os.path.abspath(self.partial_path)  # in 08:00.mp4 FFmpeg sees the protocol 08
        fourcc = cv2.VideoWriter.fourcc(*codec)
        self._frames = 0
        error = self._full()
        self._video = cv2.VideoWriter(self._name, cv2.CAP_FFMPEG, fourcc, self.fps, self.size_wh)
        if error or not self._video.isOpened():
            width, height = self.size_wh
            error = error or OutputError(
                f"cannot write {self.path}: OpenCV encodes no {codec} of {width}x{height} at "
                f"{self.fps:g} frames/s; try the other of {' and '.join(_CODECS)}")
            cause = OutputError()  # which is told where the file went that OpenCV removed
            self.__exit__(type(cause), cause, None)
            raise error
        self._last_bgr = np.zeros((self.size_wh[1], self.size_wh[0], 3), np.uint8)
        return self

    def write(self, frame_bgr: np.ndarray | None, roi: np.ndarray, foreground: np.ndarray | None,
              row: FrameCount, profile: "Profile | None" = None) -> None:
        """Append one frame.

        Parameters
        ----------
        frame_bgr : (H, W, 3) uint8 or None
            None for a frame that could not be decoded: the one before it is shown in its place.
        roi, foreground, row, profile
            As in `draw_overlay`.
        """
        if frame_bgr is not None:
            self._last_bgr = frame_bgr
        picture = draw_overlay(self._last_bgr, roi, foreground, row, profile, self._start_time)
        if picture.shape[1::-1] != self.size_wh:
            raise ValueError(f"expected frames of {self.size_wh}, found {picture.shape[1::-1]}")
        self._video.write(picture)
        self._frames += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._video.release()
        incomplete = self._incomplete() if error is None else None
        error = error or incomplete
        if not self._frames or (error is not None and not self._plays()):
            with suppress(FileNotFoundError):
                os.truncate(self.partial_path, 0)  # of which nothing is kept
        self._partial.__exit__(type(error) if error else None, error, traceback)
        if incomplete:
            raise incomplete

    def _plays(self) -> bool:
        """Whether a frame is found in what is written: in MP4 not without its end."""
        video = cv2.VideoCapture(self._name, cv2.CAP_FFMPEG)
        plays = video.isOpened() and video.read()[0]
        video.release()
        return plays

    def _full(self) -> OutputError | None:
        """Why nothing more can be written, of which no encoder tells; None where more fits."""
        try:
            with WholeWrites(self.partial_path, "r+b") as file:
                file.seek(0, os.SEEK_END)
                file.reserve(_PROBE_BYTES)
        except OSError as error:
            return output_error(self.path, error)
        return None

    def _incomplete(self) -> OutputError | None:
        """The encoder does not tell that the disk is full; but then nothing more fits, or frames lack."""
        if not self._frames:
            return OutputError(f"cannot write {self.path}: there is no frame to show; choose other frames")
        if error := self._full():
            return error
        video = cv2.VideoCapture(self._name, cv2.CAP_FFMPEG)
        found = round(video.get(cv2.CAP_PROP_FRAME_COUNT)) if video.isOpened() else 0
        video.release()
        if found != self._frames:
            return OutputError(f"cannot write {self.path}: only {found} of {self._frames} frames are in it; "
                               "free disk space or choose another place")
        return None


def draw_overlay(frame_bgr: np.ndarray, roi: np.ndarray, foreground: np.ndarray | None,
                 row: FrameCount, profile: "Profile | None" = None,
                 start_time: datetime | None = None) -> np.ndarray:
    """Draw what was counted into a copy of a frame.

    The foreground is tinted, the region of interest outlined and what lies outside it dimmed; a panel tells
    the count, its interval, the time, the frame's number and its flags. Where a profile is given, a heat
    strip at the right edge shows the density of people over the depth, each band beside the image rows it
    covers.

    Parameters
    ----------
    frame_bgr : (H, W, 3) uint8
    roi : (H, W) bool
        Region of interest, where the frame shows it.
    foreground : (h, w) bool or None
        Foreground at any resolution, where the frame shows it.
    row : FrameCount
    profile : Profile, optional
    start_time : datetime, optional
        Wall-clock time of `time_s` = 0; the time by the clock is told too.

    Returns
    -------
    (H, W, 3) uint8
    """
    height, width = frame_bgr.shape[:2]
    scale = max(height / 480, 0.75)
    picture = frame_bgr.copy()
    if foreground is not None:
        mask = cv2.resize(foreground.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
        tint = cv2.addWeighted(picture, 0.55, np.full_like(picture, _TINT_BGR), 0.45, 0)
        cv2.copyTo(tint, mask, picture)
    _show_region(picture, roi, scale)
    if profile is not None:
        _draw_strip(picture, profile, scale)
    _draw_panel(picture, row, scale, start_time)
    return picture


def _draw_strip(picture: np.ndarray, profile: "Profile", scale: float) -> None:
    """The density over depth in a strip along the right edge, over a darkened ground."""
    width, margin = round(20 * scale), round(5 * scale)
    right = picture.shape[1] - margin
    edges = np.rint(profile.rows).astype(int)
    _darken(picture[max(0, edges[0] - 2) : edges[-1] + 2, right - width - 2 : right + 2])
    levels = np.clip(np.rint(255 * profile.density / profile.strongest), 0, 255).astype(np.uint8)
    colours = cv2.applyColorMap(levels[:, None], cv2.COLORMAP_INFERNO)[:, 0]
    for top, bottom, colour in zip(edges[:-1], edges[1:], colours, strict=True):
        picture[top:bottom, right - width : right] = colour


def draw_annotations(frame_bgr: np.ndarray, roi: np.ndarray, points: np.ndarray | None = None,
                     boxes: np.ndarray | None = None) -> np.ndarray:
    """Draw the people that were annotated into a copy of a frame, and the region of interest.

    Parameters
    ----------
    frame_bgr : (H, W, 3) uint8
    roi : (H, W) bool
        Region of interest: outlined, and what lies outside it dimmed.
    points : (k, 2) float64, optional
        Heads (x, y) in pixels, where pixel (c, r) covers [c, c + 1) x [r, r + 1).
    boxes : (k, 4) float64, optional
        Boxes (left, top, width, height), in the same coordinates.

    Returns
    -------
    (H, W, 3) uint8
    """
    scale = max(frame_bgr.shape[0] / 480, 0.75)
    picture = frame_bgr.copy()
    for left, top, width, height in [] if boxes is None else np.rint(boxes).astype(int).tolist():
        cv2.rectangle(picture, (left, top), (left + width - 1, top + height - 1), _AMBER_BGR,
                      max(1, round(1.5 * scale)), cv2.LINE_AA)
    for x, y in [] if points is None else np.rint(points - 0.5).astype(int).tolist():
        cv2.circle(picture, (x, y), round(4 * scale), _INK_BGR, -1, cv2.LINE_AA)
        cv2.circle(picture, (x, y), round(3 * scale), _AMBER_BGR, -1, cv2.LINE_AA)
    _show_region(picture, roi, scale)
    return picture


def _show_region(picture: np.ndarray, roi: np.ndarray, scale: float) -> None:
    """Outline the region of interest and dim what lies outside it."""
    if roi.all():
        return
    outside = (~roi).astype(np.uint8)
    cv2.copyTo(cv2.convertScaleAbs(picture, alpha=0.6), outside, picture)
    outlines, _ = cv2.findContours(1 - outside, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    cv2.polylines(picture, outlines, True, _OUTLINE_BGR, max(1, round(1.5 * scale)), cv2.LINE_AA)


def _draw_panel(picture: np.ndarray, row: FrameCount, scale: float, start_time: datetime | None) -> None:
    """The texts in the upper left corner, over a darkened ground."""
    counted = math.isfinite(row.count)
    lines = [(f"{row.count:.1f}" if counted else "--", 1.1, _WHITE_BGR)]
    if math.isfinite(row.high):
        lines.append((f"{row.low:.1f} to {row.high:.1f} people", 0.45, _PALE_BGR))
    if row.right is not None and math.isfinite(row.right):
        lines.append((f"{row.left:.1f} < left   right > {row.right:.1f}", 0.45, _PALE_BGR))
    lines.append((f"{clock(row.time_s, 1)}   frame {row.frame}", 0.45, _PALE_BGR))
    if start_time is not None:
        lines.append((f"{start_time + timedelta(seconds=row.time_s):%Y-%m-%d %H:%M:%S}", 0.45, _PALE_BGR))
    lines += [(flag.replace("_", " "), 0.45, _AMBER_BGR) for flag in row.flags]

    margin = round(10 * scale)
    placed, bottom, right = [], margin, 0
    for text, size, colour in lines:
        thickness = max(1, round(2 * size * scale))
        (text_width, text_height), _ = cv2.getTextSize(text, _FONT, size * scale, thickness)
        bottom += text_height + round(7 * scale)
        right = max(right, text_width)
        placed.append((text, bottom, size * scale, colour, thickness))
    _darken(picture[margin // 2:bottom + margin, margin // 2:right + 2 * margin])
    for text, bottom, size, colour, thickness in placed:
        cv2.putText(picture, text, (margin, bottom), _FONT, size, colour, thickness, cv2.LINE_AA)


def _darken(part: np.ndarray) -> None:
    """Darken a part of a picture; a tiny picture may have nothing of it."""
    if part.size:
        part[:] = cv2.convertScaleAbs(part, alpha=0.35)
