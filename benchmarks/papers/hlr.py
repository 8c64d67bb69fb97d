"""Huber loss regression: J. Cavazza and V. Murino, "Active Regression with Adaptive Huber Loss"."""

from collections.abc import Iterator

import numpy as np

from benchmarks.tables import Table
from models import HuberLossRegressor

DIMENSIONS = 10
#: Share of inverted signs, the paper's Sørensen-Dice index and its error (Table III).
CURVE_FITTING = (
    (0.01, 1.0, 0.21), (0.10, 1.0, 0.23), (0.25, 0.89, 0.27), (0.50, 0.67, 0.75), (0.75, 0.39, 1.25)
)  # fmt: skip


def dice_index(changed: np.ndarray, removed: np.ndarray) -> float:
    """Sørensen-Dice index 2 |C and R| / (|C| + |R|) of two masks (n,); 1 when both are empty."""
    total = changed.sum() + removed.sum()
    return float(2 * (changed & removed).sum() / total) if total else 1.0


def curve_fitting(quick: bool) -> Iterator[Table]:
    """Section V-B: a line whose labels have their sign inverted in part; which labels go."""
    runs, n = (1, 60) if quick else (20, 1000)
    rows = []
    for share, paper_index, paper_error in CURVE_FITTING:
        cells = []
        for delta_xi, n_refinements in ((0.1, 10), ("auto", 10)):
            found = []
            for seed in range(runs):
                random = np.random.default_rng(seed)
                X = random.uniform(size=(n, DIMENSIONS))
                truth = X.mean(axis=1)
                changed = np.zeros(n, bool)
                changed[random.choice(n, round(share * n), replace=False)] = True
                model = HuberLossRegressor(
                    lam=1e-2, gamma=1e-3, delta_xi=delta_xi, n_refinements=n_refinements
                ).fit(X, np.where(changed, -truth, truth))
                error = np.linalg.norm(model.predict(X) - truth)
                found.append((dice_index(changed, model.removed_at_ > 0), error))
            cells += np.mean(found, axis=0).tolist()
        rows.append((f"{share:.0%}", paper_index, cells[0], cells[2], paper_error, cells[1], cells[3]))
    yield Table(
        "Noisy curve fitting",
        ("inverted", "index, paper", "delta_xi .1", '"auto"', "error, paper", "delta_xi .1", '"auto"'),
        rows,
    )


EXPERIMENTS = {"curve-fitting": curve_fitting}
