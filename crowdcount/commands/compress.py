"""`crowdcount compress`."""

from dataclasses import asdict

import click

from .common import json_line, json_option, output_option, plot_option, quiet_option


class _Prototypes(click.ParamType):
    """A number of prototypes, or None for "auto"."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value == "auto":
            return None
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = 0
        if number < 1:
            self.fail(f'expected a number from 1 or "auto", found {value!r}', param, ctx)
        return number


@click.command()
@click.argument("model", metavar="MODEL")
@click.option(
    "--prototypes",
    type=_Prototypes(),
    default="auto",
    metavar="M|auto",
    help="How many prototypes to keep; auto, the default: as few as cost little accuracy.",
)
@output_option("Model file to write; by default STEM.compressed.npz in the working folder.")
@plot_option("the error against the number of prototypes")
@json_option
@quiet_option
def compress(model: str, output: str | None, json: bool, quiet: bool, **options) -> None:
    """Shrink MODEL to a few virtual prototypes.

    MODEL was trained with --kernel rbf. Counting then costs a few similarities instead of one per training
    frame; what that costs in accuracy is measured by cross-validation, beside prototypes that are selected
    among the training frames.
    """
    from ..learning.compression import compress_model
    from ..learning.reports import compression_report
    from ..output import print_result
    from ..terminal import Terminal

    found, written = compress_model(model, output, watcher=Terminal(quiet), **options)
    if json:
        sizes = [asdict(size) for size in (found.full, *found.sizes)]
        facts = {"prototypes": found.chosen.prototypes, "sizes": sizes, "seconds": found.seconds}
        print_result(json_line({**facts, "model": written}))
    else:
        print_result("\n".join(compression_report(found, written)))
