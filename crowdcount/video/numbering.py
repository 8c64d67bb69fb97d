"""Which number and time each frame of a container or live source has.

A packet that does not decode makes one ``grab()`` return False, and the next call goes on behind it; at
the end of a file every call returns False. So a pass ends only after many failures in a row, and failures
behind the last good frame cannot be told from the end: a source ends with its last frame that decodes.

Decoders that reorder frames report the failure up to some frames before the gap appears, so a lost frame is
placed by the gap in the container's time stamps. A gap without a failed grab is a pause of the recording, not
a loss.
"""

import math
from collections.abc import Iterable, Iterator

from .capture import HIGHEST_FPS

REORDER = 32  # frames by which a decoder may report a failure early, or a packet may be out of order
SHORTEST_S = 0.9 / HIGHEST_FPS  # time stamps closer than this are not those of a camera
#: Frames are dropped with a lost one until the next key frame, of which recorders make one every 20 s at the
#: least, encoders one of 250. Where more is missing, the recording paused, as after the power cut that
#: damaged the packet.
_LONGEST_LOSS_S, _LONGEST_LOSS = 30.0, 300
#: Stamps go back by so many intervals at the most where a decoder mixes up the order of frames behind a
#: damaged one, as H.264 holds no more of them; by more, where recordings were put together.
_MOST_MIXED_UP = 16


def numbered(
    stamps: Iterable[float | None], interval_s: float, origin_s: float, index: int
) -> Iterator[tuple[int, float, bool]]:
    """Give every frame of a container its index and its time in seconds, and say whether it decoded.

    ``stamps`` holds the time stamp (s) of each frame that decoded and None for each failed grab,
    ``interval_s`` is the announced time between frames, ``origin_s`` the stamp of time 0, ``index`` the
    number of the first frame.

    While all steps between stamps are one interval (but for gaps at failures), every interval missing near a
    failure is a lost frame: a decoder also drops, silently, frames that depended on the lost one, up to
    `_LONGEST_LOSS_S` or `_LONGEST_LOSS` of them. Where more are missing, or once the rate has varied, an
    interval may be missing because nothing was recorded, and no more frames are taken for lost than grabs
    failed. Lost frames are spread evenly over their gap.

    Where a stamp is not `SHORTEST_S` behind the time before, one frame is lost per failed grab, and times go
    on by an interval per frame, or by half of one where stamps do too, until these are met: frames came in a
    burst, or were mixed up. Stamps that are far behind begin anew, one interval on, unless the next ones show
    that a single one was wrong.
    """
    regular = True
    longest_loss_s = max(_LONGEST_LOSS_S, _LONGEST_LOSS * interval_s)
    failed = 0  # failures for which no lost frame was found yet
    since_failure = REORDER
    shortest_s = math.inf
    before_s = time_s = None
    former_s, n_doubtful = origin_s, 0  # the origin before stamps began anew, for so many more frames
    for stamp_s in stamps:
        if stamp_s is None:
            failed += 1
            since_failure = 0
            continue
        since_failure += 1
        if n_doubtful:
            n_doubtful -= 1
            if time_s + SHORTEST_S <= stamp_s - former_s:
                origin_s, n_doubtful = former_s, 0
        now_s = stamp_s - origin_s
        if time_s is None:
            lost = failed
            time_s = now_s - (lost + 1) * interval_s
        elif now_s - time_s >= SHORTEST_S:
            step_s = now_s - time_s
            intervals = step_s / interval_s
            lost = 0
            if since_failure > REORDER:
                failed = 0
            elif regular and step_s < (failed + 1) * interval_s + longest_loss_s:
                lost = max(round(intervals) - 1, 0)
            else:
                lost = min(failed, max(round(step_s / shortest_s) - 1, 0))
            regular = regular and abs(intervals - (lost + 1)) < 0.3
            shortest_s = min(shortest_s, step_s / (lost + 1))
        else:
            regular = False
            lost = failed
            goes_back = time_s - now_s > _MOST_MIXED_UP * interval_s
            follows = stamp_s - before_s > interval_s / 2 and not goes_back
            now_s = time_s + (lost + 1) * (interval_s / 2 if follows else interval_s)
            if goes_back:
                former_s, n_doubtful = origin_s, REORDER
                origin_s = stamp_s - now_s
        for k in range(1, lost + 1):
            yield index, time_s + (now_s - time_s) * k / (lost + 1), False
            index += 1
        yield index, now_s, True
        index += 1
        failed = max(failed - lost, 0)
        before_s, time_s = stamp_s, now_s


def numbered_live(arrivals: Iterable[float | None]) -> Iterator[tuple[int, float, bool]]:
    """As `numbered`, of frames timed by the clock: a failed grab is a lost frame, timed as the next one."""
    failed = index = 0
    for time_s in arrivals:
        if time_s is None:
            failed += 1
            continue
        for _ in range(failed):
            yield index, time_s, False
            index += 1
        yield index, time_s, True
        index += 1
        failed = 0


def first_stamp(stamps: Iterator[float | None]) -> tuple[int, float | None]:
    """Failed grabs before the first frame that decodes, and its stamp (None: there is none)."""
    failures = 0
    for stamp_s in stamps:
        if stamp_s is not None:
            return failures, stamp_s
        failures += 1
    return failures, None
