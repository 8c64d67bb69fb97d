"""Names, units and views of all feature columns, in the order in which they are computed."""

from dataclasses import dataclass

VIEWS = ("size", "edges", "texture")


@dataclass(frozen=True)
class Quantity:
    """One value that is measured in every region of the scene.

    Parameters
    ----------
    name : str
        Short name, unique among all quantities.
    view : str
        One of `VIEWS`.
    unit : str
        Unit in which it is given; "h" is the height of a standing person at that place.
    additive : bool
        True when a region's value is the sum of the values of its parts.
    """

    name: str
    view: str
    unit: str
    additive: bool


@dataclass(frozen=True)
class Schema:
    """The columns of a feature vector: every quantity for the first region, then for the next, ….

    Parameters
    ----------
    quantities : tuple of Quantity
    regions : tuple of str
        Names of the regions.
    """

    quantities: tuple[Quantity, ...]
    regions: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Column names.

        >>> Schema((Quantity("area", "size", "h²", True),), ("whole", "cell0")).names
        ['whole.area', 'cell0.area']
        """
        return [f"{region}.{quantity.name}" for region in self.regions for quantity in self.quantities]

    def views(self) -> list[list[int]]:
        """Column indices of each view, in the order of `VIEWS`."""
        views = [quantity.view for quantity in self.quantities] * len(self.regions)
        return [[i for i, view in enumerate(views) if view == wanted] for wanted in VIEWS]
