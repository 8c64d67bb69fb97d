"""What every feature family needs to know of a scene: its regions, and how tall a person is where."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


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
        In a frame, of the person that the pixel is taken to belong to.
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

    @cached_property
    def scale(self) -> np.ndarray:
        """(H·W,) float32, 1 / pixels: the length of one pixel in person heights."""
        return (1.0 / self.person_height).astype(np.float32).ravel()

    @cached_property
    def area_scale(self) -> np.ndarray:
        """(H·W,) float32: the area of one pixel in squared person heights."""
        return self.scale**2

    @cached_property
    def roi(self) -> np.ndarray:
        """(H, W) bool: True where the pixel belongs to a region."""
        return self.grids[0] >= 0

    @cached_property
    def flat_grids(self) -> np.ndarray:
        """(n_grids, H·W) int32: the grids, by flat pixel index."""
        return self.grids.reshape(len(self.grids), -1)

    def sums(self, pixels, weights=None, bins=0, n_bins=1) -> np.ndarray:
        """Sum `weights` per region and bin.

        Parameters
        ----------
        pixels : (k,) int
            Flat indices of pixels inside the region of interest.
        weights : (k,) float, optional
            What each pixel adds; 1 without.
        bins : (k,) int in 0 … n_bins − 1, or 0
            Bin of each pixel.
        n_bins : int

        Returns
        -------
        (n_regions, n_bins) float64
        """
        total = np.zeros(self.n_regions * n_bins)
        for grid in self.flat_grids:
            index = grid[pixels] * np.intp(n_bins) + bins
            total += np.bincount(index, weights, len(total))
        return total.reshape(self.n_regions, n_bins)
