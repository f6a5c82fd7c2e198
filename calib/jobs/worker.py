"""The worker process: ``python -m calib.jobs.worker``, started and fed by :class:`LocalExecutor`.

It reads messages on its standard input and answers on its standard output, one task at a time, and ends when
its input closes, so it never outlives the app.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from importlib.abc import MetaPathFinder
from typing import Any, BinaryIO

from calib.base import CalibrationError, FitCancelled
from calib.jobs.messages import Cancel, Data, Failure, Progress, Result, Task, receive, send
from calib.quiet_start import quiet_start

PROGRESS_INTERVAL = 0.05
"""Seconds between two progress messages; pages look once or twice a second."""

NICE = 10


class Worker:
    """Runs tasks on the main thread while another thread listens for cancellations.

    Parameters
    ----------
    requests, replies : the two ends of the pipe to the app.
    """

    def __init__(self, requests: BinaryIO, replies: BinaryIO):
        self._requests = requests
        self._replies = replies
        self._inbox: queue.SimpleQueue[Data | Task] = queue.SimpleQueue()
        self._cancelled = -1
        self._data = Data("", {})
        self._task = -1
        self._last_progress = 0.0
        self._cpu_start = 0.0

    def serve(self) -> None:
        """Work until the app closes the pipe."""
        sys.meta_path.insert(0, _Announcer(self))
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            request = self._inbox.get()
            if isinstance(request, Data):
                self._data = request
            else:
                send(self._replies, self._run(request))

    def report(self, progress: Progress) -> None:
        """Tell the app where the task stands."""
        send(self._replies, progress)

    def _listen(self) -> None:
        try:
            while True:
                request = receive(self._requests)
                if isinstance(request, Cancel):
                    self._cancelled = request.number
                else:
                    self._inbox.put(request)
        finally:
            # The app is gone. The main thread may be deep in C code, so do not wait for it.
            os._exit(0)

    def _run(self, task: Task) -> Result | Failure:
        self._task, self._last_progress, self._cpu_start = task.number, 0.0, time.process_time()
        try:
            function, args = pickle.loads(task.call)
            value = function(*args, data=self._data.arrays, callback=self._callback)
            return Result(pickle.dumps(value, protocol=5), self._cpu_seconds())
        except FitCancelled:
            return Failure("cancelled", cpu_seconds=self._cpu_seconds())
        except CalibrationError as error:
            return Failure("calibration error", str(error), cpu_seconds=self._cpu_seconds())
        except BaseException as error:  # the worker must live on whatever one method does
            first_line = (str(error).strip().splitlines() or [""])[0]
            text = f"{type(error).__name__}: {first_line}"
            return Failure("unexpected", text, traceback.format_exc(), self._cpu_seconds())

    def _cpu_seconds(self) -> float:
        return time.process_time() - self._cpu_start

    def _callback(self, step: int, total: int, value: float) -> None:
        if self._cancelled == self._task:
            raise FitCancelled
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_INTERVAL:
            self._last_progress = now
            message = f"Step {step} of {total}." if step <= total else f"Step {step}."
            self.report(Progress(int(step), int(total), float(value), message, self._cpu_seconds()))


class _Announcer(MetaPathFinder):
    """Says that TensorFlow is being imported, which takes seconds; it finds no module itself."""

    def __init__(self, worker: Worker):
        self._worker = worker

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname == "tensorflow":
            self._worker.report(Progress(message="Starting TensorFlow."))


def main() -> None:
    """Keep the pipe for messages alone, then serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the app ends us
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # a print, in Python or in C, goes to the log and not into the pipe
    quiet_start()
    if hasattr(os, "nice"):
        os.nice(NICE)
    Worker(requests, replies).serve()


if __name__ == "__main__":
    main()
