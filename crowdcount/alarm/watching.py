"""Alarms: footage is watched, and it is told when it gets too crowded and when that is over."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from features.background import MIN_LEARNING_FRAMES

from ..errors import ModelError
from ..jobs import never_ends, source_label, source_stem
from ..model import load_model
from ..plots import PLOT_SUFFIXES, plot_alarm, plotted
from ..rows import open_rows, time_cells, time_columns
from ..scene import load_scene
from ..storage import check_writable, refuse_foreign, refuse_to_replace, set_aside
from ..video import refuse_among_images
from ..watcher import Returned, Show, Watcher, returns, show_nothing
from ..wording import OTHER_SCENE, flagged, plural
from .measuring import KIND, is_table, open_measuring

#: So many seconds without a frame that can be judged are an event, or more where learning a change of light
#: takes longer, or the rows of a table are far apart.
BLIND_AFTER_S = 10.0


@dataclass(frozen=True)
class AlarmEvent:
    """An alarm that is raised or cleared, or that can no longer, or can again, be.

    Attributes
    ----------
    frame, time_s : int, float
        The frame at which it is, and its seconds since the first one; of a silent stream the last frame, and
        when it has been silent for long.
    event : "raised", "cleared", "blind" or "seeing"
    since_s : float
        Since when it has been too crowded, or fine, or frames could not be judged, or could.
    value : float
        The decision value of the frame; NaN when blind.
    flags : tuple of str
        Of the frame, when blind; none of a silent stream.
    """

    frame: int
    time_s: float
    event: str
    since_s: float
    value: float
    flags: tuple[str, ...] = ()


@dataclass
class Alarm:
    """An alarm's state: raised and cleared with hysteresis and minimum durations.

    It is raised when the values have been at least `margin` for `raise_after_s` seconds, and cleared when
    they have been at most -`margin` for `clear_after_s` seconds.
    """

    margin: float = 0.25
    raise_after_s: float = 2.0
    clear_after_s: float = 5.0
    is_up: bool = False
    _since_s: float | None = None

    def update(self, frame: int, time_s: float, value: float) -> AlarmEvent | None:
        """Take the decision value of the next frame that has one; the event that it brings about, if any."""
        turns = value <= -self.margin if self.is_up else value >= self.margin
        if not turns:
            self._since_s = None
            return None
        if self._since_s is None:
            self._since_s = time_s
        if time_s - self._since_s < (self.clear_after_s if self.is_up else self.raise_after_s) - 1e-9:
            return None
        since_s, self._since_s = self._since_s, None
        self.is_up = not self.is_up
        return AlarmEvent(frame, time_s, "raised" if self.is_up else "cleared", since_s, value)

    def interrupt(self) -> None:
        """Nothing was seen for long: the durations begin anew."""
        self._since_s = None


@dataclass
class Sight:
    """Whether frames can be judged: blind after `after_s` seconds without one, until the next that can.

    The time from the frame before to one that cannot be judged is such a time too, as where a stream broke
    off. So it is before one that can, where a recorder paused: that is no event, but `is_behind_break` for
    that frame.
    """

    after_s: float
    is_blind: bool = False
    is_behind_break: bool = False
    _unjudged_since_s: float | None = None
    _last_s: float = math.inf

    @property
    def blind_at_s(self) -> float:
        """When it is blind unless a frame can be judged before."""
        return (self._last_s if self._unjudged_since_s is None else self._unjudged_since_s) + self.after_s

    def wait(self, frame: int, now_s: float) -> AlarmEvent | None:
        """Nothing has come since the last frame up to now; the event that it brings about, if any."""
        if self.is_blind or now_s < self.blind_at_s:
            return None
        if self._unjudged_since_s is None:
            self._unjudged_since_s = self._last_s
        self.is_blind = True
        return AlarmEvent(frame, self.blind_at_s, "blind", self._unjudged_since_s, math.nan)

    def update(
        self, frame: int, time_s: float, value: float, flags: tuple[str, ...] = ()
    ) -> AlarmEvent | None:
        """Take the next frame's decision value, NaN without one; the event that it brings about, if any."""
        last_s, self._last_s = self._last_s, time_s
        self.is_behind_break = time_s - last_s >= self.after_s - 1e-9
        if not math.isnan(value):
            was_blind, self.is_blind, self._unjudged_since_s = self.is_blind, False, None
            return AlarmEvent(frame, time_s, "seeing", time_s, value) if was_blind else None
        if self._unjudged_since_s is None:
            self._unjudged_since_s = last_s if self.is_behind_break else time_s
        if self.is_blind or time_s - self._unjudged_since_s < self.after_s - 1e-9:
            return None
        self.is_blind = True
        return AlarmEvent(frame, time_s, "blind", self._unjudged_since_s, value, flags)


