import math
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree

import cv2
import matplotlib as mpl
import numpy as np
import pytest

from crowdcount import plots
from crowdcount.errors import OutputError
from crowdcount.learning.compression import CompressedSize, Compression
from crowdcount.plots import DrawnCounts, plot_alarm, plot_compression, plot_counts
from crowdcount.profile import Profile
from crowdcount.results import CountSummary, FrameCount
from models.validation import CountMetrics
from tests.crowdcount.helpers import only, unknown

PROJECT = Path(__file__).resolve().parents[2]


def rows(n, *, count=5.0, flags=()):
    return [FrameCount(k, k / 25, count, count - 1, count + 1, flags) for k in range(n)]


def plotted(path, results, **options):
    """The picture (H, W, 3), and where it is blue (count, interval) and amber (flags)."""
    plot_counts(results, path, "clip", **options)
    picture = cv2.imread(str(path)).astype(int)
    blue, green, red = np.moveaxis(picture, 2, 0)
    return picture, blue > red + 25, (red > blue + 100) & (green > blue + 50)


def texts(path, results, **options):
    with mpl.rc_context({"svg.fonttype": "none"}):
        plot_counts(results, path, options.pop("title", "clip"), **options)
    return re.findall(r"<text[^>]*>(?:\s*<tspan[^>]*>)?([^<]+)<", path.read_text())


