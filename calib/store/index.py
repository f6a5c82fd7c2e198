"""The store: records in one SQLite file, their large arrays in files beside it, and which link leads to which record.

A record is of data, a fit, a study or a link. What was announced survives a killed process and a full disk: arrays are
on disk before the index says that they are there, and the index is on disk before anybody is told.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

import numpy as np

from calib.records import MAX_TEXT, arrays_of, flatten, npz_of, parse, unflatten
from calib.store.arrays import PART, ArrayFiles, Damaged, remove_if_abandoned, sync

T = TypeVar("T")
log = logging.getLogger("calib.store")

Kind = Literal["study", "fit", "data", "link"]
RANK: tuple[Kind, ...] = ("study", "fit", "data", "link")
"""What goes first of what was last used together."""
Content = tuple[Kind, str]
"""A kind of record, and its key."""

MAPPED = 1 << 20
"""Bytes from which an array is a file of its own."""
DAY = 86_400.0
TOUCHED = 600.0
"""Seconds after which a use is written down again."""
IN_USE = 1200.0
"""Seconds after its last use in which something makes no room for others."""
ATTEMPTS = 3
"""At writing arrays before their record: somebody who deletes what no record needs may come in between."""
BUSY = 10.0
"""Seconds to wait for another thread or server that writes."""
_CALIB = 0x63616C69
_DAMAGED = "What is stored does not hold what it should; it was damaged on disk."

_SETUP = f"""
PRAGMA auto_vacuum = FULL;
PRAGMA application_id = {_CALIB};
PRAGMA journal_mode = WAL;
CREATE TABLE records(
    kind TEXT, key TEXT, record TEXT, arrays BLOB, sha256 TEXT, nbytes INTEGER, used REAL, PRIMARY KEY(kind, key)
);
CREATE TABLE files(kind TEXT, key TEXT, name TEXT, sha256 TEXT, nbytes INTEGER, PRIMARY KEY(kind, key, name));
CREATE TABLE holds(link TEXT, kind TEXT, key TEXT, PRIMARY KEY(link, kind, key));
CREATE INDEX held ON holds(kind, key);
"""
_CODES = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}


class Deleted(Exception):
    """A link was deleted, in another tab or on another server, and nothing is written under it again."""


class Store:
    """The records below a folder, which is made when it is needed. Safe to use from many threads and servers.

    Every method raises OSError where the disk is full, or cannot be read or written.
    """

    def __init__(self, root: Path):
        self.root = root
        self._path = root / "index.sqlite"
        self._arrays = ArrayFiles(root / "arrays")
        self._staying: tuple[int, sqlite3.Connection] | None = None

    # -- writing ------------------------------------------------------------------------------------------

    def put(self, kind: Kind, key: str, value: Any) -> None:
        """Store what :func:`calib.records.flatten` takes, where a link leads there. On return it is on disk."""
        text, npz, sha256, large = _written(value)
        for _ in range(ATTEMPTS):
            files = {name: self._arrays.put(array) for name, array in large.items()}
            with self._transaction() as db:
                if not _held(db, (kind, key)):
                    self._remove_files(db)
                    return
                if all(map(self._arrays.holds, files.values())):
                    self._insert(db, kind, key, text, npz, sha256)
                    rows = [(kind, key, name, file, large[name].nbytes) for name, file in files.items()]
                    db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?)", rows)
                    return
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def put_link(self, name: str, entry: Any, contents: Collection[Content]) -> None:
        """Store what a link leads to; what it led to before is still deleted with it.

        Raises
        ------
        Deleted
            If the link was deleted.
        """
        text, npz, sha256, _ = _written(entry, mapped=False)
        with self._transaction() as db:
            if _link(db, name) == (None,):
                raise Deleted(name)
            self._insert(db, "link", name, text, npz, sha256)
            db.executemany("INSERT OR IGNORE INTO holds VALUES (?, ?, ?)", [(name, *content) for content in contents])

    def _insert(self, db: sqlite3.Connection, kind: Kind, key: str, text: str, npz: bytes, sha256: str) -> None:
        db.execute("DELETE FROM files WHERE kind = ? AND key = ?", (kind, key))
        row = (kind, key, text, npz, sha256, len(text) + len(npz), time.time())
        db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    # -- reading ------------------------------------------------------------------------------------------

    def get(self, kind: Kind, key: str, expected: Any, make: Callable[[Any], T]) -> T | None:
        """What ``make`` makes of a record of the expected type, or None if there is none.

        Raises
        ------
        Damaged
            If it is not as it was stored; it is removed, so that it can be stored anew.
        """
        with self._connected() as db:
            found = db.execute(
                "SELECT record, arrays, sha256 FROM records WHERE kind = ? AND key = ? AND record IS NOT NULL",
                (kind, key),
            ).fetchone()
            files = db.execute("SELECT name, sha256 FROM files WHERE kind = ? AND key = ?", (kind, key)).fetchall()
        if found is None:
            return None
        text, npz, sha256 = found
        try:
            if _digest(text, npz) != sha256:
                raise Damaged(_DAMAGED)
            arrays = {**arrays_of(npz), **{name: self._arrays.get(file) for name, file in files}}
            return make(unflatten(parse(text), arrays, expected))
        except (OSError, MemoryError):
            raise
        except Exception as error:  # zipfile, NumPy and the methods raise many types on what they have not written
            with suppress(OSError), self._transaction() as db:
                where = (kind, key, sha256)
                db.execute("DELETE FROM records WHERE kind = ? AND key = ? AND sha256 = ?", where)
            raise Damaged(_DAMAGED) from error

    def missing(self, name: str, entry: Any, contents: Collection[Content]) -> set[Content]:
        """What of a link, as it should be, and of what it leads to is not stored. Looking counts as use.

        Raises
        ------
        Deleted
            If the link was deleted.
        """
        _, _, sha256, _ = _written(entry, mapped=False)
        with self._connected() as db:
            link = _link(db, name)
            if link == (None,):
                raise Deleted(name)
            stored = {content for content in contents if self._is_there(db, content)}
        if link is not None:
            self.touch(name)
        return {*contents} - stored | ({("link", name)} if link != (sha256,) else set())

    def _is_there(self, db: sqlite3.Connection, content: Content) -> bool:
        if not db.execute("SELECT 1 FROM records WHERE kind = ? AND key = ?", content).fetchone():
            return False
        files = db.execute("SELECT sha256 FROM files WHERE kind = ? AND key = ?", content)
        return all(self._arrays.holds(sha256) for (sha256,) in files)

    def held(self, content: Content) -> bool:
        """Whether a link leads there."""
        with self._connected() as db:
            return _held(db, content)

    def touch(self, name: str) -> None:
        """Count a link, and all it leads to, as used now."""
        now = time.time()
        with self._connected() as db:
            used = db.execute("SELECT used FROM records WHERE kind = 'link' AND key = ?", (name,)).fetchone()
        if used is not None and now - used[0] > TOUCHED:
            with suppress(OSError), self._transaction() as db:  # a disk that cannot be written can be read
                db.execute("UPDATE records SET used = ? WHERE kind = 'link' AND key = ?", (now, name))

    # -- deleting -----------------------------------------------------------------------------------------

    def delete(self, names: Collection[str]) -> None:
        """Delete links and what no other link leads to, all or nothing; the links are never written again."""
        with self._transaction() as db:
            theirs: set[Content] = set()
            for name in names:
                theirs |= set(db.execute("SELECT kind, key FROM holds WHERE link = ?", (name,)))
                db.execute("DELETE FROM holds WHERE link = ?", (name,))
                row = ("link", name, None, None, None, 0, time.time())
                db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            _delete(db, [content for content in theirs if not _held(db, content)])
            self._remove_files(db)
        with self._connected() as db:  # or what was deleted stays in the log
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def sweep(self, max_bytes: int, max_days: float, need: int = 0) -> int:
        """Delete what was unused for so many days, and the longest unused until so many bytes have room.

        Using a link counts as using all it leads to. What no link leads to goes first, and links go last; what is in
        use makes no room, and nothing goes for bytes that find none anyway. Several servers may do so on one folder.

        Returns
        -------
        nbytes : what all takes now.
        """
        now, going = time.time(), set()
        with self._transaction() as db:
            files: dict[Content, dict[str, int]] = {}
            for kind, key, sha256, nbytes in db.execute("SELECT kind, key, sha256, nbytes FROM files"):
                files.setdefault((kind, key), {})[sha256] = nbytes
            sizes = {sha256: nbytes for of_one in files.values() for sha256, nbytes in of_one.items()}
            needed = Counter(sha256 for of_one in files.values() for sha256 in of_one)
            rows = db.execute(_USES).fetchall()
            total = sum(sizes.values()) + sum(nbytes for *_, nbytes in rows)
            idle = {
                (kind, key) for kind, key, used, held, _ in rows if now - used > IN_USE or not (held or kind == "link")
            }
            staying_files = {sha256 for content, of_one in files.items() if content not in idle for sha256 in of_one}
            staying = sum(sizes[sha256] for sha256 in staying_files)
            staying += sum(nbytes for kind, key, _, _, nbytes in rows if (kind, key) not in idle)
            if staying + need > max_bytes:
                need = 0
            for kind, key, used, _, nbytes in sorted(rows, key=_order):
                if now - used > max_days * DAY or ((kind, key) in idle and total + need > max_bytes):
                    going.add((kind, key))
                    total -= nbytes
                    for sha256 in files.get((kind, key), ()):
                        needed[sha256] -= 1
                        total -= 0 if needed[sha256] else sizes[sha256]
            _delete(db, going)
            self._remove_files(db)
        for path in self.root.glob(f"*{PART}*"):
            remove_if_abandoned(path)
        for path in self.root.glob("index.damaged*"):
            remove_if_abandoned(path, max_days * DAY)
        return total

    def _remove_files(self, db: sqlite3.Connection) -> None:
        """Delete the files that no record needs, while nobody else writes."""
        self._arrays.remove_all_but({sha256 for (sha256,) in db.execute("SELECT sha256 FROM files")})

    # -- connections --------------------------------------------------------------------------------------

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
            with closing(self._opened()) as db:
                yield db
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB) & 0xFF
            if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                self._set_aside()
            number = _CODES.get(code, errno.EIO)
            raise OSError(number, os.strerror(number)) from error

    def _opened(self) -> sqlite3.Connection:
        if not self._path.exists():
            self._create()
        inode = self._path.stat().st_ino
        if self._staying is None or self._staying[0] != inode:
            self._staying = (
                inode,
                self._connect(),
            )  # while one is open the log stays, without which no full disk is read
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        place = f"{self._path.as_uri()}?mode=rw"
        db = sqlite3.connect(place, uri=True, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA secure_delete = ON")
            if db.execute("PRAGMA application_id").fetchone() != (_CALIB,):
                raise sqlite3.DatabaseError("This is the index of another program.")
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        """Write the log into the index, if no other thread or server has it open."""
        if self._staying is not None:
            self._staying[1].close()
            self._staying = None

    def _create(self) -> None:
        """Put an empty index there, whole at once, unless another server was faster."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = self.root / f"{uuid4().hex}{PART}"
        try:
            with closing(sqlite3.connect(made, isolation_level=None)) as db:
                db.executescript(_SETUP)
            made.chmod(0o600)
            with suppress(FileExistsError):
                os.link(made, self._path)
            sync(self.root)
        finally:
            with suppress(OSError):
                made.unlink(missing_ok=True)

    def _set_aside(self) -> None:
        """Rename an index that cannot be read; the next call begins a new one."""
        with suppress(sqlite3.Error, OSError), closing(self._opened()) as db:
            if db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                return  # another server has done so
        log.error("the index of what is stored is damaged or of another program; it was renamed, and a new one begins")
        name = f"index.damaged-{uuid4().hex[:8]}"
        for ending in ("-wal", "-shm", ""):  # a log that stayed behind would be taken for that of the new one
            with suppress(OSError):
                os.replace(f"{self._path}{ending}", self.root / f"{name}.sqlite{ending}")


