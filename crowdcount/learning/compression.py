"""Shrinking a model of similarities to training frames into one of a few virtual prototypes.

The prototypes are fitted to the counts of the model itself (`models.SuperSparseRegressor`). What
that costs is measured on blocks of frames that neither the model nor its replica has seen.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from models import (
    CountMetrics,
    SuperSparseRegressor,
    blocked_quantile,
    count_metrics,
    later_quantile,
    normalised_scores,
    prototype_path,
)
from models.kernels import KernelSum, evaluate
from models.selection import SELECTIONS

from ..errors import ModelError
from ..model import CounterModel, Examples, Prototypes, check_model_file, load_model
from ..plots import PLOT_SUFFIXES, plot_compression
from ..storage import check_writable, refuse_to_replace
from ..watcher import Watcher
from .measuring import Progress, span_of

#: Numbers of prototypes that are tried.
SIZES = (20, 15, 10, 7, 5, 3, 2, 1)
#: What a prototype may cost, as a share of the model's error: "auto" takes another one only where it lowers
#: the error by more.
PRICE = 0.001
#: Weight of the squared coefficients, per training frame.
RELATIVE_LAMBDA = 1e-6
#: Iterations after each step of the path. On Mall, 100 of them lowered no error by more than 0.01.
MAX_ITERATIONS = 60
TOLERANCE = 1e-7
#: Training frames that are remembered for each prototype.
NEAREST = 6
#: They are at least 1/50 of the frames apart, as neighbouring frames are near copies.
APART = 50
#: Repetitions of a timed prediction, of which the fastest counts.
_REPETITIONS = 30


@dataclass(frozen=True, kw_only=True)
class CompressedSize:
    """What a number of prototypes comes to.

    Attributes
    ----------
    prototypes : int
        Or training frames, in the model as it was.
    metrics : CountMetrics
        Error on blocks that neither the model nor its replica has seen.
    kibibytes : float
        Of the numbers that prediction needs.
    milliseconds : float
        For the count of one frame from its features, by a processor's clock.
    difference : float
        Mean absolute difference from the counts of the model that it replicates, on the same blocks.
    selected : dict of str to float
        Mean absolute error with as many training frames in the place of virtual prototypes, by how these are
        selected.
    """

    prototypes: int
    metrics: CountMetrics
    kibibytes: float
    milliseconds: float
    difference: float
    selected: dict[str, float]


@dataclass(frozen=True, eq=False)
class Compression:
    """A compressed model, with what other sizes would have come to.

    Attributes
    ----------
    model : CounterModel
    full : CompressedSize
        The model as it was.
    sizes : tuple of CompressedSize
        From the most prototypes to the fewest.
    chosen : CompressedSize
        That of `model`.
    seconds : float
    """

    model: CounterModel
    full: CompressedSize
    sizes: tuple[CompressedSize, ...]
    chosen: CompressedSize
    seconds: float


def compress(
    model: CounterModel, prototypes: int | None = None, progress: Progress | None = None
) -> Compression:
    """Replace a model's training frames by virtual prototypes.

    Parameters
    ----------
    model : CounterModel
        Of similarities to training frames, with its examples (`train(…, kernel="rbf")`).
    prototypes : int, optional
        How many; by default the number m of `SIZES` with the smallest `_cost` + m times `PRICE` (as in the
        paper's eq. 8).
    progress : callable, optional
        Called with the number of steps done, and of all.

    Raises
    ------
    ModelError
        When the model cannot be compressed, or has not that many training frames.
    """
    began = time.perf_counter()
    examples, similarity = _similarity(model)
    smallest_part = len(examples.rows) - int(np.bincount(examples.blocks).max())
    if prototypes is not None and not 1 <= prototypes <= smallest_part:
        raise ModelError(
            f"expected 1 to {smallest_part} prototypes for a model of {len(examples.rows)} training frames, "
            f"got {prototypes}; ask for fewer"
        )
    largest = smallest_part if prototypes is None else prototypes
    sizes = sorted({size for size in SIZES if size <= largest} | ({prototypes} - {None}), reverse=True)
    task = _Task(examples, similarity, sizes, progress)

    held_out, selected = task.held_out()
    rows = examples.rows.astype(float)
    outputs = model.regressor.center + evaluate(model.regressor.expansions, rows)
    fits = list(task.path(rows, outputs))
    predictors = [
        replace(
            model.regressor,
            center=fit.intercept_,
            expansions=tuple(similarity.expansions(fit.prototypes_, fit.coef_)),
        )
        for fit in fits
    ]
    own = examples.outputs[np.arange(len(rows)), examples.blocks]
    times = _milliseconds([model.regressor, *predictors], rows[:1])
    full = CompressedSize(
        prototypes=len(model.regressor.expansions[0].support),
        metrics=count_metrics(examples.labels, own),
        kibibytes=_kibibytes(model.regressor),
        milliseconds=times[0],
        difference=0.0,
        selected={},
    )
    judged = tuple(
        CompressedSize(
            prototypes=size,
            metrics=count_metrics(examples.labels, held_out[size]),
            kibibytes=_kibibytes(predictor),
            milliseconds=milliseconds,
            difference=float(np.abs(held_out[size] - own).mean()),
            selected={how: count_metrics(examples.labels, selected[how, size]).mae for how in SELECTIONS},
        )
        for size, predictor, milliseconds in zip(sizes, predictors, times[1:], strict=True)
    )
    price = PRICE * full.metrics.mae
    if prototypes is None:
        chosen = min(judged, key=lambda one: _cost(one, full) + price * one.prototypes)
    else:
        chosen = next(one for one in judged if one.prototypes == prototypes)
    number = judged.index(chosen)
    scores = normalised_scores(examples.labels, held_out[chosen.prototypes])
    blocks = [scores[examples.blocks == block] for block in range(examples.outputs.shape[1])]
    quantile = blocked_quantile(blocks, model.level)
    quantile = later_quantile(quantile, model.level, span_of(examples.frames, model.rate))
    compressed = replace(
        model,
        regressor=predictors[number],
        quantile=max(model.quantile, quantile),
        facts={
            **model.facts,
            "cross_validation": asdict(chosen.metrics),
            "compressed_from": {"training_frames": full.prototypes, "mae": full.metrics.mae},
        },
        examples=None,
        prototypes=_nearest(fits[number], similarity, examples, rows),
    )
    return Compression(
        model=compressed, full=full, sizes=judged, chosen=chosen, seconds=time.perf_counter() - began
    )


def _cost(size: CompressedSize, full: CompressedSize) -> float:
    """The error of a replica, or what its difference from the model would make of the model's error if the
    two had nothing to do with each other, whichever is larger: a replica that is better is so by chance."""
    return max(size.metrics.mae, math.hypot(full.metrics.mae, size.difference))


@dataclass(frozen=True, eq=False)
class _Task:
    """Fits of prototypes to the counts of a model, from the largest size to the smallest."""

    examples: Examples
    similarity: KernelSum
    sizes: Sequence[int]
    progress: Progress | None

    def path(self, rows: np.ndarray, outputs: np.ndarray) -> Iterator[SuperSparseRegressor]:
        """Fits to counts `outputs` (n,) of the rows (n, d), one per size."""
        return prototype_path(self._estimator(len(rows)), rows, outputs, self.sizes)

    def _estimator(self, n_rows: int, **options) -> SuperSparseRegressor:
        options = {"max_iter": MAX_ITERATIONS, "tol": TOLERANCE, **options}
        return SuperSparseRegressor(similarity=self.similarity, lam=RELATIVE_LAMBDA * n_rows, **options)

    def held_out(self) -> tuple[dict[int, np.ndarray], dict[tuple[str, int], np.ndarray]]:
        """Counts (n,) of frames by replicas that have not seen their block, per size.

        With virtual prototypes, and with selected frames in their place, per way to select and size.
        """
        examples = self.examples
        moved = {size: np.empty(len(examples.rows)) for size in self.sizes}
        selected = {(how, size): np.empty(len(examples.rows)) for how in SELECTIONS for size in self.sizes}
        steps = examples.outputs.shape[1] * len(self.sizes)
        done = 0
        for block in range(examples.outputs.shape[1]):
            seen = examples.blocks != block
            train, test = examples.rows[seen].astype(float), examples.rows[~seen].astype(float)
            outputs = examples.outputs[seen, block]
            for size, fit in zip(self.sizes, self.path(train, outputs), strict=True):
                moved[size][~seen] = np.maximum(fit.predict(test), 0)
                for how in SELECTIONS:
                    still = self._estimator(len(train), n_prototypes=size, start=how, max_iter=0)
                    selected[how, size][~seen] = np.maximum(still.fit(train, outputs).predict(test), 0)
                done += 1
                if self.progress is not None:
                    self.progress(done, steps)
        return moved, selected


def _similarity(model: CounterModel) -> tuple[Examples, KernelSum]:
    """The examples of a model, and the mean of its views' kernels; ModelError where it has none."""
    if model.prototypes is not None:
        raise ModelError(
            f"the model is compressed already (prototypes: {len(model.prototypes.weights)}); give the model "
            "it was made of"
        )
    parts = model.regressor.expansions
    if model.examples is None or any(part.support is None for part in parts):
        raise ModelError(
            "expected a model of similarities to training frames, found one of quadratic kernels or, as "
            "recalibrated ones are, without its frames; train it with --kernel rbf, and recalibrate after"
        )
    weights = (1 / len(parts),) * len(parts)
    return model.examples, KernelSum(
        tuple(part.columns for part in parts), tuple(part.kernel for part in parts), weights
    )


def _kibibytes(predictor) -> float:
    arrays, _ = predictor.to_arrays()
    return sum(array.nbytes for array in arrays.values()) / 1024


def _milliseconds(predictors: Sequence, row: np.ndarray) -> list[float]:
    """Processor time of one prediction by each, interleaved, the fastest of some repetitions."""
    fastest = [np.inf] * len(predictors)
    for _ in range(_REPETITIONS):
        for k, predictor in enumerate(predictors):
            began = time.process_time_ns()
            predictor.predict(row)
            fastest[k] = min(fastest[k], (time.process_time_ns() - began) / 1e6)
    return fastest


def _nearest(
    fit: SuperSparseRegressor, similarity: KernelSum, examples: Examples, rows: np.ndarray
) -> Prototypes:
    values = similarity.matrix(fit.prototypes_, rows)
    apart = max(1, len(rows) // APART)
    count = min(NEAREST, -(-len(rows) // (2 * apart)))
    order = np.array([_separate(np.argsort(-line, kind="stable"), apart, count) for line in values])
    return Prototypes(
        weights=fit.coef_,
        numbers=examples.numbers[order],
        frames=examples.frames[order],
        labels=examples.labels[order],
        similarities=np.take_along_axis(values, order, axis=1),
    )


def _separate(order: np.ndarray, apart: int, count: int) -> list[int]:
    """The first `count` rows of an order, each at least `apart` rows from those before it."""
    chosen: list[int] = []
    for row in order.tolist():
        if len(chosen) < count and all(abs(row - other) >= apart for other in chosen):
            chosen.append(row)
    return chosen


def compress_model(
    model: str | Path,
    output: str | Path | None = None,
    *,
    prototypes: int | None = None,
    plot: str | Path | None = None,
    watcher: Watcher,
) -> tuple[Compression, str]:
    """Compress a model and save the smaller one; returns what was found, and the file's name.

    Parameters
    ----------
    model : path
        Model file.
    output : path, optional
        Model file to write; by default `<stem>.compressed.npz` in the working folder.
    prototypes : int, optional
        How many; see `compress`.
    plot : path, optional
        Picture to draw of the error against the number of prototypes.
    watcher : Watcher

    Raises
    ------
    ModelError, OutputError
    """
    written = f"{Path(model).stem}.compressed.npz" if output is None else str(output)
    check_model_file(written, model)
    if plot is not None:
        refuse_to_replace(plot, model, written)
        check_writable(plot, PLOT_SUFFIXES)
    loaded = load_model(model)
    with watcher.progress() as show:
        found = compress(loaded, prototypes, lambda done, total: show("compressing", done, total, None))
    found.model.save(written)
    if plot is not None:
        plot_compression(found, plot, Path(model).name)
    return found, written
