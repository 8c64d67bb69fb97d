"""Several recordings of one camera, learnt from together: mornings and evenings, sun and rain."""

import filecmp
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from features.motion import LOW_RATE_FPS
from models import Copies

from ..errors import DatasetError
from ..scene import Scene, is_one_shape
from ..video import files_of, spread
from . import MIN_LABELS
from .datasets import Dataset
from .fitting import measure_labelled
from .measuring import FeatureTable, Progress, check_labels, selected

#: Labels beyond this number teach little that those beside them do not. Regressions from pixels hold matrices
#: over labels, and factor them: of one clip 2,000 took 61 s, and 4,000 took 257.
MOST_LABELS = 4000


def thinned(datasets: Sequence[Dataset], frames: str | None = None) -> tuple[list[Dataset], int]:
    """The data sets with `MOST_LABELS` labels or hardly more of all the frames asked for, evenly spread over
    those of each, and the number of the others, which are as frames without a label then."""
    asked = [np.flatnonzero(selected(one, frames) & np.isfinite(one.counts)) for one in datasets]
    n_labels = sum(map(len, asked))
    if n_labels <= MOST_LABELS:
        return list(datasets), 0
    fewer, n_spared = [], 0
    for one, rows in zip(datasets, asked, strict=True):
        spared = np.delete(rows, spread(math.ceil(len(rows) * MOST_LABELS / n_labels), len(rows)))
        fewer.append(one.without_labels(spared))
        n_spared += len(spared)
    return fewer, n_spared


def measure_recordings(
    datasets: Sequence[Dataset],
    frames: str | None = None,
    *,
    scene: Scene | None = None,
    progress: Progress | None = None,
    **options,
) -> list[FeatureTable]:
    """Measure each as `measure_labelled` does with the `options`, all in the scene of the first, as a model
    of that counts.

    DatasetError when one is there twice, another has another shape of frame or shows another view, or some
    come at less than `LOW_RATE_FPS` and others do not: their people would be measured at another size; see
    `train` too.
    """
    if len(datasets) > 1:
        _check(datasets, [selected(dataset, frames) for dataset in datasets])
    tables: list[FeatureTable] = []
    for k, dataset in enumerate(datasets):
        table = measure_labelled(
            dataset,
            frames,
            least=MIN_LABELS if len(datasets) == 1 else 1,
            scene=tables[0].scene if tables else scene,
            progress=_share(progress, k, len(datasets)),
            **options,
        )
        tables.append(table)
        if k and table.shows_another_view(tables[0].scene):
            raise DatasetError(
                f"{dataset.name} shows another view than {datasets[0].name}, as of a camera that was moved "
                "far; train on recordings of one view"
            )
    return tables


def _check(datasets: Sequence[Dataset], wanted: Sequence[np.ndarray]) -> None:
    """What is known before hours are measured."""
    if any(dataset.source is None for dataset in datasets):
        raise DatasetError("expected one table of ready-made features, or several recordings; give one")
    counts = [one.counts[rows] for one, rows in zip(datasets, wanted, strict=True)]
    for one, known in zip(datasets, counts, strict=True):
        check_labels(known, 1, one.name)
    check_labels(np.concatenate(counts), MIN_LABELS, _names(datasets))
    for one, other in itertools.combinations(datasets, 2):
        if _are_the_same(one.source, other.source):
            raise DatasetError(f"{other.name} is the same recording as {one.name}; give each once")
    rates, sizes = [], []
    for dataset in datasets:
        with dataset.open_footage() as source:
            rates.append(source.info.rate)
            sizes.append(source.info.size_wh)
        if not is_one_shape(sizes[-1], sizes[0]):
            (width, height), (first_width, first_height) = sizes[-1], sizes[0]
            raise DatasetError(
                f"{dataset.name} has frames of {width}x{height}, another shape than "
                f"{first_width}x{first_height} in {datasets[0].name}; train on recordings of one shape"
            )
    slowest, fastest = np.argmin(rates), np.argmax(rates)
    if rates[slowest] < LOW_RATE_FPS <= rates[fastest]:
        raise DatasetError(
            f"expected recordings of {LOW_RATE_FPS:g} frames/s or more, or all of less, found "
            f"{rates[slowest]:g} in {datasets[slowest].name} and {rates[fastest]:g} in "
            f"{datasets[fastest].name}; train on one kind, or give the rate of images that tell none"
        )


