"""The next period's count curve from the last one, learnt from the periods counted so far."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise, product
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np
from scipy.ndimage import binary_opening

from models import BlockedKFold, FunctionalRegressor, blocked_quantile, count_interval, normalised_scores
from models.functional import fill_gaps
from models.losses import usual_threshold

from .errors import DatasetError
from .plots import PLOT_SUFFIXES, plot_forecast
from .results import COUNTS, MEANINGLESS, is_meaningless, read_counts, read_start_time
from .rows import count_cell, format_of, open_rows, time_cells, time_columns
from .storage import check_writable, refuse_foreign, refuse_to_replace
from .watcher import Show, Watcher, show_nothing
from .wording import plural

#: Without this many whole periods there is nothing to learn from and to test on.
MIN_PERIODS = 4
#: Periods that the back-test predicts at most, the latest ones.
TESTED_PERIODS = 10
#: A period with counts in a smaller share of its steps is left out; so is a step of the period with counts in
#: a smaller share of the periods, as the hours in which a place is closed.
LEAST_OBSERVED = 0.5
#: The memory to learn from more goes with their square.
MOST_PERIODS = 5000
_SHORTEST_S = 0.001  # of a period
#: More steps than this come of a wrong time among the right ones.
MOST_STEPS = 10_000_000
#: What blocked cross-validation chooses from: the kernel of the last curve, the weight of the norm, with the
#: largest of which about the typical curve is left, and the squared distance between different places in the
#: week or day (0: they do not count). Then the Huber loss (p = 1) is tried with the best.
KERNELS = ("linear", "rbf")
LAMBDAS = (0.001, 0.01, 0.1, 1.0, 10.0)
PLACE_WEIGHTS = (0.0, 6.0)
#: Periods that this is chosen by, the latest: the time goes with their cube. By 200 of 400 to 500 simulated
#: hours the same was chosen as by all, by 100 less good settings.
MOST_TRIED = 300
#: Days or weeks that a place must have come in to be learnt from.
LEAST_CYCLES = 2
#: Relative duality gaps: while settings are compared, and of the forecast.
ROUGHLY, SOLVED = 1e-3, 1e-6
_HOUR_S, _HALF_YEAR_S = 3600, 180 * 86400
#: Hours that a clock shows twice where summer time ends, in one country or another.
_PUT_BACK_HOURS = (23, 0, 1, 2, 3)
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PERIODS_S = {"hour": 3600, "day": 86400, "week": 7 * 86400}


@dataclass(frozen=True, eq=False)
class CountSeries:
    """Counts over time, in the order of time; ValueError for others, for none, and for what is no number.

    Attributes
    ----------
    times_s : (n,) float64
        Seconds since `start`.
    counts : (n,) float64
    start : datetime or None
        Wall-clock time of 0 s; None when the files tell none.
    twice : tuple of datetime
        Beginnings of the hours that were counted twice, as the clock is put back where summer time ends.
    """

    times_s: np.ndarray
    counts: np.ndarray
    start: datetime | None
    twice: tuple[datetime, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.times_s) or len(self.times_s) != len(self.counts):
            raise ValueError(f"expected as many times as counts, one or more, found {len(self.times_s)} and "
                             f"{len(self.counts)}")  # fmt: skip
        if not (np.isfinite(self.times_s).all() and np.isfinite(self.counts).all()):
            raise ValueError("expected times and counts that are numbers; leave out what was not counted")
        if (np.diff(self.times_s) < 0).any():
            raise ValueError("expected counts in the order of time, found a time before the one ahead of it")


@dataclass(frozen=True, eq=False, kw_only=True)
class Forecast:
    """The count curve of the next period.

    Attributes
    ----------
    times_s : (steps,) float64
        Beginnings of the steps, seconds since `start`.
    counts, low, high : (steps,) float64
        Mean count of each step, and the interval that held it in `level` of the steps of the back-test;
        infinitely wide when too few periods were tested for that level. NaN in steps that are not forecast,
        as most periods have no counts there.
    start : datetime or None
    twice : tuple of datetime
        As of the series.
    period_s : float
    history : (periods, steps) float64
        Mean counts of the past periods' steps, the last one last, NaN where nothing was counted.
    errors : dict of str to float
        Mean absolute error of the forecast and of the naive ones over the tested periods, people.
    n_tested : int
    settings : str
        What the cross-validation chose.
    passed_over_s : float
        Time between the last counts and this period that holds periods of which no week or day has counts, as
        the Sunday of a shop that is closed on Sundays.
    """

    times_s: np.ndarray
    counts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    start: datetime | None
    twice: tuple[datetime, ...]
    period_s: float
    history: np.ndarray
    errors: dict[str, float]
    n_tested: int
    settings: str
    passed_over_s: float

    @property
    def step_s(self) -> float:
        return self.period_s / len(self.counts)

    @property
    def has_interval(self) -> bool:
        return not np.isinf(self.high).any()

    @property
    def known_counts(self) -> np.ndarray:
        """The counts of the steps that are forecast."""
        return self.counts[np.isfinite(self.counts)]

    @property
    def n_counted(self) -> int:
        """Number of past periods in which anything was counted."""
        return int(np.isfinite(self.history).any(axis=1).sum())


def parse_period(text: str) -> float:
    """Length of a period in seconds; DatasetError for other texts.

    >>> [parse_period(text) for text in ("hour", "day", "week", "90s", "15m", "1.5h", "2d")]
    [3600.0, 86400.0, 604800.0, 90.0, 900.0, 5400.0, 172800.0]
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd])", text)
    length = float(match[1]) * _UNITS_S[match[2]] if match else float(_PERIODS_S.get(text, 0))
    if not _SHORTEST_S <= length < math.inf:
        found = f"not {text[:40]!r}"
        raise DatasetError(f"a period is hour, day, week or a length as 90s, 15m, 6h or 2d, {found}")
    return length


