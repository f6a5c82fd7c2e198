"""Scores of probabilities against labels, binning, the panel of a risk model, and bootstrap and Wilson intervals.

All take ``(probs, labels)``. Probabilities of shape (n,) are those of an event, class 1, and mean the same as both
columns: of two classes the event is looked at, of more the predicted class. Scores of calibration take ``confidence=``
and ``correct=`` in their place.
"""

from calib.metrics.binning import BINNINGS
from calib.metrics.bootstrap import Interval, interval_of_draws, reflect, wilson_interval
from calib.metrics.calibration_error import classwise_ece, debiased_ece, ece, smooth_ece
from calib.metrics.confidence import (
    confidence_gap,
    effective_sample_size,
    overconfidence,
    sharpness,
    underconfidence,
)
from calib.metrics.corp_terms import Decomposition, corp
from calib.metrics.cumulative import CumulativeTest, cumulative_test
from calib.metrics.decision_curve import (
    NetBenefit,
    NetBenefitDifference,
    net_benefit,
    net_benefit_difference,
)
from calib.metrics.risk_measures import RiskMeasure
from calib.metrics.risk_panel import RiskModelPanel, risk_model
from calib.metrics.scoring_rules import (
    accuracy,
    auroc,
    average_precision,
    brier,
    nll,
    top_k_accuracy,
)

__all__ = [
    "BINNINGS",
    "CumulativeTest",
    "Decomposition",
    "Interval",
    "NetBenefit",
    "NetBenefitDifference",
    "RiskMeasure",
    "RiskModelPanel",
    "accuracy",
    "auroc",
    "average_precision",
    "brier",
    "classwise_ece",
    "confidence_gap",
    "corp",
    "cumulative_test",
    "debiased_ece",
    "ece",
    "effective_sample_size",
    "interval_of_draws",
    "net_benefit",
    "net_benefit_difference",
    "nll",
    "overconfidence",
    "reflect",
    "risk_model",
    "sharpness",
    "smooth_ece",
    "top_k_accuracy",
    "underconfidence",
    "wilson_interval",
]
