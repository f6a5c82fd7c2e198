"""The engine: what is asked for is computed once by a worker, followed from every page, cancelled and tried again."""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from calib.engine.clusters import Cluster
from calib.engine.specs import NO_DATA, Data, FitSpec, Fitted, Job, Kind, TaskSpec, folder
from calib.engine.worker import fit_calibrator, plainly, run
from calib.errors import CalibrationError, FitCancelled, UnexpectedError, reason
from calib.isolation.logs import trace

log = logging.getLogger("calib.engine")

URGENCY: dict[Kind, int] = {"page": 4, "file": 3, "fast": 2, "slow": 1, "study": 0}
MOST_TURNS = 1_000_000
"""Tasks of one visitor never are so many that they come behind those of a lower urgency."""
GRACE = 1.0
"""Seconds that a cancelled task has to stop by itself before its worker is ended."""
DIED = (
    "Its process was ended again and again, most likely because the machine ran out of memory{}. Try fewer rows, then "
    "retry."
)
TOO_SLOW = ", or because it took more than {:,.0f} s of processor time"
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
MOST_FINISHED = 256
"""Finished fits that are kept; the one looked at least recently goes first."""
MOST_LOST = 3
"""Retries of a task after a loss that was no fault of its own, such as its scheduler's end."""


class QueueFull(CalibrationError):
    """Nothing more may wait; the text gives the limit and what to do."""


@dataclass(eq=False)
class _Task:
    """Something asked for.

    Attributes
    ----------
    kind, function, arguments, data : what is to be done.
    owners : who wants it.
    job : what pages are told; None of what a page itself waits for.
    most_seconds : processor time that it may take; 0 for any.
    priority : a worker takes the highest first.
    name : by which workers report about it.
    future : takes the result; cancelled where the task is to stop.
    sent, cluster : Dask's future of it, and where it was sent.
    started : by the monotonic clock; 0 while it waits.
    pid : of the process that has begun it, 0 from when that says that it ended; None before.
    runs : how often it was begun.
    """

    kind: Kind
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    data: Data
    owners: set[str]
    job: Job | None = None
    most_seconds: float = 0.0
    priority: int = 0
    name: str = field(default_factory=lambda: uuid4().hex)
    future: Future[Any] = field(default_factory=Future)
    sent: Any = None
    cluster: Cluster | None = None
    started: float = 0.0
    pid: int | None = None
    runs: int = 0


