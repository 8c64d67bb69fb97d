"""Films on screens: filled, four-sided places with sharp edges whose picture is hardly ever the same.

People, trees and water are seldom twice the same either, but what they fill has no four sharp edges.
Signs, moving stairs and what is put down have such, but are the same time and again in most of their parts.
"""

from collections.abc import Iterator

import cv2
import numpy as np

from .images import largest_difference
from .states import ALIKE

#: With fewer frames, a few people behind a window would be taken for a film.
LEAST_FRAMES = 20
#: A film differs from the median of all frames in one of these shares of them: people before its edge, and
#: leaves beside it, change what is around it too, but less often.
_SHARES = 0.8, 0.6, 0.4, 0.3
_LEAST_SIDE = 8  # pixels: width and height of the smallest place
_MOST_OF_VIEW = 0.25  # the largest one covers less than this share of the picture
#: Least share of a place's convex hull that changes so often, and least overlap of the hull and the figure of
#: four corners, as a share of what either covers.
_FILLED, _FOUR_SIDED = 0.85, 0.9
#: How far from the hull a side may run, in perimeters of it.
_DETOURS = np.arange(0.01, 0.09, 0.01)
#: On average over most of each side, within so many pixels around, the share of the frames that differ drops
#: by so much of that within; three sides or more are not at the edge of the picture.
_EDGE, _STEEP, _ALONG = np.ones((5, 5), np.uint8), 0.8, np.linspace(0.1, 0.9, 17)[:, None]
_NEAR = np.ones((7, 7), np.uint8)  # what is so near belongs to it, where pictures are blurred
#: A block, of so much of the place's shorter side, is new in a frame where it is the same in fewer than this
#: share of all frames; blocks of a film are new in this share of the frames or more, on average.
_BLOCK, _SELDOM, _NEW = 1 / 4, 0.2, 0.3


def films(frames_bgr: np.ndarray, image_bgr: np.ndarray) -> np.ndarray:
    """Where films are shown in frames of a fixed camera.

    Parameters
    ----------
    frames_bgr : (n, H, W, 3) uint8
        Spread over the footage.
    image_bgr : (H, W, 3) uint8
        Their median.

    Returns
    -------
    (H, W) bool
        The screens, with what a blur has of them around; nothing with fewer than `LEAST_FRAMES`.
    """
    found = np.zeros(image_bgr.shape[:2], bool)
    if len(frames_bgr) >= LEAST_FRAMES:
        share = _share_changed(frames_bgr, image_bgr)
        drops = _drops_around(share)
        for least in _SHARES:
            for place, corners in _places(share >= least):
                is_steep = _least_drop(drops, corners) >= _STEEP * share[place > 0].mean()
                if is_steep and _share_new(frames_bgr, place) >= _NEW:
                    found |= cv2.dilate(place, _NEAR) > 0
    return found


def _share_changed(frames_bgr, image_bgr) -> np.ndarray:
    """(H, W) float32: share of the frames in which a pixel differs from the median."""
    n_changed = sum(largest_difference(frame, image_bgr) > ALIKE for frame in frames_bgr)
    return (n_changed / len(frames_bgr)).astype(np.float32)


def _places(is_changing) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The filled, four-sided places of a mask (H, W) bool, each (H, W) uint8, 1 within, and its corners
    (k, 1, 2) int32."""
    n_places, labels, boxes, _ = cv2.connectedComponentsWithStats(is_changing.view(np.uint8))
    for place in range(1, n_places):
        left, top, width, height, area = boxes[place]
        if min(width, height) < _LEAST_SIDE or area > _MOST_OF_VIEW * labels.size:
            continue
        points = np.argwhere(labels[top : top + height, left : left + width] == place)[:, ::-1] + (left, top)
        hull = cv2.convexHull(points.astype(np.int32))
        outline, figure = np.zeros((2, *labels.shape), np.uint8)
        cv2.fillPoly(outline, [hull], 1)
        corners = _four_corners(hull)
        cv2.fillPoly(figure, [corners], 1)
        is_filled = area >= _FILLED * outline.sum()
        if is_filled and (outline & figure).sum() >= _FOUR_SIDED * (outline | figure).sum():
            yield outline, corners


def _four_corners(hull) -> np.ndarray:
    """The figure of four corners at the most, (k, 1, 2) int32, that follows a convex hull closest."""
    perimeter = cv2.arcLength(hull, closed=True)
    figures = [cv2.approxPolyDP(hull, detour * perimeter, closed=True) for detour in _DETOURS]
    return next((figure for figure in figures if len(figure) <= 4), figures[-1])


def _drops_around(share) -> np.ndarray:
    """(H, W) float32: by how much a share (H, W) float32 drops around a pixel; NaN at the picture's edge."""
    drops = cv2.morphologyEx(share, cv2.MORPH_GRADIENT, _EDGE)
    seen = cv2.erode(np.ones(share.shape, np.uint8), _EDGE, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return np.where(seen > 0, drops, np.nan)


def _least_drop(drops, corners) -> float:
    """Mean of `_drops_around` at the flattest side, of those in the picture, of a figure of corners
    (k, 1, 2) int32; 0 where fewer than three are."""
    sides = np.roll(corners, -1, axis=0) - corners
    x, y = np.moveaxis(np.rint(corners + _ALONG * sides).astype(int), 2, 0)
    seen = [drop for drop in drops[y, x].mean(axis=1) if not np.isnan(drop)]
    return min(seen) if len(seen) >= 3 else 0.0


def _share_new(frames_bgr, place) -> float:
    """Share of the frames in which blocks of a place (H, W) uint8 show what they do in few others."""
    left, top, width, height = cv2.boundingRect(place)
    here = slice(top, top + height), slice(left, left + width)
    block = _BLOCK * min(width, height)
    size_wh = round(width / block), round(height / block)
    few = np.stack([cv2.resize(frame[here], size_wh, interpolation=cv2.INTER_AREA) for frame in frames_bgr])
    few = few.astype(np.int16)
    share_alike = np.mean([np.abs(few - one).max(axis=3) <= ALIKE for one in few], axis=0)
    return np.mean(share_alike < _SELDOM)
