"""Measuring the frames of a data set: the features that a counter is trained on and judged by."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import binary_dilation

from features.camera import stacked
from features.motion import LOW_RATE_FPS
from models import Copies

from ..counting import check_rate, make_pipeline
from ..errors import DatasetError, ModelError, NoFrameError
from ..model import CounterModel
from ..overview import Overview
from ..pipeline import Pipeline
from ..results import is_meaningless
from ..scene import Scene, import_scene, is_one_shape, view_arrays, view_of
from ..smoothing import Looks, reach, smoothed, stride
from ..stretches import Stretch, stretches
from ..video import Position, spread
from . import MIN_COUNTS
from .cache import kept
from .datasets import Dataset
from .directions import check_directions
from .witnesses import behind_people

#: So many labelled frames of video, evenly spread, are measured once more, each a little blurred or
#: sharpened, and take part in the fit: what a model else learns of fine edges no longer holds when the camera
#: is out of focus, sways, or encodes more coarsely. Not below `LOW_RATE_FPS`, where people are measured at
#: twice the height: Mall's dense crowd would be counted 6 % worse (docs/decisions/2026-11-22-sharpness.md).
MOST_COPIES = 200
_GOLDEN = 0.618034
#: Frames without a label take part in a training if no more than so many are decoded for them alone.
MOST_FOR_OTHERS = 20_000
#: Labels from a shorter stretch than this share of the footage do not show what the rest is like: intervals
#: of 90 % then held as little as 45 % of the counts (docs/decisions/2026-11-20-recalibration.md).
SHORT_STRETCH = 0.25
#: Is told how many frames are measured, and of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Measured frames.

    Of several recordings that were joined, `times_s`, `estimated`, `moved`, `least_contrast` and
    `meaningless` are None too.

    Attributes
    ----------
    rows : (n,) int64
        Which rows of the data set they are.
    features : (n, d) float64
    columns : tuple of str
        Names of the columns.
    views : list of lists of int
        Columns of the size, edges and texture view.
    scene : Scene or None
        None for ready-made features.
    rate : float or None
        Frames per second; None for ready-made features.
    person_height : float or None
        See `CounterModel`.
    cell_views : list of lists of int arrays
        Columns of each view for each cell of the finest grid; empty for ready-made features.
    cells : (h, w) int32 or None
        Number of the cell of each pixel, -1 outside the region of interest; None for ready-made features.
    directed : (FeatureTable, FeatureTable) or None
        The same of the foreground that moves right, and of that which moves left, in the frames whose motion
        is known. None unless asked for.
    copies : Copies or None
        Of labelled frames, blurred or sharpened; None unless asked for.
    times_s : (n,) float64 or None
        Seconds since the footage began; None for ready-made features.
    estimated : (n,) bool or None
        Whether a row's features are its own, not those of the frame before it that was looked at; None for
        ready-made features, which are.
    camera_moved : bool
        Whether the footage shows another view than the scene in which a model counts.
    moved : (n, 3, 3) float64 or None
        `Measurement.moved` of each frame, NaN in its place; None for ready-made features.
    recoloured : (n,) bool or None
        `Measurement.is_recoloured` of each frame; None for ready-made features.
    least_contrast : (n,) float64 or None
        `Measurement.least_contrast` of each frame; None for ready-made features.
    meaningless : (n,) bool or None
        Whether each frame carries one of the flags `MEANINGLESS`; None for ready-made features.
    """

    rows: np.ndarray
    features: np.ndarray
    columns: tuple[str, ...]
    views: list[list[int]]
    _: KW_ONLY
    scene: Scene | None = None
    rate: float | None = None
    person_height: float | None = None
    cell_views: Sequence[Sequence[np.ndarray]] = ()
    cells: np.ndarray | None = None
    directed: "tuple[FeatureTable, FeatureTable] | None" = None
    copies: Copies | None = None
    times_s: np.ndarray | None = None
    estimated: np.ndarray | None = None
    camera_moved: bool = False
    moved: np.ndarray | None = None
    recoloured: np.ndarray | None = None
    least_contrast: np.ndarray | None = None
    meaningless: np.ndarray | None = None

    def labels_of(self, dataset: Dataset) -> Dataset:
        """The data set that was measured, with dots and boxes where the features are."""
        if self.moved is None:
            return dataset
        return dataset.brought_back(self.rows, self.moved, self.scene.size_wh)

    def shows_another_view(self, scene: Scene | None) -> bool:
        """Whether the frames were seen to be of another view than a scene knows, if it knows one."""
        if scene is None or scene.view is None:
            return False
        seen = self.scene.view
        return seen is None or not scene.view.is_shown_in(seen.image_bgr)

    def with_nobody(self) -> "FeatureTable":
        """The table with one more copy, which takes part in every fit: the scene's view, where nobody is."""
        pipeline = Pipeline(self.scene, self.rate, person_height=self.person_height)
        nobody = _by_frame(pipeline.measure(self.scene.view.image_bgr).features[None])
        copies = self.copies or Copies(np.empty((0, nobody.shape[1])), np.empty(0, np.int64))
        copies = Copies(np.vstack([copies.X, nobody]), np.append(copies.of, -1))
        return replace(self, copies=copies)

    def at(self, chosen: np.ndarray) -> "FeatureTable":
        """The table of some of its rows, (n,) bool or indices, without copies and directions."""
        def at(array: np.ndarray | None) -> np.ndarray | None:
            return None if array is None else array[chosen]

        return replace(
            self,
            rows=self.rows[chosen],
            features=self.features[chosen],
            times_s=at(self.times_s),
            estimated=at(self.estimated),
            moved=at(self.moved),
            recoloured=at(self.recoloured),
            least_contrast=at(self.least_contrast),
            meaningless=at(self.meaningless),
            directed=None,
            copies=None,
        )


