"""Shade that wanders over a scene is told from people, and the scene is seen as it is lit."""

import cv2
import numpy as np
import pytest

from features.background import window_step
from features.foreground import Segmenter
from features.images import median_of
from features.parts import LEAST_FRAMES, PART_FRAMES, parts_of
from features.shade import LitScene, lit_scene

SIZE_HW = 120, 160
N = 60
LEFT = 0.55
TALL = 30.0


def ground() -> np.ndarray:
    """(H, W, 3) float32: a paved place, of some colour."""
    rng = np.random.default_rng(0)
    grey = cv2.GaussianBlur(rng.normal(0, 40, SIZE_HW).astype(np.float32), (0, 0), 2)
    return np.clip(150 + grey[..., None] + np.array([-12, 0, 10], np.float32), 60, 230)


def filmed(shades, somebody=None) -> np.ndarray:
    """(n, H, W, 3) uint8: the ground with so much of its light at each pixel (n, H, W), and somebody."""
    rng = np.random.default_rng(1)
    frames = []
    for number, shade in enumerate(shades):
        image = ground() * shade[..., None]
        if somebody is not None:
            somebody(number, image)
        frames.append(np.clip(image + rng.normal(0, 2, image.shape), 0, 255).astype(np.uint8))
    return np.stack(frames)


def edge(positions) -> np.ndarray:
    """(n, H, W): what is left of light where everything to the left of such columns is in shade."""
    columns = np.arange(SIZE_HW[1])
    share = np.clip((columns - np.asarray(positions)[:, None]) / 3 + 0.5, 0, 1)
    return np.broadcast_to((LEFT + (1 - LEFT) * share)[:, None], (len(positions), *SIZE_HW))


def lit() -> np.ndarray:
    return np.ones((N, *SIZE_HW))


def in_shirt_and_trousers(shirt, trousers, frames, left=70):
    """Somebody who stands there in some frames."""

    def put(number, image):
        if number in frames:
            image[50:63, left : left + 10] = shirt
            image[63:80, left : left + 10] = trousers

    return put


def of(frames, former=None) -> LitScene | None:
    return lit_scene(median_of(frames), parts_of(frames), former)


def test_parts_are_of_six_frames_and_there_are_five_or_none():
    assert [len(part) for part in parts_of(np.arange(LEAST_FRAMES + 1))] == [7, 6, 6, 6, 6]
    assert parts_of(np.arange(LEAST_FRAMES - 1)) == []
    assert LEAST_FRAMES == 5 * PART_FRAMES


@pytest.mark.parametrize("ways", [(40, 100), (100, 40)], ids=["falls", "goes"])
def test_what_is_lit_at_any_time_is_seen_lit(ways):
    frames = filmed(edge(np.linspace(*ways, N)))
    found = of(frames)
    middle = found.image_bgr[:, 50:90].astype(float)
    assert np.abs(median_of(frames)[:, 50:90] - ground()[:, 50:90]).mean() > 20
    assert np.abs(middle - ground()[:, 50:90]).mean() < 3
    assert found.shade.where[:, 50:90].mean() > 0.95
    assert not found.shade.where[:, :30].any()  # always in shade
    assert not found.shade.where[:, 110:].any()  # never
    assert np.array_equal(found.image_bgr[:, :30], median_of(frames)[:, :30])


def test_frames_are_seen_without_shade():
    frames = filmed(edge(np.linspace(40, 100, N)))
    seen = of(frames).without_shade(frames)
    assert np.abs(seen[:, :, 50:90].astype(float) - ground()[:, 50:90]).mean() < 3
    assert np.array_equal(seen[:, :, :30], frames[:, :, :30])


@pytest.mark.parametrize(
    ("shirt", "trousers"),
    [((200, 212, 222), (40, 40, 60)), ((60, 60, 160), (60, 64, 68)), ((25,) * 3, (20,) * 3)],
    ids=["white", "red", "black"],
)
def test_who_stands_there_for_a_part_of_the_time_is_no_light(shirt, trousers):
    for there in (range(20), range(15, 43), range(40, 60)):
        assert of(filmed(lit(), in_shirt_and_trousers(shirt, trousers, there))) is None


def test_who_stands_in_the_way_of_shade_is_left_out_of_the_scene():
    someone = in_shirt_and_trousers((60, 60, 190), (200, 60, 40), range(24), left=120)
    found = of(filmed(edge(np.linspace(40, 100, N)), someone))
    assert found is not None
    assert not found.shade.where[52:78, 122:128].any()
    assert np.abs(found.image_bgr[50:80, 120:130].astype(float) - ground()[50:80, 120:130]).mean() < 3


