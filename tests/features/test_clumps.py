from dataclasses import replace

import numpy as np
import pytest

from features.clumps import QUANTITIES, SIZES, clump_features, nearest_sizes
from features.geometry import Figures

SHAPE = (60, 80)
PERSON = 20.0  # pixels: a squared person height is 400 pixels


def measured(mask, geometry):
    return clump_features(Figures(mask, geometry))


def with_blob(mask, left, top, width, height):
    mask[top : top + height, left : left + width] = True
    return mask


@pytest.fixture
def geometry(make_geometry):
    return make_geometry(PERSON, shape=SHAPE)


class TestNearestSizes:
    def test_a_blob_of_a_listed_size_is_one_of_that_size(self):
        np.testing.assert_allclose(nearest_sizes(np.array(SIZES)), np.eye(len(SIZES)))

    def test_numbers_times_sizes_are_the_areas(self):
        areas = np.array([0.0, 0.01, 0.05, 0.13, 0.2, 0.33, 0.9, 1.7, 2.5, 4.0, 60.0])
        np.testing.assert_allclose(nearest_sizes(areas) @ SIZES, areas)

    def test_between_two_sizes_a_blob_is_one_blob(self):
        numbers = nearest_sizes(np.array([0.12, 0.25, 0.7, 2.0]))
        np.testing.assert_allclose(numbers.sum(axis=1), 1)
        assert ((numbers > 0).sum(axis=1) == 2).all()

    def test_beyond_the_ends_it_is_a_part_or_a_multiple(self):
        np.testing.assert_allclose(nearest_sizes(np.array([0.05]))[0], [0.5, 0, 0, 0, 0])
        np.testing.assert_allclose(nearest_sizes(np.array([5.0]))[0], [0, 0, 0, 0, 2], atol=1e-12)


class TestClumpFeatures:
    def test_a_person_and_a_pair_apart(self, geometry):
        mask = with_blob(np.zeros(SHAPE, bool), 5, 5, 4, 20)  # 80 pixels: .2
        with_blob(mask, 40, 20, 10, 16)  # 160 pixels: .4
        np.testing.assert_allclose(measured(mask, geometry), [[0, 1, 1, 0, 0]], atol=1e-6)

    def test_one_clump_counts_otherwise_than_the_same_area_apart(self, geometry):
        apart = with_blob(with_blob(np.zeros(SHAPE, bool), 5, 5, 4, 20), 15, 5, 4, 20)
        together = with_blob(np.zeros(SHAPE, bool), 5, 5, 8, 20)
        np.testing.assert_allclose(measured(apart, geometry), [[0, 2, 0, 0, 0]], atol=1e-6)
        np.testing.assert_allclose(measured(together, geometry), [[0, 0, 1, 0, 0]], atol=1e-6)

    def test_a_blob_in_several_cells_is_shared_out_by_area(self, make_geometry):
        geometry = make_geometry(PERSON, grids=((1, 1), (1, 2)), shape=SHAPE)
        mask = with_blob(np.zeros(SHAPE, bool), 37, 10, 4, 20)  # 3 of 4 columns in the left half
        whole, left, right = measured(mask, geometry)
        np.testing.assert_allclose(whole, [0, 1, 0, 0, 0], atol=1e-6)
        np.testing.assert_allclose(left, 0.75 * whole, atol=1e-6)
        np.testing.assert_allclose(left + right, whole, atol=1e-6)

    def test_empty_mask_gives_zeros(self, geometry):
        values = measured(np.zeros(SHAPE, bool), geometry)
        assert values.shape == (1, len(QUANTITIES))
        assert not values.any()

    def test_empty_mask_gives_zeros_in_regions_without_pixels_too(self, geometry):
        geometry = replace(geometry, n_regions=3)
        np.testing.assert_array_equal(measured(np.zeros(SHAPE, bool), geometry), np.zeros((3, 5)))
