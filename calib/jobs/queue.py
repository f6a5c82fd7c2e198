"""The queue of fits: each paid once, followed, cancelled and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from calib.jobs.job import Job
from calib.jobs.spec import FitSpec


class FitQueue:
    """Fits in worker processes, keyed by content. Safe to call from many threads; no call waits for a fit."""

    def submit(self, spec: FitSpec, logits: Any, labels: Any, extras: Mapping[str, Any] | None = None) -> str:
        """Queue a fit and return its key; one that waits, runs or is done is not queued again.

        A failed or cancelled fit is queued again. ``extras`` holds the arrays the method ``needs``.
        """
        raise NotImplementedError

    def snapshot(self, keys: Iterable[str] | None = None) -> list[Job]:
        """The jobs of these keys in this order (all, oldest first, if None); unknown keys are left out."""
        raise NotImplementedError

    def cancel(self, key: str) -> None:
        """Ask a fit to stop; within 2 s its state is ``cancelled``. Returns at once."""
        raise NotImplementedError

    def retry(self, key: str) -> None:
        """Queue a failed or cancelled fit again, on the data it was given."""
        raise NotImplementedError

    def forget(self, key: str) -> None:
        """Drop a fit and its result; cancels it first if it waits or runs."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Start the workers and import gpflow in the background, so that the first GP fit does not wait."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """End all workers; runs by itself when the interpreter exits."""
        raise NotImplementedError
