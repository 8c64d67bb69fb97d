"""Of footage of which few frames are wanted, only what leads up to them is decoded.

Whoever labels fifty frames of a day would wait hours for the rest of it. A stretch begins as a pass over all
of the footage would have come to it: the empty scene is the same, and a warm-up tells the light of the moment
(docs/decisions/2026-11-26-stretches.md).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from features.background import kept_frames
from features.foreground import look_step

from .pipeline import Pipeline
from .video import Landmark, Position, VideoSource

#: A pass that begins in the middle of footage looks at so many seconds before the first frame that is wanted.
WARM_UP_S = 10.0


@dataclass(frozen=True)
class Stretch:
    """Frames in a row.

    Attributes
    ----------
    start : Position or Landmark
        Where its warm-up begins.
    end : int
        Number of the frame behind the last.
    n_seen : int
        Frames that a pass over all of the footage would have looked at before the start.
    kept : tuple of Landmark
        Those of them that such a pass would have kept to learn from.
    """

    start: Position | Landmark
    end: int
    n_seen: int = 0
    kept: tuple[Landmark, ...] = ()

    @property
    def n_decoded(self) -> int:
        """About how many frames are decoded for it, but to get to the first stretch."""
        before = [None, *(mark.frame for mark in self.kept)]
        leading_up = sum(mark.decoded_after(frame) for frame, mark in zip(before, self.kept, strict=False))
        to_start = self.start.decoded_after(None) if self.n_seen else 0
        return leading_up + to_start + self.end - self.start.frame


def warm_up_frames(seconds: float, rate: float, step: int) -> int:
    """How many frames, at `rate` per second, a warm-up of some seconds takes where each `step`-th is looked
    at: it begins with one in which light and camera are looked at, if the frame behind it is such a one.

    >>> warm_up_frames(10.0, 25.0, 4)
    264
    """
    turn = step * look_step(rate / step)
    return turn * math.ceil(seconds * rate / turn)


def stretches(source: VideoSource, wanted: Sequence[int], step: int, pipeline: Pipeline) -> list[Stretch]:
    """The stretches that hold the wanted frames, in order.

    What lies between two of them is passed over where decoding it would take twice as long as what leads up
    to the second. Of footage whose frames cannot be told apart by their time stamps, all is one stretch.

    Parameters
    ----------
    source : VideoSource
    wanted : sequence of int
        Increasing numbers of frames.
    step : int
        Of so many frames, one is looked at.
    pipeline : Pipeline
        Has learnt the empty scene, and seen no frame.
    """
    first, end = wanted[0] // step * step, wanted[-1] + 1  # where a pass over all of the footage looks too
    rate = source.info.rate / step
    turn, warm_up = step * look_step(rate), warm_up_frames(WARM_UP_S, source.info.rate, step)
    learns_anew = pipeline.learns_anew((end - first) // step)
    gaps = []
    for before, behind in itertools.pairwise(wanted):
        if behind - before > 2 * warm_up:
            n_seen = (behind - warm_up - first) // turn * turn // step
            kept = kept_frames(n_seen, rate) if learns_anew else []
            gaps.append((before, behind, n_seen, [first + step * k for k in (*kept, n_seen)]))
    needed = sorted({frame for *_, frames in gaps for frame in frames})
    found = {mark.frame: mark for mark in (source.landmarks(needed) if needed else None) or ()}
    parts, latest = [], Stretch(Position(frame=first), end)
    for before, behind, n_seen, frames in gaps:
        if not found.keys() >= set(frames):
            continue
        *kept, start = (found[frame] for frame in frames)
        leading_up = Stretch(start, behind, n_seen, tuple(kept))
        if 2 * leading_up.n_decoded < behind - before:
            parts.append(replace(latest, end=before + 1))
            latest = replace(leading_up, end=end)
    return [*parts, latest]
