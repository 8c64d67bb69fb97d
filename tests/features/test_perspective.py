import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from features.perspective import (
    MAX_SLOPE,
    TRUSTED_RELIABILITY,
    TYPICAL_SLOPE,
    _weighted_quantiles,
    depth_cells,
    estimate_height_line,
    height_line_of_blobs,
    height_map,
    heights_by_end,
    is_from_below_heads,
    moving_blobs,
    moving_differences,
    typical_line,
)

SIZE = (320, 240)


def draw_person(image, x, foot_row, height, colour):
    """A head on a body on two legs, about 0.4 times as wide as tall, the lowest row being foot_row."""
    top = foot_row - height
    cv2.circle(image, (round(x), round(top + 0.08 * height)), max(1, round(0.08 * height)), colour, -1)
    cv2.ellipse(image, (round(x), round(top + 0.38 * height)), (round(0.2 * height), round(0.26 * height)),
                0, 0, 360, colour, -1)  # fmt: skip
    for side in (-1, 1):
        left = x + side * 0.1 * height
        cv2.rectangle(image, (round(left - 0.06 * height), round(top + 0.5 * height)),
                      (round(left + 0.06 * height), round(foot_row)), colour, -1)  # fmt: skip


def crowd_masks(slope, intercept, n_masks, rng, people=4, parts=0, groups=0, size_wh=SIZE):
    """Masks of people on a line of height over foot row, with cut people and pairs that overlap in depth."""
    width, height = size_wh
    for _ in range(n_masks):
        mask = np.zeros((height, width), np.uint8)
        for kind in ["person"] * people + ["part"] * parts + ["group"] * groups:
            foot = rng.uniform(0.35, 0.97) * height
            tall = (slope * foot + intercept) * rng.normal(1, 0.04)
            x = rng.uniform(0.1, 0.9) * width
            draw_person(mask, x, foot, tall, 1)
            if kind == "part":
                cut = foot - tall * rng.uniform(0.2, 0.8)
                mask[round(cut) : round(foot) + 2, round(x - tall / 2) : round(x + tall / 2)] = 0
            if kind == "group":
                farther = foot - 0.5 * tall
                draw_person(mask, x + 0.2 * tall, farther, slope * farther + intercept, 1)
        yield mask.astype(bool)


def height_line_of_masks(*mask_sets):
    sets = [np.concatenate([moving_blobs(mask) for mask in masks]) for masks in mask_sets]
    return height_line_of_blobs(sets, len(mask_sets[0][0]))


def worst_error(estimate, slope, intercept, rows):
    true = slope * rows + intercept
    return np.abs(np.log((estimate.slope * rows + estimate.intercept) / true)).max()


class TestHeightMap:
    @given(slope=st.floats(0, 1.8), intercept=st.floats(-100, 100), foot=st.floats(0, 600))
    def test_is_the_height_of_the_person_whose_centre_is_there(self, slope, intercept, foot):
        height = slope * foot + intercept
        centre = foot - height / 2
        if not (5 < height < 900 and 1 <= centre <= 478):
            return
        map_ = height_map(slope, intercept, (3, 480), smallest=1, largest=1000)
        below, above = map_[int(centre), 1], map_[int(centre) + 1, 1]
        part = centre - int(centre)
        assert below * (1 - part) + above * part == pytest.approx(height, rel=1e-3, abs=1e-2)

    def test_is_clipped_and_constant_along_rows(self):
        map_ = height_map(0.5, -50, (4, 400), smallest=12, largest=90)
        assert map_.shape == (400, 4)
        assert map_.dtype == np.float32
        assert map_[0, 0] == 12  # above the horizon
        assert map_[-1, 0] == 90
        assert (map_ == map_[:, :1]).all()

    def test_slope_zero_is_a_constant_height(self):
        assert (height_map(0.0, 40.0, (3, 5), 1, 100) == 40).all()

    @pytest.mark.parametrize(
        ("slope", "smallest", "largest"),
        [(-0.1, 1, 2), (MAX_SLOPE + 0.01, 1, 2), (float("nan"), 1, 2), (0.2, 0, 2), (0.2, 3, 2)],
    )
    def test_refuses_lines_of_no_camera(self, slope, smallest, largest):
        with pytest.raises(ValueError, match="must"):
            height_map(slope, 10.0, (4, 4), smallest, largest)


