"""The store as a server uses it: with limits, and in the background, so that no page waits."""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

from calib.data import Predictions
from calib.engine import Job
from calib.errors import reason
from calib.isolation.logs import trace
from calib.records import flatten
from calib.settings import limit, text
from calib.store.contents import NOTHING, Entry, put_data, put_job
from calib.store.index import Deleted, Store

log = logging.getLogger("calib.store")

DELETED = "it was deleted in another window"
"""Why something is not stored, where it is not the disk."""
SWEEP_SECONDS = 3600.0
"""Between two looks at what is to be deleted, beside the one before a data set is stored."""


class Keeper(Store):
    """The store of a server.

    Attributes
    ----------
    root : its folder; made on first use, readable by its owner alone.
    max_bytes : most bytes on disk; what was unused for longest goes first.
    max_days : days after the last use at which anything goes.
    """

    def __init__(self, root: Path, max_bytes: int = 10 * 10**9, max_days: float = 30.0):
        super().__init__(root)
        self.max_bytes, self.max_days = max_bytes, max_days
        self._pool = ThreadPoolExecutor(1, "calib-store")
        self._closed = threading.Event()
        threading.Thread(target=self._sweep_often, name="calib-sweep", daemon=True).start()

    def save(
        self, name: str, entry: Entry, data: Predictions | None = None, jobs: Iterable[Job] = (), had: Entry = NOTHING
    ) -> Future[None]:
        """Have a link lead to an entry, and store what of it is not stored yet; nobody waits for it.

        Parameters
        ----------
        data : the data set of the entry, unless that is a sample.
        jobs : its fits and studies that are done.
        had : what the link was known to lead to before; what others have added since then stays.

        Returns
        -------
        saved : done once all of it is on disk, or with the exception that says why it is not.
        """
        return self._pool.submit(self._save, name, entry, data, list(jobs), had)

    def keep_fit(self, job: Job) -> None:
        """Store a fit or study that is done, if a link leads there; called before anybody is told that it is done.

        It waits for links that are being stored. A disk that fails costs the copy, not the fit; whoever looks at the
        page has it stored later.
        """
        try:
            self._pool.submit(lambda: put_job(self, job) if self.lacks(job.key) else None).result()
        except Exception as error:
            log.error("a fit could not be stored\n%s", trace(error))

    def close(self) -> None:
        """Wait until everything was written, or failed to be."""
        self._closed.set()
        self._pool.shutdown()

    def _save(self, name: str, entry: Entry, data: Predictions | None, jobs: list[Job], had: Entry) -> None:
        """Store the link first: nothing is stored that no link leads to."""
        try:
            self.put_link(name, entry, entry.keys(), lambda stored: entry.joined(stored.beyond(had)))
            for job in jobs:
                if self.lacks(job.key):
                    put_job(self, job)
            if data is not None and self.lacks(data.sha256):
                self._make_room(sum(array.nbytes for array in flatten(data)[1].values()))
                put_data(self, data)
        except Exception as error:
            if not isinstance(error, Deleted):
                log.error("something could not be stored\n%s", trace(error))
            raise

    def _make_room(self, size: int) -> None:
        most = self.max_bytes
        free = most - (self.sweep(most, self.max_days, size) if size <= most else 0)
        if size > free:
            raise ValueError(f"the data take {size / 1e9:.2g} GB, and {free / 1e9:.2g} of {most / 1e9:.2g} GB are free")

    def _sweep_often(self) -> None:
        while not self._closed.is_set():
            try:
                if self.root.exists():
                    self.sweep(self.max_bytes, self.max_days)
            except OSError as error:
                log.error("the store could not be tidied\n%s", trace(error))
            self._closed.wait(SWEEP_SECONDS)


def in_words(error: BaseException) -> str:
    """Why something is not stored, as part of a sentence and without any path."""
    if isinstance(error, Deleted):
        return DELETED
    match error.errno if isinstance(error, OSError) else None:
        case None:
            return reason(error) or type(error).__name__
        case errno.ENOSPC | errno.EDQUOT:
            return "the server's disk is full"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return "the server's folder cannot be written"
        case errno.EBADMSG:
            return "the server's index is damaged, and whoever runs it has to remove its folder"
        case _:
            return "the server's disk does not answer"


@cache
def keeper() -> Keeper | None:
    """The keeper of this process, as its settings say; None where the store is ``off``."""
    folder = text("CALIB_WORKSPACE")
    if folder.lower() == "off":
        return None
    folder = folder or str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calib")
    most = int(limit("CALIB_WORKSPACE_GB") * 1e9)
    return Keeper(Path(folder).expanduser().resolve(), most, limit("CALIB_WORKSPACE_DAYS"))
