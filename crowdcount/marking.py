"""Pages on which a user marks pictures in the browser; what is marked never leaves it but as a saved file."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import cv2
import numpy as np

from .pages import Markup, paragraph, picture, write_page
from .scene import Axis, Polygon, Scene, figures

#: Pictures are shown reduced to this width; marks are in pixels of the frame as it is.
PICTURE_WIDTH = 1920
_SCRIPTS = Path(__file__).with_name("scripts")
_SHEET = Markup(
    '<div id="stage"><div id="sheet"><img id="picture" alt=""><svg id="drawing"></svg></div></div>\n'
    "<noscript><p>Marking needs JavaScript: allow it for this page.</p></noscript>\n"
)
#: The browser is forbidden to fetch anything, or to send it anywhere.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def write_heads_page(
    path: str | Path,
    name: str,
    frames: Iterable[tuple[int, float, np.ndarray]],
    roi: np.ndarray | None,
    saved: str,
    command: str,
) -> None:
    """Write a page to mark heads on, which saves dots as `crowdcount train --counts` reads them.

    Parameters
    ----------
    path : path
        Page to write, whole or not at all.
    name : str
        Of the footage, for the title.
    frames : iterable of (int, float, (H, W, 3) uint8)
        Number, seconds and picture of each frame.
    roi : (H, W) bool or None
        Where people count; None: everywhere.
    saved : str
        Name of the file that the page saves.
    command : str
        What to do with it, told on the page.

    Raises
    ------
    OutputError
    """
    data, pictures = _frames(frames)
    region = None if roi is None or roi.all() else _outline(roi)
    digest = hashlib.sha256(repr((name, data, region)).encode() + "".join(pictures).encode()).hexdigest()
    data |= {"file": saved, "key": f"crowdcount {digest[:32]}", "region": region}
    parts = [
        paragraph(
            "Click on everybody's head; click on a dot to take it away. When a frame is complete, press "
            "Enter; without dots that means that nobody is there. Frames that are not complete are not "
            "saved. Keys: ← and → go to other frames, Backspace takes the last dot away, + and − enlarge and "
            "reduce."
            + (" Dots outside of the outlined region do not count." if region else "")
        ),
        _tools(
            '<span id="people"></span><label><input type="checkbox" id="complete"> complete</label>'
            '<button id="next"></button>'
        ),
        _SHEET,
        Markup('<div class="tools" id="strip"></div>\n'),
        Markup(
            '<div class="tools"><span id="done"></span><button id="save">Save the dots</button>'
            '<label>go on with saved ones: <input type="file" id="open" accept=".csv"></label></div>\n'
        ),
        Markup(
            "<p>Then move the saved file to the folder in which crowdcount suggest was run, and there: "
            f"<code>{escape(command)}</code></p>\n"
        ),
        paragraph(
            "This page fetches nothing and sends nothing. This browser keeps what is marked for when the "
            "page is opened again.",
            note=True,
        ),
        _scripts(data, pictures, "mark.js"),
    ]
    write_page(path, "suggest", f"Mark the heads: {name}", parts, _head())


def write_scene_page(
    path: str | Path,
    name: str,
    frames: Iterable[tuple[int, float, np.ndarray]],
    scene: Scene,
    polygons: Sequence[Polygon],
    persons: Sequence[tuple[float, float, float]],
    axis: Axis | None,
    command: str,
    ending: str,
) -> None:
    """Write a page to draw a region, people and an axis on; it tells the command that makes a scene of them.

    Parameters
    ----------
    path, name, frames
        As for `write_heads_page`.
    scene : Scene
        What is known or estimated, shown beneath what is drawn.
    polygons, persons, axis
        As for `Scene.redrawn`: the page begins with these drawn, to be kept or taken back.
    command, ending : str
        The command's text before and after what is drawn.

    Raises
    ------
    OutputError
    """
    data, pictures = _frames(frames)
    data |= {
        "region": None if polygons or scene.roi.all() else _outline(scene.roi),
        "polygons": polygons,
        "people": persons,
        "axis": axis,
        "figures": [[float(value) for value in figure] for figure in figures(scene)],
        "command": command,
        "ending": ending,
    }
    parts = [
        paragraph(
            "Draw what is known of the scene, and copy the command below the picture. Region: click on its "
            "corners; it holds those who are to be counted, from head to foot. Person: press the button at "
            "the feet of somebody who stands upright, and drag to the top of the head; once far away and "
            "once near. Axis: drag from where to where people walk who count as right-moving. What is not "
            "drawn stays as it is: the region and people of the sizes that are assumed now are dashed. Keys: "
            "← and → go to other frames, Backspace takes the last thing of its kind away, + and − enlarge "
            "and reduce."
        ),
        _tools(
            '<label><input type="radio" name="tool" value="region" checked> region</label>'
            '<label><input type="radio" name="tool" value="person"> person</label>'
            '<label><input type="radio" name="tool" value="axis"> axis</label>'
        ),
        _SHEET,
        Markup(
            '<div class="tools"><button id="close">Close the polygon ⏎</button><span id="hint"></span>'
            "</div>\n"
            '<textarea id="command" rows="4" readonly></textarea>\n'
            '<div class="tools"><button id="copy">Copy</button></div>\n'
        ),
        paragraph("This page fetches nothing and sends nothing.", note=True),
        _scripts(data, pictures, "draw.js"),
    ]
    write_page(path, "scene", f"Draw the scene: {name}", parts, _head())


def _frames(frames: Iterable[tuple[int, float, np.ndarray]]) -> tuple[dict, list[Markup]]:
    """What the scripts know of frames, and their pictures."""
    shown, pictures = [], []
    for number, seconds, image in frames:
        height, width = image.shape[:2]
        shown.append({"frame": number, "time": _clock(seconds)})
        pictures.append(picture(image, f"frame {number}", PICTURE_WIDTH))
    return {"width": width, "height": height, "frames": shown}, pictures


def _head() -> Markup:
    style = (_SCRIPTS / "style.css").read_text(encoding="utf-8")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    return Markup(f"{policy}\n<style>{style}</style>\n")


def _tools(own: str) -> Markup:
    """The row of buttons above the picture, a page's own among them."""
    return Markup(
        '<div class="tools"><button id="before">←</button><span id="which"></span>'
        '<button id="after">→</button>'
        f'{own}<button id="undo">Undo ⌫</button><button id="smaller">−</button><button id="larger">+</button>'
        "</div>\n"
    )


