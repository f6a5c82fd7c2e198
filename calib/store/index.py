"""The store: records in one SQLite file, their large arrays in files beside it, and which link leads to which record.

What was announced survives a killed process and a full disk: arrays are on disk before the index says that they are
there, and the index is on disk before anybody is told.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from calib.records import MAX_TEXT, arrays_in, flatten, parse, side_by_side, unflatten
from calib.store.arrays import ArrayFiles, Damaged, array_name

T = TypeVar("T")
log = logging.getLogger("calib.store")

MAPPED = 1 << 20
"""Bytes from which an array is a file of its own."""
DAY = 86_400.0
IN_USE = 1200.0
"""Seconds after its last use in which a link makes no room for others; an open page uses its link more often."""
BUSY = 30.0
"""Seconds to wait for another thread or server that writes."""
_CALIB = 0x63616C32
_DAMAGED = "What is stored does not hold what it should; it was damaged on disk."

# A link is a record whose last use is noted. Of one that was deleted, name and time stay.
_SETUP = f"""
PRAGMA auto_vacuum = FULL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS records(key TEXT PRIMARY KEY, used REAL, stamp TEXT, text TEXT, small BLOB);
CREATE TABLE IF NOT EXISTS files(key TEXT, name TEXT, nbytes INTEGER, PRIMARY KEY(key, name));
CREATE TABLE IF NOT EXISTS holds(key TEXT, link TEXT, PRIMARY KEY(key, link));
PRAGMA application_id = {_CALIB};
COMMIT;
"""
_CODES = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}


class Deleted(Exception):
    """A link was deleted, in another tab or on another server, and nothing is written under it again."""


class Changed(Exception):
    """Another tab or server has written a link since whoever writes it looked."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A value as the index holds it.

    Attributes
    ----------
    text : its structure in JSON, with the places of its arrays.
    small : its small arrays, one after the other.
    stamp : tells it from all others.
    large : its large arrays, by the names of their files.
    """

    text: str
    small: bytes
    stamp: str
    large: Mapping[str, np.ndarray]


def packed(value: Any) -> Packed:
    """What :func:`calib.records.flatten` takes, as the index holds it; ValueError where it could not be read again."""
    outline, arrays = flatten(value)
    files = {name: array_name(array) for name, array in arrays.items() if array.nbytes >= MAPPED}
    small, places = side_by_side({name: array for name, array in arrays.items() if name not in files})
    text = json.dumps([outline, places, files])
    if len(text) > MAX_TEXT:
        raise ValueError(f"its description takes {len(text) / 1e6:.0f} MB, and {MAX_TEXT / 1e6:.0f} MB are kept")
    return Packed(text, small, _stamp(text, small), {file: arrays[name] for name, file in files.items()})


class Store:
    """The records below a folder, which is made when it is needed. Safe to use from many threads and servers.

    Every method raises OSError where the disk is full, or cannot be read or written.
    """

    def __init__(self, root: Path):
        self.root = root
        self._path = root / "index.sqlite"
        self._arrays = ArrayFiles(root / "arrays")

    def put(self, key: str, value: Any) -> None:
        """Store what :func:`calib.records.flatten` takes, where a link leads there. On return it is on disk."""
        content = packed(value)
        with self._transaction() as db:
            if _wanted(db, key):
                self._write(db, key, content)

    def put_link(self, name: str, entry: Any, keys: Collection[str], known: str = "") -> None:
        """Store what a link leads to, and count it as used; what it led to before is still deleted with it.

        Parameters
        ----------
        keys : of the records that it leads to.
        known : what :meth:`stamp` said of the link before it was changed; empty for a new one.

        Raises
        ------
        Deleted
            If the link was deleted.
        Changed
            If it is not as it was known.
        """
        content = packed(entry)
        with self._transaction() as db:
            if _stamp_of(db, name) not in ("", known, content.stamp):
                raise Changed(name)
            self._write(db, name, content, time.time())
            db.executemany("INSERT OR IGNORE INTO holds VALUES (?, ?)", [(key, name) for key in keys])

    def get(self, key: str, expected: Any, make: Callable[[Any], T]) -> T | None:
        """What ``make`` makes of a record of the expected type, or None if there is none.

        Raises
        ------
        Damaged
            If it is not as it was stored; it is removed, so that it can be stored anew.
        """
        question = "SELECT text, small, stamp FROM records WHERE key = ? AND text IS NOT NULL"
        with self._connected() as db:
            found = db.execute(question, (key,)).fetchone()
        if found is None:
            return None
        text, small, stamp = found
        try:
            if _stamp(text, small) != stamp:
                raise Damaged(_DAMAGED)
            outline, places, files = parse(text)
            arrays = arrays_in(small, places) | {name: self._arrays.get(file) for name, file in files.items()}
            return make(unflatten(outline, arrays, expected))
        except (OSError, MemoryError):
            raise
        except Exception as error:  # NumPy and the methods raise many types on what they have not written
            with suppress(OSError), self._transaction() as db:
                db.execute("DELETE FROM records WHERE key = ? AND stamp = ?", (key, stamp))
            raise Damaged(_DAMAGED) from error

    def holds(self, key: str) -> bool:
        """Whether a record is there with all its files."""
        with self._connected() as db:
            found = db.execute("SELECT 1 FROM records WHERE key = ?", (key,)).fetchone()
            return bool(found) and all(map(self._arrays.holds, _files(db, key)))

    def wants(self, key: str) -> bool:
        """Whether a link leads to a record, stored or not."""
        with self._connected() as db:
            return _wanted(db, key)

    def stamp(self, name: str) -> str:
        """What tells a link as it is stored now from all others; empty where it is not. Raises Deleted."""
        with self._connected() as db:
            return _stamp_of(db, name)

    def delete(self, names: Collection[str]) -> None:
        """Delete links and what no other link leads to, all or nothing; the links are never written again."""
        rows = [(name, time.time()) for name in names]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, NULL, NULL, NULL)", rows)
            self._tidy(db)

    def sweep(self, max_bytes: int, max_days: float, need: int = 0) -> int:
        """Drop links unused for so many days, and the longest unused until so many bytes have room.

        With a link goes what no other leads to. Links that are in use make no room.

        Returns
        -------
        nbytes : what all takes now.
        """
        now = time.time()
        oldest = "SELECT key FROM records WHERE used < ? AND text IS NOT NULL ORDER BY used LIMIT 1"
        with self._transaction() as db:
            db.execute("DELETE FROM records WHERE used < ?", (now - max_days * DAY,))
            self._tidy(db)
            while _nbytes(db) + need > max_bytes and (link := db.execute(oldest, (now - IN_USE,)).fetchone()):
                db.execute("DELETE FROM records WHERE key = ?", link)
                self._tidy(db)
            taken = _nbytes(db)
        for path in self.root.glob("index.damaged*"):
            if now - path.stat().st_mtime > max_days * DAY:
                path.unlink(missing_ok=True)
        return taken

    def _write(self, db: sqlite3.Connection, key: str, content: Packed, used: float | None = None) -> None:
        """Write files and record while nobody else writes, so that nobody takes the files for needless meanwhile."""
        for file, array in content.large.items():
            self._arrays.put(file, array)
        db.execute("DELETE FROM files WHERE key = ?", (key,))
        rows = [(key, file, array.nbytes) for file, array in content.large.items()]
        db.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
        row = (key, used, content.stamp, content.text, content.small)
        db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", row)

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Delete what no link leads to, and files that no record needs."""
        db.execute("DELETE FROM holds WHERE link NOT IN (SELECT key FROM records WHERE text IS NOT NULL)")
        db.execute("DELETE FROM records WHERE used IS NULL AND key NOT IN (SELECT key FROM holds)")
        db.execute("DELETE FROM files WHERE key NOT IN (SELECT key FROM records WHERE text IS NOT NULL)")
        self._arrays.remove_all_but(_files(db))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all of it or nothing, while nobody else writes."""
        with self._connected() as db:
            db.execute("BEGIN IMMEDIATE")
            yield db  # closing takes back what was not committed
            db.execute("COMMIT")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        file = 0
        try:
            if not self._path.exists():
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path.touch(0o600)
            file = self._path.stat().st_ino
            with closing(sqlite3.connect(self._path, timeout=BUSY, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = EXTRA")  # a power cut takes back nothing that was committed
                db.execute("PRAGMA secure_delete = ON")
                if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    db.executescript(_SETUP)
                elif db.execute("PRAGMA application_id").fetchone() != (_CALIB,):
                    raise sqlite3.DatabaseError("This is the index of another program.")
                yield db
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB) & 0xFF
            if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                self._set_aside(file)
            number = _CODES.get(code, errno.EIO)
            raise OSError(number, os.strerror(number)) from error

    def _set_aside(self, file: int) -> None:
        """Rename an index that cannot be read, unless another server has done so; the next call begins a new one."""
        with suppress(OSError):
            if self._path.stat().st_ino == file:
                name = self.root / f"index.damaged-{uuid4().hex[:8]}.sqlite"
                for ending in ("-journal", ""):  # a journal that stayed behind would be taken for the new one's
                    with suppress(FileNotFoundError):
                        os.replace(f"{self._path}{ending}", f"{name}{ending}")
                log.error("the index of what is stored is damaged or of another program; it was renamed")


def _stamp(text: str, small: bytes) -> str:
    return hashlib.sha256(text.encode() + b"\0" + small).hexdigest()


def _stamp_of(db: sqlite3.Connection, name: str) -> str:
    found: tuple[str | None] | None = db.execute("SELECT stamp FROM records WHERE key = ?", (name,)).fetchone()
    if found == (None,):
        raise Deleted(name)
    return (found and found[0]) or ""


def _wanted(db: sqlite3.Connection, key: str) -> bool:
    return bool(db.execute("SELECT 1 FROM holds WHERE key = ?", (key,)).fetchone())


def _files(db: sqlite3.Connection, key: str | None = None) -> set[str]:
    """The files that a record needs, or all records."""
    return {name for (name,) in db.execute("SELECT name FROM files WHERE key = ?1 OR ?1 IS NULL", (key,))}


def _nbytes(db: sqlite3.Connection) -> int:
    """Bytes of the index and of all files."""
    size, pages, free = (
        db.execute(f"PRAGMA {it}").fetchone()[0] for it in ("page_size", "page_count", "freelist_count")
    )
    (files,) = db.execute("SELECT sum(nbytes) FROM (SELECT DISTINCT name, nbytes FROM files)").fetchone()
    return int(size * (pages - free) + (files or 0))
