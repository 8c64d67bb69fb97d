import io
import json
import zipfile
from dataclasses import replace

import cv2
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdcount.errors import OutputError, SceneError
from crowdcount.scene import (
    HeightLine,
    Scene,
    draw_scene,
    estimate_scene,
    figures,
    for_estimation,
    import_scene,
    load_scene,
    parse_person,
    parse_polygon,
    scene_from,
    view_of,
)
from crowdcount.scene.estimation import ESTIMATION_ROWS
from crowdcount.scene.files import MALL_PERSON_HEIGHT
from features.empty_scene import EmptyScene
from features.perspective import TYPICAL_SLOPE
from samples.scenes import random_spec
from samples.simulation import Simulation

SIZE = (160, 120)
TRIANGLE = ((20.0, 100.0), (140.0, 100.0), (80.0, 10.0))
PERSONS = ((40.0, 50.0, 20.0), (100.0, 110.0, 50.0))


@pytest.fixture
def given_scene():
    return scene_from(SIZE, [TRIANGLE], PERSONS)


@pytest.fixture
def mask_scene():
    rng = np.random.default_rng(0)
    roi = np.zeros(SIZE[::-1], bool)
    roi[30:90, 40:120] = True
    return Scene(SIZE, roi, rng.uniform(5, 50, SIZE[::-1]).astype(np.float32), height_origin="imported")


def same(one, other):
    plain = ("size_wh", "polygons", "line", "roi_origin", "height_origin", "height_reliability")
    return (
        all(getattr(one, name) == getattr(other, name) for name in plain)
        and np.array_equal(one.roi, other.roi)
        and np.array_equal(one.person_height, other.person_height)
    )


def one_line(excinfo, *said):
    message = str(excinfo.value)
    assert "\n" not in message
    for part in said:
        assert part in message
    return True


class TestSceneFrom:
    def test_puts_the_line_through_the_people(self, given_scene):
        assert given_scene.line.slope == pytest.approx(0.5)
        assert given_scene.line.intercept == pytest.approx(-5)
        assert (given_scene.line.smallest, given_scene.line.largest) == (10, 100)
        for x, foot, height in PERSONS:
            assert given_scene.person_height[round(foot - height / 2), int(x)] == pytest.approx(
                height, rel=0.02
            )
        assert (given_scene.roi_origin, given_scene.height_origin) == ("given", "given")
        assert given_scene.height_reliability == 1

    def test_takes_the_least_squares_line_of_more(self):
        scene = scene_from(SIZE, None, [*PERSONS, (10, 80, 35), (10, 80, 35.001)])
        assert scene.line.slope == pytest.approx(0.5, rel=1e-3)

    def test_roi_is_the_polygons_union_inside_the_frame(self, given_scene):
        assert given_scene.roi[60, 80]
        assert not given_scene.roi[60, 30]
        both = scene_from(SIZE, [TRIANGLE, ((-50, -50), (20, -50), (20, 20), (-50, 20))], PERSONS)
        assert both.roi[60, 80]
        assert both.roi[0, 0]
        assert both.roi.sum() == given_scene.roi.sum() + 21 * 21

    def test_people_of_one_height_give_a_constant(self):
        scene = scene_from(SIZE, None, [(0, 10, 11.412109375), (0, 110, 11.412109375)])
        assert scene.line.slope == 0
        assert scene.line.intercept == pytest.approx(11.412109375)

    def test_redrawn_replaces_what_is_given_and_nothing_else(self, mask_scene, given_scene):
        assert same(mask_scene.redrawn(), mask_scene)
        assert same(mask_scene.redrawn([TRIANGLE], PERSONS), given_scene)
        region = mask_scene.redrawn([TRIANGLE])
        assert same(region.redrawn(persons=PERSONS), given_scene)
        assert np.array_equal(region.roi, given_scene.roi)
        assert np.array_equal(region.person_height, mask_scene.person_height)
        assert (region.roi_origin, region.height_origin, region.line) == ("given", "imported", None)

    def test_nothing_given_is_the_whole_frame_and_the_typical_camera(self):
        scene = scene_from(SIZE)
        assert scene.roi.all()
        assert scene.line.slope == TYPICAL_SLOPE
        assert (scene.roi_origin, scene.height_origin, scene.height_reliability) == ("assumed", "assumed", 0)

    @pytest.mark.parametrize("size_wh", [(1, 1), (1, 40), (40, 1)])
    def test_a_picture_of_a_pixel_is_too_small(self, size_wh):
        assert scene_from((2, 2)).roi.all()
        with pytest.raises(SceneError) as excinfo:
            scene_from(size_wh)
        assert one_line(excinfo, f"too small: expected 2x2 pixels or more, found {size_wh[0]}x{size_wh[1]}")

    @pytest.mark.parametrize(
        ("polygons", "said"),
        [
            ([((200, 0), (300, 0), (300, 50))], "outside"),
            ([((1, 1), (5, 5), (9, 9))], "area"),
            ([((1, 1), (5, 5))], "area"),
            ([((0, 20), (159, 20), (0, 119), (159, 119))], "crosses itself; give its corners in order"),
            ([TRIANGLE, ((40, 20), (120, 20), (0, 119), (159, 119))], "polygon 2 of the ROI crosses itself"),
            ([((1, 1), (5, float("nan")), (9, 1))], "far outside"),
            ([((1, 1), (1e9, 5), (9, 1))], "far outside"),
            ([], "outside"),
            ([[]], "polygon 1 of the ROI encloses no area"),
            (TRIANGLE, "a single polygon"),
            ([((1, 1, 1), (5, 5, 5), (9, 1, 1))], "each of corners (x, y)"),
        ],
    )
    def test_refuses_an_roi_that_holds_nothing(self, polygons, said):
        with pytest.raises(SceneError) as excinfo:
            scene_from(SIZE, polygons)
        assert one_line(excinfo, said)

    def test_the_feet_of_a_near_person_may_be_below_the_frame(self):
        line = scene_from(SIZE, persons=[(40, 50, 20), (100, 130, 60)]).line
        assert (line.slope, line.intercept) == pytest.approx((0.5, -5.0))

    @pytest.mark.parametrize(("size_wh", "rows"), [((1920, 1080), (500, 520)), ((80, 60), (30, 31.5))])
    def test_people_on_nearly_one_row_of_large_and_of_small_frames(self, size_wh, rows):
        with pytest.raises(SceneError) as excinfo:
            scene_from(size_wh, persons=[(40, row, 10 + k) for k, row in enumerate(rows)])
        assert one_line(excinfo, f"on nearly the same row ({rows[0]:g} to {rows[1]:g})")

    def test_refuses_an_roi_that_is_no_mask(self):
        with pytest.raises(SceneError) as excinfo:
            Scene((4, 4), np.ones((4, 4), np.uint8), np.ones((4, 4), np.float32))
        assert one_line(excinfo, "the ROI mask is of uint8, not of bool")

    @pytest.mark.parametrize(
        ("persons", "said"),
        [
            ([(5, 100, 40)], "two or more"),
            ([(5, 100, 40), (90, 101, 41)], "same row"),
            ([(5, 50, 40), (5, 100, 30)], "per row"),
            ([(5, 50, 1), (5, 60, 100)], "per row"),
            ([(5, 20, 1), (5, 60, 1), (5, 110, 80)], "per row"),  # the first would be less than nothing tall
            ([(5, 50, 0), (5, 100, 30)], "measure again"),
            ([(5, 50, 0.17), (5, 100, 0.17)], "measure again"),
            ([(5, 50, 20), (999, 100, 30)], "measure again"),
            ([(5, 50, 40), (5, 999, 60)], "measure again"),
            ([(5, 50, float("inf")), (5, 100, 30)], "measure again"),
            ([(5, 50, 20), (float("nan"), 100, 30)], "measure again"),
            ([(5, 50, 20), (5, float("nan"), 30)], "measure again"),
            ([(5, 50, 20), (5, 100, float("nan"))], "measure again"),
            ((5, 50, 20), "a single polygon or person"),
            ([(5, 50), (5, 100)], "people as (x, foot_y, height)"),
        ],
    )
    def test_refuses_people_who_give_no_perspective(self, persons, said):
        with pytest.raises(SceneError) as excinfo:
            scene_from(SIZE, None, persons)
        assert one_line(excinfo, said)


