"""Whether the packages beside this one are its own."""

import importlib.util
from functools import cache
from pathlib import Path

from .errors import CrowdCountError

_FOLDER = Path(__file__).resolve().parents[1]


@cache
def check_packages(folder: Path = _FOLDER) -> None:
    """Raise CrowdCountError unless `features` and `models` would be imported from this folder.

    The names are common: a folder that Python looks into earlier may hold a models.py. Nothing is imported.
    Once is enough: each use of a public name asks.
    """
    for name in ("features", "models"):
        found = importlib.util.find_spec(name)
        place = Path(found.origin) if found and found.origin else None
        ours = f"crowdcount's own package {name!r}"
        if place is None:
            raise CrowdCountError(f"{ours} is missing from {folder}; install crowdcount again")
        if place.resolve().parent != folder / name:
            raise CrowdCountError(
                f"Python finds {place} in the place of {ours}; rename that file, or take its folder off "
                "PYTHONPATH, or start `crowdcount` instead of `python -m crowdcount`"
            )
