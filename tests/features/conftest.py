"""Scenes for the feature families: their regions and perspective."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from features.geometry import Geometry
from features.perspective import depth_cells

cv2.setNumThreads(1)


@pytest.fixture(scope="session")
def make_geometry() -> Callable[..., Geometry]:
    """make_geometry(person_height, grids, roi): person_height is a map (H, W) or, with a shape, a number."""

    def make(person_height, grids=((1, 1),), roi=None, shape=(96, 128)) -> Geometry:
        heights = np.asarray(person_height, np.float32)
        heights = np.full(shape, heights) if heights.ndim == 0 else heights
        roi = np.ones(heights.shape, bool) if roi is None else roi
        labels, count = [], 0
        for rows, columns in grids:
            cells = depth_cells(heights, roi, rows, columns)
            labels.append(np.where(cells >= 0, cells + count, -1).astype(np.int32))
            count += rows * columns
        return Geometry(np.stack(labels), heights, count)

    return make
