"""Messages between the app and a worker, and how a worker runs a task.

A message is a pickle (protocol 5) followed by the arrays it holds, whose bytes go into the pipe straight from
memory; those in memory that both ends map stay there. Only the two ends of our own pipe ever read it; nothing that was
uploaded is unpickled here.
"""

from __future__ import annotations

import pickle
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from typing import Any, BinaryIO, Literal

from calib.errors import CalibrationError, FitCancelled, reason
from calib.isolation.logs import trace
from calib.jobs.shared import dumps

PROGRESS_INTERVAL = 0.05
"""Seconds between two progress messages; pages look once or twice a second."""


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays that many tasks use. Sent when they change; a worker keeps the last ones it was given."""

    key: str
    arrays: Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """A pickled ``(function, args)``; pickled apart, so that one that cannot be read fails alone."""

    number: int
    call: bytes


@dataclass(frozen=True)
class Cancel:
    """Ask the task of this number to stop at its next callback."""

    number: int


@dataclass(frozen=True)
class Progress:
    """Where a running task stands; ``total`` is 0 while it has no number of steps.

    ``ready`` says that only now the task itself begins: what the worker needed to start is behind it.
    """

    step: int = 0
    total: int = 0
    value: float = float("nan")
    message: str = ""
    cpu_seconds: float = 0.0
    ready: bool = False


@dataclass(frozen=True)
class Result:
    """The pickled return value of a task."""

    value: bytes
    cpu_seconds: float


@dataclass(frozen=True)
class Failure:
    """Why a task has no result; ``text`` is one sentence, ``trace`` is for the log."""

    kind: Literal["cancelled", "calibration error", "unexpected"]
    text: str = ""
    trace: str = ""
    cpu_seconds: float = 0.0


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message and flush."""
    arrays: list[memoryview] = []
    head = dumps(message, lambda buffer: arrays.append(buffer.raw()))
    parts = [memoryview(head), *arrays]
    stream.write(struct.pack(f"<I{len(parts)}Q", len(parts), *(part.nbytes for part in parts)))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; raises EOFError where the other end is gone."""
    (count,) = struct.unpack("<I", _read(stream, 4))
    sizes = struct.unpack(f"<{count}Q", _read(stream, 8 * count))
    head, *arrays = [_read(stream, size) for size in sizes]
    return pickle.loads(head, buffers=arrays)


def _read(stream: BinaryIO, size: int) -> bytearray:
    buffer = bytearray(size)
    view, filled = memoryview(buffer), 0
    while filled < size:
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other end of the pipe is closed")
        filled += count
    return buffer


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
            text = f"{type(error).__name__}: {reason(error)}"
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
