"""Fair scheduling: which of the tasks that wait starts next, how many may wait, and what precedes one's own.

:class:`FairQueue` is a round robin over owners. :class:`FairQueueTags` orders tasks in the same way by a number, for
schedulers that take a priority with each task.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from calib.errors import CalibrationError
from calib.settings import limit

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
_Waiting = dict[str, dict[Key, None]]
"""What each owner waits for, in the order asked; the owner who is served next comes first."""

Owners = Collection[str]


class FairQueue(Generic[Key, Item]):
    """Round robin over owners, first come first served within one owner. Thread-safe.

    An owner is served again only after every other owner who waits. An item of several owners is served with the first
    of them and costs that one alone. An owner with nothing waiting joins at the end.
    """

    def __init__(self) -> None:
        self._items: dict[Key, Item] = {}
        self._waiting: _Waiting[Key] = {}
        self._order: list[Key] | None = []
        self._closed = False
        self._changed = threading.Condition()

    def put(self, key: Key, item: Item, owners: Collection[str]) -> None:
        """Add an item for its owners.

        Raises
        ------
        ValueError
            If there is no owner: the item would wait for ever.
        """
        with self._changed:
            self._add(key, owners)
            self._items[key] = item
            self._changed.notify()

    def get(self, timeout: float | None = None) -> Item | None:
        """Wait for the next item and take it out; None once the queue is closed.

        Raises
        ------
        queue.Empty
            If nothing came for ``timeout`` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._items or self._closed, timeout):
                raise queue.Empty
            if not self._items:
                return None
            key = next(_served(self._waiting))
            self._order = None
            return self._items.pop(key)

    def set_owners(self, key: Key, owners: Collection[str]) -> None:
        """Change the owners of an item, if it still waits."""
        with self._changed:
            if key in self._items:
                self._add(key, owners)
                _remove(self._waiting, key, [owner for owner in self._waiting if owner not in owners])

    def discard(self, key: Key) -> None:
        """Take an item out, if it is there."""
        with self._changed:
            if self._items.pop(key, None) is not None:
                _remove(self._waiting, key, list(self._waiting))
                self._order = None

    def order(self) -> list[Key]:
        """Keys of all that waits, as it would be taken if nothing else came."""
        with self._changed:
            if self._order is None:
                self._order = list(_served({owner: dict(keys) for owner, keys in self._waiting.items()}))
            return list(self._order)

    def close(self) -> list[Key]:
        """Empty the queue, release all who wait for an item, and return the keys that were left."""
        with self._changed:
            left = list(self._items)
            self._items, self._waiting, self._order, self._closed = {}, {}, [], True
            self._changed.notify_all()
            return left

    def _add(self, key: Key, owners: Collection[str]) -> None:
        if not owners:
            raise ValueError("an item that waits needs an owner")
        for owner in owners:
            self._waiting.setdefault(owner, {}).setdefault(key)
        self._order = None


def _served(waiting: _Waiting[Key]) -> Iterator[Key]:
    """Take the keys out in the order in which they are served."""
    while waiting:
        owner = next(iter(waiting))
        waiting[owner] = keys = waiting.pop(owner)  # behind all others
        key = next(iter(keys))
        _remove(waiting, key, list(waiting))
        yield key


def _remove(waiting: _Waiting[Key], key: Key, owners: Collection[str]) -> None:
    """Take a key from what these owners wait for; an owner who waits for nothing any more is left out."""
    for owner in owners:
        waiting[owner].pop(key, None)
        if not waiting[owner]:
            del waiting[owner]


class FairQueueTags:
    """Start tags of start-time fair queueing (Goyal, Vin and Cheng 1996) for tasks of equal length. Thread-safe.

    Each owner has one task to a tag. A tag is given once: unlike in :class:`FairQueue`, a cancelled task leaves its
    tag empty.
    """

    def __init__(self) -> None:
        self._virtual_time = 0
        self._last: dict[str, int] = {}
        self._lock = threading.Lock()

    def tag(self, owners: Collection[str]) -> int:
        """The tag of a new task: the earliest, from the virtual time on, at which one of its owners has none yet."""
        with self._lock:
            number, owner = min((max(self._last.get(owner, 0) + 1, self._virtual_time), owner) for owner in owners)
            self._last[owner] = number
            return number

    def started(self, number: int) -> None:
        """Advance the virtual time to the tag of a task that has started; new tasks get no earlier tag."""
        with self._lock:
            if number > self._virtual_time:
                self._virtual_time = number
                self._last = {owner: last for owner, last in self._last.items() if last >= number}


class QueueFull(CalibrationError):
    """Nothing more may wait; the text gives the limit and what to do."""


@dataclass(frozen=True)
class QueueLimits:
    """How many tasks may wait.

    Attributes
    ----------
    per_owner : of one owner.
    in_total : of all owners.
    per_address : of all owners at one address.
    """

    per_owner: int = 60
    in_total: int = 500
    per_address: int = 250

    @classmethod
    def from_settings(cls) -> QueueLimits:
        """The limits of the server's settings."""
        in_total = int(limit("CALIB_WAITING_IN_ALL"))
        return cls(int(limit("CALIB_WAITING")), in_total, max(1, int(in_total * limit("CALIB_ADDRESS_SHARE"))))

    def check(self, waiting: Iterable[tuple[Owners, str]], owner: str, address: str = "") -> None:
        """Check that one more task may wait for an owner.

        Parameters
        ----------
        waiting : owners of each task that waits, and the address that it was asked for from.
        owner, address : who asks, and from where; empty where that is not known.

        Raises
        ------
        QueueFull
            If not.
        """
        waiting = list(waiting)
        own = sum(owner in owners for owners, _ in waiting)
        if own >= self.per_owner:
            raise QueueFull(
                f"{own} fits and studies of yours are waiting, and a visitor may have {self.per_owner}. "
                "Cancel some, or start the rest when these are done."
            )
        near = sum(asked_from == address for _, asked_from in waiting)
        if address and near >= self.per_address:
            raise QueueFull(
                f"{near} fits and studies asked for from your address are waiting, and one address may have "
                f"{self.per_address}. Try again when some are done."
            )
        if len(waiting) >= self.in_total:
            raise QueueFull(
                f"{len(waiting)} fits and studies of all visitors are waiting, and this server takes {self.in_total}. "
                "Try again in some minutes."
            )


def queue_position(before: Iterable[Owners], owner: str, kind: tuple[str, str]) -> str:
    """Position of a waiting task in words: how many tasks start before it.

    Parameters
    ----------
    before : owners of each task that would start before it.
    owner : who is told; a task of theirs is not counted among those of others.
    kind : what such a task is called, one and many.
    """
    before = list(before)
    own = sum(owner in owners for owners in before)
    others = len(before) - own
    if not before:
        return "Waiting: next to start."
    counts = [f"{own} of your own" if own else "", f"{others} of others" if others else ""]
    first, *rest = [count for count in counts if count]
    number, _, whose = first.partition(" ")
    noun = f"{kind[int(number) != 1]} {whose}"
    words = " and ".join([f"{number} {noun}", *rest])
    return f"Waiting: {words} {'comes' if len(before) == 1 else 'come'} first."
