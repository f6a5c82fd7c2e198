"""Memory of the server: returned when it is free, counted by visitor, and limited; the package says why."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from calib.data import DataError, Finding
from calib.data.limits import megabytes
from calib.settings import limit
from calib.ui.server.shares import Holder, Shares

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""As in glibc's malloc.h; other C libraries are left alone."""
LARGE = 1 << 20
"""Bytes from which an array is mapped by itself, so that it goes back to the machine when freed."""
SPARE = 16 << 20
"""Free bytes that the end of an arena keeps: to get them anew takes as long as to compute what goes into them."""
ARENAS = 2

MOST_OF_ONE = int(limit("CALIB_SESSION_GB") * 1e9)
"""Bytes that one visitor may hold."""
_DEEPEST = 8
_WITHOUT_ARRAYS = (int, float, complex, bool, type(None), type)


@cache
def prepare_allocator() -> None:
    """Set up the C library and the collector, once, before anybody has data."""
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_TRIM_THRESHOLD, SPARE)
        library.mallopt(M_ARENA_MAX, ARENAS)
    gc.freeze()


def collect(nobody_there: bool) -> None:
    """Free what only refers to itself, and return free memory to the machine.

    Parameters
    ----------
    nobody_there : then what is left is the program itself, which need not be looked through again. Python collects
        when there is a quarter more than last time, so that the less counts as there, the sooner figures go.
    """
    gc.unfreeze()
    gc.collect()
    if nobody_there:
        gc.freeze()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


open_data: Shares[Any] = Shares()
"""What visitors have open."""


def admit(holder: Holder, address: str, leaving: Holder | None = None) -> None:
    """Count a visitor's data among the open ones; they are forgotten by themselves when nothing refers to them.

    Parameters
    ----------
    holder : with its data and split.
    address : of the visitor; see :func:`calib.ui.server.shares.visitor_address`.
    leaving : what the visitor had open so far, whose place it takes.

    Raises
    ------
    DataError
        If it would take more memory than one visitor may, or all together, or those at one address, more than the
        server allows.
    """
    asked = holder.nbytes
    if asked > MOST_OF_ONE:
        raise DataError([Finding("error", "server_full", (
            f"These data with their split need {megabytes(asked)} of memory, and one visitor may take "
            f"{megabytes(MOST_OF_ONE)} of this server's."
        ), "Upload fewer rows: 20,000 are plenty to calibrate.")])  # fmt: skip
    most = limit("CALIB_MEMORY_GB") * 1e9
    open_data.admit(holder, address, most, leaving, what="These data need", things="data")


def nbytes(*things: Any) -> int:
    """Bytes of the arrays and texts in these things and whatever they consist of, each counted once.

    What is mapped from disk takes none, and of a view counts what it keeps alive.
    """
    sizes: dict[int, int] = {}
    seen: set[int] = set()
    todo = [(thing, 0) for thing in things]
    while todo:
        thing, depth = todo.pop()
        if isinstance(thing, np.ndarray):
            while isinstance(thing.base, np.ndarray):
                thing = thing.base
            if not isinstance(thing, np.memmap):
                sizes[id(thing)] = thing.nbytes
        elif isinstance(thing, (str, bytes, bytearray)):
            sizes[id(thing)] = len(thing)
        elif id(thing) not in seen and depth < _DEEPEST:
            seen.add(id(thing))
            if hasattr(thing, "memory_usage") and hasattr(thing, "to_numpy"):  # a column or a table of pandas
                sizes[id(thing)] = int(np.sum(thing.memory_usage(deep=True)))
            else:
                todo.extend((part, depth + 1) for part in _parts(thing) if not isinstance(part, _WITHOUT_ARRAYS))
    return sum(sizes.values())


def _parts(thing: Any) -> list[Any]:
    """What a thing consists of at this moment: other threads add to what their visitors hold meanwhile."""
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, (list, tuple, set, frozenset)):
        return list(thing)
    return [] if callable(thing) else list(getattr(thing, "__dict__", {}).values())