class TestScene:
    def test_refuses_what_does_not_fit_together(self, given_scene):
        for changes, said in [
            ({"roi": np.zeros(SIZE[::-1], bool)}, "empty"),
            ({"roi": np.ones(SIZE, bool)}, "pixels"),
            ({"person_height": np.zeros(SIZE[::-1], np.float32)}, "positive"),
            ({"person_height": np.full(SIZE[::-1], np.nan, np.float32)}, "positive"),
            ({"person_height": np.full(SIZE[::-1], np.inf, np.float32)}, "positive"),
        ]:
            with pytest.raises(SceneError) as excinfo:
                replace(given_scene, **changes)
            assert one_line(excinfo, said)

    @pytest.mark.parametrize("factor", [0.5, 2, 3])
    @pytest.mark.parametrize("kind", ["given_scene", "mask_scene"])
    def test_resized_keeps_region_and_heights(self, kind, factor, request):
        scene = request.getfixturevalue(kind)
        if scene.line is None:
            smooth = np.repeat(np.linspace(10, 40, SIZE[1], dtype=np.float32)[:, None], SIZE[0], axis=1)
            scene = replace(scene, person_height=smooth)
        size_wh = (int(SIZE[0] * factor), int(SIZE[1] * factor))
        resized = scene.resized(size_wh)
        assert resized.size_wh == size_wh
        assert resized.roi.mean() == pytest.approx(scene.roi.mean(), rel=0.05)
        expected = cv2.resize(scene.person_height, size_wh, interpolation=cv2.INTER_LINEAR) * factor
        np.testing.assert_allclose(resized.person_height[5:-5], expected[5:-5], rtol=0.03)
        assert scene.resized(SIZE) is scene

    def test_a_small_polygon_stays_at_a_size_at_which_it_encloses_no_pixel(self):
        small = [(100, 60), (104, 60), (104, 64), (100, 64)]
        scene = scene_from(SIZE, [[(0, 0), (50, 0), (50, 119), (0, 119)], small])
        assert scene.resized((20, 15)).roi[8, 13]

    @pytest.mark.parametrize("row", [0, 50, 119])
    def test_a_thin_mask_stays_at_a_size_at_which_it_covers_half_of_no_pixel(self, row):
        roi = np.zeros(SIZE[::-1], bool)
        roi[row, 20:140] = True
        small = Scene(SIZE, roi, np.full(roi.shape, 20, np.float32)).resized((20, 15)).roi
        assert small[row // 8, 4:16].all()
        assert small.sum() < 20

    def test_a_mask_at_a_smaller_size_is_where_it_covers_half_of_a_pixel(self):
        roi = np.zeros((8, 16), bool)
        roi[:, :6], roi[:, 8] = True, True
        small = Scene((16, 8), roi, np.full(roi.shape, 5, np.float32)).resized((4, 2)).roi
        assert small.tolist() == [[True, True, False, False]] * 2

    def test_corners_count_from_the_middle_of_the_first_pixel_at_any_size(self):
        square = ((0, 0), (3, 0), (3, 3), (0, 3))
        large = scene_from((8, 6), [square]).resized((24, 18))
        assert large.polygons == (((1, 1), (10, 1), (10, 10), (1, 10)),)

    def test_resized_there_and_back_is_the_same_line(self, given_scene):
        back = given_scene.resized((480, 360)).resized(SIZE)
        assert back.line.slope == pytest.approx(given_scene.line.slope)
        assert back.line.intercept == pytest.approx(given_scene.line.intercept)
        assert np.array(back.polygons) == pytest.approx(np.array(given_scene.polygons))

    def test_fitted_refuses_another_shape_of_frame(self, given_scene):
        assert given_scene.fitted((320, 240)).size_wh == (320, 240)
        for wide, high in ((320, 180), (240, 320)):
            with pytest.raises(SceneError) as excinfo:
                given_scene.fitted((wide, high))
            assert one_line(excinfo, "160x120", f"{wide}x{high}")

    def test_knows_the_view_of_a_scene_of_the_same_region_and_heights(self, given_scene, mask_scene):
        views = [EmptyScene(np.full((12, 16, 3), level, np.uint8), np.ones((12, 16), np.uint8))
                 for level in (80, 90)]  # fmt: skip
        other = replace(given_scene, view=views[0])
        assert given_scene.knowing(other).view is views[0]
        assert replace(given_scene, view=views[1]).knowing(other).view is views[1]
        region = given_scene.redrawn([((0, 0), (99, 0), (99, 99))])
        heights = given_scene.redrawn(persons=[(40, 50, 22), (100, 110, 55)])
        nearest = given_scene.redrawn(persons=[(40, 50, 20), (100, 110, 60)])  # alike in the distance
        for scene in (region, heights, nearest, scene_from((160, 200))):
            assert scene.knowing(other).view is None
        for scene in (given_scene.resized((320, 240)), given_scene.resized((90, 67))):
            assert scene.knowing(other).view is views[0]
        assert given_scene.knowing(None) is given_scene

    def test_what_is_alike_is_so_as_a_share_of_the_region_and_in_frames_of_one_shape(self, given_scene):
        one, other = (given_scene.redrawn([((x, 60), (x + 9, 60), (x + 9, 90))]) for x in (20, 100))
        assert one.is_like(one.resized((320, 240)))
        assert not one.is_like(other)
        assert not scene_from((160, 160)).is_like(scene_from((160, 120)))

    def test_describe_tells_corners_that_were_drawn_on_larger_frames(self, given_scene):
        within, over = [[(-9, 10), (90, 10), (90, 130)]], [[(0, 10), (480, 10), (90, 130)]]
        assert not any("lies outside" in line for line in given_scene.redrawn(within).describe())
        told = given_scene.redrawn(over).describe()
        assert "a corner of the region, 480,10, lies outside of the frames: were they of another" in told[2]

    def test_describe_says_where_everything_is_from(self, given_scene, mask_scene):
        region, heights = given_scene.describe()
        assert region == "region: 1 polygon, 29% of the frame of 160x120 pixels (given)"
        assert "10 pixels with the body's centre at the region's top (row 10) to 60 with it at" in heights
        assert "2 polygons" in given_scene.redrawn([TRIANGLE, TRIANGLE]).describe()[0]
        assert "mask" in mask_scene.describe()[0]
        assumed = scene_from(SIZE).describe()
        assert "whole frame" in assumed[0]
        assert "assumed" in assumed[1]
        assert "draw two people" in assumed[2]


def in_order(points):
    middle = np.mean(points, axis=0)
    return sorted(points, key=lambda point: np.arctan2(*(point - middle)))


polygons = (
    st.lists(st.tuples(st.floats(0, 159), st.floats(0, 119)), min_size=3, max_size=6, unique=True)
    .map(in_order)
    .filter(lambda points: cv2.contourArea(np.array(points, np.float32)) > 2)
)


class TestFiles:
    @pytest.mark.parametrize("suffix", [".json", ".npz", ".NPZ"])
    def test_round_trip(self, given_scene, tmp_path, suffix):
        path = tmp_path / f"scene{suffix}"
        given_scene.save(path)
        assert same(load_scene(path), given_scene)
        assert list(tmp_path.iterdir()) == [path]

    def test_round_trip_of_a_mask_and_a_map(self, mask_scene, given_scene, tmp_path):
        mixed = replace(given_scene, roi=mask_scene.roi, polygons=None)
        for scene in (mask_scene, mixed):
            scene.save(tmp_path / "scene.npz")
            assert same(load_scene(tmp_path / "scene.npz"), scene)

    @settings(max_examples=20)
    @given(polygon=polygons, slope=st.floats(0, 1.5), low=st.floats(1, 20), trust=st.floats(0, 1))
    def test_round_trip_of_any_numbers(self, tmp_path_factory, polygon, slope, low, trust):
        folder = tmp_path_factory.mktemp("scene")
        scene = scene_from(SIZE, [polygon], [(0, 10, low), (0, 110, low + 100 * slope)])
        scene = replace(scene, height_origin="estimated", height_reliability=trust)
        for name in ("s.json", "s.npz"):
            scene.save(folder / name)
            assert same(load_scene(folder / name), scene)

    def test_doubtful_heights_are_told(self, given_scene):
        def told(origin, trust):
            scene = replace(given_scene, height_origin=origin, height_reliability=trust)
            assert scene.has_doubtful_heights == ("draw two people" in scene.describe()[-1])
            return scene.describe()[-1]

        assert "only assumed" in told("assumed", 0.0)
        assert "uncertain" in told("estimated", 0.59)
        assert "draw two people" not in told("estimated", 0.61)
        assert "draw two people" not in told("given", 0.0)

    def test_json_is_for_editing(self, given_scene, tmp_path):
        path = tmp_path / "scene.json"
        given_scene.save(path)
        content = json.loads(path.read_text())
        assert content["polygons"] == [[list(point) for point in TRIANGLE]]
        content["line"]["slope"] = 0.6
        path.write_text(json.dumps(content))
        assert load_scene(path).line.slope == 0.6

    def test_what_an_editor_puts_before_the_text_is_passed_over(self, given_scene, tmp_path):
        path = tmp_path / "scene.json"
        given_scene.save(path)
        path.write_text(path.read_text(), encoding="utf-8-sig")
        assert same(load_scene(path), given_scene)

    def test_sides_may_touch(self):
        keyhole = ((10, 10), (100, 10), (100, 100), (10, 100), (10, 50), (50, 50), (50, 60), (10, 60))
        assert scene_from(SIZE, [keyhole, keyhole[::-1]]).roi.sum() > 7000

    def test_json_cannot_hold_a_mask(self, mask_scene, tmp_path):
        with pytest.raises(SceneError) as excinfo:
            mask_scene.save(tmp_path / "scene.json")
        assert one_line(excinfo, ".npz")
        with pytest.raises(SceneError, match=r"\.json or \.npz"):
            mask_scene.save(tmp_path / "scene.png")
        assert not list(tmp_path.iterdir())

    def test_what_could_not_be_read_is_not_written(self, given_scene, tmp_path):
        steep = replace(given_scene, line=replace(given_scene.line, slope=1e9))
        for name in ("scene.json", "scene.npz"):
            with pytest.raises(SceneError) as excinfo:
                steep.save(tmp_path / name)
            assert one_line(excinfo, "cannot hold", "slope")
        assert not list(tmp_path.iterdir())

    def test_an_axis_far_outside_any_frame_is_refused_at_once(self, given_scene):
        with pytest.raises(SceneError) as excinfo:
            replace(given_scene, axis=((0.0, 0.0), (1e9, 0.0)))
        assert one_line(excinfo, "axis", "far outside")

    def test_unwritable_place(self, given_scene, tmp_path):
        for name in ("scene.json", "scene.npz"):
            with pytest.raises(OutputError) as excinfo:
                given_scene.save(tmp_path / "missing" / name)
            assert one_line(excinfo, "missing")

    @pytest.mark.parametrize(
        "change",
        [
            lambda c: c.update(kind="model"),
            lambda c: c.update(version=0),
            lambda c: c.update(version="1"),
            lambda c: c.update(size_wh=[0, 120]),
            lambda c: c.update(size_wh=[160, 10**9]),
            lambda c: c.update(size_wh=[160.5, 120]),
            lambda c: c.update(size_wh=[16384, 16384]),
            lambda c: c.update(polygons=[[[0, 0], [1, 1]]]),
            lambda c: c.update(polygons=[]),
            lambda c: c.update(polygons=None),
            lambda c: c.update(polygons=[[[0, 0], [1e300, 1], [5, 5]]]),
            lambda c: c.update(polygons=[[[900, 900], [990, 900], [990, 990]]]),
            lambda c: c.update(line=None),
            lambda c: c["line"].update(slope=5),
            lambda c: c["line"].update(slope="0.5"),
            lambda c: c["line"].update(intercept=float("nan")),
            lambda c: c["line"].update(smallest=50, largest=10),
            lambda c: c["line"].update(smallest=0),
            lambda c: c.pop("line"),
            lambda c: c.update(height_origin="guess\nwork"),
            lambda c: c.update(height_reliability=1.5),
            lambda c: c.update({"extra\x1b[31m\n": 1}),
        ],
    )
    def test_foreign_json_is_one_line(self, given_scene, tmp_path, change):
        path = tmp_path / "scene.json"
        given_scene.save(path)
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
        with pytest.raises(SceneError) as excinfo:
            load_scene(path)
        assert one_line(excinfo, "scene.json")
        assert "\x1b" not in str(excinfo.value)

    def test_a_file_of_a_data_set_is_to_be_imported(self, tmp_path):
        with pytest.raises(SceneError, match=r"roi\.mat is of a data set; make a scene of it: crowdcount"):
            load_scene(tmp_path / "roi.mat")

    def test_a_newer_version_says_so(self, given_scene, tmp_path):
        path = tmp_path / "scene.json"
        given_scene.save(path)
        path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2, "new": "field"}))
        with pytest.raises(SceneError) as excinfo:
            load_scene(path)
        assert one_line(excinfo, "newer", "update")

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[" * 100_000, b"\xff\xfe\x00", b"null", b"[]", b"x" * (2 << 20)]
    )
    def test_broken_json_is_one_line(self, tmp_path, content):
        path = tmp_path / "scene.json"
        path.write_bytes(content)
        with pytest.raises(SceneError) as excinfo:
            load_scene(path)
        assert one_line(excinfo, "scene.json")

    def test_missing_files_and_folders(self, tmp_path):
        for path in (tmp_path / "no.json", tmp_path / "no.npz", tmp_path):
            with pytest.raises(SceneError) as excinfo:
                load_scene(path)
            assert one_line(excinfo, str(path))

    def test_truncated_npz_is_one_line(self, mask_scene, tmp_path):
        path = tmp_path / "scene.npz"
        mask_scene.save(path)
        content = path.read_bytes()
        for kept in (0, 10, len(content) // 2, len(content) - 5):
            path.write_bytes(content[:kept])
            with pytest.raises(SceneError) as excinfo:
                load_scene(path)
            assert one_line(excinfo, "scene.npz")

    @pytest.mark.parametrize(
        ("member", "array"),
        [
            ("roi.npy", np.ones((5, 5), bool)),
            ("roi.npy", np.ones(SIZE[::-1], np.float64)),
            ("roi.npy", np.zeros(SIZE[::-1], bool)),
            ("person_height.npy", np.ones((120, 160, 3), np.float32)),
            ("person_height.npy", np.full(SIZE[::-1], -1, np.float32)),
            ("person_height.npy", np.full(SIZE[::-1], "12")),
            ("person_height.npy", None),
            ("view.npy", np.ones((12, 16, 3), np.uint8)),
        ],
    )
    def test_npz_with_other_arrays_is_one_line(self, mask_scene, tmp_path, member, array):
        path = tmp_path / "scene.npz"
        mask_scene.save(path)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        members.pop(member, None)
        if array is not None:
            packed = io.BytesIO()
            np.lib.format.write_array(packed, array, version=(1, 0))
            members[member] = packed.getvalue()
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        with pytest.raises(SceneError) as excinfo:
            load_scene(path)
        assert one_line(excinfo, "scene.npz")

    def test_the_view_is_kept(self, mask_scene, tmp_path):
        rng = np.random.default_rng(1)
        picture, threshold = rng.integers(0, 256, (12, 16, 3), np.uint8), np.full((12, 16), 9, np.uint8)
        for proven in (None, rng.random((12, 16)) < 0.5):
            replace(mask_scene, view=EmptyScene(picture, threshold, proven)).save(tmp_path / "a.npz")
            view = load_scene(tmp_path / "a.npz").view
            np.testing.assert_array_equal(view.image_bgr, picture)
            np.testing.assert_array_equal(view.threshold, threshold)
            np.testing.assert_array_equal(view.is_proven, proven)

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("view", np.ones((12, 16, 3), np.float32)),
            ("view", np.ones((12, 16), np.uint8)),
            ("view", np.ones((12, 16, 4), np.uint8)),
            ("view_threshold", np.ones((12, 15), np.uint8)),
            ("view_threshold", np.ones((12, 16), np.float32)),
            ("view_proven", np.ones((12, 15), bool)),
            ("view_proven", np.ones((12, 16), np.uint8)),
            ("view_others", np.ones((12, 16, 3), np.uint8)),
            ("view_others", np.ones((2, 12, 15, 3), np.uint8)),
            ("view_others", np.ones((2, 12, 16, 3), bool)),
        ],
    )
    def test_a_view_that_does_not_fit_is_an_error(self, name, array):
        view = {"view": np.ones((12, 16, 3), np.uint8), "view_threshold": np.ones((12, 16), np.uint8)}
        assert view_of(view) is not None
        with pytest.raises(SceneError, match="empty scene"):
            view_of(view | {name: array})

    def test_a_views_other_states_are_kept(self, mask_scene, tmp_path):
        pictures = np.random.default_rng(0).integers(0, 256, (3, 12, 16, 3), np.uint8)
        view = EmptyScene(pictures[0], np.ones((12, 16), np.uint8), others_bgr=list(pictures[1:]))
        replace(mask_scene, view=view).save(tmp_path / "a.npz")
        np.testing.assert_array_equal(load_scene(tmp_path / "a.npz").view.others_bgr, pictures[1:])

    def test_a_view_without_a_pixel_is_an_error(self):
        with pytest.raises(SceneError, match="empty scene"):
            view_of({"view": np.ones((0, 16, 3), np.uint8), "view_threshold": np.ones((0, 16), np.uint8)})


