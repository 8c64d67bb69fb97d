"""The command line: each command parses what it is given and calls one function of `crowdcount.jobs`.

Everything that takes time to import is imported by the commands that need it.
"""

import importlib.util
import json
import math
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from importlib import import_module
from pathlib import Path

import click

from . import __version__
from .errors import CrowdCountError, OutputError
from .settings import SETTINGS_FILE, load_settings

OK, FAILED, USAGE, SOME_FAILED, INTERRUPTED = 0, 1, 2, 3, 130


def main() -> None:
    """Run the command line; the process ends with one of the exit codes above."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        check_packages(Path(__file__).resolve().parents[1])
    except CrowdCountError as error:
        _complain(error)
        sys.exit(FAILED)
    command_line(prog_name="crowdcount")


def _interrupt(number, frame) -> None:
    """The first signal ends the work; more of them must not disturb what is then being brought to an end."""
    for handled in (signal.SIGINT, signal.SIGTERM):
        signal.signal(handled, signal.SIG_IGN)
    raise KeyboardInterrupt("interrupted")


def check_packages(folder: Path) -> None:
    """Raise CrowdCountError unless `features` and `models` would be imported from this folder.

    The names are common: a folder that Python looks into earlier may hold a models.py. Nothing is imported.
    """
    for name in ("features", "models"):
        found = importlib.util.find_spec(name)
        place = Path(found.origin) if found and found.origin else None
        if place is None:
            raise CrowdCountError(f"its package {name!r} is missing from {folder}; install crowdcount again")
        if place.resolve().parent != folder / name:
            raise CrowdCountError(
                f"Python finds {place} in the place of its own package {name!r}; start it as `crowdcount` "
                "instead of `python -m crowdcount`, or rename that file, or take its folder off PYTHONPATH"
            )


class _CommandLine(click.Group):
    """Commands, `count` when none is named; errors of the user's making become one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if args and args[0] not in {*self.commands, *own}:
            args = ["count", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except CrowdCountError as error:
            _complain(error)
            ctx.exit(FAILED)
        except KeyboardInterrupt as error:
            _complain(error)
            ctx.exit(INTERRUPTED)


def _complain(error: BaseException) -> None:
    notes = getattr(error, "__notes__", [])
    line = " ".join("; ".join([str(error), *notes]).splitlines())
    click.echo(f"crowdcount: {line}", err=True)


class _Text(click.ParamType):
    """A text that a function of this package parses, imported when it is needed."""

    def __init__(self, name: str, module: str, function: str, splitter: str | None = None):
        self.name = name
        self._module = module
        self._function = function
        self.envvar_list_splitter = splitter

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if not isinstance(value, str):
            return value
        parse: Callable = getattr(import_module(self._module, __package__), self._function)
        try:
            return parse(value)
        except CrowdCountError as error:
            return self.fail(str(error), param, ctx)


class _IsoTime(click.ParamType):
    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return self.fail(f"expected an ISO 8601 time such as 2024-05-01T08:00:00, found {value!r}")


_POSITION = _Text("position", ".video", "parse_position")
_POLYGON = _Text("polygon", ".scene", "parse_polygon", splitter=";")
_PERSON = _Text("person", ".scene", "parse_person", splitter=";")
_POSITIVE = click.FloatRange(0, min_open=True)


def _model_option(text: str, required: bool = False) -> Callable:
    return click.option("--model", "-m", metavar="FILE", required=required, help=text)


_scene_option = click.option("--scene", metavar="FILE", help="Scene file, made by `crowdcount scene`.")
_quiet_option = click.option("--quiet", "-q", is_flag=True, help="Show errors and results only.")
_timeout_option = click.option(
    "--timeout",
    type=_POSITIVE,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a stream may be silent.",
)


def _dataset_options(command: Callable) -> Callable:
    """What `train` and `evaluate` have in common."""
    options = [
        click.argument("dataset"),
        click.option(
            "--frames",
            metavar="A-B",
            help="Only these frames, in the data set's own numbering: 1-400,601-800.",
        ),
        click.option("--counts", metavar="FILE", help="Counts of a video: CSV of frame (from 0) and count."),
        click.option("--mot", metavar="FILE", help="People of a video: MOT Challenge ground truth."),
        click.option(
            "--annotated",
            metavar="A-B",
            help="Frames that the MOT file covers, as it numbers them; by default first to last row.",
        ),
        _scene_option,
        click.option(
            "--cache",
            metavar="FOLDER",
            help="Folder in which the measured features are kept for the next run.",
        ),
        click.option("--json", is_flag=True, help="Print the result as one line of JSON."),
        _quiet_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.group(
    cls=_CommandLine,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "CROWDCOUNT"},
    epilog="`crowdcount VIDEO` is `crowdcount count VIDEO`. An option that is not given is taken from the "
    "environment (CROWDCOUNT_COUNT_EVERY=2), then from ./crowdcount.toml ([count] every = 2).",
)
@click.version_option(__version__, prog_name="crowdcount")
@click.pass_context
def command_line(context: click.Context) -> None:
    """Count people in footage of fixed cameras, on a CPU, without a neural network."""
    context.default_map = load_settings(Path(SETTINGS_FILE), command_line)


@command_line.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="File for the counts, - for the standard output; by default STEM.counts.csv in the working folder.",
)
@click.option(
    "--format",
    type=click.Choice(["csv", "jsonl", "parquet"]),
    help="Format of the counts; by default the output's suffix, else csv.",
)
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="Count every Nth frame.")
@click.option("--start", type=_POSITION, help="Where to begin: a frame (120), 2.5s or HH:MM:SS.")
@click.option("--end", type=_POSITION, help="Where to stop, itself not counted: a frame, 2.5s or HH:MM:SS.")
@_model_option("Model file, made by `crowdcount train`; by default the bundled one.")
@_scene_option
@click.option("--save-scene", metavar="FILE", help="Save the scene that was used, .json or .npz.")
@click.option("--start-time", type=_IsoTime(), help="Wall-clock time of frame 0, as 2024-05-01T08:00:00.")
@click.option("--fps", type=_POSITIVE, help="Frames per second of images, or in place of what a file says.")
@_timeout_option
@click.option("--plot", metavar="FILE", help="Picture to draw of the counts over time, .png, .svg or .pdf.")
@click.option("--overlay", metavar="FILE", help="Video to write with the counts drawn in, .mp4 or .avi.")
@_quiet_option
def count(
    sources: tuple[str, ...],
    output: str | None,
    format: str | None,
    model: str | None,
    scene: str | None,
    save_scene: str | None,
    plot: str | None,
    overlay: str | None,
    timeout: float,
    quiet: bool,
    **options,
) -> None:
    """Count the people in each SOURCE, the default command.

    A SOURCE is a video file, a folder or a pattern ('shots/*.jpg') of images, the number of a camera or the
    URL of a stream. A file named like a command is given as ./train.

    Exit codes: 0 all counted, 1 failed, 2 wrong usage, 3 some sources failed, 130 interrupted (what was
    counted is kept).
    """
    from .jobs import count_sources, plan_counting
    from .terminal import Terminal

    read = [path for path in (model, scene) if path is not None]
    try:
        jobs = plan_counting(
            sources, output=output, format=format, plot=plot, overlay=overlay, scene=save_scene, keep=read
        )
    except OutputError as error:
        raise click.UsageError(str(error)) from error
    watcher = Terminal(quiet, bar=not (output == "-" and sys.stdout.isatty()))
    failed = count_sources(jobs, model=model, scene=scene, watcher=watcher, timeout_s=timeout, **options)
    if len(jobs) == 1 and failed:
        raise failed[0][1]
    for job, error in failed:
        _complain(error if job.label in str(error) else CrowdCountError(f"{job.label}: {error}"))
    if failed:
        watcher.say(f"{len(jobs) - len(failed)} of {len(jobs)} sources counted")
        sys.exit(SOME_FAILED if len(failed) < len(jobs) else FAILED)


