"""Counting the people in the frames of a source."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from features.camera import mapped
from features.motion import LOW_RATE_FPS

from .errors import ModelError, VideoError
from .model import LOW_CONTRAST, NO_DIRECTIONS, CounterModel, default_model, given_model
from .overview import Learning, Overview
from .pipeline import Pipeline
from .profile import Depth, Profile
from .results import FrameCount, is_meaningless
from .scene import Scene, load_scene
from .smoothing import Looks, around, median_known, stride
from .video import (
    Frame,
    Landmark,
    Position,
    SourceInfo,
    VideoSource,
    check_window,
    open_source,
    position_of,
)


class _Estimate(NamedTuple):
    """What is estimated in one frame alone.

    `numbers` are its count, and right- and left-moving people where asked for; NaN of a frame that was not
    due to be looked at, which has the rest from the last one that was, or could not be decoded.
    """

    frame: Frame
    numbers: tuple[float, ...]
    flags: tuple[str, ...]
    mask: np.ndarray | None = None
    features: np.ndarray | None = None
    moved: np.ndarray | None = None
    least_contrast: float = 0.0


@dataclass(frozen=True, eq=False)
class CountedFrame:
    """One frame with its count.

    Attributes
    ----------
    frame : Frame
        Its image is None too where images were not asked for.
    row : FrameCount
        What is written of it.
    mask : (h, w) bool or None
        Foreground at the working size; without images it may be that of a frame before. None when the frame
        could not be decoded.
    profile : Profile or None
        Density over depth, with the count as its integral, and the rows at which the frame shows its bands;
        None when the model does not know it or the frame could not be decoded.
    moved : (3, 3) float64 or None
        Where the frame shows the places of the scene, as `Measurement.moved`; of one that could not be
        decoded, where the frame before it does.
    """

    frame: Frame
    row: FrameCount
    mask: np.ndarray | None
    profile: Profile | None = None
    moved: np.ndarray | None = None


class Counting:
    """A source that is ready to be counted; made by `open_counting`.

    Attributes
    ----------
    info : SourceInfo
    scene : Scene
        As given, as the model brings it, or as estimated from the footage.
    model : CounterModel
    is_models_scene : bool
        Whether the scene is one in which the model counts, `CounterModel.is_for`; else all frames are flagged
        "outside_training_range".
    rate : float
        Frames to count per second of footage.
    every : int
        Every so many frames are counted.
    stride : int
        Of these, about one in so many is looked at, see `smoothing`.
    directions : bool
        Whether right- and left-moving people are counted besides.
    """

    def __init__(
        self,
        source: VideoSource,
        overview: Overview,
        model: CounterModel,
        window: tuple[Position | Landmark | None, Position | None, int],
        passes: ExitStack,
        *,
        latest: bool,
        learning: Learning | None,
        directions: bool,
        kept: Sequence[Landmark] | None,
    ):
        self.info: SourceInfo = source.info
        self.scene = overview.scene
        self.model = model
        self.is_models_scene = model.is_for(self.scene)
        self._source = source
        self._passes = passes
        self._latest = latest
        self._start, self._end, self.every = window
        self.rate = source.info.rate / self.every
        self.directions = directions
        self.stride = stride(self.rate)
        self._pipeline = make_pipeline(model, self.scene, self.rate, directions)
        self._band_rows = None
        if model.profile is not None:
            self._band_rows = Depth.of(self.scene).rows(len(model.profile.center))
        overview.teach(self._pipeline, learning)
        if kept is not None:
            n_frames = self._start.frame // (self.every * self.stride)
            self._pipeline.resume(n_frames, (one for one in source.images(kept) if one is not None))

    @property
    def working_size_wh(self) -> tuple[int, int]:
        """Width and height to which frames are brought before they are measured, pixels."""
        return self._pipeline.size_wh

    @property
    def typical_height(self) -> float:
        """How tall a typical person is at that size, pixels."""
        return self._pipeline.typical_height

    @property
    def screens(self) -> list[tuple[int, int, int, int]]:
        """Left, top, width and height of where films are shown in the ROI, pixels of the frame, as far as the
        footage told beforehand: nobody is counted there."""
        view = self._pipeline.view
        if view is None or view.films is None:
            return []
        shown = cv2.resize(view.films.view(np.uint8), self.info.size_wh, interpolation=cv2.INTER_NEAREST)
        return cv2.connectedComponentsWithStats(shown & self.scene.roi)[2][1:, :4].tolist()

    @property
    def absences(self) -> list[tuple[float, float]]:
        """From when to when, seconds, a camera or stream has broken off so far."""
        return self._source.absences

    @property
    def expected_frames(self) -> int | None:
        """About how many frames there are to count, as far as the source states its length; else None."""
        end = self._expected_end
        if end is None:
            return None
        first = 0 if self._start is None else self._number(self._start)
        return max(1, math.ceil((end - first) / self.every))

    def lacks_its_end(self, rows: int, last: FrameCount) -> bool:
        """Whether so many rows, up to `last`, are more than a tenth short of the length that a file states.

        In frames and in time: where a recorder pauses, or its rate varies, one of them tells nothing.
        """
        if self.info.frame_count is None:
            return False
        end_s, next_s = self._expected_end / self.info.rate, last.time_s + 1 / self.rate
        return is_short(rows, self.expected_frames) and is_short(next_s, end_s)

    def broke_off_s(self, rows: int, last: FrameCount) -> float:
        """How long before the given end a live source broke off that gave so many rows, up to `last`; 0 where
        it did not, or the end is a frame's number. Seconds."""
        left_s = self._source.ends_at(self._end) - self._source.ends_at(Position(time_s=last.time_s))
        usual_s = max(last.time_s / rows, 1 / self.rate)
        return left_s if max(1.0, 3 * usual_s) < left_s < math.inf else 0.0

    @property
    def _expected_end(self) -> int | None:
        """About the number of the frame to stop before."""
        ends = [] if self._end is None else [self._number(self._end)]
        if self.info.frame_count is not None:
            ends.append(self.info.frame_count)
        return min(ends, default=None)

    def _number(self, position: Position | Landmark) -> int:
        """About the number of the first frame that is not before a position."""
        if position.frame is not None:
            return position.frame
        return math.ceil(position.time_s * self.info.rate - 1e-6)

    def frames(self, *, ahead: bool | None = None, images: bool = True) -> Iterator[CountedFrame]:
        """Count the frames, in order, as long as the source is open. VideoError when it fails.

        A frame comes when those that steady its count have been seen, see `smoothing`: their images are held
        until then, but without `images`.
        With `ahead`, a second thread decodes meanwhile: by default where there is a second core. It costs a
        little where other processes keep all cores busy anyway. A live source needs it, to drop frames
        (`latest`) and to end in time while it is silent.
        """
        if ahead is None:
            ahead = self.info.is_live or cv2.getNumberOfCPUs() > 1
        looks = Looks(self.every * self.stride, self.every)
        turns = None if images or self._latest else looks.ahead  # any that is not dropped may be due
        wanted = self._source.frames(self._start, self._end, self.every, turns)
        counted = self._counted(wanted, looks, ahead, images)
        self._passes.callback(counted.close)  # its thread must not read a source that is closed
        return counted

    def _counted(
        self, wanted: Iterator[Frame], looks: Looks, ahead: bool, images: bool
    ) -> Iterator[CountedFrame]:
        reading = self._source.read_ahead(wanted, self._end, self._latest) if ahead else closing(wanted)
        with reading as frames:
            for estimate, near in around(self._estimates(frames, looks, images), self.rate):
                yield self._count(estimate, near)

    def _estimates(
        self, frames: Iterator[Frame], looks: Looks, images: bool
    ) -> Iterator[tuple[float, _Estimate]]:
        last = None  # that was measured
        unknown = (np.nan,) * (3 if self.directions else 1)
        for frame in frames:
            if "undecodable" in frame.flags:
                estimate = _Estimate(frame, unknown, frame.flags, moved=last and last.moved)
            elif looks.are_due(frame, self._pipeline):
                estimate = last = self._estimate(frame)
            else:
                mask = self._pipeline.mask_of(frame.image_bgr) if images else last.mask
                estimate = last._replace(frame=frame, numbers=unknown, mask=mask)
            if not images:
                estimate = estimate._replace(frame=replace(frame, image_bgr=None))
            yield frame.time_s, estimate

    def _estimate(self, frame: Frame) -> _Estimate:
        measured = self._pipeline.measure(frame.image_bgr)
        features = measured.features[None] if self.model.per_cell else measured.features.reshape(1, -1)
        counts = self.model.predict(features)
        numbers = float(counts[0]), *self._directed(measured.directed)
        flags = *frame.flags, *measured.flags
        is_unlike = self.model.needs_colours and measured.is_recoloured
        if is_unlike or not self.is_models_scene or self.model.is_outside(features, counts)[0]:
            flags += ("outside_training_range",)
        seen = measured.mask, features, measured.moved, measured.least_contrast
        return _Estimate(frame, numbers, flags, *seen)

    def _count(self, estimate: _Estimate, near: Sequence[_Estimate]) -> CountedFrame:
        frame, numbers, flags, mask, features, moved, least_contrast = estimate
        if features is None:
            row = FrameCount(frame.index, frame.time_s, np.nan, np.nan, np.nan, flags, *numbers[1:])
            return CountedFrame(frame, row, None, moved=moved)
        count, *directed = (median_known(one) for one in zip(*(one.numbers for one in near), strict=True))
        low, high = 0.0, math.inf  # where nothing is known of who is there
        if not is_meaningless(flags):
            low, high = self.model.interval(count, self.scene, least_contrast)
        if self.model.trusts_heights:
            if least_contrast > LOW_CONTRAST:
                flags += ("low_contrast",)
            if count and self.scene.has_doubtful_heights:
                flags += ("uncertain_height",)
        row = FrameCount(frame.index, frame.time_s, count, low, high, flags, *directed)
        return CountedFrame(frame, row, mask, self._profile(features, count, moved), moved)

    def _directed(self, features) -> tuple[float, ...]:
        """Right- and left-moving people; nothing unless asked for."""
        if not self.directions:
            return ()
        if features is None:  # the first frames have none to compare with
            return np.nan, np.nan
        return self.model.predict_directions(features.reshape(2, -1))

    def _profile(self, features, count, moved) -> Profile | None:
        if self._band_rows is None:
            return None
        density = self.model.predict_profile(features, np.array([count]))[0]
        rows = _rows_as_seen(self._band_rows, moved, self.scene.size_wh[1])
        return Profile(density, rows, self.model.strongest_density)


