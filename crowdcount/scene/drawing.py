"""Scenes drawn on a frame."""

import textwrap
from collections.abc import Iterator

import cv2
import numpy as np

from .scene import Scene

_OUTLINE_BGR, _FIGURE_BGR, _AXIS_BGR = (0, 220, 255), (80, 255, 80), (255, 200, 60)


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


def figures(scene: Scene) -> Iterator[tuple[int, int, float]]:
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


def _write(image, text, position, font):
    for colour, weight in (((0, 0, 0), 3), ((255, 255, 255), 1)):
        cv2.putText(image, text, position, cv2.FONT_HERSHEY_SIMPLEX, font, colour, weight, cv2.LINE_AA)
