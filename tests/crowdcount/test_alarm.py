"""Alarms: calls read and assigned, settings chosen, events with hysteresis, and both commands on footage."""

import csv
import json
import math
import re
import socket
import time
from contextlib import nullcontext
from dataclasses import astuple, replace
from datetime import datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdcount
from crowdcount.alarm.calls import Calls, assign_calls, read_calls
from crowdcount.alarm.measuring import MeasuredFrame, Measuring, open_measuring
from crowdcount.alarm.training import (
    MAX_CALLED,
    TEXTURE_WEIGHT,
    alarm_report,
    call_errors,
    column_weights,
    train_alarm,
)
from crowdcount.alarm.watching import Alarm, AlarmEvent, Sight, alarm_summary, open_events, run_alarm, watch
from crowdcount.cli import command_line
from crowdcount.errors import DatasetError, ModelError, OutputError, VideoError
from crowdcount.learning import cache
from crowdcount.model import load_model
from crowdcount.overview import Overview
from crowdcount.results import FrameCount, open_writer
from crowdcount.rows import FORMATS
from crowdcount.scene import load_scene
from crowdcount.terminal import Terminal
from crowdcount.video import Position
from models import BetaSVMClassifier
from tests.crowdcount.helpers import run
from tests.crowdcount.numbered_frames import write_encoded

FPS = 10
CLIP_FPS = 8  # of which all are looked at


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """A table of two features of 200 frames at 10 frames/s; above 0 in the first, it is too crowded."""
    random = np.random.default_rng(0)
    level = np.sin(np.arange(200) / 12)
    rows = [
        f"{k},{k / FPS},{value + random.normal() / 10:.4f},{random.normal():.4f}\n"
        for k, value in enumerate(level)
    ]
    path = tmp_path_factory.mktemp("table") / "features.csv"
    return write(path, "frame,time_s,area,noise\n" + "".join(rows)), level


@pytest.fixture(scope="session")
def table_alarm(table):
    """An alarm trained on the table."""
    path, level = table
    rows = [f"{k},{'crowded' if level[k] > 0 else 'fine'}\n" for k in range(0, 200, 8)]
    labels = write(path.with_name("table.calls.csv"), "frame,call\n" + "".join(rows))
    train_alarm(str(path), labels).model.save(path.with_name("table.npz"), "alarm")
    return path.with_name("table.npz")


@pytest.fixture(scope="session")
def clip(tmp_path_factory, make_street):
    """A video file of a street that fills and empties, its counts, and its scene file."""
    folder = tmp_path_factory.mktemp("clip")
    street = make_street(folder, n_frames=100)
    images = [cv2.imread(str(path)) for path in sorted(street.frames.iterdir())]
    video = cv2.VideoWriter(
        str(folder / "street.avi"), cv2.VideoWriter.fourcc(*"MJPG"), CLIP_FPS, images[0].shape[1::-1]
    )
    for image in images:
        video.write(image)
    video.release()
    street.scene.save(folder / "scene.json")
    return folder / "street.avi", street.counts, folder / "scene.json"


# Calls


def assigned(tmp_path, text, n=10):
    path = write(tmp_path / "calls.csv", text)
    return assign_calls(read_calls(path), np.arange(n), np.arange(n) / FPS, str(path))


def test_a_column_for_each_operator(tmp_path):
    calls = assigned(
        tmp_path, "frame,Anna,Ben,note\n0,crowded,fine,x\n2,Too Crowded,unknown,\n3,,ok,\n4,?,,\n6,1,0,\n"
    )
    assert calls.operators == ("Anna", "Ben")
    np.testing.assert_array_equal(calls.votes, [0.5, np.nan, 1, 0, np.nan, np.nan, 0.5, *[np.nan] * 3])
    assert np.isnan(calls.shares).all()


def test_columns_of_files_that_calls_are_made_from_are_ignored(tmp_path):
    calls = assigned(tmp_path, "frame,time_s,Time,Count,call\n3,0.3,12:00,4.25,fine\n4,1,1,1,crowded\n")
    assert calls.operators == ("operator",)
    np.testing.assert_array_equal(calls.votes[3:5], [0, 1])


def test_times_of_single_frames_are_those_of_the_first_frames_that_are_not_earlier(tmp_path):
    """As in files of counts."""
    calls = assigned(tmp_path, "time_s,call\n0.3,fine\n0.31,crowded\n0:00.9,crowded\n")
    np.testing.assert_array_equal(calls.votes, [*[np.nan] * 3, 0, 1, *[np.nan] * 4, 1])


def test_a_row_for_each_operator_and_stretch(tmp_path):
    text = "start,end,operator,call\n0,4,anna,crowded\n00:00:00.2, 0.6s, ben , fine\n8,9,,fine\n"
    calls = assigned(tmp_path, text)
    assert calls.operators == ("anna", "ben", "operator")
    np.testing.assert_array_equal(calls.votes, [1, 1, 0.5, 0.5, 0, 0, np.nan, np.nan, 0, np.nan])


def test_seconds_may_have_a_decimal_comma_between_semicolons(tmp_path):
    calls = assigned(tmp_path, "start;end;call;share\n0;0,4s;crowded;\n0,4s;0,8s;;30,5%\n")
    np.testing.assert_array_equal(calls.votes[:5], [1, 1, 1, 1, np.nan])
    np.testing.assert_allclose(calls.shares[4:8], 0.305)


def test_shares_of_stretches_stand_behind_votes(tmp_path):
    calls = assigned(tmp_path, "frame,start,end,call,share\n,0,4,,30%\n,2,6,,0.5\n1,,,crowded,\n")
    np.testing.assert_allclose(calls.shares, [0.3, 0.3, 0.4, 0.4, 0.5, 0.5, *[np.nan] * 4])
    np.testing.assert_allclose(calls.confidence, [0.3, 1, 0.4, 0.4, 0.5, 0.5, *[np.nan] * 4])
    bags = [(rows.tolist(), share) for rows, share in calls.bags]
    assert bags == [([0, 1, 2, 3], 0.3), ([2, 3, 4, 5], 0.5)]
    some = calls.among(np.array([0, 0, 0, 0, 1, 1, 0, 1, 1, 1], bool))
    assert [(rows.tolist(), share) for rows, share in some.bags] == [([0, 1], 0.5)]
    np.testing.assert_allclose(some.shares, [0.5, 0.5, *[np.nan] * 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected the columns frame, or start and end"),
        ("frame,call,call\n", "each once"),
        ("start,call\n1,fine\n", "expected the columns"),
        ("frame,note\n1,fine\n", "expected the columns"),
        ("frame,call\n", "expected calls .* found none"),
        ("frame,call\n1,unknown\n", "expected calls .* found none"),
        ("frame,call\n1\n", "line 2: expected 2 values, found 1"),
        ("frame,call\n1,many\n", "line 2: expected too crowded, fine or unknown, found 'many'; correct it$"),
        ("frame,call,Why\n1,1,dark\n", "found 'dark' in the column 'Why', taken for an operator's; correct"),
        ("frame,call\n1.5,fine\n", "line 2: a position is"),
        ("frame,call\n1s,fine\n", "line 2: expected a frame number from 0, found '1s'"),
        ("frame,start,end,call\n1,1,2,fine\n", "line 2: expected a frame, or a start and an end"),
        ("start,end,share\n1,5,140%\n", "line 2: expected a share such as 0.3 or 30%, found '140%'"),
        ("start,end,share\n1,5,nan\n", "line 2: expected a share"),
        ("frame,call\n10,fine\n", "line 2: there is no measured frame from frame 10 to frame 11"),
        ("start,end,call\n5,5,fine\n", "line 2: there is no measured frame from frame 5 to frame 5"),
        ("time_s,call\n1,fine\n", "line 2: there is no measured frame from 1 s; correct it"),
        ("start,end,call\n1s,2s,fine\n", "line 2: there is no measured frame from 1 s to 2 s; correct it"),
        ("time_s,end,call\n0.1,0.5s,fine\n", "line 2: expected a frame, or a start and an end"),
        ("time_s,call\nnoon,fine\n", "line 2: expected seconds since the first frame, .*found 'noon'"),
        ("time_s,call\n,fine\n", "line 2: expected seconds since the first frame, .*found ''"),
    ],
)
def test_wrong_calls_are_named(tmp_path, text, message):
    with pytest.raises(DatasetError, match=message):
        assigned(tmp_path, text)


