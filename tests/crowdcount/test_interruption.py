"""A signal ends the program by one line and exit code 130, whenever it comes; in processes of their own."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
#: A command that waits for what comes from the standard input.
WAITS = ["batch", "-", "-o"]
#: Sends itself a signal when a module is first looked for.
SENDS = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
"""
RUNS = "from crowdcount.__main__ import main; main()"
IMPORTS = """
import time
from crowdcount.interruption import INTERRUPTS
INTERRUPTS.catch()
try:
    with INTERRUPTS:
        import numpy
        time.sleep(60)
except KeyboardInterrupt:
    print(numpy.arange(3))
"""
#: Of the signals that are sent again, the first is not heeded, as where the main thread just begins to wait.
LOSES = """
import os
sent, send = [], os.kill
def kill(*arguments):
    sent.append(arguments)
    if len(sent) != 2:
        send(*arguments)
os.kill = kill
"""
#: Is interrupted where an interrupt goes by unseen, as in a call back from C, and works on.
SWALLOWED = """
import time
from crowdcount import interruption
interruption.PATIENCE_S = 0.5
interruption.INTERRUPTS.catch()
with interruption.INTERRUPTS:
    try:
        print("at work", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print("goes on", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("ends", flush=True)
"""


def started(arguments, number):
    """A process of Python in which the signal is not ignored, as it may be where the tests run."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        preexec_fn=functools.partial(signal.signal, number, signal.SIG_DFL),
    )


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("click", signal.SIGHUP),
        ("crowdcount.commands.train", signal.SIGTERM),
        ("numpy.linalg", signal.SIGINT),  # NumPy cannot be loaded a second time
        ("cv2", signal.SIGINT),
    ],
)
def test_while_modules_are_loaded(module, number, tmp_path):
    code = SENDS.format(module=module, number=int(number))
    with started(["-c", code + RUNS, *WAITS, str(tmp_path)], number) as running:
        assert running.stdout.read() == "crowdcount: interrupted\n"
    assert running.returncode == 130


@pytest.mark.parametrize(
    ("number", "delay_s"), [(signal.SIGINT, 0.6), (signal.SIGTERM, 0.9), (signal.SIGHUP, 1.2)]
)
def test_after_some_time(number, delay_s, tmp_path):
    with started(["-m", "crowdcount", *WAITS, str(tmp_path)], number) as running:
        time.sleep(delay_s)
        running.send_signal(number)
        assert running.stdout.read() == "crowdcount: interrupted\n"
    assert running.returncode == 130


def test_a_later_import_is_waited_for():
    """NumPy's, at work: a file may be open."""
    code = SENDS.format(module="numpy.linalg", number=int(signal.SIGTERM))
    for before in ("", LOSES):
        with started(["-c", before + code + IMPORTS], signal.SIGTERM) as running:
            began = time.monotonic()
            assert running.stdout.read() == "[0 1 2]\n"
            assert time.monotonic() - began < 30


def test_a_later_signal_ends_what_an_earlier_one_did_not():
    with started(["-c", SWALLOWED], signal.SIGTERM) as running:
        assert running.stdout.readline() == "at work\n"
        running.send_signal(signal.SIGTERM)
        assert running.stdout.readline() == "goes on\n"
        running.send_signal(signal.SIGTERM)  # too early
        time.sleep(1)
        assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        assert running.stdout.read() == "ends\n"
    assert running.returncode == 0


def test_the_script_minds_signals_as_the_module_does():
    assert 'crowdcount = "crowdcount.__main__:main"' in (PROJECT / "pyproject.toml").read_text("utf-8")
