"""What a few new counts are worth: error and coverage of a model before and after it is recalibrated by them.

    python -m benchmarks.recalibrate [FOOTAGE…] [--draws 100] [--cache FOLDER]

Labels are drawn from footage that the model never saw, one from each of as many equal parts ("spread"), or so
from the first quarter alone ("first"); errors are those on the other frames, after "first" on the last three
quarters.
"""

from collections.abc import Sequence

import click
import numpy as np

from benchmarks.data import FOOTAGE, DataError, data_file, labelled
from benchmarks.tables import Table
from crowdcount.learning.datasets import load_dataset
from crowdcount.learning.training import evaluate, train
from crowdcount.model import CounterModel, default_model
from models import count_interval, fit_correction, leave_one_out, renewed_quantile

SIZES = (5, 10, 25)
#: Share of the footage from which the labels come.
PARTS = {"spread": 1.0, "first": 0.25}
#: Frames of Mall to train on, and the later or earlier ones to count.
DRIFTS = {"Mall 1-400 to 401-800": ("1-400", "401-800"), "Mall 401-800 to 1-400": ("401-800", "1-400")}


def footage(name: str, cache: str | None) -> tuple[CounterModel, np.ndarray, np.ndarray]:
    """A model, and its counts (n,) and the labels (n,) of footage new to it; DataError where absent."""
    if name in DRIFTS:
        dataset = load_dataset(data_file("mall"))
        learnt, counted = DRIFTS[name]
        model = train(dataset, frames=learnt, cache=cache).model
    else:
        dataset, counted = labelled(name)
        model = default_model()
    found = evaluate(dataset, model, frames=counted, cache=cache)
    return model, found.predictions, found.labels


def drawn(n: int, size: int, random: np.random.Generator) -> np.ndarray:
    """Numbers (size,) of frames among n, one from each of `size` equal parts."""
    edges = np.linspace(0, n, size + 1)
    return (edges[:-1] + random.uniform(0, 1, size) * np.diff(edges)).astype(int)


def measure(
    model: CounterModel, counts: np.ndarray, labels: np.ndarray, share: float, size: int, draws: Sequence[int]
) -> tuple[float, float, float]:
    """Error before and after, and share of labels inside the interval of 90 % after: means over seeds.

    `size` labels come from the first `share` of the frames, which the model counted.
    """
    results = []
    n = round(share * len(counts))
    for seed in draws:
        chosen = drawn(n, size, np.random.default_rng(seed))
        rest = np.setdiff1d(np.arange(n if share < 1 else 0, len(counts)), chosen)
        corrected = fit_correction(counts[chosen], labels[chosen])(counts[rest])
        held_out = leave_one_out(counts[chosen], labels[chosen])
        quantile = renewed_quantile(held_out, labels[chosen], 0.9, model.half_width(held_out))
        low, high = count_interval(corrected, quantile)
        errors = [np.abs(one - labels[rest]).mean() for one in (counts[rest], corrected)]
        results.append([*errors, ((low <= labels[rest]) & (labels[rest] <= high)).mean()])
    return tuple(np.mean(results, axis=0).tolist())


def rows(name: str, model, counts, labels, draws: Sequence[int], sizes: Sequence[int] = SIZES) -> list[list]:
    """The table's rows for one footage."""
    made = []
    for part, share in PARTS.items():
        found = [measure(model, counts, labels, share, size, draws) for size in sizes]
        made.append([name, part, found[0][0], *(one[1] for one in found), *(one[2] for one in found)])
    return made


@click.command()
@click.argument("names", metavar="[FOOTAGE]...", nargs=-1, type=click.Choice([*FOOTAGE, *DRIFTS]))
@click.option("--draws", default=100, show_default=True, help="Draws of the labels, with the seeds 0, 1, ….")
@click.option("--cache", metavar="FOLDER", help="Folder in which measured features are kept.")
def main(names: tuple[str, ...], draws: int, cache: str | None) -> None:
    """Print the error with 0, 5, 10 and 25 new labels on each FOOTAGE (all by default)."""
    header = ["footage", "labels", "MAE with 0", *map(str, SIZES), *(f"inside, {size}" for size in SIZES)]
    table = []
    for name in names or (*FOOTAGE, *DRIFTS):
        try:
            table += rows(name, *footage(name, cache), range(draws))
        except DataError as error:
            raise click.ClickException(str(error)) from error
    notes = [
        f"Means over {draws} draws, seeds 0-{draws - 1}. inside: share of the frames whose label lies in the "
        "interval of 90 %. Counts by the bundled model, or by one trained on the first frames named."
    ]
    click.echo(Table("Recalibration by a few counts", header, table, notes).markdown())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.recalibrate")
