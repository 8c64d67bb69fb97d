"""Video files: OpenCV's, real ones, damaged ones.

Those in clips/ hold numbered frames in forms that OpenCV cannot write: reordered.mkv (60 frames, H.264 with
B-frames, key frames 30 apart), paused.mkv (50 frames of such a video, after 20 a pause of 12 s, after 30 the
next ten are left out), shifted.avi (40 frames, MPEG-4 with B-frames, whose time stamps are one frame late and
end with a 0), interlaced.ts (6 frames, MPEG-2), intra.ts (the same in key frames alone), motion.mp4 (40
frames of H.264, 25 a second, after 30 a pause of 10 minutes, which the announced mean rate includes),
clocked.mkv (40 such frames without a pause, with a clock of 1000 a second as the announced rate) and wide.mkv
(12 frames of 128x48 pixels, half as wide as tall).
"""

import contextlib
import itertools
import math
import re
import struct
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from crowdcount.errors import VideoError
from crowdcount.video import Position, SourceInfo, files, open_source
from crowdcount.video.capture import Capture
from tests.crowdcount.numbered_frames import (
    SIZE_WH,
    assert_numbered,
    damage,
    draw,
    indices,
    number_in,
    patch_avi_header,
    summary,
    write_encoded,
    write_interlaced,
    write_later,
    write_restamped,
    write_video,
)

CLIPS = Path(__file__).parent / "clips"
OPENCV_VERSION = tuple(int(part) for part in cv2.__version__.split(".")[:2])


def key_frames(path: str) -> list[int]:
    capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])
    numbers = itertools.takewhile(lambda _: capture.grab(), itertools.count())
    return [number for number in numbers if capture.get(cv2.CAP_PROP_LRF_HAS_KEY_FRAME)]


def tell(monkeypatch, told: dict[int, float]) -> None:
    """Let every capture that is opened tell these properties."""

    class Video:
        def __init__(self, *arguments):
            self._video = opened(*arguments)

        def __getattr__(self, name):
            return getattr(self._video, name)

        def get(self, number):
            return told[number] if number in told else self._video.get(number)

    opened = cv2.VideoCapture
    monkeypatch.setattr(cv2, "VideoCapture", Video)


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


@pytest.mark.parametrize(("name", "fourcc"), [("a.avi", "MJPG"), ("a.avi", "XVID"), ("a.mp4", "mp4v")])
def test_file_gives_every_frame_once_with_its_time(tmp_path, name, fourcc):
    path = write_video(tmp_path / name, 40, fourcc, fps=12.5)
    with open_source(path) as source:
        assert source.info == SourceInfo(str(path), "file", SIZE_WH, 12.5, 40)
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


@pytest.mark.parametrize(
    ("scale", "rate"), [(1, 90_000), (1, 1000), (1, 3000), (1, 0), (0, 1), (1, 1_000_000_000)]
)
def test_absurd_rate_is_unknown_and_frames_are_timed_all_the_same(tmp_path, scale, rate):
    path = write_video(tmp_path / "a.avi", 300)
    patch_avi_header(path, scale=scale, rate=rate)
    with open_source(path) as source:
        assert source.info.fps is None or 0 < source.info.fps <= 500
        assert 1 < source.info.rate <= 500  # it is video, whatever it says
        frames = list(source.frames())
        assert summary(source.frames(start=Position(frame=260))) == summary(frames[260:])
    assert indices(frames) == list(range(300))
    steps = np.diff([frame.time_s for frame in frames])
    assert steps[2:].min() > 1 / 240
    assert steps.max() < 1


def test_slow_motion_has_the_rate_that_it_states(tmp_path):
    with open_source(write_video(tmp_path / "a.mp4", 30, "mp4v", 240.2)) as source:
        assert source.info.fps == pytest.approx(240.2, rel=1e-3)
        assert [frame.time_s for frame in source.frames()] == pytest.approx(np.arange(30) / 240.2, abs=1e-4)


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


@pytest.mark.parametrize(("name", "length"), [("motion.mp4", 40), ("clocked.mkv", 39)])
def test_rate_is_that_of_the_frames_where_a_mean_or_a_clock_is_announced(name, length):
    with open_source(CLIPS / name) as source:
        assert (source.info.fps, source.info.frame_count) == (pytest.approx(25), length)
        frames = list(source.frames())
    assert [number_in(frame.image_bgr) for frame in frames] == list(range(40))
    times_s = np.arange(40) / 25
    times_s[30:] += 600 if name == "motion.mp4" else 0
    assert [frame.time_s for frame in frames] == pytest.approx(times_s)


