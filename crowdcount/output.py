"""The standard output and the standard error, also where they are closed, full or nobody reads them."""

import os
import sys
from contextlib import suppress

from .errors import OutputError, one_line
from .storage import output_error, output_errors

STANDARD_OUTPUT = "the standard output"


def is_terminal_output() -> bool:
    """Whether the standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


class StandardOutput:
    """The bytes of the standard output, passed on at once."""

    closed = False

    def __init__(self):
        if sys.stdout is None:
            raise OutputError(f"cannot write {STANDARD_OUTPUT}: it is closed; give a file with -o")
        sys.stdout.flush()
        self._stream = sys.stdout.buffer

    def write(self, data) -> int:
        try:
            written = self._stream.write(data)
            self._stream.flush()
        except OSError:
            _discard(self._stream)
            raise
        return written

    def reserve(self, size: int) -> None:
        """There is nothing to reserve."""

    def flush(self) -> None:
        """Nothing is ever held back."""


def print_result(text: str) -> None:
    """Write a line of text to the standard output; OutputError when that fails."""
    with output_errors(STANDARD_OUTPUT):
        StandardOutput().write(f"{text}\n".encode(errors="backslashreplace"))


def lost_output(error: OSError) -> OutputError:
    """Give up the standard output, to which others print, where that raised an error."""
    _discard(sys.stdout)
    return output_error(STANDARD_OUTPUT, error)


def print_note(line: str) -> None:
    """Write a text to the standard error, as one line whatever names of files are in it; where that fails, as
    on a full disk, the work goes on."""
    if sys.stderr is None:
        return
    try:
        print(one_line(line), file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def _discard(stream) -> None:
    """Let what remains in a stream's buffer, and what follows, go nowhere: it would raise once more when the
    interpreter ends."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
