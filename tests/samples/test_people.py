"""Drawn people have human proportions from every side."""

import numpy as np
import pytest

from samples.people import (
    GAIT_PHASES,
    draw_person,
    random_person,
    sitting_pose,
    standing_pose,
    walking_pose,
)

SCALE = 60.0  # pixels per metre


def silhouette(person, pose, yaw=0.0, depression=0.0) -> np.ndarray:
    return draw_person(person, pose, yaw, depression, SCALE).image[..., 3] > 127


def extent(mask) -> tuple[int, int]:
    rows, columns = np.nonzero(mask)
    return int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


def people(n, **changes):
    rng = np.random.default_rng(5)
    return [random_person(rng, **{"bags": 0.0} | changes) for _ in range(n)]


def test_standing_people_are_as_tall_as_their_stature():
    for person in people(20):
        assert extent(silhouette(person, standing_pose(person.stance, 0)))[1] / SCALE == pytest.approx(
            person.stature, rel=0.05
        )


def test_the_silhouette_covers_what_bodies_cover():
    """Projected area of clothed adults in squared statures: about 0.21 from the front, 0.15 from the side."""
    front = [
        silhouette(p, standing_pose(p.stance, 0), 0.0).sum() / (p.stature * SCALE) ** 2 for p in people(30)
    ]
    side = [
        silhouette(p, standing_pose(p.stance, 0), np.pi / 2).sum() / (p.stature * SCALE) ** 2
        for p in people(30)
    ]
    assert 0.18 < np.mean(front) < 0.25
    assert 0.12 < np.mean(side) < 0.18
    assert np.std(front) > 0.005


def test_shoulders_are_wider_than_bodies_are_deep():
    for person in people(10):
        pose = standing_pose(person.stance, 0)
        level = slice(int(0.18 * person.stature * SCALE), int(0.24 * person.stature * SCALE))
        widths = []
        for yaw in (0.0, np.pi / 2):
            mask = silhouette(person, pose, yaw)
            top = np.flatnonzero(mask.any(axis=1))[0]
            widths.append(extent(mask[top:][level])[0] / SCALE)
        assert 0.36 < widths[0] / (person.stature / 1.75) < 0.66
        assert widths[1] < widths[0]


def test_legs_part_when_walking_and_the_gait_is_a_cycle():
    person = people(1)[0]
    widths = [
        extent(silhouette(person, walking_pose(k / GAIT_PHASES), np.pi / 2)[-25:])[0]
        for k in range(GAIT_PHASES)
    ]
    assert max(widths) > 1.8 * min(widths)
    np.testing.assert_array_equal(
        silhouette(person, walking_pose(0.0), 1.0), silhouette(person, walking_pose(1.0), 1.0)
    )
    left, right = walking_pose(0.3), walking_pose(0.8)
    assert left["left"] == pytest.approx(right["right"])


def test_feet_touch_the_ground_in_every_posture():
    person = people(1)[0]
    poses = [walking_pose(k / 12) for k in range(12)] + [standing_pose(1, 0), sitting_pose(1, 0)]
    for pose in poses:
        sprite = draw_person(person, pose, 0.7, 0.0, SCALE)
        lowest = np.flatnonzero((sprite.image[..., 3] > 127).any(axis=1))[-1]
        assert lowest == pytest.approx(sprite.ground_xy[1], abs=0.06 * SCALE)


def test_seated_people_are_lower():
    for person in people(5):
        height = extent(silhouette(person, sitting_pose(person.stance, 0)))[1] / SCALE
        assert 0.65 < height / person.stature < 0.85


def test_the_head_lies_inside_the_silhouette_from_every_side():
    for person in people(6) + people(3, child=True):
        for yaw in np.arange(0, 2 * np.pi, np.pi / 3):
            for depression in (0.0, 0.6):
                sprite = draw_person(person, walking_pose(0.2), yaw, depression, SCALE)
                x, y = np.rint(sprite.head_xy).astype(int)
                assert sprite.image[y, x, 3] == 255


def test_a_camera_above_sees_people_shorter_and_relatively_wider():
    person = people(1)[0]
    pose = standing_pose(person.stance, 0)
    level, steep = extent(silhouette(person, pose)), extent(silhouette(person, pose, 0.0, 0.7))
    assert steep[1] < 0.95 * level[1]
    assert steep[0] == pytest.approx(level[0], abs=2)


def test_children_have_larger_heads_for_their_size():
    def head_share(person):
        sprite = draw_person(person, standing_pose(person.stance, 0), 0.0, 0.0, SCALE)
        top = np.flatnonzero((sprite.image[..., 3] > 127).any(axis=1))[0]
        return (sprite.head_xy[1] - top) / (person.stature * SCALE)

    adults, children = (np.mean([head_share(p) for p in people(15, child=c)]) for c in (False, True))
    assert children > 1.1 * adults


def test_colours_are_premultiplied_and_clothes_are_textured():
    for person in people(5):
        image = draw_person(person, standing_pose(person.stance, 0), 0.0, 0.0, SCALE).image.astype(int)
        assert (image[..., :3] <= image[..., 3:] + 1).all()
        assert image[image[..., 3] == 255][:, :3].std() > 5


def test_camouflage_takes_the_colour_of_the_background():
    distances = {}
    for background in (None, (60, 150, 60)):
        tops = [p.outfit.top.reshape(-1, 3).mean(axis=0) for p in people(25, background=background)]
        distances[background] = np.median(np.linalg.norm(np.array(tops) - (60, 150, 60), axis=1))
    assert distances[60, 150, 60] < 0.6 * distances[None]


def test_bags_add_to_the_silhouette():
    areas = [
        np.mean([silhouette(p, standing_pose(p.stance, 0), 0.8).sum() for p in people(30, bags=share)])
        for share in (0.0, 1.0)
    ]
    assert areas[1] > 1.03 * areas[0]
