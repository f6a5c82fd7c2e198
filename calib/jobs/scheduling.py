"""A waiting line in which owners take turns, so that nobody waits behind all that somebody else asked for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Collection, Hashable, Iterator
from typing import Generic, TypeVar

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
