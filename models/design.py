"""Which rows to label, so that a kernel regression learns most of all of them."""

import numpy as np

#: Noise variance of a label, of which a row's own variance is 1 on average.
NOISE = 0.01


def transductive_design(kernel: np.ndarray, places: np.ndarray, size: int, gap: float = 0.0) -> np.ndarray:
    """Rows to label, the most telling first.

    Each next row is the one whose label lowers the mean predictive variance over all rows most.

    Source: K. Yu, J. Bi and V. Tresp, "Active learning via transductive experimental design", ICML 2006,
    algorithm 1 (sequential). The kernel is centred and scaled to a mean variance of 1 first.

    Parameters
    ----------
    kernel : (n, n) float64
        Positive semi-definite kernel of the rows.
    places : (n,) float64
        Where the rows lie in time.
    size : int
        How many rows, at most n.
    gap : float
        No two of them lie nearer than this, as long as enough rows are left that do not.

    Returns
    -------
    (size,) int64. Where all rows are alike, the first ones that the gap allows.
    """
    n = len(kernel)
    if not 0 <= size <= n:
        raise ValueError(f"expected at most {n} rows to choose, got {size}")
    means = kernel.mean(axis=0)
    left = kernel - means - means[:, None] + means.mean()
    left /= np.trace(left) / n or 1.0
    chosen, free = np.empty(size, np.int64), np.ones(n, bool)
    for k in range(size):
        if not free.any():
            free = ~np.isin(np.arange(n), chosen[:k])
        variances = np.diag(left)
        gains = np.where(free, np.square(left).sum(axis=0) / (variances + NOISE), -1.0)
        best = chosen[k] = np.argmax(gains)
        free &= np.abs(places - places[best]) >= gap
        free[best] = False
        left = left - np.outer(left[:, best], left[best]) / (variances[best] + NOISE)
    return chosen
