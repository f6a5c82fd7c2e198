"""Prediction sets and certified thresholds as pages ask a worker for them: chosen on half of the test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calib.base import Calibrator
from calib.data.predictions import Predictions
from calib.decisions.conformal import PredictionSets, Score
from calib.decisions.judgement import AnswerScores, Judged, judge_answers, judged_answers
from calib.decisions.rules import AnswerAbove
from calib.decisions.selective import Guarantee
from calib.decisions.set_scores import SetScores, judged_sets, sets_change
from calib.diagnostics.judgement import rows_to_judge
from calib.metrics.bootstrap import Interval

Sets = Judged[PredictionSets, SetScores]
Certified = Judged[Guarantee, AnswerScores | None]


@dataclass(frozen=True, eq=False)
class SetsBeside:
    """Prediction sets of a method beside those of the raw model, on the same rows.

    Attributes
    ----------
    raw, method : of each; the raw model's own where no method is looked at.
    change : "mean size" and "coverage" of the method less those of the raw model, paired by row.
    """

    raw: Sets
    method: Sets
    change: dict[str, Interval]


def sets_beside_raw(
    raw: Calibrator, fitted: Calibrator, alpha: float, score: Score, per_class: bool, *, data: Mapping[str, Any]
) -> SetsBeside:
    """Sets of both methods from one half of the test rows among a worker's arrays, judged on the other."""
    test = _test_of(data)
    before, after = (judged_sets(each, test, alpha, score=score, per_class=per_class) for each in (raw, fitted))
    return SetsBeside(before, after, sets_change(before.found, after.found))


def certified(fitted: Calibrator, risk: float, delta: float, *, data: Mapping[str, Any]) -> Certified:
    """A threshold certified on one half of the test rows, judged on the other; thresholds are those of calibration."""
    test = _test_of(data)
    calibration = Predictions(
        data["logits"], data["labels"], class_names=test.class_names, kind=test.kind, sha256="in a worker"
    )
    return judged_answers(fitted, test, calibration, risk, delta)


def priced(fitted: Calibrator, error: float, hand_over: float, *, data: Mapping[str, Any]) -> AnswerScores:
    """The threshold that costs least for calibrated confidences, which no row chose, judged on all test rows."""
    rule = AnswerAbove.from_costs(error, hand_over)
    return judge_answers(fitted, rule, _test_of(data), (error, hand_over))


def _test_of(data: Mapping[str, Any]) -> Predictions:
    test = rows_to_judge(data)
    assert test is not None
    return test
