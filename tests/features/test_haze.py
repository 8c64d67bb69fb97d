import cv2
import numpy as np
import pytest

from features.background import LEARNING_FRAMES, MIN_LEARNING_FRAMES
from features.haze import Haze, HazeWatch, haze_of, is_dark_enough, without_haze

WIDTH, HEIGHT = 320, 240
#: Light of the haze, and how much of it is there at each row: the same all over, and ever more from below.
AIR = 200
DOME, FOG = np.full(HEIGHT, 0.7), np.linspace(0.85, 0.5, HEIGHT)


def street(rng):
    """Something dark and something light in every part of 40 x 30 pixels, and what is between."""
    scene = cv2.GaussianBlur(rng.normal(110, 90, (HEIGHT, WIDTH, 3)), (0, 0), 2)
    for y in range(0, HEIGHT, 20):
        for x in range(0, WIDTH, 20):
            scene[y : y + 6, x : x + 5] = 15
            scene[y : y + 6, x + 6 : x + 11] = 220
    return scene


def floor(rng):
    """Even and light."""
    return cv2.GaussianBlur(rng.normal(185, 30, (HEIGHT, WIDTH, 3)), (0, 0), 2)


def walked(scene, n=20, colour=30, y=100, step=10):
    """Images in which somebody walks through a scene, the head at a row; nobody where the colour is None."""
    for k in range(n):
        image = scene.copy()
        if colour is not None:
            image[y : y + 60, step * k % 300 : step * k % 300 + 20] = colour
        yield image


def behind(images, share, rng, noise=1.0):
    """The images behind haze, whose share of the light each row has."""
    share = share[:, None, None]
    noisy = (image * (1 - share) + AIR * share + rng.normal(0, noise, image.shape) for image in images)
    return [np.clip(image, 0, 255).astype(np.uint8) for image in noisy]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def clear(images, rng):
    return behind(images, np.zeros(HEIGHT), rng)


@pytest.mark.parametrize("share", [DOME, FOG])
def test_what_was_behind_haze_is_seen_as_it_were_without(rng, share):
    scene = street(rng)
    images = behind(walked(scene), share, rng)
    haze = haze_of(images)
    veil = np.interp(np.linspace(0, 7, HEIGHT), np.arange(8), haze.veil)
    assert np.abs(veil - AIR * share).max() < 15
    hazy, seen = (
        np.std(image[:, :, 1].astype(float), axis=1) for image in (images[0], haze.cleared(images[0]))
    )
    as_it_is = np.std(np.clip(scene, 0, 255)[:, :, 1], axis=1)
    rows = np.arange(HEIGHT) % 20 < 6  # in which there is something dark and light
    assert (hazy / as_it_is)[rows].max() < 0.55
    assert (seen / as_it_is)[rows].min() > (0.75 if share is DOME else 0.6)  # contrast grows sixfold at most
    assert np.median((seen / as_it_is)[rows]) > 0.8
    assert (seen / as_it_is)[rows].max() < 1.1
    assert np.percentile(haze.cleared(images[0]), 1) == pytest.approx(20, abs=8)


def test_contrast_grows_sixfold_at_the_most(rng):
    thick = haze_of(behind(walked(street(rng), colour=0), np.full(HEIGHT, 0.92), rng))
    assert thick.transmission == pytest.approx([1 / 6] * 8)


def test_fog_over_what_is_far_leaves_what_is_near_as_it_is(rng):
    """And no darker than black."""
    share = np.interp(np.arange(HEIGHT), [130, 170], [0.7, 0])
    haze = haze_of(behind(walked(street(rng), y=5), share, rng))
    assert haze.veil[:4] == pytest.approx([0.7 * AIR] * 4, abs=15)
    assert (haze.transmission[6:] == 1).all()
    assert (haze.veil[6:] == 0).all()


def test_what_is_clear_stays(rng):
    scene = street(rng)
    assert haze_of(clear(walked(scene), rng)) is None
    (clear_one,), (hazy_one,) = (behind([scene], share, rng) for share in (np.zeros(HEIGHT), DOME))
    assert is_dark_enough(clear_one)
    assert not is_dark_enough(hazy_one)


def test_an_even_light_floor_is_told_from_haze_by_those_who_come(rng):
    scene = floor(rng)
    assert scene.min() > 120
    former = Haze(np.full(8, 0.4), np.full(8, 120.0))
    assert haze_of(clear(walked(scene), rng), former) is None
    in_few_parts = walked(scene, y=150, step=3)  # of the lower half: most of each row stays light
    assert haze_of(clear(in_few_parts, rng), former) is None
    assert haze_of(behind(walked(scene), DOME, rng), former) is not former
    assert haze_of(behind(walked(scene), DOME, rng)) is not None
    nobody = clear(walked(scene, colour=None), rng)
    assert haze_of(nobody) is None
    assert haze_of(nobody, former) is former


@pytest.mark.parametrize("share", [0.5, 0.6])
def test_an_overcast_sky_over_a_street_is_no_haze(rng, share):
    """Nobody who moves is where the picture has nothing dark."""
    scene = street(rng)
    scene[: int(share * HEIGHT)] = 200
    assert haze_of(clear(walked(scene, colour=60, y=HEIGHT - 80), rng)) is None
    assert haze_of(behind(walked(scene, colour=60, y=HEIGHT - 80), FOG, rng)) is not None


