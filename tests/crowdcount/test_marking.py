"""Heads are marked in a real browser, and the saved dots are trained on."""

import json
import re
import shlex
from html import unescape
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat

from crowdcount.cli import command_line
from crowdcount.learning.datasets import load_dataset, points_inside
from crowdcount.marking import write_heads_page
from crowdcount.scene import load_scene, scene_from
from tests.crowdcount.helpers import ran

SIZE = WIDTH, HEIGHT = 320, 240
ON_SCREEN = 0.5  # more than a pixel of the screen, in the frame's
#: What the page's scripts know is theirs alone; a test does what a user does and looks at what is shown.
HANDS = """
const click = (x, y) => {
  const at = new DOMPoint(x, y).matrixTransform(drawing.getScreenCTM());
  const where = { clientX: at.x, clientY: at.y, bubbles: true };
  document.elementFromPoint(at.x, at.y).dispatchEvent(new MouseEvent("click", where));
};
const drag = (...places) => places.forEach(([x, y], k) => {
  const at = new DOMPoint(x, y).matrixTransform(drawing.getScreenCTM());
  const last = places.length - 1, where = { clientX: at.x, clientY: at.y, bubbles: true, pointerId: 1 };
  drawing.setPointerCapture = () => {};  // there is no real pointer to be captured
  const kinds = [k === 0 && "pointerdown", k > 0 && "pointermove", k === last && "pointerup"];
  for (const kind of kinds.filter(Boolean)) drawing.dispatchEvent(new PointerEvent(kind, where));
});
const choose = (tool) => document.querySelector(`input[value=${tool}]`).click();
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const text = (id) => byId(id).textContent;
const saved = () => {  // at once: what waits for other processes may come after the page is read
  let content = null;
  const known = [Blob, URL.createObjectURL, HTMLAnchorElement.prototype.click];
  window.Blob = function (parts) { content = parts.join(""); };
  URL.createObjectURL = () => "data:,";
  HTMLAnchorElement.prototype.click = () => {};
  byId("save").click();
  [window.Blob, URL.createObjectURL, HTMLAnchorElement.prototype.click] = known;
  return content;
};
"""


@pytest.fixture
def page(tmp_path):
    """A page of three frames; only their left half counts."""
    frames = ((k, k / 4, np.full((HEIGHT, WIDTH, 3), 60 + k % 100, np.uint8)) for k in (3, 8, 4000))
    roi = np.zeros((HEIGHT, WIDTH), bool)
    roi[:, :160] = True
    path = tmp_path / "page.html"
    write_heads_page(path, "a<b>.mp4", frames, roi, "a.dots.csv", "crowdcount train 'a<b>.mp4'")
    return path


def test_heads_are_marked_and_saved(page, browser, tmp_path):
    said = browser(page, HANDS + """
        const steps = [[text("which"), text("people"), text("next"), byId("save").disabled]];
        click(20, 30); click(100.4, 200.6); click(250, 100);  // the last one beyond the region
        steps.push([text("people"), text("next"), document.querySelectorAll(".outside").length]);
        click(60, 60); press("Backspace");
        click(20, 30);  // on the dot, which goes
        steps.push([text("people"), text("done")]);
        press("Enter");
        steps.push([text("which"), text("next"), text("done"), text("strip"), byId("save").disabled]);
        press("Enter");
        steps.push([text("which"), text("strip")]);
        click(5, 5);  // and left incomplete
        press("ArrowLeft"); press("ArrowLeft");
        steps.push([text("which"), byId("complete").checked]);
        return [steps, saved()];
    """)
    steps, csv = said
    assert steps == [
        ["frame 3 (0:00.8), 1 of 3", "0 people", "Nobody here, next ⏎", True],
        ["2 people", "Complete, next ⏎", 1],
        ["1 person", "0 of 3 complete"],
        ["frame 8 (0:02.0), 2 of 3", "Nobody here, next ⏎", "1 of 3 complete", "1––", False],
        ["frame 4000 (16:40.0), 3 of 3", "10–"],
        ["frame 3 (0:00.8), 1 of 3", True],
    ]
    header, *rows = csv.splitlines()
    assert header == "frame,x,y"
    assert [row.split(",")[0] for row in rows] == ["3", "3", "8"]
    assert rows[-1] == "8,,"
    places = np.array([row.split(",")[1:] for row in rows[:-1]], float)
    np.testing.assert_allclose(places, [[100.4, 200.6], [250, 100]], atol=ON_SCREEN)