def counts_of(
    model: CounterModel,
    dataset: Dataset,
    frames: str | None,
    least: int,
    *,
    scene: Scene | None = None,
    **options,
) -> tuple[FeatureTable, np.ndarray]:
    """What a model counts in the frames asked for that have a label, `least` or more; see `evaluate`, and
    `measure`, which takes the `options` (directions, cache, progress).

    Returns
    -------
    FeatureTable, (k,) float64
        The rows that could be decoded, and their counts, each steadied by the frames around it, as in
        `crowdcount.counting`. In `directed`, if `directions` are asked for, are these frames too.
    """
    asked = selected(dataset, frames)
    wanted = asked & np.isfinite(dataset.counts)
    check_labels(dataset.counts[wanted], least, dataset.name)
    seen = wanted.copy()
    seen[asked.argmax()] = True  # counting begins there too
    scene = model.scene_for(scene)
    table = measure(dataset, seen, scene=scene, model=model, **options)
    directed = table.directed
    if table.times_s is None:
        counts = model.predict(table.features)
    else:
        counts = np.full(len(table.rows), np.nan)
        counts[table.estimated] = model.predict(table.features[table.estimated])
        counts = smoothed(table.times_s, counts, table.rate)
    labelled = wanted[table.rows]
    table, counts = table.at(labelled), counts[labelled]
    check_labels(dataset.counts[table.rows], least, dataset.name)
    return replace(table, directed=directed, camera_moved=table.shows_another_view(scene)), counts


