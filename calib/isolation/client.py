"""Have a file read by a process that is thrown away afterwards, and take back what it found.

Nothing that came from outside is parsed in this process: the reader hands back numbers as raw bytes and the rest as
bounded JSON, which are checked against the type that the task promises.
"""

from __future__ import annotations

import atexit
import fcntl
import logging
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_type_hints

from calib.errors import CalibrationError, DataError, Finding
from calib.isolation.sandbox import Limits
from calib.isolation.server import FAULT, STATUS, outcome_type
from calib.records import BadRecord, read
from calib.settings import limit

log = logging.getLogger("calib.isolation")

T = TypeVar("T")

PROJECT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    **{"ARROW_DEFAULT_MEMORY_POOL": "system", "JE_ARROW_MALLOC_CONF": "background_thread:false"},
    **{"MALLOC_ARENA_MAX": "2", "HDF5_USE_FILE_LOCKING": "FALSE"},
}
"""No threads but those that a reader starts, and allocators that reserve no address space that they do not use."""

OURS = (
    "calib.data.loading", "calib.data.unlabelled", "calib.diagnostics.shift_data", "calib.data.read.files",
)  # fmt: skip
"""Modules whose functions readers call, and the formats; imported by name, for they stand above this one."""
LIBRARIES = (
    "h5py", "openpyxl", "pandas", "pyarrow.csv", "pyarrow.parquet", "pyarrow.ipc", "pyarrow.compute", "pyarrow.json",
    "pyarrow.pandas_compat", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats", "xml.parsers.expat",
    "charset_normalizer", "encodings.utf_16", "encodings.utf_32", "encodings.latin_1", "encodings.cp1252",
    "encodings.cp437", "encodings.utf_8_sig", "bz2", "lzma", "decimal", "fractions", "zoneinfo",
)  # fmt: skip
"""Modules that these load only when a file asks for them; in each reader that would take longer than reading."""

START_SECONDS = 120.0
"""Until a reader has started; the first one waits for the libraries to be loaded."""
SAVE_ANEW = "Save it anew, as npz or csv, and give that."
CPU_SECONDS = 4
CPU_SECONDS_PER_MB = 2
MOST_CPU_SECONDS = 120
"""Of a reader: for any file, for each MB more, and at most. A spreadsheet of 20 MB takes some 15 s."""
MOST_LOGGED = 10_000
"""Characters of the traceback of a fault."""
TEXT_COPIES = 6
"""Memory that reading a text table takes, in multiples of its size."""


def isolated(task: Callable[..., T], *arguments: Any) -> T:
    """Call a function of this package in a process of its own.

    Parameters
    ----------
    task : a function of a module, best one of :data:`OURS`, with an annotation of what it returns.
    *arguments : its arguments in order. A file is an argument, or a part of one, as a pair of its name and an open
        binary file.

    Returns
    -------
    What it returns, checked against its annotation. Arrays are read-only.

    Raises
    ------
    DataError
        As the function raises it; also where reading was ended by a limit or a crash, with one finding that says so.
    CalibrationError
        As the function raises it.
    """
    with ExitStack() as stack:
        request, result = (_anonymous(stack, name) for name in ("request", "answer"))
        writer = RequestWriter(request, stack)
        writer.dump((task, arguments))
        limits = limits_for(writer.size)
        writer.dump(limits)
        request.seek(0)
        descriptors = [writer.read_only(request), result.fileno(), *writer.descriptors]
        named = " and ".join(dict.fromkeys(writer.names)) or "The file"
        with READERS.turns:
            status = READERS.read(descriptors, wall_seconds(limits))
        if status != 0:
            raise _ended(status, named, limits)
        promised = outcome_type(get_type_hints(task)["return"])
        try:
            value, raised, fault = read(_sealed(result), promised)
        except (BadRecord, OSError, ValueError) as error:
            log.warning("a reader's answer was refused (%s)", type(error).__name__)
            reason = "the process that read it gave an invalid answer"
            raise _error("damaged", f"{named} could not be read: {reason}.", SAVE_ANEW) from None
    if fault is not None:
        log.error("a reader failed\n%s", fault[-MOST_LOGGED:])
        reason = f"{named} could not be read, by a fault of this program."
        raise _error("reader_failed", reason, SAVE_ANEW)
    if raised is not None:
        raise DataError(raised.findings) if raised.findings else CalibrationError(raised.sentence)
    return value


def limits_for(size: int) -> Limits:
    """Limits for the reader of so many bytes, from those that the settings put on an upload.

    Reading needs up to one copy of the arrays more, and a text table several of its text.
    """
    data = int(limit("CALIB_DATA_MB") * 1e6)
    text = int(limit("CALIB_TEXT_MB") * 1e6)
    return Limits(
        memory=2 * data + TEXT_COPIES * min(size, text),
        cpu_seconds=int(min(CPU_SECONDS + CPU_SECONDS_PER_MB * size / 1e6, MOST_CPU_SECONDS)),
        output=2 * data + (1 << 26),
    )


