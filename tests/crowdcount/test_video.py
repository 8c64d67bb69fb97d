"""crowdcount.video against real files and loopback servers.

Test frames carry their number as black and white blocks, so that a decoded image proves which frame it is.
Videos are written by OpenCV. Those in clips/ hold the same frames in forms that it cannot write:
reordered.mkv (60 frames, H.264 with B-frames, key frames 30 apart), paused.mkv (50 frames of such a video,
after 20 a pause of 12 s, after 30 the next ten are left out), shifted.avi (40 frames, MPEG-4 with B-frames,
whose time stamps are one frame late and end with a 0) and interlaced.ts (6 frames, MPEG-2).
"""

import itertools
import math
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdcount import video
from crowdcount.errors import VideoError
from crowdcount.video import Position, open_source, parse_position, read_ahead
from tests.crowdcount.rtsp import send_rtsp

CLIPS = Path(__file__).parent / "clips"
SIZE_WH = (64, 48)
OPENCV_VERSION = tuple(int(part) for part in cv2.__version__.split(".")[:2])


def draw(number: int, size_wh: tuple[int, int] = SIZE_WH) -> np.ndarray:
    """(H, W, 3) image that shows the number, below 4096, in three rows of four blocks, clouded."""
    bits = number >> np.arange(12).reshape(3, 4) & 1
    clouds = cv2.resize(np.random.default_rng(number).uniform(0, 60, (12, 16)), SIZE_WH)
    image = (np.kron(190 * bits, np.ones((16, 16))) + clouds).astype(np.uint8)
    return cv2.resize(cv2.merge([image] * 3), size_wh, interpolation=cv2.INTER_NEAREST)


def number_in(image: np.ndarray) -> int:
    image = cv2.resize(image, SIZE_WH, interpolation=cv2.INTER_NEAREST)
    blocks = image.reshape(3, 16, 4, 16, 3).mean(axis=(1, 3, 4)).ravel()
    return sum(int(mean > 128) << bit for bit, mean in enumerate(blocks))


def write_video(path: Path, count: int, fourcc: str = "MJPG", fps: float = 25.0) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*fourcc), fps, SIZE_WH)
    assert writer.isOpened()
    for number in range(count):
        writer.write(draw(number))
    writer.release()
    return path


def key_frames(path: str) -> list[int]:
    capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])
    numbers = itertools.takewhile(lambda _: capture.grab(), itertools.count())
    return [number for number in numbers if capture.get(cv2.CAP_PROP_LRF_HAS_KEY_FRAME)]


def write_images(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"img{number}.png" for number in range(count)]
    for number, path in enumerate(paths):
        cv2.imwrite(str(path), draw(number))
    return paths


def damage(path: Path, frames: list[int]) -> None:
    """Overwrite the packets of some frames (numbered in the order of decoding) with noise."""
    data = bytearray(path.read_bytes())
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])
    noise = np.random.default_rng(0)
    number = 0
    while capture.grab():
        packet = capture.retrieve()[1].tobytes()
        if number in frames:
            if packet not in data:
                packet = packet[4:]  # H.264 has another prefix in the file than in memory
            assert data.count(packet) == 1
            place = data.index(packet)
            data[place : place + len(packet)] = noise.bytes(len(packet))
        number += 1
    capture.release()
    path.write_bytes(data)


def patch_avi_header(path: Path, **fields: int) -> None:
    """Overwrite scale, rate or length in the header of an AVI file's video stream."""
    data = bytearray(path.read_bytes())
    start = data.index(b"strh") + 8
    offsets = {"scale": 20, "rate": 24, "length": 32}
    for name, value in fields.items():
        struct.pack_into("<I", data, start + offsets[name], value)
    path.write_bytes(data)


def thin_out(path: Path, every: int) -> None:
    """Leave but every n-th frame in an AVI file, and empty chunks for the others, as recorders do that keep a
    rate which their camera does not reach."""
    header, _, movi = path.read_bytes().partition(b"movi")
    chunks, index, place = b"", b"", 0
    number = 0
    while movi.startswith(b"00dc", place):
        (size,) = struct.unpack_from("<I", movi, place + 4)
        kept = size if number % every == 0 else 0
        index += b"00dc" + struct.pack("<III", 16, 4 + len(chunks), kept)
        chunks += b"00dc" + struct.pack("<I", kept) + movi[place + 8 : place + 8 + kept + kept % 2]
        place += 8 + size + size % 2
        number += 1
    header = header[:-4] + struct.pack("<I", 4 + len(chunks))
    path.write_bytes(header + b"movi" + chunks + b"idx1" + struct.pack("<I", len(index)) + index)


def indices(frames) -> list[int]:
    return [frame.index for frame in frames]


def assert_numbered(frames) -> None:
    """Every image shows the number that the frame has."""
    assert [number_in(frame.image_bgr) for frame in frames] == [frame.index for frame in frames]


def summary(frames) -> list[tuple]:
    """All that a frame is, in a form that compares."""
    return [
        (f.index, f.time_s, f.flags, None if f.image_bgr is None else f.image_bgr.tobytes()) for f in frames
    ]


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


# Positions


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("0", Position(frame=0)),
        ("120", Position(frame=120)),
        ("2.5s", Position(time_s=2.5)),
        ("0s", Position(time_s=0.0)),
        (".5s", Position(time_s=0.5)),
        ("00:00:01", Position(time_s=1.0)),
        ("100:59:59.25", Position(time_s=363599.25)),
    ],
)
def test_position_is_read(text, position):
    assert parse_position(text) == position


