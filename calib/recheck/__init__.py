"""Is a calibrator still right? A fitted or exported one on fresh labelled rows, beside the rows it was judged on."""

from calib.recheck.change import Recheck, ScoreChange, recheck, recorded_scores
from calib.recheck.fresh import Fresh, fitted_to, judge, read_fresh
from calib.recheck.untrusted import read_uploaded
from calib.recheck.words import NOT_FRESH, verdict

__all__ = [
    "NOT_FRESH",
    "Fresh",
    "Recheck",
    "ScoreChange",
    "fitted_to",
    "judge",
    "read_fresh",
    "read_uploaded",
    "recheck",
    "recorded_scores",
    "verdict",
]
