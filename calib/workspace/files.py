"""Files named by content: each appears whole, and is forced to disk before anybody is told of it."""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal
from uuid import uuid4

from calib.errors import reason

try:
    import fcntl
except ImportError:  # Windows: several threads are kept apart, several servers are not
    fcntl = None  # type: ignore[assignment]

Kind = Literal["data", "fits", "studies", "links"]
CONTENT: tuple[Kind, ...] = ("data", "fits", "studies")
"""What links lead to."""
KINDS: tuple[Kind, ...] = (*CONTENT, "links")
ABANDONED = 3600.0
"""Seconds without a change after which a file being written is a dead process's; the largest takes a minute."""

_NAME = re.compile(r"[0-9a-f]{64}")
_threads = threading.RLock()


class Damaged(Exception):
    """Something stored cannot be read as it was written; the text is one sentence."""


class Unreadable(Damaged):
    """The disk does not answer now; what is stored may be as good as before."""


def in_words(error: Exception) -> str:
    """Why the disk did not do what it should, without any path."""
    if isinstance(error, Unreadable):
        return "the server's disk cannot be read"
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "the server's disk is full"
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "the server's folder cannot be written"
    return reason(error) or type(error).__name__


@dataclass(frozen=True)
class Clock:
    """The time of day, which may be set, and a count of seconds, which may not.

    Attributes
    ----------
    now : seconds since the epoch.
    steady : seconds since some moment before this process began.
    """

    now: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class Item:
    """One stored file: what it is, how large, and when it was used last (seconds since the epoch)."""

    kind: Kind
    name: str
    nbytes: int
    used: float


class Items:
    """The files below ``root``, which is made when it is needed, and again where it has vanished.

    A file is written elsewhere, forced to disk and then renamed, which file systems do atomically: a reader finds the
    whole of it or nothing. What is deleted stays readable for those who have it open.
    """

    def __init__(self, root: Path, clock: Clock | None = None):
        self.root = root
        self.clock = clock or Clock()
        self._lock = root / "lock"
        self._making = root / "making"

    def put(
        self, kind: Kind, name: str, fill: Callable[[BinaryIO], None], wanted: Callable[[], bool] = lambda: True
    ) -> None:
        """Store what ``fill`` writes into the file it is given; what is there already stays and counts as used.

        On return it is on disk, unless it was not ``wanted``. That is asked once more at the end, while nobody deletes:
        who deleted meanwhile finds nothing new.

        Raises
        ------
        OSError
            If the disk is full or cannot be written.
        """
        final = self._path(kind, name)
        if not wanted():
            return
        if self.find(kind, name) is not None:
            sync(final.parent)  # whoever stored it may not have come so far
            return
        self._prepare()
        with _written_beside(self._making / uuid4().hex, fill) as making, self.locked():
            # Another writer may have been faster; the same name is the same content.
            if wanted():
                if not final.is_file():
                    os.replace(making, final)
                sync(final.parent)

    def replace(self, kind: Kind, name: str, content: bytes) -> None:
        """Write a file, or another content in the place of its own; on return it is on disk. Raises OSError."""
        self._prepare()
        final = self._path(kind, name)
        with _written_beside(self._making / uuid4().hex, lambda file: _write(file, content)) as making:
            os.replace(making, final)
            sync(final.parent)

    def find(self, kind: Kind, name: str) -> Path | None:
        """The file, which from now on counts as used just now, or None."""
        path = self._path(kind, name)
        if not path.is_file():
            return None
        with suppress(OSError):  # a disk that cannot be written can be read
            now = self.clock.now()
            os.utime(path, (now, now))
        return path

    def holds(self, kind: Kind, name: str) -> bool:
        """Whether a file is there; it does not count as used."""
        return self._path(kind, name).is_file()

    def read(self, kind: Kind, name: str, most: int) -> bytes | None:
        """The first ``most`` bytes of a file, or None if there is none; raises :class:`Unreadable`."""
        try:
            with open(self._path(kind, name), "rb") as file:
                return file.read(most)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unreadable(f"What is stored cannot be read now: {in_words(error)}.") from error

    def remove(self, kind: Kind, name: str) -> None:
        """Delete a file, if it is there; on return it is gone from the disk. Raises OSError."""
        path = self._path(kind, name)
        path.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            sync(path.parent)

    def all(self, *kinds: Kind) -> list[Item]:
        """All that is stored now of these kinds, or of every kind."""
        items = []
        for kind in kinds or KINDS:
            for path in _listed(self.root / kind):
                with suppress(FileNotFoundError):  # deleted by another meanwhile
                    stat = path.stat()
                    if _NAME.fullmatch(path.stem):
                        items.append(Item(kind, path.stem, stat.st_size, stat.st_mtime))
        return items

    def date_anew(self, seconds: float) -> None:
        """Let all files count as used so much later, and none later than now."""
        now = self.clock.now()
        for folder in (self._making, *(self.root / kind for kind in KINDS)):
            for path in _listed(folder):
                with suppress(FileNotFoundError):
                    used = path.stat().st_mtime
                    if (new := min(used + seconds, now)) != used:
                        os.utime(path, (new, new))

    def swept(self, now: float | None = None) -> float:
        """When the files were last looked through, which the date of the lock says; ``now`` sets it."""
        if now is not None:
            os.utime(self._lock, (now, now))
        return self._lock.stat().st_mtime

    def clean(self, older_than: float = ABANDONED) -> None:
        """Delete what processes that died were still writing."""
        for path in _listed(self._making):
            with suppress(OSError):
                if self.clock.now() - path.stat().st_mtime >= older_than:
                    path.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other threads and servers from renaming and deleting; held for moments only. Raises OSError."""
        self._prepare()
        with _threads, open(self._lock, "ab") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed, also by kill -9
            yield

    def _prepare(self) -> None:
        for folder in (self.root, self._making, *(self.root / kind for kind in KINDS)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _path(self, kind: Kind, name: str) -> Path:
        if kind not in KINDS or not _NAME.fullmatch(name):
            raise ValueError(f"{kind}/{name!r} is no name of stored content.")
        return self.root / kind / (f"{name}.json" if kind == "links" else name)


def sync(folder: Path) -> None:
    """Force a folder's list of names to disk, so that a power cut does not lose a file that was written."""
    if os.name == "nt":
        return  # Windows cannot, and does not need it
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _written_beside(making: Path, fill: Callable[[BinaryIO], None]) -> Iterator[Path]:
    """A file that is written and on disk, to be renamed; it is gone at the end where it was not."""
    try:
        with open(os.open(making, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        yield making
    finally:
        with suppress(OSError):
            making.unlink(missing_ok=True)


def _write(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
