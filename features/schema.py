"""Names, units and views of all feature columns, in the order in which they are computed."""

from collections.abc import Sequence
from dataclasses import dataclass

VIEWS = ("size", "edges", "texture")


@dataclass(frozen=True)
class Quantity:
    """One value that is measured in every region (the whole region of interest, then each cell).

    Parameters
    ----------
    name : str
        Short name, unique among all quantities.
    view : str
        One of `VIEWS`.
    unit : str
        Unit in which it is given; "h" is the height of a standing person at that place.
    additive : bool
        True when the value of the whole region is the sum of the cells' values.
    """

    name: str
    view: str
    unit: str
    additive: bool


@dataclass(frozen=True)
class Schema:
    """The columns of a feature vector: every quantity for the whole region, then for each cell.

    Parameters
    ----------
    quantities : sequence of Quantity
    n_cells : int
        Number of cells along the scene's depth; the whole region comes before them.
    """

    quantities: tuple[Quantity, ...]
    n_cells: int

    @property
    def names(self) -> list[str]:
        """Column names, `whole.area`, …, `cell0.area`, ….

        >>> Schema((Quantity("area", "size", "h²", True),), 1).names
        ['whole.area', 'cell0.area']
        """
        regions = ["whole", *(f"cell{k}" for k in range(self.n_cells))]
        return [f"{region}.{quantity.name}" for region in regions for quantity in self.quantities]

    @property
    def units(self) -> list[str]:
        """Unit of each column."""
        return [quantity.unit for quantity in self.quantities] * (self.n_cells + 1)

    def views(self) -> list[list[int]]:
        """Column indices of each view, in the order of `VIEWS`."""
        views = [quantity.view for quantity in self.quantities] * (self.n_cells + 1)
        return [[i for i, view in enumerate(views) if view == wanted] for wanted in VIEWS]

    def __len__(self) -> int:
        return len(self.quantities) * (self.n_cells + 1)


def check_quantities(quantities: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """Return `quantities` as a tuple, or raise ValueError when a name repeats or a view is unknown."""
    names = [quantity.name for quantity in quantities]
    if len(set(names)) != len(names):
        raise ValueError(f"quantities must have distinct names, got {sorted(names)}")
    unknown = {quantity.view for quantity in quantities} - set(VIEWS)
    if unknown:
        raise ValueError(f"views must be among {VIEWS}, got {sorted(unknown)}")
    return tuple(quantities)
