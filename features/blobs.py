"""What a model for any scene takes for people: the foreground by blobs, each pixel weighed by its person's
height."""

import cv2
import numpy as np

from .geometry import Figures, Geometry
from .images import Closing
from .outlines import OutlineMeter
from .perspective import heights_by_end, is_from_below_heads
from .vehicles import LEAST_VEHICLE, VehicleFinder

#: Blobs below this area, in squared person heights, are specks: a person covers about .2, a head .02.
LEAST_BLOB = 0.01
#: How the parts are joined into which a person breaks where clothes resemble the background: how often they
#: do differs from camera to camera, and the parts of one person lie above each other. Half the width and
#: height of a closing, in shares of the height at which the model sees people, even where they are smaller in
#: the frames (docs/decisions/2026-11-22-any-scene.md).
_JOINING = (0.125, 0.45)


class BlobWeigher:
    """Weighs each pixel of a foreground by the height of the person it can belong to as a part of its blob.

    A person's feet are not below the blob, and the head is not below the pixel: each of these bounds the
    height from above, and the smaller one holds, but the second for a camera below people's heads. By the
    pixel's row alone people were too heavy by four fifths in steep perspectives (TUD-Campus).

    Parameters
    ----------
    geometry : Geometry
    seen_height : float
        Height at which the model sees a typical person, pixels.
    """

    def __init__(self, geometry: Geometry, seen_height: float):
        self._geometry = geometry
        by_top, by_foot = heights_by_end(geometry.person_height)
        if is_from_below_heads(geometry.person_height):
            by_top = np.full_like(by_top, np.inf)
        self._lengths_by_end = 1.0 / by_top, 1.0 / by_foot
        self._vehicles = VehicleFinder(geometry.person_height, geometry.roi)
        joining_wh = [2 * round(half * seen_height) + 1 for half in _JOINING]
        self._joining = Closing(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, joining_wh))
        self._outlines: OutlineMeter | None = None

    def figures(self, mask: np.ndarray, grey: np.ndarray, scene_bgr: np.ndarray | None) -> Figures:
        """People in a foreground (H, W) bool, which is changed: its parts joined, without specks, vehicles
        and what has no outline.

        Parameters
        ----------
        grey : (H, W) uint8
            Brightness of the frame.
        scene_bgr : (H, W, 3) uint8 or None
            The empty scene in its light, the same array as long as that stays; None where there is none.
        """
        _, top, _, height = cv2.boundingRect(mask.view(np.uint8))
        band = slice(max(0, top - 1), top + height + 1)  # beyond these rows is nothing, joined or not
        joined = cv2.medianBlur(self._joining.apply(mask[band].view(np.uint8)), 3)
        mask[band] = joined.view(bool) & self._geometry.roi[band]
        figures = self._weighed(mask, band)
        if scene_bgr is not None:
            figures = figures.without(self._outlines_in(scene_bgr).soft(grey, figures))
        is_large = figures.blob_areas >= LEAST_VEHICLE
        if is_large.any():
            large = np.zeros_like(mask)
            large.ravel()[figures.pixels[is_large.take(figures.blobs)]] = True
            if self._vehicles.take_from(large, mask):
                return self._weighed(mask, band, without_vehicles=True)
        return figures

    def _outlines_in(self, scene_bgr) -> OutlineMeter:
        if self._outlines is None or self._outlines.scene_bgr is not scene_bgr:
            self._outlines = OutlineMeter(scene_bgr)
        return self._outlines

    def _weighed(self, mask, band: slice, without_vehicles: bool = False) -> Figures:
        """The foreground with each pixel's person's height; drops specks. It lies in a band of rows."""
        found = mask[band]
        n_blobs, labels = cv2.connectedComponents(found.view(np.uint8), connectivity=8, ltype=cv2.CV_32S)
        pixels = np.flatnonzero(found)
        blobs = labels.ravel().take(pixels)
        width = mask.shape[1]
        pixels += band.start * width
        rows = pixels // width
        bottoms = np.zeros(n_blobs, np.intp)
        bottoms[blobs] = rows  # which rise: the last one stays
        by_top, by_foot = self._lengths_by_end
        feet = pixels + width * (bottoms.take(blobs) - rows)
        lengths = np.maximum(by_foot.ravel().take(feet), by_top.ravel().take(pixels))
        figures = Figures(mask, self._geometry, pixels, lengths, blobs, without_vehicles)
        return figures.without(figures.blob_areas < LEAST_BLOB)