@pytest.mark.skipif(OPENCV_VERSION < (4, 11), reason="earlier versions do not tell a file's own stamps")
@pytest.mark.parametrize("first_s", [0, 1.2, 600])
def test_length_leaves_out_what_a_recorder_wrote_into_earlier_files(tmp_path, first_s, monkeypatch):
    """Matroska states the time at its end, not how long it is."""
    path = write_later(tmp_path / "2.mkv", write_video(tmp_path / "1.mkv", 200, "mp4v"), first_s)
    passes, slots = [], files.FileSource._slots
    monkeypatch.setattr(files.FileSource, "_slots", lambda *arguments: passes.append(1) or slots(*arguments))
    with open_source(path) as source:
        assert source.info.frame_count == 200
        assert indices(source.sample(8)) == list(range(0, 200, 25))
        assert len(passes) == 1
        frames = list(source.frames())
    assert indices(frames) == list(range(200))
    assert_numbered(frames)
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(200) / 25)


@pytest.mark.parametrize("first_s", [0.4, 600])
@pytest.mark.parametrize("name", ["2.mp4", "2.mov", "2.ts"])
def test_length_of_a_later_file_that_states_its_own(tmp_path, name, first_s):
    first = write_encoded(tmp_path / "1.mp4", [draw(k) for k in range(30)])
    path = write_later(tmp_path / name, first, first_s)
    with open_source(path) as source:
        assert source.info.frame_count == pytest.approx(30, abs=2)
        assert indices(source.frames()) == list(range(30))


@pytest.mark.skipif(OPENCV_VERSION < (4, 13), reason="OpenCV before 4.13 reads it")
def test_length_of_a_later_interlaced_file(tmp_path):
    path = write_later(tmp_path / "2.mkv", write_interlaced(tmp_path / "1.mp4", 40, "libx264", **FIELDS), 600)
    with open_source(path) as source:
        assert source.info.frame_count == 40
        assert_numbered(list(source.frames()))


@pytest.mark.parametrize("n_together", [2, 3, 5])
def test_frames_that_are_stamped_as_they_arrive_in_bursts(tmp_path, n_together):
    """As of cameras on a poor network: the rate is not that within a burst."""
    video = write_video(tmp_path / "a.mkv", 60, "mp4v", 10.0)
    times_ms = [100 * (k - k % n_together) + k % n_together for k in range(60)]
    path = write_restamped(tmp_path / "b.mkv", video, times_ms)
    with open_source(path) as source:
        assert source.info.fps == pytest.approx(10, rel=0.15)
        frames = list(source.frames())
    assert_numbered(frames)
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(60) / 10, abs=0.06)


def test_a_stamp_that_comes_twice_does_not_end_the_use_of_the_others(tmp_path):
    video = write_video(tmp_path / "a.mkv", 80, "mp4v", 10.0)
    times_ms = 100 * np.arange(80) + 60_000 * (np.arange(80) >= 40)
    times_ms[10] = times_ms[9]
    path = write_restamped(tmp_path / "b.mkv", video, times_ms.tolist())
    with open_source(path) as source:
        frames = list(source.frames())
        late = list(source.frames(start=Position(time_s=62.0)))
    assert_numbered(frames)
    assert [frame.time_s for frame in frames] == pytest.approx(times_ms / 1000, abs=0.101)
    assert [frame.time_s for frame in frames[12:]] == pytest.approx(times_ms[12:] / 1000)
    assert summary(late) == summary(frames[40:])


def test_packets_that_are_fields_do_not_double_the_rate(monkeypatch):
    class Fields(Capture):
        def stamp_s(self):
            return super().stamp_s() / 2

    @contextlib.contextmanager
    def fields(_):
        yield Fields(str(CLIPS / "reordered.mkv"), cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])

    with open_source(CLIPS / "reordered.mkv") as source:
        fps = source.info.fps
    monkeypatch.setattr(files.FileSource, "_packets", fields)
    with open_source(CLIPS / "reordered.mkv") as source:
        assert source.info.fps == fps


