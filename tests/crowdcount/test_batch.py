"""Archives counted by real processes: results, seams, what is known as done, faults, runs that are killed."""

import functools
import io
import json
import os
import queue
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np
import pyarrow.parquet as parquet
import pytest

import crowdcount
from crowdcount.batch import engines, work
from crowdcount.batch import run as batch_run
from crowdcount.batch.catalogue import Catalogue, describe
from crowdcount.batch.engines import Finished, LocalEngine, Progress
from crowdcount.batch.plan import plan_videos
from crowdcount.batch.run import Options, run_batch
from crowdcount.batch.segments import Segment, seams
from crowdcount.batch.work import Job
from crowdcount.batch.worker import Limits, Outcome, Worker, _answer
from crowdcount.errors import BatchError, OutputError
from crowdcount.model import load_model
from crowdcount.results import FrameCount
from crowdcount.scene import load_scene, scene_from
from tests.crowdcount.numbered_frames import blank

PROJECT = Path(__file__).resolve().parents[2]
CLIPS = Path(__file__).resolve().parent / "clips"
CUT = "--segment 6 --warm-up 2"
WHOLE = Segment(0, 0, None, None)
N_KILLS = 10


@pytest.fixture(scope="session")
def archive(tmp_path_factory, make_clip, cell_model, street):
    """Folder with videos/{gate,hall}, model.npz and scene.json; hall/long.avi is cut into four parts."""
    folder = tmp_path_factory.mktemp("archive")
    make_clip(folder / "videos/gate/20240501_080000.avi", 40, seed=1)
    make_clip(folder / "videos/gate/20240502_235958.avi", 30, seed=2)
    make_clip(folder / "videos/hall/long.avi", 240, seed=3)
    cell_model.save(folder / "model.npz")
    street.scene.save(folder / "scene.json")
    return folder


def command(archive, out, rest=CUT):
    return f"batch {archive}/videos -o {out} -m {archive}/model.npz --scene {archive}/scene.json {rest}"


