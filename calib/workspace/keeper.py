"""The workspace as a server uses it: sessions are written to disk in the background, so that no page waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from calib import settings
from calib.data import Predictions
from calib.jobs import FitSpec, Job, TaskSpec
from calib.logs import trace
from calib.workspace.folders import Damaged, Items
from calib.workspace.links import Entries, Entry
from calib.workspace.store import get_data, get_fit, get_study, put_data, put_fit, put_study

log = logging.getLogger("calib.workspace")

OFF = "off"

_one = threading.Lock()


@dataclass(frozen=True)
class Configuration:
    """Folder and caps of a workspace.

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
        """The workspace of the server's settings, or of these variables; None where it is ``off``.

        Raises
        ------
        ValueError
            If a cap is not a positive number, or the configuration file cannot be read.
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


class Keeper:
    """The workspace as a server uses it; safe to call from many threads, beside other servers.

    Small files have a thread of their own, so that none waits behind somebody's large upload.

    Parameters
    ----------
    configuration : where, and how much.
    """

    def __init__(self, configuration: Configuration):
        self.configuration = configuration
        self._items = Items(configuration.root)
        self._entries = Entries(self._items)
        self._small = ThreadPoolExecutor(1, "calib-keep")
        self._large = ThreadPoolExecutor(1, "calib-keep-data")
        self._lock = threading.Lock()
        self._wanted: dict[str, set[str]] = {}  # key of a fit or study -> links that want it kept
        self._forgotten: set[str] = set()
        self._large.submit(self._sweep)

    # -- writing ------------------------------------------------------------------------------------------

    def keep(self, link: str, entry: Entry) -> Future[None]:
        """Write what a link leads to, in the background; what it says may be stored from now on."""
        with self._lock:
            for key in [*(spec.key for spec in entry.specs), *(study.key for study in entry.studies)]:
                self._wanted.setdefault(key, set()).add(link)
        return self._small.submit(self._write_entry, link, entry)

    def keep_data(self, link: str, data: Predictions) -> Future[Predictions | None]:
        """Store a data set in the background; the future gives it back as it can be read from disk.

        With that in its place, its large arrays leave the memory, and all who have the same data share one copy. The
        future fails with OSError where the disk is full or the data alone exceed the cap.
        """
        return self._large.submit(self._write_data, link, data)

    def keep_fit(self, job: Job) -> None:
        """Store a fit or study that is done, if a link wants it; called before anybody is told that it is done.

        A disk that fails costs the copy, not the fit.
        """
        if not self._wants(job.key):
            return
        put = put_fit if isinstance(job.spec, FitSpec) else put_study
        try:
            put(self._items, job, wanted=lambda: self._wants(job.key))
        except Exception as error:
            what = f"a fit of {job.spec.method}" if isinstance(job.spec, FitSpec) else job.spec.function.__name__
            log.error("%s could not be stored\n%s", what, trace(error))

    def keep_fit_later(self, job: Job) -> None:
        """Store a fit or study that was done before a link wanted it."""
        self._small.submit(self.keep_fit, job)

    def forget(self, link: str) -> None:
        """Delete a link and the content that no other link leads to; what is still being written is not kept."""
        with self._lock:
            self._forgotten.add(link)
            for links in self._wanted.values():
                links.discard(link)
        self._entries.delete(link)

    # -- reading ------------------------------------------------------------------------------------------

    def recall(self, link: str) -> Entry | None:
        """What a link leads to, or None if nothing is kept under it; raises :class:`Damaged`."""
        return self._entries.read(link)

    def data(self, entry: Entry) -> Predictions | None:
        """The data of an entry, or None if they are gone; raises :class:`Damaged`."""
        return get_data(self._items, entry.data)

    def fit(self, entry: Entry, spec: FitSpec) -> Job | None:
        """A finished fit of an entry, or None if it never finished or is gone; raises :class:`Damaged`."""
        if ("fits", spec.key) not in entry.contents():
            return None
        return get_fit(self._items, spec)

    def study(self, entry: Entry, spec: TaskSpec) -> Job | None:
        """A finished study of an entry, likewise."""
        kind = next((study.kind for study in entry.studies if study.key == spec.key), None)
        return None if kind is None else get_study(self._items, kind, spec)

    def close(self) -> None:
        """Wait until everything is written."""
        self._small.shutdown()
        self._large.shutdown()

    # -- threads ------------------------------------------------------------------------------------------

    def _write_entry(self, link: str, entry: Entry) -> None:
        with self._items.locked():
            if not self._is_forgotten(link):
                self._entries.write(link, entry)

    def _write_data(self, link: str, data: Predictions) -> Predictions | None:
        size = sum(array.nbytes for array in vars(data).values() if hasattr(array, "nbytes"))
        if size > self.configuration.max_bytes:
            raise OSError(f"the data take {size / 1e9:.1f} GB and {self.configuration.max_bytes / 1e9:.1f} GB are kept")
        for _ in range(2):  # an earlier copy that turns out to be damaged makes way for this one
            put_data(self._items, data, wanted=lambda: not self._is_forgotten(link))
            try:
                stored = get_data(self._items, data.sha256)
                break
            except Damaged:
                log.warning("stored data were damaged on disk and are written anew")
        else:
            raise OSError("the data cannot be read back from the disk")
        self._sweep()
        return stored

    def _sweep(self) -> None:
        try:
            self._entries.sweep(self.configuration.max_bytes, self.configuration.max_days)
        except OSError as error:
            log.error("the workspace could not be tidied\n%s", trace(error))

    def _wants(self, key: str) -> bool:
        with self._lock:
            return bool(self._wanted.get(key))

    def _is_forgotten(self, link: str) -> bool:
        with self._lock:
            return link in self._forgotten


def keeper() -> Keeper | None:
    """The keeper of this process; None where the workspace is off or its folder cannot be used."""
    with _one:
        return _cached_keeper()


@cache
def _cached_keeper() -> Keeper | None:
    try:
        configuration = Configuration.from_settings()
        return None if configuration is None else Keeper(configuration)
    except (OSError, ValueError) as error:
        log.error("nothing is kept on disk: %s", error)
        return None


def keep_fit(job: Job) -> None:
    """Store a finished fit in the workspace of this process, if there is one and somebody's link wants it."""
    store = keeper()
    if store is not None:
        store.keep_fit(job)
