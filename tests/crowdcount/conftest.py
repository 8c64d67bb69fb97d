"""A drawn street with exact counts, and counters trained on it; OpenCV on one thread."""

import builtins
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import cv2
import numpy as np
import pytest

from crowdcount.batch.catalogue import results as result_files
from crowdcount.cli import command_line
from crowdcount.learning import profile_training, regressors
from crowdcount.learning.datasets import Dataset, load_dataset
from crowdcount.learning.training import Training, train
from crowdcount.model import CounterModel
from crowdcount.pipeline import Pipeline
from crowdcount.scene import Scene, scene_from
from models import CountRegressor, HuberLossRegressor

SIZE = WIDTH, HEIGHT = 240, 180
N_FRAMES = 60
#: Person height over foot row: slope, and pixels at row 0.
LINE = 0.25, 10.0
_CROWD_PERIOD = 20  # frames
#: Elements of HTML that have no end.
VOID_ELEMENTS = {"meta", "img", "br", "hr", "link", "input"}


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Small images on busy cores, as linear algebra in `tests/conftest.py`."""
    cv2.setNumThreads(1)


def _empty_street(rng) -> np.ndarray:
    street = cv2.resize(rng.uniform(90, 150, (6, 8, 3)).astype(np.float32), SIZE)
    for _ in range(60):
        x, y, w, h = rng.integers(0, (WIDTH, HEIGHT, 30, 20)).tolist()
        cv2.rectangle(street, (x, y), (x + w + 4, y + h + 4), rng.uniform(70, 170, 3).tolist(), -1)
    return street


def _draw_person(image, x, foot_y, colour) -> None:
    height = LINE[0] * foot_y + LINE[1]

    def pixels(across, up):
        return round(x + across * height), round(foot_y - up * height)

    cv2.circle(image, pixels(0, 0.91), max(1, round(0.08 * height)), (150, 170, 210), -1)
    cv2.rectangle(image, pixels(-0.15, 0.82), pixels(0.15, 0.42), colour, -1)
    cv2.rectangle(image, pixels(-0.11, 0.42), pixels(0.11, 0.0), (40, 30, 30), -1)


def street_frames(n_frames=N_FRAMES, seed=0, busier=0.0, lights=1.0):
    """Frames (H, W, 3) uint8 of a street where people come and go, whole in view, and their boxes (k, 4)."""
    rng = np.random.default_rng([seed, 1])
    street = _empty_street(np.random.default_rng(99))
    for k in range(n_frames):
        count = max(0, round(busier + 4 + 4 * np.sin(2 * np.pi * k / _CROWD_PERIOD) + rng.normal(0, 0.8)))
        image = street.copy()
        feet = np.sort(rng.uniform(70, HEIGHT - 4, count))
        boxes = []
        for x, foot_y in zip(rng.permutation(12)[: len(feet)] * 18.0 + 20, feet, strict=False):
            _draw_person(image, x, foot_y, rng.choice([20.0, 230.0], 3).tolist())
            tall = LINE[0] * foot_y + LINE[1]
            boxes.append((x - 0.15 * tall, foot_y - tall, 0.3 * tall, tall))
        image = image * lights + rng.normal(0, 2, image.shape)
        yield np.clip(np.rint(image), 0, 255).astype(np.uint8), np.reshape(boxes, (-1, 4))


@dataclass(frozen=True, eq=False)
class Street:
    """A folder of images with its counts.

    Attributes
    ----------
    frames : Path
        Folder of images 0000.jpg, ….
    labels : Path
        CSV file of counts.
    scene : Scene
    counts : (n,) int
    boxes : tuple of (k, 4) float64
    """

    frames: Path
    labels: Path
    scene: Scene
    counts: np.ndarray
    boxes: tuple[np.ndarray, ...]

    def dataset(self) -> Dataset:
        return load_dataset(self.frames, counts=self.labels)


def write_street(folder: Path, labelled=slice(None), **options) -> Street:
    """Draw a street into a folder; `labelled` chooses the frames whose counts are written."""
    images = folder / "frames"
    images.mkdir(parents=True)
    boxes = []
    for k, (image, people) in enumerate(street_frames(**options)):
        cv2.imwrite(str(images / f"{k:04}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, 92])
        boxes.append(people)
    counts = [len(people) for people in boxes]
    labels = folder / "counts.csv"
    rows = [f"{k},{counts[k]}\n" for k in np.arange(len(counts))[labelled]]
    labels.write_text("frame,count\n" + "".join(rows), encoding="utf-8")
    persons = [(WIDTH / 2, row, LINE[0] * row + LINE[1]) for row in (60.0, 180.0)]
    return Street(images, labels, scene_from(SIZE, persons=persons), np.array(counts), tuple(boxes))


@pytest.fixture(scope="session")
def make_street():
    """make_street(folder, labelled, n_frames, seed, busier, lights): see `write_street`."""
    return write_street


@pytest.fixture(scope="session")
def street(tmp_path_factory) -> Street:
    """60 labelled images of a street."""
    return write_street(tmp_path_factory.mktemp("street"))


@pytest.fixture(scope="session")
def of_street(street) -> Training:
    """A counter trained on the street."""
    return train(street.dataset(), scene=street.scene)


@pytest.fixture(scope="session")
def trained(of_street) -> Training:
    """The same, where a module's tests are of no counter of their own."""
    return of_street