def test_raw_stream_without_stamps_is_timed_by_its_index(tmp_path):
    path = tmp_path / "a.mjpeg"
    path.write_bytes(b"".join(cv2.imencode(".jpg", draw(number))[1].tobytes() for number in range(30)))
    with open_source(path) as source:
        frames = list(source.frames())
    assert indices(frames) == list(range(30))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(30) / 25)


@pytest.mark.parametrize("start", [Position(frame=300), Position(time_s=12.0)])
def test_start_behind_the_end_of_a_longer_file(tmp_path, start):
    with open_source(write_video(tmp_path / "a.avi", 300)) as source:
        with pytest.raises(VideoError, match=r"has no frame between .* \(the last one read is at 11\.96 s\)"):
            next(source.frames(start=start))
        with pytest.raises(VideoError, match=r"has no frame between 1e\+15 s and its end \("):
            next(source.frames(start=Position(time_s=1e15)))
        with pytest.raises(VideoError, match=r"between 5\.01 s and 5\.03 s; choose"):
            next(source.frames(start=Position(time_s=5.01), end=Position(time_s=5.03)))
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


@pytest.mark.parametrize(("name", "fourcc"), [("a.avi", "XVID"), ("a.mp4", "mp4v"), ("a.ts", "MPG2")])
@pytest.mark.parametrize("damaged", [[], [200, 201, 399]])
@pytest.mark.parametrize("chosen", [[0, 200, 390, 399], [7], range(50, 2000, 100), [395, 410]])
def test_frames_are_picked_as_a_pass_gives_them(tmp_path, name, fourcc, damaged, chosen):
    path = write_video(tmp_path / name, 400, fourcc)
    if damaged and not name.endswith("ts"):
        damage(path, damaged)
    with open_source(path) as source:
        expected = [frame for frame in source.frames() if frame.index in chosen]
        assert summary(source.frames_at(chosen)) == summary(expected)


