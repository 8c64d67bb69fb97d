"""Whether shade that wanders over a scene is counted.

    python -m benchmarks.shade [--minutes 20]

Real people in real footage: every fifth frame of `vtest.avi` 0-399, forwards and backwards, while the shade
of a building or of leaves goes across it, as the sun moves. Counts are by the bundled model, with nothing
trained.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import cv2
import numpy as np

from benchmarks.clips import written
from benchmarks.standing import errors, footage, to_and_fro
from benchmarks.tables import Table

#: Of so many frames one is shown, and so many of these are shown a second.
STEP, RATE = 5, 2.0
#: The share of the light that is left in shade.
LIGHT_LEFT = 0.55
#: Persons' heights of vtest.avi, pixels: how far shade wanders in all is told in these.
PERSON = 80
_EDGE, _LEAVES = 1.5, 10.0  # pixels: how soft a building's shade is, and how large leaves' are
_SWAY = (3.0, 0.9), (2.0, 0.37)  # of leaves: pixels, and radians from frame to frame
_NUMBER = 1  # of the random leaves

#: How much shade is at each pixel of a picture of this size, between 0 and 1, in so many frames.
Shades = Callable[[tuple[int, int], np.ndarray], Iterator[np.ndarray]]


def building(height_width: tuple[int, int], way: np.ndarray) -> Iterator[np.ndarray]:
    """The shade of a building (H, W) float32 whose slanting edge is so many pixels (n,) on its way."""
    rows, columns = np.indices(height_width, np.float32)
    for at in way:
        yield _soft((0.26 * height_width[1] + at + 0.3 * rows - columns) / _EDGE)


def leaves(height_width: tuple[int, int], way: np.ndarray) -> Iterator[np.ndarray]:
    """The shade of leaves (H, W) float32 below the upper quarter, which sway while they are on their way."""
    height, width = height_width
    margin = int(way.max()) + 20
    rng = np.random.default_rng(_NUMBER)
    crown = rng.normal(size=(height + 2 * margin, width + 2 * margin)).astype(np.float32)
    crown = cv2.GaussianBlur(crown, (0, 0), _LEAVES)
    crown *= 4 / crown.std()
    below = _soft((np.arange(height, dtype=np.float32) - height / 4)[:, None] / 8)
    for number, at in enumerate(way):
        at += sum(far * np.sin(speed * number) for far, speed in _SWAY)
        shift = np.array([[1, 0, margin - at], [0, 1, margin - at / 2]], np.float32)
        inverse = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        yield below * _soft(cv2.warpAffine(crown, shift, (width, height), flags=inverse))


def _soft(values) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -30, 30)))


#: What shade there is, and how far it wanders, in persons' heights.
KINDS: dict[str, tuple[Shades, float] | None] = {
    "none": None,
    "of a building, half a person's height": (building, 0.5),
    "of a building, two and a half": (building, 2.5),
    "of leaves, a fifth": (leaves, 0.2),
}


def in_shade(frames: list[np.ndarray], shades: Shades, heights: float, n: int) -> Iterator[np.ndarray]:
    """`n` frames (H, W, 3) uint8 to and fro, over which shade wanders as far as that."""
    way = np.linspace(0, heights * PERSON, n, endpoint=False)
    for source, shade in zip(shown(n), shades(frames[0].shape[:2], way), strict=True):
        yield np.uint8(frames[source] * (1 - (1 - LIGHT_LEFT) * shade)[..., None])


def shown(n: int) -> np.ndarray:
    """Numbers (n,) of the frames that are shown."""
    return to_and_fro(STEP * n)[::STEP]


@click.command()
@click.option("--minutes", type=click.FloatRange(min=1), default=20, show_default=True, help="Of each clip.")
def main(minutes):
    """Print the error of counts while shade wanders over a scene, and how far they are off when."""
    clip, frames, labels = footage()
    n = round(60 * minutes * RATE)
    truth = labels[shown(n)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in KINDS.items():
            images = (frames[k] for k in shown(n)) if kind is None else in_shade(frames, *kind, n)
            wrong = errors(written(Path(folder) / "shade.avi", clip, images, RATE), truth)
            tenth = n // 10
            parts = wrong[:tenth], wrong[tenth:-tenth], wrong[-tenth:]
            rows.append([name, float(np.abs(wrong).mean()), *(float(part.mean()) for part in parts)])
    header = ["shade", "MAE", "bias, first tenth", "in between", "last tenth"]
    click.echo(Table("Shade that wanders", header, rows, digits=2).markdown())


if __name__ == "__main__":
    main()
