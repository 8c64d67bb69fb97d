"""Streams from loopback servers, and cameras that are absent."""

import itertools
import socket
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np
import pytest

from crowdcount.errors import VideoError
from crowdcount.video import Position, live, open_source, without_password
from crowdcount.video.ahead import read_ahead
from tests.crowdcount.numbered_frames import (
    SIZE_WH,
    assert_numbered,
    draw,
    indices,
    number_in,
    open_descriptors,
    write_video,
)
from tests.crowdcount.rtsp import send_rtsp

CLIPS = Path(__file__).parent / "clips"
OPENCV_VERSION = tuple(int(part) for part in cv2.__version__.split(".")[:2])


def test_patience_of_years_is_more_than_opencv_can_be_told():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"rtsp://127.0.0.1:{free.getsockname()[1]}/live"
        with pytest.raises(VideoError, match="cannot be reached: connection refused"):
            open_source(url, timeout_s=1e9)


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
def test_a_host_that_is_not_found(scheme):
    told = r"://me:\*\*\*@gate.invalid/live cannot be reached: its host is not found \(.*; check the host"
    with pytest.raises(VideoError, match=told):
        open_source(f"{scheme}://me:secret@gate.invalid/live")


def test_nothing_is_told_of_a_host_that_only_a_proxy_may_know(serving, monkeypatch):
    def refuse(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.0 404 Not Found\r\n\r\n")
        connection.shutdown(socket.SHUT_RDWR)

    with serving(refuse) as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        with pytest.raises(VideoError, match=r"gate\.invalid/live cannot be read as a video"):
            open_source("http://gate.invalid/live")


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
@pytest.mark.parametrize(
    ("user", "status", "told", "advice"),
    [
        ("", "401 Unauthorized", "answers 401 Unauthorized", "check user name, password and path"),
        (
            "me:secret@", "401 Unauthorized", "cannot be read with this user name and password",
            "check user name, password and path",
        ),
        ("me:secret@", "403 Forbidden", "answers 403 Forbidden", "check user name, password and path"),
        ("me:secret@", "404 Not Found", "answers 404 Not Found", "check the path"),
        ("", "503 Too Many\x1b Viewers", "answers 503 Too Many", "check the sender"),
    ],
)  # fmt: skip
def test_a_sender_that_refuses(scheme, user, status, told, advice, serving):
    """It is asked without the password, which FFmpeg has sent: that it wants one tells nothing then."""
    requests = []

    def answer(connection):
        requests.append(connection.recv(65536))
        connection.sendall(f"{scheme.upper()}/1.0 {status}\r\nCSeq: 1\r\n\r\n".encode())
        connection.shutdown(socket.SHUT_RDWR)

    with serving(answer) as port, pytest.raises(VideoError) as caught:
        open_source(f"{scheme}://{user}127.0.0.1:{port}/live?a=b")
    assert f"127.0.0.1:{port}/live?a=b {told} (" in str(caught.value)
    assert str(caught.value).endswith(advice)
    assert "secret" not in str(caught.value)
    assert b"secret" not in requests[-1]
    assert requests[-1].split()[1].endswith(b"/live?a=b")


def test_absent_camera():
    for source in (97, "97"):
        with pytest.raises(VideoError, match="camera 97 cannot be opened"):
            open_source(source)


@pytest.mark.parametrize("number", [-1, 2**31])
def test_no_camera_has_such_a_number(number):
    """Of -1, OpenCV 5.0 crashes."""
    with pytest.raises(VideoError, match=f"there is no camera {number}; give its number, from 0"):
        open_source(number)


def say_nothing(connection):
    pass


def wait_for_its_end(connection):
    """Say no more, until the client leaves."""
    while connection.recv(65536):
        pass


def send_part(data: bytes, share: float):
    def answer(connection):
        connection.recv(65536)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: video/x-msvideo\r\nContent-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data[: int(len(data) * share)])

    return answer


@pytest.mark.parametrize("scheme", ["rtsp", "http", "tcp"])
def test_stream_that_never_answers(scheme, serving):
    with serving(say_nothing) as port:
        threads, descriptors = threading.active_count(), open_descriptors()
        began = time.monotonic()
        with pytest.raises(VideoError, match=r"did not answer in time \([0-9.]+ s\)"):
            open_source(f"{scheme}://127.0.0.1:{port}/live", timeout_s=0.5)
        assert 0.5 <= time.monotonic() - began < 5
        assert threading.active_count() <= threads + 1  # the server's
        assert open_descriptors() <= descriptors + 1


