"""Pictures of what was counted: the counts over time, and the footage with the counts drawn in."""

import io
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import cv2
import numpy as np

from .errors import OutputError
from .results import FrameCount
from .storage import WholeWrites, atomic_path, check_writable, is_utf8, output_error, partial_path

if TYPE_CHECKING:
    from .forecast import Forecast
    from .learning.compression import Compression
    from .profile import Profile

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
_MOST_POINTS = 2000  # of a line in a plot; above, neighbouring frames are drawn together
_TICK_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
                 43200)
_DAY_S = 86400
_HEAT = "inferno"  # as cv2.COLORMAP_INFERNO
_SHOWN_PERIODS = 7  # before a forecast
_BLUE, _PALE, _AMBER, _INK, _GREY = "#1d5c96", "#cfe1f2", "#e08a1e", "#262626", "#7a7a7a"
_MID_BLUE = "#3f87c9"  # can be read on a light and on a dark ground

_PROBE_BYTES = 1 << 16  # more than an encoder writes at once
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_CODECS = {".mp4": "mp4v", ".avi": "MJPG"}
OVERLAY_SUFFIXES = tuple(_CODECS)
_TINT_BGR, _OUTLINE_BGR, _WHITE_BGR, _PALE_BGR, _AMBER_BGR, _INK_BGR = (
    (70, 60, 240), (90, 220, 255), (255, 255, 255), (205, 205, 205), (60, 175, 255), (38, 38, 38))


def plot_counts(results: Sequence[FrameCount], path: str | Path, title: str,
                start_time: datetime | None = None, profiles: Sequence["Profile | None"] = ()) -> None:
    """Draw the counts over time with their interval, and the stretches that carry flags.

    Of more than 2,000 frames, neighbouring ones are drawn together: the mean and the range of their counts.
    Frames without a count leave a gap. Right- and left-moving people are lines of their own, where they were
    counted. Below, where profiles are given, a heat strip shows the density of
    people over the depth of the scene.

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

    times_s = np.array([row.time_s for row in results], np.float64)
    values = np.array([(row.count, row.low, row.high) for row in results], np.float64).reshape(-1, 3)
    step = np.median(np.diff(times_s)) if len(times_s) > 1 else 1.0
    ends_s = np.append(times_s[1:], times_s[-1:] + step)
    span = (times_s[0], ends_s[-1]) if len(times_s) else (0.0, 1.0)

    axes = figure.subplots(len(heights), sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    _draw_lines(axes[0], times_s, values)
    if any(row.right is not None for row in results):
        _draw_directions(axes[0], times_s, results)
    if any(profile is not None for profile in profiles):
        _draw_profiles(axes[1], profiles, times_s, ends_s)
    if flags:
        _draw_flags(axes[-1], results, times_s, ends_s, flags)
    _label_time(axes[-1], span, start_time)
    reliable = np.array([row.is_reliable for row in results], bool)
    summary = _summary(times_s + _since_midnight_s(start_time), values[:, 0], reliable)
    axes[0].set_title(summary, loc="left", fontsize=9, color=_GREY)
    _save(figure, path, title)


def plot_alarm(values: Sequence[tuple[float, float]], raised: Sequence[tuple[float, float]], margin: float,
               path: str | Path, title: str, start_time: datetime | None = None) -> None:
    """Draw an alarm's decision values over time, and when it was raised.

    Of more than 2,000 frames, neighbouring ones are drawn together, as their mean.

    Parameters
    ----------
    values : sequence of (float, float)
        Seconds and decision value (NaN: none) of each frame, in the order of time.
    raised : sequence of (float, float)
        From when to when the alarm was raised, seconds.
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
    times_s, decisions = np.array(values, np.float64).reshape(-1, 2).T
    span = (times_s[0], times_s[-1] + 1e-3) if len(times_s) else (0.0, 1.0)
    for begin_s, end_s in raised:
        axes.axvspan(begin_s, end_s, color=_AMBER, alpha=0.25, linewidth=0)
    starts = _groups(len(decisions))
    axes.plot(times_s[starts], _means(decisions, starts), color=_BLUE, linewidth=1.2)
    for level in (margin, -margin):
        axes.axhline(level, color=_GREY, linewidth=0.7, linestyle=(0, (4, 3)))
    axes.set_ylabel("decision value", color=_GREY)
    _strip_frame(axes, ("left", "top", "right"))
    _label_time(axes, span, start_time)
    times = "once" if len(raised) == 1 else f"{len(raised)} times"
    state = f"alarm (shaded) raised {times}" if raised else "alarm never raised"
    axes.set_title(f"too crowded above 0; {state}", loc="left", fontsize=9, color=_GREY)
    _save(figure, path, title)


