"""Alarms: footage is watched, and it is told when it gets too crowded and when that is over."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from .counting import ASSUMED_RATE, learn_scene, scene_of_footage
from .datasets import csv_lines, load_dataset
from .drawing import PLOT_SUFFIXES, plot_alarm
from .errors import DatasetError, ModelError, OutputError
from .jobs import Show, Watcher, is_foreign, source_stem
from .model import load_model
from .pipeline import Pipeline
from .results import open_rows, time_cells
from .scene import Scene, load_scene
from .storage import check_writable, same_file, set_aside
from .video import Frame, Position, open_source, read_ahead

#: Regions that an alarm looks at: the whole and six cells. How crowded it is needs less detail than a count.
GRIDS = ((1, 1), (3, 2))
#: Kind of the model's file.
KIND = "alarm"
TABLE_SUFFIXES = (".csv", ".npz", ".mat")
_NOT_FEATURES = ("frame", "time_s", "time", "flags")
_AHEAD = 4


@dataclass(frozen=True, eq=False)
class MeasuredFrame:
    """One frame: its number from 0, seconds since the first one, and features (d,) or None without any."""

    index: int
    time_s: float
    features: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Measuring:
    """Footage or a table of features, opened; made by `open_measuring`.

    Attributes
    ----------
    name : str
    columns : tuple of str
        Names of the features.
    frames : callable
        Gives the frames (MeasuredFrame), in order, once.
    expected : int or None
        About how many frames there are, as far as it is known.
    scene : Scene or None
        None for a table.
    rate : float or None
        Frames measured per second of footage; None for a table.
    person_height : float or None
        See `CounterModel`.
    is_live : bool
        Whether the frames come but once, from a camera or a stream.
    """

    name: str
    columns: tuple[str, ...]
    frames: Callable[[], Iterator[MeasuredFrame]]
    expected: int | None = None
    scene: Scene | None = None
    rate: float | None = None
    person_height: float | None = None
    is_live: bool = False


@dataclass(frozen=True)
class AlarmEvent:
    """An alarm that is raised or cleared.

    Attributes
    ----------
    frame, time_s : int, float
        The frame at which it is, and its seconds since the first one.
    event : "raised" or "cleared"
    since_s : float
        Since when it has been too crowded, or fine.
    value : float
        The decision value of the frame.
    """

    frame: int
    time_s: float
    event: str
    since_s: float
    value: float


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
        """Take the next frame's decision value; the event that it brings about, if any."""
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


@dataclass
class AlarmSummary:
    """What watching came to: frames, those without a value, events, whether the alarm is still raised."""

    frames: int = 0
    undecided: int = 0
    events: list[AlarmEvent] = field(default_factory=list)
    is_up: bool = False
    seconds: float = 0.0


def show_nothing(phase: str, done: int, total: int | None, people: float | None) -> None:
    pass


def is_table(source: str) -> bool:
    """Whether a source is a table of ready-made features rather than footage."""
    return "://" not in source and Path(source).suffix.lower() in TABLE_SUFFIXES


