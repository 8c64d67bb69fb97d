"""Training a counter on a data set, and measuring its error on one."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from models import (
    BlockedKFold,
    CountMetrics,
    CountPredictor,
    CountRegressor,
    LocalCountRegressor,
    blocked_quantile,
    count_metrics,
    fold_outputs,
    mean_predictor,
    normalised_scores,
    out_of_fold,
)
from models.kernels import DUAL_ROWS
from models.predictor import standardised

from .cache import kept
from .counting import ASSUMED_RATE, check_rate, learn_scene, make_pipeline, scene_of_footage
from .datasets import Dataset
from .directions import by_direction
from .errors import DatasetError, ModelError
from .local_counts import local_counts
from .model import CounterModel, Examples
from .pipeline import Pipeline
from .profile_training import ProfileFit, fit_profile, label_profiles
from .regressors import (
    AS_GOOD,
    FEW_FEATURES_QUESTIONS,
    KERNELS,
    LOCAL_COEF0,
    LOCAL_LAMBDAS,
    LOCAL_SHARE,
    TEXTURE_WEIGHT,
    HuberLossSetting,
    Setting,
    has_few_features,
)
from .scene import Scene, import_scene
from .video import Position, open_source

#: Blocks of the cross-validation.
N_BLOCKS = 5
#: With fewer labels there is nothing to validate on.
MIN_LABELS = 2 * N_BLOCKS
#: Frames without a label beyond this number are thinned out evenly: the fit's time grows with their cube.
MAX_UNLABELLED = 600
#: Share of frames of held-out blocks that the flag for frames outside the training range may mark.
USUAL_SHARE = 0.99

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Measured frames.

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
    """

    rows: np.ndarray
    features: np.ndarray
    columns: tuple[str, ...]
    views: list[list[int]]
    scene: Scene | None = None
    rate: float | None = None
    person_height: float | None = None
    cell_views: Sequence[Sequence[np.ndarray]] = ()
    cells: np.ndarray | None = None
    directed: "tuple[FeatureTable, FeatureTable] | None" = None


@dataclass(frozen=True)
class RemovedLabel:
    """A label that Huber loss regression does not trust.

    Attributes
    ----------
    number : int
        The frame, in the data set's own numbering.
    label, prediction : float
        People as annotated, and as predicted by a model that has not seen the frame's block.
    refinement : int
        At which refinement (1, 2, …) the label went: the earlier, the odder.
    """

    number: int
    label: float
    prediction: float
    refinement: int


@dataclass(frozen=True, eq=False)
class Validated:
    """A setting with its blocked cross-validation error and held-out predictions (n_labels,) float64.

    `averaged`: the settings, itself among them, whose mean predicts; empty where it predicts alone.
    `local`: of the cells' regressions, whose sum is mixed with the whole's count; None without them.
    """

    setting: Setting
    metrics: CountMetrics
    predictions: np.ndarray
    averaged: tuple[Setting, ...] = ()
    local: HuberLossSetting | None = None


