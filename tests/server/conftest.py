"""The app as `streamlit run` serves it, with its whole log in a file, and without a browser."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT, wait_until


@dataclass(frozen=True)
class Served:
    """A server that runs: where it listens, and the file that takes all it and its workers write."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_app(port: int, log: Path, path: str = "", **environment: str) -> subprocess.Popen[bytes]:
    """Start the app and wait until it answers; ``path`` is the base path it is configured with."""
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.headless=true",
        f"--server.port={port}",
    ]
    with open(log, "ab") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=file, stderr=file, env=os.environ | environment
        )

    def healthy() -> bool:
        assert process.poll() is None, f"the app ended with {process.returncode}: {log.read_text()}"
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}{path}/_stcore/health", timeout=300
            ) as answer:
                return answer.read() == b"ok"
        except OSError:
            return False

    wait_until(healthy)
    return process


def where_no_name_is_looked_up(folder: Path) -> dict[str, str]:
    """Environment of a server whose resolver never answers, but for names of this machine."""
    (folder / "sitecustomize.py").write_text(SILENT_RESOLVER)  # Python runs it when it starts
    return {"PYTHONPATH": str(folder)}


SILENT_RESOLVER = """
import socket, threading
answer = socket.getaddrinfo
def getaddrinfo(host, *args, **kwargs):
    if host not in (None, "", "localhost", "127.0.0.1", "::1", "::", "0.0.0.0"):
        threading.Event().wait()
    return answer(host, *args, **kwargs)
socket.getaddrinfo = getaddrinfo
"""


@contextmanager
def serve(log: Path, path: str = "", **environment: str) -> Iterator[Served]:
    """Run the app until the block ends."""
    port = free_port()
    process = start_app(port, log, path, **environment)
    try:
        yield Served(port, process, log)
    finally:
        process.terminate()
        process.wait(timeout=300)
