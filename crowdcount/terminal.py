"""What a person sees of a job: notes, a progress bar and a summary on the standard error, and reports."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from .counting import Counting
from .jobs import CountJob, Show, show_nothing
from .model import CounterModel
from .results import CountSummary, clock, plural, print_note

if TYPE_CHECKING:  # loads scikit-learn, which counting does without
    from rich.progress import Progress

    from .alarm.training import AlarmTraining
    from .alarm.watching import AlarmSummary
    from .forecast import Forecast
    from .learning.audit import Audit
    from .learning.compression import Compression
    from .learning.datasets import Dataset
    from .learning.fitting import RemovedLabel
    from .learning.profile_training import ProfileFit
    from .learning.recalibration import Recalibration
    from .learning.training import DirectionErrors, Evaluation, Training

#: Removed labels that a report lists.
LISTED_LABELS = 20
#: What is told of counts by a model of one camera in another region, or with other person heights.
_OTHER_SCENE = (
    "the region or the person heights are not those in which the model learnt, and what it tells is not to "
    "be relied on: leave --scene out, or train with it"
)
#: Counts below are taken for nobody.
_SOMEBODY = 0.5
_LEARNT = "the model has learnt from most of these counts"
_OTHER_VIEW = "the footage shows another view than the model was trained on, as of a camera that was moved"


class Terminal:
    """A `crowdcount.jobs.Watcher` that tells a person.

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

    def started(self, counting: Counting) -> None:
        info = counting.info
        rate = f"{info.fps:g} frames/s" if info.fps else "unknown rate"
        length = "" if info.frame_count is None else f", {plural(info.frame_count, 'frame')} as stated"
        self.say(f"{info.name}: {info.size_wh[0]}x{info.size_wh[1]}, {rate}{length}")
        if not (info.fps or info.is_live):
            self.say(f"  times are as of {plural(round(info.rate), 'frame')}/s: give the rate as --fps")
        size = "{}x{}".format(*counting.working_size_wh)
        people = f"a typical person {counting.model.person_height:g} pixels tall or less"
        for line in [*counting.scene.describe(), describe_model(counting.model)]:
            self.say(f"  {line}")
        self.say(f"  measured at {size} pixels, {people}")
        self._scene_is_learnt = counting.scene.view is None  # from this footage
        if not counting.is_models_scene:
            self.say(f"  {_OTHER_SCENE}")

    def finished(self, job: CountJob, summary: CountSummary) -> None:
        self.say(f"{job.label}: {plural(summary.frames, 'frame')}, {describe_counts(summary)}")
        if summary.flags:
            self.say(_flagged(summary.flags))
        n_learning = summary.flags.get("learning", 0)
        if n_learning and n_learning + summary.flags.get("undecodable", 0) == summary.frames:
            self.say("  the empty scene cannot be told from people in so few frames: give more, or a model "
                     "of this camera (-m)")  # fmt: skip
        elif self._scene_is_learnt and summary.peak is not None and summary.peak.count < _SOMEBODY:
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


def describe_model(model: CounterModel) -> str:
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
    return "model: " + "".join(c if c.isprintable() else " " for c in "; ".join(parts))


def training_report(training: "Training", model_path: str) -> list[str]:
    """What a training found, for people."""
    removed = training.removed
    biases = " ".join(f"{bias:+.2f}" for bias in training.block_biases)
    unused = training.n_unlabelled and not training.setting.takes_unlabelled
    labels = [count for learnt in training.model.facts["labels"] for count in learnt.values()]
    n_labels = len(labels)
    for one in removed:
        labels.remove(one.label)
    without = f" without {plural(len(removed), 'pruned label')}" if removed else ""
    directions = training.directions
    unlabelled = f"{training.n_unlabelled} unlabelled frames{' (not used)' if unused else ''}"
    return [
        f"{model_path}: trained on {n_labels} labelled ({min(labels):g} to {max(labels):g} people) "
        f"and {unlabelled}{_of_recordings(training)} in {training.seconds:.1f} s",
        *_lost(training.n_lost_labels),
        f"cross-validation on {len(training.block_biases)} blocks{without}: {_metrics(training.kept)}",
        *([f"with all labels: {_metrics(training.metrics)}"] if removed else []),
        f"bias per block: {biases}",
        *_interval(training),
        f"chosen by it: {training.setting.description}{_averaged(training)}{_local(training)}",
        *_removed(training),
        *_local_labels(training.is_local, "error"),
        *([] if training.profile is None else _profile(training.profile)),
        *([] if directions is None else _directions(directions.errors, ", cross-validated")),
    ]


