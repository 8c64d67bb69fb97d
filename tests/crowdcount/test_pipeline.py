from dataclasses import replace

import cv2
import numpy as np
import pytest

from crowdcount.pipeline import (
    ALL_QUANTITIES,
    ANY_SCENE_QUANTITIES,
    BEHIND_HAZE,
    CELL_GROUND,
    GRIDS,
    PERSON_HEIGHT,
    QUANTITIES,
    Pipeline,
    cell_grid,
    typical_height,
    working_size,
)
from crowdcount.scene import Scene, scene_from
from features import background
from features.background import kept_frames
from features.empty_scene import EmptyScene
from features.foreground import Foreground, Segmenter
from features.haze import Haze
from features.schema import VIEWS


def level_scene(person_height, size_wh=(640, 480), roi=None):
    """A scene in which people are equally tall everywhere."""
    shape = size_wh[::-1]
    roi = np.ones(shape, bool) if roi is None else roi
    return Scene(size_wh, roi, np.full(shape, person_height, np.float32))


def drawn(size_wh, n_frames=12, n_people=5):
    """The same walk of people at any resolution, with soft edges as a lens makes them."""
    width, height = size_wh
    unit = height / 240
    rng = np.random.default_rng(0)
    boxes = rng.uniform(0, 1, (60, 4)) * (320, 240, 40, 30)
    colours = rng.uniform(70, 170, (60, 3))
    feet, starts = rng.uniform(110, 235, n_people), rng.uniform(30, 290, n_people)
    clothes = rng.choice([15.0, 235.0], (n_people, 3))
    for k in range(n_frames):
        image = np.full((height, width, 3), 120, np.uint8)
        for (x, y, w, h), colour in zip(boxes * unit, colours, strict=True):
            cv2.rectangle(image, (round(x), round(y)), (round(x + w), round(y + h)), colour.tolist(), -1)
        for foot, start, colour in zip(feet, starts, clothes, strict=True):
            tall, x = 0.2 * foot + 20, (start + 25 * k) % 300 + 10
            corners = np.array([(x - 0.15 * tall, foot - tall), (x + 0.15 * tall, foot)]) * unit
            (left, top), (right, bottom) = corners.round().astype(int).tolist()
            cv2.rectangle(image, (left, top), (right - 1, bottom - 1), colour.tolist(), -1)
        yield cv2.GaussianBlur(image, (0, 0), 1.2 * unit)


def drawn_scene(size_wh):
    width, height = size_wh
    unit = height / 240
    persons = [(width / 2, row * unit, (0.2 * row + 20) * unit) for row in (80.0, 230.0)]
    return scene_from(size_wh, persons=persons)


@pytest.mark.parametrize("quantities", [ALL_QUANTITIES, ANY_SCENE_QUANTITIES])
def test_quantities_have_names_of_their_own_and_a_known_view(quantities):
    assert len({quantity.name for quantity in quantities}) == len(quantities)
    assert {quantity.view for quantity in quantities} <= set(VIEWS)


def size_of(scene, *options, **others):
    return working_size(scene.size_wh, typical_height(scene), *options, **others)


