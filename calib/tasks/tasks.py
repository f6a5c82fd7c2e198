"""Tasks: several data sets over shared rows, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calib.arrays import check_number
from calib.data import Predictions
from calib.decisions.selective import fewest_answers
from calib.errors import CalibrationError
from calib.evaluation.evaluation import raw_model
from calib.formatting import aligned, percent, single_line
from calib.numerics import Ints
from calib.tasks.thresholds import TaskThreshold, TaskThresholds, certified

TaskKind = Literal["questions", "labels", "models"]
"""Kinds of tasks of a file."""


@dataclass(frozen=True, eq=False, repr=False)
class Tasks(Mapping[str, Predictions]):
    """Several prediction problems over shared rows, as a mapping of names to Predictions.

    Attributes
    ----------
    kind : {"questions", "labels", "models"}
        What the tasks are.
    predictions : mapping of str to Predictions
        Each task that can be judged, in the order of the file.
    rows : mapping of str to ndarray of int
        Shared row of each row of such a task.
    clusters : ndarray of int of shape (n_rows,)
        Independent unit of each shared row: its cluster, or the row itself.
    reasons : mapping of str to str
        Why each other task cannot be judged, such as "no labels".
    left_out : mapping of str to mapping of str to int
        Rows of every task that are not used: "refused", "no answer" and "no label".
    labelled : mapping of str to int
        Answers with a label of every task.
    models : mapping of str to str
        Model and version of every task, where the file names them; empty elsewhere.
    """

    kind: TaskKind
    predictions: Mapping[str, Predictions]
    rows: Mapping[str, Ints]
    clusters: Ints
    reasons: Mapping[str, str]
    left_out: Mapping[str, Mapping[str, int]]
    labelled: Mapping[str, int]
    models: Mapping[str, str]

    def __getitem__(self, name: str) -> Predictions:
        """The data set of a task.

        Raises
        ------
        CalibrationError
            If the task cannot be judged.
        KeyError
            If there is none of this name.
        """
        if name in self.reasons:
            raise CalibrationError(f"Task {name!r} cannot be judged: {self.reasons[name]}.")
        return self.predictions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.predictions)

    def __contains__(self, name: object) -> bool:
        return name in self.predictions

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def n_rows(self) -> int:
        """Number of shared rows."""
        return len(self.clusters)

    def units(self, name: str) -> Ints:
        """Independent unit of each row of a task.

        Parameters
        ----------
        name : str
            The task.

        Returns
        -------
        ndarray of int
            Numbers that all tasks share.
        """
        units: Ints = self.clusters[self.rows[name]]
        return units

    def thresholds(self, target_accuracy: float = 0.95, delta: float = 0.05) -> TaskThresholds:
        """Certify for each task a confidence from which its answers meet a target accuracy.

        Each is certified by a fixed-sequence test with an equal share of ``delta`` (:func:`calib.decisions.certify`).
        All promises together therefore hold with probability 1 - ``delta``. A probability p of one of two classes is a
        confidence of max(p, 1 - p).

        Parameters
        ----------
        target_accuracy : float, default 0.95
            Accuracy of the answers above each threshold.
        delta : float, default 0.05
            Probability with which any of them has a lower one.

        Returns
        -------
        TaskThresholds
            One row a task; ``to_json`` writes them for a program. A task without a threshold has a reason, and the
            number of labels that it lacks.
        """
        check_number("target_accuracy", target_accuracy, 0, 1, ends=False)
        check_number("delta", delta, 0, 1, ends=False)
        risk = 1.0 - target_accuracy
        share = delta / max(1, len(self))
        rows = []
        for name in (*self.predictions, *self.reasons):
            n = self.labelled[name]
            about: dict[str, Any] = {"task": name, "rows": n, "model": self.models[name]}
            if name in self.reasons:
                missing = max(0, fewest_answers(risk, share) - n) or None
                row = TaskThreshold(**about, reason=self.reasons[name], labels_missing=missing)
            else:
                data = self.predictions[name]
                row = certified(raw_model(data), data, data, about, risk, share)
            rows.append(row)
        return TaskThresholds(tuple(rows), target_accuracy, delta)

    def __repr__(self) -> str:
        lines = [("task", "rows", "classes", "accuracy", "left out")]
        for name, data in self.predictions.items():
            size = (f"{len(data):,}", str(data.n_classes), percent(data.accuracy))
            lines.append((single_line(name), *size, self._left_out(name)))
        for name, reason in self.reasons.items():
            lines.append((single_line(name), "", "", reason, self._left_out(name)))
        units = len(np.unique(self.clusters))
        clusters = "" if units == self.n_rows else f", {units:,} clusters"
        head = f"<Tasks: {self.kind} over {self.n_rows:,} rows{clusters}>"
        return "\n".join([head, *aligned(lines)])

    def _left_out(self, name: str) -> str:
        return ", ".join(f"{count:,} {why}" for why, count in self.left_out[name].items() if count)