def test_neither_texts_nor_black_images_hide_the_haze(rng):
    images = behind(walked(street(rng)), DOME, rng)
    veil = haze_of(images).veil
    for k, image in enumerate(images):
        image[:18] = 0
        cv2.putText(image, f"12:00:{k:02}", (5, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1)
    images[::8] = [np.zeros_like(images[0])] * len(images[::8])
    found = haze_of(images).veil
    np.testing.assert_allclose(found, veil, atol=8)
    assert haze_of([np.zeros_like(images[0])] * 9) is None


def test_neither_dark_digits_that_change_nor_dark_specks_of_noise_are_people(rng):
    """By who comes an even light floor is told from haze; nobody does, and it stays as it was."""
    former = Haze(np.full(8, 0.4), np.full(8, 120.0))
    images = behind(walked(street(rng), n=24, colour=None), DOME, rng)
    for k, image in enumerate(images):
        image[:22] = 150
        cv2.putText(image, f"12:00:{5 * k % 60:02}", (5, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 3)
    assert haze_of(images, former) is former
    images = behind(walked(street(rng), colour=None), DOME, rng)
    for image in images:
        image[:, :40][rng.random((HEIGHT, 40)) < 0.03] = 0
    assert haze_of(images, former) is former


def test_a_faint_veil_begins_to_be_taken_away_where_it_is_hardly_seen(rng):
    scene = street(rng)
    veils = []
    for share in np.linspace(0, 0.5, 26):
        haze = haze_of(behind(walked(scene), np.full(HEIGHT, share), np.random.default_rng(4)))
        veils.append(0.0 if haze is None else haze.veil.mean())
    assert veils[0] == 0
    assert min(veil for veil in veils if veil) >= 10  # what is less is none
    assert veils[-1] == pytest.approx(0.5 * (AIR - 20), abs=10)
    assert np.diff(veils).min() > -1
    assert np.diff(veils).max() < 20


class TestWithoutHaze:
    @pytest.mark.parametrize("share", [DOME, FOG, FOG + 0.1])
    @pytest.mark.parametrize(("n_clear", "n_hazy"), [(MIN_LEARNING_FRAMES, 52), (30, 30)])
    def test_those_that_are_clear_are_taken(self, rng, share, n_clear, n_hazy):
        scene = street(rng)
        images = [*behind(walked(scene, n_hazy), share, rng), *clear(walked(scene, n_clear), rng)]
        assert list(map(id, without_haze(images))) == list(map(id, images[n_hazy:]))

    @pytest.mark.parametrize("n_clear", [MIN_LEARNING_FRAMES - 1, 31])
    def test_all_are_taken_where_too_few_are_clear_or_most(self, rng, n_clear):
        scene = street(rng)
        images = [*clear(walked(scene, n_clear), rng), *behind(walked(scene, 60 - n_clear), DOME, rng)]
        assert without_haze(images) is images

    @pytest.mark.parametrize("gain", [0.4, 0.6, 1.0])
    def test_all_are_taken_in_a_dimmer_light(self, rng, gain):
        scene = street(rng)
        images = clear([*walked(scene), *(gain * image for image in walked(scene, 40))], rng)
        assert without_haze(images) is images

    def test_all_are_taken_where_the_others_show_something_else(self, rng):
        images = [*clear(walked(street(rng)), rng), *behind(walked(street(rng), 40), DOME, rng)]
        assert without_haze(images) is images

    @pytest.mark.parametrize("n", [0, 1])
    def test_of_hardly_any_all_are_taken(self, rng, n):
        images = clear(walked(street(rng), n), rng)
        assert without_haze(images) is images


class TestHazeWatch:
    def seen(self, watch, images):
        """At which of the images the haze is another one."""
        return [k for k, image in enumerate(images) if watch.see(image)]

    def test_follows_it_as_it_comes_and_goes(self, rng):
        watch = HazeWatch(rate=6.0)  # every third one
        scene = street(rng)
        hazy = behind(walked(scene, 3 * MIN_LEARNING_FRAMES), DOME, rng)
        assert self.seen(watch, hazy) == [3 * (MIN_LEARNING_FRAMES - 1)]
        assert watch.haze.veil.mean() > 100
        half_minute = 3 * LEARNING_FRAMES
        assert self.seen(watch, behind(walked(scene, half_minute), DOME + 0.02, rng)) == []
        changed = self.seen(watch, clear(walked(scene, 2 * half_minute), rng))
        assert len(changed) == 1
        assert changed[0] < half_minute
        assert watch.haze is None
        assert len(self.seen(watch, behind(walked(scene, 2 * half_minute), FOG, rng))) == 1
        assert watch.haze is not None

    def test_what_has_come_and_is_seen_through_is_none_but_what_goes_is_told(self, rng):
        watch = HazeWatch(rate=2.0)
        scene = street(rng)
        half_minute = LEARNING_FRAMES
        assert self.seen(watch, behind(walked(scene, MIN_LEARNING_FRAMES), DOME - 0.2, rng))
        former = watch.haze
        thicker = behind(walked(scene, half_minute), DOME, rng)
        assert not any(watch.see(image, is_seen_through=True) for image in thicker)
        assert watch.haze is former
        assert any(watch.see(image, True) for image in clear(walked(scene, half_minute), rng))
        assert watch.haze is None
        assert not any(watch.see(image, True) for image in thicker)
        assert any(watch.see(image) for image in thicker)

    def test_sees_each_image_where_there_are_few(self, rng):
        images = behind(walked(street(rng), MIN_LEARNING_FRAMES), DOME, rng)
        assert self.seen(HazeWatch(rate=0.5), images) == [MIN_LEARNING_FRAMES - 1]

    def test_stays_while_nobody_comes(self, rng):
        watch = HazeWatch(rate=2.0)
        scene = floor(rng)
        nobody = behind(walked(scene, 70, None), DOME, rng)
        assert self.seen(watch, nobody) == []
        assert watch.haze is None
        assert self.seen(watch, behind(walked(scene, 100), DOME, rng))
        haze = watch.haze
        assert haze is not None
        assert self.seen(watch, nobody * 2) == []
        assert watch.haze is haze
