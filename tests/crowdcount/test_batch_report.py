"""Reports of a batch: figures against plain arithmetic, on results written here; files and page."""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cv2
import numpy as np
import pytest

from crowdcount.batch.catalogue import results
from crowdcount.batch.report import INTERVALS, summarise, text_table, write_report
from crowdcount.batch.work import Job, counts_table, write_result
from crowdcount.commands.report import report
from crowdcount.errors import BatchError, OutputError
from crowdcount.results import FrameCount

#: Runs a command with no more leave to read files than their permissions give.
UNPRIVILEGED = [] if os.geteuid() else ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def add_result(out, camera, stem, start_time, rows):
    """Write a result as a batch does; returns its rows."""
    date = "unknown" if start_time is None else start_time[:10]
    result = out / f"camera={camera}" / f"date={date}" / f"{stem}-{'0' * 16}-{'0' * 8}.parquet"
    job = Job(
        f"/{stem}.avi",
        stem,
        camera,
        1,
        1,
        "0" * 64,
        start_time,
        None,
        None,
        None,
        None,
        1,
        None,
        str(out / ".work/x"),
        str(result),
    )
    for folder in (job.work, result.parent):
        Path(folder).mkdir(parents=True, exist_ok=True)
    write_result(job, [counts_table(rows, start_time)])
    return rows