_USES = """
SELECT kind, key, max(used, coalesce(held.last, 0)), held.last IS NOT NULL, nbytes
FROM records LEFT JOIN (
    SELECT holds.kind, holds.key, max(links.used) AS last
    FROM holds JOIN records AS links ON links.kind = 'link' AND links.key = holds.link
    GROUP BY holds.kind, holds.key
) AS held USING (kind, key)
"""
"""Kind, key, last use, whether a link leads there, and bytes of every record."""


def _order(row: Any) -> tuple[bool, bool, float, int]:
    """What goes first."""
    kind, _, used, held, _ = row
    return kind == "link", held, used, RANK.index(kind)


def _written(value: Any, mapped: bool = True) -> tuple[str, bytes, str, dict[str, np.ndarray]]:
    """A value's JSON text, npz of its small arrays, checksum of both, and its large arrays."""
    outline, arrays = flatten(value)
    large = {name: array for name, array in arrays.items() if mapped and array.nbytes >= MAPPED}
    text = json.dumps(outline)
    if len(text) > MAX_TEXT:
        raise ValueError(f"its description takes {len(text) / 1e6:.0f} MB, and {MAX_TEXT / 1e6:.0f} MB are kept")
    npz = npz_of({name: array for name, array in arrays.items() if name not in large}, compress=False)
    return text, npz, _digest(text, npz), large


def _digest(text: str, npz: bytes) -> str:
    return hashlib.sha256(text.encode() + b"\0" + npz).hexdigest()


def _link(db: sqlite3.Connection, name: str) -> tuple[str | None] | None:
    """The checksum of a link's record, which is None where it was deleted; None where there is none."""
    found: tuple[str | None] | None = db.execute(
        "SELECT sha256 FROM records WHERE kind = 'link' AND key = ?", (name,)
    ).fetchone()
    return found


def _held(db: sqlite3.Connection, content: Content) -> bool:
    return bool(db.execute("SELECT 1 FROM holds WHERE kind = ? AND key = ?", content).fetchone())


def _delete(db: sqlite3.Connection, contents: Collection[Content]) -> None:
    for table in ("records", "files"):
        db.executemany(f"DELETE FROM {table} WHERE kind = ? AND key = ?", contents)
    gone = [(key,) for kind, key in contents if kind == "link"]
    db.executemany("DELETE FROM holds WHERE link = ?", gone)