@pytest.mark.parametrize(
    "text",
    ["", "-1", "1.5", "s", "1:00", "00:60:00", "00:00:60", "1e3s", "-2s", "nan", "1 s", "٣", ".s"]
    + [f"{'9' * n}{unit}" for n in (400, 5000) for unit in ("", "s", ":00:00")],
)
def test_other_positions_are_refused(text):
    with pytest.raises(VideoError, match=r"frame number \(120\)"):
        parse_position(text)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_clock_times_round_trip(hours, minutes, seconds, thousandths):
    read = parse_position(f"{hours:02}:{minutes:02}:{seconds:02}.{thousandths:03}")
    assert read.time_s == pytest.approx(hours * 3600 + minutes * 60 + seconds + thousandths / 1000)


# Files


@pytest.mark.parametrize(("name", "fourcc"), [("a.avi", "MJPG"), ("a.avi", "XVID"), ("a.mp4", "mp4v")])
def test_file_gives_every_frame_once_with_its_time(tmp_path, name, fourcc):
    path = write_video(tmp_path / name, 40, fourcc, fps=12.5)
    with open_source(path) as source:
        assert source.info == video.SourceInfo(str(path), "file", SIZE_WH, 12.5, 40)
        frames = list(source.frames())
        again = list(source.frames())
    assert indices(frames) == list(range(40))
    assert_numbered(frames)
    assert all(frame.flags == () for frame in frames)
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(40) / 12.5, abs=1e-9)
    assert summary(again) == summary(frames)


def test_reordered_frames_come_in_order_of_display():
    with open_source(CLIPS / "reordered.mkv") as source:
        frames = list(source.frames())
    assert indices(frames) == list(range(60))
    assert_numbered(frames)
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(60) / 25)


def test_shifted_stamps_do_not_shift_the_numbers():
    with open_source(CLIPS / "shifted.avi") as source:
        frames = list(source.frames())
    assert indices(frames) == list(range(40))
    assert_numbered(frames)
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(40) / 25)


def test_paused_recording_keeps_its_times_and_invents_no_frame():
    with open_source(CLIPS / "paused.mkv") as source:
        frames = list(source.frames())
    shown = [*range(30), *range(40, 60)]
    assert indices(frames) == list(range(50))
    assert [number_in(frame.image_bgr) for frame in frames] == shown
    assert [frame.time_s for frame in frames] == pytest.approx([n / 25 + 12 * (n >= 20) for n in shown])


def test_given_fps_overrules_the_time_stamps(tmp_path):
    with open_source(write_video(tmp_path / "a.avi", 10), fps=2) as source:
        assert source.info.fps == 2
        assert [frame.time_s for frame in source.frames(start=Position(time_s=1.5))] == [
            *(1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5)
        ]


@pytest.mark.parametrize("length", [0, 10, 1_000_000, 0xFFFFFFFF])
def test_announced_frame_count_is_not_trusted(tmp_path, length):
    if length == 10 and OPENCV_VERSION < (4, 11):
        pytest.skip("OpenCV 4.10 stops where the header says")
    path = write_video(tmp_path / "a.avi", 60)
    patch_avi_header(path, length=length)
    with open_source(path) as source:
        assert indices(source.frames()) == list(range(60))
        assert source.info.frame_count in (None, length)


@pytest.mark.parametrize(("scale", "rate"), [(1, 90_000), (1, 0), (0, 1), (1, 1_000_000_000)])
def test_absurd_rate_is_unknown_and_frames_are_timed_all_the_same(tmp_path, scale, rate):
    path = write_video(tmp_path / "a.avi", 300)
    patch_avi_header(path, scale=scale, rate=rate)
    with open_source(path) as source:
        assert source.info.fps is None or 0 < source.info.fps <= 240
        frames = list(source.frames())
        assert summary(source.frames(start=Position(frame=260))) == summary(frames[260:])
    assert indices(frames) == list(range(300))
    steps = np.diff([frame.time_s for frame in frames])
    assert steps[2:].min() > 1 / 240
    assert steps.max() < 1


def test_rate_and_length_are_those_of_the_frames_where_a_recorder_left_some_out(tmp_path):
    path = write_video(tmp_path / "a.avi", 300)
    thin_out(path, 5)
    with open_source(path) as source:
        assert (source.info.fps, source.info.frame_count) == (pytest.approx(5), 60)
        frames = list(source.frames())
        assert [frame.index for frame in source.sample(12)] == list(range(0, 60, 5))
    assert indices(frames) == list(range(60))
    assert [number_in(frame.image_bgr) for frame in frames] == list(range(0, 300, 5))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(60) / 5)
    with open_source(path, fps=10) as source:
        assert (source.info.fps, source.info.frame_count) == (10, 60)


def test_raw_stream_without_stamps_is_timed_by_its_index(tmp_path):
    path = tmp_path / "a.mjpeg"
    path.write_bytes(b"".join(cv2.imencode(".jpg", draw(number))[1].tobytes() for number in range(30)))
    with open_source(path) as source:
        frames = list(source.frames())
    assert indices(frames) == list(range(30))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(30) / 25)


# Windows


@pytest.mark.parametrize(
    ("start", "end", "every", "expected"),
    [
        (None, None, 7, range(0, 40, 7)),
        (Position(frame=5), None, 1, range(5, 40)),
        (None, Position(frame=5), 1, range(5)),
        (Position(frame=5), Position(frame=6), 3, range(5, 6)),
        (Position(time_s=1.0), Position(time_s=2.0), 10, range(10, 20, 10)),
        (Position(time_s=0.95), Position(frame=14), 2, range(10, 14, 2)),
        (Position(frame=39), Position(frame=1000), 1, range(39, 40)),
    ],
)
def test_window_selects_frames(tmp_path, start, end, every, expected):
    with open_source(write_video(tmp_path / "a.mp4", 40, "mp4v", fps=10)) as source:
        frames = list(source.frames(start, end, every))
    assert indices(frames) == list(expected)
    assert_numbered(frames)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"every": 0}, "every must be 1 or more"),
        ({"start": Position(frame=5), "end": Position(frame=5)}, "must lie behind the start"),
        ({"start": Position(time_s=2.0), "end": Position(time_s=1.0)}, "must lie behind the start"),
    ],
)
def test_contradictory_window_is_refused_before_reading(tmp_path, arguments, message):
    write_images(tmp_path, 3)
    with open_source(tmp_path) as source, pytest.raises(VideoError, match=message):
        source.frames(**arguments)


