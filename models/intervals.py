"""Prediction intervals for counts by split conformal prediction on out-of-fold residuals.

Source: J. Lei, M. G'Sell, A. Rinaldo, R. Tibshirani and L. Wasserman, "Distribution-free predictive inference
for regression", JASA 2018, sections 2.2 and 5.2 (locally weighted scores).

The scores must come from predictions made without the frame's own block (`models.validation.out_of_fold`):
neighbouring frames are near copies, so residuals of a random split are too small. The guarantee supposes
exchangeable frames, which a video's are only roughly; coverage is therefore to be measured on later blocks.
"""

from statistics import NormalDist

import numpy as np

#: Standard deviation of the bias, in units of `count_scale`, that a model has in later footage of its camera
#: beside those of the blocks that it learnt from, when these take no time; and how many seconds of footage
#: halve its square: what drifts within them is in the blocks' biases already. Chosen on 70 splits of 16
#: cameras (docs/decisions/2026-11-29-later-footage.md).
LATER_BIAS = 0.35
HALVED_AFTER_S = 300.0


def count_scale(prediction: np.ndarray) -> np.ndarray:
    """Expected size of the error at a predicted count, up to one constant: sqrt(max(prediction, 1)).

    People are missed, doubled and hidden more or less independently, so that the variance of the error grows
    in proportion to the count, as a Poisson variable's; below one person the scale stays at 1, which keeps
    intervals from vanishing over an empty scene. On the published features of Mall and UCSD the coverage over
    quarters of the predicted count is more even with it than with a constant scale or one that is
    proportional to the count.
    """
    return np.sqrt(np.maximum(prediction, 1.0))


def normalised_scores(y: np.ndarray, prediction: np.ndarray, doubt: float = 0.0) -> np.ndarray:
    """Scores |y - prediction| / count_scale(prediction) of the frames with a label (NaN in y: none).

    With a `doubt`, what `count_interval` allows for it is taken off the errors first, in squares.
    """
    labelled = ~np.isnan(y)
    y, prediction = y[labelled], prediction[labelled]
    allowed = np.where(y < prediction, *_shares_in_doubt(doubt)) * prediction
    return np.sqrt(np.maximum((y - prediction) ** 2 - allowed**2, 0.0)) / count_scale(prediction)


def _shares_in_doubt(doubt: float) -> tuple[float, float]:
    """By what share of it a count is too high at most, and too low."""
    return -np.expm1(-doubt), np.expm1(doubt)


def conformal_quantile(scores: np.ndarray, level: float) -> float:
    """The score that a new frame's score does not exceed with probability >= `level`, 0 < level < 1.

    The ceil((n + 1) level)-th smallest of the n scores; infinity when there are too few of them for `level`
    (fewer than level / (1 - level)). ValueError for another level.
    """
    if not 0 < level < 1:
        raise ValueError(f"expected a level between 0 and 1, got {level}")
    scores = np.sort(scores)
    rank = int(np.ceil((len(scores) + 1) * level - 1e-9))
    return float(scores[rank - 1]) if rank <= len(scores) else np.inf


def blocked_quantile(blocks: list[np.ndarray], level: float) -> float:
    """Like `conformal_quantile`, for frames of a block (a day, a scene) that is not among those at hand.

    Errors within a block are alike: a block has a bias of its own, so that the quantile over all scores
    covers fewer than `level` of the next block's frames. Here each block is covered by the others' quantile,
    and what that has to be multiplied with to cover `level` of all frames multiplies the quantile over all.
    Where the others are too few for the level, their largest score stands in.

    blocks: scores of each block, two or more. Never less than `conformal_quantile` over all of them.
    """
    if len(blocks) < 2:
        raise ValueError(f"expected two or more blocks, got {len(blocks)}")
    over_all = conformal_quantile(np.concatenate(blocks), level)
    ratios = []
    for number, scores in enumerate(blocks):
        rest = np.concatenate(blocks[:number] + blocks[number + 1 :])
        others = min(conformal_quantile(rest, level), rest.max(initial=0.0))
        ratios.append(scores / others if others > 0 else np.where(scores > 0, np.inf, 0.0))
    return over_all * max(1.0, conformal_quantile(np.concatenate(ratios), level))


def later_quantile(quantile: float, level: float, span_s: float) -> float:
    """A quantile of `level` that was learnt within footage of `span_s` >= 0 seconds, for what comes later.

    Blocks of a few minutes are held out from between their neighbours; later, light and people are others.
    The bias that this adds is independent of the blocks' errors, so that the half widths add in squares.
    """
    variance = LATER_BIAS**2 / (1 + span_s / HALVED_AFTER_S)
    return float(np.hypot(quantile, NormalDist().inv_cdf((1 + level) / 2) * variance**0.5))


def count_interval(
    prediction: np.ndarray, quantile: float, doubt: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Lower (never below 0) and upper ends of prediction +- quantile * count_scale(prediction).

    A `doubt`, logarithm of how many times too many or too few people may be counted throughout a scene, adds
    in squares: sqrt((quantile * count_scale)^2 + (prediction (1 - e^-doubt))^2) below, (e^doubt - 1) above.
    """
    half = quantile * count_scale(prediction)
    below, above = (np.hypot(half, share * prediction) for share in _shares_in_doubt(doubt))
    return np.maximum(prediction - below, 0.0), prediction + above
