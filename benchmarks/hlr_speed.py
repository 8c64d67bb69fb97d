"""What fitting and predicting with Huber loss regression costs, in ratios within one run.

Times are the process's own on one thread, the least of several interleaved runs: a busy machine disturbs
them little. Part of `python -m benchmarks.papers hlr`.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.neighbors import kneighbors_graph

import models.hlr
from models import HuberLossRegressor
from models.graphs import neighbor_laplacian
from models.kernels import Kernel, PolynomialMap

from .tables import Table

#: Columns of three views whose quadratic features are 217 in all.
VIEWS = [np.arange(0, 13), np.arange(13, 25), np.arange(25, 30)]
QUADRATIC = {"kernel": "poly", "kernel_params": {"degree": 2}}
N_NEIGHBORS = 10


def least_seconds(runs: int, *calls: Callable[[], object]) -> list[float]:
    """Least processor time of each call over interleaved runs."""
    times = np.empty((runs, len(calls)))
    for run in range(runs):
        for i, call in enumerate(calls):
            began = time.process_time()
            call()
            times[run, i] = time.process_time() - began
    return times.min(axis=0).tolist()


def correlated_rows(n: int, random: np.random.Generator) -> np.ndarray:
    """Rows (n, 30) whose columns share six causes, as features of frames do; standard deviation about 1."""
    return random.normal(size=(n, 6)) @ random.normal(size=(6, 30)) / 3 + random.normal(size=(n, 30)) / 2


def labels(X: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A quadratic function of X plus noise of deviation 1; every twentieth label 10 too high."""
    y = 3 * X[:, 0] + X[:, 3] * X[:, 20] + random.normal(size=len(X))
    y[::20] += 10
    return y


def whole_fit(quick: bool) -> Iterator[Table]:
    """The fit of the paper's crowd counting: n = 2000, 800 labels, three views of degree 2, T = 3."""
    n, n_labels, runs = (200, 80, 1) if quick else (2000, 800, 15)
    random = np.random.default_rng(0)
    X = correlated_rows(n, random)
    y = labels(X, random)
    y[n_labels:] = np.nan
    model = HuberLossRegressor(
        views=VIEWS, **QUADRATIC, delta_xi=1.0, n_refinements=3, n_neighbors=N_NEIGHBORS, solver="primal"
    )
    maps = [PolynomialMap(Kernel.resolve("poly", {"degree": 2}, len(view)), len(view)) for view in VIEWS]
    features = np.hstack([part.transform(X[:, view]) for part, view in zip(maps, VIEWS, strict=True)])
    laplacians = [neighbor_laplacian(X[:, view], N_NEIGHBORS) for view in VIEWS]

    def fit_with_graphs_given():
        given = iter(laplacians)
        with patch.object(models.hlr, "neighbor_laplacian", lambda *_: next(given)):
            model.fit(X, y)

    graphs, ridge, gram, given, fit = least_seconds(
        runs,
        lambda: [kneighbors_graph(X[:, view], N_NEIGHBORS) for view in VIEWS],
        lambda: Ridge().fit(features[:n_labels], y[:n_labels]),
        lambda: features.T @ features,
        fit_with_graphs_given,
        lambda: model.fit(X, y),
    )
    yield Table(
        "Whole fit",
        ("what", "ms", "ratio to graphs + Ridge"),
        [
            ("scikit-learn: three neighbour graphs", 1e3 * graphs, graphs / (graphs + ridge)),
            (f"scikit-learn: Ridge, {features.shape[1]} features", 1e3 * ridge, ridge / (graphs + ridge)),
            ("one pass of Gram products over all rows", 1e3 * gram, gram / (graphs + ridge)),
            (f"HLR without its graphs, T = {model.n_iter_}", 1e3 * given, given / (graphs + ridge)),
            (f"HLR, the whole fit, T = {model.n_iter_}", 1e3 * fit, fit / (graphs + ridge)),
        ],
        [
            f"n = {n}, {n_labels} labels, three views, degree 2, one thread, least of {runs} runs, seed 0. "
            "Target: <= 2."
        ],
    )


def growth(quick: bool) -> Iterator[Table]:
    """Time and memory of a fit against the number of labelled rows."""
    sizes = (200, 800) if quick else (1000, 10_000, 100_000, 1_000_000)
    rows = []
    for n in sizes:
        random = np.random.default_rng(0)
        X = correlated_rows(n, random)
        y = labels(X, random)
        figures = [figure for gamma in (0.0, 1e-6) for figure in _fit_figures(X, y, gamma)]
        rows.append((n, X.nbytes / 2**20, *figures))
    logarithms = np.log([[row[column] for row in rows] for column in (0, 2, 5)])
    slopes = [np.polyfit(logarithms[0], seconds, 1)[0] for seconds in logarithms[1:]]
    measures = ("s", "MiB", "optimality_")
    yield Table(
        "Growth with the number of rows",
        ("rows", "X itself, MiB", *measures, *(f"{measure}, graphs" for measure in measures)),
        rows,
        [
            f"Log-log slope: {slopes[0]:.2f}, with graphs {slopes[1]:.2f}. Target: <= 1.1.",
            "All rows labelled, three views, degree 2, D = 217, T = 3. MiB: the peak of what the fit "
            "allocates. Graphs: on 20,000 evenly spaced rows at most. One run each, one thread, seed 0.",
        ],
    )


def _fit_figures(X: np.ndarray, y: np.ndarray, gamma: float) -> tuple[float, float, float]:
    """Seconds, peak memory in MiB and certificate of one fit."""
    model = HuberLossRegressor(views=VIEWS, **QUADRATIC, gamma=gamma, delta_xi=1.0, n_refinements=3)
    tracemalloc.start()
    try:
        (seconds,) = least_seconds(1, lambda: model.fit(X, y))
        memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return seconds, memory / 2**20, model.optimality_


