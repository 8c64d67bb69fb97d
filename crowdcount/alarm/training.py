"""Training an alarm: too crowded or not, learnt from operators' rough calls."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from models import BetaSVMClassifier, BlockedKFold, CountPredictor, out_of_fold
from models.predictor import column_statistics, standardised

from ..errors import DatasetError
from ..jobs import never_ends, source_stem
from ..learning import MIN_LABELS, N_BLOCKS
from ..learning.cache import kept
from ..learning.grids import grid_weights
from ..model import CounterModel, check_model_file
from ..scene import load_scene, view_arrays, view_of
from ..video import spread
from ..watcher import Show, Watcher, show_nothing
from ..wording import plural
from .calls import Calls, assign_calls, read_calls
from .measuring import KIND, Measuring, open_measuring

#: Frames that the fit takes at most, evenly spaced: neighbouring ones are near copies. Crowded, fine and
#: shared ones have equal parts of them, as far as there are so many: a rush of seconds among hours is learnt.
MAX_CALLED, MAX_UNCALLED = 400, 200
#: Mean cost of a call, for standardised columns the squares of whose weights sum to 1. It and the linear
#: kernel are fixed: chosen by cross-validation on dozens of calls, alarms were wrong more often, and curved
#: ones took a crowd larger than all that was called for none (docs/decisions/2026-11-27-alarm-settings.md).
C = 1.0
#: Of footage, the whole and the cells count as `grid_weights` has it, and a column of the texture view, which
#: changes most with light and crowd, this much of one of the others.
TEXTURE_WEIGHT = 0.3
#: What blocked cross-validation may choose: what to believe, with and without frames that nobody called.
#: Calls are taken as they are, alone, unless another choice lowers the error by LEAST_GAIN: less is chance.
LEAST_GAIN = 0.05
BELIEFS = {
    "as they are": {"max_iter": 1},
    "where unanimous": {"keep_certain": True},
    "none without doubt": {"keep_certain": False},
}
#: Violation of each SVM's optimality conditions. Its duality gap is then below 1e-4, and shares are learnt in
#: seconds: where all of 300 frames had one, 1e-6 took more than a quarter of an hour.
SOLVER_TOL = 1e-3
#: Frames whose calls are not believed that a report lists.
LISTED_FRAMES = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class AlarmTraining:
    """A trained alarm with what was found on the way.

    Attributes
    ----------
    model : CounterModel
        Of kind "alarm": its regressor's `values` are above 0 where it is too crowded, and ±1 at the margin.
    n_called, n_shared, n_silent : int
        Frames that somebody called, those only in stretches with a share, and the others.
    n_fitted : int
        Called and shared frames that the fit takes: MAX_CALLED at most.
    n_unjudged : int
        Frames in calls and stretches that are left out, as `crowdcount alarm run` would not judge them.
    operators : tuple of str
    missed, false : float
        Cross-validation: share of the crowded calls that are said to be fine, and of the fine ones that are
        said to be crowded; NaN without any.
    share_error : float
        Cross-validation: mean absolute error of the stretches' shares; NaN without any.
    one_block : bool
        Whether all crowded calls, or all fine ones, lie in one of the N_BLOCKS blocks of the called frames,
        and cannot be learnt from those of other times: `missed` and `false` say little.
    belief : str
        What the cross-validation chose: see BELIEFS.
    takes_silent : bool
        Whether frames that nobody called take part; chosen by it too.
    doubted : tuple of int
        Frames whose calls the alarm does not believe.
    only_answer : str or None
        "too crowded" or "fine" where the alarm says so of every frame that it learnt from.
    seconds : float
    """

    model: CounterModel
    n_called: int
    n_shared: int
    n_silent: int
    n_fitted: int
    n_unjudged: int
    operators: tuple[str, ...]
    missed: float
    false: float
    share_error: float
    one_block: bool
    belief: str
    takes_silent: bool
    doubted: tuple[int, ...]
    only_answer: str | None
    seconds: float


def train_alarm(
    source: str,
    labels: str | Path,
    *,
    scene: str | Path | None = None,
    every: int = 1,
    fps: float | None = None,
    cache: str | Path | None = None,
    show: Show = show_nothing,
) -> AlarmTraining:
    """Learn an alarm from calls; blocked cross-validation chooses what to believe.

    Parameters
    ----------
    source : str
        Footage or a table of features, see `open_measuring`; a recording, not a stream.
    labels : path
        CSV file of calls, see `crowdcount.alarm.calls.read_calls`.
    scene : path, optional
        Scene file.
    every, fps
        As for `open_measuring`.
    cache : path, optional
        Folder in which the measured features are kept for the next run; not those of a table or a web server.
    show : callable
        Is shown the progress, see `crowdcount.watcher.Show`.

    Raises
    ------
    DatasetError, VideoError, SceneError, OutputError
    """
    began = time.perf_counter()
    live = DatasetError(
        f"expected a recording that calls speak of, but {source_stem(source)} is live; record it first"
    )
    if never_ends(source):
        raise live
    statements = read_calls(labels)
    loaded = None if scene is None else load_scene(scene)
    with open_measuring(source, scene=loaded, every=every, fps=fps) as measuring:
        if measuring.opened is not None:
            raise live

        def measured() -> dict[str, np.ndarray]:
            found = []
            for frame in measuring.frames():
                found.append(frame)
                show("measuring", len(found), measuring.expected, None)
            judged = [frame.features for frame in found if frame.features is not None]
            if not judged:
                raise DatasetError(f"{source}: expected frames that can be measured, found none")
            arrays = {
                "rows": np.array([frame.index for frame in found]),
                "times_s": np.array([frame.time_s for frame in found]),
                "judged": np.array([frame.features is not None for frame in found]),
                "features": np.stack(judged),
            }
            return arrays | view_arrays(measuring.view())

        if measuring.scene is None or "://" in source:  # the cache knows footage by its files
            arrays = measured()
        else:
            settings = ("alarm", measuring.rate, measuring.columns, every, fps)
            arrays = kept(cache, source, measuring.scene, settings, measured)
        if "view" in arrays:
            measuring = replace(measuring, scene=replace(measuring.scene, view=view_of(arrays)))
    show("fitting", 0, None, None)
    said = assign_calls(statements, arrays["rows"], arrays["times_s"], str(labels), measuring.step)
    judged = arrays["judged"]
    n_unjudged = int((~np.isnan(said.confidence[~judged])).sum())
    calls = said.among(judged)
    confidence = calls.confidence
    known = confidence[~np.isnan(confidence)]
    are_alike = len(known) > 0 and np.ptp(known) == 0
    if len(known) < MIN_LABELS or are_alike:
        is_divided = are_alike and 0 < known[0] < 1 and not np.isnan(calls.votes).all()
        alike = ", on each of which the operators are divided" if is_divided else ", all the same"
        raise DatasetError(
            f"{labels}: expected calls or shares for at least {MIN_LABELS} measured frames, some of them too "
            f"crowded and some fine, found {len(known)} frames"
            + (alike if are_alike else "")
            + (f", and {n_unjudged} that cannot be judged" if n_unjudged else "")
            + "; add calls"
        )
    return _fit(measuring, calls, arrays["rows"][judged], arrays["features"], n_unjudged, began)


def _fit(
    measuring: Measuring, calls: Calls, frames: np.ndarray, X: np.ndarray, n_unjudged: int, began: float
) -> AlarmTraining:
    known = calls.confidence[~np.isnan(calls.confidence)]
    n_called, n_silent = int((~np.isnan(calls.votes)).sum()), len(X) - len(known)
    taken = _taken(calls)
    calls, frames, X = calls.among(taken), frames[taken], X[taken]
    confidence = calls.confidence
    called = np.flatnonzero(~np.isnan(confidence))
    mean, scale, *_ = column_statistics(X)
    weights = column_weights(measuring)
    weighted = standardised(X, mean, scale) * weights
    folds = BlockedKFold(N_BLOCKS)
    parts = (called, np.arange(len(X))) if n_silent else (called,)
    errors, belief, rows = _chosen(calls, weighted, folds, parts)
    fitted = _classifier(belief).fit(weighted[rows], confidence[rows])
    votes = calls.votes[rows]
    contradicted = (votes != 0.5) & ((votes > 0.5) != (fitted.confidence_ > 0.5)) & ~np.isnan(votes)
    low, high = X[rows].min(axis=0), X[rows].max(axis=0)
    expansion = fitted.expansion_.scaled(weights)
    predictor = CountPredictor(mean, scale, low, high, float(fitted.intercept_), (expansion,))
    is_crowded = predictor.values(X[rows]) > 0
    missed, false, share_error = errors
    takes_silent = rows is not called
    facts = {
        "trained_on": measuring.name,
        "called_frames": n_called,
        "fitted_frames": len(called),
        "cross_validation": {"missed": missed, "false": false, "share_error": share_error},
        "belief": belief,
        "takes_silent": takes_silent,
    }
    model = CounterModel(
        predictor,
        measuring.columns,
        scene=measuring.scene,
        rate=measuring.rate,
        person_height=measuring.person_height,
        facts=facts,
    )
    says_both = is_crowded.any() != is_crowded.all()
    return AlarmTraining(
        model=model,
        n_called=n_called,
        n_shared=len(known) - n_called,
        n_silent=n_silent,
        n_fitted=len(called),
        n_unjudged=n_unjudged,
        operators=calls.operators,
        missed=missed,
        false=false,
        share_error=share_error,
        one_block=_in_one_block(known, folds) or _in_one_block(confidence[called], folds),
        belief=belief,
        takes_silent=takes_silent,
        doubted=tuple(frames[rows][contradicted].tolist()),
        only_answer=None if says_both else ("fine", "too crowded")[int(is_crowded[0])],
        seconds=time.perf_counter() - began,
    )


def _classifier(belief: str) -> BetaSVMClassifier:
    options = {"kernel": "linear", "C": C, "balanced": True, "solver_tol": SOLVER_TOL}
    return BetaSVMClassifier(start="proportions", **options, **BELIEFS[belief])


def _chosen(
    calls: Calls, weighted: np.ndarray, folds: BlockedKFold, parts: Sequence[np.ndarray]
) -> tuple[tuple[float, float, float], str, np.ndarray]:
    """What blocked cross-validation chooses: its `call_errors`, what to believe, see `BELIEFS`, and one of
    the `parts` of the rows (n, d), of which the first has those that are called."""
    confidence = calls.confidence

    def judged(belief: str, rows: np.ndarray) -> tuple:
        predicted = np.full(len(confidence), np.nan)
        predicted[rows] = out_of_fold(_classifier(belief), weighted[rows], confidence[rows], folds)
        errors = call_errors(calls, predicted)
        return _known_mean(_known_mean(*errors[:2]), errors[2]), errors, belief, rows

    plain, *others = (judged(belief, part) for belief, part in product(BELIEFS, parts))
    best = min(others, key=lambda judgement: judgement[0])
    return (best if best[0] <= plain[0] - LEAST_GAIN else plain)[1:]


def column_weights(measuring: Measuring) -> np.ndarray:
    """Weights (d,) of the standardised columns, whose squares sum to 1; see `TEXTURE_WEIGHT`."""
    weights = np.ones(len(measuring.columns))
    if measuring.scene is not None:
        weights = grid_weights(measuring.columns)
        weights[measuring.views[-1]] *= TEXTURE_WEIGHT
    return weights / np.linalg.norm(weights)


def call_errors(calls: Calls, predicted: np.ndarray) -> tuple[float, float, float]:
    """Missed and false alarms among the votes, and the mean absolute error of the stretches' shares.

    predicted: (n,) float64, 1 too crowded, 0 fine, NaN where nothing was predicted. NaN where there are no
    such votes or stretches. A divided vote counts for both sides in its proportion.
    """
    judged = ~np.isnan(predicted) & ~np.isnan(calls.votes)
    votes, alarms = calls.votes[judged], predicted[judged]
    missed = _mean(1 - alarms, votes)
    false = _mean(alarms, 1 - votes)
    errors = []
    for rows, share in calls.bags:
        within = predicted[rows][~np.isnan(predicted[rows])]
        if len(within):
            errors.append(abs(within.mean() - share))
    return missed, false, float(np.mean(errors)) if errors else math.nan


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(values @ weights / weights.sum()) if weights.sum() > 0 else math.nan


def _known_mean(*values: float) -> float:
    """Mean of the values that are not NaN; NaN without any."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _in_one_block(confidence: np.ndarray, folds: BlockedKFold) -> bool:
    """Whether all that is rather too crowded, or rather fine, lies in one of the blocks."""
    sides = confidence > 0.5, confidence < 0.5
    return any(
        side.any() and not side[others].any() for others, _ in folds.split(confidence) for side in sides
    )