class TestWorkingSize:
    def test_makes_a_typical_person_as_tall_as_needed(self):
        assert size_of(level_scene(2 * PERSON_HEIGHT)) == (320, 240)
        assert size_of(level_scene(3 * PERSON_HEIGHT)) == (213, 160)

    @pytest.mark.parametrize("person_height", [8.0, PERSON_HEIGHT])
    def test_never_enlarges(self, person_height):
        assert size_of(level_scene(person_height)) == (640, 480)

    def test_enlarges_where_it_may(self):
        """Three times at the most, and to 600,000 pixels."""
        assert size_of(level_scene(15.0), 18.0, may_enlarge=True) == (768, 576)
        assert size_of(level_scene(8.0), 18.0, may_enlarge=True) == (894, 671)
        small = scene_from((64, 48), None, [(32, 10, 4.0), (32, 40, 4.0)])
        assert size_of(small, 18.0, may_enlarge=True) == (192, 144)
        assert size_of(level_scene(36.0), 18.0, may_enlarge=True) == (320, 240)
        assert working_size((1920, 1080), 20.0, 18.0, may_enlarge=True) == (1728, 972)  # more than these

    def test_is_never_tiny(self):
        assert size_of(level_scene(5000.0)) == (32, 32)

    def test_typical_is_where_most_people_have_room(self):
        scene = level_scene(200.0)
        scene.person_height[:100] = 40.0  # a fifth of the pixels, but most of the ground
        assert size_of(scene) == (288, 216)

    def test_looks_at_the_region_of_interest_only(self):
        roi = np.zeros((480, 640), bool)
        roi[100:] = True
        scene = level_scene(36.0, roi=roi)
        scene.person_height[:100] = 4.0
        assert size_of(scene) == (320, 240)

    def test_does_not_depend_on_the_footages_resolution(self):
        sizes = [size_of(drawn_scene((width, width * 3 // 4))) for width in (640, 1280, 1920)]
        assert np.ptp(sizes, axis=0).max() <= 1


class TestMeasuring:
    def test_columns_are_those_of_the_schema(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        frames = list(drawn((320, 240)))
        pipeline.learn(frames)
        measured = pipeline.measure(frames[0])
        n_regions = sum(rows * columns for rows, columns in GRIDS)
        assert measured.features.shape == (n_regions, len(ALL_QUANTITIES))
        assert measured.features.size == len(pipeline.schema.names) == len(set(pipeline.schema.names))
        assert measured.mask.shape == pipeline.size_wh[::-1]
        assert measured.mask.dtype == bool
        assert measured.flags == ()
        assert np.isfinite(measured.features).all()
        named = dict(zip(pipeline.schema.names, measured.features.ravel(), strict=True))
        heights = pipeline.geometry.person_height[measured.mask]
        assert named["1x1_0_0.area"] == pytest.approx((heights**-2.0).sum(), rel=1e-5)
        assert named["1x1_0_0.area"] == pytest.approx(
            sum(named[f"6x5_{row}_{column}.area"] for row in range(6) for column in range(5))
        )
        assert pipeline.quantity_names == [quantity.name for quantity in ALL_QUANTITIES]

    def test_cells_are_the_finest_grid_and_know_their_columns(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        names = np.array(pipeline.schema.names)
        views = pipeline.cell_views()
        assert set(np.unique(pipeline.cells)) == set(range(len(views))) == set(range(30))
        columns = names[np.concatenate(views[7])]
        assert sorted(columns) == sorted(name for name in names if name.startswith("6x5_1_2."))

    def test_changes_are_measured_as_soon_as_the_empty_scene_is_known(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        changes = slice(len(QUANTITIES), None)
        measured = [pipeline.measure(frame) for frame in drawn((320, 240))]
        known = ["learning" not in frame.flags for frame in measured]
        assert not known[0]
        assert known[-1]
        assert [frame.features[0, changes].any() for frame in measured] == known

    def test_changes_are_those_against_the_empty_scene_as_last_learnt(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        frame = next(drawn((320, 240), n_people=0))
        put_down = frame.copy()
        put_down[100:160, 150:190] = 10
        changed = [name.startswith("changed") for name in pipeline.quantity_names]
        found = []
        for learnt in (frame, put_down):
            pipeline.learn([learnt] * 12)
            found.append(pipeline.measure(put_down).features[0, changed].any())
        assert found == [True, False]

    def test_another_sharpness_of_a_frame_is_measured_without_a_trace(self):
        frames = list(drawn((320, 240)))
        pipelines = [Pipeline(drawn_scene((320, 240)), rate=10.0) for _ in range(2)]
        for pipeline in pipelines:
            pipeline.learn(frames)
        for frame in frames:
            once, twice = (pipeline.measure(frame) for pipeline in pipelines)
            np.testing.assert_array_equal(once.features, twice.features)
            as_it_is, blurred = (pipelines[1].measure_again(sharpness) for sharpness in (0.0, -1.0))
            gradients = pipelines[1].quantity_names.index("gradients_60")
            assert blurred[0, gradients] < 0.9 * as_it_is[0, gradients]
        np.testing.assert_allclose(as_it_is[0, gradients], once.features[0, gradients], rtol=0.02)

    def test_before_the_empty_scene_is_known_another_sharpness_shows_nobody(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=10.0)
        frame = next(drawn((320, 240)))
        pipeline.measure(frame)
        assert not pipeline.measure_again(0.5).any()

    @pytest.mark.parametrize("rate", [1.0, 10.0], ids=["stills", "video"])
    def test_resolution_hardly_matters(self, rate):
        """On average over frames, the whole region's values differ by less than 15 % of the column's mean (of
        its family's, where that is larger); area, perimeter and blobs by less than 2 %. Edges differ most, as
        they run where the mask ends.
        """
        tables = []
        for size_wh in ((640, 480), (1280, 960)):
            pipeline = Pipeline(drawn_scene(size_wh), rate)
            frames = list(drawn(size_wh))
            pipeline.learn(frames)
            tables.append(np.stack([pipeline.measure(frame).features[0] for frame in frames]))
        coarse, fine = tables
        for column, quantity in enumerate(QUANTITIES):
            family = [i for i, other in enumerate(QUANTITIES)
                      if other.name.rstrip("0123456789") == quantity.name.rstrip("0123456789")]  # fmt: skip
            size = max(coarse[:, column].mean(), coarse[:, family].mean())
            share = 0.02 if quantity.name in ("area", "perimeter", "blobs") else 0.15
            assert np.abs(fine - coarse)[:, column].mean() < share * size, quantity.name

    @pytest.mark.parametrize(
        "line",
        [(0.0, 60.0), (0.2, 20.0), (0.6, -40.0), (1.4, -150.0)],
        ids=["level", "mild", "steep", "from below heads"],
    )
    def test_a_person_weighs_the_same_far_and_near(self, line):
        slope, intercept = line
        persons = [(160, row, slope * row + intercept) for row in (120.0, 235.0)]
        scene = scene_from((320, 240), persons=persons)
        pipeline = Pipeline(scene, rate=1.0, grids=((1, 1),), by_blob=True)
        empty = next(drawn((320, 240), n_people=0))
        pipeline.learn([empty] * 8)
        areas, people = [], []
        for foot in (140, 180, 235):
            tall = round(slope * foot + intercept)
            frame = empty.copy()
            frame[foot - tall : foot, 150 : 150 + round(0.3 * tall)] = 250
            figures = dict(zip(pipeline.quantity_names, pipeline.measure(frame).features[0], strict=True))
            areas.append(sum(figures[f"lbp_{code}"] for code in range(10)))
            people.append(figures["clumps_20"] + figures["clumps_40"])
        assert areas == pytest.approx([0.3] * 3, rel=0.25)
        assert people == pytest.approx([1.0] * 3)

    def test_tells_what_the_foreground_flags(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        frame = next(drawn((320, 240)))
        measured = pipeline.measure(frame)
        assert measured.flags == ("learning",)
        assert not measured.mask.any()
        assert not measured.features.any()

    @pytest.mark.parametrize("level", [0, 9, 250])
    def test_a_picture_without_contrast_is_blank(self, level):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        frames = list(drawn((320, 240)))
        pipeline.learn(frames)
        assert not any("blank" in pipeline.measure(frame).flags for frame in frames)
        noise = np.random.default_rng(0).normal(level, 2, frames[0].shape)
        covered = np.clip(noise, 0, 255).astype(np.uint8)
        cv2.putText(covered, "22-11-2026 03:14:15", (5, 235), cv2.FONT_HERSHEY_PLAIN, 1, (255,) * 3)
        assert "blank" in pipeline.measure(covered).flags
        covered[60:180, 150:180] = 128  # a doorway
        assert "blank" not in pipeline.measure(covered).flags

    @pytest.mark.parametrize("level", [0, 9, 250])
    def test_a_blank_picture_is_not_of_a_camera_that_moved(self, level):
        frames = list(drawn((320, 240)))
        scene = drawn_scene((320, 240))
        knows = Pipeline(scene, rate=2.0)
        knows.learn(frames)
        pipeline = Pipeline(replace(scene, view=knows.view), rate=2.0)
        ramp = np.linspace(0, 6, 320)[None, :, None] * np.ones((240, 1, 3))
        covered = np.clip(level + ramp, 0, 255).astype(np.uint8)
        pipeline.learn([covered] * 20)
        assert {pipeline.measure(covered).flags for _ in range(20)} == {("blank",)}
        pipeline.learn([frame[:, ::-1] for frame in frames])
        assert "camera_moved" in pipeline.measure(frames[0][:, ::-1]).flags

    def test_nothing_has_changed_where_the_view_is_out_of_the_picture(self):
        """Of a camera that was moved: what its frames do not show is as it was."""
        frames = list(drawn((320, 240), n_people=0))
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        pipeline.learn(frames)
        assert pipeline.measure(frames[0]).flags == ()
        moved = cv2.warpAffine(frames[0], np.float32([[1, 0, 40], [0, 1, -20]]), (320, 240))
        measured = pipeline.measure(moved)
        assert measured.flags == ("shifted_back",)
        changed = [name.startswith("changed") for name in pipeline.quantity_names]
        person = 0.2 * 150 + 20
        assert measured.features[0, changed].sum() * person**2 < 0.01 * 320 * 240

    def test_the_mask_is_where_the_frame_of_a_camera_that_was_moved_shows_people(self):
        empty = next(drawn((320, 240), n_people=0))
        pipeline = Pipeline(drawn_scene((320, 240)), rate=1.0)
        pipeline.learn([empty] * 12)
        moved = cv2.warpAffine(empty, np.float32([[1, 0, 40], [0, 1, -20]]), (320, 240))
        moved[100:180, 150:190] = 10
        measured = pipeline.measure(moved)
        assert measured.flags == ("shifted_back",)
        for mask in (measured.mask, pipeline.mask_of(moved)):
            mask = cv2.resize(mask.view(np.uint8), (320, 240), interpolation=cv2.INTER_NEAREST)
            assert mask[106:174, 156:184].mean() > 0.95
            assert mask.sum() < 1.3 * 80 * 40

    def test_a_picture_that_is_repeated_is_frozen(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=0.1)
        frames = list(drawn((320, 240)))
        pipeline.learn(frames)
        assert not any("frozen" in pipeline.measure(frame).flags for frame in frames)
        found = ["frozen" in pipeline.measure(frames[-1]).flags for _ in range(20)]
        assert found == [False] * 6 + [True] * 14  # a frame in 10 s
        assert "frozen" not in pipeline.measure(frames[0]).flags

    def test_a_picture_that_is_repeated_while_it_is_passed_over_is_frozen(self):
        pipeline = Pipeline(drawn_scene((320, 240)), rate=0.1)
        frames = list(drawn((320, 240)))
        pipeline.learn(frames)
        for _ in range(10):
            pipeline.pass_over(frames[-1])
        assert "frozen" in pipeline.measure(frames[-1]).flags

    def test_gaps_are_closed_within_the_region_of_interest(self):
        roi = np.ones((120, 160), bool)
        roi[:, 80] = False
        pipeline = Pipeline(level_scene(PERSON_HEIGHT, (160, 120), roi), rate=5.0)
        grey = np.zeros(roi.shape, np.uint8)
        found = pipeline.figures(Foreground(roi.copy(), (), None, cv2.merge([grey] * 3)), grey)
        np.testing.assert_array_equal(found.mask, roi)

    def test_only_the_region_of_interest_is_measured(self):
        frames = list(drawn((320, 240)))
        roi = np.zeros((240, 320), bool)
        roi[:, :160] = True
        scene = drawn_scene((320, 240))
        half = Scene((320, 240), roi, scene.person_height)
        pipeline, whole = Pipeline(half, rate=1.0), Pipeline(scene, rate=1.0)
        for each in (pipeline, whole):
            each.learn(frames)
        for frame in frames:
            measured = pipeline.measure(frame)
            inside = measured.mask.shape[1] // 2 + 1
            assert not measured.mask[:, inside:].any()
            assert measured.features[0, 0] <= whole.measure(frame).features[0, 0] + 1e-9


class TestAnyScene:
    def test_cells_hold_the_same_ground_in_every_scene(self):
        for person_height in (30.0, 60.0, 110.0):
            rows, columns = cell_grid(level_scene(person_height))
            ground = 640 * 480 / person_height**2
            assert ground / (rows * columns) == pytest.approx(CELL_GROUND, rel=0.15)
            assert columns == pytest.approx(2 * rows, rel=0.2)

    def test_a_scene_with_room_for_few_is_one_cell(self):
        assert cell_grid(level_scene(400.0)) == (1, 1)

    def test_people_smaller_than_a_pixel_give_a_cell_to_each_pixel(self):
        assert cell_grid(level_scene(1e-3)) == (480, 640)

    def test_the_grid_does_not_depend_on_the_resolution(self):
        scene = drawn_scene((640, 480))
        for size_wh in ((1280, 960), (320, 240)):
            assert cell_grid(scene.resized(size_wh)) == cell_grid(scene)

    def test_the_pipeline_measures_these_cells(self):
        scene = drawn_scene((320, 240))
        pipeline = Pipeline.for_any_scene(scene, rate=1.0)
        rows, columns = cell_grid(scene)
        assert rows * columns > 1
        frames = list(drawn((320, 240)))
        pipeline.learn(frames)
        features = pipeline.measure(frames[3]).features
        assert features.shape == (rows * columns, len(ANY_SCENE_QUANTITIES))
        whole = Pipeline(scene, rate=1.0, by_blob=True, person_height=pipeline.person_height)
        whole.learn(frames)
        assert features[:, 0].sum() == pytest.approx(whole.measure(frames[3]).features[0, 0])

    @pytest.mark.parametrize("seen", ["as measured", "in between", "at another sharpness"])
    def test_what_is_without_outlines_is_nobody(self, seen):
        """A moth before the lens; what is as large and dark on the ground is somebody."""
        pipeline = Pipeline.for_any_scene(drawn_scene((320, 240)), rate=1.0)
        frames = list(drawn((320, 240), n_people=0))
        pipeline.learn(frames)
        spot = cv2.ellipse(np.zeros((240, 320), np.float32), (160, 150), (16, 30), 0, 0, 360, 1, -1)
        found = []
        for blur in (0.5, 9):
            share = cv2.GaussianBlur(spot, (0, 0), blur)[..., None]
            frame = (frames[0] * (1 - share) + 10 * share).astype(np.uint8)
            if seen == "in between":
                found.append(pipeline.mask_of(frame).any())
                continue
            features = pipeline.measure(frame).features
            found.append((features if seen == "as measured" else pipeline.measure_again(0.8)).any())
        assert found == [True, False]


class TestHaze:
    HAZE = Haze(np.full(8, 2 / 3), np.full(8, 200 / 3))

    @pytest.fixture
    def hazy(self, monkeypatch):
        monkeypatch.setattr("crowdcount.pipeline.haze_of", lambda frames: self.HAZE)

    def test_whoever_looks_sees_without_it(self, hazy, monkeypatch):
        """What is measured, learnt from to go on by, looked at in between or looked for in the view."""
        rate, frames = 5.0, list(drawn((320, 240), 140))
        monkeypatch.setattr(background, "ABSORPTION_S", 60 / rate)  # every frame is kept, and 60 learnt from
        whole, part = (Pipeline.for_any_scene(drawn_scene((320, 240)), rate) for _ in range(2))
        for pipeline in whole, part:
            pipeline.learn(frames[::3])
        measured = [whole.measure(frame) for frame in frames]
        part.resume(130, [frames[k] for k in kept_frames(130, rate)])
        for k in range(130, 140):
            found = part.measure(frames[k])
            np.testing.assert_array_equal(found.features, measured[k].features)
            assert np.mean(part.mask_of(frames[k]) != measured[k].mask) < 0.001
        image, where = part.in_place(frames[0])
        assert where is None
        assert np.abs(image.astype(int) - part.view.image_bgr).mean() < 5
        assert part.view.image_bgr.std() > 1.3 * np.median(frames, axis=0).std()

    @pytest.mark.parametrize("known", [None, "hazy", "clear"])
    def test_a_model_of_one_camera_sees_as_it_has_learnt(self, hazy, known):
        """Hazy footage as it is, unless its view was clear: then without the haze."""
        scene, frames = drawn_scene((320, 240)), list(drawn((320, 240), 20))
        learnt = Pipeline(scene, 1.0)
        learnt.learn(frames)
        image = learnt.view.image_bgr.copy()
        image[::8] = 0 if known == "clear" else 100
        if known is not None:
            scene = replace(scene, view=EmptyScene(image, learnt.view.threshold))
        pipeline = Pipeline(scene, 1.0)
        pipeline.learn(frames)
        grey = np.full((240, 320, 3), 120, np.uint8)
        without = self.HAZE.cleared(grey)[0, 0, 0]
        pipeline.measure(grey)
        assert np.median(pipeline._last_frame) == (without if known == "clear" else 120)

    def test_is_known_where_the_scene_is_learnt_and_rain_is_looked_for(self, hazy, monkeypatch):
        pipeline, frames = Pipeline.for_any_scene(drawn_scene((320, 240)), 1.0), list(drawn((320, 240), 20))
        told, glimpsed = [], []
        monkeypatch.setattr(Segmenter, "expect", lambda self, *how: told.append(how))
        monkeypatch.setattr(Segmenter, "glimpse", lambda self, image: glimpsed.append(image))
        pipeline.learn(frames, is_coarse=True)
        ((is_coarse, step),) = told
        assert is_coarse
        np.testing.assert_allclose(step, 1.5)  # levels of the scene for each of a picture with 2/3 of them
        pipeline.glimpse(frames[0])
        np.testing.assert_array_equal(glimpsed[0], self.HAZE.cleared(pipeline.reduced(frames[0])))

    def test_people_stand_out_less_than_in_a_clear_picture(self, hazy):
        frames = list(drawn((320, 240), 20))
        pipeline = Pipeline.for_any_scene(drawn_scene((320, 240)), 1.0)
        pipeline.learn(frames)
        measured = pipeline.measure(frames[0])
        assert measured.least_contrast == BEHIND_HAZE > pipeline._segmenter.least_contrast

    def test_a_blank_picture_is_blank_before_it_is_cleared(self, hazy):
        frames = list(drawn((320, 240), 20))
        pipeline = Pipeline.for_any_scene(drawn_scene((320, 240)), 1.0)
        pipeline.learn(frames)
        assert "blank" not in pipeline.measure(frames[0]).flags
        covered = np.tile(np.linspace(126, 134, 320).astype(np.uint8)[None, :, None], (240, 1, 3))
        assert "blank" in pipeline.measure(covered).flags
