"""Fits on an existing Dask cluster, and on this machine while its scheduler cannot be reached.

Finding a scheduler, and noticing that it has gone, while nobody waits for either.

A task on its way to a cluster and back.
"""

from __future__ import annotations

import atexit
import logging
import pickle
import threading
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from calib.errors import CalibrationError, missing_package
from calib.jobs.dask_task import CONNECT_SECONDS, Cluster
from calib.jobs.executor import NOBODY, Executor, Lane, LocalExecutor, Place
from calib.jobs.local import WorkerDied, exception_of
from calib.jobs.protocol import Data, Failure, Progress, Result
from calib.jobs.scheduling import Rounds
from calib.jobs.subtasks import JointProgress, Parts, divided

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


PRIORITY: dict[Lane, int] = {"fast": 10**9, "slow": 0, "study": -(10**9)}
"""The workers of a cluster are all alike: a fast task has no lane of its own, but it is the next to start.

From it the round of a task is taken, which never comes near the distance of two lanes.
"""

LOOK_SECONDS = 0.1
"""Between two looks whether a task has ended."""


@dataclass(eq=False)
class ClusterWork:
    """A task on its way."""

    number: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    data: Data
    lane: Lane
    on_progress: Callable[[Progress], None]
    owners: Collection[str]
    round: int
    started: bool = False
    local: Future[Any] | None = None
    future: Future[Any] = field(default_factory=Future)
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def priority(self) -> int:
        """Of the tasks that wait, the scheduler starts the one with the highest first."""
        return PRIORITY[self.lane] - self.round

    def ended(self, future: Future[Any]) -> None:
        """Remember a cancellation, for which the thread that follows the task can wait."""
        if future.cancelled():
            self.cancelled.set()

    def wait_for(self, inner: Any) -> bool:
        """Wait until a future, of whatever kind, has ended; False if the task was cancelled before."""
        # Looked at, not called back: Dask's callbacks need a thread that ends before the app does.
        while not (inner.done() or self.cancelled.is_set()):
            self.cancelled.wait(LOOK_SECONDS)
        return not self.cancelled.is_set()


MAX_LOSSES = 3
"""How often a task is handed over anew after a loss that was no fault of its own."""

NO_WORKER_SECONDS = 1.0
"""Between two looks whether a cluster without workers has one."""

CANCELLED = Failure("cancelled")


