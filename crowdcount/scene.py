"""The scene of a fixed camera: where people are counted (ROI) and how tall a person is where (perspective).

A scene is given (polygons and people measured in the image), imported (the files of the Mall and UCSD data
sets), estimated from the footage, or assumed; it says which, and can be saved, corrected and shown.
"""

import codecs
import json
import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from features.camera import showing_one_view
from features.foreground import EmptyScene
from features.images import resized
from features.light import showing_something
from features.perspective import (
    MAX_SLOPE,
    MIN_SLOPE,
    SMALLEST_PERSON,
    estimate_height_line,
    height_map,
    typical_line,
)

from .errors import SceneError
from .storage import atomic_path, load_arrays, read_bytes, read_mat, save_arrays

VERSION = 1
#: Largest width or height, and largest number of pixels of a frame: a line of JSON must not fill the memory.
MAX_SIDE, MAX_PIXELS = 16384, 1 << 26
#: Footage is reduced to at most so many rows before people are looked for in it.
ESTIMATION_ROWS = 360
#: With fewer frames there is no background to tell people from.
MIN_ESTIMATION_FRAMES = 8
#: Height in pixels of a standing person whose centre lies where the relative scale of an imported map is 1,
#: as it is not in the files. Mall (sqrt(1 / pMapN) = 1): the median over 360 blobs of one annotated head each
#: in frames 1-800, rows 160 to 480, where it varies by 3 % between rows. UCSD (pmapy = 1): no frames at hand;
#: from the published features, in which a person covers about 900 pixels of dilated foreground there.
MALL_PERSON_HEIGHT, UCSD_PERSON_HEIGHT = 139.0, 32.0

#: Person heights of a lower reliability are doubtful: of seven simulated scenes with less, four were off by
#: more than 20 %, of 75 with more one (docs/decisions/2026-11-22-person-height.md).
DOUBTFUL_RELIABILITY = 0.6

Origin = Literal["given", "imported", "estimated", "assumed"]
Polygon = tuple[tuple[float, float], ...]
#: From where to where, pixels.
Axis = tuple[tuple[float, float], tuple[float, float]]

_MAX_JSON_BYTES = 1 << 20
_MAX_COORDINATE = 2 * MAX_SIDE
_MAX_ASPECT_MISFIT = 1.1


@dataclass(frozen=True)
class HeightLine:
    """Person height over the row of the feet.

    A standing person with the feet at row y is `slope · y + intercept` pixels tall, at least `smallest` and
    at most `largest` pixels: nobody is expected beyond. Rows count from the middle of the first row.
    """

    slope: float
    intercept: float
    smallest: float = 1.0
    largest: float = 65536.0

    def scaled(self, factor: float) -> "HeightLine":
        """The line in an image of `factor` times as many rows."""
        return HeightLine(
            self.slope,
            factor * self.intercept + self.slope * (1 - factor) / 2,
            factor * self.smallest,
            factor * self.largest,
        )


