"""Losses of residuals, with their slopes."""

import numpy as np


def huber_loss(residuals: np.ndarray, xi: float) -> tuple[float, np.ndarray]:
    """Sum of H_xi(r) over `residuals` (n,), and H'_xi(r) (n,): r clipped to [-xi, xi] (Cavazza & Murino,
    "Active Regression with Adaptive Huber Loss", eq. 2).

    H_xi(r) = r^2 / 2 for |r| <= xi, else xi |r| - xi^2 / 2; xi may be infinite.
    """
    slopes = residuals if np.isinf(xi) else np.clip(residuals, -xi, xi)
    return float(slopes @ (residuals - slopes / 2)), slopes
