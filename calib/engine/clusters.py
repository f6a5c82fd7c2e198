"""Workers of tasks: processes of this machine, or a Dask cluster at the address of its scheduler."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from calib.engine.specs import Data, Kind, dumps, folder
from calib.errors import CalibrationError

PROJECT = Path(__file__).resolve().parents[2]
PLACES: tuple[tuple[Kind, ...], ...] = (
    ("page",), ("page",), ("file", "fast"), ("file", "fast", "slow"), ("slow", "study"),
)  # fmt: skip
"""Tasks for each worker of this machine: a page never waits behind a fit, nor a fast fit behind slow ones alone."""
CONNECT_SECONDS = 5.0
START_SECONDS = 60.0
Receive = Callable[[tuple[float, dict[str, Any]]], None]


class Cluster:
    """A scheduler with its workers, to which the connection is made with the first task, and anew where it is lost.

    Parameters
    ----------
    address : of the scheduler, such as ``tcp://host:8786``; empty for workers of this machine, in processes of their
        own that end with this one.
    topic, receive : under which workers report, and what takes the reports.
    """

    def __init__(self, address: str, topic: str, receive: Receive):
        self.address = address
        self._topic = topic
        self._receive = receive
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Any = None
        self._failed = 0.0  # when the last attempt to connect did, by the monotonic clock
        self._scattered: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._lock = threading.Lock()

    def client(self) -> Any:
        """Dask's client; waits for the scheduler.

        Raises
        ------
        CalibrationError
            If it cannot be reached.
        """
        begun = time.monotonic()
        with self._lock:
            if self._client is None or self._client.status != "running":
                self._leave()
                try:
                    if self._failed > begun:  # while this caller waited
                        raise TimeoutError
                    self._client = self._connected()
                except Exception as error:  # transports have errors of their own
                    self._failed = time.monotonic()
                    scheduler = (
                        f"The scheduler at {self.address}"
                        if self.address
                        else "The app's own scheduler"
                    )
                    raise CalibrationError(
                        f"{scheduler} cannot be reached. Start it, then try again."
                    ) from error
                self._client.subscribe_topic(self._topic, self._receive)
            return self._client

    def payload(self, data: Data) -> Any:
        """The arrays of a task as they are sent: on this machine where they are; to a cluster once for all tasks."""
        if not self.address or not data.arrays:
            return dumps(dict(data.arrays))
        client = self.client()
        with self._lock:
            future = self._scattered.get(data.key)
            if future is None or future.status != "finished":
                # In a list, because of a dict each value would be scattered by itself. No hash: the key is one.
                (future,) = client.scatter([dict(data.arrays)], hash=False)
                self._scattered[data.key] = future
            return future

    def close(self) -> None:
        """End the workers of this machine; leave a cluster as it was."""
        with self._lock:
            self._leave()

    def _connected(self) -> Any:
        import dask
        from distributed import Client, Security

        # What a page has computed travels with the call; of some hundred thousand rows that is more than 10 MB.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
        common: dict[str, Any] = {"set_as_default": False, "name": "calib"}
        if self.address:
            return Client(self.address, timeout=CONNECT_SECONDS, **common)
        path = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
        # Not made by multiprocessing, whose spawn runs the page again under Streamlit. -P: modules come from the path
        # alone, not from whatever lies in the current folder.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "calib.engine.host", str(folder())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            start_new_session=True,  # so that all that it starts can be ended with it, and Ctrl-C does not reach it
        )
        assert self._process.stdout is not None
        where = json.loads(self._process.stdout.readline())
        security = Security(require_encryption=True, **where["security"])
        return Client(
            where["address"],
            security=security,
            direct_to_workers=True,
            timeout=START_SECONDS,
            **common,
        )

    def _leave(self) -> None:
        client, self._client = self._client, None
        process, self._process = self._process, None
        self._scattered.clear()
        if client is not None:
            with suppress(Exception):  # whatever is wrong with it, it ends
                client.close(timeout=2)
        if process is not None and process.stdin is not None and process.stdout is not None:
            process.stdin.close()
            process.stdout.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            process.kill()
            process.wait()
            if hasattr(os, "killpg"):
                with suppress(ProcessLookupError):  # there is nobody left, as it should be
                    os.killpg(process.pid, signal.SIGKILL)
