from copy import deepcopy

import cv2
import numpy as np
import pytest

from features.foreground import Segmenter
from features.images import median_of, noise_of
from features.light import LightMeter
from features.states import other_states
from tests.features.test_foreground import HEIGHT, PERSON, ROI, SCENE, WIDTH, overlap, person_mask

RATE = 10.0
N_FRAMES = 60
#: Where the sign is, or the door: 70 x 44 pixels, 1.6 squared heights of a person of 44.
PLACE = np.zeros((HEIGHT, WIDTH), bool)
PLACE[20:64, 60:130] = True
HEIGHTS = np.full((HEIGHT, WIDTH), PERSON, np.float32)
EMPTY = SCENE[30 : 30 + HEIGHT, 30 : 30 + WIDTH]


def state_images(n, seed=0):
    """Pictures (n, H, W, 3) float32 of the place, of coarse patches of any colour."""
    rng = np.random.default_rng([seed, 3])
    patches = rng.uniform(20, 235, (n, 3, 4, 3)).astype(np.float32)
    return [cv2.resize(one, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST) for one in patches]


def footage(states, images=(), place=PLACE, people=2, seed=0):
    """Frames (n, H, W, 3) uint8 with the place in the state of each frame, 0 as the scene is, and people
    before it who walk, each in clothes of some colour."""
    rng = np.random.default_rng(seed)
    for state in states:
        image = EMPTY.copy()
        if state:
            image[place] = images[state - 1][place]
        for _ in range(people):
            image[person_mask(rng.uniform(5, 155), rng.uniform(60, 118))] = rng.uniform(0, 255, 3)
        yield (image + rng.normal(0, 2, image.shape)).clip(0, 255).astype(np.uint8)


def found(frames):
    """The scene and its other states in frames, as the background learns them, and the noise."""
    frames = np.stack(list(frames))
    image = median_of(frames)
    noise = noise_of(frames, image)
    return image, other_states(frames, image, noise, HEIGHTS), noise


def nearest(image, images):
    """Which of images is nearest to one in the place, and how far that is, grey levels."""
    far = [np.abs(image[PLACE].astype(float) - other[PLACE]).mean() for other in images]
    return int(np.argmin(far)), min(far)