@contextmanager
def open_measuring(
    source: str,
    *,
    scene: Scene | None = None,
    start: Position | None = None,
    end: Position | None = None,
    every: int = 1,
    fps: float | None = None,
    timeout_s: float = 10.0,
    reconnect_s: float = 0.0,
    person_height: float | None = None,
) -> Iterator[Measuring]:
    """Open footage, or a table of features, for an alarm; closes it in the end.

    Parameters
    ----------
    source : str
        A CSV file with a header of `frame` (else the rows are numbered from 0), `time_s` (else frame / fps)
        and features, such as the counts of `crowdcount count`; a table of published features (.mat, .npz);
        or anything that `open_source` takes.
    scene : Scene, optional
        By default estimated from the footage.
    start, end, every, fps, timeout_s, reconnect_s
        As for `open_counting`. A table's frames are taken to be one second apart without `fps` and times.
    person_height : float, optional
        As for `Pipeline`.

    Raises
    ------
    DatasetError, VideoError, SceneError
    """
    if is_table(source):
        columns, rows = _read_table(Path(source), fps or ASSUMED_RATE)
        within = [
            row
            for row in rows
            if (start is None or start.reached(row.index, row.time_s))
            and (end is None or not end.reached(row.index, row.time_s))
        ][::every]
        if not within:
            raise DatasetError(f"{source} has no row from {start} to {end}; choose another start or end")
        yield Measuring(source, columns, lambda: iter(within), len(within))
        return
    with open_source(source, fps=fps, timeout_s=timeout_s, reconnect_s=reconnect_s) as opened:
        scene = scene_of_footage(opened) if scene is None else scene.fitted(opened.info.size_wh)
        rate = (opened.info.fps or ASSUMED_RATE) / every
        pipeline = Pipeline(scene, rate, GRIDS, person_height=person_height)

        def measured(frame: Frame) -> MeasuredFrame:
            features = None
            if frame.image_bgr is not None:
                measurement = pipeline.measure(frame.image_bgr)
                if "learning" not in measurement.flags:
                    features = measurement.features.ravel()
            return MeasuredFrame(frame.index, frame.time_s, features)

        def frames() -> Iterator[MeasuredFrame]:
            learn_scene(pipeline, opened)
            with read_ahead(opened.frames(start, end, every), _AHEAD) as decoded:
                yield from map(measured, decoded)

        length = opened.info.frame_count
        expected = None if length is None or start or end else math.ceil(length / every)
        yield Measuring(
            opened.info.name,
            tuple(pipeline.schema.names),
            frames,
            expected,
            scene,
            rate,
            pipeline.person_height,
            opened.info.is_live,
        )


def _read_table(path: Path, fps: float) -> tuple[tuple[str, ...], list[MeasuredFrame]]:
    """Names of the features and the rows of a table; a row with a blank has no features."""
    if path.suffix.lower() != ".csv":
        dataset = load_dataset(path)
        if dataset.features is None:
            raise DatasetError(f"{path} holds no table of features; give one, or footage")
        rows = zip(dataset.numbers.tolist(), dataset.features, strict=True)
        return dataset.feature_names, [MeasuredFrame(k, k / fps, values) for k, values in rows]
    lines = csv_lines(path)
    header = [cell.strip() for cell in next(lines, (1, []))[1]]
    chosen = [k for k, name in enumerate(header) if name not in _NOT_FEATURES]
    if not chosen or len(set(header)) < len(header):
        raise DatasetError(f"{path}, line 1: expected a header that names each feature once; add it")
    rows = []
    for line, cells in lines:
        where = f"{path}, line {line}"
        if len(cells) != len(header):
            raise DatasetError(f"{where}: expected {len(header)} values, found {len(cells)}; correct it")
        named = dict(zip(header, cells, strict=True))
        frame = len(rows)
        if "frame" in named:
            frame = int(_number(named["frame"], where))
        time_s = _number(named["time_s"], where) if "time_s" in named else frame / fps
        if rows and (frame <= rows[-1].index or time_s < rows[-1].time_s):
            raise DatasetError(f"{where}: expected frames and times that increase; sort the lines")
        texts = [cells[k].strip() for k in chosen]
        features = np.array([_number(text, where) for text in texts]) if all(texts) else None
        rows.append(MeasuredFrame(frame, time_s, features))
    if not rows:
        raise DatasetError(f"{path}: expected a line for each frame, found none")
    return tuple(header[k] for k in chosen), rows


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DatasetError(f"{where}: expected a number, found {text.strip()[:40]!r}; correct it")
    return value


