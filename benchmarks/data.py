"""The real data sets that the papers' experiments use.

They are not in the project: they lie in the folder CROWDCOUNT_DATA, by default ../shared/data beside it.
"""

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import wavfile

from crowdcount.learning.datasets import Dataset, load_dataset

PROJECT = Path(__file__).resolve().parent.parent

#: Rows in the training and in the test part of Raetsch's splits.
RAETSCH_SIZES = {
    "breast_cancer": (200, 77),
    "diabetis": (468, 300),
    "german": (700, 300),
    "heart": (170, 100),
    "image": (1300, 1010),
    "thyroid": (140, 75),
}

#: Labelled footage: place, MOT file, its annotated frames, and the frames to count.
FOOTAGE = {
    "vtest": (("pets2009", "vtest.avi"), ("pets2009", "PETS09-S2L1_gt_001-400.txt"), "1-400", "0-399"),
    "TUD-Campus": (("tud", "TUD-Campus", "TUD-Campus.mp4"), ("tud", "TUD-Campus", "gt.txt"), None, None),
    "TUD-Stadtmitte": (
        ("tud", "TUD-Stadtmitte", "TUD-Stadtmitte.mp4"), ("tud", "TUD-Stadtmitte", "gt.txt"), None, None,
    ),
    "Mall": (("mall",), None, None, "1-800"),
}  # fmt: skip
#: The same of ready-made features.
FEATURES = {
    "mall-features": (("mall", "mall_feat.mat"), None, None, "1-800"),
    "ucsd-features": (("ucsd", "ucsd_peds1_features.npz"), None, None, "601-1400"),
}


class DataError(Exception):
    """The data asked for are not there; one line says what was looked for and how to name their place."""


