"""The store: a file for each record, and one SQLite file that says which link leads to which of them.

What was announced survives a killed process and a full disk: a file is on disk before the index says that it is there,
and the index is on disk before anybody is told.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from calib.errors import reason
from calib.isolation.logs import trace
from calib.records import BadRecord, flatten, read, write
from calib.settings import limit, text

log = logging.getLogger("calib.store")

T = TypeVar("T")

IN_USE = 1200.0
"""Seconds after its last use in which a link makes no room for others; an open page uses its link more often."""
BUSY = 30.0
"""Seconds to wait for another thread or server that writes."""
ABANDONED = 3600.0
"""Seconds without a change after which a file being written is a dead process's; the largest takes a minute."""
KEY = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""Of a record: a hash, or another plain name; it names the file."""
PART = ".part"
"""Ending of a file that is being written."""
SWEEP_SECONDS = 3600.0
"""Between two looks at what is to be deleted, beside the one before something is stored."""
# Of a link that was deleted, name and time stay.
_SETUP = """
PRAGMA auto_vacuum = FULL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS links(name TEXT PRIMARY KEY, used REAL, entry BLOB);
CREATE TABLE IF NOT EXISTS holds(key TEXT, link TEXT, PRIMARY KEY(key, link));
COMMIT;
"""


class NotKept(Exception):
    """Something is not stored though the disk is well; the text says why, as part of a sentence."""


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

        Raises
        ------
        NotKept
            If it does not fit beside what is in use.
        """
        path, aside = self._file(key), self._folder / f"{uuid4().hex}{PART}"
        if path.exists():
            return
        leads = "SELECT 1 FROM holds WHERE key = ?"
        with self._connected() as db:
            if not _one(db, leads, key):
                return
        value = make()
        size = sum(array.nbytes for array in flatten(value)[1].values())
        if size > self.max_bytes or self.sweep(size) + size > self.max_bytes:
            raise NotKept(f"the server has no room for {size / 1e9:.2g} GB beside what others keep")
        try:
            _write(aside, value)
            with self._transaction() as db:
                if _one(db, leads, key):  # still
                    os.replace(aside, path)
                    if os.name != "nt":  # Windows cannot, and does not need it
                        _flush(self._folder)  # the name of the file, which a power cut would lose
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)

    def get(self, key: str, expected: Any, make: Callable[[Any], T]) -> T | None:
        """What ``make`` makes of a record of the expected type, or None if there is none.

        One that is not as it was stored is deleted, so that it can be stored anew.
        """
        path = self._file(key)
        try:
            with path.open("rb") as file:
                return make(read(file, expected))
        except FileNotFoundError:
            return None
        except (OSError, MemoryError):
            raise
        except Exception as error:  # the methods raise many types on what they have not written
            log.error("a record was damaged on disk\n%s", trace(error))
            path.unlink(missing_ok=True)
            return None

    def put_link(self, name: str, entry: Any, keys: Collection[str]) -> None:
        """Store what a link leads to, and count it as used; what it led to before is still deleted with it.

        Parameters
        ----------
        keys : of the records that it leads to.

        Raises
        ------
        NotKept
            If the link was deleted, in another tab or on another server.
        """
        content = io.BytesIO()
        write(content, entry)
        with self._transaction() as db:
            if _one(db, "SELECT entry FROM links WHERE name = ?", name) == (None,):
                raise NotKept("it was deleted in another window")
            db.execute("INSERT OR REPLACE INTO links VALUES (?, ?, ?)", (name, time.time(), content.getvalue()))
            db.executemany("INSERT OR IGNORE INTO holds VALUES (?, ?)", [(key, name) for key in keys])

    def get_link(self, name: str, expected: type[T]) -> T | None:
        """What a link leads to, or None where that was deleted, damaged or never stored."""
        with self._connected() as db:
            found = _one(db, "SELECT entry FROM links WHERE name = ? AND entry NOT NULL", name)
        made: T | None = None
        with suppress(BadRecord):
            made = None if found is None else read(io.BytesIO(found[0]), expected)
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
            db.execute("DELETE FROM links WHERE used < ?", (now - self.max_days * 86_400,))
            self._tidy(db)
            while self._nbytes(db) + need > self.max_bytes and (link := _one(db, oldest, now - IN_USE)):
                db.execute("DELETE FROM links WHERE name = ?", link)
                self._tidy(db)
            return self._nbytes(db)

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Delete what no link leads to."""
        db.execute("DELETE FROM holds WHERE link NOT IN (SELECT name FROM links WHERE entry NOT NULL)")
        needed = {key for (key,) in db.execute("SELECT key FROM holds")}
        for path in self._folder.glob("*"):
            with suppress(FileNotFoundError):  # another server has removed what it was writing
                written = path.suffix == PART and time.time() - path.stat().st_mtime < ABANDONED
                if path.name not in needed and not written:
                    path.unlink()

    def _file(self, key: str) -> Path:
        """The file of a record; a key that is no plain name, as in a forged link, leads nowhere."""
        if not KEY.fullmatch(key):
            raise BadRecord("A key names a file, and this is no name.")
        return self._folder / key

    def _nbytes(self, db: sqlite3.Connection) -> int:
        """Bytes of the index and of all records."""
        size, pages, free = (_one(db, f"PRAGMA {it}")[0] for it in ("page_size", "page_count", "freelist_count"))
        files = sum(path.stat().st_size for path in self._folder.glob("*") if path.suffix != PART)
        return int(size * (pages - free) + files)

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


def _write(path: Path, value: Any) -> None:
    """Write a new file and force it to disk."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
        write(file, value)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _one(db: sqlite3.Connection, statement: str, *values: Any) -> Any:
    """The first row that a statement finds, or None."""
    return db.execute(statement, values).fetchone()


@cache
def server_store() -> Store | None:
    """The store of this process, as its settings say; None where it is ``off``."""
    folder = text("CALIB_WORKSPACE")
    if folder.lower() == "off":
        return None
    folder = folder or str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calib")
    most = int(limit("CALIB_WORKSPACE_GB") * 1e9)
    store = Store(Path(folder).expanduser().resolve(), most, limit("CALIB_WORKSPACE_DAYS"))
    threading.Thread(target=_sweep_often, args=(store,), name="calib-sweep", daemon=True).start()
    return store


def in_words(error: BaseException) -> str:
    """Why something is not stored, as part of a sentence and without any path."""
    why = reason(error) or type(error).__name__
    return f"the server's disk failed ({why})" if isinstance(error, OSError) else why


def _sweep_often(store: Store) -> None:
    while True:
        try:
            if store.root.exists():
                store.sweep()
        except OSError as error:
            log.error("the store could not be tidied\n%s", trace(error))
        time.sleep(SWEEP_SECONDS)
