import cv2
import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from features import postures
from features.images import largest_difference
from features.postures import bodies, log_odds, outlines, quantities, sway_of, who_stays
from tests.features.test_foreground import HEIGHT, WIDTH, overlap, person_mask
from tests.features.test_standing import (
    EMPTY,
    HEIGHTS,
    N_FRAMES,
    learnt,
    noisy,
    standing,
    with_bush,
    with_somebody,
)


def with_group(feet, contrast=1.0, passers=0):
    """Frames with somebody at each of some feet, of so much of the contrast, and where they are."""
    rng, frames, where = np.random.default_rng(11), [], np.zeros((HEIGHT, WIDTH))
    for number in range(N_FRAMES):
        image = EMPTY.astype(np.float32)
        for seed, foot in enumerate(feet):
            variant = (number + 2 * seed) // 5
            colours, covered = standing(variant, foot, seed)
            image += contrast * (colours - covered[..., None] * image)
            where += (covered > 0.5) / N_FRAMES
        for _ in range(passers if number % 3 == 0 else 0):
            image[person_mask(rng.uniform(5, 155), rng.uniform(70, 118))] = rng.uniform(0, 255, 3)
        frames.append(noisy(image, rng))
    return np.stack(frames), where > 0.5


def with_thing(first, last, background=EMPTY):
    """A picture with a thing between two corners (x, y)."""
    image = background.copy()
    cv2.rectangle(image, first, last, (30, 30, 160), -1)
    return image


def seen_shifted(image, shifts, rng):
    """Frames of a picture, by so many pixels (x, y) beside its place in each."""
    places = [np.array([[1, 0, x], [0, 1, y]]) for x, y in shifts]
    border = cv2.BORDER_REPLICATE
    shifted = [cv2.warpAffine(image, place, (WIDTH, HEIGHT), borderMode=border) for place in places]
    return np.stack([noisy(one, rng) for one in shifted])


def found(frames, least=8, length_s=0.0):
    """Where somebody stays in frames, in which foreground differs by so many grey levels at the least."""
    image, threshold = learnt(frames, least)
    differences = np.stack([largest_difference(frame, image) for frame in frames])
    return who_stays(frames, differences, (differences > threshold).view(np.uint8), HEIGHTS, length_s)


class TestWhoStays:
    @pytest.mark.parametrize("passers", [0, 4])
    def test_is_everyone_of_a_group(self, passers):
        frames, where = with_group([(40, 90), (58, 94), (115, 110)], passers=passers)
        assert overlap(found(frames), where) > 0.5

    def test_is_who_hardly_differs(self):
        """By six tenths of the contrast, where a pixel is foreground from 40 grey levels on."""
        frames, where = with_group([(60, 100)], contrast=0.6)
        assert overlap(found(frames, least=40), where) > 0.5

    def test_is_no_statue(self):
        assert not found(with_somebody(lasts=N_FRAMES, passers=0)[0]).any()

    def test_is_nobody_who_passes(self):
        assert not found(with_somebody(stays=(), passers=4)[0]).any()

    @pytest.mark.parametrize("passers", [0, 1, 2])
    def test_is_no_bush(self, passers):
        assert not found(with_bush(passers=passers)).any()

    @pytest.mark.parametrize(("length_s", "is_told"), [(0.0, False), (12.0, True)])
    def test_is_no_bush_that_swings_in_a_few_seconds(self, length_s, is_told):
        """Leaves are about where they were in the next frame, a fifth of a second later."""
        rng, frames = np.random.default_rng(3), []
        places, phases = rng.uniform((70, 62), (86, 100), (15, 2)), rng.uniform(0, 2 * np.pi, (15, 1))
        for number in range(N_FRAMES):
            image = EMPTY.copy()
            swings = 2.5 * np.sin(2 * np.pi * number / 17 + phases) * [1, 0.5]
            for x, y in (places + swings).tolist():
                cv2.circle(image, (round(x), round(y)), 3, (30, 90 + x % 60, 40), -1)
            frames.append(noisy(image, rng))
        assert found(np.stack(frames), length_s=length_s).any() != is_told

    def test_is_everyone_of_a_group_in_a_few_seconds(self):
        frames, where = with_group([(40, 90), (58, 94), (115, 110)])
        assert overlap(found(frames, length_s=20.0), where) > 0.5
        assert not found(frames, length_s=4.0).any()  # leaves cannot be told from them

    @pytest.mark.parametrize(("length_s", "is_told"), [(4.9, False), (5.1, True)])
    def test_is_told_in_five_seconds_or_more(self, length_s, is_told):
        frames, _ = with_somebody(lasts=20, passers=0)
        assert found(frames, length_s=length_s).any() == is_told

    @pytest.mark.parametrize(("length_s", "step"), [(0.0, 1), (12.0, 4), (20.0, 3), (3600.0, 1)])
    def test_is_compared_with_what_is_there_four_fifths_of_a_second_later(self, monkeypatch, length_s, step):
        """Or more, in whole frames."""
        steps = []
        monkeypatch.setattr(postures, "quantities", lambda *given: steps.append(given[-1]) or np.zeros(5))
        frames = np.repeat(EMPTY.astype(np.uint8)[None], N_FRAMES, axis=0)
        differences = np.zeros(frames.shape[:3], np.uint8)
        differences[:, 30:66, 50:64] = 40
        who_stays(frames, differences, differences > 8, HEIGHTS, length_s)
        assert set(steps) == {step}

    def test_is_no_box_in_the_noise(self):
        rng, image = np.random.default_rng(7), with_thing((70, 60), (84, 100))
        frames = np.stack([noisy(image + rng.normal(0, 3), rng) for _ in range(N_FRAMES)])
        assert not found(frames).any()

    def test_is_no_box_before_a_camera_that_shakes(self):
        rng, image = np.random.default_rng(7), with_thing((70, 60), (84, 100))
        assert not found(seen_shifted(image, rng.normal(0, 0.5, (N_FRAMES, 2)), rng)).any()

    def test_is_no_pole_before_a_camera_that_sags(self):
        """By two pixels in the course of the footage: its edges differ ever more."""
        image = with_thing((70, 50), (75, 100), background=np.full_like(EMPTY, 120))
        shifts = np.linspace(0, 2, N_FRAMES)[:, None] * [1, 0.5]
        assert not found(seen_shifted(image, shifts, np.random.default_rng(7))).any()


