"""Losses of residuals, with their slopes."""

import numpy as np

#: A Gaussian's standard deviation over the median of its absolute values.
GAUSSIAN_MAD = 1.482602218505602


def huber_loss(residuals: np.ndarray, xi: float) -> tuple[float, np.ndarray]:
    """Sum of H_xi(r) over `residuals` (n,), and H'_xi(r) (n,): r clipped to [-xi, xi] (Cavazza & Murino,
    "Active Regression with Adaptive Huber Loss", eq. 2).

    H_xi(r) = r^2 / 2 for |r| <= xi, else xi |r| - xi^2 / 2; xi may be infinite.
    """
    slopes = residuals if np.isinf(xi) else np.clip(residuals, -xi, xi)
    return float(slopes @ (residuals - slopes / 2)), slopes


def usual_threshold(residuals: np.ndarray) -> float:
    """The threshold of the Huber loss that is usual for residuals of any shape: 1.345 of their standard
    deviations, told from the median of their sizes."""
    return 1.345 * GAUSSIAN_MAD * float(np.median(np.abs(residuals)))
