"""Worker processes of this machine, each with the thread of the app that feeds it."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from calib.errors import CalibrationError, FitCancelled
from calib.jobs.protocol import Cancel, Data, Failure, Progress, Result, Task, receive, send
from calib.jobs.scheduling import FairQueue

PROJECT = Path(__file__).resolve().parents[2]

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
    ),
    "1",
)
"""One thread a worker: fits are small, and a second thread slows them and the pages."""

TENSORFLOW = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
"""Quiet, and content with the GPU memory it needs."""

GRACE = 1.0
"""Seconds that a cancelled task has to stop by itself before its process is killed."""


class WorkerProcess:
    """A running ``python -m calib.jobs.worker``.

    It is not made by ``multiprocessing``, whose spawn runs the page again under Streamlit.

    Parameters
    ----------
    python_path : folders to import from, beside the one that holds ``calib``.
    nice : by how much its priority is below this process's.
    """

    def __init__(self, python_path: Sequence[str], nice: int):
        path = [str(PROJECT), *python_path, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._popen = subprocess.Popen(
            # -P: modules come from the path alone, not from whatever lies in the current folder.
            [sys.executable, "-P", "-m", "calib.jobs.worker", str(nice)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **TENSORFLOW, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(path)},
        )
        self._requests = cast(BinaryIO, self._popen.stdin)
        self._replies = cast(BinaryIO, self._popen.stdout)
        self._killed = False
        self.data_key: str | None = None  # of the arrays it was given last

    @property
    def pid(self) -> int:
        """Process id."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs, and goes on: one that was killed lives on for a moment."""
        return not self._killed and self._popen.poll() is None

    def send(self, message: Any) -> None:
        """Write a message; OSError or ValueError if the process or the pipe is gone."""
        send(self._requests, message)

    def receive(self) -> Any:
        """Wait for a message; EOFError if the process is gone."""
        return receive(self._replies)

    def kill(self) -> None:
        """End it now; whoever waits in :meth:`receive` gets an EOFError."""
        self._killed = True
        self._popen.kill()

    def close(self, patience: float = 0.0) -> int:
        """Make sure that it has ended, close its pipes and return its exit code.

        Parameters
        ----------
        patience : seconds to let it end by itself, so that the exit code is its own.
        """
        try:
            code = self._popen.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            code = self._popen.wait()
        for stream in (self._requests, self._replies):
            with suppress(OSError):  # bytes that were still to be written have no reader any more
                stream.close()
        return code


class WorkerDied(Exception):
    """The worker process ended in the middle of a task; the text is a sentence."""


class UnexpectedError(Exception):
    """A task raised something that was not meant for people; ``trace`` is its traceback."""

    def __init__(self, text: str, trace: str):
        super().__init__(text)
        self.trace = trace


@dataclass(eq=False)
class Work:
    """A task on its way: what to run, on what, and who wants to know."""

    number: int
    call: bytes
    data: Data
    on_progress: Callable[[Progress], None]
    future: Future[Any] = field(default_factory=Future)
    cancel_requested: bool = False


