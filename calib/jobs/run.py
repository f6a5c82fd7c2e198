"""One task in a worker, wherever that is: run, followed, stopped, and its end put into a message."""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import Any

from calib.errors import CalibrationError, FitCancelled
from calib.jobs.protocol import Failure, Progress, Result
from calib.logs import trace

PROGRESS_INTERVAL = 0.05
"""Seconds between two progress messages; pages look once or twice a second."""

Report = Callable[[Progress], None]


class Run:
    """A task that is running. It is given a callback; ``callback(0, 0, nan)`` starts its time anew.

    Parameters
    ----------
    report : takes the progress, no more often than every ``PROGRESS_INTERVAL`` seconds.
    cancelled : whether the task is to stop; asked at each callback.
    """

    def __init__(self, report: Report, cancelled: Callable[[], bool]):
        self._report = report
        self._cancelled = cancelled
        self._last_progress = 0.0
        self._cpu_start = time.process_time()

    def __call__(self, call: bytes, arrays: Mapping[str, Any]) -> Result | Failure:
        """Run the pickled ``(function, args)`` on ``arrays``; whatever it raises becomes a failure."""
        try:
            with _announced(self._report):
                function, args = pickle.loads(call)
                value = function(*args, data=arrays, callback=self._callback)
            return Result(pickle.dumps(value, protocol=5), self._cpu_seconds())
        except FitCancelled:
            return Failure("cancelled", cpu_seconds=self._cpu_seconds())
        except CalibrationError as error:
            return Failure("calibration error", str(error), cpu_seconds=self._cpu_seconds())
        except BaseException as error:  # the worker must live on whatever one method does
            first_line = (str(error).strip().splitlines() or [""])[0]
            text = f"{type(error).__name__}: {first_line}"
            return Failure("unexpected", text, trace(error), self._cpu_seconds())

    def _cpu_seconds(self) -> float:
        return time.process_time() - self._cpu_start

    def _callback(self, step: int, total: int, value: float) -> None:
        if self._cancelled():
            raise FitCancelled
        if step == total == 0:
            self._cpu_start = time.process_time()
            self._report(Progress(ready=True))
            return
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_INTERVAL:
            self._last_progress = now
            message = f"Step {step} of {total}." if step <= total else f"Step {step}."
            self._report(Progress(int(step), int(total), float(value), message, self._cpu_seconds()))


class _Announcer(MetaPathFinder):
    """Says that TensorFlow is being imported, which takes seconds; it finds no module itself."""

    def __init__(self, report: Report):
        self._report = report

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname == "tensorflow":
            self._report(Progress(message="Starting TensorFlow."))


@contextmanager
def _announced(report: Report) -> Iterator[None]:
    announcer = _Announcer(report)
    sys.meta_path.insert(0, announcer)
    try:
        yield
    finally:
        sys.meta_path.remove(announcer)
