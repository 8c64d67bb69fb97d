"""Forecasts of count curves from files of counts: what is learnt, the back-test, and wrong input."""

import functools
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import cv2
import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner

from crowdcount import plots
from crowdcount.cli import command_line
from crowdcount.errors import DatasetError, OutputError
from crowdcount.forecast import (
    CountSeries,
    _cycle,
    _fit_predict,
    _forecast,
    _spacings_s,
    forecast,
    forecast_files,
    forecast_report,
    load_series,
    parse_period,
)
from crowdcount.plots import plot_forecast
from crowdcount.results import FrameCount, open_writer, read_counts, read_start_time
from crowdcount.rows import time_cells
from crowdcount.terminal import Terminal
from samples.counts import write_counts

MIDNIGHT = datetime(2024, 3, 4)
DAY_S = 86400.0
WAVE = 20 + 15 * np.sin(np.linspace(0, 2 * np.pi, 24, endpoint=False))


def write(path, counts, step_s=3600.0, start_time=MIDNIGHT, begin_s=0.0, flags=None):
    with open_writer(path, path.suffix[1:], start_time) as write_row:
        for k, count in enumerate(counts):
            own = () if flags is None else flags[k]
            write_row(FrameCount(k, begin_s + k * step_s, float(count), float(count), float(count), own))
    return path


def levels(days, seed=0):
    """A level per day that depends on the day before: high days are followed by low ones."""
    random = np.random.default_rng(seed)
    level = np.ones(days)
    for k in range(1, days):
        level[k] = 2 - level[k - 1] + random.choice([-0.2, 0.2]) if 0.4 < level[k - 1] < 1.6 else 1.0
    return level


def series_of(curves, step_s=3600.0):
    """Counts of every step, but for those that are NaN."""
    counts = np.concatenate(curves)
    counted = np.isfinite(counts)
    return CountSeries(np.flatnonzero(counted) * step_s, counts[counted], MIDNIGHT)


@pytest.fixture
def _one_tested(monkeypatch):
    """For what the back-test has no say in."""
    monkeypatch.setattr("crowdcount.forecast.TESTED_PERIODS", 1)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_day_that_repeats_is_forecast(tmp_path, suffix):
    path = write(tmp_path / f"a.counts{suffix}", np.tile(WAVE, 6))
    made = forecast(load_series([path]), steps=24)
    np.testing.assert_allclose(made.counts, WAVE, atol=1e-3)
    assert made.start == MIDNIGHT
    assert made.times_s[0] == 6 * DAY_S
    np.testing.assert_allclose(made.history, np.tile(WAVE, (6, 1)), atol=1e-3)
    assert made.errors["forecast"] < 1e-3 < 5 < made.errors["last value"]
    assert made.n_tested == 3


def test_what_follows_from_the_last_period_is_learnt():
    made = forecast(series_of([level * WAVE for level in levels(24)]), steps=24)
    assert made.errors["forecast"] < 0.75 * made.errors["same time last period"]
    assert made.errors["forecast"] < 0.9 * made.errors["mean of the periods"]
    assert made.has_interval
    assert ((made.low <= made.counts) & (made.counts <= made.high)).all()


def test_the_place_in_the_week_counts_where_it_helps():
    """Two busy days in a row, then five quiet ones: what follows a quiet one, it alone cannot tell."""
    random = np.random.default_rng(0)
    busy = np.arange(21) % 7 < 2
    history = np.where(busy, 2.0, 1.0)[:, None] * WAVE + random.normal(0, 1, (21, 24))
    curve, _, is_placed = _forecast(history, 7)
    assert is_placed
    assert np.abs(curve - 2 * WAVE).mean() < 3
    curve, _, is_placed = _forecast(history, None)
    assert not is_placed
    assert np.abs(curve - 2 * WAVE).mean() > 10
    assert not _forecast(history[:13], 7)[2]  # of two weeks some day came but once