class TestHeightsByEnd:
    @pytest.mark.parametrize(("slope", "intercept"), [(0.0, 40.0), (0.2, 20.0), (1.2, -150.0)])
    def test_is_the_person_whose_feet_or_head_are_there(self, slope, intercept):
        by_top, by_foot = heights_by_end(height_map(slope, intercept, (3, 480), 1, 1000))
        for foot in (200, 260, 300):
            height = slope * foot + intercept
            top = foot - height
            assert by_foot[foot, 1] == pytest.approx(height, rel=0.01)
            if slope < 1:  # from slope 1 on, nearer heads are higher up
                assert by_top[round(top), 1] == pytest.approx(height, rel=0.03)

    def test_keeps_to_the_map_where_the_centre_is_outside(self):
        heights = height_map(0.5, 10, (4, 100), 1, 1000)
        by_top, by_foot = heights_by_end(heights)
        assert by_foot.shape == by_top.shape == heights.shape
        assert (by_foot[0] == heights[0]).all()  # the centre is above the frame
        assert (by_top[-1] == heights[-1]).all()  # … below it
        assert (np.diff(by_foot, axis=0) >= 0).all()
        assert (np.diff(by_top, axis=0) >= 0).all()


class TestIsFromBelowHeads:
    @pytest.mark.parametrize("height", [96, 480, 1080])
    @pytest.mark.parametrize(
        ("slope", "expected"), [(0.0, False), (0.5, False), (1.1, False), (1.3, True), (1.8, True)]
    )
    def test_by_how_steep_the_perspective_is_at_any_size(self, height, slope, expected):
        """The horizon is in the middle, and somebody at the picture's lowest row half as tall as that."""
        heights = height_map(slope, -slope * height / 2, (3, height), height / 10, height / 2)
        assert is_from_below_heads(heights) == expected

    def test_rows_between_which_heights_jump_are_no_perspective(self):
        heights = np.full((480, 3), 40, np.float32)
        heights[200:] = 46
        assert not is_from_below_heads(heights)


class TestDepthCells:
    def test_bands_and_columns_hold_equal_ground(self):
        heights = height_map(0.3, 30, (300, 400), 1, 1000)
        roi = np.zeros((400, 300), np.uint8)
        cv2.fillPoly(roi, [np.array([[150, 0], [299, 250], [200, 399], [0, 300]])], 1)
        roi = roi.astype(bool)
        labels = depth_cells(heights, roi, 5, 4)
        assert labels.dtype == np.int32
        assert ((labels >= 0) == roi).all()
        ground = np.bincount(labels[roi], (1.0 / heights[roi]) ** 2, 20).reshape(5, 4)
        assert ground.sum(axis=1) == pytest.approx(np.full(5, ground.sum() / 5), rel=0.03)
        assert ground == pytest.approx(np.full((5, 4), ground.sum() / 20), rel=0.12)

    def test_numbers_go_from_far_left_to_near_right(self):
        labels = depth_cells(np.ones((6, 8)), np.ones((6, 8), bool), 3, 2)
        assert labels.tolist() == [[k] * 4 + [k + 1] * 4 for k in (0, 0, 2, 2, 4, 4)]

    def test_far_bands_are_thinner_than_near_ones(self):
        heights = height_map(0.4, 20, (50, 300), 1, 1000)
        bands = depth_cells(heights, np.ones((300, 50), bool), 4, 1)[:, 0]
        assert (np.diff(np.bincount(bands)) > 0).all()

    def test_degenerate_regions(self):
        heights = np.full((10, 10), 5.0)
        nothing = np.zeros((10, 10), bool)
        assert (depth_cells(heights, nothing, 3, 3) == -1).all()
        pixel = nothing.copy()
        pixel[4, 7] = True
        labels = depth_cells(heights, pixel, 3, 3)
        assert labels[4, 7] >= 0
        assert (labels >= 0).sum() == 1

    @given(
        roi=hnp.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12))),
        rows=st.integers(1, 5),
        columns=st.integers(1, 5),
    )
    def test_labels_exactly_the_region(self, roi, rows, columns):
        heights = np.linspace(3, 9, roi.size).reshape(roi.shape)
        labels = depth_cells(heights, roi, rows, columns)
        assert ((labels >= 0) == roi).all()
        assert labels.max(initial=-1) < rows * columns

    def test_refuses_no_cells_and_other_shapes(self):
        with pytest.raises(ValueError, match="at least one"):
            depth_cells(np.ones((2, 2)), np.ones((2, 2), bool), 0, 1)
        with pytest.raises(ValueError, match="shape"):
            depth_cells(np.ones((2, 3)), np.ones((2, 2), bool), 1, 1)


