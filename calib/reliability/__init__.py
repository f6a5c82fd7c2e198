"""Reliability of confidences: curves in bins, under a kernel and by isotonic regression, bands, and histograms."""

from calib.reliability.binned import ReliabilityCurve, default_bins, ece_interval, reliability_curve
from calib.reliability.consistency import ConsistencyBand, binned_consistency, corp_consistency, smooth_consistency
from calib.reliability.corp import CorpCurve, corp_curve
from calib.reliability.histogram import LOGIT_LIMITS, ConfidenceHistogram, confidence_histogram
from calib.reliability.smooth import SmoothCurve, smooth_curve

__all__ = [
    "LOGIT_LIMITS",
    "ConfidenceHistogram",
    "ConsistencyBand",
    "CorpCurve",
    "ReliabilityCurve",
    "SmoothCurve",
    "binned_consistency",
    "confidence_histogram",
    "corp_consistency",
    "corp_curve",
    "default_bins",
    "ece_interval",
    "reliability_curve",
    "smooth_consistency",
    "smooth_curve",
]
