"""What training, evaluation, recalibration, audit and compression found, for people."""

import math
from collections.abc import Sequence

from ..model import BUNDLED
from ..wording import OTHER_SCENE, plural
from . import MIN_LABELS
from .audit import Audit
from .compression import Compression
from .fitting import RemovedLabel
from .measuring import SHORT_STRETCH
from .profile_training import ProfileFit
from .recalibration import Recalibration
from .recordings import MOST_LABELS
from .training import DirectionErrors, Evaluation, Training

#: Removed labels that a report lists.
LISTED_LABELS = 20
_LEARNT = "the model has learnt from most of these counts"
_OTHER_VIEW = "the footage shows another view than the model was trained on, as of a camera that was moved"


def training_report(training: Training, model_path: str) -> list[str]:
    """What a training found, for people."""
    removed = training.removed
    biases = " ".join(f"{bias:+.2f}" for bias in training.block_biases)
    unused = training.n_unlabelled and not training.setting.takes_unlabelled
    fewest, most = training.kept_range
    without = f" without {plural(len(removed), 'pruned label')}" if removed else ""
    directions = training.directions
    unlabelled = f"{training.n_unlabelled} unlabelled frames{' (not used)' if unused else ''}"
    return [
        f"{model_path}: trained on {training.metrics.n} labelled ({fewest:g} to {most:g} people) "
        f"and {unlabelled}{_of_recordings(training)} in {training.seconds:.1f} s",
        *_lost(training.n_lost_labels),
        *_spared(training.n_spared_labels, "learn from"),
        f"cross-validation on {len(training.block_biases)} blocks{without}: {_metrics(training.kept)}",
        *([f"with all labels: {_metrics(training.metrics)}"] if removed else []),
        f"bias per block: {biases}",
        *_interval(training),
        f"chosen by it: {training.setting.description}{_averaged(training)}{_local(training)}",
        *_removed(training),
        *_local_labels(training.is_local, "error"),
        *([] if training.profile is None else _profile(training.profile)),
        *([] if directions is None else _directions(directions.errors, ", cross-validated")),
    ]


def _of_recordings(training: Training) -> str:
    n_recordings = len(training.model.facts["labels"])
    return "" if n_recordings == 1 else f" of {n_recordings} recordings"


def _lost(n_labels: int) -> list[str]:
    if not n_labels:
        return []
    return [f"{plural(n_labels, 'label')} left out, of frames that are missing, damaged or of another shape"]


def _spared(n_labels: int, purpose: str) -> list[str]:
    if not n_labels:
        return []
    return [
        f"{plural(n_labels, 'label')} left out, between these: more than {MOST_LABELS} take long and tell "
        f"little more; choose others to {purpose} with --frames"
    ]


def _averaged(training: Training) -> str:
    if training.n_averaged == 1:
        return ""
    return f"; averaged with {plural(training.n_averaged - 1, 'other')} that are about as good"


def _interval(training: Training) -> list[str]:
    model = training.model
    if math.isfinite(model.quantile):
        return []
    return [
        f"no interval: {plural(training.metrics.n, 'label')} cannot promise {_percent(model.level)}; label "
        "more frames, or choose a lower --level"
    ]


def _local(training: Training) -> str:
    if training.local is None:
        return ""
    return f"; mixed with the sum of local counts, learnt from where people are (lam {training.local.lam:g})"


def audit_report(audit: Audit, files: Sequence[str]) -> list[str]:
    """What an audit found, for people, and where it is written."""
    lines = [f"{len(audit.labels)} labels in {audit.seconds:.1f} s"]
    lines += [*_lost(audit.n_lost_labels), *_spared(audit.n_spared_labels, "audit"), audit.verdict]
    if audit.removed:
        lines += _listed(audit.removed, "; -o FILE lists all")
    return lines + [f"written: {file}" for file in files]


def evaluation_report(evaluation: Evaluation) -> list[str]:
    """What an evaluation found, for people."""
    lines = [
        f"{plural(evaluation.metrics.n, 'labelled frame')} in {evaluation.seconds:.1f} s",
        *_lost(evaluation.n_lost_labels),
        _metrics(evaluation.metrics),
        *([] if evaluation.directions is None else _directions(evaluation.directions)),
    ]
    if not math.isnan(evaluation.coverage):
        lines.append(
            f"the interval holds the count of {evaluation.coverage:.0%} of the frames; the model promises "
            f"{_percent(evaluation.level)}"
        )
    if not evaluation.is_models_scene:
        lines.append(OTHER_SCENE)
    elif evaluation.outside >= 0.01:
        lines.append(
            f"{evaluation.outside:.0%} of the frames are unlike those that the model learnt from, or fuller: "
            "their counts are extrapolated"
        )
    if evaluation.is_learnt:
        lines.append(f"{_LEARNT}: its error on others is larger; evaluate on counts of other frames")
    if evaluation.camera_moved:
        lines.append(f"{_OTHER_VIEW}: give footage of that view, or train or recalibrate on this")
    return lines