def measure(
    dataset: Dataset,
    wanted: np.ndarray,
    *,
    others: np.ndarray | None = None,
    scene: Scene | None = None,
    model: CounterModel | None = None,
    directions: bool = False,
    with_copies: bool = False,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> FeatureTable:
    """Measure the features of a data set's frames; ready-made ones are taken as they are.

    Parameters
    ----------
    dataset : Dataset
    wanted : (n,) bool
        Rows of the data set. Frames that cannot be decoded, or have another shape than the first, are left
        out.
    others : (n,) bool, optional
        Rows that are measured too, where they are reached at little cost: see `MOST_FOR_OTHERS`.
    scene : Scene, optional
        By default the data set's own, or one estimated from its footage.
    model : CounterModel, optional
        Measure what this model counts from, in the frames that it looks at, see `crowdcount.smoothing`, and
        take the rows besides that steady the counts of those that are wanted; for one that counts in any
        scene, features are (n, n_cells, d). By default, measure for a model to be trained.
    directions : bool
        Measure what moves right and left too; with `model` where the footage shows it, else it is an error
        where it does not.
    with_copies : bool
        Measure labelled frames of video once more, as `MOST_COPIES` has it.
    cache, progress
        As for `train`.

    Raises
    ------
    DatasetError, ModelError, VideoError, SceneError, OutputError
        As for `train` and `evaluate`; where the model has other columns, nothing has been measured.
    """
    if others is None:
        others = np.zeros(len(wanted), bool)
    if dataset.source is None:
        return _ready_made(dataset, wanted | others, model, directions)
    per_cell = model is not None and model.per_cell
    with dataset.open_footage() as source:
        rate = source.info.rate
        if directions and model is None:
            check_rate(source.info.name, rate)
            check_directions(dataset)
        directions = directions and rate >= LOW_RATE_FPS
        if scene is None and dataset.scene_files:
            scene = import_scene(*dataset.scene_files)
        overview = Overview(source, scene)
        scene = overview.scene
        if model is None:
            step, pipeline = 1, Pipeline(scene, rate, directions=directions)
        else:
            step, pipeline = stride(rate), make_pipeline(model, scene, rate, directions)
            wanted = binary_dilation(wanted, np.ones(2 * reach(rate) + 1))
        columns = tuple(pipeline.schema.names) if model is None else model.columns

        copied = np.zeros(len(wanted), bool)
        if with_copies and rate >= LOW_RATE_FPS:
            labelled = np.flatnonzero(wanted & np.isfinite(dataset.counts))
            copied[labelled[spread(MOST_COPIES, len(labelled))]] = True

        def measured() -> dict[str, np.ndarray]:
            taught, learning = pipeline, overview.learning(pipeline)
            overview.teach(taught, learning)
            if model is None:
                view = behind_people(source, rate, dataset, np.flatnonzero(wanted | others), scene, pipeline)
                if view is not None:
                    taught = Pipeline(replace(scene, view=view), rate, directions=directions)
                    overview.teach(taught, learning)
            chosen, parts = _reached(source, taught, wanted, wanted | others, step)
            return _measured(source, taught, parts, chosen, copied, step, progress) | view_arrays(taught.view)

        is_taught = model is None or scene.view is not None  # by labels, now or when the model was trained
        settings = (rate, dataset.fps, list(columns), per_cell, directions, pipeline.person_height)
        settings += (is_taught, dataset.digest_of_people())
        settings += (wanted.tobytes(), others.tobytes(), copied.tobytes(), step)
        arrays = kept(cache, dataset.source, scene, settings, measured)
    table = FeatureTable(
        rows=arrays["rows"],
        features=arrays["features"] if per_cell else _by_frame(arrays["features"]),
        columns=columns,
        views=pipeline.schema.views(),
        scene=replace(scene, view=view_of(arrays)),
        rate=rate,
        person_height=pipeline.person_height,
        cell_views=pipeline.cell_views(),
        cells=pipeline.cells,
        times_s=arrays["times_s"],
        estimated=arrays["estimated"],
        moved=arrays["moved"],
        recoloured=arrays["recoloured"],
        least_contrast=arrays["least_contrast"],
        meaningless=arrays["meaningless"],
    )
    if "copies" in arrays:
        of = np.flatnonzero(np.isin(table.rows, arrays["copied"]))
        table = replace(table, copies=Copies(_by_frame(arrays["copies"]), of))
    if "directed" in arrays:
        return replace(table, directed=_directed(table, arrays["directed"], pipeline))
    if directions and model is None:
        raise DatasetError(f"{dataset.name} shows no motion in so few frames; choose more of them")
    return table


def _ready_made(
    dataset: Dataset, wanted: np.ndarray, model: CounterModel | None, directions: bool
) -> FeatureTable:
    if model is not None:
        if model.per_cell:
            raise ModelError(
                f"the model counts from footage, but {dataset.name} holds ready-made features; "
                "train a model on them"
            )
        model.check_columns(dataset.feature_names)
    elif directions:
        raise DatasetError(
            f"{dataset.name} holds ready-made features, which do not tell who moves where; train "
            "directions on video"
        )
    views = [
        [i for i, view in enumerate(dataset.feature_views) if view == name]
        for name in dict.fromkeys(dataset.feature_views)
    ]
    rows = np.flatnonzero(wanted)
    return FeatureTable(rows, dataset.features[rows], tuple(dataset.feature_names), views)


def _directed(
    table: FeatureTable, features: np.ndarray, pipeline: Pipeline
) -> tuple[FeatureTable, FeatureTable]:
    """The rows of a table whose motion is known, with the features (n, 2, n_regions, n_quantities) of what
    moves right in them, and of what moves left."""
    known = np.isfinite(features).all(axis=(1, 2, 3))
    schema = pipeline.direction_schema
    return tuple(
        replace(
            table.at(known),
            features=_by_frame(features[known, side]),
            columns=tuple(schema.names),
            views=schema.views(),
            cell_views=pipeline.cell_views(schema),
        )
        for side in range(2)
    )


def _by_frame(features: np.ndarray) -> np.ndarray:
    """Features (n, n_regions, n_quantities) as one row (n, d) for each frame."""
    return features.reshape(len(features), -1)


def _reached(source, pipeline, wanted, with_others, step) -> tuple[np.ndarray, list[Stretch]]:
    """Which frames to measure, (n,) bool, and in which stretches of the footage: those that are wanted, (n,)
    bool, and where that does not take `MOST_FOR_OTHERS` more, all `with_others`, (n,) bool. One in `step` is
    looked at."""
    parts, n_decoded = _planned(source, pipeline, wanted, step)
    if not np.array_equal(wanted, with_others):
        more, n_more = _planned(source, pipeline, with_others, step)
        if n_more - n_decoded <= MOST_FOR_OTHERS:
            return with_others, more
    return wanted, parts


def _planned(source, pipeline, rows, step) -> tuple[list[Stretch], int]:
    parts = stretches(source, np.flatnonzero(rows).tolist(), step, pipeline)
    return parts, sum(part.n_decoded for part in parts)


def _measured(source, taught, parts, wanted, copied, step, progress) -> dict[str, np.ndarray]:
    """What is measured of wanted frames, (n,) bool, in `parts` (Stretch) of the footage, of the first by the
    pipeline `taught`, of others by copies of it; about one in `step` is looked at.

    `rows` (n,), `times_s` (n,) and `features` (n, n_regions, n_quantities), which of them were `estimated`
    (n,) bool, not taken from the one before, where the camera was `moved` (n, 3, 3) to, NaN in its place, and
    which are `recoloured` and which `meaningless` (n,) bool, and their `least_contrast` (n,); where they are
    measured, those of both directions, `directed` (n, 2, n_regions, n), NaN where unknown; and the `copies`
    (k, n_regions, n_quantities) of the rows that are `copied`, (n,) bool, their numbers in `copied` (k,).
    """
    # what is measured of a frame stands for those up to the next that is looked at
    stands_for_wanted = sliding_window_view(np.pad(wanted, (0, step - 1)), step).any(axis=1)
    found, copies, n_of_other_shape = [], {}, 0
    done, total = 0, sum(len(part.kept) + part.end - part.start.frame for part in parts)

    def counted(items: Iterable) -> Iterator:
        nonlocal done
        for item in items:
            yield item
            done += 1
            if progress is not None:
                progress(done, total)

    fresh = deepcopy(taught)
    for k, part in enumerate(parts):
        pipeline = deepcopy(fresh) if k else taught
        if part.n_seen:
            kept = counted(source.images(part.kept))
            pipeline.resume(part.n_seen, (image for image in kept if image is not None))
        looks = Looks(step)
        with suppress(NoFrameError):  # the footage cannot be decoded so far
            for frame in counted(source.frames(part.start, Position(frame=part.end), turns=looks.ahead)):
                if "undecodable" in frame.flags:
                    continue
                is_due = looks.are_due(frame, pipeline)
                if is_due:
                    if stands_for_wanted[frame.index]:
                        measured = pipeline.measure(frame.image_bgr)
                    else:
                        pipeline.pass_over(frame.image_bgr)
                if frame.size_wh is not None and not is_one_shape(frame.size_wh, source.info.size_wh):
                    n_of_other_shape += int(wanted[frame.index])
                    continue  # its people are distorted, and its dots are in other pixels
                if wanted[frame.index]:
                    seen = measured.moved, measured.is_recoloured, measured.least_contrast
                    shown = is_meaningless(measured.flags), measured.features, measured.directed
                    found.append((frame.index, frame.time_s, is_due, *seen, *shown))
                if copied[frame.index]:  # of evenly spread sharpness, by a sequence of low discrepancy
                    sharpness = 2 * (len(copies) * _GOLDEN % 1) - 1
                    copies[frame.index] = pipeline.measure_again(sharpness)
    if n_of_other_shape > len(found):
        width, height = source.info.size_wh
        raise DatasetError(f"most of the frames asked for in {source.info.name} have another shape than "
                           f"{width}x{height} of its first one; give images of one shape")
    if not found:
        raise DatasetError(f"none of the frames asked for in {source.info.name} could be decoded; "
                           "choose others, or copy it again")
    return _as_arrays(found, copies)


def _as_arrays(found: Sequence[tuple], copies: dict[int, np.ndarray]) -> dict[str, np.ndarray]:
    """What was `_measured` of each frame, and of copies by the number of theirs."""
    rows, times_s, estimated, moved, recoloured, contrast, meaningless, features, directed = zip(
        *found, strict=True
    )
    arrays = {
        "rows": np.array(rows, np.int64),
        "times_s": np.array(times_s),
        "estimated": np.array(estimated),
        "moved": stacked(moved),
        "recoloured": np.array(recoloured, bool),
        "least_contrast": np.array(contrast),
        "meaningless": np.array(meaningless, bool),
        "features": np.stack(features),
    }
    known = next((one for one in directed if one is not None), None)
    if known is not None:
        unknown = np.full_like(known, np.nan)
        arrays["directed"] = np.stack([unknown if one is None else one for one in directed])
    if copies:
        arrays |= {"copied": np.array(list(copies)), "copies": np.stack(list(copies.values()))}
    return arrays


def n_lost_labels(dataset: Dataset, frames: str | None, rows: np.ndarray) -> int:
    """How many of the frames asked for that have a label are not among measured rows (k,): they are missing,
    could not be decoded, or have another shape than the first."""
    asked = np.isfinite(dataset.counts[selected(dataset, frames)]).sum() + dataset.n_missing(frames)
    return int(asked - np.isfinite(dataset.counts[rows]).sum())


def selected(dataset: Dataset, frames: str | None) -> np.ndarray:
    """The rows (n,) bool of the frames asked for, all for None."""
    return np.ones(len(dataset.numbers), bool) if frames is None else dataset.select(frames)


def has_learnt(model: CounterModel, dataset: Dataset, table: FeatureTable) -> bool:
    """Whether a model was trained or recalibrated on most of the labels of a table's rows: by its facts, it
    knows the same count of a frame of that number, in the same view. They tell little of its error on others.

    Those beside the most frequent one have to agree too, as far as their numbers are known: where nobody is
    there most of the time, most are alike in any two recordings. Some of a recording's labels may have been
    learnt at first and others in a recalibration.
    """
    if table.camera_moved:
        return False
    labels = counts_by_number(dataset, table.rows)
    [(usual, _)] = Counter(labels.values()).most_common(1)

    def is_of(learnt: dict[str, float]) -> bool:
        agree = {number: learnt[number] == count for number, count in labels.items() if number in learnt}
        telling = [agree[number] for number in agree if labels[number] != usual]
        return 2 * sum(agree.values()) > len(labels) and 2 * sum(telling) >= len(telling)

    learnt = learnt_counts(model)
    of_all = {number: count for one in learnt for number, count in one.items()}
    return any(map(is_of, [*learnt, of_all]))


def learnt_counts(model: CounterModel) -> list[dict[str, float]]:
    """The `counts_by_number` that a model's facts tell it has learnt from, of each recording."""
    learnt = model.facts.get("labels", [])
    return [one for one in (learnt if isinstance(learnt, list) else [learnt]) if isinstance(one, dict)]


def counts_by_number(dataset: Dataset, rows: np.ndarray) -> dict[str, float]:
    """The counts of rows by their frames' numbers, as a model's facts keep them."""
    return dict(zip(map(str, dataset.numbers[rows].tolist()), dataset.counts[rows].tolist(), strict=True))


def check_labels(counts: np.ndarray, least: int, name: str) -> None:
    """DatasetError when fewer than `least` of the counts (n,) of the frames asked for are known."""
    n_labels = int(np.isfinite(counts).sum())
    if n_labels < least:
        few = ", or correct a model by these with crowdcount recalibrate" if n_labels >= MIN_COUNTS else ""
        raise DatasetError(
            f"expected {least} or more labelled frames that can be decoded, found {n_labels} in "
            f"{name} among those asked for; label more frames{few}"
        )


def span_of(frames: np.ndarray, rate: float | None) -> float:
    """Seconds from the first to the last of frames (k,) of footage; 0 of none, and where the rate (frames/s)
    is not known, as of ready-made features."""
    return float(np.ptp(frames)) / rate if rate and len(frames) else 0.0


def lie_in_one_stretch(dataset: Dataset, rows: np.ndarray) -> bool:
    """Whether rows (k,) lie within `SHORT_STRETCH` of a data set, as far as it is known how long that is."""
    return _has_row(dataset, math.ceil((np.ptp(rows) + 1) / SHORT_STRETCH))


def _has_row(dataset: Dataset, row: int) -> bool:
    """Whether a data set is known to have a row; what a video states of its length does not tell."""
    if dataset.source is not None:
        with dataset.open_footage() as source:
            if source.info.kind == "file":
                return bool(source.landmarks([row]))
    return row < len(dataset.numbers)
