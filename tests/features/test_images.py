import itertools

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.images import (
    Closing,
    middle_of,
    narrowest_of,
    noise_of,
    percentile_of,
    reduced,
    resized,
    with_sharpness,
)


@given(n=st.integers(1, 70), percent=st.floats(0, 100), seed=st.integers(0, 1000))
def test_percentile_as_numpy_has_it(n, percent, seed):
    images = np.random.default_rng(seed).integers(0, 256, (n, 3, 5, 3), dtype=np.uint8)
    expected = np.percentile(images, percent, axis=0)
    np.testing.assert_allclose(percentile_of(images, percent), expected, atol=1e-10)


def test_percentile_of_images_larger_than_a_strip_which_it_leaves_alone():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (7, 120, 100, 3), dtype=np.uint8)
    before = images.copy()
    np.testing.assert_array_equal(percentile_of(list(images), 50), np.median(images, axis=0))
    np.testing.assert_array_equal(images, before)


@given(n=st.integers(1, 40), share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_narrowest_interval_that_holds_so_many_values(n, share, seed):
    values = np.random.default_rng(seed).integers(0, 60, (n, 9), dtype=np.uint8)
    n_members = max(1, round(share * n))
    for column, chosen in zip(values.T.astype(int), narrowest_of(values, n_members).T, strict=True):
        ascending = np.sort(column)
        widths = ascending[n_members - 1 :] - ascending[: n - n_members + 1]
        low = ascending[widths.argmin()]
        np.testing.assert_array_equal(chosen, (low <= column) & (column <= low + widths.min()))
        assert chosen.sum() >= n_members


@pytest.mark.parametrize(
    ("size_wh", "size"), [((40, 30), (90, 160)), ((16, 9), (90, 160)), ((160, 90), (90, 160))]
)
def test_reduced_image_has_the_size_and_the_brightness(size_wh, size):
    rng = np.random.default_rng(0)
    image = rng.integers(100, 140, (*size, 3), dtype=np.uint8)
    small = reduced(image, size_wh)
    assert small.shape == (size_wh[1], size_wh[0], 3)
    assert small.mean() == pytest.approx(image.mean(), abs=1)


@pytest.mark.parametrize("element_wh", [(1, 3), (3, 7), (5, 17), (9, 33)])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_closing_by_two_small_elements_is_that_by_the_large_one_in_a_larger_picture(element_wh, share):
    rng = np.random.default_rng(0)
    element = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, element_wh)
    mask = (rng.random((50, 60)) < share).astype(np.uint8)
    expected = cv2.morphologyEx(np.pad(mask, 40), cv2.MORPH_CLOSE, element)[40:-40, 40:-40]
    np.testing.assert_array_equal(Closing(element).apply(mask), expected)


@pytest.mark.parametrize("interpolation", [cv2.INTER_LINEAR, cv2.INTER_AREA])
@pytest.mark.parametrize("size_wh", [(61, 40), (150, 100), (7, 5)])
def test_resized_is_opencvs_within_a_grey_level_and_changes_no_setting(interpolation, size_wh):
    image = np.random.default_rng(0).integers(0, 256, (120, 200, 3), dtype=np.uint8)
    settings_before = cv2.ipp.useIPP_NotExact()
    found = resized(image, size_wh, interpolation)
    assert cv2.ipp.useIPP_NotExact() == settings_before
    expected = cv2.resize(image, size_wh, interpolation=interpolation)
    assert np.abs(found.astype(int) - expected).max() <= 1


def test_sharpness_grows_and_keeps_the_brightness():
    rng = np.random.default_rng(0)
    image = cv2.resize(rng.integers(60, 190, (30, 40, 3), dtype=np.uint8), (160, 120))
    steps = [with_sharpness(image, sharpness) for sharpness in (-1, -0.5, 0, 0.5, 1)]
    detail = [cv2.Laplacian(step, cv2.CV_64F).std() for step in steps]
    assert detail == sorted(detail)
    assert detail[0] < 0.8 * detail[2] < 0.8 * 0.9 * detail[4]
    np.testing.assert_array_equal(steps[2], image)
    assert [step.mean() for step in steps] == pytest.approx([image.mean()] * 5, abs=0.5)
    assert np.abs(with_sharpness(image, -1e-9).astype(int) - image).max() <= 1


def test_middle_of_is_the_median_of_three():
    images = np.random.default_rng(0).integers(0, 256, (3, 7, 9, 3), np.uint8)
    for order in itertools.permutations(images):
        np.testing.assert_array_equal(middle_of(*order), np.median(images, axis=0))


def test_coarse_noise_is_what_happens_at_times_but_not_who_passes():
    empty = np.full((8, 8, 3), 100, np.uint8)
    frames = np.repeat(empty[None], 20, axis=0)
    frames[::2, :, :] += 4  # the usual noise of half of the frames
    frames[::5, :, :4] += 8  # and more at times
    frames[::4, :2] = 200  # a passer-by
    fine, coarse = noise_of(frames, empty), noise_of(frames, empty, is_coarse=True)
    np.testing.assert_array_equal(fine[2:], 0)
    assert (coarse >= fine).all()
    assert (coarse[2:, 4:] == 4).all()
    np.testing.assert_array_equal(coarse[:2], 8)  # twice the median of the upper quartiles