def test_stream_that_sends_its_head_only(tmp_path, serving):
    data = write_video(tmp_path / "a.avi", 20).read_bytes()
    with serving(send_part(data, 0.05)) as port, pytest.raises(VideoError, match="did not answer in time"):
        open_source(f"http://127.0.0.1:{port}/a.avi", timeout_s=0.5)


def test_stream_that_stops_in_the_middle(tmp_path, serving):
    data = write_video(tmp_path / "a.avi", 60).read_bytes()
    with serving(send_part(data, 0.5)) as port:
        descriptors = open_descriptors()
        read = []
        with open_source(f"http://127.0.0.1:{port}/a.avi", timeout_s=0.5) as source:
            began = time.monotonic()
            with pytest.raises(VideoError, match=r"sent no frame for 0\.5 s"):
                read.extend(source.frames())
            assert time.monotonic() - began < 5
        assert open_descriptors() <= descriptors + 1
    assert 10 < len(read) < 40
    assert_numbered(read)


def test_recording_over_http(tmp_path):
    write_video(tmp_path / "a.mp4", 40, "mp4v")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://user:secret@127.0.0.1:{server.server_port}/a.mp4"
        with open_source(url, timeout_s=5) as source:
            assert source.info.kind == "stream"
            assert source.info.size_wh == SIZE_WH
            assert "secret" not in source.info.name
            assert source.sample(5) == []
            frames = list(source.frames(start=Position(frame=10), every=3))
            with pytest.raises(VideoError, match="once only"):
                source.frames()
        with pytest.raises(VideoError) as caught:
            open_source(url.replace("a.mp4", "b.mp4"), timeout_s=5)
        assert "secret" not in str(caught.value)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert indices(frames) == list(range(10, 40, 3))
    assert [frame.time_s for frame in frames] == pytest.approx(np.arange(10, 40, 3) / 25)
    assert_numbered(frames)


@pytest.mark.parametrize(
    "url", ["rtsp://me:se@cr:et@[gate/live", "rtsp://:se@cr:et@[gate", "rtsp://me:se/cret@[gate..x/"]
)
def test_an_address_that_is_none_is_refused_without_its_password(url):
    with pytest.raises(VideoError, match=r"^rtsp://(me)?:\*\*\*@\[gate.* cannot be read as a video"):
        open_source(url)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://me:se:cr@gate/a?x=1", "http://me:***@gate/a?x=1"),
        ("rtsp://me:se/c?r#t@gate:554/live", "rtsp://me:***@gate:554/live"),
        ("rtsp://me:1x#3@gate/live", "rtsp://me:***@gate/live"),
        ("rtsp://me:secret@gate/live@2", "rtsp://me:***@gate/live@2"),
        ("rtsp://gate:554/live@2", "rtsp://gate:554/live@2"),
        ("rtsp://[fe80::1]:554/live@2", "rtsp://[fe80::1]:554/live@2"),
        ("rtsp://me:secret@[fe80::1]/live", "rtsp://me:***@[fe80::1]/live"),
        ("rtsp://gate:554#live@2", "rtsp://gate:554#live@2"),
        ("http://gate/a?user=me&Password=se=c@r&x=1", "http://gate/a?user=me&Password=***&x=1"),
        ("rtsp://gate/user=me_password=s_e!_channel=1", "rtsp://gate/user=me_password=***_channel=1"),
        ("https://gate/live.m3u8?token=s3cr#t=1", "https://gate/live.m3u8?token=***#t=1"),
        ("http://gate/a?loginpas=1&pwd=2&apikey=3", "http://gate/a?loginpas=***&pwd=***&apikey=***"),
        ("http://gate/cgi?u=me&p=s3cr&map=1", "http://gate/cgi?u=me&p=***&map=1"),
        ("rtsp://gate/monkey=1/compass=2", "rtsp://gate/monkey=1/compass=2"),
    ],
)
def test_no_password_is_told_wherever_it_stands(url, told):
    assert without_password(url) == told