class TestSway:
    def test_is_the_mean_of_what_differs_up_to_the_median_beyond_the_usual(self):
        differences = np.random.default_rng(0).integers(0, 40, (10, 6, 8), dtype=np.uint8)
        medians = np.ceil(np.median(differences, axis=0))
        expected = np.minimum(differences, medians).mean(axis=0)
        usual = np.median(expected)
        assert np.allclose(sway_of(differences), np.maximum(expected - usual, 0) / (usual + 1), atol=1e-6)

    def test_is_none_by_who_passes(self):
        differences = np.zeros((9, 6, 8), np.uint8)
        differences[:4, 2:4] = 200
        assert not sway_of(differences).any()


class TestBodies:
    def found(self, size_wh, sway=9.0, inside=0.0):
        """Of a box whose edge sways, among people of 40 pixels: boxes and outlines at all levels."""
        picture = np.zeros((HEIGHT, WIDTH), np.float32)
        cv2.rectangle(picture, (50, 30, *size_wh), sway, 2)
        picture[picture == 0] = inside
        return [(box, outline) for box, outline, _ in bodies(picture, np.full_like(picture, 40))]

    @pytest.mark.parametrize(("sway", "n_levels"), [(0.6, 0), (0.8, 1), (1.5, 2), (3.0, 3), (5.0, 4)])
    def test_are_outlined_at_each_level_that_they_sway_beyond_and_have_no_holes(self, sway, n_levels):
        found = self.found((14, 36), sway)
        assert len(found) == n_levels
        assert all(outline[len(outline) // 2].all() for _, outline in found)

    def test_are_told_from_what_sways_less_around_them(self):
        assert len(self.found((14, 36), inside=1.0)) == 3

    @pytest.mark.parametrize("size_wh", [(14, 6), (14, 68), (58, 20), (3, 14), (44, 50), (4, 36)])
    def test_are_neither_low_nor_high_nor_wide_nor_small_nor_large_nor_slim(self, size_wh):
        assert not self.found(size_wh)

    @pytest.mark.parametrize("size_wh", [(10, 13), (44, 26), (6, 34), (6, 11), (20, 56)])
    def test_may_be_nearly_so(self, size_wh):
        assert self.found(size_wh)

    def test_are_no_single_pixels(self):
        sway = np.zeros((HEIGHT, WIDTH), np.float32)
        sway[30:66:3, 50:64:3] = 9
        assert not list(bodies(sway, np.full_like(sway, 40)))


class TestQuantities:
    def test_are_logarithms_of_ratios(self):
        outline = np.ones((20, 10), bool)
        sway = np.ones((20, 10), np.float32)
        sway[1:-1, 1:-1] = 3
        frames = np.zeros((8, 20, 10, 3), np.uint8)
        frames[4:] = 40  # one step: 2 of 8 neighbours differ, half of the footage later all do
        away, of_sway, hollow, persisting, aspect = quantities(outline, 18.0, frames, sway, 0.25)
        assert (away, aspect) == (0.25, np.log(0.5))
        assert np.isclose(of_sway, np.log((56 + 3 * 144) / 200 + 0.1))
        assert np.isclose(hollow, np.log(3.2 / 1.2))
        assert np.isclose(persisting, np.log(0.3 / 40.3))

    def test_an_outline_that_is_all_edge_is_not_hollow(self):
        frames, sway = np.zeros((8, 6, 2, 3), np.uint8), np.ones((6, 2), np.float32)
        assert quantities(np.ones((6, 2), bool), 18.0, frames, sway, 0.0)[2] == 0

    def test_of_tiny_people_the_edge_is_a_pixel_wide(self):
        frames, sway = np.zeros((8, 6, 3, 3), np.uint8), np.ones((6, 3), np.float32)
        sway[1:-1, 1] = 3
        assert np.isclose(quantities(np.ones((6, 3), bool), 6.0, frames, sway, 0.0)[2], np.log(3.2 / 1.2))

    def test_who_passes_is_no_difference_but_stillness_counts(self):
        """Of eight frames five differ, one of them by far; in the others it is as before."""
        frames = np.zeros((16, 1, 1, 3), np.uint8)
        frames[8:, 0, 0] = np.array([0, 0, 0, 40, 40, 40, 40, 200])[:, None]
        later = quantities(np.ones((1, 1), bool), 6.0, frames, np.ones((1, 1), np.float32), 0.0, 16)[3]
        assert np.isclose(later, np.log(0.3 / (25 + 0.3)))

    @pytest.mark.parametrize("number", range(5))
    def test_odds_rise_with_what_sways_within_its_edge_keeps_still_and_is_slim(self, number):
        more = np.zeros(5)
        more[number] = (0.3, 0.3, -0.3, -0.3, -0.3)[number]
        middle, deviations = postures._MEANS, postures._DEVIATIONS
        assert log_odds(middle + more * deviations) > log_odds(middle) > log_odds(middle - more * deviations)

    def test_odds_are_a_quadratic_form(self):
        values = np.random.default_rng(1).normal(size=5)
        scaled = (values - postures._MEANS) / postures._DEVIATIONS
        columns = PolynomialFeatures(2, include_bias=False).fit_transform(scaled[None])[0]
        coefficients = np.hstack([postures._LINEAR, postures._PRODUCTS])
        assert np.isclose(log_odds(values), columns @ coefficients + postures._CONSTANT)


@pytest.mark.parametrize("place", [(20, 30), (20, 31), (21, 30), (21, 31)])
def test_outlines_of_near_people_are_of_each_pixel(place):
    """Wherever in a square it lies."""
    pixels = np.zeros((60, 80), bool)
    pixels[place] = True
    ((box, outline, _),) = outlines(pixels, np.full(pixels.shape, 160, np.float32), (0.15, 0.2))
    assert outline.all()
    assert box == (slice(20, 22), slice(30, 32))


def test_outlines_have_the_height_of_a_person_there():
    pixels = np.zeros((HEIGHT, WIDTH), bool)
    pixels[20:30, 50:56] = pixels[80:90, 50:56] = True
    heights = np.where(np.arange(HEIGHT)[:, None] < 60, np.float32(20), np.float32(40)).repeat(WIDTH, axis=1)
    (above, outline, small), (below, _, large) = outlines(pixels, heights, (0.1, 0.1))
    assert (above, below) == ((slice(20, 30), slice(50, 56)), (slice(80, 90), slice(50, 56)))
    assert (small, large) == (20, 40)
    assert outline.all()


@pytest.mark.parametrize("tall", [32.0, 64.0, 128.0, 512.0])
def test_outlines_of_near_people_are_joined_in_squares(tall):
    """As by a closing pixel by pixel, which takes minutes where people fill the picture."""
    rng = np.random.default_rng(0)
    pixels = np.zeros((400, 500), bool)
    for x, y in rng.integers((60, 100), (400, 300), (8, 2)):
        axes = int(0.04 * tall), int(0.1 * tall)
        cv2.ellipse(pixels.view(np.uint8), (int(x), int(y)), axes, 0, 0, 360, 1, 3)
    element = cv2.getStructuringElement(
        cv2.MORPH_ELLIPSE, [2 * round(share * tall / 2) + 1 for share in (0.15, 0.2)]
    )
    padded = cv2.copyMakeBorder(pixels.view(np.uint8), *[200] * 4, cv2.BORDER_CONSTANT, value=0)
    plain = cv2.morphologyEx(padded, cv2.MORPH_CLOSE, element)[200:-200, 200:-200].astype(bool)
    joined = np.zeros_like(plain)
    for box, outline, _ in outlines(pixels, np.full(pixels.shape, tall, np.float32), (0.15, 0.2)):
        joined[box] |= outline
    assert (plain & joined).sum() >= (0.8 if tall > 64 else 1) * (plain | joined).sum()


@pytest.mark.parametrize("is_beside", [False, True])
def test_outlines_are_joined_as_far_as_the_height_of_a_person_there(is_beside):
    pixels = np.zeros((HEIGHT, WIDTH), bool)
    pixels[[20, 25, 80, 85], 50:56] = True
    heights = np.where(np.arange(HEIGHT)[:, None] < 60, np.float32(10), np.float32(40)).repeat(WIDTH, axis=1)
    if is_beside:
        turned = outlines(pixels.T.copy(), heights.T.copy(), (0.2, 0.15))
        boxes = [box[::-1] for box, *_ in turned]
    else:
        boxes = [box for box, *_ in outlines(pixels, heights, (0.15, 0.2))]
    columns = slice(50, 56)
    assert boxes == [(slice(20, 21), columns), (slice(25, 26), columns), (slice(80, 86), columns)]
