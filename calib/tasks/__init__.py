"""Several prediction problems over the same rows: questions, labels or models of one file, judged together."""

from calib.tasks.audit import audit_tasks
from calib.tasks.fits import FittedTasks, fit_tasks
from calib.tasks.judge import find_judge_groups
from calib.tasks.numbered import scores_by_number
from calib.tasks.reading import tasks_of
from calib.tasks.tasks import Tasks

__all__ = [
    "FittedTasks",
    "Tasks",
    "audit_tasks",
    "find_judge_groups",
    "fit_tasks",
    "scores_by_number",
    "tasks_of",
]