class Engine:
    """Fits and other tasks on workers, keyed by content. Safe to call from many threads; no call waits for a task.

    Owners are the visitors of a server. A fit that several of them want is computed once, and none of them ends it for
    the others. They take turns: of an owner who has three tasks already, the next comes behind the third of the others.
    What pages wait for is computed in the order in which it was asked for.

    Parameters
    ----------
    address : of the scheduler of a Dask cluster on which fits and studies run, then in ``cluster``; without one they
        run on workers of this machine, as what pages wait for always does.
    fit : the task of a :class:`FitSpec`, called as ``fit(method, params, data=..., callback=...)``.
    on_done : called with each job that is done, before anybody sees that it is, so that it can be stored first.
    most_waiting : tasks of one owner that may wait.
    """

    def __init__(
        self,
        address: str = "",
        *,
        fit: Callable[..., Any] = fit_calibrator,
        on_done: Callable[[Job], None] | None = None,
        most_waiting: int = 60,
    ):
        topic = f"calib-{uuid4().hex}"
        self.cluster = address
        self._topic = topic
        self._fit = fit
        self._on_done = on_done
        self._most_waiting = most_waiting
        self._here = Cluster("", topic, self._report)
        self._for_fits = Cluster(address, topic, self._report) if address else self._here
        self._tasks: OrderedDict[str, _Task] = OrderedDict()  # those with a job, by its key
        self._going: dict[str, _Task] = {}  # all that wait and run, by name
        self._lock = threading.RLock()
        self._closed = False
        folder()  # first, so that it is removed when the workers have ended
        atexit.register(self.shutdown)

    def submit(self, spec: FitSpec | TaskSpec, data: Data, owner: str = "") -> str:
        """Have a fit done for an owner and return its key; one that waits, runs or is done is not asked for again.

        A failed or cancelled fit starts again. The arrays are not copied and must not change until the fit is finished.

        Raises
        ------
        QueueFull
            If too many tasks of the owner wait already.
        """
        with self._lock:
            before = self._tasks.get(spec.key)
            if (
                before is not None
                and before.job is not None
                and before.job.state not in ("failed", "cancelled")
            ):
                before.owners.add(owner)
                return spec.key
            waiting = sum(
                owner in task.owners and task.job is not None and task.job.state == "queued"
                for task in self._going.values()
            )
            if waiting >= self._most_waiting:
                raise QueueFull(
                    f"{waiting} fits and studies of yours are waiting, and a visitor may have {self._most_waiting}. "
                    "Cancel some, or start the rest when these are done."
                )
            # Who cancelled it wants it no more.
            owners = (
                {owner} if before is None or before.future.cancelled() else {owner, *before.owners}
            )
            if isinstance(spec, TaskSpec):
                task = _Task(
                    spec.kind, spec.function, spec.arguments, data, owners, Job(spec.key, spec)
                )
            else:
                kind: Kind = "fast" if spec.fast(data.arrays["logits"].size) else "slow"
                task = _Task(
                    kind,
                    self._fit,
                    (spec.method, dict(spec.params)),
                    data,
                    owners,
                    Job(spec.key, spec),
                )
            self._tasks[spec.key] = task
            self._tasks.move_to_end(spec.key)
            self._start(task, owner)
        return spec.key

    def compute(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        data: Data = NO_DATA,
        owner: str = "",
        kind: Kind = "page",
        most_seconds: float = 0.0,
    ) -> Future[Any]:
        """Have something computed for a page, which never waits behind a fit; the caller keeps the result.

        The future's own ``cancel`` stops it.

        Parameters
        ----------
        function : called by a worker as ``function(*arguments)``, with ``data=...`` where there are arrays; found by
            module and name.
        data : large arrays that many such calls share.
        kind : another one for what takes seconds.
        most_seconds : processor time after which it is ended; 0 for any.
        """
        task = _Task(
            kind, plainly, (function, *arguments), data, {owner}, most_seconds=most_seconds
        )
        self._start(task, owner)
        return task.future

    def snapshot(self, keys: Iterable[str] | None = None) -> list[Job]:
        """The jobs of these keys in this order (all if None); unknown keys are left out."""
        with self._lock:
            present = [
                key for key in (list(self._tasks) if keys is None else keys) if key in self._tasks
            ]
            for key in present:
                self._tasks.move_to_end(key)
            return [job for key in present if (job := self._tasks[key].job) is not None]

    def cancel(self, key: str) -> None:
        """Stop a fit, whoever wants it: it counts as cancelled at once, and its worker stops or is ended after it."""
        with self._lock:
            task = self._tasks.get(key)
            if task is not None and task.job is not None and task.job.active:
                task.job = replace(task.job, state="cancelled", message="Cancelled.")
                task.future.cancel()

    def leave(self, key: str, owner: str) -> bool:
        """Release an owner's claim to a fit, and cancel it where nobody else waits for it; return whether others do.

        One that is cancelled or done stays the owner's, for :meth:`forget`; one that failed is dropped.
        """
        with self._lock:
            task = self._tasks.get(key)
            if task is None:
                return False
            if others := task.owners - {owner}:
                task.owners = others
            else:
                self.cancel(key)
                # Else the next attempt would share it.
                if task.job is not None and task.job.state == "failed":
                    del self._tasks[key]
            return bool(others)

    def forget(self, owner: str, *keys: str) -> None:
        """Drop an owner's fits, all if none is named, unless others want them; what waits or runs is cancelled."""
        with self._lock:
            for key in keys or [key for key, task in self._tasks.items() if owner in task.owners]:
                if not self.leave(key, owner):
                    self._tasks.pop(key, None)

    def adopt(self, job: Job, owner: str = "") -> None:
        """Take in a job as it stood when an earlier process ended, unless one of its key is here."""
        with self._lock:
            if job.key not in self._tasks:
                self._tasks[job.key] = _Task("fast", plainly, (), NO_DATA, set(), job)
                self._drop_oldest()
            self._tasks[job.key].owners.add(owner)

    def shutdown(self) -> None:
        """End the workers of this machine and leave a cluster as it was; runs by itself when the interpreter exits."""
        self._closed = True
        atexit.unregister(self.shutdown)
        for cluster in {self._for_fits, self._here}:
            cluster.close()

    def _start(self, task: _Task, owner: str) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError("The workers have been shut down.")
            task.priority = URGENCY[task.kind] * MOST_TURNS
            if task.kind != "page":  # of which a visitor waits for one after the other
                task.priority -= sum(
                    owner in other.owners
                    for other in self._going.values()
                    if other.kind == task.kind
                )
            self._going[task.name] = task
        task.future.add_done_callback(lambda _: _stop(task))
        threading.Thread(target=self._follow, args=(task,), name="calib-task", daemon=True).start()

    def _follow(self, task: _Task) -> None:
        """Hand a task over, wait for its end and tell of it."""
        value: Any = None
        error: BaseException | None = None
        try:
            value = self._result(task)
        except Exception as raised:
            error = CancelledError() if isinstance(raised, FitCancelled) else raised
        if task.future.cancelled() and task.sent is not None:
            self._await_end(task)
        self._settle(task, value, error)
        with self._lock:
            del self._going[task.name]
            # Else its worker would keep the result, and this process the data.
            task.sent = None
            task.data = NO_DATA
        if not task.future.set_running_or_notify_cancel():
            return
        if error is None:
            task.future.set_result(value)
        else:
            # Its frames hold all that was sent.
            task.future.set_exception(error.with_traceback(None))

    def _result(self, task: _Task) -> Any:
        from distributed.client import ClosedClientError
        from distributed.scheduler import KilledWorker

        # What pages wait for stays here: the workers of a cluster may all be at fits, and have no plotly.
        cluster = task.cluster = self._here if task.kind in ("page", "file") else self._for_fits
        call = pickle.dumps((task.function, task.arguments), protocol=5)
        resources = {} if cluster.address else {"resources": {task.kind: 1}}
        for attempt in range(1 + MOST_LOST):
            if task.future.cancelled():
                raise FitCancelled
            try:
                client = cluster.client()
                task.pid = None
                arrays = cluster.payload(task.data)
                task.sent = client.submit(
                    run,
                    call,
                    arrays,
                    task.name,
                    self._topic,
                    task.most_seconds,
                    key=f"{task.name}/{attempt}",
                    pure=False,
                    priority=task.priority,
                    **resources,
                )
                _stop(task)
                outcome = task.sent.result()
                if isinstance(outcome, Exception):
                    raise outcome
                return pickle.loads(outcome)
            except KilledWorker:
                # It ended its worker twice. Else the second was one that ended while it waited there.
                if task.runs > 1 or (attempt and task.runs):
                    break
            except (CancelledError, ClosedClientError, OSError) as error:
                if task.future.cancelled() or self._closed:
                    raise FitCancelled from None
                # On this machine it is a lost connection.
                if isinstance(error, TimeoutError) and cluster.address:
                    raise CalibrationError(
                        f"The cluster at {cluster.address} has no workers. Start some, then try again."
                    ) from error
        why = DIED.format(TOO_SLOW.format(task.most_seconds) if task.most_seconds else "")
        log.error("%s failed: %s", task.function.__name__, why)
        raise CalibrationError(why)

    def _report(self, event: tuple[float, dict[str, Any]]) -> None:
        """Take in how far a part of a task is; called by Dask's thread."""
        report = event[1]
        with self._lock:
            task = self._going.get(report["task"])
            if task is None:
                return
            task.started = task.started or time.monotonic()
            if not report["total"]:  # it begins or ends
                task.pid = report["pid"]
                task.runs += task.pid != 0
            if task.job is None or not task.job.active:
                return
            if task.job.state == "queued":
                task.job = replace(task.job, state="running", message="Starting.")
            if report["total"]:
                step = report["step"]
                total = report["total"]
                # The last hundredth is the end itself, which may come before or after ``total``.
                fraction = max(task.job.fraction, min(step / total, 0.99))
                message = f"Step {step} of {total}." if step <= total else f"Step {step}."
                task.job = replace(
                    task.job, fraction=fraction, step=step, total=total, message=message
                )

    def _settle(self, task: _Task, value: Any, error: BaseException | None) -> None:
        """Tell how a job ended."""
        job = task.job
        if job is None or job.state == "cancelled":
            return
        if task.started:
            job = replace(job, seconds=time.monotonic() - task.started)
        changes = _ending(job, value, error)
        if changes["state"] == "done" and self._on_done is not None:
            try:
                self._on_done(replace(job, **changes))
            except Exception as failed:  # such as a full disk: it is done all the same
                log.error("what is done could not be stored\n%s", trace(failed))
        with self._lock:
            if task.job is not None and task.job.state != "cancelled":
                task.job = replace(job, **changes)
            self._drop_oldest()

    def _await_end(self, task: _Task) -> None:
        """Give what was cancelled its time to stop, and end its worker if it does not."""
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and task.pid != 0:
            time.sleep(0.02)
        if task.pid and task.cluster is self._here:
            with suppress(ProcessLookupError):
                os.kill(task.pid, KILL)  # Dask starts another

    def _drop_oldest(self) -> None:
        finished = [
            key for key, task in self._tasks.items() if task.job is not None and not task.job.active
        ]
        for key in finished[: max(0, len(finished) - MOST_FINISHED)]:
            del self._tasks[key]


