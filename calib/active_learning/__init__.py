"""Active learning as a simulation: which rows to ask labels for, and whether to spend some of them on calibration."""

from calib.active_learning.classifiers import CLASSIFIERS
from calib.active_learning.curves import LearningCurve, learning_curve
from calib.active_learning.plan import Plan
from calib.active_learning.pool import Pool, pool_of
from calib.active_learning.results import compare_arms
from calib.active_learning.simulation import Round, simulate
from calib.active_learning.strategies import ARMS, Arm
from calib.active_learning.table import MEASURES, final_rounds, table_of
from calib.active_learning.verdict import verdicts

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