def test_empty_window_is_an_error(tmp_path):
    with open_source(write_video(tmp_path / "a.avi", 10)) as source:
        with pytest.raises(VideoError, match=r"no frame between frame 10 and its end"):
            next(source.frames(start=Position(frame=10)))
        with pytest.raises(VideoError, match=r"no frame between 0.3 s and frame 5"):
            next(source.frames(start=Position(time_s=0.3), end=Position(frame=5)))


@pytest.mark.parametrize("start", [Position(frame=300), Position(time_s=12.0)])
def test_start_behind_the_end_of_a_longer_file(tmp_path, start):
    with open_source(write_video(tmp_path / "a.avi", 300)) as source:
        with pytest.raises(VideoError, match="has no frame between"):
            next(source.frames(start=start))
        assert indices(source.frames(start=Position(frame=295))) == list(range(295, 300))


@pytest.mark.parametrize(("name", "fourcc"), [("a.avi", "XVID"), ("a.mp4", "mp4v"), ("a.webm", "VP80")])
def test_far_start_is_found_by_seeking_and_exact(tmp_path, name, fourcc):
    path = write_video(tmp_path / name, 400, fourcc)
    with open_source(path) as source:
        frames = list(source.frames())
        for start in (Position(frame=300), Position(time_s=12.0), Position(time_s=12.01)):
            found = source._find(start)
            assert found is not None
            assert summary(source.frames(start=start)) == summary(frames[found.frame :])
        assert next(source.frames(start=Position(time_s=12.01))).index == 301


@pytest.mark.parametrize("target", [2, 13, 17, 27])
def test_seeking_is_exact_among_reordered_frames(monkeypatch, target):
    monkeypatch.setattr(video, "_NEAR", 0)
    with open_source(CLIPS / "reordered.mkv") as source:
        frames = list(source.frames())
        assert source._find(Position(frame=target)) is not None
        assert summary(source.frames(start=Position(frame=target))) == summary(frames[target:])


def test_seeking_is_exact_behind_a_pause(monkeypatch):
    monkeypatch.setattr(video, "_NEAR", 0)
    monkeypatch.setattr(video, "_REORDER", 8)
    with open_source(CLIPS / "paused.mkv") as source:
        frames = list(source.frames())
        for start in (Position(frame=15), Position(time_s=5.0), Position(frame=25), Position(frame=35)):
            found = source._find(start)
            assert found is not None
            assert summary(source.frames(start=start)) == summary(frames[found.frame :])


def test_seeking_is_not_tried_where_packets_are_not_the_frames(monkeypatch):
    monkeypatch.setattr(video, "_NEAR", 0)
    monkeypatch.setattr(video, "_REORDER", 8)
    with open_source(CLIPS / "shifted.avi") as source:
        assert source._find(Position(frame=20)) is None
        frames = list(source.frames(start=Position(frame=20)))
    assert indices(frames) == list(range(20, 40))
    assert_numbered(frames)


@pytest.mark.parametrize("fourcc", ["MJPG", "mp4v"])  # every frame a key frame, and every twelfth
def test_images_of_landmarks_are_those_of_the_whole_pass(tmp_path, monkeypatch, fourcc):
    with open_source(write_video(tmp_path / "a.avi", 200, fourcc)) as source:
        frames = list(source.frames())
        marks = source.landmarks([0, 3, 40, 45, 50, 62, 120, 160])
        expected = [frames[mark.frame].image_bgr for mark in marks]
        keys = key_frames(source.info.name)
        assert [mark.key for mark in marks] == [
            max(key for key in keys if key <= max(0, mark.frame - 32)) for mark in marks
        ]
        assert all(map(np.array_equal, source.images(marks), expected))
        monkeypatch.setattr(video, "_seek", lambda *_: False)
        assert all(map(np.array_equal, source.images(marks[4:]), expected[4:]))


def test_images_of_landmarks_are_decoded_once_where_a_seek_would_go_back(tmp_path, monkeypatch):
    """As many frames of footage of one frame per second, whose key frames lie 250 apart, are fetched."""
    with open_source(write_video(tmp_path / "a.mp4", 400, "mp4v", fps=25.0)) as source:
        near, far = source.landmarks(range(60, 100, 2)), source.landmarks([60, 330])
        grab, grabbed = video._Capture.grab, []
        monkeypatch.setattr(video._Capture, "grab", lambda self: grabbed.append(1) or grab(self))
        assert len(list(source.images(near))) == 20
        assert len(grabbed) < 100  # 40 from the first to the last; of seeks, each needs 25 at the least
        grabbed.clear()
        assert len(list(source.images(far))) == 2
        assert len(grabbed) < 150


@pytest.mark.parametrize("damaged", [[100], [0], [390]])
def test_far_start_in_a_damaged_file_keeps_the_numbers(tmp_path, damaged):
    path = write_video(tmp_path / "a.avi", 400)
    damage(path, damaged)
    with open_source(path) as source:
        frames = list(source.frames())
        assert summary(source.frames(start=Position(frame=320))) == summary(frames[320:])


# Damage


@pytest.mark.parametrize(
    ("name", "fourcc"), [("a.avi", "MJPG"), ("a.avi", "XVID"), ("a.mp4", "mp4v"), ("a.webm", "VP80")]
)
@pytest.mark.parametrize("damaged", [[20], [20, 21, 22, 31], [0]])
def test_undecodable_frames_keep_their_place(tmp_path, name, fourcc, damaged):
    path = write_video(tmp_path / name, 40, fourcc)
    damage(path, damaged)
    with open_source(path) as source:
        frames = list(source.frames())
    lost = [frame for frame in frames if frame.image_bgr is None]
    # VP8 decodes nothing before its next key frame when the first one is lost.
    assert indices(lost) == damaged if damaged != [0] else lost[0].index == 0
    assert all(frame.flags == ("undecodable",) for frame in lost)
    assert indices(frames) == list(range(40))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(40) / 25)
    if fourcc == "MJPG":  # the other codecs go on from the wrong picture
        assert_numbered([frame for frame in frames if frame.image_bgr is not None])


