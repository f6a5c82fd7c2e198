"""The store as a server uses it: open sessions are stored in the background, so that no page waits."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from calib import settings
from calib.data import Predictions
from calib.engine import FitSpec, Job, TaskSpec
from calib.formatting import listed, plural
from calib.isolation.logs import trace
from calib.store.arrays import Damaged, in_words
from calib.store.contents import (
    Entry,
    content_of,
    get_data,
    get_entry,
    get_fit,
    get_study,
    nbytes_of,
    put_data,
    put_job,
)
from calib.store.index import RANK, Content, Deleted, Store

log = logging.getLogger("calib.store")

OFF = "off"
AGAIN = 5.0
"""Seconds after which what failed is tried again, where somebody looks."""
GONE = 300.0
"""Seconds after which nobody looks any more: what could not be stored no longer stays in memory for them. A page in the
background looks once a minute."""
SWEEP_SECONDS = 3600.0
"""Between two looks at what is to be deleted, beside the one before a data set is stored."""
DELETED = "it was deleted in another window"
"""Why something is not stored, where it is not the disk."""

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


@dataclass(frozen=True)
class Standing:
    """What of a link is not on disk, and why not; without a reason it is on its way."""

    missing: tuple[Content, ...] = ()
    reasons: tuple[str, ...] = ()


class NotDeleted(Exception):
    """What was to be deleted is still on disk; the text is one sentence."""


@dataclass(eq=False)
class _Link:
    """What an open link should lead to, and how far that is stored.

    Attributes
    ----------
    entry : what it should lead to.
    data : its data set in memory; None for a sample.
    jobs : its fits and studies that are done.
    missing : what of these was not stored when it was looked at last.
    failures : why not, where that is known.
    failed : when something failed last, by the monotonic clock.
    looked : when somebody looked last, likewise.
    saving : whether it is being stored at this moment.
    """

    entry: Entry
    data: Predictions | None
    jobs: dict[Content, Job]
    missing: set[Content] = field(default_factory=set)
    failures: dict[Content, str] = field(default_factory=dict)
    failed: float = -AGAIN
    looked: float = 0.0
    saving: bool = False

    def contents(self) -> set[Content]:
        """What should be stored beside the link itself."""
        return {content for content in self.entry.contents() if content in self.jobs or content[0] == "data"}


class Keeper:
    """The store as a server uses it; safe to call from many threads, beside other servers."""

    def __init__(self, configuration: Configuration):
        self.configuration = configuration
        self.store = Store(configuration.root)
        self._pool = ThreadPoolExecutor(1, "calib-store")
        self._lock = threading.Lock()
        self._links: dict[str, _Link] = {}
        self._dropped: set[str] = set()  # links that nobody looked at, and that are not stored whole
        self._timer: threading.Timer | None = None
        self._pool.submit(self._sweep_often)

    # -- writing ------------------------------------------------------------------------------------------

    def keep(self, name: str, entry: Entry, data: Predictions | None = None, jobs: Iterable[Job] = ()) -> None:
        """Have a link lead to an entry; what of it is not stored yet is stored in the background.

        Parameters
        ----------
        name : of the link.
        data : the data set of the entry, unless that is a sample.
        jobs : its fits and studies that are done.
        """
        done, now = {content_of(job): job for job in jobs}, time.monotonic()
        with self._lock:
            link = self._links.setdefault(name, _Link(entry, data, done))
            link.entry, link.data, link.jobs, link.looked = entry, data, done, now
            for other in [other for other, left in self._links.items() if now - left.looked > GONE]:
                del self._links[other]
                self._dropped.add(other)
            self._dropped.discard(name)
        self._look(name, link)

    def standing(self, name: str) -> Standing:
        """What of a link is not stored, and why not; what failed is tried again where that is a while ago.

        Where nobody looked for long, the link is missing until it is handed over anew by :meth:`keep`.
        """
        with self._lock:
            link, dropped = self._links.get(name), name in self._dropped
        if link is None:
            return Standing(missing=(("link", name),) if dropped else ())
        link.looked = time.monotonic()
        self._look(name, link)
        reasons = {why for content, why in link.failures.items() if content in link.missing}
        return Standing(tuple(sorted(link.missing)), tuple(sorted(reasons)))

    def try_again(self) -> None:
        """Store at once what failed."""
        with self._lock:
            links = list(self._links.items())
        for name, link in links:
            link.failed = -AGAIN
            self._look(name, link)

    def keep_fit(self, job: Job) -> None:
        """Store a fit or study that is done, if a link leads there; called before anybody is told that it is done.

        A disk that fails costs the copy, not the fit; whoever looks has it stored later.
        """
        content = content_of(job)
        try:
            with self._lock:
                links = [(name, link.entry) for name, link in self._links.items()]
            for name, entry in links:  # of those that are not stored yet
                if content in entry.contents():
                    with suppress(Deleted):
                        self.store.put_link(name, entry, entry.contents())
            if self.store.held(content):
                put_job(self.store, job)
        except Exception as error:
            log.error("a fit could not be stored\n%s", trace(error))

    def forget(self, name: str, earlier: Collection[str] = ()) -> None:
        """Delete a link and what no other link leads to; what is still being written is not kept.

        Parameters
        ----------
        earlier : links of data that were open before, which are deleted too.

        Raises
        ------
        NotDeleted
            If anything is left; the link then leads to it as before.
        """
        going = {name, *earlier}
        left: set[Content] = {("link", name)}
        try:
            with suppress(Damaged):
                if (entry := get_entry(self.store, name)) is not None:
                    going, left = going | {*entry.earlier}, left | entry.contents()
            self.store.delete(going)
        except OSError as error:
            raise NotDeleted(f"Still on the server's disk: {counted(left)}; {in_words(error)}.") from error
        with self._lock:
            for gone in going:
                self._links.pop(gone, None)
                self._dropped.discard(gone)

    # -- reading ------------------------------------------------------------------------------------------
    # All of these raise Damaged for what is not as it was stored, and OSError where the disk does not give it.

    def recall(self, name: str) -> Entry | None:
        """What a link leads to, which counts as used now, or None if nothing is stored under it."""
        self.store.touch(name)
        return get_entry(self.store, name)

    def data(self, sha256: str) -> Predictions | None:
        """A stored data set, mapped from disk, or None."""
        return get_data(self.store, sha256)

    def finished(self, spec: FitSpec | TaskSpec, kind: str = "") -> Job | None:
        """The job of a stored fit, or of a study of a kind, or None."""
        return get_fit(self.store, spec) if isinstance(spec, FitSpec) else get_study(self.store, kind, spec)

    def close(self) -> None:
        """Wait until everything was written, or failed to be."""
        if self._timer is not None:
            self._timer.cancel()
        self._pool.shutdown()
        self.store.close()

    # -- the background -----------------------------------------------------------------------------------

    def _look(self, name: str, link: _Link) -> None:
        """See what is missing, and have it stored, unless that is under way or failed a moment ago."""
        missing = self._missing(name, link)
        with self._lock:
            if link.saving:
                return
            link.missing = missing
            if not missing:  # all is stored, and need not stay in memory
                self._links.pop(name, None)
                self._dropped.discard(name)
            if not missing or (link.failures and time.monotonic() - link.failed < AGAIN):
                return
            link.saving = True
        self._pool.submit(self._save, name, link)

    def _missing(self, name: str, link: _Link) -> set[Content]:
        try:
            return self.store.missing(name, link.entry, link.contents())
        except (Deleted, OSError):  # writing says why
            return {("link", name), *link.contents()}

    def _save(self, name: str, link: _Link) -> None:
        """Store what is missing, with the link first: nothing is stored that no link leads to."""
        with self._lock:
            entry, data, jobs = link.entry, link.data, dict(link.jobs)
            order = sorted(link.missing, key=lambda content: RANK.index(content[0]), reverse=True)
        failures: dict[Content, str] = {}
        for content in order:
            try:
                if content[0] == "link":
                    self.store.put_link(name, entry, entry.contents())
                elif content[0] == "data" and data is not None:
                    self._put_data(data)
                elif content in jobs:
                    put_job(self.store, jobs[content])
            except Deleted:
                failures[content] = DELETED
                break
            except Exception as error:
                if content not in link.failures:
                    log.error("something could not be stored\n%s", trace(error))
                failures[content] = in_words(error)
        with self._lock:
            link.failures, link.failed, link.saving = failures, time.monotonic(), False
        if failures:
            link.missing = self._missing(name, link)
        else:
            self._look(name, link)  # more may be wanted by now

    def _put_data(self, data: Predictions) -> None:
        size, most = nbytes_of(data), self.configuration.max_bytes
        free = most - self.store.sweep(most, self.configuration.max_days, need=size)
        if size > free:
            raise ValueError(f"the data take {size / 1e9:.2g} GB, and {free / 1e9:.2g} of {most / 1e9:.2g} GB are free")
        put_data(self.store, data)

    def _sweep_often(self) -> None:
        try:
            if self.configuration.root.exists():
                self.store.sweep(self.configuration.max_bytes, self.configuration.max_days)
        except OSError as error:
            log.error("the store could not be tidied\n%s", trace(error))
        self._timer = threading.Timer(SWEEP_SECONDS, self._pool.submit, (self._sweep_often,))
        self._timer.daemon = True
        self._timer.start()


def counted(contents: Collection[Content]) -> str:
    """Content in words: the data, 2 fits and the link."""
    numbers = {kind: sum(each == kind for each, _ in contents) for kind in ("data", "fit", "study", "link")}
    words = [
        "the data" if numbers["data"] == 1 else plural(numbers["data"], "data set"),
        plural(numbers["fit"], "fit"),
        plural(numbers["study"], "study", "studies"),
        "the link" if numbers["link"] == 1 else plural(numbers["link"], "link"),
    ]
    return listed([each for each, number in zip(words, numbers.values(), strict=True) if number])


def keeper() -> Keeper | None:
    """The keeper of this process; None where the store is off or not configured as it should be."""
    with _one:
        return _cached_keeper()


@cache
def _cached_keeper() -> Keeper | None:
    try:
        configuration = Configuration.from_settings()
        return None if configuration is None else Keeper(configuration)
    except ValueError as error:
        log.error("nothing is kept on disk: %s", error)
        return None


def keep_fit(job: Job) -> None:
    """Store a finished fit in the store of this process, if there is one and somebody's link leads there."""
    store = keeper()
    if store is not None:
        store.keep_fit(job)