def plot_forecast(made: "Forecast", path: str | Path, title: str) -> None:
    """Draw the last periods' counts and the forecast of the next one with its interval.

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
    begin_s = made.times_s[0] - shown.size * made.step_s
    middle_s = begin_s + made.step_s * (np.arange(shown.size) + 0.5)
    axes.plot(middle_s, shown.ravel(), color=_INK, linewidth=1.0, label="counted")
    next_s = made.times_s + made.step_s / 2
    if made.has_interval:
        axes.fill_between(next_s, made.low, made.high, color=_PALE, linewidth=0, label="interval")
    axes.plot(next_s, made.counts, color=_BLUE, linewidth=1.6, label="forecast")
    axes.axvline(made.times_s[0], color=_GREY, linewidth=0.8, linestyle=":")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("people", color=_GREY)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    _strip_frame(axes, ("left", "top", "right"))
    _label_time(axes, (begin_s, made.times_s[-1] + made.step_s), made.start)
    _legend_above(axes, 3)
    errors = ", ".join(f"{name} {error:.2f}" for name, error in made.errors.items())
    axes.set_title(f"back-test: {errors}", loc="left", fontsize=8, color=_GREY)
    _save(figure, path, title)


def _figure(path: str | Path, height: float):
    """An empty figure of some height, inches; OutputError where `path` cannot become a picture."""
    from matplotlib.figure import Figure  # takes half a second, which only a plot is worth

    check_writable(Path(path), PLOT_SUFFIXES)
    return Figure(figsize=(10, height), dpi=150, layout="constrained")


def _save(figure, path: str | Path, title: str) -> None:
    """Write a figure of `_figure` under its title."""
    figure.suptitle(title, x=0.005, ha="left", fontsize=12, fontweight="bold", color=_INK, parse_math=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary)


def _groups(n: int) -> np.ndarray:
    """Where the groups of neighbouring frames begin that are drawn together: single ones, unless many."""
    return np.arange(0, n, math.ceil(2 * n / _MOST_POINTS) if n > _MOST_POINTS else 1)


def _means(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Mean of the known values of each group along the first axis; NaN where there is none."""
    if not len(starts):
        return values
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.add.reduceat(np.where(known, values, 0), starts) / np.add.reduceat(
            known, starts, dtype=np.int64)


def _draw_lines(axes, times_s: np.ndarray, values: np.ndarray) -> None:
    starts = _groups(len(values))
    group = starts[1] if len(starts) > 1 else 1
    known = np.isfinite(values)
    count, low, high = _means(values, starts).T
    times_s = times_s[starts]
    axes.fill_between(times_s, low, high, color=_PALE, linewidth=0, label="interval")
    if group > 1:
        least = np.minimum.reduceat(np.where(known, values, math.inf), starts)[:, 0]
        most = np.maximum.reduceat(np.where(known, values, -math.inf), starts)[:, 0]
        axes.fill_between(times_s, least, most, where=least <= most, color=_BLUE, alpha=0.35, linewidth=0.6,
                          label=f"range of {group:,} frames")
    label = f"mean of {group:,} frames" if group > 1 else "count"
    marker = "o" if len(starts) <= 50 else None
    axes.plot(times_s, count, color=_BLUE, linewidth=1.2, marker=marker, markersize=3, label=label)

    top = values[known].max(initial=1.0)
    axes.set_ylim(0, 1.08 * top)
    _style_people(axes)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    if known[:, 0].any():
        _legend_above(axes, 3)
    else:
        axes.text(0.5, 0.5, "no frame could be counted", transform=axes.transAxes, ha="center", color=_GREY)


