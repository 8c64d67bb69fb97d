"""The command line on real files, in this process where nothing but the files counts, else in its own."""

import functools
import json
import math
import os
import pickle
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from crowdcount import jobs
from crowdcount.cli import check_packages, command_line
from crowdcount.errors import CrowdCountError
from crowdcount.jobs import plan_counting, source_stem
from crowdcount.learning import regressors
from crowdcount.learning.datasets import UCSD_FEATURES
from crowdcount.model import load_model
from crowdcount.overview import Overview
from crowdcount.results import CountSummary, FrameCount, read_counts, read_start_time
from crowdcount.rows import FORMATS
from crowdcount.scene import Scene, load_scene, scene_from
from crowdcount.terminal import describe_counts, describe_model
from tests.crowdcount.helpers import only
from tests.crowdcount.numbered_frames import patch_avi_header, write_video
from tests.crowdcount.rtsp import send_rtsp

PROJECT = Path(__file__).resolve().parents[2]
CLIPS = Path(__file__).resolve().parent / "clips"
SIZE_WH, N_FRAMES, FPS = (160, 120), 40, 10.0
COUNT = "count ../street.avi -m ../model.npz"
PERSONS = "--person 80,50,20 --person 80,110,40"


def street(n_frames):
    """Frames of a street that two or three people cross, each with their number."""
    rng = np.random.default_rng(0)
    ground = rng.integers(150, 200, (SIZE_WH[1], SIZE_WH[0], 3), np.uint8)
    for k in range(n_frames):
        frame = cv2.add(ground, rng.integers(0, 8, ground.shape, np.uint8))
        present = [i for i in range(3) if (k // 7 + i) % 4]
        for i in present:
            x, foot = (20 + 40 * i + 3 * k) % 150, 60 + 20 * i
            tall = foot // 3
            cv2.rectangle(frame, (x, foot - tall), (x + tall // 3, foot), (40 * i, 50, 60), -1)
        yield frame, len(present)


def write_clip(path, n_frames):
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, SIZE_WH)
    for frame, _ in street(n_frames):
        video.write(frame)
    video.release()


def process(command, **options):
    """Start the command line in a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    environment = os.environ | {"PYTHONPATH": str(PROJECT), "no_proxy": "127.0.0.1"}
    arguments = [sys.executable, "-m", "crowdcount", *shlex.split(command)]
    return subprocess.Popen(arguments, env=environment, **options)


def finished(command, **options):
    """Run the command line in a process of its own; returns exit code, standard output and error."""
    with process(command, **options) as running:
        stdout, stderr = running.communicate()
    return running.returncode, stdout, stderr


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Folder with street.avi, its labels.csv and scene.json, and model.npz that the command line trained."""
    folder = tmp_path_factory.mktemp("made")
    write_clip(folder / "street.avi", N_FRAMES)
    counts = "".join(f"{k},{count}\n" for k, (_, count) in enumerate(street(N_FRAMES)))
    (folder / "labels.csv").write_text("frame,count\n" + counts)
    scene_from(SIZE_WH, None, [(80, 50, 20), (80, 110, 40)]).save(folder / "scene.json")
    command = "train street.avi --counts labels.csv --frames 0-29 --scene scene.json -m model.npz --json"
    code, stdout, stderr = finished(command, cwd=folder)
    assert (code, stderr) == (0, "")
    (folder / "trained.json").write_text(stdout)
    return folder


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory):
    """A clip that takes many seconds to count."""
    path = tmp_path_factory.mktemp("long") / "long.avi"
    write_clip(path, 1500)
    return path


@pytest.fixture
def here(made, monkeypatch):
    """An empty working folder inside `made`."""
    folder = Path(tempfile.mkdtemp(dir=made))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(here, run):
    """The command line, in the folder `here`."""
    return run


def error_line(stderr):
    assert stderr.startswith("crowdcount: ")
    assert stderr.count("\n") == 1
    return stderr


class TestCount:
    def test_count_is_the_default_command(self, here):
        code, stdout, stderr = finished("../street.avi --model ../model.npz")
        assert (code, stdout) == (0, "")
        assert only(here) == ["street.counts.csv"]
        rows = read_counts("street.counts.csv")
        assert [row.frame for row in rows] == list(range(N_FRAMES))
        labels = [count for _, count in street(N_FRAMES)]
        assert np.abs(np.array([row.count for row in rows]) - labels).mean() < 0.7
        assert "160x120, 10 frames/s" in stderr
        assert "person height" in stderr
        assert "model: trained on street.avi; MAE " in stderr
        mean = np.mean([row.count for row in rows])
        peak = max(rows, key=lambda row: row.count)
        assert (
            f"40 frames, mean {mean:.1f} people, peak {peak.count:.1f} at 0:00:0{peak.time_s:.1f}" in stderr
        )
        assert "frames/s\n  written: street.counts.csv\n" in stderr

    def test_window_format_and_standard_output(self, run):
        code, stdout, stderr = run(
            f"{COUNT} --start 00:00:01 --end 31 --every 10 -o - --format jsonl -q "
            "--start-time 2024-05-01T08:00:00+02:00"
        )
        assert (code, stderr) == (0, "")
        rows = [json.loads(line) for line in stdout.splitlines()]
        assert [row["frame"] for row in rows] == [10, 20, 30]
        assert rows[0]["time"] == "2024-05-01T08:00:01.000+02:00"

    def test_a_window_of_the_day(self, run):
        code, stdout, _ = run(
            f"{COUNT} --start-time 2024-05-01T23:59:59 --start 2024-05-02 --end 2024-05-02T00:00:01.5 -o - -q"
        )
        assert code == 0
        _, first, *_, last = (line.split(",")[:3] for line in stdout.splitlines())
        assert first == ["10", "1.0", "2024-05-02T00:00:00.000"]
        assert last == ["24", "2.4", "2024-05-02T00:00:01.400"]

    def test_pictures_scene_and_parquet(self, run, here):
        code, _, stderr = run(
            f"{COUNT} -o a.parquet --every 4 --plot a.png --overlay a.avi --save-scene a.json"
        )
        assert code == 0
        assert stderr.endswith("written: a.parquet, a.png, a.avi, a.json\n")
        assert only(here) == ["a.avi", "a.json", "a.parquet", "a.png"]
        assert len(read_counts("a.parquet")) == 10
        assert cv2.imread("a.png").shape[1] > 1000
        overlay = cv2.VideoCapture("a.avi")
        assert sum(1 for _ in iter(overlay.grab, False)) == 10
        overlay.release()
        assert load_scene("a.json").line == load_scene("../scene.json").line

    def test_a_failing_source_does_not_stop_the_others(self, run, here):
        write_clip("other.avi", 10)
        code, _, stderr = run("absent.avi ../street.avi other.avi -m ../model.npz --end 5")
        assert code == 3
        assert only(here) == ["other.avi", "other.counts.csv", "street.counts.csv"]
        assert [len(read_counts(name)) for name in ("other.counts.csv", "street.counts.csv")] == [5, 5]
        *_, reason, total = stderr.splitlines()
        assert reason.startswith("crowdcount: absent.avi does not exist")
        assert total == "2 of 3 sources counted"

    def test_all_sources_fail(self, run):
        code, _, stderr = run("absent.avi none.avi -q -m ../model.npz")
        assert code == 1
        first, second = stderr.splitlines()
        assert first.startswith("crowdcount: absent.avi does not exist")
        assert second.startswith("crowdcount: none.avi does not exist")

    def test_an_image_that_cannot_be_decoded(self, run, here):
        (here / "shots").mkdir()
        for k, (frame, _) in enumerate(street(12)):
            cv2.imwrite(f"shots/{k}.png", frame)
        Path("shots/6.png").write_text("no image")
        code, _, stderr = run("shots/ -m ../model.npz --fps 10")
        assert code == 0
        rows = read_counts("shots.counts.csv")
        assert [row.frame for row in rows] == list(range(12))
        assert [row.frame for row in rows if math.isnan(row.count)] == [6]
        assert rows[6].flags == ("undecodable",)
        assert "12 frames, mean" in stderr
        assert "undecodable 1" in stderr

    @pytest.mark.parametrize(("model", "is_known"), [("", False), ("-m ../model.npz", True)])
    def test_one_or_two_pictures_show_no_empty_scene(self, run, here, model, is_known):
        (here / "shots").mkdir()
        for k, (frame, _) in enumerate(street(2)):
            cv2.imwrite(f"shots/{k}.png", frame)
        code, _, stderr = run(f"shots/ {model}")
        assert code == 0
        rows = read_counts("shots.counts.csv")
        assert ["learning" in row.flags for row in rows] == 2 * [not is_known]
        assert [math.isnan(row.high) for row in rows] == 2 * [not is_known]  # nothing is known then
        assert ("frames flagged: learning 2" in stderr) != is_known
        assert ("the empty scene cannot be told from people" in stderr) != is_known
        assert "2 frames as stated" in stderr
        assert "times are as of 1 frame/s: give the rate as --fps" in stderr

    def test_a_lost_frame_does_not_hide_that_no_empty_scene_is_known(self, run, here):
        (here / "shots").mkdir()
        for k, (frame, _) in enumerate(street(2)):
            cv2.imwrite(f"shots/{k}.png", frame)
        (here / "shots" / "2.png").write_bytes(b"cut off")
        code, _, stderr = run("shots/")
        assert code == 0
        assert "frames flagged: learning 2, undecodable 1" in stderr
        assert "the empty scene cannot be told from people" in stderr

    def test_footage_of_another_camera_than_the_models_is_told(self, run, here):
        (here / "other").mkdir()
        for k, (frame, _) in enumerate(street(20)):
            cv2.imwrite(f"other/{k:02d}.png", np.ascontiguousarray(frame[::-1, ::-1]))
        told = "no frame shows the view in which the model learnt"
        _, _, stderr = run("other/ --fps 10 -m ../model.npz")
        assert "frames flagged: camera_moved 20" in stderr
        assert told in stderr
        assert told not in run("../street.avi -m ../model.npz")[2]

    def test_people_who_all_stand_still_are_told_to_be_background(self, run, here):
        (here / "still").mkdir()
        [(frame, _)] = street(1)
        for k in range(20):
            cv2.imwrite(f"still/{k}.png", frame)
        told = "nobody was seen to come or go"
        assert told in run("still/ --fps 10")[2]
        assert told not in run("still/ --fps 10 -m ../model.npz -o a.csv")[2]  # knows its empty scene
        assert told not in run("../street.avi")[2]

    def test_of_footage_that_shows_nothing_nobody_is_told_to_stand_still(self, run, here):
        (here / "black").mkdir()
        for k in range(20):
            cv2.imwrite(f"black/{k}.png", np.zeros((60, 80, 3), np.uint8))
        stderr = run("black/ --fps 10")[2]
        assert "frames flagged: blank 20" in stderr
        assert "nobody was seen to come or go" not in stderr

    def test_a_file_of_unknown_rate_is_told_as_pictures_are(self, run, here):
        clip = write_video(here / "clock.avi", 20)
        patch_avi_header(clip, scale=1, rate=1000)
        code, _, stderr = run("clock.avi")
        assert code == 0
        assert "unknown rate, 20 frames as stated" in stderr
        assert "times are as of 25 frames/s: give the rate as --fps" in stderr

    def test_mean_and_peak_are_those_of_reliable_frames(self):
        summary = CountSummary()
        counts = [(90, "light_change"), (4, ""), (math.nan, "undecodable"), (6, "resized"), (80, "learning")]
        counts += [(6, "")]  # as many as at the peak before
        for k, (people, flag) in enumerate(counts):
            summary.add(FrameCount(k, k / 10, people, people, people, (flag,) if flag else ()))
            if k == 0:  # better than nothing
                assert (summary.mean, summary.peak.frame, summary.n_reliable) == (90, 0, 0)
                assert "reliable" not in describe_counts(summary)
        assert (summary.frames, summary.mean, summary.peak.frame, summary.n_reliable) == (6, 16 / 3, 3, 3)
        told = "mean 5.3 people, peak 6.0 at 0:00:00.3 (frame 3), of 3 reliable frames"
        assert describe_counts(summary) == told

    def test_a_scene_for_other_frames(self, run, here):
        Scene((320, 120), np.ones((120, 320), bool), np.full((120, 320), 20, np.float32)).save("wide.npz")
        code, _, stderr = run(f"{COUNT} --scene wide.npz -q")
        assert code == 1
        assert "320x120, but these have 160x120" in error_line(stderr)
        assert only(here) == ["wide.npz"]

    def test_files_named_like_commands(self, run):
        write_clip("train.avi", 3)
        Path("train.avi").rename("train")
        assert run("./train -m ../model.npz -q")[0] == 0
        assert len(read_counts("train.counts.csv")) == 3


class TestPlan:
    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("a/x.avi b/x.avi", "a/x.avi and b/x.avi would both be written to x.counts.csv"),
            ("x.avi x.avi", "would both"),
            ("x.avi y.avi -o all.csv", "-o names one file for 2 sources"),
            ("x.avi y.avi -o -", "-o names one file"),
            ("x.avi y.avi --plot p.png", "--plot names one file"),
            ("x.avi y.avi --overlay o.mp4", "--overlay names one file"),
            ("x.avi y.avi --save-scene s.json", "--save-scene names one file"),
            ("x.avi --overlay ./x.avi", "x.avi would be written over"),
            ("x.partial.avi --overlay x.avi", "x.partial.avi would be written over"),
            ("x.avi -m m.npz --save-scene m.npz", "m.npz would be written over"),
            ("count . --plot a.png", "a.png would be a frame of ., which reads the images that are there"),
            ("count './*.png' --plot ../new/../{here}/a.png", "a.png would be a frame of ./*.png"),
            ("x.avi --plot x.counts.csv", "two results would be written to x.counts.csv"),
            ("x.avi -o x.txt", "a name ending in .csv or .jsonl or .parquet; or give --format"),
            ("x.avi -o x", "or give --format"),
            ("x.avi rtsp://me:secret@gate/1", "gate-1 is live: the others would wait for its end"),
            ("0 1", "0 is live"),
            ("x.avi --every 0", "--every"),
            (f"x.avi --every {'9' * 400}", "'--every': expected a number up to 1e+09, found 999"),
            ("x.avi --timeout nan", "'--timeout': expected a number up to 1e+09, found nan"),
            ("batch .. -o out --segment inf", "'--segment': expected a number up to"),
            ("alarm run x.avi -m m.npz --margin nan", "'--margin': expected a number up to"),
            ("train x.avi -m m.npz --level nan", "'--level': expected a number up to"),
            (f"x.avi --start {'9' * 400}:00:00", "a position is a frame number"),
            ("x.avi --start-time 9999-12-31T23:59:59", "'--start-time': expected an ISO 8601 time such as"),
            ("x.avi --start 1:90", "a position is a frame number"),
            ("x.avi --start-time noon", "an ISO 8601 time such as"),
            ("x.avi --start 2024-05-01T25:00:00", "an ISO 8601 time such as"),
            ("x.avi --start 2024-05-01T10:00:00", "--start is a time of day: add --start-time"),
            ("alarm run x.avi -m m.npz --end 2024-05-01", "--end is a time of day: add --start-time"),
            ("x.avi --end 2024-05-01 --start-time 2024-05-01T08:00", "--end 2024-05-01 00:00:00 lies before"),
            ("x.avi --end 2024-05-01T09:00Z --start-time 2024-05-01T08:00", "has a time zone: give both one"),
            ("x.avi --start-time 2024-05-01T08:00:00+05:30:15", "an ISO 8601 time such as"),
            ("x.avi --start-time 0001-01-01T00:00:00+14:00", "an ISO 8601 time such as"),
            ("x.avi y.avi --start-time 2024-05-01T08:00:00", "--start-time is when one source began, not 2"),
            ("x.avi --colour", "No such option '--colour'."),
            ("x.avi --modle m.npz", "No such option '--modle'. (Did you mean one of: '--model'"),
            ("x.avi --roi 1,2", "which is for crowdcount scene: that writes a file for --scene"),
            ("alarm run x.avi --person 1,2,3", "which is for crowdcount scene: that writes a file"),
            ("scene x.avi --every 2", "No such option '--every', which is for crowdcount count, batch\n"),
            ("--versoin", "Did you mean"),
            ("--outptu a.csv x.avi", "Did you mean"),
            ("scene x.avi --import a.mat --scene b.json", "drop one"),
            ("scene x.avi --roi '1,1 2,2'", "expected a polygon as three or more points"),
            ("scene x.avi --person 1,2", "expected a person as x,foot_y,height"),
            ("train x.avi", "--model"),
            ("count", "SOURCE"),
            # Path("") is the working folder: a batch was written there
            ("''", "an argument is empty"),
            ("batch .. -o ''", "an argument is empty"),
            ("../street.avi -m ''", "an argument is empty"),
            ("../street.avi --scene=", "an argument is empty"),
            ("evaluat ../street.avi", "neither a file nor a command 'evaluat'; did you mean 'evaluate'?"),
            ("recalibarte bundled ../street.avi", "did you mean 'recalibrate'?"),
            ("a" * 300, "neither a file nor a command 'aaa"),
            ("help", "neither a file nor a command 'help'; crowdcount --help lists the commands"),
        ],
    )
    def test_usage_errors_come_before_any_work(self, run, here, command, said):
        code, stdout, stderr = run(command.replace("{here}", here.name))
        assert (code, stdout) == (2, "")
        assert said in stderr
        assert only(here) == []

    def test_a_name_that_begins_with_a_dash_is_told_how_to_be_given(self, run, here):
        (here / "-dash.avi").symlink_to("../street.avi")
        code, _, stderr = run("-dash.avi --end 2")
        assert code == 2
        assert "-dash.avi is taken for options: give the file as ./-dash.avi" in stderr
        assert run("./-dash.avi -m ../model.npz --end 2 -q")[0] == 0

    def test_labels_of_the_users_are_not_replaced(self, run, here):
        for labels in ("frame,count\n0,1\n", "frame,time_s,count\n0,0.0,1\n"):  # the latter of suggest
            (here / "street.counts.csv").write_text(labels)
            (here / "labels.CSV").write_text(labels)
            for named, path in (("", "street.counts.csv"), (" -o street.counts.csv", "street.counts.csv"),
                                (" -o labels.CSV", "labels.CSV")):  # fmt: skip
                code, _, stderr = run(f"{COUNT}{named}")
                assert code == 2
                assert f"{path} is there already and holds other columns than frame, time_s, co" in stderr
                assert (here / path).read_text() == labels
        (here / "street.counts.csv").unlink()
        for _ in range(2):
            assert run(f"{COUNT} -o street.counts.csv --end 2 -q")[0] == 0
            assert run(f"{COUNT} --end 2 -q")[0] == 0

    def test_nor_by_densities(self, run, here):
        (here / "l.csv").write_text("frame,count\n0,1\n")
        code, _, stderr = run(f"{COUNT} --profile l.csv")
        assert code == 2
        assert "l.csv is there already and holds other columns than frame, time_s, count, density_1" in stderr
        assert stderr.rstrip().endswith("choose another name")  # not with -o, which names the counts

    def test_models_and_scenes_are_not_replaced_by_what_is_none(self, run, here):
        """Nor are files of others."""
        load_model("../model.npz").scene.save("scene.npz")
        shutil.copy("../model.npz", "model.npz")
        np.savez("table.npz", x=np.zeros(3))
        Path("package.json").write_text('{"name": "x"}')
        before = {name: (here / name).read_bytes() for name in only(here)}
        for command, kind in (
            (f"scene ../street.avi {PERSONS} -o", "scene"),
            (f"{COUNT} -o c.csv --save-scene", "scene"),
            ("train ../street.avi --counts ../labels.csv -m", "model"),
            ("recalibrate bundled ../street.avi --counts ../labels.csv -o", "model"),
            ("alarm train ../street.avi --labels ../labels.csv -m", "alarm"),
        ):
            for name in before:
                if name.startswith(kind) or (name.endswith(".json") and kind != "scene"):
                    continue
                code, _, stderr = run(f"{command} {name}")
                assert code in (1, 2), command
                assert f"{name} is there and is no {kind} of crowdcount; move it" in stderr
        assert {name: (here / name).read_bytes() for name in only(here)} == before

    @pytest.mark.parametrize(
        ("source", "stem"),
        [
            ("a/b.c.mp4", "b.c"),
            ("shots/", "shots"),
            ("shots/img_*.png", "img"),
            ("shots/*.png", "shots"),
            ("im[0-9]?.jpg", "im"),
            ("0", "camera-0"),
            ("0007", "0007"),
            ("rtsp://me:pass@gate:554/a/b?key=x", "gate-554-a-b"),
            ("http://host/street.mp4", "host-street.mp4"),
            ("udp://@:1234", "1234"),
            ("rtsp://h/live?u=admin&p=12345&passphrase=hunter2&sid=a1", "h-live"),
            ("http://gate/cam/realmonitor?channel=1&subtype=0", "gate-cam-realmonitor-channel-1-subtype-0"),
            ("rtsp://gate/a?user=me;password=se;auth=YWRtaW46MQ&size=640x480", "gate-a-user-me-size-640x480"),
            ("rtsp://gate/" + 300 * "a", "gate-" + 95 * "a"),  # no name of a file is as long
            ("http://u:p@gate/?url=rtsp://me:pass@cam/x&ch=2&t=%2F..%2F&s=" + 99 * "x", "gate-ch-2"),
        ],
    )
    def test_stems(self, tmp_path, monkeypatch, source, stem):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "shots").mkdir()
        (tmp_path / "0007").write_text("a file")
        assert source_stem(source) == stem
        assert source_stem(".") == tmp_path.name

    def test_a_password_stays_out_of_names_and_messages(self):
        (job,) = plan_counting(["rtsp://me:secret@gate/live"])
        assert (job.label, job.counts) == ("gate-live", "gate-live.counts.csv")
        url = "http://gate/user=admin&password=hunter2&channel={}.sdp"
        stems = {source_stem(url.format(channel)) for channel in (1, 2)}
        assert stems == {f"gate-user-admin-password-channel-{channel}.sdp" for channel in (1, 2)}

    def test_a_thousand_sources_are_planned_at_once(self, here):
        began = time.monotonic()
        jobs = plan_counting([f"{k}.mp4" for k in range(1000)])
        assert time.monotonic() - began < 10.0  # it took minutes to compare each file with each other one
        assert len({job.counts for job in jobs}) == 1000

    def test_format_comes_from_the_option_then_the_suffix(self):
        for format in FORMATS:
            assert plan_counting(["a.mp4"], output=f"x.{format}")[0].format == format
            assert plan_counting(["a.mp4"], output="x.dat", format=format)[0].format == format
            assert plan_counting(["a.mp4"], format=format)[0].counts == f"a.counts.{format}"
        (option,) = (option for option in command_line.commands["count"].params if option.name == "format")
        assert tuple(option.type.choices) == FORMATS


