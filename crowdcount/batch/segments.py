"""Where a long video is cut, so that several workers count it at once.

All segments learn the empty scene from the same frames, spread over the whole video, as an unsplit run does.
What a run only learns on its way (who stood still for long melts into the background) a segment learns in its
warm-up: the frames before it, which are looked at but not written. So counts behind a seam differ a little
from an unsplit run's; docs/batch.md says by how much.
"""

import math
from dataclasses import dataclass

from ..video import Landmark

#: A video is cut into parts of this length, seconds, when it is half as long again …
SEGMENT_S = 900.0
#: … and each but the first looks at so many seconds before it.
WARM_UP_S = 60.0


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
    """

    index: int
    first: int
    start: Landmark | None
    end: int | None


def seams(
    frame_count: int | None, fps: float | None, every: int, segment_s: float, warm_up_s: float
) -> list[tuple[int, int]]:
    """Where a video would be cut: where each segment's warm-up begins, and its first frame (first one: none).

    Both fall on frames that an unsplit run counts too (each `every`-th), and on which it looks at light and
    camera. Nothing for a short video, or one that does not state its length and rate.

    >>> seams(45_000, 25.0, every=1, segment_s=900.0, warm_up_s=60.0)
    [(20988, 22500)]
    """
    if frame_count is None or fps is None or segment_s <= 0:
        return []
    step = every * max(1, round(fps / every / 2))  # `features.foreground.Segmenter` looks twice a second
    length = step * max(1, round(segment_s * fps / step))
    warm_up = step * math.ceil(warm_up_s * fps / step)
    n_segments = max(1, math.floor(frame_count / length + 0.5))
    return [(max(0, k * length - warm_up), k * length) for k in range(1, n_segments)]


def segments(cuts: list[tuple[int, int]], landmarks: list[Landmark] | None) -> list[Segment]:
    """The segments between `seams`, as far as the video has the frames where they begin.

    Parameters
    ----------
    cuts : list of (int, int)
        See `seams`.
    landmarks : list of Landmark or None
        Of the frames where the warm-ups begin; None: the video cannot be cut.
    """
    found = {landmark.frame: landmark for landmark in landmarks or ()}
    cuts = [(start, first) for start, first in cuts if start in found]
    firsts = [0, *(first for _, first in cuts)]
    starts = [None, *(found[start] for start, _ in cuts)]
    ends = [*firsts[1:], None]
    return [
        Segment(k, first, start, end)
        for k, (first, start, end) in enumerate(zip(firsts, starts, ends, strict=True))
    ]
