"""Packets that tell whether a picture changes, and what PyAV cannot open; films are in the tests of files."""

import wave
from pathlib import Path

import cv2
import numpy as np
import pytest

from crowdcount.video.capture import Capture
from crowdcount.video.interlaced import InterlacedVideo, picture_changes

CLIPS = Path(__file__).parent / "clips"
#: Of 1,280 blocks: a packet of 840 bytes may repeat the picture before.
SIZE_WH = 640, 512
FEW = 840


class Packets:
    """As `Capture` gives them: (bytes, whether it is a key frame), or None for what cannot be read."""

    def __init__(self, *packets):
        self._packets = iter(packets)

    def grabs(self):
        for packet in self._packets:
            self._packet = packet
            yield self._packet != "failed"

    def image(self):
        return None if self._packet is None else np.frombuffer(self._packet[0], np.uint8)[None]

    def is_key(self):
        return self._packet[1]


def changes(*packets):
    made = Packets(*packets)
    return picture_changes(made, made.grabs(), SIZE_WH)


def key(n_others, length=5000):
    """A key frame that differs from `key(0)` in so many bytes."""
    return b"b" * n_others + b"a" * (length - n_others), True


@pytest.mark.parametrize(("n_bytes", "expected"), [(FEW, False), (FEW + 1, True)])
def test_a_picture_changes_by_as_many_bytes_as_no_repetition_takes(n_bytes, expected):
    assert changes(key(0), (b"a" * n_bytes, False)) == expected
    assert changes((b"", False), (b"a" * n_bytes, False)) == expected


@pytest.mark.parametrize(("n_others", "expected"), [(FEW, False), (FEW + 1, True)])
def test_key_frames_differ_from_the_one_before(n_others, expected):
    assert changes(key(0), key(n_others)) == expected
    assert changes(key(0), key(0), key(n_others)) == expected
    assert changes(key(0, 9000), key(n_others)) == expected  # what one is longer by is left out
    assert changes(key(n_others), key(0, 9000)) == expected


def test_key_frames_with_others_between_them_tell_nothing():
    """As many of them as of a picture that stays, and that may be coded otherwise."""
    assert not changes(key(0), (b"a", False), key(4000))


def test_what_cannot_be_read_is_passed_over():
    assert not changes("failed", None, key(0), "failed", None, key(0))
    assert changes(key(0), "failed", None, key(4000))
    assert not changes()


class TestWhatCannotBeOpened:
    @pytest.fixture(params=["absent", "sound"])
    def video(self, tmp_path, request):
        pytest.importorskip("av")
        path = tmp_path / "a.wav"
        if request.param == "sound":
            with wave.open(str(path), "wb") as sound:
                sound.setnchannels(1)
                sound.setsampwidth(2)
                sound.setframerate(8000)
                sound.writeframes(bytes(8000))
        return InterlacedVideo(str(path), 0)

    def test_gives_nothing(self, video):
        assert not video.isOpened()
        video.set(0, 1000.0)
        assert not video.grab()
        assert video.retrieve() == (False, None)
        assert video.get(5) == 0.0
        video.release()


def test_tells_its_codec():
    pytest.importorskip("av")
    capture = Capture(str(CLIPS / "interlaced.ts"), 0, reader=InterlacedVideo)
    assert capture.codec() == b"mpeg"
    capture.release()


def test_of_a_film_with_sound_the_pictures_come_alone(tmp_path):
    av = pytest.importorskip("av")
    with av.open(tmp_path / "a.mkv", "w") as film:
        pictures, sound = film.add_stream("mpeg2video", rate=25), film.add_stream("pcm_s16le", rate=8000)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        sound.layout = "mono"
        for k in range(6):
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 320), np.int16), format="s16", layout="mono")
            silence.sample_rate, silence.pts = 8000, 320 * k
            image = np.full((48, 64, 3), 40 * k, np.uint8)
            film.mux(pictures.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
            film.mux(sound.encode(silence))
        for stream in (pictures, sound):
            film.mux(stream.encode(None))
    video, levels = InterlacedVideo(str(tmp_path / "a.mkv"), 0), []
    while video.grab():
        levels.append(video.retrieve()[1].mean())
    video.release()
    assert levels == pytest.approx(np.arange(0, 240, 40), abs=3)


class TestSet:
    """Of six frames, 40 ms each."""

    @pytest.fixture(params=["interlaced.ts", "intra.ts"])
    def video(self, request):
        pytest.importorskip("av")
        video = InterlacedVideo(str(CLIPS / request.param), 0)
        yield video
        video.release()

    def times_ms(self, video):
        """Of the frames that come."""
        found = []
        while video.grab():
            found.append(video.get(cv2.CAP_PROP_POS_MSEC))
        return found

    def test_goes_to_the_first_frame_from_a_time_on(self, video):
        for begin_ms in (120, 40, 100, 0):
            video.set(cv2.CAP_PROP_POS_MSEC, begin_ms)
            assert self.times_ms(video) == pytest.approx([k for k in range(0, 240, 40) if k >= begin_ms])

    def test_forgets_where_it_went_before(self, video):
        video.set(cv2.CAP_PROP_POS_MSEC, 160)
        video.set(cv2.CAP_PROP_POS_MSEC, 80)
        assert self.times_ms(video) == pytest.approx([80, 120, 160, 200])

    def test_of_a_time_behind_the_end_gives_the_last_frame_or_none(self, video):
        video.set(cv2.CAP_PROP_POS_MSEC, 5000)
        assert self.times_ms(video) in ([], pytest.approx([200]))