def length_text(seconds: float) -> str:
    """A length of time in its largest unit.

    >>> length_text(86400), length_text(5400), length_text(90), length_text(20)
    ('1 d', '1.5 h', '1.5 min', '20 s')
    """
    unit_s, unit = next(
        ((size, name) for size, name in ((86400, "d"), (3600, "h"), (60, "min")) if seconds >= size), (1, "s")
    )
    return f"{seconds / unit_s:.3g} {unit}"


def load_series(paths: Sequence[str | Path]) -> CountSeries:
    """Read files of counts as one series, without those of frames flagged `MEANINGLESS`.

    Files whose zones differ by an hour at most, as of summer time, are put in order by their own clocks,
    which the day's curve follows; the series has the zone of the last one.

    Raises
    ------
    DatasetError
        When a file cannot be read, holds the counts of several recordings or of none, or several files are of
        the same time or do not all tell the wall-clock time.
    """
    files = [_read_series(path) for path in paths]
    starts = [own.start for own in files]
    if len(paths) > 1 and None in starts:
        without = paths[starts.index(None)]
        raise DatasetError(f"{without} tells no wall-clock time, by which several files are put in order; "
                           "count with --start-time, or give one file")  # fmt: skip
    if len({start.tzinfo is None for start in starts if start}) > 1:
        raise DatasetError("some files tell the time with its zone and others without; count them alike")
    start, times_s = None, [own.times_s for own in files]
    if None not in starts:
        start, after_s = _on_one_clock(starts)
        times_s = [own_s + since_s for own_s, since_s in zip(times_s, after_s, strict=True)]
    twice = _counted_twice(paths, times_s, start)
    times_s, counts = np.concatenate(times_s), np.concatenate([own.counts for own in files])
    order = np.argsort(times_s, kind="stable")
    return CountSeries(times_s[order], counts[order], start, twice)


def _read_series(path: str | Path) -> CountSeries:
    rows = read_counts(path)
    if len({row.frame for row in rows}) < len(rows):  # times that begin anew would lie over each other
        raise DatasetError(f"{path} holds a frame twice, as where counts of several recordings were put "
                           "together; keep each in a file of its own")  # fmt: skip
    rows = [row for row in rows if not math.isnan(row.count)]
    seen = [row for row in rows if not is_meaningless(row.flags)]
    if not seen:
        ignored = f" but of frames flagged {' or '.join(MEANINGLESS)}" if rows else ""
        raise DatasetError(f"{path} holds no counts{ignored}; leave it out")
    seen.sort(key=attrgetter("time_s"))
    times_s, counts = (np.array([getattr(row, name) for row in seen]) for name in ("time_s", "count"))
    return CountSeries(times_s, counts, read_start_time(path))


