"""The one interface through which work leaves the app, and its local form: worker processes."""

from __future__ import annotations

import atexit
import os
import pickle
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from calib.jobs.local import LocalWorker, Work
from calib.jobs.protocol import Data, Progress
from calib.jobs.scheduling import FairQueue

Lane = Literal["view", "fast", "slow", "study", "file"]
"""What a page waits for has a worker of its own, and never waits behind a fit. Fast tasks never wait behind a slow one.

Slow tasks run one at a time. A fit on a GPU is one, however fast it is there: no other fit loads TensorFlow. A study is
many fits, of any method, that take minutes: it has a worker of its own, so that no single fit waits for it. So has a
file to save, which takes seconds.
"""
NICE = 10
"""Of workers that fit, so that pages come first: what a page waits for is computed at the server's own priority."""
NOBODY = ("",)
"""Owner of what is done for nobody in particular."""


@dataclass(frozen=True)
class Place:
    """Where fits run at one moment.

    Attributes
    ----------
    cluster : such as "cluster of 2 workers"; empty on this machine.
    trouble : one sentence on why they do not run where they were meant to; empty where they do.
    connecting : whether all this is still to be found out.
    """

    cluster: str = ""
    trouble: str = ""
    connecting: bool = False


HERE = Place()


class Executor(Protocol):
    """What :class:`~calib.jobs.FitQueue` asks of the place where fits run; like ``concurrent.futures``."""

    def submit(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        data: Data,
        lane: Lane,
        on_progress: Callable[[Progress], None],
        owners: Collection[str] = NOBODY,
    ) -> Future[Any]:
        """Run ``function(*args, data=data.arrays, callback=...)`` elsewhere.

        ``function`` is found by its module and name. ``on_progress`` is called from another thread, the first
        time when the task starts. The future fails with CalibrationError, FitCancelled, WorkerDied or
        UnexpectedError. Scheduling is fair to owners, as by :class:`~calib.jobs.scheduling.FairQueue`.
        """

    def set_owners(self, future: Future[Any], owners: Collection[str]) -> None:
        """Change the owners of a task, as far as that can still change when it starts."""

    def before(self, future: Future[Any]) -> list[Future[Any]]:
        """The tasks that wait now and would start before this one, if nothing else came."""

    def cancel(self, future: Future[Any]) -> None:
        """Stop a task within 2 s; returns at once."""

    def rest(self) -> None:
        """Give back what is held while nothing runs."""

    def shutdown(self) -> None:
        """End everything that still runs."""

    def place(self) -> Place:
        """Where tasks run now; returns at once."""


class LocalExecutor:
    """Worker processes on this machine: one for pages, some for fast tasks, one each for slow ones, studies and files.

    Parameters
    ----------
    n_fast : number of workers for fast tasks; by default one less than the processors, at most 3.
    idle_seconds : a worker without work for so long ends, which frees its memory and its GPU.
    python_path : folders to import functions from, beside the one that holds ``calib``.
    place : what is said of where tasks run.
    """

    def __init__(
        self,
        n_fast: int | None = None,
        *,
        idle_seconds: float = 900.0,
        python_path: Sequence[str] = (),
        place: Place = HERE,
    ):
        if n_fast is None:
            n_fast = max(1, min(3, (os.cpu_count() or 2) - 1))
        self._lanes: dict[Lane, FairQueue[Future[Any], Work]] = {
            "view": FairQueue(),
            "fast": FairQueue(),
            "slow": FairQueue(),
            "study": FairQueue(),
            "file": FairQueue(),
        }
        lanes: list[Lane] = ["view", "slow", "study", "file"]
        lanes.extend("fast" for _ in range(n_fast))
        self._workers = [
            LocalWorker(self._lanes[lane], idle_seconds, python_path, nice=0 if lane == "view" else NICE)
            for lane in lanes
        ]
        self._place = place
        self._closed = False
        self._lock = threading.Lock()
        self._numbers = iter(range(2**62))
        atexit.register(self.shutdown)

    def submit(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        data: Data,
        lane: Lane,
        on_progress: Callable[[Progress], None],
        owners: Collection[str] = NOBODY,
    ) -> Future[Any]:
        """Queue a task on its lane; see :meth:`Executor.submit`."""
        with self._lock:
            if self._closed:
                raise RuntimeError("The workers have been shut down.")
            work = Work(next(self._numbers), pickle.dumps((function, args), protocol=5), data, on_progress)
            self._lanes[lane].put(work.future, work, owners)
        for worker in self._workers:
            worker.wake()
        return work.future

    def set_owners(self, future: Future[Any], owners: Collection[str]) -> None:
        """Change the owners of a task that waits."""
        for lane in self._lanes.values():
            lane.set_owners(future, owners)

    def before(self, future: Future[Any]) -> list[Future[Any]]:
        """The tasks that wait on the same lane and come first."""
        for lane in self._lanes.values():
            order = lane.order()
            if future in order:
                return order[: order.index(future)]
        return []

    def cancel(self, future: Future[Any]) -> None:
        """Stop a task: at its next callback, or by ending its process after a second."""
        if future.cancel():
            for lane in self._lanes.values():
                lane.discard(future)
        else:
            for worker in self._workers:
                worker.cancel(future)

    def rest(self) -> None:
        """End the processes that have nothing to do, and the others once they are through; the next task wakes all."""
        for worker in self._workers:
            worker.rest()

    def shutdown(self) -> None:
        """End the worker processes now; tasks that wait or run are cancelled."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        atexit.unregister(self.shutdown)
        for lane in self._lanes.values():
            for future in lane.close():
                future.cancel()
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.join()

    def place(self) -> Place:
        """This machine."""
        return self._place