@pytest.fixture(scope="module")
def few_kernels(of_street):
    """Training on footage tries the usual kernels and one other: for modules that do not test that choice.

    It stays so for the rest of the module, whichever test asked for it. The counter that all modules
    share is trained before, with all that training tries.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regressors, "COEF0S", (regressors.USUAL_COEF0,))
        patch.setattr(regressors, "LAMBDAS", (1e-5, regressors.USUAL_LAMBDA))
        patch.setattr(profile_training, "COEF0S", profile_training.COEF0S[1:2])
        patch.setattr(profile_training, "LAMBDAS", profile_training.LAMBDAS[2:3])
        yield


@pytest.fixture(scope="session")
def cell_model(street) -> CounterModel:
    """A counter for any scene: of a cell it knows only that a person covers about .3 squared heights."""
    pipeline = Pipeline.for_any_scene(street.scene, rate=1.0)
    images = [image for image, _ in street_frames(30)]
    pipeline.learn(images)
    rows = np.concatenate([pipeline.measure(image).features for image in images])
    area = sum(rows[:, pipeline.quantity_names.index(f"lbp_{code}")] for code in range(10))
    regressor = CountRegressor(HuberLossRegressor(lam=1e-4, gamma=0.0)).fit(rows, area / 0.3)
    return CounterModel(
        regressor.predictor_,
        tuple(pipeline.quantity_names),
        per_cell=True,
        quantile=0.5,
        person_height=pipeline.person_height,
    )


class HtmlReader(HTMLParser):
    """Elements with their attributes, the text, and whether every element that opens is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def turned_away():
    """What a camera shows, (H, W, 3) uint8, that was turned so far that little of its view is left."""
    return lambda image: np.roll(image, image.shape[1] // 2, axis=1)


@pytest.fixture(params=["numpy", "opencv"])
def ask_for_too_much(request):
    """ask_for_too_much(...): what fails as the memory is not enough, in numpy or in OpenCV."""
    if request.param == "numpy":
        return lambda *_: np.empty((10**6,) * 3)
    return lambda *_: cv2.resize(np.zeros((2, 2)), (2**30, 2**30))


@pytest.fixture(scope="session")
def html_reader():
    """html_reader(text): see `HtmlReader`."""
    return HtmlReader


@pytest.fixture(scope="session")
def make_clip():
    """make_clip(path, n_frames, seed, fps): write a clip of the street as motion JPEG; returns its path."""

    def write(path: Path, n_frames: int, seed: int = 0, fps: float = 10.0) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), fps, SIZE)
        for image, _ in street_frames(n_frames, seed):
            video.write(image)
        video.release()
        return path

    return write


