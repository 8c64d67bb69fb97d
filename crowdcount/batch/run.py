"""Counting an archive: each video is examined, cut where it is long, counted and joined, unless done."""

import math
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Protocol

from ..errors import BatchError, OutputError
from ..model import load_model
from ..rows import import_parquet
from ..scene import load_scene
from ..stretches import WARM_UP_S
from ..video import Landmark
from ..wording import plural
from . import work
from .catalogue import Catalogue, settings_digest
from .engines import Engine, Finished, Progress
from .plan import Video
from .segments import LEAST_FRAME_BYTES, SEGMENT_S, Cut, Segment, seams, segments
from .work import Job, file_digest, task_of
from .worker import TIME_USED_UP, Limits, Outcome

#: What is said of a video whose result an earlier run left.
DONE_BEFORE = "is done already"
#: Tasks that are handed out for each worker: one that it does, one that it finds waiting.
_AHEAD = 2
_LOOK_EVERY_S = 2.0  # whether there are workers, when nothing is heard
_TELL_EVERY_S = 60.0  # that there are none


@dataclass(frozen=True)
class Options:
    """What holds for all videos of a batch.

    Attributes
    ----------
    model, scene : str or None
        Files for the cameras that have none of their own.
    every : int
        Count each so many frames.
    segment_s, warm_up_s : float
        See `crowdcount.batch.segments`; a `segment_s` of 0 cuts nothing.
    limits : Limits
        `limits.total_s` holds for a video: the time of all workers on it together. One that took more fails;
        parts that were handed out before may each take what was left then.
    """

    model: str | None = None
    scene: str | None = None
    every: int = 1
    segment_s: float = SEGMENT_S
    warm_up_s: float = WARM_UP_S
    limits: Limits = field(default_factory=Limits)


@dataclass
class BatchSummary:
    """What became of an archive.

    Attributes
    ----------
    counted, copies, done_before, replaced : int
        Videos counted now, others of the same footage as one of these, found done, and former results that
        the new ones took the place of.
    frames : int
        Frames counted now.
    failed : list of (str, str)
        Label and reason of each video that could not be counted.
    seconds : float
    cut_off : int
        Videos counted now that lack a tenth or more of their stated length.
    undated, vague : int
        Videos whose start time is unknown, and those taken to begin with the day, or the hour, that their
        path says.
    broken_off : BatchError or None
        Why it could not go on to its end: the cluster is gone.
    """

    counted: int = 0
    copies: int = 0
    done_before: int = 0
    replaced: int = 0
    frames: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    cut_off: int = 0
    undated: int = 0
    vague: int = 0
    broken_off: BatchError | None = None


class BatchWatcher(Protocol):
    """Is told how a batch goes; see `crowdcount.batch.progress`."""

    def begun(self, n_videos: int, n_bytes: int) -> None:
        """The work on so many videos, so many bytes together, is about to start."""

    def working(self, worker: str, video: Video, done: int, of: int | None, video_share: float) -> None:
        """A worker has done so many frames of about so many (None: unknown); `video_share` in bytes."""

    def resting(self, worker: str) -> None:
        """A worker has ended its task."""

    def finished(self, video: Video, what: str, n_bytes: int, counted: bool) -> None:
        """A video is counted, is a copy, was done before, or failed; all its bytes are done with."""

    def details(self, text: str) -> None:
        """The traceback of a bug, or what the batch waits for."""


@dataclass(eq=False)
class _Case:
    """A video on its way."""

    video: Video
    n_bytes: int
    job: Job | None = None
    cuts: list[Cut] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    progress: dict[int, float] = field(default_factory=dict)  # share of each segment that is counted
    n_waiting: int = 0
    spent_s: float = 0.0
    ended: bool = False
    facts: dict | None = None

    @property
    def share(self) -> float:
        """How much of it is counted, 0 to 1; 0 once it has ended, with which all of it is done with."""
        return 0.0 if self.ended else sum(self.progress.values()) / max(1, len(self.segments))


def check_needs() -> None:
    """OutputError unless there is what a batch cannot do without; its report wants DuckDB too."""
    import_parquet("pip install pyarrow duckdb")


def run_batch(
    videos: Sequence[Video], out: str | Path, engine: Engine, options: Options, watcher: BatchWatcher
) -> BatchSummary:
    """Count the videos that are not done yet into their files in `out`.

    It can be ended at any moment, however roughly: the same call goes on from the segments that are complete,
    and the results are the same to the byte. Of videos with the same content, camera and start time the first
    that does not fail is counted; the result has the name of the first that was read.

    Raises
    ------
    ModelError, SceneError
        When the file of any camera cannot be read: then nothing is counted.
    OutputError
        When results cannot be written, or pyarrow is missing.
    BatchError
        When another batch is writing to `out`.
    """
    began = time.monotonic()
    with closing(engine):
        check_needs()
        files = _Files(options, videos)  # refuses bad ones before there is a folder
        with Catalogue(out) as catalogue:
            batch = _Batch(videos, catalogue, engine, options, watcher, files)
            try:
                batch.run()
            except BatchError as error:
                batch.summary.broken_off = error
            else:
                catalogue.forget_former()
    batch.summary.seconds = time.monotonic() - began
    return batch.summary


