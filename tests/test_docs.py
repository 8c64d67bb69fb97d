"""Every command and option explains itself and stands in the documents; their names and examples hold."""

import doctest
import importlib
import re
from pathlib import Path

import click
import pytest

from crowdcount.cli import command_line

PROJECT = Path(__file__).resolve().parent.parent


def modules_with_examples():
    """Names of the modules that show what something gives."""
    for package in ("crowdcount", "features", "models", "samples"):
        for path in sorted((PROJECT / package).rglob("*.py")):
            if ">>> " in path.read_text(encoding="utf-8"):
                parts = path.relative_to(PROJECT).with_suffix("").parts
                yield ".".join(parts).removesuffix(".__init__")


def commands_of(group, prefix=""):
    """The commands of a group by name, those of groups in it as "alarm train"."""
    commands = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            assert command.help
            commands |= commands_of(command, f"{prefix}{name} ")
        else:
            commands[f"{prefix}{name}"] = command
    return commands


COMMANDS = commands_of(command_line)


@pytest.mark.parametrize("group", [command_line, command_line.commands["alarm"]], ids=["crowdcount", "alarm"])
def test_the_list_of_commands_tells_each_in_whole_words(group):
    listed = group.get_help(click.Context(group, terminal_width=80)).partition("Commands:")[2]
    assert all(name in listed for name in group.commands)
    assert "..." not in listed


@pytest.mark.parametrize("module", list(modules_with_examples()))
def test_examples_are_true(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def documents():
    readmes = PROJECT / "README.md", PROJECT / "samples" / "README.md"
    return [*readmes, *sorted((PROJECT / "docs").rglob("*.md"))]


def section(command):
    """What docs/commands.md says of one command."""
    text = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8")
    found = re.search(rf"^### crowdcount {command}\n(.*?)(?=^##)", text, re.DOTALL | re.MULTILINE)
    assert found, f"docs/commands.md has no section on crowdcount {command}"
    return found[1]


def options(command):
    return [option for option in COMMANDS[command].params if isinstance(option, click.Option)]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_has_help(command):
    assert COMMANDS[command].help
    for option in options(command):
        assert option.help, f"crowdcount {command} {option.opts[0]} has no help"
        value = option.make_metavar(click.Context(COMMANDS[command]))
        assert not value.endswith("RANGE"), f"crowdcount {command} {option.opts[0]} names a type, no value"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_stands_in_the_section_of_its_command_and_no_other_does(command):
    named = set(re.findall(r"^\| (.*?) \|", section(command), re.MULTILINE))
    rows = {name for row in named for name in re.findall(r"`(-[\w-]+)", row)}
    assert rows == {name for option in options(command) for name in option.opts}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_stands_in_the_overview(command):
    overview = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert f"`crowdcount {command} " in overview.partition("### ")[0]


def test_documents_name_no_option_that_does_not_exist():
    known = {name for command in COMMANDS for option in options(command) for name in option.opts}
    known |= {"--help", "--version"}
    for document in documents():
        text = document.read_text(encoding="utf-8")
        for line in re.findall(r"^ *\$? *crowdcount .*$", text, re.MULTILINE):
            unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)) - known
            assert not unknown, f"{document.name}: {line.strip()}: no such option {unknown}"


def anchors_of(document):
    """What links to a document's headings end with, as GitHub makes it of their words."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(PROJECT)))
def test_links_lead_to_files_and_headings(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            assert target.exists(), f"{document.name}: {link}"
            assert not anchor or anchor in anchors_of(target), f"{document.name}: {link}"


def test_every_decision_stands_in_their_index():
    decisions = PROJECT / "docs" / "decisions"
    index = (decisions / "README.md").read_text(encoding="utf-8")
    for note in decisions.glob("2*.md"):
        assert f"({note.name})" in index, note.name
