"""Bands of reliability curves: where chance takes the curve of a calibrated model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.diagnostics.corp import MAX_POINTS
from calib.diagnostics.reliability import ReliabilityCurve
from calib.metrics.corp_terms import (
    calibrated_outcomes,
    isotonic,
    ordered_cells,
)
from calib.numerics import Floats

N_SAMPLES = 400
MAX_CELLS = 500


@dataclass(frozen=True, eq=False)
class ConsistencyBand:
    """Range of the accuracy under perfect calibration, point by point (Bröcker and Smith 2007).

    A curve that leaves a band of level .95 here and there says little; one that leaves it for long is miscalibrated.

    Attributes
    ----------
    confidence : (m,) non-decreasing.
    low, high : (m,) the middle ``level`` of the accuracies that chance gives a calibrated model; NaN where unknown.
    level : how much of them.
    """

    confidence: Floats
    low: Floats
    high: Floats
    level: float


def binned_consistency(
    curve: ReliabilityCurve, confidence: Floats, level: float = 0.95
) -> ConsistencyBand:
    """Band of the accuracies in the bins of a curve made from these (n,) confidences."""
    fine = ordered_cells(confidence, MAX_CELLS)
    pairs, cell = np.unique(curve.bin_of_row * (fine.max() + 1) + fine, return_inverse=True)
    _, _, right = calibrated_outcomes(confidence, cell, N_SAMPLES)
    first = np.searchsorted(pairs // (fine.max() + 1), np.arange(len(curve.count)))
    return _band(curve.confidence, np.add.reduceat(right, first, axis=1) / curve.count, level)


def corp_consistency(confidence: Floats, level: float = 0.95) -> ConsistencyBand:
    """Band of the isotonic regression, on at most 500 groups of neighbours (Dimitriadis et al. 2021, section 3)."""
    count, mean, right = calibrated_outcomes(
        confidence, ordered_cells(confidence, MAX_CELLS), N_SAMPLES
    )
    drawn = np.stack([isotonic(sample, count) for sample in right])
    kept = np.unique(np.linspace(0, len(count) - 1, min(MAX_POINTS, len(count))).astype(np.int64))
    return _band(mean[kept], drawn[:, kept], level)


def _band(confidence: Floats, drawn: Floats, level: float) -> ConsistencyBand:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return ConsistencyBand(confidence, low, high, level)
