"""What a batch found out about each camera over time: mean, maximum and flagged frames per interval."""

import glob
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .. import pages
from ..errors import BatchError, OutputError, one_line
from ..plots import BLUE, DPI, GREY, as_svg, dots, label_time, legend_above, new_figure, strip_frame
from ..results import UNRELIABLE
from ..rows import import_parquet, open_rows
from ..storage import atomic_path, check_writable, refuse_foreign, refuse_locked
from ..wording import clock, plural
from .catalogue import NO_DATE, describe, results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Lengths of the intervals, seconds.
INTERVALS = {"1min": 60, "15min": 900, "hour": 3600, "day": 86400}
_NAMES = {"1min": "a minute", "15min": "15 minutes", "hour": "an hour", "day": "a day"}
#: What a report can be written as.
SUFFIXES = (".csv", ".png", ".html")
COLUMNS = ("camera", "video", "start", "frames", "mean", "max", "time_of_max", "flagged")
_PALE = "#9cc0e0"
_MOST_STRIPS = 12
_MOST_LINES, _MOST_ROWS = 50, 500  # cameras in a page, and intervals of each: what a person can still read

# A video without a start time is its own time line: its intervals count from its first frame, and are never
# put together with another's. The camera is the folder in the results: hive partitioning would also take
# "camera=" in the name of a folder around them.
_QUERY = """
SELECT
    parse_path(filename, 'system')[-3] AS folder,
    CASE WHEN time IS NULL THEN parse_filename(filename, true, 'system') END AS video,
    CASE WHEN time IS NULL THEN floor(time_s / $length) * $length END AS second,
    CASE WHEN time IS NOT NULL
        THEN time_bucket(to_seconds($length), time, TIMESTAMP '2000-01-01') END AS start,
    count(*) AS frames,
    coalesce(nullif(count(count) FILTER (WHERE reliable), 0), count(count)) AS counted,
    coalesce(avg(count) FILTER (WHERE reliable), avg(count)) AS mean,
    arg_max(count, (reliable, count)) FILTER (WHERE count IS NOT NULL) AS most,
    arg_max(time, (reliable, count, -epoch_us(time))) FILTER (WHERE count IS NOT NULL) AS time_of_max,
    arg_max(time_s, (reliable, count, -time_s)) FILTER (WHERE count IS NOT NULL) AS second_of_max,
    avg(CASE WHEN flags = '' THEN 0.0 ELSE 1.0 END) AS flagged
FROM (
    SELECT *, NOT regexp_matches(flags, $unreliable) AS reliable
    FROM read_parquet($files, hive_partitioning = false, filename = true)
)
WHERE ($since IS NULL OR time >= $since) AND ($until IS NULL OR time < $until)
GROUP BY ALL
ORDER BY start NULLS LAST, video, second
"""


@dataclass(frozen=True)
class Row:
    """One interval of a camera.

    Attributes
    ----------
    camera : str
    video : str or None
        Name of the result, for a video whose start time is unknown: it is a time line of its own.
    start : datetime or float
        When the interval begins; seconds since the first frame for a video whose start time is unknown.
    frames, counted : int
        Frames in it, and those of them whose counts are summed up: the reliable ones, or all that could be
        decoded where none is (`FrameCount.is_reliable`).
    mean, max : float or None
        Of the counts that are summed up; None when there is none.
    time_of_max : datetime, float or None
        When the count was highest first, as `start`.
    flagged : float
        Share of its frames that carry a flag, 0 to 1.
    """

    camera: str
    video: str | None
    start: datetime | float
    frames: int
    counted: int
    mean: float | None
    max: float | None
    time_of_max: datetime | float | None
    flagged: float

    @property
    def line(self) -> str:
        """Name of the time line that it is of."""
        return self.camera if self.video is None else f"{self.camera}/{self.video}"


