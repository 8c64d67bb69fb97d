"""Whether an audit finds wrong labels, and what they cost a counter that prunes them.

    python -m benchmarks.audit [SET…] [--seeds 10] [--cache FOLDER]

A tenth of a set's labels, drawn at random, is changed by 30 to 100 % up or down and rounded. Settings are
chosen anew for each seed, by blocked cross-validation on the labels as they then are; errors are those of its
held-out predictions against the true labels. Ridge regression on the same features, its penalty chosen in the
same way, has no means against wrong labels and stands beside.
"""

from collections.abc import Sequence
from dataclasses import replace

import click
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import FEATURES, DataError, labelled
from benchmarks.papers.hlr import dice_index
from benchmarks.tables import Table
from crowdcount.learning.datasets import Dataset
from crowdcount.learning.fitting import Fitting, measure_labelled
from crowdcount.learning.regressors import N_REFINEMENTS
from models import out_of_fold

SHARE = 0.1
CHANGES = (0.3, 1.0)
PENALTIES = np.logspace(-1, 5, 13)
#: Sets of `benchmarks.data`.
SETS = (*FEATURES, "Mall", "vtest")


def corrupted(counts: np.ndarray, seed: int) -> np.ndarray:
    """Counts (n,), of which `SHARE` of the labelled ones is changed by `CHANGES`, up or down, and rounded."""
    random = np.random.default_rng(seed)
    labelled = np.flatnonzero(np.isfinite(counts))
    chosen = random.choice(labelled, round(SHARE * len(labelled)), replace=False)
    change = random.uniform(*CHANGES, len(chosen)) * random.choice([-1, 1], len(chosen))
    changed = counts.copy()
    changed[chosen] = np.round(counts[chosen] * (1 + change))
    return changed


def measure_set(name: str, dataset: Dataset, frames: str, seeds: Sequence[int], cache=None) -> tuple:
    """A row of the table: name, indices, and errors of HLR and Ridge with the true and the wrong labels."""
    table = measure_labelled(dataset, frames, cache=cache)
    clean = Fitting(table, dataset)
    features = table.features[clean.labelled]
    best = clean.choose()
    listed = clean.removed(clean.fit(replace(best.setting, n_refinements=N_REFINEMENTS)), best.predictions)
    errors = [best.metrics.mae, ridge_error(features, clean.labels, clean)]
    indices, wrong_errors = [], []
    for seed in seeds:
        wrong = Fitting(table, replace(dataset, counts=corrupted(dataset.counts, seed)))
        best = wrong.choose()
        pruned = wrong.fit(replace(best.setting, n_refinements=N_REFINEMENTS))
        removed = [one.number for one in wrong.removed(pruned, best.predictions)]
        changed = wrong.labels != clean.labels
        indices.append(dice_index(changed, np.isin(wrong.numbers, removed)))
        error = np.abs(best.predictions - clean.labels).mean()
        wrong_errors.append((error, ridge_error(features, wrong.labels, clean)))
    ratios = np.array(wrong_errors) / errors
    (hlr, ridge), (hlr_worst, ridge_worst) = ratios.mean(axis=0), ratios.max(axis=0)
    index = (float(np.mean(indices)), float(np.min(indices)))
    return name, *index, errors[0], float(hlr), float(hlr_worst), len(listed), errors[1], ridge, ridge_worst


def ridge_error(features: np.ndarray, labels: np.ndarray, clean: Fitting) -> float:
    """Held-out error of Ridge against the true labels, its penalty chosen by the labels it is given."""
    predictions = [
        out_of_fold(make_pipeline(StandardScaler(), Ridge(penalty)), features, labels, clean.folds)
        for penalty in PENALTIES
    ]
    best = min(predictions, key=lambda one: np.abs(one - labels).mean())
    return float(np.abs(best - clean.labels).mean())


@click.command()
@click.argument("names", metavar="[SET]...", nargs=-1, type=click.Choice(SETS))
@click.option("--seeds", default=10, show_default=True, help="Runs, with the seeds 0, 1, ….")
@click.option("--cache", metavar="FOLDER", help="Folder in which measured features are kept.")
def main(names: tuple[str, ...], seeds: int, cache: str | None) -> None:
    """Print how many wrong labels an audit finds, and what they cost, on each SET (all by default)."""
    header = ("set", "index", "worst", "MAE", "ratio", "worst", "listed if clean")
    rows = []
    for name in names or SETS:
        try:
            dataset, frames = labelled(name)
        except DataError as error:
            raise click.ClickException(str(error)) from error
        rows.append(measure_set(name, dataset, frames, range(seeds), cache))
    header += ("Ridge MAE", "ratio", "worst")
    notes = [
        f"{SHARE:.0%} of the labels changed by {CHANGES[0]:.0%} to {CHANGES[1]:.0%}, seeds 0-{seeds - 1}. "
        "index: Sørensen-Dice of the labels changed and listed; ratio: error (MAE) with the wrong labels "
        "over that with the true ones."
    ]
    click.echo(Table("Wrong labels", header, rows, notes).markdown())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.audit")
