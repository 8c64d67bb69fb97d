"""`crowdcount explain`."""

import click

from .common import output_option, quiet_option


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("footage", metavar="FOOTAGE")
@output_option("Page to write, .html; by default STEM.explained.html in the working folder.")
@quiet_option
def explain(model: str, footage: str, output: str | None, quiet: bool) -> None:
    """Show what MODEL compares frames with.

    MODEL was made by `crowdcount compress`, FOOTAGE is what it was trained on: a video, images or the folder
    of a data set. Writes one HTML page with the training frames that each prototype is like.
    """
    from ..learning.explain import explain_model
    from ..output import print_result
    from ..terminal import Terminal

    print_result(f"written: {explain_model(model, footage, output, watcher=Terminal(quiet))}")
