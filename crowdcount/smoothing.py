"""Estimates of neighbouring frames steady each other: nobody comes or goes in a third of a second.

A frame's count is the median of what is estimated in the frames around it. Alone it would waver from frame to
frame, as blobs touch and part; the median takes that away, and single frames that are far off
(docs/decisions/2026-11-25-smoothing.md).
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from statistics import median
from typing import TypeVar

import numpy as np

T = TypeVar("T")

#: Frames up to so many seconds before and after a frame steady its count. Not a whole number of frames at any
#: usual rate: how time stamps are rounded does not matter.
SMOOTHING_S = 0.31


def reach(rate: float) -> int:
    """How many frames on each side steady a count, at `rate` per second."""
    return math.floor(SMOOTHING_S * rate)


def around(timed: Iterable[tuple[float, T]], rate: float) -> Iterator[tuple[T, list[T]]]:
    """Each thing with those up to `SMOOTHING_S` before and after it and itself, in order.

    It comes as soon as one after these is there; at a `rate` per second that has none around, at once and
    alone. Should there be no more, for an error, those come first that are still held.

    Parameters
    ----------
    timed : iterable of (seconds, thing)
        In order of time.
    """
    if not reach(rate):
        yield from ((thing, [thing]) for _, thing in timed)
        return
    before, waiting, failure = deque(), deque(), None

    def first() -> tuple[T, list[T]]:
        time_s, thing = waiting[0]
        while before and time_s - before[0][0] > SMOOTHING_S:
            before.popleft()
        neighbours = [one for _, one in (*before, *waiting)]
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
    """Counts (n,) float64, none of them NaN, of frames at increasing times (n,), as they are told; see
    `around`."""
    timed = zip(times_s.tolist(), counts.tolist(), strict=True)
    return np.array([median_known(near) for _, near in around(timed, rate)])
