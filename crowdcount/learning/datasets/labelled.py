"""Videos and image folders with labels in text files: counts, dots on heads, or MOT boxes."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ...errors import DatasetError, VideoError
from ...results import COLUMNS, LARGEST
from ...scene import Scene
from ...tables import csv_lines, csv_rows, number_in
from ...video import ASSUMED_RATE, SourceInfo, parse_position
from .dataset import Dataset, boxes_inside, open_recorded, parse_ranges, points_inside, range_text

#: A video that states more frames, four days of them, is counted: what it states may be damaged, and fill the
#: memory.
_MOST_FRAMES = 10_000_000
#: Half of the people are not cut off by the frame's edge with more than this share of the frame beyond it.
_MOST_BEYOND = 0.1
#: Classes of MOT Challenge 2016 and later that are people: pedestrians, and static persons, who stand or sit.
_PEOPLE = (1, 7)
_COLUMNS_WITH_CLASS = 9


def load_labelled_video(path: str | Path, labels_path: Path, roi_scene: Scene | None,
                        fps: float | None) -> Dataset:
    """Footage with a file of counts or dots; see `load_dataset`."""
    header, rows = csv_rows(labels_path, ("frame", "count"), ("time_s", "count"), ("frame", "x", "y"),
                            ("time_s", "x", "y"))
    if "frame" not in header:
        rows = _with_frames(path, labels_path, rows, fps)
    is_counted = "count" in header
    labels = _read_counts(labels_path, header, rows) if is_counted else _read_dots(labels_path, rows)
    if not labels:
        raise DatasetError(f"{labels_path}: expected a line for each labelled frame, found none; add them")
    if is_counted:
        return _load_counted_video(path, labels_path, labels, set(COLUMNS) <= set(header), fps)
    return _load_dotted_video(path, labels_path, labels, roi_scene, fps)


def _with_frames(path: str | Path, labels_path: Path, rows: Iterable[tuple[int, dict[str, str]]],
                 fps: float | None) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table of times, each with its `frame`: the first one at or behind its `time_s`, or the
    last one for as long as it is shown."""
    timed = [(line, row, seconds_in(row["time_s"], f"{labels_path}, line {line}")) for line, row in rows]
    with open_recorded(path, fps, "with labels") as source:
        shown_s = 1 / source.info.rate
        times = sorted({when_s for *_, time_s in timed for when_s in (time_s, time_s - shown_s)})
        frames = dict(zip(times, source.indices_at(times), strict=False))
    for line, row, time_s in timed:
        frame = frames.get(time_s, frames.get(time_s - shown_s))
        if frame is None:
            raise DatasetError(f"{labels_path}, line {line}: expected a time up to the last frame, found "
                               f"{row['time_s'].strip()[:40]!r}, but {path} ends before; correct the labels, "
                               "or copy the footage again")
        yield line, row | {"frame": str(frame)}


def _load_counted_video(path: str | Path, labels_path: Path,
                        labels: dict[int, tuple[int, tuple[float, ...]]], is_own: bool,
                        fps: float | None) -> Dataset:
    last = max(labels)
    info, length = _footage(path, last, f"{labels_path}, line {labels[last][0]}", fps)
    numbers = np.full((length, len(labels[last][1])), math.nan)
    for frame, (_, row) in labels.items():
        numbers[frame] = row
    blank = sum(math.isnan(row[0]) for _, row in labels.values())
    notes = _notes_on(info)
    if blank:
        notes.append(f"{labels_path}: {blank} of {len(labels)} frames have no count and are taken as "
                     "unlabelled")
    if is_own:
        notes.append(f"{labels_path}: these look like counts by crowdcount; labels are what people counted")
    return Dataset(name=str(path), numbers=np.arange(length), counts=numbers[:, 0], source=path,
                   fps=fps, directed=numbers[:, 1:] if numbers.shape[1] > 1 else None,
                   notes=tuple(notes))


