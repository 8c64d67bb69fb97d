import cv2
import numpy as np
import pytest

from features.films import LEAST_FRAMES, films
from features.foreground import Segmenter
from features.images import median_of
from tests.features.test_foreground import HEIGHT, ROI, WIDTH, overlap, person_mask
from tests.features.test_states import EMPTY, HEIGHTS, N_FRAMES, RATE, state_images
from tests.features.test_states import footage as sign_footage

#: A screen that is seen from the side.
CORNERS = np.array([(60, 14), (120, 20), (120, 52), (60, 56)])


def filled(corners):
    """(H, W) bool: a figure of corners x, y."""
    return cv2.fillPoly(np.zeros((HEIGHT, WIDTH), np.uint8), [np.int32(corners)], 1).astype(bool)


def rectangle(x, y, width, height):
    """(H, W) bool"""
    return filled([(x, y), (x + width - 1, y), (x + width - 1, y + height - 1), (x, y + height - 1)])


SCREEN = filled(CORNERS)


def film(n, seed=0):
    """Pictures (n, H, W, 3) float32: shots of five frames each in which patches of any colour move."""
    shots = state_images(-(-n // 5), seed)
    return [np.roll(shots[k // 5], 7 * (k % 5), axis=1) for k in range(n)]


def footage(pictures, place=SCREEN, people=2, seed=0):
    """Frames (n, H, W, 3) uint8 with what a place shows in each, and people before it who walk."""
    rng = np.random.default_rng(seed)
    for picture in pictures:
        image = np.where(place[..., None], picture, EMPTY)
        for _ in range(people):
            image[person_mask(rng.uniform(5, 155), rng.uniform(60, 118))] = rng.uniform(0, 255, 3)
        yield (image + rng.normal(0, 2, image.shape)).clip(0, 255).astype(np.uint8)


def found(frames):
    frames = np.stack(list(frames))
    return films(frames, median_of(frames))


class TestFilms:
    @pytest.mark.parametrize("people", [0, 2, 6])
    @pytest.mark.parametrize(
        "screen",
        [SCREEN, rectangle(20, 8, 30, 18), rectangle(100, 0, 50, 30)],
        ids=["from the side", "small", "at the edge of the picture"],
    )
    def test_are_found_on_a_screen(self, screen, people):
        shown = found(footage(film(N_FRAMES), screen, people))
        assert shown[screen].all()
        assert not shown[~cv2.dilate(screen.view(np.uint8), np.ones((13, 13))).view(bool)].any()

    def test_two_are_found(self):
        left, right = rectangle(10, 10, 50, 30), rectangle(80, 12, 60, 32)
        shown = found(footage(film(N_FRAMES), left | right))
        assert shown[left | right].all()
        assert shown.mean() < 1.5 * (left | right).mean()

    def test_is_found_between_still_pictures(self):
        """A title is shown for six tenths of the time."""
        pictures = film(N_FRAMES)
        title = pictures[0]
        pictures = [title if k % 10 < 6 else picture for k, picture in enumerate(pictures)]
        assert found(footage(pictures, people=1))[SCREEN].all()

    def test_is_found_with_what_a_blur_has_of_it_around(self):
        frames = [cv2.GaussianBlur(frame, (0, 0), 1.0) for frame in footage(film(N_FRAMES), people=0)]
        noise = np.abs(np.stack(frames).astype(float) - median_of(np.stack(frames))).max(axis=3).mean(axis=0)
        assert not (noise[~found(frames)] > 4).any()

    def test_takes_frames_enough(self):
        frames = list(footage(film(LEAST_FRAMES)))
        assert found(frames).any()
        assert not found(frames[1:]).any()

    @pytest.mark.parametrize("people", [0, 12])
    def test_are_not_people(self, people):
        assert not found(footage([EMPTY] * N_FRAMES, people=people)).any()

    @pytest.mark.parametrize("people", [2, 4, 8])
    @pytest.mark.parametrize("width", [12, 20, 40])
    def test_are_not_people_behind_a_gap(self, width, people):
        """Nothing changes beside a door or between two pillars, but heads and feet are at any height."""
        rng, frames = np.random.default_rng(width), []
        gap = rectangle(80 - width // 2, 0, width, HEIGHT)
        for frame in footage([EMPTY] * N_FRAMES, people=0):
            for _ in range(rng.poisson(people)):
                x, foot = 80 + width * rng.uniform(-0.7, 0.7), 90 + rng.uniform(-12, 12)
                frame[person_mask(x, foot, 24 * rng.normal(1, 0.07)) & gap] = rng.uniform(0, 255, 3)
            frames.append(frame)
        assert not found(frames).any()

    def test_are_not_leaves(self):
        """A round tree, all of which moves."""
        tree = cv2.circle(np.zeros((HEIGHT, WIDTH), np.uint8), (90, 40), 28, 1, -1).astype(bool)
        assert not found(footage(film(N_FRAMES), tree)).any()

    @pytest.mark.parametrize("people", [0, 3])
    def test_are_not_moving_stairs(self, people):
        """Their steps come down by any part of a step from one frame to the next; people ride on them."""
        rng = np.random.default_rng(0)
        rows = np.arange(HEIGHT)[:, None, None]
        is_dark = ((rows - rng.integers(6)) % 6 < 3 for _ in range(N_FRAMES))
        steps = [np.broadcast_to(np.where(dark, 60.0, 150.0), EMPTY.shape) for dark in is_dark]
        stairs = filled([(60, 20), (90, 20), (110, 110), (50, 110)])
        assert not found(footage(steps, stairs, people)).any()

    def test_are_not_lights_around_a_window(self):
        lights = rectangle(60, 14, 60, 40) & ~rectangle(68, 22, 44, 24)
        assert not found(footage(film(N_FRAMES), lights)).any()

    @pytest.mark.parametrize("n_states", [2, 4])
    def test_are_not_signs_and_slides(self, n_states):
        """Before which people are told, see `features.states`."""
        pictures = [EMPTY, *state_images(n_states - 1)]
        assert not found(footage([pictures[k % n_states] for k in range(N_FRAMES)], people=1)).any()

    def test_are_not_what_is_put_down(self):
        frames = list(footage([EMPTY] * 34)) + list(footage([state_images(1)[0]] * 26))
        assert not found(frames).any()

    def test_are_no_whole_view(self):
        """As where a recording shows something else every few seconds."""
        assert not found(footage(film(N_FRAMES), np.ones((HEIGHT, WIDTH), bool))).any()
        assert not found(footage(film(N_FRAMES), rectangle(5, 5, 150, 86))).any()


class TestSegmenter:
    @pytest.fixture(params=[False, True], ids=["for now", "for good"])
    def segmenter(self, request):
        segmenter = Segmenter(RATE, ROI, any_scene=True, person_height=HEIGHTS if request.param else None)
        segmenter.learn(list(footage(film(N_FRAMES))))
        return segmenter

    def test_sees_nobody_on_a_screen_and_who_is_beside_it(self, segmenter):
        person = person_mask(35, 80)
        for frame in footage(film(30, seed=2), people=0):
            assert not segmenter.apply(frame).mask.any()
            frame[person] = (20, 30, 60)
            assert overlap(segmenter.apply(frame).mask, person) > 0.7

    def test_does_not_look_at_the_light_there(self, segmenter):
        image = segmenter.reference_bgr
        brighter = np.where(SCREEN[..., None], np.minimum(image * 1.12, 255), image).astype(np.uint8)
        same, other = (segmenter.apply_again(frame).light for frame in (image, brighter))
        assert (other.local == same.local).all()
        assert (other.brightness == same.brightness).all()

    def test_of_one_camera_sees_nobody_there_either(self):
        """On a screen that was there when its model learnt, and on one that was put up since."""
        for first in (film(N_FRAMES, seed=3), [EMPTY] * N_FRAMES):
            segmenter = Segmenter(RATE, ROI, person_height=HEIGHTS)
            segmenter.learn(list(footage(first, seed=1)))
            later = Segmenter(RATE, ROI, known=segmenter.first, person_height=HEIGHTS)
            later.learn(list(footage(film(N_FRAMES))))
            assert later.empty.films[SCREEN].all()
            for frame in footage(film(10, seed=2), people=0):
                assert not later.apply(frame).mask.any()

    def test_of_one_camera_knows_a_sign_beside_it(self):
        images, screen = state_images(2), rectangle(8, 8, 40, 26)
        first = Segmenter(RATE, ROI, person_height=HEIGHTS)
        first.learn(list(sign_footage(np.arange(N_FRAMES) // 3 % 3, images)))
        later = Segmenter(RATE, ROI, known=first.first, person_height=HEIGHTS)
        shown = film(N_FRAMES + 3)
        frames = list(sign_footage(np.zeros(N_FRAMES, int), images, seed=3)) + [
            next(sign_footage([state], images, people=0)) for state in (0, 1, 2)
        ]
        for frame, picture in zip(frames, shown, strict=True):
            frame[screen] = picture[screen]
        later.learn(frames[:N_FRAMES])
        assert later.empty.films[screen].all()
        for frame in frames[N_FRAMES:]:
            assert later.apply(frame).mask.mean() < 0.01
