"""Write a simulated file of counts over weeks: python -m samples.counts station.counts.csv"""

from datetime import datetime, timedelta
from pathlib import Path

import click
import numpy as np

from crowdcount.errors import CrowdCountError
from crowdcount.results import FrameCount, open_writer

_MONDAY = datetime(2024, 3, 4)


def daily_counts(days: int, seed: int, every_s: float = 600.0) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) in seconds from a Monday's midnight and counts (n,) of people in a station hall.

    Two rush hours on working days, one broad wave at weekends, a level that drifts from day to day (its
    logarithm is autoregressive with coefficient .7), Poisson noise, and one day in fifteen with a failing
    camera that sees nearly nobody for six hours.
    """
    random = np.random.default_rng(seed)
    times_s = np.arange(0, days * 86400.0, every_s)
    day, hour = (times_s // 86400).astype(int), times_s % 86400 / 3600

    def wave(center, width):
        return np.exp(-(((hour - center) / width) ** 2) / 2)

    drift = np.zeros(days)
    for k in range(1, days):
        drift[k] = 0.7 * drift[k - 1] + random.normal(0, 0.25)
    working = 6 + 45 * wave(8.2, 0.9) + 25 * wave(12.5, 1.6) + 40 * wave(17.6, 1.3)
    weekend = 4 + 28 * wave(15, 3.2)
    expected = np.where(day % 7 < 5, working, weekend) * np.exp(drift[day])
    expected[(hour < 5)] *= 0.2
    for failed in np.flatnonzero(random.uniform(size=days) < 1 / 15):
        begin = random.uniform(6, 16)
        expected[(day == failed) & (hour >= begin) & (hour < begin + 6)] = 0.5
    return times_s, random.poisson(expected).astype(float)


def write_counts(path: str | Path, days: int = 28, seed: int = 0) -> None:
    """Write a counts file (.csv, .jsonl or .parquet) of `daily_counts`; OutputError when that fails."""
    times_s, counts = daily_counts(days, seed)
    spread = 1.6 * np.sqrt(np.maximum(counts, 1))
    with open_writer(path, Path(path).suffix[1:] or "csv", _MONDAY) as write:
        for k, (time_s, count) in enumerate(zip(times_s, counts, strict=True)):
            low, high = max(0.0, count - spread[k]), count + spread[k]
            write(FrameCount(k, float(time_s), float(count), low, high))


@click.command()
@click.argument("path")
@click.option("--days", type=click.IntRange(1), default=28, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def main(path: str, days: int, seed: int) -> None:
    """Write PATH, counts of a simulated station hall every ten minutes, from a Monday's midnight on."""
    if Path(path).suffix not in (".csv", ".jsonl", ".parquet"):
        raise click.UsageError(f"expected a file named .csv, .jsonl or .parquet, found {path}")
    try:
        write_counts(path, days, seed)
    except CrowdCountError as error:
        raise click.ClickException(str(error)) from error
    ends = _MONDAY + timedelta(days=days)
    click.echo(f"{path}: {days} days, until {ends:%Y-%m-%d}")


if __name__ == "__main__":
    main()
