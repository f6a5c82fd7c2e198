"""What a page sees of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calib.base import Calibrator
from calib.jobs.spec import FitSpec

State = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Job:
    """A fit at one moment; a snapshot never changes.

    Attributes
    ----------
    key : the key of its spec.
    spec : what is fitted.
    state : where it stands.
    fraction : how far it is, 0 to 1; never goes back while it runs.
    step, total : iterations done and the most there can be; 0 before the first.
    value : the objective or loss at ``step``; NaN before the first.
    message : one sentence for people: what it waits for, does, or why it failed.
    seconds : wall time since it began to run.
    cpu_seconds : CPU time of the worker on it.
    calibrator : the fitted calibrator of a job that is done, else None.
    """

    key: str
    spec: FitSpec
    state: State = "queued"
    fraction: float = 0.0
    step: int = 0
    total: int = 0
    value: float = float("nan")
    message: str = "Waiting for a free worker."
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    calibrator: Calibrator | None = None

    @property
    def active(self) -> bool:
        """Whether it waits or runs, so that a page should look again."""
        return self.state in ("queued", "running")
