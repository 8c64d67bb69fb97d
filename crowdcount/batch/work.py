"""What a worker is asked to do: tasks of plain values, so that they can be sent anywhere."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from .. import __version__
from ..arrays import load_arrays, save_arrays
from ..counting import choose_scene, is_short, make_pipeline, open_counting
from ..errors import BatchError, SceneError, VideoError
from ..model import CounterModel, default_model, load_model
from ..overview import Learning, Overview
from ..results import COUNTS, FrameCount, row_cells
from ..rows import ROWS_PER_GROUP, import_parquet, joined
from ..scene import Scene, load_scene
from ..storage import atomic_path, input_errors
from ..video import DEFAULT_FPS, Landmark, VideoSource, open_source
from .containers import creation_time
from .segments import Segment
from .worker import Report

_READ_BYTES = 1 << 22
_SAMPLE_VERSION = 2


@dataclass(frozen=True)
class Job:
    """How one video is counted into one file.

    Attributes
    ----------
    path, label, camera : str
        See `crowdcount.batch.plan.Video`.
    size, mtime_ns : int
        The file's length in bytes and the time of its last change: it must not change while it is counted.
    content : str
        SHA-256 of the file's bytes.
    start_time : str or None
        Wall-clock time of the first frame, ISO 8601.
    model, scene : str or None
        Files; None: the bundled model, the scene that the model brings or that is estimated.
    model_digest, scene_digest : str or None
        SHA-256 of these files.
    every : int
        Each so many frames are counted.
    split : (segment_s, warm_up_s) or None
        How the video is cut; None: not at all.
    work : str
        Folder for what is not finished. The run makes it and the result's, tasks never do: one that misses
        it is of a run that is over (see `Catalogue`), and has to fail.
    result : str
        The file to make.
    """

    path: str
    label: str
    camera: str
    size: int
    mtime_ns: int
    content: str
    start_time: str | None
    model: str | None
    model_digest: str | None
    scene: str | None
    scene_digest: str | None
    every: int
    split: tuple[float, float] | None
    work: str
    result: str

    def description(self) -> dict:
        """All that a result depends on, and where it came from: kept in its file."""
        return {
            "camera": self.camera,
            "start_time": self.start_time,
            "content": self.content,
            "model": self.model_digest,
            "scene": self.scene_digest,
            "every": self.every,
            "split": self.split,
            "source": self.path,
            "crowdcount": __version__,
        }


def examine(path: str, timezone: str | None, report: Report) -> dict:
    """What a video is: `content` (SHA-256), `size`, `mtime_ns`, `frames`, `fps`, `recorded` (ISO 8601).

    Raises
    ------
    VideoError
        When it is no video that decodes.
    """
    with input_errors(path, VideoError):
        before = os.stat(path)
        with open_source(path) as source:
            info = source.info
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while chunk := file.read(_READ_BYTES):
                digest.update(chunk)
                report(0, None)
        recorded = creation_time(path)
    if recorded is not None:
        recorded = recorded.astimezone(ZoneInfo(timezone or "UTC")).replace(tzinfo=None)
    return {
        "content": digest.hexdigest(),
        "size": before.st_size,
        "mtime_ns": before.st_mtime_ns,
        "frames": info.frame_count,
        "fps": info.fps,
        "recorded": None if recorded is None else recorded.isoformat(),
    }


def sample(job: Job, starts: list[int], kept: list[int], report: Report) -> list[Landmark] | None:
    """Keep what all segments of a video share: its scene, and frames of it to learn the empty scene from.

    Parameters
    ----------
    job : Job
    starts, kept : list of int
        Numbers of the frames where segments may start, and of those that they learn from; increasing.

    Returns
    -------
    list of Landmark or None
        Of these frames, without starts that do not decode or come just behind such frames: a damaged end
        belongs to the segment before it. None where the video cannot be cut.
    """
    file, scene_file = Path(job.work, "sample.npz"), Path(job.work, "scene.npz")
    try:
        load_scene(scene_file)
        _, meta = load_arrays(file, "sample", _SAMPLE_VERSION, BatchError)
    except (BatchError, SceneError):  # they are not there yet, or damaged
        model = _model(job.model, job.model_digest)
        with open_source(job.path, tick=lambda: report(0, None)) as source:
            landmarks = _landmarks(source, starts, kept)
            overview = Overview(source, choose_scene(_scene(job.scene, job.scene_digest), model))
            rate = source.info.rate / job.every
            learning = overview.learning(make_pipeline(model, overview.scene, rate))
        overview.scene.save(scene_file)
        places = None if landmarks is None else [[mark.frame, mark.stamp_s, mark.key] for mark in landmarks]
        meta = {"landmarks": places, "is_coarse": learning.is_coarse}
        save_arrays(file, "sample", _SAMPLE_VERSION, {"frames": np.stack(learning.frames)}, meta)
    return None if meta["landmarks"] is None else [Landmark(*place) for place in meta["landmarks"]]


def _landmarks(source: VideoSource, starts: list[int], kept: list[int]) -> list[Landmark] | None:
    found = source.landmarks(sorted({*starts, *kept}))
    if found is None:
        return None
    firsts = set(starts)
    reached = {mark.frame for mark in source.reached(mark for mark in found if mark.frame in firsts)}
    return [mark for mark in found if mark.frame in reached or mark.frame not in firsts]


def count(job: Job, segment: Segment, report: Report) -> int:
    """Count a segment into its file, or a whole video into its result; returns the number of rows."""
    target = None if segment == Segment(0, 0, None, None) else segment_path(job, segment.index)
    options = {"scene": _scene(job.scene, job.scene_digest)}
    if target is not None:
        arrays, meta = load_arrays(Path(job.work, "sample.npz"), "sample", _SAMPLE_VERSION, BatchError)
        options["learning"] = Learning(list(arrays["frames"]), meta["is_coarse"])
        options["scene"] = load_scene(Path(job.work, "scene.npz"))
        options["start"] = segment.start
        options["kept"] = segment.kept if segment.start is not None else None
    _check_unchanged(job)
    done, expected = 0, None

    def tables():
        nonlocal done, expected
        rows = []
        with open_counting(
            job.path,
            model=_model(job.model, job.model_digest),
            every=job.every,
            tick=lambda: report(done, expected),
            **options,
        ) as counting:
            expected = counting.expected_frames
            if segment.end is not None:
                first = 0 if segment.start is None else segment.start.frame
                expected = math.ceil((segment.end - first) / job.every)
            with closing(counting.frames(ahead=False, images=False)) as frames:
                for item in frames:
                    done += 1
                    if segment.end is not None and item.row.frame >= segment.end:
                        break  # frames behind it steadied the last ones
                    if len(rows) == ROWS_PER_GROUP:
                        yield counts_table(rows, job.start_time)
                        rows = []
                    if item.row.frame >= segment.first:
                        rows.append(item.row)
        _check_unchanged(job)
        yield counts_table(rows, job.start_time)

    with closing(tables()) as counted:
        return write_result(job, counted) if target is None else _write_tables(job, target, counted)


def join(job: Job, parts: list[Segment], report: Report) -> int:
    """Make a video's result of its segments' files, damaged ones counted again; returns how many rows."""
    arrow, _ = import_parquet()

    def tables():
        for part in parts:
            path = segment_path(job, part.index)
            try:
                table = _read(path, page_checksum_verification=True)
            except (OSError, arrow.ArrowException):
                count(job, part, report)
                table = _read(path)
            report(0, None)
            yield table

    return write_result(job, tables())


def _read(path, columns: list[str] | None = None, **options):
    """The table of a Parquet file, or of some columns; `read_table` would load pyarrow's data sets first."""
    _, parquet = import_parquet()
    with parquet.ParquetFile(path, **options) as file:
        return file.read(columns)