@command_line.command()
@click.argument("source")
@click.option("--output", "-o", metavar="FILE", help="Scene file to write: .json (can be edited) or .npz.")
@click.option(
    "--roi",
    type=_POLYGON,
    multiple=True,
    metavar="'X,Y X,Y ...'",
    help="Polygon in which people are counted, in pixels; may be repeated.",
)
@click.option(
    "--person",
    type=_PERSON,
    multiple=True,
    metavar="X,FOOT_Y,HEIGHT",
    help="A standing person, in pixels; twice or more, one far away and one near.",
)
@click.option(
    "--import",
    metavar="FILE",
    multiple=True,
    help="File of a data set: Mall's perspective_roi.mat, UCSD's dmap and roi .mat; may be repeated.",
)
@click.option("--scene", metavar="FILE", help="Scene file to start from.")
@click.option("--preview", metavar="FILE", help="Picture to draw of the scene on a frame, .png or .jpg.")
@_timeout_option
@_quiet_option
def scene(
    source: str,
    output: str | None,
    roi: tuple,
    person: tuple,
    scene: str | None,
    preview: str | None,
    timeout: float,
    quiet: bool,
    **options,
) -> None:
    """Describe the region and the perspective of SOURCE.

    The region is where people are counted, the perspective how tall a person is where. Unless they are given,
    the region is the whole frame, and the perspective is estimated from the people who move in the footage.
    """
    from .jobs import make_scene
    from .results import print_result
    from .terminal import Terminal

    imported = options["import"]
    if imported and scene is not None:
        raise click.UsageError("--import and --scene both give a scene; drop one of them")
    made = make_scene(
        source,
        polygons=roi,
        persons=person,
        imported=imported,
        scene=scene,
        output=output,
        preview=preview,
        timeout_s=timeout,
        watcher=Terminal(quiet),
    )
    lines = made.describe()
    lines += [f"written: {path}" for path in (output, preview) if path is not None]
    if output is None:
        lines.append("not saved; give -o FILE.json to keep and correct it")
    print_result("\n".join(lines))


