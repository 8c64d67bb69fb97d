"""Data sets as they were published: Mall, UCSD pedestrians, and tables of their features."""

import glob
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...arrays import read_mat, read_npz
from ...errors import DatasetError
from ...results import LARGEST
from ...storage import natural
from ...video import IMAGE_SUFFIXES
from .dataset import Dataset, points_inside

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


#: No feature is larger: the sum of their squares is a number.
LARGEST_FEATURE = 1e100


def load_folder(folder: Path) -> Dataset:
    """A folder in Mall's or UCSD's layout, or with a table of features; DatasetError when it is neither."""
    if (folder / "mall_gt.mat").is_file():
        if _images(folder / "frames"):
            return _load_mall(folder)
        if (folder / "mall_feat.mat").is_file():
            return load_mall_features(folder / "mall_feat.mat")
        raise DatasetError(f"{folder} is a Mall folder without images in frames/ and without mall_feat.mat; "
                           "add one of them")
    clips = _ucsd_clips(folder)
    if clips:
        return _load_ucsd(folder, clips)
    tables = sorted(folder.glob("*features.npz"))
    if len(tables) == 1:
        return load_ucsd_features(tables[0])
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
        numbers=numbers,
        counts=counts[numbers - 1],
        source=tuple(images[number] for number in numbers),
        fps=MALL_FPS,
        points=tuple(points[number - 1] for number in numbers),
        scene_files=tuple(sorted(folder.glob("perspective_roi.mat"))),
        missing=tuple(np.setdiff1d(np.flatnonzero(np.isfinite(counts)) + 1, numbers).tolist()),
    )


def load_mall_features(path: Path) -> Dataset:
    """Mall's `mall_feat.mat`, with `mall_gt.mat` beside it; DatasetError."""
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


def load_ucsd_features(path: Path) -> Dataset:
    """Features as published for UCSD, with `count_total`; DatasetError."""
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
        numbers=np.arange(1, len(features) + 1),
        counts=np.concatenate([counts, np.full(len(features) - len(counts), math.nan)]),
        features=features,
        feature_names=names,
        feature_views=views,
    )


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
