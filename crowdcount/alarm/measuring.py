"""What an alarm learns from and judges: the features of footage, or a table of ready-made ones."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

from features.empty_scene import EmptyScene

from ..errors import DatasetError
from ..learning.datasets import LARGEST_FEATURE, load_dataset
from ..overview import Overview
from ..pipeline import Pipeline
from ..results import COUNTS, DIRECTIONS, is_reliable, read_counts, read_start_time
from ..scene import Scene
from ..smoothing import Looks, stride
from ..tables import number_in, table_rows
from ..video import ASSUMED_RATE, FEATURE_SUFFIXES, Frame, Position, check_window, open_source

#: Kind of an alarm's model file.
KIND = "alarm"
#: Regions that an alarm looks at: the whole and six cells. How crowded it is needs less detail than a count.
GRIDS = ((1, 1), (3, 2))
_COUNTS = (".jsonl", ".parquet")
TABLE_SUFFIXES = (".csv", *_COUNTS, *FEATURE_SUFFIXES)
_NOT_FEATURES = ("frame", "time_s", "time", "flags")
#: A live source that sends nothing is told of once in so many seconds.
_TICK_S = 1.0


@dataclass(frozen=True, eq=False)
class MeasuredFrame:
    """One frame.

    Attributes
    ----------
    index, time_s : int, float
        Its number from 0, or a data set's own, and seconds since the first one.
    features : (d,) float64 or None
        None where it cannot be judged: it did not decode, lacks a value, or is flagged as unreliable.
    flags : tuple of str
        As of a `FrameCount`.
    """

    index: int
    time_s: float
    features: np.ndarray | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Measuring:
    """Footage or a table of features, opened; made by `open_measuring`.

    Attributes
    ----------
    name : str
    columns : tuple of str
        Names of the features.
    frames : callable
        Gives the frames (MeasuredFrame), in order, once; None where a live source sends none for a second.
    gap_s : float
        Seconds from one frame to the next, as they usually are.
    expected : int or None
        About how many frames there are, as far as it is known.
    scene : Scene or None
        None for a table.
    rate : float or None
        Frames measured per second of footage; None for a table.
    person_height : float or None
        See `CounterModel`.
    opened : datetime or None
        Of a camera or stream, see `SourceInfo`.
    absences : sequence of (float, float)
        From when to when, seconds, a camera or stream has broken off so far.
    start_time : datetime or None
        Wall-clock time of 0 s, where it is known: when a camera or stream was opened, or as a table of counts
        tells it.
    view : callable
        Gives the empty scene of the frames measured so far (`Pipeline.view`); None for a table.
    step : int
        One of so many frames is measured, as it usually is in a table.
    views : sequence of (k,) int
        Numbers of the columns of size, edges and texture; none for a table.
    """

    name: str
    columns: tuple[str, ...]
    frames: Callable[[], Iterator[MeasuredFrame | None]]
    gap_s: float
    _: KW_ONLY
    expected: int | None = None
    scene: Scene | None = None
    rate: float | None = None
    person_height: float | None = None
    opened: datetime | None = None
    absences: Sequence[tuple[float, float]] = ()
    start_time: datetime | None = None
    view: Callable[[], EmptyScene | None] = lambda: None
    step: int = 1
    views: Sequence[Sequence[int]] = ()


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

    Of video, the frames are measured that counting would look at, see `smoothing`: a crowd gathers slowly.

    Parameters
    ----------
    source : str
        A CSV file with a header of `frame` (else the rows are numbered from 0), `time_s` (else frame / fps)
        and features, such as the counts of `crowdcount count`; these as .jsonl or .parquet; a table of
        published features (.mat, .npz); or anything that `open_source` takes.
    scene : Scene, optional
        By default estimated from the footage; DatasetError where it is given for a table.
    start, end, every, fps, timeout_s, reconnect_s
        As for `open_counting`. A table's frames are taken to be one second apart without `fps` and times.
    person_height : float, optional
        As for `Pipeline`.

    Raises
    ------
    DatasetError, VideoError, SceneError
    """
    check_window(start, end, every)
    if is_table(source):
        if scene is not None:
            raise DatasetError(
                f"{source} holds ready-made features, which no scene changes; drop --scene, or give footage"
            )
        yield _table(source, start, end, every, fps or ASSUMED_RATE)
        return
    with open_source(source, fps=fps, timeout_s=timeout_s, reconnect_s=reconnect_s) as opened:
        overview = Overview(opened, scene)
        step = every * stride(opened.info.rate / every)
        rate = opened.info.rate / step
        pipeline = Pipeline(overview.scene, rate, GRIDS, person_height=person_height)

        def measured(frame: Frame) -> MeasuredFrame:
            if frame.image_bgr is None:
                return MeasuredFrame(frame.index, frame.time_s, None, frame.flags)
            measurement = pipeline.measure(frame.image_bgr)
            flags = (*frame.flags, *measurement.flags)
            features = measurement.features.ravel() if is_reliable(flags) else None
            return MeasuredFrame(frame.index, frame.time_s, features, flags)

        def frames() -> Iterator[MeasuredFrame | None]:
            overview.teach(pipeline)
            looks = Looks(step, every)
            wanted = opened.frames(start, end, every, looks.ahead)
            with opened.read_ahead(wanted, end, tick_s=_TICK_S) as passing:
                for frame in passing:
                    if frame is None:
                        yield None
                    elif "undecodable" in frame.flags or looks.are_due(frame, pipeline):
                        yield measured(frame)

        length = opened.info.frame_count
        expected = None if length is None or start or end else math.ceil(length / step)
        yield Measuring(
            name=opened.info.name,
            columns=tuple(pipeline.schema.names),
            frames=frames,
            gap_s=1 / rate,
            expected=expected,
            scene=overview.scene,
            rate=rate,
            person_height=pipeline.person_height,
            opened=opened.info.opened,
            absences=opened.absences,
            start_time=opened.info.opened,
            view=lambda: pipeline.view,
            step=step,
            views=pipeline.schema.views(),
        )