def _read_counts(path: Path, header: Sequence[str],
                 rows: Iterable[tuple[int, dict[str, str]]]) -> dict[int, tuple[int, tuple[float, ...]]]:
    """Line and count (NaN: unlabelled) of each frame; where they are given, of right and left after it."""
    names = ("count", "right", "left") if {"right", "left"} <= set(header) else ("count",)
    labels = {}
    for line, row in rows:
        where = f"{path}, line {line}"
        frame = _integer(row["frame"], f"{where}: expected a frame number from 0", 0)
        if frame in labels:
            raise DatasetError(f"{where}: frame {frame} stands in line {labels[frame][0]} already; "
                               "remove one of them")
        labels[frame] = line, tuple(
            _number(row[name], f"{where}: expected a {name} of 0 or more, or a blank", 0)
            if row[name].strip()
            else math.nan
            for name in names
        )
    return labels


def _load_dotted_video(path: str | Path, labels_path: Path,
                       labels: dict[int, dict[tuple[float, float] | None, int]],
                       roi_scene: Scene | None, fps: float | None) -> Dataset:
    last = max(labels)
    info, length = _footage(path, last, f"{labels_path}, line {min(labels[last].values())}", fps)
    width, height = info.size_wh
    roi = _region(roi_scene, info)
    places = [dot for dots in labels.values() for dot in dots if dot is not None]
    if len(places) > 1 and np.min(places) >= -0.5 and np.max(places) <= 1:
        raise DatasetError(f"{labels_path}: expected dots in pixels of frames of {width}x{height}, found no "
                           "x or y above 1, as of shares of the frame; multiply them by its width and height")
    counts, points = np.full(length, math.nan), [None] * length
    for frame, dots in labels.items():
        for (x, y), line in ((dot, line) for dot, line in dots.items() if dot is not None):
            if not (-0.5 <= x <= width - 0.5 and -0.5 <= y <= height - 0.5):
                raise DatasetError(f"{labels_path}, line {line}: expected a point of a frame of "
                                   f"{width}x{height} pixels, found {x:g},{y:g}; mark heads on the frames as "
                                   "they are")
        heads = np.array([dot for dot in dots if dot is not None], np.float64).reshape(-1, 2) + 0.5
        points[frame] = np.minimum(heads, np.nextafter([width, height], 0))
        counts[frame] = points_inside(points[frame], roi).sum()
    notes = _notes_on(info)
    outside = len(places) - int(np.nansum(counts))
    if 2 * outside > len(places):
        notes.append(f"{labels_path}: {outside} of {len(places)} dots lie outside the region of interest and "
                     "are not counted; check that dots and region are of this footage")
    return Dataset(name=str(path), numbers=np.arange(length), counts=counts, source=path,
                   fps=fps, points=tuple(points), notes=tuple(notes), counted_in=roi)


def _read_dots(path: Path, rows: Iterable[tuple[int, dict[str, str]]]
               ) -> dict[int, dict[tuple[float, float] | None, int]]:
    """Each frame's heads (x, y) with their line; None in their place where nobody is in it."""
    labels = {}
    for line, row in rows:
        where = f"{path}, line {line}"
        frame = _integer(row["frame"], f"{where}: expected a frame number from 0", 0)
        dots = labels.setdefault(frame, {})
        dot = None
        if row["x"].strip() or row["y"].strip():
            expected = "of a head in pixels, or x and y blank where nobody is in the frame"
            dot = tuple(_number(row[name], f"{where}: expected {name} {expected}") for name in ("x", "y"))
        if dot in dots:
            raise DatasetError(f"{where}: the same stands in line {dots[dot]} already; remove one of them")
        dots[dot] = line
        if None in dots and len(dots) > 1:
            raise DatasetError(f"{where}: by this line and line {min(dots.values())}, frame {frame} has "
                               "somebody and, x and y blank, nobody in it; remove one of them")
    return labels