def test_times_as_files_of_counts_round_them_are_those_of_their_frames(tmp_path):
    """At 29.97 frames/s, in which a rounded time may lie behind its frame."""
    times_s = np.arange(10) * 1001 / 30000
    for k in range(9):
        text = f"start,end,call\n{round(times_s[k], 6)}s,{round(times_s[k + 1], 6)}s,crowded\n"
        statements = read_calls(write(tmp_path / "calls.csv", text))
        calls = assign_calls(statements, np.arange(10), times_s, "calls.csv")
        np.testing.assert_array_equal(calls.votes, np.where(np.arange(10) == k, 1.0, np.nan))


def test_frames_as_pandas_writes_them_in_a_column_with_gaps(tmp_path):
    statements = read_calls(write(tmp_path / "a.csv", "frame,start,end,call\n5.0,,,fine\n,6.0,8.0,crowded\n"))
    places = [(one.start, one.end) for one in statements]
    assert places == [tuple(Position(frame=k) for k in pair) for pair in ((5, 6), (6, 8))]


@pytest.mark.parametrize("place", ["2,,", ",0.2s,0.3s"])
def test_calls_of_what_is_before_the_first_frame_are_named(tmp_path, place):
    """They are no calls of the last frame."""
    statements = read_calls(write(tmp_path / "calls.csv", f"frame,start,end,call\n{place},crowded\n"))
    frames = np.array([4, 8, 12])
    with pytest.raises(DatasetError, match="line 2: there is no measured frame"):
        assign_calls(statements, frames, frames / 10, "calls.csv", step=4)


def test_errors_of_votes_and_shares():
    votes = np.array([1, 1, 0, 0.5, np.nan, np.nan])
    calls = Calls(votes, np.full(6, 0.5), ((np.array([4, 5]), 0.25),), ("a",))
    missed, false, share_error = call_errors(calls, np.array([1, 0, 1, 0, 1, 0.0]))
    assert missed == pytest.approx(1.5 / 2.5)
    assert false == pytest.approx(1 / 1.5)
    assert share_error == 0.25
    assert all(math.isnan(error) for error in call_errors(calls, np.full(6, np.nan)))


# Events


def events_of(values, alarm):
    events = [alarm.update(k, k / FPS, value) for k, value in enumerate(values)]
    return [(event.frame, event.event, event.since_s) for event in events if event is not None]


def test_an_alarm_has_hysteresis_and_minimum_durations():
    alarm = Alarm(margin=0.5, raise_after_s=0.2, clear_after_s=0.3)
    values = [0.0, 0.6, 0.4, 0.6, 0.7, 0.8, 0.2, -0.6, -0.4, -0.6, -0.6, -0.6, -0.6, 0.6]
    # the dip at 2 and the one at 8 begin anew
    assert events_of(values, alarm) == [(5, "raised", 0.3), (12, "cleared", 0.9)]
    at_the_margin = events_of([0.5, -0.5], Alarm(0.5, 0.0, 0.0))
    assert at_the_margin == [(0, "raised", 0.0), (1, "cleared", 0.1)]


def test_what_was_not_seen_counts_for_no_duration():
    alarm = Alarm(margin=0.5, raise_after_s=2.0)
    assert alarm.update(0, 0.0, 1.0) is None
    alarm.interrupt()
    assert alarm.update(3600, 3600.0, 1.0) is None
    event = alarm.update(3602, 3602.0, 1.0)
    assert (event.event, event.since_s) == ("raised", 3600.0)


@pytest.mark.parametrize("first", range(20))
def test_so_many_seconds_without_sight_are_an_event_at_any_time(first):
    """Seconds of frames ten to a second differ by a little less than one, or more."""
    sight = Sight(1.0)
    events = [sight.update(k, k / FPS, math.nan) for k in range(first, first + 11)]
    assert events[:-1] == [None] * 10
    assert (events[-1].event, events[-1].since_s) == ("blind", first / FPS)


def test_a_break_of_so_many_seconds_is_one():
    sight = Sight(10.0)
    assert sight.update(0, 0.0, 1.0) is None
    assert sight.update(1, 9.5, 1.0) is None
    assert not sight.is_behind_break
    event = sight.update(2, 19.5, math.nan)
    assert (event.event, event.since_s) == ("blind", 9.5)
    assert sight.is_behind_break
    sight = Sight(1.0)
    assert sight.update(9, 0.9, 1.0) is None
    assert sight.update(10, 1.9, math.nan).since_s == 0.9  # by a rounded second


def test_silence_is_an_event_while_it_lasts_and_a_break_behind_it():
    sight = Sight(10.0)
    assert sight.update(0, 0.0, 1.0) is None
    assert sight.wait(0, 9.9) is None
    event = sight.wait(0, 10.3)
    assert (event.frame, event.event, event.time_s, event.since_s) == (0, "blind", 10.0, 0.0)
    assert sight.wait(0, 11.3) is None
    event = sight.update(1, 11.5, 1.0)
    assert (event.event, event.since_s) == ("seeing", 11.5)
    assert sight.is_behind_break  # durations begin anew


def test_without_margin_and_durations_every_change_is_an_event():
    assert events_of([1, -1, 0, 1], Alarm(0.0, 0.0, 0.0)) == [
        (0, "raised", 0.0), (1, "cleared", 0.1), (2, "raised", 0.2),
    ]  # fmt: skip


@settings(max_examples=200)
@given(
    values=st.lists(st.floats(-3, 3), max_size=60),
    margin=st.sampled_from([0.0, 0.5, 1.0]),
    durations=st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.3, 1.0])),
)
def test_events_alternate_and_each_is_earned(values, margin, durations):
    alarm = Alarm(margin, *durations)
    events = events_of(values, alarm)
    assert [event for _, event, _ in events] == [("raised", "cleared")[k % 2] for k in range(len(events))]
    assert alarm.is_up == (len(events) % 2 == 1)
    for frame, event, since_s in events:
        stretch = np.array(values[round(since_s * FPS) : frame + 1])
        assert (stretch >= margin).all() if event == "raised" else (stretch <= -margin).all()
        assert frame / FPS - since_s >= durations[event == "cleared"] - 1e-9


def test_events_are_in_the_file_at_once_and_stay_when_interrupted(tmp_path):
    event = AlarmEvent(12, 1.2, "raised", 1.0, 0.51234)
    target = tmp_path / "events.csv"

    def interrupted():
        with open_events(str(target), datetime(2024, 5, 1, 8)) as write_event:
            write_event(event)
            lines = (tmp_path / "events.partial.csv").read_text().splitlines()
            assert lines[0] == "frame,time_s,time,event,since_s,value,flags"
            assert lines[1] == "12,1.2,2024-05-01T08:00:01.200,raised,1.0,0.5123,"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not target.exists()
    assert (tmp_path / "events.partial.csv").exists()


# Tables


def test_an_alarm_learns_from_a_table_and_watches_it(tmp_path, table):
    path, level = table
    rows = [f"{k},{'crowded' if level[k] > 0 else 'fine'}\n" for k in range(0, 200, 4)]
    rows[3] = "12,fine\n"  # wrong
    labels = write(tmp_path / "calls.csv", "frame,call\n" + "".join(rows))
    training = train_alarm(str(path), labels)
    assert training.n_called == 50
    assert training.n_silent == 150
    assert training.model.facts["takes_silent"] == training.takes_silent
    assert training.missed < 0.15
    assert training.false < 0.15
    assert not training.one_block
    training.model.save(tmp_path / "a.npz", "alarm")
    values = []
    summary = watch(
        str(path), tmp_path / "a.npz", str(tmp_path / "events.csv"), raise_after_s=0.5, clear_after_s=0.5,
        values=values,
    )  # fmt: skip
    assert summary.frames == len(values) == 200
    decided = np.array([value for _, value in values]) > 0
    assert (decided == (level > 0)).mean() > 0.9
    kinds = [event.event for event in summary.events]
    assert kinds == ["raised", "cleared"] * 3
    assert not summary.is_up


def test_crowded_calls_of_one_stretch_are_told(tmp_path, table):
    path, level = table
    calls = dict.fromkeys(np.flatnonzero(level < 0)[::3], "fine")
    calls |= dict.fromkeys(np.flatnonzero(level > 0)[:4], "crowded")
    rows = [f"{k},{call}\n" for k, call in sorted(calls.items())]
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,call\n" + "".join(rows)))
    assert training.missed == 1.0
    assert training.one_block
    assert "it says little" in alarm_report(training, "a.npz")[3]


def test_calls_that_operators_contest_are_on_neither_side(tmp_path, table):
    """Crowded are those of one stretch alone, though half of the others are not quite fine."""
    path, level = table
    rows = [f"{k},fine,{('fine', 'crowded')[k % 2]}\n" for k in np.flatnonzero(level < 0)[::3]]
    rows += [f"{k},crowded,crowded\n" for k in np.flatnonzero(level > 0)[:4]]
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,anna,ben\n" + "".join(rows)))
    assert training.one_block


