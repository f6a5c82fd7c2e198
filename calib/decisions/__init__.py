"""From a calibrated probability to an action: cuts, costs, sets of classes, what to leave unanswered, how many rows."""

from calib.decisions.conformal import conformal_sets
from calib.decisions.cuts import Goal, event_decision
from calib.decisions.judgement import certify, fit_and_judge, judge_answers
from calib.decisions.outcomes import Costs, change, outcome_of
from calib.decisions.prior_shift import estimate_rate, shift_prior
from calib.decisions.recalibration import recalibrated_cut
from calib.decisions.rules import AnswerAbove, EventCut
from calib.decisions.sample_size import rows_needed
from calib.decisions.set_scores import fit_sets, judge_sets

__all__ = [
    "AnswerAbove",
    "Costs",
    "EventCut",
    "Goal",
    "certify",
    "change",
    "conformal_sets",
    "estimate_rate",
    "event_decision",
    "fit_and_judge",
    "fit_sets",
    "judge_answers",
    "judge_sets",
    "outcome_of",
    "recalibrated_cut",
    "rows_needed",
    "shift_prior",
]
