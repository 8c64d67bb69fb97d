"""`crowdcount report`."""

import click

from .common import IsoTime


@click.command()
@click.argument("results", metavar="OUT")
@click.option(
    "--interval",
    type=click.Choice(["1min", "15min", "hour", "day"]),
    default="hour",
    show_default=True,
    help="Length of the intervals.",
)
@click.option("--camera", multiple=True, metavar="NAME", help="This camera only; may be repeated.")
@click.option("--since", type=IsoTime(), help="From this time on, as 2024-05-01T08:00:00.")
@click.option("--until", type=IsoTime(), help="Before this time.")
@click.option(
    "--output",
    "-o",
    multiple=True,
    metavar="FILE",
    help="Write it as a table (.csv), a chart (.png) or a page (.html); may be repeated.",
)
def report(results: str, interval: str, camera: tuple, since, until, output: tuple) -> None:
    """Sum up the results in OUT by camera and time.

    OUT is the folder that `crowdcount batch` wrote to. For each interval: mean, maximum and its time, and the
    share of frames that carry a flag. Printed as a table, unless files are named.
    """
    from ..batch.report import n_undated, summarise, text_table, write_report
    from ..output import print_note, print_result
    from ..wording import plural

    rows = summarise(results, interval, cameras=camera, since=since, until=until)
    write_report(rows, output, interval)
    n = n_undated(results, camera) if since or until else 0
    if n:
        print_note(f"{plural(n, 'video')} of unknown start time left out, as --since and --until tell times")
    print_result("\n".join(f"written: {path}" for path in output) or text_table(rows))