class TestMisspeltCommands:
    def test_a_folder_named_like_a_misspelt_command_is_a_source(self, here, made, run):
        (here / "evaluat").mkdir()
        for k, (image, _) in enumerate(street(3)):
            cv2.imwrite(str(here / "evaluat" / f"{k}.png"), image)
        assert run("evaluat -m ../model.npz -q")[0] == 0
        assert only(here) == ["evaluat", "evaluat.counts.csv"]


class TestBadInput:
    def test_a_locked_folder(self, here, monkeypatch):
        """Python 3.11 raises already where it is asked whether a file is in there."""

        def refuse(path):
            raise PermissionError(13, "Permission denied", str(path))

        (here / "mall").mkdir()
        monkeypatch.setattr(Path, "is_file", refuse)
        result = CliRunner().invoke(command_line, ["train", "mall", "-m", "m.npz", "-q"])
        assert result.exit_code == 1
        assert error_line(result.stderr).endswith("cannot be read: no permission; change its permissions\n")

    def test_a_source_in_a_locked_folder_stops_no_other(self, run, locked):
        code, _, stderr = run(f"{COUNT} {locked}/x.mp4 -q")
        assert code == 3
        assert error_line(stderr) == (
            f"crowdcount: {locked}/x.mp4 cannot be read: no permission; change its permissions\n"
        )
        assert len(read_counts("street.counts.csv")) == N_FRAMES

    @pytest.mark.parametrize("options", ["-o {}.csv", "-o - --plot {}.png", "-o - --save-scene {}.npz"])
    def test_results_in_a_locked_folder(self, run, locked, options):
        path = locked / "x"
        code, _, stderr = run(f"{COUNT} -q {options.format(path)}")
        assert code == 1
        assert error_line(stderr).startswith(f"crowdcount: cannot write {path}.")
        assert "writing there is not permitted; choose another folder" in stderr

    @pytest.mark.skipif(os.name == "nt", reason="there, a working folder cannot be removed")
    @pytest.mark.parametrize("command", ["{0}/street.avi", "street.avi", "suggest {0}/street.avi -n 5"])
    def test_a_working_folder_that_was_removed(self, run, here, command):
        (here / "gone").mkdir()
        os.chdir(here / "gone")
        (here / "gone").rmdir()
        code, _, stderr = run(command.format(here.parent))
        os.chdir(here)
        assert code == 1
        assert "the working folder was removed meanwhile; go to another one (cd)" in error_line(stderr)

    @pytest.mark.parametrize("command", ["{}.mp4", "../street.avi -m {}", "train {} -m m.npz", "report {}"])
    def test_a_name_that_is_too_long(self, run, here, command):
        """To Python 3.14 nothing of such a name is there; earlier ones raise where it is asked."""
        code, _, stderr = run(command.format("a" * 300))
        assert code == 1
        told = "its name is too long|file name too long|neither a file|not a folder|not exist"
        told = f"cannot be read or written: its name is too long|{told}"
        assert re.search(rf"a(\.mp4|\.counts\.csv)?:? (is |does )?({told}).*; .+\n$", stderr)

    @pytest.fixture
    def files(self, made, here):
        clip, model = ((made / name).read_bytes() for name in ("street.avi", "model.npz"))
        (here / "street.avi").write_bytes(clip)
        (here / "empty.avi").touch()
        (here / "text.avi").write_text("frame,count\n0,1\n")
        (here / "cut.npz").write_bytes(model[:2000])
        (here / "pickle.npz").write_bytes(pickle.dumps(print))
        np.savez(here / "hostile.npz", meta=np.array([print], object), allow_pickle=True)
        (here / "folder").mkdir()
        (here / "shots").mkdir()
        cv2.imwrite(str(here / "shots/frame-000001.png"), np.zeros((120, 160, 3), np.uint8))
        rows = {"unknown": "0,1\n99,2", "twice": "0,1\n0,2", "text": "0,many", "less": "0,-1", "few": "0,1"}
        for name, text in rows.items():
            (here / f"{name}.csv").write_text(f"frame,count\n{text}\n")
        return here

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("absent.avi", "absent.avi does not exist"),
            ("20261122093000", "20261122093000 does not exist"),
            ("empty.avi", "empty.avi is empty"),
            ("text.avi", "text.avi cannot be read as a video"),
            ("cut.npz", "cut.npz holds ready-made features or other numbers, no pictures; give these"),
            ("folder", "give videos one by one, or their folder to crowdcount batch"),
            ("street.avi --reconnect 9", "street.avi is neither camera nor stream: it does not break off"),
            ("street.avi --latest", "street.avi is neither camera nor stream: its frames wait"),
            ("street.avi --start 500", "no frame between frame 500 and its end"),
            ("street.avi --start 9 --end 5", "must lie behind the start"),
            ("street.avi -m cut.npz", "cut.npz is damaged"),
            ("street.avi -m hostile.npz", "hostile.npz is damaged or was not written by crowdcount"),
            ("street.avi -m pickle.npz", "pickle.npz is damaged or was not written by crowdcount"),
            ("street.avi -m absent.npz", "absent.npz does not exist"),
            ("street.avi --scene absent.json", "no such file or directory; check its name and permissions"),
            ("train street.avi --counts absent.csv", "directory; check its name and permissions"),
            ("street.avi --scene text.avi", "text.avi is not a scene file"),
            ("street.avi -o absent/a.csv", "cannot write absent/a.csv: the folder absent does not exist"),
            ("street.avi -o folder --format csv", "cannot write folder: expected the name of a file"),
            ("street.avi --plot a.doc", "cannot write a.doc: expected a name ending in .png"),
            ("street.avi --overlay a.mkv", "cannot write a.mkv: expected a name ending in .mp4"),
            ("street.avi --save-scene a.txt", "cannot write a.txt: expected a name ending in .json"),
            ("alarm run shots --plot shots/a.png", "shots/a.png would be a frame of shots"),
            ("suggest shots -n 1 --pictures shots", "shots/frame-000000.png would be a frame of shots"),
            ("scene shots --preview shots/a.png", "shots/a.png would be a frame of shots"),
            ("scene shots/frame-000001.png --preview shots/frame-000001.png", "would be a frame of shots"),
            ("scene street.avi --roi '500,0 600,0 600,99'", "the ROI lies outside the 160x120 frame"),
            ("scene street.avi --roi '5,5 6,6 7,7'", "encloses no area"),
            ("scene street.avi --person 80,50,20", "expected two or more people"),
            ("scene street.avi --import text.avi", "text.avi is not a MATLAB file"),
            (f"scene street.avi {PERSONS} --preview a.gif", "a name ending in .png or .jpg"),
            ("train street.avi --counts unknown.csv", "unknown.csv, line 3: frame 99 of the footage"),
            ("train street.avi --counts twice.csv", "twice.csv, line 3: frame 0 stands in line 2"),
            ("train street.avi --counts text.csv", "text.csv, line 2: expected a count of 0 or more"),
            ("train street.avi --counts less.csv", "less.csv, line 2: expected a count of 0 or more"),
            ("train street.avi --counts few.csv", "expected 10 or more labelled frames"),
            ("train street.avi --counts few.csv -m absent/m.npz", "the folder absent does not exist"),
            ("train street.avi --counts few.csv -m street.avi", "street.avi would be written over"),
            ("train street.avi", "street.avi has no counts of people with it"),
            ("evaluate street.avi --counts few.csv --cache text.avi", "cannot write text.avi: file exists"),
            ("evaluate street.avi --counts few.csv --frames 90-99", "frames 90-99 asked for"),
        ],
    )
    def test_is_one_line_and_writes_nothing(self, files, made, run, command, said):
        before = only(files)
        if not command.startswith(("scene", "suggest")) and " -m " not in command:
            command += " -m new.npz" if command.startswith("train") else " -m ../model.npz"
        code, stdout, stderr = run(f"{command} -q")
        assert (code, stdout) == (1, "")
        assert said in error_line(stderr)
        assert only(files) == before
        assert (files / "street.avi").read_bytes() == (made / "street.avi").read_bytes()

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("street.avi --overlay a.mkv", "cannot write a.mkv: expected a name ending in .mp4"),
            ("street.avi --format parquet", "parquet files need pyarrow"),
            ("street.avi -o -  --format parquet", "parquet files need pyarrow"),
            ("street.avi -m able.npz --profile a.parquet", "parquet files need pyarrow"),
            ("street.avi --start 9 --end 5", "must lie behind the start"),
            ("street.avi -m able.npz --directions --every 9", "directions need video"),
            ("suggest street.avi -n 3 --pictures text.avi", "text.avi/frame.png: not a directory"),
            ("suggest street.avi -n 41", "expected 41 or more frames that can be decoded, found 40"),
            ("scene street.avi --roi '500,0 600,0 600,99'", "the ROI lies outside the 160x120 frame"),
            ("scene street.avi --axis '9,9 1e7,9'", "9,9 to 1e+07,9 is far outside any frame"),
            ("train street.avi --counts few.csv --target profile -m a.npz", "does not tell where people are"),
        ],
    )
    def test_options_are_refused_before_the_look(self, files, made, monkeypatch, command, said):
        before = only(files)
        model = load_model(made / "model.npz")
        able = replace(model, profile=model.regressor, directions=(model.regressor,) * 2)
        monkeypatch.setattr(jobs, "load_model", lambda path: able)
        for place, look in ((Overview, "__init__"), (jobs, "estimated_scene")):
            monkeypatch.setattr(place, look, lambda *_: pytest.fail("looked at the footage"))
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        result = CliRunner().invoke(command_line, f"{command} -q")
        assert result.exit_code == 1, result.output
        assert said in error_line(result.stderr)
        assert only(files) == before

    def test_a_truncated_video(self, here):
        (here / "cut.mp4").write_bytes(b"\0\0\0 ftypisom" + bytes(3000))
        code, _, stderr = finished("cut.mp4 -m ../model.npz -q")
        assert code == 1
        assert "cut.mp4 cannot be read as a video: it is cut off" in error_line(stderr)

    def test_a_video_that_ends_early_is_counted_and_said_to(self, here, made):
        whole = (made / "street.avi").read_bytes()
        (here / "cut.avi").write_bytes(whole[: len(whole) // 2])
        code, _, stderr = finished("cut.avi -m ../model.npz")
        rows = read_counts(here / "cut.counts.csv")
        assert code == 0
        assert 5 < len(rows) < 30
        assert f"ends after {len(rows)} of the" in stderr

    def test_a_recorder_that_paused_has_cut_nothing_off(self, run):
        """The file states 25 frames for each second of its pause."""
        scene_from((64, 48), None, [(32, 16, 8), (32, 40, 16)]).save("scene.json")
        for window in ("", "--start 1s", "--end 14s", "--start 13s --end 14s"):
            code, _, stderr = run(f"{CLIPS}/paused.mkv --scene scene.json {window} -o -")
            assert code == 0
            assert "360 frames as stated" in stderr
            assert "ends after" not in stderr

    def test_a_stream_is_not_said_to_end_early(self, here, serving):
        with serving(send_rtsp([image for image, _ in street(20)], interval_s=0.05)) as port:
            url = f"rtsp://127.0.0.1:{port}/live"
            code, _, stderr = finished(f"{url} -m ../model.npz --scene ../scene.json -o - --end 60s")
        assert code == 0, stderr
        assert "ends after" not in stderr

    def test_streams_of_a_web_server_are_told_to_be_live_once_they_are_open(self, here, serving, send_live):
        images = [image for image, _ in street(30)] * 40
        with serving(send_live(images, interval_s=0.02)) as port:
            url = f"http://127.0.0.1:{port}/cam{{}}.mjpg"
            sources = f"{url.format(1)} ../street.avi {url.format(2)}"
            code, _, stderr = finished(f"{sources} -m ../model.npz --scene ../scene.json -q")
        first, second = stderr.splitlines()
        assert code == 3
        assert "cam1.mjpg is live: the others would wait for its end; count each by itself" in first
        assert "cam2.mjpg is live" in second
        assert only(here) == ["street.counts.csv"]

    def test_a_stream_has_no_labels_and_keeps_its_password(self, run, serving):
        for command in ("suggest {}", "train {} --counts ../labels.csv -m n.npz"):
            with serving(send_rtsp([image for image, _ in street(20)], interval_s=0.05)) as port:
                code, _, stderr = run(command.format(f"rtsp://me:secret@127.0.0.1:{port}/live"))
            assert code == 1
            assert "is a stream; record it first" in error_line(stderr)
            assert "secret" not in stderr

    def test_a_stream_that_never_answers(self, here):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://user:secret@127.0.0.1:{silent.getsockname()[1]}/live"
            code, _, stderr = finished(f"{url} -m ../model.npz --timeout 0.5 -q")
        assert code == 1
        assert "did not answer in time (" in error_line(stderr)
        assert "secret" not in stderr
        assert only(here) == []

    def test_a_model_for_other_features(self, run):
        rng = np.random.default_rng(0)
        features = rng.random((30, len(UCSD_FEATURES)))
        np.savez("features.npz", features=features, count_total=np.round(9 * features[:, 0]))
        code, stdout, _ = run("train features.npz -m m.npz")
        assert code == 0
        assert stdout.startswith("m.npz: trained on 30 labelled (0 to 9 people) and 0 unlabelled frames in ")
        for command, problem in (
            ("count ../street.avi -m m.npz --scene ../scene.json -q", "trained on ready-made features"),
            ("evaluate features.npz -m ../model.npz", "other columns of features"),
            ("train features.npz -m n.npz --scene ../scene.json", "no scene changes; drop --scene"),
        ):
            code, stdout, stderr = run(command)
            assert (code, stdout) == (1, "")
            assert problem in error_line(stderr)

    def test_a_bug_keeps_its_traceback(self, monkeypatch):
        def buggy(*_, **__):
            raise RuntimeError("a bug")

        monkeypatch.setattr(jobs, "make_scene", buggy)
        with pytest.raises(RuntimeError, match="a bug"):
            command_line.main(["scene", "street.avi"])


class TestScene:
    def test_given_shown_saved_and_used(self, run):
        code, stdout, _ = run(
            f"scene ../street.avi --roi '0,20 159,20 159,119 0,119' {PERSONS} -o a.json --preview a.png"
        )
        assert code == 0
        assert stdout.splitlines()[-2:] == ["written: a.json", "written: a.png"]
        scene = load_scene("a.json")
        assert (scene.roi_origin, scene.height_origin) == ("given", "given")
        assert scene.roi.sum() == 160 * 100
        assert scene.line.slope == pytest.approx(20 / 60)
        assert cv2.imread("a.png").shape[1] == 160
        code, _, stderr = run(f"{COUNT} --scene a.json --end 3")
        assert code == 0
        assert "region: 1 polygon, 83% of the frame" in stderr

    def test_nothing_given_is_estimated_and_not_saved(self, run, here):
        code, stdout, _ = run("scene ../street.avi")
        assert code == 0
        region, height, *_, hint = stdout.splitlines()
        assert region == "region: the whole frame of 160x120 pixels (assumed)"
        assert height.startswith("person height: ")
        assert hint == "not saved; give -o FILE.json to keep and correct it"
        assert only(here) == []

    def test_starts_from_a_scene(self, run):
        run("scene ../street.avi --scene ../scene.json --roi '0,0 50,0 50,50' -o a.json")
        first, second = load_scene("../scene.json"), load_scene("a.json")
        assert second.line == first.line
        assert second.roi.sum() < first.roi.sum()


class TestTrainAndEvaluate:
    EVALUATE = "evaluate ../street.avi --counts ../labels.csv -m ../model.npz"

    def test_train_prints_one_line_of_json(self, here):
        line = Path("../trained.json").read_text()
        assert line.count("\n") == 1
        report = json.loads(line)
        assert report["n"] == 30
        assert report["mae"] < 1
        assert report["rmse"] == pytest.approx(report["mse"] ** 0.5)
        assert len(report["block_biases"]) == 5
        assert np.mean(report["block_biases"]) == pytest.approx(report["bias"])
        model = load_model("../model.npz")
        assert model.facts["labelled_frames"] == 30
        assert model.scene.line == load_scene("../scene.json").line

    def test_train_robust_regression(self, run):
        rng = np.random.default_rng(0)
        features = rng.random((30, len(UCSD_FEATURES)))
        np.savez("features.npz", features=features, count_total=np.round(9 * features[:, 0]))
        code, stdout, _ = run("train features.npz -m r3.npz --regressor r3")
        assert code == 0
        assert "chosen by it: quadratic kernel with coef0" in stdout
        assert "no label is pruned" in stdout
        assert load_model("r3.npz").facts["regressor"] == "r3"
        code, stdout, _ = run("evaluate features.npz -m r3.npz --json")
        assert code == 0
        assert json.loads(stdout)["mae"] < 2
        assert run("train features.npz -m r3.npz --regressor magic")[0] == 2

    def test_evaluate_in_json(self, run):
        code, stdout, stderr = run(f"{self.EVALUATE} --frames 30-39 --json")
        assert (code, stderr) == (0, "")
        assert list(json.loads(stdout)) == [
            "n", "mae", "mse", "rmse", "mre", "bias", "level", "coverage", "outside", "learnt",
            "camera_moved", "models_scene", "n_lost_labels", "seconds",
        ]
        assert json.loads(stdout)["n"] == 10

    @pytest.mark.parametrize("command", ["evaluate", "audit", "recalibrate ../model.npz"])
    def test_of_two_files_of_counts_none_is_passed_over(self, run, here, command, monkeypatch):
        counts = "--counts ../labels.csv --counts ../labels.csv"
        code, _, stderr = run(f"{command} ../street.avi {counts}")
        assert (code, "expected one file for one DATASET, found 2; drop the others" in stderr) == (2, True)
        name = command.split()[0]
        monkeypatch.setenv(variable := f"CROWDCOUNT_{name.upper()}_COUNTS", "../labels.csv;../labels.csv")
        assert run(f"{command} ../street.avi")[0] == 2
        monkeypatch.delenv(variable)
        (here / "crowdcount.toml").write_text(f'[{name}]\ncounts = "absent.csv"\n')
        assert "cannot read absent.csv" in run(f"{command} ../street.avi")[2]

    def test_evaluate_on_one_frame_and_on_none(self, run, here):
        assert run(f"{self.EVALUATE} --frames 30-30")[1].startswith("1 labelled frame in ")
        (here / "none.csv").write_text("frame,count\n3,\n")
        _, _, stderr = run("evaluate ../street.avi --counts none.csv -q")
        assert "expected 1 or more labelled frames that can be decoded, found 0" in error_line(stderr)

    def test_evaluate_for_people_and_from_the_cache(self, run, here):
        code, stdout, _ = run(f"{self.EVALUATE} --cache kept")
        assert code == 0
        first, errors, intervals, learnt = stdout.splitlines()
        assert learnt.startswith("the model has learnt from most of these counts")
        assert first.startswith("40 labelled frames in ")
        assert re.fullmatch(r"the interval holds .* of \d+% of the frames; .* promises 90%", intervals)
        assert [part.split()[0] for part in errors.split(", ")] == ["MAE", "MSE", "RMSE", "MRE", "bias"]
        (kept,) = (here / "kept").iterdir()
        written = kept.stat().st_mtime_ns
        assert run(f"{self.EVALUATE} --cache kept")[1].splitlines()[1] == errors
        assert kept.stat().st_mtime_ns == written

    def test_unknown_numbers_are_null(self, run):
        Path("nobody.csv").write_text("frame,count\n0,0\n1,0\n")
        code, stdout, _ = run("evaluate ../street.avi --counts nobody.csv -m ../model.npz --json")
        assert code == 0
        assert json.loads(stdout)["mre"] is None
        code, stdout, _ = run("evaluate ../street.avi --counts nobody.csv -m ../model.npz")
        assert "MRE unknown (nobody in any frame)" in stdout

    def test_counts_of_nobody_correct_a_model_but_teach_none(self, run):
        Path("nobody.csv").write_text("frame,count\n0,0\n15,0\n39,0\n")
        recalibrate = "recalibrate ../model.npz ../street.avi --counts nobody.csv -o day.npz"
        code, stdout, _ = run(f"{recalibrate} --json")
        assert code == 0
        assert json.loads(stdout)["after"]["mre"] is None
        assert load_model("day.npz").facts["recalibration"]["leave_one_out"]["mre"] is None
        features = np.random.default_rng(0).random((30, len(UCSD_FEATURES)))
        np.savez("features.npz", features=features, count_total=np.zeros(30))
        code, _, stderr = run("train features.npz -m night.npz")
        assert code == 1
        assert "all 30 labels are 0, and so would be every count" in stderr
        assert not Path("night.npz").exists()

    def test_pruned_labels_are_listed(self, run, monkeypatch):
        monkeypatch.setattr(regressors, "FEW_FEATURES_LAMBDAS", (1e-5, 1e-4, 1e-3))
        rng = np.random.default_rng(1)
        features = rng.random((120, len(UCSD_FEATURES)))
        counts = 20 * features[:, 0] + rng.normal(0, 0.1, 120)
        counts[50] = 90
        np.savez("features.npz", features=features, count_total=np.clip(counts, 0, None))
        code, stdout, _ = run("train features.npz -m m.npz --level 0.8")
        assert code == 0
        assert load_model("m.npz").level == 0.8
        lines = stdout.splitlines()
        header = lines.index("   frame    label  prediction  refinement")
        assert lines[header + 1].split()[:2] == ["51", "90.0"]
        kept, of_all = lines[1:3]
        assert "(0 to 20 people)" in re.sub(r"(\d)\.\d+", r"\1", lines[0])
        assert kept.startswith("cross-validation on 5 blocks without 1 pruned label: MAE 0.")
        assert of_all.startswith("with all labels: MAE 0.7")
        assert "MAE 0.08 there (cross-validated without pruned labels)" in describe_model(load_model("m.npz"))
        found = json.loads(run("train features.npz -m m.npz --json")[1])
        assert (found["n"], found["kept"]["n"]) == (120, 119)
        assert kept.endswith(f"bias {found['kept']['bias']:+.3f}")

    def test_notes_of_a_data_set(self, run):
        boxes = "".join(f"{k + 1},1,{10 + k},30,10,30,1,1,1\n" for k in range(N_FRAMES))
        Path("gt.txt").write_text(boxes)
        command = "evaluate ../street.avi --mot gt.txt -m ../model.npz --json"
        code, stdout, stderr = run(command)
        assert code == 0
        assert json.loads(stdout)["n"] == N_FRAMES
        assert "are taken as annotated" in stderr
        code, stdout, stderr = run(f"{command} --annotated 1-20")
        assert json.loads(stdout)["n"] == 20
        assert stderr == ""


class TestAudit:
    AUDIT = "audit ../street.avi --counts wrong.csv --scene ../scene.json --frames 0-29 --cache ../kept"

    @pytest.fixture
    def wrong(self, made, here, monkeypatch):
        """The street's labels, frame 12's far too high; few settings are tried."""
        monkeypatch.setattr(regressors, "LAMBDAS", (1e-4, 1e-3))
        labels = (made / "labels.csv").read_text().splitlines()
        labels[13] = "12,30"
        Path("wrong.csv").write_text("\n".join(labels))

    @pytest.mark.usefixtures("wrong")
    def test_report_table_and_page(self, run, here):
        code, stdout, stderr = run(f"{self.AUDIT} -o a.csv --html a.html")
        assert (code, stderr) == (0, "")
        lines = stdout.splitlines()
        assert lines[0].startswith("30 labels in ")
        header = lines.index("   frame    label  prediction  refinement")
        assert lines[header + 1].split()[:2] == ["12", "30.0"]
        assert lines[-2:] == ["written: a.csv", "written: a.html"]
        assert Path("a.csv").read_text().splitlines()[1].startswith("1,12,30.0,")
        assert '<img src="data:image/jpeg' in Path("a.html").read_text()
        code, stdout, _ = run(f"{self.AUDIT} --json")
        assert json.loads(stdout)["removed"][0]["number"] == 12
        assert run(f"{self.AUDIT} -o -")[1] == Path("a.csv").read_text()
        assert only(here) == ["a.csv", "a.html", "wrong.csv"]

    @pytest.mark.usefixtures("wrong")
    @pytest.mark.parametrize(
        ("options", "code", "said"),
        [
            ("-o wrong.csv", 1, "is used otherwise too"),
            ("-o ../labels.csv", 1, "labels.csv is there already and holds other columns than rank, frame"),
            ("-o tomorrow.mp4", 1, "expected a name ending in .csv"),
            ("-o a.html --html a.html", 1, "choose two names"),
            ("--html a.pdf", 1, "expected a name ending in .html"),
            ("-o missing/a.csv", 1, "create it first"),
            ("--json -o -", 2, "drop one of them"),
        ],
    )
    def test_mistakes_come_before_any_work(self, run, here, options, code, said):
        found, stdout, stderr = run(f"{self.AUDIT} {options}")
        assert (found, stdout) == (code, "")
        assert said in stderr
        assert only(here) == ["wrong.csv"]


@pytest.mark.parametrize(
    "command",
    [
        "train ../street.avi --counts ../labels.csv -m tomorrow.mp4",
        "recalibrate ../model.npz ../street.avi --counts ../labels.csv -o tomorrow.mp4",
        "compress ../model.npz -o tomorrow.mp4",
        "alarm train ../street.avi --labels ../labels.csv -m tomorrow.mp4",
    ],
)
def test_a_model_takes_no_place_of_a_video(run, here, command):
    (here / "tomorrow.mp4").write_text("footage")
    code, _, stderr = run(command)
    assert code == 1
    assert "cannot write tomorrow.mp4: expected a name ending in .npz" in stderr
    assert (here / "tomorrow.mp4").read_text() == "footage"


def test_too_little_memory_is_one_line(run, here, monkeypatch, ask_for_too_much):
    monkeypatch.setattr("crowdcount.pipeline.Pipeline.measure", ask_for_too_much)
    code, _, stderr = run(f"{COUNT} -q")
    assert code == 1
    assert stderr.splitlines()[-1].startswith("crowdcount: the memory is not enough")


class TestSettings:
    def frames(self, run, options=""):
        code, stdout, stderr = run(f"{COUNT} -o - -q {options}")
        assert (code, stderr) == (0, "")
        return [int(line.split(",")[0]) for line in stdout.splitlines()[1:]]

    def test_options_then_environment_then_file(self, run, monkeypatch):
        text = '[count]\nevery = 20\nstart = "0.5s"\n[train]\nmodel = "m.npz"\n'
        Path("crowdcount.toml").write_text(text, encoding="utf-8-sig")  # as some editors save it
        assert self.frames(run) == [5, 25]
        monkeypatch.setenv("CROWDCOUNT_COUNT_EVERY", "15")
        assert self.frames(run) == [5, 20, 35]
        assert self.frames(run, "--every 30 --start 2") == [2, 32]

    def test_all_kinds_of_values(self, run, monkeypatch):
        Path("crowdcount.toml").write_text(
            '[scene]\nroi = ["0,0 9,0 9,9", "20,20 29,20 29,29"]\nquiet = true\noutput = "a.json"\n'
            "[count]\nstart-time = 2024-05-01T08:00:00\nend = 00:00:01\nstart = 5\nfps = 12.5\n"
        )
        assert run(f"scene ../street.avi {PERSONS}")[0] == 0
        assert len(load_scene("a.json").polygons) == 2
        monkeypatch.setenv("CROWDCOUNT_SCENE_ROI", "0,0 9,0 9,9;20,20 29,20 29,29;40,40 49,40 49,49")
        assert run(f"scene ../street.avi {PERSONS}")[0] == 0
        assert len(load_scene("a.json").polygons) == 3
        code, stdout, _ = run(f"{COUNT} -o - -q")
        assert code == 0
        _, first, *_, last = (line.split(",")[:3] for line in stdout.splitlines())
        assert first == ["5", "0.4", "2024-05-01T08:00:00.400"]
        assert last == ["12", "0.96", "2024-05-01T08:00:00.960"]

    @pytest.mark.parametrize(
        ("variable", "command", "said"),
        [
            ("CROWDCOUNT_COUNT_RECONNECT", "../street.avi", "'--reconnect'"),
            ("CROWDCOUNT_SUGGEST_FRAMES", "suggest ../street.avi", "'-n' / '--frames'"),
            ("CROWDCOUNT_ALARM_RUN_RAISE_AFTER", "alarm run ../street.avi -m a.npz", "'--raise-after'"),
        ],
    )
    def test_variables_are_named_like_the_options(self, run, monkeypatch, variable, command, said):
        monkeypatch.setenv(variable, "many")
        code, _, stderr = run(command)
        assert code == 2
        assert f"Invalid value for {said}" in stderr
        assert stderr.splitlines()[-1].endswith(f" (in the environment variable {variable})")
        assert "has no effect" not in stderr

    def test_a_wrong_option_is_not_put_down_to_the_environment(self, run, monkeypatch):
        monkeypatch.setenv("CROWDCOUNT_COUNT_EVERY", "2")
        code, _, stderr = run(f"{COUNT} -o - --every many")
        assert code == 2
        assert "environment" not in stderr.splitlines()[-1]

    def test_misspelt_variables_are_told(self, run, monkeypatch):
        monkeypatch.setenv("CROWDCOUNT_DATA", "/data")  # of the tests and benchmarks
        monkeypatch.setenv("CROWDCOUNT_VERSION", "1.2")  # as images of containers have it
        monkeypatch.setenv("CROWDCOUNT_COUNT_OUTPTU", "a.csv")
        code, stdout, stderr = run(f"{COUNT} -o - --end 1 -q")
        assert (code, stdout.count("\n")) == (0, 2)
        first, second = stderr.splitlines()
        assert first == (
            "crowdcount: the environment variable CROWDCOUNT_COUNT_OUTPTU is no option's and has no effect; "
            "did you mean CROWDCOUNT_COUNT_OUTPUT?"
        )
        assert "CROWDCOUNT_VERSION is no option's" in second
        assert "expected CROWDCOUNT_COMMAND_OPTION" in second

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[count]\nevrey = 2", "[count]: there is no option 'evrey'"),
            ("[cuont]\nevery = 2", "expected the tables [count], [scene], [suggest], [train], [evaluate]"),
            ("every = 2", "found 'every'"),
            ("[count]\nsources = ['a']", "no option 'sources'"),
            ("[count]\nhelp = true", "no option 'help'"),
            ("[count]\nevery = 0", "[count] every: 0 is not in the range"),
            ("[count]\nevery = true", "[count] every: expected a text or a number, found True"),
            ("[count]\nevery = [1]", "[count] every: expected a text or a number, found [1]"),
            ('[count]\nformat = "xls"', "[count] format: 'xls' is not one of"),
            ('[count]\nstart = "soon"', "[count] start: a position is"),
            ("[count]\nquiet = 1", "[count] quiet: expected true or false, found 1"),
            ('[scene]\nroi = "0,0"', "[scene] roi: expected a polygon"),
            ('[scene]\nroi = ["0,0"]', "[scene] roi: expected a polygon"),
            ('[count]\nscene = "a\\u0000.json"', r"[count] scene: expected no zero byte, found 'a\x00.json'"),
            ('[count]\nscene = ""', "[count] scene: it is empty; fill it in, or leave it out"),
            ('[scene]\nroi = [""]', "[scene] roi: it is empty; fill it in, or leave it out"),
            ("[count]\nevery = 2\0", "crowdcount.toml cannot be read"),
            ("[count", "crowdcount.toml cannot be read"),
            ("count = " + "[" * 9999, "crowdcount.toml cannot be read"),
            ("[count]\nevery = 0x" + "f" * 9999, "[count] every: Exceeds the limit"),
        ],
    )
    def test_mistakes_are_named(self, run, text, said):
        Path("crowdcount.toml").write_text(text)
        code, stdout, stderr = run("absent.avi")
        assert (code, stdout) == (2, "")
        assert said in stderr

    def test_the_encoding_of_powershell_is_named(self, run, here):
        Path("crowdcount.toml").write_text("[count]\nevery = 2\n", encoding="utf-16")
        code, stdout, stderr = run("absent.avi")
        assert (code, stdout) == (2, "")
        assert stderr.rstrip().endswith("crowdcount.toml is no UTF-8 text, as TOML is; save it as UTF-8")