def test_a_rush_of_seconds_among_minutes_is_learnt(tmp_path):
    n, rush = 6000, slice(4210, 4222)
    random = np.random.default_rng(0)
    level = np.full(n, -1.0)
    level[rush] = 1.0
    rows = [f"{k},{k / FPS},{value + random.normal() / 10:.4f}\n" for k, value in enumerate(level)]
    path = write(tmp_path / "features.csv", "frame,time_s,area\n" + "".join(rows))
    calls = f"0,{rush.start},fine\n{rush.start},{rush.stop},crowded\n{rush.stop},{n},fine\n"
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "start,end,call\n" + calls))
    assert (training.n_called, training.n_fitted) == (n, MAX_CALLED)
    assert training.one_block
    assert "trained on 6000 called frames (1 operator), 400 of them evenly spaced in each kind, in" in (
        alarm_report(training, "a.npz")[0]
    )
    with open_measuring(str(path)) as measuring:
        X = np.stack([frame.features for frame in measuring.frames()])
    np.testing.assert_array_equal(training.model.regressor.values(X) > 0, level > 0)


def test_frames_that_operators_disagree_on_crowd_out_no_rush(tmp_path):
    """Half an hour of doubt, which another feature tells, beside a second that both call too crowded."""
    n, rush, doubt = 6000, slice(4210, 4222), slice(300, 3300)
    random = np.random.default_rng(0)
    level, other = np.full(n, -1.0), np.zeros(n)
    level[rush], other[doubt] = 1.0, 1.0
    noise = random.normal(0, 0.1, (n, 2))
    rows = [f"{k},{level[k] + noise[k, 0]:.4f},{other[k] + noise[k, 1]:.4f}\n" for k in range(n)]
    path = write(tmp_path / "features.csv", "frame,area,fog\n" + "".join(rows))
    parts = ((0, doubt.start, "fine", "fine"), (doubt.start, doubt.stop, "crowded", "fine"),
             (doubt.stop, rush.start, "fine", "fine"), (rush.start, rush.stop, "crowded", "crowded"),
             (rush.stop, n, "fine", "fine"))  # fmt: skip
    lines = "".join(",".join(map(str, part)) + "\n" for part in parts)
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "start,end,a,b\n" + lines))
    assert (training.n_called, training.n_fitted) == (n, MAX_CALLED)
    values = training.model.regressor.values(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert values[0] > 0.9
    assert values[1] < -0.5


def test_of_many_frames_few_take_part_evenly_spread_and_all_are_told(table, tmp_path, monkeypatch):
    monkeypatch.setattr("crowdcount.alarm.training.MAX_CALLED", 30)
    monkeypatch.setattr("crowdcount.alarm.training.MAX_UNCALLED", 20)
    path, level = table
    words = np.where(level > 0, "crowded", "fine")
    lines = [f"{k},{words[k]},{'crowded' if k % 10 == 0 else words[k]}\n" for k in range(0, 200, 2)]
    fitted = []

    class Recorded(BetaSVMClassifier):
        def fit(self, X, y):
            fitted.append(y)
            return super().fit(X, y)

    monkeypatch.setattr("crowdcount.alarm.training.BetaSVMClassifier", Recorded)
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,a,b\n" + "".join(lines)))
    assert (training.n_called, training.n_silent, training.n_fitted) == (100, 100, 30)
    assert training.model.facts["fitted_frames"] == 30
    told = "100 called frames (2 operators), 30 of them evenly spaced in each kind"
    assert told in alarm_report(training, "a.npz")[0]
    assert {len(y) for y in fitted[:-1]} == {24, 24 + 20}  # without a fifth of those with calls
    called = fitted[-1][~np.isnan(fitted[-1])]
    assert [(called == vote).sum() for vote in (0.0, 0.5, 1.0)] == [10, 10, 10]
    # the level rises and falls thrice: calls change as often where they are taken from all of the table
    decided = called[called != 0.5]
    assert np.count_nonzero(np.diff(decided)) == 5


def test_calls_that_are_divided_are_not_contradicted(table, tmp_path, monkeypatch):
    """Even where the alarm believes one side of them."""
    monkeypatch.setattr("crowdcount.alarm.training.LEAST_GAIN", -1.0)
    path, level = table
    divided = np.abs(level) < 0.5
    lines = []
    for k in range(200):
        word = "crowded" if level[k] > 0 else "fine"
        lines.append(f"{k},{word},{'fine' if divided[k] and word == 'crowded' else word}\n")
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,a,b\n" + "".join(lines)))
    assert training.belief != "as they are"
    assert not set(training.doubted) & set(np.flatnonzero(divided & (level > 0)).tolist())


@pytest.mark.parametrize(
    ("rush", "one_block"),
    [(slice(4780, 4792), True), (slice(1199, 1201), True), (slice(4700, 4900), False)],
)
def test_crowded_calls_of_one_block_of_all_frames_or_of_those_that_take_part_are_told(
    tmp_path, rush, one_block
):
    """Of 6000 frames 400 take part: a rush in one block of all may lie in two of these, and vice versa."""
    level = np.full(6000, -1.0)
    level[rush] = 1.0
    noise = np.random.default_rng(0).normal(0, 0.1, 6000)
    rows = [f"{k},{value:.4f}\n" for k, value in enumerate(level + noise)]
    path = write(tmp_path / "features.csv", "frame,area\n" + "".join(rows))
    calls = f"0,{rush.start},fine\n{rush.start},{rush.stop},crowded\n{rush.stop},6000,fine\n"
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "start,end,call\n" + calls))
    assert training.one_block == one_block


def test_more_than_was_ever_called_is_too_crowded(tmp_path):
    """Few calls are crowded, and some wrong: values still rise with the count, beyond all that was seen."""
    counts = 8 + 6 * np.sin(np.arange(300) / 20)
    rows = [f"{k},{k},{value:.2f}\n" for k, value in enumerate(counts)]
    path = write(tmp_path / "counts.csv", "frame,time_s,count\n" + "".join(rows))
    calls = [(counts[k] >= 13) ^ (k % 45 == 7) for k in range(300)]
    lines = [f"{k},{'crowded' if calls[k] else 'fine'}\n" for k in range(0, 300, 3)]
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,call\n" + "".join(lines)))
    values = training.model.regressor.values(np.array([[2.0], [8.0], [14.0], [20.0], [80.0]]))
    assert (np.diff(values) > 0).all()
    assert (values > 0).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize(("other", "answer"), [("fine", "fine"), ("crowded", "too crowded")])
def test_an_alarm_that_says_the_same_of_every_frame_is_told(table, tmp_path, other, answer):
    """One operator is right, the other calls everything alike."""
    path, level = table
    words = ["crowded" if value > 0 else "fine" for value in level]
    lines = [f"{k},{word},{other}\n" for k, word in enumerate(words)]
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,a,b\n" + "".join(lines)))
    assert training.only_answer == answer
    told = "\n".join(alarm_report(training, "a.npz"))
    assert f"the alarm says {answer} of every frame: calls contradict" in told
    assert "add calls, or leave out an operator's" in told
    lines = [f"{k},{word}\n" for k, word in enumerate(words)]
    training = train_alarm(str(path), write(tmp_path / "right.csv", "frame,call\n" + "".join(lines)))
    assert training.only_answer is None
    assert "of every frame" not in "\n".join(alarm_report(training, "a.npz"))