@pytest.mark.parametrize(("interval_s", "told"), [(0.2, (4, 5.5)), (0.04, (20, 26)), (0.0, (25, 25))])
def test_the_rate_of_motion_jpeg_is_told_by_when_it_comes(serving, send_live, interval_s, told):
    """FFmpeg says 25 frames a second of any; what comes at once, as a file, is taken to have been that."""
    with (
        serving(send_live(map(draw, range(1000)), interval_s)) as port,
        open_source(f"http://127.0.0.1:{port}/", timeout_s=5) as source,
    ):
        assert told[0] <= source.info.fps <= told[1]
        assert_numbered(list(itertools.islice(source.frames(), 20)))


def test_the_rate_of_motion_jpeg_over_rtsp_is_told_by_its_stamps(serving):
    """Its first twenty frames are there at once, and come as fast as they decode."""
    image = np.random.default_rng(1).integers(0, 256, (480, 640, 3), np.uint8)
    with (
        serving(send_rtsp(itertools.repeat(image, 40), interval_s=0.1)) as port,
        open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=5) as source,
    ):
        assert source.info.fps == pytest.approx(10, rel=0.2)


def test_the_rate_of_motion_jpeg_that_comes_in_pairs(serving, send_live):
    def pairs():
        for k in range(1000):
            time.sleep(0.2 * (k % 2))
            yield draw(k)

    with (
        serving(send_live(pairs(), 0.0)) as port,
        open_source(f"http://127.0.0.1:{port}/", timeout_s=5) as source,
    ):
        assert 8 <= source.info.fps <= 13


def test_live_stream_is_timed_by_the_clock(serving, send_live):
    with serving(send_live(map(draw, range(1000)), interval_s=0.01)) as port:
        began = time.monotonic()
        with open_source(f"http://127.0.0.1:{port}/", timeout_s=5) as source:
            assert source.info.frame_count is None
            frames = list(source.frames(end=Position(frame=20)))
        took_s = time.monotonic() - began
    assert indices(frames) == list(range(20))
    assert_numbered(frames)
    times = [frame.time_s for frame in frames]
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] < took_s


def test_rtsp_camera_is_read_to_its_end(serving):
    with (
        serving(send_rtsp([draw(k) for k in range(40)], interval_s=0.01)) as port,
        open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=5) as source,
    ):
        assert source.info.kind == "stream"
        assert source.info.size_wh == SIZE_WH
        frames = list(source.frames())
    assert len(frames) >= 39  # the decoder may keep the last one
    assert_numbered(frames)
    times = [frame.time_s for frame in frames]
    assert times == sorted(times)


def test_rtsp_camera_that_falls_silent(serving):
    with (
        serving(send_rtsp([draw(k) for k in range(20)], interval_s=0.01, stays=True)) as port,
        open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=1) as source,
    ):
        read = []
        began = time.monotonic()
        with pytest.raises(VideoError, match=r"sent no frame for 1 s"):
            read.extend(source.frames())
        assert time.monotonic() - began < 2.9
    assert len(read) >= 19


def test_camera_that_breaks_off_is_opened_again(serving):
    calls = []

    def answer(connection):
        first = 30 * len(calls)
        calls.append(first)
        send_rtsp([draw(first + k) for k in range(30)], interval_s=0.01)(connection)

    with serving(answer) as port:
        url = f"rtsp://127.0.0.1:{port}/live"
        with open_source(url, timeout_s=5, reconnect_s=20) as source:
            frames = list(source.frames(end=Position(frame=70)))
            absences = source.absences
        assert calls == [0, 30, 60]
        times = [frames[k].time_s for k in (29, 31, 60, 62)]  # with one in between that is none
        np.testing.assert_allclose(np.ravel(absences), times, atol=0.3)
        broken = [frame.index for frame in frames if frame.image_bgr is None]
        assert indices(frames) == list(range(70))
        assert broken == [30, 61]
        numbers = [number_in(frame.image_bgr) for frame in frames if frame.image_bgr is not None]
        assert numbers == list(range(68))
        times = [frame.time_s for frame in frames]
        assert times == sorted(times)


