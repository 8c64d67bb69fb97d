"""Plots: counts over time, alarms, forecasts, labels beside predictions, and what a compression costs."""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .errors import CrowdCountError, VideoError, one_line
from .results import COUNTS, DIRECTIONS, CountSummary, FrameCount
from .storage import atomic_path, check_writable, output_errors, partial_name, set_aside
from .wording import clock

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .forecast import Forecast
    from .learning.compression import Compression
    from .profile import Profile

T = TypeVar("T")

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
DPI = 150  # of a picture
_MOST_POINTS = 2000  # of a line in a plot; above, neighbouring frames are drawn together
_MOST_DOTS = 50  # of a line
_MOST_HELD = 1 << 15  # rows of counts that are to be drawn; above, neighbouring ones become one
_NARROWEST = 1 / 600  # of a plot's width: what can still be seen
_TICK_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
                 43200)
_DAY_S = 86400
_HEAT = "inferno"  # as that of overlays
_SHOWN_PERIODS = 7  # before a forecast
BLUE, _PALE, _AMBER, _INK, GREY = "#1d5c96", "#cfe1f2", "#e08a1e", "#262626", "#7a7a7a"
_MID_BLUE = "#3f87c9"  # can be read on a light and on a dark ground


class DrawnCounts:
    """Counts and profiles until `plot_counts` draws them: of however many, few rows are held.

    Attributes
    ----------
    together : int
        Neighbouring frames that a row stands for.
    """

    def __init__(self):
        self.together = 1
        self._held: list[tuple[FrameCount, Profile | None]] = []
        self._coming: list[tuple[FrameCount, Profile | None]] = []

    def add(self, row: FrameCount, profile: "Profile | None") -> None:
        """Take one more frame in."""
        self._coming.append((row, profile))
        if len(self._coming) == self.together:
            self._held.append(_together(self._coming))
            self._coming = []
        if len(self._held) == _MOST_HELD:
            self._held = [_together(pair) for pair in zip(self._held[::2], self._held[1::2], strict=True)]
            self.together *= 2

    def __len__(self) -> int:
        return len(self._held) + bool(self._coming)

    def held(self) -> list[tuple[FrameCount, "Profile | None"]]:
        """The rows, those that came last included."""
        return self._held + ([_together(self._coming)] if self._coming else [])


@dataclass(frozen=True)
class _Together(FrameCount):
    """Neighbouring frames as one: what is known of them as means, all flags, and the range of the counts."""

    least: float = math.nan
    most: float = math.nan


def _together(items: Sequence[tuple[FrameCount, "Profile | None"]]) -> tuple[FrameCount, "Profile | None"]:
    if len(items) == 1:
        return items[0]
    rows, profiles = zip(*items, strict=True)
    names = (*COUNTS, *(DIRECTIONS if rows[0].right is not None else ()))
    means = {name: _mean([getattr(row, name) for row in rows]) for name in names}
    least, most = zip(*map(_range, rows), strict=True)
    row = _Together(
        rows[0].frame,
        rows[0].time_s,
        flags=tuple({flag for row in rows for flag in row.flags}),
        least=float(np.fmin.reduce(least)),
        most=float(np.fmax.reduce(most)),
        **means,
    )
    known = [profile for profile in profiles if profile is not None]
    if not known:
        return row, None
    return row, replace(known[0], density=np.mean([profile.density for profile in known], axis=0))


def _mean(numbers: Sequence[float]) -> float:
    """Of those that are known; of a few, NumPy takes ten times as long."""
    known = [number for number in numbers if math.isfinite(number)]
    return sum(known) / len(known) if known else math.nan


def _range(row: FrameCount) -> tuple[float, float]:
    return (row.least, row.most) if isinstance(row, _Together) else (row.count, row.count)


@contextmanager
def plotted(
    path: Path | None, draw: Callable[[Path], None], held: Sequence | None, is_live: bool
) -> Iterator[None]:
    """Draw what the body has `held`, rows of some kind that it fills, when it is over; with no path nothing.

    Where the body is interrupted, or its source gives out, as a stream mostly does, what was held is drawn
    under the name of what is kept, which is noted. Of a live source earlier pictures are set aside.

    Raises
    ------
    OutputError
        When a picture cannot be written or set aside.
    """
    if path is not None and is_live:
        set_aside(path)
    elif path is not None:
        with output_errors(path):
            partial_name(path).unlink(missing_ok=True)  # of an earlier run
    try:
        yield
    except (KeyboardInterrupt, VideoError) as error:
        if path is not None and held:
            with suppress(CrowdCountError):
                draw(partial_name(path))
                error.add_note(f"kept so far: {partial_name(path)}")
        raise
    if path is not None:
        draw(path)