def _draw_directions(axes, times_s: np.ndarray, results: Sequence[FrameCount]) -> None:
    """Right- and left-moving people as thin lines, neighbouring frames as their mean."""
    starts = _groups(len(results))
    for name, colour in (("right", _AMBER), ("left", _INK)):
        values = np.array([getattr(row, name) for row in results], np.float64)
        axes.plot(times_s[starts], _means(values, starts), color=colour, linewidth=0.8, label=name)
    if axes.get_legend() is not None:
        _legend_above(axes, 5)


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
    axes.set_ylabel("depth", color=_GREY)
    _strip_frame(axes, ("left", "top", "right"))
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.01, aspect=8)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=_GREY, labelsize=7, length=0)
    bar.set_label("people per\nunit of depth", fontsize=7, color=_GREY)


def _draw_flags(axes, results: Sequence[FrameCount], times_s: np.ndarray, ends_s: np.ndarray,
                flags: Sequence[str]) -> None:
    narrowest = (ends_s[-1] - times_s[0]) / 600  # what can still be seen
    for row, flag in enumerate(flags):
        flagged = np.array([flag in result.flags for result in results])
        begins, ends = times_s[flagged], ends_s[flagged]
        apart = begins[1:] - ends[:-1] > narrowest
        begins, ends = begins[np.append(True, apart)], ends[np.append(apart, True)]
        widths = np.maximum(ends - begins, narrowest)
        axes.broken_barh(np.column_stack([begins, widths]), (row - 0.32, 0.64), color=_AMBER, linewidth=0)
    axes.set_yticks(range(len(flags)), flags, fontsize=8, color=_GREY)
    axes.set_ylim(len(flags) - 0.4, -0.6)
    _strip_frame(axes, ("left", "top", "right"))


