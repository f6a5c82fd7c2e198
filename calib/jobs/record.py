"""A job with what its next attempt needs, and who wants it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calib.jobs.executor import Lane
from calib.jobs.job import Job
from calib.jobs.protocol import Data
from calib.jobs.spec import FitSpec, TaskSpec

NOTHING = Data("", {})


@dataclass(eq=False)
class Record:
    """What the queue knows of a job.

    Attributes
    ----------
    job : as it stands.
    data : the arrays it is computed from; nothing once it is done.
    lane : where it waits or runs.
    owners : who wants it.
    future : of the present attempt.
    started : when that began to run, by the monotonic clock.
    """

    job: Job
    data: Data
    lane: Lane
    owners: set[str]
    future: Future[Any] = field(default_factory=Future)
    started: float = 0.0


def data_of(spec: FitSpec | TaskSpec, arrays: Mapping[str, Any]) -> Data:
    """The arrays of a task under a key; methods that need the same arrays share one transfer of them."""
    return Data(f"{spec.data_key} {sorted(arrays)}", {name: np.asarray(array) for name, array in arrays.items()})


def lane_of(spec: FitSpec | TaskSpec, data: Data) -> Lane:
    """Where a task has to wait."""
    if isinstance(spec, TaskSpec):
        return "study"
    return "fast" if spec.fast(data.arrays["logits"].size) else "slow"
