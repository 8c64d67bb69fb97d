"""Which labels go: the refinements of Huber loss regression and a threshold that the data choose."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import ndimage, stats

from .losses import GAUSSIAN_MAD
from .objective import Minimizer, Objective

FALSE_SHARE = 0.15
SUSPECT_SHARE = 0.9
WINDOW = 21
PREDICTION_WINDOW = 41
NEGLIGIBLE = 1e-3


def outlier_threshold(
    residuals: np.ndarray, largest_label: float, predictions: np.ndarray | None = None
) -> float:
    """The size of residual beyond which labels are wrong rather than noisy; infinity when none is.

    A label is suspect when its residual is too large for Gaussian noise by the Benjamini-Hochberg procedure,
    which holds the expected share of good labels among the suspects at 15 %; Gaussian residuals have a
    suspect at all with that probability. The noise's scale is 1.48 times the median absolute residual over
    all labels, over the 21 around the label, or over the 41 whose predictions are nearest in rank, whichever
    is larger: where the model misses a run of frames, or all large (or small) values, its error is the
    model's, while an annotation error stands out among its neighbours. The scale counts as at least a
    thousandth of `largest_label`: less than that is no annotation error.

    The threshold is the largest residual that is left when everything beyond it goes, chosen as low as
    possible while at least 90 % of what goes is suspect.

    residuals: (n,) float64 of all labels, those that went before included: they are part of the share above.
    In the order of time (any order will do: it then merely compares with a sample of 21). `largest_label`
    >= 0 in their units. `predictions` (n,) of models that have not seen the label, or a wrong one would be
    found among its like; None leaves out the third scale, and can only find more. Zero when every label is
    suspect.
    """
    size = np.abs(residuals)
    scale = np.maximum(np.median(size), _running_median(size, WINDOW))
    if predictions is not None:
        order = np.argsort(predictions, kind="stable")
        scale[order] = np.maximum(scale[order], _running_median(size[order], PREDICTION_WINDOW))
    floor = max(NEGLIGIBLE * largest_label, np.finfo(float).tiny)
    tail = 2 * stats.norm.sf(size / np.maximum(GAUSSIAN_MAD * scale, floor))
    rank = np.arange(1, len(size) + 1)
    passed = np.sort(tail) <= FALSE_SHARE * rank / len(size)
    suspect = tail <= np.sort(tail)[passed].max(initial=-1.0)
    largest_first = np.argsort(-size, kind="stable")
    pure = np.cumsum(suspect[largest_first]) >= SUSPECT_SHARE * rank
    gone = rank[pure & suspect[largest_first]].max(initial=0)
    if gone == 0:
        return np.inf
    return float(size[largest_first[gone]]) if gone < len(size) else 0.0


def _running_median(values: np.ndarray, width: int) -> np.ndarray:
    return ndimage.median_filter(values, width, mode="reflect")


@dataclass(frozen=True, eq=False)
class Refinements:
    """The last refinement's minimizer and kept labels (l,), when each label went (-1: not), thresholds."""

    minimizer: Minimizer
    kept: np.ndarray
    removed_at: np.ndarray
    thresholds: list[float]


def refine(objective: Objective, n_refinements: int, delta_xi: float | Literal["auto"]) -> Refinements:
    """Drop labels and refit until the refinements, the thresholds or the labels end.

    A refinement lowers the threshold by `delta_xi`, or with "auto" half of the way to `outlier_threshold`,
    and the fit ends when nothing lies in between, when the new threshold is not positive or when it would
    leave no label. After a refinement the threshold is the largest kept residual, so that the minimizer of
    the quadratic loss on the kept labels is that of the Huber loss (Proposition 1); it is lower than before
    (Proposition 2).
    """
    kept = np.ones(len(objective.y), bool)
    removed_at = np.full(len(kept), -1)
    minimizer = objective.minimize(kept)
    thresholds = [float(np.abs(minimizer.residuals).max())]
    for refinement in range(1, n_refinements + 1):
        threshold = thresholds[-1]
        if delta_xi == "auto":
            threshold = (threshold + min(_outlier_threshold(objective, minimizer, kept), threshold)) / 2
        else:
            threshold -= delta_xi
        if not 0 < threshold < thresholds[-1]:
            break
        step = objective.active_set_step(kept, minimizer, threshold)
        remaining = kept & (np.abs(step) < threshold)
        while remaining.any():
            candidate = objective.minimize(remaining)
            size = np.abs(candidate.residuals)
            if size[remaining].max() <= threshold:
                break
            remaining &= size <= threshold
        else:
            break
        removed_at[kept & ~remaining] = refinement
        kept, minimizer = remaining, candidate
        thresholds.append(float(size[kept].max()))
    return Refinements(minimizer, kept, removed_at, thresholds)


def _outlier_threshold(objective: Objective, minimizer: Minimizer, kept: np.ndarray) -> float:
    """`outlier_threshold` of the residuals; held-out predictions are made only where it may be finite."""
    largest = float(np.abs(objective.y).max())
    threshold = outlier_threshold(minimizer.residuals, largest)
    if np.isinf(threshold):
        return threshold
    return outlier_threshold(minimizer.residuals, largest, objective.held_out_predictions(kept))