def _scripts(data: dict, pictures: list[Markup], own: str) -> Markup:
    """The script of all such pages and a page's own, with what they work on; no text in it can end the
    element that it stands in."""
    content = json.dumps(data).replace("<", "\\u003c")
    texts = "\n".join((_SCRIPTS / name).read_text(encoding="utf-8") for name in ("view.js", own))
    held = f'<script type="application/json" id="data">{content}</script>'
    frames = f'<div id="frames" hidden>{"".join(pictures)}</div>'
    return Markup(f"{frames}\n{held}\n<script>\n{texts}</script>\n")


def _outline(roi: np.ndarray) -> str:
    """A region's outline as a path of SVG, a quarter of a pixel inside of its outermost pixels' edges."""
    doubled = np.repeat(np.repeat(roi.astype(np.uint8), 2, axis=0), 2, axis=1)
    outlines, _ = cv2.findContours(doubled, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    points = ((outline[:, 0] / 2 - 0.25).tolist() for outline in outlines)
    return " ".join("M" + " L".join(f"{x:g},{y:g}" for x, y in outline) + " z" for outline in points)


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds: 0:04.2, 1:02:03.0."""
    tenths = round(10 * seconds)
    minutes, tenths = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    clock = f"{minutes:02d}:{tenths // 10:02d}.{tenths % 10}"
    return f"{hours}:{clock}" if hours else clock.removeprefix("0")
