"""What counting costs beside decoding alone, and how much memory it takes.

    python -m benchmarks.counting CLIP [--model MODEL]

Both run as whole processes on one thread, in turn, so that the ratio holds on a noisy machine. Memory is the
peak of a process that counts 100 frames, and of one that counts the clip looped to 10,000.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import cv2

_DECODE = """
video = cv2.VideoCapture(sys.argv[1], cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
while video.read()[0]:
    pass
"""
_COUNT = """
for row in crowdcount.count(sys.argv[1], model=sys.argv[2] or None):
    pass
"""
_MEASURED = """
import resource, sys, time
import cv2, crowdcount
cv2.setNumThreads(1)
crowdcount.count, crowdcount.default_model()
began = time.process_time()
{code}
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run_alone(code: str, *arguments: str) -> tuple[float, float]:
    """Processor time in seconds, without the imports, and peak memory in MiB of code in its own process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _MEASURED.format(code=code), *arguments]
    report = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds, memory = map(float, report.split())
    return seconds, memory


def looped(clip: str, folder: Path, n_frames: int) -> str:
    """A motion JPEG file of the clip's frames, over and over, until it has `n_frames`."""
    path = folder / f"looped-{n_frames}.avi"
    writer = None
    written = 0
    while written < n_frames:
        video = cv2.VideoCapture(clip, cv2.CAP_FFMPEG)
        while written < n_frames:
            ok, frame = video.read()
            if not ok:
                break
            if writer is None:
                rate = video.get(cv2.CAP_PROP_FPS)
                codec = cv2.VideoWriter.fourcc(*"MJPG")
                writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, codec, rate, frame.shape[1::-1])
            writer.write(frame)
            written += 1
        video.release()
    writer.release()
    return str(path)


@click.command()
@click.argument("clip", type=click.Path(exists=True))
@click.option("--model", default="", help="Model file; the bundled one by default.")
@click.option("--runs", default=3, show_default=True, help="Pairs of runs.")
@click.option("--frames", default=10_000, show_default=True, help="Frames of the long run.")
def main(clip: str, model: str, runs: int, frames: int) -> None:
    """Print the ratio of counting CLIP to decoding it, and the memory that counting takes."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = (looped(clip, Path(folder), n) for n in (100, frames))
        pairs = []
        for _ in range(runs):
            decoding, _ = run_alone(_DECODE, clip)
            counting, _ = run_alone(_COUNT, clip, model)
            pairs.append((decoding, counting))
        memory = [run_alone(_COUNT, path, model)[1] for path in (short, long)]
    video = cv2.VideoCapture(clip, cv2.CAP_FFMPEG)
    n_frames = 0
    while video.grab():
        n_frames += 1
    decoding, counting = (statistics.median(times) for times in zip(*pairs, strict=True))
    click.echo(f"decoding: {1000 * decoding / n_frames:.1f} ms a frame")
    click.echo(f"counting: {1000 * counting / n_frames:.1f} ms a frame, {n_frames / counting:.0f} frames/s")
    click.echo(f"ratio: {statistics.median(b / a for a, b in pairs):.1f}")
    click.echo(f"peak memory: {memory[0]:.0f} MiB after 100 frames, {memory[1]:.0f} MiB after {frames}")


if __name__ == "__main__":
    main()
