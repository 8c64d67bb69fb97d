"""Video files."""

import heapq
import itertools
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

import cv2
import numpy as np

from ..errors import NoFrameError, VideoError
from ..storage import input_errors
from .capture import Capture
from .interlaced import INTERLACED, InterlacedVideo, interlaced_error, is_av_there, picture_changes
from .numbering import REORDER, SHORTEST_S, first_stamp, numbered
from .positions import BEHIND_KEY, Landmark, Position
from .source import (
    DEFAULT_FPS,
    Frame,
    Reduce,
    Slot,
    SourceInfo,
    VideoSource,
    as_it_is,
    first_reached,
    no_image,
    size_wh,
    spread,
)

_FAILURES_AT_END = 10_000  # failed grabs in a row that end a file: 0.1 s of an MP4
_FAILURES_AT_ANNOUNCED_END = 1_000  # the same when it had as many frames as it announces
_SOUGHT_BEFORE_S = (1, 10, 100)  # how long before a frame a seek aims, one after the other
_FAILURES_TO_AN_IMAGE = 1_000  # failed grabs in a row on the way to a single frame
_BEFORE_SEEK = 32  # frames before the wanted one at which a seek aims: 1 s, and 16 of OpenCV's
_NEAR = 250  # a start within this many frames is reached by decoding up to it
_FAILED_SEEKS = 1 / 16  # share of seeks into a gap of the time stamps to give up at
_SPACED = 64  # frames whose time stamps tell the rate of a file
_LEAST_STEPS = 1.5  # times the announced interval, or a part of it, from which on it is not the frames'
#: No footage has such a name; tables of ready-made features do.
FEATURE_SUFFIXES = frozenset({".mat", ".npz"})
_MATROSKA = b"\x1aE\xdf\xa3"  # the first bytes of such a file
_ALIKE = 250  # first frames that are looked at for as long as they are identical


class NotOneToOneError(Exception):
    """A file's packets do not tell which frames it has."""


