"""What the commands on labelled data sets do, for any caller: read what is given, work, and write files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import DatasetError, OutputError
from ..jobs import source_label
from ..model import BUNDLED, check_model_file, default_model, load_model
from ..pages import check_page
from ..scene import Scene, load_scene
from ..storage import check_writable, refuse_foreign, refuse_to_replace, same_file
from ..watcher import Show, Watcher
from .audit import AUDIT_COLUMNS, Audit, audit_labels, write_audit_page, write_audit_table
from .datasets import Dataset, load_dataset
from .recalibration import Recalibration, recalibrate
from .training import Evaluation, Training, evaluate, train


def train_model(
    paths: Sequence[str],
    model_path: str | Path,
    *,
    scene: str | Path | None = None,
    counts: Sequence[str | Path] = (),
    mot: str | Path | None = None,
    annotated: str | None = None,
    fps: float | None = None,
    watcher: Watcher,
    **options,
) -> Training:
    """Train on a data set, or on several recordings of one camera, and save the model.

    Parameters
    ----------
    paths : sequence of str
        The data set; or several, each with its file of `counts`.
    model_path : path
        Model file to write.
    scene : path, optional
        Scene file.
    counts : sequence of path
        `counts` of each for `load_dataset`; none or one for one data set, of which `mot` and
        `annotated` are; `fps` is of all.
    watcher : Watcher
    options
        regressor, kernel, frames, level, target, directions and cache, as for `train`.

    Raises
    ------
    DatasetError, VideoError, SceneError, OutputError
    """
    check_model_file(model_path, *paths, scene, *counts, mot)
    if len(counts) != len(paths) and (counts or len(paths) > 1):
        raise DatasetError(
            "expected a file of counts for each recording, in their order, found "
            f"{len(counts)} for {len(paths)}; give as many"
        )
    with watcher.progress() as show:
        loaded_scene = None if scene is None else load_scene(scene)
        labels = {"mot": mot, "annotated": annotated, "fps": fps}
        datasets = [
            _loaded(path, loaded_scene, loaded_scene, watcher, show, counts=file, **labels)
            for path, file in zip(paths, counts or [None], strict=True)
        ]
        training = train(datasets, scene=loaded_scene, progress=_measuring(show), **options)
        training.model.save(model_path)
    return training


def evaluate_model(
    path: str,
    model: str | Path | None = None,
    *,
    scene: str | Path | None = None,
    frames: str | None = None,
    cache: str | Path | None = None,
    watcher: Watcher,
    **labels,
) -> Evaluation:
    """Measure a model's error on a data set.

    Parameters
    ----------
    path : str
        The data set.
    model : path, optional
        Model file; the bundled model by default.
    scene, watcher
        As for `train_model`.
    frames, cache
        As for `evaluate`.
    labels
        counts, mot, annotated and fps, as for `load_dataset`.

    Raises
    ------
    DatasetError, VideoError, SceneError, ModelError, OutputError
    """
    loaded = default_model() if model is None else load_model(model)
    with _opened(path, scene, watcher, loaded.scene, **labels) as (dataset, loaded_scene, show):
        return evaluate(
            dataset, loaded, frames=frames, scene=loaded_scene, cache=cache,
            progress=lambda done, total: show("measuring", done, total, None),
        )  # fmt: skip


def audit_dataset(
    path: str,
    *,
    output: str | Path | None = None,
    html: str | Path | None = None,
    scene: str | Path | None = None,
    frames: str | None = None,
    cache: str | Path | None = None,
    watcher: Watcher,
    **labels,
) -> Audit:
    """Audit the labels of a data set, and write what stands out where asked.

    Parameters
    ----------
    path, scene, frames, cache, watcher, labels
        As for `evaluate_model`.
    output : path, optional
        CSV file to write, or "-".
    html : path, optional
        Page to write.

    Raises
    ------
    DatasetError, VideoError, SceneError, OutputError
    """
    if output is not None and html is not None and same_file(Path(output), Path(html)):
        raise OutputError(f"the table and the page would both be written to {html}; choose two names")
    used = path, scene, labels.get("counts"), labels.get("mot")
    if output not in (None, "-"):
        refuse_to_replace(output, *used)
        check_writable(output, (".csv",))
        refuse_foreign(output, AUDIT_COLUMNS)
    if html is not None:
        check_page(html, "audit", *used)
    with _opened(path, scene, watcher, **labels) as (dataset, loaded_scene, show):
        audit = audit_labels(
            dataset, frames=frames, scene=loaded_scene, cache=cache, progress=_measuring(show)
        )
        if output is not None:
            write_audit_table(audit, output)
        if html is not None:
            show("drawing", 0, None, None)
            write_audit_page(audit, dataset, html)
    return audit


def recalibrate_model(
    model: str | Path,
    path: str,
    output: str | Path | None = None,
    *,
    scene: str | Path | None = None,
    frames: str | None = None,
    cache: str | Path | None = None,
    watcher: Watcher,
    **labels,
) -> tuple[Recalibration, str]:
    """Correct a model by a few counts and save what it becomes; returns what was found, and the file's name.

    Parameters
    ----------
    model : path
        Model file, or `BUNDLED`.
    output : path, optional
        Model file to write; by default `<stem>.recalibrated.npz` in the working folder.
    path, scene, frames, cache, watcher, labels
        As for `evaluate_model`.

    Raises
    ------
    DatasetError, VideoError, SceneError, ModelError, OutputError
    """
    written = f"{Path(model).stem}.recalibrated.npz" if output is None else str(output)
    check_model_file(written, model, path, scene, labels.get("counts"), labels.get("mot"))
    loaded = default_model() if model == BUNDLED else load_model(model)
    with _opened(path, scene, watcher, loaded.scene, **labels) as (dataset, loaded_scene, show):
        found = recalibrate(
            dataset, loaded, frames=frames, scene=loaded_scene, cache=cache, progress=_measuring(show)
        )
        found.model.save(written)
    return found, written


def _measuring(show: Show) -> Callable[[int, int], None]:
    """Progress of measuring, then of a fit whose end nobody knows."""

    def measured(done: int, total: int) -> None:
        show("measuring", done, total, None)
        if done == total:
            show("fitting", 0, None, None)

    return measured


@contextmanager
def _opened(
    path, scene, watcher: Watcher, known_scene: Scene | None = None, **labels
) -> Iterator[tuple[Dataset, Scene | None, Show]]:
    """A data set with its labels, the scene of a file if one is given, and what is shown the progress.

    Without a file, dots and boxes count in the region of the scene that a model knows.
    """
    with watcher.progress() as show:
        loaded_scene = None if scene is None else load_scene(scene)
        roi_scene = loaded_scene or known_scene
        dataset = _loaded(path, loaded_scene, roi_scene, watcher, show, **labels)
        yield dataset, loaded_scene, show


def _loaded(
    path, scene: Scene | None, roi_scene: Scene | None, watcher: Watcher, show: Show, **labels
) -> Dataset:
    """A data set whose notes have been told; DatasetError where a scene that is given tells nothing."""
    show(f"looking at {source_label(str(path))}", 0, None, None)
    dataset = load_dataset(path, roi_scene=roi_scene, **labels)
    if scene is not None and dataset.source is None:
        raise DatasetError(
            f"{path} holds ready-made features, which no scene changes; drop --scene, or give footage"
        )
    watcher.loaded(dataset)
    return dataset
