"""Audit of several tasks: one row a task, with gaps whose intervals hold for all tasks together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calib.evaluation import Evaluation
from calib.evaluation.evaluation import class_frequencies, raw_model
from calib.formatting import (
    Displayed,
    aligned,
    number,
    percent,
    points,
    points_between,
    single_line,
)
from calib.metrics import ece
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.metrics.estimate import Estimate
from calib.tasks.numbered import NumberedScores, scores_by_number
from calib.tasks.tasks import Tasks
from calib.tasks.thresholds import TaskThresholds

if TYPE_CHECKING:
    import pandas as pd

NORMAL_FROM = 40
"""Rows of the rarer outcome, expected and observed, from which a gap's interval is the normal one."""


@dataclass(frozen=True)
class TaskRow:
    """A task's calibration, or why it cannot be judged.

    Attributes
    ----------
    task : str
        Its name.
    stated, observed : float
        Mean probability and rate of the event; of more than two classes mean confidence and accuracy.
    gap : Interval
        Stated minus observed, with the interval that holds for all tasks together.
    ece, nll, base_nll : float
        Calibration error; negative log-likelihood, and that of the class frequencies.
    rows : int
        Labelled answers.
    reason : str
        Why it cannot be judged; empty otherwise.
    """

    task: str
    stated: float = np.nan
    observed: float = np.nan
    gap: Interval = UNKNOWN
    ece: float = np.nan
    nll: float = np.nan
    base_nll: float = np.nan
    rows: int = 0
    reason: str = ""

    @property
    def distance(self) -> float:
        """Distance of the gap's interval from 0; 0 where it holds 0, NaN without a gap."""
        return float(np.maximum(0.0, np.maximum(self.gap.low, -self.gap.high)))

    @property
    def badness(self) -> tuple[bool, float, float]:
        """Key by which the worst task is the largest."""
        if self.reason:
            return False, 0.0, 0.0
        return True, self.distance, abs(self.gap.value)


@dataclass(frozen=True)
class TaskAudit(Displayed):
    """Calibration of each task, worst first.

    Attributes
    ----------
    tasks : tuple of TaskRow
        One a task; those that cannot be judged at the end.
    level : float
        Probability with which all intervals of gaps hold together.
    """

    tasks: tuple[TaskRow, ...]
    level: float = 0.95

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[TaskRow]:
        return iter(self.tasks)

    @property
    def miscalibrated(self) -> tuple[str, ...]:
        """Names of the tasks whose gap is not 0 by its interval."""
        return tuple(row.task for row in self.tasks if row.distance > 0)

    def to_frame(self) -> pd.DataFrame:
        """Return the table with one row a task.

        Returns
        -------
        pandas.DataFrame
            With ``gap``, ``gap_low`` and ``gap_high`` for the interval.
        """
        import pandas as pd

        ends = [
            {"gap": row.gap.value, "gap_low": row.gap.low, "gap_high": row.gap.high}
            for row in self.tasks
        ]
        rows = [asdict(row) | gap for row, gap in zip(self.tasks, ends, strict=True)]
        table = pd.DataFrame(rows)
        first = ["task", "stated", "observed", "gap", "gap_low", "gap_high"]
        return table[[*first, "ece", "nll", "base_nll", "rows", "reason"]]

    def __str__(self) -> str:
        head = ("task", "stated", "observed", "gap (points)", "ECE", "NLL", "of base rate", "rows")
        lines = [head]
        for row in self.tasks:
            if row.reason:
                lines.append((single_line(row.task), row.reason, "", "", "", "", "", ""))
                continue
            gap = f"{points(row.gap.value)} ({points_between(row.gap.low, row.gap.high)})"
            scores = (number(row.ece), number(row.nll), number(row.base_nll))
            shares = (percent(row.stated), percent(row.observed))
            lines.append((single_line(row.task), *shares, gap, *scores, f"{row.rows:,}"))
        return "\n".join(aligned(lines))


