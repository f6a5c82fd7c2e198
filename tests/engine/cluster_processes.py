"""A scheduler and two workers as processes of their own, started as people start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from tests.conftest import ROOT, wait_until

HERE = Path(__file__).resolve().parent


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Run ``python -m <arguments>``; what it logs goes to a file in the folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)])}
    with open(folder / "log", "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *arguments], env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and with it those it started."""
    process.terminate()
    try:
        process.wait(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def scheduler(folder: Path, port: int = 0) -> Iterator[str]:
    """A scheduler alone; gives its address."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    options = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--scheduler-file", str(file))
    process = start(folder, "distributed.cli.dask_scheduler", *options)
    try:
        wait_until(lambda: process.poll() is not None or (file.exists() and file.read_text().strip()))
        assert process.poll() is None, (folder / "log").read_text()
        yield json.loads(file.read_text())["address"]
    finally:
        end(process)


@contextmanager
def workers(folder: Path, address: str, count: int = 2) -> Iterator[None]:
    """Workers of one thread each, under a nanny that replaces one that dies; gives once all are there."""
    options = ("--nworkers", str(count), "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    process = start(folder, "distributed.cli.dask_worker", address, *options)
    try:
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=300)
        yield
    finally:
        end(process)
