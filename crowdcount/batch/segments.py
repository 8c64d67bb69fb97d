"""Where a long video is cut, so that several workers count it at once.

All segments learn the empty scene from the same frames, spread over the whole video, as an unsplit run does,
and then from the frames before them that such a run would have kept to learn from anew. In its warm-up a
segment looks at frames that are not written, so that a change of light just before it is known, and behind
its end at those that steady its last counts.
docs/batch.md says what remains.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from features.background import kept_frames
from features.foreground import look_step

from ..smoothing import SMOOTHING_S, stride
from ..stretches import warm_up_frames
from ..video import Landmark

#: A video is cut into parts of this length, seconds, when it is half as long again.
SEGMENT_S = 900.0

#: Of each frame a video holds at least so many: to plan for the frames that damaged ones state took minutes.
LEAST_FRAME_BYTES = 8


@dataclass(frozen=True)
class Segment:
    """A part of a video.

    Attributes
    ----------
    index : int
    first : int
        Number of the first frame that is written.
    start : Landmark or None
        Where the warm-up begins; None: at the video's first frame.
    end : int or None
        Number of the frame behind the last; None: to the video's end.
    kept : tuple of Landmark
        Frames before the start that the background is learnt from.
    """

    index: int
    first: int
    start: Landmark | None
    end: int | None
    kept: tuple[Landmark, ...] = ()


class Cut(NamedTuple):
    """Where a video is cut.

    Attributes
    ----------
    start, first : int
        Numbers of the frame where the warm-up of the part behind the cut begins, and of its first frame.
    kept : tuple of int
        Frames before the start that an unsplit run's background is learnt from there.
    """

    start: int
    first: int
    kept: tuple[int, ...]


def seams(
    frame_count: int | None, fps: float | None, every: int, segment_s: float, warm_up_s: float
) -> list[Cut]:
    """Where a video would be cut.

    Start and first frame of a part fall on frames that an unsplit run counts too (each `every`-th), and in
    which it looks at light and camera. A warm-up is never shorter than what steadies the first count. Nothing
    for a short video, or one that does not state its length and rate.

    >>> [cut] = seams(45_000, 25.0, every=1, segment_s=900.0, warm_up_s=10.0)
    >>> cut.start, cut.first, cut.kept[:2]
    (22248, 22512, (496, 996))
    """
    if frame_count is None or fps is None or segment_s <= 0:
        return []
    every *= stride(fps / every)  # from here on those of them that are estimated
    step = every * look_step(fps / every)
    length = step * max(1, round(segment_s * fps / step))
    warm_up = warm_up_frames(max(warm_up_s, SMOOTHING_S), fps, every)
    n_segments = max(1, math.floor(frame_count / length + 0.5))
    firsts = [k * length for k in range(1, n_segments)]
    starts = [max(0, first - warm_up) for first in firsts]
    kept = [tuple(every * k for k in kept_frames(start // every, fps / every)) for start in starts]
    return [Cut(*cut) for cut in zip(starts, firsts, kept, strict=True)]


def segments(cuts: list[Cut], landmarks: list[Landmark] | None) -> list[Segment]:
    """The segments between `seams`, as far as the video has the frames where they begin.

    Parameters
    ----------
    cuts : list of Cut
        See `seams`.
    landmarks : list of Landmark or None
        Of the frames that `cuts` name; None: the video cannot be cut. Nothing is cut where the start has
        none, and no frame is learnt from that has none.
    """
    found = {landmark.frame: landmark for landmark in landmarks or ()}
    cuts = [cut for cut in cuts if cut.start in found]
    firsts = [0, *(cut.first for cut in cuts)]
    starts = [None, *(found[cut.start] for cut in cuts)]
    ends = [*firsts[1:], None]
    kept = [(), *(tuple(found[frame] for frame in cut.kept if frame in found) for cut in cuts)]
    return [Segment(k, *part) for k, part in enumerate(zip(firsts, starts, ends, kept, strict=True))]
