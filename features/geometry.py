"""What every feature family needs to know of a scene and of a frame's foreground in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from .perspective import depth_cells


@dataclass(frozen=True, eq=False)
class Geometry:
    """Regions and perspective of a scene at the working resolution.

    Parameters
    ----------
    grids : (n_grids, H, W) int32
        Several divisions of the region of interest, from the whole down to fine cells. Each gives the number
        of the region that a pixel belongs to; −1 outside the region of interest, alike in all grids. Numbers
        go on from grid to grid, so that a region is known by its number alone.
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel; positive.
    n_regions : int
        Number of regions, empty ones included.

    Raises
    ------
    ValueError
        When the maps differ in shape, a height is not positive, or no pixel lies in a region.
    """

    grids: np.ndarray
    person_height: np.ndarray
    n_regions: int

    def __post_init__(self):
        if self.grids.ndim != 3 or self.grids.shape[1:] != self.person_height.shape:
            raise ValueError(
                f"grids must be a stack of images of person_height's shape, got {self.grids.shape} and "
                f"{self.person_height.shape}"
            )
        if not (self.person_height > 0).all():
            raise ValueError("person_height must be positive at every pixel")
        if not self.roi.any():
            raise ValueError("no pixel lies in a region: the region of interest is empty")
        if self.grids.max() >= self.n_regions:
            raise ValueError(f"region {self.grids.max()} is beyond the {self.n_regions} regions")

    @classmethod
    def of_grids(
        cls, person_height: np.ndarray, roi: np.ndarray, grids: Sequence[tuple[int, int]]
    ) -> "Geometry":
        """The geometry of a region of interest (H, W) bool, divided into `depth_cells` of so many rows and
        columns once for each of the `grids`."""
        labels, n_regions = [], 0
        for rows, columns in grids:
            cells = depth_cells(person_height, roi, rows, columns)
            labels.append(np.where(cells >= 0, cells + n_regions, -1).astype(np.int32))
            n_regions += rows * columns
        return cls(np.stack(labels), person_height, n_regions)

    @cached_property
    def roi(self) -> np.ndarray:
        """(H, W) bool: True where the pixel belongs to a region."""
        return self.grids[0] >= 0

    @cached_property
    def parts(self) -> np.ndarray:
        """(H·W,) int: number of the part that a pixel belongs to, −1 outside the region of interest.

        Parts are what the grids cut the region of interest into together: every region is made of whole ones.
        """
        return self._divided[0]

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return self._divided[1].shape[1]

    @cached_property
    def membership(self) -> np.ndarray:
        """(n_regions, n_parts) float64: 1 where the part belongs to the region, else 0."""
        regions = self._divided[1]
        membership = np.zeros((self.n_regions, self.n_parts))
        membership[regions, np.arange(self.n_parts)] = 1
        return membership

    @cached_property
    def _divided(self) -> tuple[np.ndarray, np.ndarray]:
        """`parts`, and the regions (n_grids, n_parts) int that each part belongs to."""
        inside = np.flatnonzero(self.roi)
        regions = self.grids.reshape(len(self.grids), -1)[:, inside]
        part = np.zeros(len(inside), np.intp)
        for region in regions:
            part = part * self.n_regions + region
            occurs = np.zeros(part.max() + 1, bool)
            occurs[part] = True
            part = (np.cumsum(occurs) - 1).take(part)
        parts = np.full(self.roi.size, -1)
        parts[inside] = part
        regions_of_parts = np.empty((len(regions), part.max() + 1), np.intp)
        regions_of_parts[:, part] = regions
        return parts, regions_of_parts

    @cached_property
    def boxes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Boxes of 2, 4, 8 and 16 pixels to a side that cover the regions, each region by boxes of its own.

        Per side length: the boxes' numbers, (n_grids, H·W) int32 by pixel for the first side (−1 outside the
        region of interest) and (n,) by the number of the box of the side before for the others; and the
        region (n,) that each box belongs to.
        """
        inside = np.flatnonzero(self.roi)
        height, width = self.roi.shape
        rows, columns = np.divmod(inside, width)
        regions = self.grids.reshape(len(self.grids), -1)[:, inside]
        region, row, column = (array.ravel() for array in np.broadcast_arrays(regions, rows, columns))
        levels = []
        for _ in range(4):
            row, column, height, width = row // 2, column // 2, (height + 1) // 2, (width + 1) // 2
            code = (region.astype(np.int64) * height + row) * width + column
            is_box = np.zeros(self.n_regions * height * width, bool)
            is_box[code] = True
            boxes = np.flatnonzero(is_box)
            levels.append((np.searchsorted(boxes, code).astype(np.int32), boxes // (height * width)))
            region, place = np.divmod(boxes, height * width)
            row, column = np.divmod(place, width)
        by_pixel = np.full(self.grids.reshape(len(self.grids), -1).shape, -1, np.int32)
        by_pixel[:, inside] = levels[0][0].reshape(regions.shape)
        levels[0] = (by_pixel, levels[0][1])
        return levels

    def total(self, by_part: np.ndarray) -> np.ndarray:
        """Sums (n_regions, …) over the parts of each region, of (n_parts, …) float64 or float32."""
        if len(self.grids) == 1:  # each region is one part, or empty
            totals = np.zeros((self.n_regions, *by_part.shape[1:]), by_part.dtype)
            totals[self._divided[1][0]] = by_part
            return totals
        flat = by_part.reshape(len(by_part), -1)
        return (self.membership.astype(flat.dtype) @ flat).reshape(self.n_regions, *by_part.shape[1:])


class Figures:
    """The foreground of one frame, as the feature families share it.

    Parameters
    ----------
    mask : (H, W) bool
        Foreground inside the region of interest.
    geometry : Geometry
    pixels : (k,) int, optional
        Flat indices of the foreground's pixels in rising order, where they are known.
    lengths : (k,) float32, optional
        Length of each of these pixels, in heights of the person that it belongs to; by default as the
        geometry has it.
    blobs : (k,) int, optional
        Number of the connected blob that each of these pixels belongs to; by default they are sought.
    without_vehicles : bool
        Whether vehicles were found in the frame, and are no part of the foreground.
    """

    def __init__(
        self,
        mask: np.ndarray,
        geometry: Geometry,
        pixels=None,
        lengths=None,
        blobs=None,
        without_vehicles: bool = False,
    ):
        self.mask = mask
        self.geometry = geometry
        self.without_vehicles = without_vehicles
        self.pixels = np.flatnonzero(mask) if pixels is None else pixels
        #: (k,) float32: length of each pixel in person heights, its area in squared ones.
        self.lengths = 1.0 / geometry.person_height.ravel().take(self.pixels) if lengths is None else lengths
        self.areas = self.lengths**2
        if blobs is None:
            _, labels = cv2.connectedComponents(mask.view(np.uint8), connectivity=8, ltype=cv2.CV_32S)
            blobs = labels.ravel().take(self.pixels)
        self.blobs = blobs

    @cached_property
    def parts(self) -> np.ndarray:
        """(k,) int: the geometry's part that each pixel lies in."""
        return self.geometry.parts.take(self.pixels)

    @cached_property
    def rows(self) -> np.ndarray:
        """(k,) int: the row of each pixel."""
        return self.pixels // self.mask.shape[1]

    @cached_property
    def columns(self) -> np.ndarray:
        """(k,) int: the column of each pixel."""
        return self.pixels - self.rows * self.mask.shape[1]

    @cached_property
    def blob_areas(self) -> np.ndarray:
        """(n_blobs,) float64: the area of each blob, squared person heights; 0 for numbers without one."""
        return np.bincount(self.blobs, self.areas)

    @cached_property
    def blob_shares(self) -> np.ndarray:
        """(k,) float64: the share of its blob's area that each pixel has.

        So a blob that spans several regions counts in each with the share of its area there.
        """
        return self.areas / self.blob_areas.take(self.blobs)

    def sums(self, weights, bins=0, n_bins=1, chosen=slice(None)) -> np.ndarray:
        """Sum `weights` per region and bin.

        Parameters
        ----------
        weights : (n,) float
            What each pixel adds.
        bins : (n,) int in 0 … n_bins − 1, or 0
            Bin of each pixel.
        n_bins : int
        chosen : (n,) int, optional
            Which of the k pixels take part; all of them by default.

        Returns
        -------
        (n_regions, n_bins) float64
        """
        n_parts = self.geometry.n_parts
        index = self.parts[chosen] * n_bins + bins
        by_part = np.bincount(index, weights, n_parts * n_bins).reshape(n_parts, n_bins)
        return self.geometry.total(by_part.astype(np.float64, copy=False))  # of no pixels they are integers

    def without(self, are_dropped: np.ndarray) -> "Figures":
        """What is left without some of the blobs, (n_blobs,) bool; changes the mask."""
        is_dropped = are_dropped.take(self.blobs)
        if not is_dropped.any():
            return self
        self.mask.ravel()[self.pixels[is_dropped]] = False
        kept = np.flatnonzero(~is_dropped)
        parts = (array.take(kept) for array in (self.pixels, self.lengths, self.blobs))
        return Figures(self.mask, self.geometry, *parts, self.without_vehicles)
