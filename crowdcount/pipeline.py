"""From frames to features: resizing to the working size, foreground, and the three views."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from features.edges import QUANTITIES as EDGES
from features.edges import edge_features
from features.foreground import Segmenter
from features.geometry import Geometry
from features.perspective import depth_cells
from features.schema import Schema, check_quantities
from features.size import QUANTITIES as SIZE
from features.size import size_features
from features.texture import QUANTITIES as TEXTURE
from features.texture import texture_features

from .scene import Scene

#: Typical height of a person at the working size, pixels: enough for the features, no more than they need.
WORKING_PERSON_HEIGHT = 36.0
QUANTITIES = check_quantities(SIZE + EDGES + TEXTURE)


@dataclass(frozen=True)
class Layout:
    """How the region of interest is divided into cells.

    Attributes
    ----------
    rows : int
        Bands along the scene's depth, each holding the same ground in person heights.
    columns : int
        Cells across each band.
    """

    rows: int = 6
    columns: int = 5


@dataclass(frozen=True, eq=False)
class Measurement:
    """What the pipeline sees in one frame.

    Attributes
    ----------
    features : (1 + n_cells, n_quantities) float64
        The whole region, then each cell; columns as `QUANTITIES`.
    mask : (h, w) bool
        Foreground at the working size.
    flags : tuple of str
        "learning", "light_change", "camera_moved".
    """

    features: np.ndarray
    mask: np.ndarray
    flags: tuple[str, ...]


def working_size(scene: Scene) -> tuple[int, int]:
    """Width and height at which a scene's frames are measured.

    The scale makes a person typical of the scene `WORKING_PERSON_HEIGHT` pixels tall; frames are never
    enlarged. Typical is the median over the region of interest, each place weighted by how many people it
    could hold.
    """
    heights = scene.person_height[scene.roi].astype(np.float64)
    order = np.argsort(heights)
    room = np.cumsum(1.0 / heights[order] ** 2)
    typical = heights[order[np.searchsorted(room, room[-1] / 2)]]
    scale = min(1.0, WORKING_PERSON_HEIGHT / typical)
    width, height = scene.size_wh
    return max(32, round(width * scale)), max(32, round(height * scale))


class Pipeline:
    """Measures the frames of one camera, in order.

    Parameters
    ----------
    scene : Scene
    layout : Layout
    rate : float
        Frames per second that will be measured.
    """

    def __init__(self, scene: Scene, layout: Layout, rate: float):
        self.size_wh = working_size(scene)
        small = scene.resized(self.size_wh)
        cells = depth_cells(small.person_height, small.roi, layout.rows, layout.columns)
        self.geometry = Geometry(cells, small.person_height)
        self.schema = Schema(QUANTITIES, self.geometry.n_cells)
        self._segmenter = Segmenter(rate, small.roi)

    def learn(self, frames_bgr: Sequence[np.ndarray]) -> None:
        """Learn the empty scene from frames (H, W, 3) uint8 spread over the footage."""
        self._segmenter.learn([self._reduce(frame) for frame in frames_bgr])

    def measure(self, frame_bgr: np.ndarray) -> Measurement:
        """Measure the next frame, (H, W, 3) uint8 of any size."""
        frame = self._reduce(frame_bgr)
        foreground = self._segmenter.apply(frame)
        grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
        mask = foreground.mask
        features = np.hstack(
            [
                size_features(mask, self.geometry),
                edge_features(grey, mask, self.geometry),
                texture_features(grey, mask, self.geometry),
            ]
        )
        return Measurement(features, mask, foreground.flags)

    def _reduce(self, frame_bgr):
        return cv2.resize(frame_bgr, self.size_wh, interpolation=cv2.INTER_AREA)
