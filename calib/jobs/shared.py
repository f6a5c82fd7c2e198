"""Large arrays in memory that all workers of this machine map: each is there once, however many compute on it.

The memory has no name and cannot be changed any more. It goes back when the arrays here are gone and no worker has them
as its last ones. Elsewhere than on Linux, and on other machines, workers are sent a copy.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import weakref
from collections.abc import Callable
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np
import numpy.typing as npt

LARGE = 1 << 20
"""Bytes from which an array is worth it."""
SEALS = 0x0002 | 0x0004 | 0x0008
"""F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE of fcntl(2)."""
F_ADD_SEALS = 1033


class Mapping(mmap):
    """Shared memory with the descriptor by which a worker finds it."""

    descriptor: int


def share(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only copy that workers map; a small array, and any where there is no such memory, as it is."""
    if array.nbytes < LARGE or array.dtype.hasobject or sys.platform != "linux" or _mapping_of(array) is not None:
        return array
    from fcntl import fcntl  # which other systems do not have

    descriptor = os.memfd_create("calib", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        while content:
            content = content[os.write(descriptor, content[: 1 << 30]) :]
        fcntl(descriptor, F_ADD_SEALS, SEALS)
        mapping = Mapping(descriptor, 0, access=ACCESS_READ)
    except OSError:  # no memory is left for it
        os.close(descriptor)
        return array
    mapping.descriptor = descriptor
    weakref.finalize(mapping, os.close, descriptor)
    return np.frombuffer(mapping, array.dtype).reshape(array.shape)


def attach(path: str, inode: int, start: int, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array at a place of another process's shared memory; OSError where it is no longer there."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if os.fstat(descriptor).st_ino != inode:
            raise OSError("the shared memory is gone")
        mapping = mmap(descriptor, 0, access=ACCESS_READ)
    finally:
        os.close(descriptor)
    return np.frombuffer(mapping, dtype, int(np.prod(shape)), start).reshape(shape)


def dumps(value: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any]) -> bytes:
    """``pickle.dumps`` for a worker of this machine, in which shared arrays are named and not copied."""
    stream = io.BytesIO()
    _Pickler(stream, protocol=5, buffer_callback=buffer_callback).dump(value)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is not np.ndarray or not value.flags.c_contiguous or (mapping := _mapping_of(value)) is None:
            return NotImplemented
        path, inode = f"/proc/{os.getpid()}/fd/{mapping.descriptor}", os.fstat(mapping.descriptor).st_ino
        start = value.ctypes.data - np.frombuffer(mapping, np.uint8).ctypes.data
        return attach, (path, inode, start, value.dtype.str, value.shape)


def _mapping_of(array: npt.NDArray[Any]) -> Mapping | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, Mapping) else None
