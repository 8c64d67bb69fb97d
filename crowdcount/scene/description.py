"""What a scene file holds: shapes and where they are from as JSON, masks, maps and the view as arrays."""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from features.empty_scene import EmptyScene
from features.perspective import MAX_SLOPE, MIN_SLOPE

from ..errors import SceneError, one_line
from .shapes import MAX_COORDINATE, MAX_SIDE

#: Of the layout of a file.
VERSION = 1
SCENE_SUFFIXES = (".json", ".npz")

Origin = Literal["given", "imported", "estimated", "assumed"]
_Coordinate = Annotated[float, Field(ge=-MAX_COORDINATE, le=MAX_COORDINATE)]
_Pixels = Annotated[float, Field(gt=0, le=65536)]
_Side = Annotated[int, Field(ge=1, le=MAX_SIDE)]
_Points = Annotated[tuple[tuple[_Coordinate, _Coordinate], ...], Field(min_length=3, max_length=10_000)]


class Strict(BaseModel):
    """Content with all that is asked for, of the right types, and nothing else."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class Line(Strict):
    """A `HeightLine`."""

    slope: Annotated[float, Field(ge=MIN_SLOPE, le=MAX_SLOPE)]
    intercept: Annotated[float, Field(ge=-65536, le=65536)]
    smallest: _Pixels
    largest: _Pixels


class Description(Strict):
    """What is kept of a `Scene` but its arrays; see there."""

    size_wh: tuple[_Side, _Side]
    polygons: Annotated[tuple[_Points, ...], Field(min_length=1, max_length=1000)] | None
    line: Line | None
    roi_origin: Origin
    height_origin: Origin
    height_reliability: Annotated[float, Field(ge=0, le=1)]
    axis: tuple[tuple[_Coordinate, _Coordinate], tuple[_Coordinate, _Coordinate]] | None = None


class SceneFile(Description):
    """A .json file of this version."""

    kind: Literal["scene"]
    version: int


class Header(BaseModel):
    """What a .json file of any version has: a newer one may hold more than is known here."""

    kind: Literal["scene"]
    version: Annotated[int, Field(ge=1)]


def validated(model, content, path):
    """The content (JSON) as a `model`; SceneError naming the first thing that is wrong."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        reason = first_of(error)
        raise SceneError(f"{path} is not a scene file ({reason}); make it with crowdcount scene") from None


def first_of(error: ValidationError) -> str:
    """The first thing that is wrong and where, on one line of up to 160 letters."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "content"
    return one_line(f"{place}: {first['msg']}")[:160]


def view_arrays(view: EmptyScene | None) -> dict[str, np.ndarray]:
    """The empty scene as arrays by name, for `view_of`; none of it where it is not known."""
    if view is None:
        return {}
    arrays = {"view": view.image_bgr, "view_threshold": view.threshold}
    if view.is_proven is not None:
        arrays["view_proven"] = view.is_proven
    if len(view.others_bgr):
        arrays["view_others"] = np.stack(view.others_bgr)
    return arrays


def view_of(arrays: Mapping[str, np.ndarray]) -> EmptyScene | None:
    """The empty scene that is among arrays by name; SceneError when it is none."""
    names = ("view", "view_threshold", "view_proven", "view_others")
    image, threshold, proven, others = (arrays.get(name) for name in names)
    if image is None:
        return None
    is_picture = image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.size
    fits = threshold is not None and threshold.dtype == np.uint8 and threshold.shape == image.shape[:2]
    fits &= proven is None or (proven.dtype == bool and proven.shape == image.shape[:2])
    fits &= others is None or (others.dtype == np.uint8 and others.shape[1:] == image.shape)
    if not (is_picture and fits):
        raise SceneError("the empty scene is no picture with thresholds; make the scene or train again")
    return EmptyScene(image, threshold, proven, () if others is None else tuple(others))
