"""Is the feed frozen? Single pixels tell whether a camera or recorder repeats one picture.

What a sensor sees is never twice the same, not even in an empty yard: its noise and the light differ, and
after strong compression the picture is another after each whole one that the encoder sends. A picture that is
repeated for ever stays the same through most encoders. Pixels are taken as the camera sends them: those of a
reduced picture have hardly any noise.
"""

from collections import deque
from collections.abc import Iterable

import cv2
import numpy as np

from .background import window_step
from .foreground import look_step
from .tones import DARK, SATURATED

#: About so many pixels side by side are looked at.
COLUMNS = 160
#: A picture is the same as another from which fewer of its pixels differ than this share: those of the clock
#: that a recorder writes into it, and what compression makes of that around it.
SAME_SHARE = 0.1
#: What is dark or saturated shows no noise: only what lies between is looked at, if that is at least this
#: share of the picture.
_LEAST_SHARE = 0.05
#: With so many kept pictures, 20 seconds apart, a frozen one must be the same: some encoders send a whole
#: picture but once in a minute, and nothing in between of a scene in which nothing moves.
N_KEPT = 4


class FreezeWatch:
    """Compares frames with the one looked at before, and with the last four that a background keeps.

    These are 20 seconds apart: a picture counts as frozen after 60 to 80 seconds. With them a part of the
    footage goes on as an unsplit run does, see `resume`. The look before tells a frozen feed from a clip that
    is repeated every 20 seconds.

    Parameters
    ----------
    rate : float
        Frames per second that will be given to `see`.
    """

    def __init__(self, rate: float):
        self._look_step, self._window_step = look_step(rate), window_step(rate)
        self._kept = deque(maxlen=N_KEPT)
        self._looked_at = None
        self._is_frozen = False
        self._n_frames = 0

    def see(self, frame_bgr: np.ndarray) -> bool:
        """Take the next (H, W, 3) uint8 frame; whether the picture is frozen, as last looked at."""
        looking = self._n_frames % self._look_step == 0
        self._n_frames += 1
        keeping = self._n_frames % self._window_step == 0
        if looking or keeping:
            pixels = _pixels_of(frame_bgr)
        if looking:
            # a part of the footage does not know the look before its first one
            others = self._kept if self._looked_at is None else (self._looked_at, *self._kept)
            self._is_frozen = len(self._kept) == N_KEPT and all(
                changed_share(pixels, other) < SAME_SHARE for other in others
            )
            self._looked_at = pixels
        if keeping:
            self._kept.append(pixels)
        return self._is_frozen

    def resume(self, n_frames: int, kept_bgr: Iterable[np.ndarray]) -> None:
        """Go on as if `n_frames` frames had been seen, of which those are given that `kept_frames` names."""
        self._kept.extend(map(_pixels_of, kept_bgr))
        self._n_frames = n_frames


def changed_share(pixels: np.ndarray, other: np.ndarray) -> float:
    """Share of the pixels that differ between two pictures (h, w) uint8, dark and saturated ones left out.

    1 where these are nearly all, and of pictures of another size.
    """
    if pixels.shape != other.shape:
        return 1.0
    is_usable = cv2.inRange(other, DARK, SATURATED)
    n_usable = cv2.countNonZero(is_usable)
    if n_usable < _LEAST_SHARE * pixels.size:
        return 1.0
    return cv2.countNonZero(cv2.bitwise_and(is_usable, cv2.absdiff(pixels, other))) / n_usable


def _pixels_of(frame_bgr) -> np.ndarray:
    """The green channel of every so many rows and columns, a copy."""
    step = max(1, min(frame_bgr.shape[1] // COLUMNS, len(frame_bgr)))  # one row at the least
    return frame_bgr[step // 2 :: step, step // 2 :: step, 1].copy()
