"""Reading ahead in a second thread."""

import itertools
import sys
import threading
import time

import pytest

from crowdcount.errors import NoFrameError, VideoError
from crowdcount.video import open_source
from crowdcount.video.ahead import read_ahead
from tests.crowdcount.numbered_frames import summary, write_video


def reading_threads() -> int:
    return sum(thread.name == "read-ahead" for thread in threading.enumerate())


@pytest.mark.parametrize("depth", [1, 2, 100])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_read_ahead_keeps_order_and_all(depth, count):
    with read_ahead(iter(range(count)), depth) as items:
        assert list(items) == list(range(count))
    assert reading_threads() == 0


def test_read_ahead_of_a_source(tmp_path):
    path = write_video(tmp_path / "a.avi", 60)
    with open_source(path) as source:
        with read_ahead(source.frames(), 4) as frames:
            ahead = summary(frames)
        assert ahead == summary(source.frames())


def test_read_ahead_works_at_the_same_time_but_not_too_far():
    fetched = []
    reached = threading.Event()

    def items():
        for k in range(100):
            fetched.append(k)
            if len(fetched) == 5:
                reached.set()
            yield k

    with read_ahead(items(), 3) as ahead:
        assert next(ahead) == 0
        assert reached.wait(5)  # one taken, three waiting, one in hand
        time.sleep(0.05)
        assert len(fetched) == 5
    assert reading_threads() == 0


@pytest.mark.parametrize("has_begun", [True, False])
def test_an_interrupt_while_the_thread_starts_leaves_none_behind(monkeypatch, has_begun):
    start = threading.Thread.start

    def interrupted(thread):
        if has_begun:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), read_ahead(itertools.count(), 2):
        pytest.fail("started")
    assert reading_threads() == 0


def test_error_of_the_source_comes_in_its_place():
    def items():
        yield 1
        yield 2
        raise VideoError("broken")

    with read_ahead(items(), 10) as ahead:
        assert [next(ahead), next(ahead)] == [1, 2]
        with pytest.raises(VideoError, match="broken"):
            next(ahead)
    assert reading_threads() == 0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_of_the_taker_ends_the_thread_and_closes_the_source(error):
    closed = []

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.append(True)

    generator = items()

    def take():
        with read_ahead(generator, 2) as ahead:
            next(ahead)
            raise error("enough")

    with pytest.raises(error, match="enough"):
        take()
    assert reading_threads() == 0
    assert closed == [True]


def test_an_interrupt_at_any_step_of_taking_leaves_no_lock_behind():
    """The exception of a signal may come between any two steps, inside the standard library too."""
    ends = []

    def take(step):
        steps = itertools.count()

        def interrupt(frame, event, argument):
            if next(steps) == step:
                raise KeyboardInterrupt  # this ends the tracing
            return interrupt

        try:
            with read_ahead(itertools.count(), 1) as ahead:
                next(ahead)
                sys.settrace(interrupt)
                next(ahead)
                sys.settrace(None)
        except KeyboardInterrupt:
            ends.append("interrupted")
        else:
            ends.append("whole")

    while "whole" not in ends:
        taker = threading.Thread(target=take, args=(len(ends),), daemon=True)
        taker.start()
        taker.join(10)
        assert not taker.is_alive(), f"hangs after an interrupt at step {len(ends)}"
    assert ends.count("interrupted") > 3
    assert reading_threads() == 0


def test_read_ahead_that_nobody_takes_from_ends():
    with read_ahead(iter(range(100)), 1):
        pass
    assert reading_threads() == 0


def test_latest_drops_the_oldest():
    go_on = threading.Event()

    def items():
        yield from range(10)
        go_on.set()

    with read_ahead(items(), 2, latest=True) as ahead:
        assert go_on.wait(5)
        taken = list(ahead)
    assert taken == [8, 9]
    assert reading_threads() == 0


@pytest.fixture
def stalled():
    """stalled(n): n items, then none, until the test is over."""
    go_on = threading.Event()

    def items(n):
        yield from range(n)
        go_on.wait(30)
        yield "late"

    yield items
    go_on.set()
    deadline = time.monotonic() + 5
    while reading_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert reading_threads() == 0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_live_source_that_is_silent_is_left_in_time(stalled, error):
    began = time.monotonic()

    def take():
        with read_ahead(stalled(2), 4, is_live=True) as ahead:
            assert [next(ahead), next(ahead)] == [0, 1]
            raise error("enough")

    with pytest.raises(error, match="enough"):
        take()
    assert time.monotonic() - began < 5


def test_a_live_source_that_is_silent_ends_when_its_time_is_up(stalled):
    began = time.monotonic()
    with read_ahead(stalled(3), 2, is_live=True, until=began + 0.5) as ahead:
        assert list(ahead) == [0, 1, 2]
        assert time.monotonic() - began >= 0.5
    with (
        pytest.raises(NoFrameError, match="no frame came between the given start and end"),
        read_ahead(stalled(0), 2, is_live=True, until=began) as ahead,
    ):
        next(ahead)
    assert time.monotonic() - began < 10


def test_a_live_source_that_is_silent_is_told_of_meanwhile(stalled):
    began = time.monotonic()
    with read_ahead(stalled(2), 2, is_live=True, until=began + 0.5, tick_s=0.2) as ahead:
        assert list(ahead) in ([0, 1, *[None] * n] for n in (3, 4, 5))  # to the end, and a while


def test_a_recording_is_never_silent(tmp_path):
    with (
        open_source(write_video(tmp_path / "a.avi", 20)) as source,
        source.read_ahead(source.frames(), None, tick_s=1e-9) as frames,
    ):
        found = list(frames)
    assert len(found) == 20
    assert None not in found


def test_what_came_in_time_is_taken_however_late():
    with read_ahead(iter(range(9)), 2, is_live=True, until=time.monotonic() - 5) as ahead:
        assert list(ahead) == list(range(9))


def test_depth_below_one():
    with pytest.raises(ValueError, match="depth must be 1 or more"), read_ahead(iter([]), 0):
        pass
