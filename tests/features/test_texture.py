import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from skimage.feature import graycomatrix, graycoprops, local_binary_pattern

from features.geometry import Figures, Geometry
from features.texture import (
    ANGLES,
    N_LEVELS,
    QUANTITIES,
    lbp_codes,
    neighbourhoods,
    pair_counts,
    pair_statistics,
    texture_features,
)

OFFSETS = {0: (0, 1), 45: (1, 1), 90: (1, 0), 135: (1, -1)}
NAMES = [quantity.name for quantity in QUANTITIES]
SMALL = st.tuples(st.integers(1, 9), st.integers(1, 9))
# Few levels make many ties, which decide a local binary pattern.
IMAGES = SMALL.flatmap(
    lambda shape: st.sampled_from([2, 5, 256]).flatmap(
        lambda levels: hnp.arrays(np.uint8, shape, elements=st.integers(0, levels - 1))
    )
)


def noise(levels=256, shape=(40, 53), seed=0):
    step = 256 // levels
    return (np.random.default_rng(seed).integers(0, levels, shape) * step).astype(np.uint8)


def reference_glcm(grey, angle):
    return graycomatrix(grey // (256 // N_LEVELS), [1], [np.deg2rad(angle)], N_LEVELS, symmetric=True)


def looped_glcm(grey, mask, regions, n_regions, offset):
    """Co-occurrence counts, pair by pair."""
    counts = np.zeros((n_regions, N_LEVELS, N_LEVELS))
    height, width = grey.shape
    for row in range(height):
        for column in range(width):
            other_row, other_column = row + offset[0], column + offset[1]
            inside = 0 <= other_row < height and 0 <= other_column < width
            if inside and mask[row, column] and mask[other_row, other_column]:
                first = int(grey[row, column]) * N_LEVELS // 256
                second = int(grey[other_row, other_column]) * N_LEVELS // 256
                counts[regions[row, column], first, second] += 1
                counts[regions[row, column], second, first] += 1
    return counts


UPPER = np.triu_indices(N_LEVELS)


def cooccurrence(grey, mask, geometry, angle):
    """Symmetric matrices (n_regions, N_LEVELS, N_LEVELS)."""
    figures = Figures(mask, geometry)
    values, inside = neighbourhoods(grey, figures), neighbourhoods(mask, figures)
    counts = pair_counts(values, inside, figures)[:, ANGLES.index(angle)]
    matrices = np.zeros((len(counts), N_LEVELS, N_LEVELS))
    matrices[:, *UPPER] = counts
    return matrices + matrices.swapaxes(1, 2)


def patterns(grey, mask):
    """Codes of the pixels of a mask."""
    heights = np.ones(grey.shape, np.float32)
    figures = Figures(mask, Geometry(np.zeros((1, *grey.shape), np.int32), heights, 1))
    return lbp_codes(neighbourhoods(grey, figures), figures)


class TestCooccurrence:
    @pytest.mark.parametrize("angle", ANGLES)
    @pytest.mark.parametrize("levels", [256, 4])
    def test_equals_scikit_image_on_full_frames(self, make_geometry, angle, levels):
        grey = noise(levels)
        counts = cooccurrence(grey, np.ones(grey.shape, bool), make_geometry(9.0, shape=grey.shape), angle)
        assert (counts[0] == reference_glcm(grey, angle)[:, :, 0, 0]).all()

    @settings(max_examples=60)
    @given(grey=IMAGES, angle=st.sampled_from(ANGLES))
    def test_equals_scikit_image_on_any_image(self, make_geometry, grey, angle):
        counts = cooccurrence(grey, np.ones(grey.shape, bool), make_geometry(9.0, shape=grey.shape), angle)
        assert (counts[0] == reference_glcm(grey, angle)[:, :, 0, 0]).all()

    @settings(max_examples=60)
    @given(data=st.data(), grey=IMAGES, angle=st.sampled_from(ANGLES))
    def test_equals_a_plain_loop_over_masked_pairs(self, make_geometry, data, grey, angle):
        mask = data.draw(hnp.arrays(bool, grey.shape))
        geometry = make_geometry(9.0, grids=((1, 1), (2, 2)), shape=grey.shape)
        counts = cooccurrence(grey, mask, geometry, angle)
        for grid, regions in ((geometry.grids[0], slice(0, 1)), (geometry.grids[1], slice(1, 5))):
            assert (counts[regions] == looped_glcm(grey, mask, grid, 5, OFFSETS[angle])[regions]).all()


class TestStatistics:
    @settings(max_examples=30)
    @given(counts=hnp.arrays(np.float64, (N_LEVELS, N_LEVELS), elements=st.integers(0, 9).map(float)))
    def test_equal_scikit_images(self, counts):
        homogeneity, energy, entropy, contrast = pair_statistics(counts[UPPER][None])[0]
        counts = np.triu(counts) + np.triu(counts).T
        if not counts.any():
            assert (homogeneity, energy, entropy, contrast) == (0, 0, 0, 0)
            return
        p = (counts / counts.sum())[:, :, None, None]
        assert homogeneity == pytest.approx(graycoprops(p, "homogeneity")[0, 0])
        assert energy == pytest.approx(graycoprops(p, "energy")[0, 0])
        assert contrast == pytest.approx(graycoprops(p, "contrast")[0, 0])
        assert entropy == pytest.approx(-sum(v * np.log2(v) for v in p.ravel() if v > 0))

    def test_by_hand(self):
        counts = np.zeros((N_LEVELS, N_LEVELS))
        counts[2, 2], counts[2, 5] = 1, 1  # in the matrix: 2 at (2, 2), 1 at (2, 5) and (5, 2)
        homogeneity, energy, entropy, contrast = pair_statistics(counts[UPPER])
        assert homogeneity == pytest.approx(0.5 + 0.5 / 10)
        assert energy == pytest.approx(np.sqrt(0.25 + 2 * 0.0625))
        assert entropy == pytest.approx(1.5)
        assert contrast == pytest.approx(0.5 * 9)


class TestLocalBinaryPattern:
    @pytest.mark.parametrize("levels", [256, 3, 1])
    def test_equals_scikit_image(self, levels):
        grey = noise(levels, (61, 75))
        codes = patterns(grey, np.ones(grey.shape, bool)).reshape(grey.shape)
        assert (codes == local_binary_pattern(grey, 8, 1, method="uniform")).all()

    @settings(max_examples=100)
    @given(grey=IMAGES)
    def test_equals_scikit_image_on_any_image(self, grey):
        codes = patterns(grey, np.ones(grey.shape, bool)).reshape(grey.shape)
        assert (codes == local_binary_pattern(grey, 8, 1, method="uniform")).all()

    def test_only_where_asked(self):
        grey = noise()
        mask = np.zeros(grey.shape, bool)
        mask.ravel()[[0, 52, 53, 1000, grey.size - 1]] = True
        everywhere = patterns(grey, np.ones(grey.shape, bool)).reshape(grey.shape)
        assert (patterns(grey, mask) == everywhere[mask]).all()
        assert patterns(grey, np.zeros(grey.shape, bool)).shape == (0,)


class TestFeatures:
    def test_columns_are_what_their_names_say(self, make_geometry):
        grey = noise(seed=4)
        mask = np.zeros(grey.shape, bool)
        mask[8:30, 5:45] = True
        geometry = make_geometry(9.0, shape=grey.shape)
        values = dict(zip(NAMES, texture_features(grey, Figures(mask, geometry))[0], strict=True))
        for angle in ANGLES:
            p = reference_glcm(grey[8:30, 5:45], angle) / 1.0
            p /= p.sum()
            for name in ("homogeneity", "energy", "contrast"):
                assert values[f"glcm_{name}_{angle}"] == pytest.approx(graycoprops(p, name)[0, 0])
            assert values[f"glcm_entropy_{angle}"] == pytest.approx(-(p[p > 0] * np.log2(p[p > 0])).sum())
        codes = local_binary_pattern(grey, 8, 1, method="uniform")[mask]
        for code in range(10):
            assert values[f"lbp_{code}"] == pytest.approx((codes == code).sum() / 81, rel=1e-6)

    def test_texture_outside_the_mask_does_not_matter_to_the_glcm(self, make_geometry):
        grey = noise(seed=5)
        mask = np.zeros(grey.shape, bool)
        mask[8:30, 5:45] = True
        other = grey.copy()
        other[~mask] = 255 - other[~mask]
        geometry = make_geometry(9.0, shape=grey.shape)
        assert (texture_features(grey, Figures(mask, geometry))[0, :16]
                == texture_features(other, Figures(mask, geometry))[0, :16]).all()  # fmt: skip

    def test_a_lone_pixel_has_no_pairs_but_a_pattern(self, make_geometry):
        mask = np.zeros((20, 20), bool)
        mask[9, 9] = True
        values = texture_features(
            noise(shape=(20, 20)), Figures(mask, make_geometry(10.0, shape=(20, 20)))
        )[0]
        assert not values[:16].any()
        assert values[16:].sum() == pytest.approx(0.01)

    def test_a_smooth_surface(self, make_geometry):
        values = texture_features(
            np.full((20, 20), 200, np.uint8),
            Figures(np.ones((20, 20), bool), make_geometry(10.0, shape=(20, 20))),
        )
        named = dict(zip(NAMES, values[0], strict=True))
        assert named["glcm_homogeneity_45"] == named["glcm_energy_45"] == 1
        assert named["glcm_entropy_45"] == named["glcm_contrast_45"] == 0
