"""The app as `streamlit run` serves it, with its whole log in a file, and without a browser."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT


@dataclass(frozen=True)
class Served:
    """A server that runs: where it listens, and the file that takes all it and its workers write."""

    port: int
    pid: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serve(log: Path, path: str = "", **environment: str) -> Iterator[Served]:
    """Run the app until the block ends; ``path`` is the base path it is configured with."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    with open(log, "wb") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=file, env=os.environ | environment)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}{path}", process)
            yield Served(port, process.pid, log)
        finally:
            process.terminate()
            process.wait(timeout=20)


def wait_until_healthy(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        if process.poll() is not None:
            pytest.fail(f"the app ended with {process.returncode} before it answered")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.25)
    pytest.fail("the app did not answer on its health address within a minute")
