"""What a page sees of a fit, or of another task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from calib.base import Calibrator
from calib.jobs.spec import FitSpec, TaskSpec

State = Literal["queued", "running", "done", "failed", "cancelled"]

WAITING = "Waiting for a free worker."
"""Said of a job that waits until its place in line is known."""


@dataclass(frozen=True)
class Job:
    """A fit or another task at one moment; a snapshot never changes.

    Attributes
    ----------
    key : the key of its spec.
    spec : what is fitted or computed.
    state : where it stands.
    fraction : how far it is, 0 to 1; never goes back while it runs.
    step, total : iterations done and the most there can be; 0 before the first.
    value : the objective or loss at ``step``; NaN before the first.
    message : one sentence for people: what it waits for, does, or why it failed.
    seconds : wall time since it began to run, for a fit without what its worker imports the first time.
    cpu_seconds : CPU time of the worker on it, likewise.
    result : what a job that is done gave, else None.
    """

    key: str
    spec: FitSpec | TaskSpec
    state: State = "queued"
    fraction: float = 0.0
    step: int = 0
    total: int = 0
    value: float = float("nan")
    message: str = WAITING
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    result: Any = None

    @property
    def calibrator(self) -> Calibrator | None:
        """The fitted calibrator of a fit that is done, else None."""
        return self.result if isinstance(self.spec, FitSpec) else None

    @property
    def active(self) -> bool:
        """Whether it waits or runs, so that a page should look again."""
        return self.state in ("queued", "running")
