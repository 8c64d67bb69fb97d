"""Numbering, on stamps that OpenCV's writer cannot make."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdcount.video.numbering import numbered, numbered_live


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


def test_a_recording_that_pauses_for_hours_at_a_damaged_frame_loses_that_one():
    """A day of frames that were never recorded was numbered, as the power cut had damaged the last packet."""
    stamps = [*np.arange(50) / 10, None, *(86400 + np.arange(50) / 10)]
    frames = number(stamps, 0.1)
    assert [decoded for _, _, decoded in frames] == [True] * 50 + [False] + [True] * 50
    assert frames[-1][1] == pytest.approx(86404.9)


def test_frames_are_dropped_up_to_the_next_key_frame():
    frames = number([0.0, 0.1, None, 20.2, 20.3], 0.1)
    assert [decoded for _, _, decoded in frames] == [True] * 2 + [False] * 200 + [True] * 2
    slow = number([*range(10), None, 60, 61], 1.0)  # 250 frames between key frames are minutes
    assert [decoded for _, _, decoded in slow] == [True] * 10 + [False] * 50 + [True] * 2


def test_failure_without_gap_is_no_frame():
    assert [decoded for _, _, decoded in number([0.0, None, 0.04, 0.08])] == [True] * 3
    assert [decoded for _, _, decoded in number([0.0, 0.04, 5.0, 5.04, None, 5.08])] == [True] * 5


def test_a_failure_that_no_gap_followed_is_none_of_a_later_gap():
    steady = 5.08 + np.arange(40) * 0.04  # longer than a decoder reports a failure early
    frames = number([0.0, 0.04, 5.0, 5.04, None, *steady, None, 20.0, 20.04])
    assert [decoded for _, _, decoded in frames] == [True] * 44 + [False] + [True] * 2


def test_how_near_frames_come_tells_the_loss_where_they_come_faster_than_announced():
    frames = number([0.0, 0.02, 0.04, 0.06, None, 0.1, 0.12])
    assert [decoded for _, _, decoded in frames] == [True] * 4 + [False] + [True] * 2


def test_failures_at_the_start_have_numbers():
    frames = number([None, None, 0.08, 0.12])
    assert [(index, decoded) for index, _, decoded in frames] == [
        *((0, False), (1, False), (2, True), (3, True))
    ]
    assert [time_s for _, time_s, _ in frames] == pytest.approx([0, 0.04, 0.08, 0.12])


def test_failures_at_the_end_are_the_end():
    assert len(number([0.0, 0.04, None, None, None])) == 2


def times(stamps, **options):
    return [time_s for _, time_s, _ in number(stamps, **options)]


def test_a_stamp_that_comes_twice_delays_the_next_ones_only():
    """As of cameras whose frames are stamped when they arrive."""
    even = np.arange(10) * 0.04
    assert times([*even[:4], even[3], *even[4:], 5.0]) == pytest.approx(
        [*even[:4], 0.16, 0.18, *even[5:], 5.0]
    )
    assert times([0.0, 0.0, 0.0, 0.12, 0.12, 0.12, 0.24]) == pytest.approx(np.arange(7) * 0.04)


def test_frames_that_a_decoder_mixed_up():
    """Behind a damaged key frame; a pause later is as long as it was."""
    stamps = [0.0, 0.04, 0.28, 0.08, 0.32, 0.12, 0.36, 0.16, 0.4, 0.44, 0.48, 0.52, 60.0]
    found = times(stamps)
    assert found[:4] == pytest.approx([0.0, 0.04, 0.28, 0.32])
    assert found[-2:] == pytest.approx([0.52, 60.0])


@pytest.mark.parametrize("odd", [0.0, -3.0, 1.9])
@pytest.mark.parametrize("n_odd", [1, 3])
def test_odd_stamps_do_not_end_the_use_of_the_others(odd, n_odd):
    even = 2 + np.arange(20) * 0.04
    found = times([*even[:10], *[odd] * n_odd, *even[10 + n_odd :], 30.0], origin_s=2.0)
    assert found[:10] == pytest.approx(even[:10] - 2)
    assert found[15:] == pytest.approx([*even[15:] - 2, 28.0])


def test_recordings_that_were_put_together_follow_each_other():
    one = [*np.arange(50) * 0.04, 10.0, 10.04]
    found = times([*one, *one, *one])
    length_s = 10.08
    assert found == pytest.approx(np.concatenate([np.add(one, k * length_s) for k in range(3)]))


def test_a_pause_in_the_second_of_two_recordings_is_as_long_as_it_was():
    first, second = np.arange(50) * 0.04, [*np.arange(40) * 0.04, 60.0]
    assert times([*first, *second])[-2:] == pytest.approx([2.0 + 1.56, 2.0 + 60.0])


def test_without_usable_stamps_frames_are_an_interval_apart():
    assert times([0.0] * 100) == pytest.approx(np.arange(100) * 0.04)
    assert times(np.arange(100) * -0.04) == pytest.approx(np.arange(100) * 0.04)


def test_a_frame_that_is_lost_among_odd_stamps():
    frames = number([0.0, 0.04, 0.08, 0.0, None, 0.0, 0.04])
    assert [decoded for _, _, decoded in frames] == [True] * 4 + [False] + [True] * 2
    assert frames[-2][1] == pytest.approx(0.2)


@given(
    st.lists(st.floats(-2, 20), min_size=1, max_size=60),
    st.sampled_from([0.02, 0.04, 1.0]),
)
def test_times_increase_whatever_the_stamps(stamps, interval_s):
    frames = number(stamps, interval_s)
    assert [index for index, _, _ in frames] == list(range(len(frames)))
    assert all(earlier[1] < later[1] for earlier, later in itertools.pairwise(frames))


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


def test_of_a_live_source_each_failed_grab_is_one_lost_frame():
    frames = list(numbered_live([0.1, None, None, 0.3, 0.4, None]))
    assert frames == [(0, 0.1, True), (1, 0.3, False), (2, 0.3, False), (3, 0.3, True), (4, 0.4, True)]
