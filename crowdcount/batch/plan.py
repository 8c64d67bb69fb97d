"""Which videos an archive holds, and for each its camera, model, scene and start time."""

import io
import json
import os
import re
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatch
from pathlib import Path
from textwrap import shorten
from typing import Self
from zoneinfo import ZoneInfo

from ..errors import BatchError
from ..storage import is_utf8, natural, read_bytes, refuse_locked
from .catalogue import folder_name, is_result

_SUFFIXES = (
    "264 265 3g2 3gp asf avi dav flv h264 h265 hevc m2t m2ts m4v mjpeg mjpg mkv mov mp4 mpeg mpg mts ts vob "
    "webm wmv"
)
#: A file that is named like this is a video; anything else that is given by its name is a list of videos.
VIDEO_SUFFIXES = frozenset(f".{name}" for name in _SUFFIXES.split())
_MOST_LISTED = 64 << 20  # bytes of a list: a million videos
_CODES = {"Y": "[0-9]{4}"} | dict.fromkeys("mdHMS", "[0-9]{2}")
_TOKEN = re.compile(r"(\{camera\}|%.|\*|\?|\{|\})")
#: A recorder's milliseconds may follow, and are left out. Four digits alone may be no time but a counter,
#: from 0001 on, or, before an x, a picture's width.
_TIMES_IN_NAME = re.compile(
    r"(?<![0-9])(?=((?:19|20)[0-9]{2})[-_.]?([0-9]{2})[-_.]?([0-9]{2})[-_ .T]{0,3}"
    r"(?:([0-9]{2})[-_.:h]?([0-9]{2})[-_.:m]?([0-9]{2})(?:[0-9]{3})?(?![0-9])"
    r"|(?P<counter>(?<![0-9])00(?!00)[0-9]{2})(?![0-9A-Za-z])|([0-9]{2})[-.:h]?([0-9]{2})(?![0-9A-Za-z])))"
)
#: What may be day and month of the year behind it, unless a date follows that is set off as 2024-05-01_08.
_DAY_FIRST = re.compile(
    r"(?<![0-9])[0-3]?[0-9]([-_. ])[0-3]?[0-9]\1(?=[0-9]{4}[^0-9])"
    r"(?![0-9]{4}([-_.])[0-9]{2}\2[0-9]{2}(?!\2)[^0-9])"
)
_LONGEST = timedelta(days=1)  # from the start time in a name to the end in it
_DATE_FOLDER = re.compile(r"[0-9_.-]+")
_LONGEST_NAME = 255  # of a folder, bytes


@dataclass(frozen=True)
class CameraRule:
    """What belongs to a camera; made from a table `[[batch.camera]]` or `name=…,match=…`.

    Attributes
    ----------
    name : str
    match : str or None
        Pattern (`gate/*`) of the videos' paths inside their folder; None: those whose path says this name.
    model, scene : str or None
        Files; None: those of the command.
    timezone : str or None
        Where the camera stands, as "Europe/Rome": a container's UTC is turned into its wall-clock time.
    """

    name: str
    match: str | None = None
    model: str | None = None
    scene: str | None = None
    timezone: str | None = None

    @classmethod
    def from_table(cls, table: dict[str, object]) -> Self:
        """Check a table of texts; BatchError for an unknown key or time zone, a missing name, a zero byte."""
        known = list(cls.__dataclass_fields__)
        for key, value in table.items():
            if key not in known or not isinstance(value, str) or not value or "\0" in value:
                raise BatchError(f"a camera has texts named {', '.join(known)}, not {key} = {value!r}")
        if "name" not in table:
            raise BatchError('a camera needs a name: name = "entrance"')
        rule = cls(**table)
        if rule.timezone is not None:
            try:
                ZoneInfo(rule.timezone)
            except (KeyError, ValueError, OSError):
                raise BatchError(
                    f"there is no time zone {rule.timezone!r}; expected one as Europe/Rome"
                ) from None
        return rule