class TestMovingBlobs:
    def test_measures_what_is_whole_and_no_speck(self):
        mask = np.zeros((200, 300), np.uint8)
        draw_person(mask, 60, 150, 60, 1)
        for x, foot_row in ((150, 199), (110, 40), (3, 80), (297, 160)):  # feet, head and sides are cut off
            draw_person(mask, x, foot_row, 60, 1)
        mask[20:30, 200:290] = 1  # a car
        mask[100:103, 250:252] = 1  # noise
        blobs = moving_blobs(mask.astype(bool))
        car, (foot, height, width, column) = blobs[np.argsort(blobs[:, 0])]
        assert car.tolist() == [30, 10, 90, 245]
        assert foot == pytest.approx(151, abs=1)
        assert height == pytest.approx(61, abs=2)
        assert 0.3 < width / height < 0.5
        assert column == pytest.approx(60.5, abs=1)

    def test_joins_a_person_cut_by_a_thin_gap(self):
        mask = np.zeros((400, 200), np.uint8)
        draw_person(mask, 100, 300, 150, 1)
        mask[230:233] = 0
        assert len(moving_blobs(mask.astype(bool))) == 1


class TestHeightLineOfBlobs:
    @pytest.mark.parametrize(("slope", "intercept"), [(0.15, 20.0), (0.35, -10.0), (0.9, -60.0)])
    def test_finds_the_line_among_parts_and_groups(self, slope, intercept):
        masks = list(crowd_masks(slope, intercept, 40, np.random.default_rng(1), 2, 2, 1))
        estimate = height_line_of_masks(masks)
        rows = np.linspace(0.45, 0.9, 5) * SIZE[1]
        assert worst_error(estimate, slope, intercept, rows) < 0.1
        assert estimate.reliability > 0.6
        smallest, largest = slope * rows[[0, -1]] + intercept
        assert 0.5 * smallest < estimate.smallest < smallest < largest < estimate.largest < 1.6 * largest

    def test_many_parts_do_not_pull_it_down(self):
        masks = list(crowd_masks(0.3, 10.0, 40, np.random.default_rng(2), 1, 4))
        estimate = height_line_of_masks(masks)
        assert worst_error(estimate, 0.3, 10.0, np.array([120.0, 200.0])) < 0.15

    def test_scales_with_the_image(self):
        rng = np.random.default_rng(3)
        masks = list(crowd_masks(0.3, 10.0, 20, rng))
        twice = [
            cv2.resize(m.astype(np.uint8), None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST) > 0
            for m in masks
        ]
        one, two = height_line_of_masks(masks), height_line_of_masks(twice)
        rows = np.array([120.0, 200.0])
        ratio = (two.slope * 2 * rows + two.intercept) / (one.slope * rows + one.intercept)
        assert ratio == pytest.approx(2, rel=0.04)

    @pytest.mark.parametrize("n_masks", [1, 30])
    def test_nothing_moves_gives_the_typical_line(self, n_masks):
        estimate = height_line_of_masks([np.zeros((240, 320), bool)] * n_masks)
        assert (estimate.slope, estimate.intercept) == typical_line(240)
        assert estimate.slope == TYPICAL_SLOPE
        assert estimate.reliability == 0

    def test_does_not_trust_noise(self):
        rng = np.random.default_rng(4)
        masks = []
        for _ in range(60):
            mask = np.zeros((240, 320), bool)
            for _ in range(5):
                height = int(np.exp(rng.uniform(np.log(8), np.log(120))))
                width = max(1, int(height / np.exp(rng.uniform(0, np.log(5)))))
                x, y = rng.integers(1, 319 - width), rng.integers(1, 239 - height)
                mask[y : y + height, x : x + width] = True
            masks.append(mask)
        estimate = height_line_of_masks(masks)
        assert estimate.reliability == 0 or estimate.reliability < 2 * TRUSTED_RELIABILITY

    def test_does_not_trust_leaves(self):
        """Alike in size, as people are, but as often wide as tall."""
        rng = np.random.default_rng(8)
        masks = []
        for _ in range(40):
            mask = np.zeros((240, 320), np.uint8)
            for _ in range(6):
                place, turn = rng.uniform((30, 90), (290, 220)), rng.uniform(0, 180)
                cv2.ellipse(mask, np.rint(place).astype(int).tolist(), (9, 4), turn, 0, 360, 1, -1)
            masks.append(mask.astype(bool))
        upright = [np.swapaxes(mask, 0, 1) for mask in crowd_masks(0.0, 20.0, 40, rng, size_wh=(240, 320))]
        assert height_line_of_masks(masks).reliability == 0
        assert height_line_of_masks(upright).reliability == 0  # all of them lie
        assert height_line_of_masks(list(crowd_masks(0.0, 20.0, 40, rng))).reliability > 0.6

    @pytest.mark.parametrize("n_places", [2, 4])
    def test_does_not_trust_what_moves_where_it_is(self, n_places):
        """Screens and bushes, as large as people, change in most frames; people walk on."""
        rng = np.random.default_rng(10)
        places = np.linspace(110, 225, n_places), np.linspace(60, 260, n_places)
        masks = []
        for _ in range(60):
            mask = np.zeros((240, 320), np.uint8)
            for foot, column in np.transpose(places):
                tall = (0.3 * foot + 10) * rng.normal(1, 0.04)
                draw_person(mask, column + rng.normal(0, 1), foot + rng.normal(0, 1), tall, 1)
            masks.append(mask.astype(bool))
        assert height_line_of_masks(masks).reliability < 0.6
        assert height_line_of_masks(list(crowd_masks(0.3, 10.0, 15, rng, people=1))).reliability > 0.6

    def test_a_threshold_at_which_people_lose_their_legs_is_outvoted(self):
        whole = list(crowd_masks(0.3, 10.0, 40, np.random.default_rng(9)))
        legless = [mask.copy() for mask in whole]
        for mask in legless:
            for foot, height, _, _ in moving_blobs(mask):
                mask[round(foot - 0.3 * height) : round(foot)] = False
        rows = np.array([120.0, 200.0])
        assert worst_error(height_line_of_masks(legless), 0.3, 10.0, rows) > 0.2
        outvoted = height_line_of_masks(whole, whole, legless)
        assert worst_error(outvoted, 0.3, 10.0, rows) < 0.1
        assert outvoted.reliability < height_line_of_masks(whole, whole, whole).reliability

    @pytest.mark.parametrize(("times", "height", "width"), [(200, 40.0, 16.0), (20, 32.0, 79.0)])
    def test_what_flickers_in_one_place_does_not_outvote_the_people(self, times, height, width):
        """80 people are seen, and 200 times an upright lamp, or 20 times a lying one."""
        rng = np.random.default_rng(0)
        people = [moving_blobs(mask) for mask in crowd_masks(0.3, 10.0, 40, rng, people=2)]
        lamp = np.array([230.0, height, width, 50.0]) + rng.normal(0, 0.3, (times, 4))
        estimate = height_line_of_blobs([np.vstack([*people, lamp])], SIZE[1])
        assert worst_error(estimate, 0.3, 10.0, np.array([120.0, 200.0])) < 0.1
        assert estimate.reliability > 0.4

    @pytest.mark.parametrize(("each", "is_trusted"), [(8, True), (1, False)])
    def test_shadows_that_some_people_cast_aside_lie_and_leave_the_line_trusted(self, each, is_trusted):
        rng = np.random.default_rng(2)
        people = np.concatenate([moving_blobs(mask) for mask in crowd_masks(0.3, 10.0, 40, rng)])
        feet, heights, _, columns = people[::each].T
        shadows = np.column_stack([feet, 0.4 * heights, heights, columns + heights])
        estimate = height_line_of_blobs([np.vstack([people, shadows])], SIZE[1])
        assert (estimate.reliability > 0.5) == is_trusted
        if is_trusted:
            assert worst_error(estimate, 0.3, 10.0, np.array([120.0, 200.0])) < 0.1

    def test_a_speck_beside_what_lies_is_nobody(self):
        """The speck is a person with a probability of 1e-204: shares of it are too large for a number."""
        speck, lying = [265.0, 11.0, 11.0, 137.0], [265.0, 30.0, 70.0, 137.0]
        assert height_line_of_blobs([np.array([speck, lying])], 360).reliability == 0

    @pytest.mark.parametrize(("n_small", "slope"), [(8, 0.3), (13, None), (18, 0.9)])
    def test_a_horizon_in_the_lower_half_takes_more_people(self, n_small, slope):
        """Eight people are near; farther off six are as tall as on a steep view, others as on a flat one.

        The horizon lies in row 28 or 161 of 240. Where both are about as likely, neither is trusted.
        """
        near, far, flat = np.linspace(224, 232, 8), np.linspace(180, 205, 6), np.linspace(180, 205, n_small)
        feet = np.concatenate([near, far, flat])
        heights = 60 + (feet - 228) * np.repeat([0.5, 0.3, 0.9], [8, 6, n_small])
        columns = np.linspace(20, 300, len(feet))
        estimate = height_line_of_blobs([np.column_stack([feet, heights, 0.4 * heights, columns])], 240)
        if slope is None:
            assert estimate.reliability < 0.5
        else:
            assert estimate.slope == pytest.approx(slope, rel=0.05)
            assert estimate.reliability > 0.6

    def test_a_threshold_at_which_most_of_what_moves_is_lost_hardly_counts(self):
        """Of all people it shows a small part of the same shape."""
        masks = list(crowd_masks(0.3, 10.0, 40, np.random.default_rng(9)))
        whole = np.concatenate([moving_blobs(mask) for mask in masks])
        small = whole * [1, 0.35, 0.35, 1]
        estimate = height_line_of_blobs([whole, small, small], 240)
        assert worst_error(estimate, 0.3, 10.0, np.array([120.0, 200.0])) < 0.1

    def test_few_people_are_less_reliable_than_many(self):
        masks = list(crowd_masks(0.3, 10.0, 30, np.random.default_rng(5), people=2))
        assert height_line_of_masks(masks[:1]).reliability < 0.5 < height_line_of_masks(masks).reliability

    @pytest.mark.parametrize(("place_wh", "least", "most"), [((24, 20), 0, 0), ((280, 20), 0.5, 1)])
    def test_what_never_leaves_a_little_place_is_nobody(self, place_wh, least, most):
        rng = np.random.default_rng(0)
        frames = []
        for _ in range(60):
            frame = np.full((240, 320, 3), 120, np.uint8)
            x, row = 20 + rng.uniform(0, place_wh[0]), 100 + rng.uniform(0, place_wh[1])
            draw_person(frame, x, row, 14 * rng.normal(1, 0.04), (30, 60, 40))
            frames.append(frame)
        assert least <= estimate_height_line(frames).reliability <= most