def plot_counts(results: Sequence[FrameCount], path: str | Path, title: str,
                start_time: datetime | None = None, profiles: Sequence["Profile | None"] = (),
                summary: CountSummary | None = None, together: int = 1) -> None:
    """Draw the counts over time with their interval, and the stretches that carry flags.

    Of more than 2,000 frames, neighbouring ones are drawn together: the mean and the range of their counts.
    Frames without a count leave a gap, and so does a pause of a recorder. Right- and left-moving people are
    lines of their own, where they were counted. Below, where profiles are given, a heat strip shows the
    density of people over the depth of the scene.

    Parameters
    ----------
    results : sequence of FrameCount
        In the order of time.
    path : str or Path
        Picture to write; its suffix (.png, .svg, .pdf) tells its format.
    title : str
    start_time : datetime, optional
        Wall-clock time of `time_s` = 0; without it the axis shows the time since the start.
    profiles : sequence of (Profile or None), optional
        One for each result, None where there is none.
    summary : CountSummary, optional
        What is told above; by default that of the results.
    together : int
        Frames that each result stands for; see `DrawnCounts`.

    Raises
    ------
    OutputError
        When the picture cannot be written, or its suffix is of no known format.
    """
    flags = sorted({flag for row in results for flag in row.flags})
    heights = [4.0]
    if any(profile is not None for profile in profiles):
        heights.append(1.3)
    if flags:
        heights.append(0.12 + 0.2 * len(flags))
    figure = _figure(path, 0.2 + sum(heights))
    if summary is None:
        summary = CountSummary(start_time=start_time)
        for row in results:
            summary.add(row)
    times_s = [row.time_s for row in results]
    profiles = _with_pauses(profiles, times_s, lambda _: None)
    results = _with_pauses(results, times_s, lambda time_s: FrameCount(-1, time_s, *[math.nan] * 3))

    times_s = np.array([row.time_s for row in results], np.float64)
    values = [(row.count, row.low, row.high, *_range(row)) for row in results]
    values = np.array(values, np.float64).reshape(-1, 5)
    ends_s, span = _extent(times_s)

    axes = figure.subplots(len(heights), sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    _draw_lines(axes[0], times_s, values, together)
    if any(row.right is not None for row in results):
        _draw_directions(axes[0], times_s, results)
    if any(profile is not None for profile in profiles):
        _draw_profiles(axes[1], profiles, times_s, ends_s)
    if flags:
        _draw_flags(axes[-1], results, times_s, ends_s, flags)
    label_time(axes[-1], span, start_time)
    _set_summary(axes[0], _summary(summary))
    _save(figure, path, title)


def plot_alarm(values: Sequence[tuple[float, float]], raised: Sequence[tuple[float, float]], margin: float,
               path: str | Path, title: str, start_time: datetime | None) -> None:
    """Draw an alarm's decision values over time, when it was raised, and which frames could not be judged.

    Of more than 2,000 frames, neighbouring ones are drawn together, as their mean. A pause of a recorder
    leaves a gap.

    Parameters
    ----------
    values : sequence of (float, float)
        Seconds and decision value (NaN: none) of each frame, in the order of time.
    raised : sequence of (float, float)
        From when to when the alarm was raised, seconds; infinity where it still is.
    margin : float
        The values at which it is raised and cleared are `margin` and -`margin`.
    path, title, start_time
        As for `plot_counts`.

    Raises
    ------
    OutputError
        When the picture cannot be written, or its suffix is of no known format.
    """
    figure = _figure(path, 3.2)
    axes = figure.subplots()
    rows = [(time_s, value, math.isnan(value)) for time_s, value in values]
    rows = _with_pauses(rows, [time_s for time_s, _ in values], lambda time_s: (time_s, math.nan, False))
    times_s, decisions, unjudged = np.array(rows, np.float64).reshape(-1, 3).T
    ends_s, span = _extent(times_s)
    for begin_s, end_s in raised:
        end_s = min(end_s, span[1])
        begin_s = min(begin_s, end_s - _NARROWEST * (span[1] - span[0]))
        axes.axvspan(begin_s, end_s, color=_AMBER, alpha=0.25, linewidth=0)
    are_unjudged = unjudged > 0
    if are_unjudged.any():
        for begin_s, width_s in _stretches(are_unjudged, times_s, ends_s):
            axes.axvspan(begin_s, begin_s + width_s, ymax=0.03, color=GREY, linewidth=0)
    starts = _groups(len(decisions))
    means = _means(decisions, starts)
    axes.plot(times_s[starts], means, color=BLUE, linewidth=1.2, **dots(means))
    for level in (margin, -margin):
        axes.axhline(level, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)))
    axes.set_ylabel("decision value", color=GREY)
    strip_frame(axes)
    label_time(axes, span, start_time)
    times = "once" if len(raised) == 1 else f"{len(raised)} times"
    state = f"alarm (shaded) raised {times}" if raised else "alarm never raised"
    state += "; grey below: frames not judged" if are_unjudged.any() else ""
    axes.set_title(f"too crowded above 0; {state}", loc="left", fontsize=9, color=GREY)
    _save(figure, path, title)


