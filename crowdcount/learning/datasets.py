"""Footage or ready-made features with the number of people in some of the frames."""

import glob
import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import DatasetError
from ..results import COLUMNS
from ..scene import Scene
from ..storage import csv_lines, csv_rows, natural, read_mat, read_npz
from ..video import IMAGE_SUFFIXES, SourceInfo, open_source

MALL_FPS = 2.0  # published as "< 2 Hz"
UCSD_FPS = 10.0
_UCSD_CLIP_LENGTH = 200

_TEXTURES = ("homogeneity", "energy", "entropy")
_SEGMENT_NAMES = ("area", "perimeter", *(f"perimeter_orientation_{k}" for k in range(6)), "perimeter_ratio")
_EDGE_NAMES = ("edges", *(f"edge_orientation_{k}" for k in range(6)), "minkowski_dimension")
#: Columns of UCSD's published features (Chan, Liang, Vasconcelos 2008).
UCSD_FEATURES = (*_SEGMENT_NAMES, *_EDGE_NAMES,
                 *(f"{texture}_{angle}" for angle in range(4) for texture in _TEXTURES), "blobs")
#: Columns of Mall's published features. The file does not name them: the order is inferred from their number
#: of distinct values and from which of them are most alike (neighbouring orientations, sums and their parts).
MALL_FEATURES = (*_SEGMENT_NAMES, "blobs", *_EDGE_NAMES,
                 *(f"{texture}_{angle}" for texture in _TEXTURES for angle in range(4)))


#: No count of people and no place in pixels is larger, and no feature: the sum of their squares is a number.
LARGEST, LARGEST_FEATURE = 1e9, 1e100
#: A video that states more frames, four days of them, is counted: what it states may be damaged, and fill the
#: memory.
_MOST_FRAMES = 10_000_000


