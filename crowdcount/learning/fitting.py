"""Choosing a regressor's setting by blocked cross-validation, and fitting it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from models import (
    BlockedKFold,
    Copies,
    CountMetrics,
    CountPredictor,
    CountRegressor,
    count_metrics,
    fold_outputs,
    local_predictors,
    mean_predictor,
    out_of_fold_each,
)
from models.labels import without_slips
from models.predictor import standardised

from ..model import Examples, Fullness
from ..video import spread
from . import MIN_LABELS, N_BLOCKS
from .datasets import Dataset
from .grids import grid_weights
from .measuring import FeatureTable, check_labels, measure, selected
from .regressors import (
    ALONE,
    AS_GOOD,
    FEW_FEATURES_QUESTIONS,
    LOCAL_COEF0,
    LOCAL_LAMBDAS,
    LOCAL_SHARE,
    QUESTIONS,
    HuberLossSetting,
    Setting,
    has_few_features,
)
from .training_range import fullness

#: Frames without a label beyond this number are thinned out evenly: the fit's time grows with their cube.
MAX_UNLABELLED = 600
#: Share of the labels' spread that pruning leaves.
_LEAST_SPREAD = 0.25


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
    recording : str or None
        Name of the footage; None where all labels are of one.
    """

    number: int
    label: float
    prediction: float
    refinement: int
    recording: str | None = None


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

    @property
    def n_averaged(self) -> int:
        """Number of regressions whose mean predicts."""
        return len(self.averaged) or 1

    def facts(self) -> dict:
        """JSON-able, for a model's."""
        local = None if self.local is None else asdict(self.local)
        return {**asdict(self.setting), "averaged": self.n_averaged, "local": local}


