"""Frames, some of them with the number of people in them."""

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from features.camera import mapped

from ...errors import DatasetError
from ...video import VideoSource, open_source
from ...wording import plural


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Frames, some of them with the number of people in them.

    Row i of every array is frame i of the source (`Frame.index` of the opened source). The length of a video
    file is what it states, so its last unlabelled rows may have no frame.

    Attributes
    ----------
    name : str
        For messages.
    numbers : (n,) int64
        Numbers of the frames as the data set gives them: from 1 in Mall and UCSD, from 0 in a video.
    counts : (n,) float64
        People in the region of interest, NaN where unlabelled.
    source : Path, str, tuple of Path or None
        What `open_source` takes; None for ready-made features.
    fps : float or None
        Frames per second at which the source is opened; None: as it says itself.
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
    recordings : tuple of str
        Name of the footage of each row, where they are of several; else empty.
    missing : tuple of int
        Numbers of labelled frames whose image is missing, and which are no row.
    counted_in : (H, W) bool or None
        Region of interest in which points or boxes are counted; None where counts are given.
    """

    name: str
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
    recordings: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()
    counted_in: np.ndarray | None = None

    def __repr__(self) -> str:
        n_labelled = np.isfinite(self.counts).sum()
        return f"<Dataset {self.name}: {plural(len(self.counts), 'frame')}, {n_labelled} labelled>"

    def open_footage(self) -> VideoSource:
        """The source, opened; VideoError when it cannot be read."""
        return open_source(self.source, fps=self.fps)

    def people(self, row: int, roi: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Head points (k, 2) and boxes (k, 4) of a frame's people in a region of interest (h, w) bool.

        Of boxes, see `boxes_inside`. None for what is not annotated.
        """
        points = None if self.points is None else self.points[row]
        boxes = None if self.boxes is None else self.boxes[row]
        if points is not None:
            points = points[points_inside(points, roi)]
        if boxes is not None:
            boxes = boxes[boxes_inside(boxes, roi)]
        return points, boxes

    def brought_back(self, rows: np.ndarray, moved: np.ndarray, size_wh: tuple[int, int]) -> "Dataset":
        """The data set as of a camera that was not moved: points and boxes are where they were in its place,
        and counted there where they are counted; what is unlabelled stays so.

        Parameters
        ----------
        rows : (k,) int
            Some rows, ascending. Others are taken to show the scene where the one before them does, or the
            first.
        moved : (k, 3, 3) float64
            Homographies from places of the scene to those in the frames of the rows, in shares of width and
            height; NaN where the frame is in its place.
        size_wh : (int, int)
            Width and height of the frames, pixels.
        """
        if self.points is None and self.boxes is None:
            return self
        back = _back(moved, size_wh)
        is_moved = np.isfinite(back).all(axis=(1, 2))
        if not is_moved.any():
            return self
        counts = self.counts.copy()
        is_counted = np.isfinite(counts) & (self.counted_in is not None)
        points, boxes, identities = (one and list(one) for one in (self.points, self.boxes, self.identities))
        frame = np.ones(size_wh[::-1], bool)
        seen_in = np.maximum(np.searchsorted(rows, np.arange(len(counts)), side="right") - 1, 0)
        for row in np.flatnonzero(is_moved[seen_in]):
            its = back[seen_in[row]]
            if points is not None and points[row] is not None:
                points[row] = mapped(points[row], its)
                if is_counted[row]:
                    counts[row] = points_inside(points[row], self.counted_in).sum()
            if boxes is not None and boxes[row] is not None:
                is_shown = boxes_inside(boxes[row], frame)  # MOT ground truth may go on beyond
                boxes[row] = _mapped_boxes(boxes[row][is_shown], its)
                if identities is not None:
                    identities[row] = identities[row][is_shown]
                if is_counted[row]:
                    counts[row] = boxes_inside(boxes[row], self.counted_in).sum()
        return replace(
            self,
            counts=counts,
            points=points and tuple(points),
            boxes=boxes and tuple(boxes),
            identities=identities and tuple(identities),
        )

    def without_labels(self, rows: np.ndarray) -> "Dataset":
        """The data set with some rows (k,) unlabelled."""
        chosen = set(rows.tolist())
        unlabelled = {
            name: tuple(None if row in chosen else one for row, one in enumerate(people))
            for name in ("points", "boxes", "identities")
            if (people := getattr(self, name)) is not None
        }
        for name in ("counts", "directed"):
            if getattr(self, name) is not None:
                unlabelled[name] = getattr(self, name).copy()
                unlabelled[name][rows] = np.nan
        return replace(self, **unlabelled)

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
        ranges = _ranges(frames)
        first, last = self.numbers.min(), self.numbers.max()
        chosen = np.zeros(len(self.numbers), bool)
        for low, high in ranges:
            if low < first or high > last:
                raise DatasetError(f"frames {range_text(low, high)} asked for, but {self.name} has "
                                   f"{range_text(first, last)}; choose frames among these")
            within = (self.numbers >= low) & (self.numbers <= high)
            if not within.any():
                raise DatasetError(f"{self.name} has none of the frames {range_text(low, high)} asked for")
            chosen |= within
        return chosen

    def n_missing(self, frames: str | Sequence[int] | None) -> int:
        """How many of the `missing` frames belong to those asked for, as for `select`; None: all."""
        ranges = [(-math.inf, math.inf)] if frames is None else _ranges(frames)
        return sum(any(low <= number <= high for low, high in ranges) for number in self.missing)


