"""Background fits in worker processes, followed through snapshots."""

from calib.jobs.queue import FitQueue
from calib.jobs.spec import FitSpec, Job, State, TaskSpec

__all__ = ["FitQueue", "FitSpec", "Job", "State", "TaskSpec"]
