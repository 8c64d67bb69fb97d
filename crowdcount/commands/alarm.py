"""`crowdcount alarm train` and `crowdcount alarm run`."""

import click

from .common import (
    NOT_NEGATIVE,
    POSITIVE,
    by_footage,
    cache_option,
    end_option,
    every_option,
    json_line,
    json_option,
    model_option,
    output_option,
    plot_option,
    quiet_option,
    reconnect_option,
    scene_option,
    seconds_option,
    start_option,
    start_time_option,
    timeout_option,
)

_fps_option = click.option(
    "--fps",
    type=POSITIVE,
    metavar="RATE",
    help="Frames per second of images and tables, or in place of what a file says.",
)


@click.group()
def alarm() -> None:
    """Raise an alarm where it is too crowded."""


@alarm.command()
@click.argument("source")
@click.option(
    "--labels",
    metavar="FILE",
    required=True,
    help="Calls: CSV of frame, or start and end, and call, share, or a column for each operator.",
)
@model_option("Model file to write (.npz).", required=True)
@scene_option
@every_option("Take")
@_fps_option
@cache_option
@json_option
@quiet_option
def train(source: str, labels: str, model: str, json: bool, quiet: bool, **options) -> None:
    """Learn an alarm from operators' rough calls.

    SOURCE is a recording (a video, a folder or a pattern of images) or a table of features: the counts of
    `crowdcount count`, in any format, or another CSV file with a header. Calls are too crowded, fine or
    unknown.
    """
    from ..alarm.training import alarm_report, train_alarm_model
    from ..output import print_result
    from ..terminal import Terminal

    training = train_alarm_model(source, model, labels, watcher=Terminal(quiet), **options)
    if json:
        print_result(json_line({**vars(training), "model": model}))
    else:
        print_result("\n".join(alarm_report(training, model)))


@alarm.command()
@click.argument("source")
@model_option("Model file, made by `crowdcount alarm train`.", required=True)
@output_option(
    "CSV file for the events, - for the standard output; by default STEM.events.csv in the working folder."
)
@click.option(
    "--margin",
    type=NOT_NEGATIVE,
    metavar="VALUE",
    default=0.25,
    show_default=True,
    help="Hysteresis: raise at this decision value, clear at its negative; 1 is the margin of the training.",
)
@seconds_option("--raise-after", "raise_after_s", default=2.0, help="How long it must have been too crowded.")
@seconds_option("--clear-after", "clear_after_s", default=5.0, help="How long it must have been fine again.")
@every_option("Take")
@start_option
@end_option("judged")
@scene_option
@start_time_option(", or what a table of counts tells")
@_fps_option
@timeout_option
@reconnect_option
@plot_option("the alarm over time")
@quiet_option
def run(
    source: str, model: str, output: str | None, plot: str | None, timeout: float, quiet: bool, **options
) -> None:
    """Watch SOURCE with an alarm and write when it is raised and cleared.

    SOURCE is as for `crowdcount count`, live ones too, or a table of features.
    """
    from ..alarm.watching import alarm_summary, run_alarm
    from ..output import is_terminal_output
    from ..terminal import Terminal

    options = by_footage(options)
    watcher = Terminal(quiet, bar=not (output == "-" and is_terminal_output()))
    summary, target = run_alarm(
        source, model, output=output, plot=plot, timeout_s=timeout, watcher=watcher, **options
    )
    for line in alarm_summary(summary, [path for path in (target, plot) if path not in (None, "-")]):
        watcher.say(line)
