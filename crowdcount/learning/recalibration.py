"""Correcting a model by a few new counts: of a camera that has drifted, or of one that it never saw."""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from models import (
    Correction,
    CountMetrics,
    are_alike,
    are_slips,
    count_metrics,
    fit_correction,
    leave_one_out,
    renewed_quantile,
)
from models.recalibration import LEAST_SCALE

from ..model import CounterModel, given_model
from ..scene import Scene
from . import MIN_COUNTS
from .datasets import Dataset
from .measuring import (
    FeatureTable,
    Progress,
    counts_by_number,
    counts_of,
    has_learnt,
    learnt_counts,
    lie_in_one_stretch,
    n_lost_labels,
)
from .training_range import most_labelled

#: Below this share of the smallest count that was corrected no label tells of the offset, which falls off.
LEAST_SHARE = 0.5
#: Counts that are on average so many times more or fewer people than a model counts contradict it, with one
#: person more in both.
MOST_TIMES = 10.0


@dataclass(frozen=True)
class Slip:
    """A count that is far from what the others tell: the frame, in the data set's own numbering, the count,
    and what the model, corrected by the others, counts there."""

    number: int
    label: float
    expected: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Recalibration:
    """A corrected model with what was found on the way.

    Attributes
    ----------
    model : CounterModel
    correction : Correction
        What became of the former model's counts, as `CounterModel.corrected` takes them.
    at_ten : float
        What the model counts where the former one counted 10 people.
    before : CountMetrics
        Error of the former model on the new counts.
    after : CountMetrics
        Error on each count of the former model corrected by the other counts.
    former_quantile : float
        Half width of the former model's interval at these counts, in units of `models.intervals.count_scale`;
        of a model for any scene, where person heights are known.
    are_alike : bool
        Whether the counts are too much alike to tell the scale, which is as it was then.
    is_far : bool
        Whether they are `MOST_TIMES` as many people as the former model counts, or as few.
    is_local : bool
        Whether all counts `lie_in_one_stretch` of the footage, as far as that is known.
    camera_moved : bool
        Whether the footage shows another view than the former model knows.
    is_learnt : bool
        Whether the former model has learnt from most of the counts, which then tell little of its error: the
        interval is at least as wide as before.
    slips : tuple of Slip
        Counts that take no part, `models.recalibration.are_slips`.
    seconds : float
    n_lost_labels : int
        See `n_lost_labels`.
    """

    model: CounterModel
    correction: Correction
    at_ten: float
    before: CountMetrics
    after: CountMetrics
    former_quantile: float
    are_alike: bool
    is_far: bool
    is_local: bool
    camera_moved: bool
    is_learnt: bool
    slips: tuple[Slip, ...]
    seconds: float
    n_lost_labels: int

    @property
    def contradicts(self) -> bool:
        """Whether the counts do not rise with the former model's, as those of other frames would not, or are
        far from them."""
        return self.correction.scale <= LEAST_SCALE or self.is_far

    @property
    def keeps_level(self) -> bool:
        """Whether there are counts enough for the interval's level by themselves."""
        return self.before.n >= np.ceil(self.model.level / (1 - self.model.level) - 1e-9)


def recalibrate(
    dataset: Dataset,
    model: CounterModel | str | Path,
    *,
    frames: str | None = None,
    scene: Scene | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Recalibration:
    """Correct a model's bias and scale by the counts of a data set, and renew its interval.

    Parameters
    ----------
    dataset : Dataset
        Five to ten counts, spread over the footage, do most of what can be done.
    model : CounterModel or path
    frames, scene, cache, progress
        As for `evaluate`. The new model keeps the scene in which it was corrected.

    Raises
    ------
    DatasetError
        When fewer than `MIN_COUNTS` of the frames asked for have a count.
    ModelError
        When the model was trained on other features than the data set's.
    VideoError, SceneError, OutputError
    """
    began = time.perf_counter()
    model = given_model(model)
    table, told = counts_of(model, dataset, frames, MIN_COUNTS, scene=scene, cache=cache, progress=progress)
    labels = table.labels_of(dataset).counts[table.rows]
    n_lost = n_lost_labels(dataset, frames, table.rows)
    counts = np.array([model.unfaded(count) for count in told])  # as `corrected` takes them
    is_slip = are_slips(counts, labels)
    left_out = zip(dataset.numbers[table.rows[is_slip]], labels[is_slip], counts[is_slip], strict=True)
    table, told, counts, labels = table.at(~is_slip), told[~is_slip], counts[~is_slip], labels[~is_slip]
    correction = fit_correction(counts, labels)
    slips = tuple(Slip(int(number), float(one), float(correction(count))) for number, one, count in left_out)
    held_out = leave_one_out(counts, labels)
    before, after = count_metrics(labels, told), count_metrics(labels, held_out)
    facts = {"on": dataset.name, "counts": len(labels), **asdict(correction), "leave_one_out": asdict(after)}
    former = model.half_width(held_out)
    quantile = renewed_quantile(held_out, labels, model.level, former)
    is_learnt = has_learnt(model, dataset, table)
    learnt = [*learnt_counts(model), counts_by_number(dataset, table.rows)]
    corrected = model.corrected(correction, LEAST_SHARE * float(told.min()))
    corrected = replace(
        corrected,
        most=max(corrected.most, most_labelled(labels)),
        quantile=max(quantile, former) if is_learnt else quantile,
        scene=table.scene,
        needs_colours=model.needs_colours and _is_coloured_as_its_view(table, model),
        facts=model.facts | {"labels": learnt, "recalibration": facts},
    )
    times = (labels.mean() + 1) / (told.mean() + 1)
    return Recalibration(
        model=corrected,
        correction=correction,
        at_ten=float(correction(model.unfaded(10.0))),
        before=before,
        after=after,
        former_quantile=former,
        are_alike=are_alike(labels),
        is_far=bool(max(times, 1 / times) >= MOST_TIMES),
        is_local=lie_in_one_stretch(dataset, table.rows),
        camera_moved=table.camera_moved,
        is_learnt=is_learnt,
        slips=slips,
        seconds=time.perf_counter() - began,
        n_lost_labels=n_lost,
    )


def _is_coloured_as_its_view(table: FeatureTable, model: CounterModel) -> bool:
    """Whether all frames are grey, or all coloured, as the view that the corrected model has of them is."""
    known, view = model.scene and model.scene.view, table.scene and table.scene.view
    if known is None or view is None:
        return False
    return bool((table.recoloured == known.is_recoloured_in(view.image_bgr)).all())
