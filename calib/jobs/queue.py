"""The queue of fits and other tasks: keyed by content, so that each is computed once, followed, cancelled and kept."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calib.base import Calibrator
from calib.errors import CalibrationError, FitCancelled, reason
from calib.isolation.logs import trace
from calib.jobs.executor import Executor, Lane, LocalExecutor, Place
from calib.jobs.local import UnexpectedError, WorkerDied
from calib.jobs.protocol import Data, Progress
from calib.jobs.scheduling import QueueLimits, queue_position
from calib.jobs.spec import NO_DATA, FitSpec, Job, Record, TaskSpec, data_of, lane_of
from calib.jobs.tasks import Fitted, fit_calibrator, fit_small, plainly
from calib.registry import METHODS

log = logging.getLogger("calib.jobs")

LARGE = 1 << 20
"""Bytes from which an array is worth the comparison."""
NAMES: dict[Lane, tuple[str, str]] = {"study": ("study", "studies"), "file": ("file", "files")}
"""What waits in a lane, one and many; in all others fits do."""


def ending(job: Job, future: Future[Any]) -> dict[str, Any]:
    """What the end of a task changes in its job."""
    is_fit = isinstance(job.spec, FitSpec)
    others = "; the other methods are not affected" if is_fit else ""
    try:
        result = future.result()
    except (CancelledError, FitCancelled):
        return {"state": "cancelled", "message": "Cancelled."}
    except CalibrationError as error:
        return {"state": "failed", "message": str(error)}
    except WorkerDied as error:
        message = f"{job.spec.title} was stopped: {error}{others}. Try fewer rows, then retry."
        log.error("%s was stopped: %s", _kind(job), error)
        return {"state": "failed", "message": message}
    except Exception as error:
        text = str(error) if isinstance(error, UnexpectedError) else f"{type(error).__name__}: {reason(error)}"
        log.error("%s failed\n%s", _kind(job), error.trace if isinstance(error, UnexpectedError) else trace(error))
        message = f"{job.spec.title} failed unexpectedly: {text}{others}."
        return {"state": "failed", "message": message}
    own: dict[str, Any] = {}
    if isinstance(result, Fitted) and result.seconds == result.seconds:
        own = {"seconds": result.seconds, "cpu_seconds": result.cpu_seconds}
    message = f"{'Fitted' if is_fit else 'Done'} in {own.get('seconds', job.seconds):.1f} s."
    return {"state": "done", "fraction": 1.0, "message": message, "result": result, **own}


def _kind(job: Job) -> str:
    """What it was, for the log: titles and messages may name what belongs to somebody."""
    return job.spec.method if isinstance(job.spec, FitSpec) else job.spec.function.__name__


def share_arrays(result: Any, given: Mapping[str, Any]) -> None:
    """Replace large arrays in what a calibrator learned by those of ``given`` with the same type and content.

    A worker's answer is a copy of everything; without this, each fit kept would hold the training set once more.
    """
    result = result.calibrator if isinstance(result, Fitted) else result
    large = [array for array in given.values() if isinstance(array, np.ndarray) and array.nbytes >= LARGE]
    if large and isinstance(result, Calibrator):
        for name, value in vars(result).items():
            if name.endswith("_"):
                setattr(result, name, _shared(value, large))


def _shared(value: Any, large: list[np.ndarray]) -> Any:
    if isinstance(value, dict):
        return {key: _shared(item, large) for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.nbytes >= LARGE:
        for array in large:
            # Images are carried as rows of numbers: the same content in another shape.
            if array.dtype == value.dtype and array.size == value.size and array.flags.c_contiguous:
                same = array.reshape(value.shape)
                if np.array_equal(same, value):
                    return same
    return value


def _ignore(progress: Progress) -> None: ...


class FitQueue:
    """Fits in worker processes, keyed by content. Safe to call from many threads; no call waits for a fit.

    A :class:`TaskSpec` takes the place of a :class:`FitSpec` for what is no fit; its job has a ``result``. Owners, such
    as the visitors of a server, are served fairly; a fit that several of them want is computed once, and
    none of them ends it for the others.

    Parameters
    ----------
    executor : where fits run; worker processes on this machine by default.
    max_finished : how many finished fits are kept; the one looked at least recently goes first.
    fit : the task itself, ``fit(method, params, data=..., callback=...)``, found by module and name.
    on_done : called with each job that is done, before anybody sees that it is, so that it can be stored first.
    limits : how many tasks may wait.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        max_finished: int = 256,
        fit: Callable[..., Any] = fit_calibrator,
        on_done: Callable[[Job], None] | None = None,
        limits: QueueLimits | None = None,
    ):
        self._executor = executor or LocalExecutor()
        self._max_finished = max_finished
        self._fit = fit
        self._on_done = on_done
        self._limits = limits or QueueLimits()
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._lock = threading.RLock()
        self._warming: Future[Any] | None = None

    def submit(
        self,
        spec: FitSpec | TaskSpec,
        logits: Any,
        labels: Any,
        extras: Mapping[str, Any] | None = None,
        owner: str = "",
        address: str = "",
    ) -> str:
        """Queue a fit for an owner and return its key; one that waits, runs or is done is not queued again.

        A failed or cancelled fit is queued again, also one that is still being cancelled.

        ``extras`` holds the arrays the method ``needs``, or what else a task
        is given. The arrays are not copied and must not change until the fit is finished. What waits is counted by
        ``address`` too, where the owner asks from.

        Raises
        ------
        QueueFull
            If too many tasks wait already.
        """
        arrays = {"logits": logits, "labels": labels, **(extras or {})}
        return self.submit_data(spec, data_of(spec, arrays), owner, address)

    def submit_data(self, spec: FitSpec | TaskSpec, data: Data, owner: str = "", address: str = "") -> str:
        """:meth:`submit` with all that a task is given under one key: arrays, and whatever else can be pickled."""
        with self._lock:
            record = self._records.get(spec.key)
            stops = record is not None and record.cancelling and record.job.active
            if record is None or stops or record.job.state in ("failed", "cancelled"):
                self._start(spec, data, owner, address)
            else:
                record.owners.add(owner)
                self._executor.set_owners(record.future, record.owners)
        return spec.key

    def snapshot(self, keys: Iterable[str] | None = None, owner: str = "") -> list[Job]:
        """The jobs of these keys in this order (all if None) as an owner is told of them; unknown keys are left out."""
        with self._lock:
            wanted = list(self._records) if keys is None else [key for key in keys if key in self._records]
            if keys is not None:
                for key in wanted:
                    self._records.move_to_end(key)
            return [self._now(self._records[key], owner) for key in wanted]

    def compute(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        data: Data = NO_DATA,
        owner: str = "",
        lane: Lane = "view",
    ) -> Future[Any]:
        """Have something short computed for a page, which never waits behind a fit; the caller keeps the result.

        Parameters
        ----------
        function : called by a worker as ``function(*arguments)``, with ``data=...`` where there are arrays; found by
            module and name.
        data : large arrays that many such calls share.
        lane : another one for what takes seconds.
        """
        return self._executor.submit(
            plainly, function, *arguments, data=data, lane=lane, on_progress=_ignore, owners={owner}
        )

    def give_up(self, future: Future[Any]) -> None:
        """Stop what :meth:`compute` began."""
        self._executor.cancel(future)

    def cancel(self, key: str) -> None:
        """Ask a fit to stop, whoever wants it; within 2 s its state is ``cancelled``. Returns at once."""
        with self._lock:
            record = self._records.get(key)
            if record is None or not record.job.active:
                return
            record.cancelling = True
            record.job = replace(record.job, message="Cancelling.")
        self._executor.cancel(record.future)

    def leave(self, key: str, owner: str) -> bool:
        """Whether others want a fit that this owner wants no more; if not, and it waits or runs, it is cancelled."""
        with self._lock:
            record = self._records.get(key)
            if record is None:
                return False
            record.owners.discard(owner)
            if record.owners:
                self._executor.set_owners(record.future, record.owners)
                return True
            self.cancel(key)
            return False

    def retry(self, key: str, owner: str = "", address: str = "") -> None:
        """Queue a failed or cancelled fit again, on the data it was given; raises as :meth:`submit` does."""
        with self._lock:
            record = self._records.get(key)
            if record is not None and record.job.state in ("failed", "cancelled"):
                self._start(record.job.spec, record.data, owner, address)

    def adopt(
        self, job: Job, logits: Any = (), labels: Any = (), extras: Mapping[str, Any] | None = None, owner: str = ""
    ) -> None:
        """Take in a job for an owner as it stood when an earlier process ended, unless one of its key is here.

        One that is not done can be tried again on the arrays given.
        """
        with self._lock:
            if job.key in self._records:
                self._records[job.key].owners.add(owner)
                return
            arrays = {"logits": logits, "labels": labels, **(extras or {})}
            data = NO_DATA if job.state == "done" else data_of(job.spec, arrays)
            self._records[job.key] = Record(job, data, "fast", {owner})
            self._drop_oldest()

    def forget(self, key: str, owner: str = "") -> None:
        """Drop a fit and its result, unless others want it; cancels it first if it waits or runs."""
        with self._lock:
            if not self.leave(key, owner):
                self._records.pop(key, None)

    def warm_up(self) -> None:
        """Import in the background what fits need, so that the first ones do not wait; costs next to nothing again."""
        with self._lock:
            if self._warming is None or self._warming.done():
                methods = tuple(name for name, method in METHODS.items() if method.fast and not method.needs)
                self._warming = self._executor.submit(
                    fit_small, methods, data=NO_DATA, lane="fast", on_progress=_ignore
                )

    def rest(self) -> None:
        """End workers that have nothing to do, which frees what they hold; the next fit starts them again."""
        self._executor.rest()

    def place(self) -> Place:
        """Where fits run now; returns at once."""
        return self._executor.place()

    def shutdown(self) -> None:
        """End all workers; runs by itself when the interpreter exits."""
        self._executor.shutdown()

    def _start(self, spec: FitSpec | TaskSpec, data: Data, owner: str, address: str) -> None:
        queued = [record for record in self._records.values() if record.job.state == "queued"]
        self._limits.check([(record.owners, record.address) for record in queued], owner, address)
        before = self._records.get(spec.key)
        owners = {owner} if before is None else {owner, *before.owners}
        function, arguments = (
            (spec.function, spec.arguments)
            if isinstance(spec, TaskSpec)
            else (self._fit, (spec.method, dict(spec.params)))
        )
        record = Record(Job(spec.key, spec), data, lane_of(spec, data), owners, address=address)
        record.future = self._executor.submit(
            function,
            *arguments,
            data=data,
            lane=record.lane,
            on_progress=partial(self._progress, record),
            owners=owners,
        )
        self._records[spec.key] = record
        self._records.move_to_end(spec.key)
        record.future.add_done_callback(partial(self._finish, record))

    def _progress(self, record: Record, progress: Progress) -> None:
        with self._lock:
            job = record.job
            if not job.active:
                return  # sent before a cancellation and come after it
            if job.state == "queued" or progress.ready:
                record.started = time.monotonic()
            known = progress.total > 0
            record.job = replace(
                job,
                state="running",
                # The last hundredth is the end itself, which may come before or after ``total``.
                fraction=max(job.fraction, min(progress.step / progress.total, 0.99)) if known else job.fraction,
                step=progress.step if known else job.step,
                total=progress.total if known else job.total,
                value=progress.value if known else job.value,
                message=progress.message if progress.message and not record.cancelling else job.message,
                cpu_seconds=max(job.cpu_seconds, progress.cpu_seconds),
            )

    def _finish(self, record: Record, future: Future[Any]) -> None:
        with self._lock:
            job = self._now(record)
        changes = ending(job, future)
        share_arrays(changes.get("result"), record.data.arrays)
        if changes["state"] == "done" and self._on_done is not None:
            self._on_done(replace(job, **changes))
        with self._lock:
            record.job = replace(self._now(record), **changes)
            if record.job.state == "done":
                record.data = NO_DATA
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        finished = [key for key, record in self._records.items() if not record.job.active]
        for key in finished[: max(0, len(finished) - self._max_finished)]:
            del self._records[key]

    def _now(self, record: Record, owner: str = "") -> Job:
        job = record.job
        if job.state == "running":
            return replace(job, seconds=time.monotonic() - record.started)
        if job.state != "queued" or record.cancelling:
            return job
        return replace(job, message=self._position(record, owner))

    def _position(self, record: Record, owner: str) -> str:
        first = set(self._executor.before(record.future))
        owners = [each.owners for each in self._records.values() if each.future in first]
        return queue_position(owners, owner, NAMES.get(record.lane, ("fit", "fits")))
