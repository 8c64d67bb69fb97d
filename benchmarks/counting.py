"""What counting costs beside decoding alone, stage by stage and end to end, and how much memory it takes.

    python -m benchmarks.counting CLIP [--model MODEL] [--directions]

Whole runs are processes of their own on one core, in turn, and processor time is compared, so that the ratios
hold on a noisy machine. Stages are timed on the same frames, in turn, and the best of the repeats counts. By
the clock, a second thread decodes. Memory is the peak of such a process that counts 100 frames, and of one
that counts the clip looped to 10,000.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import click
import cv2
import numpy as np

from crowdcount.counting import open_counting
from crowdcount.video import open_source
from features.clumps import clump_features
from features.edges import edge_features
from features.silhouette import silhouette_features
from features.size import size_features
from features.texture import lbp_features, texture_features

from .clips import looped
from .plain import plain_features
from .tables import Table

_PINNED = """
import os, sys, time
if hasattr(os, "sched_setaffinity"):  # neither FFmpeg nor the counting then has a second thread
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
"""
#: What programs for `run_alone` begin with that measure processor time without the imports.
IMPORTED = f"""{_PINNED}
import cv2, crowdcount
cv2.setNumThreads(1)
crowdcount.open_counting, crowdcount.default_model()
began = time.process_time()
"""
_READ = """
video = cv2.VideoCapture(sys.argv[1], cv2.CAP_FFMPEG)
while video.read()[0]:
    pass
"""
_DECODE = f"""{IMPORTED}{_READ}
print(time.process_time() - began)
"""
_COUNT = f"""{IMPORTED}
directions = sys.argv[3:] == ["directions"]
with crowdcount.open_counting(sys.argv[1], model=sys.argv[2] or None, directions=directions) as counting:
    print(time.process_time() - began)
    began = time.process_time()
    for item in counting.frames(images=False):
        pass
    print(time.process_time() - began)
"""
_SCRIPT = f"""{_PINNED}
import cv2{_READ}
print(time.process_time())
"""
_COMMAND = f"""{_PINNED}
from tempfile import TemporaryDirectory
from crowdcount.cli import command_line
with TemporaryDirectory() as folder:
    model = ["--model", sys.argv[2]] if sys.argv[2] else []
    arguments = [sys.argv[1], "--output", folder + "/counts.csv", "--quiet", *model]
    command_line.main(arguments, standalone_mode=False)
print(time.process_time())
"""
_CLOCK = """
import sys, time
from pathlib import Path
import cv2, crowdcount
cv2.setNumThreads(1)
with crowdcount.open_counting(sys.argv[1], model=sys.argv[2] or None) as counting:
    began = time.perf_counter()
    for item in counting.frames(images=False):
        pass
    print(time.perf_counter() - began)
print(float(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024)
"""
_START = """
import sys, time
began = time.process_time()
import crowdcount.jobs, crowdcount.terminal
from crowdcount.video import open_source
crowdcount.default_model()
with open_source(sys.argv[1]) as source:
    next(source.frames())
print(time.process_time() - began)
"""


def run_alone(program: str, *arguments: str) -> list[float]:
    """What a program in a process of its own prints: processor time in seconds, of `_DECODE` and `_COUNT`
    without the imports (of the latter that of looking at the footage beforehand, then that of counting); of
    `_CLOCK` the time by the clock, and the peak memory in MiB (the kernel's `ru_maxrss` begins at what the
    parent process holds)."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program, *arguments]
    report = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(number) for number in report.split()]


