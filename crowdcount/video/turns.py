"""Which frames of a pass are to be estimated: no others have to be converted from what was decoded."""

import math

#: No frame is passed over so long after one that was estimated, seconds; at no usual rate one is.
_LONGEST_GAP_S = 0.19
#: So many frames behind the one in which rain is seen, all who read ahead know of it.
_GLIMPSED_BEHIND = 9


class Turns:
    """Which frames are estimated: of each `step` numbers the first frame that decodes.

    So passes agree wherever they begin. Where frames are far apart in time, as after a pause or at a falling
    rate, one without an estimate shortly before it takes the turn of the next `step` numbers: no more are
    estimated in all.

    Parameters
    ----------
    step : int
        From 1; 1 for all frames.
    every : int
        By how much the numbers of frames that follow each other differ.
    """

    def __init__(self, step: int, every: int = 1):
        self._step, self._every = step, every
        self._group, self._time_s = -1, -math.inf
        self._close_from, self._close_until = 0, 0

    def is_due(self, index: int, time_s: float) -> bool:
        """Whether the frame of that number and time, the next, is to be estimated."""
        return index // self._step > self._group or time_s - self._time_s > _LONGEST_GAP_S

    def taken(self, index: int, time_s: float) -> None:
        """It was."""
        group = index // self._step
        self._group, self._time_s = group + (self._group >= group), time_s

    def is_before(self, index: int) -> bool:
        """Whether the frame of that number is to be glimpsed, as the last before one whose turn it is."""
        is_last = (index + self._every) // self._step > index // self._step
        return is_last and self._close_from <= index < self._close_until

    def look_closely(self, index: int, is_close: bool) -> None:
        """Glimpse the frames before those that are estimated (`is_close`), or no longer: from the frame that
        comes `_GLIMPSED_BEHIND` frames behind this number on."""
        if is_close == (self._close_until == math.inf):
            return
        soon = index + _GLIMPSED_BEHIND * self._every
        if is_close:
            self._close_from, self._close_until = soon, math.inf
        else:
            self._close_until = soon
