"""Who does the tasks: processes of this machine, or a Dask cluster; both behind `Engine`."""

import itertools
import logging
import os
import queue
import threading
import uuid
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from ..errors import BatchError
from .worker import Limits, Outcome, Worker

_CONNECT_S = 10.0


@dataclass(frozen=True)
class Progress:
    """A task goes on: `worker` has done so many frames `of` about so many (None: unknown)."""

    number: int
    worker: str
    done: int
    of: int | None


@dataclass(frozen=True)
class Finished:
    """A task has ended."""

    number: int
    worker: str
    outcome: Outcome


class Engine(Protocol):
    """Does tasks somewhere; ends with `close`.

    Attributes
    ----------
    events : queue.SimpleQueue of Progress and Finished
        One `Finished` for each task. Of C, as an interrupt may leave a queue.Queue locked for ever.
    """

    events: queue.SimpleQueue

    @property
    def n_workers(self) -> int:
        """How many tasks are done at once, now."""

    def submit(self, task: dict, limits: Limits) -> int:
        """Have a task done; returns its number."""

    def close(self) -> None:
        """Stop all tasks."""


class LocalEngine:
    """Processes of this machine: one that dies or hangs harms its own task only."""

    def __init__(self, n_workers: int):
        self.n_workers = n_workers
        self.events: queue.SimpleQueue[Progress | Finished] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._threads = ThreadPoolExecutor(n_workers, thread_name_prefix="batch", initializer=self._begin)
        self._names = itertools.count(1)
        self._own = threading.local()
        self._workers: list[Worker] = []

    def submit(self, task: dict, limits: Limits) -> int:
        number = next(self._numbers)
        self._threads.submit(self._run, number, task, limits)
        return number

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._workers):
            worker.stop()
        self._threads.shutdown(wait=True)

    def warm_up(self) -> None:
        """Start all processes now, not with their first tasks."""
        here = threading.Barrier(self.n_workers)

        def start() -> None:
            here.wait()  # so that each thread takes one
            self._own.worker.start()

        for future in [self._threads.submit(start) for _ in range(self.n_workers)]:
            future.result()

    def process_ids(self) -> list[int]:
        """Of the processes that run."""
        return [worker.process_id for worker in self._workers if worker.process_id is not None]

    def _begin(self) -> None:
        self._own.worker = Worker()
        self._own.name = f"worker {next(self._names)}"
        self._workers.append(self._own.worker)

    def _run(self, number: int, task: dict, limits: Limits) -> None:
        name = self._own.name

        def report(done: int, of: int | None) -> None:
            self.events.put(Progress(number, name, done, of))

        try:
            outcome = self._own.worker.run(task, limits, report)
        except Exception as error:  # never leave the owner of the queue waiting
            outcome = Outcome(error=f"an error inside crowdcount, {error!r}", kind="bug")
        self.events.put(Finished(number, name, outcome))


class DaskEngine:
    """The workers of a Dask cluster, each with a process beside it as this machine's have.

    All machines have crowdcount of the same version, and the same folders under the same names.
    """

    def __init__(self, scheduler: str):
        try:
            from distributed import Client
        except ImportError:
            raise BatchError("--engine dask needs Dask: pip install distributed") from None
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # errors are told here
        try:
            self._client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BatchError(
                f"no Dask scheduler answers at {scheduler}; check its address, as tcp://HOST:8786"
            ) from error
        self._gone = f"the Dask scheduler at {scheduler} is gone; start it and run the same command again"
        self.events: queue.SimpleQueue[Progress | Finished] = queue.SimpleQueue()
        self._topic = f"crowdcount-{uuid.uuid4().hex}"
        self._client.subscribe_topic(self._topic, self._hear)
        self._futures: dict[int, object] = {}
        self._numbers = itertools.count()

    @property
    def n_workers(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError, ValueError) as error:  # it does not answer, or the client has closed
            raise BatchError(self._gone) from error

    def submit(self, task: dict, limits: Limits) -> int:
        number = next(self._numbers)
        future = self._client.submit(
            run_on_cluster, task, limits, number, self._topic, key=f"{self._topic}-{number}", pure=False
        )
        self._futures[number] = future
        future.add_done_callback(lambda future: self._finish(number, future))
        return number

    def close(self) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._futures.values()))
        self._client.close()

    def _hear(self, event) -> None:
        _, (number, worker, done, of) = event
        self.events.put(Progress(number, worker, done, of))

    def _finish(self, number: int, future) -> None:
        worker = ""
        try:
            worker, outcome = future.result()
        except (CancelledError, OSError):  # all are cancelled, or on their way, when the scheduler is lost
            outcome = Outcome(error=self._gone, kind="cluster")
        except Exception as error:  # the cluster's, such as KilledWorker
            outcome = Outcome(error=f"the cluster gave it up: {error}".splitlines()[0], kind="died")
        self._futures.pop(number, None)
        self.events.put(Finished(number, worker, outcome))


#: Processes of this Dask worker that wait for a task.
_idle: queue.LifoQueue = queue.LifoQueue()


def run_on_cluster(task: dict, limits: Limits, number: int, topic: str) -> tuple[str, Outcome]:
    """Do a task in a process beside a Dask worker; returns where, and what became of it."""
    from distributed import get_worker

    dask = get_worker()
    try:
        worker = _idle.get_nowait()
    except queue.Empty:
        worker = Worker()
    name = f"{dask.address} {threading.current_thread().name.rpartition('-')[2]}"
    outcome = worker.run(task, limits, lambda done, of: dask.log_event(topic, (number, name, done, of)))
    _idle.put(worker)
    return name, outcome


def default_workers() -> int:
    """One for each processor that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