def _of_recordings(training: "Training") -> str:
    n_recordings = len(training.model.facts["labels"])
    return "" if n_recordings == 1 else f" of {n_recordings} recordings"


def _lost(n_labels: int) -> list[str]:
    if not n_labels:
        return []
    return [f"{plural(n_labels, 'label')} left out, of frames that are missing, damaged or of another shape"]


def _averaged(training: "Training") -> str:
    if training.n_averaged == 1:
        return ""
    return f"; averaged with {plural(training.n_averaged - 1, 'other')} that are about as good"


def _interval(training: "Training") -> list[str]:
    model = training.model
    if math.isfinite(model.quantile):
        return []
    return [
        f"no interval: {plural(training.metrics.n, 'label')} cannot promise {_percent(model.level)}; label "
        "more frames, or choose a lower --level"
    ]


def _local(training: "Training") -> str:
    if training.local is None:
        return ""
    return f"; mixed with the sum of local counts, learnt from dots (lam {training.local.lam:g})"


def audit_report(audit: "Audit", files: Sequence[str]) -> list[str]:
    """What an audit found, for people, and where it is written."""
    lines = [f"{len(audit.labels)} labels in {audit.seconds:.1f} s"]
    lines += [*_lost(audit.n_lost_labels), audit.verdict]
    if audit.removed:
        lines += _listed(audit.removed, "; -o FILE lists all")
    return lines + [f"written: {file}" for file in files]


def evaluation_report(evaluation: "Evaluation") -> list[str]:
    """What an evaluation found, for people."""
    lines = [
        f"{plural(evaluation.metrics.n, 'labelled frame')} in {evaluation.seconds:.1f} s",
        *_lost(evaluation.n_lost_labels),
        _metrics(evaluation.metrics),
        *([] if evaluation.directions is None else _directions(evaluation.directions)),
    ]
    if not math.isnan(evaluation.coverage):
        lines.append(
            f"the interval holds the count of {evaluation.coverage:.0%} of the frames; the model promises "
            f"{_percent(evaluation.level)}"
        )
    if not evaluation.is_models_scene:
        lines.append(_OTHER_SCENE)
    elif evaluation.outside >= 0.01:
        lines.append(
            f"{evaluation.outside:.0%} of the frames are unlike those that the model learnt from, or fuller: "
            "their counts are extrapolated"
        )
    if evaluation.is_learnt:
        lines.append(f"{_LEARNT}: its error on others is larger; evaluate on counts of other frames")
    if evaluation.camera_moved:
        lines.append(f"{_OTHER_VIEW}: give footage of that view, or train or recalibrate on this")
    return lines


def recalibration_report(found: "Recalibration", path: str) -> list[str]:
    """What a recalibration changed, for people."""
    from .learning.jobs import BUNDLED

    n, level = found.before.n, found.model.level
    lines = [
        f"{path}: corrected by {plural(n, 'count')} in {found.seconds:.1f} s",
        *_lost(found.n_lost_labels),
        f"count' = {found.correction.offset:+.2f} + {found.correction.scale:.3f} count",
        f"before: {_metrics(found.before)}",
        f"after (each count by the others alone): {_metrics(found.after)}",
        f"half width of the interval in people, at 10: {found.former_quantile * 10**0.5:.1f} before, "
        f"{found.model.quantile * 10**0.5:.1f} now",
    ]
    if found.slips:
        named = (f"frame {one.number} ({one.label:g}, not {one.expected:.1f})" for one in found.slips)
        lines.append(
            f"{plural(len(found.slips), 'count')} left out, far from what the others tell: {', '.join(named)}"
            "; correct what is wrong, or count more such frames"
        )
    if found.is_learnt:
        lines.append(f"{_LEARNT}: the interval is at least as wide as before; give counts of other frames")
    elif not found.keeps_level:
        lines.append(
            f"{plural(n, 'count')} can promise an interval for {n / (n + 1):.0%} of the frames at most, not "
            f"for {_percent(level)}: it is at least as wide as before"
        )
    if found.camera_moved:
        lines.append(
            f"{_OTHER_VIEW}: train on this footage, or recalibrate {BUNDLED}, which knows no camera, and "
            "take what has the lower error on counts of other frames"
        )
    if found.are_alike:
        lines.append(
            "the counts are all alike and tell nothing of the scale, which stays as it was; count fuller or "
            "emptier frames too"
        )
    if found.contradicts:
        how = "hardly rise with what it counts, and are followed by a tenth alone"
        if found.is_far:
            how = "are far from what it counts"
        lines.append(
            f"the counts contradict the model: they {how}; check that they are of this camera and of these "
            "frames, numbered from 0, or train on them"
        )
    return lines + _local_labels(found.is_local, "correction")


