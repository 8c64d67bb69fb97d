"""Dots of one's own footage: a head a line, in the place of counts."""

import json

import numpy as np
import pytest

from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.local_counts import local_counts
from crowdcount.scene import scene_from
from features.perspective import depth_cells
from tests.crowdcount.helpers import ran

from .conftest import HEIGHT, LINE, SIZE, WIDTH

pytestmark = pytest.mark.usefixtures("few_kernels")


@pytest.fixture(scope="module")
def dots(street, tmp_path_factory):
    """The street's heads; a line without a place for each frame that has nobody in it."""
    lines = ["frame,x,y"]
    for frame, boxes in enumerate(street.boxes):
        heads = [f"{x + w / 2:.1f},{max(0.0, y + 0.09 * h):.1f}" for x, y, w, h in boxes] or [","]
        lines += [f"{frame},{head}" for head in heads]
    path = tmp_path_factory.mktemp("dots") / "dots.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_they_tell_where_people_are(street, dots, tmp_path):
    """As the boxes do, in cells and over depth."""
    boxes = tmp_path / "gt.txt"
    boxes.write_text("".join(
        f"{frame + 1},{k},{x + 1:.1f},{y + 1:.1f},{w:.1f},{h:.1f},1\n"
        for frame, people in enumerate(street.boxes) for k, (x, y, w, h) in enumerate(people)
    ))  # fmt: skip
    cells = depth_cells(street.scene.person_height, street.scene.roi, 5, 3)
    by_dots, by_boxes = (
        local_counts(load_dataset(street.frames, **labels), np.arange(60), street.scene, cells)
        for labels in ({"counts": dots}, {"mot": boxes, "annotated": "1-60"})
    )
    np.testing.assert_allclose(by_dots.sum(axis=1), street.counts)
    np.testing.assert_allclose(by_boxes.sum(axis=1), street.counts)
    assert np.abs(by_dots - by_boxes).sum() < 0.1 * by_boxes.sum()

    street.scene.save(tmp_path / "scene.json")
    given = street.frames, "--counts", dots, "--scene", tmp_path / "scene.json"
    report = json.loads(ran("train", *given, "-m", tmp_path / "m.npz", "--target", "profile", "--json"))
    assert report["n"] == 60
    errors = report["profile"]["errors"]
    assert errors["distance"] < errors["baseline"]


@pytest.fixture(scope="module")
def of_left_half(street, dots, few_kernels, tmp_path_factory):
    """A folder of a scene file, left.json, of the street's left half, and a model trained in it, m.npz."""
    folder = tmp_path_factory.mktemp("left")
    left = [[(0, 0), (WIDTH / 2, 0), (WIDTH / 2, HEIGHT - 1), (0, HEIGHT - 1)]]
    persons = [(WIDTH / 2, row, LINE[0] * row + LINE[1]) for row in (60.0, 180.0)]
    scene_from(SIZE, left, persons).save(folder / "left.json")
    options = "--scene", folder / "left.json", "-m", folder / "m.npz"
    ran("train", street.frames, "--counts", dots, *options)
    return folder


@pytest.mark.parametrize("command", ["evaluate", "recalibrate"])
def test_people_count_in_the_region_that_the_model_knows(street, dots, of_left_half, tmp_path, command):
    """Without a scene file a model counts in its own region, and so do the dots."""
    end = (street.frames, "--counts", dots, "--json")
    if command == "evaluate":
        end += ("-m", of_left_half / "m.npz")
    else:
        end = (of_left_half / "m.npz", *end, "-o", tmp_path / "new.npz")
    alone = json.loads(ran(command, *end))
    with_file = json.loads(ran(command, *end, "--scene", of_left_half / "left.json"))
    alone, with_file = (one.get("before", one) for one in (alone, with_file))
    assert alone["bias"] == pytest.approx(with_file["bias"])
    assert abs(alone["bias"]) < 0.5 < np.mean(street.counts) / 3
