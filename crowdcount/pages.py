"""Self-contained HTML pages: nothing is fetched, they are readable in light and dark. Reports have no script.

A page is built of `Markup`: text that is HTML already. All other text is escaped wherever it goes.
"""

import base64
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from .errors import OutputError
from .storage import atomic_path, check_writable, input_errors, refuse_to_replace

PAGE_SUFFIXES = (".html", ".htm")
#: In the head of every page of a command of ours.
_MARK = '<meta name="generator" content="crowdcount {}">'
_QUALITY = 85  # of pictures, as JPEG counts it
_STYLE = """
:root { color-scheme: light dark; --ink: #262626; --grey: #6b6b6b; --line: #dddddd; --ground: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --grey: #a0a0a0; --line: #3c3c3c; --ground: #1b1b1b; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground);
  max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p.note { color: var(--grey); }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th { text-align: left; font-weight: 600; color: var(--grey); }
th, td { padding: .35rem 1.2rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; }
"""


class Markup(str):
    """Text that is HTML already, and goes into a page as it is."""


def page(command: str, title: str, parts: Iterable[Markup], head: str = "") -> str:
    """A command's whole HTML document: the title as its heading, then the parts; `head`: HTML that its head
    has too."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{_MARK.format(command)}\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n{head}</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{''.join(parts)}</body>\n</html>\n"
    )


def write_page(
    path: str | Path, command: str, title: str, parts: Iterable[Markup], head: str = ""
) -> None:
    """Write a page, whole or not at all; OutputError when it cannot be written, or `refuse_other_page`."""
    refuse_other_page(path, command)
    text = page(command, title, parts, head).encode(errors="replace")
    with atomic_path(path) as temporary:
        temporary.write_bytes(text)


def check_page(path: str | Path, command: str, *used: str | Path | None) -> None:
    """OutputError where a command's page cannot be written, or would replace a file that is `used` otherwise,
    or one that is no such page."""
    refuse_to_replace(path, *used)
    check_writable(path, PAGE_SUFFIXES)
    refuse_other_page(path, command)


def refuse_other_page(path: str | Path, command: str) -> None:
    """OutputError where a command's page would replace one that is another command's, or not of ours."""
    path = Path(path)
    if path.suffix.lower() not in PAGE_SUFFIXES or not os.path.isfile(path) or not path.stat().st_size:
        return
    with input_errors(path, OutputError), path.open("rb") as file:
        head = file.read(1000)
    if _MARK.format(command).encode() not in head:
        raise OutputError(f"{path} is there and is no page of crowdcount {command}; move it, or choose "
                          "another name")


def section(heading: str, *parts: Markup) -> Markup:
    """A heading with what belongs to it."""
    return Markup(f"<section>\n<h2>{escape(heading)}</h2>\n{''.join(parts)}</section>\n")


def paragraph(text: str, note: bool = False) -> Markup:
    """A paragraph, in grey when it is a side note."""
    kind = ' class="note"' if note else ""
    return Markup(f"<p{kind}>{_html(text)}</p>\n")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """A table whose cells are texts, numbers or `Markup` such as a `picture`.

    A column of numbers, as such or written out, is aligned to the right.
    """
    rows = [list(row) for row in rows]
    numeric = [bool(rows) and all(_is_number(row[k]) for row in rows) for k in range(len(header))]
    classes = [' class="number"' if right else "" for right in numeric]
    head = "".join(f"<th{c}>{_html(name)}</th>" for c, name in zip(classes, header, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{c}>{_html(cell)}</td>" for c, cell in zip(classes, row, strict=True))
        + "</tr>\n"
        for row in rows
    )
    rules = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>"
    return Markup(f'<div class="wide"><table>\n{rules}\n</table></div>\n')


def picture(image: np.ndarray | bytes, description: str, width: int | None = None) -> Markup:
    """A picture inside the page.

    Parameters
    ----------
    image : (H, W, 3) uint8 or bytes
        Pixels (blue, green, red), kept as JPEG; or an SVG drawing.
    description : str
        What stands in its place for those who cannot see it.
    width : int, optional
        Largest width in pixels, to which pixels are reduced; drawings keep their own.
    """
    is_drawing = isinstance(image, bytes)
    data = base64.b64encode(image if is_drawing else _jpeg(image, width)).decode()
    kind = "svg+xml" if is_drawing else "jpeg"
    return Markup(f'<img src="data:image/{kind};base64,{data}" alt="{escape(description)}">')


def _jpeg(image_bgr: np.ndarray, width: int | None) -> bytes:
    import cv2  # which pages of drawings alone, as a batch's report, do without

    height, full = image_bgr.shape[:2]
    if width is not None and full > width:
        size_wh = width, max(1, round(height * width / full))
        image_bgr = cv2.resize(image_bgr, size_wh, interpolation=cv2.INTER_AREA)
    written, encoded = cv2.imencode(".jpg", image_bgr, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not written:
        raise OutputError(f"a picture of {full}x{height} pixels cannot be kept as JPEG; reduce it")
    return encoded.tobytes()


def _is_number(cell: object) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return not isinstance(cell, bool)


def _html(cell: object) -> str:
    return cell if isinstance(cell, Markup) else escape(str(cell))
