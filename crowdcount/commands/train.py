"""`crowdcount train`."""

from dataclasses import asdict

import click

from .common import dataset_options, json_line, level_option, model_option


@click.command()
@dataset_options(several=True)
@model_option("Model file to write (.npz).", required=True)
@click.option(
    "--regressor",
    type=click.Choice(["hlr", "r3"]),
    default="hlr",
    show_default=True,
    help="Huber loss regression, which takes unlabelled frames and prunes wrong labels, or robust "
    "regularized kernel regression.",
)
@click.option(
    "--kernel",
    type=click.Choice(["poly", "rbf"]),
    default="poly",
    show_default=True,
    help="Quadratic kernels; or RBF kernels, for hlr, whose model `crowdcount compress` can shrink.",
)
@level_option("Share of frames whose true count the intervals shall hold.")
@click.option(
    "--target",
    type=click.Choice(["count", "profile"]),
    default="count",
    show_default=True,
    help="profile: learn from dots or boxes, besides, where in the depth of the scene people are.",
)
@click.option(
    "--directions",
    is_flag=True,
    help="Learn, besides, how many people move right and left: from the tracks of --mot, or from the columns "
    "right and left of --counts.",
)
def train(datasets: tuple[str, ...], model: str, json: bool, quiet: bool, **options) -> None:
    """Train a model on DATASET.

    DATASET is a Mall folder, a UCSD-style folder, a video or images with --counts or --mot, or a table of
    ready-made features; or several recordings of one camera, with a --counts for each in their order. Frames
    without a label take part as unlabelled ones.
    """
    from ..learning.jobs import train_model
    from ..learning.reports import training_report
    from ..output import print_result
    from ..terminal import Terminal

    if options["kernel"] == "rbf" and options["regressor"] != "hlr":
        raise click.UsageError("--kernel rbf goes with --regressor hlr; drop one of them")
    for name in ("mot", "annotated", "frames"):
        if options[name] is not None and len(datasets) > 1:
            raise click.UsageError(f"--{name} goes with one DATASET; give several with --counts alone")
    training = train_model(datasets, model, watcher=Terminal(quiet), **options)
    if json:
        names = ("n_unlabelled", "n_lost_labels", "block_biases", "seconds")
        facts = {name: getattr(training, name) for name in names} | asdict(training.setting)
        facts |= {"kept": asdict(training.kept), "removed": [asdict(label) for label in training.removed]}
        if training.profile is not None:
            facts["profile"] = training.profile.facts()
        if training.directions is not None:
            facts["directions"] = asdict(training.directions.errors)
        print_result(json_line({**asdict(training.metrics), **facts, "model": model}))
    else:
        print_result("\n".join(training_report(training, model)))