def _taken(calls: Calls) -> np.ndarray:
    """Which rows (n,) bool the fit takes, see `MAX_CALLED`."""
    crowded, fine, is_silent = calls.votes > 0.5, calls.votes < 0.5, np.isnan(calls.confidence)
    known = [np.flatnonzero(kind) for kind in (crowded, fine, ~(crowded | fine | is_silent))]
    taken = np.zeros(len(is_silent), bool)
    taken[_thinned(known, MAX_CALLED)] = True
    taken[_thinned([np.flatnonzero(is_silent)], MAX_UNCALLED)] = True
    return taken


def _thinned(kinds: list[np.ndarray], most: int) -> np.ndarray:
    """At most `most` of the rows of all kinds, as many of each as there are, or an equal part."""
    taken = []
    for left, rows in zip(range(len(kinds), 0, -1), sorted(kinds, key=len), strict=True):
        taken.append(rows[spread(most // left, len(rows))])
        most -= len(taken[-1])
    return np.concatenate(taken)


def train_alarm_model(
    source: str,
    model: str | Path,
    labels: str | Path,
    *,
    scene: str | Path | None = None,
    watcher: Watcher,
    **options,
) -> AlarmTraining:
    """Train an alarm, as `train_alarm` with its `options`, and save it as `model`."""
    check_model_file(model, source, labels, scene, kind=KIND)
    with watcher.progress() as show:
        training = train_alarm(source, labels, scene=scene, show=show, **options)
        training.model.save(model, KIND)
    return training


def alarm_report(training: AlarmTraining, model_path: str) -> list[str]:
    """What the training of an alarm found, for people."""
    shared = f", {training.n_shared} more in stretches with a share" if training.n_shared else ""
    is_thinned = training.n_fitted < training.n_called + training.n_shared
    thinned = f", {training.n_fitted} of them evenly spaced in each kind," if is_thinned else ""
    errors = [
        text.format(error)
        for text, error in (
            ("{:.0%} of the crowded calls missed", training.missed),
            ("{:.0%} of the fine ones false alarms", training.false),
            ("shares off by {:.2f} on average", training.share_error),
        )
        if not math.isnan(error)
    ]
    lines = [
        f"{model_path}: trained on {plural(training.n_called, 'called frame')} "
        f"({plural(len(training.operators), 'operator')}){shared}{thinned} in {training.seconds:.1f} s",
        f"cross-validation: {', '.join(errors)}",
        f"chosen by it: calls believed {training.belief}",
    ]
    if training.only_answer:
        said = "calls" if training.operators else "shares"
        remedy = "leave out an operator's" if len(training.operators) > 1 else "correct them"
        lines.append(
            f"the alarm says {training.only_answer} of every frame: {said} contradict each other too much, "
            f"or too few are of the other kind; add {said}, or {remedy}"
        )
    if training.one_block:
        lines.append(
            "it says little: all crowded calls, or all fine ones, lie in one of five blocks of the called "
            "frames; call frames of other times too"
        )
    if training.n_unjudged:
        unjudged = plural(training.n_unjudged, "called frame")
        lines.append(f"{unjudged} could not be judged, as in watching, and left out")
    if training.n_silent:
        part = "take part" if training.takes_silent else "are left out"
        lines.append(f"the {plural(training.n_silent, 'frame')} that nobody called {part}")
    if training.doubted:
        listed = " ".join(map(str, training.doubted[:LISTED_FRAMES]))
        more = len(training.doubted) - LISTED_FRAMES
        rest = f" and {more} more; --json lists all" if more > 0 else ""
        lines.append(f"calls not believed, frames: {listed}{rest}")
    return lines
