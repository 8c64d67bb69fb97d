"""Footage or ready-made features with the number of people in some of the frames.

`dataset` holds what all of them have in common, `published` and `labelled` how each kind is read.
"""

import os
from pathlib import Path

from ...arrays import kind_of
from ...errors import DatasetError, one_line
from ...scene import Scene
from ...storage import refuse_locked
from ...video import FEATURE_SUFFIXES
from .dataset import Dataset, box_centres, boxes_inside, open_recorded, points_inside
from .labelled import load_labelled_video, load_mot_video
from .published import (
    LARGEST_FEATURE,
    UCSD_FEATURES,
    load_folder,
    load_mall_features,
    load_ucsd_features,
)

__all__ = [
    "LARGEST_FEATURE",
    "UCSD_FEATURES",
    "Dataset",
    "box_centres",
    "boxes_inside",
    "load_dataset",
    "open_recorded",
    "points_inside",
]


def load_dataset(path: str | Path, *, counts: str | Path | None = None, mot: str | Path | None = None,
                 annotated: str | None = None, roi_scene: Scene | None = None,
                 fps: float | None = None) -> Dataset:
    """Load a data set; its kind is seen from what `path` holds.

    Parameters
    ----------
    path : str or Path
        A Mall folder, a UCSD-style folder, a table of published features, or, with `counts` or `mot`, a
        video, a folder or a pattern of images.
    counts : str or Path, optional
        CSV file with the columns `frame` (from 0), or `time_s` (seconds since the first frame, or HH:MM:SS;
        the first frame that is not earlier), and `count`; a blank count leaves the frame unlabelled.
        `right` and `left`, where both are there, are the numbers of people who move so. Or dots: without
        `count`, but with `x` and `y` of a head in each row, in pixels whose centres are whole numbers; blank
        in the one row of a frame with nobody in it.
    mot : str or Path, optional
        MOT Challenge ground truth (`frame,id,left,top,width,height,consider,…`, frames and pixels from 1).
        People with consider = 0 are counted too.
    annotated : str, optional
        Frames "A-B" that the MOT file covers, in its own numbering: those without a row have nobody in them.
        By default from its first to its last row, which is told in `notes`.
    roi_scene : Scene, optional
        Counts only people whose dot in `counts`, or the centre of what the frame shows of whose box in `mot`,
        lies in its region of interest. The official counts of Mall and UCSD, which have their own region, and
        those of `counts` are taken as they are.
    fps : float, optional
        Frames per second of the footage of `counts` or `mot`, as for `open_source`. Of images it must be
        given where they come as fast as video: else they are taken to be a second apart, and measured so.

    Raises
    ------
    DatasetError
        When something is missing, malformed or contradicts the footage; with the number of the line.
    VideoError, SceneError
        When the footage of `counts` or `mot` cannot be opened, or `roi_scene` does not fit it.
    """
    kind = kind_of(Path(path)) if Path(path).suffix.lower() == ".npz" else None
    if kind is not None:
        raise DatasetError(f"expected a data set, but {path} holds a crowdcount {one_line(repr(kind))[:60]}; "
                           "give footage with its counts, or a table of features")
    if counts is not None and mot is not None:
        raise DatasetError("expected counts or a MOT file, not both; drop one of them")
    if annotated is not None and mot is None:
        raise DatasetError("annotated frames belong to a MOT file, but there is none; add it or drop them")
    for option, given in (("--counts", counts), ("--mot", mot)):
        if given is not None and Path(path).suffix.lower() in FEATURE_SUFFIXES and os.path.isfile(path):
            raise DatasetError(f"{path} holds ready-made features and has labels of its own; drop {option}")
    if fps is not None and counts is None and mot is None:
        raise DatasetError(f"a rate belongs to footage with counts or a MOT file; {path} has one of its own, "
                           "or none: leave fps out, or give labels")
    if counts is not None:
        return load_labelled_video(path, Path(counts), roi_scene, fps)
    if mot is not None:
        return load_mot_video(path, Path(mot), annotated, roi_scene, fps)
    path = Path(path)
    if not os.path.exists(path):
        refuse_locked(path, DatasetError)
        raise DatasetError(f"{path} does not exist; check the name")
    if path.is_dir():
        return load_folder(path)
    if path.suffix.lower() == ".mat":
        return load_mall_features(path)
    if path.suffix.lower() == ".npz":
        return load_ucsd_features(path)
    raise DatasetError(f"{path} has no counts of people with it; "
                       "give a CSV file of them (--counts) or a MOT file (--mot)")