def test_no_light_is_found_where_nothing_changes_or_frames_are_few():
    assert of(filmed(lit())) is None
    assert of(filmed(edge(np.linspace(40, 100, LEAST_FRAMES - 1)))) is None


def test_shade_that_falls_and_goes_for_all_is_no_shade_that_wanders():
    """It is another light, which is evened out: here half of the frames are of it by mistake."""
    frames = filmed(edge(np.where(np.arange(N) % 12 < 5, 300, -10)))  # lit in most frames of each part
    assert of(frames) is None


def test_what_was_lit_before_is_known_while_shade_wanders_on():
    before = of(filmed(edge(np.linspace(30, 60, N))))
    frames = filmed(edge(np.linspace(60, 100, N)))
    alone, knowing = of(frames), of(frames, before)
    assert np.abs(alone.image_bgr[:, 35:55].astype(float) - ground()[:, 35:55]).mean() > 40
    assert np.abs(knowing.image_bgr[:, 35:55].astype(float) - ground()[:, 35:55]).mean() < 4
    assert knowing.shade.where[:, 35:55].mean() > 0.95
    assert of(filmed(lit()), before) is None


def test_where_shade_was_before_it_may_come_again():
    """Also where all of the footage since is lit, or as bright as that was."""
    before = of(filmed(edge(np.linspace(30, 60, N))))
    knowing = of(filmed(edge(np.linspace(20, 45, N))), before)
    assert knowing.shade.where[:, 50:55].mean() > 0.95


def test_is_widened_by_what_comes_to_be_lit_and_else_stays():
    frames = filmed(edge(np.linspace(60, 100, N)))
    found = of(frames)
    assert found.widened(frames[-PART_FRAMES:]) is found
    later = filmed(edge(np.full(PART_FRAMES, 45.0)))
    wider = found.widened(later)
    assert np.abs(wider.image_bgr[:, 50:58].astype(float) - ground()[:, 50:58]).mean() < 3
    assert wider.shade.where[:, 50:58].mean() > 0.95
    assert not wider.shade.where[:, :38].any()


def passing(number, image):
    """Somebody in red and blue who walks through the place."""
    left = 10 + 7 * number % 130
    image[60:72, left : left + 9] = (50, 40, 200)
    image[72:90, left : left + 9] = (180, 70, 40)


def mistaken_and_missed(segmenter, frames, first=0) -> tuple[float, float]:
    """Of frames from one on: what share of the picture is foreground by mistake, and of the passer-by what
    share is none."""
    wrong, missed = [], []
    for number, frame in enumerate(frames):
        mask = segmenter.apply(frame).mask
        box = np.zeros(SIZE_HW, np.uint8)
        left = 10 + 7 * number % 130
        box[60:90, left : left + 9] = 1
        if number >= first:
            wrong.append((mask & (cv2.dilate(box, np.ones((5, 5), np.uint8)) == 0)).mean())
            missed.append(1 - mask[box == 1].mean())
    return float(np.mean(wrong)), float(np.mean(missed))


def segmenter_of(rate: float) -> Segmenter:
    tall = np.full(SIZE_HW, TALL, np.float32)
    return Segmenter(rate, np.ones(SIZE_HW, bool), any_scene=True, person_height=tall)


def test_people_are_seen_before_shade_that_wanders_and_it_is_not():
    frames = filmed(edge(np.linspace(40, 100, N)), passing)
    segmenter = segmenter_of(0.05)
    segmenter.learn(frames, 20.0 * N)
    assert segmenter.empty.shade is not None
    wrong, missed = mistaken_and_missed(segmenter, frames)
    assert wrong < 0.004  # .015 if it was not told
    assert missed < 0.15


def test_a_camera_follows_shade_on_its_way():
    """Of a camera the scene is learnt anew every ten minutes: shade goes on meanwhile."""
    rate = 0.05  # so each frame is kept to learn from
    assert window_step(rate) == 1
    frames = filmed(edge(np.linspace(70, 40, 3 * N)), passing)
    segmenter = segmenter_of(rate)
    wrong, missed = mistaken_and_missed(segmenter, frames, first=2 * N)
    assert segmenter.empty.shade is not None
    assert wrong < 0.016  # .032 if it was not followed, .046 if it was not told
    assert missed < 0.1
