"""What dots on heads are worth beside counts of the same frames: the error by number of frames.

    python -m benchmarks.dots [FOOTAGE…] [--repeats 4] [--cache FOLDER]

Frames of four of five blocks, evenly spaced or suggested, are fitted by what `crowdcount train` fits, with
their counts alone and with their dots, and errors are those on the fifth block. Each repeat begins the even
spacing elsewhere, or chooses among another seven eighths of the four. Where the ground truth has boxes, a dot
is where the head is in one. Features are measured alike: what dots tell of the empty scene behind people is
left out.
"""

from collections.abc import Callable
from dataclasses import replace

import click
import numpy as np

from benchmarks.data import FOOTAGE, DataError, labelled
from benchmarks.suggest import evenly, suggested
from benchmarks.tables import Table
from crowdcount.learning.datasets import Dataset
from crowdcount.learning.fitting import MIN_LABELS, N_BLOCKS, Fitting
from crowdcount.learning.local_counts import local_counts
from crowdcount.learning.measuring import FeatureTable, measure, selected
from models import BlockedKFold

SIZES = (25, 50, 100)
CHOICES: dict[str, Callable] = {"evenly spaced": evenly, "suggested": suggested}
#: The middle of a head is this share of a box's height below its top.
HEAD_IN_BOX = 0.08


def with_dots(dataset: Dataset) -> Dataset:
    """The data set with dots on heads alone, from its boxes if it has none."""
    if dataset.points is not None:
        return dataset
    points = [
        None if boxes is None else boxes[:, :2] + boxes[:, 2:] * [0.5, HEAD_IN_BOX] for boxes in dataset.boxes
    ]
    return replace(dataset, points=tuple(points), boxes=None, identities=None)


def errors(
    table: FeatureTable, dataset: Dataset, choose: Callable, size: int, repeats: int
) -> tuple[float, float]:
    """Mean absolute errors on the blocks held out, by counts alone and by dots."""
    labels = dataset.counts[table.rows]
    found = []
    for number, (pool, held_out) in enumerate(BlockedKFold(N_BLOCKS).split(labels)):
        for repeat in range(repeats):
            chosen = choose(table, pool, size, np.random.default_rng([number, repeat]))
            few = table.at(chosen)
            people = local_counts(dataset, few.rows, table.scene, table.cells)
            fitting = Fitting(few, dataset, people)
            by_count = fitting.choose()
            for best in (by_count, fitting.with_local(by_count)):
                predictions = fitting.predictor(best)[1].predict(table.features[held_out])
                found.append(np.abs(predictions - labels[held_out]).mean())
    counts, dots = np.reshape(found, (-1, 2)).mean(axis=0).tolist()
    return counts, dots


@click.command()
@click.argument("names", metavar="[FOOTAGE]...", nargs=-1, type=click.Choice(list(FOOTAGE)))
@click.option("--repeats", default=4, show_default=True, type=click.IntRange(1), help="Repeats of a spacing.")
@click.option("--cache", metavar="FOLDER", help="Folder in which measured features are kept.")
def main(names: tuple[str, ...], repeats: int, cache: str | None) -> None:
    """Print the error by counts alone and by dots, of vtest and Mall unless footage is named."""
    rows = []
    for name in names or ("vtest", "Mall"):
        try:
            dataset, frames = labelled(name)
        except DataError as error:
            raise click.ClickException(str(error)) from error
        dotted = with_dots(dataset)
        table = measure(replace(dotted, points=None), selected(dotted, frames), cache=cache)
        sizes = [size for size in SIZES if MIN_LABELS <= size <= len(table.rows) * (N_BLOCKS - 1) // N_BLOCKS]
        for choice, choose in CHOICES.items():
            found = [errors(table, dotted, choose, size, repeats) for size in sizes]
            for label, means in zip(("counts", "dots"), zip(*found, strict=True), strict=True):
                rows.append([name, choice, label, *means, *[""] * (len(SIZES) - len(means))])
    notes = [f"Means over {N_BLOCKS} blocks held out and {repeats} repeats."]
    header = ["footage", "frames", "labels", *(f"{size} frames" for size in SIZES)]
    click.echo(Table("Dots beside counts: MAE by number of frames", header, rows, notes).markdown())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.dots")