def _local_labels(are_local: bool, what: str) -> list[str]:
    from .learning.measuring import SHORT_STRETCH

    if not are_local:
        return []
    return [
        f"the labels lie within {SHORT_STRETCH:.0%} of the footage: {what} and interval may not hold for the "
        "rest; spread them over it"
    ]


def _directions(errors: "DirectionErrors", how: str = "") -> list[str]:
    named = (("right-moving", errors.right), ("left-moving", errors.left), ("their sum", errors.both))
    return [f"{name}{how}: {_metrics(metrics)}" for name, metrics in named]


def _profile(fit: "ProfileFit") -> list[str]:
    setting = fit.setting
    loss = "square loss" if setting.p is None else f"Huber loss with p {setting.p}, kappa {setting.kappa:.3g}"
    return [
        f"density over depth in {len(fit.predictor.center)} bands, cross-validated: a person is misplaced by "
        f"{fit.errors.distance:.3f} of the depth (mean profile: {fit.errors.baseline:.3f})",
        f"its own integral as a count, before it is scaled to the count: {_metrics(fit.integral)}",
        f"chosen by it: quadratic kernel with coef0 {setting.coef0:g}, lam {setting.lam:g}, {loss}",
    ]


def compression_report(found: "Compression", path: str) -> list[str]:
    """What a compression found, for people."""
    full, chosen = found.full, found.chosen
    header = "".join(f"{name:>12s}" for name in chosen.selected)
    lines = [
        "mean absolute error on blocks of frames that neither the model nor its replica has seen, to the "
        "right with selected frames in the place of prototypes; and how far its counts are from the model's:",
        f"prototypes    error  change  from model       KiB  ms/frame{header}",
        f"{full.prototypes:10d} {full.metrics.mae:8.3f} {full.kibibytes:29.0f} {full.milliseconds:9.2f}"
        "  (the model)",
    ]
    for size in found.sizes:
        selected = "".join(f"{error:12.3f}" for error in size.selected.values())
        lines.append(
            f"{size.prototypes:10d} {size.metrics.mae:8.3f} {_change(size, full):>7s} "
            f"{size.difference:11.3f} {size.kibibytes:9.0f} {size.milliseconds:9.2f}{selected}"
        )
    return [*lines, f"{path}: {plural(chosen.prototypes, 'prototype')}, made in {found.seconds:.1f} s"]


def _change(size, full) -> str:
    return f"{size.metrics.mae / full.metrics.mae - 1:+.1%}" if full.metrics.mae else "unknown"


def forecast_report(made: "Forecast", written: Sequence[str]) -> list[str]:
    """What a forecast and its back-test found, for people."""
    from .forecast import cycle_name, length_text

    known = made.known_counts
    lines = [
        f"the next {length_text(made.period_s)}, after {plural(made.n_counted, 'such period')} with counts: "
        f"mean {known.mean():.1f} people, peak {known.max():.1f}",
        f"chosen by cross-validation: {made.settings}",
        f"mean absolute error in the back-test on {plural(made.n_tested, 'period')}:",
        *(f"  {name:22s} {error:8.3f}" for name, error in made.errors.items()),
    ]
    if n_unknown := len(made.counts) - len(known):
        lines.append(f"not forecast: {plural(n_unknown, 'step')} in which most periods have no counts")
    lines += [
        f"counted twice: the hour from {begin:%Y-%m-%d %H:%M} on, as where summer time ends; it is averaged"
        for begin in made.twice
    ]
    if made.passed_over_s:
        end = made.start and made.start + timedelta(seconds=made.times_s[0] - made.passed_over_s)
        since = f"{length_text(made.passed_over_s)} from {f'{end:%A, %Y-%m-%d %H:%M}' if end else 'there'} on"
        lines.append(f"passed over: {since}, as no earlier {cycle_name(made.period_s)} has counts then")
    if not made.has_interval:
        tested = plural(made.n_tested, "tested period")
        lines.append(f"no interval: {tested} cannot promise it; count more footage, or lower --level")
    return lines + [f"written: {path}" for path in written]


