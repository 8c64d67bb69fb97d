import cv2
import numpy as np
import pytest

from features.edges import QUANTITIES, REACH, edge_features, minkowski_dimension
from features.geometry import Figures

NAMES = [quantity.name for quantity in QUANTITIES]
SHAPE = (128, 128)


def measure(grey, mask, geometry):
    return dict(zip(NAMES, edge_features(grey, Figures(mask, geometry))[0], strict=True))


def half_plane(normal_deg, shape=SHAPE):
    """Dark on one side of the frame's middle, bright on the other, a little blurred as lenses do."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    normal = np.deg2rad(normal_deg)
    distance = (columns - shape[1] / 2) * np.cos(normal) + (rows - shape[0] / 2) * np.sin(normal)
    return np.clip(128 + 60 * distance, 40, 215).astype(np.uint8)


def dimension(geometry, pixels):
    """Of the pixels given as (row, column)."""
    rows, columns = np.asarray(pixels, int).reshape(-1, 2).T
    return minkowski_dimension(rows * geometry.person_height.shape[1] + columns, geometry)[0]


class TestEdges:
    @pytest.mark.parametrize("normal", range(0, 180, 30))
    def test_a_straight_edge_falls_into_the_bin_of_its_normal(self, make_geometry, normal):
        geometry = make_geometry(32.0, shape=SHAPE)
        for polarity in (normal, normal + 180):  # dark to bright, bright to dark
            values = measure(half_plane(polarity), np.ones(SHAPE, bool), geometry)
            assert values[f"edges_{normal}"] > 0.9 * values["edges"]
            directed = sum(values[f"edges_{angle}"] for angle in range(0, 180, 30))
            assert directed == pytest.approx(values["edges"])

    def test_length_is_in_person_heights(self, make_geometry):
        grey = half_plane(0)
        values = measure(grey, np.ones(SHAPE, bool), make_geometry(32.0, shape=SHAPE))
        assert values["edges"] == pytest.approx(SHAPE[0] / 32, rel=0.03)
        twice = cv2.resize(grey, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)
        near = measure(twice, np.ones(twice.shape, bool), make_geometry(64.0, shape=twice.shape))
        assert near["edges"] == pytest.approx(values["edges"], rel=0.03)
        assert near["minkowski_dimension"] == pytest.approx(1, abs=0.1)

    def test_only_inside_the_mask(self, make_geometry):
        geometry = make_geometry(32.0, shape=SHAPE)
        mask = np.zeros(SHAPE, bool)
        mask[40:80, 40:90] = True
        values = measure(half_plane(0), mask, geometry)
        assert values["edges"] == pytest.approx(40 / 32)
        mask[:, 60:70] = False  # the edge runs in columns 63 and 64
        assert not any(measure(half_plane(0), mask, geometry).values())

    def test_the_masks_own_outline_is_no_edge(self, make_geometry):
        mask = np.zeros(SHAPE, bool)
        mask[40:80, 40:90] = True
        flat = np.full(SHAPE, 90, np.uint8)
        assert not any(measure(flat, mask, make_geometry(32.0, shape=SHAPE)).values())

    @pytest.mark.parametrize(("distance", "joins"), [(0, True), (REACH - 1, True), (REACH + 1, False)])
    def test_weak_edges_join_strong_ones_within_reach_alone(self, make_geometry, distance, joins):
        """An edge along a row whose left part is strong and whose right part is weak."""
        grey = np.full(SHAPE, 90, np.uint8)
        grey[64:, :60], grey[64:, 60:] = 150, 115
        mask = np.zeros(SHAPE, bool)
        mask[40:90, 60 + distance : 110] = True
        values = measure(grey, mask, make_geometry(32.0, shape=SHAPE))
        assert values["edges"] == (pytest.approx((50 - distance) / 32, abs=2 / 32) if joins else 0)

    def test_faint_noise_is_no_edge(self, make_geometry):
        noise = np.random.default_rng(0).normal(100, 2, SHAPE)
        values = measure(noise.astype(np.uint8), np.ones(SHAPE, bool), make_geometry(32.0, shape=SHAPE))
        assert values["edges"] == 0


class TestMinkowskiDimension:
    def test_nothing_and_a_point_have_none(self, make_geometry):
        geometry = make_geometry(32.0, shape=SHAPE)
        assert dimension(geometry, []) == 0
        assert dimension(geometry, [(77, 31)]) == 0

    @pytest.mark.parametrize("line", ["row", "column", "diagonal"])
    def test_a_line_has_one(self, make_geometry, line):
        steps, still = np.arange(128), np.full(128, 50)
        pixels = {"row": (still, steps), "column": (steps, still), "diagonal": (steps, steps)}[line]
        assert dimension(make_geometry(32.0, shape=SHAPE), np.stack(pixels, axis=1)) == pytest.approx(1)

    def test_a_slanting_line_and_a_circle_have_about_one(self, make_geometry):
        geometry = make_geometry(32.0, shape=SHAPE)
        for draw in (lambda image: cv2.line(image, (3, 20), (120, 90), 1),
                     lambda image: cv2.circle(image, (64, 64), 55, 1)):  # fmt: skip
            image = np.zeros(SHAPE, np.uint8)
            draw(image)
            assert dimension(geometry, np.argwhere(image)) == pytest.approx(1, abs=0.2)

    def test_a_plane_has_two(self, make_geometry):
        geometry = make_geometry(32.0, shape=SHAPE)
        assert dimension(geometry, np.argwhere(np.ones(SHAPE))) == pytest.approx(2)
        dense = np.random.default_rng(1).random(SHAPE) < 0.7
        assert dimension(geometry, np.argwhere(dense)) == pytest.approx(2, abs=0.15)

    def test_texture_lies_between_line_and_plane(self, make_geometry):
        hatched = np.zeros(SHAPE)
        hatched[:, ::5] = 1
        assert 1.2 < dimension(make_geometry(32.0, shape=SHAPE), np.argwhere(hatched)) < 1.9

    def test_each_region_has_its_own(self, make_geometry):
        geometry = make_geometry(32.0, grids=((1, 2),), shape=SHAPE)
        image = np.zeros(SHAPE)
        image[:, :64] = 1
        image[20, 64:] = 1
        left, right = minkowski_dimension(np.flatnonzero(image), geometry)
        assert left == pytest.approx(2)
        assert right == pytest.approx(1)