class FileSource(VideoSource):
    """A file that OpenCV's FFmpeg decodes, or PyAV's; every pass opens it anew."""

    def __init__(self, name: str, fps: float | None, tick: Callable[[], None] | None) -> None:
        super().__init__(name)
        self._tick = tick
        self._path = os.path.join(".", name)  # in 08:00.mp4 FFmpeg sees the protocol 08
        self._given_fps = fps
        for self._reader in (None, InterlacedVideo):  # OpenCV's, where that can read it
            with self._video() as capture:
                failures, stamp_s, image = self._first_frame(capture)
                if image is None:
                    continue  # PyAV knows AV1 too
                own_fps, count = capture.fps(), capture.frame_count()
                if count and self._states_its_end():
                    count = max(1, count - capture.frames_before())
                with self._packets() as packets:
                    is_stuck = self._reader is None and _is_stuck(capture, image, packets)
                    announced_fps, spacing_s = capture.get(cv2.CAP_PROP_FPS), _spacing_s(packets)
            if not is_stuck or not self._is_interlaced():
                break
        if own_fps is None and (count or 0) > 1 and self._is_one_packet():  # a picture, as long as the sound
            raise VideoError(f"{name} holds sound and its cover's picture, no video; give a video")
        if announced_fps * spacing_s < 1 / _LEAST_STEPS:  # packets may be the fields of frames
            with self._video() as decoded:
                spacing_s = _spacing_s(decoded)
        steps = announced_fps * spacing_s
        self._length_s = count / announced_fps if count and announced_fps > 0 else None
        if steps > _LEAST_STEPS:  # the recorder left frames out: neither rate nor length are the frames'
            count = count and round(count / steps)
        if not 1 / _LEAST_STEPS < steps < _LEAST_STEPS and spacing_s > SHORTEST_S:
            own_fps = 1 / spacing_s  # where it paused, the announced rate is the mean
        self._interval_s = 1 / (own_fps or DEFAULT_FPS)
        self._origin_s = stamp_s - failures * self._interval_s
        self.info = SourceInfo(name, "file", size_wh(image), fps or own_fps, count)

    def sample(self, n: int, reduce: Reduce = as_it_is) -> list[Frame]:
        self._check_open()
        expected, length_s = self._expected_length()
        if 2 * _decoded_by_seeking(n, expected, self._packets) < expected:
            frames = self._sample_by_seeking(n, length_s, reduce)
            if frames:
                return frames
        frames, count = self._sample_in_order(n, expected, reduce)
        if expected < 0.9 * count or (n - 1) * expected // n >= count:
            frames, _ = self._sample_in_order(n, count, reduce)
        return frames

    def _first_frame(self, capture: Capture) -> tuple[int, float | None, np.ndarray | None]:
        """Failed grabs before the first frame that decodes, its stamp (s) and its image.

        None for an image that another reader may decode; VideoError where none does.
        """
        codec = capture.codec()
        if not capture.is_open() or codec == b"ansi":  # FFmpeg draws a text file as a terminal would
            raise VideoError(
                f"{self._name} cannot be read as a video: it is cut off, damaged or no video; "
                "copy it again, or convert it with ffmpeg"
            )
        failures, stamp_s = first_stamp(_stamps(capture))
        image = None if stamp_s is None else capture.image()
        if image is None and (self._reader is not None or not is_av_there()):
            other = "" if is_av_there() else ", install PyAV (pip install av)"
            raise VideoError(
                f"{self._name} has no frame that decodes (codec {codec.decode('latin-1')!r}): "
                f"convert it with ffmpeg{other}, or copy it again if it is damaged"
            )
        return failures, stamp_s, image

    def _is_one_packet(self) -> bool:
        with self._packets() as packets:
            return packets.grab() and not packets.grab()

    def _states_its_end(self) -> bool:
        """Whether the stated length is the time at the end, as in Matroska: recorders that go on to another
        file may let the clock go on."""
        with open(self._path, "rb") as file:
            return file.read(len(_MATROSKA)) == _MATROSKA

    def _expected_length(self) -> tuple[int, float]:
        """About how many frames there are, and seconds: as stated, or by the packets, as where a recorder was
        cut off."""
        if self.info.frame_count is not None and self._length_s is not None:
            return self.info.frame_count, self._length_s
        with self._packets() as packets:
            count = sum(1 for _ in iter(packets.grab, False))
        return count, count * self._interval_s

    def _sample_by_seeking(self, n: int, duration_s: float, reduce: Reduce) -> list[Frame]:
        """Seek to n times; fewer frames, or none, when the duration is wrong or the file does not seek."""
        frames, n_failed = [], 0
        reach_s = duration_s / n / 2
        with self._video() as capture, self._packets() as packets:
            for k in range(n):
                if k - len(frames) >= n - n // 2 or n_failed > n * _FAILED_SEEKS:
                    return []  # everything will be decoded
                wanted_s = k / n * duration_s
                aim_s = _behind_key_s(packets, wanted_s, reach_s - self._interval_s)
                if aim_s is None and n_failed:  # it would decode all up to the end again, in vain
                    n_failed += 1
                    continue
                capture.go_to(wanted_s if aim_s is None else aim_s)
                if not capture.grab():
                    n_failed += 1
                    continue
                image = capture.image()
                found_s = capture.stamp_s() - self._origin_s
                if image is not None and abs(found_s - wanted_s) < reach_s:
                    index = round(found_s / self._interval_s)
                    frames.append(self._frame(index, self._time(index, found_s), image, reduce))
        return frames

    def _sample_in_order(self, n: int, count: int, reduce: Reduce) -> tuple[list[Frame], int]:
        """Decode everything, keeping n frames of the first `count`; these, and how many there are."""
        wanted = deque(spread(n, count))
        frames, index = [], -1
        with closing(self._slots(None)) as slots:
            for index, time_s, read in slots:
                if wanted and wanted[0] <= index and (image := read()) is not None:
                    frames.append(self._frame(index, time_s, image, reduce))
                    while wanted and wanted[0] <= index:
                        wanted.popleft()
        return frames, index + 1

    def indices_at(self, times_s: Sequence[float]) -> list[int]:
        self._check_open()
        with suppress(NotOneToOneError), self._packets() as packets:
            stamps = enumerate(stamp_s for stamp_s, _ in self._packets_in_order(packets))
            timed = ((index, self._time(index, stamp_s - self._origin_s)) for index, stamp_s in stamps)
            found = first_reached(times_s, timed)
            if len(found) == len(times_s):
                return found
        return super().indices_at(times_s)  # the packets do not tell, or not of the last frames

    def landmarks(self, indices: Sequence[int]) -> list[Landmark] | None:
        self._check_open()
        found: list[Landmark] = []
        wanted = iter(indices)
        index = next(wanted, None)
        keys = deque([0])  # the frames from which a seek may decode
        try:
            with self._packets() as packets:
                for number, (stamp_s, is_key) in enumerate(self._packets_in_order(packets)):
                    if is_key:
                        keys.append(number)
                    while len(keys) > 1 and keys[1] <= number - _BEFORE_SEEK:
                        keys.popleft()
                    if number == index:  # and on to the end: times that come again there mislead seeks
                        found.append(Landmark(number, stamp_s, keys[0]))
                        index = next(wanted, None)
        except NotOneToOneError:
            return None
        return found

    def _picked(self, indices: Sequence[int], start: Position | Landmark) -> Iterator[Frame]:
        marks = self.landmarks(indices)
        if not marks or 2 * _decoded_for(marks) >= marks[-1].frame - marks[0].frame:
            yield from super()._picked(indices, start)
            return
        for mark, image in zip(marks, self.images(marks), strict=True):
            yield self._frame(mark.frame, self._time(mark.frame, mark.stamp_s - self._origin_s), image)
        if len(marks) < len(indices):  # the last frames are no landmarks
            yield from super()._picked(indices[len(marks) :], marks[-1])

    def reached(self, marks: Iterable[Landmark]) -> list[Landmark]:
        self._check_open()
        with self._video() as capture:
            return [mark for mark, is_reached in _visited(capture, marks, 0) if is_reached]

    def images(self, marks: Iterable[Landmark]) -> Iterator[np.ndarray | None]:
        self._check_open()
        with self._video() as capture:
            for mark, is_reached in _visited(capture, marks, _FAILURES_TO_AN_IMAGE):
                if is_reached:
                    yield self._frame(mark.frame, mark.stamp_s, capture.image()).image_bgr
                else:
                    yield self._image_in_order(mark)

    def _image_in_order(self, mark: Landmark) -> np.ndarray | None:
        """The image of a landmark that no seek led to: all before it is decoded, unless seeks lead to frames
        before it, so that it is damaged itself."""
        if not self._seeks_before(mark.stamp_s):
            with suppress(NoFrameError):  # no frame from there on decodes
                return next(super().images([mark]))
        return None

    def _seeks_before(self, stamp_s: float) -> bool:
        """Whether a seek to well before a stamp (s) leads there; in some transport streams it does not."""
        with self._video() as capture:
            capture.go_to(max(stamp_s - _SOUGHT_BEFORE_S[-1], 0))
            grabs = (capture.grab() for _ in range(_FAILURES_TO_AN_IMAGE))
            return any(grabs) and capture.stamp_s() < stamp_s

    def _slots(self, start: Position | Landmark | None) -> Iterator[Slot]:
        found = self._find(start) if isinstance(start, Position) else start
        if found is not None:
            with self._video() as capture:
                if _seek(capture, found.stamp_s):
                    stamps = itertools.chain([found.stamp_s], _stamps(capture))
                    yield from self._read(capture, stamps, found.frame)
                    return
        with self._video() as capture:
            yield from self._read(capture, _stamps(capture), 0)

    def _read(self, capture: Capture, stamps: Iterable[float | None], first_index: int) -> Iterator[Slot]:
        for index, time_s, decoded in numbered(stamps, self._interval_s, self._origin_s, first_index):
            self._check_open()
            yield index, self._time(index, time_s), capture.image if decoded else no_image
        self._check_open()

    def _time(self, index: int, time_s: float) -> float:
        return time_s if self._given_fps is None else index / self._given_fps

    def _find(self, start: Position) -> Landmark | None:
        """The frame at ``start``, from the packets alone: some 3 µs per frame.

        None when these do not tell, a seek leads elsewhere, or the start is near: decoding up to it is exact.
        """
        if start.time_s is not None and self._given_fps is not None:
            start = Position(frame=int(start.time_s * self._given_fps))  # or one more
        if start.reached(_NEAR, _NEAR * self._interval_s):
            return None
        with suppress(NotOneToOneError), self._packets() as packets:
            for index, (stamp_s, _) in enumerate(self._packets_in_order(packets)):
                if start.reached(index, stamp_s - self._origin_s):
                    return Landmark(index, stamp_s, key=0) if self._leads_to(packets, stamp_s) else None
        return None

    def _leads_to(self, packets: Capture, stamp_s: float) -> bool:
        """Whether a seek to a stamp (s) leads to the packet that was read last, not to another of its time.

        Where recordings were put together as they are, times come again, and a seek ends in any of them.
        """
        last_s, last = packets.stamp_s(), packets.image()
        with self._packets() as sought:
            sought.go_to(max(stamp_s - 1, 0))
            while sought.grab():
                if sought.stamp_s() == last_s:
                    return np.array_equal(sought.image(), last)
        return False

    def _packets_in_order(self, packets: Capture) -> Iterator[tuple[float, bool]]:
        """Time stamp (s) of each frame in order, and whether it is a key frame, from the packets, but for the
        last `REORDER` ones. ``packets`` is read as far as that needs.

        NotOneToOneError unless the packets prove to be the frames one to one: all read without failure,
        their stamps distinct, the first ones equal to those of the frames as decoded.
        """
        with self._video() as capture:
            decoded = list(itertools.islice(_stamps(capture), REORDER))
        waiting: list[tuple[float, bool]] = []
        last_s, n_passed = -math.inf, 0
        while packets.grab():
            heapq.heappush(waiting, (packets.stamp_s(), packets.is_key()))
            if len(waiting) <= REORDER:
                continue
            stamp_s, is_key = heapq.heappop(waiting)
            if stamp_s - last_s < SHORTEST_S or (n_passed < REORDER and stamp_s != decoded[n_passed]):
                raise NotOneToOneError
            yield stamp_s, is_key
            last_s = stamp_s
            n_passed += 1

    def _is_interlaced(self) -> bool:
        """Whether it is as PyAV decodes it; VideoError where that is not there."""
        if not is_av_there():
            raise interlaced_error(self._name, "deinterlace it (ffmpeg -i VIDEO -vf yadif NEW.mp4)")
        with self._opened(InterlacedVideo) as video:
            return any(video.grab() and video.get(INTERLACED) for _ in range(_ALIKE))

    def _video(self) -> AbstractContextManager[Capture]:
        return self._opened(self._reader)

    def _packets(self) -> AbstractContextManager[Capture]:
        """The file as packets that are not decoded: grab() goes to the next one, image() is its bytes."""
        return self._opened(self._reader, [cv2.CAP_PROP_FORMAT, -1])

    @contextmanager
    def _opened(self, reader: Callable | None, *parameters: Sequence[int]) -> Iterator[Capture]:
        capture = Capture(self._path, cv2.CAP_FFMPEG, *parameters, reader=reader, tick=self._tick)
        self._captures.add(capture)
        try:
            yield capture
        finally:
            self._captures.discard(capture)
            capture.release()


