"""What a worker of a Dask cluster runs, and the marks on the scheduler that it shares with the app.

A mark is a ``distributed.Event``: the scheduler keeps it, so it outlives the worker that set it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, Literal

from calib.jobs.local import WorkerDied
from calib.jobs.process import ONE_THREAD, TENSORFLOW
from calib.jobs.protocol import Failure, Progress, Result
from calib.jobs.run import Run
from calib.quiet_start import quiet_start

LOOK_INTERVAL = 0.25
"""Seconds between two questions to the scheduler whether the task is cancelled."""

Mark = Literal["first start", "second start", "cancel"]
MARKS: tuple[Mark, ...] = ("first start", "second start", "cancel")

DIED_TWICE = "its worker on the cluster died, and so did the one that tried again"

_one_at_a_time = threading.Lock()  # fits expect a process of their own; a worker may have many threads


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
