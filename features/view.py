"""Where a camera points, frame after frame: at the view that is known, a little beside it, or elsewhere."""

import math
from collections.abc import Callable

import numpy as np

from .camera import CameraWatch, Registration

#: Number of consecutive looks that must agree on a moved camera.
CAMERA_SHIFT_CHECKS = 3


class ViewWatch:
    """Follows the view of one camera, which may be knocked for a moment, moved a little, or moved away.

    Parameters
    ----------
    roi : (H, W) bool
        Region of interest, most of which frames must show to be brought back.
    step : int
        Frames from one search for a view that was lost to the next, which takes some tens of milliseconds.
    known_bgr : (H, W, 3) uint8, optional
        The view against which the camera is judged; by default the first that is given to `know`.

    Attributes
    ----------
    registration : Registration or None
        Where the view is in frames of a camera that was moved a little, which are brought back from there;
        None where it is in its place, or the camera was moved away.
    is_moved : bool
        Whether another view is shown from now on: region of interest and perspective no longer fit.
    is_shaken : bool
        Whether the frame looked at last was shifted for the moment.
    """

    def __init__(self, roi: np.ndarray, step: int, known_bgr: np.ndarray | None = None):
        self.registration: Registration | None = None
        self.is_moved = self.is_shaken = False
        self._roi, self._step = roi, step
        self._watch = None if known_bgr is None else CameraWatch(known_bgr)
        self._n_odd, self._last_sought = 0, -math.inf

    @property
    def is_known(self) -> bool:
        """Whether there is a view to judge by."""
        return self._watch is not None

    def know(self, view_bgr: np.ndarray) -> None:
        """Judge by this view (H, W, 3) uint8 from now on, if none is known."""
        if self._watch is None:
            self._watch = CameraWatch(view_bgr)

    def recognises(self, frame_bgr: np.ndarray) -> bool:
        """Whether a (H, W, 3) uint8 frame shows the view in its place, see `CameraWatch.recognises`."""
        return self._watch.recognises(frame_bgr)

    def judge(self, frame_bgr: np.ndarray) -> None:
        """Tell by one frame (H, W, 3) uint8, without those before it, whether the camera was moved away."""
        self.is_moved = not self.recognises(frame_bgr)

    @property
    def is_in_doubt(self) -> bool:
        """Whether the last look did not agree with `is_moved`."""
        return self._n_odd > 0

    def has_turned(self, frame_bgr: np.ndarray) -> bool:
        """Whether by this look at a (H, W, 3) uint8 frame, and those before, the camera has moved away from
        now on, or is in its place again."""
        self._n_odd = 0 if self.recognises(frame_bgr) != self.is_moved else self._n_odd + 1
        if self._n_odd < CAMERA_SHIFT_CHECKS:
            return False
        self.is_moved, self._n_odd = not self.is_moved, 0
        return True

    def look_for_shake(self, frame_bgr: np.ndarray, is_suspect: bool, checking: bool) -> None:
        """Tell whether a (H, W, 3) uint8 frame is shifted for the moment: the patches agree on a shift. Only
        one that is suspect can be, of which twice as much is foreground as before: each is looked at until
        they do, then those that are checked, once a second."""
        if not is_suspect:
            self.is_shaken = False
        elif checking or not self.is_shaken:
            self.is_shaken = self._watch.shift(frame_bgr) not in ((0.0, 0.0), None)

    def follow(
        self, frame_bgr: np.ndarray, number: int | None, steady: Callable[[np.ndarray], np.ndarray]
    ) -> bool:
        """Whether a (H, W, 3) uint8 frame shows the view elsewhere than those before it did; if so, frames
        are brought back from there from now on.

        `number`: of the frame, by which the view is sought in turn; None for one far from those before it.
        `steady`: makes a frame that of a camera that does not sway.
        """
        former = self.registration
        if self.recognises(steady(self.brought_back(frame_bgr))):
            return False
        found = None  # in its place again
        if former is None or not self.recognises(steady(frame_bgr)):
            if number is not None:
                if number - self._last_sought < self._step:
                    return False
                self._last_sought = number
            found = self._watch.registered(frame_bgr, self._roi)
            if found is None:
                return False
        self.registration = found
        if self.recognises(steady(self.brought_back(frame_bgr))):
            return True
        self.registration = former
        return False

    def take_as_found(self) -> None:
        """The view was found again: the camera is neither moved away nor knocked."""
        self.is_moved = self.is_shaken = False
        self._n_odd = 0

    def brought_back(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A (H, W, 3) uint8 frame as a camera in its place would show it."""
        return frame_bgr if self.registration is None else self.registration.brought_back(frame_bgr)
