"""Pages are whole HTML, escape what they are given, and hold their pictures themselves."""

import base64
import re
from html.parser import HTMLParser

import cv2
import numpy as np
import pytest

from crowdcount.errors import OutputError
from crowdcount.pages import Markup, page, paragraph, picture, section, table, write_page

EVIL = '<script>alert("1")</script>&amp;'
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Reader(HTMLParser):
    """Elements with their attributes, the text, and whether every element that opens is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8)


def test_a_page_is_whole_and_fetches_nothing(image):
    rows = [[1, picture(image, "e")]]
    parts = [section("A", paragraph("b"), table(["c", "d"], rows)), picture(b"<svg/>", "f")]
    read = Reader(page("Title", parts))
    assert [tag for tag, _ in read.elements[:2]] == ["html", "head"]
    assert {"h1", "h2", "p", "table", "th", "td", "img"} <= {tag for tag, _ in read.elements}
    assert not {"script", "link", "iframe"} & {tag for tag, _ in read.elements}
    assert all(attributes["src"].startswith("data:image/") for attributes in read.all("img"))
    assert "prefers-color-scheme: dark" in "".join(read.texts)
    assert not re.search(r"https?://|@import|url\(", page("Title", parts))


def test_all_text_is_escaped(image):
    parts = [section(EVIL, paragraph(EVIL), table([EVIL], [[EVIL]])), picture(image, EVIL)]
    text = page(EVIL, parts)
    read = Reader(text)
    assert "<script" not in text
    assert "".join(read.texts).count(EVIL) == 6  # title, heading, section, paragraph, header, cell
    assert read.all("img")[0]["alt"] == EVIL


def test_columns_of_numbers_are_aligned_and_markup_stays():
    text = table(["n", "x"], [[1, Markup("<b>1</b>")], [2.5, "a"]])
    assert '<td class="number">2.5</td><td>a</td>' in text
    assert "<td><b>1</b></td>" in text
    assert "<tbody>\n</tbody>" in table(["n"], [])
    with pytest.raises(ValueError, match="zip"):
        table(["n"], [[1, 2]])


def test_pictures_are_reduced_to_a_width_and_never_enlarged(image):
    for width, expected in ((None, (60, 80)), (40, (30, 40)), (200, (60, 80))):
        data = base64.b64decode(re.search(r"base64,([^\"]+)", picture(image, "", width))[1])
        assert cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape[:2] == expected


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    write_page(tmp_path / "a.html", "a \udcff", [paragraph("b")])
    assert Reader((tmp_path / "a.html").read_text(encoding="utf-8")).all("p")
    with pytest.raises(OutputError, match="does not exist"):
        write_page(tmp_path / "missing" / "a.html", "a", [])
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