def _stop(task: _Task) -> None:
    """Have Dask stop a task that was cancelled: before it starts, or at its next callback."""
    # Else it is being handed over, and is stopped once it is.
    if task.future.cancelled() and task.sent is not None:
        threading.Thread(
            target=_cancel, args=(task.sent,), name="calib-cancel", daemon=True
        ).start()


def _cancel(sent: Any) -> None:
    # A connection that is being lost raises whatever its tasks make it raise.
    with suppress(Exception):
        sent.cancel()


def _ending(job: Job, value: Any, error: BaseException | None) -> dict[str, Any]:
    """Changes of a job at the end of its task."""
    is_fit = isinstance(job.spec, FitSpec)
    if error is None:
        times = (
            {"seconds": value.seconds, "cpu_seconds": value.cpu_seconds}
            if isinstance(value, Fitted)
            else {}
        )
        message = f"{'Fitted' if is_fit else 'Done'} in {times.get('seconds', job.seconds):.1f} s."
        return {
            "state": "done",
            "fraction": 1.0,
            "step": job.total,
            "message": message,
            "result": value,
            **times,
        }
    if isinstance(error, CancelledError):
        return {"state": "cancelled", "message": "Cancelled."}
    if isinstance(error, CalibrationError):
        return {"state": "failed", "message": str(error)}
    # For the log the name in the code, since titles and messages may name what belongs to somebody.
    name = job.spec.method if isinstance(job.spec, FitSpec) else job.spec.function.__name__
    text = (
        str(error)
        if isinstance(error, UnexpectedError)
        else f"{type(error).__name__}: {reason(error)}"
    )
    log.error(
        "%s failed\n%s", name, error.trace if isinstance(error, UnexpectedError) else trace(error)
    )
    return {"state": "failed", "message": f"{job.spec.title} failed unexpectedly: {text}."}
