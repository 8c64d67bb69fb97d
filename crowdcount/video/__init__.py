"""Frames of video files, still images, cameras and streams, numbered and timed the same way on every pass.

A source is opened with :func:`open_source`, read with :meth:`VideoSource.frames` and closed by ``with``:
`files`, `images` and `live` hold what is particular to each kind, `source` what they have in common,
`capture` and `interlaced` the decoders, `numbering` which number and time a frame has, `positions` places in
the footage and their texts, `turns` which frames are converted, `ahead` the thread that decodes meanwhile,
`refusals` why a stream does not open.

What is relied on, and what is not (observed alike on OpenCV 4.10, 4.14 and 5.0 unless noted), besides what
`numbering` and `live` say:

- The announced number of frames may be negative, zero, too small or too large: it is only ever a hint.
- A frame whose damage the decoder conceals counts as decoded.
- Frame numbers count from the first packet that decodes or visibly fails. What a decoder drops silently
  before its first key frame (of a stream cut anywhere, or hidden by an MP4 edit list) has no number.
- When the size changes within a video, OpenCV 4.13 and later bring the frame to the first size by themselves,
  earlier versions return a wrong picture; neither gives a sign. So "resized" is seen among still images, and
  of a stream that was opened again, only.
- OpenCV 4.13 and later return unwritten memory for all frames of interlaced H.264, MPEG-2, MPEG-4 and DV, and
  call it a success, whatever its properties and options are: FFmpeg 8 does not convert what is flagged as
  interlaced to what is not. Earlier versions decode them. What shows this is read by PyAV where that is
  installed (`interlaced`), which also tells whether it is interlaced or still, and refused where it is not.
- OpenCV tells the shape of a file's pixels, but returns them as they are kept: `capture` makes them square.
- OpenCV 4.10 reads an AVI file no further than its header announces.

Opening a source turns OpenCV's and FFmpeg's own messages off for the whole process, as every failure is
raised as a VideoError. Set the environment variables OPENCV_LOG_LEVEL or OPENCV_FFMPEG_LOGLEVEL to see them.
(libjpeg and libpng write what they find wrong with a damaged image to stderr by themselves.)
"""

import glob
import math
import os
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from pathlib import Path

from ..errors import OutputError, VideoError
from ..storage import input_errors, is_utf8, name_error, refuse_locked, same_file
from .capture import silence_opencv
from .files import FEATURE_SUFFIXES, FileSource, check_file
from .images import IMAGE_SUFFIXES, ImageSource, images_among, is_animated_png
from .live import LiveSource, is_camera, without_password
from .positions import Landmark, Position, check_window, parse_position, position_of
from .source import ASSUMED_RATE, DEFAULT_FPS, Frame, Reduce, SourceInfo, VideoSource, spread
from .turns import Turns

__all__ = [
    "ASSUMED_RATE",
    "DEFAULT_FPS",
    "FEATURE_SUFFIXES",
    "IMAGE_SUFFIXES",
    "Frame",
    "Landmark",
    "Position",
    "Reduce",
    "SourceInfo",
    "Turns",
    "VideoSource",
    "check_window",
    "files_of",
    "is_camera",
    "open_source",
    "parse_position",
    "position_of",
    "refuse_among_images",
    "spread",
    "without_password",
]

_LOWEST_FPS = 1e-6  # that can be given: a frame in 12 days; the highest is as far from 1


