"""The queue of fits and other tasks: each paid once, followed, cancelled and kept."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from calib.base import CalibrationError, FitCancelled
from calib.jobs.executor import Executor, Lane, LocalExecutor
from calib.jobs.job import Job
from calib.jobs.local_worker import UnexpectedError, WorkerDied
from calib.jobs.messages import Data, Progress
from calib.jobs.place import Place
from calib.jobs.spec import FitSpec, TaskSpec
from calib.jobs.tasks import fit_calibrator, fit_small
from calib.registry import METHODS

log = logging.getLogger("calib.jobs")


@dataclass(eq=False)
class _Record:
    """A job with what its next attempt needs."""

    job: Job
    data: Data
    lane: Lane
    future: Future[Any] = field(default_factory=Future)
    started: float = 0.0


class FitQueue:
    """Fits in worker processes, keyed by content. Safe to call from many threads; no call waits for a fit.

    A :class:`TaskSpec` takes the place of a :class:`FitSpec` for what is no fit; its job has a ``result``.

    Parameters
    ----------
    executor : where fits run; worker processes on this machine by default.
    max_finished : how many finished fits are kept; the one looked at least recently goes first.
    fit : the task itself, ``fit(method, params, data=..., callback=...)``, found by module and name.
    on_done : called with each job that is done, before anybody sees that it is, so that it can be stored first.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        max_finished: int = 256,
        fit: Callable[..., Any] = fit_calibrator,
        on_done: Callable[[Job], None] | None = None,
    ):
        self._executor = executor or LocalExecutor()
        self._max_finished = max_finished
        self._fit = fit
        self._on_done = on_done
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._lock = threading.RLock()
        self._warming: Future[Any] | None = None

    def submit(
        self, spec: FitSpec | TaskSpec, logits: Any, labels: Any, extras: Mapping[str, Any] | None = None
    ) -> str:
        """Queue a fit and return its key; one that waits, runs or is done is not queued again.

        A failed or cancelled fit is queued again. ``extras`` holds the arrays the method ``needs``, or what else a task
        is given. The arrays are not copied and must not change until the fit is finished.
        """
        arrays = {"logits": logits, "labels": labels, **(extras or {})}
        with self._lock:
            record = self._records.get(spec.key)
            if record is None or record.job.state in ("failed", "cancelled"):
                self._start(spec, _data(spec, arrays))
        return spec.key

    def snapshot(self, keys: Iterable[str] | None = None) -> list[Job]:
        """The jobs of these keys in this order (all if None); unknown keys are left out."""
        with self._lock:
            wanted = list(self._records) if keys is None else [key for key in keys if key in self._records]
            if keys is not None:
                for key in wanted:
                    self._records.move_to_end(key)
            return [self._now(self._records[key]) for key in wanted]

    def cancel(self, key: str) -> None:
        """Ask a fit to stop; within 2 s its state is ``cancelled``. Returns at once."""
        with self._lock:
            record = self._records.get(key)
            if record is None or not record.job.active:
                return
            record.job = replace(record.job, message="Cancelling.")
        self._executor.cancel(record.future)

    def retry(self, key: str) -> None:
        """Queue a failed or cancelled fit again, on the data it was given."""
        with self._lock:
            record = self._records.get(key)
            if record is not None and record.job.state in ("failed", "cancelled"):
                self._start(record.job.spec, record.data)

    def adopt(self, job: Job, logits: Any = (), labels: Any = (), extras: Mapping[str, Any] | None = None) -> None:
        """Take in a job as it stood when an earlier process ended, unless one of its key is here.

        One that is not done can be tried again on the arrays given.
        """
        with self._lock:
            if job.key not in self._records:
                arrays = {"logits": logits, "labels": labels, **(extras or {})}
                data = Data("", {}) if job.state == "done" else _data(job.spec, arrays)
                self._records[job.key] = _Record(job, data, "fast")
                self._drop_oldest()

    def forget(self, key: str) -> None:
        """Drop a fit and its result; cancels it first if it waits or runs."""
        self.cancel(key)
        with self._lock:
            self._records.pop(key, None)

    def warm_up(self) -> None:
        """Start the workers and TensorFlow in the background, so that the first fits do not wait for them."""
        with self._lock:
            if self._warming is not None:
                return
            self._warming = self._warm("slow")
            self._warm("fast")

    def place(self) -> Place:
        """Where fits run now; returns at once."""
        return self._executor.place()

    def shutdown(self) -> None:
        """End all workers; runs by itself when the interpreter exits."""
        self._executor.shutdown()

    def _warm(self, lane: Lane) -> Future[Any]:
        def ignore(progress: Progress) -> None: ...

        methods = tuple(name for name, method in METHODS.items() if not method.needs and _lane(method.fast) == lane)
        return self._executor.submit(fit_small, methods, data=Data("", {}), lane=lane, on_progress=ignore)

    def _start(self, spec: FitSpec | TaskSpec, data: Data) -> None:
        if isinstance(spec, TaskSpec):
            lane: Lane = "study"
            function, arguments = spec.function, spec.arguments
        else:
            lane = _lane(spec.fast(data.arrays["logits"].size))
            function, arguments = self._fit, (spec.method, dict(spec.params))
        record = _Record(Job(spec.key, spec), data, lane)
        record.future = self._executor.submit(
            function,
            *arguments,
            data=data,
            lane=record.lane,
            on_progress=partial(self._progress, record),
        )
        self._records[spec.key] = record
        self._records.move_to_end(spec.key)
        record.future.add_done_callback(partial(self._finish, record))

    def _progress(self, record: _Record, progress: Progress) -> None:
        with self._lock:
            job = record.job
            if not job.active:
                return  # sent before a cancellation and come after it
            if job.state == "queued":
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
                message=progress.message if progress.message and job.message != "Cancelling." else job.message,
                cpu_seconds=max(job.cpu_seconds, progress.cpu_seconds),
            )

    def _finish(self, record: _Record, future: Future[Any]) -> None:
        with self._lock:
            job = self._now(record)
        changes = _ending(job, future)
        if changes["state"] == "done" and self._on_done is not None:
            self._on_done(replace(job, **changes))
        with self._lock:
            record.job = replace(self._now(record), **changes)
            if record.job.state == "done":
                record.data = Data("", {})
            self._drop_oldest()
            if record.job.state != "done" and self._warming is not None and record.lane == "slow":
                self._rewarm()

    def _rewarm(self) -> None:
        """Start TensorFlow again, for the case that the worker had to be killed; costs nothing if it lives on."""
        try:
            self._warming = self._warm("slow")
        except RuntimeError:
            return  # shut down

    def _drop_oldest(self) -> None:
        finished = [key for key, record in self._records.items() if not record.job.active]
        for key in finished[: max(0, len(finished) - self._max_finished)]:
            del self._records[key]

    def _now(self, record: _Record) -> Job:
        job = record.job
        if job.state == "running":
            return replace(job, seconds=time.monotonic() - record.started)
        if job.state == "queued" and record.lane == "slow" and self._warming is not None and not self._warming.done():
            return replace(job, message="Waiting: TensorFlow is starting.")
        return job


def _data(spec: FitSpec | TaskSpec, arrays: Mapping[str, Any]) -> Data:
    # Methods that need the same arrays share one transfer of them.
    return Data(f"{spec.data_key} {sorted(arrays)}", {k: np.asarray(v) for k, v in arrays.items()})


def _lane(fast: bool) -> Lane:
    return "fast" if fast else "slow"


def _ending(job: Job, future: Future[Any]) -> dict[str, Any]:
    """What the end of a fit changes in its job."""
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
        log.error("%s", message)
        return {"state": "failed", "message": message}
    except Exception as error:
        text = str(error) if isinstance(error, UnexpectedError) else f"{type(error).__name__}: {error}"
        log.error("%s failed\n%s", job.spec.title, getattr(error, "trace", text))
        message = f"{job.spec.title} failed unexpectedly: {text}{others}."
        return {"state": "failed", "message": message}
    message = f"{'Fitted' if is_fit else 'Done'} in {job.seconds:.1f} s."
    return {"state": "done", "fraction": 1.0, "message": message, "result": result}
