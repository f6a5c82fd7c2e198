"""A threshold of the confidence for each task, certified for all tasks together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib.decisions.judgement import certify, judge_answers
from calib.decisions.rules import AnswerAbove
from calib.decisions.selective import Guarantee
from calib.formatting import Displayed, aligned, number, percent, plural, single_line

if TYPE_CHECKING:
    import pandas as pd

    from calib.data import Predictions

MOST_LABELS = 1_000_000
"""Labels up to which a number that is missing is looked for."""


@dataclass(frozen=True)
class TaskThreshold:
    """A task's certified threshold, or why it has none.

    Attributes
    ----------
    task : str
        Its name.
    threshold : float or None
        Confidence from which answers meet the target; None where nothing is certified.
    accuracy, low, high : float or None
        Accuracy of the labelled answers that reach it, and the ends of its exact interval.
    coverage : float or None
        Share of the labelled answers that reach it.
    rows : int
        Labelled answers.
    model : str
        Model and version that the file names; empty where it names none.
    reason : str
        Why nothing is certified; empty otherwise.
    labels_missing : int or None
        Further labels with which it would be, as far as these rows show; None where more labels do not help.
    """

    task: str
    threshold: float | None = None
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    coverage: float | None = None
    rows: int = 0
    model: str = ""
    reason: str = ""
    labels_missing: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return its fields without the name; ``reason`` and ``labels_missing`` where there is no threshold."""
        fields = asdict(self)
        del fields["task"]
        if self.threshold is not None:
            del fields["reason"], fields["labels_missing"]
        return fields


@dataclass(frozen=True)
class TaskThresholds(Displayed):
    """Thresholds of all tasks, which hold together.

    Attributes
    ----------
    tasks : tuple of TaskThreshold
        One a task, in the order of the file.
    target_accuracy : float
        Accuracy that answers above each threshold have.
    delta : float
        Probability with which any of them has a lower one.
    """

    tasks: tuple[TaskThreshold, ...]
    target_accuracy: float
    delta: float = 0.05

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[TaskThreshold]:
        return iter(self.tasks)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the thresholds by task, as a program loads them.

        Returns
        -------
        dict
            ``{task: {threshold, accuracy, low, high, coverage, rows, model}}``; a task without a threshold has
            ``reason`` and ``labels_missing`` too.
        """
        return {row.task: row.to_dict() for row in self.tasks}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the thresholds as JSON, and write them to a file where one is named.

        Parameters
        ----------
        path : str, Path or None, default None
            File to write.

        Returns
        -------
        str
            What :meth:`to_dict` gives, as JSON.
        """
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_frame(self) -> pd.DataFrame:
        """Return the table with one row a task.

        Returns
        -------
        pandas.DataFrame
            With the attributes of :class:`TaskThreshold` as columns.
        """
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.tasks])

    def __str__(self) -> str:
        lines = [("task", "threshold", "accuracy", "coverage", "rows")]
        for row in self.tasks:
            if row.threshold is None:
                missing = row.labels_missing
                lacks = "" if missing is None else f"; lacks {plural(missing, 'label')}"
                lines.append((single_line(row.task), "none", f"{row.reason}{lacks}", "", ""))
                continue
            assert row.accuracy is not None and row.low is not None
            assert row.high is not None and row.coverage is not None
            accuracy = f"{percent(row.accuracy)} ({percent(row.low)} to {percent(row.high)})"
            cells = (number(row.threshold), accuracy, percent(row.coverage), f"{row.rows:,}")
            lines.append((single_line(row.task), *cells))
        return "\n".join(aligned(lines))


def certified(
    model: Any,
    data: Predictions,
    candidates: Predictions,
    about: dict[str, Any],
    risk: float,
    delta: float,
) -> TaskThreshold:
    """Threshold of one task.

    Parameters
    ----------
    model : calibrator that gives the confidences.
    data : labelled rows that it was not fitted on.
    candidates : rows whose confidences are tried, such as its own.
    about : name, rows and model of the task.
    risk, delta : error among answers of at most ``risk``, with confidence 1 - ``delta``.
    """
    guarantee = certify(model, data, candidates, risk, delta)
    if guarantee.threshold is None:
        reason, missing = _uncertified(guarantee)
        return TaskThreshold(**about, reason=reason, labels_missing=missing)
    rule = AnswerAbove(threshold=min(1.0, guarantee.threshold))
    scores = judge_answers(model, rule, data, level=1.0 - delta)
    return TaskThreshold(
        **about,
        threshold=rule.threshold,
        accuracy=1.0 - scores.error.value,
        low=1.0 - scores.error.high,
        high=1.0 - scores.error.low,
        coverage=scores.coverage.value,
    )


def _uncertified(guarantee: Guarantee) -> tuple[str, int | None]:
    """Reason why nothing is certified, and the labels with which the surest answers would be."""
    from scipy.special import bdtr

    n, risk, delta = guarantee.n, guarantee.risk, guarantee.delta
    if not guarantee.tested:
        return f"{plural(n, 'label')} of {guarantee.fewest:,} that it takes", guarantee.fewest - n
    answered, wrong = guarantee.answered, guarantee.wrong
    reason = f"{wrong:,} of the {answered:,} surest wrong"
    if wrong >= risk * answered:
        return reason, None
    needed = answered
    while needed < MOST_LABELS and bdtr(math.ceil(wrong / answered * needed), needed, risk) > delta:
        needed = math.ceil(needed * 1.02)
    missing = math.ceil(n * needed / answered) - n
    digit = 10 ** max(0, math.floor(math.log10(max(missing, 1))) - 1)  # two digits of an estimate
    return reason, math.ceil(missing / digit) * digit