def watch(
    source: str,
    model: str | Path,
    target: str,
    *,
    scene: str | Path | None = None,
    margin: float = 0.25,
    raise_after_s: float = 2.0,
    clear_after_s: float = 5.0,
    start_time: datetime | None = None,
    values: list[tuple[float, float]] | None = None,
    show: Show | None = None,
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
        Wall-clock time of the first frame; adds the column `time`.
    values : list, optional
        Gets the time and the decision value (NaN: none) of each frame, for a plot.
    show : callable, optional
        As for `train_alarm`.

    Raises
    ------
    ModelError, VideoError, SceneError, DatasetError, OutputError
    """
    began = time.perf_counter()
    show = show or show_nothing
    loaded = load_model(model, KIND)
    given = loaded.scene if scene is None else load_scene(scene)
    if is_table(source) != (loaded.scene is None):
        has, wants = ("features", "footage") if is_table(source) else ("footage", "features")
        raise ModelError(f"the alarm was trained on {wants}, but {source} is {has}; train one on such data")
    alarm, summary = Alarm(margin, raise_after_s, clear_after_s), AlarmSummary()
    person_height = None if is_table(source) else loaded.footage_height()
    with open_measuring(source, scene=given, person_height=person_height, **options) as measuring:
        loaded.check_columns(measuring.columns)
        if measuring.is_live and target != "-":
            set_aside(target)
        with open_events(target, start_time) as write:
            for frame in measuring.frames():
                value = math.nan
                if frame.features is not None:
                    value = float(loaded.regressor.values(frame.features[None])[0])
                    event = alarm.update(frame.index, frame.time_s, value)
                    if event is not None:
                        write(event)
                        summary.events.append(event)
                summary.frames += 1
                summary.undecided += math.isnan(value)
                if values is not None:
                    values.append((frame.time_s, value))
                show(measuring.name, summary.frames, measuring.expected, None)
    summary.is_up = alarm.is_up
    summary.seconds = time.perf_counter() - began
    return summary


@contextmanager
def open_events(target: str, start_time: datetime | None = None) -> Iterator[Callable[[AlarmEvent], None]]:
    """Open a CSV file, or the standard output for "-", for events, as `open_rows`; gives what writes one."""
    columns = {"frame": int, "time_s": float}
    if start_time is not None:
        columns["time"] = start_time
    columns |= {"event": str, "since_s": float, "value": float}
    with open_rows(target, "csv", columns) as rows:

        def write(event: AlarmEvent) -> None:
            cells = {"frame": event.frame, **time_cells(event.time_s, start_time), "event": event.event}
            rows.write(cells | {"since_s": round(event.since_s, 6), "value": round(event.value, 4)})

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
    targets = [path for path in (None if target == "-" else target, plot) if path is not None]
    check_targets(targets, [source, model, scene])
    if output is None and is_foreign(Path(target)):
        raise OutputError(f"{target} is not from crowdcount; move it, or choose another name with -o")
    if target != "-":
        check_writable(target, (".csv",))
    if plot is not None:
        check_writable(plot, PLOT_SUFFIXES)
    values = None if plot is None else []
    with watcher.progress() as show:
        show(f"looking at {source}", 0, None, None)
        summary = watch(
            source, model, target, scene=scene, start_time=start_time, values=values, show=show, **options
        )
    if plot is not None:
        spans = list(_spans(summary, values))
        plot_alarm(values, spans, options.get("margin", Alarm.margin), plot, source, start_time)
    return summary, target


def _spans(summary: AlarmSummary, values: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """From when to when the alarm was raised, seconds."""
    raised_s = None
    for event in summary.events:
        if event.event == "raised":
            raised_s = event.time_s
        else:
            yield raised_s, event.time_s
    if summary.is_up:
        yield raised_s, values[-1][0]


def check_targets(targets: Sequence[str | Path], read: Sequence[str | Path | None]) -> None:
    """OutputError when a file that is to be written is one that is read, or two of them are the same."""
    for k, target in enumerate(targets):
        if any(file is not None and same_file(Path(target), Path(file)) for file in [*read, *targets[:k]]):
            raise OutputError(
                f"{target} would be written over, but is used otherwise too; choose another name"
            )