class TestPlaceThatWasNeverCounted:
    """A shop that is closed on some days of the week, or at some hours of the day, and busy on others."""

    @staticmethod
    @functools.cache
    def forecast(*closed, days=27):
        curves = np.array([(1 + (day % 7) / 5) * WAVE for day in range(days)])
        curves[[day for day in range(days) if day % 7 in closed]] = np.nan
        return forecast(series_of(curves), steps=24)

    def report(self, made):
        return "\n".join(forecast_report(made, []))

    @pytest.mark.parametrize(
        ("closed", "days", "since", "level"),
        [
            ([6], 27, "1 d from Sunday, 2024-03-31 00:00 on", 1.0),
            ([5, 6], 26, "2 d from Saturday, 2024-03-30 00:00 on", 1.0),
            ([0, 6], 27, "2 d from Sunday, 2024-03-31 00:00 on", 1.2),
        ],
    )
    def test_it_is_passed_over(self, closed, days, since, level):
        """The first day that follows is forecast from the last one that was counted, as in earlier weeks."""
        made = self.forecast(*closed, days=days)
        assert made.passed_over_s == (2 if since[0] == "2" else 1) * DAY_S
        assert made.times_s[0] == days * DAY_S + made.passed_over_s
        np.testing.assert_allclose(made.counts, level * WAVE, rtol=0.03)
        assert made.has_interval
        assert f"passed over: {since}, as no earlier week has counts then" in self.report(made)
        unknown = replace(made, start=None)
        assert "passed over: " + since[:3] + " from there on, as" in self.report(unknown)

    def test_it_is_a_gap_in_the_picture(self, tmp_path, monkeypatch):
        figures = []
        monkeypatch.setattr(plots, "_save", lambda figure, *_: figures.append(figure))
        plot_forecast(self.forecast(6, days=27), tmp_path / "a.png", "shop")
        past, next_one, *_ = figures[0].axes[0].lines
        assert past.get_xdata()[-1] == 27 * DAY_S - 1800
        assert next_one.get_xdata()[0] == 28 * DAY_S + 1800

    @pytest.mark.parametrize("days", [25, 7, 6])  # the last: no week has passed
    def test_others_are_as_ever(self, days):
        made = self.forecast(*[6] * (days > 7), days=days)
        assert made.passed_over_s == 0
        assert made.times_s[0] == days * DAY_S
        assert made.has_interval
        assert "passed over" not in self.report(made)
        assert ("place in the week" in made.settings) == (days > 7)

    def test_before_a_week_has_passed_it_is_a_gap(self):
        """Of six days the fourth: neither it is tested, nor the one behind it."""
        curves = np.tile(WAVE, (6, 1))
        curves[3] = np.nan
        assert forecast(series_of(curves), steps=24).n_tested == 1

    def test_it_has_no_say_where_it_never_came_behind_a_counted_one(self):
        """Of Mondays behind Sundays nothing is known, though there were Mondays and, now, a Sunday."""
        curves = np.array([(1 + (day % 7) / 5) * WAVE for day in range(28)])
        curves[[6, 13, 20]] = np.nan
        made = forecast(series_of(curves), steps=24)
        assert made.passed_over_s == 0
        assert "place" not in made.settings

    def test_hours_have_a_place_too(self):
        curves = np.tile(WAVE, (3, 1))
        curves[:, 10:12] = np.nan
        made = forecast(series_of([*curves, WAVE[:10]]), period_s=3600.0 * 2, steps=2)
        assert made.times_s[0] == 3 * DAY_S + 12 * 3600
        since = "2 h from Thursday, 2024-03-07 10:00 on"
        assert f"passed over: {since}, as no earlier day has counts then" in self.report(made)

    def test_where_but_one_day_of_the_week_is_counted_there_is_no_place(self):
        curves = np.full((36, 24), np.nan)
        curves[::7] = [level * WAVE for level in levels(6)]
        made = forecast(series_of(curves), steps=24)
        assert made.times_s[0] == 42 * DAY_S
        assert "place" not in made.settings
        assert made.n_tested == 3


@pytest.mark.parametrize(
    ("period_s", "expected"),
    [
        (DAY_S, 7),
        (3600.0, 24),
        (DAY_S / 4, 4),
        (600.0, 144),
        (7 * DAY_S, None),
        (7000.0, None),
        (60.0, None),  # two days of these are more than the 300 periods that settings are chosen by
    ],
)
def test_periods_have_a_place_in_a_week_or_day(period_s, expected):
    assert _cycle(period_s) == expected


def test_the_back_test_knows_nothing_of_what_it_predicts():
    curves = [level * WAVE for level in levels(8)]
    curves[-1] = curves[-1] + 100
    made = forecast(series_of(curves), steps=24)
    earlier = forecast(series_of(curves[:-1]), steps=24)
    # the errors over the earlier periods stay, and the last one adds at least what nobody could know
    total = made.errors["forecast"] * made.n_tested - earlier.errors["forecast"] * earlier.n_tested
    assert made.n_tested == earlier.n_tested + 1
    assert total == pytest.approx(np.abs(curves[-1] - earlier.counts).mean())


def test_settings_are_chosen_by_the_latest_of_many_periods(monkeypatch):
    """Earlier ones that follow another rule have no say; the fit itself takes them all."""
    monkeypatch.setattr("crowdcount.forecast.MOST_TRIED", 20)
    monkeypatch.setattr("crowdcount.forecast.TESTED_PERIODS", 3)
    sizes, told = [], []
    monkeypatch.setattr(
        "crowdcount.forecast._fit_predict",
        lambda *given: sizes.append(len(given[5])) or _fit_predict(*given),
    )
    latest = [level * WAVE for level in levels(21)]
    made = forecast(series_of([WAVE] * 19 + latest), steps=24, show=lambda phase, *_: told.append(phase))
    assert made.n_tested == 3
    assert set(sizes) == {16, *range(36, 40)}
    assert told == [*(f"back-test, period {k} of 3" for k in range(1, 4)), "forecast"]
    assert _forecast(made.history, None)[1] == _forecast(made.history[-21:], None)[1]


@pytest.mark.usefixtures("_one_tested")
def test_one_broken_day_hardly_moves_the_forecast():
    days = 12
    random = np.random.default_rng(3)
    curves = [np.maximum(WAVE + random.normal(0, 1, 24), 0) for _ in range(days)]
    curves[5] = np.zeros(24)
    made = forecast(series_of(curves), steps=24)
    assert np.abs(made.counts - WAVE).mean() < 1.5


@pytest.mark.usefixtures("_one_tested")
def test_days_that_grow_go_on_beyond_all_that_were_counted():
    made = forecast(series_of([(1 + k / 5) * WAVE for k in range(12)]), steps=24)
    assert np.abs(made.counts - 3.4 * WAVE).mean() < 0.3


