"""Who stands in one place for most of the footage is in the empty scene, and leaves a ghost there.

In the part of the footage without them what is behind them is seen. It is told from somebody who is there in
that part alone: somebody has an outline, and what is behind has none of that shape. What was put there and is
taken away has one too, but nobody who stands is quite still (docs/decisions/2026-11-30-ghosts.md).
"""

from collections.abc import Callable, Iterator
from functools import cache, partial

import cv2
import numpy as np

from .images import largest_difference, median_of, noise_of, steepness
from .parts import parts_of
from .postures import calm_means

#: Grey levels by which that differs from the scene, at the least.
_LEAST_DIFFERENCE = 15
_SPECK = np.ones((3, 3), np.uint8)  # smaller differences are none
#: Squared person heights of an outline: somebody's, or a part of them, at the least and the most.
_AREAS = 0.05, 1.2
#: Along the outline of a ghost the scene is so many times as steep as the part, at the least,
STEEPER = 1.5
_FAINT = 0.5  # both and so many grey levels per pixel.
#: It sways by so much, as `postures.sway_of` has it, in the frames that show it.
SWAYING = 0.5
_EACH = 4  # of so many rows and columns one tells what pixels usually do
#: How far an outline's edge reaches out and in.
_BESIDE, _WITHIN = np.ones((3, 3), np.uint8), np.ones((5, 5), np.uint8)
_AROUND = np.ones((5, 5), np.uint8)  # what is a little around a ghost goes with it


def behind_ghosts(
    frames: np.ndarray,
    image_bgr: np.ndarray,
    person_height: np.ndarray,
    former: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find who stands in one place for most of the footage, but not all of it, and what is behind them.

    Parameters
    ----------
    frames : (n, H, W, 3) uint8
        Spread over the footage in the order of time, in one light.
    image_bgr : (H, W, 3) uint8
        The scene that most of them show.
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel.
    former : ((H, W, 3) uint8, (H, W) float64), optional
        The scene as it was learnt before in that light, and the standard deviation of a pixel around it. Of
        fewer than `LEAST_FRAMES` only that tells what is behind.

    Returns
    -------
    ghosts : (H, W) bool
        Where the scene shows somebody who is not there in a part of the footage, and a little around.
    behind_bgr : (H, W, 3) uint8
        The scene, with what is shown there in that part.
    noise : (H, W) float64
        Standard deviation of a pixel around that there, grey levels; 0 elsewhere.
    """
    differences = cache(lambda: np.stack([largest_difference(frame, image_bgr) for frame in frames]))
    usual = cache(lambda: np.median(calm_means(differences()[:, ::_EACH, ::_EACH])))
    behind, noise = image_bgr.copy(), np.zeros(person_height.shape)
    ghosts = np.zeros(person_height.shape, bool)
    for shown, noise_around in _parts(frames, former):
        found = np.zeros(ghosts.shape, np.uint8)
        for box, outline, edge in _outlined(behind, shown, person_height):
            away = largest_difference(shown[box], image_bgr[box])[outline].mean()
            there = differences()[:, *box]
            there = there[there[:, outline].mean(axis=1) < away / 2]
            if len(there) and calm_means(there[:, edge]).mean() - usual() >= SWAYING * (usual() + 1):
                found[box] |= outline
        if found.any():
            found = cv2.dilate(found, _AROUND).view(bool)
            behind[found] = shown[found]
            noise[found] = noise_around()[found]
            ghosts |= found
    return ghosts, behind, noise


def _parts(frames, former) -> Iterator[tuple[np.ndarray, Callable[[], np.ndarray]]]:
    """What is shown before and in each part of some frames, (H, W, 3) uint8, and the noise around it."""
    if former is not None:
        image, noise = former
        yield image, lambda: noise
    for part in parts_of(frames):
        shown = median_of(part)
        yield shown, partial(noise_of, part, shown)


def without_ghosts(standing: np.ndarray, ghosts: np.ndarray) -> np.ndarray:
    """Who stands there all the time, (H, W) bool, without ghosts, (H, W) bool: those half of whom are one go
    as a whole."""
    n_labels, labels = cv2.connectedComponents(standing.view(np.uint8))
    n_pixels = np.bincount(labels.ravel(), minlength=n_labels)
    n_ghosts = np.bincount(labels[ghosts], minlength=n_labels)
    return standing & ~ghosts & (2 * n_ghosts < n_pixels)[labels]


def _outlined(
    scene_bgr, shown_bgr, person_height
) -> Iterator[tuple[tuple[slice, slice], np.ndarray, np.ndarray]]:
    """What may be ghosts by their sizes and outlines, in a scene and in what a part of the footage shows,
    (H, W, 3) uint8: the box, the outline in it and its edge, (h, w) bool."""
    differs = cv2.compare(largest_difference(scene_bgr, shown_bgr), _LEAST_DIFFERENCE, cv2.CMP_GT)
    n_labels, labels, stats, _ = cv2.connectedComponentsWithStats(
        cv2.morphologyEx(differs, cv2.MORPH_OPEN, _SPECK)
    )
    slopes = cache(lambda: [_slopes(image) for image in (scene_bgr, shown_bgr)])
    for label in range(1, n_labels):
        left, top, width, height, n_pixels = stats[label]
        tall = person_height[top + height // 2, left + width // 2]
        if not _AREAS[0] <= n_pixels / tall**2 <= _AREAS[1]:
            continue
        box = slice(max(0, top - 1), top + height + 1), slice(max(0, left - 1), left + width + 1)
        outline = (labels[box] == label).view(np.uint8)
        edge = cv2.dilate(outline, _BESIDE) > cv2.erode(outline, _WITHIN)
        scene, part = (slope[box][edge].mean() + _FAINT for slope in slopes())
        if scene >= STEEPER * part:
            yield box, outline.view(bool), edge


def _slopes(image_bgr) -> np.ndarray:
    """`steepness` (H, W) of the brightness of an image."""
    return steepness(*cv2.spatialGradient(cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY)))