def start(command, **options):
    """Start the command line in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    arguments = [sys.executable, "-m", "crowdcount", *shlex.split(command)]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen(arguments, env=environment, **options)


def finished(command, **options):
    with start(command, **options) as running:
        _, stderr = running.communicate()
    return running.returncode, stderr


def test_what_a_batch_needs_is_told_before_anything_else(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, stderr = run(f"batch {tmp_path}/absent -o {tmp_path}/out")
    assert (code, stderr) == (1, "crowdcount: parquet files need pyarrow: pip install pyarrow duckdb\n")
    with pytest.raises(OutputError, match="parquet files need pyarrow: pip install pyarrow duckdb"):
        run_batch([], tmp_path / "out", LocalEngine(1), Options(), _Nobody())
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="session")
def unbroken(archive, tmp_path_factory):
    """Folder of the results of an undisturbed run."""
    out = tmp_path_factory.mktemp("unbroken")
    code, stderr = finished(command(archive, out, f"{CUT} --workers 2"))
    assert code == 0, stderr
    assert stderr.splitlines()[-1].startswith("3 videos: 3 counted; 0:")
    return out


@pytest.fixture
def _in_one_process(monkeypatch):
    """The command does its tasks in this process, for what does not depend on who does them."""
    monkeypatch.setattr(engines, "LocalEngine", lambda _: _AtOnce())


def left_over(out):
    """Folders of what is not finished."""
    return [path for path in (out / ".work").iterdir() if path.is_dir()]


def table(out, pattern):
    (path,) = Path(out).glob(pattern)
    return parquet.ParquetFile(path).read()


def tables(out):
    """The tables of all results."""
    return {path: parquet.ParquetFile(path).read() for path in out.glob("camera=*/*/*")}


def job_of(path, work, every=1):
    """How a video is counted in a folder with the bundled model."""
    facts = path.stat()
    return Job(str(path), "a", "gate", facts.st_size, facts.st_mtime_ns, "", None, None, None, None, None,
               every, None, str(work), f"{work}/result.parquet")  # fmt: skip


def counts(path, archive, **options):
    scene = load_scene(archive / "scene.json")
    return list(crowdcount.count(path, model=load_model(archive / "model.npz"), scene=scene, **options))


class TestResults:
    def test_files_by_camera_and_date(self, unbroken, results):
        folders = sorted(path.rpartition("/")[0] for path in results(unbroken))
        assert folders == [
            "camera=gate/date=2024-05-01",
            "camera=gate/date=2024-05-02",
            "camera=hall/date=unknown",
        ]
        assert not left_over(unbroken)

    def test_a_short_video_has_the_counts_of_the_count_command(self, unbroken, archive):
        rows = table(unbroken, "camera=gate/date=2024-05-01/*").to_pylist()
        expected = counts(archive / "videos/gate/20240501_080000.avi", archive)
        assert [row["frame"] for row in rows] == list(range(40))
        for name in ("time_s", "count", "low", "high"):
            assert [row[name] for row in rows] == pytest.approx(
                [getattr(row, name) for row in expected], abs=1e-4
            )
        assert [row["flags"] for row in rows] == [";".join(row.flags) for row in expected]
        assert rows[15]["time"] == datetime(2024, 5, 1, 8, 0, 1, 500_000)

    def test_a_long_video_is_whole_and_its_parts_agree_with_an_unsplit_run(self, unbroken, archive):
        found = table(unbroken, "camera=hall/*/*")
        assert found["frame"].to_pylist() == list(range(240))
        assert found["time"].null_count == 240
        split = np.array(found["count"])
        whole = np.array([row.count for row in counts(archive / "videos/hall/long.avi", archive)])
        assert np.abs(split - whole)[:60].max() < 1e-4  # before the first seam: the same, as rounded
        assert np.abs(split - whole).max() < 0.001

    def test_parts_learn_the_background_as_an_unsplit_run_does(self, archive, tmp_path, make_clip):
        """A frame in 20 s, of which each is kept: the background is learnt anew at frames 60 and 90."""
        path = make_clip(tmp_path / "slow/a.avi", 110, seed=5, fps=0.05)
        options = Options(f"{archive}/model.npz", f"{archive}/scene.json", segment_s=500.0, warm_up_s=0.0)
        run_batch(plan_videos([str(path)]), tmp_path / "out", _AtOnce(), options, _Nobody())
        found = np.array(table(tmp_path / "out", "camera=slow/*/*")["count"])
        whole = np.array([row.count for row in counts(path, archive)])
        assert np.abs(found - whole).max() < 0.001

    def test_parts_know_that_the_feed_froze_before_them(self, archive, tmp_path):
        """A frame in 2 s; the picture is that of frame 30 until frame 110: frozen after 30 to 40 frames."""
        path = tmp_path / "frozen/a.avi"
        path.parent.mkdir()
        video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 0.5, (80, 60))
        rng = np.random.default_rng(0)
        floor = cv2.GaussianBlur(rng.normal(90, 60, (60, 80, 3)), (5, 5), 0)
        for k in range(120):
            if k <= 30 or k > 110:
                image = np.clip(floor + rng.normal(0, 3, floor.shape), 0, 255).astype(np.uint8)
            video.write(image)
        video.release()
        whole = [";".join(row.flags) for row in counts(path, archive)]
        assert [k for k, flags in enumerate(whole) if "frozen" in flags] == list(range(70, 111))
        options = Options(f"{archive}/model.npz", f"{archive}/scene.json", segment_s=80.0, warm_up_s=0.0)
        engine = _AtOnce()
        run_batch(plan_videos([str(path)]), tmp_path / "out", engine, options, _Nobody())
        assert [part["first"] for part in engine.parts] == [0, 40, 80]
        assert table(tmp_path / "out", "camera=frozen/*/*")["flags"].to_pylist() == whole

    def test_parts_know_that_the_footage_is_coded_coarsely(self, tmp_path):
        """Motion JPEG of low quality, whose noise the bundled model would count."""
        path, scene = tmp_path / "coarse/a.avi", tmp_path / "scene.json"
        path.parent.mkdir()
        scene_from((320, 240)).save(scene)
        video = cv2.VideoWriter(
            str(path), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), 5.0, (320, 240)
        )
        video.set(cv2.VIDEOWRITER_PROP_QUALITY, 10)
        rng = np.random.default_rng(0)
        floor = cv2.GaussianBlur(rng.normal(90, 200, (240, 320, 3)), (0, 0), 6)
        for k in range(120):
            image = np.clip(floor + rng.normal(0, 4, floor.shape), 0, 255).astype(np.uint8)
            cv2.rectangle(image, (2 * k, 100), (2 * k + 20, 160), (20, 20, 200), -1)
            video.write(image)
        video.release()
        whole = [row.count for row in crowdcount.count(path, scene=scene)]
        options = Options(None, str(scene), segment_s=12.0)
        engine = _AtOnce()
        run_batch(plan_videos([str(path)]), tmp_path / "out", engine, options, _Nobody())
        assert [part["first"] for part in engine.parts] == [0, 60]
        found = np.array(table(tmp_path / "out", "camera=coarse/*/*")["count"])
        assert np.abs(found - whole).max() < 0.001

    def test_a_result_says_what_it_was_made_of(self, unbroken, archive):
        (path,) = unbroken.glob("camera=hall/*/*")
        made = describe(path)
        assert made["source"] == str(archive / "videos/hall/long.avi")
        assert made["split"] == [6.0, 2.0]
        assert path.name.startswith(f"long-{made['content'][:16]}-")

    def test_rows_are_written_before_the_memory_fills_with_them(self, archive, tmp_path, monkeypatch):
        monkeypatch.setattr(work, "ROWS_PER_GROUP", 9)
        job = job_of(archive / "videos/gate/20240501_080000.avi", tmp_path)
        monkeypatch.setattr(work, "_model", lambda *_: load_model(archive / "model.npz"))
        monkeypatch.setattr(work, "_scene", lambda *_: load_scene(archive / "scene.json"))
        assert work.count(job, WHOLE, lambda *_: None) == 40
        assert parquet.read_metadata(job.result).num_row_groups == 5
        assert parquet.ParquetFile(job.result).read(["frame"])["frame"].to_pylist() == list(range(40))

    def test_a_worker_takes_no_more_memory_for_a_long_video(self, archive, tmp_path):
        """Ten times the frames; a frame more in memory for each of them would show as 29 MiB."""
        for name, n_frames in (("a-short", 200), ("b-long", 2200)):
            video = cv2.VideoWriter(
                str(tmp_path / f"{name}.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10.0, (80, 60)
            )
            for k in range(n_frames):
                image = np.full((60, 80, 3), 90, np.uint8)
                cv2.rectangle(image, (k % 70, 20), (k % 70 + 6, 40), (200, 60, 30), -1)
                video.write(image)
            video.release()
        engine = LocalEngine(1)
        peaks = _Peaks(engine)
        scene_from((80, 60), None, [(40, 10, 18.0), (40, 50, 18.0)]).save(tmp_path / "scene.json")
        options = Options(f"{archive}/model.npz", f"{tmp_path}/scene.json")  # in which nothing is enlarged
        run_batch(plan_videos([str(tmp_path)]), tmp_path / "out", engine, options, peaks)
        short, long = peaks.mib
        assert long - short < 14

    def test_results_do_not_depend_on_the_number_of_workers(self, unbroken, archive, run, tmp_path, results):
        code, *_ = run(command(archive, tmp_path, f"{CUT} --workers 1 -q"))
        assert code == 0
        assert results(tmp_path) == results(unbroken)


@pytest.fixture
def own(archive, unbroken, tmp_path):
    """A copy of the archive in `tmp_path` with the results of its videos in `out`."""
    shutil.copytree(archive / "videos", tmp_path / "videos", copy_function=shutil.copy2)
    shutil.copytree(unbroken, tmp_path / "out", copy_function=shutil.copy2)
    for name in ("model.npz", "scene.json"):
        shutil.copy2(archive / name, tmp_path / name)
    return tmp_path


@pytest.mark.usefixtures("_in_one_process")
class TestDone:
    def test_nothing_is_counted_twice(self, own, run):
        before = {path: path.stat().st_mtime_ns for path in own.glob("out/camera=*/*/*")}
        os.rename(own / "videos/hall/long.avi", own / "videos/hall/renamed.avi")
        code, _, stderr = run(command(own, own / "out"))
        assert code == 0
        assert "3 videos: 0 counted, 3 done before" in stderr
        assert {path: path.stat().st_mtime_ns for path in own.glob("out/camera=*/*/*")} == before

    @pytest.mark.parametrize("ago_s", [3600, -3600])  # a recorder's clock may be ahead
    def test_files_that_have_not_changed_are_not_read_again(self, own, run, monkeypatch, ago_s):
        changed = time.time() - ago_s
        for path in own.glob("videos/*/*"):
            os.utime(path, (changed, changed))
        run(command(own, own / "out"))
        with (own / "out/.work/known.jsonl").open("a") as known:
            known.write('null\n["a", null, 3]\n["a", null, {}]\n[[], null, {}]\n["a", ')
        monkeypatch.setattr(_AtOnce, "submit", None)  # there is nothing to do
        code, _, stderr = run(command(own, own / "out"))
        assert (code, "3 done before" in stderr) == (0, True)

    def test_new_content_under_an_old_name_is_counted_and_replaces_the_old_counts(self, own, run, make_clip):
        make_clip(own / "videos/gate/20240501_080000.avi", 20, seed=7)
        code, _, stderr = run(command(own, own / "out"))
        assert code == 0
        assert "1 counted, 2 done before; " in stderr  # the copied results are of the archive's own paths
        make_clip(own / "videos/gate/20240501_080000.avi", 25, seed=8)
        code, _, stderr = run(command(own, own / "out"))
        assert "1 counted, 2 done before, 1 former result replaced" in stderr
        lengths = [
            parquet.read_metadata(path).num_rows for path in own.glob("out/camera=gate/date=2024-05-01/*")
        ]
        assert sorted(lengths) == [25, 40]

    def test_other_settings_are_counted_anew_and_replace_the_old_counts(self, own, run, results):
        code, _, stderr = run(command(own, own / "out", f"{CUT} --every 3 --workers 1"))
        assert code == 0
        assert "3 counted, 3 former results replaced" in stderr
        assert len(results(own / "out")) == 3
        split = np.array(table(own / "out", "camera=hall/*/*")["count"])
        whole = np.array([row.count for row in counts(own / "videos/hall/long.avi", own, every=3)])
        assert len(split) == 80
        assert np.abs(split - whole).max() < 0.001

    def test_a_video_whose_name_or_folder_was_corrected_counts_once(self, own, run):
        """A report had its frames at both times, and of both cameras."""

        def counted():
            code, _, stderr = run(command(own, own / "out2", "--include *.avi --exclude long.avi"))
            made = [describe(path) for path in sorted(own.glob("out2/camera=*/*/*"))]
            return code, stderr.splitlines()[-1], [(one["camera"], one["start_time"]) for one in made]

        counted()
        gate = own / "videos/gate"
        os.rename(gate / "20240502_235958.avi", gate / "20240501_090000.avi")
        code, told, made = counted()
        assert (code, "1 counted, 1 done before, 1 former result replaced; " in told) == (0, True)
        assert made == [("gate", "2024-05-01T08:00:00"), ("gate", "2024-05-01T09:00:00")]
        (own / "videos/yard").mkdir()
        os.rename(gate / "20240501_090000.avi", own / "videos/yard/20240501_090000.avi")
        shutil.copy2(gate / "20240501_080000.avi", own / "videos/yard")
        *_, made = counted()  # the copied one is there twice
        assert made == [(camera, "2024-05-01T08:00:00") for camera in ("gate", "yard")] + [
            ("yard", "2024-05-01T09:00:00")
        ]

    def test_of_several_copies_that_are_gone_none_was_renamed(self, own, run):
        """One new copy took the place of the results of two cameras, also while their share was away."""
        first = own / "videos/gate/20240501_080000.avi"
        (own / "videos/yard").mkdir()
        shutil.copy2(first, own / "videos/yard")
        assert run(command(own, own / "out2", "--include 20240501_080000.avi"))[0] == 0
        (own / "videos/lab").mkdir()
        shutil.copy2(first, own / "videos/lab/20240601_080000.avi")
        for camera in ("gate", "yard"):
            (own / f"videos/{camera}/20240501_080000.avi").unlink()
        _, _, stderr = run(command(own, own / "out2", "--include lab/*"))
        assert "replaced" not in stderr
        assert {describe(path)["camera"] for path in own.glob("out2/camera=*/*/*")} == {"gate", "lab", "yard"}

    def test_a_damaged_result_of_other_settings_fails_its_video_alone(self, own, run, results):
        """Whether the new one replaces it cannot be told: a report would count both, so somebody has to."""
        former = [next(own.glob(f"out/camera=gate/date=2024-05-0{day}/*")) for day in (1, 2)]
        cut_off, garbled = former
        cut_off.write_bytes(cut_off.read_bytes()[:200])
        garbled.write_bytes(garbled.read_bytes()[:-400] + bytes(range(200)) * 2)
        for counted in ("1 counted", "0 counted, 1 done before"):
            code, _, stderr = run(command(own, own / "out", f"{CUT} --every 3 --workers 1"))
            assert code == 3
            assert f"3 videos: {counted}" in stderr
            assert "2 failed" in stderr.splitlines()[-1]
            for path in former:
                assert f"{path} is not a result of crowdcount batch, or it is damaged; remove it" in stderr
            assert len(results(own / "out")) == 5
        for path in former:
            path.unlink()
        code, _, stderr = run(command(own, own / "out", f"{CUT} --every 3 --workers 1"))
        assert (code, "3 done before" in stderr) == (0, True)
        assert not left_over(own / "out")

    def test_a_result_that_was_damaged_since_is_counted_again(self, own, run):
        whole = tables(own / "out")
        cut_off, emptied, garbled = sorted(own.glob("out/camera=*/*/*"))
        cut_off.write_bytes(cut_off.read_bytes()[:-100])
        emptied.write_bytes(b"")
        garbled.write_bytes(garbled.read_bytes()[:-400] + bytes(range(200)) * 2)
        code, _, stderr = run(command(own, own / "out"))
        assert (code, "3 videos: 3 counted" in stderr) == (0, True)
        assert tables(own / "out") == whole

    @pytest.mark.parametrize("share", [0, 0.5])
    def test_what_was_kept_of_a_video_and_is_damaged_is_made_again(
        self, own, run, monkeypatch, share
    ):
        """It failed its video in each run."""
        hall = f"{CUT} --workers 1 --include hall/*"
        whole = {path: rows for path, rows in tables(own / "out").items() if "camera=hall" in str(path)}
        shutil.rmtree(own / "out")

        def killed(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(batch_run._Batch, "_join", killed)
            assert run(command(own, own / "out", hall))[0] == 130
        for name in ("sample.npz", "scene.npz", "00001.parquet"):
            (kept,) = own.glob(f"out/.work/*/*/{name}")
            kept.write_bytes(kept.read_bytes()[: int(share * kept.stat().st_size)])
        code, _, stderr = run(command(own, own / "out", hall))
        assert (code, "failed" in stderr) == (0, False)
        assert tables(own / "out") == whole
        assert not left_over(own / "out")

    def test_a_part_whose_counts_are_damaged_is_counted_again(self, archive, tmp_path, monkeypatch, garble):
        job, part = job_of(archive / "videos/gate/20240501_080000.avi", tmp_path), Segment(1, 0, None, 20)
        counted = work.counts_table([FrameCount(k, k / 10, k, k - 1, k + 1, ()) for k in range(20)], None)
        work._write_tables(job, work.segment_path(job, 1), [counted])
        whole = work.segment_path(job, 1).read_bytes()
        garble(work.segment_path(job, 1))
        monkeypatch.setattr(work, "count", lambda *_: work.segment_path(job, 1).write_bytes(whole))
        assert work.join(job, [part], lambda *_: None) == 20
        assert parquet.read_table(job.result).equals(counted)

    def test_of_two_equal_videos_of_a_camera_one_is_counted(self, own, run):
        shutil.copy2(own / "videos/hall/long.avi", own / "videos/hall/twin.avi")
        code, _, stderr = run(command(own, own / "out2"))
        assert code == 0
        one, other = "hall/twin.avi", "hall/long.avi"
        assert any(f"{a}: the same footage as {b}" in stderr for a, b in ((one, other), (other, one)))
        assert "4 videos: 3 counted, 1 copy; " in stderr
        assert "4 videos: 0 counted, 4 done before; " in run(command(own, own / "out2"))[2]

    def test_where_the_first_of_equal_videos_fails_the_next_is_counted(self, own):
        """Both were lost, and the second was said to be done already."""
        for name in ("twin", "third"):
            shutil.copy2(own / "videos/hall/long.avi", own / f"videos/hall/{name}.avi")
        videos = plan_videos([str(own / "videos/hall")])
        options = Options(f"{own}/model.npz", f"{own}/scene.json", 1, 6.0, 2.0)
        engine, watcher = _AtOnce(fails=("long.avi", 1)), _Ends()
        summary = run_batch(videos, own / "out2", engine, options, watcher)
        assert summary.failed == [("long.avi", "the disk is gone")]
        assert (summary.counted, summary.copies, summary.done_before) == (1, 1, 0)
        assert [label for label, _ in watcher.ends] == ["long.avi", "third.avi", "twin.avi"]
        assert table(own / "out2", "*/*/*").equals(table(own / "out", "camera=hall/*/long-*"))
        assert not left_over(own / "out2")

    def test_one_batch_at_a_time(self, own, run):
        with Catalogue(own / "out"):
            code, _, stderr = run(command(own, own / "out"))
        assert code == 1
        assert f"another batch is writing to {own}/out; wait for it" in stderr


@pytest.mark.usefixtures("_in_one_process")
class TestCameras:
    def test_cameras_of_the_settings_file(self, own, run, monkeypatch):
        monkeypatch.chdir(own)
        Path("crowdcount.toml").write_text(
            '[batch]\nevery = 4\n\n[[batch.camera]]\nname = "north, gate 1"\nmatch = "gate/*"\n'
            'model = "model.npz"\nscene = "scene.json"\ntimezone = "Europe/Rome"\n'
            '[[batch.camera]]\nname = "switched off today"\n'
        )
        code, *_ = run("batch videos -o out2 --include gate/*")
        assert code == 0
        made = [describe(path) for path in sorted(Path("out2").glob("camera=north, gate 1/*/*"))]
        assert [one["every"] for one in made] == [4, 4]
        assert [one["start_time"] for one in made] == ["2024-05-01T08:00:00", "2024-05-02T23:59:58"]

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ('[batch]\ncamera = ["x"]', "a camera is given as name=NAME"),
            ("[[batch.camera]]\nname = 3", "a camera has texts named"),
            ("[[count.every]]\nname = 3", "[count] every: expected a text or a number"),
        ],
    )
    def test_settings_that_make_no_sense(self, run, monkeypatch, tmp_path, text, reason):
        monkeypatch.chdir(tmp_path)
        Path("crowdcount.toml").write_text(text)
        code, _, stderr = run("batch videos -o out")
        assert code == 2
        assert reason in stderr

    @pytest.mark.parametrize("rule", ["name=hal", "name=hall,match=hal/*,scene=s.json"])
    def test_a_misspelt_camera_ends_the_batch_before_it_begins(self, own, run, rule):
        code, _, stderr = run(f"batch {own}/videos -o {own}/new --camera name=gate --camera {rule}")
        assert (code, stderr.count("\n")) == (1, 1)
        assert "no video fits the camera 'hal" in stderr
        assert "found videos of gate, hall; correct its name or match" in stderr
        assert not (own / "new").exists()

    def test_a_model_that_cannot_be_read_ends_the_batch_before_it_begins(self, own, run):
        code, _, stderr = run(f"batch {own}/videos -o {own}/new --camera name=hall,model=absent.npz")
        assert (code, stderr.count("\n")) == (1, 1)
        assert "absent.npz does not exist" in stderr
        assert not (own / "new").exists()


class TestFaults:
    @pytest.mark.usefixtures("_in_one_process")
    def test_bad_videos_are_told_at_the_end(self, own, run):
        (own / "videos/gate/20240503_000000.avi").write_text("no video")
        (own / "videos/gate/empty.avi").touch()
        code, _, stderr = run(command(own, own / "out"))
        assert code == 3
        *_, first, second, undated, total = stderr.splitlines()
        assert undated == "1 video of unknown start time: if the path says it, tell how (--pattern)"
        assert first.startswith("crowdcount: ")
        assert "20240503_000000.avi cannot be read as a video" in first + second
        assert "empty.avi is empty (0 bytes)" in first + second
        assert total.startswith("5 videos: 0 counted, 3 done before, 2 failed")

    @pytest.mark.usefixtures("_in_one_process")
    def test_a_name_of_several_lines(self, run, tmp_path, make_clip):
        make_clip(tmp_path / "gate/two\nlines.avi", 20, seed=1)
        for done in ("1 counted", "0 counted, 1 done before"):
            code, _, stderr = run(f"batch {tmp_path}/gate -o {tmp_path}/out")
            assert code == 0
            assert stderr.splitlines()[-1].startswith(f"1 video: {done}")

    def test_a_worker_that_is_stopped_while_it_starts(self, monkeypatch):
        """Ctrl-C in the moment between its process and the thread that reads what that says."""
        ended = Worker()
        thread = threading.Thread
        with ThreadPoolExecutor(1) as other:
            stopping = []

            class Slow(thread):
                def start(self):
                    if not stopping:
                        stopping.append(None)
                        stopping.append(other.submit(ended.stop))
                        time.sleep(0.2)
                    super().start()

            monkeypatch.setattr(threading, "Thread", Slow)
            with suppress(OSError):  # killed, unless the machine is fast and it was up before
                ended.start()
            stopping[1].result()
        assert ended.process_id is None
        assert not ended._reader.is_alive()

    @pytest.mark.usefixtures("_in_one_process")
    def test_a_video_that_ends_early_is_counted_and_said_to(self, own, run):
        whole = (own / "videos/hall/long.avi").read_bytes()
        (own / "videos/hall/cut.avi").write_bytes(whole[: len(whole) // 2])
        code, _, stderr = run(command(own, own / "out", "--segment 0 --include cut.avi"))
        *_, told, _, total = stderr.splitlines()
        n_rows = len(table(own / "out", "camera=hall/*/cut-*"))
        assert code == 0
        assert f"{n_rows} frames (of the 240 that it states: it may be cut off)" in told
        assert total.startswith("1 video: 1 counted (1 may be cut off); 0:")

    @pytest.mark.parametrize(
        ("damaged", "n_rows", "firsts"),
        [
            (range(125, 240), 125, [0, 60, 120]),  # the last part has five frames, all to steady those before
            (range(90, 240), 90, [0, 60]),
            (range(100, 140), 240, [0, 60, 180]),  # behind so many, light is looked at in the same frames
        ],
    )
    def test_a_damaged_stretch_belongs_to_the_part_before_it(
        self, archive, tmp_path, damaged, n_rows, firsts
    ):
        """A part began where nothing decodes, which failed the video, or took a pass from its beginning."""
        path = tmp_path / "hall/a.avi"
        path.parent.mkdir()
        shutil.copy2(archive / "videos/hall/long.avi", path)
        blank(path, damaged)
        options = Options(f"{archive}/model.npz", f"{archive}/scene.json", segment_s=6.0, warm_up_s=1.0)
        engine = _AtOnce()
        summary = run_batch(plan_videos([str(path)]), tmp_path / "out", engine, options, _Nobody())
        found, whole = table(tmp_path / "out", "camera=hall/*/*"), counts(path, archive)
        assert (summary.failed, summary.cut_off) == ([], int(n_rows < 240))
        assert [part["first"] for part in engine.parts] == firsts
        assert found["frame"].to_pylist() == [row.frame for row in whole] == list(range(n_rows))
        assert found["time_s"].to_pylist() == pytest.approx([row.time_s for row in whole])
        assert found["flags"].to_pylist() == [";".join(row.flags) for row in whole]
        split = [np.nan if count is None else count for count in found["count"].to_pylist()]
        np.testing.assert_allclose(split, [row.count for row in whole], atol=0.001)

    @pytest.mark.usefixtures("_in_one_process")
    def test_a_video_that_states_more_frames_than_its_bytes_can_hold_is_planned_for_no_more(
        self, own, run, tmp_path, monkeypatch
    ):
        content = bytearray((own / "videos/hall/long.avi").read_bytes())
        for header, offset in ((b"avih", 8 + 16), (b"strh", 8 + 32)):
            place = content.index(header) + offset
            content[place : place + 4] = (2_000_000_000).to_bytes(4, "little")
        (own / "videos/hall/endless.avi").write_bytes(content)
        planned = []
        monkeypatch.setattr(batch_run, "seams", lambda *given: planned.append(given[0]) or seams(*given))
        code, _, stderr = run(command(own, own / "out", f"{CUT} --include endless.avi"))
        assert (code, planned) == (0, [len(content) // 8])
        assert "240 frames (of the 2000000000 that it states: it may be cut off)" in stderr
        assert len(table(own / "out", "camera=hall/*/endless-*")) == 240

    @pytest.mark.usefixtures("_in_one_process")
    def test_a_start_at_the_end_of_all_years_is_that_videos_failure(self, own, run):
        (own / "videos/gate/20240502_235958.avi").rename(own / "videos/gate/99991231_235959.avi")
        code, _, stderr = run(command(own, own / "out2", "--include gate/* --pattern {camera}/%Y%m%d_%H%M%S"))
        assert code == 3
        assert "expected times up to the year 9999, found 1 s after 9999-12-31 23:59:59" in stderr
        assert "2 videos: 1 counted, 1 failed" in stderr

    @pytest.mark.usefixtures("_in_one_process")
    def test_a_recorder_that_paused_has_cut_nothing_off(self, run, tmp_path):
        code, _, stderr = run(f"batch {CLIPS} --include paused.mkv -o {tmp_path}")
        assert code == 0
        assert "paused.mkv: 50 frames in" in stderr

    def test_all_videos_fail(self, run, tmp_path):
        (tmp_path / "list").write_text("absent.avi\n")
        began = time.monotonic()
        code, _, stderr = run(f"batch {tmp_path}/list -o {tmp_path}/out --retries 9")
        assert code == 1
        assert "absent.avi: no such file or directory; check its name" in stderr
        assert time.monotonic() - began < 30  # no retry brings it: pauses of 1, 2, 4, … s

    @pytest.mark.parametrize(
        ("how", "limits", "reason"),
        [
            (signal.SIGKILL, {}, None),
            (signal.SIGKILL, {"retries": 0}, "its worker was killed by signal 9; is the memory enough?"),
            (signal.SIGSTOP, {"silent_s": 4.0, "retries": 0}, "stopped: no progress for {} s (--silence)"),
            (signal.SIGSTOP, {"total_s": 6.0}, "stopped: its time is used up (--time-limit)"),
        ],
    )
    def test_a_worker_that_dies_or_hangs_harms_no_other_video(
        self, archive, unbroken, tmp_path, results, how, limits, reason
    ):
        """A worker is killed, or stopped so that it hangs, in the middle of a video."""
        videos = plan_videos([str(archive / "videos")])
        for patience in (1, 4, 16):  # a busy machine may use a limit up before the video is in its middle
            limits |= {name: limits[name] * patience for name in ("silent_s", "total_s") if name in limits}
            options = Options(f"{archive}/model.npz", f"{archive}/scene.json", 1, 6.0, 2.0, Limits(**limits))
            engine = LocalEngine(2)
            watcher = _Disturber(engine, "hall/long.avi", how)
            out = tmp_path / str(patience)
            summary = run_batch(videos[::-1], out, engine, options, watcher)
            if watcher.has_struck:
                break
        assert watcher.has_struck
        whole = results(unbroken)
        if reason is None:
            assert not summary.failed
            assert results(out) == whole
        else:
            reason = reason.format(f"{limits.get('silent_s', 0):g}")
            assert summary.failed == [("hall/long.avi", reason)]
            assert results(out) == {path: data for path, data in whole.items() if "camera=gate" in path}

    @pytest.mark.parametrize(("most_s", "is_over"), [(50.0, True), (110.0, True), (150.0, False)])
    def test_the_parts_of_a_video_may_take_no_longer_together_than_a_video(
        self, archive, tmp_path, most_s, is_over
    ):
        """All four are handed out at once, each with all of the time."""
        videos = plan_videos([str(archive / "videos/hall")])
        limits = Limits(total_s=most_s)
        options = Options(f"{archive}/model.npz", f"{archive}/scene.json", 1, 6.0, 2.0, limits)
        engine = _AtOnce(part_s=30.0)
        summary = run_batch(videos, tmp_path, engine, options, _Nobody())
        told = [("long.avi", "stopped: its time is used up (--time-limit)")]
        assert (summary.counted, summary.failed) == ((0, told) if is_over else (1, []))
        assert len(engine.parts) == (0 if is_over else 4)

    def test_the_parts_of_a_video_that_failed_add_nothing_to_what_is_done(self, archive, tmp_path):
        """Those that went on counted beside all of the video, and the rest was told to take less."""
        videos = plan_videos([str(archive / "videos/hall")])
        options = Options(f"{archive}/model.npz", f"{archive}/scene.json", 1, 6.0, 2.0)
        watcher = _Shares()
        run_batch(videos, tmp_path, _AtOnce(fails=("long.avi", 1)), options, watcher)
        assert watcher.shares[0] > 0
        assert watcher.shares[1:] == ["failed: the disk is gone", 0.0, 0.0]

    def test_a_worker_that_was_stopped_in_a_task_does_the_next_one(self, archive):
        """What was stopped takes a moment to be gone: the next task was handed to it and failed with it."""
        task = work.task_of(work.examine, path=f"{archive}/videos/hall/long.avi", timezone=None)
        worker = Worker()
        try:
            assert worker.run(task, Limits(silent_s=0.0, retries=0), lambda *_: None).kind == "time"
            assert worker.run(task, Limits(retries=0), lambda *_: None).error is None
        finally:
            worker.stop()

    def test_a_video_that_is_looked_at_shows_progress(self, archive, tmp_path):
        """Long ones were stopped for none while their packets were listed and frames of them sampled."""
        job = job_of(archive / "videos/hall/long.avi", tmp_path, every=100)
        reports = []
        work.sample(job, [100], [50, 200], lambda *told: reports.append(told))
        assert set(reports) == {(0, None)}
        assert len(reports) > 240 + 240  # packets, and frames of which each second one is looked at
        reports.clear()
        assert work.count(job, WHOLE, lambda *told: reports.append(told)) == 3
        assert reports.count((0, None)) > 240
        assert {reports.count((done, 3)) for done in (1, 2)} == {100}

    def test_that_no_worker_is_there_is_told_now_and_then(self, archive, tmp_path, monkeypatch):
        """A batch whose cluster had none, or lost all, waited for ever and said nothing."""
        monkeypatch.setattr(batch_run, "_LOOK_EVERY_S", 0.01)
        monkeypatch.setattr(batch_run, "_TELL_EVERY_S", 0.2)
        watcher = _Told()
        videos = plan_videos([str(archive / "videos/gate")])
        run_batch(videos, tmp_path, _Away(watcher), Options(f"{archive}/model.npz"), watcher)
        assert watcher.told == ["the cluster has no workers; the batch waits until one is started"] * 2

    def test_a_pause_before_a_retry_ends_with_the_batch(self, monkeypatch):
        """The pauses double: before the tenth retry, an interrupt had to wait for ten minutes."""
        monkeypatch.setattr("crowdcount.batch.worker._PAUSE_S", 30.0)
        worker = Worker()
        monkeypatch.setattr(worker, "start", lambda: (_ for _ in ()).throw(OSError("no more processes")))
        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(worker.run({}, Limits(), lambda *_: None)))
        thread.start()
        time.sleep(0.2)
        worker.stop()
        thread.join(5)
        assert outcomes[0].error == "a worker cannot be started or spoken to (no more processes)"

    def test_a_worker_that_is_stopped_before_it_is_spoken_to(self, monkeypatch):
        """It was an error inside crowdcount: the process was no longer there, or its pipe was closed."""
        worker = Worker()
        start = worker.start

        def start_and_stop():
            process = start()
            worker.stop()
            return process

        monkeypatch.setattr(worker, "start", start_and_stop)
        outcome = worker.run({}, Limits(), lambda *_: None)
        assert outcome.kind == "died"
        assert outcome.error.startswith("a worker cannot be started or spoken to")

    def test_of_what_a_process_says_the_last_line_alone_is_kept(self, tmp_path, monkeypatch):
        """All of it went to a file, which grew for as long as a worker of a cluster lives."""
        fake = tmp_path / "python"
        fake.write_text("#!/bin/sh\nyes damaged | head -99999 >&2\n"
                        "[ -p /proc/self/fd/2 ] && echo no such library >&2\nexit 3\n")  # fmt: skip
        fake.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(fake))
        outcome = Worker().run({}, Limits(retries=0), lambda *_: None)
        assert outcome.error.endswith("(its worker ended with code 3 (no such library))")

    def test_no_process_is_started_when_the_time_is_used_up(self):
        """One was, for seconds, and killed at once."""
        worker = Worker()
        outcome = worker.run({}, Limits(total_s=0.0), lambda *_: None)
        assert outcome.error == "stopped: its time is used up (--time-limit)"
        assert worker._reader is None

    def test_a_full_disk_ends_the_batch_and_loses_nothing(
        self, archive, unbroken, tmp_path, run, results, monkeypatch
    ):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

        code, stderr = finished(command(archive, tmp_path / "out"), preexec_fn=small_files)
        assert code == 1
        assert "crowdcount: cannot write " in stderr.splitlines()[-1]
        assert "then run the same command again" in stderr.splitlines()[-1]
        whole = results(unbroken)
        assert results(tmp_path / "out").items() <= whole.items()
        monkeypatch.setattr(engines, "LocalEngine", lambda _: _AtOnce())
        assert run(command(archive, tmp_path / "out"))[0] == 0
        assert results(tmp_path / "out") == whole

    def test_interrupted(self, archive, unbroken, tmp_path, run, results, monkeypatch):
        """With more videos behind: the rest of three may be counted before the signal on a busy machine."""
        content = (archive / "videos/hall/long.avi").read_bytes()
        (tmp_path / "more").mkdir()
        for k in range(4):
            (tmp_path / f"more/long{k}.avi").write_bytes(content + bytes([k]))  # equal ones count as one
        usual = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # tests may run under nohup
        with start(command(archive, tmp_path / "out", f"{CUT} {tmp_path}/more"), preexec_fn=usual) as running:
            wait_for(lambda: list(tmp_path.glob("out/.work/*/*/*.npz")), running)
            running.send_signal(signal.SIGINT)
            _, stderr = running.communicate(timeout=30)
        assert (running.returncode, stderr.splitlines()[-1]) == (130, "crowdcount: interrupted")
        found, whole = results(tmp_path / "out"), results(unbroken)
        assert len(found) < 7
        monkeypatch.setattr(engines, "LocalEngine", lambda _: _AtOnce())
        assert run(command(archive, tmp_path / "out"))[0] == 0
        assert results(tmp_path / "out") == found | whole


@pytest.mark.usefixtures("_in_one_process")
class TestRunsThatAreOver:
    def test_killed_between_a_result_and_the_removal_of_what_it_replaces(
        self, own, run, monkeypatch, results
    ):
        """The next run finds it done: the parts and the result of other settings are to go all the same."""

        def killed(*_):
            raise KeyboardInterrupt

        settings = f"{CUT} --every 3 --workers 1"
        with monkeypatch.context() as patch:
            patch.setattr(Catalogue, "finish", killed)
            assert run(command(own, own / "out", settings))[0] == 130
        assert len(results(own / "out")) > 3
        assert left_over(own / "out")
        code, _, stderr = run(command(own, own / "out", settings))
        assert (code, "done before, 3 former results replaced" in stderr) == (0, True)
        assert [describe(path)["every"] for path in own.glob("out/camera=*/*/*")] == [3, 3, 3]
        assert not left_over(own / "out")

    def test_what_nothing_goes_on_from_is_removed(self, own, run, monkeypatch):
        """The parts of former settings and contents, and files that were being written, piled up."""
        long, cut = own / "videos/hall/long.avi", "--segment 12 --warm-up 2"

        def killed(*_):
            raise KeyboardInterrupt

        def interrupted(settings):
            os.utime(long, (1e9, 1e9))
            with monkeypatch.context() as patch:
                patch.setattr(batch_run._Batch, "_join", killed)
                assert run(command(own, own / "new", f"{settings} --workers 1 --include long.avi"))[0] == 130

        interrupted(cut)
        (first,) = own.glob("new/.work/run-*/*")
        (first / ".00001.0123abcd.parquet").touch()
        assert run(command(own, own / "new", f"{cut} --include gate/*"))[0] == 0
        (kept,) = own.glob("new/.work/run-*/*")  # the next batch of the hall goes on from it
        assert kept.name == first.name
        assert len(list(kept.iterdir())) == 4
        interrupted(f"{cut} --every 2")
        long.write_bytes(long.read_bytes() + b"more")
        interrupted(cut)
        assert len(list(own.glob("new/.work/run-*/*"))) == 3
        assert run(command(own, own / "new", cut))[0] == 0
        assert not left_over(own / "new")

    @pytest.mark.parametrize("name", ["20240501_080000", "long"])
    def test_a_worker_that_outlives_its_run_adds_nothing_to_the_next(
        self, archive, tmp_path, results, name
    ):
        """It does its task once while another run counts all, and once more after it."""
        videos, options = plan_videos([str(archive / "videos")]), self._options(archive)
        task = self._left_alone([video for video in videos if name in video.path], tmp_path, options)
        during = iter([lambda: run_batch(videos, tmp_path, _AtOnce(), options, _Nobody())])
        for _ in range(2):
            with pytest.raises((OutputError, BatchError)):
                work.run_task(task, lambda *_: next(during, lambda: None)())
            assert len(results(tmp_path)) == 3
            assert not left_over(tmp_path)

    def test_a_worker_that_outlives_its_run_leaves_no_result_of_its_settings(
        self, archive, tmp_path, results
    ):
        """Beside the one that replaces it, a report would count its frames twice."""
        videos = plan_videos([str(archive / "videos/gate")])
        task = self._left_alone(videos, tmp_path, self._options(archive))
        run_batch(videos, tmp_path, _AtOnce(), self._options(archive, every=2), _Nobody())
        expected = results(tmp_path)
        with pytest.raises(OutputError):
            work.run_task(task, lambda *_: None)
        assert (len(expected), results(tmp_path)) == (2, expected)

    @staticmethod
    def _options(archive, every=1):
        return Options(f"{archive}/model.npz", f"{archive}/scene.json", every, 6.0, 2.0)

    @staticmethod
    def _left_alone(videos, out, options):
        """The first counting task of a run that is killed then."""
        engine = _Killed()
        with pytest.raises(KeyboardInterrupt):
            run_batch(videos, out, engine, options, _Nobody())
        return engine.task


class _Killed:
    """Does a run's tasks at once, up to the first that counts: with that the run is killed."""

    n_workers = 1

    def __init__(self):
        self.events = queue.SimpleQueue()

    def submit(self, task, limits):
        self.task = task
        if task["name"] == "count":
            raise KeyboardInterrupt
        self.events.put(Finished(id(task), "", Outcome(result=work.run_task(task, lambda *_: None))))
        return id(task)

    def close(self):
        pass