@contextmanager
def open_recorded(path: str | Path, fps: float | None, purpose: str) -> Iterator[VideoSource]:
    """A video file or images, opened for some purpose; DatasetError for what is live."""
    with open_source(path, fps=fps) as source:
        if source.info.is_live:
            raise DatasetError(f"expected a video file or images {purpose}, but {source.info.name} is a "
                               f"{source.info.kind}; record it first")
        yield source


def _ranges(frames: str | Sequence[int]) -> list[tuple[int, int]]:
    """Both ends of each range of `Dataset.select`."""
    if isinstance(frames, str):
        return parse_ranges(frames)
    wrong = [k for k in frames if isinstance(k, bool) or not isinstance(k, int | np.integer)]
    if wrong:
        raise DatasetError(f"expected the numbers of frames, found {wrong[0]!r}; of a mask, give those where "
                           "it is true")
    return [(k, k) for k in frames]


def _back(moved: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
    """(k, 3, 3) float64: from places in frames, pixels, to those of the scene, as `Dataset.brought_back`."""
    pixels = np.diag([*size_wh, 1.0])
    return pixels @ np.linalg.inv(moved) @ np.linalg.inv(pixels)


def _mapped_boxes(boxes: np.ndarray, homography: np.ndarray) -> np.ndarray:
    """Boxes (k, 4), upright again, around where a homography (3, 3) has their centres, and of the size that
    it gives them there."""
    centres, sizes = box_centres(boxes), boxes[:, 2:]
    sides = [
        [mapped(centres + sign * sizes * axis / 2, homography) for sign in (-1, 1)] for axis in np.eye(2)
    ]
    sizes = np.column_stack([np.linalg.norm(end - start, axis=1) for start, end in sides])
    return np.hstack([mapped(centres, homography) - sizes / 2, sizes])


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


def boxes_inside(boxes: np.ndarray, roi: np.ndarray) -> np.ndarray:
    """Which people's boxes are in a region of interest (h, w) bool: (k,) bool.

    The centre of what the frame shows of a box tells. Those of MOT ground truth go on beyond the frame's
    edge, as the person does; a box of which it shows nothing is outside.

    Parameters
    ----------
    boxes : (k, 4) float64
        Left, top, width, height in pixels, as in `points_inside`.
    roi : (h, w) bool
    """
    corners = np.stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])
    (left, top), (right, bottom) = np.clip(corners, 0, roi.shape[::-1]).transpose(0, 2, 1)
    centres = np.column_stack([left + right, top + bottom]) / 2
    return (left < right) & (top < bottom) & points_inside(centres, roi)


def parse_ranges(text: str) -> list[tuple[int, int]]:
    """Both ends of each range of "601-1400" or "1-400,601-800,999"; DatasetError when it is none."""
    ranges = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,15})\s*(?:-\s*(\d{1,15})\s*)?", part, re.ASCII)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if low > high:
            raise DatasetError(f"expected frames such as 601-1400 or 1-400,601-800, found {text[:40]!r}")
        ranges.append((low, high))
    return ranges


def range_text(low: int, high: int) -> str:
    """A range as `parse_ranges` reads it."""
    return f"{low}-{high}" if low != high else f"{low}"