@dataclass(frozen=True, eq=False)
class Dataset:
    """Frames, some of them with the number of people in them.

    Row i of every array is frame i of the source (`Frame.index` of the opened source). The length of a video
    file is what it states, so its last unlabelled rows may have no frame.

    Attributes
    ----------
    name : str
        For messages.
    kind : "mall", "ucsd", "video" or "features"
    numbers : (n,) int64
        Numbers of the frames as the data set gives them: from 1 in Mall and UCSD, from 0 in a video.
    counts : (n,) float64
        People in the region of interest, NaN where unlabelled.
    source : Path, str, tuple of Path or None
        What `open_source` takes; None for ready-made features.
    fps : float or None
        Frames per second; None when unknown.
    points : tuple of ((k, 2) float64 or None), or None
        Head points (x, y) of the people of each frame in pixels, where pixel (c, r) covers [c, c + 1) x
        [r, r + 1); None for frames that are not annotated.
    boxes : tuple of ((k, 4) float64 or None), or None
        Boxes (left, top, width, height) of the people of each frame, in the same coordinates.
    identities : tuple of ((k,) int64 or None), or None
        Numbers of the people in `boxes`, the same from frame to frame.
    directed : (n, 2) float64 or None
        Right- and left-moving people, NaN where unlabelled.
    scene_files : tuple of Path
        Published region of interest and perspective found with the data.
    features : (n, d) float64 or None
        Ready-made features.
    feature_names, feature_views : tuple of str
        Name and view ("size", "edges", "texture") of each feature.
    notes : tuple of str
        What was assumed, one line each, for the user to see.
    """

    name: str
    kind: str
    numbers: np.ndarray
    counts: np.ndarray
    source: Path | str | tuple[Path, ...] | None = None
    fps: float | None = None
    points: tuple[np.ndarray | None, ...] | None = None
    boxes: tuple[np.ndarray | None, ...] | None = None
    identities: tuple[np.ndarray | None, ...] | None = None
    directed: np.ndarray | None = None
    scene_files: tuple[Path, ...] = ()
    features: np.ndarray | None = None
    feature_names: tuple[str, ...] = ()
    feature_views: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def people(self, row: int, roi: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Head points (k, 2) and boxes (k, 4) of a frame's people in a region of interest (h, w) bool.

        Of boxes, the centre tells who is inside. None for what is not annotated.
        """
        points = None if self.points is None else self.points[row]
        boxes = None if self.boxes is None else self.boxes[row]
        if points is not None:
            points = points[points_inside(points, roi)]
        if boxes is not None:
            boxes = boxes[points_inside(box_centres(boxes), roi)]
        return points, boxes

    def digest_of_people(self) -> str:
        """What tells these dots or boxes from others."""
        digest = hashlib.sha256()
        for row in self.points or self.boxes or ():
            digest.update(b"-" if row is None else repr(row.shape).encode() + row.tobytes())
        return digest.hexdigest()

    def select(self, frames: str | Sequence[int]) -> np.ndarray:
        """Which rows belong to the frames asked for, (n,) bool.

        Parameters
        ----------
        frames : str or sequence of int
            Ranges such as "601-1400" or "1-400,601-800,999", or a list of numbers, in the data set's own
            numbering; both ends belong to a range.

        Raises
        ------
        DatasetError
            When the text is no range, the list holds anything but numbers, as a mask does, or a range reaches
            beyond the data set's frames or holds none.
        """
        if not isinstance(frames, str):
            wrong = [k for k in frames if isinstance(k, bool) or not isinstance(k, int | np.integer)]
            if wrong:
                raise DatasetError(f"expected the numbers of frames, found {wrong[0]!r}; of a mask, give "
                                   "those where it is true")
        ranges = _parse_ranges(frames) if isinstance(frames, str) else [(k, k) for k in frames]
        first, last = self.numbers.min(), self.numbers.max()
        chosen = np.zeros(len(self.numbers), bool)
        for low, high in ranges:
            if low < first or high > last:
                raise DatasetError(f"frames {_range_text(low, high)} asked for, but {self.name} has "
                                   f"{_range_text(first, last)}; choose frames among these")
            within = (self.numbers >= low) & (self.numbers <= high)
            if not within.any():
                raise DatasetError(f"{self.name} has none of the frames {_range_text(low, high)} asked for")
            chosen |= within
        return chosen


def load_dataset(path: str | Path, *, counts: str | Path | None = None, mot: str | Path | None = None,
                 annotated: str | None = None, roi_scene: Scene | None = None) -> Dataset:
    """Load a data set; its kind is seen from what `path` holds.

    Parameters
    ----------
    path : str or Path
        A Mall folder, a UCSD-style folder, a table of published features, or, with `counts` or `mot`, a
        video, a folder or a pattern of images.
    counts : str or Path, optional
        CSV file with the columns `frame` (from 0) and `count`; a blank count leaves the frame unlabelled.
        `right` and `left`, where both are there, are the numbers of people who move so. Or dots: without
        `count`, but with `x` and `y` of a head in each row, in pixels whose centres are whole numbers; blank
        in the one row of a frame with nobody in it.
    mot : str or Path, optional
        MOT Challenge ground truth (`frame,id,left,top,width,height,consider,…`, frames and pixels from 1).
        People with consider = 0 are not counted.
    annotated : str, optional
        Frames "A-B" that the MOT file covers, in its own numbering: those without a row have nobody in them.
        By default from its first to its last row, which is told in `notes`.
    roi_scene : Scene, optional
        Counts only people whose dot in `counts`, or the centre of whose box in `mot`, lies in its region of
        interest. The official counts of Mall and UCSD, which have their own region, and those of `counts` are
        taken as they are.

    Raises
    ------
    DatasetError
        When something is missing, malformed or contradicts the footage; with the number of the line.
    VideoError, SceneError
        When the footage of `counts` or `mot` cannot be opened, or `roi_scene` does not fit it.
    """
    if counts is not None and mot is not None:
        raise DatasetError("expected counts or a MOT file, not both; drop one of them")
    if annotated is not None and mot is None:
        raise DatasetError("annotated frames belong to a MOT file, but there is none; add it or drop them")
    if counts is not None:
        return _load_labelled_video(path, Path(counts), roi_scene)
    if mot is not None:
        return _load_mot_video(path, Path(mot), annotated, roi_scene)
    path = Path(path)
    if not path.exists():
        raise DatasetError(f"{path} does not exist; check the name")
    if path.is_dir():
        return _load_folder(path)
    if path.suffix == ".mat":
        return _load_mall_features(path)
    if path.suffix == ".npz":
        return _load_ucsd_features(path)
    raise DatasetError(f"{path} has no counts of people with it; add a counts CSV file or a MOT file")


def box_centres(boxes: np.ndarray) -> np.ndarray:
    """Centres (k, 2) of boxes (k, 4): left, top, width, height."""
    return boxes[:, :2] + boxes[:, 2:] / 2


def points_inside(points: np.ndarray, roi: np.ndarray) -> np.ndarray:
    """Which points lie inside a region of interest.

    Parameters
    ----------
    points : (k, 2) float64
        Points (x, y) in pixels, where pixel (c, r) covers [c, c + 1) x [r, r + 1).
    roi : (h, w) bool

    Returns
    -------
    (k,) bool
        False too for points outside the frame.
    """
    columns, rows = np.floor(points).astype(np.int64).T
    height, width = roi.shape
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    inside[inside] = roi[rows[inside], columns[inside]]
    return inside


def _load_folder(folder: Path) -> Dataset:
    if (folder / "mall_gt.mat").is_file():
        if _images(folder / "frames"):
            return _load_mall(folder)
        if (folder / "mall_feat.mat").is_file():
            return _load_mall_features(folder / "mall_feat.mat")
        raise DatasetError(f"{folder} is a Mall folder without images in frames/ and without mall_feat.mat; "
                           "add one of them")
    clips = _ucsd_clips(folder)
    if clips:
        return _load_ucsd(folder, clips)
    tables = sorted(folder.glob("*features.npz"))
    if len(tables) == 1:
        return _load_ucsd_features(tables[0])
    raise DatasetError(f"{folder} is neither a Mall nor a UCSD folder; for other footage, add a counts CSV "
                       "file or a MOT file")


# Mall (Chen, Loy, Gong, Xiang 2012)


def _load_mall(folder: Path) -> Dataset:
    counts, points = _read_mall_labels(folder / "mall_gt.mat")
    images = {}
    for image in _images(folder / "frames"):
        digits = re.search(r"(\d+)\D*$", image.stem)
        number = int(digits[1]) if digits else 0
        if not 1 <= number <= len(counts) or number in images:
            raise DatasetError(f"{image}: expected one image for each of the frames 1-{len(counts)}; "
                               "remove or rename it")
        images[number] = image
    numbers = np.array(sorted(images), np.int64)
    return Dataset(
        name=str(folder),
        kind="mall",
        numbers=numbers,
        counts=counts[numbers - 1],
        source=tuple(images[number] for number in numbers),
        fps=MALL_FPS,
        points=tuple(points[number - 1] for number in numbers),
        scene_files=tuple(sorted(folder.glob("perspective_roi.mat"))),
    )


def _load_mall_features(path: Path) -> Dataset:
    features = _feature_table(path, _read_mat(path, "x")["x"], MALL_FEATURES)
    counts, _ = _read_mall_labels(path.with_name("mall_gt.mat"))
    return _feature_dataset(path, features, counts, MALL_FEATURES)


def _read_mall_labels(path: Path) -> tuple[np.ndarray, list[np.ndarray | None]]:
    content = _read_mat(path, "frame", "count")
    with _expecting(path, "`frame` with `loc`, and `count`"):
        counts = _count_vector(content["count"])
        points = [_dots(frame.loc) for frame in np.atleast_1d(content["frame"])]
        _check_length(points, len(counts))
    return counts, [None if math.isnan(c) else dots for c, dots in zip(counts, points, strict=True)]


# UCSD pedestrians (Chan, Liang, Vasconcelos 2008)


def _load_ucsd(folder: Path, clips: dict[str, list[Path]]) -> Dataset:
    roi_files = [path for path in _find(folder, "*_roi_*.mat") if "_count_roi_" not in path.name]
    regions = {path.stem.split("_roi_")[-1] for path in _find(folder, "*_roi_*.mat")}
    if len(regions) > 1:
        raise DatasetError(f"{folder}: expected files of one region, found {', '.join(sorted(regions))}; "
                           "remove those of the others")
    roi = None
    if roi_files:
        content = _read_mat(roi_files[0], "roi")
        with _expecting(roi_files[0], "`roi` with `mask`"):
            roi = np.asarray(content["roi"].mask) != 0
    published = all(_ucsd_start(clip) and len(clips[clip]) <= _UCSD_CLIP_LENGTH for clip in clips)
    numbers, counts, points = [], [], []
    for clip, images in clips.items():
        start = _ucsd_start(clip) if published else len(numbers) + 1
        numbers.extend(range(start, start + len(images)))
        clip_counts, clip_points = _read_ucsd_labels(folder, clip, len(images), roi)
        counts.append(clip_counts)
        points.extend(clip_points)
    counts = np.concatenate(counts)
    if np.isnan(counts).all():
        raise DatasetError(f"{folder}: expected images in folders CLIP.y or named CLIP_fNNN.png as the .mat "
                           "files of their clip, found none with counts; rename them, or add the counts")
    return Dataset(
        name=str(folder),
        kind="ucsd",
        numbers=np.array(numbers, np.int64),
        counts=counts,
        source=tuple(image for images in clips.values() for image in images),
        fps=UCSD_FPS,
        points=tuple(points),
        scene_files=(*roi_files, *_find(folder, "*_dmap*.mat")),
    )


def _ucsd_clips(folder: Path) -> dict[str, list[Path]]:
    """Images of each clip: in folders `CLIP.y`, side by side as `CLIP_fNNN.png`, or any of a lone clip."""
    labelled = {path.name.split(marker)[0] for marker in ("_frame_full", "_count_roi_")
                for path in _find(folder, f"*{marker}*.mat")}
    if not labelled:
        return {}
    scenes = {re.sub(r"_\d+$", "", clip) for clip in labelled}
    clips = {path.stem: _images(path) for path in _find(folder, "*.y")
             if re.sub(r"_\d+$", "", path.stem) in scenes}
    if not clips:
        images = _images(folder)
        if len(labelled) == 1 and images:
            clips[labelled.pop()] = images
        else:
            for image in images:
                clips.setdefault(re.sub(r"_f\d+$", "", image.stem), []).append(image)
    return {clip: clips[clip] for clip in sorted(clips, key=natural) if clips[clip]}


def _ucsd_start(clip: str) -> int | None:
    """Number of the first frame of a clip: the published clips have 200 frames each, the first one is 000."""
    digits = re.search(r"_(\d{3})$", clip)
    return int(digits[1]) * _UCSD_CLIP_LENGTH + 1 if digits else None


def _read_ucsd_labels(folder: Path, clip: str, n_frames: int,
                      roi: np.ndarray | None) -> tuple[np.ndarray, list[np.ndarray | None]]:
    """Counts (n,) and head points of a clip; without official counts, the points inside `roi` are counted."""
    counts, points = np.full(n_frames, math.nan), [None] * n_frames
    for path in _find(folder, f"{glob.escape(clip)}_frame_full.mat"):
        content = _read_mat(path, "frame")
        with _expecting(path, f"`frame` with `loc` of {n_frames} frames, one for each image"):
            points = [_dots(frame.loc) for frame in np.atleast_1d(content["frame"])]
            _check_length(points, n_frames)
        if roi is not None:
            counts = np.array([points_inside(dots, roi).sum() for dots in points], np.float64)
    for path in _find(folder, f"{glob.escape(clip)}_count_roi_*.mat"):
        content = _read_mat(path, "count")
        with _expecting(path, f"`count` in two directions of {n_frames} frames, one for each image"):
            counts = sum(_count_vector(direction) for direction in content["count"])
            _check_length(counts, n_frames)
    return counts, points


def _load_ucsd_features(path: Path) -> Dataset:
    arrays = read_npz(path, DatasetError)
    with _expecting(path, "the arrays `features` and `count_total`"):
        counts = _count_vector(arrays["count_total"])
        features = _feature_table(path, arrays["features"], UCSD_FEATURES)
    return _feature_dataset(path, features, counts, UCSD_FEATURES)


def _feature_table(path: Path, table: np.ndarray, names: Sequence[str]) -> np.ndarray:
    with _expecting(path, f"a table of finite numbers with {len(names)} columns"):
        table = np.asarray(table, np.float64)
        if table.ndim != 2 or table.shape[1] != len(names) or not (np.abs(table) <= LARGEST_FEATURE).all():
            raise ValueError
    return table


def _feature_dataset(path: Path, features: np.ndarray, counts: np.ndarray, names: tuple[str, ...]) -> Dataset:
    """The counts belong to the first rows; rows after them are unlabelled."""
    if len(counts) > len(features):
        raise DatasetError(f"{path}: expected at least {len(counts)} rows of features, one for each count, "
                           f"found {len(features)}")
    views = tuple("texture" if name.split("_")[0] in _TEXTURES else "edges" if name in _EDGE_NAMES else "size"
                  for name in names)
    return Dataset(
        name=str(path),
        kind="features",
        numbers=np.arange(1, len(features) + 1),
        counts=np.concatenate([counts, np.full(len(features) - len(counts), math.nan)]),
        features=features,
        feature_names=names,
        feature_views=views,
    )


# Videos and image folders with labels in text files


def _load_labelled_video(path: str | Path, labels_path: Path, roi_scene: Scene | None) -> Dataset:
    header, rows = csv_rows(labels_path, ("frame", "count"), ("frame", "x", "y"))
    is_counted = "count" in header
    labels = _read_counts(labels_path, header, rows) if is_counted else _read_dots(labels_path, rows)
    if not labels:
        raise DatasetError(f"{labels_path}: expected a line for each labelled frame, found none; add them")
    if is_counted:
        return _load_counted_video(path, labels_path, labels, set(COLUMNS) <= set(header))
    return _load_dotted_video(path, labels_path, labels, roi_scene)


def _load_counted_video(path: str | Path, labels_path: Path,
                        labels: dict[int, tuple[int, tuple[float, ...]]], is_own: bool) -> Dataset:
    last = max(labels)
    info, length = _footage(path, last, f"{labels_path}, line {labels[last][0]}")
    numbers = np.full((length, len(labels[last][1])), math.nan)
    for frame, (_, row) in labels.items():
        numbers[frame] = row
    blank = sum(math.isnan(row[0]) for _, row in labels.values())
    notes = []
    if blank:
        notes.append(f"{labels_path}: {blank} of {len(labels)} frames have no count and are taken as "
                     "unlabelled")
    if is_own:
        notes.append(f"{labels_path}: these look like counts by crowdcount; labels are what people counted")
    return Dataset(name=str(path), kind="video", numbers=np.arange(length), counts=numbers[:, 0], source=path,
                   fps=info.fps, directed=numbers[:, 1:] if numbers.shape[1] > 1 else None,
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
                       roi_scene: Scene | None) -> Dataset:
    last = max(labels)
    info, length = _footage(path, last, f"{labels_path}, line {min(labels[last].values())}")
    width, height = info.size_wh
    roi = None if roi_scene is None else roi_scene.fitted(info.size_wh).roi
    counts, points = np.full(length, math.nan), [None] * length
    for frame, dots in labels.items():
        for (x, y), line in ((dot, line) for dot, line in dots.items() if dot is not None):
            if not (-0.5 <= x <= width - 0.5 and -0.5 <= y <= height - 0.5):
                raise DatasetError(f"{labels_path}, line {line}: expected a point of a frame of "
                                   f"{width}x{height} pixels, found {x:g},{y:g}; mark heads on the frames as "
                                   "they are")
        heads = np.array([dot for dot in dots if dot is not None], np.float64).reshape(-1, 2) + 0.5
        points[frame] = np.minimum(heads, np.nextafter([width, height], 0))
        counts[frame] = len(heads) if roi is None else points_inside(points[frame], roi).sum()
    return Dataset(name=str(path), kind="video", numbers=np.arange(length), counts=counts, source=path,
                   fps=info.fps, points=tuple(points))


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


def _load_mot_video(path: str | Path, mot_path: Path, annotated: str | None,
                    roi_scene: Scene | None) -> Dataset:
    people = _read_mot(mot_path)
    notes = []
    if annotated is None:
        ranges = [(min(people), max(people))]
        notes.append(f"{mot_path}: frames {_range_text(*ranges[0])} of its numbering, from its first to its "
                     "last row, are taken as annotated; give the annotated frames if it is otherwise")
    else:
        ranges = _parse_ranges(annotated)
    if min(low for low, _ in ranges) < 1:
        raise DatasetError(f"expected annotated frames numbered from 1 as in {mot_path}, found {annotated}")
    last_row, last_annotated = max(people), max(high for _, high in ranges)
    where = f"{mot_path}, line {people[last_row][0][0]}" if last_row >= last_annotated else "annotated frames"
    info, length = _footage(path, max(last_row, last_annotated) - 1, where)
    _check_boxes(np.array([box for rows in people.values() for *_, box in rows]), info.size_wh, mot_path)
    frames = [number - 1 for low, high in ranges for number in range(low, high + 1)]
    roi = None if roi_scene is None else roi_scene.fitted(info.size_wh).roi
    counts, boxes, identities = np.full(length, math.nan), [None] * length, [None] * length
    ignored = 0
    for frame in frames:
        rows = people.get(frame + 1, ())
        considered = [(person, box) for _, is_considered, person, box in rows if is_considered]
        identities[frame] = np.array([person for person, _ in considered], np.int64)
        boxes[frame] = np.array([box for _, box in considered], np.float64).reshape(-1, 4)
        centres = box_centres(boxes[frame])
        counts[frame] = len(centres) if roi is None else points_inside(centres, roi).sum()
        ignored += len(rows) - len(centres)
    if ignored:
        notes.append(f"{mot_path}: {ignored} boxes that it marks as not to be considered are not counted")
    return Dataset(name=str(path), kind="video", numbers=np.arange(length), counts=counts, source=path,
                   fps=info.fps, boxes=tuple(boxes), identities=tuple(identities), notes=tuple(notes))


def _read_mot(path: Path) -> dict[int, list[tuple[int, bool, int, tuple[float, ...]]]]:
    """Line, consider flag, number and box (pixels from 0) of the people of each frame, frames from 1."""
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
        people.setdefault(frame, []).append(
            (line, consider == 1, person, (left - 1, top - 1, width, height)))
    if not people:
        raise DatasetError(f"{path}: expected a line for each person, found none")
    return people


def _check_boxes(boxes: np.ndarray, size_wh: tuple[int, int], path: Path) -> None:
    """DatasetError when most boxes (k, 4) are not in the pixels of such frames; some people leave them."""
    centres = box_centres(boxes)
    is_apart = ((centres < 0) | (centres >= size_wh) | (boxes[:, 2:] < 1)).any(axis=1)
    if 2 * is_apart.sum() > len(boxes):
        raise DatasetError(f"{path}: expected boxes in pixels of frames of {size_wh[0]}x{size_wh[1]}, found "
                           "most outside of these or smaller than a pixel; give those of these frames")


def _footage(path: str | Path, last: int, where: str) -> tuple[SourceInfo, int]:
    """What the footage is and its number of frames, at least up to `last`, which `where` speaks of.

    The number that a video file states is not to be trusted, so a contradiction is settled by counting.
    """
    with open_source(path) as source:
        if source.info.is_live:
            raise DatasetError(f"expected a video file or images with labels, but {path} is a "
                               f"{source.info.kind}; record it first")
        length = source.info.frame_count
        if length is None or not last < length <= _MOST_FRAMES:
            length = sum(1 for _ in source.frames())
        if last >= length:
            raise DatasetError(f"{where}: frame {last} of the footage is labelled, but {path} has frames "
                               f"0-{length - 1}; correct the labels")
        return source.info, length


# Parts


def _images(folder: Path) -> list[Path]:
    """The images of a folder in natural order, but for hidden ones; none when it is missing."""
    return _in_order(path for path in folder.glob("[!.]*") if path.suffix.lower() in IMAGE_SUFFIXES)


def _find(folder: Path, pattern: str) -> list[Path]:
    """Paths in a folder or one below that match, in natural order."""
    return _in_order([*folder.glob(pattern), *folder.glob(f"*/{pattern}")])


def _in_order(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: (natural(path.name), path))


def _read_mat(path: Path, *names: str) -> dict[str, object]:
    """The named variables of a MATLAB file, all of which it must have."""
    if not path.is_file():
        raise DatasetError(f"{path} does not exist; add it to the data set")
    content = read_mat(path, names, DatasetError)
    missing = [name for name in names if name not in content]
    if missing:
        raise DatasetError(f"{path}: expected the variables {', '.join(names)}, but {', '.join(missing)} is "
                           "missing; give the published file")
    return content


@contextmanager
def _expecting(path: Path, what: str) -> Iterator[None]:
    """Turn what goes wrong with the content of a foreign file into one line."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{path}: expected {what}; give the published file") from error