class TestMovingDifferences:
    def frames(self, rng, gains=(1.0,) * 12):
        scene = cv2.resize(rng.integers(60, 160, (12, 16, 3)).astype(np.uint8), (160, 120))
        for k, gain in enumerate(gains):
            image = np.clip(scene * gain + rng.normal(0, 2, scene.shape), 0, 255).astype(np.uint8)
            cv2.rectangle(image, (10 * k, 40), (10 * k + 8, 70), (20, 20, 250), -1)
            yield image

    def test_shows_what_moves_and_no_noise(self):
        frames = list(self.frames(np.random.default_rng(0)))
        for k, difference in zip(range(12), moving_differences(frames), strict=True):
            assert difference.dtype == np.uint8
            assert difference[45:66, 10 * k + 2 : 10 * k + 7].min() > 30
            difference[38:73, max(0, 10 * k - 2) : 10 * k + 12] = 0
            assert (difference > 0).mean() < 0.01

    def test_ignores_a_film(self):
        """On a screen of a person's size above those who pass."""
        rng, frames = np.random.default_rng(0), []
        for k, frame in enumerate(self.frames(rng, np.ones(24))):
            colours = rng.integers(0, 256, (5, 2, 3)) if k % 12 > 6 else np.full((5, 2, 3), 30)
            frame[5:35, 60:72] = colours.repeat(6, axis=0).repeat(6, axis=1)
            frames.append(frame)
        for difference in moving_differences(frames):
            assert not difference[3:37, 58:74].any()

    def test_ignores_changes_of_the_light(self):
        frames = list(self.frames(np.random.default_rng(0), gains=np.linspace(0.8, 1.2, 12)))
        for k, difference in zip(range(12), moving_differences(frames), strict=True):
            difference[38:73, max(0, 10 * k - 2) : 10 * k + 12] = 0
            assert (difference > 16).mean() < 0.01

    @pytest.mark.parametrize("nearest", [0.7, 0.2], ids=["a dome", "fog"])
    def test_ignores_haze_that_comes(self, nearest):
        rng = np.random.default_rng(2)
        tiles = cv2.resize(rng.uniform(30, 200, (12, 16, 3)), (160, 120), interpolation=cv2.INTER_NEAREST)
        share = np.linspace(0.7, nearest, 120)[:, None, None]
        for k, difference in enumerate(moving_differences([
            np.clip(tiles + (200 - tiles) * share * strength + rng.normal(0, 1, tiles.shape), 0, 255)
            .round().astype(np.uint8)
            for strength in np.clip(np.linspace(-1, 2, 40), 0, 1)
        ])):  # fmt: skip
            assert (difference > 16).mean() < 0.01, k

    @pytest.mark.parametrize(("is_grey", "is_shown"), [(True, True), (False, False)])
    def test_where_nothing_has_a_colour_only_a_light_shadow_is_none(self, is_grey, is_shown):
        """Who is evenly darker than the ground, as a deep shadow is."""
        colour = np.zeros(3) if is_grey else np.array([-20, 0, 20])
        ground = np.random.default_rng(3).normal(150, 3, (120, 160, 1)) + colour
        frames = []
        for k in range(12):
            frame = ground.copy()
            frame[40:70, 10 * k : 10 * k + 9] *= 0.62
            frame[80:110, 10 * k : 10 * k + 9] *= 0.8
            frames.append(frame.round().astype(np.uint8))
        difference = moving_differences(frames)[6]
        assert (difference[42:68, 62:67] > 16).all() == is_shown
        assert (difference[40:70] > 16).any() == is_shown
        assert not difference[80:110].any()

    def test_one_frame_has_no_motion(self):
        frame = np.random.default_rng(0).integers(0, 256, (50, 40, 3)).astype(np.uint8)
        assert not moving_differences([frame])[0].any()