@pytest.mark.parametrize("packet", range(31, 40))
def test_lost_reordered_frame_is_found_by_the_gap(tmp_path, packet):
    path = tmp_path / "a.mkv"
    path.write_bytes((CLIPS / "reordered.mkv").read_bytes())
    damage(path, [packet])
    with open_source(path) as source:
        frames = list(source.frames())
    assert indices(frames) == list(range(60))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(60) / 25)
    lost = [frame.index for frame in frames if frame.image_bgr is None]
    assert len(lost) <= 1  # none where the decoder conceals the damage
    for frame in frames[50:]:
        assert frame.image_bgr is not None


def test_some_reordered_frame_is_lost_at_all(tmp_path):
    """The test above would hold, too, if the damage did nothing."""
    path = tmp_path / "a.mkv"
    path.write_bytes((CLIPS / "reordered.mkv").read_bytes())
    damage(path, [33, 37])
    with open_source(path) as source:
        lost = [frame.index for frame in source.frames() if frame.image_bgr is None]
    assert lost
    assert 31 <= min(lost) <= max(lost) <= 40


def test_skipped_and_lost_frames_go_together(tmp_path):
    path = write_video(tmp_path / "a.avi", 40)
    damage(path, [10, 11])
    with open_source(path) as source:
        frames = list(source.frames(every=5))
    assert indices(frames) == [0, 5, 10, 15, 20, 25, 30, 35]
    assert [frame.index for frame in frames if frame.flags] == [10]
    assert_numbered([frame for frame in frames if not frame.flags])


def test_truncated_file_gives_what_is_there(tmp_path):
    path = write_video(tmp_path / "a.avi", 60)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    with open_source(path) as source:
        frames = list(source.frames())
    assert 20 < len(frames) < 50
    assert indices(frames) == list(range(len(frames)))
    assert_numbered(frames[:-1])


@pytest.mark.skipif(OPENCV_VERSION < (4, 13), reason="OpenCV before 4.13 shows another picture, and no sign")
def test_size_change_in_a_video_is_brought_to_the_first_size(tmp_path):
    path = tmp_path / "a.mjpeg"
    sizes = [(64, 48), (64, 48), (128, 96), (32, 24), (64, 48)]
    path.write_bytes(
        b"".join(cv2.imencode(".jpg", draw(k, size))[1].tobytes() for k, size in enumerate(sizes))
    )
    with open_source(path) as source:
        frames = list(source.frames())
    assert source.info.size_wh == (64, 48)
    assert len(frames) == 5
    assert all(frame.image_bgr.shape == (48, 64, 3) for frame in frames)
    assert_numbered(frames)


def test_interlaced_video_is_read_or_refused_but_never_garbage():
    """OpenCV 4.13 and later give unwritten memory for it."""
    if OPENCV_VERSION < (4, 13):
        with open_source(CLIPS / "interlaced.ts") as source:
            frames = list(source.frames())
        assert len(frames) == 6
        assert_numbered(frames)
    else:
        with pytest.raises(VideoError, match=r"interlaced\.ts decodes to one and the same picture"):
            open_source(CLIPS / "interlaced.ts")


def test_still_video_is_no_failure(tmp_path):
    path = tmp_path / "a.mp4"
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"mp4v"), 25, SIZE_WH)
    for _ in range(30):
        writer.write(np.zeros((48, 64, 3), np.uint8))
    writer.release()
    with open_source(path) as source:
        assert len(list(source.frames())) == 30


# What is no video


def bad_files(folder: Path) -> dict[str, str]:
    """Files that cannot be read, and what the message says of them."""
    clip = write_video(folder / "clip.avi", 30).read_bytes()
    (folder / "clip.avi").unlink()
    contents = {
        "empty.avi": (b"", "is empty"),
        "text.txt": (b"frame,count\n1,2\n" * 100, "no video"),
        "noise.mp4": (np.random.default_rng(0).bytes(50_000), "no video"),
        "zeros.avi": (bytes(50_000), "no video"),
        "head.avi": (clip[:300], "cut off"),
        "archive.npz": (b"PK\x03\x04" + bytes(500), "no video"),
        "empty.jpg": (b"", "is empty"),
        "text.jpg": (b"no image", "holds no image that can be read"),
    }
    for name, (content, _) in contents.items():
        (folder / name).write_bytes(content)
    return {name: message for name, (_, message) in contents.items()}


def test_bad_files_give_one_line_that_names_them(tmp_path):
    before = open_descriptors()
    for name, message in bad_files(tmp_path).items():
        with pytest.raises(VideoError) as caught:
            open_source(tmp_path / name)
        assert message in str(caught.value)
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert open_descriptors() == before


def test_video_of_undecodable_frames_is_refused(tmp_path):
    path = write_video(tmp_path / "a.avi", 20)
    damage(path, list(range(20)))
    with pytest.raises(VideoError, match=r"a\.avi has no frame that decodes"):
        open_source(path)


@pytest.mark.parametrize("source", ["absent.avi", "absent/*.jpg", "x" * 5000, "", "absent_folder"])
def test_missing_source(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VideoError, match=r"does not exist|has no image") as caught:
        open_source(source)
    assert source in str(caught.value)