def summarise(
    out: str | Path,
    interval: str = "hour",
    *,
    cameras: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Row]:
    """Sum up the results in a folder of `run_batch`.

    Parameters
    ----------
    out : path
    interval : "1min", "15min", "hour" or "day"
    cameras : sequence of str
        These only; all when empty.
    since, until : datetime, optional
        Wall-clock times, `until` itself left out; videos whose start time is unknown are then left out too.

    Returns
    -------
    list of Row
        By camera and time.

    Raises
    ------
    BatchError
        When there is no result, or none of one of the cameras, or one of theirs is damaged.
    OutputError
        When duckdb or pyarrow is missing.
    """
    try:
        import duckdb
    except ImportError:
        raise OutputError("a report needs duckdb and pyarrow: pip install duckdb pyarrow") from None
    if any(time is not None and time.tzinfo is not None for time in (since, until)):
        raise BatchError("results have the wall-clock time of their cameras; give times without a zone")
    if not os.path.isdir(out):
        refuse_locked(out, BatchError)
        raise BatchError(f"{out} is not a folder; give the folder of results that crowdcount batch made")
    cameras_of = {str(path): _camera(path.parts[-3]) for path in results(out)}
    if not cameras_of:
        raise BatchError(f"{out} holds no results; give the folder that crowdcount batch wrote to")
    for camera in cameras:
        if camera not in cameras_of.values():
            raise BatchError(f"{out} has no results of the camera {camera}; correct the name or leave it out")
    files = [file for file, camera in cameras_of.items() if not cameras or camera in cameras]
    named = [glob.escape(file) for file in files]  # DuckDB takes names for patterns
    wanted = {"length": INTERVALS[interval], "files": named, "since": since, "until": until}
    wanted["unreliable"] = "|".join(UNRELIABLE)
    for path in files:
        _check_whole(path)
    try:
        with duckdb.connect() as database:
            found = database.execute(_QUERY, wanted).fetchall()
    except duckdb.Error as error:
        for path in files:
            describe(path)  # says which one is no result
        raise BatchError(f"the results in {out} cannot be read: {str(error).splitlines()[0]}") from error
    rows = [
        Row(
            camera=_camera(folder),
            video=video,
            start=second if start is None else start,
            frames=n_frames,
            counted=n_counted,
            mean=mean,
            max=most,
            time_of_max=time_s if start is None else time,
            flagged=flagged,
        )
        for folder, video, second, start, n_frames, n_counted, mean, most, time, time_s, flagged in found
    ]
    if not rows:
        n = n_undated(out, cameras)
        undated = f"; of {plural(n, 'video')} the start time is unknown" if n else ""
        raise BatchError(f"{out} has no counts of {', '.join(cameras) or 'any camera'} in that time{undated}")
    return sorted(rows, key=lambda row: row.camera)


def n_undated(out: str | Path, cameras: Sequence[str] = ()) -> int:
    """Number of the results of these cameras, or of all, whose start time is unknown."""
    paths = (path for path in results(out) if path.parent.name == NO_DATE)
    return sum(not cameras or _camera(path.parts[-3]) in cameras for path in paths)


def _camera(folder: str) -> str:
    """The camera of a folder in the results, "camera=NAME"."""
    return unquote(folder.removeprefix("camera="), errors="surrogateescape")


def _check_whole(path: str) -> None:
    """BatchError when the checksums in a result tell that it is damaged, which DuckDB does not look at."""
    arrow, parquet = import_parquet()
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches(use_threads=False):
                pass
    except (OSError, arrow.ArrowException) as error:
        describe(path)
        raise BatchError(f"{path} is damaged; remove it and run the batch again") from error


def write_report(rows: Sequence[Row], paths: Sequence[str | Path], interval: str) -> None:
    """Write a report as a table (.csv), a chart (.png) or a page (.html); OutputError when that fails."""
    for path in paths:
        check_writable(path, SUFFIXES)
        refuse_foreign(path, COLUMNS)
        pages.refuse_other_page(path, "report")
    for path in map(Path, paths):
        suffix = path.suffix.lower()
        if suffix == ".html":
            _write_page(rows, path, interval)
        elif suffix == ".csv":
            _write_csv(rows, path)
        else:
            with atomic_path(path) as temporary:
                _chart(rows, interval, _dates(rows)).savefig(temporary, format="png")