def audit_tasks(tasks: Tasks, level: float = 0.95) -> TaskAudit:
    """Judge the calibration of every task of the same rows, with joint intervals of the gaps.

    All intervals together hold the truth with probability ``level``, so that of calibrated tasks at most 5 % of files
    have any named. They use the quantile of the largest deviation over tasks, which vary together as shared rows and
    clusters make them. A task with few rows of an outcome has the exact interval of its rate in place of the normal.

    Parameters
    ----------
    tasks : Tasks
        As :func:`calib.tasks.tasks_of` reads them.
    level : float, default 0.95
        Probability with which all intervals hold.

    Returns
    -------
    TaskAudit
        One row a task, worst first; print it for a table.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import calib
    >>> rng = np.random.default_rng(0)
    >>> stated = rng.uniform(0.6, 0.9, (400, 2))
    >>> correct = rng.random((400, 2)) < stated - [0.0, 0.2]
    >>> table = pd.DataFrame(
    ...     {
    ...         "small_confidence": stated[:, 0],
    ...         "small_correct": correct[:, 0],
    ...         "large_confidence": stated[:, 1],
    ...         "large_correct": correct[:, 1],
    ...     }
    ... )
    >>> audit = calib.audit_tasks(calib.tasks.tasks_of(table))
    >>> audit.miscalibrated
    ('large',)
    """
    rows, influences, errors = [], [], []
    n_units = int(tasks.clusters.max()) + 1
    evaluations = {
        name: Evaluation.from_predictions(raw_model(data), data) for name, data in tasks.items()
    }
    for name, evaluation in evaluations.items():
        predicted, observed = evaluation.pair
        base = class_frequencies(evaluation).row_nll
        assert evaluation.row_nll is not None and base is not None
        sample = evaluation.rows
        row = TaskRow(
            name,
            *evaluation.means,
            ece=float(ece(confidence=predicted, correct=observed, weights=evaluation.weights)),
            nll=sample.mean(evaluation.row_nll),
            base_nll=sample.mean(base),
            rows=len(evaluation),
        )
        # A frequency stands for as many independent rows; other weights multiply one row's deviation.
        factor = np.sqrt(sample.weights) if sample.kind == "frequency" else sample.weights
        factor = factor / sample.weights.sum()
        residual = predicted - observed
        units = tasks.units(name)
        n = len(np.unique(units))
        deviations = factor * (residual - sample.mean(residual))
        added = np.bincount(units, deviations, n_units) * np.sqrt(n / max(n - 1, 1))
        by_chance = np.sqrt((factor**2 * predicted * (1.0 - predicted)).sum())
        rows.append(row)
        influences.append(added)
        errors.append(max(float(np.sqrt(added @ added)), float(by_chance)))
    judged = []
    if rows:
        degrees = min(evaluation.rows.degrees for evaluation in evaluations.values())
        together = Estimate(np.zeros(len(rows)), np.column_stack(influences), degrees)
        critical = together.joint_critical(level, errors=np.array(errors))
        for row, error in zip(rows, errors, strict=True):
            judged.append(replace(row, gap=_gap(row, evaluations[row.task], error, critical)))
    others = [
        TaskRow(name, rows=tasks.labelled[name], reason=reason)
        for name, reason in tasks.reasons.items()
    ]
    return TaskAudit(
        tuple(sorted([*judged, *others], key=lambda r: r.badness, reverse=True)), level
    )


def judge_tasks(
    tasks: Tasks, targets: tuple[float, ...]
) -> tuple[TaskAudit, tuple[TaskThresholds, ...], NumberedScores | None]:
    """Audit tasks, certify thresholds for several target accuracies and score numbered models, for a page."""
    thresholds = tuple(tasks.thresholds(target) for target in targets)
    return audit_tasks(tasks), thresholds, scores_by_number(tasks)


def _gap(row: TaskRow, evaluation: Evaluation, error: float, critical: float) -> Interval:
    """Gap with its interval; with few rows of an outcome at least as wide as the exact interval of the rate."""
    gap = row.stated - row.observed
    low, high = gap - critical * error, gap + critical * error
    expected = row.rows * min(row.stated, 1.0 - row.stated)
    seen = row.rows * min(row.observed, 1.0 - row.observed)
    if min(expected, seen) < NORMAL_FROM:
        sample = evaluation.rows
        n = sample.effective_rows(sample.mean_of(evaluation.pair[1]))
        lowest, highest = _exact(row.observed, n, critical)
        low, high = min(low, row.stated - highest), max(high, row.stated - lowest)
    return Interval(gap, low, high)


def _exact(rate: float, n: float, critical: float) -> tuple[float, float]:
    """Interval of a rate by Clopper and Pearson, as far out as a normal one of so many standard errors."""
    from scipy.special import betaincinv, ndtr

    tail = float(ndtr(-critical))
    hits = rate * n
    low = betaincinv(hits, n - hits + 1.0, tail) if hits > 0 else 0.0
    high = betaincinv(hits + 1.0, n - hits, 1.0 - tail) if hits < n else 1.0
    return float(low), float(high)
