"""Active learning as a simulation, with part of the label budget spent on calibration."""

from calib.active_learning.classifiers import CLASSIFIERS
from calib.active_learning.results import (
    MEASURES,
    LearningCurve,
    compare_arms,
    learning_curve,
    rounds_table,
    verdicts,
)
from calib.active_learning.simulation import (
    ARMS,
    Arm,
    Plan,
    Pool,
    Round,
    pool_from_predictions,
    simulate,
)

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
    "learning_curve",
    "pool_from_predictions",
    "rounds_table",
    "simulate",
    "verdicts",
]
