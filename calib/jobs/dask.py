"""Fits on an existing Dask cluster, and on this machine while its scheduler cannot be reached."""

from __future__ import annotations

import atexit
import pickle
import threading
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from functools import partial
from typing import Any

from calib.errors import CalibrationError
from calib.jobs.cluster_work import LOOK_SECONDS, PRIORITY, ClusterWork
from calib.jobs.connection import Connection
from calib.jobs.dask_task import Cluster
from calib.jobs.executor import NOBODY, Executor, Lane, LocalExecutor
from calib.jobs.local import WorkerDied, exception_of
from calib.jobs.place import Place
from calib.jobs.protocol import Data, Failure, Progress, Result
from calib.jobs.rounds import Rounds
from calib.jobs.subtasks import JointProgress, Parts, divided

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
