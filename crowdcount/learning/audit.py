"""An audit of annotations: which labels Huber loss regression distrusts, and what a person judges them by."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from features.camera import as_seen

from ..overlay import draw_annotations
from ..pages import Markup, paragraph, picture, section, table, write_page
from ..plots import plot_labels
from ..rows import count_cell, open_rows
from ..scene import Scene
from .datasets import Dataset
from .fitting import Fitting, RemovedLabel, measure_labelled
from .measuring import Progress, n_lost_labels
from .recordings import thinned
from .regressors import N_REFINEMENTS, HuberLossSetting

AUDIT_COLUMNS = {"rank": int, "frame": int, "label": float, "prediction": float, "refinement": int}
#: A label that the prediction is nearer to than this is the number that it would be rounded to.
_SAME = 0.5
#: Labels of a page that are shown with their frame, the oddest ones: a page of more would be slow to open.
MAX_PICTURES = 200
_PICTURE_WIDTH = 480


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    name : str
        The data set's.
    removed : tuple of RemovedLabel
        The labels that stand out, oddest first: pruned, and half a person or more beside the prediction.
    numbers : (n,) int64
        The frames whose labels were looked at, in the data set's own numbering.
    labels, predictions : (n,) float64
        People as annotated, and as predicted by models that have not seen the frame's block and have pruned
        labels of the other blocks.
    setting : HuberLossSetting
        Of the regression, chosen by blocked cross-validation.
    scene : Scene or None
        None for ready-made features.
    seconds : float
    n_lost_labels : int
        See `n_lost_labels`.
    n_spared_labels : int
        See `thinned`.
    moved : (n, 3, 3) float64 or None
        See `FeatureTable.moved`.
    """

    name: str
    removed: tuple[RemovedLabel, ...]
    numbers: np.ndarray
    labels: np.ndarray
    predictions: np.ndarray
    setting: HuberLossSetting
    scene: Scene | None
    seconds: float
    n_lost_labels: int
    n_spared_labels: int
    moved: np.ndarray | None = None

    def region_in(self, number: int) -> np.ndarray:
        """The region of interest (H, W) bool of footage, where a frame with a label shows it."""
        return as_seen(self.scene.roi, None if self.moved is None else self.moved[self.numbers == number][0])

    @property
    def verdict(self) -> str:
        """What was found, in a sentence or two for people."""
        n_labels, n_removed = len(self.labels), len(self.removed)
        if not n_removed:
            return f"Nothing stands out: each of the {n_labels} labels fits what the others tell."
        return (
            f"{n_removed} of {n_labels} labels stand out from what the others tell. Look at them: such a "
            "label is wrong, or right in a situation that is rare."
        )


def audit_labels(
    dataset: Dataset,
    *,
    frames: str | None = None,
    scene: Scene | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Find the labels that stand out from what all the others tell.

    The regression is that of `train`, its setting chosen in the same way, but each frame takes part once, as
    it is, and labels are pruned whether or not that lowers the cross-validation error: a person decides.

    Parameters
    ----------
    dataset, frames, scene, cache, progress
        As for `crowdcount.learning.training.train`.

    Raises
    ------
    DatasetError
        When there are too few labels, or the frames asked for are not there.
    VideoError, SceneError, OutputError
    """
    began = time.perf_counter()
    [dataset], n_spared = thinned([dataset], frames)
    measured = measure_labelled(dataset, frames, scene=scene, cache=cache, progress=progress)
    fitting = Fitting(measured, measured.labels_of(dataset))
    setting = replace(fitting.choose().setting, n_refinements=N_REFINEMENTS)
    pruned = fitting.validated(setting).predictions
    removed = fitting.removed(fitting.fit(setting), pruned)
    return Audit(
        name=dataset.name,
        removed=tuple(one for one in removed if abs(one.label - one.prediction) >= _SAME),
        numbers=fitting.numbers,
        labels=fitting.labels,
        predictions=pruned,
        setting=setting,
        scene=measured.scene,
        seconds=time.perf_counter() - began,
        n_lost_labels=n_lost_labels(dataset, frames, measured.rows),
        n_spared_labels=n_spared,
        moved=None if measured.moved is None else measured.moved[fitting.labelled],
    )


def write_audit_table(audit: Audit, target: str | Path) -> None:
    """Write the labels that stand out as CSV, to a file or for "-" the standard output.

    Columns `rank,frame,label,prediction,refinement`; the header stands alone when nothing stands out.
    OutputError when it cannot be written.
    """
    with open_rows(target, "csv", AUDIT_COLUMNS) as rows:
        for rank, one in enumerate(audit.removed, start=1):
            cells = (rank, one.number, count_cell(one.label), count_cell(one.prediction), one.refinement)
            rows.write(dict(zip(AUDIT_COLUMNS, cells, strict=True)))


def write_audit_page(audit: Audit, dataset: Dataset, path: str | Path) -> None:
    """Write one self-contained HTML page: a plot, and the labels that stand out with their frames' pictures.

    Parameters
    ----------
    audit : Audit
    dataset : Dataset
        The one that was audited; its footage is read again for the pictures.
    path : path

    Raises
    ------
    VideoError, OutputError
    """
    shown = {} if dataset.source is None else dict(_pictures(audit, dataset))
    write_page(path, "audit", f"Audit of the labels of {audit.name}", _parts(audit, shown))


def _parts(audit: Audit, shown: dict[int, Markup]) -> Iterator[Markup]:
    """The page's content; `shown`: pictures by the frame's number."""
    yield paragraph(audit.verdict)
    marked = np.isin(audit.numbers, [one.number for one in audit.removed])
    plot = plot_labels(audit.numbers, audit.labels, audit.predictions, marked)
    yield section("All labels", picture(plot, "labels and predictions over the frames"))
    if not audit.removed:
        return
    parts = [
        paragraph(
            "Oddest first. The prediction is that of a model that has not seen the frame or its neighbours; "
            "the refinement is the round of the regression in which the label went.",
            note=True,
        )
    ]
    if audit.scene is None:
        parts.append(paragraph("There are no pictures: the data set holds ready-made features.", True))
    elif len(audit.removed) > MAX_PICTURES:
        parts.append(paragraph(f"Pictures are shown of the first {MAX_PICTURES}.", True))
    header = [*AUDIT_COLUMNS]
    rows = [
        [rank, one.number, f"{one.label:g}", f"{one.prediction:.1f}", one.refinement]
        for rank, one in enumerate(audit.removed, start=1)
    ]
    if shown:
        header.append("picture")
        for row in rows:
            row.append(shown.get(row[1], ""))
    yield section("Labels to look at", *parts, table(header, rows))


def _pictures(audit: Audit, dataset: Dataset) -> Iterator[tuple[int, Markup]]:
    """Number and picture of the oddest frames, read in the order of time."""
    numbers = [one.number for one in audit.removed[:MAX_PICTURES]]
    rows = np.flatnonzero(np.isin(dataset.numbers, numbers))
    if not len(rows):
        return
    with dataset.open_footage() as source:
        for frame in source.frames_at(rows.tolist()):
            people = (kind and kind[frame.index] for kind in (dataset.points, dataset.boxes))
            number = int(dataset.numbers[frame.index])
            drawn = draw_annotations(frame.image_bgr, audit.region_in(number), *people)
            yield number, picture(drawn, f"frame {number}", _PICTURE_WIDTH)