def _stamps(capture: Capture) -> Iterator[float | None]:
    """Advance a file frame by frame: its time stamp in seconds, or None where a grab failed."""
    announced = capture.frame_count() or math.inf
    n_grabs = failures = 0
    while failures < (_FAILURES_AT_END if n_grabs < announced else _FAILURES_AT_ANNOUNCED_END):
        n_grabs += 1
        if capture.grab():
            failures = 0
            yield capture.stamp_s()
        else:
            failures += 1
            yield None


def _visited(
    capture: Capture, marks: Iterable[Landmark], most_failures: int
) -> Iterator[tuple[Landmark, bool]]:
    """Go to landmarks in increasing order; each, and whether it was met and is ready to be retrieved.

    Frames between two of them that a seek to the later one would decode anew are decoded once.
    """
    here = -1  # number of the frame that was decoded last
    for mark in marks:
        is_met = here >= mark.key and _advance(capture, mark.stamp_s, most_failures)
        is_met = is_met or _seek(capture, mark.stamp_s, most_failures)
        here = mark.frame if is_met else -1
        yield mark, is_met


def _seek(capture: Capture, stamp_s: float, most_failures: int = 0) -> bool:
    """Go to the frame with exactly this stamp, ready to be retrieved; False if it is not met.

    Who reads on behind it, and numbers the frames, takes no failed grab on the way: it may announce a gap
    behind the frame, see `numbering`.
    """
    for earlier_s in _SOUGHT_BEFORE_S:
        capture.go_to(max(stamp_s - earlier_s, 0))
        if _advance(capture, stamp_s, most_failures):
            return True
    return False