def plot_forecast(made: "Forecast", path: str | Path, title: str) -> None:
    """Draw the last periods' counts and the forecast of the next one with its interval.

    Counts farther apart than the steps are joined, wider gaps are not.

    Parameters
    ----------
    made : Forecast
    path, title
        As for `plot_counts`.

    Raises
    ------
    OutputError
        When the picture cannot be written, or its suffix is of no known format.
    """
    figure = _figure(path, 4.2)
    axes = figure.subplots()
    shown = made.history[-_SHOWN_PERIODS:]
    begin_s = made.times_s[0] - made.passed_over_s - shown.size * made.step_s
    counted = np.flatnonzero(np.isfinite(shown))
    gaps = np.diff(counted)
    usual = gaps[gaps <= 2 * np.median(gaps)].mean() if len(gaps) else 1.0  # of 1.5 steps: 1 and 2 by turns
    breaks = np.flatnonzero(gaps > math.ceil(usual - 0.05)) + 1
    past_s = np.insert(begin_s + made.step_s * (counted + 0.5), breaks, math.nan)
    past = np.insert(shown.ravel()[counted], breaks, math.nan)
    axes.plot(past_s, past, color=_INK, linewidth=1.0, label="counted", **dots(past, 0))
    next_s = made.times_s + made.step_s / 2
    if made.has_interval:  # of a single step, a line
        axes.fill_between(next_s, made.low, made.high, color=_PALE, linewidth=1.2, label="interval")
    axes.plot(next_s, made.counts, color=BLUE, linewidth=1.6, label="forecast", **dots(made.counts, 0))
    axes.axvline(made.times_s[0], color=GREY, linewidth=0.8, linestyle=":")
    axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
    _style_people(axes)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    label_time(axes, (begin_s, made.times_s[-1] + made.step_s), made.start)
    legend_above(axes, 3)
    errors = ", ".join(f"{name} {error:.2f}" for name, error in made.errors.items())
    axes.set_title(f"back-test: {errors}", loc="left", fontsize=8, color=GREY)
    _save(figure, path, title)


def new_figure(height: float, dpi: float | None = None) -> "Figure":
    """An empty figure of some height, inches. Before it, nothing of Matplotlib is loaded, which takes half a
    second, and tells where it keeps its fonts."""
    import logging

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    return Figure(figsize=(10, height), dpi=dpi, layout="constrained")


def _figure(path: str | Path, height: float) -> "Figure":
    """A `new_figure`; OutputError where `path` cannot become a picture."""
    check_writable(path, PLOT_SUFFIXES)
    return new_figure(height, DPI)


def _save(figure, path: str | Path, title: str) -> None:
    """Write a figure of `_figure` under its title, as far as the letters of a file's name can be drawn, and
    both ends of one that is too long."""
    title = one_line(title)
    drawn = figure.suptitle(title, x=0.005, ha="left", fontsize=12, fontweight="bold", color=_INK,
                            parse_math=False)
    with atomic_path(path) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        most = 0.99 * figure.bbox.width
        while (width := drawn.get_window_extent().width) > most:
            kept = int(len(title) * most / width - 1) // 2
            title = f"{title[:kept]}…{title[-kept:]}"
            drawn.set_text(title)
        figure.savefig(temporary)


