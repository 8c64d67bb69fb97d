"""What a person sees of a batch, in a log and on a terminal."""

import io
import re
import sys

import pytest

from crowdcount.batch import progress
from crowdcount.batch.plan import Video
from crowdcount.batch.progress import BatchTerminal
from crowdcount.batch.run import BatchSummary


class Screen(io.StringIO):
    """A terminal that keeps all that is written."""

    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.fixture
def play(monkeypatch):
    """Play a batch of three videos to a watcher; returns what was shown, on a terminal or in a log."""

    def run(is_terminal, quiet=False, line_every_s=60.0):
        clock = iter(range(0, 10_000, 10))
        monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
        monkeypatch.setattr(progress, "_LINE_EVERY_S", line_every_s)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        screen = Screen(is_terminal)
        a, b, c = (Video(f"/archive/{name}.mp4", f"{name}.mp4") for name in "abc")
        monkeypatch.setattr(sys, "stderr", screen)
        with BatchTerminal(quiet) as watcher:
            watcher.begun(4, 4_000_000_000)
            watcher.finished(a, "is done already", 1_000_000_000, False)
            watcher.working("worker 1", b, 50, 100, 500_000_000)
            watcher.working("worker 2", c, 7, None, 0)
            watcher.resting("worker 1")
            watcher.finished(b, "100 frames in 5.0 s", 1_000_000_000, True)
            watcher.finished(c, "failed: no video", 1_000_000_000, False)
        watcher.ended(BatchSummary(1, 0, 1, 0, 100, [("c.mp4", "no video")], 50.0, undated=1, vague=2))
        return screen.getvalue()

    return run


def test_a_log_has_a_line_for_each_video_that_was_worked_on(play):
    first, second, third, undated, vague, last = play(is_terminal=False).splitlines()
    assert first == "4 videos, 4.00 GB"
    assert re.fullmatch(r"\[2/4\] b\.mp4: 100 frames in 5\.0 s, ETA \d+:\d\d:\d\d", second)
    assert third.startswith("[3/4] c.mp4: failed: no video")
    assert undated == "1 video of unknown start time: if the path says it, tell how (--pattern)"
    assert vague.startswith("2 videos of unknown time of the day: taken to begin with the day, or the hour")
    assert last == "4 videos: 1 counted, 1 done before, 1 failed; 0:00:50, 2.0 frames/s"


def test_a_log_tells_now_and_then_that_the_work_goes_on(play):
    lines = play(is_terminal=False, line_every_s=5.0).splitlines()
    assert re.fullmatch(r"1 of 4 videos, ETA \d+:\d\d:\d\d \(now b\.mp4\)", lines[1])


def test_videos_of_two_folders_may_have_one_label(monkeypatch):
    """The share of one took the place of the other's, and ended with it: the rest seemed to take longer."""
    now_s = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(sys, "stderr", Screen(is_terminal=False))
    one, other = (Video(f"/{disk}/gate/1.mp4", "gate/1.mp4") for disk in "ab")
    watcher = BatchTerminal(quiet=False)
    watcher.begun(2, 4_000)
    watcher.working("worker 1", one, 50, 100, 1_000)
    now_s[0] = 100.0
    watcher.working("worker 2", other, 50, 100, 1_000)
    assert sys.stderr.getvalue().splitlines()[-1] == "0 of 2 videos, ETA 0:01:40 (now gate/1.mp4)"


def test_a_terminal_has_a_bar_for_each_worker_and_one_for_all(play):
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", play(is_terminal=True))
    assert re.search(r"^all +━", shown, re.MULTILINE)
    assert re.search(r"worker 1 .*━", shown)
    assert re.search(r"worker 2 .*c\.mp4 7 frames", shown)
    assert "[3/4] c.mp4: failed: no video" in shown


def test_quiet_shows_nothing(play):
    assert play(is_terminal=True, quiet=True) == ""


@pytest.mark.parametrize("is_terminal", [False, True])
def test_the_traceback_of_a_bug_keeps_its_lines(monkeypatch, is_terminal):
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen(is_terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    with BatchTerminal(quiet=False) as watcher:
        watcher.details("Traceback:\n  File \"a\x1b[2J.py\", line 1\nValueError\n")
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", screen.getvalue())
    bars = "all [━ ]*" * is_terminal  # which are drawn anew below each line
    assert re.search(rf'Traceback:\n{bars}  File "a \[2J\.py", line 1\n{bars}ValueError\n', shown)