def test_a_name_that_is_no_text_is_refused(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.mp4"))
    path.write_bytes(b"content")
    with pytest.raises(VideoError, match=r"a\\udcff\.mp4' cannot be opened: its name is not valid UTF-8"):
        open_source(path)


def test_special_file_is_refused_without_being_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.avi")  # to open it would wait for a writer
    with pytest.raises(VideoError, match="neither a file nor a folder"):
        open_source(tmp_path / "pipe.avi")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = write_video(tmp_path / "a.avi", 5)
    path.chmod(0)
    with pytest.raises(VideoError, match="permission denied; check its name and permissions"):
        open_source(path)


@pytest.mark.parametrize(
    "arguments", [{"timeout_s": 0}, *({"fps": rate} for rate in (0, math.nan, math.inf, 1e-300, 1e300))]
)
def test_senseless_numbers_are_refused(tmp_path, arguments):
    with pytest.raises(VideoError, match=r"must be (a positive number|1e-06 to 1e\+06 frames per second)"):
        open_source(tmp_path, **arguments)


def test_a_name_with_a_time_of_day_in_the_working_folder(tmp_path, monkeypatch):
    """FFmpeg would take what is before the first colon for a protocol."""
    write_video(tmp_path / "a.avi", 5).rename(tmp_path / "2024-05-01T08:00:00.avi")
    monkeypatch.chdir(tmp_path)
    with open_source("2024-05-01T08:00:00.avi") as source:
        assert source.info.name == "2024-05-01T08:00:00.avi"
        assert len(list(source.frames())) == 5


def test_patience_of_years_is_more_than_opencv_can_be_told():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"rtsp://127.0.0.1:{free.getsockname()[1]}/live"
        with pytest.raises(VideoError, match="cannot be read as a video"):
            open_source(url, timeout_s=1e9)


def test_absent_camera():
    for source in (97, "97"):
        with pytest.raises(VideoError, match="camera 97 cannot be opened"):
            open_source(source)


def test_opencv_and_ffmpeg_keep_quiet(tmp_path):
    """In a process of its own, as the log level is fixed with the first video that is opened."""
    names = bad_files(tmp_path)
    path = write_video(tmp_path / "damaged.avi", 30)
    damage(path, [10])
    program = (
        "import sys\n"
        "from crowdcount.video import VideoError, open_source\n"
        "assert len(list(open_source(sys.argv[1]).frames())) == 30\n"
        "for source in [*sys.argv[2:], 97, 'rtsp://127.0.0.1:1/x']:\n"
        "    try: open_source(source)\n"
        "    except VideoError: continue\n"
        "    raise SystemExit(f'{source} was opened')\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENCV_")}
    run = subprocess.run(
        [sys.executable, "-c", program, path, *(tmp_path / name for name in names)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(video.__file__).parent.parent,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


# Images


def test_folder_of_images_in_natural_order(tmp_path):
    write_images(tmp_path, 12)
    (tmp_path / "counts.csv").write_text("frame,count\n")
    (tmp_path / "._img3.png").write_text("what macOS knows of it")
    with open_source(tmp_path) as source:
        assert source.info == video.SourceInfo(str(tmp_path), "images", SIZE_WH, None, 12)
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


@pytest.mark.parametrize(("announced", "failures"), [(0, 10_000), (60, 1_000), (100, 1_000), (5_000, 4_940)])
def test_the_end_of_a_file_is_waited_for_longer_before_the_announced_one(
    tmp_path, monkeypatch, announced, failures
):
    path = write_video(tmp_path / "a.avi", 60)
    damage(path, list(range(20, 50)))
    patch_avi_header(path, length=announced)
    grabbed = []
    grab = video._Capture.grab
    monkeypatch.setattr(video._Capture, "grab", lambda self: grabbed.append(1) or grab(self))
    with open_source(path) as source:
        grabbed.clear()
        frames = list(source.frames())
    assert indices(frames) == list(range(60))
    assert len(grabbed) == 60 + failures


# Samples


@pytest.mark.parametrize("n", [1, 7, 40, 100])
def test_sample_of_a_short_file(tmp_path, n):
    path = write_video(tmp_path / "a.avi", 40)
    damage(path, [20])
    with open_source(path) as source:
        frames = source.sample(n)
        assert summary(source.sample(n)) == summary(frames)
    assert len(frames) == min(n, 39)
    assert_numbered(frames)
    assert np.diff(indices(frames)).max(initial=1) <= 2 * math.ceil(40 / n)


@pytest.mark.parametrize("long", [10, 100], ids=["seeking", "in order"])
def test_sample_keeps_what_is_made_of_its_images(tmp_path, monkeypatch, long):
    monkeypatch.setattr(video, "_LONG", long)
    path = write_video(tmp_path / "a.mp4", 40, "mp4v")
    with open_source(path) as source:
        whole, reduced = source.sample(6), source.sample(6, lambda image: image[::2, ::2].copy())
    assert indices(reduced) == indices(whole)
    assert all((r.image_bgr == w.image_bgr[::2, ::2]).all() for r, w in zip(reduced, whole, strict=True))


@pytest.mark.parametrize("n_frames", [20, 50, 90, 200, 333])
def test_half_as_large_a_sample_is_every_second_frame(tmp_path, n_frames):
    with open_source(write_video(tmp_path / "a.avi", n_frames)) as source:
        half, whole = indices(source.sample(30)), indices(source.sample(60))
    expected = min(60, n_frames)
    assert len(whole) == expected
    assert half == [whole[k] for k in sorted({k * expected // 30 for k in range(30)})]


def test_sample_of_a_long_file_seeks(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.mp4", 400, "mp4v")
    with open_source(path) as source:
        source_slots = source._slots
        monkeypatch.setattr(video, "_LONG", 399)
        monkeypatch.setattr(source, "_slots", lambda start: pytest.fail("decoded everything"))
        frames = source.sample(8)
        monkeypatch.setattr(source, "_slots", source_slots)
        assert indices(frames) == pytest.approx(np.arange(0, 400, 50), abs=2)
        assert_numbered(frames)
        assert summary(source.sample(8)) == summary(frames)


@pytest.mark.parametrize("length", [90, 500, 1_000_000])
def test_sample_does_not_believe_the_announced_length(tmp_path, length):
    path = write_video(tmp_path / "a.avi", 60)
    with open_source(path) as source:
        right = indices(source.sample(6))
    patch_avi_header(path, length=length)
    with open_source(path) as source:
        frames = source.sample(6)
    assert indices(frames) == right
    assert len(frames) == 6
    assert frames[-1].index > 40
    assert_numbered(frames)


def test_sample_fetches_few_images_more_than_it_keeps(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.avi", 100)
    fetched = []
    monkeypatch.setattr(
        video._Capture, "image", lambda self, image=video._Capture.image: fetched.append(1) or image(self)
    )
    with open_source(path) as source:
        fetched.clear()
        assert len(source.sample(6)) == 6
    assert len(fetched) == 6


def test_sample_repeats_no_frame_where_seeking_misses(tmp_path, monkeypatch):
    """Seeks to the first frames of a transport stream all end at the first one that is met."""
    monkeypatch.setattr(video, "_LONG", 10)
    with open_source(write_video(tmp_path / "a.ts", 100, "MPG2")) as source:
        sample = source.sample(40)
    assert 30 < len(sample) <= 40
    assert np.diff(indices(sample)).min() > 0
    assert_numbered(sample)


def test_sample_of_a_recording_with_a_long_pause(monkeypatch):
    monkeypatch.setattr(video, "_LONG", 10)
    with open_source(CLIPS / "paused.mkv") as source:
        sample = source.sample(8)
    assert len(sample) == 8
    assert np.diff(indices(sample)).min() >= 4


def test_sample_of_images_is_spread(tmp_path):
    write_images(tmp_path, 20)
    with open_source(tmp_path) as source:
        assert indices(source.sample(4)) == [0, 5, 10, 15]
        assert indices(source.sample(50)) == list(range(20))


# Numbering, on stamps that OpenCV's writer cannot make


def number(stamps, interval_s=0.04, origin_s=0.0):
    return list(video._number(stamps, interval_s, origin_s, 0))


def test_pause_of_a_recording_is_no_loss():
    numbered = number([0.0, 0.04, 0.08, 5.0, 5.04])
    assert numbered == [(0, 0.0, True), (1, 0.04, True), (2, 0.08, True), (3, 5.0, True), (4, 5.04, True)]


def test_failure_before_the_gap_and_frames_dropped_silently():
    stamps = [0.0, None, 0.04, 0.08, 0.2, 0.24]
    assert [(index, decoded) for index, _, decoded in number(stamps)] == [
        *((0, True), (1, True), (2, True), (3, False), (4, False), (5, True), (6, True))
    ]
    assert [time_s for _, time_s, _ in number(stamps)] == pytest.approx(np.arange(7) * 0.04)


def test_after_a_pause_only_failures_count_as_lost():
    numbered = number([0.0, 0.04, 5.0, 5.04, None, 10.0, 10.04])
    assert [decoded for _, _, decoded in numbered] == [True, True, True, True, False, True, True]
    assert numbered[-1][0] == 6
    numbered = number([0.0, 0.04, 5.0, 5.04, None, 5.12, 5.16, 5.24, 5.28])
    assert [decoded for _, _, decoded in numbered] == [True] * 4 + [False] + [True] * 4
    numbered = number([0.0, 0.04, 5.0, 5.04, None, None, 5.12, 5.2])
    assert [decoded for _, _, decoded in numbered] == [True] * 4 + [False, True] * 2


def test_failure_without_gap_is_no_frame():
    assert [decoded for _, _, decoded in number([0.0, None, 0.04, 0.08])] == [True] * 3
    assert [decoded for _, _, decoded in number([0.0, 0.04, 5.0, 5.04, None, 5.08])] == [True] * 5


def test_failures_at_the_start_have_numbers():
    numbered = number([None, None, 0.08, 0.12])
    assert [(index, decoded) for index, _, decoded in numbered] == [
        *((0, False), (1, False), (2, True), (3, True))
    ]
    assert [time_s for _, time_s, _ in numbered] == pytest.approx([0, 0.04, 0.08, 0.12])


def test_failures_at_the_end_are_the_end():
    assert len(number([0.0, 0.04, None, None, None])) == 2


@pytest.mark.parametrize("bad", [0.0, 0.04, -3.0, math.nan])
def test_stamps_that_do_not_increase_are_given_up(bad):
    numbered = number([0.0, 0.04, 0.08, bad, None, 0.5, 0.1])
    assert [decoded for _, _, decoded in numbered] == [True] * 4 + [False] + [True] * 2
    assert [time_s for _, time_s, _ in numbered] == pytest.approx(np.arange(7) * 0.04)


@given(
    st.lists(st.one_of(st.none(), st.floats(0.001, 10)), max_size=30),
    st.sampled_from([0.02, 0.04, 1.0]),
)
def test_numbers_are_gapless_and_times_increase(steps, interval_s):
    stamps, now = [], 0.0
    for step in [0.0, *steps]:
        now += step or 0.0
        stamps.append(None if step is None else now)
    numbered = number(stamps, interval_s)
    assert [index for index, _, _ in numbered] == list(range(len(numbered)))
    assert all(earlier[1] < later[1] for earlier, later in itertools.pairwise(numbered))
    assert sum(decoded for _, _, decoded in numbered) == sum(stamp is not None for stamp in stamps)


# Streams


def say_nothing(connection):
    pass


def send_part(data: bytes, share: float):
    def answer(connection):
        connection.recv(65536)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: video/x-msvideo\r\nContent-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data[: int(len(data) * share)])

    return answer


@pytest.mark.parametrize("scheme", ["rtsp", "http", "tcp"])
def test_stream_that_never_answers(scheme, serving):
    with serving(say_nothing) as port:
        threads, descriptors = threading.active_count(), open_descriptors()
        began = time.monotonic()
        with pytest.raises(VideoError, match=r"did not answer in time \([0-9.]+ s\)"):
            open_source(f"{scheme}://127.0.0.1:{port}/live", timeout_s=0.5)
        assert 0.5 <= time.monotonic() - began < 5
        assert threading.active_count() <= threads + 1  # the server's
        assert open_descriptors() <= descriptors + 1


def test_stream_that_sends_its_head_only(tmp_path, serving):
    data = write_video(tmp_path / "a.avi", 20).read_bytes()
    with serving(send_part(data, 0.05)) as port, pytest.raises(VideoError, match="did not answer in time"):
        open_source(f"http://127.0.0.1:{port}/a.avi", timeout_s=0.5)


def test_stream_that_stops_in_the_middle(tmp_path, serving):
    data = write_video(tmp_path / "a.avi", 60).read_bytes()
    with serving(send_part(data, 0.5)) as port:
        descriptors = open_descriptors()
        read = []
        with open_source(f"http://127.0.0.1:{port}/a.avi", timeout_s=0.5) as source:
            began = time.monotonic()
            with pytest.raises(VideoError, match=r"sent no frame for 0\.5 s"):
                read.extend(source.frames())
            assert time.monotonic() - began < 5
        assert open_descriptors() <= descriptors + 1
    assert 10 < len(read) < 40
    assert_numbered(read)


def test_recording_over_http(tmp_path):
    write_video(tmp_path / "a.mp4", 40, "mp4v")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://user:secret@127.0.0.1:{server.server_port}/a.mp4"
        with open_source(url, timeout_s=5) as source:
            assert source.info.kind == "stream"
            assert source.info.size_wh == SIZE_WH
            assert "secret" not in source.info.name
            assert source.sample(5) == []
            frames = list(source.frames(start=Position(frame=10), every=3))
            with pytest.raises(VideoError, match="once only"):
                source.frames()
        with pytest.raises(VideoError) as caught:
            open_source(url.replace("a.mp4", "b.mp4"), timeout_s=5)
        assert "secret" not in str(caught.value)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert indices(frames) == list(range(10, 40, 3))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(10, 40, 3) / 25)
    assert_numbered(frames)


@pytest.mark.parametrize("url", ["rtsp://me:se@cr:et@[gate/live", "rtsp://:se@cr:et@[gate"])
def test_an_address_that_is_none_is_refused_without_its_password(url):
    with pytest.raises(VideoError, match=r"^rtsp://(me)?:\*\*\*@\[gate.* cannot be read as a video"):
        open_source(url)


def test_live_stream_is_timed_by_the_clock(serving, send_live):
    with serving(send_live(map(draw, range(1000)), interval_s=0.01)) as port:
        began = time.monotonic()
        with open_source(f"http://127.0.0.1:{port}/", timeout_s=5) as source:
            assert source.info.frame_count is None
            frames = list(source.frames(end=Position(frame=20)))
        took_s = time.monotonic() - began
    assert indices(frames) == list(range(20))
    assert_numbered(frames)
    times = [frame.time_s for frame in frames]
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] < took_s


def test_rtsp_camera_is_read_to_its_end(serving):
    with (
        serving(send_rtsp([draw(k) for k in range(40)], interval_s=0.01)) as port,
        open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=5) as source,
    ):
        assert source.info.kind == "stream"
        assert source.info.size_wh == SIZE_WH
        frames = list(source.frames())
    assert len(frames) >= 39  # the decoder may keep the last one
    assert_numbered(frames)
    times = [frame.time_s for frame in frames]
    assert times == sorted(times)


def test_rtsp_camera_that_falls_silent(serving):
    def images():
        yield from (draw(k) for k in range(20))
        time.sleep(3)

    with (
        serving(send_rtsp(images(), interval_s=0.01)) as port,
        open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=1) as source,
    ):
        read = []
        began = time.monotonic()
        with pytest.raises(VideoError, match=r"sent no frame for 1 s"):
            read.extend(source.frames())
        assert time.monotonic() - began < 2.9
    assert len(read) >= 19


def test_camera_that_breaks_off_is_opened_again(serving):
    calls = []

    def answer(connection):
        first = 30 * len(calls)
        calls.append(first)
        send_rtsp([draw(first + k) for k in range(30)], interval_s=0.01)(connection)

    with serving(answer) as port:
        url = f"rtsp://127.0.0.1:{port}/live"
        with open_source(url, timeout_s=5, reconnect_s=20) as source:
            frames = list(source.frames(end=Position(frame=70)))
        assert calls == [0, 30, 60]
        broken = [frame.index for frame in frames if frame.image_bgr is None]
        assert indices(frames) == list(range(70))
        assert broken == [30, 61]
        numbers = [number_in(frame.image_bgr) for frame in frames if frame.image_bgr is not None]
        assert numbers == list(range(68))
        times = [frame.time_s for frame in frames]
        assert times == sorted(times)


def test_camera_that_stays_away_is_given_up(serving):
    with serving(send_rtsp([draw(k) for k in range(20)], interval_s=0.01)) as port:
        source = open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=1, reconnect_s=2)
        frames = source.frames()
        next(frames)
    began = time.monotonic()
    with source:
        assert all(frame.index < 20 for frame in frames)
        assert 1.5 < time.monotonic() - began < 5
        with pytest.raises(VideoError, match="once only"):
            source.frames()


def test_closing_ends_the_trials_to_reconnect(serving):
    with serving(send_rtsp([draw(k) for k in range(20)], interval_s=0.01)) as port:
        source = open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=1, reconnect_s=60)
        frames = source.frames()
        next(frames)
    threading.Timer(1, source.close).start()
    began = time.monotonic()
    with pytest.raises(VideoError, match="was closed"):
        list(frames)
    assert time.monotonic() - began < 10