def test_a_frame_can_be_taken_back_and_work_goes_on_the_next_day(page, browser):
    shown, csv, again, opened, refused = browser(page, HANDS + """
        click(20, 30); press("Enter"); click(40, 50); press("Enter"); press("Enter");
        press("ArrowLeft"); byId("complete").click();
        const shown = [text("strip"), text("done")];
        const csv = saved();
        dots.forEach((_, k) => { dots[k] = []; complete[k] = false; });
        restore(); show();  // as when the page is opened again
        const again = [text("strip"), text("which"), saved() === csv];
        open("frame,x,y\\r\\n8,7.5,9\\r\\n8,10,11\\r\\n3,,\\r\\n");
        const opened = [text("strip"), saved()];
        const said = [];
        window.alert = (words) => said.push(words);
        open("frame,x,y\\n9,1,2\\n"); open("frame,count\\n3,2\\n");
        return [shown, csv, again, opened, said];
    """)
    assert shown == ["1–0", "2 of 3 complete"]
    assert re.fullmatch(r"frame,x,y\n3,(19|20)\.\d,(29|30)\.\d\n4000,,\n", csv)
    assert again == ["1–0", "frame 8 (0:02.0), 2 of 3", True]
    assert opened == ["020", "frame,x,y\n3,,\n8,7.5,9.0\n8,10.0,11.0\n4000,,\n"]
    assert len(refused) == 2


def test_keys_work_wherever_the_last_click_was_and_a_held_one_completes_one_frame(page, browser):
    steps = browser(page, HANDS + """
        const held = () => document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, repeat: true }));
        const pressed = (key) => document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        click(20, 30);
        byId("complete").focus(); byId("complete").click(); byId("complete").click();
        pressed("Enter"); held(); held();
        const down = new MouseEvent("mousedown", { bubbles: true, cancelable: true });
        const steps = [text("strip"), text("which").slice(-6), byId("smaller").dispatchEvent(down)];
        byId("save").focus(); steps.push(pressed("Enter"));  // gone to by Tab
        byId("save").blur(); pressed("Enter");
        return [...steps, text("strip"), text("which").slice(-6)];
    """)
    takes_focus, button_is_pressed = False, True
    assert steps == ["1––", "2 of 3", takes_focus, button_is_pressed, "10–", "3 of 3"]


def test_dots_are_where_they_were_seen_when_enlarged_and_count_as_the_region_has_it(page, browser, tmp_path):
    places = [(0, 0), (159, 120), (160.3, 121), (319, 239), (12.5, 200)]
    whole, people, csv = browser(page, HANDS + f"""
        for (const [x, y] of {[list(place) for place in places]}) {{
          press("+"); press("+");
          const at = new DOMPoint(x, y).matrixTransform(drawing.getScreenCTM());
          const frame = stage.getBoundingClientRect();
          stage.scrollLeft += at.x - frame.left - 50; stage.scrollTop += at.y - frame.top - 50;
          click(x, y);
          press("-"); press("-");
        }}
        const whole = sheet.offsetHeight <= stage.clientHeight;
        press("Enter");
        return [whole, text("strip")[0], saved()];
    """)
    assert whole
    found = np.array([row.split(",")[1:] for row in csv.splitlines()[1:]], float)
    np.testing.assert_allclose(found, places, atol=ON_SCREEN)
    left = np.arange(WIDTH) + np.zeros((HEIGHT, 1)) < 160
    assert int(people) == points_inside(found + 0.5, left).sum() == 3


def test_the_page_fetches_nothing_and_holds_no_foreign_markup(page, html_reader, tmp_path):
    text = page.read_text(encoding="utf-8")
    read = html_reader(text)
    sources = {one["src"].partition(",")[0] for one in read.all("img") if "src" in one}
    assert sources == {"data:image/jpeg;base64"}
    assert "default-src 'none'" in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "a<b>" not in text
    assert "Mark the heads: a<b>.mp4" in read.texts
    nobody = np.zeros((8, 8, 3), np.uint8)
    write_heads_page(tmp_path / "b.html", "</script><b>", [(0, 0.0, nobody)], None, "</script>.csv", "")
    assert (tmp_path / "b.html").read_text(encoding="utf-8").count("</script>") == 2