@dataclass(frozen=True, eq=False)
class Learnt:
    """A model of the setting that was chosen.

    Attributes
    ----------
    best : Validated
    regressor : CountRegressor
        Fitted to all frames, by the setting itself.
    predictor : CountPredictor
        All that predicts: its mean with others', mixed with the cells' sum.
    are_kept : (n_labels,) bool
        Which labels were not pruned.
    """

    best: Validated
    regressor: CountRegressor
    predictor: CountPredictor
    are_kept: np.ndarray


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
        self._recordings = dataset.recordings
        self._features = table.features
        self._copies = table.copies or Copies(np.empty((0, table.features.shape[1])), np.empty(0, np.int64))
        self._counts = counts
        self._cell_views = table.cell_views
        self._local = local
        #: None of ready-made features, which are of no grids.
        self._grid_weights = None if table.scene is None else grid_weights(table.columns)
        self._views = [np.array(view) for view in table.views]  # lists take long to clone
        unlabelled = _thinned(np.flatnonzero(np.isnan(counts)))
        self._fitted = np.sort(np.concatenate([self.labelled, unlabelled]))

    def validated(self, setting: Setting) -> Validated:
        """Judge a setting."""
        return self.validated_each([setting])[0]

    def validated_each(self, settings: Sequence[Setting]) -> list[Validated]:
        """Judge settings, of which all or none take unlabelled frames."""
        rows = self._rows(settings[0])
        counts = self._counts[rows]
        every = out_of_fold_each(
            [self._regressor(setting) for setting in settings],
            self._features[rows],
            counts,
            self.folds,
            self._copies_of(rows),
        )
        known = [predictions[np.isfinite(counts)] for predictions in every]
        return [
            Validated(setting, count_metrics(self.labels, predictions), predictions)
            for setting, predictions in zip(settings, known, strict=True)
        ]

    def learnt(self, regressor: str = "hlr", kernel: str = "poly") -> Learnt:
        """The model of the setting that cross-validation chooses.

        It prunes no label where pruning takes nearly all that labels differ by: of people who are there in a
        few frames of one block, the other blocks say that they are none, and a model that has learnt so errs
        least.
        """
        for may_prune in (True, False):
            best = self.with_local(self.choose(regressor, kernel, may_prune))
            fitted, predictor = self.predictor(best)
            are_kept = self.removed_at(fitted) < 0
            if self.labels[are_kept].std() >= _LEAST_SPREAD * without_slips(self.labels).std():
                break
        return Learnt(best, fitted, predictor, are_kept)

    def choose(self, regressor: str = "hlr", kernel: str = "poly", may_prune: bool = True) -> Validated:
        """The setting of a regressor with the lowest mean absolute error, with its handicap, one of its
        `QUESTIONS` after the other; of HLR with few features, with others that are about as good and averaged
        with it. If it may not, it prunes no label."""
        questions = QUESTIONS[kernel][regressor]
        is_small = (kernel, regressor) == ("poly", "hlr") and has_few_features(self._views)
        best, judged = None, []
        for question in FEW_FEATURES_QUESTIONS if is_small else questions:
            settings = []
            for setting in question(best and best.setting, self.labels):
                if self._grid_weights is not None:
                    setting = setting.from_pixels
                if setting.takes_unlabelled and len(self._fitted) == len(self.labelled):
                    continue
                if setting.n_refinements and not may_prune:
                    continue
                if setting in [one.setting for one in judged]:  # a later question may ask it again
                    continue
                settings.append(setting)
            if settings:
                judged += self.validated_each(settings)
                best = min(judged, key=lambda one: one.setting.handicap * one.metrics.mae)
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
        """The whole's count mixed with the sum of local ones, where dots allow it, unless the whole alone has
        an error of less than `ALONE` times that; then `best` itself."""
        if self._local is None or not isinstance(best.setting, HuberLossSetting):
            return best
        whole, mixed = best.predictions, None
        rows, copies = self._features[self.labelled], self._copies_of(self.labelled)
        settings = [
            HuberLossSetting(LOCAL_COEF0, lam, texture_weight=best.setting.texture_weight)
            for lam in LOCAL_LAMBDAS
        ]
        regressors = [setting.regressor(None) for setting in settings]
        sums = np.empty((len(settings), len(whole)))
        for train_rows, test_rows in self.folds.split(rows):
            taught = copies.joined(rows, self._local, train_rows)
            predictors = local_predictors(self._cell_views, regressors, *taught)
            sums[:, test_rows] = [predictor.predict(rows[test_rows]) for predictor in predictors]
        for local, own_sums in zip(settings, sums, strict=True):
            predictions = (1 - LOCAL_SHARE) * whole + LOCAL_SHARE * own_sums
            metrics = count_metrics(self.labels, predictions)
            if mixed is None or metrics.mae < mixed.metrics.mae:
                mixed = replace(best, metrics=metrics, predictions=predictions, local=local)
        return best if best.metrics.mae < ALONE * mixed.metrics.mae else mixed

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
            predictor = predictor.mixed_with(self.fit_local(best.local), LOCAL_SHARE)
        return fitted, predictor

    def fit_local(self, local: HuberLossSetting) -> CountPredictor:
        """The cells' regressions, fitted to all frames with a label."""
        copies = self._copies_of(self.labelled)
        taught = copies.joined(self._features[self.labelled], self._local, np.arange(len(self.labelled)))
        return local_predictors(self._cell_views, [local.regressor(None)], *taught)[0]

    def fit(self, setting: Setting) -> CountRegressor:
        """The regressor of a setting, fitted to all frames."""
        rows = self._rows(setting)
        return self._regressor(setting).fit(*self._copies.joined(self._features, self._counts, rows))

    def examples(self, regressor: CountRegressor, setting: Setting) -> Examples:
        """What a compression needs to know of a regressor of `fit`."""
        rows = self._features[self.labelled]
        predictor = regressor.predictor_
        blocks = np.empty(len(rows), np.int64)
        for number, (_, test) in enumerate(self.folds.split(rows)):
            blocks[test] = number
        return Examples(
            rows=standardised(rows, predictor.mean, predictor.scale).astype(np.float32),
            numbers=self.numbers,
            frames=self._frames,
            labels=self.labels,
            blocks=blocks,
            outputs=fold_outputs(self._regressor(setting), rows, self.labels, self.folds),
        )

    def fullness(self, chosen: np.ndarray) -> Fullness:
        """How full a frame looks, and what is fuller than all labelled ones `chosen`, (n_labels,) bool."""
        rows = self._features[self.labelled[chosen]]
        return fullness(rows, self.labels[chosen], self.folds, self._grid_weights)

    def removed(self, regressor: CountRegressor, predictions: np.ndarray) -> tuple[RemovedLabel, ...]:
        """The labels that `fit` pruned, oddest first, with held-out predictions (n_labels,)."""
        removed_at = self.removed_at(regressor)
        removed = [
            RemovedLabel(
                number=int(self.numbers[i]),
                label=float(self.labels[i]),
                prediction=float(predictions[i]),
                refinement=int(removed_at[i]),
                recording=self._recordings[self._frames[i]] if self._recordings else None,
            )
            for i in np.flatnonzero(removed_at >= 0)
        ]
        return tuple(sorted(removed, key=lambda one: (one.refinement, -abs(one.label - one.prediction))))

    def removed_at(self, regressor: CountRegressor) -> np.ndarray:
        """In which refinement `fit` pruned each label, (n_labels,) int; -1: it is kept."""
        removed_at = getattr(regressor.regressor_, "removed_at_", None)
        if removed_at is None:
            return np.full(len(self.labels), -1)
        removed_at = removed_at[: len(removed_at) - len(self._copies.of)]  # which stand behind
        if len(removed_at) > len(self.labels):  # frames without a label took part
            removed_at = removed_at[np.isfinite(self._counts[self._fitted])]
        return removed_at

    def _rows(self, setting: Setting) -> np.ndarray:
        return self._fitted if setting.takes_unlabelled else self.labelled

    def _copies_of(self, rows) -> Copies:
        """The copies, by the places of what they are copies of among rows (k,) of the table, ascending."""
        of = self._copies.of
        return Copies(self._copies.X, np.where(of < 0, of, np.searchsorted(rows, of)))

    def _regressor(self, setting: Setting) -> CountRegressor:
        return CountRegressor(
            setting.regressor(self._views),
            by_precision=setting.by_precision,
            column_weights=self._grid_weights if setting.by_grid else None,
        )


def _thinned(unlabelled: np.ndarray) -> np.ndarray:
    """Evenly spread ones, `MAX_UNLABELLED` at the most, of rows (n,)."""
    return unlabelled[spread(MAX_UNLABELLED, len(unlabelled))]


def measure_labelled(
    dataset: Dataset, frames: str | None = None, *, least: int = MIN_LABELS, **options
) -> FeatureTable:
    """Measure the frames asked for, of those without a label `MAX_UNLABELLED` at the most; `least` or more,
    by default enough for a cross-validation, must have one. See `train`, and `measure`, which takes the
    `options` (scene, directions, with_copies, cache, progress)."""
    wanted = selected(dataset, frames)
    check_labels(dataset.counts[wanted], least, dataset.name)
    others = np.zeros(len(wanted), bool)
    others[_thinned(np.flatnonzero(wanted & np.isnan(dataset.counts)))] = True
    table = measure(dataset, wanted & np.isfinite(dataset.counts), others=others, **options)
    check_labels(dataset.counts[table.rows], least, dataset.name)
    return table
