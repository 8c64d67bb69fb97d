"""Measured features, kept in a folder for the next run."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

import features

from ..arrays import load_arrays, save_arrays
from ..errors import DatasetError
from ..scene import Scene, view_arrays
from ..storage import check_writable, output_errors
from ..video import files_of

#: Version of the layout of a file.
VERSION = 1


def kept(
    folder: str | Path | None,
    source: str | Path | Sequence[Path],
    scene: Scene,
    settings: Sequence[object],
    measured: Callable[[], dict[str, np.ndarray]],
) -> dict[str, np.ndarray]:
    """What `measured` returns: from the folder if it is there, else measured now and kept there.

    Parameters
    ----------
    folder : path or None
        Is made where it is missing; None: nothing is kept.
    source : str, Path or sequence of Path
        The footage: a file, a folder, a pattern, or the images. It is known by its content.
    scene : Scene
    settings : sequence
        What else the features depend on, told apart by its `repr`.
    measured : callable
        Measures; returns arrays by name.

    Raises
    ------
    DatasetError
        When the file in the folder is damaged.
    OutputError
        When the folder cannot be written to; nothing has been measured then.
    """
    if folder is None:
        return measured()
    key = _key(source, scene, settings)[:32]
    file = Path(folder) / f"features-{key}.npz"
    found = _load(file)
    known = view_arrays(scene.view)
    if not all(np.array_equal(array, found.get(name)) for name, array in known.items()):
        # a scene learnt from other footage than this
        digest = hashlib.sha256(b"".join(array.tobytes() for array in known.values())).hexdigest()
        file = Path(folder) / f"features-{key}-{digest[:16]}.npz"
        found = _load(file)
    if found:
        return found
    with output_errors(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    check_writable(file)
    arrays = measured()
    save_arrays(file, "features", VERSION, arrays, {})
    return arrays


def _load(file: Path) -> dict[str, np.ndarray]:
    """What a file keeps; nothing when it is not there."""
    try:
        return load_arrays(file, "features", VERSION, DatasetError)[0] if os.path.exists(file) else {}
    except DatasetError as error:
        raise DatasetError(f"{file} is damaged or holds something else; delete it") from error


def _key(source, scene: Scene, settings: Sequence[object]) -> str:
    """Digest of what the features depend on but the view: the footage, the scene, the settings, the code."""
    digest = hashlib.sha256()
    arrays, description = replace(scene, view=None).to_arrays()
    digest.update(repr((description, *settings)).encode())
    for array in arrays.values():
        digest.update(array.tobytes())
    for file in files_of(source):
        try:
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        except OSError:
            digest.update(b"a frame that cannot be decoded")
    digest.update(f"OpenCV {cv2.__version__}, NumPy {np.__version__}".encode())
    for file in _code():
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _code() -> Iterator[Path]:
    """The files whose change may change what is measured."""
    here = Path(__file__).parent
    yield from sorted(Path(features.__file__).parent.glob("*.py"))
    for name in ("scene", "video"):
        yield from sorted((here.parent / name).glob("*.py"))
    for name in ("overview", "pipeline", "counting", "smoothing", "stretches", "profile", "results"):
        yield here.parent / f"{name}.py"
    yield here.parent / "alarm" / "measuring.py"
    for name in ("datasets/dataset", "local_counts", "measuring", "witnesses"):
        yield here / f"{name}.py"