def _dots(loc: np.ndarray) -> np.ndarray:
    """Points (k, 2) from rows (x, y, …) that are 1-based pixel centres; a lone point may be a vector."""
    loc = np.atleast_2d(np.asarray(loc, np.float64))
    return loc[:, :2] - 0.5 if loc.size else np.zeros((0, 2))


def _count_vector(values: np.ndarray) -> np.ndarray:
    counts = np.atleast_1d(np.asarray(values, np.float64))
    if counts.ndim != 1 or not ((counts >= 0) & (counts <= LARGEST) | np.isnan(counts)).all():
        raise ValueError
    return counts


def _check_length(values: Sequence, length: int) -> None:
    if len(values) != length:
        raise ValueError


def _number(text: str, expected: str, least: float = -LARGEST) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= LARGEST:
        raise DatasetError(f"{expected}, found {text.strip()[:40]!r}; correct the line")
    return value


def _integer(text: str, expected: str, least: int) -> int:
    value = int(text) if re.fullmatch(r"\s*\d{1,15}\s*", text, re.ASCII) else -1
    if value < least:
        raise DatasetError(f"{expected}, found {text.strip()[:40]!r}; correct the line")
    return value


def _parse_ranges(text: str) -> list[tuple[int, int]]:
    ranges = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,15})\s*(?:-\s*(\d{1,15})\s*)?", part, re.ASCII)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if low > high:
            raise DatasetError(f"expected frames such as 601-1400 or 1-400,601-800, found {text[:40]!r}")
        ranges.append((low, high))
    return ranges


def _range_text(low: int, high: int) -> str:
    return f"{low}-{high}" if low != high else f"{low}"
