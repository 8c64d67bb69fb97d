"""The fast feature families agree with the plain ones to rounding."""

import cv2
import numpy as np
import pytest

from benchmarks.plain import plain_features
from features.edges import edge_features
from features.geometry import Figures, Geometry
from features.perspective import height_map
from features.silhouette import silhouette_features
from features.size import size_features
from features.texture import texture_features


@pytest.mark.parametrize("grids", [((1, 1), (3, 2), (6, 5)), ((4, 7),)], ids=["three grids", "one grid"])
@pytest.mark.parametrize("shape", [(97, 131), (240, 320), (13, 9)])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_fast_features_are_the_plain_ones(grids, shape, share):
    rng = np.random.default_rng(int(100 * share))
    noise = cv2.GaussianBlur(rng.random(shape), (0, 0), 4)
    grey = cv2.GaussianBlur(rng.integers(0, 256, shape).astype(np.uint8), (0, 0), 1.5)
    grey = cv2.normalize(grey, None, 0, 255, cv2.NORM_MINMAX)
    grey[: shape[0] // 2, : shape[1] // 3] = 90  # a surface without texture: ties decide its patterns
    roi = np.ones(shape, bool)
    roi[shape[0] // 3 : shape[0] // 2, 4:8] = False
    mask = (noise >= np.quantile(noise, 1 - share)) & roi if share else np.zeros(shape, bool)
    geometry = Geometry.of_grids(height_map(0.3, 10, shape[::-1], 5, 1000), roi, grids)
    figures = Figures(mask, geometry)
    fast = np.hstack([
        size_features(figures),
        silhouette_features(figures),
        edge_features(grey, figures),
        texture_features(grey, figures),
    ])
    plain = plain_features(grey, mask, geometry)
    np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12)
    assert plain.any() == bool(share)
