"""Has the camera moved? Small patches of the empty scene are looked for around their places."""

import cv2
import numpy as np

#: Width at which the images are compared, pixels.
WIDTH = 320
#: A shift by more than this many pixels at that width counts as moved; patches are sought this far around.
MIN_SHIFT, MAX_SHIFT = 2, 14
N_PATCHES, PATCH_RADIUS = 24, 10
#: A patch is found where the normalized correlation reaches this.
MIN_CORRELATION = 0.6
#: With fewer patches than this the scene has too little texture to tell.
MIN_PATCHES = 4


class CameraWatch:
    """Compares frames with the empty scene through patches at its corners, which people hide only in part.

    Parameters
    ----------
    reference_bgr : (H, W, 3) uint8
        The empty scene.
    """

    def __init__(self, reference_bgr: np.ndarray):
        reference = self._reduce(reference_bgr)
        margin = PATCH_RADIUS + MAX_SHIFT
        inner = np.zeros(reference.shape, np.uint8)
        inner[margin:-margin, margin:-margin] = 255
        corners = cv2.goodFeaturesToTrack(reference, N_PATCHES, 0.02, WIDTH / 12, mask=inner, blockSize=7)
        self._places = [] if corners is None else corners.reshape(-1, 2).astype(int)
        self._patches = [
            reference[y - PATCH_RADIUS : y + PATCH_RADIUS + 1, x - PATCH_RADIUS : x + PATCH_RADIUS + 1]
            for x, y in self._places
        ]

    def shift(self, frame_bgr: np.ndarray) -> tuple[float, float] | None:
        """Shift (dx, dy) of a (H, W, 3) uint8 frame against the empty scene, in its pixels.

        (0, 0) where it is below `MIN_SHIFT` or the scene has too little texture to tell; None where too few
        patches are found anywhere near: the view is lost (moved far, or covered).
        """
        if len(self._patches) < MIN_PATCHES:
            return 0.0, 0.0
        frame = self._reduce(frame_bgr)
        shifts = []
        for (x, y), patch in zip(self._places, self._patches, strict=True):
            reach = PATCH_RADIUS + MAX_SHIFT
            around = frame[y - reach : y + reach + 1, x - reach : x + reach + 1]
            correlation = cv2.matchTemplate(around, patch, cv2.TM_CCOEFF_NORMED)
            _, best, _, (column, row) = cv2.minMaxLoc(correlation)
            if best >= MIN_CORRELATION:
                shifts.append((column - MAX_SHIFT, row - MAX_SHIFT))
        if len(shifts) < max(MIN_PATCHES - 1, len(self._patches) / 5):
            return None
        middle = np.median(shifts, axis=0)
        agreeing = (np.abs(np.array(shifts) - middle) <= 1).all(axis=1)
        if np.hypot(*middle) < MIN_SHIFT or agreeing.sum() < len(shifts) / 2:
            return 0.0, 0.0
        dx, dy = middle * frame_bgr.shape[1] / WIDTH
        return float(dx), float(dy)

    @staticmethod
    def _reduce(frame_bgr):
        height, width = frame_bgr.shape[:2]
        size_wh = (WIDTH, max(2 * (PATCH_RADIUS + MAX_SHIFT) + 2, round(height * WIDTH / width)))
        return cv2.resize(cv2.cvtColor(frame_bgr, cv2.COLOR_BGR2GRAY), size_wh, interpolation=cv2.INTER_AREA)
