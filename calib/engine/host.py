"""The workers of this machine: ``python -m calib.engine.host FOLDER``, started by the engine.

The scheduler and its workers live beside the server, not in it, and end with it: when the server's end of the pipe
closes, all processes are ended, and the folder of shared arrays is removed where the server was killed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Any

import dask
from distributed import Nanny, Scheduler, Security, utils
from distributed.system import MEMORY_LIMIT

from calib.engine.clusters import PLACES

LONGEST = 70
"""Characters of the folder in which the fork server has its socket, whose path has at most 107."""
START = "forkserver" if sys.platform == "linux" else "spawn"
IMPORTED = [
    *("distributed.nanny", "calib.engine.worker", "calib.diagnostics.judgement", "pandas"),
    *("scipy.interpolate", "scipy.optimize", "scipy.sparse.linalg", "scipy.special", "scipy.stats"),
]
"""Modules that Linux's fork server imports once for all workers: one then starts in .1 s and not in 3."""
SETTINGS: dict[str, Any] = {
    "distributed.worker.multiprocessing-method": START,
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.worker-ttl": None,  # nor is a worker lost that holds Python's lock for minutes
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    # Nobody looks at Dask's own measurements, which keep idle processes busy.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "10 s",
    "distributed.admin.system-monitor.interval": "10 s",
}
ENVIRONMENT = {
    # One thread a worker: fits are small, and a second thread slows them and the pages.
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
        "1",
    ),
    **dict.fromkeys(("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1"),
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}


async def serve() -> None:
    """Start all, say where on standard output, and wait until standard input closes or a worker cannot be restarted."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a print, in Python or in C, goes to the log and not into the pipe
    security = Security.temporary()  # others on this machine must not send tasks, which are code
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    common: dict[str, Any] = {
        "host": "127.0.0.1",
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",
        "security": security,
    }
    scheduler = await Scheduler(port=0, **common)
    nannies = [
        Nanny(
            scheduler.address,
            nthreads=1,
            memory_limit=MEMORY_LIMIT // 2,
            resources=dict.fromkeys(kinds, 1),
            preload=["calib.engine.worker"],
            silence_logs=logging.CRITICAL,
            **common,
        )
        for kinds in PLACES
    ]
    if START == "forkserver":
        utils._forkserver_preload_set = (
            True  # or Dask would import pandas and others here, to see which are there
        )
        utils.get_mp_context().set_forkserver_preload(IMPORTED)
    await asyncio.gather(*nannies)
    keys = {
        name: getattr(security, name)
        for name in ("tls_ca_file", "tls_client_key", "tls_client_cert")
    }
    print(json.dumps({"address": scheduler.address, "security": keys}), file=output, flush=True)
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()

    def wait_for_server() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(gone.set)

    threading.Thread(target=wait_for_server, daemon=True).start()
    # A nanny ends when the worker it starts anew does not come up: then all end, and the engine starts another host.
    ends = [
        asyncio.ensure_future(end)
        for end in (gone.wait(), *(nanny.finished() for nanny in nannies))
    ]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)


def main() -> None:
    """Run until the server is gone."""
    folder = sys.argv[1]
    server = os.getppid()
    os.environ.update(ENVIRONMENT)
    if len(tempfile.gettempdir()) > LONGEST and Path("/tmp").is_dir():
        tempfile.tempdir = "/tmp"
    try:
        with dask.config.set({**SETTINGS, "temporary-directory": folder}):
            asyncio.run(serve())
    finally:
        # The fork server's, which is killed below.
        shutil.rmtree(get_temp_dir(), ignore_errors=True)
        if os.getppid() != server:  # it was killed, and removes nothing itself
            shutil.rmtree(folder, ignore_errors=True)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            # Nothing else ends a worker whose task holds Python's lock.
            os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
