"""Pages are whole HTML, escape what they are given, and hold their pictures themselves."""

import base64
import re

import cv2
import numpy as np
import pytest

from crowdcount.errors import OutputError
from crowdcount.pages import Markup, page, paragraph, picture, section, table, write_page

EVIL = '<script>alert("1")</script>&amp;'


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8)


def test_a_page_is_whole_and_fetches_nothing(image, html_reader):
    rows = [[1, picture(image, "e")]]
    parts = [section("A", paragraph("b"), table(["c", "d"], rows)), picture(b"<svg/>", "f")]
    read = html_reader(page("audit", "Title", parts))
    assert [tag for tag, _ in read.elements[:2]] == ["html", "head"]
    assert {"h1", "h2", "p", "table", "th", "td", "img"} <= {tag for tag, _ in read.elements}
    assert not {"script", "link", "iframe"} & {tag for tag, _ in read.elements}
    assert all(attributes["src"].startswith("data:image/") for attributes in read.all("img"))
    assert "prefers-color-scheme: dark" in "".join(read.texts)
    assert not re.search(r"https?://|@import|url\(", page("audit", "Title", parts))


def test_all_text_is_escaped(image, html_reader):
    parts = [section(EVIL, paragraph(EVIL), table([EVIL], [[EVIL]])), picture(image, EVIL)]
    text = page("audit", EVIL, parts)
    read = html_reader(text)
    assert "<script" not in text
    assert "".join(read.texts).count(EVIL) == 6  # title, heading, section, paragraph, header, cell
    assert read.all("img")[0]["alt"] == EVIL


def test_columns_of_numbers_are_aligned_and_markup_stays():
    text = table(["n", "x"], [["1.0", Markup("<b>1</b>")], [2.5, "a"]])
    assert '<td class="number">1.0</td>' in text
    assert '<td class="number">2.5</td><td>a</td>' in text
    assert "<td><b>1</b></td>" in text
    assert "<tbody>\n</tbody>" in table(["n"], [])
    with pytest.raises(ValueError, match="zip"):
        table(["n"], [[1, 2]])


def test_pictures_are_reduced_to_a_width_and_never_enlarged(image):
    for width, expected in ((None, (60, 80)), (40, (30, 40)), (200, (60, 80))):
        data = base64.b64decode(re.search(r"base64,([^\"]+)", picture(image, "", width))[1])
        assert cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape[:2] == expected


def test_a_page_takes_the_place_of_one_of_its_command_alone(tmp_path):
    path = tmp_path / "a.html"
    path.touch()
    for title in "ab":
        write_page(path, "audit", title, [])
        assert f"<h1>{title}</h1>" in path.read_text()
    with pytest.raises(OutputError, match="is there and is no page of crowdcount suggest; move it, or"):
        write_page(path, "suggest", "c", [])
    assert "<h1>b</h1>" in path.read_text()
    path.write_text("<!DOCTYPE html><title>somebody else's</title>")
    with pytest.raises(OutputError, match="is there and is no page of crowdcount audit; move it, or"):
        write_page(path, "audit", "c", [])
    assert "somebody" in path.read_text()


def test_a_page_is_written_whole_or_not_at_all(tmp_path, html_reader):
    write_page(tmp_path / "a.html", "audit", "a \udcff", [paragraph("b")])
    assert html_reader((tmp_path / "a.html").read_text(encoding="utf-8")).all("p")
    with pytest.raises(OutputError, match="does not exist"):
        write_page(tmp_path / "missing" / "a.html", "audit", "a", [])
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
