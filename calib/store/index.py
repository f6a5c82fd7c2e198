"""The store: a file for each record, and one SQLite file that says which link leads to which of them.

What was announced survives a killed process and a full disk: a file is on disk before the index says that it is there,
and the index is on disk before anybody is told.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from calib.records import BadRecord, parts_of, read

T = TypeVar("T")

DAY = 86_400.0
IN_USE = 1200.0
"""Seconds after its last use in which a link makes no room for others; an open page uses its link more often."""
BUSY = 30.0
"""Seconds to wait for another thread or server that writes."""
ABANDONED = 3600.0
"""Seconds without a change after which a file being written is a dead process's; the largest takes a minute."""
PART = ".part"
"""Ending of a file that is being written."""

# Of a link that was deleted, name and time stay.
_SETUP = """
PRAGMA auto_vacuum = FULL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS links(name TEXT PRIMARY KEY, used REAL, stamp TEXT, entry BLOB);
CREATE TABLE IF NOT EXISTS records(key TEXT PRIMARY KEY, stamp TEXT, nbytes INTEGER);
CREATE TABLE IF NOT EXISTS holds(key TEXT, link TEXT, PRIMARY KEY(key, link));
COMMIT;
"""
_CODES = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_NOTADB: errno.EBADMSG,
    sqlite3.SQLITE_CORRUPT: errno.EBADMSG,
}


class Damaged(Exception):
    """Something stored cannot be read as it was written; the text is one sentence."""

    def __init__(self) -> None:
        super().__init__("What is stored does not hold what it should; it was damaged on disk.")


class Deleted(Exception):
    """A link was deleted, in another tab or on another server, and nothing is written under it again."""


class Changed(Exception):
    """Another tab or server has written a link since whoever writes it looked."""


