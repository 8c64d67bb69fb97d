"""What tests of several modules say in the same words."""

import math
from pathlib import Path

from click.testing import CliRunner, Result

from crowdcount.cli import command_line
from crowdcount.model import CounterModel
from crowdcount.results import FrameCount
from models import later_quantile


def run(*arguments) -> Result:
    """The command line in this process; a bug raises."""
    return CliRunner().invoke(command_line, list(map(str, arguments)), catch_exceptions=False)


def ran(*arguments) -> str:
    """What the command line, which has to succeed, prints on the standard output."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def only(folder: Path) -> list[str]:
    """The names of all that is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def unknown(row: FrameCount) -> FrameCount:
    """A row as of a frame that could not be decoded."""
    return FrameCount(row.frame, row.time_s, math.nan, math.nan, math.nan, ("undecodable",))


def quantile_of_blocks(model: CounterModel) -> float:
    """What the blocks of a table of ready-made features taught, without what is allowed for later footage."""
    return math.sqrt(model.quantile**2 - later_quantile(0.0, model.level, 0.0) ** 2)