def test_camera_that_sends_rubbish_for_a_while_has_one_break_and_is_left_in_peace(serving, send_live):
    """As a proxy does whose camera starts anew: it answers at once, but with nothing that decodes."""
    connected_at = []

    def answer(connection):
        connected_at.append(time.monotonic())
        if len(connected_at) in (2, 3):
            connection.recv(65536)
            head = "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n"
            part = b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: 3000\r\n\r\n" + bytes(3000)
            connection.sendall(head.encode() + 20 * (part + b"\r\n"))
        else:
            send_live([draw(k) for k in range(20)], interval_s=0.01)(connection)
        connection.shutdown(socket.SHUT_RDWR)

    with (
        serving(answer) as port,
        open_source(f"http://127.0.0.1:{port}/", timeout_s=5, reconnect_s=30) as source,
    ):
        frames = list(source.frames(end=Position(frame=41)))
    assert [frame.index for frame in frames if frame.image_bgr is None] == [20]
    assert indices(frames) == list(range(41))
    assert len(connected_at) >= 4
    assert np.diff(connected_at).min() > 0.5


def test_camera_that_stays_away_is_given_up(serving):
    with serving(send_rtsp([draw(k) for k in range(20)], interval_s=0.01)) as port:
        source = open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=1, reconnect_s=2)
        frames = source.frames()
        next(frames)
    began = time.monotonic()
    with source:
        read = []
        with pytest.raises(VideoError, match=r"broke off at 2[-0-9: ]+ and was given up after [23] s"):
            read.extend(frames)
        assert 15 < len(read) < 20
        assert 1.5 < time.monotonic() - began < 5
        with pytest.raises(VideoError, match="once only"):
            source.frames()


def test_closing_ends_the_trials_to_reconnect(serving):
    with serving(send_rtsp([draw(k) for k in range(20)], interval_s=0.01)) as port:
        source = open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=1, reconnect_s=60)
        frames = source.frames()
        next(frames)
    threading.Timer(1, source.close).start()
    began = time.monotonic()
    with pytest.raises(VideoError, match="was closed"):
        list(frames)
    assert time.monotonic() - began < 10


def test_closing_does_not_wait_for_a_silent_stream(serving):
    """The thread that waits for it closes it in the end."""
    with serving(send_rtsp([draw(k) for k in range(60)], interval_s=0.03, stays=True)) as port:
        threads, descriptors = threading.active_count(), open_descriptors()
        with open_source(f"rtsp://127.0.0.1:{port}/live", timeout_s=3) as source:
            end = Position(time_s=3)
            with read_ahead(source.frames(end=end), 4, is_live=True, until=source.ends_at(end)) as frames:
                assert len(list(frames)) >= 50
            began = time.monotonic()
        assert time.monotonic() - began < 1
        assert threading.active_count() > threads
        while threading.active_count() > threads + 1 and time.monotonic() < began + 10:  # the server's
            time.sleep(0.05)
        assert threading.active_count() <= threads + 1
        assert open_descriptors() <= descriptors + 1


def test_live_source_has_no_fps_of_its_users_choice():
    with pytest.raises(VideoError, match="leave it out"):
        open_source("rtsp://127.0.0.1:1/x", fps=25)


def send_over_and_over(data: bytes, requests: list):
    """An answer for `serving`: a transport stream without end, some 60 frames a second."""

    def answer(connection):
        connection.recv(65536)
        requests.append(time.monotonic())
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n")
        while True:
            connection.sendall(data)
            time.sleep(0.1)

    return answer


@pytest.mark.parametrize("name", ["interlaced.ts", "intra.ts"])
def test_interlaced_stream_is_read(serving, name):
    """OpenCV 4.13 and later give unwritten memory for it."""
    with (
        serving(send_over_and_over((CLIPS / name).read_bytes(), [])) as port,
        open_source(f"http://127.0.0.1:{port}/", timeout_s=5) as source,
    ):
        assert (source.info.kind, source.info.size_wh) == ("stream", SIZE_WH)
        frames = list(source.frames(end=Position(frame=40)))
    assert indices(frames) == list(range(40))
    numbers = [number_in(frame.image_bgr) for frame in frames if frame.image_bgr is not None]
    assert len(numbers) > 30
    assert set(numbers) == set(range(6))
    times = [frame.time_s for frame in frames]
    assert times == sorted(times)


