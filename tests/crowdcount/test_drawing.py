import math
import re
import resource
from datetime import datetime

import cv2
import matplotlib as mpl
import numpy as np
import pytest

from crowdcount.drawing import OverlayWriter, draw_overlay, plot_counts
from crowdcount.errors import OutputError
from crowdcount.results import FrameCount

SIZE_WH = (160, 120)
ROI = np.zeros((120, 160), bool)
ROI[50:110, 60:150] = True
WHOLE = np.ones((120, 160), bool)


def rows(n, *, count=5.0, flags=()):
    return [FrameCount(k, k / 25, count, count - 1, count + 1, flags) for k in range(n)]


def unknown(row):
    return FrameCount(row.frame, row.time_s, math.nan, math.nan, math.nan, ("undecodable",))


def only(folder):
    return sorted(path.name for path in folder.iterdir())


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

    def test_texts(self, tmp_path):
        results = rows(5000)
        results[2000] = FrameCount(2000, 80.0, 20.0, 8.0, 30.0, ("camera_moved",))
        results[2500] = FrameCount(2500, 100.0, 9.0, 8.0, 10.0, ("outside_training_range",))
        found = texts(tmp_path / "a.svg", results, title="a $b$ c.mp4")
        assert "a $b$ c.mp4" in found
        assert "mean 5.0, peak 9.0 at 0:01:40, 5,000 frames" in found
        assert {"0:00:00", "0:00:30", "0:03:00", "camera_moved", "interval", "mean of 5 frames"} <= set(found)

    def test_wall_clock(self, tmp_path):
        start = datetime(2024, 2, 29, 23, 59, 50)
        found = texts(tmp_path / "a.svg", rows(500), start_time=start)
        joined = " ".join(found)
        assert "23:59:50" in joined
        assert "0:00:00" in joined
        assert "2024-02-29" in joined
        assert "2024-03-01" in joined
        assert "at 23:59:50" in joined

    @pytest.mark.parametrize("results", [[], rows(1), [unknown(rows(1)[0])], list(map(unknown, rows(3000)))])
    def test_few_or_no_counts(self, tmp_path, results):
        found = texts(tmp_path / "a.svg", results)
        known = any(math.isfinite(row.count) for row in results)
        assert ("no frame could be counted" in found) != known

    def test_what_cannot_be_written(self, tmp_path):
        (tmp_path / "folder.png").mkdir()
        for path, said in [(tmp_path / "a.xyz", r"ending in \.png or \.svg or \.pdf; rename it"),
                           (tmp_path / "absent" / "a.png", "does not exist; create it"),
                           (tmp_path / "folder.png", "is a folder")]:
            with pytest.raises(OutputError, match=rf"^cannot write [^\n]*{said}[^\n]*$"):
                plot_counts(rows(3), path, "clip")
        assert only(tmp_path) == ["folder.png"]


class TestDrawOverlay:
    def test_foreground_is_tinted_at_any_resolution(self):
        frame = np.full((120, 160, 3), 100, np.uint8)
        foreground = np.zeros((60, 80), bool)
        foreground[40:50, 60:70] = True
        picture = draw_overlay(frame, WHOLE, foreground, rows(1)[0])
        assert picture[90, 130, 2] > picture[90, 130, 0] + 50
        np.testing.assert_array_equal(picture[110, 20], (100, 100, 100))
        assert (frame == 100).all()

    def test_region_is_outlined_and_the_rest_dimmed(self):
        picture = draw_overlay(np.full((120, 160, 3), 100, np.uint8), ROI, None, rows(1)[0]).astype(int)
        assert (picture[115, 80] < 70).all()
        np.testing.assert_array_equal(picture[80, 120], (100, 100, 100))
        assert picture[109, 100, 2] > 180 > 130 > picture[109, 100, 0]

    def test_the_panel_tells_count_time_and_flags(self):
        frame = np.full((480, 640, 3), 100, np.uint8)
        one, other = FrameCount(7, 1.0, 3.0, 2.0, 4.0), FrameCount(7, 1.0, 8.0, 2.0, 4.0)
        flagged = FrameCount(7, 1.0, 3.0, 2.0, 4.0, ("light_change",))
        whole = np.ones((480, 640), bool)
        pictures = [draw_overlay(frame, whole, None, row) for row in (one, other, flagged, unknown(one))]
        for k, picture in enumerate(pictures):
            assert (picture[:60, :100] > 240).all(axis=2).any()  # white digits
            assert all((picture != earlier).any() for earlier in pictures[:k])


