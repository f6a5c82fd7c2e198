"""Tasks that do what a hostile file might have made a parser do; each is a reader's task in the tests beside this."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from calib.errors import CalibrationError, DataError, Finding

File = tuple[str, BinaryIO]


@dataclass(frozen=True)
class Found:
    """What a well-behaved reader gives back."""

    text: str
    values: np.ndarray
    names: tuple[str, ...]


def well(file: File, names: tuple[str, ...]) -> Found:
    """Do as it should."""
    content = np.frombuffer(file[1].read(), np.uint8)
    return Found(file[0], content.reshape(1, -1), names)


def crash(file: File) -> Found:
    """Read where nothing is."""
    ctypes.string_at(0)
    raise AssertionError


def abort(file: File) -> Found:
    """End as an exception of C++ does that nobody takes."""
    os.abort()


def spin(file: File) -> Found:
    """Never end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass


def sleep(file: File) -> Found:
    """Never end, without using the processor."""
    time.sleep(10_000)
    raise AssertionError


def take_memory(file: File) -> Found:
    """Take 60 GB."""
    kept = [np.ones(10**8) for _ in range(75)]
    raise AssertionError(len(kept))


def write_much(file: File) -> Found:
    """Hand back more than is allowed."""
    return Found("", np.zeros(10**8), ())


def other_type(file: File) -> Found:
    """Hand back something else."""
    return ("not", "found")  # type: ignore[return-value]


def sentence(file: File) -> Found:
    """Raise an error for people."""
    raise CalibrationError("One sentence.")


def finding(file: File) -> Found:
    """Raise findings."""
    raise DataError([Finding("error", "some_code", "A reason.", "An action.", {"transposed": True})])


def fault(file: File) -> Found:
    """Fail for a reason of its own."""
    raise KeyError(file[0])


def leave(file: File) -> Found:
    """End without a word."""
    os._exit(0)


def threads(file: File) -> Found:
    """Use a second thread, as Arrow does."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(file[0]))
    thread.start()
    thread.join()
    return Found(found[0], np.zeros(0), ())


def break_out(file: File, outside: str, victim: int) -> tuple[str, ...]:
    """Try everything that a reader must not do; the names of what worked."""
    tried = {
        "socket": lambda: socket.socket(),
        "pair of sockets": lambda: socket.socketpair(),
        "process": os.fork,
        "program": lambda: subprocess.Popen([sys.executable, "-c", ""]),
        "other program in place": lambda: os.execv(sys.executable, [sys.executable, "-c", ""]),
        "signal to another": lambda: os.kill(victim, 0),
        "look into another": lambda: _ptrace(victim),
        "read a file": lambda: Path(outside).read_bytes(),
        "list a folder": lambda: os.listdir(Path(outside).parent),
        "write a file": lambda: os.open(outside, os.O_WRONLY),
        "make a file": lambda: os.open(outside + ".new", os.O_CREAT | os.O_WRONLY),
        "remove a file": lambda: os.unlink(outside),
        "rename a file": lambda: os.rename(outside, outside + ".old"),
        "make a folder": lambda: os.mkdir(outside + ".folder"),
        "change a mode": lambda: os.chmod(outside, 0o777),
        "truncate": lambda: os.truncate(outside, 0),
        "write what was given": lambda: os.write(file[1].fileno(), b"changed"),
        "raise a limit": _raise_limit,
    }
    worked = []
    for name, attempt in tried.items():
        try:
            attempt()
        except (OSError, ValueError):
            continue
        if os.getpid() == os.getppid():
            os._exit(0)
        worked.append(name)
    return tuple(worked)


def _ptrace(victim: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.ptrace(16, victim, None, None) < 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "ptrace")


def _raise_limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
