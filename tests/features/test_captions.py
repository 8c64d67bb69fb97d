import cv2
import numpy as np
import pytest

from features.captions import LEAST_FRAMES, captions
from features.foreground import Segmenter
from features.images import median_of

WIDTH, HEIGHT = 200, 150
LETTERS = cv2.FONT_HERSHEY_SIMPLEX, 0.45, 1  # font, scale, thickness


def footage(n=60, every_s=1.3, place=(10, 12), seed=0):
    """Frames (n, H, W, 3) uint8 of people who walk, also along the upper edge, with a clock at a place."""
    rng = np.random.default_rng(seed)
    scene = cv2.resize(rng.uniform(60, 190, (12, 16, 3)).astype(np.float32), (WIDTH, HEIGHT))
    frames = []
    for k in range(n):
        image = scene.copy()
        for person in range(4):
            x, y = int(7 * k * (1 + person / 3) + 50 * person) % (WIDTH + 20) - 20, 2 + 36 * person
            image[y : y + 30, max(0, x) : max(0, x + 10)] = rng.uniform(0, 255, 3)
            image[y + 12 : y + 30, max(0, x + 2) : max(0, x + 6)] = rng.uniform(0, 90, 3)
        image = (image + rng.normal(0, 2, image.shape)).clip(0, 255).astype(np.uint8)
        if place:
            seconds = int(every_s * k)
            text = f"08:{seconds // 60:02d}:{seconds % 60:02d}"
            cv2.putText(image, text, place, *LETTERS[:2], (255, 255, 255), LETTERS[2], cv2.LINE_AA)
        frames.append(image)
    return np.stack(frames)


def found(frames):
    return captions(frames, median_of(frames))


@pytest.mark.parametrize("place", [(10, 12), (120, 12), (120, 146)])
@pytest.mark.parametrize("every_s", [0.7, 1.3, 20.0, 60.0])
def test_a_clock_is_found_with_all_of_its_digits(place, every_s):
    is_caption = found(footage(every_s=every_s, place=place))
    x, y = place
    assert is_caption[y - 8 : y, x + 24 : x + 62].all()
    rows, columns = np.nonzero(is_caption)
    text_wh, _ = cv2.getTextSize("08:00:00", *LETTERS)  # OpenCV 4 has wider letters than 5
    tall, margin = np.ptp(rows) + 1, 8
    assert tall <= text_wh[1] + margin
    assert columns.min() >= x - margin - 6 * tall
    assert columns.max() <= x + text_wh[0] + margin + 6 * tall
    assert not is_caption[HEIGHT // 5 : -HEIGHT // 5].any()


@pytest.mark.parametrize("seed", range(3))
def test_people_are_none(seed):
    assert not found(footage(place=None, seed=seed)).any()


@pytest.mark.parametrize(("y", "seed"), [(29, 0), (40, 0), (75, 0), (75, 1), (75, 2), (129, 0)])
def test_digits_further_inside_are_none(y, seed):
    """Nor those that reach there from an edge: who writes on a wall writes anywhere."""
    assert not found(footage(place=(60, y), seed=seed)).any()


def test_what_stands_before_the_digits_that_change_belongs_to_them():
    assert found(footage(every_s=0.7, place=(80, 12)))[4:12, 60:142].all()


def test_a_lamp_that_blinks_is_no_text():
    frames = footage(place=None)
    frames[:, :24, 150:180] = 60
    frames[::3, 10, 160] = 255
    assert not found(frames)[:, 140:190].any()


@pytest.mark.parametrize("seed", range(3))
def test_who_stands_still_while_others_pass_is_none(seed):
    frames = footage(place=None, seed=seed)
    stripes = np.where(np.arange(14)[:, None, None] % 8 < 4, 20, 230)
    behind = frames.copy()
    frames[:28, 4:18, 90:104] = stripes
    passes = np.abs(behind[:28].astype(int) - np.median(behind, axis=0)).max(axis=3) > 40
    frames[:28][passes] = behind[:28][passes]
    assert passes[:, 4:18, 90:104].any()
    assert not found(frames).any()


def test_of_few_frames_nothing_is_told():
    frames = footage(LEAST_FRAMES, every_s=5.0)  # the last digit is 0 or 5
    assert found(frames).any()
    assert not found(frames[1:]).any()


@pytest.mark.parametrize("size", [(2, 50), (10, 50), (21, 50), (50, 2), (50, 3)])
def test_of_few_pixels_nothing_is_told(size):
    states = np.random.default_rng(0).integers(0, 256, (3, *size, 3), dtype=np.uint8)
    assert not found(states[np.arange(60) % 3]).any()


def test_nobody_is_where_the_clock_runs():
    frames = footage()
    frames[::4, 20:] = 0.8 * frames[::4, 20:]  # of the light, which a clock is not seen in
    here = np.s_[2:12, 8:75]
    mask = {}
    for any_scene in (False, True):
        segmenter = Segmenter(1.0, np.ones((HEIGHT, WIDTH), bool), any_scene)
        segmenter.learn(frames[::2])
        mask[any_scene] = np.stack([segmenter.apply(frame).mask for frame in frames[1::2]])
    assert mask[False][:, *here].mean() > 0.05
    assert not mask[True][:, *here].any()
    assert mask[True].mean() > 0.02