def test_the_model_decides_as_the_machine_that_was_fitted(clip, tmp_path, monkeypatch):
    """Of footage, whose columns have different weights."""
    path, counts, scene = clip
    fitted = []

    class Recorded(BetaSVMClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            fitted.append(self.decision_function(X))
            return self

    monkeypatch.setattr("crowdcount.alarm.training.BetaSVMClassifier", Recorded)
    lines = [f"{k},{'crowded' if counts[k] >= 5 else 'fine'}\n" for k in range(100)]
    labels = write(tmp_path / "calls.csv", "frame,call\n" + "".join(lines))
    training = train_alarm(str(path), labels, scene=scene)
    with open_measuring(str(path), scene=load_scene(scene)) as measuring:
        rows = [frame.features for frame in measuring.frames()]
    np.testing.assert_allclose(training.model.regressor.values(np.stack(rows)), fitted[-1], atol=1e-9)


def test_another_scene_than_the_alarm_learnt_in_is_told(clip, alarm_file, tmp_path):
    own = load_scene(clip[2])
    width, height = own.size_wh
    own.redrawn([((0, 0), (width / 2, 0), (width / 2, height), (0, height))]).save(tmp_path / "half.json")
    for scene, is_own in (None, True), (clip[2], True), (tmp_path / "half.json", False):
        options = {"scene": scene, "end": Position(frame=3)}
        summary = watch(str(clip[0]), alarm_file[0], str(tmp_path / "e.csv"), **options)
        assert summary.is_models_scene == is_own
        told = "\n".join(alarm_summary(summary, []))
        assert ("heights are not those in which the model learnt" in told) == (not is_own)


def test_few_crowded_calls_weigh_as_much_as_many_fine_ones(tmp_path):
    """Of 300 frames 14 are called too crowded, from about 13 people on."""
    random = np.random.default_rng(0)
    counts = np.clip(random.normal(8, 3, 300), 0, None)
    is_crowded = counts + random.normal(0, 1, 300) > 13
    assert is_crowded.sum() == 14
    path = write(tmp_path / "counts.csv", "count\n" + "".join(f"{value:.2f}\n" for value in counts))
    lines = [f"{k},{'crowded' if crowded else 'fine'}\n" for k, crowded in enumerate(is_crowded)]
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,call\n" + "".join(lines)))
    assert max(training.missed, training.false) < 0.1
    assert training.model.regressor.values(np.array([[13.0]]))[0] > 0


@pytest.mark.parametrize(("n_missed", "belief"), [(3, "as they are"), (2, "where unanimous")])
def test_calls_are_believed_otherwise_where_much_is_gained(table, tmp_path, monkeypatch, n_missed, belief):
    """Of 25 crowded and 25 fine calls, 5 are missed as they are: .1 on average of both."""
    path, level = table
    chosen = [np.flatnonzero(side)[:25] for side in (level > 0, level <= 0)]
    lines = [f"{k},{word}\n" for rows, word in zip(chosen, ("crowded", "fine"), strict=True) for k in rows]

    def predicted(classifier, X, confidence, folds):
        found = np.nan_to_num(confidence)
        missed = n_missed if classifier.keep_certain else 5
        found[np.flatnonzero(found == 1)[:missed]] = 0
        return found

    monkeypatch.setattr("crowdcount.alarm.training.out_of_fold", predicted)
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,call\n" + "".join(lines)))
    assert (training.belief, training.takes_silent) == (belief, False)


def test_of_footage_the_texture_weighs_less_and_the_whole_as_much_as_its_cells(clip):
    with open_measuring(str(clip[0]), scene=load_scene(clip[2])) as measuring:
        weights = column_weights(measuring)
    assert (weights**2).sum() == pytest.approx(1)
    names = np.array(measuring.columns)
    of_whole, area, lbp = (
        np.flatnonzero(np.char.find(names, part) >= 0) for part in ("1x1_", ".area", ".lbp_0")
    )
    assert (weights[of_whole] ** 2).sum() == pytest.approx(0.5)
    np.testing.assert_allclose(weights[lbp], TEXTURE_WEIGHT * weights[area])


def test_shares_of_stretches_alone_are_enough(tmp_path, table):
    path, level = table
    bags = [(k, k + 10, np.mean(level[k : k + 10] > 0)) for k in range(0, 200, 10)]
    rows = [f"{start},{end},{share:.0%}\n" for start, end, share in bags]
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "start,end,share\n" + "".join(rows)))
    assert training.n_called == 0
    assert training.n_shared == 200
    assert math.isnan(training.missed)
    assert training.share_error < 0.15
    assert training.doubted == ()  # nobody called any
    with open_measuring(str(path)) as measuring:
        X = np.stack([frame.features for frame in measuring.frames()])
    assert ((training.model.regressor.values(X) > 0) == (level > 0)).mean() > 0.9


def test_shares_and_calls_of_one_operator_that_contradict_are_corrected(tmp_path, table):
    path, _ = table
    bags = [f"{k},{k + 60},{share}\n" for k in range(0, 120, 20) for share in ("10%", "30%")]
    training = train_alarm(str(path), write(tmp_path / "shares.csv", "start,end,share\n" + "".join(bags)))
    told = "\n".join(alarm_report(training, "a.npz"))
    assert "the alarm says fine of every frame: shares contradict each other" in told
    assert "add shares, or correct them" in told
    told = "\n".join(alarm_report(replace(training, operators=("ann",)), "a.npz"))
    assert "add calls, or correct them" in told


def test_wrong_calls_of_one_operator_are_outvoted_and_listed(tmp_path, table):
    path, level = table
    lines = []
    for k in range(0, 200, 2):
        right, wrong = ("crowded", "fine") if level[k] > 0 else ("fine", "crowded")
        lines.append(f"{k},{right},{wrong if k % 10 == 0 else right},{right}\n")
    training = train_alarm(str(path), write(tmp_path / "calls.csv", "frame,a,b,c\n" + "".join(lines)))
    assert training.operators == ("a", "b", "c")
    assert max(training.missed, training.false) < 0.2
    assert set(training.doubted) <= set(range(0, 200, 2))
    for n_doubted, end in ((20, " 18 19"), (21, " 18 19 and 1 more; --json lists all")):
        told = alarm_report(replace(training, doubted=tuple(range(n_doubted))), "a.npz")[-1]
        assert told.startswith("calls not believed, frames: 0 1 2 ")
        assert told.endswith(end)


@pytest.mark.parametrize("names", ["frame,time_s,count,low,high,flags", "Frame, Time_s,count,low,high,Flags"])
def test_counts_of_this_program_are_a_table_and_frames_without_a_count_are_left_out(tmp_path, names):
    path = write(
        tmp_path / "street.counts.csv",
        f"{names}\n0,0.0,,,,undecodable\n5,0.5,3.0,2,4,learning;x\n6,0.6,4,3,5,\n",
    )
    with open_measuring(str(path)) as measuring:
        frames = list(measuring.frames())
    assert measuring.columns == ("count", "low", "high")
    assert [frame.index for frame in frames] == [0, 5, 6]
    assert [frame.time_s for frame in frames] == [0, 0.5, 0.6]
    assert frames[0].features is frames[1].features is None
    np.testing.assert_array_equal(frames[2].features, [4, 3, 5])


@pytest.mark.parametrize("directions", [False, True])
def test_counts_are_the_same_table_in_each_format(tmp_path, directions):
    pytest.importorskip("pyarrow")
    both = {"right": 1.0, "left": 2.0} if directions else {}
    counts = [
        FrameCount(0, 0.0, *[math.nan] * 3, ("undecodable",), **dict.fromkeys(both, math.nan)),
        FrameCount(5, 0.5, 3, 2, 4, ("learning", "resized"), **both),
        FrameCount(6, 0.6, 3, 0, math.inf, **both),
        FrameCount(7, 0.7, 4, 3, 5, **both),
    ]
    found = []
    for format in FORMATS:
        path = tmp_path / f"street.counts.{format}"
        with open_writer(path, format, datetime(2024, 5, 1), directions) as write:
            for row in counts:
                write(row)
        with open_measuring(str(path)) as measuring:
            found.append((measuring.columns, [astuple(frame) for frame in measuring.frames()]))
            assert measuring.start_time == datetime(2024, 5, 1)
    np.testing.assert_equal(found[1:], found[:1] * 2)
    assert [features is None for _, _, features, _ in found[1][1]] == [True, True, True, False]


def test_events_of_a_table_of_counts_are_told_by_its_clock(tmp_path):
    rows = [f"{k},{k}.0,2024-05-01T08:00:{k:02}.000,{k % 20},0,20,\n" for k in range(40)]
    table = write(tmp_path / "street.csv", "frame,time_s,time,count,low,high,flags\n" + "".join(rows))
    calls = "".join(f"{k},{'crowded' if k % 20 >= 10 else 'fine'}\n" for k in range(40))
    training = train_alarm(str(table), write(tmp_path / "calls.csv", "frame,call\n" + calls))
    training.model.save(tmp_path / "alarm.npz", "alarm")
    target = tmp_path / "events.csv"
    watch(str(table), tmp_path / "alarm.npz", str(target))
    with target.open(newline="") as file:
        first = next(csv.DictReader(file))
    assert first["event"] == "raised"
    assert first["time"] == f"2024-05-01T08:00:{int(first['frame']):02}.000"


@pytest.mark.parametrize("time", ["8 o'clock", "2024-05-01T08:00:00"])
def test_a_time_in_a_table_of_other_features_is_ignored(tmp_path, time):
    with open_measuring(str(write(tmp_path / "own.csv", f"frame,time,people\n0,{time},3\n"))) as measuring:
        assert measuring.start_time is None
        assert measuring.columns == ("people",)


