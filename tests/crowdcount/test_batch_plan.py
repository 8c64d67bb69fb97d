"""What is found in an archive: videos, cameras, start times, and where long videos are cut."""

import io
import json
import os
import re
import struct
import sys
from datetime import UTC, datetime
from pathlib import Path

import cv2
import numpy as np
import pytest

from crowdcount.batch.containers import creation_time
from crowdcount.batch.plan import (
    VIDEO_SUFFIXES,
    CameraRule,
    PathPattern,
    check_cameras,
    parse_camera,
    plan_videos,
)
from crowdcount.batch.run import start_time_of
from crowdcount.batch.segments import SEGMENT_S, Segment, seams, segments
from crowdcount.commands.batch import batch
from crowdcount.errors import BatchError
from crowdcount.smoothing import SMOOTHING_S
from crowdcount.stretches import WARM_UP_S
from crowdcount.video import Landmark, open_source
from features.foreground import look_step


@pytest.fixture
def archive(tmp_path):
    """Empty files named like videos, two cameras over two days, hidden ones, and one file that is none."""
    folder = tmp_path / "archive"
    for name in (
        "gate/2024-05-01/080000.mp4",
        "gate/2024-05-01/10.mp4",
        "gate/2024-05-02/9.mp4",
        "hall/20240501_120000.MKV",
        "hall/.hidden/20240501_120000.mkv",
        "hall/._20240501_120000.MKV",
        "hall/notes.txt",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def labels(videos):
    return [video.label for video in videos]


class TestInputs:
    def test_a_folder_gives_all_its_videos_in_natural_order(self, archive):
        videos = plan_videos([str(archive)])
        assert labels(videos) == [
            "gate/2024-05-01/10.mp4",
            "gate/2024-05-01/080000.mp4",
            "gate/2024-05-02/9.mp4",
            "hall/20240501_120000.MKV",
        ]
        assert all(os.path.isabs(video.path) for video in videos)

    def test_files_that_recorders_name_by_their_codec_are_videos(self, tmp_path):
        names = ["1.264", "2.265", "3.hevc", "4.H264", "5.m2t", "6.mjpg"]
        for name in names:
            (tmp_path / name).write_text("")
        assert labels(plan_videos([str(tmp_path)])) == names
        assert len(plan_videos([str(tmp_path / "1.264")])) == 1

    def test_the_documentation_says_what_is_named_like_a_video(self):
        commands = Path(__file__).parents[2] / "docs/commands.md"
        assert f"`{' '.join(sorted(VIDEO_SUFFIXES))}`" in commands.read_text(encoding="utf-8")

    def test_links_to_folders_are_followed_and_each_folder_is_entered_once(self, archive, tmp_path):
        disk = tmp_path / "disk/yard"
        disk.mkdir(parents=True)
        (disk / "1.mp4").write_text("")
        (archive / "yard").symlink_to(disk)
        (archive / "a-gate").symlink_to(archive / "gate")
        (archive / "gate/up").symlink_to(archive)
        (archive / "hall/linked.mp4").symlink_to(archive / "gate/2024-05-02/9.mp4")
        wanted = ["gate", "gate", "gate", "hall", "hall", "yard"]
        videos = plan_videos([str(archive)])
        assert [video.camera for video in videos] == wanted
        assert [label.split("/")[0] for label in labels(videos)] == wanted
        assert all(video.problem is None for video in videos)
        assert videos[5].path == str(archive / "yard/1.mp4")
        *_, yard = videos = plan_videos([str(archive), str(disk.parent), str(archive / "hall")])
        assert [video.camera for video in videos] == wanted
        assert yard.path == str(disk / "1.mp4")  # by its own name, where that is among them

    def test_a_folder_that_cannot_be_read_is_told_and_may_be_excluded(self, archive, monkeypatch):
        scandir = os.scandir

        def locked(folder):
            if Path(folder).name == "hall":
                raise PermissionError(13, "Permission denied", folder)
            return scandir(folder)

        monkeypatch.setattr(os, "scandir", locked)
        *others, hall = plan_videos([str(archive)], include=["*.mp4"])
        assert len(others) == 3
        assert all(video.problem is None for video in others)
        assert hall.label == "hall"
        assert re.fullmatch(r"cannot read .*/hall: permission denied; change its .*", hall.problem)
        assert len(plan_videos([str(archive)], exclude=["hall"])) == 3

    def test_include_and_exclude_choose_by_name_or_path(self, archive):
        assert labels(plan_videos([str(archive)], include=["*.mkv", "*.MKV"])) == ["hall/20240501_120000.MKV"]
        assert len(plan_videos([str(archive)], include=["gate/*"], exclude=["9.mp4"])) == 2
        assert labels(plan_videos([str(archive)], include=["*.txt"])) == ["hall/notes.txt"]
        result = archive / "hall/counts/camera=hall/date=unknown/a-0123456789abcdef-01234567.parquet"
        result.parent.mkdir(parents=True)
        result.touch()
        found = labels(plan_videos([str(archive / "hall")], include=["*.*"]))
        assert found == ["20240501_120000.MKV", "notes.txt"]
        assert labels(plan_videos([str(archive)], include=["hall/*"])) == ["hall/20240501_120000.MKV"]
        assert labels(plan_videos([str(archive)], include=["[.h]all/*"])) == ["hall/20240501_120000.MKV"]

    def test_a_list_counts_from_its_own_folder_and_each_file_once(self, archive):
        (archive / "some.txt").write_text("# chosen\nhall/20240501_120000.MKV\n\nhall/20240501_120000.MKV\n")
        (video,) = plan_videos([str(archive / "some.txt"), str(archive / "hall")])
        assert video.path == str(archive / "hall/20240501_120000.MKV")

    def test_include_and_exclude_choose_among_what_is_listed_or_named_too(self, archive):
        (archive / "some.txt").write_text("gate/2024-05-01/10.mp4\ngate/2024-05-02/9.mp4\nhall/notes.txt\n")
        given = [str(archive / "some.txt")]
        assert len(plan_videos(given)) == 3
        assert labels(plan_videos(given, include=["gate/*"], exclude=["9.mp4"])) == ["gate/2024-05-01/10.mp4"]
        with pytest.raises(BatchError, match=r"no video in .* that the patterns leave"):
            plan_videos([str(archive / "gate/2024-05-02/9.mp4")], exclude=["9.*"])

    @pytest.mark.parametrize("separator", ["\n", "\0"])
    def test_the_standard_input_lists_videos(self, archive, monkeypatch, separator):
        monkeypatch.chdir(archive)
        text = separator.join(["gate/2024-05-01/10.mp4", "missing.mp4"]).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        (archive / "-").mkdir()
        (archive / "-/other.mp4").touch()
        assert labels(plan_videos(["-"])) == ["gate/2024-05-01/10.mp4", "missing.mp4"]

    def test_a_standard_input_that_is_closed_lists_none(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(BatchError, match="the standard input, which was to list videos, is closed"):
            plan_videos(["-"])

    def test_a_pipe_lists_videos(self, archive, monkeypatch):
        """As `<(find …)` of a shell, which names an open one."""
        monkeypatch.chdir(archive)
        reading, writing = os.pipe()
        with os.fdopen(reading), os.fdopen(writing, "wb") as pipe:
            pipe.write(b"gate/2024-05-01/10.mp4\n")
            pipe.close()
            (video,) = plan_videos([f"/dev/fd/{reading}"])
        assert video.path == str(archive / "gate/2024-05-01/10.mp4")

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
    def test_a_list_of_a_windows_editor_or_shell_has_a_mark_before_its_first_path(self, archive, encoding):
        (archive / "some.txt").write_bytes("\ufeffgate/2024-05-01/10.mp4\r\n".encode(encoding))
        assert labels(plan_videos([str(archive / "some.txt")])) == ["gate/2024-05-01/10.mp4"]

    def test_listed_names_may_begin_like_a_comment_or_hold_any_space(self, archive):
        names = ["#1 gate.mp4", " a.mp4", "b.mp4 ", "c\n.mp4", "d\u2028.mp4", "e\x85f.mp4"]
        (archive / "zeros").write_text("\0".join([*names, ""]))
        assert sorted(labels(plan_videos([str(archive / "zeros")]))) == sorted(names)
        (archive / names[0]).write_text("")
        (archive / "lines").write_text("\n".join(["# chosen" * 100, "#2 gate.mp4", names[0], *names[4:], ""]))
        assert sorted(labels(plan_videos([str(archive / "lines")]))) == sorted([names[0], *names[4:]])

    def test_a_name_that_is_no_text_does_not_keep_the_others_of_its_list_from_being_counted(self, archive):
        names = [b"gate/2024-05-01/10.mp4", b"caf\xe9.mp4", b""]
        (archive / "zeros").write_bytes(b"\0".join(names))
        assert sorted(labels(plan_videos([str(archive / "zeros")]))) == ["caf\udce9.mp4", names[0].decode()]

    def test_numbers_in_names_may_have_any_length(self, archive):
        names = [f"{'9' * 5000}.mp4", f"1{'0' * 5000}.mp4", "010.mp4", "9.mp4", "a.mp4"]
        (archive / "some.txt").write_text("\n".join(names))
        assert labels(plan_videos([str(archive / "some.txt")])) == [names[k] for k in (3, 2, 0, 1, 4)]

    def test_what_is_no_archive_is_refused(self, archive):
        with pytest.raises(BatchError, match="absent does not exist; give a folder"):
            plan_videos([str(archive / "absent")])
        with pytest.raises(BatchError, match=r"no video in .*expected files named"):
            plan_videos([str(archive / "gate")], include=["*.mov"])
        utf16 = "gate/2024-05-01/10.mp4\n".encode("utf-16")
        for content in (utf16[:-1], utf16 + b"\x00\xd8", b"\xff\x00.\x00", b"caf\xe9.mp4\n10.mp4\n"):
            (archive / "list").write_bytes(content)
            with pytest.raises(BatchError, match="is no list of videos: it is not text"):
                plan_videos([str(archive / "list")])
        os.truncate(archive / "list", 1 << 30)  # as a recording whose name tells no video
        with pytest.raises(BatchError, match=r"is larger than any list of videos \(64 MiB\); give a folder"):
            plan_videos([str(archive / "list")])


class TestCameras:
    def test_by_default_the_nearest_folder_that_is_no_date(self, archive):
        assert [video.camera for video in plan_videos([str(archive)])] == ["gate", "gate", "gate", "hall"]
        (video,) = plan_videos([str(archive / "hall")])
        assert video.camera == "hall"

    def test_a_name_too_long_for_a_folder_is_told_and_can_be_replaced(self, archive):
        """Of letters that are no ASCII, each takes up to nine bytes there; the other cameras are counted."""
        name = 30 * "\N{CJK UNIFIED IDEOGRAPH-9580}"
        (archive / "gate").rename(archive / name)
        assert [video.problem is None for video in plan_videos([str(archive)])] == [True, False, False, False]
        rules = [CameraRule("gate", match=f"{name}/*")]
        assert all(video.problem is None for video in plan_videos([str(archive)], cameras=rules))

    def test_a_table_gives_name_model_and_scene(self, archive):
        rules = [
            CameraRule("entrance", match="gate/*", model="e.npz", timezone="Europe/Rome"),
            CameraRule("hall", scene="h.json"),
            CameraRule("any", match="*"),  # the first that fits is meant
        ]
        videos = plan_videos([str(archive)], cameras=rules)
        assert [(v.camera, v.model, v.scene) for v in videos] == [("entrance", "e.npz", None)] * 3 + [
            ("hall", None, "h.json")
        ]
        assert videos[0].timezone == "Europe/Rome"

    def test_a_path_that_no_pattern_fits_is_a_problem_of_that_video(self, archive):
        videos = plan_videos([str(archive)], patterns=[PathPattern("{camera}/%Y-%m-%d/%H%M%S")])
        assert [video.problem is None for video in videos] == [False, True, False, False]
        assert "does not fit the pattern {camera}/%Y-%m-%d/%H%M%S" in videos[0].problem

    def test_a_start_time_that_no_pattern_finds_is_no_silent_loss(self, archive):
        timed, rest = PathPattern("%Y-%m-%d/%H%M%S"), PathPattern("*")
        rules = [CameraRule("hall", match="hall/*")]
        videos = plan_videos([str(archive)], patterns=[timed], cameras=rules)
        assert [video.problem is None for video in videos] == [False, True, False, False]
        videos = plan_videos([str(archive)], patterns=[timed, rest], cameras=rules)
        assert [video.camera for video in videos] == ["gate", "gate", "gate", "hall"]
        assert [video.start_time is None for video in videos] == [True, False, True, True]

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("entrance", "given as name=NAME"),
            ("match=gate/*", "needs a name"),
            ("name=a,colour=red", "a camera has texts named name, match, model, scene, timezone, not colour"),
            ("name=a,timezone=Atlantis", "no time zone 'Atlantis'"),
            ("name=a,timezone=Europe", "no time zone 'Europe'; expected one as Europe/Rome"),
            ("name=a,timezone=../Rome", "no time zone '../Rome'"),
            (json.dumps({"name": 3}), "not name = 3"),
            (json.dumps({"name": "a", "scene": "\0"}), r"not scene = '\\x00'"),
            ("{name=a}", "table is given as JSON, not '{name=a}'"),
        ],
    )
    def test_a_camera_that_makes_no_sense_is_refused(self, text, reason):
        with pytest.raises(BatchError, match=reason):
            parse_camera(text)

    def test_a_second_rule_of_a_camera_that_fits_no_video_is_misspelt(self, archive):
        rules = [CameraRule("gate"), CameraRule("gate", match="gate/nihgt*", model="night.npz")]
        videos = plan_videos([str(archive)], cameras=rules)
        check_cameras(rules[:1], videos)
        with pytest.raises(BatchError, match=r"no video fits the camera 'gate/nihgt\*'"):
            check_cameras(rules, videos)


