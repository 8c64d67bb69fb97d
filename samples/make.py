"""Write a synthetic clip and its labels: python -m samples.make street.mp4"""

import csv
import re
from contextlib import ExitStack
from pathlib import Path

import click
import cv2

from crowdcount.errors import CrowdCountError, OutputError
from crowdcount.scene import scene_from
from crowdcount.storage import atomic_path

from .scenes import PRESETS, SceneSpec, preset
from .simulation import Simulation

OVERHEAD_LENGTH = 1.2
"""Metres that stand for a person's height where the camera looks straight down: not quite three times the
shoulders' breadth."""

_CODECS = {".mp4": "mp4v", ".avi": "MJPG"}


def write_clip(spec: SceneSpec, path: str | Path) -> list[Path]:
    """Write a clip (.mp4 or .avi) and, beside it under the same stem, its labels.

    - .labels.csv: frame (0-based), count
    - .gt.txt: the counted people's full boxes as MOT ground truth (its frame k is video frame k - 1, pixels
      from 1; the last columns are consider = 1, class = 1 and the visible share)
    - .dots.csv: frame (0-based), x, y of each counted head's centre (0-based pixels); both blank in the line
      of a frame with nobody to be counted
    - .scene.json: region of interest and person height, for crowdcount's --scene

    Each appears under its name only when all are whole.

    Returns
    -------
    list of Path
        The files, the clip first.

    Raises
    ------
    OutputError
        For another suffix, or when a file cannot be written.
    """
    path = Path(path)
    codec = _CODECS.get(path.suffix.lower())
    if codec is None:
        raise OutputError(f"expected a clip named .mp4 or .avi, found {path.name}; rename it")
    ends = ("", ".labels.csv", ".gt.txt", ".dots.csv", ".scene.json")
    paths = [path if end == "" else path.with_suffix(end) for end in ends]
    simulation = Simulation(spec)
    with ExitStack() as stack:
        clip, counts, boxes, dots, scene = (stack.enter_context(atomic_path(name)) for name in paths)
        _scene_of(simulation).save(scene)
        texts = [
            stack.enter_context(name.open("w", newline="", encoding="utf-8"))
            for name in (counts, boxes, dots)
        ]
        count_rows, box_rows, dot_rows = (csv.writer(text, lineterminator="\n") for text in texts)
        count_rows.writerow(["frame", "count"])
        dot_rows.writerow(["frame", "x", "y"])
        video = cv2.VideoWriter(str(clip), cv2.VideoWriter.fourcc(*codec), spec.fps, spec.size_wh)
        try:
            if not video.isOpened():
                raise OutputError(f"cannot write {path}: OpenCV encodes no {codec}; try the other suffix")
            for index, frame in enumerate(simulation.frames()):
                video.write(frame.image_bgr)
                count_rows.writerow([index, frame.count])
                for number, (left, top, width, height), share in zip(
                    frame.person_ids, frame.boxes_xywh, frame.visible_share, strict=True
                ):
                    place = (f"{value:.1f}" for value in (left + 1, top + 1, width, height))
                    box_rows.writerow([index + 1, number, *place, 1, 1, f"{share:.3f}"])
                heads = [(f"{x:.3f}", f"{y:.3f}") for x, y in frame.heads_xy] or [("", "")]
                dot_rows.writerows([index, x, y] for x, y in heads)
        finally:
            video.release()
        _check_whole(clip, path, spec.n_frames)
    return paths


def _scene_of(simulation: Simulation):
    """The scene as crowdcount keeps it, its perspective given by a person far away and one near."""
    spec, ground = simulation.spec, simulation.ground
    width, height = spec.size_wh
    rows = (max(spec.far_row, 0.0), height - 1.0)
    tall = [max(ground.height_at(row), OVERHEAD_LENGTH * ground.pixels_per_metre(row)) for row in rows]
    people = [(width / 2, row, float(pixels)) for row, pixels in zip(rows, tall, strict=True)]
    return scene_from(spec.size_wh, simulation.roi_polygons, people)


def _check_whole(clip: Path, path: Path, n_frames: int) -> None:
    """An encoder does not tell of a full disk: read the clip back."""
    video = cv2.VideoCapture(str(clip))
    try:
        found = sum(1 for _ in iter(video.grab, False))
    finally:
        video.release()
    if found != n_frames:
        raise OutputError(
            f"cannot write {path}: {found} of {n_frames} frames can be read back; free some space"
        )


def parse_size(text: str) -> tuple[int, int]:
    """Parse "1920x1080", width and height in pixels: even, as encoders want them, and up to 4096.

    Raises
    ------
    click.BadParameter
        For anything else.
    """
    match = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", text)
    size_wh = tuple(map(int, match.groups())) if match else ()
    if not size_wh or any(side % 2 or not 64 <= side <= 4096 for side in size_wh):
        raise click.BadParameter(f"expected WIDTHxHEIGHT, two even numbers from 64 to 4096, found {text!r}")
    return size_wh


@click.command()
@click.argument("clip", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--preset",
    "kind",
    type=click.Choice(PRESETS),
    default="plaza",
    show_default=True,
    help="Kind of scene; overhead looks straight down, bump moves the camera in mid-clip, light dims it.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Same seed, same clip.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Length of the clip.",
)
@click.option("--people", type=click.FloatRange(0, 200), help="Mean number of people; drawn when not given.")
@click.option("--fps", type=click.FloatRange(0.1, 60), help="Frames per second; drawn when not given.")
@click.option(
    "--size",
    "size_wh",
    metavar="WxH",
    default="640x480",
    show_default=True,
    callback=lambda context, option, text: parse_size(text),
    help="Width and height of the frames, pixels; the view grows with them.",
)
@click.option(
    "--vehicles", type=click.FloatRange(0, 60), default=0.0, show_default=True,
    help="Cars, vans and buses a minute; they are not counted.",
)  # fmt: skip
def main(
    clip: Path,
    kind: str,
    seed: int,
    seconds: float,
    people: float | None,
    fps: float | None,
    size_wh: tuple[int, int],
    vehicles: float,
) -> None:
    """Write a synthetic surveillance clip to CLIP (.mp4 or .avi), its labels beside it."""
    given = {"size_wh": size_wh, "people": people, "fps": fps, "vehicles": vehicles}
    changes = {name: value for name, value in given.items() if value is not None}
    rate = preset(kind, seed, **changes).fps
    try:
        paths = write_clip(preset(kind, seed, n_frames=max(1, round(seconds * rate)), **changes), clip)
    except CrowdCountError as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(str(path) for path in paths), err=True)


if __name__ == "__main__":
    main(prog_name="python -m samples.make")