def test_counts_of_two_recordings_in_one_file_are_refused(tmp_path):
    line = '{"frame": 3, "time_s": 3, "count": 4, "low": 3, "high": 5, "flags": []}\n'
    with (
        pytest.raises(DatasetError, match="found frame 3, 3 s, behind frame 3, 3 s; sort"),
        open_measuring(str(write(tmp_path / "two.jsonl", line * 2))),
    ):
        pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frame,time_s\n", "line 1: expected a header that names each feature"),
        (",frame,area\n0,0,1\n", "line 1: expected a header that names each feature"),
        ("area,area\n1,2\n", "line 1: expected a header"),
        ("frame,area\n", "expected a line for each frame"),
        ("frame,area\n0,1\n0,2\n", "times that increase, found frame 0, 0 s, behind frame 0, 0 s; sort"),
        ("frame,area\n0,many\n", "line 2: expected a number, found 'many'"),
        (f"frame,area\n0,{'9' * 200}\n", "line 2: expected a number, found '999"),
        ("frame,area\n0.5,1\n", "line 2: expected a frame number, found 0.5"),
        ("frame,area\n0,1\n1e30,1\n", "line 3: expected a frame number, found 1e\\+30"),
        ("frame,area\n0\n", "line 2: expected 2 values, found 1"),
    ],
)
def test_wrong_tables_are_named(tmp_path, text, message):
    with (
        pytest.raises(DatasetError, match=message),
        open_measuring(str(write(tmp_path / "features.csv", text))),
    ):
        pass


def test_rows_that_are_unevenly_apart_and_frames_of_one_time(tmp_path):
    """As the counts of every second or third frame, and a burst of a camera."""
    rows = ((0, 0.0), (2, 0.2), (5, 0.5), (7, 0.5), (10, 1.0))
    lines = "".join(f"{frame},{time_s},3\n" for frame, time_s in rows)
    with open_measuring(str(write(tmp_path / "a.csv", f"frame,time_s,people\n{lines}"))) as measuring:
        assert [frame.time_s for frame in measuring.frames()] == [0.0, 0.2, 0.5, 0.5, 1.0]
        assert measuring.step == 3


def test_a_published_table_counts_frames_from_one_and_seconds_from_its_first(tmp_path):
    path = tmp_path / "ucsd.npz"
    np.savez(path, features=np.ones((40, 30)), count_total=np.ones(40))
    with open_measuring(str(path), fps=10, end=Position(time_s=0.2)) as measuring:
        assert [(frame.index, frame.time_s) for frame in measuring.frames()] == [(1, 0.0), (2, 0.1)]
    with (
        pytest.raises(DatasetError, match="has frames 1 to 40, 0 to 39 s, none from the first to frame 1"),
        open_measuring(str(path), end=Position(frame=1)),
    ):
        pass


def test_a_table_takes_no_scene(table, clip):
    with (
        pytest.raises(DatasetError, match="no scene changes; drop --scene"),
        open_measuring(str(table[0]), scene=load_scene(clip[2])),
    ):
        pass


def test_published_tables_are_read(data_dir):
    with open_measuring(str(data_dir / "mall" / "mall_feat.mat")) as measuring:
        frames = list(measuring.frames())
    assert len(frames) == 2000
    assert [(frame.index, frame.time_s) for frame in frames[:2]] == [(1, 0), (2, 1)]
    assert len(measuring.columns) == len(frames[0].features) == 30


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ("frame,call\n" + "".join(f"{k},fine\n" for k in range(50)), "50 frames, all the same; add calls"),
        (
            "frame,call,operator\n"
            + "".join(f"{k},fine,ann\n{k},crowded,ben\n" for k in range(50)),
            "50 frames, on each of which the operators are divided; add calls",
        ),
        ("frame,call\n0,fine\n1,crowded\n", "at least 10 measured frames"),
    ],
)
def test_too_few_calls_are_refused(tmp_path, table, calls, message):
    with pytest.raises(DatasetError, match=message):
        train_alarm(str(table[0]), write(tmp_path / "calls.csv", calls))


def test_calls_of_frames_that_are_not_judged_are_left_out_and_told(tmp_path, table):
    """Of calls all wrong where the table is flagged or blank, the alarm is that of the other calls alone."""
    source, level = table
    lines = source.read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    flags = [*["noisy"] * 30, *["light_change;resized"] * 30, *["camera_moved"] * 30, *[""] * 110]
    rows = [row if k != 95 else [*row[:2], "", ""] for k, row in enumerate(rows)]
    table = "".join(f"{','.join(row)},{flag}\n" for row, flag in zip(rows, flags, strict=True))
    flagged = str(write(tmp_path / "flagged.csv", f"{lines[0]},flags\n" + table))
    right = [f"{k},{k + 1},{'crowded' if level[k] > 0 else 'fine'},\n" for k in range(96, 200, 2)]
    wrong = [f"{k},{k + 1},{'fine' if level[k] > 0 else 'crowded'},\n" for k in (*range(0, 90, 3), 95)]
    header = "start,end,call,share\n"
    given = write(tmp_path / "calls.csv", header + "".join([*wrong, *right, "40,44,,90%\n", "88,92,,90%\n"]))
    training = train_alarm(flagged, given)
    assert (training.n_called, training.n_shared, training.n_unjudged) == (52, 2, 31 + 3 + 2)
    assert max(training.missed, training.false) < 0.15
    alone = train_alarm(flagged, write(tmp_path / "right.csv", header + "".join([*right, "90,92,,90%\n"])))
    assert alone.n_unjudged == 0
    np.testing.assert_array_equal(
        training.model.regressor.values(np.eye(2)), alone.model.regressor.values(np.eye(2))
    )
    result = run("alarm", "train", flagged, "--labels", given, "-m", tmp_path / "a.npz")
    assert "36 called frames could not be judged, as in watching, and left out" in result.stdout
    with pytest.raises(DatasetError, match="found 0 frames, and 31 that cannot be judged; add calls"):
        train_alarm(flagged, write(tmp_path / "calls.csv", header + "".join(wrong)))


def test_a_live_source_cannot_be_trained_on(tmp_path, serving, send_live):
    with pytest.raises(DatasetError, match="gate-live is live; record it first"):
        train_alarm("rtsp://user:secret@gate/live", tmp_path / "calls.csv")
    labels = write(tmp_path / "calls.csv", "frame,call\n0,fine\n")
    images = [np.full((48, 64, 3), 90, np.uint8)] * 50
    with (
        serving(send_live(images, interval_s=0.01)) as port,
        pytest.raises(DatasetError, match="is live; record it first"),
    ):
        train_alarm(f"http://127.0.0.1:{port}/", labels)


def test_rows_of_a_table_that_are_flagged_unreliable_are_not_judged(tmp_path, table, table_alarm):
    source, _ = table
    lines = source.read_text().splitlines()
    flags = ["", *["light_change"] * 10, *["resized"] * 189]
    rows = [f"{line},{flag}\n" for line, flag in zip(lines[1:], flags, strict=True)]
    flagged, values = write(tmp_path / "flagged.csv", f"{lines[0]},flags\n" + "".join(rows)), []
    summary = watch(str(flagged), table_alarm, str(tmp_path / "e.csv"), values=values)
    assert {event.event for event in summary.events} == {"raised"}  # a second is no outage
    assert [math.isnan(value) for _, value in values] == [False] + [True] * 10 + [False] * 189
    assert summary.undecided == 10
    assert summary.flags == {"light_change": 10, "resized": 189}


# Footage, by command


@pytest.fixture(scope="session")
def alarm_file(clip, tmp_path_factory):
    """An alarm trained by command on the first 60 frames' calls of two operators, and what it printed."""
    path, counts, scene = clip
    folder = tmp_path_factory.mktemp("alarm")
    words = ("fine", "crowded")
    lines = [
        f"{k},{words[int(counts[k] >= 5)]},{'?' if k % 3 else words[int(counts[k] >= 4)]}\n"
        for k in range(60)
    ]
    labels = write(folder / "calls.csv", "frame,anna,ben\n" + "".join(lines))
    result = run(
        "alarm", "train", path, "--labels", labels, "-m", folder / "alarm.npz", "--scene", scene, "--json",
        "--cache", folder / "kept",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder / "alarm.npz", json.loads(result.stdout)


def test_an_alarm_is_trained_on_a_video(clip, alarm_file):
    path, facts = alarm_file
    assert facts["operators"] == ["anna", "ben"]
    assert facts["n_called"] == 60
    assert facts["n_silent"] == 40
    assert facts["missed"] < 0.35
    assert facts["false"] < 0.35
    model = load_model(path, "alarm")
    assert model.scene is not None
    assert model.rate == CLIP_FPS
    assert model.scene.view is not None
    with pytest.raises(ModelError, match="expected a crowdcount model, but"):
        load_model(path)


@pytest.mark.parametrize(
    "name", ["alarm/measuring", "learning/measuring", "pipeline", "counting", "video/files"]
)
def test_features_that_other_code_measured_are_not_taken_from_the_cache(clip, monkeypatch, name):
    path, _, scene = clip
    known = cache._key(path, load_scene(scene), ("alarm",))
    file, read = Path(crowdcount.__file__).parent / f"{name}.py", Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: read(self) + b"#" * (self == file))
    assert cache._key(path, load_scene(scene), ("alarm",)) != known


