"""Scenes for the feature families: their regions and perspective."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from features.geometry import Geometry

cv2.setNumThreads(1)


@pytest.fixture(scope="session")
def make_geometry() -> Callable[..., Geometry]:
    """make_geometry(person_height, grids, roi): person_height is a map (H, W) or, with a shape, a number."""

    def make(person_height, grids=((1, 1),), roi=None, shape=(96, 128)) -> Geometry:
        heights = np.asarray(person_height, np.float32)
        heights = np.full(shape, heights) if heights.ndim == 0 else heights
        roi = np.ones(heights.shape, bool) if roi is None else roi
        return Geometry.of_grids(heights, roi, grids)

    return make