@pytest.mark.parametrize(
    "command",
    [
        "scene ../street.avi --html",
        "suggest ../street.avi --html",
        "audit ../street.avi --counts ../labels.csv --scene ../scene.json --html",
        "explain ../model.npz ../street.avi -o",
    ],
)
@pytest.mark.parametrize("head", ["<title>own</title>", '<meta name="generator" content="crowdcount x">'])
def test_a_page_of_somebody_else_or_another_command_is_not_written_over(run, here, command, head):
    Path("own.html").write_text(head)
    code, stdout, stderr = run(f"{command} own.html")
    assert (code, stdout) == (1, "")
    name = command.partition(" ")[0]
    assert f"own.html is there and is no page of crowdcount {name}; move it" in error_line(stderr)
    assert Path("own.html").read_text() == head


class TestProcess:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_interrupted_keeps_what_was_counted(self, long_clip, here, number):
        partial = here / "long.counts.partial.csv"
        usual = functools.partial(signal.signal, number, signal.SIG_DFL)  # the tests may run under nohup
        with process(f"{long_clip} -m ../model.npz -q", preexec_fn=usual) as running:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not (partial.exists() and partial.stat().st_size > 500):
                time.sleep(0.02)
            while running.poll() is None:  # the impatient go on pressing
                running.send_signal(number)
                time.sleep(0.001)
            stdout, stderr = running.communicate(timeout=30)
        said = f"crowdcount: interrupted; kept so far: {partial.name}\n"
        assert (running.returncode, stdout, stderr) == (130, "", said)
        assert only(here) == [partial.name]
        frames = [row.frame for row in read_counts(partial)]
        assert 0 < len(frames) < 1500
        assert frames == list(range(len(frames)))

    def test_nohup_counts_on_when_the_terminal_closes(self, long_clip, here):
        partial = here / "long.counts.partial.csv"
        ignored = functools.partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
        with process(f"{long_clip} -m ../model.npz -q --end 500", preexec_fn=ignored) as running:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not partial.exists():
                time.sleep(0.02)
            running.send_signal(signal.SIGHUP)
            assert running.communicate(timeout=60) == ("", "")
        assert running.returncode == 0
        assert len(read_counts(here / "long.counts.csv")) == 500

    def test_a_reader_that_has_enough(self, long_clip, here):
        with process(f"{long_clip} -m ../model.npz -o - -q") as running:
            assert running.stdout.readline() == "frame,time_s,count,low,high,flags\n"
            running.stdout.close()
            stderr = running.stderr.read()
        assert running.returncode == 1
        assert error_line(stderr).endswith("cannot write the standard output: its reader has closed it\n")
        assert only(here) == []

    def test_full_disk(self, here):
        def little_space():
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

        code, stdout, stderr = finished(f"{COUNT} -q", preexec_fn=little_space)
        assert (code, stdout) == (1, "")
        assert error_line(stderr).startswith("crowdcount: cannot write street.counts.csv: ")
        assert stderr.endswith("; kept so far: street.counts.partial.csv\n")
        frames = [row.frame for row in read_counts("street.counts.partial.csv")]
        assert len(frames) > 5
        assert frames == list(range(len(frames)))

    @pytest.mark.parametrize("command", [f"{COUNT} -o - -q", f"{TestTrainAndEvaluate.EVALUATE} --json"])
    def test_full_standard_output(self, here, command):
        with open("/dev/full", "wb") as full:
            code, _, stderr = finished(command, stdout=full)
        assert code == 1
        assert "cannot write the standard output: the disk is full" in error_line(stderr)

    @pytest.mark.parametrize("command", ["--version", "--help", "batch --help"])
    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_full_standard_output_for_help(self, command, unbuffered, monkeypatch):
        monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
        self.test_full_standard_output(None, command)

    @pytest.mark.parametrize(("sources", "code"), [("", 0), ("../missing.avi", 3)])
    def test_full_standard_error(self, here, sources, code):
        with open("/dev/full", "wb") as full:  # as a log on a disk of its own
            assert finished(f"{COUNT} {sources}", stderr=full)[:2] == (code, "")
        assert len(read_counts("street.counts.csv")) == N_FRAMES

    @pytest.mark.parametrize("command", [f"{COUNT} -o - -q", f"{TestTrainAndEvaluate.EVALUATE} --json"])
    def test_closed_standard_output(self, here, command):
        code, _, stderr = finished(command, stdout=None, preexec_fn=lambda: os.close(1))
        assert code == 1
        assert "cannot write the standard output: it is closed" in error_line(stderr)

    def test_closed_standard_input(self, here):
        code, _, stderr = finished("batch - -o out", preexec_fn=lambda: os.close(0))
        assert code == 1
        assert "the standard input, which was to list videos, is closed" in error_line(stderr)

    def test_rtsp_camera_that_breaks_off(self, here, serving):
        images = [image for image, _ in street(40)]
        (here / "live.csv").write_text("of yesterday")
        (here / "live.partial.csv").write_text("cut off yesterday")
        (here / "live.png").write_text("of yesterday, too")
        with serving(send_rtsp(images, interval_s=0.05)) as port:
            url = f"rtsp://127.0.0.1:{port}/live"
            live = f"{url} -m ../model.npz --scene ../scene.json -o live.csv --plot live.png --timeout 5"
            began = datetime.now()
            code, _, stderr = finished(f"{live} --reconnect 30 --end 60")
        assert code == 0
        back = r"^127\.0\.0\.1-\d+-live: broke off, and is back at 2\d{3}-.* after 0:00:0[1-5]$"
        assert len(re.findall(back, stderr, re.MULTILINE)) == 1
        assert (here / "live.1.csv").read_text() == "of yesterday"
        assert (here / "live.partial.1.csv").read_text() == "cut off yesterday"
        assert (here / "live.1.png").read_text() == "of yesterday, too"
        assert cv2.imread(str(here / "live.png")) is not None
        rows = read_counts(here / "live.csv")
        assert [row.frame for row in rows] == list(range(60))
        assert [row.frame for row in rows if "undecodable" in row.flags] == [40]
        assert all(row.count >= 0 for row in rows if row.frame != 40)
        assert began < read_start_time(here / "live.csv") < datetime.now()

    LIVE = "rtsp://127.0.0.1:{}/live -m ../model.npz --scene ../scene.json -o {}"

    @pytest.mark.parametrize("stays", [False, True])
    def test_a_camera_that_is_away_ends_in_time(self, here, serving, stays):
        """Whether it is gone, and refused from then on, or silent."""
        images, calls = [image for image, _ in street(60)], []

        def answer(connection):
            calls.append(None)
            if len(calls) == 1:
                send_rtsp(images, 0.05, stays)(connection)
            connection.close()

        with serving(answer) as port:
            began = time.monotonic()
            command = self.LIVE.format(port, "a.csv")
            code, _, stderr = finished(f"{command} --end 5s --timeout 40 --reconnect 60")
            assert time.monotonic() - began < 20
            assert (code, len(read_counts("a.csv")) >= 50) == (0, True)
            assert re.search(r"\n  broke off 0:00:0[23] before the end\n", stderr)

    def test_a_camera_that_goes_on_does_not_break_off(self, here, serving):
        """Of which one frame in ten seconds is counted."""
        with serving(send_rtsp([image for image, _ in street(120)], 0.05)) as port:
            code, _, stderr = finished(f"{self.LIVE.format(port, 'a.csv')} --every 200 --end 4s")
        assert (code, len(read_counts("a.csv"))) == (0, 1)
        assert "broke off" not in stderr

    def test_a_camera_that_is_given_up_leaves_a_partial_file(self, here, serving):
        images, calls = [image for image, _ in street(20)], []

        def answer(connection):
            calls.append(None)
            if len(calls) == 1:
                send_rtsp(images, 0.05)(connection)
            connection.close()

        with serving(answer) as port:
            command = f"{self.LIVE.format(port, 'a.csv')} --plot a.png"
            code, _, stderr = finished(f"{command} --end 60s --reconnect 1 -q")
        assert code == 1
        told = error_line(stderr)
        kept = "; kept so far: a.partial.csv; kept so far: a.partial.png\n"
        assert re.search(rf"/live broke off at 2.* and was given up after [12] s; .*{kept}", told)
        assert only(here) == ["a.partial.csv", "a.partial.png"]
        assert cv2.imread(str(here / "a.partial.png")) is not None

    def test_a_silent_camera_does_not_hold_up_an_interrupt(self, here, serving):
        partial = here / "a.partial.parquet"
        with serving(send_rtsp([image for image, _ in street(60)], 0.05, stays=True)) as port:
            command = f"{self.LIVE.format(port, 'a.parquet')} --plot a.pdf --timeout 40 --reconnect 60 -q"
            usual = functools.partial(signal.signal, signal.SIGTERM, signal.SIG_DFL)
            with process(command, preexec_fn=usual) as running:
                deadline = time.monotonic() + 30
                while not partial.exists() and time.monotonic() < deadline:
                    time.sleep(0.02)
                time.sleep(4)  # it plays for three seconds
                sent = time.monotonic()
                running.send_signal(signal.SIGTERM)
                _, stderr = running.communicate(timeout=30)
                assert time.monotonic() - sent < 9
        assert running.returncode == 130
        kept = f"kept so far: {partial.name}; kept so far: a.partial.pdf"
        assert error_line(stderr).endswith(f"interrupted; {kept}\n")
        assert len(read_counts(partial)) >= 40

    @pytest.mark.parametrize("answers", [False, True])
    def test_a_camera_that_does_not_answer_does_not_hold_up_an_interrupt(self, here, serving, answers):
        """Nor one that answers, but sends no frame."""
        asked = threading.Event()

        def answer(connection):
            asked.set()
            if answers:
                send_rtsp([], 0, stays=True)(connection)

        with serving(answer) as port:
            command = f"{self.LIVE.format(port, 'a.csv')} --timeout 20 -q"
            usual = functools.partial(signal.signal, signal.SIGTERM, signal.SIG_DFL)
            with process(command, preexec_fn=usual) as running:
                assert asked.wait(30)
                time.sleep(1)
                sent = time.monotonic()
                running.send_signal(signal.SIGTERM)
                _, stderr = running.communicate(timeout=90)
                assert time.monotonic() - sent < 5
        assert (running.returncode, stderr) == (130, "crowdcount: interrupted\n")
        assert only(here) == []

    @pytest.mark.parametrize("name", ["models.py", "features/__init__.py"])
    def test_a_users_module_of_the_same_name(self, here, name):
        path = here / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit('the wrong module was run')")
        code, stdout, stderr = finished("absent.avi")
        assert (code, stdout) == (1, "")
        assert f"Python finds {path} in the place of crowdcount's own package" in error_line(stderr)

    @pytest.mark.parametrize("name", ["models.py", "features.py"])
    def test_a_users_module_of_the_same_name_in_python(self, here, name):
        (here / name).write_text("raise SystemExit('the wrong module was run')")
        (here / "own.py").write_text(
            "import crowdcount\ntry:\n    crowdcount.count\n"
            "except crowdcount.CrowdCountError as error:\n    print(error)"
        )
        environment = os.environ | {"PYTHONPATH": str(PROJECT)}
        told = subprocess.check_output([sys.executable, "own.py"], env=environment, text=True)
        assert told.startswith(f"Python finds {here / name} in the place of crowdcount's own package")

    def test_our_own_packages_pass_the_check(self, tmp_path):
        check_packages(PROJECT)
        with pytest.raises(CrowdCountError, match=r"Python finds .*features"):
            check_packages(tmp_path)

    def test_a_thread_that_waits_for_a_stream_does_not_see_python_shut_down(self):
        """It would abort the process when OpenCV gives it something then."""
        code = (
            "import atexit, sys, threading, time; atexit.register(print, 'shutting down');"
            "threading.Thread(target=time.sleep, args=(60,), name='read-ahead', daemon=True).start();"
            "from crowdcount.__main__ import main; main()"
        )
        for option, expected in (("--version", (0, "crowdcount, version")), ("--absent", (2, ""))):
            command = [sys.executable, "-c", code, option]
            done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT)
            assert (done.returncode, done.stdout[:19]) == expected
            assert "shutting down" not in done.stdout

    def test_starts_fast(self):
        code = "import sys, crowdcount.cli; print({'cv2', 'numpy', 'rich', 'sklearn'} & set(sys.modules))"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PROJECT
        )
        assert done.stdout == "set()\n"
