"""What lies outside of what a model of one camera has learnt from: its counts there are extrapolated."""

import numpy as np

from models import BlockedKFold
from models.predictor import column_statistics, standardised

from ..model import Fullness

#: Share of frames of held-out blocks that the flag for frames outside the training range may leave unmarked.
USUAL_SHARE = 0.99


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
    by more than the margin allows for.

    Source: H. Wold, "Soft modelling by latent variables", 1975: the first weight vector of PLS1.
    """
    excess = []
    for train, test in folds.split(rows):
        weights = _weights(rows[train], labels[train], column_weights)
        taught = rows[train] @ weights
        excess.append((rows[test] @ weights - taught.max()) / (np.ptp(taught) or 1.0))
    margin = max(0.0, np.quantile(np.concatenate(excess), USUAL_SHARE))
    weights = _weights(rows, labels, column_weights)
    values = rows @ weights
    return Fullness(weights, float(values.max() + margin * np.ptp(values)))


def _weights(rows, labels, column_weights) -> np.ndarray:
    """Of the columns as they are (d,), for rows (n, d) and labels (n,)."""
    mean, scale, *_ = column_statistics(rows)
    weights = standardised(rows, mean, scale).T @ (labels - labels.mean()) / (len(rows) * scale)
    return weights if column_weights is None else np.square(column_weights) * weights
