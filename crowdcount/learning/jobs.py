"""What the commands on labels and models do, for any caller: read what is given, work, and write files."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import DatasetError, OutputError
from ..jobs import command_on, source_label, source_stem
from ..model import check_model_file, default_model, load_model
from ..pages import check_page
from ..plots import PLOT_SUFFIXES, plot_compression
from ..scene import Scene, load_scene
from ..storage import check_writable, refuse_foreign, refuse_to_replace, same_file
from ..video import refuse_among_images
from ..watcher import Show, Watcher
from .audit import AUDIT_COLUMNS, Audit, audit_labels, write_audit_page, write_audit_table
from .compression import Compression, compress
from .datasets import Dataset, load_dataset
from .explain import explain
from .fitting import MIN_LABELS
from .recalibration import Recalibration, recalibrate
from .suggestion import Suggestion, picture_name, suggest, write_page, write_pictures, write_suggestions
from .training import Evaluation, Training, evaluate, train

#: What stands for the bundled model in the place of a model file's name.
BUNDLED = "bundled"


def suggest_frames(
    source: str,
    output: str | None = None,
    *,
    size: int = 25,
    pictures: str | Path | None = None,
    html: str | Path | None = None,
    scene: str | Path | None = None,
    fps: float | None = None,
    watcher: Watcher,
) -> tuple[list[Suggestion], str | None]:
    """Choose frames to count and write them; returns them and the file's name.

    Parameters
    ----------
    source : str
        A video file, or a folder or pattern of images.
    output : str, optional
        CSV file to write, or "-"; by default `<stem>.labels.csv` in the working folder, and none where there
        is a page. It must not be there: it may hold counts.
    size, fps
        As for `crowdcount.learning.suggestion.suggest`.
    pictures : path, optional
        Folder for the frames as pictures.
    html : path, optional
        Page to write, to mark the heads on.
    scene : path, optional
        Scene file.
    watcher : Watcher

    Raises
    ------
    DatasetError, VideoError, SceneError, OutputError
    """
    written = f"{source_stem(source)}.labels.csv" if output is None and html is None else output
    if html is not None:
        check_page(html, source, scene, output)
    if written not in (None, "-"):
        if os.path.isfile(written):
            raise OutputError(f"{written} is there and may hold counts; move it, or choose a name with -o")
        refuse_to_replace(written, source, scene)
        check_writable(written, (".csv",))
    loaded_scene = None if scene is None else load_scene(scene)
    if pictures is not None:
        folder = Path(pictures)
        check_writable(next(one for one in (folder, *folder.parents) if one.exists()) / "frame.png")
        refuse_among_images(folder / picture_name(0), source)
    with watcher.progress() as show:
        show(f"looking at {source_label(source)}", 0, None, None)
        found = suggest(
            source, size, scene=loaded_scene, fps=fps,
            progress=lambda done, total: show("measuring", done, total, None),
        )  # fmt: skip
        if pictures is not None:
            write_pictures(source, found, pictures)
        if html is not None:
            stem = source_stem(source)
            options = [] if scene is None else ["--scene", str(scene)]
            options += [] if fps is None else ["--fps", f"{fps:g}"]
            saved = re.sub(r'[<>:"|?*\\]', "_", f"{stem}.dots.csv")  # as browsers do
            name, model = (["train"], "-m") if teaches_a_model(found) else (["recalibrate", BUNDLED], "-o")
            command = command_on(source, name, "--counts", saved, model, f"{stem}.npz", *options)
            write_page(source, found, loaded_scene, html, saved=saved, command=command)
        if written is not None:
            write_suggestions(found, written)
    return found, written


def teaches_a_model(found: Sequence[Suggestion]) -> bool:
    """Whether suggested frames are enough for train; fewer correct a model that is there (recalibrate)."""
    return len(found) >= MIN_LABELS


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
        check_page(html, *used)
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


def compress_model(
    model: str | Path,
    output: str | Path | None = None,
    *,
    prototypes: int | None = None,
    plot: str | Path | None = None,
    watcher: Watcher,
) -> tuple[Compression, str]:
    """Compress a model and save the smaller one; returns what was found, and the file's name.

    Parameters
    ----------
    model : path
        Model file.
    output : path, optional
        Model file to write; by default `<stem>.compressed.npz` in the working folder.
    prototypes : int, optional
        How many; see `crowdcount.learning.compression.compress`.
    plot : path, optional
        Picture to draw of the error against the number of prototypes.
    watcher : Watcher

    Raises
    ------
    ModelError, OutputError
    """
    written = f"{Path(model).stem}.compressed.npz" if output is None else str(output)
    check_model_file(written, model)
    if plot is not None:
        refuse_to_replace(plot, model, written)
        check_writable(plot, PLOT_SUFFIXES)
    loaded = load_model(model)
    with watcher.progress() as show:
        found = compress(loaded, prototypes, lambda done, total: show("compressing", done, total, None))
    found.model.save(written)
    if plot is not None:
        plot_compression(found, plot, Path(model).name)
    return found, written


def explain_model(
    model: str | Path, footage: str | Path, output: str | Path | None = None, *, watcher: Watcher
) -> str:
    """Write a page on what a compressed model compares frames with; returns the file's name.

    Parameters
    ----------
    model : path
        Model file.
    footage : path
        What the model was trained on; see `crowdcount.learning.explain.explain`.
    output : path, optional
        Page to write; by default `<stem>.explained.html` in the working folder.
    watcher : Watcher

    Raises
    ------
    ModelError, VideoError, OutputError
    """
    written = f"{Path(model).stem}.explained.html" if output is None else str(output)
    check_page(written, model, footage)
    with watcher.progress() as show:
        show(f"looking at {footage}", 0, None, None)
        explain(load_model(model), footage, written)
    return written


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