def _table(source: str, start: Position | None, end: Position | None, every: int, fps: float) -> Measuring:
    columns, rows = _read_table(Path(source), fps)
    within = [
        row
        for row in rows
        if (start is None or start.reached(row.index, row.time_s))
        and (end is None or not end.reached(row.index, row.time_s))
    ][::every]
    if not within:
        raise DatasetError(
            f"{source} has frames {rows[0].index} to {rows[-1].index}, {rows[0].time_s:g} to "
            f"{rows[-1].time_s:g} s, none from {start or 'the first'} to {end or 'the last'}; choose "
            "another start or end"
        )
    step, gap_s = 1, 0.0
    if len(within) > 1:
        step, gap_s = np.median(np.diff([(row.index, row.time_s) for row in within], axis=0), axis=0)
    return Measuring(
        name=source,
        columns=columns,
        frames=lambda: iter(within),
        gap_s=float(gap_s),
        expected=len(within),
        step=math.ceil(step),
        start_time=_start_time(Path(source)),
    )


def _start_time(path: Path) -> datetime | None:
    """Wall-clock time of 0 s where a table of counts tells it; None for other tables."""
    if path.suffix.lower() in (".csv", *_COUNTS):
        with suppress(DatasetError):  # it holds other features
            return read_start_time(path)
    return None


def _read_table(path: Path, fps: float) -> tuple[tuple[str, ...], list[MeasuredFrame]]:
    """Names of the features and the rows of a table; one with a blank, or unreliable, has no features."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        columns, rows = _read_csv(path, fps)
    elif suffix in _COUNTS:
        columns, rows = _read_counts(path)
    else:
        dataset = load_dataset(path)
        if dataset.features is None:
            raise DatasetError(f"{path} holds no table of features; give one, or footage")
        columns = dataset.feature_names
        numbered = enumerate(zip(dataset.numbers.tolist(), dataset.features, strict=True))
        rows = [MeasuredFrame(number, k / fps, values) for k, (number, values) in numbered]
    if not rows:
        raise DatasetError(f"{path}: expected a line for each frame, found none")
    for before, row in pairwise(rows):
        if row.index <= before.index or row.time_s < before.time_s:
            raise DatasetError(
                f"{path}: expected frames and times that increase, found frame {row.index}, {row.time_s:g} "
                f"s, behind frame {before.index}, {before.time_s:g} s; sort the lines"
            )
    return columns, rows


def _read_counts(path: Path) -> tuple[tuple[str, ...], list[MeasuredFrame]]:
    """As `_read_csv` reads the same counts."""
    counts = read_counts(path)
    has_directions = any(row.right is not None for row in counts)
    columns = (*COUNTS, *(DIRECTIONS if has_directions else ()))
    rows = []
    for row in counts:
        values = np.array([getattr(row, name) for name in columns], np.float64)
        is_judged = row.is_reliable and np.isfinite(values).all()
        rows.append(MeasuredFrame(row.frame, row.time_s, values if is_judged else None, row.flags))
    return columns, rows


def _read_csv(path: Path, fps: float) -> tuple[tuple[str, ...], list[MeasuredFrame]]:
    header, lines = table_rows(path)
    header = [name.lower() if name.lower() in _NOT_FEATURES else name for name in header]
    chosen = [k for k, name in enumerate(header) if name not in _NOT_FEATURES]
    if not chosen or "" in header or len(set(header)) < len(header):
        raise DatasetError(f"{path}, line 1: expected a header that names each feature once; add it")
    rows = []
    for line, cells in lines:
        where = f"{path}, line {line}"
        named = dict(zip(header, cells, strict=True))
        frame = len(rows)
        if "frame" in named:
            frame = _number(named["frame"], where)
            if not 0 <= frame < 1e15 or frame % 1:
                raise DatasetError(f"{where}: expected a frame number, found {frame:g}; correct it")
            frame = int(frame)
        time_s = _number(named["time_s"], where) if "time_s" in named else frame / fps
        texts = [cells[k].strip() for k in chosen]
        features = np.array([_number(text, where) for text in texts]) if all(texts) else None
        flags = tuple(filter(None, named.get("flags", "").split(";")))
        rows.append(MeasuredFrame(frame, time_s, features if is_reliable(flags) else None, flags))
    return tuple(header[k] for k in chosen), rows


def _number(text: str, where: str) -> float:
    value = number_in(text)
    if not abs(value) <= LARGEST_FEATURE:
        raise DatasetError(f"{where}: expected a number, found {text.strip()[:40]!r}; correct it")
    return value
