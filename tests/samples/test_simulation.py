"""The labels of simulated footage are exact: each is checked against the pixels or against another label."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from samples.geometry import Ground
from samples.scenes import SETTINGS, preset, random_spec
from samples.simulation import VISIBLE_SHARE, Simulation

SMALL = {"size_wh": (320, 240), "fps": 5.0, "n_frames": 6}
PLAIN = {  # nothing but the people changes between frames, and the camera shows what is there
    "noise": 0.0, "blur": 0.0, "sharpening": 0.0, "jpeg_quality": 100, "light_drift": 0.0, "flicker": 0.0,
    "shake": 0.0, "cast_shadow": 0.0, "contact_shadow": 0.0, "reflection": 0.0, "plant_sway": 0.0,
    "saturation": 1.0,
}  # fmt: skip


@pytest.fixture(scope="module", params=[*SETTINGS, "overhead"])
def clip(request):
    """A simulation of each setting, and of a camera that looks straight down, with its frames."""
    people = 5.0 if request.param == "street" else 14.0  # some have to be fully visible
    simulation = Simulation(preset(request.param, 3, people=people, **SMALL))
    return simulation, list(simulation.frames())


def inside(simulation, xy) -> bool:
    mask = np.zeros(simulation.spec.size_wh[::-1], np.uint8)
    cv2.fillPoly(mask, [np.int32(np.round(polygon)) for polygon in simulation.roi_polygons], 1)
    x, y = np.rint(xy).astype(int)
    return 0 <= x < mask.shape[1] and 0 <= y < mask.shape[0] and bool(mask[y, x])


def test_every_label_has_one_row_per_counted_person(clip):
    simulation, frames = clip
    assert len(frames) == simulation.spec.n_frames
    assert max(frame.count for frame in frames) >= 3
    for frame in frames:
        assert frame.image_bgr.shape == (240, 320, 3)
        assert frame.image_bgr.dtype == np.uint8
        assert frame.label_map.shape == (240, 320)
        assert frame.label_map.dtype == np.int16
        assert frame.heads_xy.shape == (frame.count, 2)
        assert frame.boxes_xywh.shape == (frame.count, 4)
        assert frame.visible_share.shape == frame.walking.shape == frame.person_ids.shape == (frame.count,)
        assert len(set(frame.person_ids)) == frame.count
        assert all(inside(simulation, head) for head in frame.heads_xy)


def test_counted_people_are_visible_people(clip):
    _, frames = clip
    for frame in frames:
        visible = set(np.unique(frame.label_map)) - {0}
        assert set(frame.person_ids) <= visible
        assert (frame.visible_share >= VISIBLE_SHARE).all()
        assert (frame.visible_share <= 1).all()
        np.testing.assert_array_equal(frame.visible_mask, frame.label_map > 0)


def test_silhouettes_lie_inside_their_boxes_and_fill_them_where_nothing_hides_them(clip):
    _, frames = clip
    complete = 0
    for frame in frames:
        for number, (x, y, width, height), share in zip(
            frame.person_ids, frame.boxes_xywh, frame.visible_share, strict=True
        ):
            rows, columns = np.nonzero(frame.label_map == number)
            assert columns.min() >= x - 1
            assert rows.min() >= y - 1
            assert columns.max() <= x + width
            assert rows.max() <= y + height
            if share == 1:
                complete += 1
                assert rows.max() - rows.min() + 1 == pytest.approx(height, abs=1)
                assert columns.max() - columns.min() + 1 == pytest.approx(width, abs=1)
    assert complete > 0


def test_heads_are_at_the_top_of_the_boxes(clip):
    simulation, frames = clip
    for frame in frames:
        x, y, width, height = frame.boxes_xywh.T
        head_x, head_y = frame.heads_xy.T
        assert ((head_x > x) & (head_x < x + width)).all()
        assert (head_y - y > 0).all()
        # in a seated person the head is a larger part; from straight above it is anywhere
        part = 1.0 if simulation.spec.depression_deg > 80 else 0.30
        assert (head_y - y < part * height).all()


@pytest.mark.parametrize("setting", SETTINGS)
def test_box_heights_follow_the_line_within_the_variation_of_builds(setting):
    spec = preset(setting, 5, people=12.0, child_share=0.0, sitting_share=0.0, **SMALL)
    simulation = Simulation(replace(spec, n_frames=12, fps=0.45))
    slope, intercept = simulation.height_line
    ratios = []
    for frame in simulation.frames():
        for x, y, width, height in frame.boxes_xywh[frame.visible_share == 1]:
            if x > 0 and x + width < 320 and y > 0 and y + height < 240:
                ratios.append(height / (slope * (y + height) + intercept))
    assert len(ratios) >= 5
    assert 0.93 < np.median(ratios) < 1.09
    assert np.min(ratios) > 0.80
    assert np.max(ratios) < 1.25


def test_children_are_smaller():
    heights = {}
    for share in (0.0, 1.0):
        spec = preset("plaza", 5, people=12.0, sitting_share=0.0, child_share=share, group_share=0.5, **SMALL)
        frames = list(Simulation(replace(spec, n_frames=4)).frames())
        heights[share] = np.mean(np.concatenate([frame.boxes_xywh[:, 3] for frame in frames]))
    assert heights[1.0] < 0.93 * heights[0.0]


def test_the_pixels_change_exactly_where_the_label_map_says():
    spec = preset("plaza", 4, people=10.0, camouflage=0.0, **SMALL | PLAIN)
    empty = next(Simulation(replace(spec, people=0.0)).frames())
    assert empty.count == 0
    assert not empty.visible_mask.any()
    for frame in Simulation(spec).frames():
        assert frame.count > 0
        change = cv2.absdiff(frame.image_bgr, empty.image_bgr).max(axis=2)
        around = cv2.dilate(frame.visible_mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
        # JPEG changes up to 12 levels; a hand or foot that covers less than half of its pixels has no label.
        assert np.count_nonzero(change[~around] > 12) <= 5
        assert (change[frame.visible_mask] > 12).mean() > 0.75  # clothes can have the floor's colour


def test_objects_hide_people():
    counts, shares = {}, {}
    for occluders in (0, 25):
        spec = preset("mall", 4, people=15.0, side_walls=(None, None), plants=0, sitting_share=0.0, **SMALL)
        frames = list(Simulation(replace(spec, occluders=occluders, n_frames=6)).frames())
        counts[occluders] = sum(frame.count for frame in frames)
        shares[occluders] = np.mean(np.concatenate([frame.visible_share for frame in frames]))
    assert counts[0] > 20
    assert shares[25] < shares[0] - 0.05


@pytest.fixture(scope="module")
def plain_label_maps():
    """Of the first frame of three scenes without shadows and reflections."""
    specs = [preset("plaza", seed, people=10.0, **SMALL | PLAIN) for seed in (4, 5, 6)]
    return [(spec, next(Simulation(spec).frames()).label_map) for spec in specs]


@pytest.mark.parametrize(
    "change", [{"cast_shadow": 0.5, "sun": (1.2, 0.3)}, {"contact_shadow": 0.9}, {"reflection": 0.3}]
)
def test_shadows_and_reflections_change_the_floor_and_belong_to_nobody(change, plain_label_maps):
    differences = []
    for plain, label_map in plain_label_maps:
        frame = next(Simulation(replace(plain, **change)).frames())
        empty = next(Simulation(replace(plain, people=0.0, **change)).frames())
        np.testing.assert_array_equal(frame.label_map, label_map)
        floor = cv2.dilate(frame.visible_mask.astype(np.uint8), np.ones((5, 5), np.uint8)) == 0
        differences.append((frame.image_bgr.astype(int) - empty.image_bgr)[floor].mean(axis=1))
    difference = np.concatenate(differences)
    assert (np.abs(difference) > 10).sum() > 100
    if "reflection" not in change:
        assert difference.max() <= 10


def test_shadows_seen_from_straight_above_are_about_as_long_as_people_are_tall():
    area = people = 0
    for seed in range(3, 7):
        spec = preset("overhead", seed, people=4.0, **SMALL | PLAIN | {"cast_shadow": 0.5, "sun": (1.2, 0.3)})
        simulation = Simulation(spec)
        frame, empty = next(simulation.frames()), next(Simulation(replace(spec, people=0.0)).frames())
        darker = cv2.subtract(empty.image_bgr, frame.image_bgr).max(axis=2)[frame.label_map == 0] > 10
        area += np.count_nonzero(darker) / simulation.ground.pixels_per_metre(120) ** 2
        people += frame.count
    assert 0.1 < area / people < 0.5  # square metres: .3; 1.4 when they were as long as a street is wide


def test_the_same_spec_gives_the_same_bits_and_another_seed_another_scene():
    spec = replace(random_spec(11, size_wh=(320, 240)), n_frames=3, people=6.0)
    simulation = Simulation(spec)
    runs = [list(simulation.frames()), list(simulation.frames()), list(Simulation(spec).frames())]
    for run in runs[1:]:
        for first, second in zip(runs[0], run, strict=True):
            np.testing.assert_array_equal(first.image_bgr, second.image_bgr)
            np.testing.assert_array_equal(first.label_map, second.label_map)
            np.testing.assert_array_equal(first.boxes_xywh, second.boxes_xywh)
            np.testing.assert_array_equal(first.heads_xy, second.heads_xy)
    other = next(Simulation(replace(spec, seed=12)).frames())
    assert (other.image_bgr != runs[0][0].image_bgr).mean() > 0.5


def test_a_bump_shifts_the_picture_and_its_labels_by_the_stated_pixels():
    spec = preset("bump", 6, people=6.0, bump_shift=(14, -9), **SMALL | PLAIN)
    still = list(Simulation(replace(spec, bump_frame=None)).frames())
    bumped = list(Simulation(spec).frames())
    assert spec.bump_frame == 3
    np.testing.assert_array_equal(bumped[2].image_bgr, still[2].image_bgr)
    for before, after in zip(still[3:], bumped[3:], strict=True):
        np.testing.assert_array_equal(after.label_map[:-9, 14:], before.label_map[9:, :-14])
        difference = cv2.absdiff(
            np.ascontiguousarray(after.image_bgr[:-9, 14:]), np.ascontiguousarray(before.image_bgr[9:, :-14])
        )
        assert difference.mean() < 1.5
        assert cv2.absdiff(after.image_bgr, before.image_bgr).mean() > 4
        _, in_first, in_second = np.intersect1d(before.person_ids, after.person_ids, return_indices=True)
        assert len(in_first)
        moved = after.heads_xy[in_second] - before.heads_xy[in_first]
        np.testing.assert_allclose(moved, [[14, -9]] * len(moved), atol=1e-3)


def test_the_light_switch_dims_by_the_stated_gain():
    spec = preset("light", 6, people=0.0, light_switch_gain=0.6, contrast=1.0, exposure=0.9, **SMALL | PLAIN)
    brightness = [frame.image_bgr.mean() for frame in Simulation(spec).frames()]
    assert spec.light_switch_frame == 3
    assert np.ptp(brightness[:3]) < 0.1
    np.testing.assert_allclose(np.array(brightness[3:]) / brightness[0], 0.6, atol=0.05)


def test_noise_has_the_stated_strength():
    spec = preset("plaza", 6, people=0.0, **SMALL | PLAIN | {"noise": 4.0, "n_frames": 2})
    first, second = (frame.image_bgr.astype(float) for frame in Simulation(spec).frames())
    assert (second - first).std() / np.sqrt(2) == pytest.approx(4.0, rel=0.15)


def test_walkers_move_and_people_at_rest_do_not():
    moved = {True: [], False: []}
    for seed in range(3):
        spec = preset("plaza", seed, people=16.0, standing_share=0.6, **SMALL)
        first, last = Simulation(replace(spec, n_frames=2, fps=1.0, bump_frame=None, shake=0.0)).frames()
        _, i, k = np.intersect1d(first.person_ids, last.person_ids, return_indices=True)
        steps = np.hypot(*(last.heads_xy[k] - first.heads_xy[i]).T) / first.boxes_xywh[i, 3]
        for walking in (True, False):
            moved[walking] += list(steps[(first.walking[i] == walking) & (last.walking[k] == walking)])
    assert len(moved[True]) >= 5
    assert len(moved[False]) >= 5
    assert np.median(moved[True]) > 0.3
    assert np.min(moved[True]) > 0.1
    assert np.median(moved[False]) < 0.03  # sway; a change of posture can move the head by some centimetres
    assert np.max(moved[False]) < 0.2


def test_many_random_scenes_are_plausible():
    heights, depressions, settings = [], [], set()
    for seed in range(60):
        spec = random_spec(seed)
        ground = Ground(
            spec.size_wh, spec.height_slope, spec.height_intercept, spec.depression_deg, spec.far_row
        )
        rows = np.array([spec.far_row, spec.size_wh[1]])
        heights += list(ground.height_at(rows))
        depressions.append(spec.depression_deg)
        settings.add(spec.setting)
        assert 2 <= spec.people <= 60
        assert ground.far_depth > 2
        slope_limits = (0, 1.9)  # what the scene files accept
        assert slope_limits[0] <= spec.height_slope <= slope_limits[1]
    assert settings == set(SETTINGS)
    assert min(heights) < 30
    assert max(heights) > 250
    assert min(depressions) < 8
    assert max(depressions) > 38


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(ValueError, match="expected one of street, plaza, mall, walkway, overhead, bump"):
        preset("beach", 1)


def test_vehicles_hide_people_and_are_nobody():
    spec = preset("plaza", 44, people=12.0, **SMALL | PLAIN | {"n_frames": 24})
    plain = list(Simulation(spec).frames())
    changed = []
    for empty, frame in zip(plain, Simulation(replace(spec, vehicles=40.0)).frames(), strict=True):
        hidden = empty.label_map != frame.label_map
        assert (frame.label_map[hidden] == 0).all()
        assert set(frame.person_ids) <= set(empty.person_ids)
        changed.append(cv2.absdiff(empty.image_bgr, frame.image_bgr).max(axis=2) > 5)
        assert np.count_nonzero(hidden & ~changed[-1]) <= 0.2 * np.count_nonzero(hidden)
    shares = [picture.mean() for picture in changed]
    assert min(shares) < 0.01
    assert max(shares) > 0.03
