"""From a calibrated probability to an action: cuts, costs, sets of classes, what to leave unanswered, how many rows.

Names are loaded when first used, because a bundle carries the rules and the prediction sets without the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calib.decisions.class_costs import ClassDecision, decide_classes
    from calib.decisions.conformal import PredictionSets, conformal_sets
    from calib.decisions.cuts import Decision, decide
    from calib.decisions.group_recalibration import GroupGain, GroupRecalibration, judge_groups, recalibrate_groups
    from calib.decisions.judgement import (
        certify_answers,
        fit_and_judge,
        judge_answers,
        judged_answers,
    )
    from calib.decisions.outcomes import Change, Costs, Outcome, change, outcome_of
    from calib.decisions.prior_shift import NewRate, cut_at_rate, estimate_rate, likeliest_rate, shift_prior
    from calib.decisions.recalibration import RecalibratedCut, recalibrated_cut
    from calib.decisions.rules import HAND_OVER, AnswerAbove, CostMatrix, EventCut
    from calib.decisions.selective import Guarantee, certify
    from calib.decisions.set_scores import fit_sets, judge_sets, judged_sets, sets_change

_HOMES = {
    "class_costs": ("ClassDecision", "decide_classes"),
    "conformal": ("PredictionSets", "conformal_sets"),
    "cuts": ("Decision", "decide"),
    "group_recalibration": ("GroupGain", "GroupRecalibration", "judge_groups", "recalibrate_groups"),
    "judgement": ("certify_answers", "fit_and_judge", "judge_answers", "judged_answers"),
    "set_scores": ("fit_sets", "judge_sets", "judged_sets", "sets_change"),
    "outcomes": ("Change", "Costs", "Outcome", "change", "outcome_of"),
    "prior_shift": ("NewRate", "cut_at_rate", "estimate_rate", "likeliest_rate", "shift_prior"),
    "recalibration": ("RecalibratedCut", "recalibrated_cut"),
    "rules": ("HAND_OVER", "AnswerAbove", "CostMatrix", "EventCut"),
    "selective": ("Guarantee", "certify"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "HAND_OVER",
    "AnswerAbove",
    "Change",
    "ClassDecision",
    "CostMatrix",
    "Costs",
    "Decision",
    "EventCut",
    "GroupGain",
    "GroupRecalibration",
    "Guarantee",
    "NewRate",
    "Outcome",
    "PredictionSets",
    "RecalibratedCut",
    "certify",
    "certify_answers",
    "change",
    "conformal_sets",
    "cut_at_rate",
    "decide",
    "decide_classes",
    "estimate_rate",
    "fit_and_judge",
    "fit_sets",
    "judge_answers",
    "judge_groups",
    "judge_sets",
    "judged_answers",
    "judged_sets",
    "likeliest_rate",
    "outcome_of",
    "recalibrate_groups",
    "recalibrated_cut",
    "sets_change",
    "shift_prior",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"calib.decisions.{_HOME[name]}"), name)
    raise AttributeError(f"module 'calib.decisions' has no attribute {name!r}")
