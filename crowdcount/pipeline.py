"""From frames to features: resizing to the working size, foreground, and the three views."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from features.blobs import BlobWeigher
from features.blocks import BlockMeter
from features.camera import Registration
from features.changes import QUANTITIES as CHANGES
from features.changes import ChangeMeter
from features.clumps import QUANTITIES as CLUMPS
from features.clumps import clump_features
from features.edges import QUANTITIES as EDGES
from features.edges import edge_features
from features.empty_scene import EmptyScene
from features.foreground import Foreground, Segmenter
from features.frozen import N_KEPT, FreezeWatch
from features.geometry import Figures, Geometry
from features.haze import HazeWatch, haze_of, is_dark_enough
from features.images import contrast_of, reduced, with_sharpness
from features.light import Light
from features.motion import LOW_RATE_FPS, MotionMeter, by_direction
from features.schema import Schema
from features.silhouette import QUANTITIES as SILHOUETTE
from features.silhouette import silhouette_features
from features.size import QUANTITIES as SIZE
from features.size import size_features
from features.texture import LBP_QUANTITIES as LBP
from features.texture import QUANTITIES as TEXTURE
from features.texture import lbp_features, texture_features
from features.tones import Haze

from .scene import Scene

#: Typical height of a person at the working size, pixels: enough for the features, no more than they need.
#: Below `LOW_RATE_FPS` there is time for twice the height, which counts dense crowds of one camera better
#: (Mall 1.82 instead of 2.00 MAE); on video it does not (docs/decisions/2026-11-20-speed.md).
PERSON_HEIGHT, LOW_RATE_PERSON_HEIGHT = 18.0, 36.0
#: The three views of a foreground; what a model of one camera learns from; and what means the same in every
#: scene (docs/decisions/2026-11-22-any-scene.md).
QUANTITIES = SIZE + SILHOUETTE + EDGES + TEXTURE
ALL_QUANTITIES = QUANTITIES + CHANGES
ANY_SCENE_QUANTITIES = CLUMPS + SILHOUETTE + LBP
#: Grids (bands along the scene's depth, cells across a band) from the whole region down to fine cells. Of the
#: sets tried by blocked cross-validation this did well on both a crowded mall (2.2 MAE, the whole region
#: alone 2.6) and a quiet street (.6, alone .9); a single grid did worse on one of them.
GRIDS = ((1, 1), (3, 2), (6, 5))
#: A picture whose brightness differs by fewer grey levels shows nobody, as foreground differs from the empty
#: scene by at least so many: a covered lens, no light, or too much.
BLANK_RANGE = 10
#: `Measurement.least_contrast` of frames that were cleared of haze, at the least: over `CLEAR_CONTRAST` it is
#: the factor by which their counts are off (docs/decisions/2026-11-29-haze.md).
BEHIND_HAZE = 0.215
#: Small gaps are closed, in pixels.
_CLOSING = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 5))
#: How many times frames are enlarged at the most, and to how many pixels, in which people are smaller than
#: those that a model for any scene has learnt from.
_MOST_ENLARGED, _ENLARGED_PIXELS = 3.0, 6e5
#: Ground that one cell of a model for any scene holds, in squared person heights, about: a few people.
CELL_GROUND = 3.0


@dataclass(frozen=True, eq=False)
class Measurement:
    """What the pipeline sees in one frame.

    Attributes
    ----------
    features : (n_regions, n_quantities) float64
        Rows and columns as the pipeline's schema names them; the first row is the whole region.
    mask : (h, w) bool
        Foreground at the working size.
    flags : tuple of str
        "learning", "light_change", "camera_moved", "shifted_back", "noisy", "blank", "frozen", "vehicle".
    directed : (2, n_regions, n) float64 or None
        The three views of the foreground that moves right, and of that which moves left; columns as the
        pipeline's `direction_schema` names them. None unless asked for, and in the first frames.
    moved : (3, 3) float64 or None
        Homography from places of the scene to those in the frame of a camera that was moved, in shares of
        width and height; None where the frame is not shifted back.
    is_recoloured : bool
        See `Segmenter.is_recoloured`.
    least_contrast : float
        See `Subtractor.least_contrast`; `BEHIND_HAZE` or more in haze that was cleared.
    """

    features: np.ndarray
    mask: np.ndarray
    flags: tuple[str, ...]
    directed: np.ndarray | None = None
    moved: np.ndarray | None = None
    is_recoloured: bool = False
    least_contrast: float = 0.0


def typical_height(scene: Scene) -> float:
    """Height of a person typical of a scene, pixels: the median over the region of interest, each place
    weighted by how many people it could hold."""
    heights = scene.person_height[scene.roi].astype(np.float64)
    order = np.argsort(heights)
    room = np.cumsum(1.0 / heights[order] ** 2)
    return float(heights[order[np.searchsorted(room, room[-1] / 2)]])


def working_size(
    size_wh: tuple[int, int], typical: float, person_height: float = PERSON_HEIGHT, may_enlarge: bool = False
) -> tuple[int, int]:
    """Width and height at which frames are measured in which a typical person is so many pixels tall.

    The scale makes him `person_height` pixels tall. Frames are enlarged to 32 pixels to a side, and beyond
    where they may be, as for a model for any scene: up to three times and to 600,000 pixels.
    """
    width, height = size_wh
    most = min(_MOST_ENLARGED, math.sqrt(_ENLARGED_PIXELS / (width * height))) if may_enlarge else 1.0
    scale = min(max(1.0, most), person_height / typical)
    return max(32, round(width * scale)), max(32, round(height * scale))


def cell_grid(scene: Scene) -> tuple[int, int]:
    """Bands and cells per band that give cells of about `CELL_GROUND`, twice as many per band as bands; of
    people smaller than a pixel, no more than there are rows and columns of pixels."""
    ground = float((1.0 / np.square(scene.person_height[scene.roi], dtype=np.float64)).sum())
    n_cells = ground / CELL_GROUND
    rows = max(1, round(np.sqrt(n_cells / 2)))
    height, width = scene.roi.shape
    return min(rows, height), min(max(1, round(n_cells / rows)), width)


class Pipeline:
    """Measures the frames of one camera, in order.

    Parameters
    ----------
    scene : Scene
    rate : float
        Frames per second that will be measured.
    grids : sequence of (rows, columns)
        Divisions of the region of interest; see `depth_cells`.
    by_blob : bool
        Weigh each pixel by the height of the person it can belong to as a part of its blob, and drop specks
        and vehicles. What one area means must be the same in every scene for a model that counts in any; a
        model of one camera learns it, and loses by what the blobs' merging adds (Mall 2.09 to 2.24 MAE).
    directions : bool
        Measure right- and left-moving foreground too; ValueError below 4 frames per second.
    person_height : float, optional
        Typical height of a person at the working size, pixels; by default as the rate has it.
    """

    def __init__(
        self,
        scene: Scene,
        rate: float,
        grids: Sequence[tuple[int, int]] = GRIDS,
        by_blob: bool = False,
        directions: bool = False,
        person_height: float | None = None,
    ):
        usual = LOW_RATE_PERSON_HEIGHT if rate < LOW_RATE_FPS else PERSON_HEIGHT
        self.person_height = person_height or usual
        typical = typical_height(scene)
        self.size_wh = working_size(scene.size_wh, typical, self.person_height, may_enlarge=by_blob)
        #: Of a typical person in frames as they are measured, pixels.
        self.typical_height = typical * self.size_wh[0] / scene.size_wh[0]
        small = scene.resized(self.size_wh)
        self.geometry = Geometry.of_grids(small.person_height, small.roi, grids)
        names = []
        for rows, columns in grids:
            self._first_cell = len(names)
            names += [f"{rows}x{columns}_{row}_{column}" for row in range(rows) for column in range(columns)]
        self.schema = Schema(ANY_SCENE_QUANTITIES if by_blob else ALL_QUANTITIES, tuple(names))
        self._blobs = BlobWeigher(self.geometry, self.person_height) if by_blob else None
        known = None if scene.view is None else scene.view.resized(self.size_wh)
        self._new_segmenter = partial(Segmenter, rate, small.roi, by_blob, known, small.person_height)
        self._segmenter = self._new_segmenter()
        self._haze: Haze | None = None
        # what a model of one camera knows may be hazy too, and tells it so to count behind haze
        sees_haze = by_blob or (known is not None and is_dark_enough(known.image_bgr))
        self._haze_watch = HazeWatch(rate) if sees_haze else None
        self._last_frame = None
        self._freeze, self._blocks = FreezeWatch(rate), BlockMeter()
        self._meter = None
        self._motion = MotionMeter(small.person_height, small.right, rate) if directions else None

    @classmethod
    def for_any_scene(cls, scene: Scene, rate: float, person_height: float = PERSON_HEIGHT) -> "Pipeline":
        """A pipeline whose regions are cells that hold the same ground in every scene."""
        return cls(scene, rate, (cell_grid(scene),), by_blob=True, person_height=person_height)

    @property
    def quantity_names(self) -> list[str]:
        """Names of the columns of one region."""
        return [quantity.name for quantity in self.schema.quantities]

    @property
    def direction_schema(self) -> Schema:
        """The columns that are measured for each direction."""
        return Schema(QUANTITIES, self.schema.regions)

    @property
    def cells(self) -> np.ndarray:
        """(h, w) int32: number of the finest grid's cell at each pixel, from 0; -1 outside the region."""
        finest = self.geometry.grids[-1]
        return np.where(finest >= 0, finest - self._first_cell, -1)

    @property
    def view(self) -> EmptyScene | None:
        """The empty scene of this footage at the working size, see `Segmenter.first`; None before."""
        return self._segmenter.first

    @property
    def knows_scene(self) -> bool:
        """Whether frames are seen in the scene's own view until an empty scene is learnt."""
        return self._segmenter.knows_scene

    def cell_views(self, schema: Schema | None = None) -> list[list[np.ndarray]]:
        """For each cell of the finest grid, the columns of its features that make up each view.

        The columns are the pipeline's own, or those of another schema of its regions.
        """
        schema = schema or self.schema
        width = len(schema.quantities)
        by_view = [np.array(view) for view in schema.views()]
        cells = range(self._first_cell, self.geometry.n_regions)
        return [[view[view // width == cell] for view in by_view] for cell in cells]

    def learn(
        self, frames_bgr: Sequence[np.ndarray], length_s: float = 0.0, is_coarse: bool = False
    ) -> None:
        """Learn the empty scene of a recording, and the haze before it.

        Parameters
        ----------
        frames_bgr : sequence of (H, W, 3) uint8
            Spread over the footage, reduced or not.
        length_s : float
            Seconds of footage that they are spread over; 0 where unknown.
        is_coarse : bool
            Whether they are coded coarsely, as a `BlockMeter` found them before they were reduced.
        """
        frames = [self.reduced(frame) for frame in frames_bgr]
        if self._haze_watch is not None:  # of a recording it is told at once
            self._haze, self._haze_watch = haze_of(frames), None
        self._expect(is_coarse)
        self._segmenter.learn([self._cleared(frame) for frame in frames], length_s)

    def learns_anew(self, n_frames: int) -> bool:
        """See `Segmenter.learns_anew`."""
        return self._segmenter.learns_anew(n_frames)

    def resume(self, n_frames: int, kept_bgr: Iterable[np.ndarray]) -> None:
        """Go on in the middle of the footage: see `Segmenter.resume`; frames as `measure` takes them."""
        reduced, last = [], deque(maxlen=N_KEPT)
        for frame in kept_bgr:
            reduced.append(self._cleared(self.reduced(frame)))
            last.append(frame)
        self._segmenter.resume(n_frames, reduced)
        self._freeze.resume(n_frames, last)

    def reduced(self, frame_bgr: np.ndarray) -> np.ndarray:
        """What `learn` needs of a frame (H, W, 3) uint8: a copy at the working size."""
        return reduced(frame_bgr, self.size_wh)

    def in_place(self, frame_bgr: np.ndarray) -> tuple[np.ndarray, Registration | None] | None:
        """A frame (H, W, 3) uint8 at the working size: see `Segmenter.in_place`."""
        return self._segmenter.in_place(self._cleared(self.reduced(frame_bgr)))

    def measure(self, frame_bgr: np.ndarray) -> Measurement:
        """Measure the next frame, (H, W, 3) uint8 of any size."""
        small = self.reduced(frame_bgr)
        foreground = self._applied(small, frame_bgr)
        segmenter = self._segmenter  # in haze that comes or goes, `_applied` has made a new one
        frame = self._last_frame = foreground.image_bgr
        grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
        figures = self.figures(foreground, grey)
        found = {
            "blank": contrast_of(small) < BLANK_RANGE,
            "frozen": self._freeze.see(frame_bgr),
            "vehicle": figures.without_vehicles,
        }
        flags = (*foreground.flags, *(flag for flag, is_set in found.items() if is_set))
        if found["blank"]:  # it does not show where the camera points
            flags = tuple(flag for flag in flags if flag != "camera_moved")
        return Measurement(
            features=self._features(frame, grey, figures, foreground.light),
            mask=segmenter.as_seen(figures.mask),
            flags=flags,
            directed=self._directed(grey, figures.mask),
            moved=segmenter.moved,
            is_recoloured=segmenter.is_recoloured,
            least_contrast=max(segmenter.least_contrast, 0.0 if self._haze is None else BEHIND_HAZE),
        )

    def pass_over(self, frame_bgr: np.ndarray) -> None:
        """See the next frame, whose features nobody needs, so that those behind it are measured as if it had
        been; a fraction of the cost."""
        frame = self._applied(self.reduced(frame_bgr), frame_bgr).image_bgr
        self._freeze.see(frame_bgr)
        if self._motion is not None:
            self._motion.pass_over(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY))

    def _applied(self, small_bgr, frame_bgr) -> Foreground:
        """The foreground of the next frame, reduced and as it is. Of a camera or stream the scene is learnt
        from the first ones, and anew when the haze before it comes or goes."""
        watch = self._haze_watch
        if watch is not None and watch.see(small_bgr, self._segmenter.sees_through_haze):
            self._haze, self._segmenter = watch.haze, self._new_segmenter()
        if self._segmenter.empty is None:
            if self._blobs is not None:
                self._blocks.see(frame_bgr)
            self._expect(self._blocks.is_coarse)
        return self._segmenter.apply(self._cleared(small_bgr))

    def _expect(self, is_coarse) -> None:
        """Learn the scene as of frames that are coded so, and behind the haze that is known."""
        step = 1.0 if self._haze is None else self._haze.steps(self.size_wh[1])
        self._segmenter.expect(is_coarse, step)

    def _cleared(self, small_bgr) -> np.ndarray:
        return small_bgr if self._haze is None else self._haze.cleared(small_bgr)

    @property
    def sees_rain(self) -> bool:
        """Whether it rains or snows: then a `glimpse` of the frame before each helps."""
        return self._segmenter.sees_rain

    def glimpse(self, frame_bgr: np.ndarray) -> None:
        """See a frame (H, W, 3) uint8 that is not measured: see `Segmenter.glimpse`."""
        self._segmenter.glimpse(self._cleared(self.reduced(frame_bgr)))

    def mask_of(self, frame_bgr: np.ndarray) -> np.ndarray:
        """Foreground (h, w) bool of a frame (H, W, 3) uint8 between two measured ones; leaves no trace."""
        small = self._cleared(self.reduced(frame_bgr))
        foreground = self._segmenter.in_between(small)
        grey = cv2.cvtColor(foreground.image_bgr, cv2.COLOR_BGR2GRAY)
        return self._segmenter.as_seen(self.figures(foreground, grey).mask)

    def measure_again(self, sharpness: float) -> np.ndarray:
        """Features of the frame that was measured last, had it been blurrier or sharper; leaves no trace. See
        `with_sharpness`."""
        frame = with_sharpness(self._last_frame, sharpness)
        foreground = self._segmenter.apply_again(frame)
        grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
        return self._features(frame, grey, self.figures(foreground, grey), foreground.light)

    def _features(self, frame, grey, figures, light) -> np.ndarray:
        if self._blobs is not None:
            return np.hstack(
                [clump_features(figures), silhouette_features(figures), lbp_features(grey, figures)]
            )
        return np.hstack([self.views(grey, figures), self.changes(frame, light)])

    def _directed(self, grey, mask) -> np.ndarray | None:
        speed = None if self._motion is None else self._motion.measure(grey)
        if speed is None:
            return None
        return np.stack(
            [self.views(grey, Figures(part, self.geometry)) for part in by_direction(mask, speed)]
        )

    def figures(self, foreground: Foreground, grey: np.ndarray) -> Figures:
        """What is measured of a foreground at the working size, of brightness (h, w) uint8; may change its
        mask."""
        if self._blobs is not None:
            return self._blobs.figures(foreground.mask, grey, foreground.scene_bgr)
        closed = cv2.morphologyEx(foreground.mask.view(np.uint8), cv2.MORPH_CLOSE, _CLOSING)
        return Figures(closed.view(bool) & self.geometry.roi, self.geometry)

    def views(self, grey: np.ndarray, figures: Figures) -> np.ndarray:
        """Size, edges and texture side by side, (n_regions, n) float64, of brightness (h, w) uint8."""
        return np.hstack([
            size_features(figures),
            silhouette_features(figures),
            edge_features(grey, figures),
            texture_features(grey, figures),
        ])

    def changes(self, frame_bgr: np.ndarray, light: Light | None) -> np.ndarray:
        """What `ChangeMeter` measures in a reduced frame, seen in some light, against the empty scene as last
        learnt; zeros while there is none, and no light known."""
        if light is None:
            return np.zeros((self.geometry.n_regions, len(CHANGES)))
        reference = self._segmenter.reference_bgr
        if self._meter is None or self._meter.reference_bgr is not reference:
            self._meter = ChangeMeter(reference, self.geometry)
        return self._meter.measure(self._segmenter.evened_out(frame_bgr, light), light.excess_noise)