@pytest.mark.usefixtures("_one_tested")
def test_days_that_fade_end_with_nobody_not_with_fewer():
    made = forecast(series_of([(9 - k) / 5 * WAVE for k in range(10)]), steps=24)
    assert made.counts.min() == 0
    assert made.counts.max() < 1


@pytest.mark.usefixtures("_one_tested")
def test_what_follows_from_the_last_period_is_learnt_though_some_are_broken():
    """Of quiet and busy days in turn, three are upside down and twice as busy."""
    random = np.random.default_rng(3)
    curves = [level * WAVE + random.normal(0, 1, 24) for level in np.tile([0.7, 1.3], 12)]
    assert "square loss" in _forecast(np.array(curves), None)[1]
    for k in (5, 12, 17):
        curves[k] = 2 * curves[k][::-1]
    made = forecast(series_of(curves), steps=24)
    assert np.abs(made.counts - 0.7 * WAVE).mean() < 4
    assert "huber loss" in made.settings


@pytest.mark.parametrize(("loss", "typical"), [("square", 7.0), ("huber", 2.0)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_of_a_norm_that_weighs_much_the_typical_curve_is_left(kernel, loss, typical):
    before = np.random.default_rng(0).normal(size=(5, 24)), np.empty((5, 0))
    targets = np.array([1.0, 2.0, 1.0, 3.0, 28.0])[:, None] * np.ones(24)
    new = before[0][:1], np.empty((1, 0))
    found = _fit_predict(kernel, 1e9, 0.0, loss, before, targets, new, 1e-6)
    np.testing.assert_allclose(found, typical, atol=1e-3)


def test_a_place_with_a_hundred_times_the_people_is_forecast_alike():
    """By the Huber loss too: its threshold goes with the counts."""
    random = np.random.default_rng(3)
    history = np.tile([0.7, 1.3], 12)[:, None] * WAVE + random.normal(0, 1, (24, 24))
    history[[5, 12, 17]] *= 2
    (few, settings, _), (many, same, _) = (_forecast(scale * history, None) for scale in (1, 100))
    assert "huber" in settings
    assert settings == same
    np.testing.assert_allclose(many, 100 * few, rtol=1e-3)


def test_a_day_unlike_the_others_makes_wider_intervals():
    """As it lies outside of what the others promised, so may the next one, by as much."""
    random = np.random.default_rng(0)
    curves = [WAVE + random.normal(0, 1, 24) for _ in range(14)]
    curves[-1] = 2 * WAVE
    expected = _forecast(np.array(curves[:-1]), None)[0]  # in the back-test, too
    made = forecast(series_of(curves), steps=24)
    assert made.n_tested == 10
    odd = (curves[-1] - expected) / np.sqrt(expected)
    half = (made.high - made.counts) / np.sqrt(np.maximum(made.counts, 1))
    assert half.min() > 1.1 * odd.max()


def test_counts_are_averaged_within_steps_and_gaps_are_filled(tmp_path):
    counts = np.repeat(np.tile(WAVE, 6), 4) + np.tile([-1.0, 1.0, 2.0, -2.0], 144)
    counts[4 * 50 : 4 * 53] = np.nan  # three hours that could not be decoded
    path = write(tmp_path / "a.csv", counts, step_s=900.0)
    made = forecast(load_series([path]), steps=24)
    assert np.isnan(made.history[2, 2:5]).all()
    np.testing.assert_allclose(made.history[3], WAVE, atol=1e-3)
    assert np.abs(made.counts - WAVE).max() < 1.0


@pytest.mark.parametrize(("day", "n_counted", "n_tested"), [(8, 4, 8), (8, 0, 7), (1, 0, 8)])
def test_a_period_without_counts_is_left_out(day, n_counted, n_tested):
    """The back-test passes over it, and over what nothing before it tells of."""
    curves = np.tile(WAVE, (12, 1))
    curves[day, n_counted:] = np.nan
    made = forecast(series_of(curves), steps=24)
    np.testing.assert_allclose(made.counts, WAVE, atol=1e-3)
    assert made.n_tested == n_tested
    assert made.n_counted == (12 if n_counted else 11)


@pytest.mark.parametrize(("first", "last"), [(8, 18), (6, 19)])
def test_the_hours_in_which_a_place_is_closed_are_not_forecast(first, last):
    """As its camera counts then: 10 hours of the day, or 13. The first day is whole, too."""
    curves = np.tile(WAVE, (6, 1))
    hours = np.arange(24)
    curves[:, (hours < first) | (hours >= last)] = np.nan
    made = forecast(series_of(curves), steps=24)
    at = (hours + last) % 24  # the day that ends with the counts
    is_open = (at >= first) & (at < last)
    assert made.times_s[0] == 5 * DAY_S + last * 3600
    np.testing.assert_allclose(made.counts[is_open], WAVE[at[is_open]], atol=1e-3)
    for unknown in (made.counts, made.low, made.high):
        assert np.isnan(unknown[~is_open]).all()
    assert made.history.shape == (6, 24)
    assert made.errors["forecast"] < 1e-3
    told = "\n".join(forecast_report(made, []))
    assert f"not forecast: {24 - (last - first)} steps in which most" in told
    assert "no interval" not in told
    unknown = replace(made, low=made.low - np.inf, high=made.high + np.inf)
    assert "no interval" in "\n".join(forecast_report(unknown, []))


@pytest.mark.usefixtures("_one_tested")
@pytest.mark.parametrize("opens", [0, 8])
def test_a_first_day_whose_counts_begin_after_the_place_has_opened_is_left_out(opens):
    curves = np.tile(WAVE, (7, 1))
    curves[:, :opens] = np.nan
    curves[0, : opens + 2] = np.nan
    made = forecast(series_of(curves), steps=24)
    np.testing.assert_allclose(made.history, curves[1:])


@pytest.mark.usefixtures("_one_tested")
def test_hours_in_which_a_place_is_open_on_few_days_are_not_forecast():
    curves = np.tile(WAVE, (8, 1))
    curves[:, 20:] = np.nan
    curves[::4, 20:22] = 50.0
    made = forecast(series_of([*curves, WAVE[:20]]), steps=24)
    assert np.isnan(made.counts[:4]).all()
    assert made.counts[4:].max() < 36


def test_steps_shorter_than_the_time_between_counts_are_not_taken_for_closed():
    made = forecast(series_of(np.tile(WAVE, (6, 1))), steps=48)
    assert np.isfinite(made.counts).all()
    np.testing.assert_allclose(made.counts[::2], WAVE, atol=1e-3)
    assert "not forecast" not in "\n".join(forecast_report(made, []))


@pytest.mark.usefixtures("_one_tested")
@pytest.mark.parametrize("per_hour", [[1] * 11 + [60] * 3, [60] * 11 + [1] * 3, [1, 60] * 7])
def test_days_may_have_counts_at_different_rates(tmp_path, per_hour):
    """Steps between hourly ones are not closed, and an hourly day ends an hour after its last count."""
    days = [
        write(tmp_path / f"{k}.csv", np.repeat(WAVE, n), 3600 / n, MIDNIGHT + timedelta(days=k))
        for k, n in enumerate(per_hour)
    ]
    made = forecast(load_series(days))
    assert made.times_s[0] == 14 * DAY_S
    np.testing.assert_allclose(made.counts[::2], WAVE, atol=1)
    assert np.isfinite(made.counts).all()


@pytest.mark.parametrize(
    ("times_s", "expected"),
    [
        ([0, 60, 3660], [60]),  # rather than the hour of a gap, at whose end the next period would begin
        ([0, 60, 60, 180, 300], [120]),
        ([0, 300, 600, 2 * DAY_S, 2 * DAY_S + 60, 2 * DAY_S + 120], [60, 300]),
        ([0, 0], [0]),
    ],
)
def test_the_usual_time_between_counts_is_that_of_each_period_the_last_one_first(times_s, expected):
    assert _spacings_s(np.array(times_s, float), DAY_S).tolist() == expected


def test_counts_are_drawn_though_not_every_step_has_some(tmp_path):
    """Between those of an hour of two steps, a line, but none over a gap; steps by themselves are dots."""

    def drawn(made):
        plot_forecast(made, tmp_path / "a.png", "a")
        picture = cv2.imread(str(tmp_path / "a.png")).astype(int)[85:570, 100:1440]
        blue, _, red = np.moveaxis(picture, 2, 0)
        dark = (picture.max(axis=2) < 110)[:, :1120].any(axis=0)
        return dark.mean(), (blue > red + 80).any(axis=0).sum(), ((blue > red + 20) & (red > 150)).sum()

    made = forecast(series_of([*np.tile(WAVE, (7, 1))]), steps=48)
    every, line, area = drawn(made)
    assert every > 0.98
    history = made.history.copy()
    history[3] = np.nan
    odd = np.where(np.arange(48) % 2, np.nan, 1)
    gap, dotted, bars = drawn(
        replace(made, history=history, counts=odd * made.counts, low=odd * made.low, high=odd * made.high)
    )
    assert gap == pytest.approx(6 / 7, abs=0.03)
    assert 0.5 * line < dotted < line
    assert 0.1 * area < bars < 0.9 * area


def test_a_naive_forecast_that_was_nearer_is_told():
    made = forecast(series_of(np.tile(WAVE, (6, 1))), steps=24)
    assert "was nearer" not in "\n".join(forecast_report(made, []))
    alike = replace(made, errors=dict.fromkeys(made.errors, 1.0004) | {"last value": 0.9996})
    assert "was nearer" not in "\n".join(forecast_report(alike, []))  # both are told as 1.000
    worse = replace(made, errors=dict.fromkeys(made.errors, 9.0) | {"last value": 2.0})
    assert "the last value was nearer than the forecast there: count more" in "\n".join(
        forecast_report(worse, [])
    )


def test_steps_far_shorter_than_the_time_between_counts_are_told_with_those_that_are_not():
    series = series_of(np.tile(WAVE, (6, 1)))
    told = "the counts are 1 h apart, too far for 240 steps in 1 d; choose --steps 24, or a longer --period"
    with pytest.raises(DatasetError, match=told):
        forecast(series, steps=240)


@pytest.mark.parametrize(("n_missing", "share"), [(20, "17%"), (13, "46%")])
def test_a_last_day_with_few_counts_is_told(n_missing, share):
    curves = np.tile(WAVE, (6, 1))
    curves[-1, :n_missing] = np.nan
    with pytest.raises(DatasetError, match=f"the last period has counts in only {share} of the 24 steps"):
        forecast(series_of(curves), steps=24)
    curves[-1, 12:] = WAVE[12:]
    curves[-1, :12] = np.nan
    made = forecast(series_of(curves), steps=24)
    np.testing.assert_allclose(made.counts[12:], WAVE[12:], atol=1e-3)


@pytest.mark.parametrize(
    ("times_s", "counts", "problem"),
    [
        ([], [], "one or more, found 0 and 0"),
        ([0, 1], [1], "found 2 and 1"),
        ([0, np.nan], [1, 2], "that are numbers"),
        ([0, 1], [1, np.inf], "that are numbers"),
        ([0, 2, 1], [1, 2, 3], "order of time"),
    ],
)
def test_no_series_is_refused_at_once(times_s, counts, problem):
    with pytest.raises(ValueError, match=problem):
        CountSeries(np.array(times_s, float), np.array(counts, float), None)


@pytest.mark.parametrize(
    "wrong", [{"period_s": 0}, {"period_s": np.inf}, {"steps": 1}, {"level": 0}, {"level": 1}]
)
def test_what_is_no_setting_is_refused_at_once(wrong):
    with pytest.raises(ValueError, match="two steps or more and a level between 0 and 1"):
        forecast(series_of(np.tile(WAVE, (6, 1))), **wrong)


@pytest.mark.usefixtures("_one_tested")
@pytest.mark.parametrize("flag", ["learning", "blank", "frozen"])
def test_counts_of_frames_that_show_nothing_are_left_out(tmp_path, flag):
    counts, flags = np.tile(WAVE, 8), [()] * 192
    counts[96:120] = 0.0
    flags[96:120] = [("resized", flag)] * 24
    made = forecast(load_series([write(tmp_path / "a.csv", counts, flags=flags)]), steps=24)
    assert np.isnan(made.history[4]).all()
    np.testing.assert_allclose(made.counts, WAVE, atol=1e-3)
    covered = write(tmp_path / "covered.csv", np.zeros(24), flags=[(flag,)] * 24)
    with pytest.raises(DatasetError, match=r"covered.csv holds no counts but of frames flagged learning"):
        load_series([covered])


def test_rough_counts_take_part(tmp_path):
    flags = [("noisy",), ("camera_moved", "light_change")] * 12
    assert len(load_series([write(tmp_path / "a.csv", WAVE, flags=flags)]).counts) == 24


def test_several_files_are_put_in_order_by_their_times(tmp_path):
    parts = [
        write(tmp_path / f"{k}.csv", np.tile(WAVE, 2), start_time=MIDNIGHT + timedelta(days=2 * k))
        for k in (1, 0, 2)
    ]
    series = load_series(parts)
    assert series.start == MIDNIGHT
    np.testing.assert_allclose(series.counts, np.tile(WAVE, 6), atol=1e-3)
    np.testing.assert_allclose(np.diff(series.times_s), 3600)


def test_the_rows_of_a_file_are_put_in_order_too(tmp_path):
    path = write(tmp_path / "a.csv", WAVE)
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *rows[12:], *rows[:12]]))
    np.testing.assert_allclose(load_series([path]).counts, WAVE, atol=1e-3)