def test_live_source_has_no_fps_of_its_users_choice():
    with pytest.raises(VideoError, match="leave it out"):
        open_source("rtsp://127.0.0.1:1/x", fps=25)


# Closing


def test_closing_frees_everything(tmp_path):
    path = write_video(tmp_path / "a.avi", 20)
    before = open_descriptors()
    with open_source(path) as source:
        first, second = source.frames(), source.frames()
        assert (next(first).index, next(second).index, next(second).index) == (0, 0, 1)
        assert open_descriptors() > before
    assert open_descriptors() == before
    for attempt in (first.__next__, second.__next__, source.frames, partial(source.sample, 3)):
        with pytest.raises(VideoError, match=r"a\.avi was closed"):
            attempt()
    source.close()


def test_closing_while_another_thread_reads(tmp_path):
    path = write_video(tmp_path / "a.avi", 200)
    for taken in range(12):
        with open_source(path) as source, read_ahead(source.frames(), 2) as frames:
            for _ in range(taken):
                assert next(frames).image_bgr is not None
            source.close()
            rest = []
            with pytest.raises(VideoError, match="was closed"):
                rest.extend(frames)
            assert all(frame.image_bgr is not None for frame in rest)


def test_abandoned_pass_frees_everything(tmp_path):
    path = write_video(tmp_path / "a.avi", 20)
    with open_source(path) as source:
        before = open_descriptors()
        frames = source.frames()
        next(frames)
        frames.close()
        assert open_descriptors() == before


