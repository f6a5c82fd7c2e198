"""The process that readers are copies of: ``python -m calib.isolation.server FD MODULE...``.

It loads the modules, never looks at a file itself, and makes a copy of itself for each: that takes milliseconds,
where a new Python takes a second. A copy restricts itself, reads one file, writes what it found, and ends. The process
has one thread, so no copy finds a lock held.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

from calib.errors import CalibrationError, DataError, Finding
from calib.isolation.logs import trace
from calib.isolation.sandbox import missing_protections, restrict
from calib.records import write

STARTED = b"s"
STATUS = struct.Struct("<i")
"""Report to the app about a reader: that it started, and how it ended, as ``os.waitstatus_to_exitcode`` has it."""
MOST_FILES = 32
FAULT = 70
"""Exit status of a reader that could not even write what went wrong."""


@dataclass(frozen=True)
class Raised:
    """An error for people: findings of an upload, or a sentence."""

    sentence: str
    findings: tuple[Finding, ...]


def outcome_type(result: Any) -> Any:
    """The type of what a reader hands back: the task's result, an error for people, or the traceback of a fault."""
    return tuple[result | None, Raised | None, str | None]


@dataclass(frozen=True, eq=False)
class Reader:
    """A reader that runs.

    Attributes
    ----------
    connection : to who waits for it.
    alive : one end of a pipe, whose other end the reader holds until it ends.
    """

    pid: int
    connection: socket.socket
    alive: int


class RequestReader(pickle.Unpickler):
    """Undoes :class:`RequestWriter`, in the reader and before it opens any file."""

    def __init__(self, packed: BinaryIO, descriptors: Sequence[int]):
        super().__init__(packed)
        self._descriptors = descriptors

    def persistent_load(self, persistent_id: tuple[str, int]) -> tuple[str, BinaryIO]:
        """The name and the file."""
        name, number = persistent_id
        return name, os.fdopen(self._descriptors[number], "rb")


def serve(control: socket.socket) -> None:
    """Make readers and say how each ended, until the app closes the connection on which it asks for them."""
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    while True:
        ended = set()
        for key, _ in selector.select():
            if key.data is not None:  # it has ended, or nobody waits for it any more
                ended.add(key.data)
                continue
            request, descriptors, _, _ = socket.recv_fds(control, 1, MOST_FILES + 3)
            if not request:
                return
            reader = _start(descriptors)
            for end in (reader.connection, reader.alive):
                selector.register(end, selectors.EVENT_READ, reader)
        for reader in ended:
            selector.unregister(reader.connection)
            selector.unregister(reader.alive)
            os.kill(reader.pid, signal.SIGKILL)
            _, status = os.waitpid(reader.pid, 0)
            with suppress(OSError):
                reader.connection.send(STATUS.pack(os.waitstatus_to_exitcode(status)))
            reader.connection.close()
            os.close(reader.alive)


def _start(descriptors: list[int]) -> Reader:
    """Make a reader of a connection, a request, an empty file for the answer, and files."""
    alive, sentinel = os.pipe()
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        _read_and_end(descriptors[1:], sentinel, server)
    for descriptor in (*descriptors[1:], sentinel):
        os.close(descriptor)
    connection = socket.socket(fileno=descriptors[0])
    with suppress(OSError):
        connection.send(STARTED)
    return Reader(pid, connection, alive)


def _read_and_end(descriptors: list[int], sentinel: int, server: int) -> None:
    """Run a reader to its end; never return."""
    status = FAULT
    try:
        _let_go_of_all_but([*descriptors, sentinel])
        request, result, *files = descriptors
        with os.fdopen(result, "wb", closefd=False) as file:
            write(file, _outcome(request, files, server))
        status = 0
    finally:
        os._exit(status)


def _let_go_of_all_but(descriptors: list[int]) -> None:
    """Close what belongs to the server and to other readers; what is printed goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    first = 3
    for descriptor in (*sorted(descriptors), 1 << 16):
        os.closerange(first, descriptor)
        first = descriptor + 1


def _outcome(request: int, files: list[int], server: int) -> tuple[Any, Raised | None, str | None]:
    """Result of the task, or the error for people that it raises, or the traceback of a fault of ours."""
    try:
        with os.fdopen(request, "rb") as packed:
            reader = RequestReader(packed, files)
            (task, arguments), limits = reader.load(), reader.load()
        restrict(limits, server)
        return task(*arguments), None, None
    except DataError as error:
        return None, Raised(str(error), tuple(error.findings)), None
    except CalibrationError as error:
        return None, Raised(str(error), ()), None
    except MemoryError:
        reason = "There is not enough memory to read the file."
        finding = Finding("error", "too_large", reason, "Save fewer rows.")
        return None, Raised(reason, (finding,)), None
    except Exception as error:
        return None, None, trace(error)


def main() -> None:
    """Load what readers need, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the app ends us
    control = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        with suppress(ModuleNotFoundError):  # which is said when a file needs it
            importlib.import_module(module)
    gc.collect()
    gc.freeze()
    if missing := missing_protections():
        without = " and ".join(missing)
        print(f"calib: on this system readers of uploads are without {without}.", file=sys.stderr)
    serve(control)


if __name__ == "__main__":
    main()
