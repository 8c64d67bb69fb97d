import numpy as np

from features.shadows import is_shadow


def test_is_the_background_darkened_evenly():
    background = np.full((6, 3), (100, 120, 140), np.uint8)
    shadow, dark, unchanged = (75, 90, 105), (50, 60, 70), (100, 120, 140)
    coloured, brighter, black = (75, 90, 60), (120, 140, 160), (0, 0, 0)
    pixels = np.array([shadow, dark, unchanged, coloured, brighter, black], np.uint8)
    assert is_shadow(pixels, background).tolist() == [True] + [False] * 5


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
