"""How a task ended, in words."""

from __future__ import annotations

import logging
from concurrent.futures import CancelledError, Future
from typing import Any

from calib.errors import CalibrationError, FitCancelled
from calib.jobs.job import Job
from calib.jobs.local import UnexpectedError, WorkerDied
from calib.jobs.spec import FitSpec
from calib.logs import trace

log = logging.getLogger("calib.jobs")


def ending(job: Job, future: Future[Any]) -> dict[str, Any]:
    """What the end of a task changes in its job."""
    is_fit = isinstance(job.spec, FitSpec)
    others = "; the other methods are not affected" if is_fit else ""
    try:
        result = future.result()
    except (CancelledError, FitCancelled):
        return {"state": "cancelled", "message": "Cancelled."}
    except CalibrationError as error:
        return {"state": "failed", "message": str(error)}
    except WorkerDied as error:
        message = f"{job.spec.title} was stopped: {error}{others}. Try fewer rows, then retry."
        log.error("%s was stopped: %s", _kind(job), error)
        return {"state": "failed", "message": message}
    except Exception as error:
        text = str(error) if isinstance(error, UnexpectedError) else f"{type(error).__name__}: {error}"
        log.error("%s failed\n%s", _kind(job), error.trace if isinstance(error, UnexpectedError) else trace(error))
        message = f"{job.spec.title} failed unexpectedly: {text}{others}."
        return {"state": "failed", "message": message}
    message = f"{'Fitted' if is_fit else 'Done'} in {job.seconds:.1f} s."
    return {"state": "done", "fraction": 1.0, "message": message, "result": result}


def _kind(job: Job) -> str:
    """What it was, for the log: titles and messages may name what belongs to somebody."""
    return job.spec.method if isinstance(job.spec, FitSpec) else job.spec.function.__name__