def parse_camera(text: str) -> CameraRule:
    """Read "name=entrance,match=gate/*", or a table as JSON; BatchError for other texts."""
    if text.startswith("{"):
        try:
            return CameraRule.from_table(json.loads(text))
        except (ValueError, RecursionError):
            raise BatchError(f"a camera's table is given as JSON, not {text[:80]!r}") from None
    parts = [part.partition("=") for part in text.split(",")]
    if not all(separator for _, separator, _ in parts):
        raise BatchError(f"a camera is given as name=NAME,match=PATTERN,model=FILE,scene=FILE, not {text!r}")
    return CameraRule.from_table({key.strip(): value.strip() for key, _, value in parts})


class PathPattern:
    """How a path says its camera and its start time: "{camera}/%Y-%m-%d/%H%M%S*".

    `%Y %m %d %H %M %S` stand for the time, `*` for anything within a name, `?` for a character. The pattern
    is laid on the end of the path, without the file's suffix. Where it says no hour, or no minute, the time
    is the earliest, and `slack` how much later it may be.
    """

    def __init__(self, text: str):
        self.text = text
        seen: set[str] = set()
        parts = [self._part(token, seen) for token in _TOKEN.split(text)]
        self._has_time = {"Y", "m", "d"} <= seen
        if seen - {"camera"} and not self._has_time:
            raise BatchError(f"the pattern {text!r} has a time without %Y, %m and %d; add them, or use *")
        self.slack = timedelta()
        if self._has_time:
            self.slack = timedelta(days="H" not in seen, hours="H" in seen and "M" not in seen)
        self._depth = text.count("/") + 1
        self._regex = re.compile("".join(parts))

    @staticmethod
    def _part(token: str, seen: set[str]) -> str:
        if token in ("*", "?"):
            return "[^/]*" if token == "*" else "[^/]"
        if token in ("{", "}") or (token.startswith("%") and len(token) == 2 and token[1] not in _CODES):
            known = " ".join(f"%{code}" for code in _CODES)
            raise BatchError(f"a pattern knows {{camera}}, {known}, * and ?, not {token!r}")
        name = "camera" if token == "{camera}" else token[1:] if _TOKEN.fullmatch(token) else None
        if name is None:
            return re.escape(token)
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>{_CODES.get(name, '[^/]+')})"

    def read(self, path: str) -> tuple[str | None, datetime | None] | None:
        """Camera and start time in a path with "/", each None when the pattern has none; None: no match."""
        parts = path.split("/")
        parts[-1] = Path(parts[-1]).stem
        found = self._regex.fullmatch("/".join(parts[-self._depth :]))
        if found is None:
            return None
        values = found.groupdict()
        camera = values.pop("camera", None)
        if not self._has_time:
            return camera, None
        time = _time(*(values.get(code, "0") for code in _CODES))
        return None if time is None else (camera, time)


@dataclass(frozen=True)
class Video:
    """A video of an archive.

    Attributes
    ----------
    path : str
        Where it is, absolute.
    label : str
        Its path inside the folder that was given, or as it was listed.
    camera : str
    start_time : datetime or None
        Wall-clock time of its first frame as its name says, or up to `slack` later.
    model, scene, timezone : str or None
        Of its camera; see `CameraRule`.
    problem : str or None
        Why it cannot be counted.
    slack : timedelta
        See `PathPattern`.
    """

    path: str
    label: str
    camera: str = ""
    start_time: datetime | None = None
    model: str | None = None
    scene: str | None = None
    timezone: str | None = None
    problem: str | None = None
    slack: timedelta = timedelta()


