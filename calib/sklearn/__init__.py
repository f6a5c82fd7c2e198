"""Calibration within scikit-learn: a classifier that calibrates another, and scorers of calibration.

Importing it imports scikit-learn, which comes with the extra ``fit``.
"""

from calib.sklearn.model import CalibratedModel
from calib.sklearn.scorers import Scorer, brier_scorer, classwise_ece_scorer, ece_scorer, nll_scorer

__all__ = [
    "CalibratedModel",
    "Scorer",
    "brier_scorer",
    "classwise_ece_scorer",
    "ece_scorer",
    "nll_scorer",
]
