"""What a person sees of a batch: a bar for each worker and for all on a terminal, plain lines in a log."""

import sys
import time
from types import TracebackType
from typing import Self

from ..errors import one_line
from ..output import print_note
from ..terminal import progress_bars
from ..wording import clock, plural
from .plan import Video
from .run import DONE_BEFORE, BatchSummary

_LINE_EVERY_S = 60.0  # in a log, when no video is finished meanwhile


class BatchTerminal:
    """A `crowdcount.batch.run.BatchWatcher` for the standard error.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    """

    def __init__(self, quiet: bool):
        self._quiet = quiet or sys.stderr is None
        self._bars = None
        if not self._quiet and sys.stderr.isatty():
            self._bars = _Bars()
        self._began = self._last_line = time.monotonic()
        self._n_videos = self._n_bytes = self._n_finished = 0
        self._bytes_over = self._bytes_counted = 0  # of all finished videos, and of those counted in this run
        self._shares: dict[Video, float] = {}  # labels may be the same, as of two folders

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begun(self, n_videos: int, n_bytes: int) -> None:
        self._n_videos, self._n_bytes = n_videos, n_bytes
        self._began = time.monotonic()
        self._say(f"{plural(n_videos, 'video')}, {n_bytes / 1e9:.2f} GB")

    def working(self, worker: str, video: Video, done: int, of: int | None, video_share: float) -> None:
        self._shares[video] = video_share
        if self._bars is not None:
            self._bars.worker(worker, video.label, done, of)
            self._bars.total(self._bytes_done(), self._n_bytes, self._note())
        elif time.monotonic() - self._last_line >= _LINE_EVERY_S:
            self._say(f"{self._note()} (now {video.label})")

    def resting(self, worker: str) -> None:
        if self._bars is not None:
            self._bars.worker(worker, "", 0, None)

    def finished(self, video: Video, what: str, n_bytes: int, counted: bool) -> None:
        self._n_finished += 1
        self._bytes_over += n_bytes
        self._bytes_counted += n_bytes * counted
        self._shares.pop(video, None)
        if self._bars is not None:
            self._bars.total(self._bytes_done(), self._n_bytes, self._note())
        if what != DONE_BEFORE:
            self._say(f"[{self._n_finished}/{self._n_videos}] {video.label}: {what}{self._remaining()}")

    def details(self, text: str) -> None:
        for line in text.rstrip().splitlines():
            self._say(line)

    def ended(self, summary: BatchSummary) -> None:
        """Tell what became of the archive, once the bars are gone."""
        if summary.undated:
            told = "if the path says it, tell how (--pattern)"
            self._say(f"{plural(summary.undated, 'video')} of unknown start time: {told}")
        if summary.vague:
            told = "taken to begin with the day, or the hour, that the path says"
            self._say(f"{plural(summary.vague, 'video')} of unknown time of the day: {told}")
        parts = [f"{summary.counted} counted"]
        if summary.cut_off:
            parts[0] += f" ({summary.cut_off} may be cut off)"
        if summary.copies:
            parts.append(f"{summary.copies} {'copy' if summary.copies == 1 else 'copies'}")
        if summary.done_before:
            parts.append(f"{summary.done_before} done before")
        if summary.replaced:
            parts.append(f"{plural(summary.replaced, 'former result')} replaced")
        if summary.failed:
            parts.append(f"{len(summary.failed)} failed")
        speed = f", {summary.frames / summary.seconds:.1f} frames/s" if summary.frames else ""
        self._say(f"{plural(self._n_videos, 'video')}: {', '.join(parts)}; {clock(summary.seconds)}{speed}")

    def _bytes_done(self) -> float:
        return self._bytes_over + sum(self._shares.values())

    def _note(self) -> str:
        return f"{self._n_finished} of {plural(self._n_videos, 'video')}{self._remaining()}"

    def _remaining(self) -> str:
        """About how long the rest takes at the pace of what was counted in this run."""
        counted = self._bytes_counted + sum(self._shares.values())
        if not counted:
            return ""
        left = max(0.0, self._n_bytes - self._bytes_done()) / counted * (time.monotonic() - self._began)
        return f", ETA {clock(left)}"

    def _say(self, line: str) -> None:
        self._last_line = time.monotonic()
        if self._bars is not None:
            self._bars.say(line)
        elif not self._quiet:
            print_note(line)


class _Bars:
    """A bar for all, and one for each worker."""

    def __init__(self):
        self._progress = progress_bars()
        self._total = self._progress.add_task("all", note="")
        self._workers = {}
        self.start, self.stop = self._progress.start, self._progress.stop

    def say(self, line: str) -> None:
        self._progress.console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)

    def total(self, done: float, of: int, note: str) -> None:
        self._progress.update(self._total, completed=done, total=of or None, note=note)

    def worker(self, name: str, label: str, done: int, of: int | None) -> None:
        if name not in self._workers:
            self._workers[name] = self._progress.add_task(name, note="")
        frames = "" if not done else f" {done} frames" if of is None else f" {done} of {of} frames"
        idle = {"completed": 0, "total": 1} if not label else {"completed": done, "total": of}
        self._progress.update(self._workers[name], **idle, note=f"{label}{frames}")
