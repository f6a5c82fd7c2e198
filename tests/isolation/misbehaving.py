"""Tasks that do what a hostile file might have made a parser do; each is a reader's task in the tests beside this."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from calib.errors import CalibrationError, DataError, Finding

if os.name == "posix":
    import fcntl
    import resource

FIONREAD = 0x541B
"""Of ioctl(2)."""

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
    raise DataError([Finding("error", "some_code", "A reason.", "An action.", {"header": True})])


def fault(file: File) -> Found:
    """Fail for a reason of its own."""
    raise KeyError(file[0])


def leave(file: File) -> Found:
    """End without a word."""
    os._exit(0)


def writable(file: File) -> int:
    """How many files that take memory can be written to."""
    written = 0
    for number in range(3, 64):
        try:
            written += os.pwrite(number, b"x", 0)  # where its answer will be
        except OSError:
            continue
    return written


def break_out(file: File, outside: str, victim: int) -> tuple[str, ...]:
    """Try everything that a reader must not do; the names of what worked."""
    given = file[1].fileno()
    tried: dict[str, Callable[[], object]] = {
        "socket": lambda: socket.socket(),
        "pair of sockets": lambda: socket.socketpair(),
        "pipe": os.pipe,
        "process": os.fork,
        "program": lambda: subprocess.Popen([sys.executable, "-c", ""]),
        "other program in place": lambda: os.execv(sys.executable, [sys.executable, "-c", ""]),
        "signal to another": lambda: os.kill(victim, 0),
        "signal to another's thread": lambda: _call("tgkill", victim, victim, 0),
        "look into another": lambda: _call("ptrace", 16, victim, 0, 0),  # PTRACE_ATTACH
        "read a file": lambda: Path(outside).read_bytes(),
        "list a folder": lambda: os.listdir(Path(outside).parent),
        "write a file": lambda: os.open(outside, os.O_WRONLY),
        "make a file": lambda: os.open(outside + ".new", os.O_CREAT | os.O_WRONLY),
        "make a file without a name": lambda: os.open(
            Path(outside).parent, os.O_TMPFILE | os.O_RDWR
        ),
        "remove a file": lambda: os.unlink(outside),
        "rename a file": lambda: os.rename(outside, outside + ".old"),
        "make a folder": lambda: os.mkdir(outside + ".folder"),
        "change a mode": lambda: os.chmod(outside, 0o777),
        "change the mode of what was given": lambda: os.chmod(given, 0o777),
        "truncate": lambda: os.truncate(outside, 0),
        "change a time": lambda: os.utime(outside),
        "change the time of what was given": lambda: os.utime(given),
        "name an attribute": lambda: os.setxattr(given, "user.calib", b"changed"),
        "write what was given": lambda: os.write(given, b"changed"),
        "lock what was given": lambda: fcntl.flock(given, fcntl.LOCK_EX),
        "be told of what was given": lambda: fcntl.fcntl(given, fcntl.F_SETOWN, victim),
        "be told of it by another signal": lambda: fcntl.fcntl(
            given, fcntl.F_SETSIG, signal.SIGKILL
        ),
        "lease what was given": lambda: fcntl.fcntl(given, fcntl.F_SETLEASE, fcntl.F_RDLCK),
        "control a device": lambda: fcntl.ioctl(given, FIONREAD, bytes(4)),
        "raise a limit": lambda: resource.setrlimit(
            resource.RLIMIT_AS, resource.getrlimit(resource.RLIMIT_AS)
        ),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, victim, 5),
        "own priority": lambda: os.nice(0),
        "processors of another": lambda: os.sched_setaffinity(victim, os.sched_getaffinity(0)),
        "own processors": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
        "scheduler": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
        "memory in a file": lambda: os.memfd_create("memory"),
        "memory of all": lambda: _call("shmget", 0, 4096, 0o1600),
        "live on when the server is gone": lambda: _call(
            "prctl", 1, 0, 0, 0, 0
        ),  # PR_SET_PDEATHSIG
        "alarm": lambda: signal.setitimer(signal.ITIMER_REAL, 1000.0),
        "other personality": lambda: _call("personality", 0),
        "own namespace": lambda: _call("unshare", 0x10000000),  # CLONE_NEWUSER
        "events": lambda: _call("inotify_init"),
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


def answered(
    file: File, allowed: tuple[int, ...], fcntl_number: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of the system calls that the kernel answered though they are not allowed, and commands of fcntl."""
    libc = ctypes.CDLL(None, use_errno=True)

    def error(*arguments: int) -> int:
        ctypes.set_errno(0)
        libc.syscall(*map(ctypes.c_long, arguments))
        return ctypes.get_errno()

    calls = tuple(
        n for n in range(1000) if n not in allowed and error(n, *[-1] * 6) != errno.ENOSYS
    )
    commands = tuple(
        n for n in range(1100) if error(fcntl_number, file[1].fileno(), n, 0) != errno.EPERM
    )
    return calls, commands


def _call(name: str, *arguments: int) -> None:
    """A function of the C library."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), name)
