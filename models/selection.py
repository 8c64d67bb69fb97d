"""Prototypes chosen among the rows themselves: at random, spanning the data, or in the middle of clusters."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances, pairwise_distances_chunked

SELECTIONS = ("k-medians", "spanning", "random")


def select_rows(rows: np.ndarray, count: int, how: str, random: np.random.RandomState) -> np.ndarray:
    """Numbers (count,) of the rows (n, d) float64 that `how` chooses, all different; count <= n.

    "random"
        Drawn with equal chances.
    "spanning"
        The set median of all rows, then again and again the row that is farthest from its nearest chosen one.
    "k-medians"
        The set median of each cluster that k-means finds. Duplicate rows can leave clusters empty: the rest
        is then chosen as by "spanning".

    The set median of rows is the one with the smallest sum of Euclidean distances to the others. "spanning"
    takes time with the square of n. ValueError for another `how`.
    """
    if how == "random":
        return random.choice(len(rows), count, replace=False)
    if how == "spanning":
        return _spanned(rows, [_set_median(rows)], count)
    if how != "k-medians":
        raise ValueError(f"expected one of {list(SELECTIONS)}, got {how!r}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        labels = KMeans(count, n_init=1, random_state=random).fit(rows).labels_
    clusters = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return _spanned(rows, [cluster[_set_median(rows[cluster])] for cluster in clusters], count)


def _set_median(rows: np.ndarray) -> int:
    sums = pairwise_distances_chunked(rows, reduce_func=lambda distances, start: distances.sum(axis=1))
    return int(np.argmin(np.concatenate(list(sums))))


def _spanned(rows: np.ndarray, chosen: list[int], count: int) -> np.ndarray:
    """`chosen` and the farthest rows from them, one after the other, until there are `count`."""
    chosen = list(chosen)
    if len(chosen) == count:
        return np.array(chosen)
    distance = pairwise_distances(rows, rows[chosen]).min(axis=1)
    distance[chosen] = -1.0
    while len(chosen) < count:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, pairwise_distances(rows, rows[chosen[-1:]])[:, 0])
        distance[chosen[-1]] = -1.0
    return np.array(chosen)
