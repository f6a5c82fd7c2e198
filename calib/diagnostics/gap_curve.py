"""Confidence minus accuracy over the ranks of the confidence, with what chance gives a calibrated model.

The sign is that of ``signed gap`` among the scores and of every figure: above zero a method is overconfident.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.diagnostics.reliability import default_bins, reliability_curve
from calib.diagnostics.smooth_reliability import binned_consistency
from calib.metrics.confidence import Bools
from calib.numerics import Floats, Ints

MOST_BINS = 12
"""Small pictures of many methods side by side show no more."""


@dataclass(frozen=True, eq=False)
class GapCurve:
    """Gaps in bins of equally many rows; small at any number of rows.

    Attributes
    ----------
    rank : (m,) middle of each bin among all rows by confidence, in (0, 1).
    gap : (m,) mean confidence minus accuracy of each bin.
    chance_low, chance_high : (m,) the middle 95 % of the gaps that chance gives a calibrated model.
    count : (m,) rows in each bin.
    confidence, accuracy : (m,) means of each bin.
    mean_gap : over all rows.
    """

    rank: Floats
    gap: Floats
    chance_low: Floats
    chance_high: Floats
    count: Ints
    confidence: Floats
    accuracy: Floats
    mean_gap: float


def gap_curve(confidence: Floats, outcome: Bools, clusters: Any = None) -> GapCurve:
    """The gaps of what is said and whether it came true, in about n^(1/3) bins, at most twelve.

    Parameters
    ----------
    confidence, outcome : (n,) floats and booleans.
    clusters : (n,) what rows that belong together share, or None.
    """
    n_bins = min(default_bins(len(outcome)), MOST_BINS)
    curve = reliability_curve(confidence, outcome, n_bins=n_bins, binning="equal_mass", clusters=clusters)
    band = binned_consistency(curve, confidence)
    return GapCurve(
        rank=(np.cumsum(curve.count) - curve.count / 2) / curve.n,
        gap=curve.gap,
        chance_low=curve.confidence - band.high,
        chance_high=curve.confidence - band.low,
        count=curve.count,
        confidence=curve.confidence,
        accuracy=curve.accuracy,
        mean_gap=curve.mean_confidence - curve.mean_accuracy,
    )
