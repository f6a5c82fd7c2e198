"""A disk that is full, or cannot be written, from some operation on until room is made."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calib.workspace import files


class Disk:
    """Every write, rename, and forcing to disk of the workspace goes through here.

    Attributes
    ----------
    calls : how many there were.
    left : how many of them still succeed; None for all.
    error : what the others fail with.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.left: int | None = None
        self.error = errno.ENOSPC

    def break_after(self, calls: int, error: int = errno.ENOSPC) -> None:
        self.left, self.error = calls, error

    def mend(self) -> None:
        self.left = None

    def checked(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            self.check()
            return call(*args, **options)

        return run

    def check(self) -> None:
        self.calls += 1
        if self.left is not None:
            if self.left <= 0:
                raise OSError(self.error, os.strerror(self.error), "/srv/secret/place")
            self.left -= 1


class File:
    """A file that is open for writing; what does not fit is written as far as it goes."""

    def __init__(self, file: Any, disk: Disk):
        self._file, self._disk = file, disk

    def write(self, content: Any) -> int:
        try:
            self._disk.check()
        except OSError:
            self._file.write(bytes(content)[: len(content) // 2])
            raise
        return self._file.write(content)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Os:
    """The module ``os`` on that disk."""

    def __init__(self, disk: Disk):
        for name in ("open", "replace", "fsync", "utime"):
            setattr(self, name, disk.checked(getattr(os, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk of all workspaces of this process."""
    made = Disk()

    def opened(path: Any, mode: str) -> Any:
        if "b" in mode and mode != "rb" and not isinstance(path, int):
            made.check()  # the lock
        file = open(path, mode)  # noqa: SIM115
        return File(file, made) if isinstance(path, int) else file

    monkeypatch.setattr(files, "os", Os(made))
    monkeypatch.setattr(files, "open", opened, raising=False)
    monkeypatch.setattr(Path, "unlink", _unlink(made))
    return made


def _unlink(disk: Disk) -> Callable[..., None]:
    unlink = Path.unlink

    def run(path: Path, missing_ok: bool = False) -> None:
        if disk.error != errno.ENOSPC:  # a full disk lets go of what it holds
            disk.check()
        unlink(path, missing_ok)

    return run
