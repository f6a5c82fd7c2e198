"""The process that readers are copies of: ``python -m calib.isolation.server FD MODULE...``.

It loads the modules, never looks at a file itself, and makes a copy of itself for each: that takes milliseconds,
where a new Python takes a second. A copy restricts itself, reads one file, writes what it found, and ends. The process
has one thread, so no copy finds a lock held.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from typing import Any, get_args, get_type_hints

from calib.errors import CalibrationError, DataError, Finding
from calib.isolation.codec import read_message, write_message
from calib.isolation.logs import trace
from calib.isolation.sandbox import Limits, readable_folders, restrict

STARTED = b"s"
STATUS = struct.Struct("<i")
"""What the app is told of a reader: that it started, and how it ended, as ``os.waitstatus_to_exitcode`` says it."""
MOST_FILES = 32
MAX_REQUEST = 4096
FAULT = 70
"""Exit status of a reader that could not even write what went wrong."""


@dataclass(frozen=True)
class Raised:
    """An error for people: findings of an upload, or a sentence."""

    sentence: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Fault:
    """An error of ours, with its traceback."""

    trace: str


Outcome = tuple[Any, Raised | None, Fault | None]
"""What a reader hands back: the task's result, or why there is none."""


def outcome_type(result: Any) -> Any:
    """The type of the outcome of a task whose result has this type."""
    return tuple.__class_getitem__((result | None, *get_args(Outcome)[1:]))


class ForkServer:
    """Makes readers, watches them, and tells the app how each ended.

    Parameters
    ----------
    control : the connection on which the app asks; when it closes, everything ends.
    """

    def __init__(self, control: socket.socket):
        self._control = control
        self._folders = readable_folders()
        self._readers: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Work until the app closes the connection."""
        ended, signalled = os.pipe()
        for end in (ended, signalled):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(ended, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    if not self._take():
                        return
                elif key.fileobj == ended:
                    with suppress(BlockingIOError):
                        os.read(ended, 4096)
                else:  # the app has hung up: nobody waits for this reader
                    self._selector.unregister(key.fileobj)
                    if key.data in self._readers:
                        os.kill(key.data, signal.SIGKILL)
            self._reap()

    def _take(self) -> bool:
        """Make a reader for one request; False when the app is gone."""
        request, descriptors, _, _ = socket.recv_fds(self._control, MAX_REQUEST, MOST_FILES + 3)
        if not request:
            return False
        connection = socket.socket(fileno=descriptors[0])
        pid = os.fork()
        if pid == 0:
            _read_and_end(json.loads(request), descriptors[1:], self._folders)
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        self._readers[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)
        with suppress(OSError):
            connection.send(STARTED)
        return True

    def _reap(self) -> None:
        while self._readers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            connection = self._readers.pop(pid)
            with suppress(KeyError):
                self._selector.unregister(connection)
            with suppress(OSError):
                connection.send(STATUS.pack(os.waitstatus_to_exitcode(status)))
            connection.close()


def _read_and_end(request: dict[str, Any], descriptors: list[int], folders: list[str]) -> None:
    """All that a reader does; it never returns."""
    status = FAULT
    try:
        _let_go_of_all_but(descriptors)
        given, answer, *files = descriptors
        write_message(answer, _outcome(request, given, files, folders))
        status = 0
    finally:
        os._exit(status)


def _let_go_of_all_but(descriptors: list[int]) -> None:
    """Close what belongs to the server and to other readers; what is printed goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    first = 3
    for kept in (*sorted(descriptors), 1 << 16):
        os.closerange(first, kept)
        first = kept + 1
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _outcome(request: dict[str, Any], given: int, files: list[int], folders: list[str]) -> Outcome:
    """What the task gives, or the error for people that it raises, or a fault of ours."""
    try:
        task = getattr(importlib.import_module(request["module"]), request["function"])
        hints = get_type_hints(task)
        del hints["return"]
        content = memoryview(mmap(given, 0, access=ACCESS_READ))
        expected = tuple.__class_getitem__(tuple(hints.values()))
        arguments = read_message(content, expected, [os.fdopen(file, "rb") for file in files])
        restrict(Limits(**request["limits"]), folders)
        return task(*arguments), None, None
    except DataError as error:
        return None, Raised(str(error), tuple(error.findings)), None
    except CalibrationError as error:
        return None, Raised(str(error), ()), None
    except MemoryError:
        reason, action = "There is not enough memory to read the file.", "Save fewer rows."
        return None, Raised(reason, (Finding("error", "too_large", reason, action),)), None
    except Exception as error:
        return None, None, Fault(trace(error))


def missing_protections(folders: list[str]) -> str:
    """What this system cannot keep readers from, found out by one that reads nothing."""
    receiving, giving = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(giving, " and ".join(restrict(Limits(1 << 30, 60, 1 << 20), folders)).encode())
        finally:
            os._exit(0)
    os.close(giving)
    os.waitpid(pid, 0)
    with os.fdopen(receiving) as answer:
        return answer.read()


def main() -> None:
    """Load what readers need, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the app ends us
    control = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        with suppress(ModuleNotFoundError):  # a package that is not installed is said when a file needs it
            importlib.import_module(module)
    gc.collect()
    gc.freeze()
    if missing := missing_protections(readable_folders()):
        print(f"calib: on this system readers of uploads are without {missing}.", file=sys.stderr)
    ForkServer(control).serve()


if __name__ == "__main__":
    main()
