"""Scenes read from their own files and from those of the Mall and UCSD data sets."""

import codecs
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..arrays import load_arrays, read_mat
from ..errors import SceneError
from ..storage import read_bytes
from .description import VERSION, Description, Header, SceneFile, validated, view_of
from .scene import Scene
from .shapes import MAX_PIXELS, HeightLine, map_of, region_of

#: Height in pixels of a standing person whose centre lies where the relative scale of an imported map is 1,
#: as it is not in the files. Mall (sqrt(1 / pMapN) = 1): the median over 360 blobs of one annotated head each
#: in frames 1-800, rows 160 to 480, where it varies by 3 % between rows. UCSD (pmapy = 1): no frames at hand;
#: from the published features, in which a person covers about 900 pixels of dilated foreground there.
MALL_PERSON_HEIGHT, UCSD_PERSON_HEIGHT = 139.0, 32.0
_MAX_JSON_BYTES = 1 << 20
#: People of an imported map are at most so many times as tall as the frame: of the nearest, parts are seen.
_TALLEST = 4


def load_scene(path: str | Path) -> Scene:
    """Read a scene file that `Scene.save` wrote, or that was edited by hand (.json).

    Raises
    ------
    SceneError
        One line: a missing, truncated, foreign or hostile file, or values that make no scene.
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        return scene_of(*load_arrays(path, "scene", VERSION, SceneError), path)
    if path.suffix.lower() == ".mat":
        advice = f"make a scene of it: crowdcount scene VIDEO --import {path}"
        raise SceneError(f"{path} is of a data set; {advice}")
    content = read_bytes(path, _MAX_JSON_BYTES, "scene file", "give a scene file", SceneError)
    content = content.removeprefix(codecs.BOM_UTF8)  # some editors begin a text with it
    version = validated(Header, content, path).version
    if version > VERSION:
        raise SceneError(
            f"{path} was written by a newer crowdcount (format {version}, this one reads up "
            f"to {VERSION}); update crowdcount"
        )
    description = validated(SceneFile, content, path)
    try:
        return _assembled(description, {})
    except SceneError as error:
        raise SceneError(f"{path}: {error}") from None


def scene_of(arrays: Mapping[str, np.ndarray], description: Mapping, place: str | Path) -> Scene:
    """The scene that `Scene.to_arrays` described; SceneError naming `place` when they make none."""
    valid = validated(Description, json.dumps(description), place)
    try:
        return _assembled(valid, arrays)
    except SceneError as error:
        raise SceneError(f"{place}: {error}") from None


def _assembled(description: Description, arrays) -> Scene:
    size_wh, polygons, line = description.size_wh, description.polygons, description.line
    if size_wh[0] * size_wh[1] > MAX_PIXELS:
        raise SceneError(f"expected frames of up to {MAX_PIXELS} pixels, found {size_wh[0]}x{size_wh[1]}")
    if line is not None:
        line = HeightLine(**dict(line))
        person_height = map_of(line, size_wh)
    else:
        person_height = arrays.get("person_height")
    roi = arrays.get("roi") if polygons is None else region_of(polygons, size_wh)
    if roi is None or person_height is None:
        raise SceneError(
            "expected polygons or a mask, and a line or a height map; one is missing; make the scene again"
        )
    if person_height.dtype != np.float32:
        raise SceneError(f"expected a height map of float32, found {person_height.dtype}; make it again")
    return Scene(
        size_wh,
        roi,
        person_height,
        polygons=polygons,
        line=line,
        roi_origin=description.roi_origin,
        height_origin=description.height_origin,
        height_reliability=description.height_reliability,
        axis=description.axis,
        view=view_of(arrays),
    )


def import_scene(*paths: str | Path) -> Scene:
    """Make a scene from the .mat files of a data set.

    Known are Mall's `perspective_roi.mat` (`roi.mask`, `pMapN`) and UCSD's `…dmap3.mat` (`dmap.pmapy`) and
    `…roi_mainwalkway.mat` (`roi.mask`). Both maps weigh the pixels of a person by where the body's centre
    lies: UCSD's pmapy is the inverse of the relative height there, Mall's pMapN its square. They do not hold
    the height itself: see `MALL_PERSON_HEIGHT` and `UCSD_PERSON_HEIGHT`.

    Parameters
    ----------
    paths : str or Path
        One or more files that together hold a perspective map and a mask; without a mask the whole frame is
        the ROI.

    Raises
    ------
    SceneError
        One line: a file that cannot be read, or that holds neither.
    """
    roi = person_height = None
    for path in paths:
        variables = read_mat(path, ("pMapN", "dmap", "roi"), SceneError)
        try:
            with np.errstate(divide="ignore", invalid="ignore"):  # heights that are none are refused below
                if "pMapN" in variables:
                    person_height = MALL_PERSON_HEIGHT / np.sqrt(_numbers(variables["pMapN"]))
                elif "dmap" in variables:
                    person_height = UCSD_PERSON_HEIGHT / _numbers(variables["dmap"].pmapy)
                elif "roi" not in variables:
                    raise KeyError
            if "roi" in variables:
                roi = _numbers(variables["roi"].mask) > 0
        except (AttributeError, KeyError, ValueError, TypeError):
            raise SceneError(
                f"{path} holds no scene: expected pMapN, dmap.pmapy or roi.mask, full matrices; "
                "give a file of the Mall or UCSD data set"
            ) from None
    if person_height is None or person_height.ndim != 2:
        raise SceneError("the files hold no perspective map (pMapN or dmap.pmapy); add the file that does")
    roi = np.ones(person_height.shape, bool) if roi is None else roi
    scene = Scene(
        person_height.shape[::-1],
        roi,
        person_height.astype(np.float32),
        roi_origin="imported",
        height_origin="imported",
    )
    smallest, largest = person_height[roi].min(), person_height[roi].max()
    if smallest < 1 or largest > _TALLEST * len(person_height):
        raise SceneError(
            f"the perspective map makes people {smallest:.3g} to {largest:.3g} pixels tall in frames of "
            f"{len(person_height)} rows; give one in the units of the Mall or UCSD data set"
        )
    return scene


def _numbers(matrix) -> np.ndarray:
    """A matrix of real numbers as float64; TypeError for any other, as a sparse one."""
    array = np.asarray(matrix)
    if array.dtype.kind not in "biuf":
        raise TypeError
    return array.astype(np.float64)