class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "path", "camera", "time"),
        [
            ("{camera}/%Y-%m-%d/%H%M%S", "/a/gate/2024-05-01/080910.mp4", "gate", "2024-05-01T08:09:10"),
            ("{camera}_%Y%m%d%H%M*", "/a/b/north-1_202405010809_x.y.mp4", "north-1", "2024-05-01T08:09"),
            ("%Y/%m/%d/cam?_%Y%m%d", "2024/05/01/cam7_20240501.ts", None, "2024-05-01"),
            ("{camera}/*", "/a/gate 2/x.mp4", "gate 2", None),
            ("(v1.0)_*", "/a/(v1.0)_b.mp4", None, None),
        ],
    )
    def test_what_a_path_says(self, pattern, path, camera, time):
        expected = None if time is None else datetime.fromisoformat(time)
        assert PathPattern(pattern).read(path) == (camera, expected)

    @pytest.mark.parametrize(
        ("pattern", "recorded", "start"),
        [
            ("%Y%m%d/*", "2024-05-01T08:15:30", "2024-05-01T08:15:30"),
            ("%Y%m%d/*", "2024-05-02T00:00:00", "2024-05-01T00:00:00"),
            ("%Y%m%d/*", "2024-04-30T23:59:59", "2024-05-01T00:00:00"),
            ("%Y%m%d/*", None, "2024-05-01T00:00:00"),
            ("%Y%m%d/%H_*", "2024-05-01T08:15:30", "2024-05-01T08:15:30"),
            ("%Y%m%d/%H_*", "2024-05-01T09:00:00", "2024-05-01T08:00:00"),
            ("%Y%m%d/%H_%M*", "2024-05-01T08:15:30", "2024-05-01T08:10:00"),
            ("*", "2024-05-01T08:15:30", "2024-05-01T08:15:30"),
            ("*", None, None),
        ],
    )
    def test_the_container_says_what_the_path_leaves_open(self, tmp_path, pattern, recorded, start):
        path = tmp_path / "20240501/08_10.mp4"
        path.parent.mkdir()
        path.write_text("")
        (video,) = plan_videos([str(tmp_path)], patterns=[PathPattern(pattern)])
        expected = None if start is None else datetime.fromisoformat(start)
        assert start_time_of(video, {"recorded": recorded}) == expected

    @pytest.mark.parametrize(
        ("pattern", "path"),
        [
            ("{camera}/%Y%m%d", "/gate/x20240501.mp4"),
            ("{camera}/%Y%m%d", "/gate/20240231.mp4"),
            ("%Y/%m/%d/cam_%Y%m%d", "2023/05/01/cam_20240501.ts"),
            ("{camera}/{camera}", "a/b.ts"),
        ],
    )
    def test_paths_that_do_not_fit(self, pattern, path):
        assert PathPattern(pattern).read(path) is None

    @pytest.mark.parametrize(
        ("pattern", "reason"),
        [
            ("{name}/*", r"knows \{camera\}, .* not '\{'"),
            ("%H%M", "has a time without %Y, %m and %d"),
            ("%q", "knows .* not '%q'"),
            ("{camera", r"knows .* not '\{'"),
        ],
    )
    def test_patterns_that_make_no_sense_are_refused(self, pattern, reason):
        with pytest.raises(BatchError, match=reason):
            PathPattern(pattern)

    @pytest.mark.parametrize(
        ("name", "time"),
        [
            ("20240501_080910", "2024-05-01T08:09:10"),
            ("NVR_ch1_2024-05-01 08-09-10_x", "2024-05-01T08:09:10"),
            ("2024-05-01T08.09.10", "2024-05-01T08:09:10"),
            ("20240501080910", "2024-05-01T08:09:10"),
            ("20241501_080910", None),
            ("clip120240501080910", None),
            ("2024-05-01", None),
            ("cam_01-05-2024_10-11-12_0001", None),
            ("12.31.2024 10.11.12.99", None),
            ("seg-2012-10-11-12-13-14-2024-05-01-08-00-00", None),
            ("20240501_080910_copied_20230501_080910", None),
            ("192.168.1.64_01_20240501080910123", "2024-05-01T08:09:10"),
            ("ch12_01_2024_05_01_08_09_10", None),
            ("ch12_01_2024-05-01_08-09-10", "2024-05-01T08:09:10"),
            ("ch12-2024-05-01-08-09-10", "2024-05-01T08:09:10"),
            ("NVR_ch1_main_20240501080910_20240501090910", "2024-05-01T08:09:10"),
            ("2024-05-01_08-09-10_2001", "2024-05-01T08:09:10"),
            ("202405010809101234", None),
            ("20240501_0809", "2024-05-01T08:09"),
            ("gate-20240501-0809-0909", "2024-05-01T08:09"),
            ("2024-05-01 00h10", "2024-05-01T00:10"),
            ("2024-05-01_08-09-main", "2024-05-01T08:09"),
            ("202405010010", "2024-05-01T00:10"),
            ("20240501_0000", "2024-05-01"),
            ("20240501_0010", None),  # the tenth of the day, or ten past midnight
            ("20240501_0010_20240501_0110", None),
            ("20240501_0809_20240502_0810", None),
            ("20240501_01_02", None),  # the second of channel 1
            ("20240501_1920x1080", None),
            ("20240501_08091", None),
            ("01-05-2024_10-11_0809", None),
        ],
    )
    def test_without_a_pattern_the_time_is_looked_for_in_the_name(self, tmp_path, name, time):
        (tmp_path / f"{name}.mp4").write_text("")
        (video,) = plan_videos([str(tmp_path)])
        assert video.start_time == (None if time is None else datetime.fromisoformat(time))