class _AtOnce:
    """Does a run's tasks at once, but for one part of one video, which fails; tells how long a part took."""

    n_workers = 2

    def __init__(self, fails=None, part_s=0.0):
        self.events = queue.SimpleQueue()
        self._fails, self._part_s = fails, part_s
        self.parts = []  # of the video that was joined last

    def submit(self, task, limits):
        arguments = task["arguments"]
        self.parts = arguments.get("parts", self.parts)
        part = arguments.get("segment")
        if part is not None and (arguments["job"]["label"], part["index"]) == self._fails:
            outcome = Outcome(error="the disk is gone", kind="input")
        else:
            seconds = 0.0 if part is None else self._part_s
            told = _answer(json.loads(json.dumps(task)), work.run_task, io.BytesIO())
            told.pop("passing", None)
            outcome = Outcome(**told, seconds=seconds)
            if part is not None:
                self.events.put(Progress(id(task), "", 1, 2))
        self.events.put(Finished(id(task), "", outcome))
        return id(task)

    def close(self):
        pass


class _Away(_AtOnce):
    """Has no workers until that was told twice."""

    def __init__(self, watcher):
        super().__init__()
        self._watcher, self._late = watcher, []

    @property
    def n_workers(self):
        if len(self._watcher.told) < 2:
            return 0
        for task in self._late:
            super().submit(*task)
        self._late.clear()
        return 1

    def submit(self, task, limits):
        self._late.append((task, limits))
        return id(task)