def made_rows(n, seed, rate=0.1):
    """Frames at a rate (per second), some flagged, some not decoded."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        count = np.nan if rng.random() < 0.1 else float(rng.gamma(2, 3))
        flags = ("undecodable",) if np.isnan(count) else ("light_change",) * (rng.random() < 0.2)
        yield FrameCount(k, k / rate, count, count, count, tuple(flags))


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    """Two days of the gate in two files that share an hour, the hall, and a video that nobody dated."""
    out = tmp_path_factory.mktemp("out")
    add_result(out, "gate %26 <b>", "a", "2024-05-01T08:50:00", list(made_rows(1000, 1)))
    add_result(out, "gate %26 <b>", "b", "2024-05-01T11:36:40", list(made_rows(9000, 2)))
    add_result(out, "hall", "c", "2024-05-01T23:59:30", list(made_rows(12, 3)))
    add_result(out, "hall", "old-tape", None, list(made_rows(700, 4)))
    add_result(
        out, "void", "dark", "2024-05-03T00:00:00", [FrameCount(0, 0.0, *[np.nan] * 3, ("undecodable",))]
    )
    return out


def expected(seed, n, start, length):
    """Figures by interval, by plain arithmetic: start -> (frames, mean, max, time of max, flagged)."""
    groups = {}
    for row in made_rows(n, seed):
        time = datetime.fromisoformat(start) + timedelta(seconds=row.time_s)
        begin = datetime(2024, 1, 1) + (time - datetime(2024, 1, 1)) // timedelta(seconds=length) * timedelta(
            seconds=length
        )
        groups.setdefault(begin, []).append((time, round(row.count, 4), bool(row.flags)))
    return groups


class TestFigures:
    @pytest.mark.parametrize("interval", INTERVALS)
    def test_figures_are_those_of_plain_arithmetic(self, out, interval):
        groups = expected(1, 1000, "2024-05-01T08:50:00", INTERVALS[interval])
        for begin, frames in expected(2, 9000, "2024-05-01T11:36:40", INTERVALS[interval]).items():
            groups.setdefault(begin, []).extend(frames)
        rows = [row for row in summarise(out, interval) if row.camera == "gate & <b>"]
        assert [row.start for row in rows] == sorted(groups)
        for row in rows:
            frames = groups[row.start]
            decoded = [frame for frame in frames if not np.isnan(frame[1])]
            known = [frame for frame in decoded if not frame[2]] or decoded  # a light change is not summed up
            top = max(known, key=lambda frame: (frame[1], -frame[0].timestamp()))
            assert (row.frames, row.counted, row.time_of_max) == (len(frames), len(known), top[0])
            assert row.mean == pytest.approx(np.mean([frame[1] for frame in known]))
            assert row.max == top[1]
            assert row.flagged == pytest.approx(np.mean([frame[2] for frame in frames]))

    def test_a_video_without_a_start_time_is_a_time_line_of_its_own(self, out):
        rows = [row for row in summarise(out, "hour") if row.video is not None]
        assert [(row.camera, row.start, row.frames) for row in rows] == [
            ("hall", 0.0, 360),
            ("hall", 3600.0, 340),
        ]
        assert rows[0].video == f"old-tape-{'0' * 16}-{'0' * 8}"
        assert 0 <= rows[0].time_of_max < 3600 <= rows[1].time_of_max

    def test_the_first_of_equal_maxima_is_told(self, tmp_path):
        add_result(
            tmp_path, "a", "x", "2024-05-01T08:00:00", [FrameCount(k, float(k), 5.0, 4, 6) for k in range(50)]
        )
        (row,) = summarise(tmp_path, "hour")
        assert row.time_of_max == datetime(2024, 5, 1, 8)

    def test_unreliable_frames_are_summed_up_only_where_there_are_no_others(self, tmp_path):
        flags = [("learning",)] * 60 + [()] * 30 + [("light_change", "uncertain_height")] * 30
        rows = [FrameCount(k, float(k), float(k), 0, 200, flag) for k, flag in enumerate(flags)]
        add_result(tmp_path, "a", "x", "2024-05-01T08:00:00", rows)
        first, second = summarise(tmp_path, "1min")
        assert (first.counted, first.mean, first.max) == (60, 29.5, 59)
        assert (second.frames, second.counted, second.mean, second.max) == (60, 30, 74.5, 89)
        assert second.time_of_max == datetime(2024, 5, 1, 8, 1, 29)
        assert second.flagged == 0.5

    def test_nothing_that_could_be_counted(self, out):
        (row,) = summarise(out, "day", cameras=["void"])
        assert (row.frames, row.counted, row.mean, row.max, row.time_of_max, row.flagged) == (
            1,
            0,
            *[None] * 3,
            1.0,
        )

    def test_cameras_and_times_can_be_chosen(self, out):
        since, until = datetime(2024, 5, 1, 23, 59, 40), datetime(2024, 5, 2)
        (row,) = summarise(out, "hour", cameras=["hall"], since=since, until=until)
        assert (row.start, row.frames) == (datetime(2024, 5, 1, 23), 2)
        with pytest.raises(BatchError, match="no results of the camera nobody"):
            summarise(out, "hour", cameras=["hall", "nobody"])
        with pytest.raises(BatchError, match="no counts of hall in that time; of 1 video the start"):
            summarise(out, "hour", cameras=["hall"], since=datetime(2025, 1, 1))
        assert {row.camera for row in summarise(out, "day", cameras=["gate & <b>"])} == {"gate & <b>"}
        with pytest.raises(BatchError, match="give times without a zone"):
            summarise(out, since=since.replace(tzinfo=UTC))

    @pytest.mark.parametrize("folder", ["camera=all", "time=1/date=2"])
    def test_a_folder_around_the_results_may_be_named_like_a_column(self, out, tmp_path, folder):
        copied = shutil.copytree(out, tmp_path / folder)
        assert summarise(copied, "hour") == summarise(out, "hour")

    def test_a_folder_named_like_a_pattern_is_no_pattern(self, out, tmp_path):
        """The report of `counts[12]` was that of `counts1` and `counts2`."""
        for folder in ("counts1", "counts2", "counts[12]"):
            copied = shutil.copytree(out, tmp_path / folder)
        assert summarise(copied, "hour") == summarise(out, "hour")

    def test_what_is_no_result(self, tmp_path):
        with pytest.raises(BatchError, match="absent is not a folder"):
            summarise(tmp_path / "absent")
        with pytest.raises(BatchError, match="holds no results"):
            summarise(tmp_path)
        folder = tmp_path / "camera=a/date=unknown"
        folder.mkdir(parents=True)
        (folder / "x.parquet").write_bytes(b"PAR1")
        with pytest.raises(
            BatchError, match=r"x\.parquet is not a result of crowdcount batch, or it is damaged"
        ):
            summarise(tmp_path)

    def test_a_result_that_is_damaged_inside_is_named(self, tmp_path):
        add_result(tmp_path, "a", "good", "2024-05-01T08:00:00", list(made_rows(100, 1)))
        add_result(tmp_path, "a", "bad", "2024-05-02T08:00:00", list(made_rows(100, 2)))
        (damaged,) = tmp_path.glob("camera=a/date=2024-05-02/*")
        content = damaged.read_bytes()
        damaged.write_bytes(content[:100] + bytes(1000) + content[1100:])
        with pytest.raises(BatchError, match=rf"{re.escape(str(damaged))} is damaged; remove it and run"):
            summarise(tmp_path)

    def test_no_other_camera_is_read_than_those_that_are_named(self, tmp_path):
        for camera in "abc":
            add_result(tmp_path, camera, "good", "2024-05-01T08:00:00", list(made_rows(100, 1)))
        (damaged,) = tmp_path.glob("camera=a/*/*")
        damaged.write_bytes(b"PAR1")
        assert [row.camera for row in summarise(tmp_path, cameras=["c", "b"])] == ["b", "c"]

    def test_a_result_that_reads_as_another_is_named(self, tmp_path, garble):
        """Of 150 results with 16 random bytes in their data, 19 gave wrong figures, as a mean of 2.5e303."""
        add_result(tmp_path, "a", "good", "2024-05-01T08:00:00", list(made_rows(100, 1)))
        add_result(tmp_path, "a", "bad", "2024-05-02T08:00:00", list(made_rows(100, 2)))
        (damaged,) = tmp_path.glob("camera=a/date=2024-05-02/*")
        garble(damaged)
        with pytest.raises(BatchError, match=rf"{re.escape(str(damaged))} is damaged; remove it and run"):
            summarise(tmp_path)


    @pytest.mark.parametrize("locked", ["camera=hall/date=2024-05-01", "camera=hall/date=2024-05-01/*"])
    def test_what_may_not_be_read_is_said_and_not_left_out(self, out, tmp_path, locked):
        shutil.copytree(out, tmp_path / "out")
        (path,) = (tmp_path / "out").glob(locked)
        path.chmod(0)
        run = subprocess.run(
            [*UNPRIVILEGED, sys.executable, "-m", "crowdcount", "report", tmp_path / "out", "-o", "r.csv"],
            capture_output=True, text=True, cwd=tmp_path, timeout=60,
        )  # fmt: skip
        path.chmod(0o700)
        assert (run.returncode, (tmp_path / "r.csv").exists()) == (1, False)
        why = "permission denied; check its name and permissions"
        assert run.stderr == f"crowdcount: cannot read {path}: {why}\n"


def times_drawn(page):
    """Times and dates in the first chart of a page, as they are drawn."""
    text = page.read_text(encoding="utf-8")
    drawing = b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]*)", text)[1]).decode()
    return re.findall(r">(\d+:\d\d:\d\d|\d{4}-\d\d-\d\d)</", drawing)


class TestFiles:
    def test_a_table_for_people(self, out):
        head, *lines = text_table(summarise(out, "day")).splitlines()
        assert head.split() == ["camera", "start", "frames", "mean", "max", "time_of_max", "flagged"]
        assert len(lines) == 6
        assert re.search(r"^void +2024-05-03 00:00:00 +1 +100\.0%$", lines[-1])
        assert re.search(r"^hall/old-tape-[0-9-]+ +0:00:00 +700 ", lines[-2])

    def test_a_table_has_a_line_for_each_name(self, tmp_path):
        """A file's name may hold a line break, and what terminals act on."""
        add_result(tmp_path, "a", "x\n\x1b[2Jy", None, [FrameCount(0, 0.0, 1.0, 0, 2)])
        table = text_table(summarise(tmp_path, "day"))
        assert "\x1b" not in table
        assert [line.split()[0] for line in table.splitlines()] == ["camera", "a/x"]

    def test_csv_holds_all(self, out, tmp_path):
        rows = summarise(out, "15min")
        write_report(rows, [tmp_path / "a.csv"], "15min")
        with (tmp_path / "a.csv").open(newline="") as file:
            found = list(csv.DictReader(file))
        assert [float(row["frames"]) for row in found] == [row.frames for row in rows]
        assert found[0]["camera"] == "gate & <b>"
        assert found[0]["start"] == "2024-05-01T08:45:00.000"  # all of one form, which pandas parses
        assert found[-1]["mean"] == ""

    def test_csv_holds_seconds_in_full(self, tmp_path):
        """Of a camera that nobody dated, after eleven hours and after sixteen days."""
        rows = [FrameCount(0, 43210.987654, 1.0, 0, 2), FrameCount(1, 1400400.04, 1.0, 0, 2)]
        add_result(tmp_path, "a", "x", None, rows)
        write_report(summarise(tmp_path, "hour"), [tmp_path / "a.csv"], "hour")
        with (tmp_path / "a.csv").open(newline="") as file:
            found = [(row["start"], row["time_of_max"]) for row in csv.DictReader(file)]
        assert found == [("43200", "43210.987654"), ("1400400", "1400400.04")]

    def test_the_time_of_the_maximum_is_in_its_interval(self, tmp_path):
        """Half a second before midnight it was told as of the next day."""
        last = [FrameCount(0, 0.0, 1.0, 0, 2), FrameCount(1, 3599.9, 2.0, 0, 3)]
        add_result(tmp_path, "a", "x", "2024-05-01T23:00:00", last)
        add_result(tmp_path, "a", "tape", None, last)
        rows = summarise(tmp_path, "hour")
        write_report(rows, [tmp_path / "a.html"], "hour")
        page = (tmp_path / "a.html").read_text()
        for told in ("2024-05-01 23:59:59", "0:59:59"):
            assert told in text_table(rows)
            assert f">{told}<" in page

    def test_chart_shows_each_time_line(self, out, tmp_path):
        write_report(summarise(out, "hour"), [tmp_path / "a.png"], "hour")
        image = cv2.imread(str(tmp_path / "a.png"))
        assert image.shape[1] == 1500
        blue = (np.abs(image.astype(int) - (0x96, 0x5C, 0x1D)).max(axis=2) < 30).any(axis=1)
        strips = np.array_split(blue, 4)
        assert [strip.any() for strip in strips] == [True, True, True, False]  # nothing in the void
        assert (cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_UNCHANGED)[..., 3:] == 255).all()

    def test_a_time_without_date_begins_at_0(self, tmp_path):
        add_result(tmp_path, "a", "tape", None, list(made_rows(40, 1)))
        write_report(summarise(tmp_path, "hour"), [tmp_path / "a.html"], "hour")
        assert times_drawn(tmp_path / "a.html") == ["0:00:00"]

    def test_a_chart_tells_the_date_of_its_first_time_too(self, tmp_path):
        """It was told of the last one alone, wherever a chart spanned two days."""
        for day in ("2024-05-01T18:00", "2024-05-02T09:00"):
            add_result(tmp_path, "a", day[:10], day, list(made_rows(40, 1)))
        write_report(summarise(tmp_path, "hour"), [tmp_path / "a.html"], "hour")
        drawn = " ".join(times_drawn(tmp_path / "a.html"))
        assert drawn.startswith("18:00:00 2024-05-01 20:00:00 22:00:00 0:00:00 2024-05-02 2:00:00")
        write_report(summarise(tmp_path, "day"), [tmp_path / "a.html"], "day")
        assert times_drawn(tmp_path / "a.html") == ["2024-05-01", "2024-05-02"]

    def test_strips_are_named_whatever_the_name(self, out, tmp_path):
        rows = summarise(out, "day", cameras=["hall", "void"])
        for path, name in ((tmp_path / "a.png", "hall"), (tmp_path / "b.png", r"$\hall$")):
            write_report([replace(row, camera=name) for row in rows], [path], "day")
        assert (cv2.imread(str(tmp_path / "a.png")) != cv2.imread(str(tmp_path / "b.png"))).any()

    def test_strips_of_all_cameras_show_the_same_time(self, out, tmp_path):
        """The hall, seen at midnight only, is a point of the gate's day, not as wide as the page."""
        write_report(summarise(out, "hour", cameras=["gate & <b>", "hall"]), [tmp_path / "a.png"], "hour")
        image = cv2.imread(str(tmp_path / "a.png"))
        blue = np.abs(image.astype(int) - (0x96, 0x5C, 0x1D)).max(axis=2) < 30
        hall = np.flatnonzero(np.array_split(blue, 3)[1].any(axis=0))
        assert 0 < np.ptp(hall) < 0.1 * image.shape[1]

    def test_intervals_without_neighbours_are_drawn_however_many(self, tmp_path):
        """An hour of each day for two months: lines join neighbours, and there are none."""
        for day in range(60):
            start = (datetime(2024, 5, 1, 8) + timedelta(days=day)).isoformat()
            add_result(tmp_path, "a", f"x{day}", start, [FrameCount(0, 0.0, 5.0 * (day > 5), 0, 9)])
        write_report(summarise(tmp_path, "hour"), [tmp_path / "a.png"], "hour")
        image = cv2.imread(str(tmp_path / "a.png"))
        blue = (np.abs(image.astype(int) - (0x96, 0x5C, 0x1D)).max(axis=2) < 60).astype(np.uint8)
        _, _, boxes, _ = cv2.connectedComponentsWithStats(blue[40:])  # below the legend
        heights = boxes[1:, cv2.CC_STAT_HEIGHT]
        assert len(heights) == 60
        assert np.ptp(heights) <= 1  # those of nobody are whole, not cut by the axis

    def test_page_is_self_contained_and_escaped(self, out, tmp_path, html_reader):
        write_report(summarise(out, "hour"), [tmp_path / "a.html"], "hour")
        page = html_reader((tmp_path / "a.html").read_text(encoding="utf-8"))
        assert len(page.all("section")) == 5
        assert any("2024-05-01 08:00:00 to 2024-05-03 01:00:00." in text for text in page.texts)
        assert "gate & <b>" in page.texts
        assert not page.all("script") + page.all("link")
        sources = [image["src"] for image in page.all("img")]
        assert len(sources) == 4
        assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)

    def test_a_page_is_the_same_again(self, out, tmp_path):
        for name in ("a.html", "b.html"):
            write_report(summarise(out, "hour"), [tmp_path / name], "hour")
        assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()

    def test_no_file_is_written_where_a_page_of_somebody_else_would_go(self, out, tmp_path):
        (tmp_path / "own.html").write_text("<title>own</title>")
        with pytest.raises(OutputError, match=r"own\.html is there and is no page of crowdcount report"):
            write_report(summarise(out, "hour"), [tmp_path / "a.csv", tmp_path / "own.html"], "hour")
        assert [path.name for path in tmp_path.glob("*.*")] == ["own.html"]

    def test_a_page_tells_what_it_leaves_out(self, out, tmp_path, html_reader, monkeypatch):
        monkeypatch.setattr("crowdcount.batch.report._MOST_LINES", 1)
        monkeypatch.setattr("crowdcount.batch.report._MOST_ROWS", 2)
        write_report(summarise(out, "15min"), [tmp_path / "a.html"], "15min")
        page = html_reader((tmp_path / "a.html").read_text(encoding="utf-8"))
        assert "The first 2 of 112 intervals; the .csv has all." in page.texts
        assert "The first 1 of 4 in detail; name others with --camera." in page.texts
        assert len(page.all("img")) == 1

    def test_a_page_of_videos_that_nobody_dated(self, tmp_path, html_reader):
        add_result(tmp_path, "a", "x", None, list(made_rows(20, 1)))
        write_report(summarise(tmp_path, "hour"), [tmp_path / "a.html"], "hour")
        page = html_reader((tmp_path / "a.html").read_text(encoding="utf-8"))
        assert any("No video says when it began." in text for text in page.texts)

    def test_other_files_are_refused_before_the_work(self, out, tmp_path):
        with pytest.raises(OutputError, match=r"expected a name ending in \.csv or \.png or \.html"):
            write_report(summarise(out, "day"), [tmp_path / "a.csv", tmp_path / "a.xls"], "day")
        assert not list(tmp_path.iterdir())

    def test_command_prints_or_writes(self, out, tmp_path, capsys):
        report.main([str(out), "--interval", "day", "--camera", "hall"], standalone_mode=False)
        assert len(capsys.readouterr().out.splitlines()) == 4
        table, page = tmp_path / "a.csv", tmp_path / "b.html"
        report.main([str(out), "-o", str(table), "-o", str(page)], standalone_mode=False)
        assert capsys.readouterr().out == f"written: {table}\nwritten: {page}\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.html"]

    @pytest.mark.parametrize(("camera", "n"), [("hall", 1), ("void", 0), (None, 1)])
    def test_command_tells_how_many_videos_a_time_leaves_out(self, out, capsys, camera, n):
        chosen = [] if camera is None else ["--camera", camera]
        report.main([str(out), *chosen, "--since", "2024-05-01"], standalone_mode=False)
        assert capsys.readouterr().err.count("1 video of unknown start time left out") == n
        report.main([str(out), *chosen], standalone_mode=False)
        assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="the command is written for a POSIX shell")
