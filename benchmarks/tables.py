"""Tables of figures, printed as Markdown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Table:
    """A titled table; cells are texts or numbers, numbers in `digits` significant digits.

    `notes` say how it was measured: data, splits, seeds, runs, what a column means.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()
    digits: int = 3

    def __post_init__(self):
        """ValueError when a row does not fit the header."""
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"expected {len(self.header)} cells in each row, got {len(row)}: {row}")

    def markdown(self) -> str:
        """The table with its title and notes."""
        rows = [[self._text(cell) for cell in row] for row in self.rows]
        header = [self._text(name) for name in self.header]
        widths = [max(3, *(len(row[i]) for row in [header, *rows])) for i in range(len(header))]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
            for row in [header, ["-" * width for width in widths], *rows]
        ]
        return "\n".join([f"### {self.title}", "", *lines, *(f"\n{note}" for note in self.notes), ""])

    def _text(self, cell: object) -> str:
        """A cell's text: integers whole, other numbers without superfluous digits, None as nothing."""
        if cell is None:
            return ""
        if isinstance(cell, float):
            return number(cell, self.digits)
        return str(cell).replace("|", "\\|")


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` digits, of its whole part too but never fewer than that: 1234, 12.3, 0.123.

    Where that leaves nothing, in significant digits: 1e-05.
    """
    if 0 < abs(value) < 1e-3 or not math.isfinite(value):
        return f"{value:.{digits - 1}g}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:.{max(digits - whole, 0)}f}"