class _Nobody:
    """Watches nothing."""

    def __getattr__(self, name):
        return lambda *_: None


class _Ends(_Nobody):
    """Watches how videos end: their labels and what is said, in that order."""

    def __init__(self):
        self.ends = []

    def finished(self, video, what, n_bytes, counted):
        self.ends.append((video.label, what))


class _Told(_Nobody):
    """Watches what else is told."""

    def __init__(self):
        self.told = []

    def details(self, text):
        self.told.append(text)


class _Shares(_Nobody):
    """Watches how much of a video is counted, in bytes, and how it ends."""

    def __init__(self):
        self.shares = []

    def working(self, worker, video, done, of, video_share):
        self.shares.append(video_share)

    def finished(self, video, what, n_bytes, counted):
        self.shares.append(what)


class _Peaks(_Nobody):
    """Watches a batch of one worker: its peak memory, MiB, whenever a video is finished."""

    def __init__(self, engine):
        self._engine, self.mib = engine, []

    def finished(self, *_):
        (process_id,) = self._engine.process_ids()
        status = Path(f"/proc/{process_id}/status").read_text()
        self.mib.append(float(status.partition("VmHWM:")[2].split()[0]) / 1024)


class _Disturber(_Nobody):
    """Watches a batch, and sends a signal to a worker in the middle of a certain video: that tells of frames
    that it counted, or, where a part is over before, that begins with another one."""

    def __init__(self, engine, label, how):
        self._engine, self._label, self._how, self.has_struck = engine, label, how, False
        self._n_told = 0

    def working(self, worker, video, done, of, video_share):
        self._n_told += video.label == self._label
        if video.label == self._label and (done or self._n_told > 3) and not self.has_struck:
            self.has_struck = True
            self._engine._workers[int(worker.split()[-1]) - 1]._process.send_signal(self._how)


