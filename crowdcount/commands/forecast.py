"""`crowdcount forecast`."""

import click

from .common import ParsedText, json_line, level_option, output_option, plot_option, quiet_option


@click.command()
@click.argument("counts", metavar="COUNTS...", nargs=-1, required=True)
@output_option(
    "File for the forecast, .csv, .jsonl or .parquet, - for the standard output; by default "
    "STEM.forecast.csv in the working folder."
)
@plot_option("the forecast")
@click.option(
    "--period",
    "period_s",
    type=ParsedText("period", "crowdcount.forecast", "parse_period"),
    metavar="LENGTH",
    default="day",
    show_default=True,
    help="Length of a period: hour, day, week, or as 90s, 15m, 6h, 2d.",
)
@click.option(
    "--steps",
    type=click.IntRange(2, 1000),
    metavar="N",
    default=48,
    show_default=True,
    help="Steps of a period, in which counts are averaged.",
)
@level_option("Share of steps whose mean count the intervals shall hold.")
@click.option("--json", is_flag=True, help="Print the back-test as one line of JSON.")
@quiet_option
def forecast(counts: tuple[str, ...], json: bool, quiet: bool, **options) -> None:
    """Predict the next period's count curve from the last one.

    COUNTS are files that `crowdcount count` wrote, of one camera; several need the column time
    (--start-time). The next period begins where they end; days and times of which there never are counts, as
    a Sunday on which a shop is closed, are passed over.
    """
    from ..forecast import forecast_files, forecast_report
    from ..output import print_result
    from ..terminal import Terminal

    if json and options["output"] == "-":
        raise click.UsageError("--json and -o - both write to the standard output; drop one of them")
    terminal = Terminal(quiet)
    made, written = forecast_files(counts, watcher=terminal, **options)
    if json:
        facts = {
            "tested_periods": made.n_tested,
            "settings": made.settings,
            "passed_over_s": made.passed_over_s,
            "mae": made.errors,
        }
        print_result(json_line(facts))
    elif options["output"] == "-":
        for line in forecast_report(made, written):
            terminal.say(line)
    else:
        print_result("\n".join(forecast_report(made, written)))