def _style_people(axes) -> None:
    """An axis of people: few whole numbers, and no frame but the ground line."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_ylabel("people", color=_GREY)
    axes.set_axisbelow(True)
    _strip_frame(axes, ("left", "top", "right"))


def _strip_frame(axes, sides: Sequence[str]) -> None:
    for side in sides:
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#bdbdbd")
    axes.tick_params(colors=_GREY, labelsize=8, length=0)


def _legend_above(axes, columns: int) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, fontsize=8, frameon=False,
                labelcolor=_GREY, borderaxespad=0)


def _summary(times_s: np.ndarray, counts: np.ndarray, reliable: np.ndarray) -> str:
    frames = f"{len(counts):,} frames"
    if not np.isfinite(counts).any():
        return frames
    if np.isfinite(counts[reliable]).any():
        counts = np.where(reliable, counts, np.nan)
    peak = np.nanargmax(counts)
    when = clock(times_s[peak] % _DAY_S)
    return f"mean {np.nanmean(counts):.1f}, peak {counts[peak]:.1f} at {when}, {frames}"


def clock(seconds: float, decimals: int = 0) -> str:
    """Time since the start as h:mm:ss.

    >>> clock(3725.25, 1)
    '1:02:05.2'
    """
    ticks = round(seconds * 10**decimals)
    whole, part = divmod(ticks, 10**decimals)
    text = f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{text}.{part:0{decimals}}" if decimals else text


def _since_midnight_s(time: datetime | None) -> float:
    """Seconds into its day; 0 without a time."""
    if time is None:
        return 0.0
    return (time - time.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()


def _label_time(axes, span_s: tuple[float, float], start_time: datetime | None) -> None:
    """Ticks at round times; those of the day, with its date, when the `start_time` of 0 s is given."""
    since_midnight_s = _since_midnight_s(start_time)
    length = span_s[1] - span_s[0]
    step = next((step for step in _TICK_STEPS_S if length <= 9 * step), None)
    step = step or _DAY_S * math.ceil(length / 9 / _DAY_S)
    first, last = ((edge + since_midnight_s) / step for edge in span_s)
    ticks_s = step * np.arange(math.ceil(first), math.floor(last) + 1)
    decimals = 1 if step < 1 else 0
    if start_time is None:
        labels = [clock(tick, decimals) for tick in ticks_s]
    else:
        labels = [clock(tick % _DAY_S, decimals) for tick in ticks_s]
        for k, day in enumerate(ticks_s // _DAY_S):
            if k == 0 or day != ticks_s[k - 1] // _DAY_S:
                labels[k] += f"\n{start_time.date() + timedelta(days=int(day)):%Y-%m-%d}"
    axes.set_xticks(ticks_s - since_midnight_s, labels)
    axes.set_xlim(*span_s)


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
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    gaps = np.diff(numbers, prepend=numbers[:1])
    breaks = np.flatnonzero(gaps > 10 * np.median(gaps[1:])) if len(numbers) > 1 else []
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(numbers, labels, ".", color=_GREY, markersize=3, label="label")
    axes.plot(np.insert(numbers.astype(float), breaks, math.nan), np.insert(predictions, breaks, math.nan),
              color=_MID_BLUE, linewidth=1.0, label="prediction without the frame's block")
    if marked.any():
        axes.vlines(numbers[marked], predictions[marked], labels[marked], color=_AMBER, linewidth=0.8)
        axes.plot(numbers[marked], labels[marked], "o", color=_AMBER, markersize=5, label="stands out")
    axes.set_ylim(0, 1.08 * max(labels.max(), predictions.max(), 1.0))
    axes.margins(x=0.01)
    axes.set_xlabel("frame", color=_GREY)
    _style_people(axes)
    axes.grid(axis="y", color=_GREY, alpha=0.25, linewidth=0.8)
    _legend_above(axes, 3)
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
        axes.plot(numbers, errors, style, color=_GREY, linewidth=1.2, label=f"selected frames: {name}")
    axes.axhline(found.full.metrics.mae, color=_INK, linewidth=1.0,
                 label=f"the model, {found.full.prototypes} training frames")
    axes.plot(numbers, [size.metrics.mae for size in found.sizes], "o-", color=_BLUE, linewidth=1.8,
              markersize=4, label="virtual prototypes")
    axes.plot(found.chosen.prototypes, found.chosen.metrics.mae, "o", color=_AMBER, markersize=10,
              fillstyle="none", markeredgewidth=2, label=f"kept: {found.chosen.prototypes}")
    axes.set_xscale("log")
    axes.set_xticks(numbers, [str(number) for number in numbers])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("prototypes", color=_GREY)
    _style_people(axes)
    axes.set_ylabel("mean absolute error, people", color=_GREY)
    axes.grid(axis="y", color=_GREY, alpha=0.25, linewidth=0.8)
    axes.legend(fontsize=8, frameon=False, labelcolor=_INK)
    _save(figure, path, title)


class OverlayWriter:
    """Writes the footage with region of interest, foreground, count and interval drawn in, as a video.

    A context manager. Frames go to `<stem>.partial<suffix>` beside, which takes the name `path` when the body
    succeeds; when it fails or is interrupted, the partial video is closed properly and stays.

    Parameters
    ----------
    path : str or Path
        Video to write: .mp4 (MPEG-4) or .avi (motion JPEG).
    size_wh : (int, int)
        Width and height of the frames, pixels.
    fps : float
        Frames per second of the video.

    Attributes
    ----------
    partial_path : Path
        The file being written until it takes its final name.

    Raises
    ------
    OutputError
        On entering, when the video cannot be begun; on leaving, when it did not become whole.
    """

    def __init__(self, path: str | Path, size_wh: tuple[int, int], fps: float):
        self.path = Path(path)
        self.size_wh = size_wh
        self.fps = fps

    def __enter__(self) -> Self:
        codec = _CODECS.get(self.path.suffix.lower())
        if not is_utf8(self.path):
            raise OutputError(f"cannot write {str(self.path)!a}: the name is not valid UTF-8; choose another")
        if codec is None:
            raise OutputError(f"cannot write {self.path}: expected a name ending in {' or '.join(_CODECS)}")
        self._partial = partial_path(self.path)
        self.partial_path = self._partial.__enter__()
        fourcc = cv2.VideoWriter.fourcc(*codec)
        self._video = cv2.VideoWriter(str(self.partial_path), cv2.CAP_FFMPEG, fourcc, self.fps, self.size_wh)
        self._frames = 0
        if not self._video.isOpened():
            width, height = self.size_wh
            error = OutputError(f"cannot write {self.path}: OpenCV encodes no {codec} of {width}x{height} at "
                                f"{self.fps:g} frames/s; try the other of {' and '.join(_CODECS)}")
            self.__exit__(type(error), error, None)
            raise error
        self._last_bgr = np.zeros((self.size_wh[1], self.size_wh[0], 3), np.uint8)
        return self

    def write(self, frame_bgr: np.ndarray | None, roi: np.ndarray, foreground: np.ndarray | None,
              row: FrameCount, profile: "Profile | None" = None) -> None:
        """Append one frame.

        Parameters
        ----------
        frame_bgr : (H, W, 3) uint8 or None
            None for a frame that could not be decoded: the one before it is shown in its place.
        roi, foreground, row, profile
            As in `draw_overlay`.
        """
        if frame_bgr is not None:
            self._last_bgr = frame_bgr
        picture = draw_overlay(self._last_bgr, roi, foreground, row, profile)
        if picture.shape[1::-1] != self.size_wh:
            raise ValueError(f"expected frames of {self.size_wh}, found {picture.shape[1::-1]}")
        self._video.write(picture)
        self._frames += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._video.release()
        incomplete = self._incomplete() if error is None else None
        if not self._frames:
            self.partial_path.write_bytes(b"")
        error = error or incomplete
        self._partial.__exit__(type(error) if error else None, error, traceback)
        if incomplete:
            raise incomplete

    def _incomplete(self) -> OutputError | None:
        """The encoder does not tell that the disk is full; but then nothing more fits, or frames lack."""
        if not self._frames:
            return OutputError(f"cannot write {self.path}: there is no frame to show; choose other frames")
        try:
            with WholeWrites(self.partial_path, "ab") as file:
                file.reserve(_PROBE_BYTES)
        except OSError as error:
            return output_error(self.path, error)
        video = cv2.VideoCapture(str(self.partial_path), cv2.CAP_FFMPEG)
        found = round(video.get(cv2.CAP_PROP_FRAME_COUNT)) if video.isOpened() else 0
        video.release()
        if found != self._frames:
            return OutputError(f"cannot write {self.path}: only {found} of {self._frames} frames are in it; "
                               "free disk space or choose another place")
        return None


def draw_overlay(frame_bgr: np.ndarray, roi: np.ndarray, foreground: np.ndarray | None,
                 row: FrameCount, profile: "Profile | None" = None) -> np.ndarray:
    """Draw what was counted into a copy of a frame.

    The foreground is tinted, the region of interest outlined and what lies outside it dimmed; a panel tells
    the count, its interval, the time, the frame's number and its flags. Where a profile is given, a heat
    strip at the right edge shows the density of people over the depth, each band beside the image rows it
    covers.

    Parameters
    ----------
    frame_bgr : (H, W, 3) uint8
    roi : (H, W) bool
        Region of interest.
    foreground : (h, w) bool or None
        Foreground at any resolution.
    row : FrameCount
    profile : Profile, optional

    Returns
    -------
    (H, W, 3) uint8
    """
    height, width = frame_bgr.shape[:2]
    scale = max(height / 480, 0.75)
    picture = frame_bgr.copy()
    if foreground is not None:
        mask = cv2.resize(foreground.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
        tint = cv2.addWeighted(picture, 0.55, np.full_like(picture, _TINT_BGR), 0.45, 0)
        cv2.copyTo(tint, mask, picture)
    _show_region(picture, roi, scale)
    if profile is not None:
        _draw_strip(picture, profile, scale)
    _draw_panel(picture, row, scale)
    return picture


def _draw_strip(picture: np.ndarray, profile: "Profile", scale: float) -> None:
    """The density over depth in a strip along the right edge, over a darkened ground."""
    width, margin = round(20 * scale), round(5 * scale)
    right = picture.shape[1] - margin
    edges = np.rint(profile.rows).astype(int)
    ground = picture[max(0, edges[0] - 2) : edges[-1] + 2, right - width - 2 : right + 2]
    ground[:] = cv2.convertScaleAbs(ground, alpha=0.35)
    levels = np.clip(np.rint(255 * profile.density / profile.strongest), 0, 255).astype(np.uint8)
    colours = cv2.applyColorMap(levels[:, None], cv2.COLORMAP_INFERNO)[:, 0]
    for top, bottom, colour in zip(edges[:-1], edges[1:], colours, strict=True):
        picture[top:bottom, right - width : right] = colour


def draw_annotations(frame_bgr: np.ndarray, roi: np.ndarray, points: np.ndarray | None = None,
                     boxes: np.ndarray | None = None) -> np.ndarray:
    """Draw the people that were annotated into a copy of a frame, and the region of interest.

    Parameters
    ----------
    frame_bgr : (H, W, 3) uint8
    roi : (H, W) bool
        Region of interest: outlined, and what lies outside it dimmed.
    points : (k, 2) float64, optional
        Heads (x, y) in pixels, where pixel (c, r) covers [c, c + 1) x [r, r + 1).
    boxes : (k, 4) float64, optional
        Boxes (left, top, width, height), in the same coordinates.

    Returns
    -------
    (H, W, 3) uint8
    """
    scale = max(frame_bgr.shape[0] / 480, 0.75)
    picture = frame_bgr.copy()
    for left, top, width, height in [] if boxes is None else np.rint(boxes).astype(int).tolist():
        cv2.rectangle(picture, (left, top), (left + width - 1, top + height - 1), _AMBER_BGR,
                      max(1, round(1.5 * scale)), cv2.LINE_AA)
    for x, y in [] if points is None else np.rint(points - 0.5).astype(int).tolist():
        cv2.circle(picture, (x, y), round(4 * scale), _INK_BGR, -1, cv2.LINE_AA)
        cv2.circle(picture, (x, y), round(3 * scale), _AMBER_BGR, -1, cv2.LINE_AA)
    _show_region(picture, roi, scale)
    return picture


def _show_region(picture: np.ndarray, roi: np.ndarray, scale: float) -> None:
    """Outline the region of interest and dim what lies outside it."""
    if roi.all():
        return
    outside = (~roi).astype(np.uint8)
    cv2.copyTo(cv2.convertScaleAbs(picture, alpha=0.6), outside, picture)
    outlines, _ = cv2.findContours(1 - outside, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    cv2.polylines(picture, outlines, True, _OUTLINE_BGR, max(1, round(1.5 * scale)), cv2.LINE_AA)


def _draw_panel(picture: np.ndarray, row: FrameCount, scale: float) -> None:
    """The texts in the upper left corner, over a darkened ground."""
    counted = math.isfinite(row.count)
    lines = [(f"{row.count:.1f}" if counted else "--", 1.1, _WHITE_BGR)]
    if counted:
        lines.append((f"{row.low:.1f} to {row.high:.1f} people", 0.45, _PALE_BGR))
    if row.right is not None and math.isfinite(row.right):
        lines.append((f"{row.left:.1f} < left   right > {row.right:.1f}", 0.45, _PALE_BGR))
    lines.append((f"{clock(row.time_s, 1)}   frame {row.frame}", 0.45, _PALE_BGR))
    lines += [(flag.replace("_", " "), 0.45, _AMBER_BGR) for flag in row.flags]

    margin = round(10 * scale)
    placed, bottom, right = [], margin, 0
    for text, size, colour in lines:
        thickness = max(1, round(2 * size * scale))
        (text_width, text_height), _ = cv2.getTextSize(text, _FONT, size * scale, thickness)
        bottom += text_height + round(7 * scale)
        right = max(right, text_width)
        placed.append((text, bottom, size * scale, colour, thickness))
    panel = picture[margin // 2:bottom + margin, margin // 2:right + 2 * margin]
    panel[:] = cv2.convertScaleAbs(panel, alpha=0.35)
    for text, bottom, size, colour, thickness in placed:
        cv2.putText(picture, text, (margin, bottom), _FONT, size, colour, thickness, cv2.LINE_AA)