def data_folder() -> Path:
    """Folder of the data sets; DataError where it is absent."""
    folder = Path(os.environ.get("CROWDCOUNT_DATA", PROJECT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise DataError(f"no folder of data sets at {folder}; set CROWDCOUNT_DATA to it")
    return folder


def data_file(*names: str) -> Path:
    """A file or folder among the data sets; DataError where it is absent."""
    path = data_folder().joinpath(*names)
    if not path.exists():
        raise DataError(f"no {'/'.join(names)} among the data sets in {data_folder()}")
    return path


def labelled(name: str) -> tuple[Dataset, str | None]:
    """A set of `FOOTAGE` or `FEATURES`, its frames to count (None: all); DataError where it is absent."""
    place, mot, annotated, frames = (FOOTAGE | FEATURES)[name]
    path, mot = data_file(*place), None if mot is None else data_file(*mot)
    return load_dataset(path, mot=mot, annotated=annotated), frames


def tabular(name: str, n_targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d) and y (n,), or (n, n_targets) when more than one, of the table tabular/NAME.csv.

    The targets are the last columns; classes are -1 and 1. Both float64, rows in the file's order.
    """
    table = np.loadtxt(data_file("tabular", f"{name}.csv"), delimiter=",", skiprows=1, ndmin=2)
    X, targets = table[:, :-n_targets], table[:, -n_targets:]
    return X, targets[:, 0] if n_targets == 1 else targets


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of a training and of a test part."""

    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class RaetschSet:
    """A binary classification set: X (n, d) float64, y (n,) -1 or 1, splits, and where these come from."""

    X: np.ndarray
    y: np.ndarray
    splits: list[Split]
    provenance: str


def raetsch(name: str, n_splits: int) -> RaetschSet:
    """Raetsch's set NAME with `n_splits` splits: the official ones as far as they exist, from 1 on.

    The others are random ones of the official sizes, drawn with the split's number as seed. Of official ones
    that are the same (of image the first and the tenth), one is taken.
    """
    X, y = tabular(f"raetsch/{name}")
    n_train, n_test = RAETSCH_SIZES[name]
    path = data_folder() / "tabular" / "raetsch" / f"{name}_splits.csv"
    official = _read_splits(path).values() if path.exists() else []
    splits = list({tuple(split.test): split for split in official}.values())[:n_splits]
    n_official = len(splits)
    for seed in range(n_official + 1, n_splits + 1):
        order = np.random.default_rng(seed).permutation(len(y))
        splits.append(Split(np.sort(order[:n_train]), np.sort(order[n_train : n_train + n_test])))
    provenance = [f"official splits 1-{n_official}"] if n_official else []
    if n_official < n_splits:
        provenance.append(f"random splits of the official sizes, seeds {n_official + 1}-{n_splits}")
    return RaetschSet(X, y, splits, ", ".join(provenance))


def _read_splits(path: Path) -> dict[str, Split]:
    parts: dict[str, dict[str, list[int]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            parts.setdefault(row["split"], {"train": [], "test": []})[row["set"]].append(int(row["row"]))
    return {name: Split(np.array(part["train"]), np.array(part["test"])) for name, part in parts.items()}


@dataclass(frozen=True, eq=False)
class CrowdSet:
    """Ready-made features of a crowd: X (n, 30), y (n,) people with NaN where unlabelled, columns of views.

    `views`: the columns of size, edges and texture; `names` of all columns.
    """

    X: np.ndarray
    y: np.ndarray
    views: list[np.ndarray]
    names: tuple[str, ...]


def crowd(name: str) -> CrowdSet:
    """The published features of "mall" (labels: frames 1-800) or "ucsd" (601-1400), 2000 frames each."""
    dataset, _ = labelled(f"{name}-features")
    kinds = np.array(dataset.feature_views)
    views = [np.flatnonzero(kinds == kind) for kind in ("size", "edges", "texture")]
    return CrowdSet(dataset.features[:2000], dataset.counts[:2000], views, dataset.feature_names)


def faces() -> tuple[np.ndarray, np.ndarray]:
    """ORL faces (credit: AT&T Laboratories Cambridge): images (400, 112, 92) uint8, persons (400,) from 0."""
    with np.load(data_file("faces", "orl_faces.npz")) as arrays:
        return arrays["images"], arrays["target"] - arrays["target"].min()


def diffusion_tensor_curves() -> tuple[np.ndarray, np.ndarray]:
    """DTI, first visit of 100 patients: cca (100, 93) and rcst (100, 55) float64, NaN where not measured."""
    with data_file("functional", "dti_visit1_ms.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    table = np.array([[np.nan if cell in ("", "NA") else float(cell) for cell in line] for line in lines])
    return tuple(table[:, [name.startswith(start) for name in header]] for start in ("cca", "rcst"))


def lip_curves() -> tuple[np.ndarray, np.ndarray]:
    """Lip movement: EMG (32, 641) and acceleration (32, 641), float64."""
    path = data_file("functional", "lip.csv")
    with path.open() as file:
        header = file.readline().strip().split(",")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    emg = np.array([name.startswith("emg") for name in header])
    return table[:, emg], table[:, 1:][:, ~emg[1:]]


@dataclass(frozen=True, eq=False)
class Word:
    """A spoken word: sound (n,) int16 at `rate_hz`; vocal-tract curves (n_tracts, n_frames), 5 ms apart."""

    word: str
    rate_hz: int
    sound: np.ndarray
    tracts: np.ndarray


#: Names of a word's first tracts.
TRACTS = ("LP", "LA", "TBCL", "TBCD", "VEL", "GLO", "TTCL", "TTCD")


def speech() -> list[Word]:
    """The synthetic words in the order of their index, with as many of their tracts as have a name."""
    words = []
    with data_file("functional", "speech_index.csv").open(newline="") as index:
        for row in csv.DictReader(index):
            word = row["word"]
            rate_hz, sound = wavfile.read(data_file("functional", "speech", f"{word}.wav"))
            tracts = np.loadtxt(data_file("functional", "speech", f"{word}.csv"), delimiter=",", ndmin=2)
            words.append(Word(word, rate_hz, sound, tracts[: len(TRACTS)]))
    return words