def test_quantiles_are_reached_for_good_where_weights_are_negative():
    values, weights = np.array([3.0, 1, 2, 4, 5]), np.array([0.3, 0.1, 0.1, -0.25, 0.75])
    assert _weighted_quantiles(values, weights, [0.3, 1.0]).tolist() == [5, 5]
    assert _weighted_quantiles(values, weights, [0.05, 0.22]).tolist() == [1, 3]


def walking_frames(slope, intercept, n_frames, rng, size_wh=SIZE, colours=(0, 80), reflection=None):
    """Three people at a time on grey ground, with soft shadows beside their feet.

    `reflection`: of a colour, as tall as the people, below their feet.
    """
    width, height = size_wh
    ground = np.clip(rng.normal(130, 6, (height, width, 1)) + np.array([0, 4, 8]), 0, 255)
    for _ in range(n_frames):
        image = ground.copy()
        for foot in np.sort(rng.uniform(0.4, 0.95, 3) * height):
            tall, x = slope * foot + intercept, rng.uniform(0.1, 0.9) * width
            shadow = np.zeros((height, width), np.uint8)
            middle = (round(x + 0.5 * tall), round(foot))
            cv2.ellipse(shadow, middle, (round(0.5 * tall), 3), 0, 0, 360, 1, -1)
            image[shadow > 0] *= 0.7
            if reflection is not None:
                half = 0.2 * tall
                cv2.rectangle(image, (round(x - half), round(foot)), (round(x + half), round(foot + tall)),
                              reflection, -1)  # fmt: skip
            draw_person(image, x, foot, tall, rng.integers(*colours, 3).tolist())
        yield np.clip(image + rng.normal(0, 2, image.shape), 0, 255).astype(np.uint8)