def open_source(
    source: str | Path | int | Sequence[Path],
    *,
    fps: float | None = None,
    timeout_s: float = 10.0,
    reconnect_s: float = 0.0,
    tick: Callable[[], None] | None = None,
) -> VideoSource:
    """Open a video file, a folder or glob pattern of images, a list of images, a camera or a stream.

    - A whole number is a camera; a text with "://" is a stream (rtsp, http, …). A stream must begin to
      answer, and then bring each next frame, within ``timeout_s`` seconds. A camera or live stream that
      breaks off later is opened again, for ``reconnect_s`` seconds; the break shows as one undecodable frame;
      one that stays away is a VideoError.
    - An existing file is a video, or a still image when its name ends like one (IMAGE_SUFFIXES), unless it is
      an animated PNG.
    - The images of a folder or pattern are taken in natural order (img2 before img10), those of a list as
      they come. Their ``time_s`` is index / ``fps``; without ``fps``, ``info.fps`` is None and one image per
      second is assumed for the times.
    - The times of a file, and of a stream that announces its length, are the container's time stamps, and go
      on where some of these go back or begin anew (see `numbering.numbered`); a given ``fps`` (for files and
      images only) overrules them. Frames of a camera or live stream are timed by this machine's clock.
    - Whenever a frame or a packet of a video file was read, ``tick`` is called: it may be long before a pass
      gives its first frame.

    VideoError when the source is missing, empty, unreadable, no video, or has no frame that decodes; also for
    a ``reconnect_s`` of what is not live, and an ``fps`` of what is.
    """
    if fps is not None and not isinstance(fps, Real):
        raise VideoError(f"fps must be a number of frames per second, not {fps!r}")
    if fps is not None and not _LOWEST_FPS <= fps <= 1 / _LOWEST_FPS:
        raise VideoError(f"fps must be {_LOWEST_FPS:g} to {1 / _LOWEST_FPS:g} frames per second, not {fps}")
    fps = None if fps is None else float(fps)
    if not 0 < timeout_s < math.inf:
        raise VideoError(f"timeout_s must be a positive number of seconds, not {timeout_s}")
    if not 0 <= reconnect_s < math.inf:
        raise VideoError(f"reconnect_s must be a number of seconds from 0, not {reconnect_s}")
    silence_opencv()
    if isinstance(source, Integral):
        if not 0 <= source < 2**31:  # of a negative one OpenCV 5.0 crashes
            raise VideoError(f"there is no camera {source}; give its number, from 0")
        return LiveSource(int(source), fps, timeout_s, reconnect_s)
    if not isinstance(source, (str, Path)):
        return ImageSource(_listed(source), "the list of images", fps)
    text = str(source)
    if not is_utf8(text):
        raise VideoError(f"{text!a} cannot be opened: {name_error(text)}")
    if "://" in text:
        return LiveSource(text, fps, timeout_s, reconnect_s)
    if reconnect_s and not is_camera(text):
        raise VideoError(f"{text} is neither camera nor stream: it does not break off; leave out reconnect")
    if os.path.isdir(text):
        return ImageSource(files_of(text), text, fps)
    if os.path.exists(text):
        check_file(Path(text))
        is_image = Path(text).suffix.lower() in IMAGE_SUFFIXES and not is_animated_png(Path(text))
        return ImageSource([Path(text)], text, fps) if is_image else FileSource(text, fps, tick)
    if is_camera(text):
        return LiveSource(int(text), fps, timeout_s, reconnect_s)
    refuse_locked(text, VideoError)
    if glob.has_magic(text):
        return ImageSource(files_of(text), text, fps)
    raise VideoError(f"{text} does not exist; give a video, a folder of images, a camera number or a URL")


def _listed(paths: Sequence[Path]) -> list[Path]:
    try:
        return [Path(path) for path in paths]
    except TypeError:
        raise VideoError(
            f"{paths!r} is no source; give a video, a folder or list of images, a camera number or a URL"
        ) from None


def files_of(source: str | Path | Sequence[Path]) -> list[Path]:
    """The files of a source: a video, or the images of a folder, a pattern or a list, in their order.

    VideoError when a folder cannot be read.
    """
    if not isinstance(source, (str, Path)):
        return list(source)
    text = str(source)
    if os.path.isdir(text):
        with input_errors(text, VideoError):
            return images_among(path for path in Path(text).iterdir() if not path.name.startswith("."))
    if os.path.exists(text):
        return [Path(text)]
    return images_among(Path(path) for path in glob.glob(_pattern(text)))


def refuse_among_images(picture: str | Path, *sources: str | Path) -> None:
    """OutputError when a picture to write is one of the images of a source, or would be from then on."""
    path = Path(picture)
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        return
    for source in sources:
        if os.path.isdir(source):
            is_one = same_file(path.parent, Path(source)) and not path.name.startswith(".")
        else:
            is_one = same_file(path, Path(source)) or _matches(path, str(source))
        if is_one:
            raise OutputError(f"{path} would be a frame of {source}, which reads the images that are there; "
                              "choose another folder")


def _matches(path: Path, pattern: str) -> bool:
    return Path(os.path.abspath(path)).match(os.path.abspath(_pattern(pattern)))


def _pattern(text: str) -> str:
    """A pattern, of which the folder may have a name with such characters."""
    folder, name = os.path.split(text)
    return os.path.join(glob.escape(folder), name) if os.path.isdir(folder) else text
