"""A Dask cluster: what its workers run, and the connection to its scheduler, which is watched so that nobody waits.

The scheduler keeps marks (``distributed.Event``) on each task, which outlive the worker that set them: whether it was
started once or twice, and whether it is to stop.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from importlib import import_module
from typing import Any, Literal

from calib.errors import CalibrationError, missing_package
from calib.isolation.logs import quiet_start
from calib.jobs.executor import Place
from calib.jobs.local import ONE_THREAD, TENSORFLOW, WorkerDied
from calib.jobs.protocol import Data, Failure, Progress, Result, Run

log = logging.getLogger("calib.jobs")

LOOK_INTERVAL = 0.25
"""Seconds between two questions to the scheduler whether the task is cancelled."""

Mark = Literal["first start", "second start", "cancel"]
MARKS: tuple[Mark, ...] = ("first start", "second start", "cancel")

DIED_TWICE = "its worker on the cluster died, and so did the one that tried again"

_one_at_a_time = threading.Lock()  # fits expect a process of their own; a worker may have many threads

CONNECT_SECONDS = 3.0
KEPT_DATA = 4
"""So many sets of arrays stay on the cluster between fits."""
COUNT_SECONDS = 2.0
"""Between two looks at how many workers there are."""
RECONNECT_SECONDS = 30.0
"""Between two attempts to reach a scheduler that was not there."""


def mark_name(topic: str, number: int, mark: Mark) -> str:
    """Name on the scheduler of a task's mark."""
    return f"{topic}/{number}/{mark}"


def run_on_worker(call: bytes, arrays: Mapping[str, Any], topic: str, number: int) -> Result | Failure:
    """Run a pickled ``(function, args)`` as a local worker would, with progress as events under ``topic``.

    Raises
    ------
    WorkerDied
        If the task was started twice before: a scheduler by itself would go on to the next worker, and end that too.
    """
    from distributed import Event, get_client, get_worker

    worker, client = get_worker(), get_client()

    def marked(mark: Mark) -> Any:
        return Event(mark_name(topic, number, mark), client=client)

    def report(progress: Progress) -> None:
        worker.log_event(topic, {"number": number, "progress": asdict(progress)})

    with _one_at_a_time:
        _prepare()
        cancelled = _Occasionally(marked("cancel").is_set)
        if cancelled():
            return Failure("cancelled")
        again = marked("first start").is_set()
        if again and marked("second start").is_set():
            raise WorkerDied(DIED_TWICE)
        marked("second start" if again else "first start").set()
        report(Progress(message="Starting again: the worker it ran on died." if again else "Starting."))
        return Run(report, cancelled)(call, arrays)


class _Occasionally:
    """A question that costs a round trip, asked no more often than every ``LOOK_INTERVAL`` seconds."""

    def __init__(self, question: Any):
        self._question = question
        self._asked = -LOOK_INTERVAL

    def __call__(self) -> bool:
        now = time.monotonic()
        if now - self._asked < LOOK_INTERVAL:
            return False
        self._asked = now
        return bool(self._question())


@cache  # once for each process
def _prepare() -> None:
    """What the process of a local worker is started with, as far as it can still be had; what is set stays."""
    for name, value in {**TENSORFLOW, **ONE_THREAD}.items():
        os.environ.setdefault(name, value)
    quiet_start()


