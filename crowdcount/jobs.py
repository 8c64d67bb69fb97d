"""What the commands on footage do, for any caller: read what is given, work, write files, tell a watcher."""

import glob
import os
import re
import shlex
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from features.camera import as_seen

from .arrays import refuse_other_kind
from .counting import open_counting
from .errors import CrowdCountError, ModelError, OutputError
from .marking import write_scene_page
from .model import NO_DIRECTIONS, NO_PROFILE, default_model, load_model
from .overlay import OVERLAY_SUFFIXES, OverlayWriter
from .overview import estimated_scene
from .pages import PAGE_SUFFIXES, refuse_other_page
from .plots import PLOT_SUFFIXES, DrawnCounts, plot_counts, plotted
from .profile import PROFILE_COLUMNS, PROFILE_SUFFIXES, open_profiles
from .results import COLUMNS, CountSummary, open_writer
from .rows import check_format, format_of
from .scene import SCENE_SUFFIXES, Axis, Polygon, Scene, draw_scene, import_scene, load_scene, scene_from
from .storage import (
    check_writable,
    file_identity,
    refuse_any_to_replace,
    refuse_foreign,
    set_aside,
    write_picture,
)
from .video import is_camera, open_source, refuse_among_images, without_password
from .watcher import Watcher, returns