def _advance(capture: Capture, stamp_s: float, most_failures: int) -> bool:
    """Grab up to the frame with exactly this stamp, ready to be retrieved; False if it is not met, or after
    more failed grabs in a row."""
    here_s, failures = -math.inf, 0
    while here_s < stamp_s and failures <= most_failures:
        if capture.grab():
            here_s, failures = capture.stamp_s(), 0
        else:
            failures += 1
    return here_s == stamp_s


def _decoded_for(marks: Sequence[Landmark]) -> int:
    """About how many frames are decoded for the images of some landmarks behind the first."""
    return sum(mark.decoded_after(before.frame) for before, mark in itertools.pairwise(marks))


def _decoded_by_seeking(
    n: int, count: int, open_packets: Callable[[], AbstractContextManager[Capture]]
) -> float:
    """About how many frames are decoded to sample n of a file's `count` by seeking; inf without a second key
    frame, and where, wherever those are, it would be all."""
    if n * BEHIND_KEY >= count:
        return math.inf
    with open_packets() as packets:
        spacing = _key_spacing(packets)
    with_key = min(1.0, count / n / spacing)  # share of the seeks that have a key frame within reach
    return n * (with_key * BEHIND_KEY + (1 - with_key) * (BEHIND_KEY + spacing / 2))