def lacks_its_end(job: Job, n_rows: int, frames: int | None, fps: float | None) -> bool:
    """Whether a result is a tenth or more short of what its video states; see `Counting.lacks_its_end`."""
    if frames is None or not is_short(n_rows * job.every, frames):
        return False
    times_s = _read(job.result, ["time_s"])["time_s"]
    return is_short(times_s[-1].as_py(), frames / (fps or DEFAULT_FPS))


def segment_path(job: Job, index: int) -> Path:
    """File of the counts of one segment of a video."""
    return Path(job.work, f"{index:05}.parquet")


def counts_table(rows: list[FrameCount], start_time: str | None):
    """Rows as a pyarrow table: `frame, time_s, time, count, low, high, flags`; `time` null when unknown."""
    arrow, _ = import_parquet()
    begin = None if start_time is None else datetime.fromisoformat(start_time)
    numbers = dict.fromkeys(COUNTS, arrow.float64())
    schema = arrow.schema(
        {
            "frame": arrow.int64(),
            "time_s": arrow.float64(),
            "time": arrow.timestamp("us"),
            **numbers,
            "flags": arrow.string(),
        }
    )
    return arrow.Table.from_pylist([joined(row_cells(row, begin)) for row in rows], schema)


def write_result(job: Job, tables: Iterable) -> int:
    """Write tables of counts, one row group each, as a job's result; it appears whole or not at all.

    The same counts give the same bytes: nothing of the run is in them.
    """
    kept = {"crowdcount": json.dumps(job.description(), sort_keys=True)}
    return _write_tables(job, Path(job.result), tables, kept)


