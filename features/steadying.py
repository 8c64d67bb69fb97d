"""Pictures of a camera that sways, shifted back to where its empty scene is."""

from collections.abc import Sequence

import cv2
import numpy as np

#: A camera sways whose frames are so many pixels beside their place: the root mean square over `N_FRAMES`.
LEAST_SWAY, N_FRAMES = 0.15, 12
#: A frame that is farther beside its place than so many times that mean, and so many pixels, is of a camera
#: that was moved, which `features.camera` tells: shifted back here, it would show none of the flags.
_FURTHEST, _FAR = 4.0, 2.0
_N_CORNERS, _FEW_CORNERS = 120, 12  # of the scene: followed at the most; with fewer nothing is told
_APART, _SIDE = 8, 13  # pixels: from corner to corner at the least; the side of what is looked at around one
#: A quarter of the corners, or more, are shifted alike within so many pixels: in noise a twelfth at the most,
#: and up to a fifth where a few corners of a plain scene are among those of its noise.
_ALIKE = 0.5
#: Contrast is evened out in so many parts of a picture to either side, up to so many times.
_PARTS, _MOST_CONTRAST = (16, 16), 40.0


class Steadier:
    """Shifts the frames of a camera that sways, and leaves those of others as they are.

    The shift is the one that most of the scene's corners agree on (Lucas & Kanade 1981, by
    `calcOpticalFlowPyrLK`). Contrast is evened out first (Zuiderveld 1994, by `createCLAHE`): before a plain
    floor all corners would be those of people.

    Parameters
    ----------
    frames_bgr : sequence of (H, W, 3) uint8, at least one
        Spread over the footage.

    Attributes
    ----------
    is_needed : bool
        Whether the camera sways.
    """

    def __init__(self, frames_bgr: Sequence[np.ndarray]):
        greys = [_evened(frame) for frame in frames_bgr[:: -(-len(frames_bgr) // N_FRAMES)]]
        self._see(greys[len(greys) // 2])
        shifts = np.array([self._shift(grey) for grey in greys])
        shifts -= np.median(shifts, axis=0)
        sway = np.sqrt(np.square(shifts).sum(axis=1).mean())
        self.is_needed = bool(sway > LEAST_SWAY)
        self._furthest = max(_FURTHEST * sway, _FAR)
        self._last = np.zeros(2)
        if self.is_needed:
            steady = [_shifted(grey, shift) for grey, shift in zip(greys, shifts, strict=True)]
            self._see(np.median(steady, axis=0).astype(np.uint8))

    def steady(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 in its place, its edge repeated where nothing of it is; itself where the
        camera does not sway, or by far less."""
        if not self.is_needed:
            return frame_bgr
        shift = self._shift(_evened(frame_bgr))
        self._last = shift if np.hypot(*shift) <= self._furthest else np.zeros(2)
        return _shifted(frame_bgr, self._last)

    def as_seen(self, mask: np.ndarray) -> np.ndarray:
        """A mask (H, W) bool of the frame that was steadied last, where it is in that as it was."""
        return _shifted(mask.view(np.uint8), -self._last).view(bool)

    def cut(self, mask: np.ndarray) -> None:
        """Set a mask (H, W) to 0, in place, where the frame that was steadied last repeats its edge; by whole
        pixels."""
        height, width = mask.shape
        x, y = np.trunc(self._last).astype(int)
        mask[: max(0, -y)] = mask[height - max(0, y) :] = 0
        mask[:, : max(0, -x)] = mask[:, width - max(0, x) :] = 0

    def _see(self, scene) -> None:
        self._scene = scene
        corners = cv2.goodFeaturesToTrack(scene, _N_CORNERS, 0.02, _APART)
        self._corners = np.zeros((0, 1, 2), np.float32) if corners is None else corners

    def _shift(self, grey) -> np.ndarray:
        """Shift (2,), x and y, of a frame (H, W) uint8 against the scene; none where nothing tells it."""
        if len(self._corners) < _FEW_CORNERS:
            return np.zeros(2)
        found, is_found, _ = cv2.calcOpticalFlowPyrLK(
            self._scene, grey, self._corners, None, winSize=(_SIDE, _SIDE), maxLevel=2
        )
        shifts = (found - self._corners)[is_found == 1]
        if len(shifts) < _FEW_CORNERS:
            return np.zeros(2)
        x, y = shifts.T
        are_alike = (np.abs(x[:, None] - x) < _ALIKE) & (np.abs(y[:, None] - y) < _ALIKE)
        is_alike = are_alike[are_alike.sum(axis=1).argmax()]
        if 4 * np.count_nonzero(is_alike) < len(shifts):
            return np.zeros(2)
        return np.median(shifts[is_alike], axis=0)


def _evened(frame_bgr) -> np.ndarray:
    """The brightness (H, W) uint8 of a frame, with about the same contrast everywhere."""
    grey = cv2.cvtColor(frame_bgr, cv2.COLOR_BGR2GRAY)
    return cv2.createCLAHE(_MOST_CONTRAST, _PARTS).apply(grey)


def _shifted(image, shift) -> np.ndarray:
    """An image (H, W, …) uint8 that is shifted by (x, y), shifted back; itself where it is not."""
    if not shift.any():
        return image
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    to_shifted = np.float64([[1, 0, shift[0]], [0, 1, shift[1]]])
    return cv2.warpAffine(image, to_shifted, image.shape[1::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE)
