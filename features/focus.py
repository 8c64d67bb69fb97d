"""Is a picture out of focus, against another one of the same scene?

A lens that hunts or has lost its focus, and dew on a dome, wash out the edges of a scene: all of them differ
from the picture that was learnt, and would be people.
"""

from functools import cached_property

import cv2
import numpy as np

from .images import medians

#: So many places with the strongest edges tell, or a tenth of the pixels, and those that are as strong; none
#: where their median is weaker than this, grey levels across two pixels, or they are fewer than the last.
_MOST_PLACES, _LEAST_EDGE, _LEAST_PLACES = 2000, 10, 100
#: Blurs that are told from each other: standard deviations of Gaussians, pixels.
_BLURS = 0.5 * 1.2 ** np.arange(15)


def fine_detail(image_bgr: np.ndarray) -> float:
    """How strong the strongest edges of a picture (H, W, 3) uint8 are, wherever they lie: the mean of the
    largest 2 % of the differences of green from pixel to pixel."""
    green = image_bgr[..., 1].astype(np.int16)
    differences = np.sort(np.abs(np.diff(green, axis=1)), axis=None)
    return float(differences[-max(1, differences.size // 50) :].mean())


class FocusMeter:
    """Compares the edges of pictures with those of a scene, passing over people who hide some.

    Parameters
    ----------
    reference_bgr : (H, W, 3) uint8
        The scene without people.
    """

    def __init__(self, reference_bgr: np.ndarray):
        self._reference_bgr = reference_bgr
        width = reference_bgr.shape[1]
        green = reference_bgr[..., 1].astype(np.int16)
        across, down = np.zeros_like(green), np.zeros_like(green)
        across[1:-1, 1:-1] = np.abs(green[1:-1, 2:] - green[1:-1, :-2])
        down[1:-1, 1:-1] = np.abs(green[2:, 1:-1] - green[:-2, 1:-1])
        strength = np.maximum(across, down).ravel()
        n_places = min(_MOST_PLACES, strength.size // 10)
        weakest = np.partition(strength, -n_places)[-n_places]
        places = np.flatnonzero(strength >= max(weakest, 1))
        self._can_tell = len(places) >= _LEAST_PLACES and np.median(strength[places]) >= _LEAST_EDGE
        step = np.where(across.ravel()[places] >= down.ravel()[places], 1, width)
        self._before, self._after = 3 * (places - step) + 1, 3 * (places + step) + 1
        self._edges = self._edges_of(reference_bgr)

    def sharpness(self, image_bgr: np.ndarray) -> float:
        """How strong the edges of the scene are in a picture (H, W, 3) uint8: the median over all of them; 1
        as strong as they were, and where there are none that could tell."""
        return float(medians((self._edges_of(image_bgr) / self._edges)[None])[0]) if self._can_tell else 1.0

    def blur_of(self, sharpness: float) -> float:
        """The standard deviation (pixels) of the Gaussian that makes the scene about so sharp."""
        ratios = self._sharpnesses / max(sharpness, 1e-3)
        return float(_BLURS[np.argmin(np.abs(np.log(ratios)))])

    @cached_property
    def _sharpnesses(self) -> np.ndarray:
        blurred = (cv2.GaussianBlur(self._reference_bgr, (0, 0), blur) for blur in _BLURS)
        return np.maximum([self.sharpness(image) for image in blurred], 1e-3)

    def _edges_of(self, image_bgr) -> np.ndarray:
        """(n,) float32: differences of green across the places."""
        levels = image_bgr.ravel()
        return levels.take(self._after).astype(np.float32) - levels.take(self._before)
