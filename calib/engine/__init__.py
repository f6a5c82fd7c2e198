"""Work outside the server's process: fits, studies, files and what pages compute, on Dask workers."""

from calib.engine.engine import Engine, QueueFull
from calib.engine.specs import NO_DATA, Data, FitSpec, Fitted, Job, TaskSpec, on_disk

__all__ = [
    "NO_DATA",
    "Data",
    "Engine",
    "FitSpec",
    "Fitted",
    "Job",
    "QueueFull",
    "TaskSpec",
    "on_disk",
]
