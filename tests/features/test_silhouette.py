import numpy as np
import pytest

from features.geometry import Figures
from features.silhouette import silhouette_features

SHAPE = (60, 80)
PERSON = 20.0  # pixels


@pytest.fixture
def geometry(make_geometry):
    return make_geometry(PERSON, shape=SHAPE)


def measured(mask, geometry):
    return silhouette_features(Figures(mask, geometry))


def test_widths_of_a_block_and_of_one_at_the_images_edges(geometry):
    mask = np.zeros(SHAPE, bool)
    mask[10:30, 20:28] = True
    np.testing.assert_allclose(measured(mask, geometry), [[8 / PERSON, 8 / PERSON]], rtol=1e-6)
    mask[:, :5] = True
    np.testing.assert_allclose(measured(mask, geometry), [[13 / PERSON, 13 / PERSON]], rtol=1e-6)


def test_heads_before_other_people_count_where_the_area_hides_them(geometry):
    crowd = np.zeros(SHAPE, bool)
    crowd[20:50, 20:60] = True
    level = measured(crowd, geometry)
    crowd[15:20, 25:29] = crowd[15:20, 45:49] = True
    np.testing.assert_allclose(measured(crowd, geometry), level)  # as wide, though not as high
    crowd[30:33, 30:40] = False  # ground between those in front and those behind
    np.testing.assert_allclose(measured(crowd, geometry), level + 10 / PERSON, rtol=1e-6)


def test_as_looked_up_pixel_by_pixel(make_geometry):
    """By cells, of random foreground, with the lengths that the figures give."""
    geometry = make_geometry(PERSON, grids=((1, 1), (2, 3)), shape=SHAPE)
    mask = np.random.default_rng(0).random(SHAPE) < 0.6
    lengths = np.random.default_rng(1).uniform(0.02, 0.1, np.count_nonzero(mask)).astype(np.float32)
    figures = Figures(mask, geometry, lengths=lengths)
    expected = np.zeros((geometry.n_regions, 2))
    for pixel, length in zip(figures.pixels, lengths, strict=True):
        row, column = divmod(int(pixel), SHAPE[1])
        for side, beside in enumerate((row - 1, row + 1)):
            if not 0 <= beside < SHAPE[0] or not mask[beside, column]:
                for grid in geometry.grids:
                    expected[grid[row, column], side] += length
    np.testing.assert_allclose(silhouette_features(figures), expected, rtol=1e-5)


def test_nobody_has_no_outline(geometry):
    np.testing.assert_array_equal(measured(np.zeros(SHAPE, bool), geometry), [[0, 0]])