def _rows_as_seen(rows: np.ndarray, moved: np.ndarray | None, height: int) -> np.ndarray:
    """Where the middle of a frame of some height shows image rows (n,) of the scene; within the frame."""
    if moved is None:
        return rows
    middle = np.column_stack([np.full(len(rows), 0.5), rows / height])
    return np.clip(height * mapped(middle, moved)[:, 1], 0, height)


def is_short(found: float, stated: float) -> bool:
    """Whether more than a tenth of a stated length is missing; a little is missing in many whole files."""
    return found < 0.9 * stated


def choose_scene(scene: Scene | None, model: CounterModel) -> Scene | None:
    """The scene to count in, `CounterModel.scene_for`; None where it is to be estimated.

    ModelError when the model needs a scene and knows none, or does not count from footage at all.
    """
    scene = model.scene_for(scene)
    if scene is None and not model.per_cell:
        model.footage_height()
        raise ModelError("the model knows no scene to count in: give one, or train it on footage")
    return scene


def make_pipeline(model: CounterModel, scene: Scene, rate: float, directions: bool = False) -> Pipeline:
    """The pipeline that measures what a model counts from, of frames that are counted at `rate` per second.

    ModelError when the model was not trained on footage, or by an earlier version, as on other columns.
    """
    person_height = model.footage_height()
    rate /= stride(rate)
    if model.per_cell:
        pipeline = Pipeline.for_any_scene(scene, rate, person_height)
        model.check_columns(pipeline.quantity_names)
    else:
        pipeline = Pipeline(scene, rate, directions=directions, person_height=person_height)
        model.check_columns(pipeline.schema.names)
    return pipeline