class TestImport:
    def write_mall(self, path, roi_value=1):
        scale = np.repeat(np.linspace(0.3, 1.2, SIZE[1])[:, None], SIZE[0], axis=1)
        mask = np.zeros(SIZE[::-1], np.uint8)
        mask[20:] = roi_value
        scipy.io.savemat(path, {"roi": {"mask": mask}, "pMapN": 1 / scale**2})
        return scale

    def test_mall(self, tmp_path):
        scale = self.write_mall(tmp_path / "perspective_roi.mat")
        scene = import_scene(tmp_path / "perspective_roi.mat")
        assert scene.size_wh == SIZE
        np.testing.assert_allclose(scene.person_height, MALL_PERSON_HEIGHT * scale, rtol=1e-5)
        assert scene.roi[20:].all()
        assert not scene.roi[:20].any()
        assert (scene.roi_origin, scene.height_origin) == ("imported", "imported")

    def test_ucsd_from_two_files_in_any_order(self, tmp_path):
        relative = np.repeat(np.linspace(0.5, 1, 158)[:, None], 238, axis=1)
        scipy.io.savemat(tmp_path / "dmap3.mat", {"dmap": {"pmapxy": relative, "pmapy": 1 / relative}})
        mask = np.zeros((158, 238), np.uint8)
        mask[:, :100] = 1
        scipy.io.savemat(tmp_path / "roi.mat", {"roi": {"xi": [1.0], "mask": mask}})
        files = [tmp_path / "dmap3.mat", tmp_path / "roi.mat"]
        one, other = import_scene(*files), import_scene(*files[::-1])
        assert same(one, other)
        assert one.size_wh == (238, 158)
        assert one.person_height[-1, 0] == pytest.approx(2 * one.person_height[0, 0])
        assert one.roi.sum() == 158 * 100
        assert import_scene(files[0]).roi.all()

    def test_what_is_no_scene_is_one_line(self, tmp_path):
        path = tmp_path / "x.mat"
        self.write_mall(path)
        whole = path.read_bytes()
        self.write_mall(path, roi_value=0)
        empty = path.read_bytes()
        foreign, no_map, no_mask = (tmp_path / name for name in ("foreign.mat", "no_map.mat", "no_mask.mat"))
        scipy.io.savemat(foreign, {"x": [1.0]})
        scipy.io.savemat(no_map, {"roi": {"mask": [[1]]}})
        scipy.io.savemat(no_mask, {"roi": {"xi": [[1]]}})
        contents = [b"", b"text", whole[:200], whole[:-100], empty]
        contents += [file.read_bytes() for file in (foreign, no_map, no_mask)]
        for wrong_map in (np.ones((1, 5)), np.ones((3, 4, 5)), np.ones((0, 0)), np.zeros((9, 9))):
            scipy.io.savemat(path, {"pMapN": wrong_map})
            contents.append(path.read_bytes())
        full = np.ones((9, 9))
        for variables in (
            {"dmap": {"pmapy": np.zeros((9, 9))}},
            {"pMapN": scipy.sparse.csc_matrix(full)},
            {"pMapN": full, "roi": {"mask": scipy.sparse.csc_matrix(full)}},
            {"pMapN": full * 1j},
            {"pMapN": full * 1e12},
            {"pMapN": full * 1e-12},
        ):
            scipy.io.savemat(path, variables)
            contents.append(path.read_bytes())
        for content in contents:
            path.write_bytes(content)
            with pytest.raises(SceneError) as excinfo:
                import_scene(path)
            assert one_line(excinfo)
        with pytest.raises(SceneError, match="missing"):
            import_scene(tmp_path / "missing.mat")

    def test_maps_of_two_sizes(self, tmp_path):
        self.write_mall(tmp_path / "a.mat")
        scipy.io.savemat(tmp_path / "b.mat", {"roi": {"mask": np.ones((9, 9))}})
        with pytest.raises(SceneError) as excinfo:
            import_scene(tmp_path / "a.mat", tmp_path / "b.mat")
        assert one_line(excinfo, "9x9", "160x120")

    def test_the_real_files(self, data_dir):
        mall = import_scene(data_dir / "mall" / "perspective_roi.mat")
        assert mall.size_wh == (640, 480)
        # Women in frame 1001, measured by eye: rows 258 to 372, and 165 to 255 farther away.
        assert mall.person_height[315, 467] == pytest.approx(114, rel=0.1)
        assert mall.person_height[210, 160] == pytest.approx(90, rel=0.1)
        ucsd = data_dir / "ucsd"
        scene = import_scene(ucsd / "vidf1_33_dmap3.mat", ucsd / "vidf1_33_roi_mainwalkway.mat")
        assert scene.size_wh == (238, 158)
        assert 0.4 < scene.roi.mean() < 0.6