def test_little_is_decoded_to_pick_a_few_frames_of_a_long_file(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.mp4", 2000, "mp4v")
    monkeypatch.setattr(files.FileSource, "_slots", lambda *_: pytest.fail("decoded in order"))
    with open_source(path) as source:
        assert indices(source.frames_at([0, 500, 1000, 1900])) == [0, 500, 1000, 1900]


@pytest.mark.parametrize("target", [2, 13, 17, 27])
def test_seeking_is_exact_among_reordered_frames(monkeypatch, target):
    monkeypatch.setattr(files, "_NEAR", 0)
    with open_source(CLIPS / "reordered.mkv") as source:
        frames = list(source.frames())
        assert source._find(Position(frame=target)) is not None
        assert summary(source.frames(start=Position(frame=target))) == summary(frames[target:])


def test_seeking_is_exact_behind_a_pause(monkeypatch):
    monkeypatch.setattr(files, "_NEAR", 0)
    monkeypatch.setattr(files, "REORDER", 8)
    with open_source(CLIPS / "paused.mkv") as source:
        frames = list(source.frames())
        for start in (Position(frame=15), Position(time_s=5.0), Position(frame=25), Position(frame=35)):
            found = source._find(start)
            assert found is not None
            assert summary(source.frames(start=start)) == summary(frames[found.frame :])


def test_seeking_is_not_tried_where_packets_are_not_the_frames(monkeypatch):
    monkeypatch.setattr(files, "_NEAR", 0)
    monkeypatch.setattr(files, "REORDER", 8)
    with open_source(CLIPS / "shifted.avi") as source:
        assert source._find(Position(frame=20)) is None
        frames = list(source.frames(start=Position(frame=20)))
    assert indices(frames) == list(range(20, 40))
    assert_numbered(frames)


def test_seeking_is_not_tried_where_times_come_again(tmp_path, monkeypatch):
    """As in recordings that were put together with `cat`."""
    monkeypatch.setattr(files, "_NEAR", 0)
    parts = [write_video(tmp_path / f"{first}.ts", 90, "MPG2", first=first) for first in (0, 90)]
    path = tmp_path / "both.ts"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    with open_source(path) as source:
        frames = list(source.frames())
        assert indices(frames) == list(range(180))
        assert_numbered(frames)
        assert summary(source.frames(start=Position(frame=45))) == summary(frames[45:])
        assert source.landmarks([45]) is None
    with open_source(parts[0]) as source:
        assert source._find(Position(frame=45)) is not None


@pytest.mark.parametrize(
    "name", ["reordered.mkv", "paused.mkv", "shifted.avi", "motion.mp4", "damaged.avi", "both.ts"]
)
def test_frames_at_times_are_those_of_the_whole_pass(tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "REORDER", 8)
    path = CLIPS / name
    if name == "damaged.avi":
        damage(path := write_video(tmp_path / name, 60), [0, 30, 31])
    if name == "both.ts":
        parts = [write_video(tmp_path / f"{first}.ts", 30, "MPG2", first=first) for first in (0, 30)]
        (path := tmp_path / name).write_bytes(b"".join(part.read_bytes() for part in parts))
    with open_source(path) as source:
        timed = [(frame.index, frame.time_s) for frame in source.frames()]
        last = max(time_s for _, time_s in timed)
        few, many = [0.0, 0.5], sorted({0.0, last, *(time_s + 0.01 for _, time_s in timed)})
        for times in (few, many, [*few, last + 9]):
            expected = [next((k for k, at in timed if at >= time_s - 1e-6), None) for time_s in times]
            assert source.indices_at(times) == [index for index in expected if index is not None]


def test_frames_at_times_of_a_long_file_are_told_by_its_packets(tmp_path, monkeypatch):
    with open_source(write_video(tmp_path / "a.mp4", 400, "mp4v")) as source:
        monkeypatch.setattr(source, "_slots", None)  # nothing more than the first frames is decoded
        assert source.indices_at([0.0, 4.0, 8.01]) == [0, 100, 201]


@pytest.mark.parametrize("fourcc", ["MJPG", "mp4v"])  # every frame a key frame, and every twelfth
def test_images_of_landmarks_are_those_of_the_whole_pass(tmp_path, monkeypatch, fourcc):
    with open_source(write_video(tmp_path / "a.avi", 200, fourcc)) as source:
        frames = list(source.frames())
        marks = source.landmarks(wanted := [0, 3, 40, 45, 50, 62, 120, 160])
        assert [mark.frame for mark in marks] == wanted
        expected = [frames[mark.frame].image_bgr for mark in marks]
        keys = key_frames(source.info.name)
        assert [mark.key for mark in marks] == [
            max(key for key in keys if key <= max(0, mark.frame - 32)) for mark in marks
        ]
        np.testing.assert_array_equal(list(source.images(marks)), expected)
        monkeypatch.setattr(files, "_seek", lambda *_: False)  # as where seeks lead elsewhere
        monkeypatch.setattr(source, "_seeks_before", lambda _: False)
        np.testing.assert_array_equal(list(source.images(marks[4:])), expected[4:])


@pytest.mark.parametrize("fourcc", ["MJPG", "mp4v"])
def test_images_of_damaged_landmarks_take_no_pass_from_the_beginning(tmp_path, monkeypatch, fourcc):
    path = write_video(tmp_path / "a.avi", 400, fourcc)
    damage(path, [150, *range(200, 260), *range(300, 400)])
    with open_source(path) as source:
        frames = {frame.index: frame.image_bgr for frame in source.frames()}
        marks = source.landmarks([100, 150, 151, 230, 261, 310, 360])
        reached = [mark.frame for mark in source.reached(marks)]
        monkeypatch.setattr(files.FileSource, "_slots", lambda *_: pytest.fail("decoded in order"))
        found = dict(zip([mark.frame for mark in marks], source.images(marks), strict=True))
    assert [number for number, image in found.items() if image is not None] == [100, 151, 261]
    assert max(frames) == 299
    assert reached == [100]
    if fourcc == "MJPG":  # the other goes on from the wrong picture
        assert all(np.array_equal(found[number], frames[number]) for number in (100, 151, 261))


def test_images_behind_the_last_frame_that_decodes_are_none_where_seeks_lead_elsewhere(tmp_path, monkeypatch):
    damage(path := write_video(tmp_path / "a.avi", 200), [*range(100, 200)])
    monkeypatch.setattr(files.FileSource, "_seeks_before", lambda *_: False)
    with open_source(path) as source:
        images = list(source.images(source.landmarks([60, 120, 160])))
    assert number_in(images[0]) == 60
    assert images[1:] == [None, None]


def test_images_that_seeks_in_a_transport_stream_miss_are_decoded_in_order(tmp_path):
    """Of B-frames and key frames 250 apart: a seek to the beginning leads to the second key frame."""
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "a.ts"), "w") as file:
        stream = file.add_stream("libx264", rate=25, width=96, height=64, pix_fmt="yuv420p")
        stream.options = {"g": "250", "keyint_min": "250", "bf": "3", "sc_threshold": "0"}
        for number in range(600):
            image = np.full((64, 96, 3), number % 200 + 20, np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        file.mux(stream.encode())
    with open_source(tmp_path / "a.ts") as source:
        found = list(source.images(source.landmarks([20, 200, 400])))
    assert [round(float(image.mean()) / 10) for image in found] == [4, 2, 2]


def test_images_of_landmarks_are_decoded_once_where_a_seek_would_go_back(tmp_path, monkeypatch):
    """As many frames of footage of one frame per second, whose key frames lie 250 apart, are fetched."""
    with open_source(write_video(tmp_path / "a.mp4", 400, "mp4v", fps=25.0)) as source:
        near, far = source.landmarks(range(60, 100, 2)), source.landmarks([60, 330])
        grab, grabbed = Capture.grab, []
        monkeypatch.setattr(Capture, "grab", lambda self: grabbed.append(1) or grab(self))
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


FIELDS = {"x264-params": "tff=1"}


@pytest.mark.parametrize("name", ["interlaced.ts", "intra.ts"])
def test_interlaced_video_is_read(name):
    """OpenCV 4.13 and later give unwritten memory for it."""
    with open_source(CLIPS / name) as source:
        assert (source.info.fps, source.info.size_wh, source.info.frame_count) == (25, SIZE_WH, 6)
        frames = list(source.frames())
        assert summary(source.frames()) == summary(frames)
    assert indices(frames) == list(range(6))
    assert_numbered(frames)
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(6) / 25)


