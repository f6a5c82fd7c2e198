"""A task on its way to a cluster and back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from calib.jobs.executor import Lane
from calib.jobs.protocol import Data, Progress

PRIORITY: dict[Lane, int] = {"fast": 10**9, "slow": 0, "study": -(10**9)}
"""The workers of a cluster are all alike: a fast task has no lane of its own, but it is the next to start.

From it the round of a task is taken, which never comes near the distance of two lanes.
"""

LOOK_SECONDS = 0.1
"""Between two looks whether a task has ended."""


@dataclass(eq=False)
class ClusterWork:
    """A task on its way."""

    number: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    data: Data
    lane: Lane
    on_progress: Callable[[Progress], None]
    owners: Collection[str]
    round: int
    started: bool = False
    local: Future[Any] | None = None
    future: Future[Any] = field(default_factory=Future)
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def priority(self) -> int:
        """Of the tasks that wait, the scheduler starts the one with the highest first."""
        return PRIORITY[self.lane] - self.round

    def ended(self, future: Future[Any]) -> None:
        """Remember a cancellation, for which the thread that follows the task can wait."""
        if future.cancelled():
            self.cancelled.set()

    def wait_for(self, inner: Any) -> bool:
        """Wait until a future, of whatever kind, has ended; False if the task was cancelled before."""
        # Looked at, not called back: Dask's callbacks need a thread that ends before the app does.
        while not (inner.done() or self.cancelled.is_set()):
            self.cancelled.wait(LOOK_SECONDS)
        return not self.cancelled.is_set()