def test_a_file_of_a_web_server_is_a_recording(clip, tmp_path):
    path, counts, scene = clip
    rows = [f"{k},{'crowded' if counts[k] >= 5 else 'fine'}\n" for k in range(40, 100)]  # then it is known
    labels = write(tmp_path / "calls.csv", "frame,call\n" + "".join(rows))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=path.parent)) as server:
        Thread(target=server.serve_forever).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/{path.name}"
            training = train_alarm(url, labels, scene=scene, cache=tmp_path / "kept")
        finally:
            server.shutdown()
    assert training.n_called == 60
    assert training.model.scene.view is not None
    assert not (tmp_path / "kept").exists()  # a file there would not tell one address from another


def test_the_second_training_measures_nothing(clip, alarm_file, tmp_path, monkeypatch):
    monkeypatch.setattr("crowdcount.alarm.measuring.Overview.teach", None)  # what measuring begins with
    path, _, scene = clip
    folder = alarm_file[0].parent
    train = "alarm", "train", path, "--labels", folder / "calls.csv", "-m", tmp_path / "again.npz"
    result = run(*train, "--scene", scene, "--cache", folder / "kept", "--json")
    assert result.exit_code == 0, result.output
    varying = ("model", "seconds")
    first, again = ({k: v for k, v in facts.items() if k not in varying}
                    for facts in (alarm_file[1], json.loads(result.stdout)))  # fmt: skip
    assert again == first
    assert len(list((folder / "kept").iterdir())) == 1
    for other in (("--every", 2), ("--fps", 5)):
        with pytest.raises(TypeError):
            run(*train, *other, "--scene", scene, "--cache", folder / "kept")


