"""How much memory each visitor and all together take, so that one upload too many is refused and nobody is ended.

What becomes of memory that is free: in Python's collector, and in the C library (glibc; others are left alone).
"""

from __future__ import annotations

import ctypes
import gc
import threading
from contextlib import suppress
from functools import cache
from weakref import WeakValueDictionary

from calib.data import DataError, Finding
from calib.data.limits import megabytes
from calib.settings import limit
from calib.ui.session import MOST_OF_ONE, Session, nbytes

_open: WeakValueDictionary[int, Session] = WeakValueDictionary()
_lock = threading.Lock()


def admit(opened: Session, leaving: Session | None = None) -> None:
    """Count a session among the open ones; it is forgotten by itself when its visitor is gone.

    Parameters
    ----------
    opened : with its data and split.
    leaving : the visitor's session so far, whose place it takes.

    Raises
    ------
    DataError
        If it would take more memory than one visitor may, or all together more than the server allows.
    """
    most = int(limit("CALIB_MEMORY_GB") * 1e9)
    asked = held(opened)
    if asked > MOST_OF_ONE:
        raise _refused(
            f"These data with their split need {megabytes(asked)} of memory, and one visitor may take "
            f"{megabytes(MOST_OF_ONE)} of this server's.",
            "Upload fewer rows: 20,000 are plenty to calibrate.",
        )
    with _lock:
        others = sum(held(other) for other in _open.values() if other is not leaving and other is not opened)
        if others and others + asked > most:
            raise _refused(
                f"These data need {megabytes(asked)}, and other visitors' data take {megabytes(others)} of the "
                f"{megabytes(most)} that this server sets aside.",
                "Try again in some minutes, or with fewer rows.",
            )
        _open[id(opened)] = opened


def held(of: Session) -> int:
    """Bytes of a session's data, verdicts and figures; those mapped from disk take none."""
    return nbytes(of.data, of.calibration, of.test, of.raw, of.evaluated, of.built) + sum(of.kept_bytes.values())


def release(left: Session) -> None:
    """Take all from a session that is over: Streamlit may hold the last one that it served for long."""
    with _lock:
        _open.pop(id(left), None)
    vars(left).update(vars(Session(visitor=left.visitor)))


def open_sessions() -> list[Session]:
    """All sessions that hold data now."""
    with _lock:
        return list(_open.values())


def _refused(message: str, action: str) -> DataError:
    return DataError([Finding("error", "server_full", message, action)])


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""As in glibc's malloc.h."""
LARGE = 1 << 20
"""Bytes from which an array is mapped by itself."""
SPARE = 16 << 20
"""Free bytes that the end of an arena keeps."""
ARENAS = 2


@cache
def prepare() -> None:
    """Once, before anybody has data: set the C library and the collector up for a server of many visitors.

    Have large arrays mapped each by itself, so that they go back when freed, and small things in few arenas.

    Otherwise the size from which arrays are mapped rises to that of the largest one freed, up to 32 MB, and smaller
    ones leave holes in an arena of each of many threads, which stay with the process. What is free at the end of an
    arena is kept: to get it anew from the machine takes as long as to compute what goes into it.
    """
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_TRIM_THRESHOLD, SPARE)
        library.mallopt(M_ARENA_MAX, ARENAS)
    gc.freeze()


def collect(nobody_there: bool) -> None:
    """Drop what nothing refers to: figures and their data refer to each other, so that only the collector finds them.

    Parameters
    ----------
    nobody_there : then what is left is the program itself, which need not be looked through again. Python collects
        when there is a quarter more than last time, so that the less counts as there, the sooner figures go.
    """
    gc.unfreeze()
    gc.collect()
    if nobody_there:
        gc.freeze()


def give_back() -> None:
    """Return free memory to the machine."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