class _Batch:
    def __init__(
        self,
        videos: Sequence[Video],
        catalogue: Catalogue,
        engine: Engine,
        options: Options,
        watcher: BatchWatcher,
        files: "_Files",
    ):
        self.summary = BatchSummary()
        self._catalogue = catalogue
        self._engine = engine
        self._options = options
        self._watcher = watcher
        self._files = files
        self._cases = [_Case(video, _size(video.path)) for video in videos]
        self._ready: deque[tuple[_Case, dict, Callable]] = deque()
        self._under_way: dict[int, tuple[_Case, dict, Callable]] = {}
        self._copies: dict[Path, list[_Case]] = {}  # of the video of a result: they wait for its end
        self._counted_now: dict[Path, str] = {}  # results, and which video they are of

    def run(self) -> None:
        self._watcher.begun(len(self._cases), sum(case.n_bytes for case in self._cases))
        coming = deque(self._cases)
        while True:
            while (self._ready or coming) and len(self._under_way) < _AHEAD * max(1, self._engine.n_workers):
                if self._ready:
                    self._submit(*self._ready.popleft())
                else:
                    self._examine(coming.popleft())
            if not self._under_way:
                return
            self._hear(self._next_event())

    def _next_event(self) -> Progress | Finished:
        """Waits for it; that there is no worker to bring one is told, and again from time to time."""
        told_s = -math.inf
        while True:
            with suppress(queue.Empty):
                return self._engine.events.get(timeout=_LOOK_EVERY_S)
            if not self._engine.n_workers and time.monotonic() - told_s >= _TELL_EVERY_S:
                self._watcher.details("the cluster has no workers; the batch waits until one is started")
                told_s = time.monotonic()

    def _submit(self, case: _Case, task: dict, then: Callable[[_Case, object], None]) -> None:
        limits = self._options.limits
        if case.ended:
            return
        if limits.total_s is not None:
            limits = replace(limits, total_s=max(0.0, limits.total_s - case.spent_s))
        self._under_way[self._engine.submit(task, limits)] = case, task, then

    def _hear(self, event: Progress | Finished) -> None:
        if event.number not in self._under_way:
            return  # what came late from a cluster
        case, task, then = self._under_way[event.number]
        if isinstance(event, Progress):
            segment = task["arguments"].get("segment")
            if segment is not None and event.of:
                case.progress[segment["index"]] = min(1.0, event.done / event.of)
            self._watcher.working(event.worker, case.video, event.done, event.of, case.share * case.n_bytes)
            return
        del self._under_way[event.number]
        self._watcher.resting(event.worker)
        case.spent_s += event.outcome.seconds
        if event.outcome.error is not None:
            self._fail(case, event.outcome)
        elif not case.ended:
            then(case, event.outcome.result)
        if case.ended and not any(other is case for other, _, _ in self._under_way.values()):
            for copy in self._copies.pop(Path(case.job.result), []) if case.job else []:
                self._plan(copy, copy.facts)

    def _fail(self, case: _Case, outcome: Outcome) -> None:
        if outcome.kind == "output":
            raise OutputError(f"{outcome.error}; then run the same command again")
        if outcome.kind == "cluster":
            raise BatchError(outcome.error)
        if outcome.details:
            self._watcher.details(outcome.details)
        if not case.ended:
            self._end(case, f"failed: {outcome.error}")
            self.summary.failed.append((case.video.label, outcome.error))

    def _end(self, case: _Case, what: str, counted: bool = False) -> None:
        case.ended = True
        self._watcher.finished(case.video, what, case.n_bytes, counted)

    def _examine(self, case: _Case) -> None:
        video = case.video
        if video.problem is not None:
            self._fail(case, Outcome(error=video.problem, kind="input"))
            return
        facts = self._catalogue.facts(video.path, video.timezone)
        if facts is not None:
            self._plan(case, facts)
        else:
            task = task_of(work.examine, path=video.path, timezone=video.timezone)
            self._ready.append((case, task, self._remember))

    def _remember(self, case: _Case, facts: dict) -> None:
        self._catalogue.remember(case.video.path, case.video.timezone, facts)
        self._plan(case, facts)

    def _plan(self, case: _Case, facts: dict) -> None:
        """Now that it is known what a video is: done, short or long."""
        options, video = self._options, case.video
        start_time = start_time_of(video, facts)
        if case.facts is None:
            self.summary.undated += start_time is None
            self.summary.vague += bool(video.slack) and start_time == video.start_time
        case.facts = facts
        most = facts["size"] // LEAST_FRAME_BYTES
        n_frames = None if facts["frames"] is None else min(facts["frames"], most)
        case.cuts = seams(n_frames, facts["fps"], options.every, options.segment_s, options.warm_up_s)
        job = Job(
            path=video.path,
            label=video.label,
            camera=video.camera,
            size=facts["size"],
            mtime_ns=facts["mtime_ns"],
            content=facts["content"],
            start_time=None if start_time is None else start_time.isoformat(),
            **self._files.of(video),
            every=options.every,
            split=(options.segment_s, options.warm_up_s) if case.cuts else None,
            work="",
            result="",
        )
        settings = settings_digest(job.description())
        result = self._catalogue.place(Path(video.path).stem, video.camera, start_time, job.content, settings)
        done = self._catalogue.is_done(result)
        # What is begun was left by a run that was killed before it could take the result in.
        if done and self._catalogue.is_begun(result) and not self._take_in(case, result):
            return
        if done and result in self._counted_now:
            self.summary.copies += 1
            self._end(case, f"the same footage as {self._counted_now[result]}")
            return
        if done:
            self.summary.done_before += 1
            self._end(case, DONE_BEFORE)
            return
        if result in self._copies:
            self._copies[result].append(case)
            return
        self._copies[result] = []
        folder = self._catalogue.begin(result)
        case.job = job = replace(job, work=str(folder), result=str(result))
        if case.cuts:
            starts = sorted({cut.start for cut in case.cuts})
            kept = sorted({frame for cut in case.cuts for frame in cut.kept})
            task = task_of(work.sample, job=job, starts=starts, kept=kept)
            self._ready.appendleft((case, task, self._cut))
        else:
            self._cut(case, None)

    def _cut(self, case: _Case, marks: list[dict] | None) -> None:
        landmarks = None if marks is None else [Landmark(**mark) for mark in marks]
        case.segments = segments(case.cuts, landmarks)
        missing = case.segments
        if len(case.segments) > 1:
            missing = [part for part in case.segments if not work.segment_path(case.job, part.index).exists()]
            case.progress = {part.index: 1.0 for part in case.segments if part not in missing}
        case.n_waiting = len(missing)
        tasks = [(case, task_of(work.count, job=case.job, segment=part), self._counted) for part in missing]
        self._ready.extendleft(reversed(tasks))
        if not missing:
            self._join(case)

    def _counted(self, case: _Case, n_rows: int) -> None:
        case.n_waiting -= 1
        most_s = self._options.limits.total_s
        if len(case.segments) == 1:
            self._finish(case, n_rows)
        elif most_s is not None and case.spent_s > most_s:  # each part alone took less
            self._fail(case, Outcome(error=TIME_USED_UP, kind="time"))
        elif case.n_waiting == 0:
            self._join(case)

    def _join(self, case: _Case) -> None:
        task = task_of(work.join, job=case.job, parts=case.segments)
        self._ready.appendleft((case, task, self._finish))

    def _finish(self, case: _Case, n_rows: int) -> None:
        if not self._take_in(case, Path(case.job.result)):
            return
        self.summary.counted += 1
        self._counted_now[Path(case.job.result)] = case.video.label
        self.summary.frames += n_rows
        note = ""
        if work.lacks_its_end(case.job, n_rows, case.facts["frames"], case.facts["fps"]):
            self.summary.cut_off += 1
            note = f" (of the {case.facts['frames']} that it states: it may be cut off)"
        self._end(case, f"{plural(n_rows, 'frame')}{note} in {case.spent_s:.1f} s", counted=True)

    def _take_in(self, case: _Case, result: Path) -> bool:
        """Whether a complete result is in; it is not where one that it may have to replace is damaged."""
        try:
            self.summary.replaced += len(self._catalogue.finish(result))
        except BatchError as error:
            self._fail(case, Outcome(error=str(error), kind="input"))
            return False
        return True


