"""What becomes of memory that is free: in Python's collector, and in the C library (glibc; others are left alone)."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from functools import cache

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
