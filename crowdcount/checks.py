"""Checks of JSON from files, which anybody may have written or edited.

A check takes a value and the name of its place, and returns the value; ValueError, one line with the place,
when it is not what is expected there.
"""

import math
import reprlib
from collections.abc import Callable, Mapping

Check = Callable[[object, str], object]


def one(what: str, kind: type, fits: Callable[[object], bool] = lambda value: True) -> Check:
    """A value of a type for which `fits` holds; a float is finite, and may be written as a whole number."""

    def check(value, place):
        if kind is float and _is(value, int) and abs(value) < 1e300:
            value = float(value)
        if not _is(value, kind) or (kind is float and not math.isfinite(value)) or not fits(value):
            raise _misfit(place, what, value)
        return value

    return check


def optional(check: Check) -> Check:
    """What another check takes, or null."""
    return lambda value, place: None if value is None else check(value, place)


def several(check: Check, fewest: int, most: int) -> Check:
    """A list of so many values that another check takes, as a tuple."""

    def check_each(values, place):
        if not isinstance(values, (list, tuple)) or not fewest <= len(values) <= most:
            number = fewest if fewest == most else f"{fewest} to {most}"
            raise _misfit(place, f"a list of {number} values", values)
        return tuple(check(value, f"{place}.{k}") for k, value in enumerate(values))

    return check_each


def record(checks: Mapping[str, Check], defaults: Mapping[str, object] | None = None) -> Check:
    """An object of named values, and of no others, as a dict; those with a default may be missing."""

    def check_each(content, place):
        if not isinstance(content, dict):
            raise _misfit(place or "content", "an object", content)
        content = {**(defaults or {}), **content}
        inside = f"{place}." if place else ""
        for name in checks:
            if name not in content:
                raise ValueError(f"{inside}{name} is missing")
        for name in content:
            if name not in checks:
                raise ValueError(f"{inside}{reprlib.repr(name)} is unknown")
        return {name: check(content[name], inside + name) for name, check in checks.items()}

    return check_each


def _is(value, kind) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _misfit(place, what, value) -> ValueError:
    return ValueError(f"{place}: expected {what}, found {reprlib.repr(value)}")
