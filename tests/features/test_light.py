from dataclasses import replace

import cv2
import numpy as np
import pytest

from features.light import (
    COLUMNS,
    ROWS,
    Light,
    LightMeter,
    coloured_alike,
    in_one_light,
    showing_something,
    telling,
    unevenness,
    unrepeated,
)
from features.tones import Haze

WIDTH, HEIGHT = 160, 120


def empty_scene():
    """Smooth tiles with noise of 2 grey levels, (H, W, 3) float64."""
    rng = np.random.default_rng(0)
    scene = cv2.resize(rng.uniform(70, 150, (8, 10, 3)), (WIDTH, HEIGHT))
    return scene + rng.normal(0, 2, scene.shape)


def seen(gain=1.0, people=()):
    """A frame (H, W, 3) uint8 of it in some light, with dark people in boxes (left, top, width, height)."""
    scene = empty_scene()
    for left, top, width, height in people:
        scene[top : top + height, left : left + width] = 20
    return np.clip(scene * gain, 0, 255).round().astype(np.uint8)


@pytest.fixture
def meter():
    return LightMeter(seen())


PEOPLE = [(30, 20, 15, 60), (90, 50, 18, 65)]


class TestMeter:
    def test_gain_of_each_channel_despite_people(self, meter):
        light = meter.measure(seen(np.array([0.8, 0.9, 1.1]), PEOPLE))
        assert light.gains == pytest.approx([0.8, 0.9, 1.1], abs=0.02)
        assert light.local == pytest.approx(np.ones((ROWS, COLUMNS)), abs=0.03)

    @pytest.mark.parametrize("level", [3, 255])
    def test_gain_of_what_is_dark_or_saturated_is_one(self, meter, level):
        assert meter.measure(np.full((HEIGHT, WIDTH, 3), level, np.uint8)).gains.tolist() == [1, 1, 1]

    def test_local_light_passes_over_people(self, meter):
        field = np.ones((HEIGHT, WIDTH, 1))
        field[:, -40:] = 1.15
        light = meter.measure(seen(field, PEOPLE))
        assert light.gains == pytest.approx([1, 1, 1], abs=0.02)
        assert light.local[:, : COLUMNS * 3 // 4 - 1] == pytest.approx(1, abs=0.03)
        assert light.local[:, COLUMNS * 3 // 4 + 1 :] == pytest.approx(1.13, abs=0.03)

    @pytest.mark.parametrize("gain", [0.4, 0.6, 1.5])
    def test_a_lamp_that_lights_a_part_is_told_by_the_texture_that_stays(self, meter, gain):
        field = np.ones((HEIGHT, WIDTH, 1))
        field[:, -60:] = gain
        frame = seen(field, PEOPLE)
        light = meter.measure(frame)
        assert light.gains == pytest.approx([1, 1, 1], abs=0.04)
        assert light.local[:, : COLUMNS // 2] == pytest.approx(1, abs=0.05)
        assert light.local[:, -5:] == pytest.approx(gain, rel=0.06)
        assert (np.abs(light.other[:, -5:] - gain) < 0.1).all()
        assert np.abs(light.evened_out(frame)[:, -50:] - seen()[:, -50:].astype(int)).mean() < 3

    def test_who_fills_blocks_stands_in_the_light_around(self, meter):
        field = np.ones((HEIGHT, WIDTH, 1))
        field[:, -80:] = 0.5
        light = meter.measure(seen(field, [(110, 30, 20, 60)]))
        assert light.local[:, -6:] == pytest.approx(0.5, abs=0.05)

    def test_what_has_several_states_tells_nothing(self):
        """A sign that is brighter by as much as light may drift, and is most of the picture."""
        sign = np.arange(WIDTH) < 100
        meter = LightMeter(seen(), leave_out=np.tile(sign, (HEIGHT, 1)))
        light = meter.measure(seen(np.where(sign, 1.1, 0.9)[None, :, None]))
        assert light.gains == pytest.approx([0.9] * 3, abs=0.02)
        assert light.local == pytest.approx(np.ones((ROWS, COLUMNS)), abs=0.03)

    @pytest.mark.parametrize("width", [10, 20, 40])
    def test_what_is_beyond_a_drift_at_the_edge_of_a_drift_is_light_too(self, meter, width):
        """However few blocks of the shadow of a cloud are so dark that people might hide them."""
        field = np.ones((HEIGHT, WIDTH, 1))
        field[:, -80:] = 0.82
        field[:60, -width:] = 0.65
        frame = seen(field)
        evened = meter.measure(frame).evened_out(frame).astype(int)
        assert np.abs(evened[:55, -width:] - seen()[:55, -width:]).mean() < 6

    @pytest.mark.parametrize("noise", [0, 2])
    @pytest.mark.parametrize("level", [35, 220])
    def test_what_hides_as_large_a_part_is_no_light(self, meter, level, noise):
        frame = seen()
        frame[:, -60:] = level + np.random.default_rng(3).normal(0, noise, (HEIGHT, 60, 1)).round()
        light = meter.measure(frame)
        assert light.other is None
        assert light.local == pytest.approx(np.ones((ROWS, COLUMNS)), abs=0.1)

    def test_a_scene_without_texture_tells_no_local_light(self):
        frame = np.full((HEIGHT, WIDTH, 3), 100, np.uint8)
        meter = LightMeter(frame)
        frame[:, -60:] = 40
        assert meter.measure(frame).other is None

    def test_what_is_hidden_or_changed_much_keeps_its_light(self, meter):
        assert (meter.measure(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).local == 1).all()

    @pytest.mark.parametrize(
        "tone",
        [lambda x: 0.8 * x + 38, lambda x: 255 * (x / 255) ** 0.85, lambda x: 255 * (x / 255) ** 2],
    )
    def test_haze_and_another_contrast_are_evened_out_despite_people(self, meter, tone):
        frame = seen(1.0, PEOPLE)
        light = meter.measure(tone(frame.astype(float)).round().astype(np.uint8))
        assert light.tones is not None
        assert light.gains.tolist() == [1, 1, 1]
        assert light.local == pytest.approx(np.ones((ROWS, COLUMNS)), abs=0.03)
        assert 128 * light.brightness == pytest.approx([tone(128)] * 3, abs=2)
        evened = light.evened_out(tone(frame.astype(float)).round().astype(np.uint8)).astype(int)
        is_empty = (frame == seen()).all(axis=-1)
        assert np.abs(evened - frame)[is_empty].mean() < 2
        assert np.abs(light.cast_on(frame) - tone(frame.astype(float)))[is_empty].mean() < 2

    @pytest.mark.parametrize("nearest", [0.9, 0.6])
    def test_haze_that_thickens_with_the_distance_is_evened_out_despite_people(self, meter, nearest):
        passes = np.linspace(0.3, nearest, HEIGHT)[:, None, None]
        frame = seen(1.0, PEOPLE)
        hazy = (190 + (frame.astype(float) - 190) * passes).round().astype(np.uint8)
        light = meter.measure(hazy)
        assert isinstance(light.tones, Haze)
        assert light.local == pytest.approx(np.ones((ROWS, COLUMNS)), abs=0.04)
        is_empty = (frame == seen()).all(axis=-1)
        assert np.abs(light.evened_out(hazy).astype(int) - frame)[is_empty].mean() < 3
        assert np.abs(light.cast_on(frame).astype(int) - hazy)[is_empty].mean() < 2
        black = light.black_at(np.arange(0, WIDTH * HEIGHT, WIDTH))
        assert black[:, 0] == pytest.approx(190 * (1 - passes[:, 0, 0]), abs=12)

    @pytest.mark.parametrize("gain", [1.0, 0.6, 1.3])
    @pytest.mark.parametrize("blur", [1.2, 2.5])
    def test_out_of_focus_a_frame_is_compared_with_a_scene_that_is_as_blurred(self, blur, gain):
        scene, frame = (
            cv2.GaussianBlur(image, (0, 0), 0.5) for image in (self.tiled(), self.tiled(PEOPLE))
        )
        frame = np.clip(gain * cv2.GaussianBlur(frame, (0, 0), blur), 0, 255).round().astype(np.uint8)
        light = LightMeter(scene).measure(frame)
        assert light.blur == pytest.approx(blur, rel=0.25)
        assert light.gains == pytest.approx([gain] * 3, rel=0.05)
        is_empty = (self.tiled() == self.tiled(PEOPLE)).all(axis=-1)
        is_empty = cv2.erode(is_empty.astype(np.uint8), np.ones((13, 13))).astype(bool)
        assert np.abs(light.evened_out(frame).astype(int) - light.empty_bgr)[is_empty].mean() < 4
        assert np.abs(light.evened_out(frame).astype(int) - scene)[is_empty].mean() > 5

    def tiled(self, people=()):
        """A scene (H, W, 3) uint8 of many edges, with dark people in boxes."""
        rng = np.random.default_rng(0)
        tiles = rng.uniform(40, 190, (12, 16, 3))
        image = cv2.resize(tiles, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST)
        for left, top, width, height in people:
            image[top : top + height, left : left + width] = 20
        return image.astype(np.uint8)

    def test_in_another_light_nothing_is_out_of_focus(self):
        scene, frame = self.tiled(), self.tiled(PEOPLE).astype(float)
        meter = LightMeter(scene)
        lit = [0.5 * frame, 1.6 * frame, 0.3 * frame + 130, 255 * (frame / 255) ** 2]
        dark = np.ones((HEIGHT, WIDTH, 1))
        dark[:, 50:] = 0.5
        for image in (*lit, dark * frame):
            light = meter.measure(np.clip(image, 0, 255).round().astype(np.uint8))
            assert light.blur == 0
            assert not light.is_sharper

    @pytest.mark.parametrize("gain", [0.7, 1.2])
    def test_a_frame_is_sharper_than_a_scene_that_was_out_of_focus(self, gain):
        meter = LightMeter(cv2.GaussianBlur(self.tiled(), (0, 0), 2.0))
        frame = np.clip(gain * self.tiled(PEOPLE), 0, 255).astype(np.uint8)
        assert meter.measure(frame).is_sharper
        assert not meter.measure(cv2.GaussianBlur(frame, (0, 0), 2.0)).is_sharper

    @pytest.mark.parametrize(("first", "periods"), [(0.75, 1.0), (0.5, 1.5), (1.5, 2.0)])
    def test_bands_of_a_lamp_that_flickers_are_no_curve(self, first, periods):
        """Though more light falls where the scene is brighter here and there, as another contrast has it."""
        scene = empty_scene() + np.linspace(60, -50, HEIGHT)[:, None, None]
        phases = np.pi * np.linspace(first, first + periods, HEIGHT)
        bands = 1 + 0.08 * np.cos(phases)[:, None, None]
        frame = (scene * bands).clip(0, 255).round().astype(np.uint8)
        light = LightMeter(scene.round().astype(np.uint8)).measure(frame)
        assert light.tones is None
        assert np.abs(light.evened_out(frame) - scene).mean() < 2

    def test_in_haze_each_part_of_the_image_may_be_brighter(self, meter):
        field = np.ones((HEIGHT, WIDTH, 1))
        field[:, -40:] = 1.15
        light = meter.measure((0.8 * seen(field) + 38).round().astype(np.uint8))
        assert light.tones is not None
        assert light.local[:, : COLUMNS * 3 // 4 - 1] == pytest.approx(1, abs=0.04)
        assert light.local[:, COLUMNS * 3 // 4 + 1 :] == pytest.approx(1.13, abs=0.04)

    @pytest.mark.parametrize("gain", [0.12, 0.2, 0.5, 1.0, 1.3])
    def test_grey_pictures_of_a_coloured_scene_and_the_other_way_round(self, meter, gain):
        """In any light, but not where nearly all is grey."""
        coloured = seen(gain, PEOPLE)
        grey = cv2.merge([coloured[..., 1]] * 3)
        of_grey = LightMeter(cv2.merge([seen()[..., 1]] * 3))
        assert meter.measure(grey).is_recoloured
        assert of_grey.measure(coloured).is_recoloured
        assert not meter.measure(coloured).is_recoloured
        assert not of_grey.measure(grey).is_recoloured
        grey[:10] = coloured[:10]
        assert not meter.measure(grey).is_recoloured
        grey[4:10] = grey[4:10, :, :1]
        assert not of_grey.measure(grey).is_recoloured

    def test_noise_in_excess_of_the_usual_despite_people_and_light(self):
        rng = np.random.default_rng(1)

        def noisy(spread, *view):
            frame = seen(*view)
            return np.clip(frame + rng.normal(0, spread, frame.shape), 0, 255).astype(np.uint8)

        meter = LightMeter(seen(), [noisy(2) for _ in range(8)])
        assert meter.measure(noisy(2, 1.0, PEOPLE)).excess_noise == 0
        # of the mean of three channels, weighed alike, .674 standard deviations are the median deviation
        expected = np.sqrt((10 * 0.674) ** 2 - (1.5 * 2 * 0.674) ** 2) / np.sqrt(3)
        for gain in (1.0, 0.7):
            found = meter.measure(noisy(10 * gain, gain, PEOPLE)).excess_noise
            assert found == pytest.approx(expected, rel=0.15)
        assert LightMeter(seen()).measure(noisy(10)).excess_noise == 0

    def test_a_third_of_the_scene_full_of_people_is_no_noise(self):
        rng = np.random.default_rng(2)
        frames = [np.clip(seen() + rng.normal(0, 2, (HEIGHT, WIDTH, 3)), 0, 255).astype(np.uint8)] * 3
        crowd = frames[0].copy()
        for left in range(0, WIDTH, 16):
            crowd[:, left : left + 5] = rng.integers(10, 240, (1, 1, 3))
        assert LightMeter(seen(), frames).measure(crowd).excess_noise == 0

    @pytest.mark.parametrize("shape", [(32, 32, 3), (40, 500, 3)])
    def test_of_frames_of_any_shape(self, shape):
        frame = np.full(shape, 100, np.uint8)
        light = LightMeter(frame).measure(frame // 2)
        assert light.gains.tolist() == [0.5, 0.5, 0.5]
        assert light.factors.shape == shape


class TestLight:
    FRAME = np.full((HEIGHT, WIDTH, 3), (50, 100, 200), np.uint8)

    def light(self, gains, local=1.0, empty=FRAME):
        local = np.full((ROWS, COLUMNS), 1.0, np.float32) * np.float32(local)
        return Light(np.array(gains, np.float32), local, empty)

    def test_is_cast_and_evened_out(self):
        light = self.light([0.5, 1, 2])
        assert (light.cast_on(self.FRAME) == (25, 100, 255)).all()
        assert (light.evened_out(self.FRAME) == (100, 100, 100)).all()
        assert (light.evened_out(light.cast_on(self.FRAME))[..., :2] == self.FRAME[..., :2]).all()

    def test_white_in_less_light_is_darker_than_what_is_beyond_white(self):
        cast = self.light([0.9] * 3).cast_on(np.full((HEIGHT, WIDTH, 3), 300, np.uint16))
        assert cast.dtype == np.uint8
        assert (cast == 255).all()

    def test_what_is_saturated_may_be_as_bright_as_the_empty_scene(self):
        """Evened out, it would seem darker than it is in the usual light."""
        frame, empty = self.FRAME.copy(), self.FRAME.copy()
        frame[:40], frame[40:60] = 255, (255, 252, 220)
        empty[:20], empty[20:40], empty[40:60] = 255, 100, (240, 20, 240)
        evened = self.light([1.1] * 3, empty=empty).evened_out(frame)
        assert (evened[:20] == 255).all()
        assert (evened[20:40] == 232).all()
        assert (evened[40:60] == (240, 229, 200)).all()
        assert (evened[60:] == (45, 91, 182)).all()

    def test_differs_from_part_to_part(self):
        halves = np.where(np.arange(COLUMNS) < COLUMNS // 2, 1, 2)
        evened = self.light([1, 1, 1], halves).evened_out(self.FRAME)
        assert (evened[:, :70] == self.FRAME[:, :70]).all()
        assert (evened[:, -70:] == self.FRAME[:, -70:] // 2).all()

    def test_at_an_edge_either_side_may_be_seen(self):
        halves = np.where(np.arange(COLUMNS) < COLUMNS // 2, 1, 0.4) * np.ones((ROWS, 1))
        light = replace(self.light([1, 1, 1], halves), other=np.float32(halves))
        least, most = (light.cast_on(self.FRAME, bound) for bound in (np.minimum, np.maximum))
        for cast, left, right in ((light.cast_on(self.FRAME), 100, 40), (least, 100, 40), (most, 100, 40)):
            assert (cast[:, :60, 1] == left).all()
            assert (cast[:, -60:, 1] == right).all()
        assert (least[:, 75:, 1] == 40).all()
        assert (most[:, :85, 1] == 100).all()

    def test_is_never_nothing(self):
        assert self.light([0, 0, 0]).evened_out(self.FRAME).max() == 255


def test_pictures_of_one_colour_that_no_scene_has_are_left_out_unless_there_are_no_others():
    colours = [(0, 0, 0), (255, 255, 255), (255, 0, 0), (90, 100, 110)]
    *nothing, floor = (np.full((HEIGHT, WIDTH, 3), colour, np.uint8) for colour in colours)
    night = (empty_scene() / 10).astype(np.uint8)
    assert list(map(id, showing_something([*nothing, floor, night]))) == [id(floor), id(night)]
    assert list(map(id, showing_something(nothing))) == list(map(id, nothing))


@pytest.mark.parametrize(
    ("n_first", "n_behind", "kept"),
    [(40, 0, "first"), (5, 0, "first"), (4, 0, "others"), (4, 15, "others"), (4, 16, "first")],
)
def test_frames_coloured_alike_are_the_first_but_behind_a_title(n_first, n_behind, kept):
    """What begins by night is seen by night; a title is short, and may come again at the end."""
    coloured = seen()
    grey = cv2.merge([cv2.cvtColor(coloured, cv2.COLOR_BGR2GRAY)] * 3)
    for first, other in ((grey, coloured), (coloured, grey)):
        found = coloured_alike([first] * n_first + [other] * (40 - n_first - n_behind) + [first] * n_behind)
        assert {id(frame) for frame in found} == {id(first if kept == "first" else other)}


def noisy(n, level=100.0, seed=0):
    """Frames of a floor in the noise of a camera."""
    return [*np.random.default_rng(seed).normal(level, 4, (n, 48, 64, 3)).clip(0, 255).astype(np.uint8)]


def test_what_a_frozen_feed_repeats_is_left_out():
    frames = noisy(30)
    assert list(map(id, unrepeated([*frames, *frames[-1:] * 30]))) == list(map(id, frames))
    assert len(telling([*frames, *frames[-1:] * 30])) == 30
    places = np.arange(48 * 64).reshape(48, 64, 1) % 97
    refreshed = [frames[-1] + (places == k).astype(np.uint8) for k in range(30)]  # as by an encoder
    assert len(unrepeated([*frames, *refreshed])) == 30
    twice = [*frames[:15], *frames[14:15] * 12, *frames[15:], *frames[-1:] * 12]
    assert len(unrepeated(twice)) == 30
    for n_repeated in (14, 30):
        few = [*frames[:7], *frames[6:7] * n_repeated]
        assert unrepeated(few) is few
    doubled = [frame for frame in frames for _ in range(2)]  # as by a recorder of half the rate
    assert unrepeated(doubled) is doubled


def test_of_footage_without_noise_nothing_is_left_out():
    """Whole minutes of an empty yard are alike where the encoder writes down nothing but what moves."""
    empty = np.full((48, 64, 3), 100, np.uint8)
    crossing = [empty.copy() for _ in range(10)]
    for k, frame in enumerate(crossing):
        frame[20:30, 5 * k : 5 * k + 4] = 30
    frames = [*[empty] * 40, *crossing]
    assert unrepeated(frames) is frames
    assert unrepeated([empty] * 40) == [empty] * 40


@pytest.mark.parametrize("n_dark", [30, 36])
def test_frames_of_the_light_that_is_most_are_taken_where_the_other_saturates(n_dark):
    dark = noisy(n_dark, 140.0)
    bright = [cv2.convertScaleAbs(frame, alpha=1.9) for frame in noisy(60 - n_dark, 140.0, 1)]
    assert list(map(id, in_one_light([*dark, *bright]))) == list(map(id, dark))
    assert list(map(id, in_one_light([*bright, *dark]))) == list(map(id, dark))


def test_frames_of_the_light_that_is_most_are_taken_where_that_saturates():
    dark, bright = noisy(20, 140.0), [cv2.convertScaleAbs(frame, alpha=1.9) for frame in noisy(40, 140.0, 1)]
    assert list(map(id, in_one_light([*dark, *bright]))) == list(map(id, bright))


def test_of_three_lights_none_is_most():
    frames = [cv2.convertScaleAbs(frame, alpha=1 + k // 20 / 2) for k, frame in enumerate(noisy(60, 120.0))]
    frames[40:] = [cv2.convertScaleAbs(frame, alpha=1.5) for frame in frames[40:]]
    assert in_one_light(frames) is frames


def test_unevenness_is_of_parts_but_not_of_single_blocks():
    local = np.ones((ROWS, COLUMNS), np.float32)
    local[3, 4] = local[8, 10:12] = 0.5
    assert unevenness(local) == 0
    local[:, 8:] *= 1.1
    assert unevenness(local) == pytest.approx(np.log(1.1) / np.sqrt(2), rel=0.01)


def test_light_that_can_be_evened_out_and_a_dusk_are_taken_whole():
    frames = [*noisy(30, 60.0), *noisy(30, 110.0)]
    assert in_one_light(frames) is frames
    dusk = [cv2.convertScaleAbs(frame, alpha=2 - k / 30) for k, frame in enumerate(noisy(60, 150.0))]
    assert in_one_light(dusk) is dusk
