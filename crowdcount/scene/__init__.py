"""The scene of a fixed camera: where people are counted (ROI) and how tall a person is where (perspective).

A scene is given (polygons and people measured in the image), imported (the files of the Mall and UCSD data
sets), estimated from the footage, or assumed; it says which, and can be saved, corrected and shown.

`shapes` holds what is drawn, `description` what is kept in files, `scene` the scene itself; `files`,
`estimation` and `drawing` read, find and show one.
"""

from .description import SCENE_SUFFIXES, view_arrays, view_of
from .drawing import draw_scene, figures
from .estimation import estimate_scene, for_estimation
from .files import import_scene, load_scene, scene_of
from .scene import Scene, is_one_shape, scene_from
from .shapes import Axis, HeightLine, Polygon, parse_axis, parse_person, parse_polygon

__all__ = [
    "SCENE_SUFFIXES",
    "Axis",
    "HeightLine",
    "Polygon",
    "Scene",
    "draw_scene",
    "estimate_scene",
    "figures",
    "for_estimation",
    "import_scene",
    "is_one_shape",
    "load_scene",
    "parse_axis",
    "parse_person",
    "parse_polygon",
    "scene_from",
    "scene_of",
    "view_arrays",
    "view_of",
]
