"""Still images as a source."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from ..errors import VideoError
from ..storage import input_errors, natural
from .positions import Landmark, Position
from .source import Frame, Reduce, Slot, SourceInfo, VideoSource, as_it_is, size_wh

IMAGE_SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})

_HEAD_BYTES = 1 << 16  # within them an animated PNG says that it is one

#: In the data of a JPEG, FF is followed by 0 or the number of a restart; FF and anything else is a marker.
_JPEG_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]", re.DOTALL)


class ImageSource(VideoSource):
    """Still images, read one by one."""

    def __init__(self, paths: Sequence[Path], name: str, fps: float | None) -> None:
        super().__init__(name)
        if not paths:
            known = " ".join(sorted(IMAGE_SUFFIXES))
            below = images_among(Path(name).glob("[!.]*/[!.]*"))
            advice = "give videos one by one, or their folder to crowdcount batch"
            if below:
                advice = f"{below[0].parent} has some: give that"
            raise VideoError(f"{name} has no image; these are known: {known}; {advice}")
        self._paths = tuple(paths)
        first = next((image for path in paths if (image := _read_image(path)) is not None), None)
        if first is None:
            raise VideoError(f"{name} holds no image that can be read; check or replace what is there")
        self.info = SourceInfo(name, "images", size_wh(first), fps, len(paths))

    def sample(self, n: int, reduce: Reduce = as_it_is) -> list[Frame]:
        self._check_open()
        count = len(self._paths)
        frames = []
        for k in range(n):
            for index in range(k * count // n, (k + 1) * count // n):
                if (image := _read_image(self._paths[index])) is not None:
                    frames.append(self._frame(index, self._time(index), image, reduce))
                    break
        return frames

    def landmarks(self, indices: Sequence[int]) -> list[Landmark]:
        self._check_open()
        there = (index for index in indices if index < len(self._paths))
        return [Landmark(index, self._time(index), key=index) for index in there]

    def _slots(self, start: Position | Landmark | None) -> Iterator[Slot]:
        for index, path in enumerate(self._paths):
            self._check_open()
            yield index, self._time(index), lambda path=path: _read_image(path)

    def _time(self, index: int) -> float:
        return index / self.info.rate


def is_animated_png(path: Path) -> bool:
    """Whether an image file is an animated PNG, which FFmpeg reads as the video that it is.

    VideoError for an animated WebP, of which nothing here reads more than the first picture, or an unreadable
    file.
    """
    with input_errors(path, VideoError), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head[8:16] == b"WEBPVP8X" and len(head) > 20 and head[20] & 2:
        raise VideoError(f"{path} is an animated WebP, of which only the first picture can be read; convert "
                         "it to a video or to images")
    return head.startswith(b"\x89PNG") and b"acTL" in head.partition(b"IDAT")[0]


def images_among(paths: Iterable[Path]) -> list[Path]:
    """Those that are named like images, in natural order: img2 before img10."""
    return sorted(
        (path for path in paths if path.suffix.lower() in IMAGE_SUFFIXES), key=lambda path: natural(str(path))
    )


def _read_image(path: Path) -> np.ndarray | None:
    """(H, W, 3) uint8 BGR image of a file, None if it is missing, damaged, cut off or a pipe."""
    try:
        data = path.read_bytes() if path.is_file() else b""
        if data.startswith(b"\xff\xd8") and _is_cut_off(data):  # OpenCV 4.10 fills what is missing with grey
            return None
        return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    except (OSError, cv2.error):
        return None


def _is_cut_off(jpeg: bytes) -> bool:
    """Whether a JPEG lacks its end marker; what a phone appends to that, as a video, is not looked at."""
    place = 2
    while marker := _JPEG_MARKER.search(jpeg, place):
        if marker[0] == b"\xff\xd9":
            return False
        place = marker.end() + int.from_bytes(jpeg[marker.end() : marker.end() + 2])
    return True