def alarm_report(training: "AlarmTraining", model_path: str) -> list[str]:
    """What the training of an alarm found, for people."""
    shared = f", {training.n_shared} more in stretches with a share" if training.n_shared else ""
    is_thinned = training.n_fitted < training.n_called + training.n_shared
    thinned = f", {training.n_fitted} of them evenly spaced in each kind," if is_thinned else ""
    errors = [
        text.format(error)
        for text, error in (
            ("{:.0%} of the crowded calls missed", training.missed),
            ("{:.0%} of the fine ones false alarms", training.false),
            ("shares off by {:.2f} on average", training.share_error),
        )
        if not math.isnan(error)
    ]
    lines = [
        f"{model_path}: trained on {plural(training.n_called, 'called frame')} "
        f"({plural(len(training.operators), 'operator')}){shared}{thinned} in {training.seconds:.1f} s",
        f"cross-validation: {', '.join(errors)}",
        f"chosen by it: calls believed {training.belief}",
    ]
    if training.only_answer:
        said = "calls" if training.operators else "shares"
        remedy = "leave out an operator's" if len(training.operators) > 1 else "correct them"
        lines.append(
            f"the alarm says {training.only_answer} of every frame: {said} contradict each other too much, "
            f"or too few are of the other kind; add {said}, or {remedy}"
        )
    if training.one_block:
        lines.append(
            "it says little: all crowded calls, or all fine ones, lie in one of five blocks of the called "
            "frames; call frames of other times too"
        )
    if training.n_unjudged:
        unjudged = plural(training.n_unjudged, "called frame")
        lines.append(f"{unjudged} could not be judged, as in watching, and left out")
    if training.n_silent:
        part = "take part" if training.takes_silent else "are left out"
        lines.append(f"the {plural(training.n_silent, 'frame')} that nobody called {part}")
    if training.doubted:
        listed = " ".join(map(str, training.doubted[:LISTED_LABELS]))
        more = len(training.doubted) - LISTED_LABELS
        rest = f" and {more} more; --json lists all" if more > 0 else ""
        lines.append(f"calls not believed, frames: {listed}{rest}")
    return lines


def alarm_summary(summary: "AlarmSummary", written: list[str]) -> list[str]:
    """What watching came to, for people."""
    raised = sum(event.event == "raised" for event in summary.events)
    times = "once" if raised == 1 else f"{raised} times"
    still = ", and still raised at the end" if summary.is_up else ""
    lines = [f"{plural(summary.frames, 'frame')} looked at, alarm raised {times}{still}"]
    if not summary.is_models_scene:
        lines.append(f"  {_OTHER_SCENE}")
    if summary.undecided:
        lines.append(f"  {plural(summary.undecided, 'frame')} could not be judged")
    if summary.flags:
        lines.append(_flagged(summary.flags))
    lines.append(f"  {summary.seconds:.1f} s, {summary.frames / summary.seconds:.1f} frames/s")
    if written:
        lines.append(f"  written: {', '.join(written)}")
    return lines


def _flagged(flags: Mapping[str, int]) -> str:
    return f"  frames flagged: {', '.join(f'{flag} {number}' for flag, number in sorted(flags.items()))}"


def _percent(level: float) -> str:
    """The level of an interval: 90%, 99.9%."""
    return f"{100 * level:g}%"


def _metrics(metrics) -> str:
    relative = "unknown (nobody in any frame)" if math.isnan(metrics.mre) else f"{metrics.mre:.1%}"
    return (
        f"MAE {metrics.mae:.3f}, MSE {metrics.mse:.3f}, RMSE {metrics.rmse:.3f}, MRE {relative}, "
        f"bias {metrics.bias:+.3f}"
    )


def _removed(training: "Training") -> list[str]:
    removed = training.removed
    if not removed:
        return [training.setting.unpruned]
    return [
        f"{plural(len(removed), 'label')} pruned, further from what the others tell than noise is "
        "(prediction: by a model that has not seen the block; refinement: the lower, the odder):",
        *_listed(removed, "; --json lists all"),
    ]


def _listed(removed: Sequence["RemovedLabel"], where_all: str) -> list[str]:
    """The first labels as a table."""
    lines = ["   frame    label  prediction  refinement"]
    lines += [
        f"{label.number:8d} {label.label:8.1f}  {label.prediction:10.1f}  {label.refinement:10d}"
        f"{'' if label.recording is None else f'  {label.recording}'}"
        for label in removed[:LISTED_LABELS]
    ]
    if len(removed) > LISTED_LABELS:
        lines.append(f"   and {len(removed) - LISTED_LABELS} more{where_all}")
    return lines


def describe_counts(summary: CountSummary) -> str:
    """Mean and peak, and how many frames they are of where others are not to be relied on."""
    if summary.peak is None:
        return "none could be counted"
    peak = summary.peak
    text = (
        f"mean {summary.mean:.1f} people, peak {peak.count:.1f} at {summary.peak_time} (frame {peak.frame})"
    )
    return f"{text}, of {plural(summary.n_reliable, 'reliable frame')}" if summary.few_are_reliable else text