def test_the_start_is_read_from_rows_that_begin_later(tmp_path):
    path = write(tmp_path / "a.csv", [1.0], begin_s=90.0)
    assert read_start_time(path) == MIDNIGHT
    assert read_start_time(write(tmp_path / "b.csv", [1.0], start_time=None)) is None
    assert read_start_time(write(tmp_path / "c.parquet", [], start_time=MIDNIGHT)) is None
    damaged = tmp_path / "d.csv"
    damaged.write_text("frame,time_s,time,count,low,high,flags\n0,0,noon,1,1,1,\n")
    with pytest.raises(DatasetError, match=r"line 2: expected an ISO 8601 time, found 'noon'"):
        read_start_time(damaged)
    numbered = tmp_path / "e.jsonl"
    row = '{"frame": 0, "time_s": 0, "time": 1709, "count": 1, "low": 1, "high": 1, "flags": []}'
    numbered.write_text(row)
    with pytest.raises(DatasetError, match=r"line 1: expected an ISO 8601 time, found 1709"):
        read_start_time(numbered)


def test_wrong_files_are_named(tmp_path):
    timed = write(tmp_path / "timed.csv", WAVE)
    bare = write(tmp_path / "bare.csv", WAVE, start_time=None)
    with pytest.raises(DatasetError, match=r"bare\.csv tells no wall-clock time.*--start-time"):
        load_series([timed, bare])
    with pytest.raises(DatasetError, match=r"empty\.csv holds no counts; leave it out"):
        load_series([write(tmp_path / "empty.csv", [np.nan])])
    zoned = write(tmp_path / "zoned.csv", WAVE, start_time=MIDNIGHT.astimezone(UTC))
    with pytest.raises(DatasetError, match="with its zone and others without"):
        load_series([timed, zoned])
    with pytest.raises(DatasetError, match=r"at least 4 periods of 1 d, found 1 d of them.*shorter --period"):
        forecast(load_series([timed]))
    whole = load_series([write(tmp_path / "whole.csv", [1.0, 1.0])])
    with pytest.raises(DatasetError, match=r"found 1\.73e\+11 from 0 to 3600 s; correct these times"):
        forecast(whole, 1e-6, 24)
    sparse = load_series([write(tmp_path / "sparse.csv", WAVE[:20], step_s=DAY_S / 2)])
    with pytest.raises(DatasetError, match=r"12 h apart, too far for 48 steps in 1 d; choose --steps 2"):
        forecast(sparse)
    minutes = series_of([np.ones(600)], step_s=60.0)
    with pytest.raises(DatasetError, match=r"1 min apart, too far for 4 steps in 1 min; choose a longer --p"):
        forecast(minutes, 60.0, 4)
    day = series_of([np.ones(86_400)], step_s=1.0)
    with pytest.raises(DatasetError, match=r"at most 5,000 periods of 1 s, found 1 d of them"):
        forecast(day, period_s=1.0, steps=2)


