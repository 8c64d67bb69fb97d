import cv2
import numpy as np
import pytest

from features.background import kept_frames
from features.foreground import Segmenter
from features.steadying import Steadier
from tests.features.test_foreground import HEIGHT, ROI, SCENE, WIDTH, overlap, person_mask

RATE = 10.0


def sway(n, by, seed=0):
    """Shifts (n, 2), x and y, of a mast in the wind."""
    time = np.arange(n)[:, None] + np.random.default_rng(seed).uniform(0, 9, 2)
    return by * np.sin(time * (1.7, 2.3))


def footage(shifts, seed=0):
    """Frames (n, H, W, 3) uint8 of the scene shifted, and of one who walks; masks as without a shift."""
    rng = np.random.default_rng(seed)
    frames, masks = [], []
    for k, (dx, dy) in enumerate(shifts):
        image, mask = SCENE.copy(), person_mask(10 + 140 * k / len(shifts), 100)
        image[30 : 30 + HEIGHT, 30 : 30 + WIDTH][mask] = (20, 30, 60)
        image = cv2.warpAffine(image, np.float64([[1, 0, dx - 30], [0, 1, dy - 30]]), (WIDTH, HEIGHT))
        frames.append((image + rng.normal(0, 2, image.shape)).clip(0, 255).astype(np.uint8))
        masks.append(mask)
    return np.stack(frames), masks


#: Without anyone, and as sharp as what a lens shows: of sharper edges the shift is told badly.
EMPTY = cv2.GaussianBlur(SCENE, (0, 0), 1.5)


def beside(*shift):
    """The empty scene (H, W, 3) uint8 by a camera that is so many pixels, x and y, beside its place."""
    to_frame = np.float64([[1, 0, shift[0] - 30], [0, 1, shift[1] - 30]])
    return cv2.warpAffine(EMPTY, to_frame, (WIDTH, HEIGHT)).round().astype(np.uint8)


def swaying(by):
    """Of a camera that sways by so many pixels, by twelve frames."""
    shifts = sway(12, by)
    return Steadier([beside(*shift) for shift in shifts - np.median(shifts, axis=0)])


def told_shift(steadier, frame):
    """By how much, x and y, a frame was beside its place, by where a mask is drawn in it."""
    steadier.steady(frame)
    mark = np.zeros((HEIGHT, WIDTH), bool)
    mark[40:80, 60:100] = True
    return (np.argwhere(steadier.as_seen(mark)).mean(axis=0) - np.argwhere(mark).mean(axis=0))[::-1]


@pytest.mark.parametrize(("by", "is_needed"), [(0.1, False), (0.2, True)])
def test_a_camera_sways_from_a_seventh_of_a_pixel_on(by, is_needed):
    assert swaying(by).is_needed == is_needed


def test_a_camera_that_moves_late_sways_as_well():
    """Frames are looked at from the first to the last, however many there are."""
    for n in (1, 10, 100):
        assert not Steadier([beside(0, 0)] * n).is_needed
    assert Steadier([beside(0, 0)] * 60 + [beside(3, -2)] * 40).is_needed


def test_a_frame_far_beside_its_place_is_of_a_camera_that_was_moved():
    for by, near, far in ((2.0, (5, -4), (8, -6)), (0.2, (1, 1), (2, -2))):
        steadier = swaying(by)
        np.testing.assert_allclose(told_shift(steadier, beside(*near)), near, atol=0.6)
        frame, mask = beside(*far), np.ones((HEIGHT, WIDTH), np.uint8)
        np.testing.assert_array_equal(steadier.steady(frame), frame)
        steadier.cut(mask)
        assert mask.all()


def test_where_a_frame_repeats_its_edge_nothing_is_found():
    steadier = swaying(2.0)
    for shift, kept in (((3.8, -2.8), np.s_[2:, :-3]), ((-4.8, 1.8), np.s_[:-1, 4:]), ((0, 0), np.s_[:, :])):
        steadier.steady(beside(*shift))
        mask, expected = np.zeros((2, HEIGHT, WIDTH), np.uint8)
        mask[:], expected[kept] = 1, 1
        steadier.cut(mask)
        np.testing.assert_array_equal(mask, expected)


@pytest.mark.parametrize("by", [0.5, 2.0, 4.0])
def test_frames_of_a_camera_that_sways_are_brought_to_one_place(by):
    frames, masks = footage(sway(60, by))
    steadier = Steadier(frames)
    assert steadier.is_needed
    inner = np.s_[6:-6, 6:-6]
    still = [steadier.steady(frame).astype(float) for frame in frames]
    apart = [
        np.abs(one - other)[inner][~(mask | further)[inner]].mean()
        for one, other, mask, further in zip(still, still[1:], masks, masks[1:], strict=False)
    ]
    assert max(apart) < 4  # of noise alone 2.3