@command_line.command()
@_dataset_options
@_model_option("Model file to write (.npz).", required=True)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="Share of frames whose true count the intervals shall hold.",
)
def train(dataset: str, model: str, json: bool, quiet: bool, **options) -> None:
    """Train a model on DATASET.

    DATASET is a Mall folder, a UCSD-style folder, a video or images with --counts or --mot, or a table of
    ready-made features. Frames without a label take part as unlabelled ones.
    """
    from .jobs import train_model
    from .results import print_result
    from .terminal import Terminal, training_report

    training = train_model(dataset, model, watcher=Terminal(quiet), **options)
    if json:
        names = ("n_unlabelled", "block_biases", "coef0", "lam", "n_refinements", "gamma", "seconds")
        facts = {name: getattr(training, name) for name in names}
        removed = [asdict(label) for label in training.removed]
        print_result(_json_line({**asdict(training.metrics), **facts, "removed": removed, "model": model}))
    else:
        print_result("\n".join(training_report(training, model)))


@command_line.command()
@_dataset_options
@_model_option("Model file to judge; by default the bundled one.")
def evaluate(dataset: str, model: str | None, json: bool, quiet: bool, **options) -> None:
    """Measure a model's error on DATASET.

    DATASET and its labels are given as to `crowdcount train`.
    """
    from .jobs import evaluate_model
    from .results import print_result
    from .terminal import Terminal, evaluation_report

    evaluation = evaluate_model(dataset, model, watcher=Terminal(quiet), **options)
    if json:
        print_result(_json_line({**asdict(evaluation.metrics), "seconds": evaluation.seconds}))
    else:
        print_result("\n".join(evaluation_report(evaluation)))


def _json_line(content: dict) -> str:
    """The content as JSON, with null for numbers that are unknown (NaN)."""
    known = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in content.items()
    }
    return json.dumps(known, allow_nan=False)
