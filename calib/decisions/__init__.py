"""From a calibrated probability to an action: cuts, costs, sets of classes, what to leave unanswered, how many rows.

Names are loaded when first used, because a bundle carries the rules and the prediction sets without the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calib.decisions.conformal import PredictionSets, conformal_sets
    from calib.decisions.cuts import Decision, decide
    from calib.decisions.judgement import (
        certify_answers,
        fit_and_judge,
        judge_answers,
        judged_answers,
    )
    from calib.decisions.outcomes import Change, Costs, Outcome, change, outcome_of
    from calib.decisions.recalibration import RecalibratedCut, recalibrated_cut
    from calib.decisions.rules import HAND_OVER, AnswerAbove, CostMatrix, EventCut
    from calib.decisions.selective import Guarantee, certify
    from calib.decisions.set_scores import fit_sets, judge_sets, judged_sets, sets_change

_HOMES = {
    "conformal": ("PredictionSets", "conformal_sets"),
    "cuts": ("Decision", "decide"),
    "judgement": ("certify_answers", "fit_and_judge", "judge_answers", "judged_answers"),
    "set_scores": ("fit_sets", "judge_sets", "judged_sets", "sets_change"),
    "outcomes": ("Change", "Costs", "Outcome", "change", "outcome_of"),
    "recalibration": ("RecalibratedCut", "recalibrated_cut"),
    "rules": ("HAND_OVER", "AnswerAbove", "CostMatrix", "EventCut"),
    "selective": ("Guarantee", "certify"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "HAND_OVER",
    "AnswerAbove",
    "Change",
    "CostMatrix",
    "Costs",
    "Decision",
    "EventCut",
    "Guarantee",
    "Outcome",
    "PredictionSets",
    "RecalibratedCut",
    "certify",
    "certify_answers",
    "change",
    "conformal_sets",
    "decide",
    "fit_and_judge",
    "fit_sets",
    "judge_answers",
    "judge_sets",
    "judged_answers",
    "judged_sets",
    "outcome_of",
    "recalibrated_cut",
    "sets_change",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"calib.decisions.{_HOME[name]}"), name)
    raise AttributeError(f"module 'calib.decisions' has no attribute {name!r}")