def test_suggested_frames_are_marked_and_trained_on(street, browser, tmp_path, monkeypatch):
    """From the command to the model, the heads being those that the street was drawn with."""
    monkeypatch.chdir(tmp_path)

    street.scene.save("scene.json")
    said = ran("suggest", street.frames, "-n", 12, "--html", "street.html", "--scene", "scene.json",
               "--fps", 2.5)
    assert "street.html: 12 frames; mark the heads in a browser, then crowdcount train" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scene.json", "street.html"]
    text = (tmp_path / "street.html").read_text(encoding="utf-8")
    end = "--counts frames.dots.csv -m frames.npz --scene scene.json --fps 2.5"
    assert f"crowdcount train {street.frames} {end}" in text
    heads = [[[x + w / 2, max(0.0, y + 0.09 * h)] for x, y, w, h in boxes.tolist()] for boxes in street.boxes]
    people, csv = browser(tmp_path / "street.html", HANDS + f"""
        const heads = {heads};
        const people = data.frames.map(({{ frame }}) => {{
          for (const [x, y] of heads[frame]) click(x, y);
          const people = parseInt(text("people"));
          press("Enter");
          return [frame, people];
        }});
        return [people, saved()];
    """)
    assert all(street.counts[frame] == found for frame, found in people)
    (tmp_path / "dots.csv").write_text(csv)
    dataset = load_dataset(street.frames, counts="dots.csv")
    assert np.isfinite(dataset.counts).sum() == 12
    ran("train", street.frames, "--counts", "dots.csv", "--scene", "scene.json", "--fps", 2.5, "-m", "m.npz")


def test_commands_and_saved_files_have_names_that_shells_and_browsers_take(make_clip, tmp_path, monkeypatch):
    """What begins with a dash is no option; browsers make _ of what some system has no names with."""
    monkeypatch.chdir(tmp_path)
    make_clip(Path("-12:30 'a\" 5%.avi"), 12)
    ran("suggest", "-n", 2, "--html", "mark.html", "--", "-12:30 'a\" 5%.avi")
    ran("scene", "--html", "draw.html", "--", "-12:30 'a\" 5%.avi")
    marked, drawn = (unescape(Path(page).read_text(encoding="utf-8")) for page in ("mark.html", "draw.html"))
    program, command, *arguments = shlex.split(re.search(r"<code>(.*?)</code>", marked)[1])
    assert (program, command) == ("crowdcount", "recalibrate")  # two labels are too few to train on
    assert arguments[:2] == ["bundled", "./-12:30 'a\" 5%.avi"]
    assert arguments[2:] == ["--counts", "-12_30 'a_ 5%.dots.csv", "-o", "-12:30 'a\" 5%.npz"]
    data = json.loads(re.search(r'id="data">(.*?)</script>', drawn)[1])
    ran(*shlex.split(f"{data['command']} {data['ending']}")[1:])
    assert Path("-12:30 'a\" 5%.json").is_file()


