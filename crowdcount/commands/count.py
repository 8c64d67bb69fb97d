"""`crowdcount count`."""

import sys

import click

from ..errors import OutputError
from .common import (
    FAILED,
    SOME_FAILED,
    by_footage,
    complain,
    end_option,
    every_option,
    fps_option,
    model_option,
    output_option,
    plot_option,
    quiet_option,
    reconnect_option,
    scene_option,
    start_option,
    start_time_option,
    timeout_option,
)


@click.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@output_option(
    "File for the counts, - for the standard output; by default STEM.counts.csv in the working folder."
)
@click.option(
    "--format",
    type=click.Choice(["csv", "jsonl", "parquet"]),
    help="Format of the counts; by default the output's suffix, else csv.",
)
@every_option("Count")
@start_option
@end_option("counted")
@model_option("Model file, made by `crowdcount train`; by default the bundled one.")
@scene_option
@click.option("--save-scene", metavar="FILE", help="Save the scene that was used, .json or .npz.")
@start_time_option()
@fps_option
@timeout_option
@reconnect_option
@click.option(
    "--latest",
    is_flag=True,
    help="Of a camera or stream that is faster than the counting, drop frames rather than lag.",
)
@plot_option("the counts over time")
@click.option("--overlay", metavar="FILE", help="Video to write with the counts drawn in, .mp4 or .avi.")
@click.option(
    "--profile",
    metavar="FILE",
    help="File for the density of people over depth, .parquet, .csv or .jsonl; needs a model trained with "
    "--target profile.",
)
@click.option(
    "--directions",
    is_flag=True,
    help="Count right- and left-moving people too; needs a model trained with --directions.",
)
@quiet_option
def count(
    sources: tuple[str, ...],
    output: str | None,
    format: str | None,
    model: str | None,
    scene: str | None,
    save_scene: str | None,
    plot: str | None,
    overlay: str | None,
    profile: str | None,
    timeout: float,
    quiet: bool,
    **options,
) -> None:
    """Count the people in each SOURCE, the default command.

    A SOURCE is a video file, a folder or a pattern ('shots/*.jpg') of images, the number of a camera or the
    URL of a stream. A file named like a command is given as ./train.

    Exit codes: 0 all counted, 1 failed, 2 wrong usage, 3 some sources failed, 130 interrupted (what was
    counted is kept).
    """
    from ..jobs import count_sources, plan_counting
    from ..output import is_terminal_output
    from ..terminal import Terminal

    if len(sources) > 1 and options["start_time"] is not None:
        raise click.UsageError(
            f"--start-time is when one source began, not {len(sources)}: count them one by one, or with batch"
        )
    options = by_footage(options)
    read = [path for path in (model, scene) if path is not None]
    try:
        jobs = plan_counting(
            sources, output=output, format=format, plot=plot, overlay=overlay, scene=save_scene,
            profile=profile, keep=read,
        )  # fmt: skip
    except OutputError as error:
        raise click.UsageError(str(error)) from error
    watcher = Terminal(quiet, bar=not (output == "-" and is_terminal_output()))
    failed = count_sources(jobs, model=model, scene=scene, watcher=watcher, timeout_s=timeout, **options)
    if len(jobs) == 1 and failed:
        raise failed[0][1]
    for job, error in failed:
        complain(error, job.label)
    if failed:
        watcher.say(f"{len(jobs) - len(failed)} of {len(jobs)} sources counted")
        sys.exit(SOME_FAILED if len(failed) < len(jobs) else FAILED)
