import numpy as np
import pytest

from features.tones import DARK, SATURATED, Haze, HazeMeter, ToneCurve, ToneMeter

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
    meter = ToneMeter(empty, is_usable(empty))
    return meter.measure(picture, usable, gains) if meter.may_tell(picture) else None


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

    def test_without_contrast_in_each_channel_there_is_none(self):
        rng = np.random.default_rng(3)
        empty = scene(rng)
        empty[2] = 100
        assert not ToneMeter(empty, is_usable(empty)).may_tell(seen(rng, empty, TONES["haze"]))

    def test_gains_are_told_from_other_tones_at_a_glance(self):
        rng = np.random.default_rng(3)
        empty = scene(rng)
        meter = ToneMeter(empty, is_usable(empty))
        assert not meter.may_tell(seen(rng, empty, 0.8 * LEVELS))
        assert meter.may_tell(seen(rng, empty, TONES["haze"]))
        assert meter.may_tell(seen(rng, empty, TONES["more contrast"]))

    def test_a_curve_that_is_next_to_a_gain_is_none(self):
        """By five levels for black, beyond which it is farther."""
        rng = np.random.default_rng(3)
        empty = scene(rng)
        picture, usable = seen(rng, empty, 0.96 * LEVELS + 0.02), is_usable(empty)
        assert ToneMeter(empty, usable).measure(picture, usable, np.ones(3)) is None

    def test_what_comes_up_in_a_crowd_is_none(self):
        """A curve that is far from a gain, but explains hardly more."""
        rng = np.random.default_rng(3)
        empty = scene(rng)
        picture = np.clip(0.9 * empty + 15 + rng.normal(0, 20, empty.shape), 0, 255).astype(np.uint8)
        usable = is_usable(empty, picture)
        assert ToneMeter(empty, usable).measure(picture, usable, np.ones(3)) is None

    def test_levels_that_turn_back_are_none(self):
        rng = np.random.default_rng(3)
        empty = scene(rng)
        assert curve_of(empty, seen(rng, empty, 3 * LEVELS * (1.2 - LEVELS))) is None

    @pytest.mark.parametrize("tones", [0.9 * (1 - (1 - LEVELS / 0.985) ** 2), 0.9 * (LEVELS - 0.015) ** 2])
    def test_a_curve_that_is_flat_for_white_or_black_can_be_undone(self, tones):
        rng = np.random.default_rng(3)
        empty = scene(rng)
        curve = curve_of(empty, seen(rng, empty, tones))
        assert curve.of(128) == pytest.approx([255 * tones[128]] * 3, abs=2)
        assert np.diff(curve.table).min() == pytest.approx(0.1, abs=1e-3)

    def test_beyond_black_and_white_a_curve_is_straight(self):
        rng = np.random.default_rng(3)
        empty = scene(rng)
        curve = curve_of(empty, seen(rng, empty, TONES["brighter shadows"]))
        for inner, end, beyond in ((1, 0, -200), (254, 255, 500)):
            step = (curve.of(end) - curve.of(inner)) / (end - inner)
            assert curve.of(beyond) == pytest.approx(curve.of(end) + (beyond - end) * step, abs=3)

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

    def test_steps_are_how_far_levels_that_differ_by_one_were_apart(self, haze):
        assert haze.steps(240) == pytest.approx(1 / 0.7, rel=1e-3)
        assert haze.black_at(np.arange(7), (3, 5)) == pytest.approx([38, 38, 38])


class TestHaze:
    """From .2 of the scene's light in the uppermost band of four to .8 in the lowest one; its own is 200."""

    TRANSMISSION = np.array([0.2, 0.4, 0.6, 0.8])

    @pytest.fixture
    def haze(self):
        return Haze(self.TRANSMISSION, 200 * (1 - self.TRANSMISSION))

    def test_is_applied_and_undone(self, haze):
        image = np.tile(np.arange(0, 250, 10, dtype=np.uint8)[:, None], (8, 1, 3))
        hazy = haze.applied(image)
        assert hazy.dtype == np.uint8
        assert hazy[0, 0].tolist() == [160] * 3
        assert hazy[-1, 0].tolist() == [40] * 3
        assert (hazy[:, 20] == 200).all()
        rows = np.arange(len(image))
        assert np.abs(haze.undone(hazy) - image).max() < 0.6 / 0.2
        assert (np.diff(hazy[:, 0, 0].astype(int)) <= 0).all()
        between = np.interp((rows + 0.5) / len(rows), (np.arange(4) + 0.5) / 4, self.TRANSMISSION)
        np.testing.assert_allclose(hazy[:, 0, 0], 200 * (1 - between), atol=0.51)
        np.testing.assert_array_equal(haze.cleared(hazy), np.clip(np.rint(haze.undone(hazy)), 0, 255))
        for end in (0, 255):  # nothing is darker than black or lighter than white
            assert (haze.cleared(np.full((8, 1, 3), end, np.uint8)) == end).all()

    def test_reaches_beyond_black_and_white_which_is_bounded(self, haze):
        image = np.tile(np.int16([-100, 5, 253, 500])[:, None], (4, 1, 3))
        assert haze.applied(image)[0, :, 0].tolist() == [140, 161, 211, 255]
        assert haze.applied(image)[-1, :, 0].tolist() == [0, 44, 242, 255]
        assert haze.applied(image, np.minimum)[0, :, 0].tolist() == [140, 161, 211, 255]
        assert haze.applied(image, np.maximum)[0, :, 0].tolist() == [140, 161, 253, 255]

    def test_tells_of_black_and_of_steps_row_by_row(self, haze):
        assert haze.steps(4) == pytest.approx(1 / self.TRANSMISSION[:, None])
        assert haze.black_at(np.array([0, 2, 3, 11]), (3, 4))[:, 0] == pytest.approx([160, 160, 120, 40])
        assert haze.of(100) == pytest.approx([150] * 3)


