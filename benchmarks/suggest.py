"""What suggested frames are worth: the error on Mall by number of labels, beside evenly spaced frames.

    python -m benchmarks.suggest [--repeats 6] [--cache FOLDER] [--plot FILE] [--trained]

Frames 1-800 in five blocks: labels are chosen among those of four, errors are those on the fifth. Each repeat
chooses among another seven eighths of the four, or begins the even spacing elsewhere. The counter is kernel
ridge regression with training's kernels, its settings chosen by leaving each label out; with --trained, 25
labels are fitted by what `crowdcount train` fits instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import click
import numpy as np

from benchmarks.data import DataError, data_file
from benchmarks.tables import Table
from crowdcount.learning.datasets import Dataset, load_dataset
from crowdcount.learning.fitting import Fitting
from crowdcount.learning.grids import grid_weights
from crowdcount.learning.measuring import FeatureTable, measure
from crowdcount.learning.regressors import COEF0S, LAMBDAS
from crowdcount.learning.suggestion import chosen_rows
from crowdcount.plots import PLOT_SUFFIXES
from crowdcount.storage import atomic_path, check_writable
from models import BlockedKFold
from models.kernels import Kernel
from models.predictor import column_statistics, standardised

SIZES = (10, 25, 50, 100, 200, 400)
#: Share of the frames at hand that a repeat chooses among.
SHARE = 7 / 8


def evenly(table: FeatureTable, pool: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """Rows at equal distances in the pool, from a random beginning."""
    return pool[((np.arange(size) + random.uniform()) * len(pool) / size).astype(int)]


def at_random(table: FeatureTable, pool: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """Rows drawn from the pool."""
    return np.sort(random.choice(pool, size, replace=False))


def suggested(table: FeatureTable, pool: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """The rows that `crowdcount suggest` would choose of a random part of the pool."""
    part = np.sort(random.choice(pool, max(size, round(SHARE * len(pool))), replace=False))
    views = [np.array(view) for view in table.views]
    rows = chosen_rows(table.features[part], table.columns, views, part.astype(float), size)
    return part[np.sort(rows)]


CHOICES: dict[str, Callable] = {"evenly spaced": evenly, "at random": at_random, "suggested": suggested}


def ridge(table: FeatureTable, labels: np.ndarray, chosen: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Predictions for other rows by kernel ridge regression on the chosen ones."""
    mean, scale, *_ = column_statistics(table.features[chosen])
    of_columns = grid_weights(table.columns)
    rows, new = (standardised(table.features[part], mean, scale) * of_columns for part in (chosen, others))
    centre = labels[chosen].mean()
    best = None
    for coef0 in COEF0S:
        kernels = [Kernel.resolve("poly", {"degree": 2, "coef0": coef0}, len(view)) for view in table.views]
        parts = list(zip(kernels, table.views, strict=True))
        values, vectors = np.linalg.eigh(
            sum(kernel.matrix(rows[:, view], rows[:, view]) for kernel, view in parts) / len(parts)
        )
        for lam in LAMBDAS:
            inverse = (vectors / (np.maximum(values, 0) + coef0 * lam * len(rows) * len(parts))) @ vectors.T
            weights = inverse @ (labels[chosen] - centre)
            error = np.abs(weights / np.diag(inverse)).mean()  # of each label, predicted by the others
            if best is None or error < best[0]:
                best = error, parts, weights
    _, parts, weights = best
    return centre + sum(
        kernel.matrix(new[:, view], rows[:, view]) for kernel, view in parts
    ) @ weights / len(parts)  # fmt: skip