class TestEstimateHeightLine:
    def test_finds_the_line_in_frames(self):
        frames = list(walking_frames(0.3, 10.0, 40, np.random.default_rng(6)))
        estimate = estimate_height_line(frames)
        assert worst_error(estimate, 0.3, 10.0, np.array([110.0, 220.0])) < 0.1
        assert estimate.reliability > 0.6

    def test_finds_the_line_while_the_shadows_of_clouds_pass(self):
        frames = list(walking_frames(0.3, 10.0, 40, np.random.default_rng(6), colours=(60, 110)))
        across = np.arange(SIZE[0])[:, None] / SIZE[0]
        for k, frame in enumerate(frames):
            shade = 1 / (1 + np.exp(-6 * np.sin(2 * np.pi * (0.7 * across - k / 15))))
            frames[k] = np.rint(frame * (1 - 0.45 * shade)).astype(np.uint8)
        estimate = estimate_height_line(frames)
        assert worst_error(estimate, 0.3, 10.0, np.array([110.0, 220.0])) < 0.1
        assert estimate.reliability > 0.8

    def test_finds_the_line_of_people_who_hardly_stand_out(self):
        frames = list(walking_frames(0.3, 10.0, 40, np.random.default_rng(6), colours=(165, 175)))
        estimate = estimate_height_line(frames)
        assert worst_error(estimate, 0.3, 10.0, np.array([110.0, 220.0])) < 0.15
        assert estimate.reliability > 0.5

    def test_finds_the_line_of_people_who_are_reflected_on_the_ground(self):
        frames = list(
            walking_frames(0.2, 10.0, 40, np.random.default_rng(6), reflection=(170, 174, 178))
        )
        estimate = estimate_height_line(frames)
        assert worst_error(estimate, 0.2, 10.0, np.array([110.0, 180.0])) < 0.15

    def test_still_footage_gives_the_typical_line(self):
        rng = np.random.default_rng(7)
        still = rng.integers(0, 256, (120, 160, 3)).astype(np.float64)
        frames = [np.clip(still + rng.normal(0, 3, still.shape), 0, 255).astype(np.uint8) for _ in range(20)]
        assert estimate_height_line(frames).reliability == 0