def test_title_of_interlaced_video_may_be_no_utf_8(tmp_path):
    path = write_interlaced(tmp_path / "a.mkv", 12, title="Café")
    written = path.read_bytes()
    assert "Café".encode() in written
    path.write_bytes(written.replace("Café".encode(), b"Caf\xe9\xe9"))
    with open_source(path) as source:
        assert indices(list(source.frames())) == list(range(12))


@pytest.mark.skipif(OPENCV_VERSION < (4, 13), reason="OpenCV before 4.13 reads it")
@pytest.mark.parametrize("name", ["interlaced.ts", "intra.ts"])
def test_interlaced_video_is_refused_with_the_cure_where_pyav_is_missing(monkeypatch, name):
    monkeypatch.setattr(files, "is_av_there", lambda: False)
    with pytest.raises(VideoError, match=rf"{name} decodes to one.*pip install av.*yadif.*<4\.13"):
        open_source(CLIPS / name)


@pytest.mark.skipif(OPENCV_VERSION < (4, 13), reason="OpenCV before 4.13 reads it, and seeks less")
@pytest.mark.parametrize(
    ("name", "codec", "options"),
    [
        ("a.mkv", "libx264", FIELDS),
        ("a.mp4", "libx264", FIELDS),
        ("a.ts", "libx264", FIELDS),
        ("a.ts", "mpeg2video", {"bf": "2"}),
        ("a.avi", "mpeg4", {"bf": "2"}),
    ],
)
def test_seeking_is_exact_in_interlaced_video(tmp_path, monkeypatch, name, codec, options):
    monkeypatch.setattr(files, "_NEAR", 0)
    with open_source(write_interlaced(tmp_path / name, 140, codec, **options)) as source:
        frames = list(source.frames())
        assert indices(frames) == list(range(140))
        assert_numbered(frames)
        assert [frame.time_s for frame in frames] == pytest.approx(np.arange(140) / 25)
        for start in (Position(frame=50), Position(time_s=3.0)):
            found = source._find(start)
            assert found is not None
            assert summary(source.frames(start=start)) == summary(frames[found.frame :])
        marks = source.landmarks([0, 5, 60, 61, 90])
        expected = [frames[mark.frame].image_bgr for mark in marks]
        assert len(marks) == 5
        np.testing.assert_array_equal(list(source.images(marks)), expected)
        np.testing.assert_array_equal(list(source.images(marks[3:])), expected[3:])
        monkeypatch.setattr(files, "_decoded_by_seeking", lambda *_: 0)
        sample = source.sample(7)
        assert indices(sample) == pytest.approx(np.arange(0, 140, 20), abs=10)
        assert_numbered(sample)


