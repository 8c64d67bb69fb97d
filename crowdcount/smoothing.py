"""Estimates of neighbouring frames steady each other: nobody comes or goes in a third of a second.

A frame's count is the median of what is estimated in the frames around it. Alone it would waver from frame to
frame, as blobs touch and part; the median takes that away, and single frames that are far off
(docs/decisions/2026-11-25-smoothing.md). For the same reason not every frame of video has to be estimated:
about `ESTIMATES_PER_S` tell the counts of all (docs/decisions/2026-11-25-strides.md).
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .video import Frame, Turns

if TYPE_CHECKING:
    from .pipeline import Pipeline

T = TypeVar("T")

#: Frames up to so many seconds before and after a frame steady its count. Not a whole number of frames at any
#: usual rate: how time stamps are rounded does not matter.
SMOOTHING_S = 0.31
#: About so many frames are estimated in each second of video: at least two then steady every count.
ESTIMATES_PER_S = 6.0


def stride(rate: float) -> int:
    """Of so many frames, at `rate` per second, one is estimated: at least 4.5 in a second, or all.

    >>> [stride(rate) for rate in (1.0, 8.0, 10.0, 12.5, 15.0, 25.0, 30.0)]
    [1, 1, 2, 2, 2, 4, 5]
    """
    return max(1, round(rate / ESTIMATES_PER_S))


class Looks:
    """Lets a pipeline look at the frames whose turn it is, and where it rains glimpse those before.

    Parameters
    ----------
    step, every : int
        See `Turns`.

    Attributes
    ----------
    ahead : Turns
        For `VideoSource.frames`, which may be ahead, and converts the images of no other frames.
    """

    def __init__(self, step: int, every: int = 1):
        self.ahead, self._turns = Turns(step, every), Turns(step, every)
        self._glimpsed_bgr = None

    def are_due(self, frame: Frame, pipeline: "Pipeline") -> bool:
        """Whether the pipeline is to look at the next frame, which could be decoded."""
        for turns in (self.ahead, self._turns):
            turns.look_closely(frame.index, pipeline.sees_rain)
        if self._glimpsed_bgr is not None:
            pipeline.glimpse(self._glimpsed_bgr)
            self._glimpsed_bgr = None
        if self._turns.is_due(frame.index, frame.time_s):
            self._turns.taken(frame.index, frame.time_s)
            return True
        if self._turns.is_before(frame.index):
            self._glimpsed_bgr = frame.image_bgr
        return False


def reach(rate: float) -> int:
    """How many frames on each side steady a count, at `rate` per second."""
    return math.floor(SMOOTHING_S * rate)


def around(timed: Iterable[tuple[float, T]], rate: float) -> Iterator[tuple[T, list[T]]]:
    """Each thing, and in order its neighbours up to `SMOOTHING_S` before and after it, itself among them.

    On each side these are no more than come at that `rate` per second: of a live stream all frames of some
    seconds may arrive at once. A thing is yielded as soon as one that is too late to be its neighbour has
    come; at a rate that leaves it none, at once. What is still held then is yielded where `timed` ends, or
    before its error is raised.

    Parameters
    ----------
    timed : iterable of (seconds, thing)
        In order of time.
    """
    most = reach(rate)
    if not most:
        yield from ((thing, [thing]) for _, thing in timed)
        return
    before, waiting, failure = deque(), deque(), None

    def first() -> tuple[T, list[T]]:
        time_s, thing = waiting[0]
        while before and (time_s - before[0][0] > SMOOTHING_S or len(before) > most):
            before.popleft()
        neighbours = [one for _, one in (*before, *islice(waiting, most + 1))]
        before.append(waiting.popleft())
        return thing, neighbours

    try:
        for time_s, thing in timed:
            while waiting and time_s - waiting[0][0] > SMOOTHING_S:
                yield first()
            waiting.append((time_s, thing))
    except Exception as error:
        failure = error
    while waiting:
        yield first()
    if failure is not None:
        raise failure


def median_known(values: Iterable[float]) -> float:
    """Median of the values that are not NaN; NaN where none is known."""
    known = [value for value in values if not math.isnan(value)]
    return median(known) if known else math.nan


def smoothed(times_s: np.ndarray, counts: np.ndarray, rate: float) -> np.ndarray:
    """Counts (n,) float64, each the median of those known `around` it, at `rate` per second.

    Parameters
    ----------
    times_s : (n,) float, increasing
    counts : (n,) float
        As estimated in single frames; NaN where none was.
    """
    timed = zip(times_s.tolist(), counts.tolist(), strict=True)
    return np.array([median_known(near) for _, near in around(timed, rate)])