def test_counts_of_two_days_put_into_one_file_are_not_laid_over_each_other(tmp_path):
    days = [
        write(tmp_path / f"{k}.csv", np.tile(WAVE + k, 4), start_time=MIDNIGHT + timedelta(4 * k))
        for k in (0, 1)
    ]
    assert len(load_series(days).counts) == 192
    both = tmp_path / "both.csv"
    both.write_text(days[0].read_text() + days[1].read_text().partition("\n")[2])
    with pytest.raises(DatasetError, match="holds a frame twice, as where counts of several"):
        load_series([both])


def test_counts_of_two_cameras_are_told_from_recordings_that_overlap(tmp_path):
    def days(begin, name):
        return write(tmp_path / name, np.tile(WAVE, 4), start_time=MIDNIGHT + timedelta(days=begin))

    assert len(load_series([days(3.5, "later.csv"), days(0, "first.csv")]).counts) == 192
    with pytest.raises(DatasetError, match="hold counts of the same time, as of two cameras"):
        load_series([days(0, "first.csv"), days(0.5, "same.csv"), days(9, "later.csv")])
    hour = write(tmp_path / "hour.csv", np.ones(6), 600.0, MIDNIGHT + timedelta(hours=12))
    for begin in (0, 0.51):  # before the hour, and within it
        with pytest.raises(DatasetError, match="hold counts of the same time, as of two cameras"):
            load_series([days(begin, "days.csv"), hour])


