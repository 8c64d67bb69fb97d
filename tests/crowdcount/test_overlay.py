import math
import resource
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np
import pytest

from crowdcount.errors import OutputError
from crowdcount.overlay import OverlayWriter, draw_overlay
from crowdcount.profile import Profile
from crowdcount.results import FrameCount
from tests.crowdcount.helpers import only, unknown

SIZE_WH = (160, 120)
ROI = np.zeros((120, 160), bool)
ROI[50:110, 60:150] = True
WHOLE = np.ones((120, 160), bool)


def rows(n):
    return [FrameCount(k, k / 25, 5.0, 4.0, 6.0) for k in range(n)]


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

    def test_no_interval_is_told_where_none_is_known(self):
        frame, whole = np.full((480, 640, 3), 100, np.uint8), np.ones((480, 640), bool)
        pictures = [draw_overlay(frame, whole, None, FrameCount(7, 1.0, 3.0, 0.0, high))
                    for high in (math.inf, math.nan, 4.0)]
        np.testing.assert_array_equal(pictures[0], pictures[1])
        assert (pictures[0] != pictures[2]).any()

    def test_the_time_by_the_clock_is_told_where_it_is_known(self):
        frame, whole = np.full((480, 640, 3), 100, np.uint8), np.ones((480, 640), bool)
        begins = (None, datetime(2024, 5, 1, 8), datetime(2024, 5, 1, 9))
        pictures = [draw_overlay(frame, whole, None, rows(1)[0], start_time=begin) for begin in begins]
        assert (pictures[0] != pictures[1]).any()
        assert (pictures[1] != pictures[2]).any()

    @pytest.mark.parametrize("shape", [(2, 3), (2000, 8), (8, 2000)])
    def test_what_does_not_fit_into_a_tiny_frame_is_left_out(self, shape):
        frame, whole = np.full((*shape, 3), 100, np.uint8), np.ones(shape, bool)
        profile = Profile(np.ones(16), np.linspace(0, shape[0], 17), 2.0)
        assert draw_overlay(frame, whole, whole, rows(1)[0], profile).shape == frame.shape


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

    def test_a_name_that_ffmpeg_takes_for_a_protocol(self, tmp_path, monkeypatch):
        """It wrote over y.partial.mp4 instead, and left an empty file."""
        monkeypatch.chdir(tmp_path)
        Path("y.partial.mp4").write_text("precious")
        for name in ("08:00.mp4", "file:y.mp4"):
            self.write(name, [np.full((120, 160, 3), 20 * k, np.uint8) for k in range(3)])
            assert len(self.frames(tmp_path / name)) == 3
        assert only(tmp_path) == ["08:00.mp4", "file:y.mp4", "y.partial.mp4"]
        assert Path("y.partial.mp4").read_text() == "precious"

    def test_pictures_now_and_then_are_a_video_that_players_show(self, tmp_path):
        with OverlayWriter(tmp_path / "a.mp4", SIZE_WH, 1 / 600) as overlay:
            overlay.write(np.zeros((120, 160, 3), np.uint8), WHOLE, None, rows(1)[0])
        video = cv2.VideoCapture(str(tmp_path / "a.mp4"), cv2.CAP_FFMPEG)
        assert video.get(cv2.CAP_PROP_FPS) == pytest.approx(1)

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
        kept = {"a.mp4": [], "a.avi": ["a.partial.avi"]}[name]  # MP4 without its end no player opens
        assert only(tmp_path) == kept
        for part in kept:
            assert len(self.frames(tmp_path / part)) > 0

    def test_what_cannot_be_begun(self, tmp_path, capfd):
        for path, size_wh, said in [(tmp_path / "a.mkv", SIZE_WH, r"a name ending in \.mp4 or \.avi"),
                                    (tmp_path / "a\udcff.mp4", SIZE_WH, "not valid UTF-8; choose another"),
                                    (tmp_path / "absent" / "a.mp4", SIZE_WH, "does not exist; create it"),
                                    (tmp_path / "a.mp4", (9000, 9000), "encodes no mp4v of 9000x9000")]:
            with (pytest.raises(OutputError, match=rf"^cannot write [^\n]*{said}[^\n]*$") as raised,
                  OverlayWriter(path, size_wh, 25.0)):
                pytest.fail("the body ran")
            assert not getattr(raised.value, "__notes__", [])
        assert only(tmp_path) == []

    def test_a_disk_that_is_full_from_the_beginning(self, tmp_path, capfd):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            with pytest.raises(OutputError, match=r"^cannot write [^\n]*: file too large; choose") as raised:
                self.write(tmp_path / "a.mp4", [np.zeros((120, 160, 3), np.uint8)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not getattr(raised.value, "__notes__", [])
        assert only(tmp_path) == []

    def test_a_frame_of_another_size_is_a_bug(self, tmp_path):
        with (pytest.raises(ValueError, match=r"expected frames of \(160, 120\), found \(80, 60\)"),
              OverlayWriter(tmp_path / "a.mp4", SIZE_WH, 25.0) as overlay):
            overlay.write(np.zeros((60, 80, 3), np.uint8), np.ones((60, 80), bool), None, rows(1)[0])


def test_the_region_is_drawn_where_a_moved_camera_shows_it(street, trained, run, tmp_path):
    """At the full frame's scale, and in frames that cannot be decoded as in the one before."""
    corners = [(40, 60), (205, 60), (225, 165), (20, 165)]
    moved = np.vstack([cv2.getRotationMatrix2D((120, 90), 3.0, 1.04), (0, 0, 1)])
    moved[:2, 2] += (3, -12)
    places = [np.eye(3)] * 30 + [moved] * 30
    folder = tmp_path / "images"
    folder.mkdir()
    for k, (path, place) in enumerate(zip(sorted(street.frames.iterdir()), places, strict=True)):
        shown = cv2.warpPerspective(cv2.imread(str(path)), place, (240, 180), borderMode=cv2.BORDER_REFLECT)
        cv2.imwrite(str(folder / f"{k:04}.png"), shown)
    (folder / "0055.png").write_bytes(b"damaged")
    region = " ".join(f"{x},{y}" for x, y in corners)
    scene, overlay, model = (tmp_path / name for name in ("s.json", "o.avi", "m.npz"))
    trained.model.save(model)
    assert run(f"scene {folder} --roi '{region}' --person 120,60,25 --person 120,170,52.5 -o {scene}")[0] == 0
    assert run(f"{folder} --scene {scene} --overlay {overlay} -m {model} -o {tmp_path / 'c.csv'}")[0] == 0
    video = cv2.VideoCapture(str(overlay), cv2.CAP_FFMPEG)
    pictures = [video.read()[1].astype(int) for _ in places]
    video.release()
    for k in (20, 50, 55):
        outline = cv2.perspectiveTransform(np.float64([corners]), places[k])[0].astype(np.float32)
        rows, columns = np.nonzero(np.abs(pictures[k] - (90, 220, 255)).max(axis=2) < 60)
        found = np.column_stack([columns, rows]).astype(float)
        off = [abs(cv2.pointPolygonTest(outline, place, True)) for place in found]
        assert len(off) > 300
        assert np.mean(np.array(off) < 2.5) > 0.95
