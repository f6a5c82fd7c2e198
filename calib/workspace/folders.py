"""Folders named by content, written and deleted atomically."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows: several threads are kept apart, several servers are not
    fcntl = None  # type: ignore[assignment]

Kind = Literal["data", "fits", "studies"]
KINDS: tuple[Kind, ...] = ("data", "fits", "studies")
ABANDONED = 3600.0
"""Seconds without a change after which a folder being made is a dead process's; the largest takes a minute."""

_NAME = re.compile(r"[0-9a-f]{64}")
_threads = threading.RLock()


class Damaged(Exception):
    """Something stored cannot be read as it was written; the text is one sentence."""


@dataclass(frozen=True)
class Item:
    """One stored folder: what it is, how large, and when it was used last (seconds since the epoch)."""

    kind: Kind
    name: str
    nbytes: int
    used: float


class Items:
    """The folders below ``root``.

    A folder is filled elsewhere, forced to disk and then renamed, which file systems do atomically: a reader finds the
    whole of it or nothing. Deleting renames it away first, for the same reason.
    """

    def __init__(self, root: Path):
        self.root = root
        self._making = root / "making"
        for folder in (root, self._making, *(root / kind for kind in KINDS)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(
        self, kind: Kind, name: str, fill: Callable[[Path], None], wanted: Callable[[], bool] = lambda: True
    ) -> None:
        """Store what ``fill`` writes into the folder it is given; what is there already stays and counts as used.

        ``wanted`` is asked once more at the end, while nobody deletes: who deleted meanwhile finds nothing new.

        Raises
        ------
        OSError
            If the disk is full or cannot be written; nothing is left behind then.
        """
        final = self._path(kind, name)
        if self.find(kind, name) is not None or not wanted():
            return
        making = self._making / uuid4().hex
        making.mkdir(mode=0o700)
        try:
            fill(making)
            sync(making)
            with self.locked():
                # Another writer may have been faster; the same name is the same content.
                if wanted() and not final.is_dir():
                    os.replace(making, final)
                    sync(final.parent)
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def find(self, kind: Kind, name: str) -> Path | None:
        """The folder, which from now on counts as used just now, or None."""
        path = self._path(kind, name)
        try:
            os.utime(path)
        except OSError:
            return None
        return path

    def remove(self, kind: Kind, name: str) -> None:
        """Delete a folder, if it is there."""
        going = self._making / uuid4().hex
        with suppress(OSError):
            os.replace(self._path(kind, name), going)
            shutil.rmtree(going, ignore_errors=True)

    def all(self) -> list[Item]:
        """Everything stored now."""
        items = []
        for kind in KINDS:
            for path in (self.root / kind).iterdir():
                with suppress(OSError):  # deleted by another meanwhile
                    nbytes = sum(file.stat().st_size for file in path.iterdir())
                    items.append(Item(kind, path.name, nbytes, path.stat().st_mtime))
        return items

    def clean(self, older_than: float = ABANDONED) -> None:
        """Delete what processes that died were still writing, or deleting."""
        for path in self._making.iterdir():
            with suppress(OSError):
                newest = max([path.stat().st_mtime, *(file.stat().st_mtime for file in path.iterdir())])
                if time.time() - newest >= older_than:
                    shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other threads and servers from renaming and deleting; held for moments only."""
        with _threads, open(self.root / "lock", "ab") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed, also by kill -9
            yield

    def _path(self, kind: Kind, name: str) -> Path:
        if kind not in KINDS or not _NAME.fullmatch(name):
            raise ValueError(f"{kind}/{name!r} is no name of stored content.")
        return self.root / kind / name


def sync(folder: Path) -> None:
    """Force a folder's list of names to disk, so that a power cut does not lose a file that was written."""
    with suppress(OSError):  # Windows cannot, and does not need it
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that it holds the old or the new content, never half of one."""
    beside = path.with_name(f"{path.name}.{uuid4().hex}.new")
    try:
        with open(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)
