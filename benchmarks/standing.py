"""Whether people who stand still are counted, however much of the footage they are there.

    python -m benchmarks.standing [--minutes 4] [--frame 50] [--frame 300]

Real people in real footage: `vtest.avi` 0-399 runs forwards and backwards, and for a part of the time all
people of one of its frames stand there, swaying by less than a pixel, before whoever walks by. Counts are by
the bundled model, with nothing trained; the labels are those of both frames.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import cv2
import numpy as np

from benchmarks.clips import written
from benchmarks.data import DataError, labelled
from benchmarks.tables import Table
from crowdcount.learning.datasets import Dataset
from crowdcount.learning.training import evaluate
from crowdcount.model import default_model
from crowdcount.video import open_source
from features.images import largest_difference, median_of

N_FRAMES, RATE = 400, 10.0
#: When they stand there, in shares of the time.
WHEN = {
    "38 %, in the middle": (0.25, 0.625),
    "62 %, in the middle": (0.25, 0.875),
    "83 %, from the beginning": (0.0, 0.83),
    "88 %, to the end": (0.125, 1.0),
}
#: What differs from the empty scene by more grey levels than this is people; smaller parts (pixels) are none.
_DIFFERS, _SPECK = 18, 60
_NOISE = 2.0  # grey levels: a still picture has none
_NEIGHBOURS = {size: np.ones((size, size), np.uint8) for size in (3, 5)}


def footage() -> tuple[str, list[np.ndarray], np.ndarray]:
    """`vtest.avi`: its path, and the images (H, W, 3) uint8 and numbers of people of its first `N_FRAMES`."""
    try:
        dataset, _ = labelled("vtest")
    except DataError as error:
        raise click.ClickException(str(error)) from error
    clip = str(dataset.source)
    with open_source(clip) as source:
        frames = [frame.image_bgr for frame, _ in zip(source.frames(), range(N_FRAMES), strict=False)]
    return clip, frames, dataset.counts[:N_FRAMES]


def cut_out(image_bgr: np.ndarray, empty_bgr: np.ndarray) -> np.ndarray:
    """How much of each pixel (H, W) is covered by people, between 0 and 1, float32."""
    differs = largest_difference(image_bgr, empty_bgr)
    people = (cv2.GaussianBlur(differs, (0, 0), 1.2) > _DIFFERS).astype(np.uint8)
    people = cv2.morphologyEx(people, cv2.MORPH_CLOSE, _NEIGHBOURS[5])
    _, labels, stats, _ = cv2.connectedComponentsWithStats(people)
    people[(stats[:, cv2.CC_STAT_AREA] < _SPECK)[labels]] = 0
    return cv2.GaussianBlur(np.float32(cv2.dilate(people, _NEIGHBOURS[3])), (0, 0), 1)


def with_standing(
    frames: list[np.ndarray], number: int, when: tuple[float, float], n: int
) -> Iterator[np.ndarray]:
    """`n` frames (H, W, 3) uint8, to and fro; for a part of the time the people of one stand there."""
    rng = np.random.default_rng(number)
    empty = median_of(frames[::12])
    covered, people = cut_out(frames[number], empty), np.float32(frames[number])
    height, width = covered.shape
    noises = rng.normal(0, _NOISE, (8, *people.shape)).astype(np.float32)
    for at, source in enumerate(to_and_fro(n)):
        image = frames[source]
        if when[0] * n <= at < when[1] * n:
            across = 0.7 * np.sin(at / 13) + 0.3 * np.sin(at / 5.3)
            shift = np.array([[1, 0, across], [0, 1, 0.3 * np.sin(at / 17)]], np.float32)
            share = cv2.warpAffine(covered, shift, (width, height))[..., None]
            seen = cv2.warpAffine(people, shift, (width, height)) + noises[at % len(noises)]
            image = np.clip(share * seen + (1 - share) * image, 0, 255).astype(np.uint8)
        yield image


def to_and_fro(n: int) -> np.ndarray:
    """Numbers (n,) of the frames 0 to `N_FRAMES` - 1 forwards and backwards."""
    there = np.arange(n) % (2 * N_FRAMES - 2)
    return np.minimum(there, 2 * N_FRAMES - 2 - there)


def errors(clip: str, counts: np.ndarray) -> np.ndarray:
    """By how much each frame of a clip is counted too high, (n,)."""
    dataset = Dataset(name=clip, numbers=np.arange(len(counts)), counts=counts, source=clip)
    return evaluate(dataset, default_model()).predictions - counts


@click.command()
@click.option("--minutes", type=click.FloatRange(min=1), default=4.0, show_default=True, help="Of each clip.")
@click.option(
    "--frame", "numbers", type=click.IntRange(0, N_FRAMES - 1), multiple=True, default=(50, 300),
    show_default=True, help="The frame whose people stand there; may be repeated.",
)  # fmt: skip
def main(minutes, numbers):
    """Print the error of counts while people stand there, and while they do not."""
    clip, frames, labels = footage()
    n = round(60 * minutes * RATE)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            for name, when in WHEN.items():
                there = (np.arange(n) >= when[0] * n) & (np.arange(n) < when[1] * n)
                truth = labels[to_and_fro(n)] + labels[number] * there
                path = Path(folder) / "standing.avi"
                wrong = errors(written(path, clip, with_standing(frames, number, when, n)), truth)
                biases = wrong[there].mean(), wrong[~there].mean()
                rows.append([number, name, *map(float, (truth.mean(), np.abs(wrong).mean(), *biases))])
    header = ["people of frame", "are there", "people", "MAE", "bias while", "bias else"]
    click.echo(Table("People who stand still", header, rows, digits=2).markdown())


if __name__ == "__main__":
    main()
