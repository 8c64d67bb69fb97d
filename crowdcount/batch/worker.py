"""A process that does one task after the other, and can be stopped in the middle of one.

The two sides talk in lines of JSON over the process's standard input and output. A worker whose owner is
gone, however that came, ends at once: its standard input ends.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import CrowdCountError, OutputError, lacks_memory

#: Told the frames that are done, and about how many there are.
Report = Callable[[int, int | None], None]
_REPORT_EVERY_S = 0.25
#: What is said of a task, or a video, that took all the time that it may.
TIME_USED_UP = "stopped: its time is used up (--time-limit)"
_START_S = 300.0  # the longest that a process may take to be ready, however busy the machine
_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0  # before the first retry, twice as long before each other, and at most


@dataclass(frozen=True)
class Limits:
    """How long a task may take, and how often it is tried again when it fails by chance.

    Attributes
    ----------
    total_s : float or None
        The longest a task may take, seconds, retries included.
    silent_s : float
        The longest a task may show no progress: a decoder that is stuck never comes back.
    retries : int
        How often a task is tried again after its process died or the system reported an error in reading.
    """

    total_s: float | None = None
    silent_s: float = 600.0
    retries: int = 2


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    Attributes
    ----------
    result : object
        What it returned; None when it failed.
    error : str or None
        Why it failed, one line.
    kind : str
        "" when it succeeded, else "input" (the video or its settings), "output" (nothing can be written: no
        other task would fare better), "cluster" (it is gone), "died", "time" or "bug".
    details : str
        The traceback of a bug.
    seconds : float
        How long it took, retries included.
    """

    result: object = None
    error: str | None = None
    kind: str = ""
    details: str = ""
    seconds: float = 0.0


class Worker:
    """The owner's side of a process; `run` is called by one thread at a time, `stop` by any."""

    def __init__(self):
        self._process = self._reader = None
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    @property
    def process_id(self) -> int | None:
        """Of the process; None when there is none."""
        return None if self._process is None else self._process.pid

    def run(self, task: dict, limits: Limits, report: Report) -> Outcome:
        """Do a task in the process, started when there is none; never raises for what the task does."""
        began = time.monotonic()
        for attempt in range(limits.retries + 1):
            if attempt and self._stopped.wait(min(_PAUSE_S * 2 ** (attempt - 1), _LONGEST_PAUSE_S)):
                break
            left_s = None if limits.total_s is None else limits.total_s - (time.monotonic() - began)
            message = self._attempt(task, left_s, limits, report)
            passing = message.pop("passing", False)
            if not passing:
                break
        return Outcome(**message, seconds=time.monotonic() - began)

    def _attempt(self, task: dict, left_s: float | None, limits: Limits, report: Report) -> dict:
        if left_s is not None and left_s <= 0:
            return {"error": TIME_USED_UP, "kind": "time"}
        try:
            process = self.start()
            process.stdin.write(_line(task))
            process.stdin.flush()
        except (OSError, ValueError) as error:  # of a pipe that is closed, as the process is gone
            self.kill()
            return {
                "error": f"a worker cannot be started or spoken to ({error})",
                "kind": "died",
                "passing": True,
            }
        deadline = None if left_s is None else time.monotonic() + left_s
        while True:
            wait_s = limits.silent_s
            if deadline is not None:
                wait_s = min(wait_s, deadline - time.monotonic())
            message = self._hear(wait_s)
            if message is None:
                self.kill()
                silent = f"stopped: no progress for {limits.silent_s:g} s (--silence)"
                return {"error": TIME_USED_UP if wait_s < limits.silent_s else silent, "kind": "time"}
            if "done" not in message:
                return message
            report(message["done"], message["of"])

    def _hear(self, wait_s: float) -> dict | None:
        """The next message of the process, also of its death; None when none comes in time."""
        try:
            line = self._lines.get(timeout=max(0.0, wait_s))
        except queue.Empty:
            return None
        if isinstance(line, str):
            return {"error": line, "kind": "died", "passing": True}
        return json.loads(line)

    def stop(self) -> None:
        """End the process for good, whatever it is doing; files that it was writing stay unfinished."""
        with self._lock:
            self._stopped.set()
            self.kill()
            if self._reader is not None:
                self._reader.join()

    def kill(self) -> None:
        """End the process; the next task starts another one, and hears nothing of this one, which may take a
        moment to be gone."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def start(self) -> subprocess.Popen:
        """The process, started unless it runs; OSError when it does not come up."""
        process = self._process  # which `stop` may take away at any moment
        if process is not None and process.poll() is None:
            return process
        here = Path(__file__).resolve().parents[2]
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENCV_FFMPEG_THREADS": "1"}
        paths = os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH")]))
        with self._lock:
            if self._stopped.is_set():
                raise OSError("the batch has ended")
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "crowdcount.batch.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ | one_thread | {"PYTHONPATH": paths},
            )
            self._lines = queue.Queue()
            self._reader = threading.Thread(target=_pass_on, args=(process, self._lines), daemon=True)
            self._reader.start()  # within the lock: who stops the worker waits for its end
        ready = self._hear(_START_S)
        if ready is None or "error" in ready:
            raise OSError("it does not start" if ready is None else ready["error"])
        return process


def _pass_on(process: subprocess.Popen, lines: queue.Queue) -> None:
    """Move a process's lines into a queue, at their end how it died, as text; and tidy up after it."""
    said: deque[bytes] = deque(maxlen=1)  # the last of its errors
    errors = threading.Thread(target=said.extend, args=(filter(bytes.strip, process.stderr),), daemon=True)
    errors.start()
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    code = process.wait()
    with suppress(OSError):
        process.stdin.close()
    with process.stderr:
        errors.join()
    last = [line.decode(errors="replace").strip() for line in said]
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    hint = "; is the memory enough?" if code == -signal.SIGKILL else ""
    lines.put(f"its worker {how}{hint}{''.join(f' ({line[:200]})' for line in last)}")


def main() -> None:
    """Do the tasks of the standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the owner decides
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever a library prints is no answer
    tasks: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()

    import cv2

    from .work import run_task

    cv2.setNumThreads(1)
    output.write(_line({"ready": True}))
    while True:
        output.write(_line(_answer(json.loads(tasks.get()), run_task, output)))


def _listen(tasks: queue.Queue) -> None:
    for line in sys.stdin.buffer:
        tasks.put(line)
    os._exit(1)  # the owner is gone


def _answer(task: dict, run_task: Callable, output) -> dict:
    last_s = 0.0

    def report(done: int, of: int | None) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= _REPORT_EVERY_S:
            last_s = now_s
            output.write(_line({"done": done, "of": of}))

    try:
        return {"result": run_task(task, report)}
    except OutputError as error:
        return {"error": str(error), "kind": "output"}
    except CrowdCountError as error:
        cause = error.__cause__
        passing = isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError)
        return {"error": str(error), "kind": "input", "passing": passing}
    except Exception as error:  # a bug, or what a decoder makes of a damaged file: the other videos go on
        if lacks_memory(error):
            return {"error": "the memory is not enough for it", "kind": "input"}
        import traceback

        text = f"{type(error).__name__}: {error}"
        return {
            "error": f"an error inside crowdcount, {text}",
            "kind": "bug",
            "details": traceback.format_exc(),
        }


def _line(message: dict) -> bytes:
    return json.dumps(message).encode() + b"\n"


if __name__ == "__main__":
    main()