def test_tape_has_the_shape_in_which_it_is_shown(tmp_path):
    with open_source(write_interlaced(tmp_path / "a.dv", 12, "dvvideo", (720, 576))) as source:
        assert (source.info.fps, source.info.size_wh, source.info.frame_count) == (25, (768, 576), 12)
        frames = list(source.frames())
    assert indices(frames) == list(range(12))
    assert_numbered(frames)


@pytest.mark.parametrize("damaged", [[20], [20, 21, 22, 31]])
def test_undecodable_frames_of_interlaced_video_keep_their_place(tmp_path, damaged):
    path = write_interlaced(tmp_path / "a.avi", 40, "mpeg4")
    damage(path, damaged)
    with open_source(path) as source:
        frames = list(source.frames())
        assert summary(source.frames(start=Position(frame=30))) == summary(frames[30:])
    assert indices(frames) == list(range(40))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(40) / 25)
    assert any(frame.flags == ("undecodable",) for frame in frames)


def test_progressive_video_is_read_without_pyav(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with open_source(write_video(tmp_path / "a.avi", 20)) as source:
        assert_numbered(list(source.frames()))


def test_pixels_are_made_square():
    with open_source(CLIPS / "wide.mkv") as source:
        frames = list(source.frames())
        sampled = source.sample(5)
    assert source.info.size_wh == SIZE_WH
    assert_numbered(frames)
    assert {frame.image_bgr.shape for frame in frames + sampled} == {(48, 64, 3)}


@pytest.mark.parametrize(("shown", "size_wh"), [(90, (256, 48)), (180, SIZE_WH), (270, (256, 48))])
def test_pixels_of_a_turned_picture_are_turned_too(monkeypatch, shown, size_wh):
    """wide.mkv, as if its 128x48 pixels had been 48x128 before they were turned."""
    tell(monkeypatch, {cv2.CAP_PROP_ORIENTATION_META: shown})
    with open_source(CLIPS / "wide.mkv") as source:
        assert source.info.size_wh == size_wh


@pytest.mark.parametrize("ratio", [(0, 1), (1, 0), (-1, -1), (9, 1), (1, 9), (math.nan, 1)])
def test_senseless_shapes_of_pixels_are_passed_over(monkeypatch, ratio):
    tell(monkeypatch, dict(zip((cv2.CAP_PROP_SAR_NUM, cv2.CAP_PROP_SAR_DEN), ratio, strict=True)))
    with open_source(CLIPS / "wide.mkv") as source:
        assert source.info.size_wh == (128, 48)


@pytest.mark.parametrize(("fourcc", "shown"), [("mp4v", np.zeros((48, 64, 3), np.uint8)), ("MJPG", draw(7))])
def test_still_video_is_no_failure(tmp_path, fourcc, shown):
    path = tmp_path / "a.avi"
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*fourcc), 25, SIZE_WH)
    for _ in range(30):
        writer.write(shown)
    writer.release()
    with open_source(path) as source:
        assert len(list(source.frames())) == 30


def test_still_video_without_loss_is_no_failure(tmp_path):
    """FFV1 learns how to write a picture from those before, so that packets of one and the same differ."""
    coding = {"pix_fmt": "bgr0", "g": "100", "context": "1", "coder": "1"}
    path = write_encoded(tmp_path / "a.mkv", [draw(7)] * 30, "ffv1", **coding)
    with open_source(path) as source:
        assert [number_in(frame.image_bgr) for frame in source.frames()] == [7] * 30


def test_video_of_undecodable_frames_is_refused(tmp_path):
    path = write_video(tmp_path / "a.avi", 20)
    damage(path, list(range(20)))
    with pytest.raises(VideoError, match=r"a\.avi has no frame that decodes \(codec '(MJPG|mjpe)'\)"):
        open_source(path)


