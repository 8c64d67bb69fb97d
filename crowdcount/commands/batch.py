"""`crowdcount batch`."""

import sys

import click
from click.core import ParameterSource

from .common import (
    FAILED,
    FROM_ONE,
    POSITIVE,
    SOME_FAILED,
    ParsedText,
    TableText,
    complain,
    every_option,
    model_option,
    quiet_option,
    scene_option,
    seconds_option,
)


@click.command()
@click.argument("inputs", metavar="FOLDER|LIST|-...", nargs=-1, required=True)
@click.option("--output", "-o", metavar="OUT", required=True, help="Folder for the results; made if need be.")
@click.option(
    "--pattern",
    type=ParsedText("pattern", "crowdcount.batch.plan", "PathPattern", splitter=";"),
    multiple=True,
    metavar="PATTERN",
    help="How paths say camera and time: '{camera}/%Y-%m-%d/%H%M%S*', without suffix; the first that fits.",
)
@click.option(
    "--camera",
    type=TableText("camera", "crowdcount.batch.plan", "parse_camera", splitter=";"),
    multiple=True,
    metavar="name=NAME,...",
    help="A camera's own match=PATTERN, model=FILE, scene=FILE, timezone=AREA/CITY; may be repeated.",
)
@click.option("--include", multiple=True, metavar="PATTERN", help="Take these files only: '*.mp4', 'gate/*'.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave these files out.")
@model_option("Model file for cameras without their own; by default the bundled one.")
@scene_option
@every_option("Count")
@click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Who counts: processes of this machine, or a Dask cluster.",
)
@click.option(
    "--workers", type=FROM_ONE, metavar="N", help="Processes of this machine; by default one per core."
)
@click.option("--scheduler", metavar="ADDRESS", help="Scheduler of the Dask cluster: tcp://HOST:8786.")
@seconds_option(
    "--segment",
    default=900.0,
    help="Cut longer videos into parts of this length, counted at once; 0 cuts none.",
)
@seconds_option("--warm-up", default=10.0, help="Footage before each part that is looked at first.")
@seconds_option("--time-limit", type=POSITIVE, help="Longest that workers may take for one video, together.")
@seconds_option(
    "--silence", type=POSITIVE, default=600.0, help="Stop a worker that shows no progress for so long."
)
@click.option(
    "--retries",
    type=click.IntRange(0),
    metavar="N",
    default=2,
    show_default=True,
    help="Try again so often after a fault that may pass: a worker that died, a disk that did not answer.",
)
@quiet_option
def batch(
    inputs: tuple[str, ...],
    output: str,
    pattern: tuple,
    camera: tuple,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    model: str | None,
    scene: str | None,
    every: int,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    segment: float,
    warm_up: float,
    time_limit: float | None,
    silence: float,
    retries: int,
    quiet: bool,
) -> None:
    """Count all videos of a FOLDER or a LIST.

    Several may be given; - is a list on the standard input. The results are Parquet files in OUT, one per
    video, in a folder for each camera and date. A run that was broken off goes on with the same command.

    Exit codes: 0 all counted, 1 failed, 2 wrong usage, 3 some videos failed, 130 interrupted.
    """
    from ..batch.engines import DaskEngine, LocalEngine, default_workers
    from ..batch.plan import check_cameras, plan_videos
    from ..batch.progress import BatchTerminal
    from ..batch.run import Options, check_needs, run_batch
    from ..batch.worker import Limits

    if (engine == "dask") != (scheduler is not None):
        raise click.UsageError("--engine dask and --scheduler ADDRESS belong together")
    check_needs()
    videos = plan_videos(inputs, patterns=pattern, cameras=camera, include=include, exclude=exclude)
    if click.get_current_context().get_parameter_source("camera") is ParameterSource.COMMANDLINE:
        check_cameras(camera, videos)  # the settings file may know cameras that have no videos here
    limits = Limits(total_s=time_limit, silent_s=silence, retries=retries)
    options = Options(model, scene, every, segment_s=segment, warm_up_s=warm_up, limits=limits)
    with BatchTerminal(quiet) as watcher:
        chosen = DaskEngine(scheduler) if engine == "dask" else LocalEngine(workers or default_workers())
        summary = run_batch(videos, output, chosen, options, watcher)
    for label, reason in summary.failed:
        complain(reason, label)
    watcher.ended(summary)
    if summary.broken_off is not None:
        raise summary.broken_off
    if summary.failed:
        sys.exit(SOME_FAILED if summary.counted or summary.done_before else FAILED)
