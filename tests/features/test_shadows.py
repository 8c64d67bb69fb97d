import numpy as np
import pytest

from features.shadows import IN_GREY, is_shadow, is_shadow_at


def test_is_the_background_darkened_evenly():
    background = np.full((6, 3), (100, 120, 140), np.uint8)
    shadow, dark, unchanged = (75, 90, 105), (50, 60, 70), (100, 120, 140)
    coloured, brighter, black = (75, 90, 60), (120, 140, 160), (0, 0, 0)
    pixels = np.array([shadow, dark, unchanged, coloured, brighter, black], np.uint8)
    assert is_shadow(pixels, background).tolist() == [True] + [False] * 5


@pytest.mark.parametrize(
    ("shares", "in_colours", "without"),
    [
        ((0.5, 0.5, 0.5), False, False),
        ((0.6, 0.6, 0.6), True, False),
        ((0.66, 0.66, 0.66), True, False),
        ((0.75, 0.75, 0.75), True, True),
        ((0.84, 0.77, 0.77), True, True),
        ((0.89, 0.77, 0.77), False, False),
    ],
)
def test_leaves_enough_light_of_about_the_same_colour(shares, in_colours, without):
    """The sky's light is bluer; where nothing has a colour, clothes that leave two thirds are none."""
    background = np.full((1, 3), 200, np.uint8)
    pixels = np.rint(background * shares).astype(np.uint8)
    assert is_shadow(pixels, background).item() == in_colours
    assert is_shadow(pixels, background, depth=IN_GREY).item() == without


def test_of_what_is_nearly_black_leaves_a_level_but_not_nothing():
    background, pixels = np.full((2, 3), 4, np.uint8), np.array([[1] * 3, [0] * 3], np.uint8)
    assert is_shadow(pixels, background).tolist() == [True, False]


def test_at_places_is_as_of_their_pixels():
    rng = np.random.default_rng(0)
    background = rng.integers(100, 200, (6, 8, 3), dtype=np.uint8)
    image = (background * rng.uniform(0.4, 1.1, (6, 8, 1))).astype(np.uint8)
    places, black = np.arange(2, 48, 3), rng.uniform(0, 20, (16, 1)).astype(np.float32)
    seen, behind = (one.reshape(-1, 3)[places] for one in (image, background))
    for options in ({}, {"black_bgr": black}, {"depth": IN_GREY}):
        found = is_shadow_at(places, image, background, **options)
        assert found.tolist() == is_shadow(seen, behind, **options).tolist()
        assert 0 < found.sum() < len(places)


def test_haze_brightens_the_shadow_as_it_does_the_background():
    """Of a level of 150, where black is 110, a shadow of .7 is 138, and who wears black 118."""
    black = np.float32([115, 110, 110])
    background = np.array([[155, 150, 150]] * 2, np.uint8)
    pixels = np.array([[143, 138, 138], [123, 118, 118]], np.uint8)
    assert is_shadow(pixels, background, black).tolist() == [True, False]
    assert is_shadow(pixels, background).all()


def test_where_it_is_darker_than_black_in_haze_what_is_brighter_is_no_shadow():
    """A part of the picture into which less light falls: of black, 110 elsewhere, 95 or 106 is left."""
    background = np.array([[95] * 3, [106] * 3], np.uint8)
    assert not is_shadow(background + np.uint8(2), background, np.full(3, 110, np.float32)).any()


def test_of_no_pixels():
    assert is_shadow(np.zeros((0, 3), np.uint8), np.zeros((0, 3), np.uint8)).shape == (0,)