def test_the_cover_of_a_song_is_no_video(tmp_path):
    """It was a video of one frame, cut off after some of its 470,204."""
    av = pytest.importorskip("av")
    sound = tmp_path / "a.mp3"
    with av.open(str(sound), "w") as container:
        stream = container.add_stream("mp3", rate=44100)
        for k in range(50):
            samples = av.AudioFrame.from_ndarray(np.zeros((1, 2304), np.int16), "s16", "stereo")
            samples.sample_rate, samples.pts = 44100, 1152 * k
            container.mux(stream.encode(samples))
        container.mux(stream.encode(None))
    with pytest.raises(VideoError, match=r"a\.mp3 cannot be read as a video"):
        open_source(sound)
    picture = b"\0image/jpeg\0\x03\0" + cv2.imencode(".jpg", draw(5))[1].tobytes()
    frame = b"APIC" + len(picture).to_bytes(4) + b"\0\0" + picture
    size = bytes(len(frame) >> shift & 127 for shift in (21, 14, 7, 0))
    covered = tmp_path / "b.mp3"
    covered.write_bytes(b"ID3\x03\0\0" + size + frame + sound.read_bytes())
    with pytest.raises(VideoError, match=r"b\.mp3 holds sound and its cover's picture, no video; give a"):
        open_source(covered)


def test_a_codec_that_only_pyav_knows(tmp_path, monkeypatch):
    path = write_encoded(tmp_path / "a.mkv", [draw(k) for k in range(12)], "libsvtav1")
    with open_source(path) as source:
        assert source.info.fps == 25
        assert indices(source.frames()) == list(range(12))
    if cv2.VideoCapture(path).read()[0]:
        pytest.skip("this OpenCV decodes AV1")
    monkeypatch.setattr(files, "is_av_there", lambda: False)
    with pytest.raises(VideoError, match=r"'AV01'\): convert it with ffmpeg, install PyAV \(pip install"):
        open_source(path)


@pytest.mark.parametrize(("announced", "failures"), [(0, 10_000), (60, 1_000), (100, 1_000), (5_000, 4_940)])
def test_the_end_of_a_file_is_waited_for_longer_before_the_announced_one(
    tmp_path, monkeypatch, announced, failures
):
    path = write_video(tmp_path / "a.avi", 60)
    damage(path, list(range(20, 50)))
    patch_avi_header(path, length=announced)
    grabbed = []
    grab = Capture.grab
    monkeypatch.setattr(Capture, "grab", lambda self: grabbed.append(1) or grab(self))
    with open_source(path) as source:
        grabbed.clear()
        frames = list(source.frames())
    assert indices(frames) == list(range(60))
    assert len(grabbed) == 60 + failures


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


@pytest.mark.parametrize("decoded", [0, math.inf], ids=["seeking", "in order"])
def test_sample_keeps_what_is_made_of_its_images(tmp_path, monkeypatch, decoded):
    monkeypatch.setattr(files, "_decoded_by_seeking", lambda *_: decoded)
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
        monkeypatch.setattr(source, "_slots", lambda start: pytest.fail("decoded everything"))
        frames = source.sample(8)
        monkeypatch.setattr(source, "_slots", source_slots)
        assert indices(frames) == pytest.approx(np.arange(0, 400, 50), abs=25)
        with source._packets() as packets:
            is_key = [packets.is_key() for _ in range(400) if packets.grab()]
        assert all(is_key[index - 17] for index in indices(frames))
        assert_numbered(frames)
        assert summary(source.sample(8)) == summary(frames)


def test_sample_of_a_file_without_key_frames_decodes_it_once(tmp_path, monkeypatch):
    """Each seek would decode all from the first frame on."""
    path = write_encoded(tmp_path / "a.mp4", [draw(k) for k in range(400)], g="1000", sc_threshold="0")
    monkeypatch.setattr(Capture, "go_to", lambda *_: pytest.fail("sought"))
    with open_source(path) as source:
        assert indices(source.sample(8)) == list(range(0, 400, 50))


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


def test_sample_of_a_file_that_states_no_length_decodes_it_once(tmp_path, monkeypatch):
    """As one whose recorder was cut off."""
    images = [draw(k) for k in range(200)]
    path = write_encoded(tmp_path / "a.mkv", images, container={"live": "1"}, g="12")
    passes, slots = [], files.FileSource._slots
    monkeypatch.setattr(files.FileSource, "_slots", lambda *arguments: passes.append(1) or slots(*arguments))
    with open_source(path) as source:
        assert source.info.frame_count is None
        assert indices(source.sample(8)) == list(range(0, 200, 25))
    assert len(passes) == 1


