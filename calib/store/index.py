"""The store: a file for each record and each link, and one SQLite file that says which link leads to which records.

What was announced survives a killed process and a full disk: a file is on disk before the index says that it is there,
and the index is on disk before anybody is told. An index that was lost is rebuilt from the files.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from calib.errors import reason
from calib.isolation.logs import trace
from calib.records import BadRecord, flatten, read, write
from calib.settings import limit, text

log = logging.getLogger("calib.store")

T = TypeVar("T")

DAY = 86_400.0
"""Seconds of a day; a clock that jumps by more stops the deletion of old data."""
IN_USE = 1200.0
"""Seconds after its last use in which a link makes no room for others; an open page uses its link more often."""
BUSY = 30.0
"""Seconds to wait for another thread or server that writes."""
ABANDONED = 3600.0
"""Seconds without a change after which a file being written is a dead process's; the largest takes a minute."""
KEY = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""Of a record or a link: a hash, or another plain name; it names the file."""
PART = ".part"
"""Ending of a file that is being written."""
SWEEP_SECONDS = 3600.0
"""Between two looks at what is to be deleted."""
LARGEST_STEP = 0.25
"""Largest step of the store's own time, in the time that unused data stay."""
# Of a link that was deleted, name and time stay.
_SETUP = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS uses(link TEXT PRIMARY KEY, time REAL, live INTEGER);
CREATE TABLE IF NOT EXISTS holds(key TEXT, link TEXT, PRIMARY KEY(key, link));
CREATE TABLE IF NOT EXISTS clock(id INTEGER PRIMARY KEY, own REAL, wall REAL);
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
        self.root = root
        self.max_bytes = max_bytes
        self.max_days = max_days
        self._path = root / "index.sqlite"
        self._records = root / "records"
        self._links = root / "links"

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
        path = _file(self._records, key)
        if path.exists():
            return
        leads = "SELECT 1 FROM holds WHERE key = ?"
        with self._connected() as db:
            if not _first(db, leads, key):
                return
        value = make()
        size = sum(array.nbytes for array in flatten(value)[1].values())
        if size > self.max_bytes or not self.make_room(size):
            raise NotKept(f"the server has no room for {size / 1e9:.2g} GB beside what others keep")
        with _written(path, value) as place, self._transaction() as db:
            if _first(db, leads, key):  # still
                place()

    def get(self, key: str, expected: Any, make: Callable[[Any], T]) -> T | None:
        """Read a record of the expected type by ``make``, or None if there is none.

        One that is not as it was stored is deleted, so that it can be stored anew.
        """
        return _read(_file(self._records, key), expected, make)

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
        with (
            self._transaction() as db,
            _written(_file(self._links, name), (sorted(keys), entry)) as place,
        ):
            if _first(db, "SELECT 1 FROM uses WHERE link = ? AND NOT live", name):
                raise NotKept("it was deleted in another window")
            place()
            self._use(db, name, keys)
            # These have an owner again.
            db.executemany("DELETE FROM uses WHERE link = ?", [(key,) for key in keys])

    def get_link(self, name: str, expected: type[T]) -> T | None:
        """Target of a link, or None where it was deleted, damaged or never stored."""
        return _read(_file(self._links, name), tuple[list[str], expected], itemgetter(1))  # type: ignore[valid-type]

    def delete(self, names: Collection[str]) -> None:
        """Delete links and what no other link leads to, all or nothing; the links are never written again."""
        with self._transaction() as db:
            self._drop(db, names)
            rows = [(name, self._time(db)) for name in names]
            db.executemany("INSERT INTO uses VALUES (?, ?, 0)", rows)

    def sweep(self) -> None:
        """Delete the links unused for too many days, with what no other leads to.

        Two times must say so: the store's own, and the clock's since the link's file was written. A clock that was
        wrong for a while spoils one of them.
        """
        with self._transaction() as db:
            self._rebuild(db)
            most = self.max_days * DAY
            unused = db.execute(
                "SELECT link FROM uses WHERE time < ?", (self._time(db) - most,)
            ).fetchall()
            self._drop(db, [name for (name,) in unused if _age(self._links / name) > most])

    def make_room(self, need: int = 0) -> bool:
        """Delete the links unused for longest, but none that is in use, until so many bytes more have room.

        Returns
        -------
        there : whether they have.
        """
        oldest = "SELECT link FROM uses WHERE live AND time < ? ORDER BY time LIMIT 1"
        while self._nbytes() + need > self.max_bytes:
            with self._transaction() as db:
                if (link := _first(db, oldest, self._time(db) - IN_USE)) is None:
                    return False
                self._drop(db, link)
        return True

    def _time(self, db: sqlite3.Connection) -> float:
        """The store's own time in seconds: it goes on with the clock, but never back, and never far at once."""
        now = time.time()
        elapsed, wall = _first(db, "SELECT own, wall FROM clock") or (now, now)
        elapsed += min(max(now - wall, 0.0), LARGEST_STEP * self.max_days * DAY)
        db.execute("INSERT OR REPLACE INTO clock VALUES (1, ?, ?)", (elapsed, now))
        return float(elapsed)

    def _use(self, db: sqlite3.Connection, name: str, keys: Collection[str]) -> None:
        """Count a link as used, and as leading to some records."""
        db.execute("INSERT OR REPLACE INTO uses VALUES (?, ?, 1)", (name, self._time(db)))
        db.executemany("INSERT OR IGNORE INTO holds VALUES (?, ?)", [(key, name) for key in keys])

    def _drop(self, db: sqlite3.Connection, names: Collection[str]) -> None:
        """Delete links, the records that no other leads to, and what dead processes were writing."""
        db.executemany("DELETE FROM uses WHERE link = ?", [(name,) for name in names])
        leads = "link IN (SELECT link FROM uses)"
        keys = db.execute(
            f"SELECT key FROM holds EXCEPT SELECT key FROM holds WHERE {leads}"
        ).fetchall()
        db.execute(f"DELETE FROM holds WHERE NOT {leads}")
        for folder, gone in ((self._links, {*names}), (self._records, {key for (key,) in keys})):
            for path in folder.glob("*"):
                if path.name in gone or (path.suffix == PART and _age(path) > ABANDONED):
                    path.unlink(missing_ok=True)

    def _rebuild(self, db: sqlite3.Connection) -> None:
        """Have the index know all links and records on disk, also after it was lost; they count as used now.

        A record without a link stays under its own name, until a new link leads to it.
        """
        for folder in (self._links, self._records):  # a link says which records are its own
            indexed = {
                name for (name,) in db.execute("SELECT link FROM uses UNION SELECT key FROM holds")
            }
            lost = [
                path
                for path in folder.glob("*")
                if path.name not in indexed and path.suffix != PART
            ]
            if lost:
                log.warning(
                    "the index lacked %d %s on disk: it was rebuilt from them",
                    len(lost),
                    folder.name,
                )
            for path in lost:
                keys = (
                    None
                    if folder == self._records
                    else _read(path, tuple[list[str], object], itemgetter(0))
                )
                self._use(db, path.name, [path.name] if keys is None else keys)

    def _nbytes(self) -> int:
        """Bytes of all files."""
        files = [
            path
            for folder in (self._links, self._records)
            for path in folder.glob("*")
            if path.suffix != PART
        ]
        return sum(path.stat().st_size for path in (self._path, *files))

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
                # A power cut takes back nothing that was committed.
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("PRAGMA secure_delete = ON")
                if not _first(db, "SELECT 1 FROM sqlite_master WHERE name = 'clock'"):
                    db.executescript(_SETUP)
                yield db
        except sqlite3.Error as error:
            raise OSError(errno.EIO, str(error)) from error