# Reading ahead


def reading_threads() -> int:
    return sum(thread.name == "read-ahead" for thread in threading.enumerate())


@pytest.mark.parametrize("depth", [1, 2, 100])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_read_ahead_keeps_order_and_all(depth, count):
    with read_ahead(iter(range(count)), depth) as items:
        assert list(items) == list(range(count))
    assert reading_threads() == 0


def test_read_ahead_of_a_source(tmp_path):
    path = write_video(tmp_path / "a.avi", 60)
    with open_source(path) as source:
        with read_ahead(source.frames(), 4) as frames:
            ahead = summary(frames)
        assert ahead == summary(source.frames())


def test_read_ahead_works_at_the_same_time_but_not_too_far():
    fetched = []
    reached = threading.Event()

    def items():
        for k in range(100):
            fetched.append(k)
            if len(fetched) == 5:
                reached.set()
            yield k

    with read_ahead(items(), 3) as ahead:
        assert next(ahead) == 0
        assert reached.wait(5)  # one taken, three waiting, one in hand
        time.sleep(0.05)
        assert len(fetched) == 5
    assert reading_threads() == 0


def test_error_of_the_source_comes_in_its_place():
    def items():
        yield 1
        yield 2
        raise VideoError("broken")

    taken = []
    with pytest.raises(VideoError, match="broken"), read_ahead(items(), 10) as ahead:
        taken.extend(iter(partial(next, ahead), None))
    assert taken == [] or taken == [1, 2]
    assert reading_threads() == 0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_of_the_taker_ends_the_thread_and_closes_the_source(error):
    closed = []

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.append(True)

    generator = items()

    def take():
        with read_ahead(generator, 2) as ahead:
            next(ahead)
            raise error("enough")

    with pytest.raises(error, match="enough"):
        take()
    assert reading_threads() == 0
    assert closed == [True]