def trained(table: FeatureTable, dataset: Dataset, chosen: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Predictions for other rows by what training fits to the chosen ones, without their dots."""
    few = table.at(chosen)
    fitting = Fitting(few, dataset)
    return fitting.fit(fitting.choose().setting).predict(table.features[others])


def errors(
    table: FeatureTable,
    dataset: Dataset,
    choose: Callable,
    size: int,
    repeats: int,
    is_trained: bool = False,
) -> np.ndarray:
    """Mean absolute errors (n_blocks, repeats) on the blocks held out."""
    labels = dataset.counts[table.rows]
    found = []
    for number, (pool, held_out) in enumerate(BlockedKFold(5).split(labels)):
        for repeat in range(repeats):
            chosen = choose(table, pool, size, np.random.default_rng([number, repeat]))
            if is_trained:
                predictions = trained(table, dataset, chosen, held_out)
            else:
                predictions = ridge(table, labels, chosen, held_out)
            found.append(np.abs(predictions - labels[held_out]).mean())
    return np.reshape(found, (-1, repeats))


def curve(table, dataset, sizes: Sequence[int], repeats: int, is_trained: bool = False) -> dict[str, list]:
    """For each choice the means and, over repeats, standard errors of the error at each size."""
    curves = {}
    for name, choose in CHOICES.items():
        found = [errors(table, dataset, choose, size, repeats, is_trained).mean(axis=0) for size in sizes]
        curves[name] = [(one.mean(), one.std(ddof=1) / repeats**0.5) for one in found]
    return curves


def plot(curves: dict, sizes: Sequence[int], whole: float, n_whole: int, path: str) -> None:
    """Draw the errors against the number of labels; `whole`: the error with all `n_whole` labels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), dpi=150, layout="constrained")
    axes = figure.subplots()
    colours = {"evenly spaced": "#d98324", "at random": "#8a8f98", "suggested": "#2b6cb0"}
    for name, points in curves.items():
        means, spreads = np.array(points).T
        axes.errorbar(
            [*sizes, n_whole], [*means, whole], [*spreads, 0],
            fmt="o-", capsize=3, color=colours[name], label=name,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks([*sizes, n_whole], [str(size) for size in (*sizes, n_whole)])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("labelled frames")
    axes.set_ylabel("mean absolute error, people")
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.suptitle("Mall 1-800: error on the block held out", x=0.005, ha="left", fontweight="bold")
    with atomic_path(path) as temporary:
        figure.savefig(temporary)


@click.command()
@click.option("--repeats", default=6, show_default=True, type=click.IntRange(2), help="Repeats of a choice.")
@click.option("--cache", metavar="FOLDER", help="Folder in which measured features are kept.")
@click.option("--plot", "picture", metavar="FILE", help="Picture to draw of the learning curves.")
@click.option("--trained", "is_trained", is_flag=True, help="Fit 25 labels by what `crowdcount train` fits.")
def main(repeats: int, cache: str | None, picture: str | None, is_trained: bool) -> None:
    """Print the error on Mall by number of labels and how they were chosen."""
    if picture is not None:
        check_writable(picture, PLOT_SUFFIXES)
    try:
        dataset = replace(load_dataset(data_file("mall")), points=None)  # counts do not tell who is where
    except DataError as error:
        raise click.ClickException(str(error)) from error
    table = measure(dataset, dataset.select("1-800"), cache=cache)
    sizes = (25,) if is_trained else SIZES
    curves = curve(table, dataset, sizes, repeats, is_trained)
    rows = [
        [name, *(f"{mean:.2f} ± {error:.2f}" for mean, error in points)] for name, points in curves.items()
    ]
    notes = [f"Means over five blocks and {repeats} repeats ± standard error over the repeats."]
    if not is_trained:
        n_whole = len(table.rows) * 4 // 5
        whole = float(errors(table, dataset, evenly, n_whole, 1).mean())
        notes.append(f"With all {n_whole} labels of four blocks: {whole:.2f}.")
        if picture is not None:
            plot(curves, sizes, whole, n_whole, picture)
    click.echo(Table("Suggested frames: MAE by number of labels", ["labels", *sizes], rows, notes).markdown())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.suggest")
