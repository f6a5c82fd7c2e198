"""The app's server as a process with its workers: started for a measurement, watched, ended (Linux)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@contextmanager
def server(folder: Path, **environment: str) -> Iterator[tuple[str, int]]:
    """Serve the app on a port and with a workspace of its own; its address and id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.headless=true",
        f"--server.port={port}",
    ]
    given = {"CALIB_WORKSPACE": str(folder / "workspace"), **environment}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | given, stdout=log, stderr=log
        )
        try:
            _wait(f"http://127.0.0.1:{port}/_stcore/health", process)
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.25)
    raise RuntimeError("the server did not start")


@dataclass
class Watch:
    """What a process and all it started hold and use, looked at again and again.

    Attributes
    ----------
    pid : of the process.
    peak_bytes : the most they were seen to hold together.
    every : seconds between two looks.
    """

    pid: int
    peak_bytes: int = 0
    every: float = 1.0
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._ended.wait(self.every):
            self.look()

    def look(self) -> None:
        """Take note of what they hold now."""
        self.peak_bytes = max(self.peak_bytes, resident_bytes(self.pid))


def resident_bytes(pid: int, workers: bool = True) -> int:
    """Resident memory of a process, and of all that it started; of what several share, each has its part (PSS)."""
    total = 0
    for each in family(pid) if workers else [pid]:
        with suppress(OSError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def cpu_seconds(pid: int, workers: bool = True) -> float:
    """Processor time of a process, of all it started that still run, and of those that ended and were waited for."""
    total = 0
    for each in family(pid) if workers else [pid]:
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11 : 15 if workers else 13]))
    return total / TICKS


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
    found = [pid]
    for each in found:
        found.extend(child for child, parent in parents.items() if parent == each)
    return found
