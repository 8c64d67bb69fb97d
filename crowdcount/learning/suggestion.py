"""Which frames to count by hand, so that a counter learns most from few of them."""

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models import transductive_design
from models.kernels import Kernel
from models.predictor import column_statistics, standardised

from ..errors import DatasetError, OutputError
from ..jobs import command_on, source_label, source_stem
from ..marking import write_heads_page
from ..model import BUNDLED
from ..overview import Overview
from ..pages import check_page
from ..pipeline import Pipeline
from ..rows import open_rows
from ..scene import Scene, load_scene
from ..storage import check_writable, output_errors, refuse_to_replace, write_picture
from ..video import VideoSource, open_source, refuse_among_images
from ..watcher import Watcher
from . import MIN_LABELS
from .datasets import open_recorded
from .grids import grid_weights

#: Frames that are looked at to choose among, evenly spread over the footage.
MAX_CANDIDATES = 1000
#: No two chosen frames are nearer than this share of their mean distance.
LEAST_DISTANCE = 0.25
#: coef0 of the quadratic kernel of each view, one of those that training chooses from
#: (`crowdcount.learning.regressors.COEF0S`).
COEF0 = 3.0
#: Columns of the file of labels that is to be filled in.
COLUMNS = {"frame": int, "time_s": float, "count": float}


@dataclass(frozen=True)
class Suggestion:
    """A frame to count: its number from 0, and seconds since the first frame."""

    frame: int
    time_s: float


def chosen_rows(
    features: np.ndarray, columns: Sequence[str], views: Sequence[np.ndarray], places: np.ndarray, size: int
) -> np.ndarray:
    """Rows (size,) of the features (n, d) to label, the most telling first, for kernels like training's.

    `columns`: their names; `views`: columns of each view; `places` (n,): where the rows lie in time, in
    order.
    """
    mean, scale, *_ = column_statistics(features)
    rows = standardised(features, mean, scale) * grid_weights(columns)
    kernel = np.zeros((len(rows), len(rows)))
    for view in views:
        part = Kernel.resolve("poly", {"degree": 2, "coef0": COEF0}, len(view))
        kernel += part.matrix(rows[:, view], rows[:, view])
    gap = LEAST_DISTANCE * (places[-1] - places[0]) / max(size, 1)
    return transductive_design(kernel, places, size, gap)


def suggest(
    path: str,
    size: int = 25,
    *,
    scene: Scene | None = None,
    fps: float | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[Suggestion]:
    """Choose the frames of footage whose counts would teach a counter most, in their order.

    Parameters
    ----------
    path : str
        A video file, or a folder or pattern of images.
    size : int
        How many frames.
    scene : Scene, optional
        By default one estimated from the footage.
    fps : float, optional
        As for `open_source`.
    progress : callable, optional
        Called with the number of frames looked at, and of all.

    Raises
    ------
    DatasetError
        When the footage is live, or has fewer frames that can be decoded than are to be chosen.
    VideoError, SceneError
    """
    with open_recorded(path, fps, "to choose frames of") as source:
        length, most = source.info.frame_count or 0, max(MAX_CANDIDATES, 2 * size)
        if length < size:  # what a file states may be too few
            length = sum(1 for _ in source.frames())
        _check_enough(size, length, path)
        overview = Overview(source, scene)
        while True:
            every = max(1, math.ceil(length / most))
            pipeline = Pipeline(overview.scene, source.info.rate / every)
            overview.teach(pipeline)
            found, rows, n_seen = _measured(source, pipeline, every, 2 * most, length, progress)
            if n_seen <= 2 * most and (every == 1 or n_seen >= most // 2):
                break
            length = sum(1 for _ in source.frames())  # far more, or fewer, than the file states
    _check_enough(size, len(found), path)
    views = [np.array(view) for view in pipeline.schema.views()]
    places = np.array([float(one.frame) for one in found])
    chosen = chosen_rows(rows, pipeline.schema.names, views, places, size)
    return [found[row] for row in sorted(chosen)]


def _check_enough(size: int, found: int, path: str) -> None:
    if found < size:
        raise DatasetError(
            f"expected {size} or more frames that can be decoded, found {found} in {path}; ask for fewer"
        )


def _measured(
    source: VideoSource, pipeline: Pipeline, every: int, most: int, length: int, progress
) -> tuple[list[Suggestion], np.ndarray, int]:
    """Of every so many frames of about `length`, those that can be decoded, their features (n, d) float64,
    and how many were seen: `most` + 1 where there are more than `most`.
    """
    found, rows, total = [], [], math.ceil(length / every)
    for k, frame in enumerate(source.frames_at(range(0, (most + 1) * every, every)), start=1):
        if frame.image_bgr is not None:
            found.append(Suggestion(frame.index, frame.time_s))
            rows.append(pipeline.measure(frame.image_bgr).features.ravel())
        if progress is not None:
            progress(k, max(k, total))
    return found, np.array(rows), k


def write_suggestions(suggestions: Sequence[Suggestion], target: str | Path) -> None:
    """Write the frames, each with an empty count, as CSV for `crowdcount train`, for "-" to standard output.

    OutputError when it cannot be written.
    """
    with open_rows(target, "csv", COLUMNS) as rows:
        for one in suggestions:
            rows.write({"frame": one.frame, "time_s": round(one.time_s, 6), "count": None})


def picture_name(frame: int) -> str:
    """What the picture of a frame is called."""
    return f"frame-{frame:06d}.png"


def write_pictures(path: str, suggestions: Sequence[Suggestion], folder: str | Path) -> None:
    """Write frames of footage as `frame-000123.png` into a folder, which is made; OutputError, VideoError."""
    with output_errors(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    for one, image in _images(path, suggestions):
        write_picture(Path(folder, picture_name(one.frame)), image)


def write_page(
    path: str, suggestions: Sequence[Suggestion], scene: Scene | None, html: str | Path, **texts: str
) -> None:
    """Write a page to mark the heads in frames of footage; SceneError, OutputError, VideoError.

    `texts`: `saved` and `command` of `write_heads_page`.
    """
    roi = None
    if scene is not None:
        with open_source(path) as source:
            roi = scene.fitted(source.info.size_wh).roi
    frames = ((one.frame, one.time_s, image) for one, image in _images(path, suggestions))
    write_heads_page(html, Path(path).name, frames, roi, **texts)


def _images(path: str, suggestions: Sequence[Suggestion]) -> Iterator[tuple[Suggestion, np.ndarray]]:
    wanted = {one.frame: one for one in suggestions}
    with open_source(path) as source:
        for frame in source.frames_at(sorted(wanted)):
            if frame.image_bgr is not None:
                yield wanted[frame.index], frame.image_bgr


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
        As for `suggest`.
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
        check_page(html, "suggest", source, scene, output)
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