def _on_one_clock(starts: Sequence[datetime]) -> tuple[datetime, list[float]]:
    """The first of some times, in the zone of the last one, and how many seconds after it each is, by its own
    clock where the zones differ by an hour at most."""
    start = min(starts)
    if (zone := max(starts).tzinfo) is not None:
        start = start.astimezone(zone)
        offsets = [own.utcoffset() for own in starts]
        if max(offsets) - min(offsets) <= timedelta(seconds=_HOUR_S):
            starts = [own.replace(tzinfo=zone) for own in starts]
    return start, [(own - start).total_seconds() for own in starts]


def _counted_twice(
    paths: Sequence[str | Path], times_s: Sequence[np.ndarray], start: datetime | None
) -> tuple[datetime, ...]:
    """Beginnings of the hours that two files hold as the clock was put back; DatasetError where files are of
    the same time but for that. `times_s` are those of each file, seconds since `start`."""
    spans = [(own.min(), own.max(), path) for own, path in zip(times_s, paths, strict=True)]
    spans.sort(key=itemgetter(0, 1))
    twice_s = []
    for (begin, end, one), (next_begin, next_end, other) in pairwise(spans):
        until = min(end, next_end)
        if 2 * (until - next_begin) <= min(end - begin, next_end - next_begin):
            continue
        if not twice_s or next_begin - twice_s[-1] > _HALF_YEAR_S:
            twice_s.append(next_begin)
        is_put_back = (
            twice_s[-1] - spans[0][0] >= _HOUR_S
            and until - twice_s[-1] <= 1.1 * _HOUR_S  # recorders are not exact
            and (start + timedelta(seconds=twice_s[-1])).hour in _PUT_BACK_HOURS
        )
        if not is_put_back:
            raise DatasetError(f"{one} and {other} hold counts of the same time, as of two cameras; give "
                               "those of one, each once")  # fmt: skip
    return tuple(start + timedelta(seconds=begin_s) for begin_s in twice_s)


def forecast(
    series: CountSeries,
    period_s: float = 86400.0,
    steps: int = 48,
    level: float = 0.9,
    show: Show = show_nothing,
) -> Forecast:
    """Predict the count curve of the period that begins where the series ends, or of the next one of which
    there are ever counts.

    The series is cut, from its end backwards, into periods of `steps` steps, in which counts are averaged.
    Functional output regression (`models.FunctionalRegressor`) learns the way from each period's curve to
    the next one's, its settings chosen by blocked cross-validation; where that helps, the next one's place
    in the week (of days) or in the day (of shorter periods) is an input too. Places that are never counted
    are left out, so that Monday follows on Saturday where a shop is closed on Sundays. The back-test repeats
    all of this, settings included, for each of the latest periods with nothing but the periods before it.

    Parameters
    ----------
    series : CountSeries
    period_s : float
        Length of a period, seconds.
    steps : int
        Steps of a period.
    level : float
        Share of steps whose mean count the intervals shall hold.
    show : callable
        Is shown the progress, see `crowdcount.watcher.Show`.

    Raises
    ------
    DatasetError
        When there are too few periods, or too few counts in the last one.
    ValueError
        When period, steps or level are none.
    """
    if not (0 < period_s < math.inf and steps >= 2 and 0 < level < 1):
        raise ValueError("expected a period of more than 0 s, two steps or more and a level between 0 and 1, "
                         f"found {period_s}, {steps} and {level}")  # fmt: skip
    every_step, is_open, end_s = _periods(series, period_s, steps)
    history, cycle, n_passed_over = _ever_counted(every_step[:, is_open], _cycle(period_s))
    if cycle is not None and not _knows_place(history, cycle):
        cycle = None  # in the back-test too, which is to tell how such forecasts are
    origins = range(max(3, len(history) - TESTED_PERIODS), len(history))
    tested = {}
    for number, k in enumerate(origins, start=1):
        show(f"back-test, period {number} of {len(origins)}", 0, None, None)
        if _observed(history[k]) > 0 and (predictions := dict(_predictions(history[:k], cycle))):
            tested[k] = predictions
    if not tested:
        raise DatasetError("expected two periods in a row with counts before the last ones, found none; "
                           "fill the gaps by counting more footage")  # fmt: skip
    errors = {
        name: float(np.nanmean([np.abs(history[k] - found[name]) for k, found in tested.items()]))
        for name in next(iter(tested.values()))
    }
    scores = [normalised_scores(history[k], found["forecast"]) for k, found in tested.items()]
    quantile = blocked_quantile(scores, level) if len(scores) > 1 else np.inf
    show("forecast", 0, None, None)
    counts = np.full(steps, np.nan)
    counts[is_open], settings, is_placed = _forecast(history, cycle)
    if is_placed:
        settings += f", place in the {cycle_name(period_s)}"
    low, high = count_interval(counts, quantile)
    passed_over_s = n_passed_over * period_s
    return Forecast(
        times_s=end_s + passed_over_s + period_s / steps * np.arange(steps),
        counts=counts,
        low=low,
        high=high,
        start=series.start,
        twice=series.twice,
        period_s=period_s,
        history=every_step,
        errors=errors,
        n_tested=len(tested),
        settings=settings,
        passed_over_s=passed_over_s,
    )


