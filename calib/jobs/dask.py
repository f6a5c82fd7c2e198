"""Fits on the workers of a Dask cluster, and on this machine while its scheduler cannot be reached."""

from __future__ import annotations

import atexit
import pickle
import threading
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from calib.errors import CalibrationError
from calib.jobs.dask_cluster import Cluster, Connection
from calib.jobs.executor import NOBODY, Executor, Lane, LocalExecutor, Place
from calib.jobs.local import WorkerDied, exception_of
from calib.jobs.protocol import Data, Failure, Progress, Result
from calib.jobs.scheduling import FairQueueTags
from calib.jobs.tasks import JointProgress, Parts, divided
from calib.settings import text

PRIORITY: dict[Lane, int] = {"view": 2 * 10**9, "file": 2 * 10**9, "fast": 10**9, "slow": 0, "study": -(10**9)}
"""The workers of a cluster are all alike: a fast task has no lane of its own, but it is the next to start.

The tag of a task is subtracted from it, and never comes near the distance of two lanes.
"""

LOOK_SECONDS = 0.1
"""Between two looks whether a task has ended."""

MAX_LOSSES = 3
"""How often a task is handed over anew after a loss that was no fault of its own."""
NO_WORKER_SECONDS = 1.0
"""Between two looks whether a cluster without workers has one."""
CANCELLED = Failure("cancelled")


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
    tag: int
    started: bool = False
    local: Future[Any] | None = None
    future: Future[Any] = field(default_factory=Future)
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def priority(self) -> int:
        """Of the tasks that wait, the scheduler starts the one with the highest first."""
        return PRIORITY[self.lane] - self.tag

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


class DaskExecutor:
    """Hands tasks to the workers of a Dask cluster; none of its methods waits for the cluster.

    Scheduling is fair to owners by the priority that the scheduler is given with each task. It is fixed: an owner who
    joins later does not bring the task forward.

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
        self._tags: dict[Lane, FairQueueTags] = {lane: FairQueueTags() for lane in PRIORITY}
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
            tag = self._tags[lane].tag(owners)
            work = ClusterWork(next(self._numbers), function, args, data, lane, on_progress, owners, tag)
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
                self._tags[work.lane].started(work.tag)
            work.on_progress(progress)

    def _all(self) -> list[ClusterWork]:
        with self._lock:
            return [work for work in self._works.values() if not work.future.done()]

    def _follow(self, work: ClusterWork) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = self._run(work)
        except Exception as raised:
            error = raised
        with self._lock:
            del self._works[work.number]
        if work.future.set_running_or_notify_cancel():  # a cancellation that comes now is too late
            if error is None:
                work.future.set_result(result)
            else:
                work.future.set_exception(error)

    def _run(self, work: ClusterWork) -> Any:
        if work.lane in ("view", "file"):  # the workers of a cluster may all be at fits, and have no plotly
            return self._run_locally(work)
        parts = divided(work.function, work.args, work.data.arrays)
        if parts is not None and self._connection.cluster() is not None:
            return self._run_in_parts(work, parts)
        return self._run_whole(work)

    def _run_in_parts(self, work: ClusterWork, parts: Parts) -> Any:
        """Run each part as a task of its own; whatever ends one early ends all."""
        progress = JointProgress(parts.steps, partial(self._progress, work.number))
        inner = [
            self.submit(
                parts.function,
                *arguments,
                data=work.data,
                lane=work.lane,
                on_progress=progress.of_part(number),
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

    def _run_whole(self, work: ClusterWork) -> Any:
        for _ in range(1 + MAX_LOSSES):
            cluster = self._connection.cluster()
            if work.cancelled.is_set():
                return None
            if cluster is None:
                return self._run_locally(work)
            reply = self._run_on_cluster(work, cluster)
            if isinstance(reply, Result):
                work.on_progress(Progress(cpu_seconds=reply.cpu_seconds))
                return pickle.loads(reply.value)
            if isinstance(reply, Failure):
                raise exception_of(reply)
        raise WorkerDied(f"the cluster lost it {1 + MAX_LOSSES} times")

    def _run_locally(self, work: ClusterWork) -> Any:
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

    def _run_on_cluster(self, work: ClusterWork, cluster: Cluster) -> Result | Failure | None:
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


def executor_from_settings() -> Executor:
    """A Dask cluster if ``CALIB_SCHEDULER`` is the address of its scheduler, else worker processes on this machine."""
    try:
        address = text("CALIB_SCHEDULER")
    except ValueError as error:
        return LocalExecutor(place=Place(trouble=f"{error} Fits run on this machine."))
    return DaskExecutor(address) if address else LocalExecutor()
