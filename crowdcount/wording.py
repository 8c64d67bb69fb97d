"""How times, numbers and flags are put into words."""

from collections.abc import Mapping
from datetime import datetime, timedelta

#: What is told of counts by a model of one camera in another region, or with other person heights.
OTHER_SCENE = (
    "the region or the person heights are not those in which the model learnt, and what it tells is not to "
    "be relied on: leave --scene out, or train with it"
)


def clock(seconds: float, decimals: int = 0) -> str:
    """Time since the start as h:mm:ss.

    >>> clock(3725.26, 1), clock(3599.6), clock(-90)
    ('1:02:05.3', '1:00:00', '-0:01:30')
    """
    ticks = round(seconds * 10**decimals)
    whole, part = divmod(abs(ticks), 10**decimals)
    text = f"{'-' * (ticks < 0)}{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{text}.{part:0{decimals}}" if decimals else text


def to_the_second(time: datetime) -> str:
    """A time of day, rounded as `clock` rounds.

    >>> to_the_second(datetime(2024, 5, 1, 8, 0, 3, 700_000))
    '2024-05-01 08:00:04'
    """
    return (time + timedelta(seconds=0.5)).isoformat(sep=" ", timespec="seconds")


def plural(count: int, what: str) -> str:
    """
    >>> plural(1, "video"), plural(2, "video")
    ('1 video', '2 videos')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def flagged(flags: Mapping[str, int]) -> str:
    """How many frames carry each flag, on one line."""
    return f"  frames flagged: {', '.join(f'{flag} {number}' for flag, number in sorted(flags.items()))}"