@pytest.mark.usefixtures("_one_tested")
class TestSummerTime:
    """Eight days of which it ends, or begins, on the sixth, in files of an hour or a day."""

    def files(self, folder, before=None, after=None, hours=1):
        """Names of files that begin as the clock shows it, which is put back to two, or forward to three."""
        made = []
        for day in range(8):
            begins = list(range(0, 24, hours))
            if day == 5 and hours == 1:
                begins[2:3] = [] if before == 1 else [2, 2]
            for k, begin in enumerate(begins):
                offset = after if day > 5 or (day == 5 and k >= 2 + (before != 1)) else before
                zone = None if offset is None else timezone(timedelta(hours=offset))
                start = MIDNIGHT.replace(tzinfo=zone) + timedelta(days=day, hours=begin)
                values = np.repeat(WAVE[begin : begin + hours], 6)
                made.append(write(folder / f"{len(made)}.csv", values, 600.0, start))
        return made

    def test_the_hour_that_comes_twice_is_averaged_and_told(self, tmp_path):
        made = forecast(load_series(self.files(tmp_path)), steps=24)
        np.testing.assert_allclose(made.counts, WAVE, atol=1e-3)
        assert made.twice == (MIDNIGHT + timedelta(days=5, hours=2),)
        assert "counted twice: the hour from 2024-03-09 02:00 on" in "\n".join(forecast_report(made, []))

    def test_files_of_another_length_than_the_hour(self, tmp_path):
        """The clock is put back at three of the sixth day, while one of 90 minutes is written."""
        files = []
        for elapsed_s in range(0, 8 * 86400, 5400):
            back = timedelta(hours=elapsed_s > 5 * 86400 + 5400)
            start = MIDNIGHT + timedelta(hours=1, seconds=elapsed_s) - back
            files.append(write(tmp_path / f"{elapsed_s}.csv", np.ones(9), 600.0, start))
        assert load_series(files).twice == (MIDNIGHT + timedelta(days=5, hours=3),)

    def test_it_ends_every_year_and_never_at_noon(self, tmp_path):
        def load(*begins):
            hours = (begin + timedelta(hours=hour) for begin in begins for hour in (0, 1, 1, 2))
            return load_series([
                write(tmp_path / f"{number}.csv", np.ones(6), 600.0, hour)
                for number, hour in enumerate(hours)
            ])

        ends = datetime(2024, 10, 27, 2), datetime(2025, 10, 26, 2)
        assert load(*(end - timedelta(hours=1) for end in ends)).twice == ends
        with pytest.raises(DatasetError, match="as of two cameras"):
            load(datetime(2024, 10, 27, 11))

    def test_other_hours_are_of_two_cameras(self, tmp_path):
        files = self.files(tmp_path)
        for day, hour in ((5, 3), (5, 12), (6, 2)):
            start = MIDNIGHT + timedelta(days=day, hours=hour)
            other = write(tmp_path / "other.csv", WAVE[:6], 600.0, start)
            with pytest.raises(DatasetError, match="as of two cameras"):
                load_series([*files, other])
        with pytest.raises(DatasetError, match="as of two cameras"):
            load_series([*files[:3], write(tmp_path / "begin.csv", WAVE[:6], 600.0, MIDNIGHT)])

    @pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
    @pytest.mark.parametrize("hours", [1, 24])
    def test_days_are_those_of_the_clock(self, tmp_path, before, after, hours):
        made = forecast(load_series(self.files(tmp_path, before, after, hours)), steps=24)
        np.testing.assert_allclose(made.counts, WAVE, atol=1e-3)
        first = time_cells(made.times_s[0], made.start)
        assert first["time"].isoformat() == f"2024-03-12T00:00:00+0{after}:00"
        assert first["time_s"] == 8 * DAY_S + 3600 * (before - after)

    def test_zones_far_apart_are_no_summer_time(self, tmp_path):
        """As of a recorder that was set to UTC: the series goes on."""
        later = MIDNIGHT.replace(tzinfo=timezone(timedelta(hours=9))) + timedelta(days=4, hours=9)
        files = [write(tmp_path / "a.csv", np.tile(WAVE, 4), start_time=MIDNIGHT.replace(tzinfo=UTC)),
                 write(tmp_path / "b.csv", np.tile(WAVE, 4), start_time=later)]  # fmt: skip
        np.testing.assert_allclose(np.diff(load_series(files).times_s), 3600)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [("time_s", "NaN"), ("time_s", "9" * 400), ("count", "1e400"), ("count", "1e308"), ("frame", "1e400")],
)
def test_numbers_that_are_none_are_named(tmp_path, place, wrong):
    cells = {"frame": "0", "time_s": "0", "count": "1", "low": "1", "high": "1"} | {place: wrong}
    (tmp_path / "a.csv").write_text(f"{','.join(cells)},flags\n{','.join(cells.values())},\n")
    members = ", ".join(f'"{name}": {cell}' for name, cell in cells.items())
    (tmp_path / "a.jsonl").write_text(f'{{{members}, "flags": []}}\n')
    for path in tmp_path.iterdir():
        with pytest.raises(DatasetError, match=r"line [12]: expected values for frame,time_s,count"):
            read_counts(path)