@dataclass
class AlarmSummary:
    """What watching came to: frames that were looked at, those that could not be judged, the number of frames
    with each flag, events, whether the alarm is still raised, the wall-clock time of the first frame, and
    whether the scene is that in which the alarm learnt, `CounterModel.is_for`.
    """

    frames: int = 0
    undecided: int = 0
    flags: Counter = field(default_factory=Counter)
    events: list[AlarmEvent] = field(default_factory=list)
    is_up: bool = False
    start_time: datetime | None = None
    seconds: float = 0.0
    is_models_scene: bool = True


def watch(
    source: str,
    model: str | Path,
    target: str,
    *,
    scene: str | Path | None = None,
    margin: float = Alarm.margin,
    raise_after_s: float = Alarm.raise_after_s,
    clear_after_s: float = Alarm.clear_after_s,
    start_time: datetime | None = None,
    values: list[tuple[float, float]] | None = None,
    plot: Path | None = None,
    show: Show = show_nothing,
    returned: Returned = lambda *_: None,
    **options,
) -> AlarmSummary:
    """Watch footage, or a table of features, with an alarm and write its events.

    Parameters
    ----------
    source : str
        See `open_measuring`, which takes the `options` (start, end, every, fps, timeout_s,
        reconnect_s) too; live sources are watched until they end or the program is interrupted.
    model : path
        Model file of `train_alarm`.
    target : str
        CSV file of events, or "-"; an event is in it as soon as it is known.
    scene : path, optional
        Scene file; by default the model's own.
    margin, raise_after_s, clear_after_s
        See `Alarm`.
    start_time : datetime, optional
        Wall-clock time of the first frame, by default when a camera or stream was opened, or what a table of
        counts tells; adds the column `time`.
    values : list, optional
        Gets the time and the decision value (NaN: none) of each frame.
    plot : Path, optional
        Picture to draw of these, and of when the alarm was raised, over time; see `plotted`.
    show : callable
        As for `train_alarm`.
    returned : callable
        Is told that a live source is back which broke off, see `crowdcount.watcher.Watcher`.

    Raises
    ------
    ModelError, VideoError, SceneError, DatasetError, OutputError
    """
    began = time.perf_counter()
    loaded = load_model(model, KIND)
    given = loaded.scene_for(None if scene is None else load_scene(scene))
    if is_table(source) != (loaded.scene is None):
        has, wants = ("features", "footage") if is_table(source) else ("footage", "features")
        raise ModelError(
            f"the alarm was trained on {wants}, but {source_label(source)} is {has}; train one on such data"
        )
    alarm, summary = Alarm(margin, raise_after_s, clear_after_s), AlarmSummary()
    person_height = None if is_table(source) else loaded.footage_height()
    with open_measuring(source, scene=given, person_height=person_height, **options) as measuring:
        loaded.check_columns(measuring.columns)
        summary.is_models_scene = loaded.is_for(measuring.scene)
        sight = Sight(max(BLIND_AFTER_S, (MIN_LEARNING_FRAMES + 1) * measuring.gap_s))
        summary.start_time = start_time or measuring.start_time
        tell_returns = returns(returned, source_label(source), measuring.absences, summary.start_time)
        is_live = measuring.opened is not None
        if is_live and target != "-":
            set_aside(target)
        values = [] if values is None and plot is not None else values

        def draw(path: Path) -> None:
            spans = list(_spans(summary.events))
            plot_alarm(values, spans, margin, path, source_label(source), summary.start_time)

        with (
            plotted(plot, draw, values, is_live),
            open_events(target, summary.start_time) as write,
        ):

            def tell(event: AlarmEvent | None) -> None:
                if event is not None:
                    write(event)
                    summary.events.append(event)

            last, came_at = None, math.inf
            for frame in measuring.frames():
                if frame is None:  # nothing comes
                    if last is not None:
                        tell(sight.wait(last.index, last.time_s + time.monotonic() - came_at))
                    continue
                last, came_at = frame, time.monotonic()
                tell_returns()
                value = math.nan
                if frame.features is not None:
                    value = float(loaded.regressor.values(frame.features[None])[0])
                tell(sight.update(frame.index, frame.time_s, value, frame.flags))
                if sight.is_blind or sight.is_behind_break:
                    alarm.interrupt()
                if not math.isnan(value):
                    tell(alarm.update(frame.index, frame.time_s, value))
                summary.frames += 1
                summary.undecided += math.isnan(value)
                summary.flags.update(frame.flags)
                if values is not None:
                    values.append((frame.time_s, value))
                show(measuring.name, summary.frames, measuring.expected, None)
            end = options.get("end")
            if is_live and end is not None and end.time_s is not None:  # it may have been away up to then
                tell(sight.wait(last.index, end.time_s))
    summary.is_up = alarm.is_up
    summary.seconds = time.perf_counter() - began
    return summary


