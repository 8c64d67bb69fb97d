"""Training a counter on a data set, and measuring its error on one."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from models import (
    BlockedKFold,
    CountMetrics,
    CountPredictor,
    blocked_quantile,
    count_metrics,
    later_quantile,
    normalised_scores,
)
from models.labels import are_usual

from ..errors import DatasetError
from ..model import CounterModel, given_model
from ..scene import Scene
from ..smoothing import smoothed
from . import MIN_LABELS, N_BLOCKS
from .datasets import Dataset
from .directions import by_direction, tells_directions
from .fitting import Fitting, RemovedLabel
from .local_counts import local_counts
from .measuring import (
    FeatureTable,
    Progress,
    check_labels,
    counts_by_number,
    counts_of,
    has_learnt,
    lie_in_one_stretch,
    n_lost_labels,
    selected,
    span_of,
)
from .profile_training import ProfileFit, fit_profile, label_profiles
from .recordings import joined, measure_recordings, thinned
from .regressors import QUESTIONS, HuberLossSetting, Setting
from .training_range import edge_range, most_counted, usual_outside

#: What a model may learn.
TARGETS = ("count", "profile")


@dataclass(frozen=True, eq=False)
class DirectionErrors:
    """Errors of the counts of right- and left-moving people.

    Attributes
    ----------
    right, left, both : CountMetrics
        Of each, and of their sum as the number of people who move.
    """

    right: CountMetrics
    left: CountMetrics
    both: CountMetrics

    @classmethod
    def of(cls, labels: np.ndarray, predictions: np.ndarray) -> "DirectionErrors | None":
        """Of labels and predictions (2, n), NaN where unlabelled or unknown; None where all are."""
        known = np.isfinite(labels + predictions).all(axis=0)
        if not known.any():
            return None
        labels, predictions = labels[:, known], predictions[:, known]
        both = count_metrics(labels.sum(axis=0), predictions.sum(axis=0))
        return cls(*map(count_metrics, labels, predictions), both)


@dataclass(frozen=True, eq=False)
class DirectionsFit:
    """Trained counts of right- and left-moving people.

    Attributes
    ----------
    predictors : (CountPredictor, CountPredictor)
        Of right-moving people and of left-moving ones.
    errors : DirectionErrors
        By blocked cross-validation.
    """

    predictors: tuple[CountPredictor, CountPredictor]
    errors: DirectionErrors


@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """A trained model with what was found on the way.

    Attributes
    ----------
    model : CounterModel
    metrics : CountMetrics
        Blocked cross-validation error.
    kept : CountMetrics
        The same without the labels that were pruned.
    block_biases : tuple of float
        Bias of each block: how far the camera's days differ.
    n_unlabelled : int
    setting : Setting
        What the cross-validation chose.
    n_averaged : int
        Regressions whose mean counts, that of the setting among them.
    local : HuberLossSetting or None
        Of the cells' regressions, whose sum is mixed with the whole's count; None without dots or boxes,
        or where they did not lower the error.
    removed : tuple of RemovedLabel
    kept_range : (float, float)
        The fewest and the most people of a label that was not pruned.
    is_local : bool
        Whether all labels `lie_in_one_stretch` of the one recording, as far as that is known.
    seconds : float
    n_lost_labels : int
        See `n_lost_labels`.
    n_spared_labels : int
        See `thinned`.
    profile : ProfileFit or None
        The density over depth, when it was asked for.
    directions : DirectionsFit or None
        Counts of right- and left-moving people, when they were asked for.
    """

    model: CounterModel
    metrics: CountMetrics
    kept: CountMetrics
    block_biases: tuple[float, ...]
    n_unlabelled: int
    setting: Setting
    n_averaged: int
    local: HuberLossSetting | None
    removed: tuple[RemovedLabel, ...]
    kept_range: tuple[float, float]
    is_local: bool
    seconds: float
    n_lost_labels: int
    n_spared_labels: int
    profile: ProfileFit | None
    directions: DirectionsFit | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """Errors of a model on labelled frames.

    Attributes
    ----------
    metrics : CountMetrics
    numbers : (n,) int64
        Frames, in the data set's own numbering.
    labels, predictions : (n,) float64
    level : float
        Share of frames whose true count the model's intervals promise to hold.
    coverage : float
        Share whose they hold, of those that have one, which frames flagged `MEANINGLESS` have not; NaN
        without such frames, and for a model without intervals.
    outside : float
        Share of frames unlike those that the model learnt from, `CounterModel.is_outside` or by their
        colours; all of another scene.
    is_learnt : bool
        Whether the model has learnt from most of these labels: its error on others is larger.
    camera_moved : bool
        Whether the footage shows another view than the model knows.
    is_models_scene : bool
        Whether the region and the heights are those in which the model learnt, `CounterModel.is_for`.
    seconds : float
    n_lost_labels : int
        See `n_lost_labels`.
    directions : DirectionErrors or None
        In the frames whose motion is known, where the model counts right- and left-moving people and the
        labels tell them.
    """

    metrics: CountMetrics
    numbers: np.ndarray
    labels: np.ndarray
    predictions: np.ndarray
    level: float
    coverage: float
    outside: float
    is_learnt: bool
    camera_moved: bool
    is_models_scene: bool
    seconds: float
    n_lost_labels: int
    directions: DirectionErrors | None


def train(
    dataset: Dataset | Sequence[Dataset],
    *,
    regressor: str = "hlr",
    kernel: str = "poly",
    frames: str | None = None,
    scene: Scene | None = None,
    level: float = 0.9,
    target: str = "count",
    directions: bool = False,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Training:
    """Fit a counter to a data set, every setting chosen by blocked cross-validation.

    Parameters
    ----------
    dataset : Dataset or sequence of Dataset
        Several are recordings of one camera, see `measure_recordings`; dots and boxes count if all have them.
        Of more than `MOST_LABELS` labels that many are learnt from, evenly spread.
    regressor : str
        "hlr", Huber loss regression, or "r3", robust regularized kernel regression.
    kernel : "poly" or "rbf"
        Quadratic kernels; or, for HLR, RBF kernels, which learn from the labelled frames alone: such a model
        keeps these and can be compressed (`crowdcount.learning.compression`).
    frames : str, optional
        Frames "A-B,…" to train on, in the numbering of each data set; all by default. Those without a label
        take part as unlabelled ones, where all that is reached at little cost: see `MOST_FOR_OTHERS`.
    scene : Scene, optional
        By default the data set's own, or one estimated from its footage.
    level : float
        Share of frames whose true count the intervals shall hold.
    target : "count" or "profile"
        Learn, besides counts, where in the depth of the scene people are: see `crowdcount.profile.Depth`.
    directions : bool
        Learn, besides, how many people move right and left along the scene's axis, one HLR for each.
    cache : path, optional
        Folder in which measured features are kept and found again.
    progress : callable, optional
        Called with the number of frames measured, and of all.

    Raises
    ------
    DatasetError
        When there are too few labels (or, for RBF kernels, several recordings) or all are alike, the frames
        asked for are not there, or recordings do not go together.
    ValueError
        When there is no such regressor, kernel or target, the regressor does not take the kernel, or the
        level is no share.
    VideoError, SceneError, OutputError
    """
    _check_choice("kernel", kernel, QUESTIONS)
    _check_choice("regressor", regressor, QUESTIONS[kernel])
    _check_choice("target", target, TARGETS)
    if not 0 < level < 1:
        raise ValueError(f"expected a level between 0 and 1, found {level}")
    datasets = [dataset] if isinstance(dataset, Dataset) else list(dataset)
    _check_datasets(datasets, frames, kernel, target, directions)
    began = time.perf_counter()
    known = [counts_by_number(one, selected(one, frames) & np.isfinite(one.counts)) for one in datasets]
    datasets, n_spared = thinned(datasets, frames)
    tables = measure_recordings(
        datasets,
        frames,
        scene=scene,
        directions=directions,
        with_copies=kernel == "poly",
        cache=cache,
        progress=progress,
    )
    n_lost = sum(
        n_lost_labels(one, frames, table.rows) for one, table in zip(datasets, tables, strict=True)
    )
    span_s = sum(
        span_of(table.rows[np.isfinite(one.counts[table.rows])], table.rate)
        for one, table in zip(datasets, tables, strict=True)
    )
    dataset, table = joined(datasets, tables)
    directed = _fit_directions(dataset, table) if directions else None
    profile = _fit_profile(dataset, table) if target == "profile" else None
    has_view = table.scene is not None and table.scene.view is not None
    if kernel == "poly" and has_view and np.nanmin(dataset.counts[table.rows]) > 0:
        table = table.with_nobody()
    fitting = Fitting(table, dataset, _people_in_cells(table, dataset))
    learnt = fitting.learnt(regressor, kernel)
    best, is_kept = learnt.best, learnt.are_kept
    kept = count_metrics(fitting.labels[is_kept], best.predictions[is_kept])
    errors = best.predictions - fitting.labels
    # by regressors that prune no slip, too; what other blocks foretell, as a rush, is none
    is_trusted = is_kept & (are_usual(fitting.labels) | (np.abs(errors) < fitting.labels / 2))
    scores = normalised_scores(fitting.labels, best.predictions)
    blocks = [test for _, test in fitting.folds.split(errors)]
    quantile = blocked_quantile([scores[block] for block in blocks], level)
    labelled = table.features[fitting.labelled]
    model = CounterModel(
        learnt.predictor,
        table.columns,
        quantile=later_quantile(quantile, level, span_s),
        level=level,
        usual_outside=usual_outside(labelled, fitting.folds),
        fullness=fitting.fullness(is_trusted),
        most=most_counted(fitting.labels[is_trusted], best.predictions[is_trusted], fitting.folds),
        edges=edge_range(labelled, table.columns),
        needs_colours=has_view and not table.recoloured[fitting.labelled].any(),
        scene=table.scene,
        rate=table.rate,
        person_height=table.person_height,
        facts={
            "trained_on": dataset.name,
            "labelled_frames": len(errors),
            "labels": known,
            "cross_validation": asdict(best.metrics) | ({} if is_kept.all() else {"kept": asdict(kept)}),
            "regressor": regressor,
            "kernel": kernel,
            **best.facts(),
            **({} if profile is None else {"profile": profile.facts()}),
            **({} if directed is None else {"directions": asdict(directed.errors)}),
        },
        profile=None if profile is None else profile.predictor,
        examples=fitting.examples(learnt.regressor, best.setting) if kernel == "rbf" else None,
        directions=None if directed is None else directed.predictors,
    )
    return Training(
        model=model,
        metrics=best.metrics,
        kept=kept,
        block_biases=tuple(float(errors[block].mean()) for block in blocks),
        n_unlabelled=len(table.rows) - len(errors),
        setting=best.setting,
        n_averaged=best.n_averaged,
        local=best.local,
        removed=fitting.removed(learnt.regressor, best.predictions),
        kept_range=(float(fitting.labels[is_kept].min()), float(fitting.labels[is_kept].max())),
        is_local=len(datasets) == 1 and lie_in_one_stretch(dataset, table.rows[fitting.labelled]),
        seconds=time.perf_counter() - began,
        n_lost_labels=n_lost,
        n_spared_labels=n_spared,
        profile=profile,
        directions=directed,
    )


def _fit_directions(dataset: Dataset, table: FeatureTable) -> DirectionsFit:
    """One HLR for each direction, every setting chosen by blocked cross-validation."""
    predictors, labels, predictions = [], [], []
    for one, people in zip(table.directed, by_direction(dataset, table.scene, table.rate), strict=True):
        check_labels(people.counts[one.rows], MIN_LABELS, people.name)
        fitting = Fitting(one, people, _people_in_cells(one, people))
        learnt = fitting.learnt()
        predictors.append(learnt.predictor)
        labels.append(people.counts[one.rows])
        predictions.append(np.full(len(one.rows), np.nan))
        predictions[-1][fitting.labelled] = learnt.best.predictions
    return DirectionsFit(tuple(predictors), DirectionErrors.of(np.array(labels), np.array(predictions)))


def _fit_profile(dataset: Dataset, table: FeatureTable) -> ProfileFit:
    profiles = label_profiles(dataset, table.rows, table.scene)
    return fit_profile(table.features, profiles, BlockedKFold(N_BLOCKS), dataset.name)


def evaluate(
    dataset: Dataset,
    model: CounterModel | str | Path,
    *,
    frames: str | None = None,
    scene: Scene | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a model's error on the labelled frames of a data set.

    Parameters
    ----------
    dataset, frames, scene, cache, progress
        As for `train`; the scene is by default the model's own, then the data set's, then one estimated from
        its footage.
    model : CounterModel or path

    Raises
    ------
    DatasetError
        When no frame asked for has a label.
    ModelError
        When the model was trained on other features than the data set's.
    VideoError, SceneError, OutputError
    """
    began = time.perf_counter()
    model = given_model(model)
    directions = model.directions is not None and tells_directions(dataset)
    table, predictions = counts_of(
        model, dataset, frames, 1, scene=scene, directions=directions, cache=cache, progress=progress
    )
    seen = table.labels_of(dataset)
    labels = seen.counts[table.rows]
    contrasts = np.zeros(len(labels)) if table.least_contrast is None else table.least_contrast
    seen_so = zip(predictions, contrasts, strict=True)
    intervals = np.array([model.interval(count, table.scene, contrast) for count, contrast in seen_so])
    is_inside = (intervals[:, 0] <= labels) & (labels <= intervals[:, 1])
    if table.meaningless is not None:  # they are counted without an interval
        is_inside = is_inside[~table.meaningless]
    has_intervals = np.isfinite(model.quantile) and len(is_inside) > 0
    is_models_scene = model.is_for(table.scene)
    return Evaluation(
        metrics=count_metrics(labels, predictions),
        numbers=dataset.numbers[table.rows],
        labels=labels,
        predictions=predictions,
        level=model.level,
        coverage=float(np.mean(is_inside)) if has_intervals else math.nan,
        outside=_share_outside(model, table) if is_models_scene else 1.0,
        is_learnt=has_learnt(model, dataset, table),
        camera_moved=table.camera_moved,
        is_models_scene=is_models_scene,
        seconds=time.perf_counter() - began,
        n_lost_labels=n_lost_labels(dataset, frames, table.rows),
        directions=_direction_errors(model, seen, table),
    )