def load_mot_video(path: str | Path, mot_path: Path, annotated: str | None,
                    roi_scene: Scene | None, fps: float | None) -> Dataset:
    """Footage with MOT ground truth; see `load_dataset`."""
    people = _read_mot(mot_path)
    notes = []
    if annotated is None:
        ranges = [(min(people), max(people))]
        n_empty = ranges[0][1] - ranges[0][0] + 1 - len(people)
        empty = f", {n_empty} without a row as empty" if n_empty else ""
        notes.append(f"{mot_path}: frames {range_text(*ranges[0])} of its numbering, from its first to its "
                     f"last row, are taken as annotated{empty}; give the annotated frames if it is otherwise")
    else:
        ranges = parse_ranges(annotated)
    if min(low for low, _ in ranges) < 1:
        raise DatasetError(f"expected annotated frames numbered from 1 as in {mot_path}, found {annotated}")
    last = max(high for _, high in ranges)
    where = f"{mot_path}, line {people[last][0][0]}" if annotated is None else "annotated frames"
    info, length = _footage(path, last - 1, where, fps)
    notes += _notes_on(info)
    _check_boxes(np.array([box for rows in people.values() for *_, box in rows]), info.size_wh, mot_path)
    frames = {number - 1 for low, high in ranges for number in range(low, high + 1)}
    roi = _region(roi_scene, info)
    counts, boxes, identities = np.full(length, math.nan), [None] * length, [None] * length
    kinds = Counter()
    for frame in frames:
        rows = people.get(frame + 1, ())
        kinds.update(kind for _, kind, _, _ in rows)
        counted = [(person, box) for _, kind, person, box in rows if kind != "other"]
        identities[frame] = np.array([person for person, _ in counted], np.int64)
        boxes[frame] = np.array([box for _, box in counted], np.float64).reshape(-1, 4)
        counts[frame] = boxes_inside(boxes[frame], roi).sum()
    if kinds["ignored"]:
        notes.append(f"{mot_path}: {kinds['ignored']} boxes of people that it marks as not to be considered "
                     "are counted all the same, as they are seen")
    if kinds["other"]:
        notes.append(f"{mot_path}: {kinds['other']} boxes of what is no person by its class are not counted")
    return Dataset(name=str(path), numbers=np.arange(length), counts=counts, source=path,
                   fps=fps, boxes=tuple(boxes), identities=tuple(identities), notes=tuple(notes),
                   counted_in=roi)


def _region(roi_scene: Scene | None, info: SourceInfo) -> np.ndarray:
    """(H, W) bool: where people count; everywhere without a scene."""
    return np.ones(info.size_wh[::-1], bool) if roi_scene is None else roi_scene.fitted(info.size_wh).roi


def _read_mot(path: Path) -> dict[int, list[tuple[int, str, int, tuple[float, ...]]]]:
    """Line, kind, number and box (pixels from 0) of what is in each frame, frames from 1.

    Kinds are "considered", "ignored" for people who are to be left out of the scores of tracking, but are in
    the picture as others are (docs/decisions/2026-11-28-ignored.md), and "other" for what is none of
    `_PEOPLE` by its class, as vehicles are, which files of nine columns tell.
    """
    people, seen = {}, {}
    for line, cells in csv_lines(path):
        where = f"{path}, line {line}"
        if len(cells) < 7:
            raise DatasetError(f"{where}: expected frame,id,left,top,width,height,consider, found "
                               f"{len(cells)} values; give MOT Challenge ground truth")
        frame = _integer(cells[0], f"{where}: expected a frame number from 1", 1)
        person = _integer(cells[1], f"{where}: expected a person's number", 0)
        if (frame, person) in seen:
            raise DatasetError(f"{where}: person {person} of frame {frame} stands in line "
                               f"{seen[frame, person]} already; remove one of them")
        seen[frame, person] = line
        left, top = (_number(cell, f"{where}: expected a box corner in pixels") for cell in cells[2:4])
        width, height = (_number(cell, f"{where}: expected a box size in pixels", 0) for cell in cells[4:6])
        consider = _number(cells[6], f"{where}: expected 0 or 1 as consider flag")
        if consider not in (0, 1):
            raise DatasetError(f"{where}: expected 0 or 1 as consider flag, found {consider:g}; give ground "
                               "truth, not detections")
        kind = "considered" if consider else "ignored"
        if not consider and len(cells) == _COLUMNS_WITH_CLASS:
            number = _number(cells[7], f"{where}: expected a class, 1 for a pedestrian")
            kind = "ignored" if number in _PEOPLE else "other"
        people.setdefault(frame, []).append((line, kind, person, (left - 1, top - 1, width, height)))
    if not people:
        raise DatasetError(f"{path}: expected a line for each person, found none")
    return people