def write_and_stop(overlay):
    overlay.write(np.zeros((120, 160, 3), np.uint8), WHOLE, None, rows(1)[0])
    raise KeyboardInterrupt


class TestOverlayWriter:
    def write(self, path, frames):
        with OverlayWriter(path, SIZE_WH, 12.5) as overlay:
            for row, frame in zip(rows(len(frames)), frames, strict=True):
                overlay.write(frame, WHOLE, None, row)

    def frames(self, path):
        video = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
        assert video.isOpened()
        assert video.get(cv2.CAP_PROP_FPS) == pytest.approx(12.5)
        frames = []
        while (read := video.read())[0]:
            frames.append(read[1])
        video.release()
        return frames

    @pytest.mark.parametrize("name", ["a.mp4", "a.avi", "A.MP4"])
    def test_every_frame_is_in_the_video(self, tmp_path, name):
        self.write(tmp_path / name, [np.full((120, 160, 3), 20 * k, np.uint8) for k in range(12)])
        frames = self.frames(tmp_path / name)
        assert [round(frame[110, 150].mean() / 20) for frame in frames] == list(range(12))
        assert frames[0].shape == (120, 160, 3)
        assert only(tmp_path) == [name]

    def test_undecodable_frames_show_the_one_before(self, tmp_path):
        with OverlayWriter(tmp_path / "a.avi", SIZE_WH, 12.5) as overlay:
            for row, frame in zip(rows(3), (None, np.full((120, 160, 3), 200, np.uint8), None), strict=True):
                overlay.write(frame, WHOLE, None, unknown(row) if frame is None else row)
        frames = self.frames(tmp_path / "a.avi")
        assert [round(frame[110, 150].mean(), -1) for frame in frames] == [0, 200, 200]

    def test_interrupted_keeps_a_playable_partial_video(self, tmp_path):
        (tmp_path / "a.mp4").write_text("of yesterday")
        overlay = OverlayWriter(tmp_path / "a.mp4", SIZE_WH, 12.5)
        with pytest.raises(KeyboardInterrupt), overlay:
            write_and_stop(overlay)
        assert (tmp_path / "a.mp4").read_text() == "of yesterday"
        assert overlay.partial_path == tmp_path / "a.partial.mp4"
        assert len(self.frames(overlay.partial_path)) == 1

    def test_nothing_is_left_when_no_frame_was_written(self, tmp_path):
        with pytest.raises(RuntimeError), OverlayWriter(tmp_path / "a.mp4", SIZE_WH, 12.5):
            raise RuntimeError
        assert only(tmp_path) == []

    def test_no_frames_are_no_video(self, tmp_path):
        with pytest.raises(OutputError, match=r"^cannot write [^\n]*there is no frame to show"):
            self.write(tmp_path / "a.mp4", [])
        assert only(tmp_path) == []

    @pytest.mark.parametrize("name", ["a.mp4", "a.avi"])
    def test_full_disk(self, tmp_path, name, capfd):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, before[1]))
        noise = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
        try:
            with pytest.raises(OutputError, match=r"^cannot write [^\n]*: file too large; choose"):
                self.write(tmp_path / name, [np.roll(noise, k, axis=0) for k in range(60)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not (tmp_path / name).exists()

    def test_what_cannot_be_begun(self, tmp_path, capfd):
        for path, size_wh, said in [(tmp_path / "a.mkv", SIZE_WH, r"a name ending in \.mp4 or \.avi"),
                                    (tmp_path / "a\udcff.mp4", SIZE_WH, "not valid UTF-8; choose another"),
                                    (tmp_path / "absent" / "a.mp4", SIZE_WH, "does not exist; create it"),
                                    (tmp_path / "a.mp4", (9000, 9000), "encodes no mp4v of 9000x9000")]:
            with (pytest.raises(OutputError, match=rf"^cannot write [^\n]*{said}[^\n]*$"),
                  OverlayWriter(path, size_wh, 25.0)):
                pytest.fail("the body ran")
        assert only(tmp_path) == []

    def test_a_frame_of_another_size_is_a_bug(self, tmp_path):
        with (pytest.raises(ValueError, match=r"expected frames of \(160, 120\), found \(80, 60\)"),
              OverlayWriter(tmp_path / "a.mp4", SIZE_WH, 25.0) as overlay):
            overlay.write(np.zeros((60, 80, 3), np.uint8), np.ones((60, 80), bool), None, rows(1)[0])
