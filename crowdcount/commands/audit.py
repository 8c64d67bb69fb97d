"""`crowdcount audit`."""

from dataclasses import asdict

import click

from .common import dataset_options, json_line, output_option


@click.command()
@dataset_options()
@output_option("CSV file to write of the labels that stand out, - for the standard output.")
@click.option("--html", metavar="FILE", help="Page to write of them with their frames, .html.")
def audit(dataset: str, output: str | None, html: str | None, json: bool, quiet: bool, **options) -> None:
    """Find the labels of DATASET that look wrong.

    DATASET and its labels are given as to `crowdcount train`. The labels that stand out from what all others
    tell are ranked, the oddest first, for a person to look at.
    """
    from ..learning.jobs import audit_dataset
    from ..learning.reports import audit_report
    from ..output import print_result
    from ..terminal import Terminal

    if json and output == "-":
        raise click.UsageError("--json and -o - both print a result; drop one of them")
    found = audit_dataset(dataset, output=output, html=html, watcher=Terminal(quiet), **options)
    files = [file for file in (output, html) if file is not None]
    if json:
        facts = {"n": len(found.labels), "n_lost_labels": found.n_lost_labels, "seconds": found.seconds}
        removed = [asdict(label) for label in found.removed]
        print_result(json_line({**facts, **asdict(found.setting), "removed": removed}))
    elif output != "-":
        print_result("\n".join(audit_report(found, files)))
