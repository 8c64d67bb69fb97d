"""What a job tells whoever watches it: a terminal, or nobody."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # load OpenCV and scikit-learn, which not every job needs
    from .counting import Counting
    from .jobs import CountJob
    from .learning.datasets import Dataset
    from .results import CountSummary

#: `Watcher.returned`.
Returned = Callable[[str, float, datetime], None]
#: What a watcher's progress is told: the phase, the frames done, of how many (None: unknown), the last count.
Show = Callable[[str, int, int | None, float | None], None]


def show_nothing(phase: str, done: int, total: int | None, people: float | None) -> None:
    """The progress of a job that nobody watches."""


class Watcher(Protocol):
    """Is told how a job goes; see `crowdcount.terminal.Terminal`."""

    def progress(self) -> AbstractContextManager[Show]:
        """Show a job's progress while the context lasts."""

    def started(self, counting: "Counting") -> None:
        """The counting of a source is about to start."""

    def returned(self, label: str, away_s: float, at: datetime) -> None:
        """A camera or stream that had broken off so long ago sends frames again, at a wall-clock time."""

    def finished(self, job: "CountJob", summary: "CountSummary") -> None:
        """A source is counted and its files are written."""

    def loaded(self, dataset: "Dataset") -> None:
        """A data set's labels are read."""


def returns(
    returned: Returned, label: str, absences: Sequence[tuple[float, float]], start_time: datetime | None
) -> Callable[[], None]:
    """What tells, each time it is called, of the absences of a live source that have ended since: from when
    to when, seconds after the start time, which is known of such a source."""
    n_told = 0

    def tell() -> None:
        nonlocal n_told
        for away_s, back_s in absences[n_told:]:
            returned(label, back_s - away_s, start_time + timedelta(seconds=back_s))
            n_told += 1

    return tell