class _Files:
    """The models and scenes of the cameras: read once, so that a bad one shows before anything is counted."""

    def __init__(self, options: Options, videos: Iterable[Video]):
        self._options = options
        with resources.as_file(resources.files("crowdcount") / "default-model.npz") as path:
            self._digests: dict[str | None, str] = {None: file_digest(path)}
        models = dict.fromkeys([options.model, *(video.model for video in videos)])
        scenes = dict.fromkeys([options.scene, *(video.scene for video in videos)])
        for load, paths in ((load_model, models), (load_scene, scenes)):
            for path in filter(None, paths):
                load(path)
                self._digests[str(Path(path).absolute())] = file_digest(path)

    def of(self, video: Video) -> dict[str, str | None]:
        """Model and scene of a video's camera, absolute, and their digests, as a `Job` has them."""
        chosen = (video.model or self._options.model, video.scene or self._options.scene)
        model, scene = (None if path is None else str(Path(path).absolute()) for path in chosen)
        digests = {"model_digest": self._digests[model], "scene_digest": scene and self._digests[scene]}
        return {"model": model, "scene": scene, **digests}


def start_time_of(video: Video, facts: dict) -> datetime | None:
    """When a video began: as its path says, or more precisely its container, where that agrees."""
    said, recorded = video.start_time, facts["recorded"]
    recorded = None if recorded is None else datetime.fromisoformat(recorded)
    agrees = recorded is not None and (said is None or said <= recorded < said + video.slack)
    return recorded if agrees else said


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
