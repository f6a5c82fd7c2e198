"""Finding a scheduler, and noticing that it has gone, while nobody waits for either."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from importlib import import_module

from calib.extras import missing_package
from calib.jobs.dask_task import CONNECT_SECONDS, Cluster
from calib.jobs.place import Place
from calib.jobs.protocol import Progress

log = logging.getLogger("calib.jobs")

COUNT_SECONDS = 2.0
"""Between two looks at how many workers there are."""

RECONNECT_SECONDS = 30.0
"""Between two attempts to reach a scheduler that was not there."""


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
            self._say(missing_package(error).removesuffix("."))
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
        self._say(f"The scheduler at {self._address} cannot be reached")
        self._tried.set()

    def _say(self, trouble: str) -> None:
        place = Place(trouble=f"{trouble}; fits run on this machine meanwhile.")
        if place != self._place:
            log.warning("%s", place.trouble)
        self._place = place

    def _count(self, cluster: Cluster) -> None:
        try:
            n = cluster.n_workers()
        except Exception:  # it has just gone, which the next round finds out
            return
        workers = f"{n} worker{'' if n == 1 else 's'}"
        trouble = "" if n else f"The cluster at {self._address} has no workers; fits wait until it has."
        self._place = Place(f"cluster of {workers}" if n else "cluster", trouble)
