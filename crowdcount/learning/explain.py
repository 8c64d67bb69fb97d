"""A page that shows what a compressed model compares frames with: the training frames like its prototypes."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ..errors import DatasetError, ModelError
from ..model import CounterModel, Prototypes, load_model
from ..pages import Markup, check_page, paragraph, picture, section, table, write_page
from ..video import open_source
from ..watcher import Watcher
from .datasets import load_dataset

PICTURE_WIDTH = 240


def explain(model: CounterModel, footage: str | Path, path: str | Path) -> None:
    """Write one self-contained HTML page with the training frames that each prototype is like.

    Parameters
    ----------
    model : CounterModel
        Compressed (`crowdcount.learning.compression.compress`).
    footage : path
        The footage it was trained on, or the folder of the data set.
    path : path
        Page to write.

    Raises
    ------
    ModelError
        When the model is not compressed, or the footage lacks frames that it was trained on or shows another
        view.
    VideoError, OutputError
    """
    prototypes = model.prototypes
    if prototypes is None:
        raise ModelError(
            "expected a compressed model, found one without prototypes; make one with crowdcount compress"
        )
    images = _images(footage, np.unique(prototypes.frames))
    view = None if model.scene is None else model.scene.view
    if view is not None and 2 * sum(view.is_shown_in(image) for image in images.values()) < len(images):
        raise ModelError(
            f"{footage} shows another view than the model was trained on; give the footage that it was "
            "trained on"
        )
    write_page(path, "explain", "What the model compares frames with", _parts(model, prototypes, images))


def _images(footage: str | Path, frames: np.ndarray) -> dict[int, np.ndarray]:
    """The pixels (H, W, 3) of frames of the footage, by their number from 0."""
    wanted = set(frames.tolist())
    images = {}
    with open_source(_source(footage)) as source:
        for frame in source.frames_at(sorted(wanted)):
            if frame.image_bgr is not None:
                images[frame.index] = frame.image_bgr
    missing = sorted(wanted - set(images))
    if missing:
        raise ModelError(
            f"{footage} has no frame {missing[0]} (from 0) that can be decoded, but the model was trained on "
            "it; give the footage that it was trained on"
        )
    return images


def _source(footage: str | Path):
    """The images of a data set's folder, or the footage itself."""
    if os.path.isdir(footage):
        try:
            return load_dataset(footage).source or footage
        except DatasetError:
            pass  # a folder of images
    return footage


def _parts(model: CounterModel, prototypes: Prototypes, images: Mapping[int, np.ndarray]) -> Iterator[Markup]:
    trained_on = model.facts.get("trained_on")
    name = f", trained on {trained_on}," if isinstance(trained_on, str) else ""
    yield paragraph(
        f"This model{name} compares a frame's features with {len(prototypes.weights)} prototypes. The more "
        "alike they are, the more people a prototype with a positive weight adds to the count, and the more "
        "one with a negative weight takes away. No prototype is a frame that was seen; below are the "
        "training frames most like it, with the people in them as labelled."
    )
    yield paragraph(
        "Similarities are between 0 and 1; they say which frames come first, and mean little by themselves. "
        "Prototypes may lie outside of what was seen, where they show the way from few people to many.",
        note=True,
    )
    for rank, j in enumerate(np.argsort(-np.abs(prototypes.weights), kind="stable"), 1):
        weight = prototypes.weights[j]
        numbers, labels = prototypes.numbers[j], prototypes.labels[j]
        shown = [
            picture(images[frame], f"frame {number}", PICTURE_WIDTH)
            for frame, number in zip(prototypes.frames[j].tolist(), numbers, strict=True)
        ]
        yield section(
            f"Prototype {rank}: {'more' if weight > 0 else 'fewer'} people (weight {weight:+.1f})",
            paragraph(f"Frames most like it have {labels.min():g} to {labels.max():g} people."),
            table(
                [f"frame {number}" for number in numbers],
                [
                    shown,
                    [f"people: {label:g}" for label in labels],
                    [f"similarity: {value:.3f}" for value in prototypes.similarities[j]],
                ],
            ),
        )


def explain_model(
    model: str | Path, footage: str | Path, output: str | Path | None = None, *, watcher: Watcher
) -> str:
    """Write a page on what a compressed model compares frames with; returns the file's name.

    Parameters
    ----------
    model : path
        Model file.
    footage : path
        What the model was trained on; see `explain`.
    output : path, optional
        Page to write; by default `<stem>.explained.html` in the working folder.
    watcher : Watcher

    Raises
    ------
    ModelError, VideoError, OutputError
    """
    written = f"{Path(model).stem}.explained.html" if output is None else str(output)
    check_page(written, "explain", model, footage)
    with watcher.progress() as show:
        show(f"looking at {footage}", 0, None, None)
        explain(load_model(model), footage, written)
    return written
