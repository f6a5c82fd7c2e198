"""Arrays in files that all processes of this machine map: a worker is told where they are, not sent their bytes."""

from __future__ import annotations

import atexit
import io
import os
import pickle
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

LARGE = 1 << 20
"""Bytes from which an array is worth a file."""


@cache
def folder() -> Path:
    """A temporary folder of this process, which goes when the process ends; if it is killed, its workers remove it."""
    made = tempfile.mkdtemp(prefix=f"calib-{os.getpid()}-")
    for left in Path(made).parent.glob(
        "calib-*-*"
    ):  # of processes that were killed before they had workers
        if Path("/proc/self").exists() and not Path("/proc", left.name.split("-")[1]).exists():
            with suppress(OSError):  # it is not empty
                left.rmdir()
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def on_disk(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only copy in a file of its own, which goes with the last reference to it.

    A small array, and any for which the disk has no room, is returned as it is.
    """
    if array.nbytes < LARGE or array.dtype.hasobject or _mapping(array) is not None:
        return array
    path = folder() / f"{uuid4().hex}.npy"
    try:
        np.save(path, array)
        mapped: Any = np.load(path, mmap_mode="r")
    except OSError:
        path.unlink(missing_ok=True)
        return array
    weakref.finalize(mapped, _remove, path)
    return np.asarray(mapped)


def dumps(value: Any) -> bytes:
    """``pickle.dumps`` for a process of this machine, in which arrays that lie in files are named and not copied."""
    stream = io.BytesIO()
    _Pickler(stream, protocol=5).dump(value)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if (
            not isinstance(value, np.ndarray)
            or value.nbytes < LARGE
            or not value.flags.c_contiguous
        ):
            return NotImplemented
        mapped = _mapping(value)
        if mapped is None or not Path(str(mapped.filename)).exists():
            return NotImplemented
        start = mapped.offset + value.ctypes.data - mapped.ctypes.data
        return _attach, (str(mapped.filename), value.dtype.str, start, value.shape)


def _attach(path: str, dtype: str, start: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.asarray(np.memmap(path, dtype, "r", start, shape))


def _mapping(array: Any) -> np.memmap[Any, Any] | None:
    """The mapped file that an array is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if isinstance(array, np.memmap) and array.filename else None


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