def _share_outside(model: CounterModel, table: FeatureTable) -> float:
    is_outside = model.is_outside(table.features)
    if model.needs_colours and table.recoloured is not None:
        is_outside |= table.recoloured
    return float(is_outside.mean())


def _direction_errors(model: CounterModel, dataset: Dataset, table: FeatureTable) -> DirectionErrors | None:
    """In the rows of a table of `counts_of`, as `crowdcount.counting` counts them; None of no row."""
    if table.directed is None:
        return None
    labels, predictions = [], []
    people = by_direction(dataset, table.scene, table.rate)
    for side, labelled, predictor in zip(table.directed, people, model.directions, strict=True):
        counts = np.full(len(side.rows), np.nan)
        counts[side.estimated] = predictor.predict(side.features[side.estimated])
        is_asked = np.isin(side.rows, table.rows)
        predictions.append(smoothed(side.times_s, counts, table.rate)[is_asked])
        labels.append(labelled.counts[side.rows[is_asked]])
    return DirectionErrors.of(np.array(labels), np.array(predictions))


def _check_datasets(
    datasets: Sequence[Dataset], frames: str | None, kernel: str, target: str, directions: bool
) -> None:
    """DatasetError where data sets cannot teach what is asked, before hours are measured."""
    if not datasets:
        raise DatasetError("expected a data set to learn from, or several, found none")
    if len(datasets) > 1 and kernel == "rbf":
        raise DatasetError(
            f"RBF kernels learn from one recording, found {len(datasets)}; take one, or quadratic kernels"
        )
    if len(datasets) > 1 and directions and any(one.directed is None for one in datasets):
        raise DatasetError(
            "directions are learnt from several recordings where the counts of each have the columns right "
            "and left; give these, or one recording"
        )
    for one in datasets:
        if target == "profile" and one.points is None and one.boxes is None:
            raise DatasetError(
                f"{one.name} does not tell where people are; train the profile on a Mall or UCSD folder, on "
                "dots (--counts) or on boxes (--mot)"
            )
    counts = np.concatenate([one.counts[selected(one, frames)] for one in datasets])
    counts = counts[np.isfinite(counts)]
    if len(counts) >= MIN_LABELS and np.ptp(counts) == 0:
        raise DatasetError(
            f"all {len(counts)} labels are {counts[0]:g}, and so would be every count; label frames of fewer "
            "or more people too"
        )


def _check_choice(name: str, found: str, known: Iterable[str]) -> None:
    if found not in known:
        raise ValueError(f"expected a {name} of {', '.join(known)}, found {found!r}")


def _people_in_cells(table: FeatureTable, dataset: Dataset) -> np.ndarray | None:
    """People (n_labels, n_cells) in each cell of the labelled rows; None without dots or boxes in all."""
    if table.cells is None:
        return None
    labelled = table.rows[np.isfinite(dataset.counts[table.rows])]
    people = local_counts(dataset, labelled, table.scene, table.cells)
    if people is None:
        return None
    return np.pad(people, ((0, 0), (0, len(table.cell_views) - people.shape[1])))  # the last may be empty
