"""Numbering, on stamps that OpenCV's writer cannot make."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdcount.video.numbering import numbered


def number(stamps, interval_s=0.04, origin_s=0.0):
    return list(numbered(stamps, interval_s, origin_s, 0))


def test_pause_of_a_recording_is_no_loss():
    frames = number([0.0, 0.04, 0.08, 5.0, 5.04])
    assert frames == [(0, 0.0, True), (1, 0.04, True), (2, 0.08, True), (3, 5.0, True), (4, 5.04, True)]


def test_failure_before_the_gap_and_frames_dropped_silently():
    stamps = [0.0, None, 0.04, 0.08, 0.2, 0.24]
    assert [(index, decoded) for index, _, decoded in number(stamps)] == [
        *((0, True), (1, True), (2, True), (3, False), (4, False), (5, True), (6, True))
    ]
    assert [time_s for _, time_s, _ in number(stamps)] == pytest.approx(np.arange(7) * 0.04)


def test_after_a_pause_only_failures_count_as_lost():
    frames = number([0.0, 0.04, 5.0, 5.04, None, 10.0, 10.04])
    assert [decoded for _, _, decoded in frames] == [True, True, True, True, False, True, True]
    assert frames[-1][0] == 6
    frames = number([0.0, 0.04, 5.0, 5.04, None, 5.12, 5.16, 5.24, 5.28])
    assert [decoded for _, _, decoded in frames] == [True] * 4 + [False] + [True] * 4
    frames = number([0.0, 0.04, 5.0, 5.04, None, None, 5.12, 5.2])
    assert [decoded for _, _, decoded in frames] == [True] * 4 + [False, True] * 2


def test_failure_without_gap_is_no_frame():
    assert [decoded for _, _, decoded in number([0.0, None, 0.04, 0.08])] == [True] * 3
    assert [decoded for _, _, decoded in number([0.0, 0.04, 5.0, 5.04, None, 5.08])] == [True] * 5


def test_failures_at_the_start_have_numbers():
    frames = number([None, None, 0.08, 0.12])
    assert [(index, decoded) for index, _, decoded in frames] == [
        *((0, False), (1, False), (2, True), (3, True))
    ]
    assert [time_s for _, time_s, _ in frames] == pytest.approx([0, 0.04, 0.08, 0.12])


def test_failures_at_the_end_are_the_end():
    assert len(number([0.0, 0.04, None, None, None])) == 2


@pytest.mark.parametrize("bad", [0.0, 0.04, -3.0, math.nan])
def test_stamps_that_do_not_increase_are_given_up(bad):
    frames = number([0.0, 0.04, 0.08, bad, None, 0.5, 0.1])
    assert [decoded for _, _, decoded in frames] == [True] * 4 + [False] + [True] * 2
    assert [time_s for _, time_s, _ in frames] == pytest.approx(np.arange(7) * 0.04)


@given(
    st.lists(st.one_of(st.none(), st.floats(0.001, 10)), max_size=30),
    st.sampled_from([0.02, 0.04, 1.0]),
)
def test_numbers_are_gapless_and_times_increase(steps, interval_s):
    stamps, now = [], 0.0
    for step in [0.0, *steps]:
        now += step or 0.0
        stamps.append(None if step is None else now)
    frames = number(stamps, interval_s)
    assert [index for index, _, _ in frames] == list(range(len(frames)))
    assert all(earlier[1] < later[1] for earlier, later in itertools.pairwise(frames))
    assert sum(decoded for _, _, decoded in frames) == sum(stamp is not None for stamp in stamps)