def stage_times(clip: str, model: str, n_frames: int, repeats: int) -> dict[str, float]:
    """Milliseconds a frame of each stage of counting, and of what it can be compared with, in one process."""
    cv2.setNumThreads(1)
    with open_source(clip) as source:
        images = [frame.image_bgr for frame in source.sample(n_frames)]
    with open_counting(clip, model=model or None) as counting:
        pipeline, model = counting._pipeline, counting.model
    segmenter, size_wh = pipeline._segmenter, pipeline.size_wh
    mixture = cv2.createBackgroundSubtractorMOG2()
    small = [pipeline.reduced(image) for image in images]
    greys = [cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) for image in small]
    foregrounds = [segmenter.apply(image) for image in small]

    def figures_of(k):
        copied = replace(foregrounds[k], mask=foregrounds[k].mask.copy())
        return pipeline.figures(copied, greys[k])

    figures = [figures_of(k) for k in range(len(images))]
    rows = [pipeline.measure(image).features for image in images]
    rows = [row[None] if model.per_cell else row.reshape(1, -1) for row in rows]

    def count(row):
        model.predict(row), model.outside(row)

    if model.per_cell:
        features = {
            "sizes of blobs": lambda k: clump_features(figures[k]),
            "silhouettes": lambda k: silhouette_features(figures[k]),
            "local binary patterns": lambda k: lbp_features(greys[k], figures[k]),
        }
    else:
        features = {
            "size view": lambda k: size_features(figures[k]),
            "edges view": lambda k: edge_features(greys[k], figures[k]),
            "texture view": lambda k: texture_features(greys[k], figures[k]),
            "changes against the empty scene": lambda k: pipeline.changes(small[k], foregrounds[k].light),
        }
    stages = {
        "reducing the frame": lambda k: pipeline.reduced(images[k]),
        "foreground": lambda k: segmenter.apply(small[k]),
        "brightness": lambda k: cv2.cvtColor(small[k], cv2.COLOR_BGR2GRAY),
        "people in the foreground": figures_of,
        **features,
        "count from the features": lambda k: count(rows[k]),
    }
    compared = {
        "OpenCV: MOG2 on the whole frame": lambda k: mixture.apply(images[k]),
        "OpenCV: resize (area) to the working size": lambda k: cv2.resize(
            images[k], size_wh, interpolation=cv2.INTER_AREA
        ),
        "OpenCV: Canny at the working size": lambda k: cv2.Canny(greys[k], 60, 140),
        "the three views of a model of one camera": lambda k: pipeline.views(greys[k], figures[k]),
        "plain: the same": lambda k: plain_features(greys[k], figures[k].mask, pipeline.geometry),
    }
    best = dict.fromkeys([*stages, *compared], np.inf)
    for _ in range(repeats):
        for name, stage in (stages | compared).items():
            began = time.process_time()
            for k in range(len(images)):
                stage(k)
            best[name] = min(best[name], 1000 * (time.process_time() - began) / len(images))
    return best


def directions_cost(clip: str, model: str, runs: int) -> str:
    """What counting by direction takes beside counting alone, both with decoding, in runs in turn."""
    pairs = [
        [run_alone(_COUNT, clip, model, *more)[1] for more in ((), ("directions",))] for _ in range(runs)
    ]
    ratios = sorted(by_direction / plain for plain, by_direction in pairs)
    return (
        f"a frame takes {statistics.median(ratios):.1f} times as long by direction "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f} in {runs} pairs of runs, decoding included)"
    )


@click.command()
@click.argument("clip", type=click.Path(exists=True))
@click.option("--model", default="", help="Model file; the bundled one by default.")
@click.option("--runs", default=3, show_default=True, help="Repeats; pairs of whole runs.")
@click.option("--frames", default=10_000, show_default=True, help="Frames of the long run.")
@click.option("--sampled", default=60, show_default=True, help="Frames on which the stages are timed.")
@click.option("--directions", is_flag=True, help="Print only what directions cost MODEL, in pairs of runs.")
def main(clip: str, model: str, runs: int, frames: int, sampled: int, directions: bool) -> None:
    """Print what counting CLIP costs beside decoding it, stage by stage, and the memory that it takes."""
    if directions:
        click.echo(directions_cost(clip, model, runs))
        return
    with tempfile.TemporaryDirectory() as folder:
        short, long = (looped(clip, Path(folder), n) for n in (100, frames))
        programs = (_DECODE, _COUNT, _START, _SCRIPT, _COMMAND, _CLOCK)
        whole = [
            [figure for one in programs for figure in run_alone(one, clip, model)] for _ in range(runs)
        ]
        memory = [run_alone(_CLOCK, path, model)[1] for path in (short, long)]
    video = cv2.VideoCapture(clip, cv2.CAP_FFMPEG)
    n_frames = 0
    while video.grab():
        n_frames += 1
    ratio = statistics.median(counting / decoding for decoding, _, counting, *_ in whole)
    decoding, looking, counting, start, script, command, clock, _ = np.min(whole, axis=0)
    per_frame = 1000 / n_frames
    rows = [["decoding", per_frame * decoding, 1.0]]
    for name, milliseconds in stage_times(clip, model, sampled, runs).items():
        rows.append([name, milliseconds, milliseconds / (per_frame * decoding)])
    rows.append(["decoding and counting, whole run", per_frame * counting, ratio])
    notes = (
        f"{clip}: {n_frames} frames; processor time on one core, the best of {runs}. Stages behind decoding "
        "are timed per frame that is looked at, about six a second.",
    )
    header = ["stage", "ms a frame", "times decoding"]
    click.echo(Table("Counting, stage by stage", header, rows, notes).markdown())
    click.echo(
        f"ratio to decoding: {ratio:.1f} ({n_frames / counting:.0f} frames/s on one core; "
        f"{n_frames / clock:.0f} by the clock while a second thread decodes)"
    )
    click.echo(f"looking at the footage beforehand: {looking:.1f} s; start to the first frame: {start:.2f} s")
    click.echo(
        f"the whole command: {command:.2f} s beside {script:.2f} of a script that decodes, "
        f"{command / script:.1f} times"
    )
    click.echo(f"peak memory: {memory[0]:.0f} MiB after 100 frames, {memory[1]:.0f} MiB after {frames}")


if __name__ == "__main__":
    main()