def _file(folder: Path, key: str) -> Path:
    """The file of a record or a link; a key that is no plain name, as in a forged link, leads nowhere."""
    if not KEY.fullmatch(key):
        raise BadRecord("A key names a file, and this is no name.")
    return folder / key


def _age(path: Path) -> float:
    """Seconds since a file was written; infinite where there is none."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _read(path: Path, expected: Any, make: Callable[[Any], T]) -> T | None:
    """Read a file by ``make``; see :meth:`Store.get`."""
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


@contextmanager
def _written(path: Path, value: Any) -> Iterator[Callable[[], None]]:
    """Write a value beside its place and force it to disk; what this gives puts it there."""
    aside = path.with_name(f"{uuid4().hex}{PART}")

    def place() -> None:
        aside.replace(path)
        if os.name != "nt":  # Windows cannot, and does not need it
            _flush(path.parent)  # the name of the file, which a power cut would lose

    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with os.fdopen(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
            write(file, value)
            file.flush()
            os.fsync(file.fileno())
        yield place
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _flush(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _first(db: sqlite3.Connection, statement: str, *values: Any) -> Any:
    """The first row that a statement finds, or None."""
    return db.execute(statement, values).fetchone()


@cache
def server_store() -> Store | None:
    """The store of this process, as its settings say; None where it is ``off``."""
    folder = text("CALIB_WORKSPACE")
    if folder.lower() == "off":
        return None
    folder = folder or str(
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calib"
    )
    most = int(limit("CALIB_WORKSPACE_GB") * 1e9)
    store = Store(Path(folder).expanduser().resolve(), most, limit("CALIB_WORKSPACE_DAYS"))
    threading.Thread(target=_sweep_often, args=(store,), name="calib-sweep", daemon=True).start()
    return store


def describe_error(error: BaseException) -> str:
    """Reason why something is not stored, as part of a sentence and without any path."""
    why = reason(error) or type(error).__name__
    return f"the server's disk failed ({why})" if isinstance(error, OSError) else why


def _sweep_often(store: Store) -> None:
    """Delete what is old, every hour, until the clock jumps: then it is not known what is old."""
    asleep = time.time()
    while abs(time.time() - asleep) < DAY:
        try:
            if store.root.exists():
                store.sweep()
                store.make_room()
        except OSError as error:
            log.error("the store could not be tidied\n%s", trace(error))
        asleep = time.time()
        time.sleep(SWEEP_SECONDS)
    log.error(
        "the clock jumped by more than a day: nothing is deleted for its age until the next start"
    )
