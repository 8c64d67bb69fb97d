"""Several recordings of one camera, learnt from together: mornings and evenings, sun and rain."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from models import Copies

from ..errors import DatasetError
from ..scene import Scene
from .datasets import Dataset
from .fitting import MIN_LABELS, measure_labelled
from .measuring import FeatureTable, Progress, check_labels


def measure_recordings(
    datasets: Sequence[Dataset],
    frames: str | None = None,
    *,
    scene: Scene | None = None,
    directions: bool = False,
    with_copies: bool = False,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> list[FeatureTable]:
    """Measure each as `measure_labelled` does, all in the scene of the first, as a model of that counts.

    DatasetError when another shows another view, or comes so much faster or slower that its people would be
    measured at another size; see `train` too.
    """
    if len(datasets) > 1 and any(dataset.source is None for dataset in datasets):
        raise DatasetError("expected one table of ready-made features, or several recordings; give one")
    tables: list[FeatureTable] = []
    for k, dataset in enumerate(datasets):
        table = measure_labelled(
            dataset,
            frames,
            least=MIN_LABELS if len(datasets) == 1 else 1,
            scene=tables[0].scene if tables else scene,
            directions=directions,
            with_copies=with_copies,
            cache=cache,
            progress=_share(progress, k, len(datasets)),
        )
        tables.append(table)
        first = tables[0]
        if table.columns != first.columns or table.person_height != first.person_height:
            raise DatasetError(
                f"expected recordings at about one rate, found {first.rate:g} frames per second in "
                f"{datasets[0].name} and {table.rate:g} in {dataset.name}; train on one of them"
            )
        if table.shows_another_view(first.scene):
            raise DatasetError(
                f"{dataset.name} shows another view than {datasets[0].name}, as of a camera that was moved; "
                "train on recordings of one view"
            )
    return tables


def joined(datasets: Sequence[Dataset], tables: Sequence[FeatureTable]) -> tuple[Dataset, FeatureTable]:
    """The measured rows of all as those of one data set.

    What not all of them have, as dots, none has then; neither tracks, nor a source. DatasetError when fewer
    than `MIN_LABELS` rows have a label.
    """
    if len(datasets) == 1:
        return datasets[0], tables[0]
    chosen = [table.rows.tolist() for table in tables]

    def of_rows(name: str) -> list | None:
        arrays = [getattr(dataset, name) for dataset in datasets]
        if any(array is None for array in arrays):
            return None
        return [array[row] for array, rows in zip(arrays, chosen, strict=True) for row in rows]

    directed, points, boxes = map(of_rows, ("directed", "points", "boxes"))
    dataset = Dataset(
        name=", ".join(one.name for one in datasets),
        numbers=np.array(of_rows("numbers")),
        counts=np.array(of_rows("counts")),
        points=None if points is None else tuple(points),
        boxes=None if boxes is None else tuple(boxes),
        directed=None if directed is None else np.array(directed),
        recordings=tuple(one.name for one, rows in zip(datasets, chosen, strict=True) for _ in rows),
    )
    check_labels(dataset, np.arange(len(dataset.numbers)), MIN_LABELS)
    before = np.cumsum([0, *map(len, chosen[:-1])])

    def of_all(parts: Sequence[FeatureTable]) -> FeatureTable:
        places = [
            start + np.searchsorted(table.rows, part.rows)
            for start, table, part in zip(before, tables, parts, strict=True)
        ]
        features = np.vstack([part.features for part in parts])
        rows = {"rows": np.concatenate(places), "features": features, "times_s": None, "estimated": None}
        return replace(parts[0], directed=None, copies=None, **rows)

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
    return dataset, table


def _share(progress: Progress | None, k: int, n: int) -> Progress | None:
    """The progress of the k-th of n recordings, as that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(k * total + done, n * total)
