"""How sharp the outlines of blobs are: people have some, unlike light that falls on the scene (headlights, a
torch, the edge of a cloud's shadow) and what is so near the lens that it is out of focus (insects, drops)."""

from functools import cached_property

import cv2
import numpy as np

from .geometry import Figures
from .images import SLOPE, steepness

#: Blobs below this area, in squared person heights, have too few pixels to tell: a person covers about .2.
LEAST_SOFT = 0.08
#: Of the outline of a soft blob a smaller share is steep: against what it differs from the scene, this share
#: as steep as the scene's own edges (docs/decisions/2026-11-29-outlines.md).
_MOST_STEEP, _STEEPNESS = 0.1, 0.65
#: Where these are less steep, all of the picture is out of focus, and nothing is told; steeper none are.
_LEAST_SHARPNESS, _SHARPEST = 0.25, 0.6
#: What differs by fewer grey levels is as the scene is: half of one who stands there all the time, and is a
#: part of its picture (`MedianBackground.segment`).
_LEAST_DIFFERENCE = 8
#: The scene's edges are the fifth of its places around which brightness differs most, within so many pixels.
_EDGES, _AROUND = 80, np.ones((7, 7), np.uint8)
_NEIGHBOURS = np.ones((3, 3), np.uint8)


class OutlineMeter:
    """Tells blobs without sharp outlines against one picture of the empty scene.

    Parameters
    ----------
    scene_bgr : (H, W, 3) uint8
        In the light of the frames.
    """

    def __init__(self, scene_bgr: np.ndarray):
        self.scene_bgr = scene_bgr
        self._grey = cv2.cvtColor(scene_bgr, cv2.COLOR_BGR2GRAY)
        self._gradients = cv2.spatialGradient(self._grey)

    @cached_property
    def sharpness(self) -> float:
        """Slope of the scene's edges, as a share of what brightness differs across them: 0.5 at the most."""
        slopes = cv2.dilate(steepness(*self._gradients), _AROUND)
        differences = cv2.morphologyEx(self._grey, cv2.MORPH_GRADIENT, _AROUND)
        is_edge = differences >= max(1.0, np.percentile(differences, _EDGES))
        return float(np.median(slopes[is_edge] / differences[is_edge])) if is_edge.any() else 0.0

    def soft(self, grey: np.ndarray, figures: Figures) -> np.ndarray:
        """Which of the blobs in a frame's brightness (H, W) uint8 are soft: (n_blobs,) bool.

        What is before the lens hides the scene, so that the frame has no edges; light keeps them, so that the
        difference from the scene has none.
        """
        blobs, is_large = figures.blobs, figures.blob_areas >= LEAST_SOFT
        if not is_large.any():
            return is_large
        difference = cv2.absdiff(grey, self._grey).ravel().take(figures.pixels).astype(np.float64)
        differs = np.bincount(blobs, difference**2) / np.maximum(np.bincount(blobs, difference), 1)
        is_told = np.bincount(blobs, difference >= _LEAST_DIFFERENCE) >= 0.5 * np.bincount(blobs)

        inner = cv2.erode(figures.mask.view(np.uint8), _NEIGHBOURS)  # at the picture's edge is no outline
        outline = np.flatnonzero(inner.ravel().take(figures.pixels) == 0)
        pixels, blobs = figures.pixels.take(outline), blobs.take(outline)
        slopes = [image.ravel().take(pixels).astype(np.float64) for image in cv2.spatialGradient(grey)]
        scenes = [image.ravel().take(pixels) for image in self._gradients]
        both = [across**2 + down**2 for across, down in (slopes, np.subtract(slopes, scenes))]
        most_steep = _MOST_STEEP * np.bincount(blobs, minlength=len(is_large))

        def have_none(sharpness):
            steep = np.square(SLOPE * _STEEPNESS * sharpness * differs).take(blobs)
            n_steep = [np.bincount(blobs, squared >= steep, len(is_large)) for squared in both]
            return np.minimum(*n_steep) < most_steep

        is_soft = is_large & is_told & have_none(_SHARPEST)
        if is_soft.any():  # seldom: then it is worth to ask how sharp the scene is
            is_soft &= self.sharpness >= _LEAST_SHARPNESS and have_none(self.sharpness)
        return is_soft
