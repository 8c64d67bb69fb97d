"""Still images as a source."""

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from crowdcount.errors import VideoError
from crowdcount.video import Position, SourceInfo, open_source
from tests.crowdcount.numbered_frames import SIZE_WH, assert_numbered, draw, indices, number_in, write_images


def test_folder_of_images_in_natural_order(tmp_path):
    write_images(tmp_path, 12)
    (tmp_path / "counts.csv").write_text("frame,count\n")
    (tmp_path / "._img3.png").write_text("what macOS knows of it")
    with open_source(tmp_path) as source:
        assert source.info == SourceInfo(str(tmp_path), "images", SIZE_WH, None, 12)
        frames = list(source.frames())
    assert_numbered(frames)
    assert [frame.time_s for frame in frames] == list(range(12))


def test_pattern_in_a_folder_whose_name_holds_brackets(tmp_path):
    folder = tmp_path / "shots [1]"
    folder.mkdir()
    write_images(folder, 12)
    with open_source(str(folder / "img[0-9].png")) as source:
        assert source.info.frame_count == 10


def test_pattern_of_images(tmp_path):
    write_images(tmp_path, 12)
    with open_source(str(tmp_path / "img1*.png"), fps=4) as source:
        assert source.info.fps == 4
        frames = list(source.frames(start=Position(time_s=0.5)))
    assert [number_in(frame.image_bgr) for frame in frames] == [11]
    assert [frame.time_s for frame in frames] == [0.5]


def test_list_of_images_and_a_single_one(tmp_path):
    paths = write_images(tmp_path, 4)
    with open_source(paths[::-1]) as source:
        assert [number_in(frame.image_bgr) for frame in source.frames()] == [3, 2, 1, 0]
    with open_source(str(paths[2])) as source:
        assert [number_in(frame.image_bgr) for frame in source.frames()] == [2]


def test_images_that_differ_or_fail(tmp_path):
    paths = write_images(tmp_path, 7)
    jpeg = cv2.imencode(".jpg", draw(0))[1].tobytes()
    paths[0].write_bytes(b"no image")
    paths[2].write_bytes(b"")
    paths[3].rename(tmp_path / "img3.jpg")
    (tmp_path / "img3.jpg").write_bytes(jpeg[: len(jpeg) // 2])
    cv2.imwrite(str(paths[5]), draw(5, (128, 96)))
    cv2.imwrite(str(paths[6]), cv2.cvtColor(draw(6), cv2.COLOR_BGR2GRAY).astype(np.uint16) * 257)
    with open_source(tmp_path) as source:
        frames = list(source.frames())
        sample = source.sample(3)
    expected = [("undecodable",), (), ("undecodable",), ("undecodable",), (), ("resized",), ()]
    assert [frame.flags for frame in frames] == expected
    assert indices(frames) == list(range(7))
    assert_numbered([frame for frame in frames if frame.image_bgr is not None])
    assert all(f.image_bgr.shape == (48, 64, 3) and f.image_bgr.dtype == np.uint8 for f in frames[4:])
    assert indices(sample) == [1, 4, 5][: len(sample)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_among_images_holds_up_nothing(tmp_path):
    for number in (1, 3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), draw(number))
    os.mkfifo(tmp_path / "2.png")
    with open_source(tmp_path) as source:
        assert [frame.flags for frame in source.frames()] == [(), ("undecodable",), ()]


@pytest.mark.parametrize("progressive", [0, 1])
def test_jpeg_with_a_video_behind_it(tmp_path, progressive):
    """As phones write; whatever stands there, the picture is whole or cut off."""
    jpeg = cv2.imencode(".jpg", draw(5), [cv2.IMWRITE_JPEG_PROGRESSIVE, progressive])[1].tobytes()
    thumbnail = b"\xff\xe1" + (len(jpeg) + 2).to_bytes(2) + jpeg  # as EXIF holds one
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg[:2] + thumbnail + jpeg[2:] + b"video \xff\xda of the moments before")
    with open_source(path) as source:
        (frame,) = source.frames()
    assert number_in(frame.image_bgr) == 5
    path.write_bytes(jpeg[:2] + thumbnail + jpeg[2:-99])
    with pytest.raises(VideoError, match="holds no image that can be read"):
        open_source(path)


def test_animated_images(tmp_path):
    """Their first picture was counted, and no word said of the others."""
    first, *others = (Image.fromarray(draw(number)[..., ::-1]) for number in range(5))
    for suffix in (".png", ".webp"):
        first.save(tmp_path / f"still{suffix}", lossless=True)
        first.save(tmp_path / f"a{suffix}", save_all=True, append_images=others, duration=100, lossless=True)
        with open_source(tmp_path / f"still{suffix}") as source:
            assert source.info.kind == "images"
    with open_source(tmp_path / "a.png") as source:
        assert source.info.kind == "file"
        frames = list(source.frames())
        assert indices(source.sample(2)) == [0, 2]
    assert_numbered(frames)
    np.testing.assert_allclose([frame.time_s for frame in frames], [0, 0.1, 0.2, 0.3, 0.4])
    with pytest.raises(VideoError, match=r"a\.webp is an animated WebP, of which only .* convert it"):
        open_source(tmp_path / "a.webp")
    (tmp_path / "a.webp").write_bytes((tmp_path / "a.webp").read_bytes()[:20])
    with pytest.raises(VideoError, match="holds no image that can be read"):
        open_source(tmp_path / "a.webp")


def test_folder_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(VideoError, match="permission denied; check its name and permissions"):
        open_source(tmp_path)


def test_folder_whose_images_are_in_a_folder(tmp_path):
    """As Mall's are: what trains on the one, counts and suggests in the other."""
    (tmp_path / "a-clips").mkdir()
    (tmp_path / "frames").mkdir()
    write_images(tmp_path / "frames", 2)
    with pytest.raises(VideoError, match=f"has no image; .*; {tmp_path}/frames has some: give that"):
        open_source(tmp_path)


def test_folder_without_usable_image(tmp_path):
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(VideoError, match="has no image"):
        open_source(tmp_path)
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(VideoError, match="holds no image that can be read"):
        open_source(tmp_path)


def test_image_that_vanishes_while_reading_is_undecodable(tmp_path):
    paths = write_images(tmp_path, 3)
    with open_source(tmp_path) as source:
        frames = source.frames()
        next(frames)
        paths[1].unlink()
        assert [frame.flags for frame in frames] == [("undecodable",), ()]


def test_sample_of_images_is_spread(tmp_path):
    write_images(tmp_path, 20)
    with open_source(tmp_path) as source:
        assert indices(source.sample(4)) == [0, 5, 10, 15]
        assert indices(source.sample(50)) == list(range(20))
