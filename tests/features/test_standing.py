from functools import cache

import cv2
import numpy as np
import pytest

from features.foreground import Segmenter
from features.images import median_of, noise_of
from features.standing import _is_shown, _is_swaying, _may_be_somebody, _restless, never_at_rest
from samples.people import draw_person, random_person, standing_pose
from tests.features.test_foreground import HEIGHT, PERSON, ROI, SCENE, WIDTH, overlap, person_mask

N_FRAMES = 60
HEIGHTS = np.full((HEIGHT, WIDTH), PERSON, np.float32)
EMPTY = SCENE[30 : 30 + HEIGHT, 30 : 30 + WIDTH]
#: Where the feet of who stands are.
FOOT = 80, 100


@cache  # most tests show the same person
def standing(variant, foot=FOOT, seed=0):
    """Somebody in one of many postures: premultiplied image (H, W, 3), how much he covers of each pixel."""
    rng = np.random.default_rng([seed, variant])
    person = random_person(np.random.default_rng(seed), bags=0.0)
    yaw = 0.6 + rng.normal(0, 0.35)
    sprite = draw_person(person, standing_pose(seed, variant), yaw, 0.3, PERSON / 1.75)
    x, y = (round(at - own) for at, own in zip(foot, sprite.ground_xy, strict=True))
    place = np.array([[1, 0, x], [0, 1, y]], np.float32)
    drawn = cv2.warpAffine(sprite.image, place, (WIDTH, HEIGHT))
    return drawn[..., :3].astype(np.float32), drawn[..., 3] / np.float32(255)


def noisy(image, rng):
    return (image + rng.normal(0, 2, image.shape)).clip(0, 255).astype(np.uint8)