@dataclass(frozen=True, eq=False)
class Scene:
    """Region of interest and perspective of a fixed camera.

    Attributes
    ----------
    size_wh : (int, int)
        Width and height in pixels of the frames it belongs to.
    roi : (H, W) bool
        True where people are counted.
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel; positive.
    polygons : tuple of polygons ((x, y), …), or None
        The ROI as it was given, pixels; None when it is a mask.
    line : HeightLine or None
        The perspective as it was given; None when it is a map.
    roi_origin, height_origin : "given", "imported", "estimated" or "assumed"
    height_reliability : float
        0 … 1; 1 when given or imported, 0 when assumed.
    axis : ((x, y), (x, y)) or None
        From where to where people walk who are counted as right-moving, pixels; None: along the image's rows.
    view : EmptyScene or None
        The empty scene, at any size, as the camera showed it in training: footage that shows another view is
        flagged. None where it is not known; a .json file does not hold it.

    Raises
    ------
    SceneError
        When shapes or values do not fit, or the ROI is empty.
    """

    size_wh: tuple[int, int]
    roi: np.ndarray
    person_height: np.ndarray
    polygons: tuple[Polygon, ...] | None = None
    line: HeightLine | None = None
    roi_origin: Origin = "given"
    height_origin: Origin = "given"
    height_reliability: float = 1.0
    axis: Axis | None = None
    view: EmptyScene | None = None

    def __post_init__(self):
        width, height = self.size_wh
        for name, array in (("ROI mask", self.roi), ("height map", self.person_height)):
            if array.shape != (height, width):
                found = "x".join(str(n) for n in reversed(array.shape))
                raise SceneError(
                    f"the {name} has {found} pixels, but the frames {width}x{height}; "
                    "use one made for these frames"
                )
        if self.roi.dtype != bool or not self.roi.any():
            raise SceneError("the ROI is empty: no pixel lies in it; draw it inside the frame")
        if not (np.isfinite(self.person_height).all() and (self.person_height > 0).all()):
            raise SceneError("the height map holds values that are not positive numbers; make it again")
        if self.axis is not None and not 1 <= math.dist(*self.axis) < math.inf:
            raise SceneError(f"the axis {_axis_text(self.axis)} has no length; give two points apart")

    @property
    def right(self) -> np.ndarray:
        """Unit vector (2,) in the image, (x, y), of the axis: who walks along it moves right."""
        if self.axis is None:
            return np.array([1.0, 0.0])
        start, end = np.array(self.axis, np.float64)
        return (end - start) / math.dist(start, end)

    @property
    def has_doubtful_heights(self) -> bool:
        """Whether the person heights were assumed, or estimated with a reliability below 0.6."""
        guessed = self.height_origin in ("estimated", "assumed")
        return guessed and self.height_reliability < DOUBTFUL_RELIABILITY

    def resized(self, size_wh: tuple[int, int]) -> "Scene":
        """The same scene at another resolution: heights scale as the rows do."""
        if tuple(size_wh) == self.size_wh:
            return self
        scale_x, scale_y = size_wh[0] / self.size_wh[0], size_wh[1] / self.size_wh[1]
        if self.polygons is None:
            roi = cv2.resize(self.roi.astype(np.float32), size_wh, interpolation=cv2.INTER_AREA) >= 0.5
            polygons = None
        else:
            polygons = tuple(
                tuple(((x + 0.5) * scale_x - 0.5, (y + 0.5) * scale_y - 0.5) for x, y in polygon)
                for polygon in self.polygons
            )
            roi = _mask_of(polygons, size_wh)
        if self.line is None:
            line = None
            person_height = cv2.resize(self.person_height, size_wh, interpolation=cv2.INTER_LINEAR) * scale_y
        else:
            line = self.line.scaled(scale_y)
            person_height = _map_of(line, size_wh)
        axis = self.axis and tuple((x * scale_x, y * scale_y) for x, y in self.axis)
        return replace(
            self,
            size_wh=tuple(size_wh),
            roi=roi,
            person_height=person_height,
            polygons=polygons,
            line=line,
            axis=axis,
        )

    def fitted(self, size_wh: tuple[int, int]) -> "Scene":
        """The scene for footage of this size; SceneError when the footage has another shape of frame."""
        (width, height), (own_width, own_height) = size_wh, self.size_wh
        misfit = (width / height) / (own_width / own_height)
        if not 1 / _MAX_ASPECT_MISFIT < misfit < _MAX_ASPECT_MISFIT:
            raise SceneError(
                f"the scene was made for frames of {own_width}x{own_height}, but these have "
                f"{width}x{height}, another shape; make a scene for this footage"
            )
        return self.resized(size_wh)

    def redrawn(
        self,
        polygons: Iterable[Polygon] | None = None,
        persons: Iterable[tuple[float, float, float]] | None = None,
        axis: Axis | None = None,
    ) -> "Scene":
        """The scene with another region or perspective, as `scene_from` makes them, or another axis."""
        drawn = scene_from(self.size_wh, polygons, persons)
        names = [] if polygons is None else ["roi", "polygons", "roi_origin"]
        if persons is not None:
            names += ["person_height", "line", "height_origin", "height_reliability"]
        return replace(self, axis=axis or self.axis, **{name: getattr(drawn, name) for name in names})

    def knowing(self, other: "Scene | None") -> "Scene":
        """The scene with the view that one of the same region and heights knows, unless it has its own."""
        if self.view is not None or other is None or other.size_wh != self.size_wh:
            return self
        is_same = np.array_equal(self.roi, other.roi) and np.allclose(self.person_height, other.person_height)
        return replace(self, view=other.view) if is_same else self

    def describe(self) -> list[str]:
        """What the scene says and where it is from, one line each, for printing."""
        width, height = self.size_wh
        if self.polygons is None:
            region = "a mask"
        else:
            region = "1 polygon" if len(self.polygons) == 1 else f"{len(self.polygons)} polygons"
        region = "the whole frame" if self.roi.all() else f"{region}, {self.roi.mean():.0%} of the frame"
        rows = np.flatnonzero(self.roi.any(axis=1))
        far, near = (np.median(self.person_height[row][self.roi[row]]) for row in (rows[0], rows[-1]))
        lines = [
            f"region: {region} of {width}x{height} pixels ({self.roi_origin})",
            f"person height: {far:.0f} pixels with the body's centre at the region's top (row {rows[0]}) to "
            f"{near:.0f} with it at its bottom (row {rows[-1]}) ({self.height_origin}, reliability "
            f"{self.height_reliability:.2f})",
        ]
        if self.axis is not None:
            lines.append(f"right-moving: along the axis {_axis_text(self.axis)} (given)")
        if self.has_doubtful_heights:
            what = "only assumed" if self.height_origin == "assumed" else "uncertain"
            lines.append(
                f"the person height is {what}, and counts go with its square: draw two people on the "
                "page of `crowdcount scene --html FILE`, and give the file that its command writes as --scene"
            )
        return lines

    def save(self, path: str | Path) -> None:
        """Write the scene to a .json file (polygons and line, to be edited) or a .npz file (any scene).

        Raises
        ------
        SceneError
            For another suffix, or a mask or map that JSON cannot hold.
        OutputError
            When the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in (".json", ".npz"):
            raise SceneError(f"expected a scene file named .json or .npz, found {path.name}; rename it")
        if suffix == ".npz":
            save_arrays(path, "scene", VERSION, *self.to_arrays())
            return
        if self.polygons is None or self.line is None:
            raise SceneError(
                f"a scene with a mask or a height map does not fit into {path.name}; save it as .npz"
            )
        scene_file = _SceneFile(kind="scene", version=VERSION, **dict(self._description()))
        content = scene_file.model_dump_json(indent=2)
        with atomic_path(path) as temporary:
            temporary.write_text(content + "\n", encoding="utf-8")

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict]:
        """The scene as arrays by name and a JSON-able description, for `scene_of`."""
        arrays = {"roi": self.roi} if self.polygons is None else {}
        arrays |= {"person_height": self.person_height} if self.line is None else {}
        return arrays | view_arrays(self.view), self._description().model_dump(mode="json")

    def _description(self) -> "_Description":
        try:
            return _Description(
                size_wh=self.size_wh,
                polygons=self.polygons,
                line=None if self.line is None else _Line(**asdict(self.line)),
                roi_origin=self.roi_origin,
                height_origin=self.height_origin,
                height_reliability=self.height_reliability,
                axis=self.axis,
            )
        except ValidationError as error:
            raise SceneError(f"a scene file cannot hold this scene: {_first_of(error)}") from None


def scene_of(arrays: Mapping[str, np.ndarray], description: Mapping, place: str | Path) -> Scene:
    """The scene that `Scene.to_arrays` described; SceneError naming `place` when they make none."""
    valid = _validated(_Description, json.dumps(description), place)
    try:
        return _assembled(valid, arrays)
    except SceneError as error:
        raise SceneError(f"{place}: {error}") from None


def view_arrays(view: EmptyScene | None) -> dict[str, np.ndarray]:
    """The empty scene as arrays by name, for `view_of`; none of it where it is not known."""
    if view is None:
        return {}
    arrays = {"view": view.image_bgr, "view_threshold": view.threshold}
    return arrays if view.is_proven is None else arrays | {"view_proven": view.is_proven}


def view_of(arrays: Mapping[str, np.ndarray]) -> EmptyScene | None:
    """The empty scene that is among arrays by name; SceneError when it is none."""
    image, threshold, proven = (arrays.get(name) for name in ("view", "view_threshold", "view_proven"))
    if image is None:
        return None
    is_picture = image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.size
    fits = threshold is not None and threshold.dtype == np.uint8 and threshold.shape == image.shape[:2]
    fits &= proven is None or (proven.dtype == bool and proven.shape == image.shape[:2])
    if not (is_picture and fits):
        raise SceneError("the empty scene is no picture with thresholds; make the scene or train again")
    return EmptyScene(image, threshold, proven)


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
    content = read_bytes(path, _MAX_JSON_BYTES, "scene file", "give a scene file", SceneError)
    content = content.removeprefix(codecs.BOM_UTF8)  # some editors begin a text with it
    version = _validated(_Header, content, path).version
    if version > VERSION:
        raise SceneError(
            f"{path} was written by a newer crowdcount (format {version}, this one reads up "
            f"to {VERSION}); update crowdcount"
        )
    description = _validated(_SceneFile, content, path)
    try:
        return _assembled(description, {})
    except SceneError as error:
        raise SceneError(f"{path}: {error}") from None


def scene_from(
    size_wh: tuple[int, int],
    polygons: Iterable[Polygon] | None = None,
    persons: Iterable[tuple[float, float, float]] | None = None,
) -> Scene:
    """Make a scene from what the user draws and measures in the image.

    Parameters
    ----------
    size_wh : (int, int)
        Width and height of the frames, pixels.
    polygons : polygons ((x, y), …), optional
        The ROI, pixels; may reach beyond the frame. The whole frame by default.
    persons : (x, foot_y, height), two or more, optional
        Standing people, pixels; the least-squares line of height over foot row is the perspective. Nobody is
        expected to be less than half as tall as the smallest or twice as tall as the tallest of them. By
        default the typical camera is assumed.

    Raises
    ------
    SceneError
        When the ROI is empty or outside the frame, or the people give no line.
    """
    width, height = size_wh
    roi_origin = "assumed" if polygons is None else "given"
    polygons = _whole_frame(size_wh) if polygons is None else polygons
    polygons = tuple(tuple((float(x), float(y)) for x, y in polygon) for polygon in polygons)
    if persons is None:
        slope, intercept = typical_line(height)
        line = HeightLine(slope, intercept, SMALLEST_PERSON * height, float(height))
    else:
        line = _line_through(tuple(persons), size_wh)
    return Scene(
        (int(width), int(height)),
        _region_of(polygons, size_wh),
        _map_of(line, size_wh),
        polygons,
        line,
        roi_origin,
        "assumed" if persons is None else "given",
        0.0 if persons is None else 1.0,
    )


def for_estimation(frame_bgr: np.ndarray) -> np.ndarray:
    """What `estimate_scene` needs of a frame (H, W, 3) uint8: at most `ESTIMATION_ROWS` rows, a tenth of a
    large frame's memory."""
    height, width = frame_bgr.shape[:2]
    scale = min(1.0, ESTIMATION_ROWS / height)
    if scale == 1:
        return frame_bgr
    small_wh = (max(1, round(width * scale)), max(1, round(height * scale)))
    return resized(frame_bgr, small_wh, cv2.INTER_AREA)


