import numpy as np
import pytest

from features.changes import CHANGES, GRADIENTS, QUANTITIES, ChangeMeter
from features.geometry import Geometry

HEIGHT, WIDTH = 48, 64
NAMES = [quantity.name for quantity in QUANTITIES]


@pytest.fixture
def geometry():
    """The whole and its two halves, but for a border that is not of interest; people 16 to 32 pixels tall."""
    whole = np.zeros((HEIGHT, WIDTH), np.int32)
    halves = np.where(np.arange(WIDTH) < WIDTH // 2, 1, 2) * np.ones((HEIGHT, 1), np.int32)
    grids = np.stack([whole, halves.astype(np.int32)])
    grids[:, :4] = -1
    heights = np.linspace(16, 32, HEIGHT, dtype=np.float32)[:, None] * np.ones((1, WIDTH), np.float32)
    return Geometry(grids, heights, 3)


@pytest.fixture
def empty():
    return np.random.default_rng(0).integers(90, 110, (HEIGHT, WIDTH, 3), np.uint8)


def plain(frame, empty, geometry):
    """The quantities of the whole region, pixel by pixel."""
    totals = dict.fromkeys(NAMES, 0.0)

    def grey(image):
        return np.rint(image @ [0.114, 0.587, 0.299])

    def gradient(image, row, column):
        padded = np.pad(grey(image), 1, mode="reflect")
        near = padded[row : row + 3, column : column + 3]
        smooth = np.array([1, 2, 1])
        return smooth @ (near[:, 2] - near[:, 0]), smooth @ (near[2] - near[0])

    for row, column in np.argwhere(geometry.roi):
        area = 1 / float(geometry.person_height[row, column]) ** 2
        change = np.abs(frame[row, column].astype(int) - empty[row, column]).max()
        reached = [least for least in CHANGES if change >= least]
        if reached:
            totals[f"changed_{reached[-1]}"] += area
        x, y = gradient(frame, row, column)
        empty_x, empty_y = gradient(empty, row, column)
        if np.hypot(x - empty_x, y - empty_y) >= GRADIENTS[0]:
            degrees = np.degrees(np.arctan2(y - empty_y, x - empty_x))
            totals[f"new_edges_{round(degrees / 30) % 6 * 30}"] += area
        for least in GRADIENTS:
            totals[f"gradients_{least}"] += area * (np.hypot(x, y) >= least)
    return [totals[name] for name in NAMES]


def test_agrees_with_the_plain_definition(geometry, empty):
    frame = empty.copy()
    frame[10:30, 20:44] = np.clip(frame[10:30, 20:44] + np.array([3, 30, 12]), 0, 255).astype(np.uint8)
    frame[34:40, 6:20] -= 12
    measured = ChangeMeter(empty, geometry).measure(frame)
    assert measured.shape == (3, len(QUANTITIES))
    assert measured[0] == pytest.approx(plain(frame, empty, geometry), rel=1e-5)
    assert (measured[0] > 0).sum() > 6


def test_the_empty_scene_has_not_changed(geometry, empty):
    measured = ChangeMeter(empty, geometry).measure(empty)
    assert not measured[:, : NAMES.index("gradients_60")].any()


def test_regions_add_up_and_the_outside_does_not_count(geometry, empty):
    frame = np.random.default_rng(1).integers(0, 255, empty.shape, np.uint8)
    measured = ChangeMeter(empty, geometry).measure(frame)
    np.testing.assert_allclose(measured[1] + measured[2], measured[0])
    elsewhere = empty.copy()
    elsewhere[:2] = 255
    assert not ChangeMeter(empty, geometry).measure(elsewhere)[:, : len(CHANGES)].any()


def test_less_what_noise_adds(geometry, empty):
    meter = ChangeMeter(empty, geometry)
    noise = np.random.default_rng(1).integers(-13, 14, empty.shape)
    frame = np.clip(empty + noise, 0, 255).astype(np.uint8)
    frame[10:30, 20:44] += 60
    areas = meter.measure(frame)[0, : len(CHANGES)]
    assert areas[:3].sum() > 1
    calmer = meter.measure(frame, excess_noise=3.0)[0, : len(CHANGES)]
    assert calmer[:3].sum() == 0
    assert calmer[3:].sum() > 0.9 * areas[4]
