"""What a signal does: it ends the process at once, or, when a command is at work, the work.

Next to nothing is imported here, so that signals are minded while all the rest is.
"""

import importlib
import os
import signal
import time

#: Ctrl-C, a service manager, and a terminal or connection that is closed.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
#: Exit code of a process that is interrupted.
INTERRUPTED = 130
#: For so many seconds what an interrupt brings to an end is not disturbed by more signals.
PATIENCE_S = 5.0
#: Until a signal that came during an import is sent again.
_POSTPONED_S = 0.05


class _Interrupts:
    """Handles the signals; a command is at work within it as a context.

    Until then nothing has been written, and a signal ends the process. At work it raises KeyboardInterrupt,
    but not before an import is over: what is half loaded cannot be loaded again, and NumPy turns the
    interrupt into another error. After the work, signals change nothing.
    """

    def __init__(self):
        self._state = "starting"
        self._is_postponed = False
        self._raised_s = -PATIENCE_S

    def __enter__(self) -> None:
        self._state = "at work"

    def __exit__(self, *error) -> None:
        self._state = "ended"

    def catch(self) -> None:
        """Mind the signals from now on, but those that are ignored, as by nohup."""
        for number in _SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    def ignore(self) -> None:
        """Mind no signal any more: one that comes while Python shuts down would kill the process."""
        self._state = "ended"  # for one that has come already
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _interrupt(self, number, frame) -> None:
        if self._state == "starting":
            try:
                os.write(2, b"crowdcount: interrupted\n")
            finally:
                os._exit(INTERRUPTED)
        patient = time.monotonic() - self._raised_s < PATIENCE_S  # some press Ctrl-C on and on
        if self._state == "ended" or patient:
            return
        if not _is_of_import(frame):
            self._is_postponed = False
            self._raised_s = time.monotonic()
            raise KeyboardInterrupt("interrupted")
        if not self._is_postponed:
            from threading import Thread

            self._is_postponed = True
            Thread(target=self._send_again, args=[number], daemon=True).start()

    def _send_again(self, number) -> None:
        """Send a signal until the import is over and it is heeded: one that comes just as the main thread
        begins to wait, which lets this one run, is not seen before the waiting ends."""
        while True:
            time.sleep(_POSTPONED_S)
            if not self._is_postponed or self._state == "ended":
                return
            if os.name == "nt":  # there, kill ends the process
                signal.raise_signal(number)
            else:  # which wakes the main thread from waiting
                os.kill(os.getpid(), number)


INTERRUPTS = _Interrupts()


def _is_of_import(frame) -> bool:
    """Whether a frame runs for an import."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or file == importlib.__file__:
            return True
        frame = frame.f_back
    return False
