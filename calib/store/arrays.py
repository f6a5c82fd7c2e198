"""Large arrays as ``.npy`` files named by their content: equal arrays are one file, opened without taking memory."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.lib import format as npy_format

from calib.errors import reason

ABANDONED = 3600.0
"""Seconds without a change after which a file being written is a dead process's; the largest takes a minute."""
PART = ".part"
"""Ending of a file that is being written."""


class Damaged(Exception):
    """Something stored cannot be read as it was written; the text is one sentence."""


def in_words(error: Exception) -> str:
    """Why the disk did not do what it should, without any path."""
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "the server's disk is full"
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "the server's folder cannot be written"
    if number is not None:
        return "the server's disk does not answer"
    return reason(error) or type(error).__name__


def sync(folder: Path) -> None:
    """Force a folder's list of names to disk, so that a power cut does not lose a file that was written."""
    if os.name == "nt":
        return  # Windows cannot, and does not need it
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class ArrayFiles:
    """The arrays in a folder, which is made when it is needed. Safe to use from many threads and processes.

    A file is written aside, forced to disk and then renamed, so that a reader finds the whole of it or nothing. What
    is deleted stays readable for those who have it open.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._whole: dict[str, tuple[int, int, int]] = {}  # files whose content was found right, as they were then

    def put(self, array: np.ndarray) -> str:
        """Store an array, unless it is there; its name. On return it is on disk. Raises OSError."""
        array = np.ascontiguousarray(array)
        header = io.BytesIO()
        npy_format.write_array_header_1_0(header, npy_format.header_data_from_array_1_0(array))
        parts = (header.getvalue(), array.reshape(-1).view(np.uint8).data)
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        name = digest.hexdigest()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._is_whole(name):
            self._write(name, parts)
        sync(self._folder)  # whoever stored it before may not have come so far
        return name

    def get(self, name: str) -> np.ndarray:
        """An array, read-only and mapped from its file.

        Raises
        ------
        Damaged
            If it is gone or not as it was written.
        OSError
            If the disk does not give it.
        """
        try:
            if not self._is_whole(name):
                raise Damaged("An array that is stored was damaged on disk.")
            return np.asarray(np.load(self._path(name), mmap_mode="r", allow_pickle=False))
        except (FileNotFoundError, ValueError) as error:
            raise Damaged("An array that is stored was damaged on disk.") from error

    def holds(self, name: str) -> bool:
        """Whether a file of this name is there."""
        return self._path(name).exists()

    def remove_all_but(self, needed: Collection[str]) -> None:
        """Delete all others, and what processes that died were still writing. Raises OSError."""
        for path in self._folder.glob("*") if self._folder.exists() else ():
            if path.suffix == PART:
                remove_if_abandoned(path)
            elif path.stem not in needed:
                path.unlink(missing_ok=True)

    def _is_whole(self, name: str) -> bool:
        """Whether a file is there with the content that its name says; looked at once in each process."""
        path = self._path(name)
        try:
            found = _as_it_is(path)
            if self._whole.get(name) != found:
                with open(path, "rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != name:
                        return False
                self._whole[name] = found
        except FileNotFoundError:
            return False
        return True

    def _write(self, name: str, parts: Collection[bytes | memoryview]) -> None:
        aside = self._folder / f"{uuid4().hex}{PART}"
        try:
            with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._path(name))
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        self._whole[name] = _as_it_is(self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.npy"


def remove_if_abandoned(path: Path, seconds: float = ABANDONED) -> None:
    """Delete a file that nobody has changed for so long."""
    with suppress(FileNotFoundError):
        if time.time() - path.stat().st_mtime >= seconds:
            path.unlink()


def _as_it_is(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
