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
CREATE TABLE IF NOT EXISTS links(name TEXT PRIMARY KEY, used REAL, entry BLOB);
CREATE TABLE IF NOT EXISTS records(key TEXT PRIMARY KEY, stamp TEXT, nbytes INTEGER);
CREATE TABLE IF NOT EXISTS holds(key TEXT, link TEXT, PRIMARY KEY(key, link));
COMMIT;
"""
# A record is written where a link leads to it and it is not there.
_LACKING = "SELECT key FROM holds LEFT JOIN records USING (key) WHERE stamp IS NULL AND "


class Damaged(Exception):
    """Something stored cannot be read as it was written; the text is one sentence."""

    def __init__(self) -> None:
        super().__init__("What is stored does not hold what it should; it was damaged on disk.")


class Deleted(Exception):
    """A link was deleted, in another tab or on another server, and nothing is written under it again."""


class Store:
    """The records below a folder, which is made when it is needed. Safe to use from many threads and servers.

    Every method raises OSError where the disk is full, or cannot be read or written.

    Attributes
    ----------
    root : the folder, readable by its owner alone.
    max_bytes : most bytes on disk; what was unused for longest goes first.
    max_days : days after the last use at which anything goes.
    """

    def __init__(self, root: Path, max_bytes: int = 10 * 10**9, max_days: float = 30.0):
        self.root, self.max_bytes, self.max_days = root, max_bytes, max_days
        self._path, self._folder = root / "index.sqlite", root / "records"

    def put(self, key: str, make: Callable[[], Any]) -> None:
        """Store what is made, if a link leads there and it is not stored yet. On return it is on disk.

        Parameters
        ----------
        make : gives what :func:`calib.records.flatten` takes.
        """
        with self._connected() as db:
            if not _one(db, _LACKING + "key = ?", key):
                return
        aside = self._folder / f"{uuid4().hex}{PART}"
        try:
            stamp, nbytes = _write(aside, make())
            with self._transaction() as db:
                if _one(db, _LACKING + "key = ?", key):  # still
                    os.replace(aside, self._folder / key)
                    if os.name != "nt":  # Windows cannot, and does not need it
                        _flush(self._folder)  # the name of the file, which a power cut would lose
                    db.execute("INSERT INTO records VALUES (?, ?, ?)", (key, stamp, nbytes))
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)

    def get(self, key: str, expected: Any, make: Callable[[Any], T]) -> T | None:
        """What ``make`` makes of a record of the expected type, its arrays mapped from disk, or None if there is none.

        Raises
        ------
        Damaged
            If it is not as it was stored; it is forgotten, so that it can be stored anew.
        """
        with self._connected() as db:
            found = _one(db, "SELECT stamp FROM records WHERE key = ?", key)
        if found is None:
            return None
        try:
            content = np.memmap(self._folder / key, np.uint8, "r")
            if hashlib.sha256(content.data).hexdigest() != found[0]:
                raise BadRecord("These are not the bytes that were written.")
            return make(read(content, expected))
        except Exception as error:  # NumPy and the methods raise many types on what they have not written
            if isinstance(error, (OSError, MemoryError)) and not isinstance(error, FileNotFoundError):
                raise
            with suppress(OSError), self._transaction() as db:
                db.execute("DELETE FROM records WHERE key = ? AND stamp = ?", (key, *found))
            raise Damaged from error

    def lacking(self, name: str) -> set[str]:
        """Keys of the records that a link leads to and that are not there."""
        with self._connected() as db:
            return {key for (key,) in db.execute(_LACKING + "link = ?", (name,))}

    def put_link(self, name: str, entry: Any, keys: Collection[str]) -> None:
        """Store what a link leads to, and count it as used; what it led to before is still deleted with it.

        Parameters
        ----------
        keys : of the records that it leads to.

        Raises
        ------
        Deleted
            If the link was deleted.
        """
        content = b"".join(parts_of(entry))
        with self._transaction() as db:
            if _one(db, "SELECT entry FROM links WHERE name = ?", name) == (None,):
                raise Deleted(name)
            db.execute("INSERT OR REPLACE INTO links VALUES (?, ?, ?)", (name, time.time(), content))
            db.executemany("INSERT OR IGNORE INTO holds VALUES (?, ?)", [(key, name) for key in keys])

    def get_link(self, name: str, expected: type[T]) -> T | None:
        """What a link leads to, or None where nothing is stored under it. Raises Damaged and Deleted."""
        with self._connected() as db:
            found = _one(db, "SELECT entry FROM links WHERE name = ?", name)
        if found == (None,):
            raise Deleted(name)
        try:
            made: T | None = None if found is None else read(found[0], expected)
        except BadRecord as error:
            raise Damaged from error
        return made

    def delete(self, names: Collection[str]) -> None:
        """Delete links and what no other link leads to, all or nothing; the links are never written again."""
        rows = [(name, time.time()) for name in names]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO links VALUES (?, ?, NULL)", rows)
            self._tidy(db)

    def sweep(self, need: int = 0) -> int:
        """Drop links unused for too many days, and the longest unused until so many bytes more have room.

        With a link goes what no other leads to. Links that are in use make no room.

        Returns
        -------
        nbytes : what all takes now.
        """
        now = time.time()
        oldest = "SELECT name FROM links WHERE used < ? AND entry NOT NULL ORDER BY used LIMIT 1"
        with self._transaction() as db:
            db.execute("DELETE FROM links WHERE used < ?", (now - self.max_days * DAY,))
            self._tidy(db)
            while _nbytes(db) + need > self.max_bytes and (link := _one(db, oldest, now - IN_USE)):
                db.execute("DELETE FROM links WHERE name = ?", link)
                self._tidy(db)
            return _nbytes(db)

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Delete what no link leads to, and files of no record."""
        db.execute("DELETE FROM holds WHERE link NOT IN (SELECT name FROM links WHERE entry NOT NULL)")
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
                if not _one(db, "SELECT 1 FROM sqlite_master"):
                    db.executescript(_SETUP)
                yield db
        except sqlite3.Error as error:
            raise OSError(errno.EIO, str(error)) from error


def _write(path: Path, value: Any) -> tuple[str, int]:
    """Write a new file and force it to disk; its SHA-256 and its bytes."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    digest, nbytes = hashlib.sha256(), 0
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        for part in parts_of(value):
            digest.update(part)
            nbytes += file.write(part)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), nbytes


def _flush(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _one(db: sqlite3.Connection, statement: str, *values: Any) -> Any:
    """The first row that a statement finds, or None."""
    return db.execute(statement, values).fetchone()


def _nbytes(db: sqlite3.Connection) -> int:
    """Bytes of the index and of all files."""
    size, pages, free = (_one(db, f"PRAGMA {it}")[0] for it in ("page_size", "page_count", "freelist_count"))
    return int(size * (pages - free) + (_one(db, "SELECT sum(nbytes) FROM records")[0] or 0))