class Store:
    """The records below a folder, which is made when it is needed. Safe to use from many threads and servers.

    Every method raises OSError where the disk is full, or cannot be read or written.
    """

    def __init__(self, root: Path):
        self.root = root
        self._path, self._folder = root / "index.sqlite", root / "records"
        self._whole: dict[str, tuple[str, int, int, int]] = {}  # files whose content was found right, as they were then

    def put(self, key: str, value: Any) -> None:
        """Store what :func:`calib.records.flatten` takes, where a link leads there. On return it is on disk."""
        with self._transaction() as db:
            if _wanted(db, key):
                # While nobody else writes, so that nobody takes the file for a needless one meanwhile.
                stamp, nbytes = self._write(key, value)
                db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (key, stamp, nbytes))

    def get(self, key: str, expected: Any, make: Callable[[Any], T]) -> T | None:
        """What ``make`` makes of a record of the expected type, its arrays mapped from disk, or None if there is none.

        Raises
        ------
        Damaged
            If it is not as it was stored; it is forgotten, so that it can be stored anew.
        """
        with self._connected() as db:
            found = db.execute("SELECT stamp FROM records WHERE key = ?", (key,)).fetchone()
        if found is None:
            return None
        try:
            return make(read(self._content(key, *found), expected))
        except FileNotFoundError as error:
            problem: Exception = error
        except (OSError, MemoryError):
            raise
        except Exception as error:  # NumPy and the methods raise many types on what they have not written
            problem = error
        with suppress(OSError), self._transaction() as db:
            db.execute("DELETE FROM records WHERE key = ? AND stamp = ?", (key, *found))
        raise Damaged from problem

    def holds(self, key: str) -> bool:
        """Whether a record is there."""
        with self._connected() as db:
            found = db.execute("SELECT 1 FROM records WHERE key = ?", (key,)).fetchone()
        return found is not None and (self._folder / key).exists()

    def wants(self, key: str) -> bool:
        """Whether a link leads to a record, stored or not."""
        with self._connected() as db:
            return _wanted(db, key)

    def put_link(self, name: str, entry: Any, keys: Collection[str], known: str = "") -> str:
        """Store what a link leads to, and count it as used; what it led to before is still deleted with it.

        Parameters
        ----------
        keys : of the records that it leads to.
        known : what this method, or :meth:`get_link`, gave before the entry was changed; empty for a new link.

        Returns
        -------
        stamp : tells the entry from all others.

        Raises
        ------
        Deleted
            If the link was deleted.
        Changed
            If it is not as it was known.
        """
        content, stamp = b"".join(parts_of(entry)), stamp_of(entry)
        with self._transaction() as db:
            if _stamp_of(db, name) not in ("", known, stamp):
                raise Changed(name)
            db.execute("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)", (name, time.time(), stamp, content))
            db.executemany("INSERT OR IGNORE INTO holds VALUES (?, ?)", [(key, name) for key in keys])
        return stamp

    def get_link(self, name: str, expected: type[T]) -> tuple[T, str] | None:
        """What a link leads to and its stamp, or None where it leads nowhere. Raises Damaged."""
        with self._connected() as db:
            found = db.execute("SELECT entry, stamp FROM links WHERE name = ? AND stamp NOT NULL", (name,)).fetchone()
        if found is None:
            return None
        content, stamp = found
        try:
            if hashlib.sha256(content).hexdigest() != stamp:
                raise Damaged
            return read(content, expected), stamp
        except BadRecord as error:
            raise Damaged from error

    def stamp(self, name: str) -> str:
        """What tells a link as it is stored now from all others; empty where it is not. Raises Deleted."""
        with self._connected() as db:
            return _stamp_of(db, name)

    def delete(self, names: Collection[str]) -> None:
        """Delete links and what no other link leads to, all or nothing; the links are never written again."""
        rows = [(name, time.time()) for name in names]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO links VALUES (?, ?, NULL, NULL)", rows)
            self._tidy(db)

    def sweep(self, max_bytes: int, max_days: float, need: int = 0) -> int:
        """Drop links unused for so many days, and the longest unused until so many bytes have room.

        With a link goes what no other leads to. Links that are in use make no room.

        Returns
        -------
        nbytes : what all takes now.
        """
        now = time.time()
        oldest = "SELECT name FROM links WHERE used < ? AND stamp NOT NULL ORDER BY used LIMIT 1"
        with self._transaction() as db:
            db.execute("DELETE FROM links WHERE used < ?", (now - max_days * DAY,))
            self._tidy(db)
            while _nbytes(db) + need > max_bytes and (link := db.execute(oldest, (now - IN_USE,)).fetchone()):
                db.execute("DELETE FROM links WHERE name = ?", link)
                self._tidy(db)
            return _nbytes(db)

    def _write(self, key: str, value: Any) -> tuple[str, int]:
        """Write a file aside, force it to disk and rename it: a reader finds the whole of it or nothing."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        digest, nbytes, aside = hashlib.sha256(), 0, self._folder / f"{uuid4().hex}{PART}"
        try:
            with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                for part in parts_of(value):
                    digest.update(part)
                    nbytes += file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._folder / key)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        if os.name != "nt":  # Windows cannot, and does not need it
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)  # the name of the file, which a power cut would lose
            finally:
                os.close(folder)
        return digest.hexdigest(), nbytes

    def _content(self, key: str, stamp: str) -> np.ndarray:
        """The bytes of a file, mapped from it. Whether they are right is looked at once in each process."""
        path = self._folder / key
        content = np.memmap(path, np.uint8, "r")
        stat = path.stat()
        as_it_is = stamp, stat.st_ino, stat.st_size, stat.st_mtime_ns
        if self._whole.get(key) != as_it_is:
            if hashlib.sha256(content.data).hexdigest() != stamp:
                raise BadRecord("These are not the bytes that were written.")
            self._whole[key] = as_it_is
        return content

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Delete what no link leads to, and files of no record."""
        db.execute("DELETE FROM holds WHERE link NOT IN (SELECT name FROM links WHERE stamp NOT NULL)")
        db.execute("DELETE FROM records WHERE key NOT IN (SELECT key FROM holds)")
        needed = {key for (key,) in db.execute("SELECT key FROM records")}
        for path in self._folder.glob("*"):
            written = path.suffix == PART and time.time() - path.stat().st_mtime < ABANDONED
            if path.name not in needed and not written:
                path.unlink(missing_ok=True)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all of it or nothing, while nobody else writes."""
        with self._connected() as db:
            db.execute("BEGIN IMMEDIATE")
            yield db  # closing takes back what was not committed
            db.execute("COMMIT")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self._path.exists():
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path.touch(0o600)
            with closing(sqlite3.connect(self._path, timeout=BUSY, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = EXTRA")  # a power cut takes back nothing that was committed
                db.execute("PRAGMA secure_delete = ON")
                if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    db.executescript(_SETUP)
                yield db
        except sqlite3.Error as error:
            number = _CODES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, errno.EIO)
            raise OSError(number, f"{os.strerror(number)} ({error})") from error


def stamp_of(value: Any) -> str:
    """Tells a value from all others, once it is stored and before."""
    digest = hashlib.sha256()
    for part in parts_of(value):
        digest.update(part)
    return digest.hexdigest()


def _stamp_of(db: sqlite3.Connection, name: str) -> str:
    found: tuple[str | None] | None = db.execute("SELECT stamp FROM links WHERE name = ?", (name,)).fetchone()
    if found == (None,):
        raise Deleted(name)
    return (found and found[0]) or ""


def _wanted(db: sqlite3.Connection, key: str) -> bool:
    return bool(db.execute("SELECT 1 FROM holds WHERE key = ?", (key,)).fetchone())


def _nbytes(db: sqlite3.Connection) -> int:
    """Bytes of the index and of all files."""
    size, pages, free = (
        db.execute(f"PRAGMA {it}").fetchone()[0] for it in ("page_size", "page_count", "freelist_count")
    )
    (files,) = db.execute("SELECT sum(nbytes) FROM records").fetchone()
    return int(size * (pages - free) + (files or 0))
