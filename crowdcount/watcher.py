"""What a job tells whoever watches it: a terminal, or nobody."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # load OpenCV and scikit-learn, which not every job needs
    from datetime import datetime

    from .counting import Counting
    from .jobs import CountJob
    from .learning.datasets import Dataset
    from .results import CountSummary

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

    def returned(self, label: str, away_s: float, at: "datetime") -> None:
        """A camera or stream that had broken off so long ago sends frames again, at a wall-clock time."""

    def finished(self, job: "CountJob", summary: "CountSummary") -> None:
        """A source is counted and its files are written."""

    def loaded(self, dataset: "Dataset") -> None:
        """A data set's labels are read."""