PICTURE_SUFFIXES = (".png", ".jpg")
#: Frames of the page on which a scene is drawn.
N_DRAWN_ON = 9
#: Part of an address's query that tells which picture it is of; others may be what gives access.
_HARMLESS = re.compile(
    r"(?:ch(?:annel|n)?|cam(?:era)?|(?:sub)?(?:type|stream)|profile|track|id|size|user)=[\w.-]{1,20}",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CountJob:
    """A source and the files that are made of it; see `plan_counting`.

    Attributes
    ----------
    source : str
        What `open_source` takes.
    label : str
        The source for messages, without a password.
    counts : str
        File of the counts, "-" for the standard output.
    format : "csv", "jsonl" or "parquet"
    plot, overlay, scene : Path or None
        Picture of the counts over time, video with the counts drawn in, and the scene that was used.
    profile : Path or None
        File of the density over depth in each frame.
    """

    source: str
    label: str
    counts: str
    format: str
    plot: Path | None = None
    overlay: Path | None = None
    scene: Path | None = None
    profile: Path | None = None

    @property
    def files(self) -> list[Path]:
        """All that is written."""
        counts = None if self.counts == "-" else Path(self.counts)
        files = (counts, self.plot, self.overlay, self.scene, self.profile)
        return [path for path in files if path is not None]

    @property
    def growing_files(self) -> list[Path]:
        """What is written frame by frame."""
        return [path for path in self.files if path not in (self.plot, self.scene)]


def plan_counting(
    sources: Sequence[str],
    *,
    output: str | None = None,
    format: str | None = None,
    plot: str | Path | None = None,
    overlay: str | Path | None = None,
    scene: str | Path | None = None,
    profile: str | Path | None = None,
    keep: Sequence[str | Path] = (),
) -> list[CountJob]:
    """Settle which files are made of which source.

    Parameters
    ----------
    sources : sequence of str
        See `open_source`.
    output : str, optional
        File of the counts, or "-"; by default `<stem>.counts.<format>` in the working folder.
    format : "csv", "jsonl" or "parquet", optional
        By default the output's suffix, else csv.
    plot, overlay, scene, profile : path, optional
        See `CountJob`.
    keep : sequence of paths, optional
        Further files that are read and must not be written to.

    Raises
    ------
    OutputError
        When two files have the same name, one would replace what is read or, unasked, labels that somebody
        wrote, the format is unknown, or one of several sources never ends.
    """
    several = len(sources) > 1
    named = {"-o": output, "--plot": plot, "--overlay": overlay, "--save-scene": scene, "--profile": profile}
    given = [option for option, path in named.items() if path is not None]
    if several and given:
        raise OutputError(f"{given[0]} names one file for {len(sources)} sources; count them one by one")
    if format is None:
        format = "csv" if output is None else format_of(output, "; or give --format")
    jobs = [
        CountJob(
            source,
            source_label(source),
            output or f"{source_stem(source)}.counts.{format}",
            format,
            *(None if path is None else Path(path) for path in (plot, overlay, scene, profile)),
        )
        for source in sources
    ]
    for job in jobs if several else []:
        if never_ends(job.source):
            raise _is_among_others(job)
    for job in jobs:
        if not never_ends(job.source):  # of which what is there is set aside
            refuse_foreign(job.counts, COLUMNS)
            if job.profile is not None:
                refuse_foreign(job.profile, PROFILE_COLUMNS)
        if job.scene is not None:
            refuse_other_kind(job.scene, "scene")
    written = [(job.label, path) for job in jobs for path in job.files]
    made: dict[object, tuple[str, Path]] = {}
    for label, path in written:
        identity = file_identity(path)
        if identity in made:
            other, name = made[identity]
            who = f"{other} and {label} would both" if several else "two results would"
            raise OutputError(f"{who} be written to {name}; count them one by one and choose names with -o")
        made[identity] = label, path
    refuse_any_to_replace((path for _, path in written), (*sources, *keep))
    for _, path in written:
        refuse_among_images(path, *sources)
    return jobs


def _is_among_others(job: CountJob) -> OutputError:
    return OutputError(f"{job.label} is live: the others would wait for its end; count each by itself")


def never_ends(source: str) -> bool:
    """Whether a source is a camera or a stream that is no file of a web server."""
    if "://" in source:
        return not source.lower().startswith(("http://", "https://", "ftp://", "file://"))
    return is_camera(source)


def source_label(source: str) -> str:
    """A source for messages, without a password."""
    return source_stem(source) if "://" in source else source


def source_stem(source: str) -> str:
    """What the files that are made of a source are called.

    >>> source_stem("clips/street.mp4"), source_stem("clips/img_*.png"), source_stem("clips/*.png")
    ('street', 'img', 'clips')
    >>> source_stem("0"), source_stem("rtsp://me:secret@gate:554/live?key=1")
    ('camera-0', 'gate-554-live')
    >>> source_stem("rtsp://gate/user=me_password=secret_channel=2")
    'gate-user-me_password-_channel-2'
    >>> source_stem("rtsp://gate/realmonitor?channel=2&subtype=0&password=secret")
    'gate-realmonitor-channel-2-subtype-0'
    """
    if "://" in source:
        address, _, query = re.sub(r"^.*?://([^/]*@)?", "", without_password(source)).partition("?")
        address = " ".join([address, *filter(_HARMLESS.fullmatch, re.split("[&;]", query))])
        return "-".join(re.findall(r"[\w.]+", address))[:100] or "stream"
    path = Path(source)
    if os.path.isdir(path):  # that of Path raises, in a locked folder
        return path.resolve().name or "images"
    if is_camera(source):
        return f"camera-{source}"
    if glob.has_magic(source) and not os.path.exists(path):
        literal = re.sub(r"\[.*?\]|[*?]", "", path.stem).strip(" _.-")
        return literal or path.parent.resolve().name or "images"
    return path.stem


def command_on(source: str, name: Sequence[str], *options: str) -> str:
    """A command on a source as a shell takes it, to be told to users, *** in the place of a password.

    >>> command_on("-1 pm.mp4", ["train"], "-m", "-1 pm.npz")
    "crowdcount train './-1 pm.mp4' -m '-1 pm.npz'"
    """
    if "://" in source:
        source = without_password(source)
    return shlex.join(["crowdcount", *name, f"./{source}" if source.startswith("-") else source, *options])


def count_sources(
    jobs: Sequence[CountJob],
    *,
    model: str | Path | None = None,
    scene: str | Path | None = None,
    start_time: datetime | None = None,
    watcher: Watcher,
    **options,
) -> list[tuple[CountJob, CrowdCountError]]:
    """Count each source into its files.

    Parameters
    ----------
    jobs : sequence of CountJob
    model, scene : path, optional
        As for `open_counting`, which takes the `options` (start, end, every, fps, timeout_s,
        reconnect_s, latest, directions) too.
    start_time : datetime, optional
        Wall-clock time of the sources' first frames; of a camera or stream by default when it was opened.
    watcher : Watcher

    Returns
    -------
    list of (CountJob, CrowdCountError)
        Those that failed, and why; the others are counted.

    Raises
    ------
    ModelError, SceneError
        When the model or scene file cannot be read: then nothing is counted.
    """
    options["model"] = default_model() if model is None else load_model(model)
    options["scene"] = None if scene is None else load_scene(scene)
    if options["model"].profile is None and any(job.profile is not None for job in jobs):
        raise ModelError(NO_PROFILE)
    if options.get("directions") and options["model"].directions is None:
        raise ModelError(NO_DIRECTIONS)
    failed = []
    for job in jobs:
        try:
            with watcher.progress() as show:
                summary = _count_source(job, len(jobs) == 1, start_time, watcher, show, options)
        except CrowdCountError as error:
            failed.append((job, error))
        else:
            watcher.finished(job, summary)
    return failed


def _count_source(job, is_alone, start_time, watcher, show, options) -> CountSummary:
    began = time.perf_counter()
    suffixes = {
        job.plot: PLOT_SUFFIXES,
        job.overlay: OVERLAY_SUFFIXES,
        job.scene: SCENE_SUFFIXES,
        job.profile: PROFILE_SUFFIXES,
    }
    for path in job.files:
        check_writable(path, suffixes.get(path, ()))
    check_format(job.counts, job.format)
    if job.profile is not None:
        check_format(job.profile, job.profile.suffix[1:].lower())
    show(f"looking at {job.label}", 0, None, None)
    summary, drawn = CountSummary(), DrawnCounts()
    first = 0 if options.get("start") is None else None  # else frames are waited for, and that one is counted
    with open_counting(job.source, **options) as counting:
        if counting.info.opened is not None and not is_alone:
            raise _is_among_others(job)  # of a web server, what is live shows only now
        if job.scene is not None:
            counting.scene.save(job.scene)
        watcher.started(counting)
        start_time = summary.start_time = start_time or counting.info.opened
        tell_returns = returns(watcher.returned, job.label, counting.absences, start_time)
        if counting.info.opened is not None:
            for path in job.growing_files:
                set_aside(path)
        overlay = nullcontext()
        if job.overlay is not None:
            overlay = OverlayWriter(job.overlay, counting.info.size_wh, counting.rate, start_time)
        profiles = nullcontext()
        if job.profile is not None:
            profiles = open_profiles(job.profile, len(counting.model.profile.center), start_time)
        open_counts = open_writer(job.counts, job.format, start_time, counting.directions)

        def plot(path: Path) -> None:
            rows, densities = zip(*drawn.held(), strict=True)
            plot_counts(rows, path, job.label, start_time, densities, summary, drawn.together)

        with (
            plotted(job.plot, plot, drawn, counting.info.opened is not None),
            overlay,
            profiles as write_profile,
            open_counts as write,
        ):
            for item in counting.frames(images=job.overlay is not None):
                write(item.row)
                tell_returns()
                if job.overlay is not None:
                    roi = as_seen(counting.scene.roi, item.moved)
                    overlay.write(item.frame.image_bgr, roi, item.mask, item.row, item.profile)
                if write_profile is not None:
                    write_profile(item.row, item.profile)
                if job.plot is not None:
                    drawn.add(item.row, item.profile)
                summary.add(item.row)
                first = item.row.frame if first is None else first
                summary.dropped = (item.row.frame - first) // counting.every + 1 - summary.frames
                show(job.label, summary.frames, counting.expected_frames, item.row.count)
        if counting.lacks_its_end(summary.frames, item.row):
            summary.expected = counting.expected_frames
        summary.broke_off_s = counting.broke_off_s(summary.frames, item.row)
    summary.seconds = time.perf_counter() - began
    return summary


def make_scene(
    source: str,
    *,
    polygons: Sequence[Polygon] = (),
    persons: Sequence[tuple[float, float, float]] = (),
    axis: Axis | None = None,
    imported: Sequence[str | Path] = (),
    scene: str | Path | None = None,
    output: str | Path | None = None,
    preview: str | Path | None = None,
    html: str | Path | None = None,
    timeout_s: float = 10.0,
    watcher: Watcher,
) -> Scene:
    """Make the scene of a source, and save it and show it where asked.

    Parameters
    ----------
    source : str
        See `open_source`.
    polygons, persons
        As for `scene_from`; they replace the region and the perspective of what is imported, loaded or
        estimated.
    axis : ((x, y), (x, y)), optional
        From where to where people walk who are counted as right-moving, pixels.
    imported : sequence of paths
        See `import_scene`.
    scene : path, optional
        A scene file to start from, where nothing is imported.
    output : path, optional
        Scene file to write, .json or .npz.
    preview : path, optional
        Picture to write: the scene drawn on a frame.
    html : path, optional
        Page to write, to draw the scene on in a browser; it begins with what is given here.
    timeout_s : float
        How long a stream may be silent.
    watcher : Watcher

    Raises
    ------
    VideoError, SceneError, OutputError
    """
    for path, suffixes in ((output, SCENE_SUFFIXES), (preview, PICTURE_SUFFIXES), (html, PAGE_SUFFIXES)):
        if path is not None:
            check_writable(path, suffixes)
            refuse_among_images(path, source)
    if output is not None:
        refuse_other_kind(output, "scene")
    if html is not None:
        refuse_other_page(html, "scene")
    with watcher.progress() as show, open_source(source, timeout_s=timeout_s) as opened:
        show("looking at the footage", 0, None, None)
        size_wh = opened.info.size_wh
        given = polygons or None, persons or None, axis
        if imported:
            made = import_scene(*imported).fitted(size_wh)
        else:
            made = scene_from(size_wh) if scene is None else load_scene(scene).fitted(size_wh)
        made = made.redrawn(*given)
        if not (imported or scene or persons):  # what is given fits the frame: now the look may take its time
            made = estimated_scene(opened).redrawn(*given)
        frames = [] if html is None else opened.sample(N_DRAWN_ON)
        if preview is not None or (html is not None and not frames):
            first = next(frame for frame in opened.frames() if frame.image_bgr is not None)
    if output is not None:
        made.save(output)
    if preview is not None:
        write_picture(preview, draw_scene(made, first.image_bgr))
    if html is not None:
        shown = [(frame.index, frame.time_s, frame.image_bgr) for frame in frames or [first]]
        starts = [] if scene is None else ["--scene", str(scene)]
        starts += [part for file in imported for part in ("--import", str(file))]
        command = command_on(source, ["scene"], *starts)
        suffix = ".npz" if made.polygons is None or made.line is None else ".json"
        ending = shlex.join(["-o", str(output or f"{source_stem(source)}{suffix}")])
        title = Path(source_label(source)).name
        write_scene_page(html, title, shown, made, polygons, persons, axis, command, ending)
    return made
