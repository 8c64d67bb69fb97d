import numpy as np
import pytest

from features.tones import DARK, SATURATED, ToneCurve, ToneMeter

LEVELS = np.arange(256) / 255
TONES = {
    "haze": 0.8 * LEVELS + 0.2 * 0.75,
    "glare": 0.95 * LEVELS + 0.08,
    "more contrast": 1.3 * LEVELS - 0.12,
    "brighter shadows": LEVELS**0.85,
    "darker shadows": LEVELS**1.18,
}


def scene(rng, n=3000):
    """Pixels (3, n) uint8 of all shades, more or less grey."""
    return np.clip(rng.uniform(20, 230, n) + rng.normal(0, 15, (3, n)), 0, 255).astype(np.uint8)


def seen(rng, empty, tones=LEVELS, people=0.0):
    """The pixels with noise of 2 grey levels, a share hidden by people of all shades, then in tones."""
    picture = empty + rng.normal(0, 2, empty.shape)
    hidden = rng.random(empty.shape[1]) < people
    picture[:, hidden] = rng.uniform(10, 180, np.count_nonzero(hidden))
    picture = np.clip(picture, 0, 255).round().astype(int)
    return np.clip(255 * tones[picture], 0, 255).round().astype(np.uint8)


def is_usable(*pictures):
    return np.all([((p > DARK) & (p < SATURATED)).all(axis=0) for p in pictures], axis=0)


def curve_of(empty, picture):
    usable = is_usable(empty, picture)
    gains = np.median(picture[:, usable] / empty[:, usable], axis=1)
    return ToneMeter(empty, is_usable(empty)).measure(picture, usable, gains)


class TestMeter:
    @pytest.mark.parametrize("people", [0.0, 0.3])
    @pytest.mark.parametrize("tones", TONES.values(), ids=TONES)
    def test_finds_the_curve_despite_people(self, tones, people):
        rng = np.random.default_rng(0)
        empty = scene(rng)
        curve = curve_of(empty, seen(rng, empty, tones, people))
        for level in range(30, 226, 15):
            if 0 < tones[level] < 1:
                assert curve.of(level) == pytest.approx([255 * tones[level]] * 3, abs=4)

    def test_finds_that_of_each_channel(self):
        rng = np.random.default_rng(1)
        empty = scene(rng)
        picture = seen(rng, empty, TONES["haze"])
        picture[0] = seen(rng, empty, TONES["glare"])[0]
        for level in (60, 120, 180):
            expected = 255 * np.array([TONES["glare"][level], *[TONES["haze"][level]] * 2])
            assert curve_of(empty, picture).of(level) == pytest.approx(expected, abs=2)

    @pytest.mark.parametrize("people", [0.0, 0.3, 0.6])
    @pytest.mark.parametrize("gain", [0.7, 1.0, 1.15])
    def test_where_a_gain_explains_as_much_there_is_none(self, gain, people):
        rng = np.random.default_rng(2)
        empty = scene(rng)
        assert curve_of(empty, seen(rng, empty, np.minimum(gain * LEVELS, 1), people)) is None

    def test_without_contrast_there_is_none(self):
        rng = np.random.default_rng(3)
        empty = np.full((3, 3000), 100, np.uint8)
        assert curve_of(empty, seen(rng, empty, TONES["haze"])) is None

    def test_of_two_shades(self):
        empty = np.repeat(np.uint8([[60, 180]] * 3), 1500, axis=1)
        curve = curve_of(empty, seen(np.random.default_rng(4), empty, TONES["haze"]))
        assert curve.of(60) == pytest.approx([255 * TONES["haze"][60]] * 3, abs=2)
        assert curve.of(180) == pytest.approx([255 * TONES["haze"][180]] * 3, abs=2)

    def test_a_negative_is_no_tone(self):
        rng = np.random.default_rng(5)
        empty = scene(rng)
        assert curve_of(empty, 255 - empty) is None


class TestCurve:
    @pytest.fixture
    def haze(self):
        return ToneCurve(np.float32([0.8, 0.75, 0.7])[:, None] * np.arange(-256, 512, dtype=np.float32) + 38)

    def test_is_applied_and_undone(self, haze):
        image = np.arange(256, dtype=np.uint8).repeat(3).reshape(16, 16, 3)
        hazy = haze.applied(image)
        assert hazy.dtype == np.uint8
        assert hazy[0, 0].tolist() == [38, 38, 38]
        assert hazy[-1, -1].tolist() == [242, 229, 216]
        assert haze.undone(hazy) == pytest.approx(image, abs=0.8)

    def test_reaches_beyond_black_and_white(self, haze):
        image = np.full((2, 2, 3), -20, np.int16)
        assert haze.applied(image)[0, 0].tolist() == [22, 23, 24]
        assert haze.applied(-100 + image)[0, 0].tolist() == [0, 0, 0]
        assert haze.applied(image + 320)[0, 0].tolist() == [255, 255, 248]
        assert haze.applied(image - 300)[0, 0].tolist() == [0, 0, 0]
        assert haze.applied(image + 700)[0, 0].tolist() == [255, 255, 255]

    def test_black_and_white_are_bounded(self, haze):
        image = np.int16([[[5, 5, 5], [100, 100, 100], [253, 253, 253]]])
        assert haze.applied(image)[0].tolist() == [[42, 42, 42], [118, 113, 108], [240, 228, 215]]
        least, most = (haze.applied(image, bound)[0].tolist() for bound in (np.minimum, np.maximum))
        assert least == [[5, 5, 5], [118, 113, 108], [240, 228, 215]]
        assert most == [[42, 42, 42], [118, 113, 108], [253, 253, 253]]
