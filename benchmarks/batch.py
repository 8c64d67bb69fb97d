"""What a batch costs: workers beside each other, memory, decoding, seams, and a year of entries.

    python -m benchmarks.batch speed     two processes against one, and both against plain decoding
    python -m benchmarks.batch memory    a worker's peak memory on short and long videos
    python -m benchmarks.batch seams     counts behind the cuts of a long video against an unsplit run
    python -m benchmarks.batch year      listing, resuming and reporting 10,000 entries

The clips are synthetic (`samples`), drawn anew each time; `--clip` takes another one in their place. Ratios
are of runs in turn, the fastest of each, as other programs can only slow them down.
"""

import hashlib
import itertools
import os
import queue
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from benchmarks.clips import dimmed, looped
from benchmarks.counting import IMPORTED, run_alone
from crowdcount.batch.engines import Finished, LocalEngine
from crowdcount.batch.plan import plan_videos
from crowdcount.batch.report import summarise
from crowdcount.batch.run import Options, run_batch
from crowdcount.batch.work import Job, counts_table, file_digest, write_result
from crowdcount.batch.worker import Outcome
from crowdcount.counting import count
from crowdcount.results import FrameCount
from samples.make import write_clip
from samples.scenes import preset

_DECODE = f"""{IMPORTED}
for path in sys.argv[1:]:
    video = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    while video.read()[0]:
        pass
print(time.process_time() - began)
"""


class _Silent:
    """Watches nothing."""

    def __getattr__(self, name):
        return lambda *_: None


@contextmanager
def archive(
    n_videos: int, n_frames: int, clip: str | None = None, size_wh: tuple[int, int] = (640, 480)
) -> Iterator[Path]:
    """A folder with the folder `videos` of clips of the same length and different content."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "videos").mkdir()
        if clip is None:
            n_drawn = min(n_frames, 500)
            spec = preset("plaza", seed=3, size_wh=size_wh, n_frames=n_drawn, people=12.0, fps=25.0)
            still = replace(spec, shake=0.0)  # this seed's camera sways, which costs more
            clip = str(write_clip(still, folder / "clip.mp4")[0])
        source = looped(clip, folder, n_frames)
        for k in range(n_videos):
            content = Path(source).read_bytes()
            (folder / f"videos/{k:03}.avi").write_bytes(
                content + bytes([k])
            )  # an AVI file may end with anything
        yield folder


def timed_batch(folder: Path, n_workers: int, **options) -> tuple[float, float]:
    """Seconds that `n_workers` take to count an archive once they are ready, and their processor time."""
    engine = LocalEngine(n_workers)
    engine.warm_up()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    summary = run_batch(
        plan_videos([str(folder / "videos")]), folder / "out", engine, Options(**options), _Silent()
    )
    seconds = time.perf_counter() - began
    shutil.rmtree(folder / "out")
    assert not summary.failed, summary.failed
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@click.group()
def main() -> None:
    """Measure what a batch costs."""


@main.command()
@click.option("--videos", default=4, show_default=True, help="Videos of the archive.")
@click.option("--frames", default=1000, show_default=True, help="Frames of each.")
@click.option("--runs", default=3, show_default=True, help="Runs of each kind, in turn.")
@click.option("--clip", type=click.Path(exists=True), help="A video to loop in place of a synthetic one.")
def speed(videos: int, frames: int, runs: int, clip: str | None) -> None:
    """Print what two processes gain over one, and what counting costs beside decoding."""
    with archive(videos, frames, clip) as folder:
        paths = [str(path) for path in sorted((folder / "videos").iterdir())]
        one, two, decoding = [], [], []
        for _ in range(runs):
            one.append(timed_batch(folder, 1))
            two.append(timed_batch(folder, 2))
            decoding.append(run_alone(_DECODE, *paths)[0])
        n_bytes = sum(os.path.getsize(path) for path in paths)
        results = os.path.getsize(count_one(folder))
    n = videos * frames
    (one_s, one_cpu), (two_s, two_cpu) = (map(min, zip(*runs, strict=True)) for runs in (one, two))
    click.echo(f"one process: {n / one_s:.1f} frames/s, {1000 * one_cpu / n:.2f} ms of a processor a frame")
    click.echo(f"two processes: {n / two_s:.1f} frames/s, {1000 * two_cpu / n:.2f} ms of a processor a frame")
    click.echo(f"two processes: {one_s / two_s:.2f} times one")
    ratios = ", ".join(f"{a[0] / b[0]:.2f}" for a, b in zip(one, two, strict=True))
    click.echo(f"pairs of runs: {ratios}")
    decoding_ms = 1000 * min(decoding) / n
    click.echo(
        f"decoding: {decoding_ms:.2f} ms a frame; a batch {1000 * one_cpu / n / decoding_ms:.1f} times that"
    )
    click.echo(f"video: {n_bytes / n / 1000:.1f} kB a frame; results: {results / frames:.1f} bytes a frame")


def count_one(folder: Path) -> Path:
    """Count the first video of an archive into a result."""
    video = plan_videos([str(folder / "videos")])[:1]
    run_batch(video, folder / "out", LocalEngine(1), Options(), _Silent())
    return next((folder / "out").glob("camera=*/*/*"))


class _Peak(_Silent):
    """Looks at the peak memory of a worker's process, MiB, when a video is finished."""

    def __init__(self, engine: LocalEngine):
        self._engine = engine
        self.peak = 0.0

    def finished(self, *_) -> None:
        for process_id in self._engine.process_ids():
            status = Path(f"/proc/{process_id}/status").read_text()
            self.peak = max(self.peak, float(status.partition("VmHWM:")[2].split()[0]) / 1024)


