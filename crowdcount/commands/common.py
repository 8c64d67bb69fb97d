"""What the commands share: exit codes, kinds of values, and options that mean the same everywhere."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from importlib import import_module

import click

from ..errors import CrowdCountError

#: Exit codes besides 0, click's own 2 for wrong usage, and `interruption.INTERRUPTED`.
FAILED, SOME_FAILED = 1, 3
#: No time in seconds and no number of frames is larger.
_LARGEST = 1e9


def complain(error: BaseException | str, label: str = "") -> None:
    """Print an error as one line on the standard error, with what it is about unless it says so."""
    from ..output import print_note

    notes = getattr(error, "__notes__", [])
    about = "" if label in str(error) else f"{label}: "
    print_note("; ".join([f"crowdcount: {about}{error}", *notes]))


class ParsedText(click.ParamType):
    """A text that a function of this package parses, imported when it is needed."""

    def __init__(self, name: str, module: str, function: str, splitter: str | None = None):
        self.name = name
        self._module = module
        self._function = function
        self.envvar_list_splitter = splitter

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if not isinstance(value, str):
            return value
        parse: Callable = getattr(import_module(self._module), self._function)
        try:
            return parse(value)
        except CrowdCountError as error:
            return self.fail(str(error), param, ctx)


class Files(click.types.StringParamType):
    """A file's name, of which an environment variable may hold several: times in them have colons."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return [name.strip() for name in rv.split(";") if name.strip()]


class TableText(ParsedText):
    """A `ParsedText` that may be a table in the settings file: its function reads JSON too."""

    @staticmethod
    def text_of(table: dict) -> str:
        """The table as a text."""
        return json.dumps(table, default=str)


class IsoTime(click.ParamType):
    """A date and time as ISO 8601 writes them."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            time = datetime.fromisoformat(value)
            time + timedelta(days=366)  # frames that come later have a time too
            offset = time.utcoffset() or timedelta()
            time - offset  # which must be no earlier than the year 1 either
            if offset % timedelta(minutes=1):
                raise ValueError
        except (ValueError, OverflowError):
            expected = "expected an ISO 8601 time such as 2024-05-01T08:00:00"
            return self.fail(f"{expected}, found {value!r}", param, ctx)
        return time


class Place(ParsedText):
    """Where in footage to begin or stop: as `parse_position` reads it, or a time of day, see `by_footage`."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if isinstance(value, str) and re.match(r"[0-9]{4}-|[0-9]{8}T", value):
            return IsoTime().convert(value, param, ctx)
        return super().convert(value, param, ctx)


def by_footage(options: dict) -> dict:
    """The options of a command, `start` and `end` of which are no longer times of day, but since frame 0."""
    from ..video import Position

    begun = options["start_time"]
    places = {}
    for name in ("start", "end"):
        place = options[name]
        if isinstance(place, datetime):
            if begun is None:
                raise click.UsageError(f"--{name} is a time of day: add --start-time, when frame 0 was")
            if (place.tzinfo is None) != (begun.tzinfo is None):
                raise click.UsageError(f"one of --{name} and --start-time has a time zone: give both one")
            if place < begun:
                raise click.UsageError(f"--{name} {place} lies before --start-time {begun}: correct one")
            place = Position(time_s=(place - begun).total_seconds())
        places[name] = place
    return options | places


