"""Sources of any kind: places in them, windows, what is refused, closing."""

import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdcount.errors import VideoError
from crowdcount.video import Position, open_source, parse_position, position_of
from crowdcount.video.ahead import read_ahead
from tests.crowdcount.numbered_frames import (
    assert_numbered,
    damage,
    indices,
    open_descriptors,
    write_images,
    write_video,
)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("0", Position(frame=0)),
        ("120", Position(frame=120)),
        ("2.5s", Position(time_s=2.5)),
        ("0s", Position(time_s=0.0)),
        (".5s", Position(time_s=0.5)),
        ("00:00:01", Position(time_s=1.0)),
        ("10:05.5", Position(time_s=605.5)),
        ("1:00", Position(time_s=60.0)),
        ("100:59:59.25", Position(time_s=363599.25)),
    ],
)
def test_position_is_read(text, position):
    assert parse_position(text) == position


@pytest.mark.parametrize(
    "text",
    ["", "-1", "1.5", "s", "75:00", "1:60", "00:60:00", "00:00:60", "1e3s", "-2s", "nan", "1 s", "٣", ".s"]
    + [f"{'9' * n}{unit}" for n in (400, 5000) for unit in ("", "s", ":00:00")],
)
def test_other_positions_are_refused(text):
    with pytest.raises(VideoError, match=r"frame number \(120\)"):
        parse_position(text)


@pytest.mark.parametrize("place", [5, np.int64(5), np.uint8(5), "5", Position(frame=5)])
def test_a_frame_number_of_any_type_is_a_position(place):
    assert position_of(place) == Position(frame=5)
    assert type(position_of(place).frame) is int


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (Position(frame=60), "frame 60"),
        (Position(time_s=59.5), "59.5 s"),
        (Position(time_s=60.0), "0:01:00"),
        (Position(time_s=62.5), "0:01:02.5"),
        (parse_position(f"{'9' * 15}s"), "1e+15 s"),  # no clock goes so far
    ],
)
def test_how_a_place_is_told(place, told):
    assert str(place) == told


def test_a_time_is_reached_by_the_frame_whose_stamp_is_a_rounded_one():
    assert Position(time_s=0.3).reached(3, 0.3 - 1e-9)
    assert not Position(time_s=0.3).reached(3, 0.299)


@pytest.mark.parametrize("place", [1.0, np.float32(1), b"1", (1,), -1, np.int64(-1)])
def test_what_is_no_position(place):
    with pytest.raises(VideoError, match=r"frame number \(120\)"):
        position_of(place)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_clock_times_round_trip(hours, minutes, seconds, thousandths):
    read = parse_position(f"{hours:02}:{minutes:02}:{seconds:02}.{thousandths:03}")
    assert read.time_s == pytest.approx(hours * 3600 + minutes * 60 + seconds + thousandths / 1000)


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
        ({"every": 2.5}, "a whole number, not 2.5"),
        ({"start": Position(frame=5), "end": Position(frame=5)}, "must lie behind the start"),
        ({"start": Position(time_s=2.0), "end": Position(time_s=1.0)}, "must lie behind the start"),
        ({"start": Position(time_s=2.0), "end": Position(time_s=2.0)}, "must lie behind the start"),
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
        "archive.npz": (b"PK\x03\x04" + bytes(500), "no pictures"),
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


def test_a_name_whose_letters_the_locale_lacks(tmp_path):
    """As in a container without a locale: the file is not at fault."""
    path = tmp_path / "stra\u00dfe.mp4"
    path.touch()
    code = "import sys; from crowdcount.video import open_source; open_source(sys.argv[1])"
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, os.fsencode(path)]
    environment, cwd = os.environ | ascii_only, Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, env=environment, cwd=cwd)
    assert b"its name is UTF-8, the locale is not: set LANG to a UTF-8 locale, or PYTHONUTF8=1" in done.stderr


def test_a_file_in_a_locked_folder(locked):
    for name in ("a.mp4", "*.png"):
        with pytest.raises(VideoError, match=r"cannot be read: no permission; change its permissions$"):
            open_source(locked / name)


@pytest.mark.parametrize("source", [1.0, None, [1, 2], b"a.avi"])
def test_what_is_no_source(source):
    with pytest.raises(VideoError, match="is no source; give a video, a folder"):
        open_source(source)


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
    "arguments", [{"timeout_s": 0}, *({"fps": rate} for rate in (0, math.nan, math.inf, 1e-300, 1e300, "25"))]
)
def test_senseless_numbers_are_refused(tmp_path, arguments):
    with pytest.raises(VideoError, match=r"must be (a (positive )?number|1e-06 to 1e\+06 frames per second)"):
        open_source(tmp_path, **arguments)


def test_a_name_with_a_time_of_day_in_the_working_folder(tmp_path, monkeypatch):
    """FFmpeg would take what is before the first colon for a protocol."""
    write_video(tmp_path / "a.avi", 5).rename(tmp_path / "2024-05-01T08:00:00.avi")
    monkeypatch.chdir(tmp_path)
    with open_source("2024-05-01T08:00:00.avi") as source:
        assert source.info.name == "2024-05-01T08:00:00.avi"
        assert len(list(source.frames())) == 5


def test_opencv_and_ffmpeg_keep_quiet(tmp_path):
    """In a process of its own, as the log level is fixed with the first video that is opened."""
    names = bad_files(tmp_path)
    path = write_video(tmp_path / "damaged.avi", 30)
    damage(path, [10])
    program = (
        "import sys\n"
        "from crowdcount.errors import VideoError\nfrom crowdcount.video import open_source\n"
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
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


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
