"""Calibration within scikit-learn: a classifier that calibrates another, scorers of calibration, a display.

Importing it imports scikit-learn, which comes with the extra ``fit``.
"""

from calib.sklearn.evaluation import (
    ReliabilityDisplay,
    Scorer,
    brier_scorer,
    ece_scorer,
    nll_scorer,
)
from calib.sklearn.model import CalibratedModel

__all__ = [
    "CalibratedModel",
    "ReliabilityDisplay",
    "Scorer",
    "brier_scorer",
    "ece_scorer",
    "nll_scorer",
]
