"""Shade that wanders over a scene, as that of trees and buildings does while the sun moves.

The median of footage shows some places lit, others in shade, and in a part of the footage each of them is the
other way round. Shade on what is lit is told by its colours (`features.shadows`); light on what is in shade
looks like somebody. So the scene is taken as it is lit. Light is told from who stands there in a part of the
footage: a shirt may be evenly brighter than the ground, but hardly all of a person is
(docs/decisions/2026-12-01-shade.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from .images import largest_difference, median_of, percentile_of
from .shadows import SHADE, SHADOW, Depth, Shade, is_shadow, is_shadow_at, light_left

#: Grey levels by which a part of the footage differs from the scene, at the least.
_LEAST_DIFFERENCE = 12
_SPECK = np.ones((3, 3), np.uint8)  # smaller differences are none
#: So much of a piece that differs is evenly brighter or darker, at the least, if it is of light or shade.
EVEN = 0.9
#: Shade wanders if of all that differs, in all parts, more than this is brighter and of such pieces.
BRIGHTER = 0.2
#: Leaves sway: what is lit in a part of the footage is as bright as this percentile of its frames, the second
#: brightest of six. Somebody who passes is in one of them.
_SWAYING = 80
#: Shade is as deep as this quantile of what it leaves of the light where it is gone, and by so much deeper.
_DEEPEST, _DEEPER = 0.1, 0.05
_SHALLOWEST = 0.5  # but never less deep: that of leaves is hardly ever gone for all of a part
_AROUND = np.ones((3, 3), np.uint8)  # what is a little around a piece goes with it


@dataclass(frozen=True, eq=False)
class LitScene:
    """A scene over which shade wanders, as it is lit.

    Attributes
    ----------
    image_bgr : (H, W, 3) uint8
    shade : Shade
        It is in a part of the footage, but not in all of it, or a little beside.
    """

    image_bgr: np.ndarray
    shade: Shade

    def widened(self, part: np.ndarray) -> "LitScene":
        """The same by what another part of the footage, (n, H, W, 3) uint8, shows besides, as far as shade
        sways in it; itself where that is no other light."""
        shown = percentile_of(part, _SWAYING).astype(np.uint8)
        return self._with(shown, _Pieces(self.image_bgr, shown))

    def _with(self, shown_bgr, pieces: "_Pieces") -> "LitScene":
        where = self.shade.where
        is_brighter = pieces.of_light & (_total(shown_bgr) > _total(self.image_bgr))
        if not is_brighter.any() and where[pieces.of_light].all():
            return self
        image = np.where(is_brighter[..., None], shown_bgr, self.image_bgr)
        return LitScene(image, self.shade._replace(where=where | pieces.of_light))

    def without_shade(self, frames: np.ndarray) -> np.ndarray:
        """Frames (n, H, W, 3) uint8 as they were if all of it was lit."""
        where = self.shade.where
        frames, lit = frames.copy(), self.image_bgr[where]
        for frame in frames:
            seen = frame[where]
            frame[where] = np.where(is_shadow(seen, lit, depth=SHADE)[:, None], lit, seen)
        return frames


def lit_scene(
    image_bgr: np.ndarray, parts: Sequence[np.ndarray], former: LitScene | None = None
) -> LitScene | None:
    """Tell whether shade wanders over a scene, and what that looks like where it is lit.

    Parameters
    ----------
    image_bgr : (H, W, 3) uint8
        The scene as most of the footage shows it.
    parts : sequence of (n, H, W, 3) uint8
        The footage in parts, in one light, each long enough to show the scene without passers-by.
    former : LitScene, optional
        By the footage before: it still tells what is lit if shade wanders on.

    Returns
    -------
    LitScene or None
        None where no shade wanders.
    """
    shown = [median_of(part) for part in parts]
    pieces = [_Pieces(image_bgr, each) for each in shown]
    n_differing = sum(each.n_differing for each in pieces)
    if sum(len(each.left_in_shade) for each in pieces) <= BRIGHTER * n_differing:
        return None
    depth = _depth_of(np.concatenate([each.left_in_shade for each in pieces]))
    scene = LitScene(image_bgr, Shade(np.zeros(image_bgr.shape[:2], bool), depth))
    for each, its_pieces in zip(shown, pieces, strict=True):
        scene = scene._with(each, its_pieces)
    for part in parts:
        scene = scene.widened(part)
    if former is not None:
        scene = scene._with(former.image_bgr, _Pieces(scene.image_bgr, former.image_bgr))
        scene = LitScene(scene.image_bgr, Shade(scene.shade.where | former.shade.where, depth))
    return scene


def _depth_of(left) -> Depth:
    """How deep shade is that leaves such shares (k, 3) of the light where a part shows it gone."""
    darkest = np.quantile(left.mean(axis=1), _DEEPEST) - _DEEPER
    spread = SHADOW.spread + np.median(np.ptp(left, axis=1))
    return Depth(float(np.clip(darkest, SHADE.darkest, _SHALLOWEST)), float(min(spread, SHADE.spread)))


class _Pieces:
    """Where a part of the footage differs from a scene, (H, W, 3) uint8 both.

    Attributes
    ----------
    n_differing : int
        Pixels that differ.
    left_in_shade : (k, 3) float32
        Of those that are evenly brighter, in pieces of light or shade: `light_left` in the scene.
    of_light : (H, W) bool
        Where pieces of light or shade are, and a little around.
    """

    def __init__(self, scene_bgr, shown_bgr):
        differs = cv2.compare(largest_difference(shown_bgr, scene_bgr), _LEAST_DIFFERENCE, cv2.CMP_GT)
        n_pieces, labels = cv2.connectedComponents(cv2.morphologyEx(differs, cv2.MORPH_OPEN, _SPECK))
        pixels = np.flatnonzero(labels)
        pieces = labels.ravel().take(pixels)
        is_brighter = is_shadow_at(pixels, scene_bgr, shown_bgr, depth=SHADE)
        is_darker = is_shadow_at(pixels, shown_bgr, scene_bgr, depth=SHADE)
        n_even = np.bincount(pieces, is_brighter | is_darker, n_pieces)
        is_of_light = n_even >= EVEN * np.bincount(pieces, minlength=n_pieces)
        is_of_light[0] = False  # what does not differ
        self.n_differing = len(pixels)
        brighter = pixels[is_brighter & is_of_light.take(pieces)]
        images = (image.reshape(-1, 3).take(brighter, axis=0) for image in (scene_bgr, shown_bgr))
        self.left_in_shade = light_left(*images)
        self.of_light = cv2.dilate(is_of_light.take(labels).view(np.uint8), _AROUND).view(bool)


def _total(image_bgr) -> np.ndarray:
    return image_bgr.sum(axis=2, dtype=np.int16)
