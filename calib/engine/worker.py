"""Entry points of a worker: one task at a time, which reports its progress and can be cancelled."""

from __future__ import annotations

import gc
import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from calib.base import Calibrator, Progress
from calib.calibrators.backend import cpu_description
from calib.engine.specs import dumps
from calib.errors import CalibrationError, FitCancelled, UnexpectedError, reason
from calib.isolation.logs import trace, without_data
from calib.registry import calibrator

PROGRESS_INTERVAL = 0.05
"""Seconds between two reports of a task; pages look once or twice a second."""

# Fits expect a process of their own; a worker of a cluster may have many threads.
_turn = threading.Lock()


def run(
    call: bytes,
    payload: bytes | Mapping[str, Any],
    task: str,
    topic: str,
    most_seconds: float = 0.0,
) -> bytes | Exception:
    """Run a pickled ``(function, args)`` as ``function(*args, data=..., callback=...)``.

    Parameters
    ----------
    payload : arrays by name, pickled by :func:`calib.engine.specs.dumps` or as they are.
    task : its name.
    topic : under which the scheduler passes on how far it is.
    most_seconds : processor time after which the system ends this process; 0 for any.

    Returns
    -------
    The pickled value, or why there is none: returned and not raised, since Dask would log it.
    """
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    last = 0.0
    record = worker.state.tasks[worker.get_current_task()]

    def callback(step: int, total: int, value: float) -> None:
        nonlocal last
        if record.state == "cancelled":
            raise FitCancelled
        if total and time.monotonic() - last >= PROGRESS_INTERVAL:
            last = time.monotonic()
            worker.log_event(topic, {"task": task, "step": int(step), "total": int(total)})

    with _turn:
        # Waited for, since a task that holds Python's lock from its start on would keep it here.
        begun = {"task": task, "total": 0, "pid": os.getpid()}
        sync(worker.loop, worker.scheduler.log_event, topic=topic, msg=begun)
        try:
            limit_processor_time(most_seconds)
            callback(0, 0, math.nan)
            function, args = pickle.loads(call)
            arrays = pickle.loads(payload) if isinstance(payload, bytes) else payload
            return dumps(function(*args, data=arrays, callback=callback))
        except FitCancelled:
            return FitCancelled()
        except CalibrationError as error:
            return CalibrationError(str(error))
        except BaseException as error:  # the worker must live on whatever one method does
            return UnexpectedError(f"{type(error).__name__}: {reason(error)}", trace(error))
        finally:
            limit_processor_time(0.0)
            worker.log_event(topic, {"task": task, "total": 0, "pid": 0})


def limit_processor_time(seconds: float) -> None:
    """Have the system end this process when it has taken so much more, 0 for any; Windows cannot."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def dask_setup(worker: Any) -> None:
    """Prepare a worker of this machine; Dask calls it when the worker starts.

    Fits give way to pages: what a page waits for is computed at the server's own priority.
    """
    without_data()
    gc.freeze()  # collections would otherwise write to all that it shares with the process that it is a copy of
    if hasattr(os, "nice") and "page" not in worker.state.total_resources:
        os.nice(10)


def plainly(
    function: Callable[..., Any], *arguments: Any, data: Mapping[str, Any], callback: Progress
) -> Any:
    """Call a function that reports no progress, with ``data`` where there is any."""
    return function(*arguments, data=data) if data else function(*arguments)


def fit_calibrator(
    method: str, params: Mapping[str, Any], *, data: Mapping[str, Any], callback: Progress
) -> Calibrator:
    """Fit a registered method on ``data``: ``logits``, ``labels`` and the arrays the method needs."""
    extras = {name: array for name, array in data.items() if name not in ("logits", "labels")}
    fitted = calibrator(method, **params).fit(
        data["logits"], data["labels"], kind="logits", progress=callback, **extras
    )
    if not hasattr(fitted, "device_"):
        setattr(fitted, "device_", cpu_description())  # noqa: B010 - of this worker: the app may be on another machine
    return fitted