def test_frames_of_a_steady_camera_stay_the_same():
    frames, masks = footage(np.zeros((60, 2)))
    steadier = Steadier(frames)
    assert not steadier.is_needed
    assert all(steadier.steady(frame) is frame for frame in frames)
    mask = masks[0].copy()
    steadier.cut(mask)
    np.testing.assert_array_equal(mask, masks[0])
    np.testing.assert_array_equal(steadier.as_seen(mask), mask)


def test_people_on_a_plain_floor_do_not_hide_that_the_camera_drifts():
    """All that stands out are people: the joints between the tiles are faint."""
    rng = np.random.default_rng(0)
    floor = np.full((HEIGHT + 60, WIDTH + 60), 200.0, np.float32)
    for row, column in zip(range(0, HEIGHT + 60, 15), range(0, WIDTH + 60, 20), strict=False):
        floor[row], floor[:, column] = 188, 190
    walkers = rng.uniform(0, (WIDTH, HEIGHT), (20, 2)), rng.uniform(-3, 3, (20, 2))
    shifts = np.linspace((0, 6), (1, -3), 60)
    frames = []
    for k, (dx, dy) in enumerate(shifts):
        image = cv2.warpAffine(floor, np.float64([[1, 0, dx - 30], [0, 1, dy - 30]]), (WIDTH, HEIGHT))
        for x, y in walkers[0] + k * walkers[1]:
            image[person_mask(x % WIDTH, y % HEIGHT + 10, 20)] = 40
        frames.append(cv2.merge([(image + rng.normal(0, 1, image.shape)).clip(0, 255).astype(np.uint8)] * 3))
    steadier = Steadier(frames)
    assert steadier.is_needed
    mark = np.zeros((HEIGHT, WIDTH), bool)
    mark[40:80, 60:100] = True
    places = []
    for frame in frames:
        steadier.steady(frame)
        places.append(np.argwhere(steadier.as_seen(mark)).mean(axis=0)[::-1])
    np.testing.assert_allclose(places - places[30], shifts - shifts[30], atol=0.6)


def test_where_nothing_tells_the_shift_frames_stay_the_same():
    rng = np.random.default_rng(0)
    noise = rng.integers(100, 104, (20, HEIGHT, WIDTH, 3), np.uint8)
    swaying = Steadier(footage(sway(20, 2.0))[0])
    assert swaying.is_needed
    for frames in (noise, np.zeros_like(noise)):
        assert not Steadier(frames).is_needed
        np.testing.assert_array_equal(swaying.steady(frames[0]), frames[0])


@pytest.mark.parametrize("by", [1.0, 3.0, 5.0])
def test_nothing_is_foreground_but_people(by):
    """Nor is the repeated edge of the picture, which had an overlap of .84 and .73."""
    frames, masks = footage(sway(120, by))
    segmenter = Segmenter(RATE, ROI, any_scene=True)
    segmenter.learn(frames[::2])
    found = [segmenter.apply(frame) for frame in frames]
    assert {item.flags for item in found} == {()}
    assert np.mean([overlap(item.mask, mask) for item, mask in zip(found, masks, strict=True)]) > 0.87


def test_a_mask_is_drawn_where_people_are_in_the_frame():
    """Shifted back, it is where they would be were the camera in its place."""
    shifts = sway(120, 5.0)
    frames, masks = footage(shifts)
    segmenter = Segmenter(RATE, ROI, any_scene=True)
    segmenter.learn(frames[::2])
    overlaps = []
    for frame, mask, (dx, dy) in zip(frames, masks, shifts, strict=True):
        found = segmenter.as_seen(segmenter.apply(frame).mask)
        there = cv2.warpAffine(mask.view(np.uint8), np.float64([[1, 0, dx], [0, 1, dy]]), (WIDTH, HEIGHT))
        overlaps.append(overlap(found, there.view(bool)))
    assert np.mean(overlaps) > 0.75


@pytest.mark.parametrize("by", [0.4, 1.0])
def test_a_knock_of_a_camera_that_sways_is_told(by):
    shifts = sway(120, by)
    shifts[60:] += 6, -5
    frames, masks = footage(shifts)
    segmenter = Segmenter(RATE, ROI, any_scene=True)
    segmenter.learn(frames[:60])
    found = [segmenter.apply(frame) for frame in frames]
    assert {item.flags for item in found[:60]} == {()}
    assert {item.flags for item in found[70:]} == {("shifted_back",)}
    after = zip(found[70:], masks[70:], strict=True)
    assert np.mean([overlap(item.mask, mask) for item, mask in after]) > 0.7


def test_a_camera_goes_on_swaying_as_if_all_frames_had_been_seen(monkeypatch):
    monkeypatch.setattr("features.background.ABSORPTION_S", 12.0)
    frames, _ = footage(sway(400, 2.0))
    whole, part = (Segmenter(RATE, ROI, any_scene=True) for _ in range(2))
    for segmenter in (whole, part):
        segmenter.learn(frames[:60])
    for frame in frames[:300]:
        whole.apply(frame)
    part.resume(300, [frames[k] for k in kept_frames(300, RATE)])
    for frame in frames[300:]:
        np.testing.assert_array_equal(part.apply(frame).mask, whole.apply(frame).mask)