def text_table(rows: Sequence[Row]) -> str:
    """A report for a terminal."""
    cells = [[*COLUMNS[:1], *COLUMNS[2:]]] + [_cells(row) for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k in (0, 1) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _cells(row: Row) -> list[str]:
    return [
        one_line(row.line),
        _when(row.start),
        str(row.frames),
        str(_short(row.mean)),
        str(_short(row.max)),
        _when(row.time_of_max),
        f"{row.flagged:.1%}",
    ]


def _short(value: float | None) -> float | str:
    return "" if value is None else round(value, 1)


def _when(time: datetime | float | None) -> str:
    """Times to the second that has begun: rounded, the last frame's would be of the next interval or day."""
    if time is None:
        return ""
    if isinstance(time, datetime):
        return time.isoformat(sep=" ", timespec="seconds")
    return clock(math.floor(time))


def _in_csv(time: datetime | float | None) -> str:
    """Times of day to the millisecond, as in files of counts: pandas parses columns of one form alone."""
    if time is None:
        return ""
    return time.isoformat(timespec="milliseconds") if isinstance(time, datetime) else f"{time:.15g}"


def _write_csv(rows: Sequence[Row], path: Path) -> None:
    with open_rows(path, "csv", dict.fromkeys(COLUMNS, str)) as table:
        for row in rows:
            start, top = (_in_csv(time) for time in (row.start, row.time_of_max))
            mean, most = ("" if value is None else f"{value:.4f}" for value in (row.mean, row.max))
            cells = (row.camera, row.video, start, row.frames, mean, most, top, f"{row.flagged:.4f}")
            table.write(dict(zip(COLUMNS, cells, strict=True)))


def _lines(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each time line: a camera's, or a video's whose start time is unknown."""
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(row.line, []).append(row)
    return lines


def _dates(rows: Sequence[Row]) -> list[datetime]:
    """Where the intervals of wall-clock time begin, from the first to the last."""
    return sorted(row.start for row in rows if isinstance(row.start, datetime))


def _chart(rows: Sequence[Row], interval: str, dates: list[datetime]) -> "Figure":
    """Mean and maximum over time, one strip for each of the first `_MOST_STRIPS` time lines.

    All strips of wall-clock time show the time of `dates`, so that cameras can be compared.
    """
    lines = _lines(rows)
    shown = list(lines.items())[:_MOST_STRIPS]
    figure = new_figure(0.7 + 1.9 * len(shown), DPI)
    from matplotlib.ticker import MaxNLocator

    length = float(INTERVALS[interval])
    strips = figure.subplots(len(shown), squeeze=False)[:, 0]
    for axes, (name, line) in zip(strips, shown, strict=True):
        start = dates[0] if isinstance(line[0].start, datetime) else None
        times_s, means, tops = _with_gaps(line, start, length)
        dotted = dots(means)
        axes.plot(times_s, tops, color=_PALE, linewidth=1.1, label="maximum", **dotted)
        axes.plot(times_s, means, color=BLUE, linewidth=1.4, label="mean", **dotted)
        axes.set_ylim(0, 1.08 * max(1.0, *(row.max or 0 for row in line)))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
        first_s, last_s = (0.0, _since(start, dates[-1])) if start else (times_s[0], times_s[-1])
        label_time(axes, (first_s, last_s), start, length)
        if len(lines) > 1:
            axes.set_title(name, loc="left", fontsize=9, color=GREY, parse_math=False)
        axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.8)
        strip_frame(axes)
    strips[0].set_ylabel("people", color=GREY, fontsize=8)
    legend_above(strips[0], 2)
    if len(lines) > _MOST_STRIPS:
        figure.supxlabel(f"and {len(lines) - _MOST_STRIPS} more", fontsize=8, color=GREY)
    return figure


def _since(start: datetime | None, time: datetime | float) -> float:
    """Seconds from `start` to a time; a time without a date has its own beginning."""
    return time if start is None else (time - start).total_seconds()


def _with_gaps(
    line: Sequence[Row], start: datetime | None, length: float
) -> tuple[list[float], list[float], list[float]]:
    """Times `_since` the start, means and maxima; NaN between intervals that do not follow each other."""
    times_s, means, tops = [], [], []
    for row in line:
        time_s = _since(start, row.start)
        if times_s and time_s - times_s[-1] > 1.5 * length:
            times_s.append(times_s[-1] + length)
            means.append(math.nan)
            tops.append(math.nan)
        times_s.append(time_s)
        means.append(math.nan if row.mean is None else row.mean)
        tops.append(math.nan if row.max is None else row.max)
    return times_s, means, tops


def _write_page(rows: Sequence[Row], path: Path, interval: str) -> None:
    lines = _lines(rows)
    overview = [_overview(name, line) for name, line in lines.items()]
    header = ["camera", "frames", "mean", "max", "time of max", "flagged"]
    dates = _dates(rows)
    told = f"People per frame, in intervals of {_NAMES[interval]}. {_span(dates, interval)}"
    parts = [
        pages.paragraph(told, note=True),
        pages.section("All cameras", pages.table(header, overview)),
    ]
    for name, line in list(lines.items())[:_MOST_LINES]:
        table = [_cells(row)[1:] for row in line[:_MOST_ROWS]]
        chart = as_svg(_chart(line, interval, dates))
        drawing = pages.picture(chart, f"Mean and maximum over time of {name}")
        shown = [drawing, pages.table(["start", *header[1:]], table)]
        if len(line) > _MOST_ROWS:
            text = f"The first {_MOST_ROWS} of {len(line)} intervals; the .csv has all."
            shown.append(pages.paragraph(text, note=True))
        parts.append(pages.section(name, *shown))
    if len(lines) > _MOST_LINES:
        text = f"The first {_MOST_LINES} of {len(lines)} in detail; name others with --camera."
        parts.append(pages.paragraph(text, note=True))
    pages.write_page(path, "report", "People counted", parts)


def _overview(name: str, line: Sequence[Row]) -> list[str | float]:
    """A time line as a whole, in one row of the page's first table."""
    counted = [row for row in line if row.counted]
    top = max(counted, key=lambda row: row.max, default=None)
    mean = top and sum(row.mean * row.counted for row in counted) / sum(row.counted for row in counted)
    n_frames = sum(row.frames for row in line)
    return [
        name,
        n_frames,
        _short(mean),
        _short(top and top.max),
        _when(top and top.time_of_max),
        f"{sum(row.flagged * row.frames for row in line) / n_frames:.1%}",
    ]


def _span(dates: Sequence[datetime], interval: str) -> str:
    if not dates:
        return "No video says when it began."
    return f"{_when(dates[0])} to {_when(dates[-1] + timedelta(seconds=INTERVALS[interval]))}."
