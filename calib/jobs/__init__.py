"""Background fits and studies in worker processes or on a Dask cluster: queue, fair scheduling, progress, cancel."""

from calib.jobs.queue import FitQueue
from calib.jobs.spec import FitSpec, Job, State, TaskSpec

__all__ = ["FitQueue", "FitSpec", "Job", "State", "TaskSpec"]
