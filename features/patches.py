"""Patches around the foreground, so that filters need not run over the whole frame."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

#: Patches are found on a grid of cells of so many pixels to a side.
CELL = 16
#: A patch's core reaches this far beyond its cells, and the patch this far beyond its core.
CORE_MARGIN, MARGIN = 8, 16
#: Patches that together have more than this share of the frame's pixels are no saving.
LARGEST_SHARE = 0.7


@dataclass(frozen=True)
class Patch:
    """A rectangle of a frame.

    Attributes
    ----------
    outer : (slice, slice)
        Rows and columns that a filter reads.
    core : (slice, slice)
        Rows and columns, inside `outer`, at which its result is right: `MARGIN` away from `outer`'s borders,
        but for those of the frame.
    """

    outer: tuple[slice, slice]
    core: tuple[slice, slice]

    @property
    def inside(self) -> tuple[slice, slice]:
        """The core, seen from the outer rectangle."""
        return tuple(
            slice(core.start - outer.start, core.stop - outer.start)
            for outer, core in zip(self.outer, self.core, strict=True)
        )


def patches_of(mask: np.ndarray) -> list[Patch]:
    """Patches whose cores together hold a mask with a margin of `CORE_MARGIN` pixels.

    Parameters
    ----------
    mask : (H, W) bool

    Returns
    -------
    list of Patch
        Cores may overlap. The whole frame, where little of it would be left out; none for an empty mask.
    """
    height, width = mask.shape
    rows, columns = np.arange(0, height, CELL), np.arange(0, width, CELL)
    cells = np.bitwise_or.reduceat(mask.view(np.uint8), rows, axis=0)
    cells = np.bitwise_or.reduceat(cells, columns, axis=1)
    _, _, boxes, _ = cv2.connectedComponentsWithStats(cells, connectivity=8)
    patches, n_pixels = [], 0
    for left, top, wide, high, _ in boxes[1:].tolist():
        sides = ((top, top + high, height), (left, left + wide, width))
        core, outer = (
            tuple(slice(max(0, CELL * a - by), min(CELL * b + by, size)) for a, b, size in sides)
            for by in (CORE_MARGIN, CORE_MARGIN + MARGIN)
        )
        patches.append(Patch(outer, core))
        n_pixels += (outer[0].stop - outer[0].start) * (outer[1].stop - outer[1].start)
    if n_pixels <= LARGEST_SHARE * mask.size:
        return patches
    whole = (slice(0, height), slice(0, width))
    return [Patch(whole, whole)]


def by_patch(
    patches: Sequence[Patch], image: np.ndarray, operation: Callable[[np.ndarray], Sequence[np.ndarray]]
) -> list[np.ndarray]:
    """Results of an operation on the patches of an image; 0 outside their cores.

    Parameters
    ----------
    patches : sequence of Patch
    image : (H, W) array
    operation : callable
        Makes of an image (h, w) several of the same size. Its result at a pixel may depend on pixels up to
        `MARGIN` away.

    Returns
    -------
    list of (H, W) arrays
    """
    results = [np.zeros(image.shape, array.dtype) for array in operation(image[:1, :1])]
    for patch in patches:
        for whole, part in zip(results, operation(image[patch.outer]), strict=True):
            whole[patch.core] = part[patch.inside]
    return results