def joined(datasets: Sequence[Dataset], tables: Sequence[FeatureTable]) -> tuple[Dataset, FeatureTable]:
    """The measured rows of all as those of one data set.

    Dots and boxes are where the features are, see `FeatureTable.labels_of`; of several, in pixels of the
    first, of whatever size the others are. What not all of them have, as dots, none has then; neither tracks,
    nor a source. DatasetError when fewer than `MIN_LABELS` rows have a label.
    """
    datasets = [table.labels_of(one) for one, table in zip(datasets, tables, strict=True)]
    if len(datasets) == 1:
        return datasets[0], tables[0]
    dataset = _joined_labels(datasets, tables)
    check_labels(dataset.counts, MIN_LABELS, dataset.name)
    return dataset, _joined_features(tables)


def _joined_labels(datasets: Sequence[Dataset], tables: Sequence[FeatureTable]) -> Dataset:
    chosen = [table.rows.tolist() for table in tables]

    def of_rows(name: str) -> list | None:
        arrays = [getattr(dataset, name) for dataset in datasets]
        if any(array is None for array in arrays):
            return None
        return [array[row] for array, rows in zip(arrays, chosen, strict=True) for row in rows]

    size_wh = tables[0].scene.size_wh
    scales = [np.divide(size_wh, table.scene.size_wh) for table in tables for _ in table.rows]

    def places(name: str) -> tuple | None:
        found = of_rows(name)
        return found and tuple(
            one if one is None else one * np.tile(scale, one.shape[1] // 2)  # x and y, width and height
            for scale, one in zip(scales, found, strict=True)
        )

    directed = of_rows("directed")
    return Dataset(
        name=_names(datasets),
        numbers=np.array(of_rows("numbers")),
        counts=np.array(of_rows("counts")),
        points=places("points"),
        boxes=places("boxes"),
        directed=None if directed is None else np.array(directed),
        recordings=tuple(one.name for one, rows in zip(datasets, chosen, strict=True) for _ in rows),
    )


def _joined_features(tables: Sequence[FeatureTable]) -> FeatureTable:
    before = np.cumsum([0, *(len(table.rows) for table in tables[:-1])])

    def of_all(parts: Sequence[FeatureTable]) -> FeatureTable:
        places = [
            start + np.searchsorted(table.rows, part.rows)
            for start, table, part in zip(before, tables, parts, strict=True)
        ]
        features = np.vstack([part.features for part in parts])
        recoloured = np.concatenate([part.recoloured for part in parts])
        rows = {"rows": np.concatenate(places), "features": features, "recoloured": recoloured}
        unknown = ("times_s", "estimated", "moved", "least_contrast", "meaningless", "directed", "copies")
        return replace(parts[0], **rows, **dict.fromkeys(unknown))

    table = of_all(tables)
    if tables[0].directed is not None:
        sides = zip(*(one.directed for one in tables), strict=True)
        table = replace(table, directed=tuple(map(of_all, sides)))
    copied = [
        (start + one.copies.of, one.copies.X)
        for start, one in zip(before, tables, strict=True)
        if one.copies is not None
    ]
    if copied:
        of, X = zip(*copied, strict=True)
        table = replace(table, copies=Copies(np.vstack(X), np.concatenate(of)))
    return table


def _names(datasets: Sequence[Dataset]) -> str:
    return ", ".join(one.name for one in datasets)


def _are_the_same(*sources: str | Path | Sequence[Path]) -> bool:
    """Whether two sources have the same content: blocks of the one would be judged by the other."""
    one, other = map(files_of, sources)
    try:
        return len(one) == len(other) and all(
            filecmp.cmp(*files, shallow=False) for files in zip(one, other, strict=True)
        )
    except OSError:  # an image that cannot be read cannot be decoded either
        return False


def _share(progress: Progress | None, k: int, n: int) -> Progress | None:
    """The progress of the k-th of n recordings, as that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(k * total + done, n * total)
