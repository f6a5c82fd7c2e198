"""Workers made ready before anybody waits for them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from calib.jobs.executor import Executor, Lane
from calib.jobs.protocol import Data, Progress
from calib.jobs.tasks import fit_small
from calib.registry import METHODS


class Warming:
    """Starts the workers and TensorFlow in the background; where they run already it costs next to nothing.

    Parameters
    ----------
    executor : whose workers.
    """

    def __init__(self, executor: Executor):
        self._executor = executor
        self._slow: Future[Any] | None = None

    @property
    def under_way(self) -> bool:
        """Whether the worker for slow tasks is not ready yet."""
        return self._slow is not None and not self._slow.done()

    def begin(self) -> None:
        """Make all workers ready."""
        if not self.under_way:
            self._slow = self._warm("slow")
            self._warm("fast")

    def begin_again(self) -> None:
        """Make the worker for slow tasks ready again if it was, for the case that it had to be killed."""
        if self._slow is not None:
            try:
                self._slow = self._warm("slow")
            except RuntimeError:
                return  # shut down

    def _warm(self, lane: Lane) -> Future[Any]:
        def ignore(progress: Progress) -> None: ...

        fast = lane == "fast"
        methods = tuple(name for name, method in METHODS.items() if not method.needs and method.fast == fast)
        return self._executor.submit(fit_small, methods, data=Data("", {}), lane=lane, on_progress=ignore)