def _key_spacing(packets: Capture) -> float:
    """How many frames the second key frame comes after the first; inf where there is none."""
    keys, number = [], 0
    while len(keys) < 2 and packets.grab():
        if packets.is_key():
            keys.append(number)
        number += 1
    return keys[1] - keys[0] if len(keys) == 2 else math.inf


def _behind_key_s(packets: Capture, wanted_s: float, reach_s: float) -> float | None:
    """A time, less than `reach_s` from a wanted one, to which a seek decodes little, as it is just behind a
    key frame; the wanted one where there is none, and None where no packet is so near, as in a gap of the
    time stamps."""
    behind_s = BEHIND_KEY / (packets.fps() or DEFAULT_FPS)
    is_near = False
    for from_s in (wanted_s, max(0, wanted_s - reach_s)):
        packets.go_to(from_s)
        while packets.grab():
            is_near = is_near or abs(packets.stamp_s() - wanted_s) < reach_s
            if (there_s := packets.stamp_s() + behind_s) >= wanted_s + reach_s:
                break
            if packets.is_key() and there_s > wanted_s - reach_s:
                return there_s
    return wanted_s if is_near else None


def _spacing_s(capture: Capture) -> float:
    """Time in seconds between the next frames; 0.0 where there are not two.

    The median, as a recording may have paused; but the mean where frames come in bursts, stamped on arrival.
    """
    steps_s = np.sort(np.diff(sorted(capture.stamp_s() for _ in range(_SPACED) if capture.grab())))
    if not len(steps_s):
        return 0.0
    usual_s = np.median(steps_s)
    comes_in_bursts = steps_s[: math.ceil(0.9 * len(steps_s))].mean() > 2 * usual_s
    return float(steps_s.mean() if comes_in_bursts else usual_s)


def _is_stuck(capture: Capture, image: np.ndarray, packets: Capture) -> bool:
    """Whether the first frames come out all alike although their packets say that the picture changes.

    ``image`` is the first one; the rest is read from ``capture`` up to the first that differs, mostly the
    second.
    """
    alike = 1
    while alike < _ALIKE and capture.grab():
        if not np.array_equal(capture.image(), image):
            return False
        alike += 1
    return picture_changes(packets, (packets.grab() for _ in range(alike)), size_wh(image))


def check_file(path: Path) -> None:
    """What can be said of a file before FFmpeg is asked."""
    if not path.is_file():
        raise VideoError(f"{path} is neither a file nor a folder; a camera is given by its number")
    with input_errors(path, VideoError), path.open("rb") as file:
        empty = not file.read(1)
    if empty:
        raise VideoError(f"{path} is empty (0 bytes); record or copy it again")
    if path.suffix.lower() in FEATURE_SUFFIXES:
        raise VideoError(f"{path} holds ready-made features or other numbers, no pictures; give these")
