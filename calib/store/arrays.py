"""Large arrays as ``.npy`` files named by their content: equal arrays are one file, opened without taking memory."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.lib import format as npy_format

ABANDONED = 3600.0
"""Seconds without a change after which a file being written is a dead process's; the largest takes a minute."""
PART = ".part"
"""Ending of a file that is being written."""
_DAMAGED = "An array that is stored was damaged on disk."


class Damaged(Exception):
    """Something stored cannot be read as it was written; the text is one sentence."""


class ArrayFiles:
    """The arrays in a folder, which is made when it is needed. Safe to use from many threads and processes.

    A file is written aside, forced to disk and then renamed, so that a reader finds the whole of it or nothing. What
    is deleted stays readable for those who have it open.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._whole: dict[str, tuple[int, int, int]] = {}  # files whose content was found right, as they were then

    def put(self, name: str, array: np.ndarray) -> None:
        """Store an array under its name, unless it is there. On return it is on disk. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self.get(name)
        except Damaged:
            self._write(name, array)
        _sync(self._folder)  # whoever stored it before may not have come so far

    def get(self, name: str) -> np.ndarray:
        """An array, read-only and mapped from its file. Whether it is whole is looked at once in each process.

        Raises
        ------
        Damaged
            If it is gone or not as it was written.
        OSError
            If the disk does not give it.
        """
        path = self._path(name)
        try:
            array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
            if self._whole.get(name) != (found := _as_it_is(path)):
                if array_name(array) != name:
                    raise Damaged(_DAMAGED)
                self._whole[name] = found
        except (FileNotFoundError, ValueError, EOFError) as error:
            raise Damaged(_DAMAGED) from error
        return array

    def holds(self, name: str) -> bool:
        """Whether a file of this name is there."""
        return self._path(name).exists()

    def remove_all_but(self, needed: Collection[str]) -> None:
        """Delete all others, and what processes that died were still writing. Raises OSError."""
        for path in self._folder.glob("*"):
            written = path.suffix == PART and time.time() - path.stat().st_mtime < ABANDONED
            if path.stem not in needed and not written:
                path.unlink(missing_ok=True)

    def _write(self, name: str, array: np.ndarray) -> None:
        array, aside = np.ascontiguousarray(array), self._folder / f"{uuid4().hex}{PART}"
        try:
            with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                # Not np.save, whose error on a full disk does not say so.
                npy_format.write_array_header_1_0(file, npy_format.header_data_from_array_1_0(array))
                file.write(array.reshape(-1).view(np.uint8).data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._path(name))
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        self._whole[name] = _as_it_is(self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.npy"


def array_name(array: np.ndarray) -> str:
    """The name of an array's file: the SHA-256 of its type, shape and values."""
    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _as_it_is(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _sync(folder: Path) -> None:
    """Force a folder's list of names to disk, so that a power cut does not lose a file that was written."""
    if os.name == "nt":
        return  # Windows cannot, and does not need it
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
