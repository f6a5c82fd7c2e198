"""Decisions as pages ask a worker for them: sets, thresholds and costs on test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import Calibrator, groups_for
from calib.data.predictions import Predictions
from calib.decisions.class_costs import ClassDecision, check_classes, costs_saved, judge_actions
from calib.decisions.conformal import PredictionSets
from calib.decisions.judgement import AnswerScores, Judged, certify_and_judge, judge_answers
from calib.decisions.prior_shift import NewRate, estimate_rate
from calib.decisions.rules import AnswerAbove, CostMatrix
from calib.decisions.selective import Guarantee
from calib.decisions.set_scores import SetScores, fit_and_judge_sets, sets_change
from calib.diagnostics.judgement import rows_to_judge
from calib.evaluation.evaluation import row_arrays
from calib.metrics.bootstrap import Interval
from calib.numerics import MEMORY_ENTRIES, Floats, blocks, softmax

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


@dataclass(frozen=True, eq=False)
class CostsBeside:
    """Actions of least expected cost by a method's probabilities, beside those by the raw model's.

    Attributes
    ----------
    raw, method : of each; the raw model's own where no method is looked at.
    saved : mean cost of a row with the raw model minus that with the method, paired by row.
    """

    raw: ClassDecision
    method: ClassDecision
    saved: Interval


def costs_beside_raw(
    raw: Calibrator, fitted: Calibrator, rule: CostMatrix, *, data: Mapping[str, Any]
) -> CostsBeside:
    """Bayes actions of both methods on the test rows among a worker's arrays, which chose nothing."""
    test = _test_of(data)
    about = row_arrays(test)
    before = _by_costs(raw, rule, test)
    after = _by_costs(fitted, rule, test)
    saved = costs_saved(after.actions, before.actions, test.labels, rule, **about)
    return CostsBeside(before, after, saved)


def _by_costs(fitted: Calibrator, rule: CostMatrix, test: Predictions) -> ClassDecision:
    """The decision of one method."""
    check_classes(rule, test.n_classes)
    actions, predicted = (np.empty(len(test), dtype=np.int64) for _ in range(2))
    expected = np.empty(len(test))
    groups = groups_for(fitted, test)
    for rows in blocks(len(test), test.n_classes, MEMORY_ENTRIES):
        inside = None if groups is None else groups[rows]
        probs = fitted.probs_from_logits(test.logits[rows], inside)
        actions[rows], expected[rows] = rule.decide_with_cost(probs)
        predicted[rows] = np.argmax(probs, axis=1)
    return judge_actions(actions, expected, predicted, test.labels, rule, **row_arrays(test))


def rates_of_rows(logits: Floats, column: int, *, data: Mapping[str, Any]) -> NewRate:
    """Rate of an event among rows without labels from their raw outputs, by the labelled rows among a worker's arrays.

    Parameters
    ----------
    logits : (m, 2) of the new rows.
    column : of the event.
    """
    before = softmax(data["logits"])[:, column]
    after = softmax(logits)[:, column]
    about: dict[str, Any] = {name: data.get(name) for name in ("clusters", "weights")}
    return estimate_rate(before, data["labels"] == column, after, **about)


def sets_beside_raw(
    raw: Calibrator, fitted: Calibrator, alpha: float, per_class: bool, *, data: Mapping[str, Any]
) -> SetsBeside:
    """Sets of both methods from one half of the test rows among a worker's arrays, judged on the other."""
    test = _test_of(data)
    before, after = (fit_and_judge_sets(each, test, alpha, per_class) for each in (raw, fitted))
    return SetsBeside(before, after, sets_change(before.found, after.found))


def certified(
    fitted: Calibrator, risk: float, delta: float, *, data: Mapping[str, Any]
) -> Certified:
    """A threshold certified on one half of the test rows, judged on the other; thresholds are those of calibration."""
    test = _test_of(data)
    calibration = Predictions(
        data["logits"],
        data["labels"],
        class_names=test.class_names,
        kind=test.kind,
        sha256="in a worker",
        groups=data.get("groups"),
        metadata={name: data["groups"] for name in test.metadata if "groups" in data},
    )
    return certify_and_judge(fitted, test, calibration, risk, delta)


def answered_above(
    fitted: Calibrator,
    threshold: float,
    costs: tuple[float, float] | None,
    *,
    data: Mapping[str, Any],
) -> AnswerScores:
    """A threshold of the confidence judged on all test rows; costs are those of an error and of handing over."""
    return judge_answers(fitted, AnswerAbove(threshold=threshold), _test_of(data), costs)


def _test_of(data: Mapping[str, Any]) -> Predictions:
    test = rows_to_judge(data)
    assert test is not None
    return test