def walking(n_frames, size_wh, slope, intercept, rng):
    width, height = size_wh
    for _ in range(n_frames):
        image = np.full((height, width, 3), (150, 155, 160), np.float64)
        for foot in np.sort(rng.uniform(0.45, 0.95, 3) * height):
            tall, x = slope * foot + intercept, rng.uniform(0.1, 0.9) * width
            body, middle = rng.integers(0, 80, 3).tolist(), (round(x), round(foot - tall / 2))
            cv2.ellipse(image, middle, (round(0.2 * tall), round(0.5 * tall)), 0, 0, 360, body, -1)
        yield np.clip(image + rng.normal(0, 2, image.shape), 0, 255).astype(np.uint8)


def clear_and_hazy(n_frames, size_wh, contrast=0.1, veil=180):
    """People on a ground of light and dark patches, in clear air and in haze."""
    rng = np.random.default_rng(1)
    ground = cv2.resize(rng.uniform(0.05, 1, (48, 64)), size_wh, interpolation=cv2.INTER_NEAREST)[..., None]
    walkers = walking(n_frames, size_wh, 0.3, 10.0, np.random.default_rng(0))
    clear = [np.where(frame > 100, frame * ground, frame) for frame in walkers]
    hazy = [contrast * frame + veil + rng.normal(0, 0.5, frame.shape) for frame in clear]
    return tuple([frame.astype(np.uint8) for frame in those] for those in (clear, hazy))


