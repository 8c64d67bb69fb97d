"""Decoding in a second thread."""

import math
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import NoFrameError

_STARTS_WITHIN_S = 1.0  # a thread, once it is asked to
_PATIENCE_S = 0.5  # with a live source that is to end


@contextmanager
def read_ahead(
    items: Iterator,
    depth: int,
    *,
    latest: bool = False,
    is_live: bool = False,
    until: float = math.inf,
    tick_s: float = math.inf,
) -> Iterator[Iterator]:
    """Advance ``items`` in a second thread, up to ``depth`` items ahead of the one who takes them.

    ::

        with read_ahead(source.frames(), depth=4) as frames:
            for frame in frames:
                ...

    The order is kept, and an error of ``items`` is raised where its item would have come. When the block is
    left, however that happens, the thread has ended (it finishes the item it is fetching) and ``items``, if
    it is a generator, is closed. With ``latest``, the oldest item that waits gives way when the buffer is
    full, instead of holding up the thread: for a live source, where the dropped frames show as gaps in
    ``Frame.index``. ValueError for a depth below 1.

    A thread that waits for a live source (``is_live``) is left to itself after half a second: it ends with
    what it waits for. From ``until`` on, by the monotonic clock, what does not come within half a second is
    the end; NoFrameError where nothing came before. Whenever nothing else has come for ``tick_s`` seconds,
    None does.
    """
    if depth < 1:
        raise ValueError(f"depth must be 1 or more, not {depth}")
    # Of C: an interrupt leaves no lock behind, as it may in a queue.Queue, which would then hang for ever.
    waiting: queue.SimpleQueue[tuple[str, object]] = queue.SimpleQueue()
    places: queue.SimpleQueue[None] = queue.SimpleQueue()
    for _ in range(depth):
        places.put(None)
    running, stop = threading.Event(), threading.Event()

    def await_place() -> None:
        if latest:
            for either in (places, waiting):  # where none is free, the oldest gives way
                with suppress(queue.Empty):
                    either.get_nowait()
                    return
        places.get()

    def fetch() -> None:
        running.set()
        try:
            for item in items:
                await_place()
                if stop.is_set():
                    return
                waiting.put(("item", item))
        except BaseException as error:
            waiting.put(("error", error))
        else:
            waiting.put(("end", None))

    def due() -> float:
        """When it is too late for what is waited for from now on."""
        return max(until, time.monotonic()) + _PATIENCE_S

    def take() -> Iterator:
        is_first, deadline = True, due()
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            try:
                kind, value = waiting.get(timeout=min(left_s, tick_s, threading.TIMEOUT_MAX))
            except queue.Empty:
                if tick_s < left_s:
                    yield None
                    continue
                if is_first:
                    raise NoFrameError(
                        "no frame came between the given start and end; check that the sender is on"
                    ) from None
                return
            if kind == "error":
                raise value
            if kind == "end":
                return
            places.put(None)
            yield value
            is_first, deadline = False, due()

    thread = threading.Thread(target=fetch, name="read-ahead", daemon=True)
    try:
        thread.start()  # an interrupt here may leave it running
        yield take()
    finally:
        stop.set()
        places.put(None)  # for the one item that the thread may be holding; it looks at stop after that
        running.wait(_STARTS_WITHIN_S)
        with suppress(RuntimeError):  # it never started
            thread.join(_PATIENCE_S if is_live else None)
        if hasattr(items, "close") and not thread.is_alive():
            items.close()