@contextmanager
def open_events(target: str, start_time: datetime | None) -> Iterator[Callable[[AlarmEvent], None]]:
    """Open a CSV file, or the standard output for "-", for events, as `open_rows`; gives what writes one."""
    columns = {"frame": int, **time_columns(start_time)}
    columns |= {"event": str, "since_s": float, "value": float, "flags": str}
    with open_rows(target, "csv", columns) as rows:

        def write(event: AlarmEvent) -> None:
            cells = {"frame": event.frame, **time_cells(event.time_s, start_time), "event": event.event}
            value = None if math.isnan(event.value) else round(event.value, 4)
            rows.write(
                cells | {"since_s": round(event.since_s, 6), "value": value, "flags": ";".join(event.flags)}
            )

        yield write


def run_alarm(
    source: str,
    model: str | Path,
    *,
    output: str | None = None,
    plot: str | Path | None = None,
    scene: str | Path | None = None,
    start_time: datetime | None = None,
    watcher: Watcher,
    **options,
) -> tuple[AlarmSummary, str]:
    """Watch a source as `watch` with its `options`; the summary, and where the events are.

    `output` is by default STEM.events.csv in the working folder; `plot` a picture to draw of the values and
    events over time.
    """
    target = output or f"{source_stem(source)}.events.csv"
    if not never_ends(source):  # of which what is there is set aside
        refuse_foreign(target, ("frame", "time_s", "event"))
    if target != "-":
        refuse_to_replace(target, source, model, scene)
        check_writable(target, (".csv",))
    if plot is not None:
        refuse_to_replace(plot, source, model, scene, target)
        refuse_among_images(plot, source)
        check_writable(plot, PLOT_SUFFIXES)
    with watcher.progress() as show:
        show(f"looking at {source_label(source)}", 0, None, None)
        summary = watch(
            source, model, target, scene=scene, start_time=start_time, plot=plot and Path(plot), show=show,
            returned=watcher.returned, **options,
        )  # fmt: skip
    return summary, target


def _spans(events: Sequence[AlarmEvent]) -> Iterator[tuple[float, float]]:
    """From when to when the alarm was raised, seconds; infinity where it still is."""
    raised_s = None
    for event in events:
        if event.event == "raised":
            raised_s = event.time_s
        elif event.event == "cleared":
            yield raised_s, event.time_s
            raised_s = None
    if raised_s is not None:
        yield raised_s, math.inf


def alarm_summary(summary: AlarmSummary, written: list[str]) -> list[str]:
    """What watching came to, for people."""
    raised = sum(event.event == "raised" for event in summary.events)
    times = "once" if raised == 1 else f"{raised} times"
    still = ", and still raised at the end" if summary.is_up else ""
    lines = [f"{plural(summary.frames, 'frame')} looked at, alarm raised {times}{still}"]
    if not summary.is_models_scene:
        lines.append(f"  {OTHER_SCENE}")
    if summary.undecided:
        lines.append(f"  {plural(summary.undecided, 'frame')} could not be judged")
    if summary.flags:
        lines.append(flagged(summary.flags))
    lines.append(f"  {summary.seconds:.1f} s, {summary.frames / summary.seconds:.1f} frames/s")
    if written:
        lines.append(f"  written: {', '.join(written)}")
    return lines