def test_a_time_beyond_all_years_is_named(tmp_path):
    path = write(tmp_path / "a.csv", [1.0], begin_s=1e15, start_time=None)
    path.write_text("frame,time_s,time,count,low,high,flags\n0,1e15,2024-03-04T00:00:00,1,1,1,\n")
    with pytest.raises(DatasetError, match=r"line 2: expected an ISO 8601 time, found .* at 1e\+15 s"):
        read_start_time(path)


def test_no_two_periods_in_a_row_cannot_be_learnt_from():
    curves = np.tile(WAVE, (6, 1))  # of a whole week, days that are never counted would be passed over
    curves[:-1:2] = np.nan
    series = series_of(list(curves))
    counted = np.isfinite(series.counts)
    with pytest.raises(DatasetError, match="two periods in a row"):
        forecast(CountSeries(series.times_s[counted], series.counts[counted], None), steps=24)


def test_counts_of_one_time_are_too_few(tmp_path):
    with pytest.raises(DatasetError, match=r"at least 4 periods of 1 d, found 0 s of them"):
        forecast(load_series([write(tmp_path / "snapshot.csv", [3])]))


def test_periods_that_have_no_step_in_common_cannot_be_forecast():
    curves = np.full((9, 24), np.nan)
    for k, curve in enumerate(curves):
        curve[(5 * k) % 24 : (5 * k) % 24 + 4] = 1.0
    with pytest.raises(DatasetError, match="half of the periods or more have counts, found none; count the"):
        forecast(series_of(curves), steps=24)


@pytest.mark.parametrize(
    "text", ["", "s", "d", "fortnight", "0h", "0.0001s", "-1d", "1 d", "1w", 400 * "9" + "d"]
)
def test_wrong_periods_are_refused(text):
    with pytest.raises(DatasetError, match="a period is hour, day, week or"):
        parse_period(text)


def test_no_input_is_written_over(tmp_path):
    path = write(tmp_path / "a.csv", np.tile(WAVE, 6))
    with pytest.raises(OutputError, match="is used otherwise too"):
        forecast_files([path], output=str(path), steps=24, watcher=Terminal())
    with pytest.raises(OutputError, match=r"ending in \.csv or"):
        forecast_files([path], output="a.txt", steps=24, watcher=Terminal())


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"output": "nowhere/a.csv"}, "cannot write .*nowhere"),
        ({"output": "a.csv", "plot": "a.txt"}, r"a\.txt: expected a name ending in \.png"),
    ],
)
def test_what_cannot_be_written_is_told_before_counts_are_read(tmp_path, names, told):
    paths = {key: str(tmp_path / name) for key, name in names.items()}
    with pytest.raises(OutputError, match=told):
        forecast_files([tmp_path / "absent.csv"], **paths, watcher=Terminal())


@pytest.mark.parametrize(
    ("counts", "named"),
    [
        ("cam.counts.csv", "cam.forecast.csv"),
        ("cam.counts.1.csv", "cam.1.forecast.csv"),  # of an earlier run of a live source
        ("cam.counts.partial.csv", "cam.partial.forecast.csv"),
        ("cam.countsheet.csv", "cam.countsheet.forecast.csv"),
    ],
)
def test_a_forecast_has_the_name_of_the_counts(tmp_path, monkeypatch, counts, named):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / counts, np.tile(WAVE, 4))
    assert forecast_files([counts], steps=24, watcher=Terminal())[1] == [named]


