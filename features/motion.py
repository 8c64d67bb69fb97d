"""Motion: which parts of the foreground move along an axis, and which against it, by dense optical flow.

The flow is that of Kroeger, Timofte, Dai & Van Gool 2016, "Fast optical flow using dense inverse search"
(DIS), between frames a fifth of a second apart. Each pixel is judged by itself: on
PETS 2009 the mean over a blob or over a pixel's surroundings was no better, and people who pass share a blob.
"""

from collections import deque
from copy import copy, deepcopy

import cv2
import numpy as np

#: Below this rate, frames per second, consecutive frames say little about each other.
LOW_RATE_FPS = 4.0
#: Motion along the axis below this speed, in person heights per second, is none: people walk at about 0.8.
STANDING_SPEED = 0.15
#: Time between the two frames whose flow is measured, seconds. On PETS 2009, .4 and .6 s did worse.
INTERVAL_S = 0.2


class MotionMeter:
    """Measures motion along an axis, frame by frame in order.

    Parameters
    ----------
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel.
    axis : (2,) float
        Unit vector (x, y) in the image: right is along it.
    rate : float
        Frames per second; ValueError below `LOW_RATE_FPS`, at which people are too far from where they were.
    """

    def __init__(self, person_height: np.ndarray, axis: np.ndarray, rate: float):
        if rate < LOW_RATE_FPS:
            raise ValueError(f"expected at least {LOW_RATE_FPS:g} frames/s, got {rate:g}")
        step = max(1, round(INTERVAL_S * rate))
        self._earlier = deque(maxlen=step)
        # a shift against the axis, in pixels, as a speed
        self._speed_of_shift = -rate / step / person_height
        self._axis = np.asarray(axis, np.float32).reshape(1, 2)
        self._flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
        self._flow.setFinestScale(1)  # the preset's 2 loses people of 18 pixels

    def __deepcopy__(self, memo: dict) -> "MotionMeter":
        """Shares the flow, which cannot be copied, and of which nothing depends on what it saw before."""
        copied = copy(self)
        copied._earlier = deepcopy(self._earlier, memo)
        return copied

    def measure(self, grey: np.ndarray) -> np.ndarray | None:
        """Speed of what each pixel of the next frame shows.

        Parameters
        ----------
        grey : (H, W) uint8

        Returns
        -------
        (H, W) float32, person heights per second along the axis, or None in the first frames, before which
        there is nothing to compare with.
        """
        earlier = self._earlier[0] if len(self._earlier) == self._earlier.maxlen else None
        self.pass_over(grey)
        if earlier is None:
            return None
        backwards = self._flow.calc(self._earlier[-1], earlier, None)
        return cv2.transform(backwards, self._axis) * self._speed_of_shift

    def pass_over(self, grey: np.ndarray) -> None:
        """See the next frame (H, W) uint8, whose speed nobody needs."""
        self._earlier.append(np.ascontiguousarray(grey))


def by_direction(mask: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The foreground (H, W) bool that moves right, and that moves left; what stands is in neither.

    `speed` is (H, W) as of `MotionMeter.measure`.
    """
    return mask & (speed > STANDING_SPEED), mask & (speed < -STANDING_SPEED)
