"""Active learning as a simulation, with part of the label budget spent on calibration."""

from calib.active_learning.results import compare_arms, rounds_table, verdicts
from calib.active_learning.simulation import Plan, pool_from_predictions, simulate

__all__ = [
    "Plan",
    "compare_arms",
    "pool_from_predictions",
    "rounds_table",
    "simulate",
    "verdicts",
]
