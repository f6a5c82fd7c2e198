"""From a calibrated probability to an action: cuts, costs, sets of classes, what to leave unanswered, how many rows."""

from calib.decisions.cuts import Decision, decide
from calib.decisions.outcomes import Change, Costs, Outcome, change, outcome_of
from calib.decisions.recalibration import RecalibratedCut, recalibrated_cut

__all__ = [
    "Change",
    "Costs",
    "Decision",
    "Outcome",
    "RecalibratedCut",
    "change",
    "decide",
    "outcome_of",
    "recalibrated_cut",
]
