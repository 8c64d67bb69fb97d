"""What an alarm learns from rough calls of real footage: which frames it gets wrong that nobody called.

    python -m benchmarks.alarm [FOOTAGE…] [--draws 5] [--cache FOLDER]

Every fifth frame of the first three quarters is called too crowded from a number of people on, else fine; a
part of the calls, drawn by seeds, is turned round. Errors are those on the last quarter, beside those of
scikit-learn's support vector machine with kernel and C chosen by cross-validation over the same five blocks.
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.data import DataError, data_file
from benchmarks.tables import Table
from crowdcount.alarm.measuring import open_measuring
from crowdcount.alarm.training import train_alarm
from crowdcount.learning import N_BLOCKS
from crowdcount.learning.datasets import load_dataset

EVERY = 5
CALLED = 0.75
WRONG = (0.0, 0.1, 0.2)
PEER = {"svc__kernel": ("linear", "rbf"), "svc__C": (0.1, 1.0, 10.0)}
FOOTAGE = ("vtest", "mall-features")


@dataclass(frozen=True, eq=False)
class Footage:
    """A source for alarms: its frames' numbers (n,), features (n, d), and which are too crowded (n,) bool."""

    source: str
    limit: int
    frames: np.ndarray
    features: np.ndarray
    is_crowded: np.ndarray


def opened(name: str) -> Footage:
    """Footage whose frames have labels; DataError where it is absent."""
    if name == "vtest":
        source, limit = data_file("pets2009", "vtest.avi"), 6
        labels = load_dataset(source, counts=data_file("pets2009", "vtest_counts_001-400.csv"))
    else:
        source, limit = data_file("mall", "mall_feat.mat"), 31
        labels = load_dataset(source)
    with open_measuring(str(source)) as measuring:
        found = {frame.index: frame.features for frame in measuring.frames() if frame.features is not None}
        step = measuring.step
    counts = dict(zip(labels.numbers.tolist(), labels.counts.tolist(), strict=True))
    frames = np.array([k for k, count in counts.items() if k - k % step in found and not np.isnan(count)])
    features = np.stack([found[k - k % step] for k in frames])
    return Footage(str(source), limit, frames, features, np.array([counts[k] >= limit for k in frames]))


def errors(alarms: np.ndarray, truth: np.ndarray) -> list[float]:
    """Share of the crowded frames that are missed, and of the fine ones with an alarm; both (n,) bool."""
    return [float((~alarms[truth]).mean()), float(alarms[~truth].mean())]


def measure(footage: Footage, wrong: float, seed: int, cache: str | None) -> list[float]:
    """Missed and false of the alarm, then of the support vector machine; a share of the calls is wrong."""
    n = len(footage.frames)
    called, judged = np.arange(0, round(CALLED * n), EVERY), np.arange(round(CALLED * n), n)
    calls = footage.is_crowded[called].copy()
    turned = np.random.default_rng(seed).choice(len(called), round(wrong * len(called)), replace=False)
    calls[turned] = ~calls[turned]
    with TemporaryDirectory() as folder:
        labels = Path(folder) / "calls.csv"
        lines = (f"{k},{int(call)}\n" for k, call in zip(footage.frames[called], calls, strict=True))
        labels.write_text("frame,call\n" + "".join(lines))
        alarm = train_alarm(footage.source, labels, cache=cache).model
    values = alarm.regressor.values(footage.features[judged])
    peer = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        PEER,
        cv=KFold(N_BLOCKS),
        scoring="accuracy",
    ).fit(footage.features[called], calls)
    truth = footage.is_crowded[judged]
    return errors(values > 0, truth) + errors(peer.predict(footage.features[judged]), truth)


@click.command()
@click.argument("names", metavar="[FOOTAGE]...", nargs=-1, type=click.Choice(FOOTAGE))
@click.option("--draws", default=5, show_default=True, help="Draws of the wrong calls, seeds 0, 1, ….")
@click.option("--cache", metavar="FOLDER", help="Keep the measured features here for the next run.")
def main(names, draws, cache):
    """Alarms learnt from calls of real footage, and what they get wrong."""
    rows = []
    try:
        for name in names or FOOTAGE:
            footage = opened(name)
            for wrong in WRONG:
                found = [measure(footage, wrong, seed, cache) for seed in range(draws if wrong else 1)]
                rows.append([name, footage.limit, wrong, *np.mean(found, axis=0).tolist()])
    except DataError as error:
        raise click.ClickException(str(error)) from error
    header = ["footage", "too crowded from", "wrong calls", "alarm: missed", "false", "SVC: missed", "false"]
    note = (
        f"Every {EVERY}th frame of the first three quarters was called. Shares of the crowded and of the "
        f"fine frames of the last quarter; means of {draws} draws of the wrong calls."
    )
    click.echo(Table("Alarms from calls", header, rows, [note]).markdown())


if __name__ == "__main__":
    main()
