"""A calibrator for each task, with a threshold certified on rows of its own, and the bundle of them all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calib.arrays import check_number
from calib.base import Progress, silent
from calib.data import Predictions
from calib.decisions.rules import AnswerAbove
from calib.errors import CalibrationError
from calib.export.npz import npz_bytes
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.export.writer import SCRIPT, script, zipped
from calib.formatting import single_line
from calib.registry import calibrator
from calib.tasks.tasks import Tasks
from calib.tasks.thresholds import TaskThreshold, TaskThresholds, certified

PART = 0.5
"""Share of a task's rows on which its calibrator is fitted; the others certify the threshold."""
CONTENTS = "tasks.json"
"""File of a bundle that names the calibrator of each task."""


@dataclass(frozen=True, eq=False)
class FittedTask:
    """Calibrator of a task, and the threshold of its calibrated confidence where one was requested.

    Attributes
    ----------
    calibrator : ExportedCalibrator
        Its ``decision`` is the threshold; None where nothing is certified.
    threshold : TaskThreshold or None
        Threshold with accuracy and coverage on the rows that the calibrator was not fitted on.
    """

    calibrator: ExportedCalibrator
    threshold: TaskThreshold | None


@dataclass(frozen=True, eq=False, repr=False)
class FittedTasks(Mapping[str, ExportedCalibrator]):
    """Calibrators of several tasks, as a mapping of names.

    Attributes
    ----------
    fits : mapping of str to FittedTask
        Each task that was fitted.
    reasons : mapping of str to str
        Why each other task has no calibrator.
    target_accuracy : float or None
        Accuracy of the answers above each threshold; None where none was requested.
    """

    fits: Mapping[str, FittedTask]
    reasons: Mapping[str, str]
    target_accuracy: float | None = None

    def __getitem__(self, name: str) -> ExportedCalibrator:
        return self.fits[name].calibrator

    def __iter__(self) -> Iterator[str]:
        return iter(self.fits)

    def __len__(self) -> int:
        return len(self.fits)

    def to_bytes(self) -> bytes:
        """Return the bundle: a zip of an npz a task, their list with the thresholds, and the script that loads them.

        Returns
        -------
        bytes
            Unzipped, ``from predict import load_tasks`` gives a calibrator for each task with NumPy alone.

        Raises
        ------
        CalibrationError
            If a calibrator has no npz, or there is none.
        """
        if not self:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.reasons.items())
            raise CalibrationError(f"No task has a calibrator ({reasons}).")
        contents = self.contents()
        files = {str(contents[name]["file"]): npz_bytes(self[name]) for name in self}
        files[CONTENTS] = f"{json.dumps(contents, indent=1, allow_nan=False)}\n".encode()
        return zipped(files | {SCRIPT: script()})

    def contents(self) -> dict[str, dict[str, Any]]:
        """Return the list of the bundle, by task.

        Returns
        -------
        dict
            ``{task: {file, method, threshold, accuracy, low, high, coverage, rows, model}}``; the last seven where
            thresholds were requested.
        """
        contents: dict[str, dict[str, Any]] = {}
        for number, (name, fit) in enumerate(self.fits.items(), 1):
            readable = re.sub("[^A-Za-z0-9]+", "_", name)[:40]
            about = {"file": f"{number:02d}_{readable}.npz", "method": fit.calibrator.method}
            contents[name] = about | (fit.threshold.to_dict() if fit.threshold else {})
        return contents

    def save(self, path: str | Path) -> Path:
        """Write the bundle of :meth:`to_bytes`.

        Parameters
        ----------
        path : str or Path
            File to write, such as ``tasks.zip``.

        Returns
        -------
        Path
            The same path.
        """
        path = Path(path)
        path.write_bytes(self.to_bytes())
        return path

    def __repr__(self) -> str:
        head = f"<FittedTasks: {', '.join(map(single_line, self))}>"
        return head if self.target_accuracy is None else f"{head}\n{self.table()}"

    def table(self) -> str:
        """Return the thresholds as a table, one line a task.

        Returns
        -------
        str
            Empty where no target accuracy was requested.
        """
        if self.target_accuracy is None:
            return ""
        rows = tuple(fit.threshold for fit in self.fits.values() if fit.threshold is not None)
        return str(TaskThresholds(rows, self.target_accuracy))


def fit_tasks(
    tasks: Tasks,
    method: str = "auto",
    target_accuracy: float | None = None,
    delta: float = 0.05,
    random_state: int = 0,
) -> FittedTasks:
    """Fit a calibrator to each task on half of its rows, and certify a threshold on the other half.

    A threshold holds for the calibrated confidence. All promises together hold with probability 1 - ``delta``, as in
    :meth:`Tasks.thresholds`.

    Parameters
    ----------
    tasks : Tasks
        As :func:`calib.tasks.tasks_of` reads them.
    method : str, default "auto"
        Registry name of the method that every task has.
    target_accuracy : float or None, default None
        Accuracy of the answers above each threshold; None for calibrators without thresholds.
    delta : float, default 0.05
        Probability with which any of them has a lower one.
    random_state : int, default 0
        Seed of the split and of the fit.

    Returns
    -------
    FittedTasks
        A calibrator for each task; ``save`` writes them as one bundle.

    Examples
    --------
    >>> import calib
    >>> from calib.settings import studio
    >>> tasks = calib.tasks.tasks_of(studio() / "sample_data" / "simulated-decisions.jsonl")
    >>> fitted = calib.tasks.fit_tasks(tasks, "temperature", target_accuracy=0.9)
    >>> fitted["refund"].decision is None
    False
    """
    if target_accuracy is not None:
        check_number("target_accuracy", target_accuracy, 0, 1, ends=False)
    check_number("delta", delta, 0, 1, ends=False)
    fits: dict[str, FittedTask] = {}
    reasons = dict(tasks.reasons)
    for name, data in tasks.items():
        try:
            share = delta / len(tasks)
            fits[name] = fit_task(
                method, target_accuracy, share, random_state, data={"predictions": data}
            )
        except CalibrationError as error:
            reasons[name] = str(error)
    return FittedTasks(fits, reasons, target_accuracy)


def fit_task(
    method: str,
    target_accuracy: float | None,
    delta: float,
    random_state: int = 0,
    *,
    data: Mapping[str, Any],
    callback: Progress = silent,
) -> FittedTask:
    """Fit the calibrator of one task, as a worker does.

    Parameters
    ----------
    data : its Predictions under "predictions".
    """
    predictions: Predictions = data["predictions"]
    learned, test = predictions.split(PART, random_state)
    fitted = calibrator(method, random_state=random_state).fit(learned, progress=callback)
    fitted.remember(predictions.output_format())
    split = {"part": PART, "random_state": random_state}
    about: dict[str, Any] = {"n_calibration": len(learned), "n_test": len(test), "split": split}
    about["n_rows"] = len(learned)
    if target_accuracy is None:
        return FittedTask(exported(fitted, about), None)
    row = {"task": predictions.name, "rows": len(test), "model": predictions.model}
    threshold = certified(fitted, test, learned, row, 1.0 - target_accuracy, delta)
    if threshold.threshold is not None:
        about["decision"] = AnswerAbove(threshold=threshold.threshold)
    return FittedTask(exported(fitted, about), threshold)
