"""Active learning as a simulation: which rows to ask labels for, and whether to spend some of them on calibration."""

from calib.active.arms import ARMS, Arm
from calib.active.classifiers import CLASSIFIERS
from calib.active.curves import LearningCurve, learning_curve
from calib.active.plan import Plan
from calib.active.pool import Pool, pool_of
from calib.active.simulation import Round, simulate
from calib.active.summary import compare_arms
from calib.active.table import MEASURES, final_rounds, table_of
from calib.active.words import verdicts

__all__ = [
    "ARMS",
    "CLASSIFIERS",
    "MEASURES",
    "Arm",
    "LearningCurve",
    "Plan",
    "Pool",
    "Round",
    "compare_arms",
    "final_rounds",
    "learning_curve",
    "pool_of",
    "simulate",
    "table_of",
    "verdicts",
]