def test_sample_fetches_few_images_more_than_it_keeps(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.avi", 100)
    fetched = []
    monkeypatch.setattr(Capture, "image", lambda self, image=Capture.image: fetched.append(1) or image(self))
    with open_source(path) as source:
        fetched.clear()
        assert len(source.sample(6)) == 6
    assert len(fetched) == 6


def test_sample_repeats_no_frame_where_seeking_misses(tmp_path, monkeypatch):
    """Seeks to the first frames of a transport stream all end at the first one that is met."""
    monkeypatch.setattr(files, "_decoded_by_seeking", lambda *_: 0)
    with open_source(write_video(tmp_path / "a.ts", 100, "MPG2")) as source:
        sample = source.sample(40)
    assert 30 < len(sample) <= 40
    assert np.diff(indices(sample)).min() > 0
    assert_numbered(sample)


def later(stream: bytes, shift_s: int) -> bytes:
    """A transport stream with all its clocks, of 90 kHz and 33 bits each, set to later times."""
    packets = bytearray(stream)

    def shift_stamp(at: int) -> None:  # five bytes: 3, 15 and 15 bits, each followed by a marker
        high, middle, low = (
            packets[at],
            int.from_bytes(packets[at + 1 : at + 3]),
            int.from_bytes(packets[at + 3 : at + 5]),
        )
        stamp = ((high >> 1 & 7) << 30 | middle >> 1 << 15 | low >> 1) + 90_000 * shift_s
        packets[at] = high & 0xF1 | stamp >> 30 << 1
        packets[at + 1 : at + 3] = ((stamp >> 15 & 0x7FFF) << 1 | 1).to_bytes(2)
        packets[at + 3 : at + 5] = ((stamp & 0x7FFF) << 1 | 1).to_bytes(2)

    for start in range(0, len(packets), 188):
        payload = start + 4
        if packets[start + 3] & 0x20:  # an adaptation field, with a clock reference or without
            if packets[payload] and packets[payload + 1] & 0x10:
                clock = int.from_bytes(packets[payload + 2 : payload + 7]) + (90_000 * shift_s << 7)
                packets[payload + 2 : payload + 7] = clock.to_bytes(5)
            payload += 1 + packets[payload]
        if packets[start + 1] & 0x40 and packets[payload : payload + 4] == b"\0\0\1\xe0":
            for at, flag in ((payload + 9, 0x80), (payload + 14, 0x40)):
                if packets[payload + 7] & flag:
                    shift_stamp(at)
    return bytes(packets)


def write_jump(folder: Path) -> Path:
    """A transport stream of 180 frames, whose times jump by an hour in the middle."""
    parts = [write_video(folder / f"{first}.ts", 90, "MPG2", first=first).read_bytes() for first in (0, 90)]
    path = folder / "jump.ts"
    path.write_bytes(parts[0] + later(parts[1], 3600))
    return path


def test_sample_gives_up_seeking_where_times_jump(tmp_path, monkeypatch):
    path = write_jump(tmp_path)
    sought = []
    monkeypatch.setattr(
        Capture, "go_to", lambda self, at_s, go=Capture.go_to: sought.append(at_s) or go(self, at_s)
    )
    with open_source(path) as source:
        assert source.info.length_s == pytest.approx(3618, rel=0.01)
        frames = source.sample(32)
    assert len(sought) < 3 * 8  # two of three among the packets
    assert len(frames) == 32
    assert np.diff(indices(frames)).max() < 10
    assert_numbered(frames)


def test_sample_seeks_once_into_a_gap_in_vain(tmp_path, monkeypatch):
    """Each seek that fails has decoded all that comes before, more than once."""
    path, sought = write_jump(tmp_path), []

    def go_to(self, at_s, go=Capture.go_to):
        if self.get(cv2.CAP_PROP_FORMAT) != -1:  # not among the packets
            sought.append(at_s)
        go(self, at_s)

    monkeypatch.setattr(Capture, "go_to", go_to)
    with open_source(path) as source:
        assert len(source.sample(32)) == 32
    assert len([at_s for at_s in sought if 10 < at_s < 3600]) == 1


def test_sample_of_a_recording_with_a_long_pause(monkeypatch):
    monkeypatch.setattr(files, "_decoded_by_seeking", lambda *_: 0)
    with open_source(CLIPS / "paused.mkv") as source:
        sample = source.sample(8)
    assert len(sample) == 8
    assert np.diff(indices(sample)).min() >= 4


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