def _groups(n: int) -> np.ndarray:
    """Where the groups of neighbouring frames begin that are drawn together: single ones, unless many."""
    return np.arange(0, n, _group_size(n) if n > _MOST_POINTS else 1)


def _group_size(n: int) -> int:
    """How many of n neighbouring frames are drawn together where there are too many to draw each."""
    return math.ceil(2 * n / _MOST_POINTS)


def dots(values: Sequence[float], few: int = _MOST_DOTS) -> dict[str, object]:
    """How a line is drawn: all of a few points have a dot, of more those that no line joins to another."""
    known = np.isfinite(values)
    joined = np.pad(known, 1)
    dotted = known & ~(joined[:-2] | joined[2:]) if known.sum() > few else known
    marker = {"marker": "o", "markersize": 3, "markevery": dotted} if dotted.any() else {}
    return marker | {"clip_on": False, "zorder": 3}  # nobody is a whole dot on the axis


def _means(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Mean of the known values of each group along the first axis; NaN where there is none."""
    if not len(starts):
        return values
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.add.reduceat(np.where(known, values, 0), starts) / np.add.reduceat(
            known, starts, dtype=np.int64)


def _extent(times_s: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """When what is drawn of each frame ends, the last one's at the usual step, and the span of all."""
    step_s = (len(times_s) > 1 and np.median(np.diff(times_s))) or 1.0
    ends_s = np.append(times_s[1:], times_s[-1:] + step_s)
    return ends_s, (times_s[0], ends_s[-1]) if len(times_s) else (0.0, 1.0)


def _with_pauses(rows: Sequence[T], times_s: Sequence[float], empty: Callable[[float], T]) -> Sequence[T]:
    """The same with `empty` rows in each pause that can be seen: enough to fill one of `_groups`, wherever
    that begins, though the rows make groups larger."""
    gaps_s = np.diff(times_s)
    if len(rows) < 2:
        return rows
    step_s = np.median(gaps_s)
    pauses = np.flatnonzero(gaps_s > max(10 * step_s, gaps_s.sum() / 100)) + 1
    n_empty = 3 * _group_size(len(rows))
    drawn = []
    for begin, end in pairwise([0, *pauses, len(rows)]):
        drawn += rows[begin:end]
        if end < len(rows):
            # All but the first at its end: there a group of empty rows and the next real ones is drawn.
            drawn += map(empty, [times_s[end - 1] + step_s] + [times_s[end]] * (n_empty - 1))
    return drawn


def _draw_lines(axes, times_s: np.ndarray, values: np.ndarray, together: int) -> None:
    """Count and interval; `values` (n, 5): count, low, high, and the range of the counts that it is of."""
    starts = _groups(len(values))
    group = together * (starts[1] if len(starts) > 1 else 1)
    known = np.isfinite(values)
    count, low, high = _means(values[:, :3], starts).T
    times_s = times_s[starts]
    if known[:, 2].any():
        axes.fill_between(times_s, low, high, color=_PALE, linewidth=1.2, label="interval")  # a line, of one
    if group > 1:
        least = np.minimum.reduceat(np.where(known, values, math.inf), starts)[:, 3]
        most = np.maximum.reduceat(np.where(known, values, -math.inf), starts)[:, 4]
        axes.fill_between(times_s, least, most, where=least <= most, color=BLUE, alpha=0.35, linewidth=0.6,
                          label=f"range of {group:,} frames")
    label = f"mean of {group:,} frames" if group > 1 else "count"
    axes.plot(times_s, count, color=BLUE, linewidth=1.2, label=label, **dots(count))

    top = values[known].max(initial=1.0)
    axes.set_ylim(0, 1.08 * top)
    _style_people(axes)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    if known[:, 0].any():
        legend_above(axes, 3)
    else:
        axes.text(0.5, 0.5, "no frame could be counted", transform=axes.transAxes, ha="center", color=GREY)


def _draw_directions(axes, times_s: np.ndarray, results: Sequence[FrameCount]) -> None:
    """Right- and left-moving people as thin lines, neighbouring frames as their mean."""
    starts = _groups(len(results))
    for name, colour in (("right", _AMBER), ("left", _INK)):
        values = np.array([getattr(row, name) for row in results], np.float64)
        means = _means(values, starts)
        axes.plot(times_s[starts], means, color=colour, linewidth=0.8, label=name, **dots(means))
    if axes.get_legend() is not None:
        legend_above(axes, 5)


def _draw_profiles(axes, profiles: Sequence["Profile | None"], times_s: np.ndarray,
                   ends_s: np.ndarray) -> None:
    """A heat strip of density over time and depth, far above and near below."""
    one = next(profile for profile in profiles if profile is not None)
    gap = np.full(len(one.density), np.nan)
    densities = np.stack([gap if profile is None else profile.density for profile in profiles])
    starts = _groups(len(densities))
    edges_s = np.append(times_s[starts], ends_s[-1])
    mesh = axes.pcolormesh(edges_s, np.linspace(0, 1, len(gap) + 1), _means(densities, starts).T,
                           cmap=_HEAT, vmin=0, vmax=one.strongest, rasterized=True)
    axes.set_ylim(1, 0)
    axes.set_yticks([0.06, 0.94], ["far", "near"])
    axes.set_ylabel("depth", color=GREY)
    strip_frame(axes)
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.01, aspect=8)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=GREY, labelsize=7, length=0)
    bar.set_label("people per\nunit of depth", fontsize=7, color=GREY)