class TestPlot:
    @pytest.mark.parametrize(("n", "start", "apart"), [(100, None, False), (24_000, 2, True)])
    def test_the_summary_never_runs_into_the_legend(self, tmp_path, monkeypatch, n, start, apart):
        figures = []
        monkeypatch.setattr(plots, "_save", lambda figure, path, title: figures.append(figure))
        zoned = start and datetime(2024, 5, 1, 8, tzinfo=timezone(timedelta(hours=start)))
        plot_counts([replace(row, right=2.0, left=1.0) for row in rows(n)], tmp_path / "a.png", "clip", zoned)
        figures[0].draw_without_rendering()
        axes = figures[0].axes[0]
        legend = axes.get_legend().get_window_extent()
        summary = axes._left_title.get_window_extent()
        assert not summary.overlaps(legend)
        assert (summary.y0 > legend.y1) == apart

    def test_line_and_interval_over_the_whole_width(self, tmp_path):
        _, blue, amber = plotted(tmp_path / "a.png", rows(1000))
        columns = np.flatnonzero(blue[100:].any(axis=0))
        assert columns[-1] - columns[0] > 0.9 * blue.shape[1]
        assert len(columns) == columns[-1] - columns[0] + 1
        assert not amber.any()
        assert only(tmp_path) == ["a.png"]

    def test_frames_without_a_count_leave_a_gap_and_a_mark(self, tmp_path):
        results = rows(1000)
        results[400:600] = map(unknown, results[400:600])
        _, blue, amber = plotted(tmp_path / "a.png", results)
        drawn = blue[100:].any(axis=0)
        marked = np.flatnonzero(amber.any(axis=0))
        assert not drawn[marked[2]:marked[-3]].any()
        columns = np.flatnonzero(drawn)
        assert (marked[-1] - marked[0]) / (columns[-1] - columns[0]) == pytest.approx(0.2, abs=0.01)

    def test_frames_between_such_without_a_count_are_seen(self, tmp_path):
        results = [row if k % 2 else unknown(row) for k, row in enumerate(rows(200))]
        picture, blue, _ = plotted(tmp_path / "a.png", results)
        dark = blue & (picture[..., 2] < 100)
        starts = np.diff(dark[100:].any(axis=0).astype(int)) == 1
        assert starts.sum() == 100
        assert (blue & ~dark)[100:].any(axis=0).sum() > 200  # the intervals

    @pytest.mark.parametrize("n", [500, 50_000])
    def test_a_pause_of_the_recorder_leaves_a_gap(self, tmp_path, n):
        """As a night between two days; what was flagged before it ends with it."""
        results = rows(n)
        half, pause_s = n // 2, n / 25
        results[half:] = [FrameCount(k, k / 25 + pause_s, 5.0, 4.0, 6.0) for k in range(half, n)]
        results[half - 1] = FrameCount(half - 1, (half - 1) / 25, 5.0, 4.0, 6.0, ("camera_moved",))
        _, blue, amber = plotted(tmp_path / "a.png", results)
        columns = np.flatnonzero(blue[100:600].any(axis=0))
        assert np.diff(columns).max() / np.ptp(columns) == pytest.approx(0.5, abs=0.01)
        assert np.ptp(np.flatnonzero(amber.any(axis=0))) < 10
        assert f"mean 5.0, peak 5.0 at 0:00:00.0, {n:,} frames" in texts(tmp_path / "a.svg", results)

    def test_frames_left_out_here_and_there_are_no_pause(self, tmp_path):
        results = [row for k, row in enumerate(rows(2000)) if k % 97]
        _, blue, _ = plotted(tmp_path / "a.png", results)
        assert np.diff(np.flatnonzero(blue[100:].any(axis=0))).max() == 1

    def test_the_interval_of_a_single_frame(self, tmp_path):
        _, blue, _ = plotted(tmp_path / "a.png", rows(1))
        assert blue[100:].any(axis=1).sum() > 50
        assert "mean 5.0, peak 5.0 at 0:00:00.0, 1 frame" in texts(tmp_path / "a.svg", rows(1))

    def test_no_interval_where_none_is_known(self, tmp_path):
        results = [FrameCount(k, k / 25, 5.0, 0.0, math.inf) for k in range(100)]
        found = texts(tmp_path / "a.svg", results)
        assert "count" in found
        assert "interval" not in found

    @pytest.mark.parametrize("flagged", [{3}, {50_000}, set(range(0, 100_000, 2))])
    def test_long_footage_keeps_single_peaks_and_single_flags(self, tmp_path, flagged):
        results = rows(100_000)
        for k in flagged:
            results[k] = FrameCount(k, k / 25, 20.0, 4.0, 6.0, ("light_change",))
        _, blue, amber = plotted(tmp_path / "a.png", results)
        columns = np.flatnonzero(amber.any(axis=0))
        assert len(columns) >= 2
        assert (len(columns) > 1000) == (len(flagged) > 1)
        highest = np.flatnonzero(blue[100:].any(axis=1))[0]
        plain = np.flatnonzero(plotted(tmp_path / "b.png", rows(2500))[1][100:].any(axis=1))[0]
        assert highest == pytest.approx(plain, abs=40)  # the axis follows the highest value

    def test_of_a_long_run_few_rows_are_held(self, tmp_path, monkeypatch):
        """All were: 1.3 GB for a day. Single peaks and flags are drawn as those of a short one."""
        monkeypatch.setattr(plots, "_MOST_HELD", 64)
        rows = [FrameCount(k, k / 25, k % 2, 0, math.inf, (), k % 4 / 4, 1.0) for k in range(1001)]
        rows[500] = replace(rows[500], count=20.0, flags=("light_change", "noisy"))
        rows[501] = replace(unknown(rows[501]), right=math.nan, left=math.nan)
        drawn = DrawnCounts()
        for k, row in enumerate(rows):
            profile = Profile(np.array([k, 1.0]), np.arange(3), 9.0) if k > 7 else None
            drawn.add(row, profile)
        results, profiles = zip(*drawn.held(), strict=True)
        assert (drawn.together, len(results)) == (16, 63)
        assert [row.time_s for row in results] == [k / 25 for k in range(0, 1001, 16)]
        first, last = results[0], results[-1]
        assert (first.count, first.low, first.right, first.left) == (0.5, 0, 0.375, 1)
        assert (first.least, first.most, math.isnan(first.high)) == (0, 1, True)
        assert last.right == pytest.approx(1 / 3)  # of nine frames
        np.testing.assert_allclose(profiles[0].density, [11.5, 1])
        peak = results[500 // 16]
        assert (peak.most, set(peak.flags)) == (20, {"light_change", "noisy", "undecodable"})

        summary = CountSummary(start_time=datetime(2024, 5, 1, 8))
        for row in rows:
            summary.add(row)
        options = {"summary": summary, "together": drawn.together, "profiles": profiles}
        found = texts(tmp_path / "a.svg", results, **options)
        assert {"range of 16 frames", "mean of 16 frames", "right", "20"} <= set(found)
        assert "mean 0.5, peak 1.0 at 2024-05-01 08:00:00, 1,001 frames" in found

    def test_texts(self, tmp_path):
        results = rows(5000)
        results[2000] = FrameCount(2000, 80.0, 20.0, 8.0, 30.0, ("camera_moved",))
        results[2500] = FrameCount(2500, 100.0, 9.0, 8.0, 10.0, ("outside_training_range",))
        found = texts(tmp_path / "a.svg", results, title="a $b$ c.mp4")
        assert "a $b$ c.mp4" in found
        assert "mean 5.0, peak 9.0 at 0:01:40.0, 5,000 frames" in found
        results[:1000] = [FrameCount(k, k / 25, 90.0, 80.0, 99.0, ("camera_moved",)) for k in range(1000)]
        found_of_few = texts(tmp_path / "b.svg", results)
        assert "mean 5.0, peak 9.0 at 0:01:40.0, 3,999 reliable of 5,000 frames" in found_of_few
        assert {"0:00:00", "0:00:30", "0:03:00", "camera_moved", "interval", "mean of 5 frames"} <= set(found)

    def test_wall_clock(self, tmp_path):
        start = datetime(2024, 2, 29, 23, 59, 50)
        found = texts(tmp_path / "a.svg", rows(500), start_time=start)
        joined = " ".join(found)
        assert "23:59:50" in joined
        assert "0:00:00" in joined
        assert "2024-02-29" in joined
        assert "2024-03-01" in joined
        assert "at 2024-02-29 23:59:50, 500 frames" in joined

    def test_the_peak_of_days(self, tmp_path):
        results = [FrameCount(k, k * 3600.0, k % 27, 0.0, 30.0) for k in range(48)]
        assert "peak 26.0 at 26:00:00.0" in " ".join(texts(tmp_path / "a.svg", results))
        begin = datetime(2024, 2, 27, 21, 59, 59, 900_000)  # rounded within the day, it was "24:00:00"
        found = " ".join(texts(tmp_path / "b.svg", results, start_time=begin))
        assert "peak 26.0 at 2024-02-29 00:00:00" in found

    @pytest.mark.parametrize("results", [[], rows(1), [unknown(rows(1)[0])], list(map(unknown, rows(3000)))])
    def test_few_or_no_counts(self, tmp_path, results):
        found = texts(tmp_path / "a.svg", results)
        known = any(math.isfinite(row.count) for row in results)
        assert ("no frame could be counted" in found) != known

    @pytest.mark.parametrize("letters", ["i", "W", "\u884c", "many words "])
    def test_both_ends_of_a_long_title_are_drawn_within_the_picture(self, tmp_path, letters):
        title = f"begin {letters * 200} end"
        shown = next(text for text in texts(tmp_path / "a.svg", rows(5), title=title) if "begin" in text)
        assert re.fullmatch("begin.*….* end", shown)
        plot_counts(rows(5), tmp_path / "a.png", title)
        heading = cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_GRAYSCALE)[:40]
        dark = np.flatnonzero((heading < 128).any(axis=0))
        assert 0.85 * heading.shape[1] < dark[-1] < heading.shape[1] - 5

    def test_where_no_fonts_can_be_kept_nothing_is_said(self, tmp_path):
        code = "from crowdcount.plots import plot_counts; plot_counts([], 'a.png', 'clip')"
        environment = os.environ | {"PYTHONPATH": str(PROJECT), "MPLCONFIGDIR": "/dev/null/none"}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_titles_are_names_of_files(self, tmp_path):
        one = [FrameCount(0, 0.0, 1.0, 0.0, 2.0)]
        for title in ("\u884c\u4eba.mp4", "a--b -->\x1b\n<&.mp4"):  # letters that no font here has
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                plot_counts(one, tmp_path / "a.svg", title)
            ElementTree.parse(tmp_path / "a.svg")

    def test_what_cannot_be_written(self, tmp_path):
        (tmp_path / "folder.png").mkdir()
        for path, said in [(tmp_path / "a.xyz", r"ending in \.png or \.svg or \.pdf; rename it"),
                           (tmp_path / "absent" / "a.png", "does not exist; create it"),
                           (tmp_path / "folder.png", "is a folder")]:
            with pytest.raises(OutputError, match=rf"^cannot write [^\n]*{said}[^\n]*$"):
                plot_counts(rows(3), path, "clip")
        assert only(tmp_path) == ["folder.png"]