def plan_videos(
    inputs: Sequence[str],
    *,
    patterns: Sequence[PathPattern] = (),
    cameras: Sequence[CameraRule] = (),
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> list[Video]:
    """Find the videos of an archive.

    Parameters
    ----------
    inputs : sequence of str
        Folders (with all that is in them, behind links too; each folder once, whatever leads to it), videos,
        files that list one path per line (or separated by NUL),
        and "-" for such a list on the standard input. Of lines, one that begins with # is a comment, unless
        it names a file.
    patterns : sequence of PathPattern
        The first one that fits a path says its camera and start time. Without any, the camera is the nearest
        folder that is no date, and the time is looked for in the file's name.
    cameras : sequence of CameraRule
        The first one that fits a video is its camera's.
    include, exclude : sequences of str
        Patterns of file names or labels (`*.mp4`, `gate/*`); by default all. In folders, files that are not
        named like a video are taken only by a pattern with a suffix, such as `*.bin`.

    Returns
    -------
    list of Video
        In natural order; each file once. Folders that cannot be read are among them, with their `problem`.

    Raises
    ------
    BatchError
        When an input does not exist or is no folder, video or list, or nothing is found.
    """
    found: dict[str, Video] = {}
    unread: list[Video] = []
    for path, label in _found(inputs, include, unread):
        absolute = os.path.abspath(path)
        is_wanted = (not include or _fits(label, include)) and not _fits(label, exclude)
        if is_wanted and absolute not in found:
            found[absolute] = _video(absolute, label, patterns, cameras)
    for video in unread:
        if not _fits(video.label, exclude):
            found.setdefault(video.path, video)
    if not found:
        raise BatchError(
            f"no video in {', '.join(inputs)}{' that the patterns leave' if include or exclude else ''}; "
            f"expected files named {' '.join(sorted(VIDEO_SUFFIXES))} or --include patterns"
        )
    return sorted(found.values(), key=lambda video: natural(video.path))


def check_cameras(cameras: Sequence[CameraRule], videos: Sequence[Video]) -> None:
    """BatchError for a camera that none of the videos is of: its name or pattern was misspelt."""
    found = {(video.camera, video.model, video.scene, video.timezone) for video in videos}
    for rule in cameras:
        if (rule.name, rule.model, rule.scene, rule.timezone) not in found:
            names = ", ".join(sorted({video.camera for video in videos if video.problem is None})) or "none"
            raise BatchError(
                f"no video fits the camera {(rule.match or rule.name)!r}, found videos of "
                f"{shorten(names, 200, placeholder=' …')}; correct its name or match, or leave it out"
            )


def _found(
    inputs: Sequence[str], include: Sequence[str], unread: list[Video]
) -> Iterator[tuple[str, str]]:
    """Path and label of each video: all that are named, and those in folders that look like one.

    Folders that cannot be read are added to `unread`.
    """
    suffixed = [pattern for pattern in include if "." in pattern.rsplit("/", 1)[-1]]
    folders = [given for given in inputs if given != "-" and os.path.isdir(given)]
    for path, label in _walked(folders, unread):
        if Path(path).suffix.lower() in VIDEO_SUFFIXES or (_fits(label, suffixed) and not is_result(path)):
            yield path, label
    for given in inputs:
        if given == "-":
            if sys.stdin is None:
                raise BatchError("the standard input, which was to list videos, is closed; give it a list")
            yield from _listed(sys.stdin.buffer.read(), "the standard input", Path())
        elif given in folders:
            continue
        elif not os.path.exists(given):
            refuse_locked(given, BatchError)
            raise BatchError(f"{given} does not exist; give a folder, a video, a list of videos, or -")
        elif Path(given).suffix.lower() in VIDEO_SUFFIXES:
            yield given, given.replace(os.sep, "/")
        else:
            advice = "give a folder, a video or a list"
            content = read_bytes(given, _MOST_LISTED, "list of videos", advice, BatchError)
            folder = Path(given).parent if os.path.isfile(given) else Path()  # a pipe is in none
            yield from _listed(content, given, folder)


def _walked(given: Sequence[str], unread: list[Video]) -> Iterator[tuple[str, str]]:
    """Path and label of each file in folders that is not hidden, also behind links to folders.

    Each folder is entered once, by its own name where that is among them: links may lead round in circles.
    """
    waiting, links = [(folder, folder) for folder in reversed(given)], []
    entered = set()
    while waiting or links:
        top, folder = waiting.pop() if waiting else links.pop(0)
        real = os.path.realpath(folder)
        if real in entered:
            continue
        entered.add(real)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            why = error.strerror.lower()
            problem = f"cannot read {folder}: {why}; change its permissions, or --exclude it"
            unread.append(Video(os.path.abspath(folder), _label(folder, top), problem=problem))
            continue
        for entry in entries:
            if entry.name.startswith("."):  # macOS leaves ._NAME beside each NAME on foreign disks
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append((top, entry.path))
            elif entry.is_symlink() and os.path.isdir(entry.path):
                links.append((top, entry.path))
            else:
                yield entry.path, _label(entry.path, top)


def _label(path: str, top: str) -> str:
    return os.path.relpath(path, top).replace(os.sep, "/")


def _fits(label: str, patterns: Iterable[str]) -> bool:
    name = label.rsplit("/", 1)[-1]
    return any(fnmatch(label, pattern) or fnmatch(name, pattern) for pattern in patterns)


def _listed(content: bytes, name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Paths of a list: relative ones begin at its folder."""
    is_utf16 = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))  # as PowerShell's > writes
    text = content.decode(*("utf-16", "replace") if is_utf16 else ("utf-8-sig", "surrogateescape"))
    if "\0" in text:  # names as they are, as find and printf write them, be they text or not
        lines = text.split("\0")
    else:
        stripped = [line.strip() for line in io.StringIO(text, newline=None)]
        lines = [line for line in stripped if not line.startswith("#") or os.path.exists(folder / line)]
    lines = [line for line in lines if line.strip()]
    is_of_names = "\0" in text and any(os.path.isfile(folder / line) for line in lines)
    if (is_utf16 and "\ufffd" in text) or not (is_utf8(text) or is_of_names):
        raise BatchError(f"{name} is no list of videos: it is not text; give a folder, a video or a list")
    for line in lines:
        yield str(folder / line), line.replace(os.sep, "/")


def _video(path: str, label: str, patterns: Sequence[PathPattern], cameras: Sequence[CameraRule]) -> Video:
    whole = path.replace(os.sep, "/")
    read = ((pattern.read(whole), pattern.slack) for pattern in patterns)
    read, slack = next((found for found in read if found[0] is not None), (None, timedelta()))
    if patterns and read is None:
        wanted = " or ".join(pattern.text for pattern in patterns)
        return Video(
            path, label, problem=f"its path does not fit the pattern {wanted}; rename it or correct that"
        )
    camera, start_time = read or (None, None)
    if camera is None:
        camera = _nearest_folder(whole)
    if not patterns:
        start_time = _time_in_name(Path(path).stem)
    video = Video(path, label, camera, start_time, slack=slack)
    for rule in cameras:
        if fnmatch(label, rule.match) if rule.match is not None else rule.name == camera:
            own = {"model": rule.model, "scene": rule.scene, "timezone": rule.timezone}
            video = replace(video, camera=rule.name, **own)
            break
    if len(folder_name(video.camera)) > _LONGEST_NAME:
        problem = f"its camera's name, {video.camera}, is too long for a folder; give a shorter with --camera"
        return replace(video, problem=problem)
    return video


def _nearest_folder(path: str) -> str:
    folders = [part for part in path.split("/")[:-1] if part]
    return next((part for part in reversed(folders) if not _DATE_FOLDER.fullmatch(part)), "camera")


def _time_in_name(stem: str) -> datetime | None:
    """The time in a name, or the first of two where a second tells the end; None where it may be another."""
    matches = list(_TIMES_IN_NAME.finditer(stem))
    found = {match.start(): _time(*filter(None, match.groups())) for match in matches}
    times = [time for time in found.values() if time is not None]
    is_doubtful = any(match["counter"] for match in matches) or any(
        match.end() in found for match in _DAY_FIRST.finditer(stem)
    )
    if not times or is_doubtful or not all(times[0] <= time <= times[0] + _LONGEST for time in times):
        return None
    return times[0]


def _time(*parts: str) -> datetime | None:
    try:
        return datetime(*map(int, parts))
    except ValueError:
        return None
