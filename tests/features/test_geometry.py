import tracemalloc

import numpy as np
import pytest

from features import edges, size, texture
from features.edges import edge_features
from features.geometry import Figures, Geometry
from features.perspective import height_map
from features.size import size_features
from features.texture import texture_features

QUANTITIES = size.QUANTITIES + edges.QUANTITIES + texture.QUANTITIES


def all_features(grey, mask, geometry):
    figures = Figures(mask, geometry)
    return np.hstack([size_features(figures), edge_features(grey, figures), texture_features(grey, figures)])


@pytest.fixture
def crowded():
    """Noise with blobs in a region of interest that is neither convex nor in one piece."""
    rng = np.random.default_rng(3)
    grey = rng.integers(0, 256, (96, 128)).astype(np.uint8)
    roi = np.ones((96, 128), bool)
    roi[20:60, 50:70] = False
    roi[:, 100:104] = False
    blobs = np.kron(rng.random((12, 16)) < 0.4, np.ones((8, 8), bool))
    return grey, blobs & roi, roi


class TestRegions:
    def test_sums_per_region_and_bin(self, make_geometry):
        geometry = make_geometry(2.0, grids=((1, 1), (1, 2)), shape=(4, 6))
        mask = np.zeros((4, 6), bool)
        mask.ravel()[[0, 5, 6, 23]] = True  # left, right, left, right
        figures = Figures(mask, geometry)
        assert figures.sums(np.ones(4)).tolist() == [[4], [2], [2]]
        sums = figures.sums(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 1, 1, 1]), 2)
        assert sums.tolist() == [[1, 14], [1, 4], [0, 10]]
        assert figures.sums(np.ones(3), chosen=np.array([1, 2, 3])).tolist() == [[3], [1], [2]]

    def test_small_people_in_large_frames_need_little_memory(self):
        grid = 3 * np.arange(200 * 200, dtype=np.int32).reshape(1, 200, 200)
        mask = np.zeros((200, 200), bool)
        mask[10, 20] = True
        tracemalloc.start()
        figures = Figures(mask, Geometry(grid, np.full((200, 200), 1, np.float32), 3 * 200 * 200))
        sums = figures.sums(np.ones(1))
        assert tracemalloc.get_traced_memory()[1] < 50e6
        tracemalloc.stop()
        assert np.flatnonzero(sums).tolist() == [grid[0, 10, 20]]

    def test_no_pixels_sum_to_zero(self, make_geometry):
        figures = Figures(np.zeros((96, 128), bool), make_geometry(2.0, grids=((1, 1), (2, 2))))
        assert not figures.sums(np.array([]), np.array([], int), 3).any()

    def test_scales_are_person_heights(self, make_geometry):
        figures = Figures(np.ones((1, 2), bool), make_geometry([[4.0, 8.0]]))
        assert figures.lengths.tolist() == [0.25, 0.125]
        assert figures.areas.tolist() == [0.0625, 0.015625]
        assert figures.lengths.dtype == np.float32

    def test_lengths_and_blobs_that_are_known_are_taken(self, make_geometry):
        mask = np.array([[True, True, False, True]])
        geometry = make_geometry([[4.0] * 4])
        assert Figures(mask, geometry).blobs.tolist() == [1, 1, 2]
        lengths = np.array([0.5, 0.25, 0.125], np.float32)
        figures = Figures(mask, geometry, np.array([0, 1, 3]), lengths, np.array([7, 7, 7]))
        assert figures.lengths.tolist() == [0.5, 0.25, 0.125]
        assert size_features(figures)[0, -1] == pytest.approx(1)

    def test_region_of_interest_is_where_regions_are(self, make_geometry, crowded):
        roi = crowded[2]
        assert (make_geometry(20.0, ((3, 2), (6, 5)), roi).roi == roi).all()

    def test_whole_is_the_sum_of_the_cells_for_every_additive_quantity(self, make_geometry, crowded):
        grey, mask, roi = crowded
        heights = height_map(0.3, 10, (128, 96), 1, 1000)
        geometry = make_geometry(heights, ((1, 1), (3, 2), (6, 5)), roi)
        values = all_features(grey, mask, geometry)
        assert values.shape == (37, len(QUANTITIES))
        for column, quantity in enumerate(QUANTITIES):
            whole, coarse, fine = values[0, column], values[1:7, column].sum(), values[7:, column].sum()
            if quantity.additive:
                assert whole > 0, quantity.name
                assert coarse == pytest.approx(whole, rel=1e-9), quantity.name
                assert fine == pytest.approx(whole, rel=1e-9), quantity.name
            else:
                assert abs(coarse - whole) > 0.01 * whole, quantity.name

    def test_an_empty_mask_gives_zeros(self, make_geometry, crowded):
        grey, mask, roi = crowded
        geometry = make_geometry(20.0, ((1, 1), (6, 5)), roi)
        assert not all_features(grey, np.zeros_like(mask), geometry).any()

    def test_a_cell_sees_only_its_own_pixels(self, make_geometry, crowded):
        grey, mask, _ = crowded
        geometry = make_geometry(20.0, ((1, 1), (1, 2)))
        left = mask.copy()
        left[:, 64:] = False
        values = all_features(grey, left, geometry)
        assert values[1] == pytest.approx(values[0], rel=1e-12)
        assert not values[2].any()

    def test_all_values_are_finite_in_tiny_frames(self, make_geometry):
        for shape in ((1, 1), (1, 7), (7, 1), (2, 2)):
            geometry = make_geometry(3.0, ((1, 1), (2, 2)), shape=shape)
            for mask in (np.zeros(shape, bool), np.ones(shape, bool)):
                assert np.isfinite(all_features(np.full(shape, 77, np.uint8), mask, geometry)).all()


class TestErrors:
    def geometry(self, grids=None, heights=None, n_regions=1):
        grids = np.zeros((1, 4, 5), np.int32) if grids is None else grids
        heights = np.ones((4, 5), np.float32) if heights is None else heights
        return Geometry(grids, heights, n_regions)

    def test_a_sound_one_passes(self):
        assert self.geometry().roi.all()

    @pytest.mark.parametrize("shape", [(4, 5), (1, 5, 4), (1, 4, 6)])
    def test_shapes_must_agree(self, shape):
        with pytest.raises(ValueError, match="shape"):
            self.geometry(grids=np.zeros(shape, np.int32))

    @pytest.mark.parametrize("height", [0.0, -3.0, float("nan")])
    def test_heights_must_be_positive(self, height):
        heights = np.ones((4, 5), np.float32)
        heights[2, 2] = height
        with pytest.raises(ValueError, match="positive"):
            self.geometry(heights=heights)

    def test_region_of_interest_must_not_be_empty(self):
        with pytest.raises(ValueError, match="empty"):
            self.geometry(grids=np.full((1, 4, 5), -1, np.int32))

    def test_regions_must_be_known(self):
        with pytest.raises(ValueError, match="region 3"):
            self.geometry(grids=np.full((1, 4, 5), 3, np.int32), n_regions=3)
