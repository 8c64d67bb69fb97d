"""Rain and snow: specks all over the picture, each in one frame alone."""

from collections import deque
from collections.abc import Callable

import cv2
import numpy as np

from .images import middle_of
from .motion import LOW_RATE_FPS

RAIN_CHECK_S = 4.0  # from one look for rain or snow to the next
RAIN_SHARE = 0.2  # it rains where more than this share of the region's blocks hold drops:
DROP_AREA = 32  # specks of up to so many pixels that are in one frame alone, and not near what stays;
LEAST_DROPS = 0.7  # and where they are more than this share of the area of all that is in one frame alone
_BLOCKS = (8, 6)  # columns and rows of blocks that a picture is divided into
_LIMBS = np.ones((15, 15), np.uint8)  # what is near: fast limbs of people may be so far from where they were


class RainWatch:
    """Notices rain and snow in the frames of one camera, in order, and takes them out.

    While it rains, a frame is the median of it and the two before: people, who are wider than they walk in a
    frame, are where they were in the one between; a drop is in none of the others. In a time lapse, nobody
    lasts, and nothing is taken for rain.

    Parameters
    ----------
    rate : float
        Frames per second.
    roi : (H, W) bool
        Region of interest: blocks of it are looked at.

    Attributes
    ----------
    rains : bool
        Whether it rains or snows, as far as is known.
    """

    def __init__(self, rate: float, roi: np.ndarray):
        self.rains = False
        self._latest = deque(maxlen=3)
        self._step = round(RAIN_CHECK_S * rate) if rate >= LOW_RATE_FPS else None
        self._n_blocks = _n_blocks_with(roi)

    def glimpse(self, frame_bgr: np.ndarray) -> None:
        """See a (H, W, 3) uint8 frame that is passed over, to tell people in the next one from rain."""
        self._latest.append(frame_bgr)

    def without_drops(
        self, frame_bgr: np.ndarray, number: int, mask_of: Callable[[np.ndarray], np.ndarray] | None
    ) -> np.ndarray:
        """The next frame (H, W, 3) uint8, or where it rains what lasts of the latest three.

        `number`: of the frame, by which it is looked at in turn; `mask_of`: the foreground (H, W) bool of an
        image, None where there is no background yet.
        """
        self._latest.append(frame_bgr)
        if self._step is None or len(self._latest) < 3:
            return frame_bgr
        is_due = number % self._step == 2
        if not (is_due or self.rains):
            return frame_bgr
        lasting = middle_of(*self._latest)
        if is_due and mask_of is not None:
            self.rains = self._is_rain(mask_of(self._latest[1]), mask_of(lasting))
        return lasting if self.rains else frame_bgr

    def in_between(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A (H, W, 3) uint8 frame between the last and the next, likewise; it is not remembered."""
        return middle_of(*list(self._latest)[1:], frame_bgr) if self.rains else frame_bgr

    def _is_rain(self, seen, lasting) -> bool:
        """Whether all over the foreground (H, W) bool of a frame there are specks that do not last."""
        fleeting = seen & (cv2.dilate(lasting.view(np.uint8), _LIMBS) == 0)
        _, blobs, statistics, _ = cv2.connectedComponentsWithStats(fleeting.view(np.uint8))
        areas = statistics[:, cv2.CC_STAT_AREA]
        is_drop = areas <= DROP_AREA  # never what is no blob, the first: it lies around all of them
        is_mostly_drops = areas[is_drop].sum() > LEAST_DROPS * areas[1:].sum()
        return is_mostly_drops and _n_blocks_with(is_drop[blobs]) > RAIN_SHARE * self._n_blocks


def _n_blocks_with(mask) -> int:
    """In how many of `_BLOCKS` anything of a mask (H, W) bool is set."""
    return np.count_nonzero(cv2.resize(mask.astype(np.float32), _BLOCKS, interpolation=cv2.INTER_AREA))