class Cluster:
    """What the app asks of a scheduler. Methods wait for it, so none is called by a page.

    Parameters
    ----------
    address : of the scheduler, such as ``tcp://host:8786``.
    on_progress : takes a task's number and its progress, from another thread.

    Raises
    ------
    OSError, ValueError
        If there is no scheduler at the address; mostly after ``CONNECT_SECONDS``.
    ModuleNotFoundError
        If Dask is not installed.
    """

    def __init__(self, address: str, on_progress: Callable[[int, Progress], None]):
        from distributed import Client

        self._client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="calib")
        self._on_progress = on_progress
        self._topic = f"calib-{uuid.uuid4().hex}"
        self._scattered: OrderedDict[str, Any] = OrderedDict()
        self._scatter_lock = threading.Lock()
        self._client.subscribe_topic(self._topic, self._receive)

    @property
    def connected(self) -> bool:
        """Whether the scheduler is there; known without asking it."""
        return self._client.status == "running"

    def n_workers(self) -> int:
        """Number of workers now."""
        return len(self._client.nthreads())

    def start(self, number: int, call: bytes, data: Data, priority: int) -> Any:
        """Hand a task over and return its future.

        Raises
        ------
        TimeoutError
            If there is no worker that could take the data.
        """
        return self._client.submit(
            run_on_worker,
            call,
            self._on_cluster(data),
            self._topic,
            number,
            key=f"calib-{uuid.uuid4().hex}",
            pure=False,
            priority=priority,
        )

    def ending(self, number: int, future: Any, data: Data) -> Result | Failure | None:
        """How a finished task ended; None if by no fault of its own, so that it may be handed over again.

        Raises
        ------
        WorkerDied
            If its worker died, and the one that tried again too.
        CalibrationError
            If the workers have no calib.
        """
        from distributed.scheduler import KilledWorker

        try:
            reply = future.result()
        except (CancelledError, KilledWorker, OSError) as error:
            # The scheduler went away, or workers died: with them the data, or too many for the scheduler's patience.
            with self._scatter_lock:
                self._scattered.pop(data.key, None)
            if isinstance(error, KilledWorker) and self._event(number, "second start").is_set():
                self._clear(number, *MARKS)
                raise WorkerDied(DIED_TWICE) from error
            return None
        except ModuleNotFoundError as error:
            raise CalibrationError(
                f"The workers of the cluster have no {error.name}: install calib with all it needs there too."
            ) from error
        except WorkerDied:
            self._clear(number, *MARKS)
            raise
        self._clear(number, *MARKS)
        return reply

    def stop(self, number: int, future: Any) -> None:
        """Cancel a task: one that waits is taken away, one that runs stops at its next callback."""
        self._event(number, "cancel").set()  # and stays, as nobody waits to see when it was seen
        future.cancel()
        self._clear(number, "first start", "second start")

    def close(self) -> None:
        """Leave the cluster; tasks of ours that wait there are dropped by the scheduler."""
        with suppress(Exception):  # whatever is wrong with it, we are leaving
            self._client.close(timeout=2)

    def _on_cluster(self, data: Data) -> Any:
        """The arrays on one of the workers, which gives them to the others: sent once for each content."""
        if not data.arrays:
            return {}
        with self._scatter_lock:
            future = self._scattered.get(data.key)
            if future is None or future.status != "finished":
                # In a list, because of a dict each value would be scattered by itself. No hash: the key is one.
                (future,) = self._client.scatter([dict(data.arrays)], hash=False)
                self._scattered[data.key] = future
            self._scattered.move_to_end(data.key)
            while len(self._scattered) > KEPT_DATA:
                self._scattered.popitem(last=False)
            return future

    def _clear(self, number: int, *marks: Mark) -> None:
        for mark in marks:
            self._event(number, mark).clear()

    def _event(self, number: int, mark: Mark) -> Any:
        from distributed import Event

        return Event(mark_name(self._topic, number, mark), client=self._client)

    def _receive(self, event: tuple[float, dict[str, Any]]) -> None:
        _, content = event
        self._on_progress(content["number"], Progress(**content["progress"]))


class Connection:
    """Keeps a :class:`Cluster` for an address, in a thread of its own.

    Parameters
    ----------
    address : of the scheduler.
    on_progress : takes a task's number and its progress.
    """

    def __init__(self, address: str, on_progress: Callable[[int, Progress], None]):
        self._address = address
        self._on_progress = on_progress
        self._cluster: Cluster | None = None
        self._place = Place(f"cluster at {address}, connecting", connecting=True)
        self._tried = threading.Event()
        self._wake = threading.Event()
        self._closed = False
        threading.Thread(target=self._watch, name="calib-cluster", daemon=True).start()

    def cluster(self) -> Cluster | None:
        """The cluster, or None while its scheduler cannot be reached; waits for the first attempt to reach it."""
        self._tried.wait()
        cluster = self._cluster
        if cluster is None or cluster.connected:
            return cluster
        self._wake.set()
        return None

    def place(self) -> Place:
        """What was found last; never waits."""
        return self._place

    def close(self) -> None:
        """Leave the cluster."""
        self._closed = True
        self._tried.set()
        self._wake.set()
        if self._cluster is not None:
            self._cluster.close()

    def _watch(self) -> None:
        while not self._closed:
            if self._cluster is None or not self._cluster.connected:
                self._connect()
            if self._cluster is not None:
                self._count(self._cluster)
            self._tried.set()
            self._wake.wait(COUNT_SECONDS if self._cluster is not None else RECONNECT_SECONDS)
            self._wake.clear()

    def _connect(self) -> None:
        lost, self._cluster = self._cluster, None
        if lost is not None:
            lost.close()
        try:
            import_module("distributed")  # before the clock is started: on a busy machine it takes seconds
        except ModuleNotFoundError as error:
            self._report_trouble(missing_package(error).removesuffix("."))
            return
        # Dask's own limit does not hold where something takes the connection and then says nothing.
        clock = threading.Timer(CONNECT_SECONDS + 1.0, self._unreachable)
        clock.daemon = True
        clock.start()
        try:
            self._cluster = Cluster(self._address, self._on_progress)
        except Exception as error:  # transports have errors of their own, and a page must live with all of them
            log.info("%s: %s: %s", self._address, type(error).__name__, error)
            self._unreachable()
        finally:
            clock.cancel()

    def _unreachable(self) -> None:
        self._report_trouble(f"The scheduler at {self._address} cannot be reached")
        self._tried.set()

    def _report_trouble(self, trouble: str) -> None:
        place = Place(trouble=f"{trouble}; fits run on this machine meanwhile.")
        if place != self._place:
            log.warning("%s", place.trouble)
        self._place = place

    def _count(self, cluster: Cluster) -> None:
        try:
            n = cluster.n_workers()
        except Exception:  # it has just gone, which the next look finds out
            return
        workers = f"{n} worker{'' if n == 1 else 's'}"
        trouble = "" if n else f"The cluster at {self._address} has no workers; fits wait until it has."
        self._place = Place(f"cluster of {workers}" if n else "cluster", trouble)