def prediction(quick: bool) -> Iterator[Table]:
    """Time of a prediction per row and view, in batches."""
    n, runs = (2000, 1) if quick else (100_000, 5)
    random = np.random.default_rng(0)
    X = correlated_rows(n, random)
    y = labels(X, random)
    rows = []
    for name, columns in (("three views, degree 2", VIEWS), ("one view, linear", None)):
        kernel = QUADRATIC if columns is not None else {}
        model = HuberLossRegressor(views=columns, **kernel, gamma=0).fit(X[:2000], y[:2000])
        (seconds,) = least_seconds(runs, lambda model=model: model.predict(X))
        rows.append((name, 1e6 * seconds / n / len(model.expansions_)))
    yield Table(
        "Prediction",
        ("model", "us per row and view"),
        rows,
        [f"Batches of {n} rows, one thread, least of {runs} runs. Target: <= 2."],
    )


def solver_comparison(quick: bool) -> Iterator[Table]:
    """Section V-A: the same objective by a general convex solver (cvxpy with Clarabel), twice formulated.

    y = beta.x (+ noise), x uniform in [0, 1]^10, beta = 1/10 each; T = 1, delta_xi = .1, lam = 1e-2,
    gamma = 1e-3. The solver is given the graph, and the xi and the labels that our fit found; it works at its
    own tolerance, and its predictions have to agree with ours.
    """
    sizes, runs = ((40,), 1) if quick else ((50, 100, 500, 1000), 30)
    paper = {50: (0.1, 1.0), 100: (0.1, 1.9), 500: (3.4, 36.0), 1000: (18.1, 179.7)}
    for noise in (0.0, 0.1):
        rows = []
        for n in sizes:
            random = np.random.default_rng(n)
            X = random.uniform(size=(n, 10))
            truth = X.mean(axis=1)
            y = truth + noise**0.5 * random.normal(size=n)
            rows.append((n, *_solver_figures(X, y, truth, runs), _ratio(paper.get(n))))
        yield Table(
            f"Against a convex solver, noise of variance {noise:g}",
            (
                "n", "HLR, ms", "graph given, ms", "error", "features, ms", "error", "ratio", "graph given",
                "kernel, ms", "ratio", "graph given", "ratio, paper",
            ),
            rows,
            [
                "Features and kernel: the solver with 10 coefficients and the manifold term as a 10 x 10 "
                "matrix, and with n coefficients w, h = K w. It is given the graph, xi and the labels that "
                "are kept. 'Graph given': HLR's fit with the same graph, which still checks its input, "
                "learns xi and the labels and certifies the result; 'ratio': to the whole fit, which builds "
                "the graph as well. Errors: root mean square of prediction - truth. Processor time on one "
                f"thread, least of {runs} interleaved runs (kernel: 1). Target at n = 1000: 30 and 1000.",
            ],
        )  # fmt: skip


def _ratio(seconds: tuple[float, float] | None) -> float | None:
    return None if seconds is None else seconds[1] / seconds[0]


def _solver_figures(X: np.ndarray, y: np.ndarray, truth: np.ndarray, runs: int) -> tuple[float, ...]:
    """Times in ms, errors and ratios of one row of the table."""
    model = HuberLossRegressor(lam=1e-2, gamma=1e-3, delta_xi=0.1, n_refinements=1).fit(X, y)
    laplacian = neighbor_laplacian(X, N_NEIGHBORS)
    kernel = X @ X.T
    predictions = {}

    def fit_with_graph_given():
        with patch.object(models.hlr, "neighbor_laplacian", lambda *_: laplacian):
            model.fit(X, y)

    def solve(name, map_to_predictions, penalty):
        predictions[name] = _convex_predictions(y, model.labelled_, model.xi_, map_to_predictions, penalty)

    def by_features():
        solve("features", X, 1e-2 * np.eye(X.shape[1]) + 1e-3 * X.T @ (laplacian @ X))

    def by_kernel():
        solve("kernel", kernel, 1e-2 * kernel + 1e-3 * kernel @ (laplacian @ kernel))

    fit, given, features = least_seconds(runs, lambda: model.fit(X, y), fit_with_graph_given, by_features)
    (by_kernel_seconds,) = least_seconds(1, by_kernel)
    predictions["fit"] = model.predict(X)
    for name, found in predictions.items():
        if not np.allclose(found, predictions["fit"], atol=1e-3):
            raise RuntimeError(f"the solver's {name} formulation does not solve the same problem")

    def error(name):
        return float(np.sqrt(np.mean((predictions[name] - truth) ** 2)))

    return (
        1e3 * fit, 1e3 * given, error("fit"),
        1e3 * features, error("features"), features / fit, features / given,
        1e3 * by_kernel_seconds, by_kernel_seconds / fit, by_kernel_seconds / given,
    )  # fmt: skip


def _convex_predictions(y, kept, xi, map_to_predictions, penalty) -> np.ndarray:
    """h (n,) = A u of the u that minimizes the Huber loss of the labels `kept` plus u.(P u), by the solver.

    `map_to_predictions` A (n, k); `penalty` P (k, k), positive semi-definite.
    """
    import cvxpy  # for the tests and this benchmark only

    unknown = cvxpy.Variable(map_to_predictions.shape[1])
    loss = cvxpy.sum(cvxpy.huber(y[kept] - map_to_predictions[kept] @ unknown, xi)) / 2 / kept.sum()
    problem = cvxpy.Problem(cvxpy.Minimize(loss + cvxpy.quad_form(unknown, cvxpy.psd_wrap(penalty))))
    problem.solve(solver=cvxpy.CLARABEL)
    return map_to_predictions @ unknown.value