def recalibration_report(found: Recalibration, path: str) -> list[str]:
    """What a recalibration changed, for people."""
    n, level = found.before.n, found.model.level
    fading = ""
    if found.model.offset_fades and found.correction.offset > 0:
        fading = f"; below half of the fewest counted here, {found.correction.offset:+.2f} falls off to 0"
    lines = [
        f"{path}: corrected by {plural(n, 'count')} in {found.seconds:.1f} s",
        *_lost(found.n_lost_labels),
        f"where it counted 10 people it counts {found.at_ten:.1f} now: count' = "
        f"{found.correction.offset:+.2f} + {found.correction.scale:.3f} count{fading}",
        f"before: {_metrics(found.before)}",
        f"after (each count by the others alone): {_metrics(found.after)}",
        f"half width of the interval in people, at 10: {found.former_quantile * 10**0.5:.1f} before, "
        f"{found.model.quantile * 10**0.5:.1f} now",
    ]
    if found.after.mae > found.before.mae:
        lines.append(
            "the correction does not lower the error on these counts, and may be chance: count more frames, "
            "or keep the model as it was"
        )
    if n >= MIN_LABELS and found.model.per_cell:
        lines.append("so many counts teach a model of this camera, too: compare with one by crowdcount train")
    if found.slips:
        named = (f"frame {one.number} ({one.label:g}, not {one.expected:.1f})" for one in found.slips)
        lines.append(
            f"{plural(len(found.slips), 'count')} left out, far from what the others tell: {', '.join(named)}"
            "; correct what is wrong, or count more such frames"
        )
    if found.is_learnt:
        lines.append(f"{_LEARNT}: the interval is at least as wide as before; give counts of other frames")
    elif not found.keeps_level:
        lines.append(
            f"{plural(n, 'count')} can promise an interval for {n / (n + 1):.0%} of the frames at most, not "
            f"for {_percent(level)}: it is at least as wide as before"
        )
    if found.camera_moved:
        lines.append(
            f"{_OTHER_VIEW}: train on this footage, or recalibrate {BUNDLED}, which knows no camera, and "
            "take what has the lower error on counts of other frames"
        )
    if found.are_alike:
        lines.append(
            "the counts are all alike and tell nothing of the scale, which stays as it was; count fuller or "
            "emptier frames too"
        )
    if found.contradicts:
        how = "hardly rise with what it counts, and are followed by a tenth alone"
        if found.is_far:
            how = "are far from what it counts"
        lines.append(
            f"the counts contradict the model: they {how}; check that they are of this camera and of these "
            "frames, numbered from 0, or train on them"
        )
    return lines + _local_labels(found.is_local, "correction")


def _local_labels(are_local: bool, what: str) -> list[str]:
    if not are_local:
        return []
    return [
        f"the labels lie within {SHORT_STRETCH:.0%} of the footage: {what} and interval may not hold for the "
        "rest; spread them over it"
    ]


def _directions(errors: DirectionErrors, how: str = "") -> list[str]:
    named = (("right-moving", errors.right), ("left-moving", errors.left), ("their sum", errors.both))
    return [f"{name}{how}: {_metrics(metrics)}" for name, metrics in named]


def _profile(fit: ProfileFit) -> list[str]:
    setting = fit.setting
    loss = "square loss" if setting.p is None else f"Huber loss with p {setting.p}, kappa {setting.kappa:.3g}"
    return [
        f"density over depth in {len(fit.predictor.center)} bands, cross-validated: a person is misplaced by "
        f"{fit.errors.distance:.3f} of the depth (mean profile: {fit.errors.baseline:.3f})",
        f"its own integral as a count, before it is scaled to the count: {_metrics(fit.integral)}",
        f"chosen by it: quadratic kernel with coef0 {setting.coef0:g}, lam {setting.lam:g}, {loss}",
    ]


def compression_report(found: Compression, path: str) -> list[str]:
    """What a compression found, for people."""
    full, chosen = found.full, found.chosen
    header = "".join(f"{name:>12s}" for name in chosen.selected)
    lines = [
        "mean absolute error on blocks of frames that neither the model nor its replica has seen, to the "
        "right with selected frames in the place of prototypes; and how far its counts are from the model's:",
        f"prototypes    error  change  from model       KiB  ms/frame{header}",
        f"{full.prototypes:10d} {full.metrics.mae:8.3f} {full.kibibytes:29.0f} {full.milliseconds:9.2f}"
        "  (the model)",
    ]
    for size in found.sizes:
        selected = "".join(f"{error:12.3f}" for error in size.selected.values())
        lines.append(
            f"{size.prototypes:10d} {size.metrics.mae:8.3f} {_change(size, full):>7s} "
            f"{size.difference:11.3f} {size.kibibytes:9.0f} {size.milliseconds:9.2f}{selected}"
        )
    return [*lines, f"{path}: {plural(chosen.prototypes, 'prototype')}, made in {found.seconds:.1f} s"]


def _change(size, full) -> str:
    return f"{size.metrics.mae / full.metrics.mae - 1:+.1%}" if full.metrics.mae else "unknown"


def _percent(level: float) -> str:
    """The level of an interval: 90%, 99.9%."""
    return f"{100 * level:g}%"


def _metrics(metrics) -> str:
    relative = "unknown (nobody in any frame)" if math.isnan(metrics.mre) else f"{metrics.mre:.1%}"
    return (
        f"MAE {metrics.mae:.3f}, MSE {metrics.mse:.3f}, RMSE {metrics.rmse:.3f}, MRE {relative}, "
        f"bias {metrics.bias:+.3f}"
    )


def _removed(training: Training) -> list[str]:
    removed = training.removed
    if not removed:
        return [training.setting.unpruned]
    return [
        f"{plural(len(removed), 'label')} pruned, further from what the others tell than noise is "
        "(prediction: by a model that has not seen the block; refinement: the lower, the odder):",
        *_listed(removed, "; --json lists all"),
    ]


def _listed(removed: Sequence[RemovedLabel], where_all: str) -> list[str]:
    """The first labels as a table."""
    lines = ["   frame    label  prediction  refinement"]
    lines += [
        f"{label.number:8d} {label.label:8.1f}  {label.prediction:10.1f}  {label.refinement:10d}"
        f"{'' if label.recording is None else f'  {label.recording}'}"
        for label in removed[:LISTED_LABELS]
    ]
    if len(removed) > LISTED_LABELS:
        lines.append(f"   and {len(removed) - LISTED_LABELS} more{where_all}")
    return lines
