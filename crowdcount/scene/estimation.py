"""The perspective found from the people who move in the footage."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import cv2
import numpy as np

from features.camera import showing_one_view
from features.haze import haze_of, without_haze
from features.images import resized
from features.light import telling
from features.perspective import estimate_height_line
from features.steadying import Steadier

from .scene import Scene, scene_from
from .shapes import HeightLine, Polygon, map_of

#: Footage is brought to so many rows before people are looked for in it, enlarged to so many columns at most:
#: what smooths masks takes height from people of a few pixels (docs/decisions/2026-11-22-person-height.md).
ESTIMATION_ROWS, _ENLARGED_COLUMNS = 360, 1280
#: With fewer frames there is no background to tell people from.
MIN_ESTIMATION_FRAMES = 8


def for_estimation(frame_bgr: np.ndarray) -> np.ndarray:
    """What `estimate_scene` needs of a frame (H, W, 3) uint8: `ESTIMATION_ROWS` rows, a tenth of a large
    frame's memory."""
    height, width = frame_bgr.shape[:2]
    scale = min(ESTIMATION_ROWS / height, max(1.0, _ENLARGED_COLUMNS / width))
    if scale == 1:
        return frame_bgr
    size_wh = (max(1, round(width * scale)), max(1, round(height * scale)))
    return resized(frame_bgr, size_wh, cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)


def estimate_scene(
    frames_bgr: Iterable[np.ndarray], size_wh: tuple[int, int], polygons: Iterable[Polygon] | None = None
) -> Scene:
    """Make a scene whose perspective is found from the people that move in the footage.

    Parameters
    ----------
    frames_bgr : iterable of (H, W, 3) uint8
        Frames spread over the footage, in order, brought to size by `for_estimation` or not; 60 to 200 are
        enough, and fewer than 8, black ones aside, give the typical camera. People are looked for in the
        whole frame, whatever the ROI: heads often reach out of it.
    size_wh : (int, int)
        Width and height of the frames, pixels.
    polygons : polygons ((x, y), …), optional
        The ROI; the whole frame by default.

    Returns
    -------
    Scene
        With `height_origin` "estimated", or "assumed" (the typical camera) where nothing can be relied on.

    Raises
    ------
    SceneError
        When the ROI is empty or outside the frame.
    ValueError
        When the frames are not all of one size, in three colours and uint8.
    """
    scene = scene_from(size_wh, polygons)
    frames = [for_estimation(frame) for frame in _checked(frames_bgr)]
    haze = haze_of(frames) if frames else None
    frames = telling(frames if haze is None else map(haze.cleared, frames))
    frames = without_haze(showing_one_view(frames))
    if len(frames) < MIN_ESTIMATION_FRAMES:
        return scene
    steadier = Steadier(frames)
    estimate = estimate_height_line([steadier.steady(frame) for frame in frames])
    if not estimate.reliability:
        return scene
    line = HeightLine(estimate.slope, estimate.intercept, estimate.smallest, estimate.largest)
    line = line.scaled(size_wh[1] / frames[0].shape[0])
    return replace(
        scene,
        line=line,
        person_height=map_of(line, size_wh),
        height_origin="estimated",
        height_reliability=estimate.reliability,
    )


def _checked(frames_bgr: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The frames; ValueError at the first that is not (H, W, 3) uint8, or has another size than the first."""
    wanted = None
    for frame in map(np.asarray, frames_bgr):  # of None, which OpenCV gives for what it cannot read, too
        shape = frame.shape
        if frame.dtype != np.uint8 or len(shape) != 3 or shape[2] != 3 or shape != (wanted or shape):
            raise ValueError(
                f"expected frames {wanted or '(height, width, 3)'} of uint8, found {shape} of {frame.dtype}; "
                "bring all to one size, and grey ones to three channels"
            )
        wanted = shape
        yield frame
