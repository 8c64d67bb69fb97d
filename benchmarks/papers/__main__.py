"""python -m benchmarks.papers METHOD [--quick] [--only EXPERIMENT]"""

import ast
from importlib import import_module
from pathlib import Path

import click

from benchmarks.data import DataError

#: Modules in this folder, listed as soon as they exist.
METHODS = ("hlr", "r3", "functional", "prototypes", "beta_svm")


class _Methods(click.Group):
    """A command per method, whose module is imported when the command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in METHODS if _file(name).exists()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return _command(name) if name in self.list_commands(ctx) else None


def _file(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.py")


def _command(name: str) -> click.Command:
    """The command that runs a method's experiments; its help is the module's docstring."""
    options = [
        click.Option(["--quick"], is_flag=True, help="A tiny size, to see that it runs."),
        click.Option(["--only"], multiple=True, metavar="EXPERIMENT", help="Only this one; may be repeated."),
    ]
    text = ast.get_docstring(ast.parse(_file(name).read_text(encoding="utf-8")))

    def run(quick: bool, only: tuple[str, ...]) -> None:
        experiments = import_module(f"benchmarks.papers.{name}").EXPERIMENTS
        unknown = sorted(set(only) - set(experiments))
        if unknown:
            raise click.UsageError(f"no experiment {unknown[0]!r}; expected some of {', '.join(experiments)}")
        for title in only or experiments:
            try:
                for table in experiments[title](quick):
                    click.echo(table.markdown())
            except DataError as error:
                raise click.ClickException(f"{title}: {error}") from error
            except ModuleNotFoundError as error:
                needs = f"{title} needs {error.name}, which the tests' packages hold"
                raise click.ClickException(f"{needs}: pip install -e '.[test]'") from error

    return click.Command(name, params=options, help=text, callback=run)


@click.command(cls=_Methods)
def main() -> None:
    """Repeat the published experiments of METHOD; prints a Markdown table for each."""


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.papers")