@pytest.fixture(scope="session")
def garble():
    """garble(path): damage a Parquet file so that it still can be read, but as another table."""
    import pyarrow
    from pyarrow import parquet

    def write(path: Path) -> None:
        content, whole = path.read_bytes(), parquet.ParquetFile(path).read()
        for place in range(len(content)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
            with suppress(OSError, ValueError, pyarrow.ArrowException):
                if not parquet.ParquetFile(path).read().equals(whole):
                    return
        pytest.fail("no damage passes")

    return write


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A folder that may not be looked into, not even by the superuser."""
    folder = tmp_path / "locked"
    folder.mkdir()

    def refused(call):
        def wrapped(path, *arguments, **options):
            if not isinstance(path, int) and folder in Path(os.fsdecode(path)).parents:
                raise PermissionError(13, "Permission denied", str(path))
            return call(path, *arguments, **options)

        return wrapped

    for module, names in ((os, ("stat", "lstat", "open")), (io, ("open",)), (builtins, ("open",))):
        for name in names:
            monkeypatch.setattr(module, name, refused(getattr(module, name)))
    return folder


@pytest.fixture
def run(capfd):
    """run(command): the command line in this process; returns exit code, standard output and error."""

    def call(command):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            command_line.main(shlex.split(command), prog_name="crowdcount")
        return (ended.value.code, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def results():
    """results(out): content of each result of a batch, by its path in the folder `out`."""
    return lambda out: {str(path.relative_to(out)): path.read_bytes() for path in result_files(out)}


@contextmanager
def serve(answer):
    """Loopback server that gives each connection to ``answer``, holds it open, and leaves nothing behind."""
    server = socket.create_server(("127.0.0.1", 0))
    connections, threads = [], []

    def accept():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connections.append(connection)
            threads.append(threading.Thread(target=talk, args=(connection,)))
            threads[-1].start()

    def talk(connection):
        with suppress(OSError):  # the client left
            answer(connection)

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        acceptor.join()
        for connection in connections:
            with suppress(OSError):  # the client left
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in threads:
            thread.join()


@pytest.fixture
def serving():
    """serving(answer): see `serve`; gives the port."""
    return serve


def send_motion_jpeg(images, interval_s):
    """An answer for `serve`: motion JPEG as an IP camera sends it, until the client leaves."""

    def answer(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.0 200 OK\r\n")
        connection.sendall(b"Content-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n")
        for image in images:
            content = cv2.imencode(".jpg", image)[1].tobytes()
            head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(content)}\r\n\r\n"
            connection.sendall(head.encode() + content + b"\r\n")
            time.sleep(interval_s)

    return answer


@pytest.fixture
def send_live():
    """send_live(images, interval_s): see `send_motion_jpeg`."""
    return send_motion_jpeg


@pytest.fixture(autouse=True)
def _reach_loopback_without_a_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """browser(page, script="", shot=None): what a script returns in a page opened in Chromium, as from JSON.

    The script, in JavaScript, runs when the page is loaded; `shot`: picture to take then.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("there is no chromium here to open the page in")

    def opened(page: Path, script: str = "", shot: Path | None = None):
        folder = tmp_path_factory.mktemp("browser")
        copy = folder / "page.html"
        ending = (
            "<script>window.addEventListener('load', () => {"
            f"const script = () => {{ {script} }}; let said;"
            "try { said = script(); } catch (error) { said = { error: error.stack }; }"
            "const pre = document.createElement('pre'); pre.id = 'said'; pre.hidden = true;"
            "pre.textContent = JSON.stringify(said ?? null); document.body.append(pre); });</script></body>"
        )
        copy.write_text(page.read_text(encoding="utf-8").replace("</body>", ending), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        options += ["--window-size=900,1200", "--virtual-time-budget=5000"]
        options += [f"--user-data-dir={folder / 'profile'}"]
        options += ["--dump-dom"] if shot is None else [f"--screenshot={shot}"]
        run = subprocess.run(
            [program, *options, copy.as_uri()], check=True, capture_output=True, text=True, timeout=120
        )
        if shot is not None:
            return None
        said = json.loads(unescape(re.search(r'<pre id="said" hidden="">(.*?)</pre>', run.stdout, re.S)[1]))
        assert not isinstance(said, dict), said
        return said

    return opened
