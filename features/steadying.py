"""Pictures of a camera that sways, shifted back to where its empty scene is."""

from collections.abc import Sequence

import cv2
import numpy as np

#: A camera sways whose frames are so many pixels beside their place: the root mean square over `N_FRAMES`.
LEAST_SWAY, N_FRAMES = 0.15, 12
#: A frame that is farther beside its place than so many times that mean, and so many pixels, is of a camera
#: that was moved, which `features.camera` tells: shifted back here, it would show none of the flags.
_FURTHEST, _FAR = 4.0, 2.0
#: Corners of the scene that are followed, with fewer of which nothing is told; how far they are apart, and to
#: what side they are looked at, pixels.
_N_CORNERS, _FEW_CORNERS, _APART, _SIDE = 80, 12, 8, 13
#: A quarter of the corners, or more, are shifted alike within so many pixels: in noise, a twentieth are.
_ALIKE = 0.5


class Steadier:
    """Shifts the frames of a camera that sways, and leaves those of others as they are.

    The shift is the median of those of the scene's corners (Lucas & Kanade 1981, by `calcOpticalFlowPyrLK`),
    of which people hide or move only some.

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
        greys = [_grey(frame) for frame in frames_bgr[:: -(-len(frames_bgr) // N_FRAMES)]]
        self._see(greys[len(greys) // 2])
        shifts = np.array([self._shift(grey) for grey in greys])
        shifts -= np.median(shifts, axis=0)
        sway = np.sqrt(np.square(shifts).sum(axis=1).mean())
        self.is_needed = bool(sway > LEAST_SWAY)
        self._furthest = max(_FURTHEST * sway, _FAR)
        if self.is_needed:
            steady = [_shifted(grey, shift) for grey, shift in zip(greys, shifts, strict=True)]
            self._see(np.median(steady, axis=0).astype(np.uint8))

    def steady(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 in its place, its edge repeated where nothing of it is; itself where the
        camera does not sway, or by far less."""
        if not self.is_needed:
            return frame_bgr
        shift = self._shift(_grey(frame_bgr))
        return frame_bgr if np.hypot(*shift) > self._furthest else _shifted(frame_bgr, shift)

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
        shift = np.median(shifts, axis=0)
        is_alike = (np.abs(shifts - shift) < _ALIKE).all(axis=1)
        return shift if 4 * np.count_nonzero(is_alike) >= len(shifts) else np.zeros(2)


def _grey(frame_bgr) -> np.ndarray:
    return cv2.cvtColor(frame_bgr, cv2.COLOR_BGR2GRAY)


def _shifted(image, shift) -> np.ndarray:
    """An image (H, W, …) uint8 that is shifted by (x, y), shifted back."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    to_shifted = np.float64([[1, 0, shift[0]], [0, 1, shift[1]]])
    return cv2.warpAffine(image, to_shifted, image.shape[1::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE)
