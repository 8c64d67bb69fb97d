"""The ground's perspective, and how many people are where."""

import numpy as np
import pytest

from samples.geometry import REFERENCE_STATURE, Ground
from samples.motion import Floor, Population

GROUND = Ground((640, 480), slope=0.25, intercept=20.0, depression_deg=30.0, far_row=80.0)


def test_rows_and_depths_are_inverse():
    rows = np.linspace(80, 600, 50)
    np.testing.assert_allclose(GROUND.row_of(GROUND.depth_of(rows)), rows, atol=0.01)
    assert (np.diff(GROUND.depth_of(rows)) < 0).all()
    assert GROUND.depth_of(480) == pytest.approx(0, abs=1e-9)


def test_a_standing_person_is_as_tall_as_the_line_says():
    for row in (90.0, 300.0, 480.0):
        depth = GROUND.depth_of(row)
        _, foot = GROUND.to_pixels(0.0, depth)
        _, crown = GROUND.to_pixels(0.0, depth, REFERENCE_STATURE)
        body_depth = 0.22 * np.sin(GROUND.depression_at(row)) * GROUND.pixels_per_metre(row)
        assert foot - crown + body_depth == pytest.approx(0.25 * row + 20, rel=0.001)


def test_equal_steps_away_from_the_camera_shrink_in_the_image():
    rows = GROUND.row_of(np.arange(0, 20, 1.0))
    assert (np.diff(rows) < 0).all()
    assert (np.diff(-np.diff(rows)) < 0).all()


def test_heads_are_out_of_the_image_at_the_near_depth():
    row = GROUND.row_of(GROUND.near_depth)
    assert row - GROUND.height_at(row) > 480


def test_a_line_without_height_at_the_far_row_is_refused():
    with pytest.raises(ValueError, match="raise far_row or the intercept"):
        Ground((640, 480), 0.5, -100.0, 20.0, far_row=150.0)


def open_floor(**changes) -> Floor:
    sides = {
        "near": 0.0, "far": 20.0, "half_width": lambda depth: 10.0,
        "in_view": lambda xs, depths: (np.abs(xs) < 10) & (depths >= 0) & (depths < 20),
        "open_sides": True, "open_near": True, "doors": ((2.0, 19.5, 4.0, 21.0),), "obstacles": (),
        "seats": (),
    }  # fmt: skip
    return Floor(**sides | changes)


def population(floor: Floor, seed: int, **changes) -> Population:
    values = {
        "people": 15.0, "duration": 60.0, "standing_share": 0.2, "sitting_share": 0.0, "group_share": 0.3,
        "child_share": 0.1, "lateral_share": 0.5, "speed": 1.3, "variation": 0.5,
    }  # fmt: skip
    return Population(floor, np.random.default_rng(seed), **values | changes)


def in_view(floor: Floor, tracks, time_s: float) -> int:
    here = [t for t in tracks if t.start <= time_s < t.end]
    return sum(
        bool(floor.in_view(np.array(p.x), np.array(p.depth))) for p in (t.at(time_s, 1.7) for t in here)
    )


def test_the_mean_number_of_people_is_kept_from_the_first_frame_on():
    floor = open_floor()
    counts = np.array([
        [in_view(floor, tracks, time_s) for time_s in (0.0, 30.0, 59.0)]
        for tracks in (population(floor, seed).tracks() for seed in range(30))
    ])  # fmt: skip
    np.testing.assert_allclose(counts.mean(axis=0), 15.0, rtol=0.25)
    assert counts.std() > 2


def test_a_floor_that_is_hardly_in_view_draws_no_multitude():
    floor = open_floor(in_view=lambda xs, depths: np.hypot(xs, depths - 6.0) < 0.2)
    tracks = population(floor, 2, standing_share=0.0).tracks()
    assert 0 < len(tracks) < 5000


def test_nobody_comes_to_an_empty_scene():
    assert population(open_floor(), 1, people=0.0).tracks() == []


def test_people_walk_at_their_speed_and_their_feet_do_not_slide():
    steps = [
        (track.at(time_s, 1.7), track.at(time_s + 0.1, 1.7))
        for track in population(open_floor(), 3, standing_share=0.0).tracks()
        for time_s in np.linspace(track.start + 0.5, track.end - 0.6, 7)
    ]
    walking = [(a, b) for a, b in steps if a.action == b.action == "walk"]
    assert len(walking) > 0.5 * len(steps) > 0
    for a, b in walking:
        way = np.hypot(b.x - a.x, b.depth - a.depth)
        assert way < 0.1 * 4.2
        assert (b.phase - a.phase) % 1.0 == pytest.approx(way / (0.82 * 1.7), abs=0.02)


def test_people_at_rest_stay_on_the_spot():
    resting = [
        t for t in population(open_floor(), 3, standing_share=1.0).tracks() if t.rest[1] > t.rest[0] + 20
    ]
    assert len(resting) > 5
    for track in resting:
        places = [
            track.at(time_s, 1.7) for time_s in np.linspace(track.rest[0] + 0.1, track.rest[1] - 0.1, 40)
        ]
        assert {place.action for place in places} == {"stand"}
        assert np.ptp([place.x for place in places]) < 0.04
        assert np.ptp([place.depth for place in places]) == 0


def test_people_sit_on_the_seats():
    seats = ((1.0, 5.0, 0.0), (2.0, 5.0, 0.3))
    sitting = population(open_floor(seats=seats), 3, standing_share=0.0, sitting_share=1.0).tracks()
    assert sitting
    for track in sitting:
        place = track.at((track.rest[0] + track.rest[1]) / 2, 1.7)
        assert place.action == "sit"
        assert min(np.hypot(place.x - x, place.depth - z) for x, z, _ in seats) < 0.05


def test_paths_keep_clear_of_obstacles_where_there_is_room():
    obstacles = ((0.0, 10.0, 1.5),)
    near = 0
    for track in population(open_floor(obstacles=obstacles), 3, standing_share=0.0, group_share=0.0).tracks():
        share = np.linspace(0, 1, 200)
        times = track.start + share * (track.end - track.start)
        xs, depths = np.interp(times, track.times, track.xs), np.interp(times, track.times, track.depths)
        near += np.hypot(xs, depths - 10).min() < 1.5
    assert near == 0