def estimate_scene(
    frames_bgr: Iterable[np.ndarray], size_wh: tuple[int, int], polygons: Iterable[Polygon] | None = None
) -> Scene:
    """Make a scene whose perspective is found from the people that move in the footage.

    Parameters
    ----------
    frames_bgr : iterable of (H, W, 3) uint8
        Frames spread over the footage, in order, reduced by `for_estimation` or not; 60 to 200 are enough,
        and fewer than 8, black ones aside, give the typical camera. People are looked for in the whole
        frame, whatever the ROI: heads often reach out of it.
    size_wh : (int, int)
        Width and height of the frames, pixels.
    polygons : polygons ((x, y), …), optional
        The ROI; the whole frame by default.

    Returns
    -------
    Scene
        With `height_origin` "estimated", or "assumed" (the typical camera) where nothing can be relied on.

    Raises
    ------
    SceneError
        When the ROI is empty or outside the frame.
    """
    scene = scene_from(size_wh, polygons)
    frames = showing_one_view(showing_something(for_estimation(frame) for frame in frames_bgr))
    if len(frames) < MIN_ESTIMATION_FRAMES:
        return scene
    estimate = estimate_height_line(frames)
    if not estimate.reliability:
        return scene
    line = HeightLine(estimate.slope, estimate.intercept, estimate.smallest, estimate.largest)
    line = line.scaled(size_wh[1] / frames[0].shape[0])
    return replace(
        scene,
        line=line,
        person_height=_map_of(line, size_wh),
        height_origin="estimated",
        height_reliability=estimate.reliability,
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
            if "pMapN" in variables:
                person_height = MALL_PERSON_HEIGHT / np.sqrt(variables["pMapN"].astype(np.float64))
            elif "dmap" in variables:
                person_height = UCSD_PERSON_HEIGHT / variables["dmap"].pmapy.astype(np.float64)
            elif "roi" not in variables:
                raise KeyError
            if "roi" in variables:
                roi = variables["roi"].mask > 0
        except (AttributeError, KeyError, ValueError, TypeError):
            raise SceneError(
                f"{path} holds no scene: expected pMapN, dmap.pmapy or roi.mask; give a file of "
                "the Mall or UCSD data set"
            ) from None
    if person_height is None or person_height.ndim != 2:
        raise SceneError("the files hold no perspective map (pMapN or dmap.pmapy); add the file that does")
    roi = np.ones(person_height.shape, bool) if roi is None else roi
    return Scene(
        person_height.shape[::-1],
        roi,
        person_height.astype(np.float32),
        roi_origin="imported",
        height_origin="imported",
    )


def draw_scene(scene: Scene, frame_bgr: np.ndarray) -> np.ndarray:
    """Show a scene on a frame: the ROI outlined and dimmed outside, people as tall as expected, and the text
    of `Scene.describe` below the frame.

    Parameters
    ----------
    scene : Scene
    frame_bgr : (H, W, 3) uint8
        Brought to the scene's size when it has another.

    Returns
    -------
    (H + text, W, 3) uint8
    """
    width, height = scene.size_wh
    image = cv2.resize(frame_bgr, scene.size_wh, interpolation=cv2.INTER_AREA)
    image[~scene.roi] //= 3
    thickness = max(1, round(height / 400))
    outlines, _ = cv2.findContours(scene.roi.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    cv2.drawContours(image, outlines, -1, _OUTLINE_BGR, thickness)
    if scene.axis is not None:
        start, end = np.rint(scene.axis).astype(int).tolist()
        cv2.arrowedLine(image, start, end, _AXIS_BGR, 2 * thickness, cv2.LINE_AA, 0, 0.06)
    font = max(0.4, height / 1000)
    for x, y, tall in figures(scene):
        top, foot, half = round(y - tall / 2), round(y + tall / 2), round(0.2 * tall)
        cv2.rectangle(image, (x - half, top), (x + half, foot), _FIGURE_BGR, thickness)
        text = f"{tall:.0f} px"
        (wide, _), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, font, 3)
        _write(image, text, (min(x + half + 3, width - wide), min(foot, height - below - 1)), font)
    line_height = round(32 * font)
    columns = max(20, int(width / 20 / font))
    text = [part for line in scene.describe() for part in textwrap.wrap(line, columns)]
    panel = np.zeros((line_height * len(text) + line_height // 2, width, 3), np.uint8)
    for number, line in enumerate(text, start=1):
        _write(panel, line, (6, line_height * number), font)
    return np.vstack([image, panel])


def parse_polygon(text: str) -> Polygon:
    """Parse "x,y x,y x,y …", at least three points in pixels; SceneError otherwise."""
    points = text.split()
    if len(points) < 3:
        raise SceneError(f"expected a polygon as three or more points x,y x,y x,y, found {text!r}")
    return tuple(_numbers(point, 2, "a point x,y") for point in points)


def parse_person(text: str) -> tuple[float, float, float]:
    """Parse "x,foot_y,height" in pixels; SceneError otherwise."""
    return _numbers(text.strip(), 3, "a person as x,foot_y,height")


def parse_axis(text: str) -> Axis:
    """Parse "x1,y1 x2,y2", from where to where in pixels; SceneError otherwise."""
    points = text.split()
    if len(points) != 2:
        raise SceneError(f"expected an axis as two points x1,y1 x2,y2, found {text!r}")
    axis = tuple(_numbers(point, 2, "a point x,y") for point in points)
    if math.dist(*axis) < 1:
        raise SceneError(f"expected an axis between two points that are apart, found {text!r}")
    return axis


_OUTLINE_BGR, _FIGURE_BGR, _AXIS_BGR = (0, 220, 255), (80, 255, 80), (255, 200, 60)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


_Coordinate = Annotated[float, Field(ge=-_MAX_COORDINATE, le=_MAX_COORDINATE)]
_Pixels = Annotated[float, Field(gt=0, le=65536)]
_Side = Annotated[int, Field(ge=1, le=MAX_SIDE)]
_Points = Annotated[tuple[tuple[_Coordinate, _Coordinate], ...], Field(min_length=3, max_length=10_000)]


class _Line(_Strict):
    slope: Annotated[float, Field(ge=MIN_SLOPE, le=MAX_SLOPE)]
    intercept: Annotated[float, Field(ge=-65536, le=65536)]
    smallest: _Pixels
    largest: _Pixels


class _Description(_Strict):
    size_wh: tuple[_Side, _Side]
    polygons: Annotated[tuple[_Points, ...], Field(min_length=1, max_length=1000)] | None
    line: _Line | None
    roi_origin: Origin
    height_origin: Origin
    height_reliability: Annotated[float, Field(ge=0, le=1)]
    axis: tuple[tuple[_Coordinate, _Coordinate], tuple[_Coordinate, _Coordinate]] | None = None


class _SceneFile(_Description):
    kind: Literal["scene"]
    version: int


class _Header(BaseModel):
    kind: Literal["scene"]
    version: Annotated[int, Field(ge=1)]


def _validated(model, content, path):
    """The content (JSON) as a `model`; SceneError naming the first thing that is wrong."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        reason = _first_of(error)
        raise SceneError(f"{path} is not a scene file ({reason}); make it with crowdcount scene") from None


def _first_of(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "content"
    return "".join(c if c.isprintable() else " " for c in f"{place}: {first['msg']}")[:160]


def _assembled(description: _Description, arrays) -> Scene:
    size_wh, polygons, line = description.size_wh, description.polygons, description.line
    if size_wh[0] * size_wh[1] > MAX_PIXELS:
        raise SceneError(f"expected frames of up to {MAX_PIXELS} pixels, found {size_wh[0]}x{size_wh[1]}")
    if line is not None:
        line = HeightLine(**dict(line))
        person_height = _map_of(line, size_wh)
    else:
        person_height = arrays.get("person_height")
    roi = arrays.get("roi") if polygons is None else _region_of(polygons, size_wh)
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
        polygons,
        line,
        description.roi_origin,
        description.height_origin,
        description.height_reliability,
        description.axis,
        view_of(arrays),
    )


def _whole_frame(size_wh) -> tuple[Polygon, ...]:
    right, bottom = size_wh[0] - 1, size_wh[1] - 1
    if not (right and bottom):
        found = f"{size_wh[0]}x{size_wh[1]}"
        raise SceneError(f"the frames are too small: expected 2x2 pixels or more, found {found}; give larger")
    return (((0, 0), (right, 0), (right, bottom), (0, bottom)),)


def _region_of(polygons, size_wh) -> np.ndarray:
    """`_mask_of` polygons as they are given; SceneError where one encloses nothing or crosses itself, or all
    lie outside."""
    for number, polygon in enumerate(polygons, start=1):
        points = np.array(polygon, np.float64)
        if not (np.isfinite(points).all() and np.abs(points).max() <= _MAX_COORDINATE):
            raise SceneError(f"polygon {number} of the ROI has a point far outside any frame; correct it")
        if _crosses_itself(points):  # of an hourglass, the middle of the sides would not be counted
            raise SceneError(f"polygon {number} of the ROI crosses itself; give its corners in order")
        if len(points) < 3 or cv2.contourArea(points.astype(np.float32)) < 1:
            raise SceneError(f"polygon {number} of the ROI encloses no area; give three or more corners")
    mask = _mask_of(polygons, size_wh)
    if not mask.any():
        raise SceneError(f"the ROI lies outside the {size_wh[0]}x{size_wh[1]} frame; draw it inside")
    return mask


def _crosses_itself(points: np.ndarray) -> bool:
    """Whether two sides of a polygon (n, 2) cross, the ends of each on either side of the other."""

    def side(start, end, point):  # of the line from start to end on which a point lies, by the sign
        (x, y), (u, v) = (end - start).T, (point - start).T
        return x * v - y * u

    starts, ends = points, np.roll(points, -1, axis=0)
    return any(
        (
            (side(start, end, starts) * side(start, end, ends) < 0)
            & (side(starts, ends, start) * side(starts, ends, end) < 0)
        ).any()
        for start, end in zip(starts, ends, strict=True)
    )


def _mask_of(polygons, size_wh) -> np.ndarray:
    """Pixels (H, W) inside or on the border of any polygon, however small."""
    mask = np.zeros(size_wh[::-1], np.uint8)
    for polygon in polygons:
        cv2.fillPoly(mask, [np.rint(polygon).astype(np.int32)], 1)
    return mask.astype(bool)


def _map_of(line: HeightLine, size_wh) -> np.ndarray:
    try:
        return height_map(line.slope, line.intercept, size_wh, line.smallest, line.largest)
    except ValueError as error:
        raise SceneError(f"the line of person height fits no camera: {error}; correct it") from None


def _line_through(persons, size_wh) -> HeightLine:
    """Least-squares line of height over foot row."""
    if len(persons) < 2:
        raise SceneError(
            f"expected two or more people for the perspective, found {len(persons)}; "
            "give one far away and one near"
        )
    x, feet, heights = np.array(persons, np.float64).T
    width, height = size_wh
    if not (
        np.isfinite([x, feet, heights]).all()
        and (heights > 0).all()
        and (heights <= 2 * height).all()
        and (x >= 0).all()
        and (x <= width).all()
        and (feet >= 0).all()
        and (feet <= 2 * height).all()
    ):
        raise SceneError(
            f"expected people as x,foot_y,height in pixels of the {width}x{height} frame, found "
            "one outside it or without height; measure again"
        )
    if np.ptp(feet) < max(2, 0.02 * height):
        raise SceneError(
            f"the people stand on nearly the same row ({feet.min():g} to {feet.max():g}), which "
            "gives no perspective; take one far away and one near"
        )
    slope, intercept = (float(value) for value in np.polyfit(feet, heights, 1))
    slope = 0.0 if abs(slope) < 1e-9 else slope  # rounding must not turn equal heights into a false slope
    if not MIN_SLOPE <= slope <= MAX_SLOPE or (slope * feet + intercept <= 0).any():
        raise SceneError(
            f"people grow by {slope:.2f} pixels per row, which fits no camera that looks down "
            f"on them (0 to {MAX_SLOPE}); check the rows of the feet and the heights"
        )
    return HeightLine(slope, intercept, float(heights.min() / 2), float(heights.max() * 2))


def figures(scene: Scene):
    """Middle x, middle y and height of people side by side in the ROI, each a fifth smaller than the last."""
    places, last = [], np.inf
    for row in np.flatnonzero(scene.roi.any(axis=1))[::-1]:
        columns = np.flatnonzero(scene.roi[row])
        tall = float(np.median(scene.person_height[row, columns]))
        if tall <= 0.8 * last and row + tall / 2 <= scene.size_wh[1]:
            places.append((columns, int(row), tall))
            last = tall
    for number, (columns, row, tall) in enumerate(places):
        yield int(np.quantile(columns, (number + 0.5) / len(places))), row, tall


def _axis_text(axis: Axis) -> str:
    return " to ".join(f"{x:g},{y:g}" for x, y in axis)


def _write(image, text, position, font):
    for colour, weight in (((0, 0, 0), 3), ((255, 255, 255), 1)):
        cv2.putText(image, text, position, cv2.FONT_HERSHEY_SIMPLEX, font, colour, weight, cv2.LINE_AA)


def _numbers(text, count, what) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise SceneError(f"expected {what} in pixels, found {text!r}")
    return numbers