def _draw_flags(axes, results: Sequence[FrameCount], times_s: np.ndarray, ends_s: np.ndarray,
                flags: Sequence[str]) -> None:
    for row, flag in enumerate(flags):
        flagged = np.array([flag in result.flags for result in results])
        bars = _stretches(flagged, times_s, ends_s)
        axes.broken_barh(bars, (row - 0.32, 0.64), color=_AMBER, linewidth=0)
    axes.set_yticks(range(len(flags)), flags, fontsize=8, color=GREY)
    axes.set_ylim(len(flags) - 0.4, -0.6)
    strip_frame(axes)


def _stretches(chosen: np.ndarray, times_s: np.ndarray, ends_s: np.ndarray) -> np.ndarray:
    """Beginning and width (k, 2) of the stretches of the `chosen` frames, each so wide that it is seen."""
    narrowest = _NARROWEST * (ends_s[-1] - times_s[0])
    begins, ends = times_s[chosen], ends_s[chosen]
    apart = begins[1:] - ends[:-1] > narrowest
    begins, ends = begins[np.append(True, apart)], ends[np.append(apart, True)]
    return np.column_stack([begins, np.maximum(ends - begins, narrowest)])


def _style_people(axes) -> None:
    """An axis of people: few whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_ylabel("people", color=GREY)
    axes.set_axisbelow(True)
    strip_frame(axes)


def strip_frame(axes) -> None:
    """Leave nothing of an axes' frame but the ground line."""
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#bdbdbd")
    axes.tick_params(colors=GREY, labelsize=8, length=0)


def legend_above(axes, columns: int) -> None:
    """Put an axes' legend, in so many columns, above its right end."""
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, fontsize=8, frameon=False,
                labelcolor=GREY, borderaxespad=0)


def _set_summary(axes, text: str) -> None:
    """Put a line above an axes: beside its legend, or above that where it would run into it."""
    line = axes.set_title(text, loc="left", fontsize=9, color=GREY)
    if axes.get_legend() is not None:
        axes.figure.draw_without_rendering()
        if line.get_window_extent().x1 > axes.get_legend().get_window_extent().x0:
            axes.set_title(text, loc="left", fontsize=9, color=GREY, pad=22)


def _summary(summary: CountSummary) -> str:
    frames = f"{summary.frames:,} frames" if summary.frames != 1 else "1 frame"
    if summary.peak is None:
        return frames
    if summary.few_are_reliable:
        frames = f"{summary.n_reliable:,} reliable of {frames}"
    return f"mean {summary.mean:.1f}, peak {summary.peak.count:.1f} at {summary.peak_time}, {frames}"