def test_the_command_for_one_file_of_all_counts_works_as_it_is_printed(out, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "batch.md").read_text(encoding="utf-8")
    python, *arguments = shlex.split(re.search(r"^    (python -c .*duckdb.*)$", text, re.MULTILINE)[1])
    assert python == "python"
    shutil.copytree(out, tmp_path / "counts")
    add_result(tmp_path / "counts", "hall", "film", None, list(made_rows(700, 5)))
    subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True)
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 700 + sum(row.frames for row in summarise(out))
    assert list(rows[0]) == ["camera", "video", "time", "frame", "time_s", "count", "low", "high", "flags"]
    dated = [(row["camera"], row["time"]) for row in rows if row["time"]]
    assert dated == sorted(dated)
    assert all(re.fullmatch(r"2024-05-0\dT\d\d:\d\d:\d\d\.\d{3}", time) for _, time in dated)  # as in `count`
    undated = [(row["video"], int(row["frame"])) for row in rows if not row["time"]]
    assert undated == [
        (f"{stem}-{'0' * 16}-{'0' * 8}", k) for stem in ("film", "old-tape") for k in range(700)
    ]


def test_the_question_about_scenes_works_as_it_is_printed(out, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    text = (Path(__file__).parents[2] / "docs" / "batch.md").read_text(encoding="utf-8")
    question = re.search(r"^    SELECT camera, avg.*?(?=\n\n)", text, re.MULTILINE | re.DOTALL)[0]
    shutil.copytree(out, tmp_path / "counts")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as database:
        assert database.execute(question).fetchall() == []  # all person heights were known


def test_listing_finds_results_only(out):
    (out / "camera=hall" / "notes.txt").write_text("")
    assert len(list(results(out))) == 5