class Fitting:
    """Measured frames that a regressor is fitted to, and the choice of its setting.

    Attributes
    ----------
    labelled : (n_labels,) int64
        Rows of the table that have a label.
    numbers : (n_labels,) int64
        Their frames, in the data set's own numbering.
    labels : (n_labels,) float64
    folds : BlockedKFold
    """

    def __init__(self, table: FeatureTable, dataset: Dataset, local: np.ndarray | None = None):
        """`local` (n_labels, n_cells) float64: people in each cell of the labelled rows, for `with_local`."""
        counts = dataset.counts[table.rows]
        self.labelled = np.flatnonzero(np.isfinite(counts))
        self._frames = table.rows[self.labelled]
        self.numbers = dataset.numbers[self._frames]
        self.labels = counts[self.labelled]
        self.folds = BlockedKFold(N_BLOCKS)
        self._features = table.features
        self._counts = counts
        self._cell_views = table.cell_views
        self._local = local
        self._is_footage = table.scene is not None
        self._views = [np.array(view) for view in table.views]  # lists take long to clone
        unlabelled = np.flatnonzero(np.isnan(counts))
        thinned = unlabelled[:: max(1, -(-len(unlabelled) // MAX_UNLABELLED))]
        self._fitted = np.sort(np.concatenate([self.labelled, thinned]))

    def validated(self, setting: Setting) -> Validated:
        """Judge a setting."""
        rows = self._rows(setting)
        counts = self._counts[rows]
        predictions = out_of_fold(self._regressor(setting), self._features[rows], counts, self.folds)
        predictions = predictions[np.isfinite(counts)]
        return Validated(setting, count_metrics(self.labels, predictions), predictions)

    def choose(self, regressor: str = "hlr", kernel: str = "poly") -> Validated:
        """The setting of a regressor of `KERNELS` with the lowest mean absolute error, one question after the
        other; of HLR with few features, with others that are about as good and averaged with it."""
        questions = KERNELS[kernel][regressor]
        is_small = (kernel, regressor) == ("poly", "hlr") and has_few_features(self._views)
        best, judged = None, []
        for question in FEW_FEATURES_QUESTIONS if is_small else questions:
            for setting in question(best and best.setting, self.labels):
                if self._is_footage and isinstance(setting, HuberLossSetting):
                    setting = replace(setting, texture_weight=TEXTURE_WEIGHT)
                if setting.takes_unlabelled and len(self._fitted) == len(self.labelled):
                    continue
                judged.append(self.validated(setting))
                if best is None or judged[-1].metrics.mae < best.metrics.mae:
                    best = judged[-1]
        return self._averaged(best, judged) if is_small else best

    def _averaged(self, best: Validated, judged: list[Validated]) -> Validated:
        """The mean of those that are about as good as the best, and weight columns and prune labels alike."""
        chosen = [
            one
            for one in judged
            if one.metrics.mae <= (1 + AS_GOOD) * best.metrics.mae
            and one.setting.by_precision == best.setting.by_precision
            and one.setting.n_refinements == best.setting.n_refinements
        ]
        predictions = np.mean([one.predictions for one in chosen], axis=0)
        metrics = count_metrics(self.labels, predictions)
        return Validated(best.setting, metrics, predictions, tuple(one.setting for one in chosen))

    def with_local(self, best: Validated) -> Validated:
        """The whole's count mixed with the sum of local ones, where dots allow it and it lowers the error;
        else `best` itself."""
        if self._local is None or not isinstance(best.setting, HuberLossSetting):
            return best
        whole = best.predictions
        rows = self._features[self.labelled]
        for lam in LOCAL_LAMBDAS:
            local = HuberLossSetting(LOCAL_COEF0, lam, texture_weight=best.setting.texture_weight)
            sums = np.empty_like(whole)
            for train_rows, test_rows in self.folds.split(rows):
                fitted = self._local_regressor(local).fit(rows[train_rows], self._local[train_rows])
                sums[test_rows] = fitted.predict(rows[test_rows])
            predictions = (1 - LOCAL_SHARE) * whole + LOCAL_SHARE * sums
            metrics = count_metrics(self.labels, predictions)
            if metrics.mae < best.metrics.mae:
                best = replace(best, metrics=metrics, predictions=predictions, local=local)
        return best

    def predictor(self, best: Validated) -> tuple[CountRegressor, CountPredictor]:
        """The regressor of the chosen setting, fitted to all frames, and what predicts with it: the mean of
        its count and of others' as good, mixed with the cells' sum where that was chosen too."""
        fitted = self.fit(best.setting)
        predictor = fitted.predictor_
        if best.averaged:
            predictor = mean_predictor([
                predictor if setting == best.setting else self.fit(setting).predictor_
                for setting in best.averaged
            ])
        if best.local is not None:
            predictor = predictor.mixed_with(self.fit_local(best.local).predictor_, LOCAL_SHARE)
        return fitted, predictor

    def fit_local(self, local: HuberLossSetting) -> LocalCountRegressor:
        """The cells' regressions, fitted to all frames with a label."""
        return self._local_regressor(local).fit(self._features[self.labelled], self._local)

    def fit(self, setting: Setting) -> CountRegressor:
        """The regressor of a setting, fitted to all frames."""
        rows = self._rows(setting)
        return self._regressor(setting).fit(self._features[rows], self._counts[rows])

    def examples(self, regressor: CountRegressor, setting: Setting) -> Examples:
        """What a compression needs to know of a regressor of `fit`."""
        rows = self._features[self.labelled]
        predictor = regressor.predictor_
        blocks = np.empty(len(rows), np.int64)
        for number, (_, test) in enumerate(self.folds.split(rows)):
            blocks[test] = number
        return Examples(
            standardised(rows, predictor.mean, predictor.scale).astype(np.float32),
            self.numbers,
            self._frames,
            self.labels,
            blocks,
            fold_outputs(self._regressor(setting), rows, self.labels, self.folds),
        )

    def removed(self, regressor: CountRegressor, predictions: np.ndarray) -> tuple[RemovedLabel, ...]:
        """The labels that `fit` pruned, oddest first, with held-out predictions (n_labels,)."""
        removed_at = getattr(regressor.regressor_, "removed_at_", np.full(len(self.labels), -1))
        if len(removed_at) > len(self.labels):  # frames without a label took part
            removed_at = removed_at[np.isfinite(self._counts[self._fitted])]
        removed = [
            RemovedLabel(
                int(self.numbers[i]), float(self.labels[i]), float(predictions[i]), int(removed_at[i])
            )
            for i in np.flatnonzero(removed_at >= 0)
        ]
        return tuple(sorted(removed, key=lambda one: (one.refinement, -abs(one.label - one.prediction))))

    def _rows(self, setting: Setting) -> np.ndarray:
        return self._fitted if setting.takes_unlabelled else self.labelled

    def _local_regressor(self, local: HuberLossSetting) -> LocalCountRegressor:
        return LocalCountRegressor(self._cell_views, local.regressor(None))

    def _regressor(self, setting: Setting) -> CountRegressor:
        return CountRegressor(setting.regressor(self._views), by_precision=setting.by_precision)


@dataclass(frozen=True, eq=False)
class DirectionsFit:
    """Trained counts of right- and left-moving people, with their held-out errors.

    Attributes
    ----------
    predictors : (CountPredictor, CountPredictor)
        Of right-moving people and of left-moving ones.
    right, left, both : CountMetrics
        Blocked cross-validation error of each, and of their sum as the number of people who move.
    """

    predictors: tuple[CountPredictor, CountPredictor]
    right: CountMetrics
    left: CountMetrics
    both: CountMetrics

    def facts(self) -> dict:
        """What is known of the training, JSON-able."""
        return {name: asdict(getattr(self, name)) for name in ("right", "left", "both")}


@dataclass(frozen=True, eq=False)
class Training:
    """A trained model with what was found on the way.

    Attributes
    ----------
    model : CounterModel
    metrics : CountMetrics
        Blocked cross-validation error.
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
    seconds : float
    profile : ProfileFit or None
        The density over depth, when it was asked for.
    directions : DirectionsFit or None
        Counts of right- and left-moving people, when they were asked for.
    """

    model: CounterModel
    metrics: CountMetrics
    block_biases: tuple[float, ...]
    n_unlabelled: int
    setting: Setting
    n_averaged: int
    local: HuberLossSetting | None
    removed: tuple[RemovedLabel, ...]
    seconds: float
    profile: ProfileFit | None = None
    directions: DirectionsFit | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Errors of a model on labelled frames.

    Attributes
    ----------
    metrics : CountMetrics
    numbers : (n,) int64
        Frames, in the data set's own numbering.
    labels, predictions : (n,) float64
    seconds : float
    """

    metrics: CountMetrics
    numbers: np.ndarray
    labels: np.ndarray
    predictions: np.ndarray
    seconds: float


def train(
    dataset: Dataset,
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
    dataset : Dataset
    regressor : str
        "hlr", Huber loss regression, or "r3", robust regularized kernel regression.
    kernel : "poly" or "rbf"
        Quadratic kernels; or, for HLR, RBF kernels, which learn from the labelled frames alone: such a model
        keeps these and can be compressed (`crowdcount.compression`).
    frames : str, optional
        Frames "A-B,…" to train on, in the data set's own numbering; all by default. Those without a label
        take part as unlabelled ones.
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
        When there are too few labels (or, for RBF kernels, too many), or the frames asked for are not there.
    ValueError
        When there is no such regressor, or it does not take the kernel.
    VideoError, SceneError, OutputError
    """
    known = KERNELS.get(kernel, {})
    if regressor not in known:
        raise ValueError(f"expected a regressor of {', '.join(known)}, found {regressor!r}")
    began = time.perf_counter()
    table = measure_labelled(
        dataset, frames, scene=scene, directions=directions, cache=cache, progress=progress
    )
    directed = _fit_directions(dataset, table) if directions else None
    profile = _fit_profile(dataset, table) if target == "profile" else None
    fitting = Fitting(table, dataset, _people_in_cells(table, dataset))
    is_rbf = kernel == "rbf"
    if is_rbf and len(fitting.labelled) > DUAL_ROWS:
        raise DatasetError(
            f"RBF kernels learn from at most {DUAL_ROWS} labelled frames, {dataset.name} has "
            f"{len(fitting.labelled)} among those asked for; choose some of them, or quadratic kernels"
        )
    best = fitting.with_local(fitting.choose(regressor, kernel))
    errors = best.predictions - fitting.labels
    scores = normalised_scores(fitting.labels, best.predictions)
    blocks = [test for _, test in fitting.folds.split(errors)]
    fitted, predictor = fitting.predictor(best)
    n_averaged = len(best.averaged) or 1
    model = CounterModel(
        predictor,
        table.columns,
        quantile=blocked_quantile([scores[block] for block in blocks], level),
        level=level,
        usual_outside=_usual_outside(table.features[fitting.labelled], fitting.folds),
        scene=table.scene,
        rate=table.rate,
        person_height=table.person_height,
        facts={
            "trained_on": dataset.name,
            "labelled_frames": len(errors),
            "cross_validation": asdict(best.metrics),
            "regressor": regressor,
            "kernel": kernel,
            **asdict(best.setting),
            "averaged": n_averaged,
            "local": None if best.local is None else asdict(best.local),
            **({} if profile is None else {"profile": profile.facts()}),
            **({} if directed is None else {"directions": directed.facts()}),
        },
        profile=None if profile is None else profile.predictor,
        examples=fitting.examples(fitted, best.setting) if is_rbf else None,
        directions=None if directed is None else directed.predictors,
    )
    return Training(
        model,
        best.metrics,
        tuple(float(errors[block].mean()) for block in blocks),
        len(table.rows) - len(errors),
        best.setting,
        n_averaged,
        best.local,
        fitting.removed(fitted, best.predictions),
        time.perf_counter() - began,
        profile,
        directed,
    )


def _fit_directions(dataset: Dataset, table: FeatureTable) -> DirectionsFit:
    """One HLR for each direction, every setting chosen by blocked cross-validation."""
    predictors, labels, predictions = [], [], []
    for one, people in zip(table.directed, by_direction(dataset, table.scene), strict=True):
        _check_labels(people, one.rows, MIN_LABELS)
        fitting = Fitting(one, people, _people_in_cells(one, people))
        best = fitting.with_local(fitting.choose())
        predictors.append(fitting.predictor(best)[1])
        labels.append(people.counts[one.rows])
        predictions.append(np.full(len(one.rows), np.nan))
        predictions[-1][fitting.labelled] = best.predictions
    right, left, both = (
        count_metrics(label, np.nan_to_num(prediction))
        for label, prediction in zip([*labels, sum(labels)], [*predictions, sum(predictions)], strict=True)
    )
    return DirectionsFit(tuple(predictors), right, left, both)


def _fit_profile(dataset: Dataset, table: FeatureTable) -> ProfileFit:
    if table.scene is None:
        raise DatasetError(f"{dataset.name} holds ready-made features, which do not tell where people are; "
                           "train a profile on footage")  # fmt: skip
    profiles = label_profiles(dataset, table.rows, table.scene)
    return fit_profile(table.features, profiles, BlockedKFold(N_BLOCKS), dataset.name)


def measure_labelled(
    dataset: Dataset,
    frames: str | None = None,
    *,
    scene: Scene | None = None,
    directions: bool = False,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> FeatureTable:
    """Measure the frames asked for, of which enough for a cross-validation must have a label; see `train`."""
    wanted = selected(dataset, frames)
    _check_labels(dataset, wanted, MIN_LABELS)
    table = measure(dataset, wanted, scene=scene, directions=directions, cache=cache, progress=progress)
    _check_labels(dataset, table.rows, MIN_LABELS)
    return table


def evaluate(
    dataset: Dataset,
    model: CounterModel,
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
        As for `train`; the scene is by default the model's own, then the data set's.
    model : CounterModel

    Raises
    ------
    DatasetError
        When no frame asked for has a label.
    ModelError
        When the model was trained on other features than the data set's.
    VideoError, SceneError, OutputError
    """
    began = time.perf_counter()
    wanted = selected(dataset, frames)
    table = measure_for(model, dataset, wanted, 1, scene=scene, cache=cache, progress=progress)
    predictions = model.predict(table.features)
    labels = dataset.counts[table.rows]
    labelled = np.isfinite(labels)
    return Evaluation(
        count_metrics(labels, predictions),
        dataset.numbers[table.rows][labelled],
        labels[labelled],
        predictions[labelled],
        time.perf_counter() - began,
    )


def measure_for(
    model: CounterModel,
    dataset: Dataset,
    wanted: np.ndarray,
    least: int,
    *,
    scene: Scene | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> FeatureTable:
    """Measure rows (n,) bool as a model wants them, of which `least` must have a label; see `evaluate`."""
    _check_labels(dataset, wanted, least)
    scene = scene or model.scene
    table = measure(dataset, wanted, scene=scene, model=model, cache=cache, progress=progress)
    model.check_columns(table.columns)
    _check_labels(dataset, table.rows, least)
    return table


def measure(
    dataset: Dataset,
    wanted: np.ndarray,
    *,
    scene: Scene | None = None,
    model: CounterModel | None = None,
    directions: bool = False,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> FeatureTable:
    """Measure the features of a data set's frames; ready-made ones are taken as they are.

    Parameters
    ----------
    dataset : Dataset
    wanted : (n,) bool
        Rows of the data set. Frames that cannot be decoded are left out.
    scene : Scene, optional
        By default the data set's own, or one estimated from its footage.
    model : CounterModel, optional
        Measure what this model counts from; for one that counts in any scene, features are (n, n_cells, d).
        By default, measure for a model to be trained.
    directions : bool
        Measure what moves right and left too; not with a model that counts in any scene.
    cache, progress
        As for `train`.
    """
    per_cell = model is not None and model.per_cell
    if dataset.source is None:
        if per_cell:
            raise ModelError(
                f"the model counts from footage, but {dataset.name} holds ready-made features; "
                "train a model on them"
            )
        if directions:
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

    with open_source(dataset.source, fps=dataset.fps) as source:
        if scene is None and dataset.scene_files:
            scene = import_scene(*dataset.scene_files)
        scene = scene_of_footage(source) if scene is None else scene.fitted(source.info.size_wh)
        rate = source.info.fps or ASSUMED_RATE
        if directions:
            check_rate(source.info.name, rate)
            by_direction(dataset, scene)  # an error, if any, before the footage is measured
        if model is None:
            pipeline = Pipeline(scene, rate, directions=directions)
        else:
            pipeline = make_pipeline(model, scene, rate, directions)
        columns = pipeline.quantity_names if per_cell else pipeline.schema.names

        def measured() -> dict[str, np.ndarray]:
            learn_scene(pipeline, source)
            rows, values, directed = _measured(source, pipeline, wanted, progress)
            arrays = {"rows": rows, "features": values}
            return arrays if directed is None else arrays | {"directed": directed}

        settings = (rate, list(columns), per_cell, directions, pipeline.person_height, wanted.tobytes())
        arrays = kept(cache, dataset.source, scene, settings, measured)
    rows, values, directed = arrays["rows"], arrays["features"], arrays.get("directed")
    if not per_cell:
        values = values.reshape(len(values), -1)
    table = FeatureTable(
        rows,
        values,
        tuple(columns),
        pipeline.schema.views(),
        scene,
        rate,
        pipeline.person_height,
        pipeline.cell_views(),
        pipeline.cells,
    )
    if not directions:
        return table
    if directed is None:
        raise DatasetError(f"{dataset.name} shows no motion in so few frames; choose more of them")
    known = np.isfinite(directed).all(axis=(1, 2, 3))
    rows = rows[known]
    schema = pipeline.direction_schema
    return replace(
        table,
        directed=tuple(
            FeatureTable(
                rows,
                directed[known, side].reshape(len(rows), -1),
                tuple(schema.names),
                schema.views(),
                scene,
                rate,
                pipeline.person_height,
                pipeline.cell_views(schema),
                pipeline.cells,
            )
            for side in range(2)
        ),
    )


def _people_in_cells(table: FeatureTable, dataset: Dataset) -> np.ndarray | None:
    """People (n_labels, n_cells) in each cell of the labelled rows; None without dots or boxes in all."""
    if table.cells is None:
        return None
    labelled = table.rows[np.isfinite(dataset.counts[table.rows])]
    return local_counts(dataset, labelled, table.scene, table.cells)


def _measured(source, pipeline, wanted, progress) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows (n,) and features (n, n_regions, n_quantities) of the frames from the first wanted to the last;
    and those of both directions (n, 2, n_regions, n), NaN where unknown, or None when not measured."""
    chosen = np.flatnonzero(wanted)
    rows, values, directed = [], [], []
    for frame in source.frames(Position(frame=int(chosen[0])), Position(frame=int(chosen[-1]) + 1)):
        if frame.image_bgr is not None:
            measured = pipeline.measure(frame.image_bgr)
            if wanted[frame.index]:
                rows.append(frame.index)
                values.append(measured.features)
                directed.append(measured.directed)
        if progress is not None:
            progress(frame.index - int(chosen[0]) + 1, int(chosen[-1] - chosen[0]) + 1)
    if not rows:
        raise DatasetError(f"none of the frames asked for in {source.info.name} could be decoded")
    known = [features for features in directed if features is not None]
    if known:
        unknown = np.full_like(known[0], np.nan)
        directed = np.stack([unknown if features is None else features for features in directed])
    return np.array(rows, np.int64), np.stack(values), directed if known else None


def selected(dataset: Dataset, frames: str | None) -> np.ndarray:
    """The rows (n,) bool of the frames asked for, all for None."""
    return np.ones(len(dataset.numbers), bool) if frames is None else dataset.select(frames)


def _check_labels(dataset: Dataset, rows: np.ndarray, least: int) -> None:
    """DatasetError when some rows (a mask or indices) have fewer than `least` labels."""
    n_labels = int(np.isfinite(dataset.counts[rows]).sum())
    if n_labels < least:
        raise DatasetError(
            f"expected at least {least} labelled frames that can be decoded, found {n_labels} in "
            f"{dataset.name} among those asked for; label more frames"
        )


def _usual_outside(rows: np.ndarray, folds: BlockedKFold) -> float:
    """Share of columns outside the other blocks' range that few frames of a held-out block exceed."""
    shares = []
    for train_rows, test_rows in folds.split(rows):
        low, high = rows[train_rows].min(axis=0), rows[train_rows].max(axis=0)
        shares.append(((rows[test_rows] < low) | (rows[test_rows] > high)).mean(axis=1))
    return float(np.quantile(np.concatenate(shares), USUAL_SHARE))