def _check_boxes(boxes: np.ndarray, size_wh: tuple[int, int], path: Path) -> None:
    """DatasetError when most boxes (k, 4) are not in the pixels of such frames; some people leave them."""
    frame, size = np.ones(size_wh[::-1], bool), "{}x{}".format(*size_wh)
    is_apart = ~boxes_inside(boxes, frame) | (boxes[:, 2:] < 1).any(axis=1)
    if 2 * is_apart.sum() > len(boxes):
        raise DatasetError(f"{path}: expected boxes in pixels of frames of {size}, found "
                           "most outside of these or smaller than a pixel; give those of these frames")
    sizes = boxes[:, 2:]
    is_far_beyond = (boxes[:, :2] + sizes > np.multiply(1 + _MOST_BEYOND, size_wh)).any(axis=1)
    if 2 * is_far_beyond.sum() > len(boxes) and (sizes >= boxes[:, :2]).all():
        raise DatasetError(f"{path}: expected left,top,width,height of each box, found most beyond frames of "
                           f"{size}, as where right and bottom stand in the place of width and height; take "
                           "left and top off them")


def _footage(path: str | Path, last: int, where: str, fps: float | None) -> tuple[SourceInfo, int]:
    """What the footage is and its number of frames, at least up to `last`, which `where` speaks of.

    The number that a video file states is not to be trusted, so a contradiction is settled by counting.
    """
    with open_recorded(path, fps, "with labels") as source:
        length = source.info.frame_count
        if length is None or not last < length <= _MOST_FRAMES:
            length = sum(1 for _ in source.frames())
        if last >= length:
            raise DatasetError(f"{where}: frame {last} of the footage is labelled, but {path} has frames "
                               f"0-{length - 1}; correct the labels")
        return source.info, length


def _notes_on(info: SourceInfo) -> list[str]:
    """What is to be told of footage that is labelled."""
    if info.kind != "images" or info.fps is not None or info.frame_count == 1:
        return []
    return [f"{info.name}: images are taken to be {1 / ASSUMED_RATE:g} s apart; give their rate (--fps) if "
            "it is another"]


def seconds_in(text: str, where: str) -> float:
    """Seconds since the first frame, told as such or as HH:MM:SS; DatasetError for anything else."""
    text = text.strip()
    try:
        return parse_position(text if ":" in text else f"{text}s").time_s
    except VideoError:
        raise DatasetError(
            f"{where}: expected seconds since the first frame, or HH:MM:SS, found {text[:40]!r}; "
            "correct the line"
        ) from None


def _number(text: str, expected: str, least: float = -LARGEST) -> float:
    value = number_in(text)
    if not least <= value <= LARGEST:
        raise DatasetError(f"{expected}, found {text.strip()[:40]!r}; correct the line")
    return value


def _integer(text: str, expected: str, least: int) -> int:
    whole = re.fullmatch(r"\s*(\d{1,15})(\.0*)?\s*", text, re.ASCII)  # 12.0: columns with a gap, by pandas
    value = int(whole[1]) if whole else -1
    if value < least:
        raise DatasetError(f"{expected}, found {text.strip()[:40]!r}; correct the line")
    return value
