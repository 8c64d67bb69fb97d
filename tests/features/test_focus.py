import cv2
import numpy as np
import pytest

from features.focus import FocusMeter, fine_detail

WIDTH, HEIGHT = 200, 150


@pytest.fixture
def scene():
    """Tiles of all shades, (H, W, 3) float64."""
    rng = np.random.default_rng(0)
    return cv2.resize(rng.uniform(40, 210, (15, 20, 3)), (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST)


def seen(scene, blur=0.0, noise=1.0, people=()):
    """A picture (H, W, 3) uint8 of it, with dark people in boxes (left, top, width, height)."""
    image = scene.copy()
    for left, top, width, height in people:
        image[top : top + height, left : left + width] = 15
    if blur:
        image = cv2.GaussianBlur(image, (0, 0), blur)
    image += np.random.default_rng(1).normal(0, noise, image.shape)
    return np.clip(image, 0, 255).round().astype(np.uint8)


PEOPLE = [(30, 20, 30, 90), (110, 50, 40, 90)]


@pytest.mark.parametrize("people", [(), PEOPLE])
@pytest.mark.parametrize("noise", [1.0, 6.0])
@pytest.mark.parametrize("blur", [0.8, 1.5, 3.0])
def test_tells_by_how_much_a_picture_is_out_of_focus(scene, blur, noise, people):
    meter = FocusMeter(seen(scene))
    sharpness = meter.sharpness(seen(scene, blur, noise, people))
    assert sharpness < 0.8
    assert meter.blur_of(sharpness) == pytest.approx(blur, rel=0.25)


def test_is_one_for_a_picture_as_sharp_whoever_is_in_it(scene):
    meter = FocusMeter(seen(scene))
    assert meter.sharpness(seen(scene)) == 1
    assert meter.sharpness(seen(scene, noise=6.0, people=PEOPLE)) == pytest.approx(1, abs=0.05)


def test_is_more_than_one_where_the_scene_was_out_of_focus(scene):
    assert FocusMeter(seen(scene, 1.0)).sharpness(seen(scene, people=PEOPLE)) > 1.3


def test_grows_with_the_contrast(scene):
    assert FocusMeter(seen(scene)).sharpness(seen(0.5 * scene)) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("size", [(HEIGHT, WIDTH, 3), (20, 30, 3), (2, 2, 3)])
def test_without_edges_nothing_is_told(size):
    rng = np.random.default_rng(0)
    even = rng.normal(120, 2, size).astype(np.uint8)
    assert FocusMeter(even).sharpness(cv2.GaussianBlur(even, (0, 0), 2.0)) == 1


def test_few_edges_tell_nothing():
    few = np.random.default_rng(0).integers(0, 256, (20, 30, 3)).astype(np.uint8)
    assert FocusMeter(few).sharpness(cv2.GaussianBlur(few, (0, 0), 2.0)) == 1


@pytest.mark.parametrize("is_across", [True, False])
def test_edges_that_fall_in_one_direction_alone_are_enough(is_across):
    """Of shingles that become lighter from one end to the other."""
    shingles = np.resize(np.linspace(60, 200, 25), (WIDTH, WIDTH))[..., None].repeat(3, axis=2)
    shingles = shingles[:HEIGHT] if is_across else shingles[:HEIGHT].swapaxes(0, 1)
    meter = FocusMeter(seen(shingles, noise=0.0))
    assert meter.blur_of(meter.sharpness(seen(shingles, 1.5, noise=0.0))) == pytest.approx(1.5, rel=0.25)


class TestFineDetail:
    def test_is_the_mean_of_the_largest_two_per_cent_of_steps_of_green(self):
        """Of 4,950 steps: 50 down by 80 grey levels, 49 of 50 up by 40."""
        image = np.full((50, 100, 3), 100, np.uint8)
        image[:, 30:60, 1] = 20
        image[:, 60:, 1] = 60
        image[:, ::2, [0, 2]] = 250
        assert fine_detail(image) == pytest.approx((50 * 80 + 49 * 40) / 99)

    def test_of_a_tiny_picture_is_its_largest_step(self):
        assert fine_detail(np.uint8([[[0, 10, 0], [0, 40, 0], [0, 45, 0]]])) == 30

    def test_is_less_out_of_focus_wherever_the_edges_lie(self, scene):
        assert fine_detail(seen(scene, 2.0)) < 0.5 * fine_detail(np.roll(seen(scene), 7, axis=1))