class _Finite:
    """A type of numbers that refuses what cannot be computed with: infinity, nan, hundreds of digits."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if not abs(number) <= _LARGEST:
            self.fail(f"expected a number up to {_LARGEST:g}, found {str(value)[:40]}", param, ctx)
        return number


class Number(_Finite, click.FloatRange):
    """A finite number of a range."""


class WholeNumber(_Finite, click.IntRange):
    """A whole number of a range."""


POSITION = Place("position", "crowdcount.video", "parse_position")
FILES = Files()
POLYGON = ParsedText("polygon", "crowdcount.scene", "parse_polygon", splitter=";")
AXIS = ParsedText("axis", "crowdcount.scene", "parse_axis")
PERSON = ParsedText("person", "crowdcount.scene", "parse_person", splitter=";")
POSITIVE = Number(0, min_open=True)
NOT_NEGATIVE = Number(0)
LEVEL = Number(0, 1, min_open=True, max_open=True)
FROM_ONE = WholeNumber(1)


def start_time_option(otherwise: str = "") -> Callable:
    """The option for when footage begins; `otherwise` continues what it is by default."""
    text = "Wall-clock time of frame 0, as 2024-05-01T08:00:00; by default when a camera or stream was opened"
    return click.option("--start-time", type=IsoTime(), help=f"{text}{otherwise}.")


def model_option(text: str, required: bool = False) -> Callable:
    """The option that names a model file."""
    return click.option("--model", "-m", metavar="FILE", required=required, help=text)


def output_option(text: str) -> Callable:
    """The option that names the file of the result."""
    return click.option("--output", "-o", metavar="FILE", help=text)


def plot_option(what: str) -> Callable:
    """The option that names a picture to draw of something."""
    return click.option("--plot", metavar="FILE", help=f"Picture to draw of {what}, .png, .svg or .pdf.")


def level_option(text: str) -> Callable:
    """The option for what intervals shall hold."""
    return click.option("--level", type=LEVEL, metavar="SHARE", default=0.9, show_default=True, help=text)


def every_option(verb: str) -> Callable:
    """The option to pass over frames."""
    return click.option(
        "--every", type=FROM_ONE, metavar="N", default=1, show_default=True, help=f"{verb} every Nth frame."
    )


def end_option(done: str) -> Callable:
    """The option for where to stop; what is not `done` with the frame there."""
    text = f"Where to stop, itself not {done}: as --start."
    return click.option("--end", type=POSITION, help=text)


def seconds_option(
    *names: str, help: str, default: float | None = None, type: click.ParamType = NOT_NEGATIVE
) -> Callable:
    """An option for a length of time."""
    usual = {} if default is None else {"default": default, "show_default": True}
    return click.option(*names, type=type, metavar="SECONDS", help=help, **usual)


start_option = click.option(
    "--start",
    type=POSITION,
    help="Where to begin: a frame (120), 2.5s or HH:MM:SS after frame 0, or a time as --start-time takes it.",
)
fps_option = click.option(
    "--fps",
    type=POSITIVE,
    metavar="RATE",
    help="Frames per second of images, or in place of what a file says.",
)
scene_option = click.option("--scene", metavar="FILE", help="Scene file, made by `crowdcount scene`.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Show errors and results only.")
timeout_option = seconds_option(
    "--timeout", type=POSITIVE, default=10.0, help="How long a stream may be silent."
)
reconnect_option = seconds_option(
    "--reconnect",
    "reconnect_s",
    default=0.0,
    help="For how long a camera or stream that broke off is tried again before it is given up.",
)

json_option = click.option("--json", is_flag=True, help="Print the result as one line of JSON.")
cache_option = click.option(
    "--cache", metavar="FOLDER", help="Folder in which the measured features are kept for the next run."
)


def dataset_options(several: bool = False) -> Callable[[Callable], Callable]:
    """What the commands that read a labelled data set have in common; or `several`, each with its counts."""

    def add(command: Callable) -> Callable:
        for option in reversed(_dataset_options(several)):
            command = option(command)
        return command

    return add


def _only(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> str | None:
    if len(values) > 1:
        raise click.BadParameter(f"expected one file for one DATASET, found {len(values)}; drop the others")
    return values[0] if values else None


def _dataset_options(several: bool) -> list[Callable]:
    return [
        click.argument("datasets", metavar="DATASET...", nargs=-1, required=True)
        if several
        else click.argument("dataset"),
        click.option(
            "--frames",
            metavar="A-B",
            help="Only these frames, in the data set's own numbering: 1-400,601-800.",
        ),
        click.option(
            "--counts",
            metavar="FILE",
            multiple=True,
            callback=None if several else _only,
            type=FILES,
            help="Counts of a video: CSV of frame (from 0) or time_s (also HH:MM:SS), and count; or dots, "
            "one head a line: frame or time_s, x, y." + (" One for each of several." if several else ""),
        ),
        click.option("--mot", metavar="FILE", help="People of a video: MOT Challenge ground truth."),
        click.option(
            "--annotated",
            metavar="A-B",
            help="Frames that the MOT file covers, as it numbers them; by default first to last row.",
        ),
        fps_option,
        scene_option,
        cache_option,
        json_option,
        quiet_option,
    ]


def json_line(content: dict) -> str:
    """The content as JSON, with null for numbers that are unknown (NaN, infinity)."""
    from ..arrays import jsonable  # loads NumPy, which --help does without

    return json.dumps(jsonable(content), allow_nan=False)