class RequestWriter(pickle.Pickler):
    """Pickles what a reader is asked; in place of a named file goes the number of a descriptor that can only be read.

    Parameters
    ----------
    to : where the pickle goes.
    stack : closes the descriptors.
    """

    def __init__(self, to: BinaryIO, stack: ExitStack):
        super().__init__(to)
        self._stack = stack
        self.names: list[str] = []
        self.descriptors: list[int] = []
        self.size = 0

    def persistent_id(self, value: Any) -> tuple[str, int] | None:
        """The name and the number of a file, which is a pair of a name and an open file; None for all else."""
        if type(value) is not tuple or len(value) != 2 or not hasattr(value[1], "read"):
            return None
        name, file = value
        descriptor = self.read_only(file)
        self.size += os.fstat(descriptor).st_size
        self.names.append(name)
        self.descriptors.append(descriptor)
        return name, len(self.descriptors) - 1

    def read_only(self, file: BinaryIO) -> int:
        """A descriptor by which a file cannot be written; on Linux it begins at the beginning."""
        try:
            number = file.fileno()
        except (AttributeError, OSError):  # it lies in memory
            copy = _anonymous(self._stack, "upload")
            file.seek(0)
            shutil.copyfileobj(file, copy, 1 << 20)
            file = copy
            number = copy.fileno()
        if file.writable():
            file.flush()
        linux = sys.platform == "linux"
        descriptor = os.open(f"/proc/self/fd/{number}", os.O_RDONLY) if linux else os.dup(number)
        self._stack.callback(os.close, descriptor)
        return descriptor


class Readers:
    """The fork server with the readers that it makes; safe to use from many threads.

    Parameters
    ----------
    most : how many may read at once.
    modules : what the fork server loads; in a reader it would take longer than reading.

    Attributes
    ----------
    turns : held while a file is read.
    """

    def __init__(self, most: int, modules: tuple[str, ...] = (*OURS, *LIBRARIES)):
        self.turns = threading.BoundedSemaphore(most)
        self._modules = modules
        self._starting = threading.Lock()
        self._control: socket.socket | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def read(self, descriptors: list[int], seconds: float) -> int | None:
        """Have a reader made for a request.

        Parameters
        ----------
        descriptors : of the request, of an empty file for the answer, and of the files.
        seconds : until it is ended.

        Returns
        -------
        Its exit status, negative for a signal; None if its time was over.
        """
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, self._starting:
                control = self._connected()
                try:
                    socket.send_fds(control, [b"r"], [theirs.fileno(), *descriptors])
                except OSError:  # it has ended a moment ago
                    return FAULT
            try:
                ours.settimeout(START_SECONDS)
                ours.recv(1)
            except TimeoutError:  # the fork server does not answer: the next file gets another one
                with self._starting:
                    if control is self._control:
                        self.close()
                return FAULT
            try:
                ours.settimeout(seconds)
                status = ours.recv(STATUS.size)
            except TimeoutError:
                return None  # closing the connection ends the reader
        return int(STATUS.unpack(status)[0]) if status else FAULT

    def start(self) -> None:
        """Start the fork server, so that nobody has to wait for it."""
        with self._starting:
            self._connected()

    def _connected(self) -> socket.socket:
        if self._control is None or self.process is None or self.process.poll() is not None:
            self.close()
            self._control, theirs = socket.socketpair()
            path = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))
            with theirs:
                # -P: modules come from the path alone, not from whatever lies in the current folder.
                server = [sys.executable, "-P", "-m", "calib.isolation.server"]
                self.process = subprocess.Popen(
                    [*server, str(theirs.fileno()), *self._modules],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
                )
        return self._control

    def close(self) -> None:
        """End the fork server and what it made."""
        if self._control is not None:
            self._control.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._control = self.process = None


def wall_seconds(limits: Limits) -> float:
    """Until a reader is ended, whatever it does: a sleeper uses no processor, and a busy machine gives little of it."""
    return 10.0 + 3.0 * limits.cpu_seconds


READERS = Readers(int(limit("CALIB_READERS")))
"""Readers of this process; the fork server starts with the first file, or when it is asked to."""
atexit.register(READERS.close)


def _anonymous(stack: ExitStack, name: str) -> BinaryIO:
    """An empty file in memory, or on disk where the system has no such thing, that is gone when it is closed."""
    if sys.platform != "linux":
        return stack.enter_context(tempfile.TemporaryFile())
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    return stack.enter_context(os.fdopen(descriptor, "w+b"))


def _sealed(result: BinaryIO) -> BinaryIO:
    """An answer that nobody can change any more."""
    if sys.platform == "linux":
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(result.fileno(), fcntl.F_ADD_SEALS, seals)
    return result


def _ended(status: int | None, named: str, limits: Limits) -> DataError:
    """The error for a reader that did not come to its end."""
    if status is None:
        seconds = f"{wall_seconds(limits):.0f} s, for which a reader is waited for"
        reason = f"{named} was not read within {seconds}; this machine may be busy."
        return _error("too_slow", reason, "Try again; if that does not help, save fewer rows.")
    if status == -signal.SIGXCPU:
        seconds = (
            f"{limits.cpu_seconds} s of processor time, which no intact file of its size needs"
        )
        reason = f"{named} was still being read after {seconds}; it is probably damaged."
        return _error("too_slow", reason, SAVE_ANEW)
    if status == -signal.SIGXFSZ:
        reason = f"{named} holds more than the {limits.output / 1e6:,.0f} MB that are read."
        return _error("too_large", reason, SAVE_ANEW)
    if status < 0:
        reason = (
            f"{named} ended the process that read it ({signal.Signals(-status).name}); it is probably damaged. Nothing "
            "else is affected."
        )
        return _error("reader_ended", reason, SAVE_ANEW)
    reason = f"{named} could not be read: the process that should read it ended."
    return _error("reader_failed", reason, "Try again.")


def _error(code: str, reason: str, action: str) -> DataError:
    return DataError([Finding("error", code, reason, action)])
