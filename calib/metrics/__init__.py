"""Scores of probabilities against labels, binning, the panel of a risk model, and bootstrap and Wilson intervals.

All take ``(probs, labels)`` with probs of shape (n, n_classes). Those that look at the predicted class alone
(accuracy, ECE and its kin, over- and underconfidence, the gap, sharpness) also take the pair
``(confidence, correct)``, both of shape (n,). Net benefit takes the probability of an event and whether it happened.
"""

from calib.metrics.binning import BINNINGS
from calib.metrics.bootstrap import Interval, interval_of_draws, reflect, wilson_interval
from calib.metrics.calibration_error import classwise_ece, debiased_ece, ece, smooth_ece
from calib.metrics.confidence import (
    confidence_gap,
    effective_sample_size,
    overconfidence,
    sharpness,
    signed_confidence_gap,
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
from calib.metrics.risk_panel import RiskMeasure, RiskModelPanel, risk_model
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
    "signed_confidence_gap",
    "smooth_ece",
    "top_k_accuracy",
    "underconfidence",
    "wilson_interval",
]
