"""Clips that are made of another one, as motion JPEG: each of its frames stands alone."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import cv2
import numpy as np

from crowdcount.video import open_source


def looped(clip: str, folder: Path, n_frames: int) -> str:
    """A file of the clip's frames, over and over, until it has `n_frames`."""

    def images() -> Iterator[np.ndarray]:
        while True:
            with open_source(clip) as source:
                yield from (frame.image_bgr for frame in source.frames())

    return written(folder / f"looped-{n_frames}.avi", clip, itertools.islice(images(), n_frames))


def dimmed(clip: str, folder: Path, first: int) -> str:
    """A file of the clip whose light is halved from a frame on, as when lamps go out."""
    with open_source(clip) as source:
        frames = source.frames()
        images = (frame.image_bgr // 2 if frame.index >= first else frame.image_bgr for frame in frames)
        return written(folder / "dimmed.avi", clip, images)


def written(path: Path, clip: str, images: Iterable[np.ndarray], rate: float | None = None) -> str:
    """A file of images (H, W, 3) uint8 of the clip's size, at so many per second; by default at its rate."""
    with open_source(clip) as source:
        info = source.info
    codec = cv2.VideoWriter.fourcc(*"MJPG")
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, codec, rate or info.fps, info.size_wh)
    for image in images:
        writer.write(image)
    writer.release()
    return str(path)