class TestOtherStates:
    @pytest.mark.parametrize("people", [0, 2])
    @pytest.mark.parametrize("n_states", [2, 4])
    def test_are_those_of_a_sign(self, n_states, people):
        """Of as many frames each: the median is a mixture of them, and the noise of their difference."""
        images = state_images(n_states - 1)
        states = np.repeat(np.arange(N_FRAMES // 3) % n_states, 3)
        scene, others, noise = found(footage(states, images, people=people))
        matches = [nearest(one, [EMPTY, *images]) for one in (scene, *others)]
        assert sorted(number for number, _ in matches) == list(range(n_states))
        assert max(far for _, far in matches) < 3
        assert np.median(noise[PLACE]) < 5
        for other in others:
            assert (other == scene)[~cv2.dilate(PLACE.view(np.uint8), np.ones((7, 7))).view(bool)].all()

    @pytest.mark.parametrize("numbers", [(2, 3), (3, 2)])
    def test_are_each_places_own(self, numbers):
        """Elsewhere a place is in its first state, the commoner of two that were as common."""
        lower = np.zeros_like(PLACE)
        lower[70:112, 10:60] = True
        rng = np.random.default_rng(5)
        places = PLACE, lower
        images = [state_images(number - 1, seed) for seed, number in enumerate(numbers)]
        states = [rng.permutation(np.arange(N_FRAMES) % number) for number in numbers]
        frames = list(footage(states[0], images[0], people=0))
        for frame, state in zip(frames, states[1], strict=True):
            if state:
                frame[lower] = images[1][state - 1][lower]
        scene, others, _ = found(frames)
        assert len(others) == 2
        for place, number in zip(places, numbers, strict=True):
            differ = [np.abs(other[place].astype(int) - scene[place]).max(axis=1) > 20 for other in others]
            assert differ[0].mean() > 0.8
            assert differ[1].mean() > 0.8 if number == 3 else (others[1][place] == scene[place]).all()

    @pytest.mark.parametrize("n_visits", [1, 2, 3])
    def test_come_again_and_again(self, n_visits):
        """What is put there, taken away, and put there again may be anything."""
        states = np.zeros(N_FRAMES, int)
        for visit in range(n_visits):
            states[8 + 17 * visit : 16 + 17 * visit] = 1
        _, others, _ = found(footage(states, state_images(1)))
        assert len(others) == (n_visits == 3)

    def test_are_seen_in_a_tenth_of_the_frames(self):
        states = np.zeros(N_FRAMES, int)
        states[[10, 11, 30, 50]] = 1
        assert not found(footage(states, state_images(1), people=0))[1]
        states[[31, 51]] = 1
        assert found(footage(states, state_images(1), people=0))[1]

    def test_are_not_of_one_who_comes_back_to_a_seat(self):
        """As tall as a standing person, in the same clothes and pose in every other frame."""
        seat = person_mask(90, 70)
        states = np.arange(N_FRAMES) // 4 % 2
        assert not found(footage(states, state_images(1), place=seat))[1]

    @pytest.mark.parametrize(("width", "is_one"), [(36, False), (44, True)])
    def test_are_of_no_place_as_small_as_one_person(self, width, is_one):
        """Of .6 or .7 squared heights."""
        place = np.zeros_like(PLACE)
        place[20:52, 60 : 60 + width] = True
        others = found(footage(np.arange(N_FRAMES) // 4 % 2, state_images(1), place=place, people=0))[1]
        assert len(others) == is_one

    def test_are_none_of_what_blinks_each_by_itself(self):
        """As windows of a house at night do: no two frames are alike."""
        rng, frames = np.random.default_rng(4), []
        for frame in footage(np.zeros(N_FRAMES, int), people=0):
            windows = (rng.random((11, 17)) < 0.5).repeat(4, axis=0).repeat(4, axis=1)
            frame[20:64, 60:128][windows] = 250
            frames.append(frame)
        assert not found(frames)[1]

    def test_may_differ_in_one_colour_alone(self):
        image = EMPTY.copy()
        image[..., 1] = np.where(image[..., 1] > 128, image[..., 1] - 90, image[..., 1] + 90)
        assert len(found(footage(np.arange(N_FRAMES) // 4 % 2, [image], people=0))[1]) == 1

    def test_are_not_of_people_in_black(self):
        rng = np.random.default_rng(2)
        frames = []
        for frame in footage(np.zeros(N_FRAMES, int), people=0):
            for _ in range(rng.integers(0, 6)):
                frame[person_mask(rng.uniform(50, 110), rng.uniform(60, 118))] = 20
            frames.append(frame)
        assert not found(frames)[1]

    @pytest.mark.parametrize(("gain", "n_others"), [(0.6, 0), (1.6, 0), (0.3, 1)])
    def test_are_not_of_a_lamp_that_flickers(self, gain, n_others):
        """A shutter or a curtain makes more of a difference."""
        images = [np.minimum(gain * EMPTY, 250)]
        assert len(found(footage(np.arange(N_FRAMES) // 4 % 2, images))[1]) == n_others

    @pytest.mark.parametrize("size", [(3, 3), (3, 8), (8, 3), (4, 4), (7, 7)])
    def test_of_a_tiny_picture_are_those_of_its_blocks(self, size):
        """Of one, or of none if it is smaller than that."""
        frames = np.zeros((N_FRAMES, *size, 3), np.uint8)
        frames[::2] = 200
        others = other_states(frames, frames[1], np.zeros(size), np.ones(size, np.float32))
        assert len(others) == (min(size) > 3)


#: Of a sign that changes in every second frame.
STATES = np.arange(N_FRAMES) // 2 % 3


def learnt_of_sign(any_scene):
    segmenter = Segmenter(RATE, ROI, any_scene=any_scene, person_height=HEIGHTS)
    segmenter.learn(list(footage(STATES, state_images(2))))
    return segmenter


@pytest.fixture(scope="module", params=[True, False], ids=["any scene", "one camera"])
def learnt(request):
    """One that learnt from every fifth frame of a sign that changes in every second one."""
    return learnt_of_sign(request.param)


@pytest.fixture(scope="module")
def first():
    """The scene as one learnt it that was made for one camera."""
    return learnt_of_sign(False).first


class TestSegmenter:
    @pytest.fixture
    def segmenter(self, learnt):
        """The same for each test, which has seen nothing else."""
        return deepcopy(learnt)

    def test_shows_people_before_a_sign_in_each_of_its_states(self, segmenter):
        images = state_images(2)
        person = person_mask(95, 80)
        for state in np.arange(40) // 12 % 3:
            frame = next(footage([state], images, people=0))
            found = segmenter.apply(frame)
            assert found.flags == ()
            assert found.mask.mean() < 0.005
            frame[person] = (20, 160, 40)
            assert overlap(segmenter.in_between(frame).mask, person) > 0.8

    def test_gives_the_picture_as_the_first_state_would_have_it(self, segmenter):
        first = segmenter.reference_bgr
        images = state_images(2)
        person = person_mask(95, 80)
        for state in (0, 1, 2):
            frame = next(footage([state], images, people=0))
            frame[person] = (20, 160, 40)
            shown = segmenter.apply(frame).image_bgr
            assert (shown[person] == frame[person]).mean() > 0.9
            assert np.abs(shown[PLACE & ~person].astype(int) - first[PLACE & ~person]).mean() < 4

    def test_shows_a_sign_in_another_state(self, segmenter):
        frame = next(footage([1], state_images(1, seed=9), people=0))
        assert segmenter.apply(frame).mask[PLACE].mean() > 0.7

    def test_in_another_light_they_are_known(self, segmenter):
        images = state_images(2)
        for gain in np.linspace(1, 0.6, 240):
            frame = next(footage([int(30 * gain) % 3], images, people=0)) * gain
            found = segmenter.apply(frame.astype(np.uint8))
            assert found.mask.mean() < 0.01

    def test_the_light_is_not_looked_at_there(self, segmenter):
        """A frame that is brighter by a drift there, and there alone, is in the same light."""
        image = segmenter.reference_bgr
        changing = segmenter.empty.changing
        brighter = np.where(changing[..., None], np.minimum(image * 1.12, 255), image).astype(np.uint8)
        same, other = (segmenter.apply_again(frame).light for frame in (image, brighter))
        assert (other.local == same.local).all()
        assert (other.brightness == same.brightness).all()

    def test_the_gain_is_not_that_of_what_is_left_out(self):
        """A lamp over three fifths of the picture."""
        place = np.zeros_like(PLACE)
        place[:, 64:] = True
        frame = np.where(place[..., None], EMPTY * 0.6, EMPTY).astype(np.uint8)
        light = LightMeter(EMPTY.astype(np.uint8), leave_out=place).measure(frame)
        assert light.brightness == pytest.approx(np.ones(3), abs=0.02)

    @pytest.mark.parametrize("states", [np.zeros(40, int), np.ones(40, int), np.arange(40) // 4 % 3])
    def test_a_model_knows_those_of_its_training(self, first, states):
        """Whichever it is in, in later footage and in the first frame of a camera."""
        images = state_images(2)
        later = Segmenter(RATE, ROI, known=deepcopy(first), person_height=HEIGHTS)
        at_once = Segmenter(RATE, ROI, known=deepcopy(first), person_height=HEIGHTS)
        later.learn(list(footage(states, images, seed=3)))
        for state in (0, 1, 2):
            frame = next(footage([state], images, people=0))
            assert later.apply(frame).mask.mean() < 0.01
            assert at_once.apply(frame).mask.mean() < 0.01

    def test_knows_them_at_another_size_and_without_colours(self, segmenter):
        empty = segmenter.empty
        for other in (empty.resized((80, 60)), empty.in_grey()):
            assert len(other.others_bgr) == 2
            assert other.others_bgr[0].shape == other.image_bgr.shape
            assert other.changing.mean() == pytest.approx(empty.changing.mean(), abs=0.05)

    def test_without_person_heights_knows_one_state(self):
        segmenter = Segmenter(RATE, ROI, any_scene=True)
        segmenter.learn(list(footage(STATES, state_images(2))))
        assert segmenter.empty.changing is None
