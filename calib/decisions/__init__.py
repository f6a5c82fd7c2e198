"""From a calibrated probability to an action: cuts, costs, sets of classes, what to leave unanswered, how many rows."""

from calib.decisions.class_costs import ClassDecision, decide_classes
from calib.decisions.conformal import PredictionSets, conformal_sets
from calib.decisions.cuts import EventDecision, Goal, event_decision
from calib.decisions.judgement import certify_answers, fit_and_judge, judge_answers, judged_answers
from calib.decisions.outcomes import Change, Costs, Outcome, change, outcome_of
from calib.decisions.prior_shift import (
    NewRate,
    cut_at_rate,
    estimate_rate,
    likeliest_rate,
    shift_prior,
)
from calib.decisions.recalibration import (
    GroupGain,
    GroupRecalibration,
    judge_groups,
    recalibrate_groups,
    recalibrated_cut,
)
from calib.decisions.rules import HAND_OVER, AnswerAbove, CostMatrix, EventCut
from calib.decisions.sample_size import Needed, rows_needed
from calib.decisions.selective import Guarantee, certify
from calib.decisions.set_scores import fit_sets, judge_sets, judged_sets, sets_change

__all__ = [
    "HAND_OVER",
    "AnswerAbove",
    "Change",
    "ClassDecision",
    "CostMatrix",
    "Costs",
    "EventCut",
    "EventDecision",
    "Goal",
    "GroupGain",
    "GroupRecalibration",
    "Guarantee",
    "Needed",
    "NewRate",
    "Outcome",
    "PredictionSets",
    "certify",
    "certify_answers",
    "change",
    "conformal_sets",
    "cut_at_rate",
    "decide_classes",
    "estimate_rate",
    "event_decision",
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
    "rows_needed",
    "sets_change",
    "shift_prior",
]
