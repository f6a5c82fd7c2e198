"""The workspace as a server uses it: sessions are written to disk in the background, so that no page waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

from calib import settings
from calib.data import Predictions
from calib.isolation.logs import trace
from calib.jobs import FitSpec, Job, TaskSpec
from calib.workspace import retry
from calib.workspace.files import CONTENT, Damaged, Items, Unreadable, in_words
from calib.workspace.links import Content, Entries, Entry, NotDeleted
from calib.workspace.retry import RetryQueue
from calib.workspace.store import get_data, get_fit, get_study, put_data, put_fit, put_study
from calib.workspace.sweep import Sweep

log = logging.getLogger("calib.workspace")

OFF = "off"
SWEEP = ("sweep", "")
SWEEP_SECONDS = 3600.0
"""Between two looks at what is to be deleted, beside the one after each data set that was stored."""

_one = threading.Lock()


@dataclass(frozen=True)
class Configuration:
    """Folder and caps of a workspace.

    Attributes
    ----------
    root : the folder; made on first use, readable by its owner alone.
    max_bytes : most bytes on disk; what was unused for longest goes first.
    max_days : days after the last use at which anything goes.
    address_share : share of the bytes that one address may take where there are others; beyond it go its own.
    """

    root: Path
    max_bytes: int = 10 * 10**9
    max_days: float = 30.0
    address_share: float = 0.5

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
        share = settings.number("CALIB_ADDRESS_SHARE", variables)
        days = settings.number("CALIB_WORKSPACE_DAYS", variables)
        return cls(Path(folder).expanduser().resolve(), int(gigabytes * 1e9), days, share)


@dataclass(frozen=True)
class Standing:
    """What of a link is not on disk, and why not; without a reason it is on its way."""

    missing: tuple[Content, ...] = ()
    reasons: tuple[str, ...] = ()


class Keeper:
    """The workspace as a server uses it; safe to call from many threads, beside other servers.

    What fails is done again by itself; nothing counts as kept before it is on disk. Small files have a thread of their
    own, so that none waits behind somebody's large upload.

    Parameters
    ----------
    configuration : where, and how much.
    pause : seconds until what failed is done again, by the number of failures.
    """

    def __init__(self, configuration: Configuration, pause: Callable[[int], float] = retry.pause):
        self.configuration = configuration
        self._items = Items(configuration.root)
        self._entries = Entries(self._items)
        self._sweep = Sweep(
            self._items,
            self._entries,
            configuration.max_bytes,
            configuration.max_days,
            configuration.address_share,
        )
        self._small, self._large = RetryQueue("calib-keep", pause), RetryQueue("calib-keep-data", pause)
        self._lock = threading.Lock()
        self._wanted: dict[Content, set[str]] = {}  # content -> links that want it kept
        self._forgotten: set[str] = set()
        self._pushed_out: set[Content] = set()
        self._timer: threading.Timer | None = None
        self._large.put(SWEEP, self._sweep_often)

    # -- writing ------------------------------------------------------------------------------------------

    def keep(self, link: str, entry: Entry) -> Future[None]:
        """Write what a link leads to, in the background; what it says may be stored from now on."""
        for content in entry.contents():
            self._want(link, content)
        return self._small.put(("links", link), partial(self._write_entry, link, entry))

    def keep_data(self, link: str, data: Predictions) -> Future[Predictions | None]:
        """Store a data set in the background; the future gives it back as it can be read from disk.

        With that in its place, its large arrays leave the memory, and all who have the same data share one copy.
        """
        content: Content = ("data", data.sha256)
        self._want(link, content)
        return self._large.join(content, partial(self._write_data, data))

    def keep_fit(self, job: Job) -> None:
        """Store a fit or study that is done, if a link wants it; called before anybody is told that it is done.

        A disk that fails costs the copy, not the fit; it is tried again.
        """
        content, write = content_of(job), partial(self._write_fit, job)
        if not self._wants(content):
            return
        try:
            write()
        except Exception as error:
            self._small.failed(content, write, error)

    def keep_fit_later(self, job: Job) -> None:
        """Store a fit or study that was done before a link wanted it, or that is no longer there."""
        self._small.join(content_of(job), partial(self._write_fit, job))

    def forget(self, link: str, earlier: Collection[str] = ()) -> None:
        """Delete a link and the content that no other link leads to; what is still being written is not kept.

        Parameters
        ----------
        earlier : links of data that were open before, which are deleted too.

        Raises
        ------
        NotDeleted
            If anything is left; the link then leads to it as before.
        """
        going = {link, *earlier}
        with self._lock:
            self._forgotten |= going
            left = {content: links - going for content, links in self._wanted.items()}
            self._wanted = {content: links for content, links in left.items() if links}
        for queue in (self._small, self._large):
            queue.drop(lambda content, _: content[1] in going or self._unwanted(content))
        try:
            self._entries.delete(link, earlier)
        except NotDeleted:
            with self._lock:
                self._forgotten -= going
            raise

    def leave(self, link: str) -> None:
        """Nobody has a link open any more: data that could not be stored no longer stay in memory for it."""
        self._large.drop(lambda content, work: work.error is not None and self._wanted.get(content, set()) <= {link})

    # -- what is kept ---------------------------------------------------------------------------------------

    def lost(self, link: str, contents: Collection[Content]) -> set[Content]:
        """What of a link and its content is neither on disk nor on its way, and did not make room for others.

        Asking counts as using the link.
        """
        if self._is_forgotten(link):
            return set()
        self._items.find("links", link)
        return {content for content in (("links", link), *contents) if self._look(content) == ("lost", "")}

    def standing(self, link: str, contents: Collection[Content]) -> Standing:
        """What of a link and its content is not on disk, and why not."""
        if self._is_forgotten(link):
            return Standing((), ("it was deleted in another window",))
        looks = {content: self._look(content) for content in (("links", link), *contents)}
        missing = tuple(content for content, (state, _) in looks.items() if state != "kept")
        return Standing(missing, tuple(dict.fromkeys(why for _, why in looks.values() if why)))

    def try_again(self) -> None:
        """Do at once what failed, and store again what made room for others."""
        with self._lock:
            self._pushed_out.clear()
        for queue in (self._small, self._large):
            queue.retry()

    # -- reading ------------------------------------------------------------------------------------------

    def recall(self, link: str) -> Entry | None:
        """What a link leads to, or None if nothing is kept under it; raises :class:`Damaged`."""
        entry = self._entries.read(link)
        for content in () if entry is None else entry.contents():
            self._want(link, content)
        return entry

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
        """Wait until everything was written, or failed to be."""
        for queue in (self._small, self._large):
            queue.close()
        if self._timer is not None:
            self._timer.cancel()

    # -- threads ------------------------------------------------------------------------------------------

    def _write_entry(self, link: str, entry: Entry) -> None:
        with self._items.locked():
            if not self._is_forgotten(link):
                self._entries.write(link, entry)

    def _write_data(self, data: Predictions) -> Predictions | None:
        content: Content = ("data", data.sha256)
        size = sum(array.nbytes for array in vars(data).values() if hasattr(array, "nbytes"))
        if size > self.configuration.max_bytes:
            most = self.configuration.max_bytes
            raise ValueError(f"the data take {size / 1e9:.1f} GB, and {most / 1e9:.1f} GB are kept")
        for _ in range(2):  # an earlier copy that turns out to be damaged makes way for this one
            put_data(self._items, data, wanted=lambda: self._wants(content))
            try:
                stored = get_data(self._items, data.sha256)
                break
            except Unreadable:
                raise
            except Damaged:
                log.warning("stored data were damaged on disk and are written anew")
        else:
            raise Unreadable("the data cannot be read back from the disk")
        self._pushed_out.discard(content)
        try:
            self._push_out()
        except (OSError, Unreadable) as error:
            log.error("the workspace could not be tidied\n%s", trace(error))
        return stored

    def _write_fit(self, job: Job) -> None:
        content = content_of(job)
        put = put_fit if isinstance(job.spec, FitSpec) else put_study
        put(self._items, job, wanted=lambda: self._wants(content))
        self._pushed_out.discard(content)

    def _sweep_often(self) -> None:
        self._push_out()
        self._timer = threading.Timer(SWEEP_SECONDS, self._large.put, (SWEEP, self._sweep_often))
        self._timer.daemon = True
        self._timer.start()

    def _push_out(self) -> None:
        removed = self._sweep()
        with self._lock:
            self._pushed_out |= removed

    def _look(self, content: Content) -> tuple[Literal["kept", "waiting", "failed", "lost"], str]:
        """How a file stands, and why it is not kept where that is known."""
        waiting, error = (self._large if content[0] == "data" else self._small).state(content)
        if error is not None:
            return "failed", in_words(error)
        if waiting:
            return "waiting", ""
        if self._items.holds(*content):
            return "kept", ""
        return ("failed", "it made room for what was used later") if content in self._pushed_out else ("lost", "")

    def _want(self, link: str, content: Content) -> None:
        with self._lock:
            if link not in self._forgotten:
                self._wanted.setdefault(content, set()).add(link)

    def _wants(self, content: Content) -> bool:
        with self._lock:
            return bool(self._wanted.get(content))

    def _unwanted(self, content: Content) -> bool:
        return content[0] in CONTENT and not self._wants(content)

    def _is_forgotten(self, link: str) -> bool:
        with self._lock:
            return link in self._forgotten


def content_of(job: Job) -> Content:
    """The stored file of a fit or study."""
    return ("fits" if isinstance(job.spec, FitSpec) else "studies"), job.key


def keeper() -> Keeper | None:
    """The keeper of this process; None where the workspace is off or not configured as it should be."""
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
    """Store a finished fit in the workspace of this process, if there is one and somebody's link wants it."""
    store = keeper()
    if store is not None:
        store.keep_fit(job)
