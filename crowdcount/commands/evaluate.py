"""`crowdcount evaluate`."""

from dataclasses import asdict

import click

from .common import dataset_options, json_line, model_option


@click.command()
@dataset_options()
@model_option("Model file to judge; by default the bundled one.")
def evaluate(dataset: str, model: str | None, json: bool, quiet: bool, **options) -> None:
    """Measure a model's errors on DATASET.

    Tells how often its interval holds the count, too. DATASET and its labels are given as to
    `crowdcount train`.
    """
    from ..learning.jobs import evaluate_model
    from ..learning.reports import evaluation_report
    from ..output import print_result
    from ..terminal import Terminal

    evaluation = evaluate_model(dataset, model, watcher=Terminal(quiet), **options)
    if json:
        facts = {
            **asdict(evaluation.metrics),
            "level": evaluation.level,
            "coverage": evaluation.coverage,
            "outside": evaluation.outside,
            "learnt": evaluation.is_learnt,
            "camera_moved": evaluation.camera_moved,
            "models_scene": evaluation.is_models_scene,
            "n_lost_labels": evaluation.n_lost_labels,
            "seconds": evaluation.seconds,
        }
        if evaluation.directions is not None:
            facts["directions"] = asdict(evaluation.directions)
        print_result(json_line(facts))
    else:
        print_result("\n".join(evaluation_report(evaluation)))