def test_a_forecast_takes_the_place_of_a_forecast_alone(tmp_path):
    """Counts have all of its columns, and the frame."""
    path, other = (write(tmp_path / name, np.tile(WAVE, 6)) for name in ("a.csv", "b.csv"))
    with pytest.raises(OutputError, match=r"b\.csv is there already and holds other columns"):
        forecast_files([path], output=str(other), steps=24, watcher=Terminal())
    assert len(read_counts(other)) == 144
    for _ in range(2):
        forecast_files([path], output=str(tmp_path / "c.csv"), steps=24, watcher=Terminal())


class TestCommand:
    def run(self, *arguments):
        return CliRunner().invoke(command_line, ["forecast", *map(str, arguments)], catch_exceptions=False)

    def test_writes_the_forecast_and_draws_it(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write_counts("hall.counts.csv", days=9)
        result = self.run("hall.counts.csv", "--plot", "hall.png", "--steps", "24")
        assert result.exit_code == 0
        assert "mean absolute error in the back-test on 6 periods" in result.output
        lines = (tmp_path / "hall.forecast.csv").read_text().splitlines()
        assert lines[0] == "time_s,time,count,low,high"
        assert lines[1].startswith(f"{9 * DAY_S},2024-03-13T00:00:00.000,")
        assert len(lines) == 25
        assert (tmp_path / "hall.png").stat().st_size > 10_000
        assert len(list(tmp_path.iterdir())) == 3

    def test_json_and_the_standard_output(self, tmp_path):
        path = write(tmp_path / "a.csv", np.tile(WAVE, 5), start_time=None)
        result = self.run(path, "--json", "-o", tmp_path / "f.jsonl", "--steps", "24")
        found = json.loads(result.stdout)
        assert found["tested_periods"] == 2
        naive = ["last value", "same time last period", "mean of the periods"]
        assert list(found["mae"]) == ["forecast", *naive]
        rows = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines()]
        assert list(rows[0]) == ["time_s", "count", "low", "high"]
        result = self.run(path, "-o", "-", "--steps", "24")
        assert result.stdout.startswith("time_s,count,low,high\n432000.0,")
        assert self.run(path, "-o", "-", "--json").exit_code == 2

    def test_one_tested_period_gives_no_interval(self, tmp_path):
        path = write(tmp_path / "a.csv", np.tile(WAVE, 4), start_time=None)
        result = self.run(path, "-o", tmp_path / "f.csv", "--steps", "24", "--plot", tmp_path / "f.png")
        assert "no interval: 1 tested period cannot promise it; count more footage" in result.output
        cells = (tmp_path / "f.csv").read_text().splitlines()[1].split(",")
        assert cells[2:] == ["0.0", ""]

    def test_a_level_that_no_tested_periods_can_promise(self, tmp_path):
        path = write(tmp_path / "a.csv", np.tile(WAVE, 6), start_time=None)
        result = self.run(path, "-o", tmp_path / "f.csv", "--steps", "24", "--level", "0.9999")
        assert "no interval: 3 tested periods cannot promise it" in result.output
        assert "or lower --level" in result.output

    def test_nobody_is_drawn_on_the_axis_of_one_person(self, tmp_path):
        path = write(tmp_path / "a.csv", np.zeros(4 * 24), start_time=None)
        with mpl.rc_context({"svg.fonttype": "none"}):
            self.run(path, "-o", tmp_path / "f.csv", "--steps", "24", "--plot", tmp_path / "f.svg")
        ticks = re.findall(r"<text[^>]*>([\d.]+)</text>", (tmp_path / "f.svg").read_text())
        assert ticks == ["0", "1"]

    @pytest.mark.parametrize(
        ("n_files", "title"), [(2, "d0.csv, d1.csv"), (4, "4 files, d0.csv … d3.csv")]
    )
    def test_the_title_of_many_files_names_the_first_and_the_last(self, tmp_path, n_files, title):
        days = 4 // n_files
        files = [
            write(tmp_path / f"d{k}.csv", np.tile(WAVE, days), start_time=MIDNIGHT + timedelta(days * k))
            for k in range(n_files)
        ]
        with mpl.rc_context({"svg.fonttype": "none"}):
            self.run(*files, "-o", tmp_path / "f.csv", "--steps", "24", "--plot", tmp_path / "f.svg")
        assert f">{title}<" in (tmp_path / "f.svg").read_text()

    def test_too_few_periods_are_one_line(self, tmp_path):
        path = write(tmp_path / "a.csv", WAVE)
        result = self.run(path, "-o", tmp_path / "f.csv")
        assert result.exit_code == 1
        assert len(result.output.splitlines()) == 1
        assert "crowdcount: expected counts over at least 4 periods of 1 d" in result.output
        assert not (tmp_path / "f.csv").exists()


@pytest.mark.parametrize("apart_s", [2700.0, 4000.0])
def test_counts_that_are_no_whole_steps_apart_are_one_line(tmp_path, monkeypatch, apart_s):
    figures = []
    monkeypatch.setattr(plots, "_save", lambda figure, path, title: figures.append(figure))
    times_s = np.arange(0, 7 * 86400, apart_s)
    made = forecast(CountSeries(times_s, 5 + np.sin(times_s / 13751), None), steps=48)
    plot_forecast(made, tmp_path / "a.png", "a")
    line = figures[0].axes[0].lines[0].get_ydata()
    assert len(line) > 100
    assert np.isfinite(line).all()