def _periods(series: CountSeries, period_s: float, steps: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean counts of the steps of the whole periods (periods, steps), which steps have them in periods enough
    to be forecast (steps,), and the time at which the periods end.

    A period is whole when the counts begin before the first step that most periods have counts in.
    """
    times_s = series.times_s
    step_s = period_s / steps
    spacings_s = _spacings_s(times_s, period_s)
    between_s = spacings_s[0]
    end_s = times_s[-1] + between_s
    length_s = end_s - times_s[0]
    n_periods = max(1, math.ceil(length_s / period_s - 1e-6))
    if n_periods * steps > MOST_STEPS:
        raise DatasetError(f"expected {MOST_STEPS:,} steps at most, found {n_periods * steps:.3g} from "
                           f"{times_s[0]:g} to {times_s[-1]:g} s; correct these times, or choose a longer "
                           "--period")  # fmt: skip
    if n_periods > MOST_PERIODS:
        raise DatasetError(f"expected at most {MOST_PERIODS:,} periods of {length_text(period_s)}, found "
                           f"{length_text(length_s)} of them; choose a longer --period, or give fewer "
                           "counts")  # fmt: skip
    before_end = np.ceil((end_s - times_s) / step_s - 1e-6).astype(int)
    step = np.clip(n_periods * steps - before_end, 0, n_periods * steps - 1)
    sums = np.bincount(step, series.counts, n_periods * steps)
    numbers = np.bincount(step, minlength=n_periods * steps)
    means = np.divide(sums, numbers, out=np.full(len(sums), np.nan), where=numbers > 0)
    history = means.reshape(n_periods, steps)
    is_open = _open_steps(history, np.median(spacings_s) / step_s)
    if is_open.any() and step[0] > np.argmax(is_open):
        history = history[1:]
    if len(history) < MIN_PERIODS:
        raise DatasetError(f"expected counts over at least {MIN_PERIODS} periods of {length_text(period_s)}, "
                           f"found {length_text(length_s)} of them; count more footage, or choose a shorter "
                           "--period")  # fmt: skip
    if not is_open.any():
        raise DatasetError("expected steps in which half of the periods or more have counts, found none; "
                           "count the same hours of each period, or choose fewer --steps")  # fmt: skip
    if (observed := _observed(history[-1, is_open])) < LEAST_OBSERVED:
        if (usual_s := float(np.median(spacings_s))) > step_s:
            fit = int(period_s / usual_s)
            fewer = f"--steps {fit}, or " if fit >= 2 else ""
            raise DatasetError(
                f"the counts are {length_text(usual_s)} apart, too far for {steps} steps in "
                f"{length_text(period_s)}; choose {fewer}a longer --period"
            )
        raise DatasetError(f"the last period has counts in only {observed:.0%} of the {is_open.sum()} steps "
                           "in which most periods have some; count what is missing, or give counts up to an "
                           "earlier end")  # fmt: skip
    return history, is_open, float(end_s)


def _spacings_s(times_s: np.ndarray, period_s: float) -> np.ndarray:
    """The usual time between counts in each period that has some, from the last one backwards; one of 0 where
    all are of the same time."""
    gaps = np.diff(times_s)
    ago = ((times_s[-1] - times_s[1:]) // period_s)[gaps > 0]
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return np.zeros(1)
    ordered = np.lexsort((gaps, ago))
    _, begins, sizes = np.unique(ago[ordered], return_index=True, return_counts=True)
    return gaps[ordered][begins + (sizes - 1) // 2]  # the lower median


def _open_steps(history: np.ndarray, between: float) -> np.ndarray:
    """Which steps (steps,) have counts in enough of the periods (periods, steps) that have any.

    So have those between them that are missed as counts are made but every `between` steps.
    """
    counted = np.isfinite(history)
    is_closed = counted[counted.any(axis=1)].mean(axis=0) < LEAST_OBSERVED
    gap = np.ones(min(math.floor(between + 1e-6), len(is_closed)) + 1)
    return ~binary_opening(np.tile(is_closed, 3), gap)[len(is_closed) : 2 * len(is_closed)]


def _observed(curve: np.ndarray) -> float:
    return float(np.isfinite(curve).mean())


def _has_enough(history: np.ndarray) -> np.ndarray:
    """Which of the periods (periods, steps) have counts in enough of their steps, (periods,) bool."""
    return np.isfinite(history).mean(axis=1) >= LEAST_OBSERVED


def cycle_name(period_s: float) -> str:
    """What a period may have a place in: a week, of days, or a day."""
    return "week" if period_s == _PERIODS_S["day"] else "day"


def _cycle(period_s: float) -> int | None:
    """Periods of a week (of days) or of a day (of shorter periods); None where they do not fit in, or are
    more than can be tried."""
    cycle = _PERIODS_S[cycle_name(period_s)] / period_s
    return int(cycle) if cycle <= MOST_TRIED / LEAST_CYCLES and cycle.is_integer() else None


def _ever_counted(history: np.ndarray, cycle: int | None) -> tuple[np.ndarray, int | None, int]:
    """The periods without those at places in the cycle at which none has counts enough, what is left of the
    cycle, and how many such periods come next. All of them where less than a cycle was counted."""
    if cycle is None or len(history) < cycle:
        return history, cycle, 0
    places = np.arange(len(history)) % cycle
    is_counted = np.bincount(places, _has_enough(history)) > 0
    n_next = np.argmax(np.roll(is_counted, -len(history)))
    n_left = np.count_nonzero(is_counted)
    return history[is_counted[places]], n_left if n_left > 1 else None, int(n_next)


def _knows_place(history: np.ndarray, cycle: int) -> bool:
    """Whether a period at the next one's place in the cycle can be learnt from."""
    return len(history) % cycle in _pairs(history) % cycle


def _predictions(history: np.ndarray, cycle: int | None) -> Iterator[tuple[str, np.ndarray]]:
    """The next curve by the forecast and the naive ways; nothing when the last curve has too many gaps."""
    enough = _has_enough(history)
    if not enough[-1] or not len(_pairs(history)):
        return
    last = _filled(history[-1:])[0]
    yield "forecast", _forecast(history, cycle)[0]
    yield "last value", np.full(len(last), last[-1])
    yield "same time last period", last
    yield "mean of the periods", _filled(history[enough]).mean(axis=0)


def _filled(curves: np.ndarray) -> np.ndarray:
    return fill_gaps(curves, np.linspace(0, 1, curves.shape[1]))


def _pairs(history: np.ndarray) -> np.ndarray:
    """Numbers of the periods that can be learnt from: they and the ones before have counts enough."""
    enough = _has_enough(history)
    return np.flatnonzero(enough[1:] & enough[:-1]) + 1


def _forecast(history: np.ndarray, cycle: int | None) -> tuple[np.ndarray, str, bool]:
    """The curve (steps,) after the last of `history` (periods, steps), and the settings it was made with,
    at last whether its place counts."""
    pairs = _pairs(history)
    usable = np.union1d(pairs, pairs - 1)
    curves = np.full(history.shape, np.nan)
    curves[usable] = _filled(history[usable])
    is_placed = cycle is not None and len(history) >= LEAST_CYCLES * cycle and _knows_place(history, cycle)
    numbers = np.arange(len(history) + 1)
    places = np.eye(cycle)[numbers % cycle] if is_placed else np.empty((len(numbers), 0))
    best = (KERNELS[0], LAMBDAS[-1], 0.0, "square")

    def before(numbers):
        return curves[numbers - 1], places[numbers]

    if len(pairs) > 2:
        tried = pairs[-MOST_TRIED:]
        folds = [
            (tried[train], tried[test]) for train, test in BlockedKFold(min(5, len(tried))).split(tried)
        ]

        def error(choice):
            sizes = []
            for train, test in folds:
                found = _fit_predict(*choice, before(train), curves[train], before(test), ROUGHLY)
                sizes.append(np.abs(found - curves[test]).mean())
            return np.mean(sizes)

        weights = PLACE_WEIGHTS if is_placed else PLACE_WEIGHTS[:1]
        best = min(product(KERNELS, LAMBDAS, weights, ("square",)), key=error)
        best = min(best, (*best[:3], "huber"), key=error)
    kernel, lam, weight, loss = best
    new = _filled(history[-1:]), places[-1:]
    curve = _fit_predict(*best, before(pairs), curves[pairs], new, SOLVED)[0]
    return curve, f"{kernel} kernel, lam {lam:g}, {loss} loss", weight > 0


def _fit_predict(kernel, lam, weight, loss, given, targets, new, tol) -> np.ndarray:
    """Curves (k, steps) after what is `new`, learnt from what is `given` for the curves `targets` (n, steps).

    given, new: the last curves (n, steps), and the places (n, cycle) of the curves to come, 1 at theirs and 0
    elsewhere.

    Curves are centred at the typical one, the median for the Huber loss, and inputs scaled to a mean square
    of 1; kappa is the usual one of the Huber loss.
    """
    inputs, _ = given
    middle = np.median if loss == "huber" else np.mean
    before, after = middle(inputs, axis=0), middle(targets, axis=0)
    scale = np.sqrt(np.sum((inputs - before) ** 2, axis=1).mean()) or 1.0
    kappa = usual_threshold(targets - after)

    def rows(curves, places):
        return np.hstack([(curves - before) / scale, np.sqrt(weight / 2) * places])

    model = FunctionalRegressor(
        loss=loss,
        p=1,
        kappa=kappa or 1.0,
        kernel=kernel,
        kernel_params={"gamma": 0.5},
        output_kernel_params={"gamma": 10.0},
        lam=lam,
        tol=tol,
        max_iter=50_000,
    ).fit(rows(*given), targets - after)
    return np.maximum(model.predict(rows(*new)) + after, 0.0)


def forecast_files(
    paths: Sequence[str | Path],
    *,
    output: str | None = None,
    plot: str | Path | None = None,
    watcher: Watcher,
    **options,
) -> tuple[Forecast, list[str]]:
    """Forecast from files of counts into a file, and draw it where asked.

    Parameters
    ----------
    paths : sequence of paths
        See `load_series`.
    output : str, optional
        File of the forecast (.csv, .jsonl, .parquet) or "-"; by default `STEM.forecast.csv` in the working
        folder, with the first file's stem without its `.counts`.
    plot : path, optional
        Picture to draw.
    watcher : Watcher
    options
        period_s, steps and level, as for `forecast`.

    Returns
    -------
    Forecast, list of str
        With the names of the files written.

    Raises
    ------
    DatasetError, OutputError
    """
    if output is None:
        output = re.sub(r"\.counts(?=\.|$)", "", Path(paths[0]).stem) + ".forecast.csv"
    format = format_of(output)
    written = [output] * (output != "-") + [str(plot)] * (plot is not None)
    for path in written:
        refuse_to_replace(path, *paths)
        check_writable(path, PLOT_SUFFIXES if path == str(plot) else ())
        refuse_foreign(path, ("time_s", *COUNTS), without=("frame",))
    with watcher.progress() as show:
        made = forecast(load_series(paths), show=show, **options)
    columns = time_columns(made.start) | dict.fromkeys(COUNTS, float)
    with open_rows(output, format, columns) as rows:
        for time_s, *people in zip(made.times_s, made.counts, made.low, made.high, strict=True):
            values = zip(COUNTS, map(count_cell, people), strict=True)
            rows.write(time_cells(time_s, made.start) | dict(values))
    if plot is not None:
        names = [Path(path).name for path in paths]
        many = f"{len(names)} files, {names[0]} … {names[-1]}"
        plot_forecast(made, plot, many if len(names) > 3 else ", ".join(names))
    return made, written


def forecast_report(made: Forecast, written: Sequence[str]) -> list[str]:
    """What a forecast and its back-test found, for people."""
    known = made.known_counts
    lines = [
        f"the next {length_text(made.period_s)}, after {plural(made.n_counted, 'such period')} with counts: "
        f"mean {known.mean():.1f} people, peak {known.max():.1f}",
        f"chosen by cross-validation: {made.settings}",
        f"mean absolute error in the back-test on {plural(made.n_tested, 'period')}:",
        *(f"  {name:22s} {error:8.3f}" for name, error in made.errors.items()),
    ]
    best = min(made.errors, key=made.errors.get)
    if round(made.errors[best], 3) < round(made.errors["forecast"], 3):  # as it is told
        lines.append(f"the {best} was nearer than the forecast there: count more before you rely on it")
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