class DaskExecutor:
    """Hands tasks to the workers of a Dask cluster; none of its methods waits for the cluster.

    Owners take turns by the priority that the scheduler is given with each task. It stays: whoever else wants the task
    later does not bring it forward.

    A task that can be divided is done in its parts, wherever workers are free, and what follows holds for each of them.

    A task whose worker dies is run once more, on another; if that dies too, it fails with WorkerDied. A cancelled task
    counts as cancelled at once; one that runs leaves its worker at its next callback, for a worker that may serve
    others is not killed.

    Parameters
    ----------
    address : of the scheduler, such as ``tcp://host:8786``.
    local : makes the executor for the time when the scheduler cannot be reached.
    """

    def __init__(self, address: str, local: Callable[[], Executor] = LocalExecutor):
        self._make_local = local
        self._local: Executor | None = None
        self._works: dict[int, ClusterWork] = {}
        self._lock = threading.Lock()
        self._numbers = iter(range(2**62))
        self._rounds: dict[Lane, Rounds] = {lane: Rounds() for lane in PRIORITY}
        self._closed = False
        self._connection = Connection(address, self._progress)
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
        """Send a task on its way; see :meth:`Executor.submit`."""
        with self._lock:
            if self._closed:
                raise RuntimeError("The workers have been shut down.")
            turn = self._rounds[lane].join(owners)
            work = ClusterWork(next(self._numbers), function, args, data, lane, on_progress, owners, turn)
            self._works[work.number] = work
        work.future.add_done_callback(work.ended)
        threading.Thread(target=self._follow, args=(work,), name="calib-fit", daemon=True).start()
        return work.future

    def set_owners(self, future: Future[Any], owners: Collection[str]) -> None:
        """Say anew whose a task is; it keeps its place on a cluster."""
        for work in self._all():
            if work.future is future:
                work.owners = owners
                if self._local is not None and work.local is not None:
                    self._local.set_owners(work.local, owners)

    def before(self, future: Future[Any]) -> list[Future[Any]]:
        """The tasks of this app that wait and have a higher priority; what others ask of the cluster is not known."""
        works = self._all()
        this = next((work for work in works if work.future is future and not work.started), None)
        if this is None:
            return []
        if self._local is not None and this.local is not None:
            first = self._local.before(this.local)
            return [work.future for work in works if work.local in first]
        place = (-this.priority, this.number)
        return [work.future for work in works if not work.started and (-work.priority, work.number) < place]

    def cancel(self, future: Future[Any]) -> None:
        """Cancel a task; the thread that follows it tells its worker."""
        future.cancel()

    def rest(self) -> None:
        """Leave the cluster as it is, and let workers of this machine rest."""
        if self._local is not None:
            self._local.rest()

    def shutdown(self) -> None:
        """Cancel what waits or runs, and leave the cluster as it was."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            works, local = list(self._works.values()), self._local
        atexit.unregister(self.shutdown)
        for work in works:
            work.future.cancel()
        self._connection.close()
        if local is not None:
            local.shutdown()

    def place(self) -> Place:
        """Where fits run now; known without asking anybody."""
        return self._connection.place()

    def _progress(self, number: int, progress: Progress) -> None:
        work = self._works.get(number)
        if work is not None:
            if not work.started:
                work.started = True
                self._rounds[work.lane].started(work.round)
            work.on_progress(progress)

    def _all(self) -> list[ClusterWork]:
        with self._lock:
            return [work for work in self._works.values() if not work.future.done()]

    def _follow(self, work: ClusterWork) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = self._have_done(work)
        except Exception as raised:
            error = raised
        with self._lock:
            del self._works[work.number]
        if work.future.set_running_or_notify_cancel():  # a cancellation that comes now is too late
            if error is None:
                work.future.set_result(result)
            else:
                work.future.set_exception(error)

    def _have_done(self, work: ClusterWork) -> Any:
        parts = divided(work.function, work.args, work.data.arrays)
        if parts is not None and self._connection.cluster() is not None:
            return self._have_done_in_parts(work, parts)
        return self._have_done_as_one(work)

    def _have_done_in_parts(self, work: ClusterWork, parts: Parts) -> Any:
        """Each part is a task of its own, on its own turn; what ends one before its time ends all."""
        progress = JointProgress(parts.steps, partial(self._progress, work.number))
        inner = [
            self.submit(
                parts.function,
                *arguments,
                data=work.data,
                lane=work.lane,
                on_progress=progress.of(number),
                owners=work.owners,
            )
            for number, arguments in enumerate(parts.arguments)
        ]
        try:
            left: set[Future[Any]] = set(inner)
            while left and not work.cancelled.is_set():
                done, left = wait(left, LOOK_SECONDS, return_when=FIRST_EXCEPTION)
                for part in done:
                    part.result()
                    progress.ended(inner.index(part))
            return None if left else parts.join([part.result() for part in inner])
        finally:
            for part in inner:
                part.cancel()

    def _have_done_as_one(self, work: ClusterWork) -> Any:
        for _ in range(1 + MAX_LOSSES):
            cluster = self._connection.cluster()
            if work.cancelled.is_set():
                return None
            if cluster is None:
                return self._have_done_here(work)
            reply = self._have_done_there(work, cluster)
            if isinstance(reply, Result):
                work.on_progress(Progress(cpu_seconds=reply.cpu_seconds))
                return pickle.loads(reply.value)
            if isinstance(reply, Failure):
                raise exception_of(reply)
        raise WorkerDied(f"the cluster lost it {1 + MAX_LOSSES} times")

    def _have_done_here(self, work: ClusterWork) -> Any:
        with self._lock:
            if self._closed:
                return None
            if self._local is None:
                self._local = self._make_local()
        inner = work.local = self._local.submit(
            work.function,
            *work.args,
            data=work.data,
            lane=work.lane,
            on_progress=work.on_progress,
            owners=work.owners,
        )
        if work.wait_for(inner):
            return inner.result()
        self._local.cancel(inner)
        return None

    def _have_done_there(self, work: ClusterWork, cluster: Cluster) -> Result | Failure | None:
        """How the task ended; None if it was lost and may be tried again."""
        call = pickle.dumps((work.function, work.args), protocol=5)
        try:
            while not cluster.n_workers():
                if work.cancelled.wait(NO_WORKER_SECONDS):
                    return CANCELLED
            handed = cluster.start(work.number, call, work.data, work.priority)
            if work.wait_for(handed):
                return cluster.ending(work.number, handed, work.data)
            cluster.stop(work.number, handed)
            return CANCELLED
        except (WorkerDied, CalibrationError):
            raise
        except Exception as error:
            # A connection that is being lost raises whatever its parts, taken away one by one, make it raise.
            if isinstance(error, OSError) or not cluster.connected:
                return None
            raise