class TestContainers:
    def box(self, kind, content, wide=False):
        if wide:
            return struct.pack(">I4sQ", 1, kind, 16 + len(content)) + content
        return struct.pack(">I4s", 8 + len(content), kind) + content

    @pytest.mark.parametrize("version", [0, 1])
    def test_mp4_says_when_it_was_made(self, tmp_path, version):
        seconds = int(
            (datetime(2024, 5, 1, 8, tzinfo=UTC) - datetime(1904, 1, 1, tzinfo=UTC)).total_seconds()
        )
        header = struct.pack(">Bxxx" + ("Q" if version else "I"), version, seconds) + bytes(92)
        moov = self.box(b"moov", self.box(b"udta", b"") + self.box(b"mvhd", header))
        content = self.box(b"ftyp", b"isom") + self.box(b"mdat", bytes(50), wide=True) + moov
        (tmp_path / "a.mp4").write_bytes(content)
        assert creation_time(tmp_path / "a.mp4") == datetime(2024, 5, 1, 8, tzinfo=UTC)
        for n_bytes in range(len(content)):  # cut off anywhere: nothing, and no error
            (tmp_path / "cut.mp4").write_bytes(content[:n_bytes])
            assert creation_time(tmp_path / "cut.mp4") in (None, datetime(2024, 5, 1, 8, tzinfo=UTC))

    def test_matroska_says_when_it_was_made(self, tmp_path):
        def element(identifier, content):
            return bytes.fromhex(identifier) + (len(content) | 1 << 28).to_bytes(4) + content

        nanoseconds = int(
            (datetime(2024, 5, 1, 8, tzinfo=UTC) - datetime(2001, 1, 1, tzinfo=UTC)).total_seconds()
        )
        info = element(
            "1549A966", element("2AD7B1", b"\x0f") + element("4461", struct.pack(">q", nanoseconds * 10**9))
        )
        content = element("1A45DFA3", b"") + bytes.fromhex("18538067" + "01" + "FF" * 7) + info
        (tmp_path / "a.mkv").write_bytes(content)
        assert creation_time(tmp_path / "a.mkv") == datetime(2024, 5, 1, 8, tzinfo=UTC)
        for n_bytes in range(len(content)):
            (tmp_path / "cut.mkv").write_bytes(content[:n_bytes])
            assert creation_time(tmp_path / "cut.mkv") is None

    def test_a_clock_that_was_not_set_says_nothing(self, tmp_path):
        video = cv2.VideoWriter(str(tmp_path / "a.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 10.0, (64, 48))
        video.write(np.zeros((48, 64, 3), np.uint8))
        video.release()
        assert creation_time(tmp_path / "a.mp4") is None
        (tmp_path / "a.avi").write_bytes(b"RIFF....AVI ")
        assert creation_time(tmp_path / "a.avi") is None


class TestSeams:
    def test_cuts_fall_on_counted_frames_where_light_and_camera_are_looked_at(self):
        cuts = seams(100_000, 29.97, every=4, segment_s=600.0, warm_up_s=60.0)
        step = 4 * look_step(29.97 / 4)
        assert len(cuts) == 5
        assert all(start % step == first % step == 0 for start, first, _ in cuts)
        assert all(first - start >= 60 * 29.97 for start, first, _ in cuts)
        for start, _, kept in cuts:
            assert all(frame % 4 == 0 and frame < start for frame in kept)
            assert np.diff(kept) / 29.97 == pytest.approx(20, rel=0.01)  # seconds

    @pytest.mark.parametrize(
        ("count", "fps", "length"),
        [(None, 25.0, 900.0), (9000, None, 1.0), (9000, 1.0, 0.0), (22_000, 25.0, 600.0)],
    )
    def test_short_videos_and_those_of_unknown_length_stay_whole(self, count, fps, length):
        assert seams(count, fps, 1, length, 60.0) == []
        assert segments([], None) == [Segment(0, 0, None, None)]

    def test_segments_cover_everything_once(self):
        cuts = seams(10_000, 10.0, every=1, segment_s=200.0, warm_up_s=20.0)
        marks = [Landmark(frame, frame / 10, 0) for cut in cuts for frame in (cut.start, *cut.kept)]
        parts = segments(cuts, marks)
        assert [part.first for part in parts] == [0, 2000, 4000, 6000, 8000]
        assert [part.end for part in parts] == [2000, 4000, 6000, 8000, None]
        assert [part.start and part.start.frame for part in parts] == [None, 1800, 3800, 5800, 7800]

        kept = [mark.frame for mark in parts[1].kept]  # of every second frame, which are looked at
        assert kept == list(range(198, 1800, 200))

    def test_a_video_that_ends_early_has_fewer_segments(self):
        cuts = seams(10_000, 10.0, every=1, segment_s=200.0, warm_up_s=20.0)
        parts = segments(cuts, [Landmark(frame, frame / 10, 0) for frame in (*cuts[0].kept, 1800)])
        assert [(part.first, part.end) for part in parts] == [(0, 2000), (2000, None)]

    def test_the_command_cuts_as_the_library_does(self):
        defaults = {option.name: option.default for option in batch.params}
        assert (defaults["segment"], defaults["warm_up"]) == (SEGMENT_S, WARM_UP_S)

    def test_a_warm_up_longer_than_what_is_before_begins_at_the_start(self):
        assert seams(300, 10.0, 1, 10.0, 500.0) == [(0, 100, ()), (0, 200, ())]

    def test_the_first_count_is_steadied_whatever_warm_up_is_asked_for(self):
        cuts = seams(1000, 10.0, every=1, segment_s=20.0, warm_up_s=0.0)
        assert all(cut.first - cut.start >= SMOOTHING_S * 10 for cut in cuts)

    def test_passes_from_landmarks_are_the_whole_pass_from_there(self, tmp_path, make_clip):
        with open_source(make_clip(tmp_path / "a.avi", 120)) as source:
            whole = list(source.frames())
            marks = source.landmarks([0, 30, 75, 110, 500])
            assert [mark.frame for mark in marks] == [0, 30, 75]  # not told within 32 frames of the end
            for mark in marks:
                part = list(source.frames(start=mark))
                assert [f.index for f in part] == list(range(mark.frame, 120))
                assert [f.time_s for f in part] == [f.time_s for f in whole[mark.frame :]]
                assert all(
                    (f.image_bgr == g.image_bgr).all() for f, g in zip(part, whole[mark.frame :], strict=True)
                )