def test_an_interrupt_at_any_step_of_taking_leaves_no_lock_behind():
    """The exception of a signal may come between any two steps, inside the standard library too."""
    ends = []

    def take(step):
        steps = itertools.count()

        def interrupt(frame, event, argument):
            if next(steps) == step:
                raise KeyboardInterrupt  # this ends the tracing
            return interrupt

        try:
            with read_ahead(itertools.count(), 1) as ahead:
                next(ahead)
                sys.settrace(interrupt)
                next(ahead)
                sys.settrace(None)
        except KeyboardInterrupt:
            ends.append("interrupted")
        else:
            ends.append("whole")

    while "whole" not in ends:
        taker = threading.Thread(target=take, args=(len(ends),), daemon=True)
        taker.start()
        taker.join(10)
        assert not taker.is_alive(), f"hangs after an interrupt at step {len(ends)}"
    assert ends.count("interrupted") > 3
    assert reading_threads() == 0


def test_read_ahead_that_nobody_takes_from_ends():
    with read_ahead(iter(range(100)), 1):
        pass
    assert reading_threads() == 0


def test_latest_drops_the_oldest():
    go_on = threading.Event()

    def items():
        yield from range(10)
        go_on.set()

    with read_ahead(items(), 2, latest=True) as ahead:
        assert go_on.wait(5)
        taken = list(ahead)
    assert taken == [8, 9]
    assert reading_threads() == 0


def test_depth_below_one():
    with pytest.raises(ValueError, match="depth must be 1 or more"), read_ahead(iter([]), 0):
        pass


# Real footage


def test_real_footage(data_dir):
    with open_source(data_dir / "pets2009" / "vtest.avi") as source:
        assert (source.info.size_wh, source.info.fps) == ((768, 576), 10.0)
        frames = source.frames(every=100)
        assert [(frame.index, round(frame.time_s, 6)) for frame in frames] == [
            (index, index / 10) for index in range(0, 795, 100)
        ]
        sequential = next(source.frames(start=Position(frame=200)))
    assert sequential.index == 200
    for name, count in (("TUD-Campus", 71), ("TUD-Stadtmitte", 179)):
        with open_source(data_dir / "tud" / name / f"{name}.mp4") as source:
            assert indices(source.frames()) == list(range(count))
    with open_source(data_dir / "mall" / "frames") as source:
        assert source.info.frame_count == 2000
        assert next(source.frames(start=Position(frame=1999))).index == 1999


def test_real_footage_seeks_exactly(data_dir):
    with open_source(data_dir / "pets2009" / "vtest.avi") as source:
        start = Position(frame=700)
        assert source._find(start) is not None
        sought = next(source.frames(start=start))
        plain = next(frame for frame in source.frames(every=700) if frame.index == 700)
    assert summary([sought]) == summary([plain])
    assert re.fullmatch(r".*vtest\.avi", source.info.name)
