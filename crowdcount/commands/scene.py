"""`crowdcount scene`."""

import click

from .common import AXIS, PERSON, POLYGON, output_option, quiet_option, timeout_option


@click.command()
@click.argument("source")
@output_option("Scene file to write: .json (can be edited) or .npz.")
@click.option(
    "--roi",
    type=POLYGON,
    multiple=True,
    metavar="'X,Y X,Y ...'",
    help="Polygon in which people are counted, in pixels; may be repeated.",
)
@click.option(
    "--person",
    type=PERSON,
    multiple=True,
    metavar="X,FOOT_Y,HEIGHT",
    help="A standing person, in pixels; twice or more, one far away and one near.",
)
@click.option(
    "--axis",
    type=AXIS,
    metavar="'X1,Y1 X2,Y2'",
    help="From where to where people walk who count as right-moving, in pixels; by default along the image's "
    "rows.",
)
@click.option(
    "--import",
    metavar="FILE",
    multiple=True,
    help="File of a data set: Mall's perspective_roi.mat, UCSD's dmap and roi .mat; may be repeated.",
)
@click.option("--scene", metavar="FILE", help="Scene file to start from.")
@click.option("--preview", metavar="FILE", help="Picture to draw of the scene on a frame, .png or .jpg.")
@click.option(
    "--html", metavar="FILE", help="Page to draw region, people and axis on; it tells the command for them."
)
@timeout_option
@quiet_option
def scene(
    source: str,
    output: str | None,
    roi: tuple,
    person: tuple,
    axis: tuple | None,
    scene: str | None,
    preview: str | None,
    html: str | None,
    timeout: float,
    quiet: bool,
    **options,
) -> None:
    """Describe the region and the perspective of SOURCE.

    The region is where people are counted, the perspective how tall a person is where. Unless they are given,
    the region is the whole frame, and the perspective is estimated from the people who move in the footage.
    """
    from ..jobs import make_scene
    from ..output import print_result
    from ..terminal import Terminal

    imported = options["import"]
    if imported and scene is not None:
        raise click.UsageError("--import and --scene both give a scene; drop one of them")
    made = make_scene(
        source,
        polygons=roi,
        persons=person,
        axis=axis,
        imported=imported,
        scene=scene,
        output=output,
        preview=preview,
        html=html,
        timeout_s=timeout,
        watcher=Terminal(quiet),
    )
    lines = made.describe()
    lines += [f"written: {path}" for path in (output, preview, html) if path is not None]
    if output is None and html is None:
        lines.append("not saved; give -o FILE.json to keep and correct it")
    print_result("\n".join(lines))
