"""Reliability of confidences: curves in bins, and histograms."""

from calib.reliability.binned import ReliabilityCurve, default_bins, ece_interval, reliability_curve
from calib.reliability.histogram import LOGIT_LIMITS, ConfidenceHistogram, confidence_histogram

__all__ = [
    "LOGIT_LIMITS",
    "ConfidenceHistogram",
    "ReliabilityCurve",
    "confidence_histogram",
    "default_bins",
    "ece_interval",
    "reliability_curve",
]
