"""What is looked at of footage before its frames are counted: frames spread over it, decoded once."""

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from features.background import LEARNING_FRAMES, MIN_LEARNING_FRAMES
from features.blocks import BlockMeter
from features.images import halved, halvings

from .pipeline import Pipeline
from .scene import Scene, estimate_scene, for_estimation
from .video import Frame, Reduce, SourceInfo, VideoSource, spread

#: Frames that are looked at to find the perspective; half as many where they would be less than
#: `_SAME_PEOPLE_S` apart, and show the same people again (docs/decisions/2026-11-20-speed.md).
SAMPLED_FRAMES = 2 * LEARNING_FRAMES
_SAME_PEOPLE_S = 1.0
#: The median of fewer frames shows the people in them, not the scene without them.
FEWEST_FRAMES = 3
#: Bytes that the frames may take which are kept while the perspective is looked for, as a second pass over
#: the footage would cost as much as the first.
_KEPT_BYTES = 96e6


def sampled_frames(info: SourceInfo) -> int:
    """How many frames of a source are looked at to find its perspective."""
    is_short = 0 < info.length_s < SAMPLED_FRAMES * _SAME_PEOPLE_S
    return LEARNING_FRAMES if is_short else SAMPLED_FRAMES


def estimated_scene(source: VideoSource) -> Scene:
    """The scene of an `Overview`, for who wants no more of it: no frames are kept."""
    sampled = source.sample(sampled_frames(source.info), for_estimation)
    return estimate_scene((frame.image_bgr for frame in sampled), source.info.size_wh)


class Learning(NamedTuple):
    """What a pipeline learns the empty scene from: reduced frames (h, w, 3) uint8, and whether they are coded
    coarsely, as a `BlockMeter` found them before that."""

    frames: Sequence[np.ndarray]
    is_coarse: bool = False


class Overview:
    """The scene of a source, and frames that show it empty.

    Parameters
    ----------
    source : VideoSource
    scene : Scene, optional
        By default one whose perspective is estimated from the people in the source's frames, as
        `estimate_scene` does.

    Attributes
    ----------
    scene : Scene
        SceneError when the one that was given does not fit the source.
    """

    def __init__(self, source: VideoSource, scene: Scene | None = None):
        self._source = source
        self._length_s = source.info.length_s
        self._kept: list[np.ndarray] = []
        self._blocks = BlockMeter()
        self._n_halvings = 0
        self.scene = self._estimated() if scene is None else scene.fitted(source.info.size_wh)

    def _estimated(self) -> Scene:
        """Keeps what `learning` would decode anew, halved until it takes little memory."""
        info = self._source.info
        width, height = info.size_wh
        while 3 * width * height * LEARNING_FRAMES > _KEPT_BYTES * 4**self._n_halvings:
            self._n_halvings += 1
        n_frames = sampled_frames(info)
        expected = min(n_frames, info.frame_count or n_frames)
        learnt = set(spread(LEARNING_FRAMES, expected))
        number = count()

        def seen(image: np.ndarray) -> np.ndarray:
            if next(number) in learnt:
                self._blocks.see(image)
                self._kept.append(halved(image, self._n_halvings))
            return for_estimation(image)

        sampled = self._sampled(n_frames, seen)
        if len(self._kept) != len(learnt) or next(number) != len(sampled):  # not as long as the source says
            self._kept = []
        return estimate_scene((frame.image_bgr for frame in sampled), info.size_wh)

    def learning(self, pipeline: Pipeline) -> Learning:
        """What a pipeline learns the empty scene from: sampled frames; of a live source none."""
        kept, self._kept = self._kept, []
        if kept and self._n_halvings <= halvings(self._source.info.size_wh, pipeline.size_wh):
            return Learning([pipeline.reduced(image) for image in kept], self._blocks.is_coarse)
        self._blocks = BlockMeter()

        def seen(image: np.ndarray) -> np.ndarray:
            self._blocks.see(image)
            return pipeline.reduced(image)

        frames = [frame.image_bgr for frame in self._sampled(LEARNING_FRAMES, seen)]
        return Learning(frames, self._blocks.is_coarse)

    def _sampled(self, n: int, reduce: Reduce) -> list[Frame]:
        """Frames of the source; how long it is, where it does not say, is told by their times."""
        frames = self._source.sample(n, reduce)
        if frames and not self._length_s:
            self._length_s = frames[-1].time_s - frames[0].time_s
        return frames

    def teach(self, pipeline: Pipeline, learning: Learning | None = None) -> None:
        """Let a pipeline learn the empty scene, from its `learning` unless another is given.

        Of fewer than `FEWEST_FRAMES` none can be told: then every frame is flagged "learning". A pipeline
        that knows its camera's scene sees that one where there are fewer than `MIN_LEARNING_FRAMES`.
        """
        if learning is None:
            learning = self.learning(pipeline)
        if len(learning.frames) >= (MIN_LEARNING_FRAMES if pipeline.knows_scene else FEWEST_FRAMES):
            pipeline.learn(learning.frames, self._length_s, learning.is_coarse)
