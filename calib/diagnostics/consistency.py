"""Consistency bands: where the curve of a calibrated model with the same confidences would lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.diagnostics.reliability import ReliabilityCurve
from calib.diagnostics.smooth_reliability import N_CELLS, SmoothCurve, reflected_kernel
from calib.metrics.consistency import calibrated_outcomes
from calib.metrics.corp import isotonic_of_samples, ordered_cells
from calib.metrics.smooth import cell_of
from calib.numerics import Floats

N_SAMPLES = 400
MAX_CELLS = 500
MAX_POINTS = 200


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


def binned_consistency(curve: ReliabilityCurve, confidence: Floats, level: float = 0.95) -> ConsistencyBand:
    """Band of the accuracies in the bins of a curve made from these (n,) confidences."""
    fine = ordered_cells(confidence, MAX_CELLS)
    pairs, cell = np.unique(curve.bin_of_row * (fine.max() + 1) + fine, return_inverse=True)
    _, _, right = calibrated_outcomes(confidence, cell, N_SAMPLES)
    first = np.searchsorted(pairs // (fine.max() + 1), np.arange(len(curve.count)))
    return _band(curve.confidence, np.add.reduceat(right, first, axis=1) / curve.count, level)


def smooth_consistency(curve: SmoothCurve, confidence: Floats, level: float = 0.95) -> ConsistencyBand:
    """Band of a smooth curve made from these (n,) confidences, with the kernel of the curve."""
    held, cell = np.unique(cell_of(confidence, N_CELLS), return_inverse=True)
    count, mean, right = calibrated_outcomes(confidence, cell, N_SAMPLES)
    kernel = reflected_kernel(curve.confidence, curve.width)[:, held]
    drawn = curve.confidence + (right - count * mean) @ kernel.T / np.maximum(kernel @ count, np.finfo(float).tiny)
    return _band(curve.confidence, np.where(np.isnan(curve.accuracy), np.nan, np.clip(drawn, 0.0, 1.0)), level)


def corp_consistency(confidence: Floats, level: float = 0.95) -> ConsistencyBand:
    """Band of the isotonic regression, on at most 500 groups of neighbours (Dimitriadis et al. 2021, section 3)."""
    count, mean, right = calibrated_outcomes(confidence, ordered_cells(confidence, MAX_CELLS), N_SAMPLES)
    drawn = isotonic_of_samples(right, np.broadcast_to(count, right.shape))
    kept = np.unique(np.linspace(0, len(count) - 1, min(MAX_POINTS, len(count))).astype(np.int64))
    return _band(mean[kept], drawn[:, kept], level)


def _band(confidence: Floats, drawn: Floats, level: float) -> ConsistencyBand:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return ConsistencyBand(confidence, low, high, level)