def alarm_columns(path, values, raised=()):
    """Where the picture is blue (values), amber (alarm) and has a grey bar (frames not judged), (W,) each."""
    plot_alarm(values, raised, 0.25, path, "clip", None)
    picture = cv2.imread(str(path))
    blue, green, red = np.moveaxis(picture.astype(int), 2, 0)
    grey = cv2.erode(cv2.inRange(picture, (122,) * 3, (122,) * 3), np.ones((6, 3)))  # no letters, no lines
    amber = (red > blue + 20) & (red > green)
    return tuple(part.any(axis=0) for part in (blue > red + 100, amber, grey))


class TestPlotAlarm:
    def test_values_between_frames_that_are_not_judged_are_seen(self, tmp_path):
        values = [(k / 25, math.nan if k % 2 else 0.5) for k in range(200)]
        blue, _, grey = alarm_columns(tmp_path / "a.png", values)
        assert [(np.diff(part.astype(int)) == 1).sum() for part in (blue, grey)] == [100, 100]

    @pytest.mark.parametrize("n", [500, 50_000])
    def test_a_pause_leaves_a_gap_and_frames_that_are_not_judged_a_mark(self, tmp_path, n):
        values = [(k / 25 + n / 25 * (k >= n // 2), math.nan if k < n // 5 else 0.5) for k in range(n)]
        blue, amber, grey = alarm_columns(tmp_path / "a.png", values)
        assert not (blue | amber)[grey].any()
        width = np.ptp(np.flatnonzero(blue | grey))
        assert np.diff(np.flatnonzero(blue)).max() / width == pytest.approx(0.5, abs=0.01)
        assert grey.sum() / width == pytest.approx(0.1, abs=0.01)

    def test_an_alarm_at_the_last_frame_and_a_single_frame_are_seen(self, tmp_path):
        for n, least in ((1, 1000), (2000, 2)):
            values = [(k / 25, 0.5) for k in range(n)]
            blue, amber, grey = alarm_columns(tmp_path / "a.png", values, [(values[-1][0], math.inf)])
            assert blue.any()
            assert amber.sum() >= least
            assert not grey.any()

    @pytest.mark.parametrize(
        ("values", "is_drawn"),
        [([], [False, False]), ([(0.0, math.nan)], [False, True]), ([(1.0, 0.5)] * 3, [True, False])],
    )
    def test_few_or_no_values(self, tmp_path, values, is_drawn):
        blue, amber, grey = alarm_columns(tmp_path / "a.png", values)
        assert [blue.any(), grey.any()] == is_drawn
        assert not amber.any()


class TestPlotCompression:
    def test_no_line_of_the_grid_runs_through_the_legend(self, tmp_path):
        def size(prototypes, selected):
            errors = CountMetrics(n=800, mae=1.9, mse=5.5, rmse=2.3, mre=0.07, bias=0.2)
            by = dict.fromkeys(("k-medians", "spanning", "random"), selected)
            return CompressedSize(prototypes=prototypes, metrics=errors, kibibytes=100.0, milliseconds=1.0,
                                  difference=0.1, selected=by)

        sizes = tuple(size(20 - k, 2.3 + k / 4) for k in range(20))
        plot_compression(Compression(None, size(800, 1.9), sizes, sizes[-1], 1.0), tmp_path / "c.png", "clip")
        picture = cv2.imread(str(tmp_path / "c.png"), cv2.IMREAD_GRAYSCALE)
        height, width = picture.shape
        legend = picture[height // 10 : height // 3, int(0.8 * width) : int(0.97 * width)]
        assert (legend < 150).any()
        assert not (legend < 250).all(axis=1).any()
