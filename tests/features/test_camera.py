import cv2
import numpy as np
import pytest

from features.camera import MOST_VIEWS, CameraWatch, as_seen, showing_one_view


def texture(size_wh, seed=0):
    """Rectangles over a smooth ground, (H, W, 3) uint8."""
    rng = np.random.default_rng(seed)
    width, height = size_wh
    scene = cv2.resize(rng.uniform(90, 150, (8, 10, 3)).astype(np.float32), size_wh)
    for _ in range(100):
        x, y, w, h = rng.uniform(0, 1, 4) * (width, height, width / 6, height / 6)
        cv2.rectangle(scene, (int(x), int(y)), (int(x + w), int(y + h)), rng.uniform(60, 200, 3).tolist(), -1)
    return cv2.GaussianBlur(scene, (0, 0), 1).astype(np.uint8)


def view(scene, size_wh, shift=(0, 0)):
    """The middle of a larger scene, its content shifted by (dx, dy) pixels."""
    left, top = ((scene.shape[1 - axis] - size_wh[axis]) // 2 - shift[axis] for axis in (0, 1))
    return scene[top : top + size_wh[1], left : left + size_wh[0]]


@pytest.mark.parametrize("size_wh", [(320, 240), (640, 480), (160, 120)])
@pytest.mark.parametrize("shift", [(0, 0), (10, 0), (0, -8), (-6, 12), (13, 13)])
def test_measures_the_shift_in_the_frames_own_pixels(size_wh, shift):
    factor = size_wh[0] / 320
    scene = texture((size_wh[0] + round(60 * factor), size_wh[1] + round(60 * factor)))
    shift = tuple(round(part * factor) for part in shift)
    watch = CameraWatch(view(scene, size_wh))
    assert watch.shift(view(scene, size_wh, shift)) == pytest.approx(shift, abs=max(1, factor))


def test_measures_the_shift_in_flat_frames_too():
    """They are compared at more rows than their width has them reduced to."""
    noise = np.random.default_rng(5).uniform(0, 255, (30, 260, 3)).astype(np.float32)
    scene = cv2.resize(noise, (1400, 160), interpolation=cv2.INTER_CUBIC).clip(0, 255).astype(np.uint8)
    watch = CameraWatch(view(scene, (1280, 96)))
    assert watch.shift(view(scene, (1280, 96), (0, -12))) == pytest.approx((0, -12), abs=2)


def test_a_tremble_is_no_shift():
    scene = texture((380, 300))
    watch = CameraWatch(view(scene, (320, 240)))
    assert watch.shift(view(scene, (320, 240), (1, -1))) == (0, 0)


def test_dimmer_light_and_noise_are_no_shift():
    scene = texture((320, 240))
    noise = np.random.default_rng(1).normal(0, 5, scene.shape)
    dimmed = np.clip(0.5 * scene + 10 + noise, 0, 255).astype(np.uint8)
    assert CameraWatch(scene).shift(dimmed) == (0, 0)


def test_a_view_that_is_gone_is_none():
    scene = texture((320, 240))
    watch = CameraWatch(scene)
    assert watch.shift(texture((320, 240), seed=9)) is None
    assert watch.shift(np.zeros_like(scene)) is None


@pytest.mark.parametrize(("share", "shift"), [(0.5, (0, 0)), (0.3, (9, 5))])
def test_sees_past_people_who_hide_much_of_the_frame(share, shift):
    scene = texture((380, 300))
    watch = CameraWatch(view(scene, (320, 240)))
    frame = view(scene, (320, 240), shift).copy()
    rng = np.random.default_rng(2)
    hidden = np.zeros(frame.shape[:2], np.uint8)
    while hidden.mean() < share:
        place = rng.integers(0, (320, 240)).tolist()
        cv2.ellipse(hidden, place, (12, 30), 0, 0, 360, 1, -1)
        cv2.ellipse(frame, place, (12, 30), 0, 0, 360, rng.uniform(0, 255, 3).tolist(), -1)
    assert watch.shift(frame) == pytest.approx(shift, abs=1)


def test_a_scene_without_texture_cannot_tell():
    flat = np.full((240, 320, 3), 120, np.uint8)
    watch = CameraWatch(flat)
    assert watch.shift(flat) == (0, 0)
    assert watch.shift(texture((320, 240))) == (0, 0)


ROI = np.ones((240, 320), bool)


@pytest.mark.parametrize(
    ("turn_deg", "zoom", "shift"), [(0, 1, (9, -6)), (2, 1.05, (-12, 7)), (-3, 0.97, (30, 12))]
)
def test_a_frame_of_a_moved_camera_is_registered(turn_deg, zoom, shift):
    scene = texture((480, 400))
    moved = cv2.getRotationMatrix2D((240, 200), turn_deg, zoom)
    moved[:, 2] += shift
    frame = view(cv2.warpAffine(scene, moved, (480, 400), flags=cv2.INTER_CUBIC), (320, 240)) * 0.7
    frame[60:160, 100:130] = 20  # somebody
    found = CameraWatch(view(scene, (320, 240))).registered(frame.astype(np.uint8), ROI)
    places = np.float64([[[30, 30], [290, 30], [160, 120], [30, 210], [290, 210]]])
    expected = cv2.transform(places + 80, moved) - 80
    assert cv2.perspectiveTransform(places, found.homography) == pytest.approx(expected, abs=1.2)
    back = found.brought_back(frame.astype(np.uint8)) / 0.7
    in_view = cv2.erode(found.in_view.view(np.uint8), np.ones((5, 5)), borderValue=0).astype(bool)
    assert np.median(np.abs(back - view(scene, (320, 240)))[in_view]) < 3
    person = np.zeros(ROI.shape, bool)
    person[100:120, 140:160] = True
    assert as_seen(person, None) is person
    for size in (1, 2):
        large = np.kron(person, np.ones((size, size), bool))
        seen = as_seen(large, found.moved)
        assert seen.sum() == pytest.approx(large.sum() * zoom**2, rel=0.1)
        middle = np.argwhere(seen).mean(axis=0)[::-1] + 0.5
        expected = cv2.transform(np.float64([[[149.5, 109.5]]]) + 80, moved) - 80
        assert middle == pytest.approx(size * (expected[0, 0] + 0.5), abs=0.7 * size)


def test_a_view_that_is_gone_or_mostly_out_of_the_picture_is_not_registered():
    scene = texture((560, 240))
    watch = CameraWatch(scene[:, :320])
    assert watch.registered(texture((320, 240), seed=1), ROI) is None
    assert watch.registered(np.full((240, 320, 3), 90, np.uint8), ROI) is None
    for left, is_found in ((60, True), (110, False)):
        assert (watch.registered(scene[:, left : left + 320], ROI) is not None) == is_found
    region = ROI.copy()
    region[:, :150] = False  # what is out of the picture is not counted in either
    assert watch.registered(scene[:, 110:430], region) is not None
    assert watch.registered(scene[:, 110:430], ~region) is None


@pytest.mark.parametrize("size_wh", [(32, 32), (500, 40), (40, 500)])
def test_works_in_frames_of_any_shape(size_wh):
    frame = texture(size_wh)
    assert CameraWatch(frame).shift(frame) == (0, 0)


class TestShowingOneView:
    """Of images that show the views A, B, …, with people and noise."""

    def images(self, views):
        rng = np.random.default_rng(3)
        scenes = {name: texture((380, 300), seed) for seed, name in enumerate(sorted(set(views)))}
        for name in views:
            image = view(scenes[name], (320, 240)).copy()
            for _ in range(12):
                place = rng.integers(0, (320, 240)).tolist()
                cv2.ellipse(image, place, (12, 30), 0, 0, 360, rng.uniform(0, 255, 3).tolist(), -1)
            noise = rng.normal(0, 4, image.shape)
            yield np.clip(image + noise, 0, 255).astype(np.uint8)

    def kept(self, views):
        images = list(self.images(views))
        found = {id(image) for image in showing_one_view(images)}
        return "".join(name for image, name in zip(images, views, strict=True) if id(image) in found)

    @pytest.mark.parametrize(
        ("views", "kept"),
        [
            (20 * "A", 20 * "A"),
            (10 * "A" + 10 * "B", 10 * "A"),
            (5 * "AABB", 10 * "A"),
            (7 * "A" + 13 * "B", 7 * "A"),
            (4 * "A" + 16 * "B", 16 * "B"),
            (17 * "A" + "BCA", 17 * "A" + "BCA"),
        ],
        ids=["one", "cut", "tour", "a third", "a fifth", "others now and then"],
    )
    def test_the_first_of_the_common_ones_is_kept(self, views, kept):
        assert self.kept(views) == kept

    def test_views_that_are_all_different_are_kept(self):
        views = "ABCDEFGHIJKLMNOPQRST"
        assert len(views) > MOST_VIEWS
        assert self.kept(views) == views

    def test_who_stands_in_an_even_hall_makes_no_view_of_it(self):
        rng = np.random.default_rng(4)
        images = []
        for _ in range(3):
            hall = np.full((240, 320, 3), 150, np.uint8)
            for x, y in rng.uniform((30, 80), (290, 200), (5, 2)):
                cv2.ellipse(hall, (round(x), round(y)), (12, 40), 0, 0, 360, (30, 40, 60), -1)
                cv2.circle(hall, (round(x), round(y - 45)), 8, (120, 140, 180), -1)
            images += [hall] * 10
        assert len(showing_one_view(images)) == 30

    def test_a_knock_is_another_view_where_hardly_anything_of_it_shows_too(self):
        hall = np.full((270, 350, 3), 150, np.uint8)
        for row in range(40, 240, 60):
            for column in range(40, 320, 70):
                hall[row : row + 24, column : column + 24] = texture((24, 24), seed=row + column)
        before, after = view(hall, (320, 240)), view(hall, (320, 240), shift=(5, 4))
        assert np.mean(cv2.absdiff(before, after).max(axis=2) > 10) < 0.25
        images = [before] * 10 + [after] * 10
        assert [id(image) for image in showing_one_view(images)] == [id(before)] * 10

    def test_a_knock_is_another_view(self):
        scene = texture((380, 300))
        images = [view(scene, (320, 240), shift) for shift in 10 * [(0, 0)] + 10 * [(8, -5)]]
        assert len(showing_one_view(images)) == 10

    @pytest.mark.parametrize("n_images", [0, 1, 2])
    def test_few_images_are_kept(self, n_images):
        assert len(showing_one_view([texture((320, 240))] * n_images)) == n_images

    def test_without_texture_there_is_one_view(self):
        flat = np.full((240, 320, 3), 120, np.uint8)
        assert len(showing_one_view(5 * [flat, texture((320, 240))])) == 10