def label_time(
    axes, span_s: tuple[float, float], start_time: datetime | None, interval_s: float = 0.0
) -> None:
    """Limits of the time axis, with ticks at round times; those of the day, with its date, when the
    `start_time` of 0 s is given. Of points that stand for intervals, with half of one on either side."""
    since_midnight_s = 0.0
    if start_time is not None:
        midnight = start_time.replace(hour=0, minute=0, second=0, microsecond=0)
        since_midnight_s = (start_time - midnight).total_seconds()
    length = span_s[1] - span_s[0]
    step = next((step for step in _TICK_STEPS_S if step >= interval_s and length <= 9 * step), None)
    step = step or _DAY_S * max(1, math.ceil(length / 9 / _DAY_S))
    first, last = ((edge + since_midnight_s) / step for edge in span_s)
    ticks_s = step * np.arange(math.ceil(first), math.floor(last) + 1)
    decimals = 1 if step < 1 else 0
    if start_time is None:
        labels = [clock(tick, decimals) for tick in ticks_s]
    else:
        labels = dates = [str(start_time.date() + timedelta(days=int(tick // _DAY_S))) for tick in ticks_s]
        if step < _DAY_S:
            labels = [clock(tick % _DAY_S, decimals) for tick in ticks_s]
            for k, date in enumerate(dates):
                if k == 0 or date != dates[k - 1]:
                    labels[k] += f"\n{date}"
    axes.set_xticks(ticks_s - since_midnight_s, labels)
    axes.set_xlim(span_s[0] - interval_s / 2, span_s[1] + interval_s / 2)


def plot_labels(numbers: np.ndarray, labels: np.ndarray, predictions: np.ndarray,
                marked: np.ndarray) -> bytes:
    """Draw labels and predictions over the frames, some labels marked, on a transparent ground.

    Parameters
    ----------
    numbers : (n,) int
        Frames, ascending.
    labels, predictions : (n,) float64
        People.
    marked : (n,) bool

    Returns
    -------
    bytes
        An SVG drawing; the same for the same input.
    """
    gaps = np.diff(numbers, prepend=numbers[:1])
    breaks = np.flatnonzero(gaps > 10 * np.median(gaps[1:])) if len(numbers) > 1 else []
    figure = new_figure(3.6)
    axes = figure.subplots()
    axes.plot(numbers, labels, ".", color=GREY, markersize=3, label="label")
    axes.plot(np.insert(numbers.astype(float), breaks, math.nan), np.insert(predictions, breaks, math.nan),
              color=_MID_BLUE, linewidth=1.0, label="prediction without the frame's block")
    if marked.any():
        axes.vlines(numbers[marked], predictions[marked], labels[marked], color=_AMBER, linewidth=0.8)
        axes.plot(numbers[marked], labels[marked], "o", color=_AMBER, markersize=5, label="stands out")
    axes.set_ylim(0, 1.08 * max(labels.max(), predictions.max(), 1.0))
    axes.margins(x=0.01)
    axes.set_xlabel("frame", color=GREY)
    _style_people(axes)
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.8)
    legend_above(axes, 3)
    return as_svg(figure)


def as_svg(figure: "Figure") -> bytes:
    """A figure for a page, which may be dark: the same bytes for the same figure, with text as text."""
    from matplotlib import rc_context

    drawing = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "crowdcount"}):
        figure.savefig(drawing, format="svg", transparent=True, metadata={"Date": None})
    return drawing.getvalue()


def plot_compression(found: "Compression", path: str | Path, title: str) -> None:
    """Draw the error against the number of prototypes, beside the model's and that of selected frames.

    Parameters
    ----------
    found : Compression
    path : str or Path
        Picture to write; its suffix (.png, .svg, .pdf) tells its format.
    title : str

    Raises
    ------
    OutputError
        When the picture cannot be written, or its suffix is of no known format.
    """
    figure = _figure(path, 4.2)
    axes = figure.subplots()
    numbers = [size.prototypes for size in found.sizes]
    for name, style in zip(found.chosen.selected, ("-", "--", ":"), strict=True):
        errors = [size.selected[name] for size in found.sizes]
        axes.plot(numbers, errors, style, marker=".", color=GREY, linewidth=1.2,
                  label=f"selected frames: {name}")
    axes.axhline(found.full.metrics.mae, color=_INK, linewidth=1.0,
                 label=f"the model, {found.full.prototypes} training frames")
    axes.plot(numbers, [size.metrics.mae for size in found.sizes], "o-", color=BLUE, linewidth=1.8,
              markersize=4, label="virtual prototypes")
    axes.plot(found.chosen.prototypes, found.chosen.metrics.mae, "o", color=_AMBER, markersize=10,
              fillstyle="none", markeredgewidth=2, label=f"kept: {found.chosen.prototypes}")
    axes.set_xscale("log")
    axes.set_xticks(numbers, [str(number) for number in numbers])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("prototypes", color=GREY)
    _style_people(axes)
    axes.set_ylabel("mean absolute error, people", color=GREY)
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.8)
    axes.legend(fontsize=8, facecolor="white", edgecolor="none", framealpha=1, labelcolor=_INK)
    _save(figure, path, title)
