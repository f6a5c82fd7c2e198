"""The store as a server uses it: open sessions are stored in the background, so that no page waits."""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from calib import settings
from calib.data import Predictions
from calib.engine import Job
from calib.errors import reason
from calib.isolation.logs import trace
from calib.store.contents import Entry, nbytes_of, put_data, put_job
from calib.store.index import Changed, Deleted, Store

log = logging.getLogger("calib.store")

OFF = "off"
DELETED = "it was deleted in another window"
"""Why something is not stored, where it is not the disk."""
SWEEP_SECONDS = 3600.0
"""Between two looks at what is to be deleted, beside the one before a data set is stored."""

_one = threading.Lock()


@dataclass(frozen=True)
class Configuration:
    """Folder and limits of a store.

    Attributes
    ----------
    root : the folder; made on first use, readable by its owner alone.
    max_bytes : most bytes on disk; what was unused for longest goes first.
    max_days : days after the last use at which anything goes.
    """

    root: Path
    max_bytes: int = 10 * 10**9
    max_days: float = 30.0

    @classmethod
    def from_settings(cls, variables: Mapping[str, str] | None = None) -> Configuration | None:
        """The store of the server's settings, or of these variables; None where it is ``off``.

        Raises
        ------
        ValueError
            If a limit is not a positive number, or the configuration file cannot be read.
        """
        variables = settings.environment() if variables is None else variables
        folder = settings.text("CALIB_WORKSPACE", variables)
        if folder.lower() == OFF:
            return None
        if not folder:
            folder = str(Path(variables.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calib")
        gigabytes = settings.number("CALIB_WORKSPACE_GB", variables)
        days = settings.number("CALIB_WORKSPACE_DAYS", variables)
        return cls(Path(folder).expanduser().resolve(), int(gigabytes * 1e9), days)


class Keeper(Store):
    """The store as a server uses it: with limits, and with a thread that stores in the background."""

    def __init__(self, configuration: Configuration):
        super().__init__(configuration.root)
        self.configuration = configuration
        self._pool = ThreadPoolExecutor(1, "calib-store")
        self._closed = threading.Event()
        self._logged = ""
        threading.Thread(target=self._sweep_often, name="calib-sweep", daemon=True).start()

    def save(
        self, name: str, entry: Entry, data: Predictions | None = None, jobs: Iterable[Job] = (), known: str = ""
    ) -> Future[None]:
        """Have a link lead to an entry, and store what of it is not stored yet; nobody waits for it.

        Parameters
        ----------
        data : the data set of the entry, unless that is a sample.
        jobs : its fits and studies that are done.
        known : stamp of the link before it was changed; see :meth:`put_link`.

        Returns
        -------
        saved : done once all of it is on disk, or with the exception that says why it is not.
        """
        return self._pool.submit(self._save, name, entry, data, list(jobs), known)

    def keep_fit(self, job: Job) -> None:
        """Store a fit or study that is done, if a link leads there; called before anybody is told that it is done.

        It waits for links that are being stored. A disk that fails costs the copy, not the fit; whoever looks at the
        page has it stored later.
        """
        try:
            self._pool.submit(lambda: put_job(self, job) if self.wants(job.key) else None).result()
        except Exception as error:
            log.error("a fit could not be stored\n%s", trace(error))

    def close(self) -> None:
        """Wait until everything was written, or failed to be."""
        self._closed.set()
        self._pool.shutdown()

    def _save(self, name: str, entry: Entry, data: Predictions | None, jobs: list[Job], known: str) -> None:
        """Store the link first: nothing is stored that no link leads to."""
        try:
            self.put_link(name, entry, entry.keys(), known)
            for job in jobs:
                if not self.holds(job.key):
                    put_job(self, job)
            if data is not None and not self.holds(data.sha256):
                self._put_data(data)
        except (Deleted, Changed):
            raise
        except Exception as error:
            if self._logged != (text := trace(error)):
                log.error("something could not be stored\n%s", text)
            self._logged = text
            raise

    def _put_data(self, data: Predictions) -> None:
        size, most = nbytes_of(data), self.configuration.max_bytes
        free = most - (self._sweep(need=size) if size <= most else 0)
        if size > free:
            raise ValueError(f"the data take {size / 1e9:.2g} GB, and {free / 1e9:.2g} of {most / 1e9:.2g} GB are free")
        put_data(self, data)

    def _sweep(self, need: int = 0) -> int:
        return self.sweep(self.configuration.max_bytes, self.configuration.max_days, need)

    def _sweep_often(self) -> None:
        while not self._closed.is_set():
            try:
                if self.configuration.root.exists():
                    self._sweep()
            except OSError as error:
                log.error("the store could not be tidied\n%s", trace(error))
            self._closed.wait(SWEEP_SECONDS)


def in_words(error: BaseException) -> str:
    """Why something is not stored, as part of a sentence and without any path."""
    if isinstance(error, Deleted):
        return DELETED
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "the server's disk is full"
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "the server's folder cannot be written"
    if number is not None:
        return "the server's disk does not answer"
    return reason(error) or type(error).__name__


def keeper() -> Keeper | None:
    """The keeper of this process; None where the store is off or not configured as it should be."""
    with _one:
        return _keeper()


@cache
def _keeper() -> Keeper | None:
    try:
        configuration = Configuration.from_settings()
        return None if configuration is None else Keeper(configuration)
    except ValueError as error:
        log.error("nothing is kept on disk: %s", error)
        return None
