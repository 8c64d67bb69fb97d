"""Decoding in a second thread."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STARTS_WITHIN_S = 1.0  # a thread, once it is asked to


@contextmanager
def read_ahead(items: Iterator, depth: int, *, latest: bool = False) -> Iterator[Iterator]:
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

    def take() -> Iterator:
        while True:
            kind, value = waiting.get()
            if kind == "error":
                raise value
            if kind == "end":
                return
            places.put(None)
            yield value

    thread = threading.Thread(target=fetch, name="read-ahead", daemon=True)
    try:
        thread.start()  # an interrupt here may leave it running
        yield take()
    finally:
        stop.set()
        places.put(None)  # for the one item that the thread may be holding; it looks at stop after that
        running.wait(_STARTS_WITHIN_S)
        with suppress(RuntimeError):  # it never started
            thread.join()
        if hasattr(items, "close"):
            items.close()
