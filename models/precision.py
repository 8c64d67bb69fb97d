"""How precisely each column measures a count, and the weights that this gives it."""

import numpy as np

from .losses import GAUSSIAN_MAD

#: Rounds of trimming, and the residual, in standard deviations, beyond which a label does not count.
ROUNDS = 3
TRIMMED = 3.0
#: A column is taken to leave at least this share of the labels' variance unexplained.
LEAST_UNEXPLAINED = 0.01


def precision_weights(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights (d,) > 0 of columns by the share of the labels' variance that each alone leaves unexplained.

    A column that follows the count is a measurement of it with noise; independent measurements are best added
    up in proportion to the inverse of their noise's variance. That is the weight, 1 / (1 - r^2) of the line
    of y on the column, scaled to a mean square of 1: a penalty on the coefficients of weighted columns lets
    precise ones have their say and keeps those small that would only fit the training part's peculiarities.

    The lines are fitted by least squares to the labels within three standard deviations (1.48 times the
    median absolute residual) of the line, found in three rounds, so that wrong labels do not make all columns
    look alike; not where only equal labels would be left, as of mostly empty scenes, which tell nothing. A
    constant column is as imprecise as can be.

    rows: (n, d) float64, standardised; y: (n,) float64, a label in every row.
    """
    kept = np.ones(rows.shape, bool)
    for _ in range(ROUNDS):
        count = kept.sum(axis=0)
        mean, label = (kept * rows).sum(axis=0) / count, (kept * y[:, None]).sum(axis=0) / count
        across, along = rows - mean, y[:, None] - label
        spread = np.sum(kept * across**2, axis=0)
        slope = np.sum(kept * across * along, axis=0) / np.where(spread > 0, spread, 1.0)
        residuals = along - slope * across
        variance = np.sum(kept * along**2, axis=0)
        unexplained = np.sum(kept * residuals**2, axis=0) / np.where(variance > 0, variance, 1.0)
        size = np.abs(residuals)
        near = size <= TRIMMED * GAUSSIAN_MAD * np.median(size, axis=0)
        labels = np.where(near, y[:, None], np.nan)
        kept = np.where(np.nanmin(labels, axis=0) < np.nanmax(labels, axis=0), near, kept)
    weights = 1 / np.maximum(unexplained, LEAST_UNEXPLAINED)
    return weights / np.sqrt(np.mean(weights**2))
