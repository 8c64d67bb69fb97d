"""What every feature family needs to know of a scene: where the cells are and how tall a person is there."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Geometry:
    """Cells and perspective of a scene at the working resolution.

    Parameters
    ----------
    cells : (H, W) int32
        Number of the cell that each pixel belongs to, 0 … n_cells − 1, and −1 outside the region of interest.
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel; positive.

    Raises
    ------
    ValueError
        When the two maps differ in shape, a height is not positive, or no pixel lies in a cell.
    """

    cells: np.ndarray
    person_height: np.ndarray

    def __post_init__(self):
        if self.cells.ndim != 2 or self.cells.shape != self.person_height.shape:
            raise ValueError(
                f"cells and person_height must be images of one shape, got {self.cells.shape} and "
                f"{self.person_height.shape}"
            )
        if not (self.person_height > 0).all():
            raise ValueError("person_height must be positive at every pixel")
        if self.cells.max() < 0:
            raise ValueError("no pixel lies in a cell: the region of interest is empty")

    @cached_property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.cells.max()) + 1

    @cached_property
    def scale(self) -> np.ndarray:
        """(H, W) float32, 1 / pixels: the length of one pixel in person heights."""
        return (1.0 / self.person_height).astype(np.float32)

    @cached_property
    def area_scale(self) -> np.ndarray:
        """(H, W) float32: the area of one pixel in squared person heights."""
        return self.scale**2

    @cached_property
    def roi(self) -> np.ndarray:
        """(H, W) bool: True where the pixel belongs to a cell."""
        return self.cells >= 0

    def sums(self, pixels, weights, bins=None, n_bins=1) -> np.ndarray:
        """Sum `weights` per cell, or per cell and bin.

        Parameters
        ----------
        pixels : (k,) int
            Flat indices of pixels inside the region of interest.
        weights : (k,) float or None
            What each pixel adds; None for 1, which gives integers.
        bins : (k,) int in 0 … n_bins − 1, optional
            Bin of each pixel.

        Returns
        -------
        (n_cells, n_bins) float64, or int64 without weights
        """
        index = self.cells.ravel()[pixels].astype(np.intp)
        if bins is not None:
            index = index * n_bins + bins
        return np.bincount(index, weights, self.n_cells * n_bins).reshape(self.n_cells, n_bins)