class TestHazeMeter:
    N_BANDS, PER_BAND = 6, 400

    def found(self, transmission, airlight=190.0, people=0.0, empty=None, noise=2.0):
        """The haze that is found where so much passes it in each band, before and behind people."""
        rng = np.random.default_rng(6)
        if empty is None:
            empty = scene(rng, self.N_BANDS * self.PER_BAND)
        picture = seen(rng, empty, people=people).astype(float)
        passes = np.repeat(transmission, self.PER_BAND)
        picture = airlight + (picture - airlight) * passes + rng.normal(0, noise, picture.shape)
        picture = np.clip(picture, 0, 255).round().astype(np.uint8)
        meter = HazeMeter(np.float32(empty), is_usable(empty), self.N_BANDS)
        return meter.measure(picture, is_usable(empty, picture))

    @pytest.mark.parametrize("people", [0.0, 0.3])
    @pytest.mark.parametrize(
        "transmission", [np.linspace(0.2, 0.8, 6), np.linspace(0.5, 0.9, 6), np.full(6, 0.5)]
    )
    def test_finds_how_much_passes_despite_people(self, transmission, people):
        haze = self.found(transmission, people=people)
        inner = slice(1, -1)  # the median of three bands makes the outermost like their neighbours
        assert haze.transmission[inner] == pytest.approx(transmission[inner], abs=0.06)
        assert haze.veil == pytest.approx(190 * (1 - haze.transmission), abs=8)

    def test_finds_haze_that_has_gone(self):
        """More contrast than in the scene, which was learnt in haze."""
        transmission = np.linspace(1.6, 1.1, 6)
        rng = np.random.default_rng(7)
        empty = np.clip(rng.uniform(120, 175, 2400) + rng.normal(0, 3, (3, 2400)), 0, 255).astype(np.uint8)
        haze = self.found(transmission, empty=empty)
        assert haze.transmission[1:-1] == pytest.approx(transmission[1:-1], rel=0.1)

    def test_what_is_brighter_or_darker_by_factors_is_no_haze(self):
        assert self.found(np.linspace(0.6, 0.9, 6), airlight=0.0) is None
        assert self.found(np.ones(6)) is None
        assert self.found(np.full(6, 0.85), airlight=400.0) is None
        assert self.found(np.linspace(0.6, 0.9, 6), airlight=45.0) is None
        assert self.found(np.linspace(0.6, 0.9, 6), airlight=80.0) is not None

    def test_a_band_that_alone_differs_is_as_those_around(self):
        transmission = np.array([0.3, 0.4, 0.9, 0.6, 0.7, 0.8])
        assert self.found(transmission).transmission[2] == pytest.approx(0.6, abs=0.06)

    def test_a_tenth_passes_at_the_least(self):
        """More contrast would be noise."""
        haze = self.found(np.array([0.04, 0.04, 0.5, 0.6, 0.7, 0.8]), noise=0.5)
        assert haze.transmission[0] == 0.1

    def test_a_band_in_which_all_is_white_tells_nothing(self):
        rng = np.random.default_rng(6)
        empty = scene(rng, 2400)
        picture = np.uint8(np.clip(95 + 0.5 * empty, 0, 255))
        picture[:, 800:1200] = 255
        meter = HazeMeter(np.float32(empty), is_usable(empty), self.N_BANDS)
        found = meter.measure(picture, is_usable(empty, picture))
        assert found.transmission == pytest.approx([0.5] * 6, abs=0.02)

    def test_without_contrast_there_is_none(self):
        assert self.found(np.linspace(0.3, 0.9, 6), empty=np.full((3, 2400), 100, np.uint8)) is None

    def test_bands_that_do_not_tell_are_as_those_around(self):
        """An even wall, of which nothing tells how much passes: it has the level of the haze."""
        rng = np.random.default_rng(8)
        empty = scene(rng, 2400)
        empty[:, 800:1200] = 190
        haze = self.found(np.linspace(0.2, 0.7, 6), empty=empty)
        assert haze.transmission[1:-1] == pytest.approx([0.3, 0.4, 0.5, 0.6], abs=0.06)
        empty[:, :1600] = 190
        assert self.found(np.linspace(0.2, 0.7, 6), empty=empty) is None