class TestEstimate:
    def test_needs_so_many_rows_of_a_frame(self):
        for height, width in ((1080, 1920), (120, 160), (20, 1200), (5, 2000)):
            found = for_estimation(np.zeros((height, width, 3), np.uint8))
            assert found.shape[0] == ESTIMATION_ROWS or found.shape[1] == max(width, 1280)
            assert found.shape[1] <= max(width, 1280)
            assert found.shape[1] / found.shape[0] == pytest.approx(width / height, rel=0.05)
            assert for_estimation(found) is found

    def test_pictures_by_infrared_are_no_others_of_the_scene(self):
        day = list(walking(30, (640, 480), 0.25, 10.0, np.random.default_rng(0)))
        night = [cv2.merge([255 - cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)] * 3) for frame in day]
        assert estimate_scene([*day, *night], (640, 480)).line == estimate_scene(day, (640, 480)).line

    @pytest.mark.parametrize("seed", [7103, 7110])
    def test_people_of_a_few_pixels_lose_no_height(self, seed):
        spec = replace(random_spec(seed, setting="plaza", size_wh=(160, 120), n_frames=60), fps=1.0)
        simulation = Simulation(spec)
        frames = [frame.image_bgr for frame in simulation.frames()]
        line = estimate_scene(frames, spec.size_wh, simulation.roi_polygons).line
        slope, intercept = simulation.height_line
        for row in (60, 110):
            found, true = line.slope * row + line.intercept, slope * row + intercept
            assert abs(np.log(found / true)) < 0.12

    def test_finds_the_heights_at_any_resolution(self):
        size_wh = (640, 480)
        frames = list(walking(30, size_wh, 0.2, 10.0, np.random.default_rng(0)))  # half the typical heights
        scene = estimate_scene(frames, size_wh, [((0, 200), (639, 200), (639, 479), (0, 479))])
        assert (scene.roi_origin, scene.height_origin) == ("given", "estimated")
        assert scene.height_reliability > 0.6
        for row in (250, 440):
            tall = 0.2 * row + 10
            assert scene.line.slope * row + scene.line.intercept == pytest.approx(tall, rel=0.1)
            assert scene.person_height[round(row - tall / 2), 320] == pytest.approx(tall, rel=0.1)
        assert scene.line.smallest < 0.2 * 216 + 10
        assert scene.line.largest > 0.2 * 456 + 10
        assert not scene.roi[100, 100]
        assert "estimated" in scene.describe()[1]

    def test_black_frames_tell_nothing(self):
        size_wh = (320, 240)
        frames = list(walking(30, size_wh, 0.3, 10.0, np.random.default_rng(0)))
        black = [np.zeros((240, 320, 3), np.uint8)] * 60
        scene = estimate_scene(black + frames, size_wh)
        assert scene.height_reliability > 0.6
        assert same(scene, estimate_scene(frames, size_wh))

    def test_people_behind_haze_tell_their_heights(self):
        size_wh = (320, 240)
        clear, hazy = (estimate_scene(those, size_wh) for those in clear_and_hazy(40, size_wh))
        assert hazy.height_reliability > 0.6
        for row in (120, 220):
            found, expected = (one.line.slope * row + one.line.intercept for one in (hazy, clear))
            assert found == pytest.approx(expected, rel=0.1)

    def test_the_clear_frames_tell_them_where_most_are_hazy(self):
        size_wh = (320, 240)
        clear, hazy = clear_and_hazy(60, size_wh, contrast=0.3, veil=130)
        assert same(estimate_scene([*clear[:25], *hazy[25:]], size_wh), estimate_scene(clear[:25], size_wh))

    def test_the_view_behind_a_cut_tells_nothing(self):
        size_wh = (320, 240)
        ground = np.random.default_rng(1).uniform(0.4, 1, (12, 16))
        ground = cv2.resize(ground, size_wh, interpolation=cv2.INTER_NEAREST)[..., None]
        walkers = walking(30, size_wh, 0.3, 10.0, np.random.default_rng(0))
        frames = [(frame * ground).astype(np.uint8) for frame in walkers]
        others = [frame[::-1] for frame in frames]
        assert same(estimate_scene(frames + others, size_wh), estimate_scene(frames, size_wh))

    @pytest.mark.parametrize("n_frames", [0, 3, 20])
    def test_without_motion_the_typical_camera_is_assumed(self, n_frames):
        frame = np.random.default_rng(0).integers(0, 256, (120, 160, 3)).astype(np.uint8)
        scene = estimate_scene([frame] * n_frames, SIZE)
        assert same(scene, scene_from(SIZE))

    @pytest.mark.parametrize("shape", [SIZE[::-1], (*SIZE[::-1], 4), (*SIZE[::-1], 1)])
    def test_frames_that_are_not_in_three_colours_are_refused(self, shape):
        with pytest.raises(ValueError, match=r"found \(120, 160.* of uint8; bring all to one size, and grey"):
            estimate_scene([np.zeros(shape, np.uint8)] * 20, SIZE)

    def test_frames_of_other_types_or_several_sizes_are_refused(self):
        frame = np.zeros((*SIZE[::-1], 3), np.uint8)
        with pytest.raises(ValueError, match="of float64"):
            estimate_scene([frame / 255] * 20, SIZE)
        with pytest.raises(ValueError, match=r"expected frames \(height, width, 3\) of uint8, found \(\)"):
            estimate_scene([None], SIZE)  # as OpenCV reads what is no picture
        with pytest.raises(ValueError, match=r"expected frames \(120, 160, 3\) of uint8, found \(60, "):
            estimate_scene([frame, frame[:60]] * 10, SIZE)

    @pytest.mark.parametrize(
        ("clip", "truth", "worst"),
        [
            ("pets2009/vtest.avi", "pets2009/PETS09-S2L1_gt_001-400.txt", 0.06),
            ("tud/TUD-Campus/TUD-Campus.mp4", "tud/TUD-Campus/gt.txt", 0.12),
            ("tud/TUD-Stadtmitte/TUD-Stadtmitte.mp4", "tud/TUD-Stadtmitte/gt.txt", 0.09),
        ],
    )
    def test_real_footage(self, data_dir, clip, truth, worst):
        capture = cv2.VideoCapture(str(data_dir / clip))
        frames = [frame for ok, frame in iter(capture.read, (False, None))]
        capture.release()
        frames = frames[:: -(-len(frames) // 60)]
        boxes = np.loadtxt(data_dir / truth, delimiter=",")
        scene = estimate_scene(frames, frames[0].shape[1::-1])
        feet, heights = boxes[:, 3] + boxes[:, 5], boxes[:, 5]
        found = np.maximum(scene.line.slope * feet + scene.line.intercept, 1)
        assert np.median(np.abs(np.log(found / heights))) < worst
        assert scene.height_reliability > 0.5


class TestDraw:
    def test_shows_region_people_and_text(self, given_scene):
        frame = np.full((120, 160, 3), 200, np.uint8)
        image = draw_scene(given_scene, frame)
        assert image.shape[0] > 120
        assert image.shape[1] == 160
        assert (image[5, 5] == 66).all()  # outside the region
        assert (frame == 200).all()
        drawn = (image[:120] != np.where(given_scene.roi[..., None], frame, frame // 3)).any(axis=2)
        assert drawn[:, :].sum() > 200
        assert image[120:].max() > 200

    def test_the_heights_are_written_inside_the_picture(self):
        image = draw_scene(scene_from((640, 480)), np.zeros((480, 640, 3), np.uint8))
        written = (image[:480] > 200).all(axis=2)
        assert written.any()
        assert not written[[0, -1]].any()
        assert not written[:, [0, -1]].any()

    def test_people_stand_in_the_region_with_their_feet_in_the_picture_each_smaller(self, given_scene):
        for scene in (given_scene, scene_from((640, 480))):
            people = list(figures(scene))
            assert len(people) >= 3
            assert all(scene.roi[y, x] and y + tall / 2 <= scene.size_wh[1] for x, y, tall in people)
            talls = np.array([tall for _, _, tall in people])
            assert (talls[1:] <= 0.8 * talls[:-1]).all()

    def test_brings_another_size_to_the_scenes(self, mask_scene):
        assert draw_scene(mask_scene, np.zeros((240, 320, 3), np.uint8)).shape[1] == 160


class TestParse:
    def test_reads_points_and_people(self):
        assert parse_polygon(" 10,20  30.5,40 -3,1e1 ") == ((10, 20), (30.5, 40), (-3, 10))
        assert parse_person("100, 200,50.5") == (100, 200, 50.5)

    @pytest.mark.parametrize(
        "text", ["", "1,2 3,4", "1,2 3,4 5", "1,2 3,4 5,x", "1,2 3,4 5,6,7", "1,2 3,4 5,nan"]
    )
    def test_refuses_other_polygons(self, text):
        with pytest.raises(SceneError) as excinfo:
            parse_polygon(text)
        assert one_line(excinfo, "x,y")

    @pytest.mark.parametrize("text", ["", "1,2", "1,2,3,4", "a,b,c", "1,2,inf", "1;2;3\n"])
    def test_refuses_other_people(self, text):
        with pytest.raises(SceneError) as excinfo:
            parse_person(text)
        assert one_line(excinfo, "x,foot_y,height")


def test_height_line_scaled_is_the_same_person():
    line = HeightLine(0.3, 12.0, 5.0, 90.0)
    twice = line.scaled(2)
    row = 100
    assert twice.slope * (2 * row + 0.5) + twice.intercept == pytest.approx(2 * (0.3 * row + 12))
