"""A waiting line in which owners take turns, so that nobody waits behind all that somebody else asked for.

Turns as numbers, for a scheduler that takes each task with a priority of its own.

The line of what waits, as people see it: how long it may be, and what comes before one's own.
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
_Line = dict[str, dict[Key, None]]
"""What each owner waits for, in the order asked; the owner whose turn is next comes first."""


class Turns(Generic[Key, Item]):
    """Round robin over owners, first come first served within what one owner asked for. Safe to use from many threads.

    Between two turns of one owner, every other owner who waits has had one. What several owners want comes at the
    earliest of their turns and costs only the owner whose turn it was. Who has nothing waiting, and then has, joins at
    the end.
    """

    def __init__(self) -> None:
        self._items: dict[Key, Item] = {}
        self._line: _Line[Key] = {}
        self._order: list[Key] | None = []
        self._closed = False
        self._changed = threading.Condition()

    def put(self, key: Key, item: Item, owners: Collection[str]) -> None:
        """Let an item wait on the turns of its owners; without one it would wait for ever.

        Raises
        ------
        ValueError
            If there is no owner.
        """
        with self._changed:
            self._join(key, owners)
            self._items[key] = item
            self._changed.notify()

    def get(self, timeout: float | None = None) -> Item | None:
        """Wait for the next item and take it out; None once the line is closed.

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
            key = next(_served(self._line))
            self._order = None
            return self._items.pop(key)

    def set_owners(self, key: Key, owners: Collection[str]) -> None:
        """Say anew on whose turns an item waits; one that waits no more is left alone."""
        with self._changed:
            if key in self._items:
                self._join(key, owners)
                _leave(self._line, key, [owner for owner in self._line if owner not in owners])

    def discard(self, key: Key) -> None:
        """Take an item out of the line, if it is there."""
        with self._changed:
            if self._items.pop(key, None) is not None:
                _leave(self._line, key, list(self._line))
                self._order = None

    def order(self) -> list[Key]:
        """Keys of all that waits, as it would be taken if nothing else came."""
        with self._changed:
            if self._order is None:
                self._order = list(_served({owner: dict(keys) for owner, keys in self._line.items()}))
            return list(self._order)

    def close(self) -> list[Key]:
        """Empty the line, let all who wait for an item go, and return the keys that were left."""
        with self._changed:
            left = list(self._items)
            self._items, self._line, self._order, self._closed = {}, {}, [], True
            self._changed.notify_all()
            return left

    def _join(self, key: Key, owners: Collection[str]) -> None:
        if not owners:
            raise ValueError("what waits needs an owner, on whose turn it is taken")
        for owner in owners:
            self._line.setdefault(owner, {}).setdefault(key)
        self._order = None


def _served(line: _Line[Key]) -> Iterator[Key]:
    """Take the keys out of a line, each at the first turn of an owner of it."""
    while line:
        owner = next(iter(line))
        line[owner] = keys = line.pop(owner)  # behind all others
        key = next(iter(keys))
        _leave(line, key, list(line))
        yield key


def _leave(line: _Line[Key], key: Key, owners: Collection[str]) -> None:
    """Take a key from what these owners wait for; who waits for nothing any more leaves the line."""
    for owner in owners:
        line[owner].pop(key, None)
        if not line[owner]:
            del line[owner]


class Rounds:
    """Gives each task the round it comes in: one task of each owner to a round. Safe to use from many threads.

    The tags of start-time fair queueing (Goyal, Vin and Cheng 1996) for tasks of equal length. A number is
    given once: unlike in :class:`~calib.jobs.scheduling.Turns`, what is cancelled leaves its round empty.
    """

    def __init__(self) -> None:
        self._now = 0
        self._last: dict[str, int] = {}
        self._lock = threading.Lock()

    def join(self, owners: Collection[str]) -> int:
        """The round of a new task: the earliest, from the present on, in which an owner of it has none yet."""
        with self._lock:
            number, owner = min((max(self._last.get(owner, 0) + 1, self._now), owner) for owner in owners)
            self._last[owner] = number
            return number

    def started(self, number: int) -> None:
        """A task of this round has started: who asks for something from now on comes no earlier."""
        with self._lock:
            if number > self._now:
                self._now = number
                self._last = {owner: last for owner, last in self._last.items() if last >= number}


Owners = Collection[str]


class LineFull(CalibrationError):
    """Nothing more may wait; the text says how much does, and what to do."""


@dataclass(frozen=True)
class Room:
    """How many tasks may wait.

    Attributes
    ----------
    for_one : for one owner.
    in_all : for all together.
    """

    for_one: int = 60
    in_all: int = 500

    @classmethod
    def configured(cls) -> Room:
        """As the server's settings say."""
        return cls(int(limit("CALIB_WAITING")), int(limit("CALIB_WAITING_IN_ALL")))

    def check(self, waiting: Iterable[Owners], owner: str) -> None:
        """See that one more may wait for an owner, given the owners of each task that waits.

        Raises
        ------
        LineFull
            If not.
        """
        waiting = list(waiting)
        own = sum(owner in owners for owners in waiting)
        if own >= self.for_one:
            raise LineFull(
                f"{own} fits and studies of yours are waiting, and a visitor may have {self.for_one}. "
                "Cancel some, or start the rest when these are done."
            )
        if len(waiting) >= self.in_all:
            raise LineFull(
                f"{len(waiting)} fits and studies of all visitors are waiting, and this server takes {self.in_all}. "
                "Try again in some minutes."
            )


def place_in_line(before: Iterable[Owners], owner: str, kind: tuple[str, str]) -> str:
    """Say what really comes before a task that waits.

    Parameters
    ----------
    before : owners of each task that would start before it.
    owner : who is told; what is theirs, too, is not that of others.
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