def test_an_alarm_watches_a_video(clip, alarm_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, counts, _ = clip
    result = run(
        "alarm", "run", source, "-m", alarm_file[0],
        "--raise-after", 0.2, "--clear-after", 0.2, "--margin", 0.1, "--start-time", "2024-05-01T08:00:00",
        "--plot", "alarm.png",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "100 frames looked at, alarm raised" in result.stderr
    with open("street.events.csv", newline="") as file:
        events = list(csv.DictReader(file))
    assert [event["event"] for event in events][:2] == ["raised", "cleared"]
    assert 4 <= len(events) <= 12  # the street fills five times
    for event in events:
        frame = int(event["frame"])
        assert float(event["time_s"]) == pytest.approx(frame / CLIP_FPS)
        assert event["time"] == f"2024-05-01T08:00:{frame / CLIP_FPS:06.3f}"
        around = counts[max(0, frame - 4) : frame + 1].mean()
        assert around > 3 if event["event"] == "raised" else around < 7
    assert cv2.imread("alarm.png").shape[2] == 3


def test_events_go_to_the_standard_output(table, table_alarm):
    result = run("alarm", "run", table[0], "-m", table_alarm, "-o", "-", "-q", "--end", 60)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "frame,time_s,event,since_s,value,flags"
    assert lines[1].split(",")[2] == "raised"
    assert not result.stderr


def test_a_part_of_a_video_and_every_second_frame(clip, alarm_file, tmp_path):
    target = tmp_path / "e.csv"
    result = run(
        "alarm", "run", clip[0], "-m", alarm_file[0], "-o", target,
        "--start", 20, "--end", "7.5s", "--every", 2,
    )  # fmt: skip
    assert result.exit_code == 0
    assert "20 frames" in result.stderr


def test_frames_far_apart_are_judged_as_all_of_them_are(clip, alarm_file, tmp_path):
    """Of footage of so low a rate, people would be measured at twice the size when an alarm is trained."""
    all_values, values = [], []
    for every, found in ((1, all_values), (5, values)):
        watch(str(clip[0]), alarm_file[0], str(tmp_path / "e.csv"), fps=5.0, every=every, values=found)
    np.testing.assert_allclose(values, all_values[::5], atol=1e-6)


def test_of_video_six_frames_a_second_are_watched(clip, alarm_file, tmp_path):
    """At 25 frames/s every fourth one."""
    values, every_fourth = [], []
    summary = watch(str(clip[0]), alarm_file[0], str(tmp_path / "e.csv"), fps=25.0, values=values)
    options = {"fps": 25.0, "every": 4, "values": every_fourth}
    watch(str(clip[0]), alarm_file[0], str(tmp_path / "e.csv"), **options)
    assert summary.frames == 25
    assert [time_s for time_s, _ in values] == pytest.approx(np.arange(0, 100, 4) / 25)
    assert values == every_fourth


def test_what_is_said_of_frames_in_between_is_said_of_the_one_before(tmp_path):
    lines = "frame,start,end,call\n6,,,1\n,9,11,0\n,1.25s,1.3s,1\n19,,,0\n"  # 1.25 s: frames 13 and on
    statements = read_calls(write(tmp_path / "calls.csv", lines))
    frames = np.array([0, 4, 8, 12, 16])
    votes = assign_calls(statements, frames, frames / 10, "calls.csv", step=4).votes
    np.testing.assert_array_equal(votes, [np.nan, 1, 0, 1, 0])
    for step, line in ((1, 2), (3, 4)):  # too far behind the one before
        with pytest.raises(DatasetError, match=f"line {line}: there is no measured frame"):
            assign_calls(statements, frames, frames / 10, "calls.csv", step)


def test_calls_of_rows_that_are_passed_over_are_learnt_from(table, tmp_path):
    path, level = table
    rows = [f"{k},{'crowded' if level[k] > 0 else 'fine'}\n" for k in range(1, 200, 8)]
    labels = write(tmp_path / "calls.csv", "frame,call\n" + "".join(rows))
    assert train_alarm(str(path), labels, every=2).n_called == len(rows)


def test_a_recorder_that_paused_saw_nothing_meanwhile(clip, alarm_file, tmp_path):
    """Too crowded for half a second before a pause of 20 s, and for one behind it."""
    video = cv2.VideoCapture(str(clip[0]))
    images = [video.read()[1] for _ in clip[1]]
    crowd = [images[int(np.argmax(clip[1]))]] * 5
    images, values = [*images, *crowd, *crowd], []
    times_ms = [k * 1000 // CLIP_FPS + 20_000 * (k >= len(images) - 5) for k in range(len(images))]
    jpeg = {"pix_fmt": "yuvj420p", "qmin": "2", "qmax": "2"}
    path = write_encoded(tmp_path / "paused.mkv", images, "mjpeg", times_ms, **jpeg)
    for raise_after_s, raised in ((5.0, False), (0.2, True)):
        options = {"margin": 0.0, "raise_after_s": raise_after_s, "start": Position(frame=100)}
        summary = watch(path, alarm_file[0], str(tmp_path / "e.csv"), values=values, **options)
        assert [event.event for event in summary.events] == ["raised"] * raised
    assert all(value > 0 for _, value in values)
    assert values[-1][0] > 20


@pytest.mark.parametrize(
    ("usual_s", "pause_s", "raised"), [(0.5, 3600, []), (0.5, 9, [5.0]), (60, 3600, []), (60, 500, [600.0])]
)
def test_so_does_a_table_with_a_pause(table_alarm, tmp_path, usual_s, pause_s, raised):
    """One crowded row before it and one behind; nine times the usual gap are a pause, and not below 10 s."""
    times_s = usual_s * np.arange(21)
    times_s[11:] += pause_s - usual_s
    areas = np.where(np.isin(np.arange(21), (10, 11)), 1, -1)
    rows = [f"{k},{time_s},{area},0\n" for k, (time_s, area) in enumerate(zip(times_s, areas, strict=True))]
    path = write(tmp_path / "paused.csv", "frame,time_s,area,noise\n" + "".join(rows))
    events = watch(str(path), table_alarm, str(tmp_path / "e.csv")).events
    assert [event.since_s for event in events if event.event == "raised"] == raised


def test_the_command_raises_and_clears_as_the_library_does():
    options = command_line.commands["alarm"].commands["run"].params
    defaults = {option.name: option.default for option in options}
    for name in ("margin", "raise_after_s", "clear_after_s"):
        assert defaults[name] == getattr(Alarm, name)


def test_damaged_and_foreign_files_and_wrong_sources_fail_with_one_line(clip, alarm_file, table, tmp_path):
    source, _, _ = clip
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(alarm_file[0].read_bytes()[:1000])
    for arguments, message in (
        (("alarm", "run", source, "-m", damaged), "damaged.npz is damaged"),
        (("alarm", "run", source, "-m", tmp_path / "none.npz"), "none.npz does not exist"),
        (("alarm", "run", table[0], "-m", alarm_file[0]), "was trained on footage, but"),
        (("alarm", "run", tmp_path / "no.mp4", "-m", alarm_file[0]), "no.mp4 does not exist"),
        (("alarm", "run", source, "-m", alarm_file[0], "-o", alarm_file[0]), "choose another name"),
        (("alarm", "run", source, "-m", alarm_file[0], "-o", tmp_path / "e.txt"), "a name ending in .csv"),
        (("alarm", "train", source, "--labels", tmp_path / "no.csv", "-m", tmp_path / "m.npz"), "no.csv"),
    ):
        result = run(*arguments)
        assert result.exit_code == 1, arguments
        assert result.stderr.startswith("crowdcount: ")
        assert len(result.stderr.splitlines()) == 1
        assert message in result.stderr
    assert run("alarm", "run", source).exit_code == 2
    assert run("alarm", "train", source).exit_code == 2
    assert not (tmp_path / "m.npz").exists()


def test_labels_made_by_hand_are_not_replaced(clip, alarm_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for header in ("when,what\n", "frame,time_s,count,low,high,flags\n"):  # the latter of this program
        write(tmp_path / "street.events.csv", header)
        for named in ((), ("-o", "street.events.csv")):
            result = run("alarm", "run", clip[0], "-m", alarm_file[0], *named)
            assert result.exit_code == 1
            assert "is there already and holds other columns than frame, time_s, event; move" in result.stderr
    (tmp_path / "street.events.csv").unlink()
    assert run("alarm", "run", clip[0], "-m", alarm_file[0], "-o", "street.events.csv").exit_code == 0


def test_settings_of_both_commands_come_from_the_file(table, table_alarm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "crowdcount.toml", f'[alarm.run]\nmodel = "{table_alarm}"\nend = 25\nquiet = true\n')
    for _ in range(2):  # the events of a file take the place of the former
        assert run("alarm", "run", table[0]).exit_code == 0
        assert [path.name for path in tmp_path.glob("*.csv")] == ["features.events.csv"]
    write(tmp_path / "crowdcount.toml", "[alarm.run]\nvolume = 3\n")
    result = run("alarm", "run", table[0])
    assert result.exit_code == 2
    assert "[alarm], [run]: there is no option 'volume'" in " ".join(result.stderr.split())
    write(tmp_path / "crowdcount.toml", "[alarm.shout]\nvolume = 3\n")
    assert "found 'shout'" in run("alarm", "run", table[0]).stderr


def test_a_stream_that_does_not_answer_is_said(alarm_file, tmp_path):
    with pytest.raises(VideoError):
        watch("http://127.0.0.1:9/live", alarm_file[0], str(tmp_path / "e.csv"), timeout_s=0.5)


def test_a_password_is_not_told(alarm_file, table_alarm, tmp_path, serving, send_live):
    with pytest.raises(ModelError) as caught:
        watch("rtsp://me:secret@gate/live", table_alarm, str(tmp_path / "e.csv"))
    assert "on features, but gate-live is footage" in str(caught.value)
    image = np.full((48, 64, 3), 90, np.uint8)
    with serving(send_live([image] * 40, interval_s=0.01)) as port:
        url, events = f"http://me:secret@127.0.0.1:{port}/", tmp_path / "e.csv"
        options = ("--plot", tmp_path / "e.svg", "--end", 20, "--timeout", 20)
        result = run("alarm", "run", url, "-m", alarm_file[0], "-o", events, *options)
    assert result.exit_code == 0
    assert "secret" not in result.output + (tmp_path / "e.svg").read_text()


def test_the_picture_of_a_stream_that_gives_out_is_kept(clip, alarm_file, tmp_path, serving, send_live):
    image = cv2.VideoCapture(str(clip[0])).read()[1]
    (tmp_path / "e.png").write_text("of yesterday")

    calls = []

    def answer(connection):
        calls.append(None)
        if len(calls) == 1:
            send_live([image] * 40, interval_s=0.02)(connection)
        connection.shutdown(socket.SHUT_RDWR)

    with serving(answer) as port:
        url, plot = f"http://127.0.0.1:{port}/", tmp_path / "e.png"
        options = ("--plot", plot, "--reconnect", 0.5, "--timeout", 1, "--end", "60s")
        result = run("alarm", "run", url, "-m", alarm_file[0], "-o", tmp_path / "e.csv", *options)
    assert result.exit_code == 1
    assert result.stderr.endswith(f"; kept so far: {tmp_path / 'e.partial.png'}\n")
    assert (tmp_path / "e.1.png").read_text() == "of yesterday"
    assert not plot.exists()
    assert cv2.imread(str(tmp_path / "e.partial.png")) is not None


def test_a_live_stream_is_watched(clip, alarm_file, tmp_path, serving, send_live):
    """Motion JPEG over HTTP of the street, which fills every 20 frames; its background is known, and every
    fourth frame is looked at."""
    video = cv2.VideoCapture(str(clip[0]))
    images = [video.read()[1] for _ in clip[1]]
    target, values = tmp_path / "e.csv", []
    write(target, "of yesterday")
    with serving(send_live(images * 2, interval_s=0.04)) as port:
        summary = watch(
            f"http://user:secret@127.0.0.1:{port}/", alarm_file[0], str(target),
            margin=0.0, raise_after_s=0.0, clear_after_s=0.0, end=Position(frame=150), timeout_s=20,
            values=values,
        )  # fmt: skip
    assert (tmp_path / "e.1.csv").read_text() == "of yesterday"
    assert summary.frames == len(values) == 38
    assert "time" in target.read_text().splitlines()[0].split(",")
    assert summary.undecided == 0
    times = [time_s for time_s, _ in values]
    assert times == sorted(times)
    with target.open(newline="") as file:
        events = list(csv.DictReader(file))
    assert [event["event"] for event in events] == [event.event for event in summary.events]
    assert {"raised", "cleared"} <= {event["event"] for event in events}
    crowded = np.resize(clip[1], 150)[::4] >= 5
    known = [k for k, (_, value) in enumerate(values) if not math.isnan(value)]
    said = np.array([values[k][1] > 0 for k in known])
    assert (said == crowded[known]).mean() > 0.8


def test_a_covered_camera_is_not_judged(clip, tmp_path):
    video = cv2.VideoCapture(str(clip[0]))
    images = [video.read()[1] for _ in range(20)]
    path = tmp_path / "covered.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), CLIP_FPS, images[0].shape[1::-1])
    for image in [*images, *[np.zeros_like(images[0])] * 5]:
        writer.write(image)
    writer.release()
    with open_measuring(str(path), scene=load_scene(clip[2])) as measuring:
        known = [frame.features is not None for frame in measuring.frames()]
    assert known == [True] * 20 + [False] * 5


def test_an_alarm_tells_that_it_is_blind_and_that_it_sees_again(tmp_path, table, table_alarm):
    """Frozen from frame 20, too crowded before, to frame 150, which is 5 s behind the 10 s that it takes."""
    source, level = table
    assert level[19] > 0.25
    lines = source.read_text().splitlines()
    frozen = write(
        tmp_path / "frozen.csv",
        f"{lines[0]},flags\n"
        + "".join(f"{line},{'frozen' * (20 <= k < 150)}\n" for k, line in enumerate(lines[1:])),
    )
    result = run("alarm", "run", frozen, "-m", table_alarm, "-o", tmp_path / "e.csv", "--raise-after", 1,
                 "--plot", tmp_path / "e.png", "--end", 160)  # fmt: skip
    assert result.exit_code == 0, result.output
    with (tmp_path / "e.csv").open(newline="") as file:
        events = list(csv.DictReader(file))
    assert [event["event"] for event in events] == ["raised", "blind", "seeing"]
    blind, seeing = events[1:]
    assert (blind["frame"], blind["since_s"], blind["value"], blind["flags"]) == ("120", "2.0", "", "frozen")
    assert (seeing["frame"], seeing["since_s"], seeing["flags"]) == ("150", "15.0", "")
    assert "still raised at the end" in result.stderr


def test_a_stream_that_breaks_off_leaves_the_alarm_blind(
    clip, alarm_file, tmp_path, serving, send_live, monkeypatch, capsys
):
    """It is too crowded for a moment before the break and for one behind it, and nobody knows of between.
    That is told while it lasts, and that the stream is back."""
    monkeypatch.setattr("crowdcount.alarm.watching.BLIND_AFTER_S", 1.0)
    video = cv2.VideoCapture(str(clip[0]))
    images = [video.read()[1] for _ in clip[1]]
    crowd = [images[int(np.argmax(clip[1]))]] * 5
    sent = iter([[*images[:10], *crowd], crowd])  # of which every fourth frame is looked at

    meanwhile = []

    def answer(connection):
        part = next(sent)
        if part is crowd:
            time.sleep(2)
            meanwhile.extend((tmp_path / "e.partial.csv").read_text().splitlines()[1:])
        send_live(part, interval_s=0.04)(connection)
        connection.shutdown(socket.SHUT_RDWR)

    with serving(answer) as port:
        values = []
        summary, _ = run_alarm(
            f"http://127.0.0.1:{port}/", alarm_file[0], output=str(tmp_path / "e.csv"), margin=0.0,
            raise_after_s=1.5, reconnect_s=20, timeout_s=10, end=Position(frame=20), values=values,
            watcher=Terminal(),
        )  # fmt: skip
    back = rf"127\.0\.0\.1-{port}: broke off, and is back at 2\d{{3}}-.* after 0:00:0[1-5]\n"
    assert re.fullmatch(back, capsys.readouterr().err)
    *_, before, none, after = values
    assert before[1] > 0
    assert math.isnan(none[1])
    assert after[1] > 0
    blind, seeing = summary.events
    assert (blind.frame, blind.event, blind.flags) == (12, "blind", ())  # the last one that was looked at
    assert len(meanwhile) == 1
    assert ",blind," in meanwhile[0]
    assert (seeing.frame, seeing.event) == (16, "seeing")
    assert blind.since_s == before[0] < seeing.since_s - 1.5


def test_a_stream_that_is_away_up_to_the_end_leaves_the_alarm_blind(
    clip, alarm_file, tmp_path, serving, send_live, monkeypatch
):
    monkeypatch.setattr("crowdcount.alarm.watching.BLIND_AFTER_S", 1.0)
    image = cv2.VideoCapture(str(clip[0])).read()[1]
    for end_s, n_events in ((4.0, 1), (1.0, 0)):
        with serving(send_live([image] * 20, interval_s=0.01)) as port:
            summary = watch(
                f"http://127.0.0.1:{port}/", alarm_file[0], str(tmp_path / "e.csv"), timeout_s=10,
                end=Position(time_s=end_s),
            )  # fmt: skip
        assert [event.event for event in summary.events] == ["blind"] * n_events


@pytest.fixture
def watched(alarm_file, tmp_path, monkeypatch):
    """watched(times_s, unjudged=(), opened=None, **options): what an alarm tells of frames at these times.

    None among them is a second without a frame; `unjudged` are times of frames that cannot be judged.
    """

    def told(times_s, unjudged=(), opened=None, **options):
        model = load_model(alarm_file[0], "alarm")
        features = np.zeros(len(model.columns))

        def frame(k, time_s):
            return MeasuredFrame(k, float(time_s), None if time_s in unjudged else features)

        frames = [None if time_s is None else frame(k, time_s) for k, time_s in enumerate(times_s)]
        measuring = Measuring(
            "stream", model.columns, lambda: iter(frames), 1.0, scene=model.scene, opened=opened
        )
        monkeypatch.setattr(
            "crowdcount.alarm.watching.open_measuring", lambda *source, **options: nullcontext(measuring)
        )
        summary = watch("rtsp://host/", alarm_file[0], str(tmp_path / "e.csv"), **options)
        return [(event.event, event.since_s, event.time_s) for event in summary.events]

    return told


@pytest.mark.parametrize(("end_s", "blind_s"), [(104.0, []), (107.0, [105.0]), (130.0, [105.0])])
def test_a_stream_that_breaks_off_when_sight_is_lost_is_blind_since_then(watched, end_s, blind_s):
    """From 95 s on no frame can be judged, and from 100 s on there is none."""
    options = {"margin": math.inf, "end": Position(time_s=end_s)}
    told = watched(range(101), range(95, 101), datetime.now(), **options)
    assert told == [("blind", 95.0, time_s) for time_s in blind_s]


def test_a_recording_that_is_over_before_the_given_end_leaves_no_alarm_blind(watched):
    assert watched(range(6), margin=math.inf, end=Position(time_s=60.0)) == []


def test_a_crowd_before_the_alarm_was_blind_counts_for_no_duration(watched):
    told = watched(range(16), range(1, 12), margin=-math.inf, raise_after_s=2.0, clear_after_s=math.inf)
    assert told == [("blind", 1.0, 11.0), ("seeing", 12.0, 12.0), ("raised", 12.0, 14.0)]


def test_a_stream_may_be_silent_before_the_first_frame(watched):
    assert watched([None, 2, 3], opened=datetime.now(), margin=math.inf) == []


def test_an_alarm_that_was_cleared_is_drawn_up_to_then(watched, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("crowdcount.alarm.watching.plot_alarm", lambda values, spans, *_: drawn.extend(spans))
    options = {"margin": -math.inf, "raise_after_s": 0.0, "clear_after_s": 3.0}  # both ways at any value
    watched(range(5), plot=tmp_path / "e.png", **options)
    assert drawn == [(0.0, 4.0)]
    drawn.clear()
    watched(range(6), plot=tmp_path / "e.png", **options)
    assert drawn == [(0.0, 4.0), (5.0, math.inf)]


@pytest.fixture
def changed_clip(clip, tmp_path):
    """changed_clip(change): the street with each image as `change(k, image)` makes it."""

    def make(change):
        video = cv2.VideoCapture(str(clip[0]))
        images = [video.read()[1] for _ in clip[1]]
        path = tmp_path / "changed.avi"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), CLIP_FPS, images[0].shape[1::-1])
        for k, image in enumerate(images):
            writer.write(change(k, image))
        writer.release()
        return str(path)

    return make


def test_an_alarm_knows_the_view_of_its_camera(changed_clip, alarm_file, tmp_path, turned_away):
    moved = changed_clip(lambda k, image: turned_away(image))
    options = {"margin": 0.0, "raise_after_s": 0.0, "clear_after_s": 0.0}
    summary = watch(moved, alarm_file[0], str(tmp_path / "e.csv"), **options)
    assert summary.flags["camera_moved"] == summary.undecided == summary.frames == 100
    assert [event.event for event in summary.events] == ["blind"]
    result = run("alarm", "run", moved, "-m", alarm_file[0], "-o", tmp_path / "e.csv")
    assert "100 frames could not be judged" in result.stderr
    assert "frames flagged: camera_moved 100" in result.stderr


def test_a_change_of_light_neither_raises_nor_clears_an_alarm(changed_clip, alarm_file, tmp_path):
    """The light is halved at frame 45, in a crowd, and the scene is learnt anew 4 seconds later."""
    dimmed, values = changed_clip(lambda k, image: image // 2 if k >= 45 else image), []
    options = {"margin": 0.0, "raise_after_s": 0.0, "clear_after_s": 0.0}
    summary = watch(dimmed, alarm_file[0], str(tmp_path / "e.csv"), values=values, **options)
    held = np.isnan([value for _, value in values])
    assert 30 <= held.sum() == summary.undecided == summary.flags["light_change"]
    assert not held[:45].any()
    assert not held[-5:].any()
    assert summary.events
    assert not held[[event.frame for event in summary.events]].any()


def test_learning_a_change_of_light_is_no_blindness_however_slow_the_camera_is(
    changed_clip, alarm_file, tmp_path
):
    """Of a picture every two seconds, eight of which are learnt from, it takes longer than 10 s."""
    dimmed = changed_clip(lambda k, image: image // 2 if k >= 45 else image)
    summary = watch(dimmed, alarm_file[0], str(tmp_path / "e.csv"), fps=0.5)
    assert summary.undecided > 5
    assert "blind" not in {event.event for event in summary.events}


def test_a_window_without_frames_is_refused_before_the_look_and_nothing_is_left(
    clip, alarm_file, tmp_path, monkeypatch
):
    monkeypatch.setattr(Overview, "__init__", lambda *_: pytest.fail("looked at the footage"))
    with pytest.raises(VideoError, match="must lie behind the start"):
        watch(str(clip[0]), alarm_file[0], str(tmp_path / "e.csv"), start=Position(9), end=Position(5))
    assert list(tmp_path.iterdir()) == []


def test_two_results_of_one_name_are_refused(clip, alarm_file, tmp_path):
    with pytest.raises(OutputError, match="used otherwise"):
        run_alarm(
            str(clip[0]), alarm_file[0], output=str(tmp_path / "a.csv"), plot=tmp_path / "a.csv",
            watcher=Terminal(quiet=True),
        )  # fmt: skip
