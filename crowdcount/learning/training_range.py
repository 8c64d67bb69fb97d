"""What lies outside of what a model of one camera has learnt from: its counts there are extrapolated."""

from collections.abc import Sequence

import numpy as np

from models import BlockedKFold
from models.predictor import column_statistics, standardised

from ..model import EdgeRange, Fullness

#: Share of frames of held-out blocks that the flag for frames outside the training range may leave unmarked.
USUAL_SHARE = 0.99
#: Of the spread of fullness, what the rounding of one frame's sum may add, which is not that of many at once.
_ROUNDING = 1e-9
#: Columns of `features.changes` that tell the scene's edges, whether they are new or not.
_EDGES = ".gradients_"


def usual_outside(rows: np.ndarray, folds: BlockedKFold) -> float:
    """Share of columns outside the other blocks' range that few frames of a held-out block exceed."""
    shares = []
    for train_rows, test_rows in folds.split(rows):
        low, high = rows[train_rows].min(axis=0), rows[train_rows].max(axis=0)
        shares.append(((rows[test_rows] < low) | (rows[test_rows] > high)).mean(axis=1))
    return float(np.quantile(np.concatenate(shares), USUAL_SHARE))


def fullness(
    rows: np.ndarray, labels: np.ndarray, folds: BlockedKFold, column_weights: np.ndarray | None
) -> Fullness:
    """How full frames look, by labelled rows (n, d), and what is fuller than all of these.

    Single columns of fuller frames may well lie in their range, and a model that has seen 4 to 8 people takes
    15 for 9: the sum over all columns tells them, each weighted by its correlation with the labels
    (docs/decisions/2026-11-26-fullness.md). Few frames of a held-out block exceed the fullest of the others
    by more than the margin allows for; of fewer labels than blocks, none does.

    Source: H. Wold, "Soft modelling by latent variables", 1975: the first weight vector of PLS1.
    """
    excess = []
    for train, test in folds.split(rows) if len(rows) >= folds.n_splits else ():
        weights = _weights(rows[train], labels[train], column_weights)
        taught = rows[train] @ weights
        excess.append((rows[test] @ weights - taught.max()) / (np.ptp(taught) or 1.0))
    margin = max(_ROUNDING, np.quantile(np.concatenate(excess), USUAL_SHARE)) if excess else _ROUNDING
    weights = _weights(rows, labels, column_weights)
    values = rows @ weights
    return Fullness(weights, float(values.max() + margin * np.ptp(values)))


def most_labelled(labels: np.ndarray) -> float:
    """The count beyond which a frame has more people than all labelled ones (n,), as it is rounded."""
    return float(labels.max() + 0.5)


def most_counted(labels: np.ndarray, predictions: np.ndarray, folds: BlockedKFold) -> float:
    """`most_labelled`, or what exceeds the largest label by more than few held-out predictions (n,) exceed
    those of the other blocks, in the range of these, where that is more; of fewer labels than blocks, the
    first."""
    if len(labels) < folds.n_splits:
        return most_labelled(labels)
    excess = [
        (predictions[test] - labels[train].max()) / (np.ptp(labels[train]) or 1.0)
        for train, test in folds.split(labels)
    ]
    margin = np.quantile(np.concatenate(excess), USUAL_SHARE) * np.ptp(labels)
    return max(most_labelled(labels), float(labels.max() + margin))


def edge_range(rows: np.ndarray, columns: Sequence[str]) -> EdgeRange | None:
    """The strength of the scene's edges in labelled rows (n, d); None where no column tells it.

    The ranges of a regressor are those of blurred and sharpened copies too, beyond which little is ever:
    these are of the frames as they are.
    """
    chosen = np.array([k for k, name in enumerate(columns) if _EDGES in name], np.int64)
    if not len(chosen):
        return None
    return EdgeRange(chosen, rows[:, chosen].min(axis=0), rows[:, chosen].max(axis=0))


def _weights(rows, labels, column_weights) -> np.ndarray:
    """Of the columns as they are (d,), for rows (n, d) and labels (n,)."""
    mean, scale, *_ = column_statistics(rows)
    weights = standardised(rows, mean, scale).T @ (labels - labels.mean()) / (len(rows) * scale)
    return weights if column_weights is None else np.square(column_weights) * weights