class LocalWorker:
    """A thread that takes work from a lane, fairly to owners, and has it done by a process of its own.

    The process starts with the first task, is replaced when it dies or has to be killed, and ends when idle.
    """

    def __init__(
        self,
        lane: FairQueue[Future[Any], Work],
        idle_seconds: float,
        python_path: Sequence[str],
        nice: int,
    ):
        self._lane = lane
        self._idle_seconds = idle_seconds
        self._python_path = python_path
        self._nice = nice
        self._process: WorkerProcess | None = None
        self._current: Work | None = None
        self._state_lock = threading.Lock()  # guards _current and _process
        self._send_lock = threading.Lock()
        self._stopping = False
        self._resting = False
        self._thread = threading.Thread(target=self._serve, name="calib-fit", daemon=True)
        self._thread.start()

    def cancel(self, future: Future[Any]) -> None:
        """Cancel the task if it is the one running here; returns at once."""
        with self._state_lock:
            work = self._current
            if work is None or work.future is not future or work.cancel_requested:
                return
            work.cancel_requested = True
        timer = threading.Timer(GRACE, self._kill, (work,))
        timer.daemon = True
        timer.start()
        # While data are still being sent the lock is taken; then the timer does it.
        if self._send_lock.acquire(blocking=False):
            try:
                with self._state_lock:
                    process = self._process if self._current is work else None
                if process is not None:
                    process.send(Cancel(work.number))
            except (OSError, ValueError):
                pass  # the process is gone or its pipe closed, and the thread that reads from it will notice
            finally:
                self._send_lock.release()

    def rest(self) -> None:
        """End the process as soon as it has nothing to do, unless :meth:`wake` comes first."""
        with self._state_lock:
            self._resting = True
            if self._current is not None:
                return
            process, self._process = self._process, None
        if process is not None:
            process.close()

    def wake(self) -> None:
        """Keep the process, for somebody is there."""
        self._resting = False

    def stop(self) -> None:
        """End the process, and the thread once its lane is closed."""
        self._stopping = True
        with self._state_lock:
            if self._current is not None:
                self._current.cancel_requested = True
            if self._process is not None:
                self._process.kill()

    def join(self) -> None:
        """Wait until the thread has ended, for a few seconds at most."""
        self._thread.join(timeout=5.0)

    def _serve(self) -> None:
        while not self._stopping:
            try:
                work = self._lane.get(timeout=self._idle_seconds)
            except queue.Empty:
                self._end_process()
                continue
            if work is None:
                break
            # First, so that a future that runs can always be found here and cancelled.
            self._set_current(work)
            if work.future.set_running_or_notify_cancel():
                self._do(work)
            if self._resting and not self._lane.order():
                self._end_process()
            self._set_current(None)
            del work  # it holds the data
        self._end_process()

    def _set_current(self, work: Work | None) -> None:
        with self._state_lock:
            self._current = work

    def _do(self, work: Work) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            work.on_progress(Progress(message="Starting."))
            reply = self._converse(work)
            work.on_progress(Progress(cpu_seconds=reply.cpu_seconds))
            if isinstance(reply, Result):
                result = pickle.loads(reply.value)
            else:
                error = exception_of(reply)
        except (OSError, EOFError):
            code = self._end_process(patience=0.5)
            error = FitCancelled() if work.cancel_requested else WorkerDied(_cause_of_death(code))
        except Exception as raised:
            self._end_process()  # whatever it was, the two ends may no longer agree
            error = raised
        self._set_current(None)  # a cancellation that comes now is too late
        if error is None:
            work.future.set_result(result)
        else:
            work.future.set_exception(error)

    def _converse(self, work: Work) -> Result | Failure:
        process = self._started_process()
        if work.cancel_requested or self._stopping:
            return Failure("cancelled")
        with self._send_lock:
            if process.data_key != work.data.key:
                process.send(work.data)
                process.data_key = work.data.key
            process.send(Task(work.number, work.call))
        while True:
            reply = process.receive()
            if not isinstance(reply, Progress):
                return reply
            work.on_progress(reply)

    def _started_process(self) -> WorkerProcess:
        if self._process is not None and not self._process.alive:
            self._end_process()  # it died while idle
        with self._state_lock:
            if self._process is None:
                self._process = WorkerProcess(self._python_path, self._nice)
            return self._process

    def _end_process(self, patience: float = 0.0) -> int:
        with self._state_lock:
            process, self._process = self._process, None
        return process.close(patience) if process is not None else 0

    def _kill(self, work: Work) -> None:
        with self._state_lock:
            if self._current is work and self._process is not None:
                self._process.kill()


def exception_of(failure: Failure) -> Exception:
    """What a future fails with."""
    if failure.kind == "cancelled":
        return FitCancelled()
    if failure.kind == "calibration error":
        return CalibrationError(failure.text)
    return UnexpectedError(failure.text, failure.trace)


def _cause_of_death(code: int) -> str:
    if code == -9:
        return "its process was killed, most likely because the machine ran out of memory"
    return f"its process ended with exit code {code}"
