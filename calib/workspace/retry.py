"""Work in the background that is done again, later and later, until it succeeds; what failed can be asked for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from calib.isolation.logs import trace

log = logging.getLogger("calib.workspace")

MOST_FAILED = 256
"""Works that failed and are kept to be done again; the first to come goes first."""


def pause(failures: int) -> float:
    """Seconds before work that failed so often in a row is done again: 5, 10, 20 and so on, at most 5 minutes."""
    return float(min(5 * 2 ** min(failures - 1, 10), 300))


@dataclass(eq=False)
class Work:
    """Something to be done, how often it failed and why it did the last time."""

    run: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)
    failures: int = 0
    error: Exception | None = None


class RetryQueue:
    """Works by key, done in the order in which they come, by one thread. Safe to call from many.

    What fails is done again, unless with a ValueError, which would come again.

    Parameters
    ----------
    name : of the thread.
    pause : seconds until failed works are done again, by the failures of the one that failed least.
    """

    def __init__(self, name: str, pause: Callable[[int], float] = pause):
        self._pool = ThreadPoolExecutor(1, name)
        self._pause = pause
        self._lock = threading.Lock()
        self._works: dict[Hashable, Work] = {}
        self._timer: threading.Timer | None = None

    def put(self, key: Hashable, run: Callable[[], Any]) -> Future[Any]:
        """Do something in the place of what waits under the key; the future is done once it has succeeded."""
        work = Work(run)
        with self._lock:
            before = self._works.pop(key, None)
            if before is not None:  # what failed counts as failed until it has succeeded
                before.future.cancel()
                work.failures, work.error = before.failures, before.error
            self._works[key] = work
        self._pool.submit(self._attempt, key, work)
        return work.future

    def join(self, key: Hashable, run: Callable[[], Any]) -> Future[Any]:
        """Do something unless the same waits under the key already, whose future this is then."""
        with self._lock:
            waiting = self._works.get(key)
        return self.put(key, run) if waiting is None else waiting.future

    def failed(self, key: Hashable, run: Callable[[], Any], error: Exception) -> None:
        """Do something again that was done by another thread and failed."""
        work = Work(run)
        with self._lock:
            self._works[key] = work
        self._note(key, work, error)

    def state(self, key: Hashable) -> tuple[bool, Exception | None]:
        """Whether something waits under a key, and why it failed the last time."""
        with self._lock:
            work = self._works.get(key)
            return work is not None, None if work is None else work.error

    def drop(self, unwanted: Callable[[Any, Work], bool]) -> None:
        """Forget works by key and state; one that runs now runs to its end."""
        with self._lock:
            for key in [key for key, work in self._works.items() if unwanted(key, work)]:
                self._works.pop(key).future.cancel()

    def retry(self) -> None:
        """Do again at once what failed."""
        with self._lock:
            self._timer = None
            failed = [(key, work) for key, work in self._works.items() if work.error is not None]
        self._submit(failed)

    def close(self) -> None:
        """Wait until everything was done once; what fails is given up."""
        self._pool.shutdown()
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()

    def _submit(self, works: Iterable[tuple[Hashable, Work]]) -> None:
        for key, work in works:
            try:
                self._pool.submit(self._attempt, key, work)
            except RuntimeError:
                return  # closed

    def _attempt(self, key: Hashable, work: Work) -> None:
        with self._lock:
            if self._works.get(key) is not work:
                return
        try:
            result = work.run()
        except Exception as error:
            self._note(key, work, error)
            return
        with self._lock:
            if self._works.get(key) is work:
                del self._works[key]
                work.future.set_result(result)

    def _note(self, key: Hashable, work: Work, error: Exception) -> None:
        with self._lock:
            if self._works.get(key) is not work:
                return
            if not work.failures:
                log.error("something could not be stored\n%s", trace(error))
            work.error, work.failures = error, work.failures + 1
            failed = [key for key, other in self._works.items() if other.error is not None]
            for first in failed[:-MOST_FAILED]:
                self._works.pop(first).future.cancel()
            again = [other.failures for other in self._works.values() if other.failures and _may_succeed(other)]
            if again and self._timer is None:
                self._timer = threading.Timer(self._pause(min(again)), self.retry)
                self._timer.daemon = True
                self._timer.start()


def _may_succeed(work: Work) -> bool:
    return not isinstance(work.error, ValueError)
