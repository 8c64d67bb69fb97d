"""The bar that a person sees of a job on a terminal."""

import io
import math
import re
import sys

import pytest

from crowdcount.commands.common import complain
from crowdcount.errors import OutputError
from crowdcount.terminal import Terminal


class Screen(io.StringIO):
    """A terminal that keeps all that is written."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What is shown of two phases, the last frame with so many people."""

    def run(people=7.25, screen=None, **options):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        screen = screen or Screen()
        monkeypatch.setattr(sys, "stderr", screen)
        with Terminal(**options).progress() as show:
            show("looking at [red]a[1].mp4", 0, None, None)
            show("[red]a[1].mp4", 3, 4, people)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())

    return run


def test_the_bar_tells_the_last_phase_its_frames_and_its_people(shown):
    assert re.search(r"\r\[red\]a\[1\]\.mp4 ━.* 3 of 4 frames.*, 7\.2 people", shown())


def test_people_who_are_not_known_are_not_told(shown):
    text = shown(people=math.nan)
    assert "3 of 4 frames" in text
    assert "people" not in text


def test_there_is_no_bar_in_a_log_nor_where_it_is_not_wanted(shown):
    assert shown(screen=io.StringIO()) == shown(quiet=True) == shown(bar=False) == ""


def test_a_name_with_a_line_break_or_of_no_text_is_one_line(capsys):
    Terminal().say("new\nline\udce9\x1b[2J.mp4: 2 frames")
    assert capsys.readouterr().err == "new line\\udce9 [2J.mp4: 2 frames\n"


def test_an_error_of_one_of_several_sources_keeps_its_notes(capsys):
    error = OutputError("cannot write b.counts.csv: the disk is full")
    error.add_note("kept so far: b.counts.partial.csv")
    complain(error, "b.mp4")
    assert capsys.readouterr().err == f"crowdcount: b.mp4: {error}; {error.__notes__[0]}\n"
