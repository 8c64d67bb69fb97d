"""Correcting a count regressor by a few new counts: offset + scale * count, shrunken towards no change.

Source: C. M. Bishop, "Pattern Recognition and Machine Learning", 2006, section 3.3: linear regression with a
Gaussian prior, here of the errors on the predictions, with the variance of an error in proportion to
`models.intervals.count_scale` squared.
"""

from dataclasses import dataclass

import numpy as np

from .intervals import conformal_quantile, count_scale, normalised_scores
from .losses import GAUSSIAN_MAD

#: Precisions of the priors of the offset (people) and of the scale, in those of an error at one person.
#: Chosen on eight measured drifts (docs/decisions/2026-11-20-recalibration.md); a label at ten people weighs
#: against them with .1 and 10.
OFFSET_PRECISION = 0.03
SCALE_PRECISION = 0.3
#: Smaller scales are not believed: few labels could turn the counts into a constant, or around.
LEAST_SCALE = 0.1
#: Labels that differ by less tell nothing of the scale: least squares would take the counts' noise for people
#: who make no difference, and turn all counts into one.
LEAST_RANGE = 1.0
SLIP_DEVIATIONS = 6.0  # a slip is a label that is more standard deviations away from what all of them tell,
LEAST_SLIP = 3.0  # and farther than so many times an error at one person
LEAST_LABELS, MOST_SLIPS = 5, 0.25  # of fewer labels none is a slip, nor if more than this share would be


_PRIOR = np.diag([OFFSET_PRECISION, SCALE_PRECISION])
_REWEIGHTINGS = 50


@dataclass(frozen=True)
class Correction:
    """count' = offset + scale * count, never below 0."""

    offset: float
    scale: float

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Corrected counts (n,) float64."""
        return np.maximum(self.offset + self.scale * counts, 0.0)


def fit_correction(predictions: np.ndarray, labels: np.ndarray) -> Correction:
    """The most probable correction of predictions (n,) by labels (n,), of a scale from `LEAST_SCALE` on.

    The smaller n, the nearer to no change, which is the answer for n = 0. Labels that `are_alike` leave the
    scale as it is.
    """
    design, errors = _problem(predictions, labels)
    precision = design.T @ design + _PRIOR
    change = 0.0
    if not are_alike(labels):
        change = max(np.linalg.solve(precision, design.T @ errors)[1], LEAST_SCALE - 1.0)
    offset = design[:, 0] @ (errors - change * design[:, 1]) / precision[0, 0]  # the best with this change
    return Correction(float(offset), float(1.0 + change))


def are_alike(labels: np.ndarray) -> bool:
    """Whether labels (n,) differ by less than `LEAST_RANGE`, as none do."""
    return len(labels) == 0 or bool(np.ptp(labels) < LEAST_RANGE)


def _problem(predictions, labels) -> tuple[np.ndarray, np.ndarray]:
    """Design (n, 2) of offset and scale and errors (n,) of the predictions, in errors at one person."""
    weights = 1.0 / count_scale(predictions)
    return np.column_stack([weights, weights * predictions]), weights * (labels - predictions)


def are_slips(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which labels (n,) are far from what the others tell of predictions (n,), as 200 typed for 20.

    By the residuals of a correction with Huber's loss (threshold 1, iteratively reweighted least squares),
    which single labels hardly pull.
    """
    if len(labels) < LEAST_LABELS:
        return np.zeros(len(labels), bool)
    design, errors = _problem(predictions, labels)
    residuals = errors
    for _ in range(_REWEIGHTINGS):
        weighted = design / np.maximum(np.abs(residuals), 1.0)[:, None]
        residuals = errors - design @ np.linalg.solve(weighted.T @ design + _PRIOR, weighted.T @ errors)
    sizes = np.abs(residuals)
    is_slip = sizes > max(LEAST_SLIP, SLIP_DEVIATIONS * GAUSSIAN_MAD * np.median(sizes))
    return is_slip & (is_slip.mean() <= MOST_SLIPS)


def leave_one_out(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Predictions (n,), each corrected by the other labels alone."""
    others = ~np.eye(len(labels), dtype=bool)
    corrections = (fit_correction(predictions[rest], labels[rest]) for rest in others)
    return np.array([one(count) for one, count in zip(corrections, predictions, strict=True)])


def renewed_quantile(corrected: np.ndarray, labels: np.ndarray, level: float, former: float) -> float:
    """Half width of the interval in units of `count_scale`, from predictions (n,) of `leave_one_out`.

    The conformal quantile of their scores. Fewer than level / (1 - level) of them cannot promise the level (n
    cover n / (n + 1) of the frames at most): then the largest of them or the `former` quantile, whichever is
    larger.
    """
    scores = normalised_scores(labels, corrected)
    quantile = conformal_quantile(scores, level)
    return quantile if np.isfinite(quantile) else max(former, float(scores.max(initial=0.0)))
