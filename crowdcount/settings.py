"""What the command line is told besides its options: environment variables, and crowdcount.toml."""

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

SETTINGS_FILE = "crowdcount.toml"
PREFIX = "CROWDCOUNT"
#: Variables that are no option's: where tests and benchmarks find the data sets.
_OF_OTHERS = {"CROWDCOUNT_DATA"}


def name_variables(group: click.Group, prefix: str = PREFIX) -> list[str]:
    """Let a group's commands read their options from the environment; returns the names of the variables.

    They have the command and the option's long name: CROWDCOUNT_COUNT_EVERY.
    """
    names = []
    for name, command in group.commands.items():
        own = f"{prefix}_{name.upper()}"
        if isinstance(command, click.Group):
            names += name_variables(command, own)
            continue
        for key, option in _options_of(command).items():
            option.envvar = f"{own}_{key.upper().replace('-', '_')}"
            names.append(option.envvar)
    return names


def unknown_variables(known: Iterable[str]) -> Iterator[str]:
    """A line for each variable of the environment that is named as ours are, but misspelt."""
    for name in sorted({*os.environ} - {*known} - _OF_OTHERS):
        if name.startswith(f"{PREFIX}_"):
            near = difflib.get_close_matches(name, known, 1, cutoff=0.9)
            advice = f"did you mean {near[0]}?" if near else f"expected {PREFIX}_COMMAND_OPTION"
            yield f"the environment variable {name} is no option's and has no effect; {advice}"


def load_settings(path: Path, group: click.Group) -> dict[str, dict[str, object]]:
    """Read a settings file: a table for each command, in it its options by their long names.

    ::

        [count]
        every = 2
        start-time = 2024-05-01T08:00:00

        [scene]
        roi = ["0,100 639,100 639,479 0,479"]

        [[batch.camera]]
        name = "entrance"

    Returns
    -------
    dict
        What click takes as `default_map`; empty without a file.

    Raises
    ------
    click.UsageError
        One line naming the key: the file is no TOML, or a key or a value is none that the command knows.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path} is no UTF-8 text, as TOML is; save it as UTF-8") from error
    except (OSError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}; correct it") from error
    return _tables(content, group, str(path))


def _tables(content: dict, group: click.Group, where: str) -> dict[str, dict[str, object]]:
    """The settings of a group's commands; the table of a command that is a group holds tables again."""
    settings = {}
    for name, table in content.items():
        if name not in group.commands or not isinstance(table, dict):
            tables = ", ".join(f"[{command}]" for command in group.commands)
            raise click.UsageError(f"{where}: expected the tables {tables}, found {name!r}; correct it")
        command = group.commands[name]
        if isinstance(command, click.Group):
            settings[name] = _tables(table, command, f"{where}, [{name}]")
        else:
            settings[name] = _options(table, command, f"{where}, [{name}]")
    return settings


def _options_of(command: click.Command) -> dict[str, click.Option]:
    return {option_key(option): option for option in command.params if isinstance(option, click.Option)}


def _options(table: dict, command: click.Command, where: str) -> dict[str, object]:
    options = _options_of(command)
    settings = {}
    for key, value in table.items():
        if key not in options:
            raise click.UsageError(
                f"{where}: there is no option {key!r}; correct it (known: {', '.join(options)})"
            )
        try:
            settings[options[key].name] = _checked(options[key], value)
        except click.BadParameter as error:
            raise click.UsageError(f"{where} {key}: {error.message}") from error
        except ValueError as error:  # of a hexadecimal number that is too long to be written
            raise click.UsageError(f"{where} {key}: {error}; correct it") from error
    return settings


def option_key(option: click.Option) -> str:
    """Name of an option in a settings file: its long one."""
    return max(option.opts, key=len).lstrip("-")


def _checked(option: click.Option, value: object) -> bool | str | list[str]:
    """The value as it would stand on the command line; click.BadParameter when the option refuses it."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise click.BadParameter(f"expected true or false, found {value!r}")
        return value
    texts = []
    for single in value if option.multiple and isinstance(value, list) else [value]:
        if isinstance(single, dict) and hasattr(option.type, "text_of"):
            single = option.type.text_of(single)
        if isinstance(single, (bool, dict, list)):
            raise click.BadParameter(f"expected a text or a number, found {single!r}")
        texts.append(str(single))
        if not texts[-1]:
            raise click.BadParameter("it is empty; fill it in, or leave it out")
        if "\0" in texts[-1]:  # which no argument and no environment variable can hold
            raise click.BadParameter(f"expected no zero byte, found {single!r}")
        option.type.convert(texts[-1], option, None)
    return texts if option.multiple else texts[0]