def with_somebody(stays=range(N_FRAMES), lasts=3, passers=1, seed=0):
    """Frames with somebody who is there in some of them, each posture lasting some frames, and where he is in
    each."""
    rng = np.random.default_rng([seed, 8])
    frames, masks = [], []
    for number in range(N_FRAMES):
        image, mask = EMPTY.copy(), np.zeros((HEIGHT, WIDTH), bool)
        for _ in range(passers):
            image[person_mask(rng.uniform(5, 155), rng.uniform(60, 118))] = rng.uniform(0, 255, 3)
        if number in stays:
            colours, covered = standing(number // lasts, seed=seed)
            image = colours + (1 - covered[..., None]) * image
            mask = covered > 0.5
        frames.append(noisy(image, rng))
        masks.append(mask)
    return np.stack(frames), np.stack(masks)


def with_bush(tape=False, passers=0):
    """Frames of leaves that sway in the wind, or of a tape that flutters, and people before them."""
    rng, frames = np.random.default_rng(3), []
    leaves = rng.uniform((60, 50), (104, 96), (60, 2))
    for number in range(N_FRAMES):
        image = EMPTY.copy()
        if tape:
            xs = np.arange(10, 150)
            ys = 60 + 3 * np.sin(xs / 9 + rng.uniform(0, 6))
            for x, y in zip(xs.tolist(), ys.round().astype(int).tolist(), strict=True):
                image[y : y + 2, x] = (40, 40, 230) if x // 10 % 2 else (240, 240, 240)
        else:
            for x, y in (leaves + rng.normal(0, 1.5, leaves.shape)).tolist():
                cv2.circle(image, (round(x), round(y)), 3, (30, 90 + x % 60, 40), -1)
        for _ in range(passers if number % 3 == 0 else 0):
            image[person_mask(rng.uniform(60, 104), rng.uniform(90, 118))] = rng.uniform(0, 255, 3)
        frames.append(noisy(image, rng))
    return np.stack(frames)


def learnt(frames, least=8):
    """The empty scene of frames, and by how many grey levels foreground differs from it."""
    image = median_of(frames)
    return image, np.clip(3 * noise_of(frames, image), least, 80).astype(np.uint8)


def found(frames, person_height=PERSON):
    """Where somebody stands in frames, and the threshold before and after."""
    image, threshold = learnt(frames)
    where, raised = never_at_rest(frames, image, threshold, np.full_like(HEIGHTS, person_height))
    return where, threshold, raised


class TestStanding:
    @pytest.mark.parametrize("seed", range(4))
    def test_is_who_is_there_all_the_time(self, seed):
        frames, masks = with_somebody(seed=seed)
        where, threshold, raised = found(frames)
        assert overlap(where, masks.mean(axis=0) > 0.5) > 0.5
        assert np.array_equal(raised, threshold)

    @pytest.mark.parametrize("seed", [1, 3, 5])
    def test_is_told_by_restless_pixels_where_no_posture_lasts(self, seed):
        """In frames far apart, where `who_stays` finds nobody."""
        frames, masks = with_somebody(lasts=1, seed=seed)
        where, *_ = found(frames)
        assert overlap(where, masks.mean(axis=0) > 0.5) > 0.6

    def test_is_joined_by_the_height_of_a_person_there(self):
        """Where people are small at the picture's other end, what is around them is not joined to them."""
        frames, masks = with_somebody(passers=0)
        image, threshold = learnt(frames)
        heights = np.where(np.arange(HEIGHT)[:, None] < 40, np.float32(8), HEIGHTS)
        where, _ = never_at_rest(frames, image, threshold, heights)
        assert overlap(where, masks.mean(axis=0) > 0.5) > 0.5
        where, _ = never_at_rest(frames, image, threshold, HEIGHTS / 4)
        assert overlap(where, masks.mean(axis=0) > 0.5) < 0.25

    def test_is_no_statue(self):
        where, *_ = found(with_somebody(lasts=N_FRAMES)[0])
        assert not where.any()

    @pytest.mark.parametrize(("n_stays", "is_found"), [(45, True), (24, False)])
    def test_is_who_is_there_in_most_frames(self, n_stays, is_found):
        """Where he was, the scene that shows him is foreground in the others anyway."""
        frames, masks = with_somebody(stays=range(n_stays))
        where, *_ = found(frames)
        assert (overlap(where, masks[:n_stays].mean(axis=0) > 0.5) > 0.5) == is_found
        assert where.any() == is_found

    def test_is_not_who_passes(self):
        where, threshold, raised = found(with_somebody(stays=(), passers=4)[0])
        assert not where.any()
        assert np.array_equal(raised, threshold)

    def test_is_no_flock(self):
        """Of birds that peck on plain ground the scene shows the ground."""
        rng = np.random.default_rng(5)
        frames = np.full((N_FRAMES, HEIGHT, WIDTH, 3), 120, np.float32)
        for frame in frames:
            for x, y in rng.uniform((74, 66), (86, 96), (rng.integers(1, 4), 2)):
                cv2.ellipse(frame, (round(x), round(y)), (5, 4), 0, 0, 360, (40, 40, 45), -1)
        where, *_ = found(noisy(frames, rng))
        assert not where.any()

    def test_is_no_edge_of_a_road_on_which_light_plays(self):
        """As tall as a person, and as restless, but a thin line across its box."""
        rng = np.random.default_rng(0)
        edge = cv2.line(np.zeros((HEIGHT, WIDTH), np.uint8), (60, 72), (96, 98), 1, 6).view(bool)
        frames = []
        for _ in range(N_FRAMES):
            image, light = EMPTY.copy(), rng.random((HEIGHT // 2, WIDTH // 2)) < rng.uniform(0.12, 0.34)
            image[edge] = 200
            image[edge & light.repeat(2, axis=0).repeat(2, axis=1)] = 90
            frames.append(noisy(image, rng))
        where, *_ = found(np.stack(frames))
        assert not where.any()

    def test_is_not_a_dense_crowd_and_that_does_not_sway(self):
        """As much of the picture differs in every frame, 57 % of it, as some come where others go."""
        rng, frames, small = np.random.default_rng(4), [], 20
        for _ in range(N_FRAMES):
            image = EMPTY.copy()
            for x, foot in rng.uniform((0, 0), (WIDTH, HEIGHT + small), (220, 2)):
                image[person_mask(x, foot, small)] = rng.uniform(0, 255, 3)
            frames.append(noisy(image, rng))
        where, threshold, raised = found(np.stack(frames), person_height=small)
        assert not where.any()
        assert (raised > threshold).mean() < 0.05

    @pytest.mark.parametrize("passers", [1, 2])
    def test_is_no_bush_before_which_people_pass(self, passers):
        where, *_ = found(with_bush(passers=passers))
        assert not where.any()

    def test_is_no_bush(self):
        where, threshold, raised = found(with_bush())
        assert not where.any()
        assert (raised > threshold)[52:94, 62:102].mean() > 0.5
        assert (raised >= threshold).all()
        assert np.array_equal(raised[:, :50], threshold[:, :50])

    def test_is_no_tape(self):
        where, threshold, raised = found(with_bush(tape=True))
        assert not where.any()
        assert (raised > threshold)[58:64].mean() > 0.3


@pytest.mark.parametrize(("length_s", "expected"), [(0.0, True), (19.9, False), (20.0, True)])
def test_in_a_few_seconds_nothing_sways(length_s, expected):
    frames = with_bush()
    image, threshold = learnt(frames)
    _, raised = never_at_rest(frames, image, threshold, HEIGHTS, length_s)
    assert (raised > threshold).any() == expected


#: The share of an outline that differs, over the frames, and as much in all of them.
SHARES = np.linspace(0.08, 0.32, 50)
EVEN_SHARES = np.full(50, 0.2)


@pytest.mark.parametrize(
    ("height", "width", "shares", "expected"),
    [
        (36, 12, SHARES, True),
        (15, 12, SHARES, False),
        (54, 18, SHARES, False),
        (36, 11, SHARES, False),
        (40, 51, SHARES / 2, True),
        (40, 53, SHARES / 2, False),
        (36, 12, SHARES + 0.1, False),
        (36, 12, np.repeat([0.05, 0.15, 0.75], [20, 20, 10]), False),
        (36, 12, EVEN_SHARES, False),
    ],
    ids=["somebody", "low", "high", "slim", "two", "wide", "passers-by", "now and then", "water"],
)
def test_somebody_has_the_size_of_a_person_and_is_restless(height, width, shares, expected):
    """Of 40 pixels."""
    outline = np.ones((height, width), bool)
    if width > 40:
        outline[::2] = False  # within the area of two people
    assert _may_be_somebody(outline, 40.0, shares) == expected


@pytest.mark.parametrize(
    ("size", "shares", "odds", "expected"),
    [
        ((40, 20), SHARES, 0.0, False),
        ((40, 20), SHARES, -2.0, True),
        ((40, 20), EVEN_SHARES, 0.0, True),
        ((11, 20), SHARES, 0.0, True),
        ((20, 52), SHARES, 0.0, True),
        ((40, 20), SHARES + 0.2, -2.0, False),
        ((40, 20), EVEN_SHARES + 0.2, 0.0, True),
        ((40, 20), EVEN_SHARES + 0.2, 2.0, False),
    ],
)
def test_what_sways_does_so_in_every_frame_or_has_nobodys_shape(size, shares, odds, expected):
    """Where much differs in all frames, people pass, whose shape tells nothing."""
    assert _is_swaying(np.ones(size, bool), 40.0, shares, odds) == expected


@pytest.mark.parametrize(("brighter", "expected"), [(0, False), (6, False), (10, True)])
def test_is_shown_what_stands_out_from_what_is_around(brighter, expected):
    """In one channel, by eight grey levels or more; elsewhere the picture may be anything."""
    image = np.full((60, 80, 3), 120, np.uint8)
    image[:, 60:] = 250
    image[20:40, 30:40, 1] += np.uint8(brighter)
    box = np.s_[20:40, 30:40]
    assert _is_shown(box, np.ones((20, 10), bool), 40.0, image) == expected
    whole = np.s_[0:60, 0:80]
    assert not _is_shown(whole, np.ones((60, 80), bool), 40.0, image)  # nothing is around it


@pytest.mark.parametrize(
    ("share", "n_frames", "expected"),
    [(0.5, 100, True), (1.0, 100, False), (0.01, 100, False), (0.5, 90, False)],
)
def test_restless_is_what_always_differs_in_a_part_of_its_surroundings(share, n_frames, expected):
    """Not all over, as a crowd, nor hardly anywhere, as noise, nor in some of the frames, as who passes."""
    away = np.random.default_rng(0).random((100, 40, 50)) < share
    away[n_frames:] = False
    restless = _restless(away.view(np.uint8), np.full((40, 50), 40, np.float32))
    assert restless.any() == expected
    assert restless.mean() > 0.9 or not expected


class TestSegmenter:
    def foreground(self, frames, length_s=0.0, **options):
        """Of each frame, after learning from all."""
        segmenter = Segmenter(1.0, ROI, **{"any_scene": True, "person_height": HEIGHTS} | options)
        segmenter.learn(list(frames), length_s)
        return np.stack([segmenter.apply(frame).mask for frame in frames])

    def test_sees_who_stands_there(self):
        frames, masks = with_somebody(passers=0)
        assert np.mean([overlap(*pair) for pair in zip(self.foreground(frames), masks, strict=True)]) > 0.5

    @pytest.mark.parametrize("length_s", [15.0, 3600.0])
    def test_sees_who_stands_there_in_seconds_and_in_an_hour(self, length_s):
        frames, masks = with_somebody(passers=0)
        found = self.foreground(frames, length_s=length_s)
        assert np.mean([overlap(*pair) for pair in zip(found, masks, strict=True)]) > 0.5

    @pytest.mark.parametrize(("every", "is_seen"), [(3, True), (5, True), (6, False)])
    def test_but_not_in_ten_frames(self, every, is_seen):
        frames, masks = (one[::every] for one in with_somebody(passers=0))
        found = self.foreground(frames)
        assert (np.mean([overlap(*pair) for pair in zip(found, masks, strict=True)]) > 0.5) == is_seen

    def test_sees_who_stood_there_before_a_stream_within_half_a_minute(self):
        frames, masks = with_somebody(passers=0)
        segmenter = Segmenter(1.0, ROI, any_scene=True, person_height=HEIGHTS)
        found = [segmenter.apply(frame).mask for frame in frames]
        overlaps = [overlap(*pair) for pair in zip(found, masks, strict=True)]
        assert np.mean(overlaps[:20]) < 0.3
        assert np.mean(overlaps[30:]) > 0.7

    def test_no_longer_sees_who_stood_in_a_scene_learnt_of_few_frames(self):
        segmenter = Segmenter(1.0, ROI, any_scene=True, person_height=HEIGHTS)
        segmenter.learn(list(with_somebody(passers=0)[0]))
        segmenter.learn(list(with_somebody(stays=(), passers=0)[0][:10]))
        assert not segmenter.apply(with_somebody(stays=(), passers=0)[0][20]).mask.any()

    @pytest.mark.parametrize("options", [{"person_height": None}, {"any_scene": False}])
    def test_but_not_for_one_camera(self, options):
        frames, masks = with_somebody(passers=0)
        found = self.foreground(frames, **options)
        assert np.mean([overlap(*pair) for pair in zip(found, masks, strict=True)]) < 0.4

    def test_sees_no_bush_and_who_passes_it(self):
        frames = with_bush()
        assert self.foreground(frames).mean() < 0.002 < self.foreground(frames, person_height=None).mean()
        mask = person_mask(84, 105)
        frames[30][mask] = (230, 220, 240)
        assert self.foreground(frames)[30][mask].mean() > 0.8
