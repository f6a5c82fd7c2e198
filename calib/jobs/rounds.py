"""Turns as numbers, for a scheduler that takes each task with a priority of its own."""

from __future__ import annotations

import threading
from collections.abc import Collection


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
