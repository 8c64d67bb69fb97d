"""The command that writes a clip with its labels."""

import csv
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from crowdcount import count
from crowdcount.errors import OutputError
from crowdcount.learning.datasets import load_dataset
from crowdcount.scene import load_scene
from samples.make import main, write_clip
from samples.scenes import preset
from samples.simulation import Simulation

README = Path(__file__).resolve().parents[2] / "samples" / "README.md"
SPEC = preset("plaza", 3, people=8.0, size_wh=(320, 240), fps=5.0, n_frames=12)


@pytest.fixture(scope="module", params=[".mp4", ".avi"])
def clip(request, tmp_path_factory):
    """A written clip's path and the frames that it shows."""
    path = tmp_path_factory.mktemp("clip") / f"plaza{request.param}"
    paths = write_clip(SPEC, path)
    assert sorted(paths) == sorted(path.parent.iterdir())
    return path, list(Simulation(SPEC).frames())


def rows(path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def test_the_clip_shows_the_frames(clip):
    path, frames = clip
    video = cv2.VideoCapture(str(path))
    assert video.get(cv2.CAP_PROP_FPS) == pytest.approx(5.0)
    for frame in frames:
        read, image = video.read()
        assert read
        assert cv2.absdiff(image, frame.image_bgr).mean() < 6
    assert not video.read()[0]


def test_counts_dots_and_boxes_agree_with_the_frames(clip):
    path, frames = clip
    counts = rows(path.with_suffix(".labels.csv"))
    assert counts == [["frame", "count"], *([str(i), str(frame.count)] for i, frame in enumerate(frames))]
    dots = rows(path.with_suffix(".dots.csv"))
    assert dots[0] == ["frame", "x", "y"]
    assert [int(row[0]) for row in dots[1:]] == [
        i for i, frame in enumerate(frames) for _ in range(frame.count or 1)  # a blank line where nobody is
    ]
    dots = [dots[0], *(row for row in dots[1:] if row[1])]
    heads = np.concatenate([frame.heads_xy for frame in frames])
    np.testing.assert_allclose(np.array(dots[1:], float)[:, 1:], heads, atol=0.051)
    boxes = np.array(rows(path.with_suffix(".gt.txt")), float)
    assert [int(row[0]) - 1 for row in boxes] == [int(row[0]) for row in dots[1:]]
    expected = np.concatenate([frame.boxes_xywh for frame in frames])
    np.testing.assert_allclose(boxes[:, 2:6] - np.array([1, 1, 0, 0]), expected, atol=0.051)
    assert (boxes[:, 6:8] == 1).all()


def test_crowdcount_reads_its_labels(clip):
    path, frames = clip
    counts = [frame.count for frame in frames]
    for labels in (".labels.csv", ".dots.csv"):
        np.testing.assert_array_equal(load_dataset(path, counts=path.with_suffix(labels)).counts, counts)
    annotated = f"1-{len(frames)}"
    np.testing.assert_array_equal(
        load_dataset(path, mot=path.with_suffix(".gt.txt"), annotated=annotated).counts, counts
    )


def test_heads_that_all_but_coincide_are_read_as_two(tmp_path, monkeypatch):
    """One far away behind another, as in a frame or two of a clip of a minute."""
    shown = [
        replace(frame, heads_xy=np.array([[146.61, 71.12], [146.62, 71.12]]))
        for frame in Simulation(SPEC).frames()
    ]
    monkeypatch.setattr(Simulation, "frames", lambda self: iter(shown))
    path = write_clip(SPEC, tmp_path / "a.avi")[0]
    assert (load_dataset(path, counts=path.with_suffix(".dots.csv")).counts == 2).all()


def test_the_scene_file_has_the_perspective_and_the_region(clip):
    path, _ = clip
    scene = load_scene(path.with_suffix(".scene.json"))
    assert scene.size_wh == (320, 240)
    assert scene.line.slope == pytest.approx(SPEC.height_slope)
    assert scene.line.intercept == pytest.approx(SPEC.height_intercept)
    assert np.array(scene.polygons).tolist() == Simulation(SPEC).roi_polygons


def test_people_seen_from_straight_above_are_counted_with_the_height_in_the_scene_file(tmp_path):
    spec = preset("overhead", 14, people=6.0, size_wh=(320, 240), fps=5.0, n_frames=75)
    path = write_clip(spec, tmp_path / "door.mp4")[0]
    labels = load_dataset(path, counts=path.with_suffix(".labels.csv")).counts
    scene = load_scene(path.with_suffix(".scene.json"))
    assert np.ptp(scene.person_height) == 0
    assumed, given = (
        np.mean(np.abs([row.count for row in count(path, scene=scene)] - labels)) for scene in (None, scene)
    )
    assert given < 0.6 * assumed  # .55 and 1.58


@pytest.mark.parametrize("name", ["clip.mkv", "clip"])
def test_another_suffix_is_refused_and_nothing_is_written(tmp_path, name):
    with pytest.raises(OutputError, match=r"expected a clip named \.mp4 or \.avi"):
        write_clip(SPEC, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_failure_in_the_middle_leaves_nothing_and_keeps_what_was_there(tmp_path):
    (tmp_path / "clip.gt.txt").mkdir()
    (tmp_path / "clip.labels.csv").write_text("mine")
    with pytest.raises(OutputError, match=r"clip\.gt\.txt"):
        write_clip(SPEC, tmp_path / "clip.mp4")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clip.gt.txt", "clip.labels.csv"]
    assert (tmp_path / "clip.labels.csv").read_text() == "mine"


def test_the_command_is_deterministic_and_takes_its_options(tmp_path):
    contents = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.mp4"
        options = ["--preset", "street", "--seed", "4", "--seconds", "1", "--people", "5", "--fps", "4"]
        result = CliRunner().invoke(main, [str(path), *options])
        assert result.exit_code == 0, result.output
        assert result.stdout == ""
        contents.append(
            [path.with_suffix(end).read_bytes() for end in (".mp4", ".labels.csv", ".gt.txt", ".dots.csv")]
        )
    assert contents[0] == contents[1]
    assert len(rows(tmp_path / "a.labels.csv")) == 1 + 4


def test_the_command_takes_a_size_and_scales_the_view(tmp_path):
    path = tmp_path / "clip.avi"
    options = ["--seed", "4", "--seconds", "0.5", "--fps", "4", "--size", "480x320"]
    result = CliRunner().invoke(main, [str(path), *options])
    assert result.exit_code == 0, result.output
    video = cv2.VideoCapture(str(path))
    assert video.read()[1].shape == (320, 480, 3)
    video.release()
    line, usual = load_scene(path.with_suffix(".scene.json")).line, preset("plaza", 4, size_wh=(640, 480))
    row = 0.7 * 480
    expected = 320 / 480 * (usual.height_slope * row + usual.height_intercept)
    assert line.slope * row * 320 / 480 + line.intercept == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("size", ["640", "640x481", "32x32", "640x480x3", "9999x9998", "-64x64"])
def test_the_command_refuses_sizes_that_no_encoder_takes(tmp_path, size):
    result = CliRunner().invoke(main, [str(tmp_path / "clip.mp4"), "--size", size])
    assert result.exit_code == 2
    assert "expected WIDTHxHEIGHT" in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_command_reports_an_unwritable_place_in_one_line(tmp_path):
    result = CliRunner().invoke(main, [str(tmp_path / "absent" / "clip.mp4"), "--seconds", "0.5"])
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert "does not exist" in result.stderr


def test_every_option_stands_in_the_readme_and_has_help():
    text = README.read_text(encoding="utf-8")
    for parameter in main.params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert f"`{option}`" in text
                assert parameter.help