def check_rate(name: str, rate: float) -> None:
    """VideoError unless frames at that rate, per second, show how people move."""
    if rate < LOW_RATE_FPS:
        raise VideoError(
            f"directions need video of at least {LOW_RATE_FPS:g} frames/s, as they are seen in the motion "
            f"from frame to frame; {name} gives {rate:g}: take every frame, or leave directions out"
        )


@contextmanager
def open_counting(
    source: str | Path | int,
    *,
    model: CounterModel | str | Path | None = None,
    scene: Scene | str | Path | None = None,
    start: Position | Landmark | str | int | None = None,
    end: Position | str | int | None = None,
    every: int = 1,
    fps: float | None = None,
    timeout_s: float = 10.0,
    reconnect_s: float = 0.0,
    latest: bool = False,
    learning: Learning | None = None,
    directions: bool = False,
    kept: Sequence[Landmark] | None = None,
    tick: Callable[[], None] | None = None,
) -> Iterator[Counting]:
    """Open a source for counting and close it in the end.

    Parameters
    ----------
    source : str, Path or int
        A video file, a folder or pattern of images, a camera's number or a stream's URL.
    model : CounterModel or path, optional
        The bundled model by default.
    scene : Scene or path, optional
        By default the model's own, or one estimated from the footage.
    start, end : Position, or str or int, optional
        First frame to count, and the one to stop before; a text as of `parse_position`, or a frame's number.
    every : int
        Count every so many frames.
    fps : float, optional
        Frames per second of images, or in place of what a file says.
    timeout_s : float
        How long a stream may be silent.
    reconnect_s : float
        For how long a camera or stream that broke off is tried again; its time and frame numbers go on.
    latest : bool
        Of a camera or stream that is faster than the counting, count the newest frame and drop those that
        waited, instead of lagging ever further behind; `FrameCount.frame` shows the gaps.
    learning : Learning, optional
        What to learn the empty scene from, in place of `Overview.learning`.
    directions : bool
        Count right- and left-moving people too, with a model that was trained so; needs 4 frames per second.
    kept : sequence of Landmark, optional
        Of a `start` that is a Landmark too, the frames before it that the background is learnt from, so that
        the counts are those of a pass over the whole footage: see `features.background.kept_frames`.
    tick : callable, optional
        Called whenever a frame or a packet of a video file was read, also before there is one to count.

    Raises
    ------
    VideoError, SceneError, ModelError
    """
    model = default_model() if model is None else given_model(model)
    if isinstance(scene, (str, Path)):
        scene = load_scene(scene)
    start, end = position_of(start), position_of(end)
    opening = open_source(source, fps=fps, timeout_s=timeout_s, reconnect_s=reconnect_s, tick=tick)
    with opening as opened, ExitStack() as passes:
        if latest and not opened.info.is_live:
            raise VideoError(
                f"{opened.info.name} is neither camera nor stream: its frames wait, none need be dropped; "
                "leave out latest, or count every Nth frame"
            )
        check_window(start, end, every)
        if directions:
            if model.directions is None:
                raise ModelError(NO_DIRECTIONS)
            check_rate(opened.info.name, opened.info.rate / every)
        overview = Overview(opened, choose_scene(scene, model))
        window = start, end, every
        yield Counting(
            opened, overview, model, window, passes,
            latest=latest, learning=learning, directions=directions, kept=kept,
        )  # fmt: skip


def count(
    source: str | Path | int, *, progress: Callable[[FrameCount, SourceInfo], None] | None = None, **options
) -> Iterator[FrameCount]:
    """Count the people in a source: one `FrameCount` per frame, in order.

    >>> for row in count("street.mp4"):                                  # doctest: +SKIP
    ...     print(row.time_s, row.count, row.low, row.high, row.flags)

    Parameters
    ----------
    source : str, Path or int
        See `open_counting`, which takes the `options` (model, scene, start, end, every, fps, timeout_s,
        reconnect_s, latest, directions) too.
    progress : callable, optional
        Called with each row and what is known of the source.
    """
    with open_counting(source, **options) as counting:
        for item in counting.frames(images=False):
            if progress is not None:
                progress(item.row, counting.info)
            yield item.row
