"""How many people move right and left: labels from the tracks of a data set or from its file of counts."""

from dataclasses import replace

import numpy as np

from features.motion import STANDING_SPEED

from ..errors import DatasetError
from ..scene import Scene
from .datasets import Dataset, box_centres, boxes_inside

#: A person's speed is that between the first and the last place within this time before and after, seconds.
TRACKED_S = 0.5


def by_direction(dataset: Dataset, scene: Scene, rate: float) -> tuple[Dataset, Dataset]:
    """The data set with the right-moving people alone, and with the left-moving ones.

    Tracked people move right or left whose speed along the scene's axis is above `STANDING_SPEED`; who
    stands, or walks across the axis, does neither. Where a file gives the counts of both, they are taken.
    Frames come at `rate`, per second.

    Raises
    ------
    DatasetError
        When the data set has neither.
    """
    check_directions(dataset)
    if dataset.directed is not None:
        known = _tells_both(dataset)
        return tuple(
            replace(dataset, counts=np.where(known, counts, np.nan), points=None, boxes=None)
            for counts in dataset.directed.T
        )
    speeds = track_speeds(dataset, scene.right, rate)
    return tuple(_moving(dataset, scene, speeds, sign) for sign in (1, -1))


def check_directions(dataset: Dataset) -> None:
    """DatasetError when a data set tells of no frame how many move where."""
    if not tells_directions(dataset):
        raise DatasetError(
            f"{dataset.name} does not tell who moves where; give tracks (--mot), or --counts with the "
            "columns frame,count,right,left, filled in"
        )


def tells_directions(dataset: Dataset) -> bool:
    """Whether a data set tells of any frame how many move where."""
    return dataset.identities is not None or (dataset.directed is not None and _tells_both(dataset).any())


def _tells_both(dataset: Dataset) -> np.ndarray:
    """(n,) bool: whether a file of counts gives a frame's right- and left-moving people."""
    return np.isfinite(dataset.directed).all(axis=1)


def track_speeds(dataset: Dataset, axis: np.ndarray, rate: float) -> list[np.ndarray | None]:
    """Speeds (k,) of the people of each frame along an axis (2,), in heights of their box per second.

    From the first to the last place of the box's centre within `TRACKED_S` before and after; 0 for a person
    who is seen in no other frame then, or whose box has no height. None for frames that are not annotated.
    """
    reach = max(1, round(TRACKED_S * rate))
    tracks = {}
    for row, found in enumerate(dataset.identities):
        if found is not None:
            boxes = dataset.boxes[row]
            along = box_centres(boxes) @ axis
            for k, (person, place, height) in enumerate(zip(found, along, boxes[:, 3], strict=True)):
                tracks.setdefault(person, []).append((row, k, place, height))
    speeds = [None if found is None else np.zeros(len(found)) for found in dataset.identities]
    for track in tracks.values():
        rows, _, places, _ = np.array(track).T
        first = np.searchsorted(rows, rows - reach)
        last = np.searchsorted(rows, rows + reach, side="right") - 1
        for (row, k, _, height), a, b in zip(track, first, last, strict=True):
            if b > a and height > 0:
                speeds[row][k] = (places[b] - places[a]) / (rows[b] - rows[a]) * rate / height
    return speeds


def _moving(dataset: Dataset, scene: Scene, speeds, sign: int) -> Dataset:
    boxes, counts = [], np.full(len(speeds), np.nan)
    for row, (found, speed) in enumerate(zip(dataset.boxes, speeds, strict=True)):
        moving = None if speed is None else found[sign * speed > STANDING_SPEED]
        boxes.append(moving)
        if moving is not None:
            counts[row] = boxes_inside(moving, scene.roi).sum()
    return replace(dataset, counts=counts, boxes=tuple(boxes))
