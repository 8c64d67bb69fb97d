"""Region of interest and perspective of a fixed camera, given or assumed."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from pydantic import ValidationError

from features.empty_scene import EmptyScene
from features.perspective import SMALLEST_PERSON, typical_line

from ..arrays import save_arrays
from ..errors import SceneError
from ..storage import atomic_path
from .description import SCENE_SUFFIXES, VERSION, Description, Line, Origin, SceneFile, first_of, view_arrays
from .shapes import (
    MAX_COORDINATE,
    Axis,
    HeightLine,
    Polygon,
    axis_text,
    corner_beyond,
    line_through,
    map_of,
    mask_of,
    region_of,
    whole_frame,
)

#: Person heights of a lower reliability are doubtful: of seven simulated scenes with less, four were off by
#: more than 20 %, of 75 with more one (docs/decisions/2026-11-22-person-height.md).
DOUBTFUL_RELIABILITY = 0.6
_MAX_ASPECT_MISFIT = 1.1
#: Regions and heights that differ by a smaller share are those of one scene.
_ALIKE = 0.05


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
        if self.roi.dtype != bool:
            raise SceneError(f"the ROI mask is of {self.roi.dtype}, not of bool; make it again")
        if not self.roi.any():
            raise SceneError("the ROI is empty: no pixel lies in it; draw it inside the frame")
        if not (np.isfinite(self.person_height).all() and (self.person_height > 0).all()):
            raise SceneError("the height map holds values that are not positive numbers; make it again")
        if self.axis is not None and not math.dist(*self.axis) >= 1:
            raise SceneError(f"the axis {axis_text(self.axis)} has no length; give two points apart")
        if self.axis is not None and np.abs(self.axis).max() > MAX_COORDINATE:
            raise SceneError(f"the axis {axis_text(self.axis)} is far outside any frame; correct it")

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
        polygons, line = self.polygons, self.line
        if polygons is None:
            covered = cv2.resize(self.roi.astype(np.float32), size_wh, interpolation=cv2.INTER_AREA)
            roi = covered >= min(0.5, covered.max())  # a mask is not lost, however small
        else:
            polygons = tuple(
                tuple(((x + 0.5) * scale_x - 0.5, (y + 0.5) * scale_y - 0.5) for x, y in polygon)
                for polygon in polygons
            )
            roi = mask_of(polygons, size_wh)
        if line is None:
            person_height = cv2.resize(self.person_height, size_wh, interpolation=cv2.INTER_LINEAR) * scale_y
        else:
            line = line.scaled(scale_y)
            person_height = map_of(line, size_wh)
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
        if not is_one_shape(size_wh, self.size_wh):
            (width, height), (own_width, own_height) = size_wh, self.size_wh
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
        if self.view is not None or other is None or not self.is_like(other):
            return self
        return replace(self, view=other.view)

    def is_like(self, other: "Scene") -> bool:
        """Whether it has the region and the heights of another one, of any size, within `_ALIKE`."""
        if not is_one_shape(self.size_wh, other.size_wh):
            return False
        other = other.resized(self.size_wh)
        if self.roi is other.roi and self.person_height is other.person_height:
            return True
        has_its_region = np.mean(self.roi != other.roi) <= _ALIKE * np.mean(self.roi)
        heights, others = self.person_height, other.person_height
        return has_its_region and bool((np.abs(heights - others) <= _ALIKE * others).all())

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
        if self.polygons is not None and (beyond := corner_beyond(self.polygons, self.size_wh)) is not None:
            x, y = beyond
            lines.append(
                f"a corner of the region, {x:g},{y:g}, lies outside of the frames: were they of another size "
                "when it was drawn?"
            )
        if self.axis is not None:
            lines.append(f"right-moving: along the axis {axis_text(self.axis)} (given)")
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
        if suffix not in SCENE_SUFFIXES:
            known = " or ".join(SCENE_SUFFIXES)
            raise SceneError(f"expected a scene file named {known}, found {path.name}; rename it")
        if suffix == ".npz":
            save_arrays(path, "scene", VERSION, *self.to_arrays())
            return
        if self.polygons is None or self.line is None:
            raise SceneError(
                f"a scene with a mask or a height map does not fit into {path.name}; save it as .npz"
            )
        scene_file = SceneFile(kind="scene", version=VERSION, **dict(self._description()))
        content = scene_file.model_dump_json(indent=2)
        with atomic_path(path) as temporary:
            temporary.write_text(content + "\n", encoding="utf-8")

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict]:
        """The scene as arrays by name and a JSON-able description, for `scene_of`."""
        arrays = {"roi": self.roi} if self.polygons is None else {}
        arrays |= {"person_height": self.person_height} if self.line is None else {}
        return arrays | view_arrays(self.view), self._description().model_dump(mode="json")

    def _description(self) -> Description:
        try:
            return Description(
                size_wh=self.size_wh,
                polygons=self.polygons,
                line=None if self.line is None else Line(**asdict(self.line)),
                roi_origin=self.roi_origin,
                height_origin=self.height_origin,
                height_reliability=self.height_reliability,
                axis=self.axis,
            )
        except ValidationError as error:
            raise SceneError(f"a scene file cannot hold this scene: {first_of(error)}") from None


def is_one_shape(size_wh: tuple[int, int], other_wh: tuple[int, int]) -> bool:
    """Whether frames of two sizes may show one scene: about as wide as tall."""
    misfit = size_wh[0] * other_wh[1] / (size_wh[1] * other_wh[0])
    return 1 / _MAX_ASPECT_MISFIT < misfit < _MAX_ASPECT_MISFIT


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
        When the ROI is empty or outside the frame, or the people give no line; or these are no such numbers.
    """
    width, height = size_wh
    roi_origin = "assumed" if polygons is None else "given"
    polygons = whole_frame(size_wh) if polygons is None else polygons
    try:
        polygons = tuple(tuple((float(x), float(y)) for x, y in polygon) for polygon in polygons)
        persons = persons if persons is None else [tuple(map(float, (x, y, size))) for x, y, size in persons]
    except (TypeError, ValueError):
        raise SceneError(
            "expected a list of polygons, each of corners (x, y), and people as (x, foot_y, height); found "
            "something else, as a single polygon or person without a list around it"
        ) from None
    if persons is None:
        slope, intercept = typical_line(height)
        line = HeightLine(slope, intercept, SMALLEST_PERSON * height, float(height))
    else:
        line = line_through(persons, size_wh)
    return Scene(
        (int(width), int(height)),
        region_of(polygons, size_wh),
        map_of(line, size_wh),
        polygons=polygons,
        line=line,
        roi_origin=roi_origin,
        height_origin="assumed" if persons is None else "given",
        height_reliability=0.0 if persons is None else 1.0,
    )
