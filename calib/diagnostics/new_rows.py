"""A calibrator on new rows, with labels or without: all that is said and drawn of them, computed in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calib.data.predictions import Predictions
from calib.diagnostics.judgement import first_curve
from calib.diagnostics.performance_without_labels import WithoutLabels, without_labels
from calib.diagnostics.reliability import (
    ConfidenceHistogram,
    ReliabilityCurve,
    confidence_histogram,
)
from calib.diagnostics.shift import CalibrationShift, calibration_shift
from calib.diagnostics.shift_data import judge
from calib.evaluation import Evaluation, score_intervals
from calib.export.runtime import ExportedCalibrator
from calib.metrics.bootstrap import Interval


@dataclass(frozen=True, eq=False)
class Distribution:
    """What a calibrator says of some rows.

    Attributes
    ----------
    n : rows.
    histogram : of the confidence, or of the risk, on a logit scale.
    curve : reliability in bins of equal mass; None where the rows have no labels.
    """

    n: int
    histogram: ConfidenceHistogram
    curve: ReliabilityCurve | None = None

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, labelled: bool = True) -> Distribution:
        """Of the rows of an evaluation."""
        curve = first_curve(evaluation) if labelled else None
        return cls(len(evaluation), confidence_histogram(*evaluation.pair, scale="logit"), curve)


@dataclass(frozen=True, eq=False)
class NewRowsCheck:
    """A calibrator's verdict on new rows.

    Attributes
    ----------
    evaluation : of the calibrator on these rows; where they have no labels, only what it says of them counts.
    change : of its scores; None where the rows have no labels.
    expected : what is to be expected of rows without labels; None where they have some.
    now, before : what it says of these rows, and of those it was judged on, as far as they are known.
    accuracy_before : on the rows it was judged on, where the new ones have no labels.
    """

    evaluation: Evaluation
    change: CalibrationShift | None
    expected: WithoutLabels | None
    now: Distribution
    before: Distribution | None = None
    accuracy_before: Interval | None = None


def check_new_rows(
    exported: ExportedCalibrator,
    before: Evaluation | Mapping[str, Interval] | None,
    n_before: int | None,
    labelled: bool,
    *,
    data: Mapping[str, Any],
) -> NewRowsCheck:
    """Judge a calibrator on new rows, as a worker does.

    Parameters
    ----------
    exported : the calibrator.
    before : its verdict on the rows it was judged on, or recorded scores with their intervals, or None.
    n_before : rows behind them.
    labelled : whether the new rows have labels.
    data : ``rows``, the new ones as :func:`calib.diagnostics.shift_data.read_new_rows` gives them.

    Raises
    ------
    CalibrationError
        As :func:`calib.diagnostics.shift_data.judge` does.
    """
    rows: Predictions = data["rows"]
    raw, now = judge(exported, rows)
    earlier = before if isinstance(before, Evaluation) else None
    known = None if earlier is None else Distribution.from_evaluation(earlier)
    here = Distribution.from_evaluation(now, labelled)
    if labelled:
        return NewRowsCheck(now, calibration_shift(now, raw, before, n_before=n_before), None, here, known)
    accuracy = None if earlier is None else score_intervals(earlier)["accuracy"]
    return NewRowsCheck(now, None, without_labels(now, earlier), here, known, accuracy)