def _write_tables(job: Job, path: Path, tables: Iterable, kept: dict[str, str] | None = None) -> int:
    """Write tables, at least one, into a Parquet file as they come; returns the number of rows.

    Until it is whole, it is in `job.work`, where nobody looks for results.
    """
    _, parquet = import_parquet()
    n_rows, writer = 0, None
    with atomic_path(path, Path(job.work)) as temporary:
        try:
            for table in tables:
                if writer is None:
                    schema = table.schema.with_metadata(kept)
                    writer = parquet.ParquetWriter(temporary, schema, write_page_checksum=True)
                writer.write_table(table)
                n_rows += len(table)
        finally:
            if writer is not None:
                writer.close()
    return n_rows


def run_task(task: dict, report: Report) -> object:
    """Do a task of `task_of`; returns something of JSON."""
    if task["version"] != __version__:
        raise BatchError(
            f"this worker runs crowdcount {__version__}, the batch {task['version']}; install the same"
        )
    arguments = dict(task["arguments"])
    if "job" in arguments:
        job = arguments["job"]
        arguments["job"] = Job(**job | {"split": None if job["split"] is None else tuple(job["split"])})
    if "segment" in arguments:
        arguments["segment"] = _segment_of(arguments["segment"])
    if "parts" in arguments:
        arguments["parts"] = [_segment_of(part) for part in arguments["parts"]]
    done = {"examine": examine, "sample": sample, "count": count, "join": join}[task["name"]](
        **arguments, report=report
    )
    return [asdict(mark) for mark in done] if isinstance(done, list) else done


def _segment_of(part: dict) -> Segment:
    start = None if part["start"] is None else Landmark(**part["start"])
    kept = tuple(Landmark(**mark) for mark in part["kept"])
    return Segment(**part | {"start": start, "kept": kept})


def task_of(function: Callable, **arguments) -> dict:
    """A task as something of JSON."""

    def plain(value):
        if isinstance(value, list):
            return [plain(one) for one in value]
        return asdict(value) if isinstance(value, (Job, Segment)) else value

    kept = {name: plain(value) for name, value in arguments.items()}
    return {"name": function.__name__, "version": __version__, "arguments": kept}


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=2)
def _model(path: str | None, digest: str | None) -> CounterModel:
    if path is None:
        return default_model()
    _check_digest(path, digest)
    return load_model(path)


@lru_cache(maxsize=2)
def _scene(path: str | None, digest: str | None) -> Scene | None:
    if path is None:
        return None
    _check_digest(path, digest)
    return load_scene(path)


def _check_digest(path: str, digest: str | None) -> None:
    try:
        found = file_digest(path)
    except OSError as error:
        raise BatchError(
            f"{path} cannot be read by this worker ({error.strerror}); use a folder that all share"
        ) from error
    if found != digest:
        raise BatchError(f"{path} has changed since the batch began; run it again")


def _check_unchanged(job: Job) -> None:
    with input_errors(job.path, VideoError):
        found = os.stat(job.path)
    if (found.st_size, found.st_mtime_ns) != (job.size, job.mtime_ns):
        raise VideoError(f"{job.path} changes while it is counted; count it again when its recording is over")
