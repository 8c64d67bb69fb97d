import cv2
import numpy as np
import pytest

from features.geometry import Figures
from features.perspective import height_map
from features.size import N_DIRECTIONS, QUANTITIES, direction_bins, orientation_bins, ratio, size_features

NAMES = [quantity.name for quantity in QUANTITIES]
DIRECTIONS = [f"perimeter_{30 * k}" for k in range(N_DIRECTIONS)]
SHAPE = (96, 128)


def measure(mask, geometry):
    """Values of the first region by name."""
    return dict(zip(NAMES, size_features(Figures(mask, geometry))[0], strict=True))


def rectangle(left, top, width, height, shape=SHAPE):
    mask = np.zeros(shape, bool)
    mask[top : top + height, left : left + width] = True
    return mask


def silhouette(middle_x, foot_row, height, shape):
    """A standing person: every pixel whose middle lies in a head, a trunk, or one of two legs apart."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    x, y = np.abs(columns + 0.5 - middle_x) / height, (foot_row - rows - 0.5) / height
    head = np.hypot(x, y - 0.91) <= 0.09
    trunk = (x <= 0.1 + 0.1 * (y - 0.45)) & (y >= 0.45) & (y <= 0.83)
    legs = (np.abs(x - 0.09) <= 0.05) & (y >= 0) & (y <= 0.47)
    return head | trunk | legs


class TestKnownShapes:
    def test_rectangle(self, make_geometry):
        values = measure(rectangle(30, 20, 10, 24), make_geometry(40.0, shape=SHAPE))
        assert values["area"] == pytest.approx(240 / 1600)
        assert values["perimeter"] == pytest.approx((2 * (10 + 24) - 4) / 40)
        assert values["perimeter_area_ratio"] == pytest.approx(values["perimeter"] / values["area"])
        assert values["blobs"] == pytest.approx(1)

    def test_every_pixel_has_its_own_scale(self, make_geometry):
        heights = height_map(0.4, 20, SHAPE[::-1], 1, 1000)
        mask = rectangle(30, 10, 12, 70)
        values = measure(mask, make_geometry(heights))
        assert values["area"] == pytest.approx((heights[mask] ** -2.0).sum(), rel=1e-5)
        inner = rectangle(31, 11, 10, 68)
        assert values["perimeter"] == pytest.approx((1 / heights[mask & ~inner]).sum(), rel=1e-5)

    def test_lone_pixel(self, make_geometry):
        values = measure(rectangle(5, 5, 1, 1), make_geometry(10.0, shape=SHAPE))
        assert (values["area"], values["perimeter"], values["blobs"]) == pytest.approx((0.01, 0.1, 1))

    def test_empty_mask_gives_zeros(self, make_geometry):
        geometry = make_geometry(30.0, grids=((1, 1), (3, 2)), shape=SHAPE)
        values = size_features(Figures(np.zeros(SHAPE, bool), geometry))
        assert values.shape == (7, len(QUANTITIES))
        assert not values.any()

    @pytest.mark.parametrize("depth", ["far", "near"])
    def test_a_person_measures_the_same_at_any_depth(self, make_geometry, depth):
        shape = (480, 320)
        heights = height_map(0.3, 30, shape[::-1], 1, 1000)
        foot = {"far": 150, "near": 460}[depth]
        geometry = make_geometry(heights)
        # The map gives the height at the body's centre: below it pixels count for less, above for more.
        values = measure(silhouette(160, foot, 0.3 * foot + 30, shape), geometry)
        reference = measure(silhouette(160, 470, 400, shape), make_geometry(400.0, shape=shape))
        assert values["area"] == pytest.approx(reference["area"], rel=0.05)
        assert values["perimeter"] == pytest.approx(reference["perimeter"], rel=0.08)
        assert values["blobs"] == pytest.approx(1)
        for name in DIRECTIONS:
            assert values[name] == pytest.approx(reference[name], abs=0.08 * reference["perimeter"]), name

    @pytest.mark.parametrize("factor", [2, 3])
    def test_resolution_does_not_matter(self, make_geometry, factor):
        coarse = measure(silhouette(80, 110, 60.0, (128, 160)), make_geometry(60.0, shape=(128, 160)))
        shape = (128 * factor, 160 * factor)
        mask = silhouette(80 * factor, 110 * factor, 60.0 * factor, shape)
        fine = measure(mask, make_geometry(60.0 * factor, shape=shape))
        assert fine["area"] == pytest.approx(coarse["area"], rel=0.05)
        assert fine["perimeter"] == pytest.approx(coarse["perimeter"], rel=0.08)


class TestOrientation:
    @pytest.mark.parametrize(("width", "height", "normal"), [(80, 4, 90), (4, 80, 0)])
    def test_bar(self, make_geometry, width, height, normal):
        values = measure(rectangle(20, 8, width, height), make_geometry(30.0, shape=SHAPE))
        for side in (normal, normal + 180):
            assert values[f"perimeter_{side}"] > 0.45 * values["perimeter"]

    def test_the_normal_points_into_the_foreground(self, make_geometry):
        mask = np.zeros(SHAPE, bool)
        mask[40:] = True  # whose outline is at the top
        values = measure(mask, make_geometry(30.0, shape=SHAPE))
        assert values["perimeter_90"] == values["perimeter"] > 0

    @pytest.mark.parametrize("normal", range(0, 180, 30))
    def test_outline_falls_into_the_bin_of_its_normal(self, make_geometry, normal):
        along = np.deg2rad(normal + 90)
        direction, across = (np.array([np.cos(a), np.sin(a)]) for a in (along, along - np.pi / 2))
        corners = [100 + sign * 80 * direction + side * 6 * across
                   for sign, side in ((-1, -1), (1, -1), (1, 1), (-1, 1))]  # fmt: skip
        mask = np.zeros((200, 200), np.uint8)
        cv2.fillPoly(mask, [np.rint(corners).astype(int)], 1)
        values = measure(mask.astype(bool), make_geometry(50.0, shape=(200, 200)))
        for side in (normal, normal + 180):
            assert values[f"perimeter_{side}"] > 0.4 * values["perimeter"]

    def test_directions_add_up_to_the_perimeter(self, make_geometry):
        mask = np.random.default_rng(0).random(SHAPE) < 0.5
        values = measure(mask, make_geometry(30.0, shape=SHAPE))
        assert sum(values[name] for name in DIRECTIONS) == pytest.approx(values["perimeter"])

    def test_bins_are_centred_on_multiples_of_30_degrees(self):
        angles = np.deg2rad([0, 14, 16, 44, 46, 90, 164, 166, 180, 196, -14, -16, -90])
        bins = direction_bins(np.cos(angles), np.sin(angles))
        assert bins.tolist() == [0, 0, 1, 1, 2, 3, 5, 6, 6, 7, 0, 11, 9]
        bins = orientation_bins(np.cos(angles), np.sin(angles))
        assert bins.tolist() == [0, 0, 1, 1, 2, 3, 5, 0, 0, 1, 0, 5, 3]
        assert direction_bins(np.zeros(1), np.zeros(1)).tolist() == [0]


class TestBlobs:
    @pytest.fixture
    def three(self):
        """Three blobs, two of them across the borders of cells; the third touches itself diagonally."""
        mask = rectangle(10, 30, 40, 20) | rectangle(60, 4, 12, 80) | rectangle(100, 10, 4, 4)
        return mask | rectangle(104, 14, 4, 4)

    def test_cells_share_a_blob_by_area(self, make_geometry, three):
        heights = height_map(0.3, 12, SHAPE[::-1], 1, 1000)
        geometry = make_geometry(heights, grids=((1, 1), (3, 2), (6, 5)))
        blobs = size_features(Figures(three, geometry))[:, NAMES.index("blobs")]
        assert blobs[0] == pytest.approx(3)
        assert blobs[1:7].sum() == pytest.approx(3)
        assert blobs[7:].sum() == pytest.approx(3)
        assert (np.abs(blobs[1:7] - np.rint(blobs[1:7])) > 0.01).any()

    def test_half_a_blob_in_each_of_two_cells(self, make_geometry):
        geometry = make_geometry(20.0, grids=((1, 2),), shape=SHAPE)
        blobs = size_features(Figures(rectangle(54, 10, 20, 20), geometry))[:, NAMES.index("blobs")]
        assert blobs == pytest.approx([0.5, 0.5])


class TestBorder:
    def test_what_the_frame_cuts_off_has_no_outline_there(self, make_geometry):
        values = measure(rectangle(0, 30, 10, 20), make_geometry(20.0, shape=SHAPE))
        assert values["area"] == pytest.approx(200 / 400)
        assert values["perimeter"] == pytest.approx((2 * 10 + 18) / 20)  # three sides

    def test_a_full_mask_has_no_outline(self, make_geometry):
        values = measure(np.ones(SHAPE, bool), make_geometry(20.0, shape=SHAPE))
        assert values["area"] == pytest.approx(SHAPE[0] * SHAPE[1] / 400)
        assert values["perimeter"] == values["perimeter_area_ratio"] == 0
        assert values["blobs"] == pytest.approx(1)


def test_ratio_of_nothing_is_zero():
    assert ratio(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])).tolist() == [0.5, 0, 0]
