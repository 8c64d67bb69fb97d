"""The command line: the group of the commands, and how errors and signals end it."""

import difflib
import errno
import os
import re
import sys
import threading
from contextlib import suppress
from pathlib import Path

import click

from . import __version__
from .commands import COMMANDS
from .commands.common import FAILED, complain
from .errors import CrowdCountError, lacks_memory
from .interruption import INTERRUPTED, INTERRUPTS
from .packages import check_packages
from .settings import SETTINGS_FILE, load_settings, name_variables, unknown_variables


def run() -> None:
    """Run the command line, of which `__main__` catches the signals, and end the process."""
    try:
        check_packages()
    except CrowdCountError as error:
        complain(error)
        sys.exit(FAILED)
    try:
        command_line(prog_name="crowdcount")
    except SystemExit as ended:
        if ended.code == INTERRUPTED or any(one.name == "read-ahead" for one in threading.enumerate()):
            _end_at_once(ended.code or 0)
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        from .output import lost_output

        complain(lost_output(error))  # of --help or --version: what we write ourselves is guarded
        sys.exit(FAILED)
    finally:
        INTERRUPTS.ignore()


def _end_at_once(code: int) -> None:
    """End the process without Python's shutting down. That aborts it when a thread comes back from OpenCV
    meanwhile, as one that was left waiting for a silent stream; and it dies of SIGINT where an interrupt went
    through code that Python ran from a text."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # it is closed, or full
            stream.flush()
    os._exit(code)


class _CommandLine(click.Group):
    """Commands, `count` when none is named; errors of the user's making become one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any(re.fullmatch("(--[a-z-]+=)?", arg) for arg in args):
            raise click.UsageError("an argument is empty: a shell variable without a value? fill it in", ctx)
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if args and args[0] not in {*self.commands, *own}:
            self._check_first(ctx, args[0], own)
            args = ["count", *args]
        return super().parse_args(ctx, args)

    def _check_first(self, ctx: click.Context, word: str, own: set[str]) -> None:
        """click.UsageError for a word that is no source: it was meant as a command, or an own option."""
        options = own.union(*(option.opts for option in self.commands["count"].params))
        if word.startswith("-") and word not in options and os.path.exists(word):
            raise click.UsageError(f"{word} is taken for options: give the file as ./{word}", ctx)
        near = difflib.get_close_matches(word, options, 1)
        if near and near[0] in own and word.startswith("--"):
            raise click.NoSuchOption(word, possibilities=near, ctx=ctx)
        if re.fullmatch("[a-zA-Z][a-zA-Z-]*", word) and not os.path.exists(word):
            near = difflib.get_close_matches(word, self.commands, 1)
            advice = f"did you mean {near[0]!r}?" if near else "crowdcount --help lists the commands"
            raise click.UsageError(f"there is neither a file nor a command {word!r}; {advice}", ctx)

    def _tell_whose(self, error: click.NoSuchOption) -> None:
        """Say which commands take the option that one does not, and how a scene gets to this one."""
        name = error.option_name
        takers = [one for one, command in self.commands.items() if _takes(command, name)]
        if not takers:
            return
        error.possibilities = None
        error.message = f"No such option {name!r}, which is for crowdcount {', '.join(takers)}"
        if takers == ["scene"] and error.ctx is not None and _takes(error.ctx.command, "--scene"):
            error.message += ": that writes a file for --scene"

    def invoke(self, ctx: click.Context) -> object:
        try:
            with INTERRUPTS:
                return self._invoke(ctx)
        except KeyboardInterrupt as error:
            complain(error)
            ctx.exit(INTERRUPTED)

    def _invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.BadParameter as error:
            if error.ctx and error.param and _is_of_environment(error.ctx, error.param):
                error.message += f" (in the environment variable {error.param.envvar})"
            raise
        except click.NoSuchOption as error:
            self._tell_whose(error)
            raise
        except CrowdCountError as error:
            complain(error)
            ctx.exit(FAILED)
        except PermissionError as error:  # already where a file in a locked folder is asked for
            complain(f"{error.filename} cannot be read: no permission; change its permissions")
            ctx.exit(FAILED)
        except OSError as error:
            if error.errno == errno.ENOENT and not _is_working_folder_there():  # nor is any name in it
                complain("the working folder was removed meanwhile; go to another one (cd)")
                ctx.exit(FAILED)
            if error.errno != errno.ENAMETOOLONG:  # the same of an endless name
                raise
            complain(f"{error.filename} cannot be read or written: its name is too long; choose a shorter")
            ctx.exit(FAILED)
        except Exception as error:
            if not lacks_memory(error):
                raise
            complain("the memory is not enough; free some, or work on fewer frames or smaller pictures")
            ctx.exit(FAILED)


def _is_working_folder_there() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _takes(command: click.Command, option: str) -> bool:
    return any(option in one.opts for one in command.params)


def _is_of_environment(ctx: click.Context, option: click.Parameter) -> bool:
    return ctx.get_parameter_source(option.name) is click.core.ParameterSource.ENVIRONMENT


@click.group(
    cls=_CommandLine,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`crowdcount VIDEO` is `crowdcount count VIDEO`. An option that is not given is taken from the "
    "environment (CROWDCOUNT_COUNT_EVERY=2), then from ./crowdcount.toml ([count] every = 2).",
)
@click.version_option(__version__, prog_name="crowdcount")
@click.pass_context
def command_line(context: click.Context) -> None:
    """Count people in footage of fixed cameras, on a CPU, without a neural network."""
    for line in unknown_variables(_variables):
        complain(line)
    context.default_map = load_settings(Path(SETTINGS_FILE), command_line)


for _command in COMMANDS:
    command_line.add_command(_command)
_variables = name_variables(command_line)
