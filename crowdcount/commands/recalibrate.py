"""`crowdcount recalibrate`."""

from dataclasses import asdict

import click

from .common import dataset_options, json_line, output_option


@click.command()
@click.argument("model", metavar="MODEL")
@dataset_options()
@output_option("Model file to write; by default STEM.recalibrated.npz in the working folder.")
def recalibrate(model: str, dataset: str, output: str | None, json: bool, quiet: bool, **options) -> None:
    """Correct MODEL by a few counts of DATASET.

    MODEL is a model file, or "bundled" for the bundled model. DATASET and its counts are given as to
    `crowdcount train`: of the camera as it now is, or of a camera that MODEL never saw. Five to ten counts
    correct bias and scale and renew the interval; the corrected model counts like any other.
    """
    from ..learning.jobs import recalibrate_model
    from ..learning.reports import recalibration_report
    from ..output import print_result
    from ..terminal import Terminal

    found, written = recalibrate_model(model, dataset, output, watcher=Terminal(quiet), **options)
    if json:
        facts = {**asdict(found.correction), "before": asdict(found.before), "after": asdict(found.after)}
        facts |= {"quantile": found.model.quantile, "learnt": found.is_learnt}
        facts |= {"alike": found.are_alike, "contradicts": found.contradicts}
        facts |= {"camera_moved": found.camera_moved, "slips": [asdict(one) for one in found.slips]}
        facts |= {"n_lost_labels": found.n_lost_labels, "seconds": found.seconds, "model": written}
        print_result(json_line(facts))
    else:
        print_result("\n".join(recalibration_report(found, written)))
