"""One worker process, seen from the app: started, spoken to, ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from calib.jobs.protocol import receive, send

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


class WorkerProcess:
    """A running ``python -m calib.jobs.worker``.

    It is not made by ``multiprocessing``, whose spawn runs the page again under Streamlit.

    Parameters
    ----------
    python_path : folders to import from, beside the one that holds ``calib``.
    """

    def __init__(self, python_path: Sequence[str]):
        path = [str(PROJECT), *python_path, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._popen = subprocess.Popen(
            # -P: modules come from the path alone, not from whatever lies in the current folder.
            [sys.executable, "-P", "-m", "calib.jobs.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **TENSORFLOW, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(path)},
        )
        self._requests = cast(BinaryIO, self._popen.stdin)
        self._replies = cast(BinaryIO, self._popen.stdout)
        self.data_key: str | None = None  # of the arrays it was given last

    @property
    def pid(self) -> int:
        """Process id."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._popen.poll() is None

    def send(self, message: Any) -> None:
        """Write a message; OSError or ValueError if the process or the pipe is gone."""
        send(self._requests, message)

    def receive(self) -> Any:
        """Wait for a message; EOFError if the process is gone."""
        return receive(self._replies)

    def kill(self) -> None:
        """End it now; whoever waits in :meth:`receive` gets an EOFError."""
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
