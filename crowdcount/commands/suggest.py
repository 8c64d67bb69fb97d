"""`crowdcount suggest`."""

import click

from .common import FROM_ONE, fps_option, output_option, quiet_option, scene_option


@click.command()
@click.argument("source")
@click.option(
    "-n",
    "--frames",
    "size",
    type=FROM_ONE,
    default=25,
    show_default=True,
    metavar="N",
    help="How many frames to count.",
)
@output_option(
    "CSV file to write, its counts to be filled in, - for the standard output; by default "
    "STEM.labels.csv in the working folder, and none with --html."
)
@click.option("--html", metavar="FILE", help="Page to mark the heads on, in the place of counts.")
@click.option("--pictures", metavar="FOLDER", help="Folder for the frames as pictures.")
@scene_option
@fps_option
@quiet_option
def suggest(source: str, output: str | None, html: str | None, quiet: bool, **options) -> None:
    """Choose the frames of SOURCE that are worth counting.

    SOURCE is a video file, or a folder or pattern of images. From the frames chosen, `crowdcount train
    --counts` learns more than from as many evenly spaced ones.
    """
    from ..learning.suggestion import suggest_frames, teaches_a_model
    from ..output import print_result
    from ..terminal import Terminal
    from ..wording import plural

    found, written = suggest_frames(source, output, html=html, watcher=Terminal(quiet), **options)
    frames = plural(len(found), "frame")
    then = f"crowdcount {'train' if teaches_a_model(found) else 'recalibrate'} --counts"
    if html is not None and written != "-":
        print_result(f"{html}: {frames}; mark the heads in a browser, then {then}")
    if written not in (None, "-"):
        print_result(f"{written}: {frames}; fill in the counts, then {then}")
