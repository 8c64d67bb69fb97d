"""Where in the depth of a scene people are: the depth coordinate, and densities over it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from features.perspective import heights_by_end

from .results import FrameCount
from .rows import FORMATS, count_cell, open_rows, time_cells, time_columns
from .scene import Scene

#: Bands of equal ground into which the depth is divided.
N_BANDS = 16
#: Of the columns of `open_profiles`, those that every such file has.
PROFILE_COLUMNS = ("frame", "time_s", "count", "density_1")
PROFILE_SUFFIXES = tuple(f".{name}" for name in FORMATS)


@dataclass(frozen=True, eq=False)
class Depth:
    """The depth coordinate of a scene: the share of its ground that lies farther away.

    The depth of an image row is the share of the region of interest's ground above the row, ground being
    measured in persons as in `features.perspective.depth_cells`: the sum of 1 / person_height² over the
    region's pixels. It is 0 at the region's farthest row and 1 at its nearest. Equal steps of depth hold
    equal ground, on which a crowd that is spread evenly has equally many people; what is far takes few image
    rows and what is near many. A person's depth is that of the row in which the middle of the body is.

    Attributes
    ----------
    by_row : (H + 1,) float64
        Depth at the upper edge of each image row, and at the lower edge of the last; grows from 0 to 1.
    height_by_top, height_by_foot : (H, W) float32, pixels
        Height of the person whose head's top, or whose feet, are at the pixel.
    """

    by_row: np.ndarray
    height_by_top: np.ndarray
    height_by_foot: np.ndarray

    @classmethod
    def of(cls, scene: Scene) -> "Depth":
        """The depth coordinate of a scene."""
        ground = np.where(scene.roi, 1.0 / np.square(scene.person_height, dtype=np.float64), 0.0).sum(axis=1)
        by_row = np.concatenate([[0.0], np.cumsum(ground)]) / ground.sum()
        return cls(by_row, *heights_by_end(scene.person_height))

    def of_heads(self, points: np.ndarray) -> np.ndarray:
        """Depths (k,) of people whose heads are at `points` (k, 2), pixels (x, y)."""
        return self._of_rows(points[:, 1] + heights_at(self.height_by_top, points) / 2)

    def of_feet(self, points: np.ndarray) -> np.ndarray:
        """Depths (k,) of people whose feet are at `points` (k, 2), pixels (x, y)."""
        return self._of_rows(points[:, 1] - heights_at(self.height_by_foot, points) / 2)

    def rows(self, n_bands: int) -> np.ndarray:
        """Image rows (n_bands + 1,) at which `n_bands` bands of equal ground begin and end."""
        with_ground = np.flatnonzero(np.diff(self.by_row) > 0)
        edges = np.append(with_ground, with_ground[-1] + 1)
        return np.interp(np.linspace(0, 1, n_bands + 1), self.by_row[edges], edges)

    def _of_rows(self, rows: np.ndarray) -> np.ndarray:
        return np.interp(rows, np.arange(len(self.by_row)), self.by_row)


def heights_at(height_map: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Person heights (k,) float64 of a map (H, W) at points (k, 2), pixels (x, y); of those beyond its border
    as at the border."""
    height, width = height_map.shape
    columns = np.clip(points[:, 0].astype(np.intp), 0, width - 1)
    rows = np.clip(points[:, 1].astype(np.intp), 0, height - 1)
    return height_map[rows, columns].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Profile:
    """The density of people over the depth of a scene in one frame.

    Attributes
    ----------
    density : (m,) float64
        People per unit of depth in m bands of equal ground, the farthest first: their mean, the integral over
        the depth, is the frame's count.
    rows : (m + 1,) float64
        Image rows at which the bands begin and end.
    strongest : float
        Density that is drawn in the strongest colour.
    """

    density: np.ndarray
    rows: np.ndarray
    strongest: float


def density(depths: np.ndarray, n_bands: int) -> np.ndarray:
    """Density (n_bands,) of people at `depths` (k,): people in each band, per its width 1 / n_bands."""
    return n_bands * np.histogram(depths, n_bands, (0.0, 1.0))[0].astype(float)


def scaled_to(densities: np.ndarray, counts: np.ndarray, typical: np.ndarray) -> np.ndarray:
    """Densities (n, m) in proportion to the given ones, with the integrals `counts` (n,).

    One that is 0 everywhere becomes `typical` (m,), or level where that is 0 too.
    """
    level = np.ones_like(typical)
    shape = np.where(densities.any(axis=1, keepdims=True), densities, typical if typical.any() else level)
    return shape * (counts / shape.mean(axis=1))[:, None]


def depth_distance(densities: np.ndarray, others: np.ndarray) -> np.ndarray:
    """By how much depth a person is misplaced on average: (n,) from two (n, m), both with people.

    The earth mover's distance between the two as distributions, the integral of the absolute difference of
    their distribution functions; 1 is the depth of the scene.
    """
    shares = [each / each.mean(axis=1, keepdims=True) for each in (densities, others)]
    return np.abs(np.cumsum(shares[0] - shares[1], axis=1)).mean(axis=1) / densities.shape[1]


@contextmanager
def open_profiles(
    path: str | Path, n_bands: int, start_time: datetime | None
) -> Iterator[Callable[[FrameCount, Profile | None], None]]:
    """Open a file (.parquet, .csv, .jsonl) for the densities over depth of a source's frames; gives what
    writes one, empty for None.

    Columns: `frame`, `time_s`, where the start is known `time`, `count`, and `density_1` (far) to
    `density_<n_bands>` (near), in people per unit of depth. As `open_rows` otherwise.
    """
    names = [f"density_{band}" for band in range(1, n_bands + 1)]
    columns = {"frame": int, **time_columns(start_time), **dict.fromkeys(["count", *names], float)}
    with open_rows(path, Path(path).suffix[1:].lower(), columns) as rows:

        def write(row: FrameCount, profile: Profile | None) -> None:
            cells = {"frame": row.frame, **time_cells(row.time_s, start_time), "count": count_cell(row.count)}
            densities = [np.nan] * n_bands if profile is None else profile.density
            rows.write(cells | dict(zip(names, map(count_cell, densities), strict=True)))

        yield write