def wait_for(condition, running, seconds=60.0):
    """Wait until a condition holds, the process ends, or time is up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and running.poll() is None:
        if condition():
            return
        time.sleep(0.005)


def files(out):
    return sum(len(names) for _, _, names in os.walk(out))


def test_killed_at_any_moment_a_run_ends_with_the_same_bytes(archive, unbroken, tmp_path, results):
    """Kill real runs after a random number of new files and a random pause; finish, and compare."""
    rng = random.Random(4)
    whole = results(unbroken)
    n_killed, n_finished = 0, 0
    out = tmp_path / "0"
    while n_killed < N_KILLS:
        with start(command(archive, out, f"{CUT} --workers 2 -q")) as running:
            wanted = max(2, files(out)) + rng.randrange(1, 5)  # two are there before the work begins
            wait_for(lambda out=out, wanted=wanted: files(out) >= wanted, running)
            time.sleep(rng.uniform(0, 0.15))
            running.kill()
            running.communicate()
        assert running.returncode in (0, -signal.SIGKILL)
        n_killed += running.returncode != 0
        found = results(out)
        assert found.items() <= whole.items()  # whatever has its name is whole
        if found == whole:
            n_finished += 1
            out = tmp_path / str(n_finished)
    assert n_finished
    code, stderr = finished(command(archive, out, f"{CUT} --workers 2"))
    assert code == 0, stderr
    assert results(out) == whole
    assert not left_over(out)


def test_a_video_that_the_memory_is_not_enough_for_is_no_bug(ask_for_too_much):
    told = {"error": "the memory is not enough for it", "kind": "input"}
    assert _answer({}, ask_for_too_much, None) == told
