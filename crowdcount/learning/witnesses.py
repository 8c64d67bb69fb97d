"""The empty scene behind people of whom dots or boxes tell where they are."""

from collections.abc import Iterator
from copy import deepcopy

import numpy as np

from features.background import LEARNING_FRAMES, MedianBackground
from features.camera import stacked
from features.empty_scene import EmptyScene, differing

from ..pipeline import Pipeline
from ..scene import Scene, is_one_shape
from ..video import VideoSource, spread
from .datasets import Dataset
from .local_counts import body_centres

#: A place is learnt from so many annotated frames at the most, and is to be free in so many of them.
MOST_FRAMES, FEWEST_FREE = 4 * LEARNING_FRAMES, 5
#: Annotated frames from a shorter time, seconds, show who waits, not who stays.
SHORTEST_S = 90.0
#: What a person may cover beside, above and below the body's centre, in person heights, and what somebody who
#: sits covers of it for certain.
_MAY_COVER, _COVERS = (0.3, 0.55, 0.65), (0.2, 0.55, 0.2)
#: What was learnt differs by more than so many grey levels from what is seen when a place is free: who was
#: there in less than half of the frames, or is far away, is a faint smear.
_FAINT = 8
#: Of a place that somebody covers for certain.
_HIDDEN = 255


def behind_people(
    source: VideoSource, rate: float, dataset: Dataset, rows: np.ndarray, scene: Scene, pipeline: Pipeline
) -> EmptyScene | None:
    """The empty scene as learnt, without those who are in most of its frames.

    Of a place where somebody sits most of the time, the median shows who sits there. Dots and boxes tell when
    nobody does: what was learnt is replaced by the median of those frames, or where there are none, as the
    place lies at the feet of who never leaves, of those in which fewest people may hide it
    (docs/decisions/2026-11-22-witnesses.md).

    Parameters
    ----------
    source : VideoSource
        Footage of the data set, whose frames are its rows.
    rate : float
        Its frames per second.
    dataset : Dataset
    rows : (n,) int
        Rows of the data set to look at.
    scene : Scene
    pipeline : Pipeline
        Has learnt the empty scene.

    Returns
    -------
    EmptyScene or None
        At the pipeline's size; None where dots and boxes tell nothing, or too few frames have them.
    """
    known = pipeline.view
    if known is None:
        return None
    annotated = [int(row) for row in rows if body_centres(dataset, row, scene) is not None]
    if len(annotated) < FEWEST_FREE or annotated[-1] - annotated[0] < SHORTEST_S * rate:
        return None
    chosen = [annotated[k] for k in spread(MOST_FRAMES, len(annotated))]
    frames, places, following = [], {}, deepcopy(pipeline)
    for frame in source.frames_at(chosen):
        if frame.image_bgr is None or not is_one_shape(frame.size_wh, source.info.size_wh):
            continue
        found = following.in_place(frame.image_bgr)
        if found is not None:
            image, places[frame.index] = found
            frames.append(known.light_of(image).evened_out(image))
    if len(frames) < FEWEST_FREE:
        return None
    moved = stacked(None if one is None else one.moved for one in places.values())
    dataset = dataset.brought_back(np.array(list(places)), moved, scene.size_wh)
    bodies = [body_centres(dataset, row, scene) for row in places]
    hidden = np.stack([_hidden_by(*one, scene, pipeline.size_wh) for one in bodies])
    for one, its in zip(places.values(), hidden, strict=True):
        if one is not None:
            its[~one.in_view] = _HIDDEN
    frames = np.stack(frames)
    fewest = np.partition(hidden, FEWEST_FREE - 1, axis=0)[FEWEST_FREE - 1]
    is_seen = fewest < _HIDDEN
    _fill(frames, hidden <= fewest)
    background = MedianBackground(1.0)
    background.learn(frames)
    seen = background.empty
    image = np.where(is_seen[..., None], seen.image_bgr, known.image_bgr)
    is_proven = differing(image, known.image_bgr, _FAINT) & is_seen
    if not is_proven.any():
        return None
    return EmptyScene(
        np.where(is_proven[..., None], image, known.image_bgr),
        np.where(is_proven, seen.threshold, known.threshold),
        is_proven,
        [np.where(is_proven[..., None], image, other) for other in known.others_bgr],
    )


def _hidden_by(
    centres: np.ndarray, heights: np.ndarray, scene: Scene, size_wh: tuple[int, int]
) -> np.ndarray:
    """(h, w) uint8: how many people of `body_centres` may cover each pixel of a picture of some size;
    `_HIDDEN` where one does for certain."""
    n_people = np.zeros(size_wh[::-1], np.int32)
    for place in _places(_MAY_COVER, centres, heights, scene, size_wh):
        n_people[place] += 1
    hidden = np.minimum(n_people, _HIDDEN - 1).astype(np.uint8)
    for place in _places(_COVERS, centres, heights, scene, size_wh):
        hidden[place] = _HIDDEN
    return hidden


def _places(reach, centres, heights, scene: Scene, size_wh: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of what lies within a reach beside, above and below of bodies, in person heights."""
    beside, above, below = reach
    scale = np.array(size_wh) / scene.size_wh
    first = np.floor((centres - heights[:, None] * [beside, above]) * scale)
    last = np.ceil((centres + heights[:, None] * [beside, below]) * scale)
    edges = np.clip(np.hstack([first, last + 1]), 0, np.tile(size_wh, 2)).astype(int)
    for left, top, right, bottom in edges.tolist():
        yield slice(top, bottom), slice(left, right)


def _fill(frames: np.ndarray, is_free: np.ndarray) -> None:
    """Put in the place of pixels of frames (n, h, w, 3) that are not free (n, h, w) those of the nearest
    frame in which they are, if there is one."""
    n_frames = len(frames)
    number = np.arange(n_frames)[:, None]
    for row in range(frames.shape[1]):  # a row at a time takes little memory
        places = np.flatnonzero(is_free[:, row].any(axis=0) & ~is_free[:, row].all(axis=0))
        if not len(places):
            continue
        free = is_free[:, row, places]
        before = np.maximum.accumulate(np.where(free, number, -n_frames), axis=0)
        after = np.minimum.accumulate(np.where(free, number, 2 * n_frames)[::-1], axis=0)[::-1]
        nearest = np.where(number - before <= after - number, before, after)
        frames[:, row, places] = frames[nearest, row, places]