def test_a_stream_is_drawn_on_and_its_password_not_told(serving, send_live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames = [np.full((120, 160, 3), 40 + k, np.uint8) for k in range(30)]
    with serving(send_live(frames, interval_s=0.05)) as port:
        ran("scene", f"http://me:geheim@127.0.0.1:{port}/user=me_password=geheim", "--html", "draw.html")
    page = unescape(Path("draw.html").read_text(encoding="utf-8"))
    assert "geheim" not in page
    assert re.search(r"<title>(.*?)</title>", page)[1] == f"Draw the scene: 127.0.0.1-{port}-user-me_password"
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    address = f"http://me:***@127.0.0.1:{port}/user=me_password=***"
    assert data["command"] == f"crowdcount scene '{address}'"


def test_what_cannot_be_written_is_said_before_the_look(street, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("page.png", "no/page.html", str(street.frames)):
        result = CliRunner().invoke(command_line, ["suggest", str(street.frames), "--html", name])
        assert result.exit_code == 1
        assert result.stderr.count("\n") == 1
        assert name in result.stderr
    assert not list(tmp_path.iterdir())


def test_other_scenes_are_refused(street, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene_from((100, 100)).save("square.json")
    arguments = ["suggest", str(street.frames), "--html", "a.html", "--scene", "square.json"]
    result = CliRunner().invoke(command_line, arguments)
    assert result.exit_code == 1
    assert "another shape" in result.stderr


def test_large_frames_are_shown_smaller_and_marked_in_their_own_pixels(browser, tmp_path):
    image = np.zeros((1500, 3000, 3), np.uint8)
    cv2.circle(image, (2400, 900), 30, (255, 255, 255), -1)
    write_heads_page(tmp_path / "p.html", "big.mp4", [(0, 0.0, image)], None, "big.dots.csv", "")
    width, csv = browser(tmp_path / "p.html", HANDS + """
        click(2400, 900); press("Enter");
        return [byId("picture").naturalWidth, saved()];
    """)
    assert width == 1920
    x, y = map(float, csv.splitlines()[1].split(",")[1:])
    assert abs(x - 2400) <= 4  # about a pixel of the screen
    assert abs(y - 900) <= 4


def test_frames_are_shown_whole_until_enlarged_and_what_is_in_the_middle_stays_there(browser, tmp_path):
    """What is out of sight is not marked, and would be missing in the labels."""
    upright = np.zeros((1920, 1080, 3), np.uint8)
    write_heads_page(tmp_path / "p.html", "upright.mp4", [(0, 0.0, upright)], None, "upright.dots.csv", "")
    whole, shape, middles = browser(tmp_path / "p.html", HANDS + """
        const inside = (one, other) => one.left >= other.left && one.right <= other.right
            && one.top >= other.top && one.bottom <= other.bottom;
        const whole = inside(byId("picture").getBoundingClientRect(), stage.getBoundingClientRect());
        const middle = () => {
          const view = stage.getBoundingClientRect();
          const event = { clientX: view.left + view.width / 2, clientY: view.top + view.height / 2 };
          return placeOf(event);
        };
        const shape = sheet.offsetHeight / sheet.offsetWidth;
        const middles = [middle()];
        for (const key of "+++-") { press(key); middles.push(middle()); }
        stage.scrollTop += 300; middles.push(middle());
        press("+"); middles.push(middle());
        return [whole, shape, middles];
    """)
    assert whole
    assert shape == pytest.approx(1920 / 1080, rel=0.01)
    np.testing.assert_allclose(middles[:5], np.tile([539.5, 959.5], (5, 1)), atol=12)  # of the frame's
    np.testing.assert_allclose(middles[5], middles[6], atol=12)
    assert middles[5][1] > 1000


@pytest.fixture
def drawn_on(street, tmp_path, monkeypatch):
    """The page of the street, on which its scene is drawn."""
    monkeypatch.chdir(tmp_path)
    said = ran("scene", street.frames, "--html", "draw.html")
    assert "written: draw.html" in said
    return tmp_path / "draw.html"


def test_a_scene_is_drawn_and_its_command_makes_it(drawn_on, browser, street):
    commands = browser(drawn_on, HANDS + """
        const commands = [byId("command").value];
        drag([10, 50]); drag([230, 50]); press("Backspace"); drag([230, 50.4]);
        commands.push(byId("command").value, text("hint"));
        drag([230, 170]); drag([10, 170]); press("Enter");
        choose("person");
        drag([120, 60], [121, 50], [122, 35]);
        commands.push(text("hint"));
        drag([60, 125], [60, 180]);  // from head to foot, which is the same
        drag([20, 20]);  // a click alone is nobody
        drag([20, 90], [80, 90]);  // nor is who lies flat
        drawing.dispatchEvent(new PointerEvent("pointerdown", { button: 2, clientX: 100, clientY: 400 }));
        drawing.dispatchEvent(new PointerEvent("pointerup", { button: 2, clientX: 300, clientY: 600 }));
        choose("axis");
        drag([20, 100], [100, 100], [200, 120]);
        commands.push(text("hint"), byId("command").value);
        return commands;
    """)
    begin = f"crowdcount scene {street.frames}"
    assert commands[:4] == [
        f"{begin} -o frames.json",
        f"{begin} -o frames.json",
        "a click on the first corner, or Enter, closes the polygon",
        "one more person: one far away and one near are needed",
    ]
    hint, command = commands[4:]
    assert hint == ""
    program, *arguments = shlex.split(command)
    assert program == "crowdcount"
    ran(*arguments)
    scene = load_scene("frames.json")
    np.testing.assert_allclose(scene.polygons, [[(10, 50), (230, 50), (230, 170), (10, 170)]], atol=1)
    np.testing.assert_allclose(scene.axis, [(20, 100), (200, 120)], atol=1)
    heights = scene.line.slope * np.array([60.0, 180.0]) + scene.line.intercept
    np.testing.assert_allclose(heights, [25, 55], atol=1.5)


def test_things_drawn_are_taken_back(drawn_on, browser):
    steps = browser(drawn_on, HANDS + """
        const options = () => byId("command").value.match(/--\\w+/g) ?? [];
        const steps = [];
        for (const [x, y] of [[10, 10], [100, 10], [100, 100]]) drag([x, y]);
        steps.push(options());  // what was left open is drawn nevertheless
        drag([11, 11]);  // on the first corner: closed
        steps.push(options(), [text("hint")]);
        choose("axis"); drag([10, 10], [90, 90]); choose("person"); drag([50, 90], [50, 60]);
        steps.push(options());
        press("Backspace"); choose("axis"); press("Backspace");
        steps.push(options());
        choose("region"); press("Backspace");
        steps.push(options());
        press("Backspace"); press("Backspace"); press("Backspace");
        steps.push([document.querySelectorAll(".corner").length]);
        press("ArrowRight");
        return [...steps, [text("which")]];
    """)
    *steps, last = steps
    assert steps == [["--roi"], ["--roi"], [""], ["--roi", "--person", "--axis"], ["--roi"], [], [0]]
    assert re.fullmatch(r"frame \d+ \(0:.*\), 2 of 9", last[0])


def test_what_is_assumed_is_shown_and_given_scenes_are_begun_with(street, browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left = [[(0, 0), (120, 0), (120, 179), (0, 179)]]
    scene_from(street.scene.size_wh, left, [(120, 60, 25), (120, 180, 55)]).save("left half.json")
    ran("scene", street.frames, "--scene", "left half.json", "--html", "draw.html")
    command, figures, region = browser(drawn := tmp_path / "draw.html", HANDS + """
        return [byId("command").value, document.querySelectorAll(".figure").length,
                document.querySelector(".known").getBBox().width];
    """)
    assert command == f"crowdcount scene {street.frames} --scene 'left half.json' -o frames.json"
    assert figures >= 3
    assert region == pytest.approx(120.5, abs=1)
    assert drawn.stat().st_size > 10_000


def test_the_command_of_an_imported_map_writes_what_can_hold_it(street, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    width, height = street.scene.size_wh
    savemat("map.mat", {"pMapN": np.full((height, width), 20.0)})
    ran("scene", street.frames, "--import", "map.mat", "--html", "draw.html")
    assert "-o frames.npz" in Path("draw.html").read_text()


def test_what_is_given_with_the_page_is_drawn_on_it(street, browser, tmp_path, monkeypatch):
    """And the page's command keeps it, or what is drawn in its place."""
    monkeypatch.chdir(tmp_path)
    given = ["--roi", "0,0 120,0 120,179 0,179", "--person", "120,60,25", "--person", "120,180,55.5"]
    given += ["--axis", "20,100 200,120", "-o", "gate.json"]
    ran("scene", street.frames, *given, "--html", "draw.html")
    before, after = browser(tmp_path / "draw.html", HANDS + """
        const before = byId("command").value;
        choose("axis"); press("Backspace"); choose("person"); press("Backspace");
        drag([50, 170], [50, 120]);
        return [before, byId("command").value];
    """)
    assert shlex.split(before) == ["crowdcount", "scene", str(street.frames), *given]
    known = load_scene("gate.json")
    ran(*shlex.split(after)[1:])
    redrawn = load_scene("gate.json")
    assert redrawn.polygons == known.polygons
    assert redrawn.axis is None
    assert redrawn.line != known.line