@pytest.mark.skipif(OPENCV_VERSION < (4, 13), reason="OpenCV before 4.13 reads it")
@pytest.mark.parametrize("name", ["interlaced.ts", "intra.ts"])
def test_interlaced_stream_is_refused_with_the_cure_where_pyav_is_missing(serving, monkeypatch, name):
    monkeypatch.setattr(live, "is_av_there", lambda: False)
    with (
        serving(send_over_and_over((CLIPS / name).read_bytes(), [])) as port,
        pytest.raises(VideoError, match=r"one and the same picture.*pip install av.*progressive"),
    ):
        open_source(f"http://127.0.0.1:{port}/", timeout_s=5)


@pytest.mark.skipif(OPENCV_VERSION < (4, 13), reason="OpenCV before 4.13 reads it")
def test_interlaced_stream_that_falls_silent_or_breaks_off(serving):
    """The first connection is OpenCV's; the second breaks off, the third is silent, the fourth goes on."""
    data, requests = (CLIPS / "interlaced.ts").read_bytes(), []
    endless = send_over_and_over(data, requests)

    def answer(connection):
        if len(requests) not in (1, 2):
            endless(connection)
        connection.recv(65536)
        requests.append(time.monotonic())
        if len(requests) == 2:
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n" + 6 * data)
        wait_for_its_end(connection)

    with serving(answer) as port:
        url = f"http://127.0.0.1:{port}/"
        with open_source(url, timeout_s=1, reconnect_s=20) as source:
            began = time.monotonic()
            frames = list(source.frames(end=Position(frame=60)))
            assert time.monotonic() - began < 15
    assert len(requests) >= 4
    broken = [frame.index for frame in frames if frame.image_bgr is None]
    assert 25 < broken[0] < 40
    later = [frame.image_bgr for frame in frames[broken[0] + 5 :] if frame.image_bgr is not None]
    assert set(map(number_in, later)) == set(range(6))


@pytest.fixture
def of_any_codec(monkeypatch):
    """Motion JPEG is looked at as if it were of a codec that may be interlaced."""
    monkeypatch.setattr(live.LiveSource, "_is_of_stills", lambda _: False)


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.usefixtures("of_any_codec")
def test_still_stream_is_no_failure(serving, send_live, monkeypatch, is_there):
    monkeypatch.setattr(live, "is_av_there", lambda: is_there)
    with (
        serving(send_live(itertools.repeat(draw(7)), interval_s=0.01)) as port,
        open_source(f"http://127.0.0.1:{port}/", timeout_s=5) as source,
    ):
        frames = list(source.frames(end=Position(frame=20)))
    assert indices(frames) == list(range(20))
    assert {number_in(frame.image_bgr) for frame in frames} == {7}


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.usefixtures("of_any_codec")
def test_still_stream_that_does_not_answer_when_it_is_examined_is_read_as_it_is(
    serving, send_live, monkeypatch, is_there
):
    monkeypatch.setattr(live, "is_av_there", lambda: is_there)
    still, requests = send_live(itertools.repeat(draw(7)), interval_s=0.01), []

    def answer(connection):
        requests.append(None)
        wait_for_its_end(connection) if len(requests) == 2 else still(connection)

    with (
        serving(answer) as port,
        open_source(f"http://127.0.0.1:{port}/", timeout_s=1) as source,
    ):
        frames = list(source.frames(end=Position(frame=20)))
    assert len(requests) == 3
    assert {number_in(frame.image_bgr) for frame in frames} == {7}


def test_motion_jpeg_is_opened_once_whatever_it_shows(serving, send_live):
    still, requests = send_live(itertools.repeat(draw(7)), interval_s=0.01), []

    def answer(connection):
        requests.append(None)
        still(connection)

    with serving(answer) as port, open_source(f"http://127.0.0.1:{port}/", timeout_s=5):
        assert len(requests) == 1


@pytest.mark.usefixtures("of_any_codec")
def test_stream_that_begins_with_a_still_picture_loses_none_of_it(serving, send_live):
    with (
        serving(send_live([draw(7)] * 20 + [draw(k) for k in range(30)], interval_s=0.01)) as port,
        open_source(f"http://127.0.0.1:{port}/", timeout_s=5) as source,
    ):
        frames = list(source.frames(end=Position(frame=40)))
    assert indices(frames) == list(range(40))
    assert [number_in(frame.image_bgr) for frame in frames] == [7] * 20 + list(range(20))
