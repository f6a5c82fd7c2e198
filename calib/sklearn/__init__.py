"""Calibration within scikit-learn: a classifier that calibrates another, scorers of calibration, a display.

Importing it imports scikit-learn, which comes with the extra ``fit``.
"""

from calib.sklearn.display import ReliabilityDisplay
from calib.sklearn.model import CalibratedModel
from calib.sklearn.scorers import Scorer, brier_scorer, ece_scorer, nll_scorer

__all__ = [
    "CalibratedModel",
    "ReliabilityDisplay",
    "Scorer",
    "brier_scorer",
    "ece_scorer",
    "nll_scorer",
]
