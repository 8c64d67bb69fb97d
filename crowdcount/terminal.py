"""What a person sees of a job: notes, a progress bar and a summary on the standard error."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .output import print_note
from .results import CountSummary
from .watcher import Show, show_nothing
from .wording import OTHER_SCENE, clock, flagged, plural

if TYPE_CHECKING:  # take time to load, and not every job needs them
    from datetime import datetime

    from rich.progress import Progress

    from .counting import Counting
    from .jobs import CountJob
    from .learning.datasets import Dataset
    from .model import CounterModel

#: Counts below are taken for nobody.
_SOMEBODY = 0.5
#: Pixels: of people who are measured smaller, some are lost (docs/decisions/2026-11-29-small-people.md).
_SMALLEST = 12


class Terminal:
    """A `crowdcount.watcher.Watcher` that tells a person.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    bar : bool
        Show a progress bar, if the standard error is a terminal.
    """

    def __init__(self, quiet: bool = False, bar: bool = True):
        self._quiet = quiet or sys.stderr is None
        self._bar = bar and not self._quiet and sys.stderr.isatty()
        self._scene_is_learnt = False

    def say(self, line: str) -> None:
        """Print a line, unless quiet."""
        if not self._quiet:
            print_note(line)

    @contextmanager
    def progress(self) -> Iterator[Show]:
        if not self._bar:
            yield show_nothing
            return
        bar = progress_bars()

        def show(phase: str, done: int, total: int | None, people: float | None) -> None:
            if [task.description for task in bar.tasks] != [phase]:
                for task in bar.tasks:
                    bar.remove_task(task.id)
                bar.add_task(phase, total=total, note="")
            (task,) = bar.tasks
            bar.update(task.id, completed=done, note=_progress_note(task, done, total, people))

        with bar:
            yield show

    def started(self, counting: "Counting") -> None:
        info = counting.info
        rate = f"{info.fps:g} frames/s" if info.fps else "unknown rate"
        length = "" if info.frame_count is None else f", {plural(info.frame_count, 'frame')} as stated"
        self.say(f"{info.name}: {info.size_wh[0]}x{info.size_wh[1]}, {rate}{length}")
        if not (info.fps or info.is_live):
            self.say(f"  times are as of {plural(round(info.rate), 'frame')}/s: give the rate as --fps")
        size = "{}x{}".format(*counting.working_size_wh)
        people = f"a typical person {counting.typical_height:.0f} pixels tall"
        for line in [*counting.scene.describe(), describe_model(counting.model)]:
            self.say(f"  {line}")
        self.say(f"  measured at {size} pixels, {people}")
        if counting.model.per_cell and counting.typical_height < _SMALLEST:
            self.say("  people as small as that are lost in part: take a narrower view, or train on this "
                     "camera")  # fmt: skip
        for left, top, width, height in counting.screens:
            self.say(f"  films are shown at {left},{top} ({width}x{height} pixels): nobody is counted there")
        self._scene_is_learnt = counting.scene.view is None  # from this footage
        if not counting.is_models_scene:
            self.say(f"  {OTHER_SCENE}")

    def returned(self, label: str, away_s: float, at: "datetime") -> None:
        self.say(f"{label}: broke off, and is back at {at:%Y-%m-%d %H:%M:%S} after {clock(away_s)}")

    def finished(self, job: "CountJob", summary: CountSummary) -> None:
        self.say(f"{job.label}: {plural(summary.frames, 'frame')}, {describe_counts(summary)}")
        if summary.flags:
            self.say(flagged(summary.flags))
        if _all_carry("learning", summary):
            self.say("  the empty scene cannot be told from people in so few frames: give more, or a model "
                     "of this camera (-m)")  # fmt: skip
        elif _all_carry("camera_moved", summary):
            self.say("  no frame shows the view in which the model learnt, and what it tells is not to be "
                     "relied on: give a model of this camera (-m), or train one on this footage")  # fmt: skip
        elif self._scene_is_learnt and _showed_nobody(summary):
            self.say("  nobody was seen to come or go; who stands or sits still from beginning to end is "
                     "taken for a part of the empty scene")  # fmt: skip
        if summary.expected is not None:
            self.say(
                f"  ends after {summary.frames} of the {summary.expected} frames that it states: it may be "
                "cut off; look at the end, or copy it again"
            )
        if summary.broke_off_s:
            self.say(f"  broke off {clock(summary.broke_off_s)} before the end")
        if summary.dropped:
            total = summary.frames + summary.dropped
            self.say(f"  {summary.dropped} of {total} frames dropped to keep up")
        speed = summary.frames / summary.seconds
        self.say(f"  {summary.seconds:.1f} s, {speed:.1f} frames/s")
        if job.files:
            self.say(f"  written: {', '.join(map(str, job.files))}")

    def loaded(self, dataset: "Dataset") -> None:
        for note in dataset.notes:
            self.say(note)


def progress_bars() -> "Progress":
    """Bars on the standard error, none at first, each between what is done and a note on it."""
    from rich.console import Console  # takes a tenth of a second
    from rich.progress import BarColumn, Progress, TextColumn

    texts = [TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[note]}")]
    return Progress(
        texts[0],
        BarColumn(bar_width=None),
        texts[1],
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )


def _progress_note(task, done: int, total: int | None, people: float | None) -> str:
    if not done:
        return ""
    notes = [f"{done} frames" if total is None else f"{done} of {total} frames"]
    if task.speed:
        notes.append(f"{task.speed:.0f} frames/s")
    if people is not None and not math.isnan(people):
        notes.append(f"{people:.1f} people")
    if task.time_remaining is not None:
        notes.append(f"ETA {clock(task.time_remaining)}")
    return ", ".join(notes)


def _all_carry(flag: str, summary: CountSummary) -> bool:
    """Whether all frames that could be decoded carry a flag, if there are any."""
    n_flagged = summary.flags.get(flag, 0)
    return n_flagged > 0 and n_flagged + summary.flags.get("undecodable", 0) == summary.frames


def _showed_nobody(summary: CountSummary) -> bool:
    """Whether nobody was counted in frames that show something."""
    peak = summary.peak
    return peak is not None and "blank" not in peak.flags and peak.count < _SOMEBODY


def describe_model(model: "CounterModel") -> str:
    """What a model was trained on and how far it can be relied on, on one line.

    The facts of a model file are not to be trusted to be what this version writes.
    """
    name, limits, validation = (model.facts.get(key) for key in ("trained_on", "limits", "cross_validation"))
    how = "cross-validated"
    if isinstance(validation, dict) and "kept" in validation:
        how, validation = f"{how} without pruned labels", validation["kept"]
    parts = [f"trained on {name}" if isinstance(name, str) else "of unknown training"]
    if isinstance(validation, dict) and isinstance(validation.get("mae"), float):
        parts.append(f"MAE {validation['mae']:.2f} there ({how})")
    recalibration = model.facts.get("recalibration")
    if isinstance(recalibration, dict):
        parts.append(f"recalibrated by {recalibration.get('counts')} counts of {recalibration.get('on')}")
    elif isinstance(limits, str):
        parts.append(limits)
    elif model.per_cell:
        parts.append("it knows no camera, and its counts go with the square of the person height")
    return f"model: {'; '.join(parts)}"


def describe_counts(summary: CountSummary) -> str:
    """Mean and peak, and how many frames they are of where others are not to be relied on."""
    if summary.peak is None:
        return "none could be counted"
    peak = summary.peak
    text = (
        f"mean {summary.mean:.1f} people, peak {peak.count:.1f} at {summary.peak_time} (frame {peak.frame})"
    )
    return f"{text}, of {plural(summary.n_reliable, 'reliable frame')}" if summary.few_are_reliable else text