@main.command()
@click.option("--short", default=600, show_default=True, help="Frames of the short video.")
@click.option("--long", default=24_000, show_default=True, help="Frames of the long one.")
@click.option("--clip", type=click.Path(exists=True), help="A video to loop in place of a synthetic one.")
def memory(short: int, long: int, clip: str | None) -> None:
    """Print a worker's peak memory on a short and on a long video, whole and cut."""
    for n_frames, segment_s in ((short, 0.0), (long, 0.0), (long, 60.0)):
        with archive(1, n_frames, clip, (320, 240)) as folder:
            engine = LocalEngine(1)
            watcher = _Peak(engine)
            videos = plan_videos([str(folder / "videos")])
            run_batch(videos, folder / "out", engine, Options(segment_s=segment_s, warm_up_s=10.0), watcher)
        how = f"cut every {segment_s:g} s" if segment_s else "whole"
        click.echo(f"{n_frames} frames, {how}: {watcher.peak:.0f} MiB")


@main.command()
@click.argument("clip", type=click.Path(exists=True))
@click.option("--segment", default=60.0, show_default=True, help="Length of the parts, seconds.")
@click.option("--warm-up", multiple=True, type=float, default=(0.0, 5.0, 15.0, 60.0), show_default=True)
@click.option("--frames", type=int, help="Loop the clip, as motion JPEG, until it has so many frames.")
@click.option("--every", default=1, show_default=True, help="Count each so many frames.")
@click.option("--dim", type=int, help="Halve the light from this frame on.")
def seams(
    clip: str, segment: float, warm_up: tuple[float, ...], frames: int | None, every: int, dim: int | None
) -> None:
    """Print how counts of CLIP in parts differ from those of an unsplit run."""
    import pyarrow.parquet as parquet

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if frames is not None:
            clip = looped(clip, folder, frames)
        if dim is not None:
            clip = dimmed(clip, folder, dim)
        whole = np.array([row.count for row in count(clip, every=every)])
        for warm_up_s in warm_up:
            out = folder / f"{warm_up_s:g}"
            options = Options(every=every, segment_s=segment, warm_up_s=warm_up_s)
            run_batch(plan_videos([clip]), out, LocalEngine(2), options, _Silent())
            (result,) = out.glob("camera=*/*/*")
            found = np.array(parquet.ParquetFile(result).read(["count"])["count"])
            difference = np.abs(found - whole)
            click.echo(
                f"warm-up {warm_up_s:g} s: mean {whole.mean():.3f}, mean difference {difference.mean():.4f}, "
                f"95 % below {np.quantile(difference, 0.95):.4f}, largest {difference.max():.4f}, "
                f"difference of the means {abs(found.mean() - whole.mean()):.4f}"
            )


class _Instant:
    """An engine that counts nothing: it writes a day's hourly rows for any video."""

    n_workers = 2

    def __init__(self):
        self.events = queue.Queue()
        self._numbers = itertools.count()

    def submit(self, task: dict, limits) -> int:
        number = next(self._numbers)
        arguments = task["arguments"]
        if task["name"] == "examine":
            found = os.stat(arguments["path"])
            result = {
                "content": file_digest(arguments["path"]),
                "size": found.st_size,
                "mtime_ns": found.st_mtime_ns,
                "frames": 24,
                "fps": 1.0,
                "recorded": None,
            }
        else:
            job = Job(**arguments["job"])
            rng = np.random.default_rng(int(job.content[:8], 16))
            rows = [FrameCount(k, 3600.0 * k, n, n, n) for k, n in enumerate(rng.gamma(2, 3, 24).tolist())]
            result = write_result(job, [counts_table(rows, job.start_time)])
        self.events.put(Finished(number, "", Outcome(result=result)))
        return number

    def close(self) -> None:
        """There is nothing to stop."""


@main.command()
@click.option("--entries", default=10_000, show_default=True, help="Videos of the archive, a day each.")
@click.option("--cameras", default=28, show_default=True, help="Cameras that they are of.")
def year(entries: int, cameras: int) -> None:
    """Print how long listing, resuming and reporting take for many entries; nothing is decoded.

    Beside it, how many times the processor time of a quarter of the entries that is: 4 where it is linear. Of
    all but the first run, the fastest of three.
    """
    quarter, whole = year_times(entries // 4, cameras), year_times(entries, cameras)
    total = 0.0
    for step, (seconds, processor_s) in whole.items():
        total += seconds
        click.echo(
            f"{step}: {seconds:.2f} s, {processor_s / quarter[step][1]:.1f} times a quarter of the entries"
        )
    click.echo(f"together: {total:.1f} s for {entries} entries")


def year_times(entries: int, cameras: int) -> dict[str, tuple[float, float]]:
    """Seconds and processor seconds of each step for an archive of so many tiny files."""
    times = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        days = np.arange("2024-01-01", "2030-01-01", dtype="datetime64[D]").astype(str)
        long_ago = time.time() - 3600
        for k in range(entries):
            path = folder / f"videos/camera{k % cameras:02}/{days[k // cameras]}_00-00-00.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(hashlib.sha256(str(k).encode()).digest())
            os.utime(path, (long_ago, long_ago))
        for step in ("list", "first run", *3 * ("list", "resume", "report by hour", "report by day")):
            began = time.perf_counter(), time.process_time()
            if step == "list":
                videos = plan_videos([str(folder / "videos")])
            elif step.startswith("report"):
                rows = summarise(folder / "out", step.split()[-1])
            else:
                run_batch(videos, folder / "out", _Instant(), Options(), _Silent())
            now = time.perf_counter() - began[0], time.process_time() - began[1]
            times[step] = min(now, times.get(step, now))
        assert len(videos) == entries
        assert sum(row.frames for row in rows) == 24 * entries
    return times


if __name__ == "__main__":
    main()
