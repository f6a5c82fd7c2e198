"""Scores of probabilities against labels, binning, the panel of a risk model, and bootstrap and Wilson intervals.

All take ``(probs, labels)``. Probabilities of shape (n,) are those of an event, class 1, and mean the same as both
columns: of two classes the event is looked at, of more the predicted class. Scores of calibration take ``confidence=``
and ``correct=`` in their place.
"""

from calib.metrics.calibration_error import debiased_ece, ece, smooth_ece
from calib.metrics.decision_curve import net_benefit
from calib.metrics.distances import cumulative_test
from calib.metrics.judge_correction import (
    corrected_rate,
    judge_agreement,
    rate_behind_errors,
)
from calib.metrics.recalibration import corp
from calib.metrics.risk_panel import risk_model
from calib.metrics.scoring_rules import (
    accuracy,
    auroc,
    average_precision,
    brier,
    confidence_gap,
    nll,
    overconfidence,
    top_k_accuracy,
    underconfidence,
)

__all__ = [
    "accuracy",
    "auroc",
    "average_precision",
    "brier",
    "confidence_gap",
    "corp",
    "corrected_rate",
    "cumulative_test",
    "debiased_ece",
    "ece",
    "judge_agreement",
    "net_benefit",
    "nll",
    "overconfidence",
    "rate_behind_errors",
    "risk_model",
    "smooth_ece",
    "top_k_accuracy",
    "underconfidence",
]
