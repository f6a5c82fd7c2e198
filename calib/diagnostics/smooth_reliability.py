"""Smooth reliability curves by a kernel, and consistency bands (95 %) of a calibrated model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.diagnostics.reliability import ReliabilityCurve
from calib.evaluation.scored import N_RESAMPLES
from calib.evaluation.scores import mean_gap, resampled_smooth_ece
from calib.metrics.bootstrap import Interval, Resamples, interval_of_draws, not_below, reflect
from calib.metrics.calibration_error import cell_of, smooth_ece
from calib.metrics.confidence import target_pair
from calib.metrics.corp import calibrated_outcomes, isotonic_of_samples, ordered_cells
from calib.numerics import Floats, sigmoid

N_CELLS = 1024
N_POINTS = 100
"""Points on each of two grids, one even in confidence and one even in log-odds."""
LOG_ODDS_ENDS = (-8.0, 8.0)
FEW_ROWS = 5
"""Where fewer rows lie near, by the height of the kernel at each, there is no curve."""


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """Accuracy against confidence under a kernel, with a bootstrap band.

    Attributes
    ----------
    confidence : (m,) increasing points between the smallest and the largest confidence, at most 202.
    accuracy : (m,) smoothed accuracy there; NaN where fewer than 5 rows lie near.
    low, high : (m,) band of the accuracy, point by point.
    width : standard deviation of the kernel, the smooth ECE of the sample (at least a cell).
    error : smooth ECE with its interval.
    level : coverage of the band and the interval.
    n : number of rows.
    """

    confidence: Floats
    accuracy: Floats
    low: Floats
    high: Floats
    width: float
    error: Interval
    level: float
    n: int


def smooth_curve(
    probs: Any, labels: Any, target: int | None = None, level: float = 0.95, clusters: Any = None
) -> SmoothCurve:
    """Kernel reliability diagram (Blasiok and Nakkiran 2023, section 3), centred on the diagonal.

    ``accuracy(t) = t + sum_i k(t, c_i) (right_i - c_i) / sum_i k(t, c_i)`` with the Gaussian kernel reflected at 0 and
    1, as wide as the smooth ECE. The paper smooths the outcomes; smoothing what confidence misses of them leaves a
    calibrated model on the diagonal where the kernel is lopsided, and makes the distance to the diagonal, averaged over
    the smoothed confidences, equal to the smooth ECE.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    target : a class k, for p_k against label k; None for the predicted class.
    level : coverage of the band and of the interval of the error.
    clusters : (n,) what rows that belong together share; whole clusters are drawn.
    """
    confidence, correct = target_pair(probs, labels, target)
    error = smooth_ece(confidence, correct)
    width = max(error, 1.0 / N_CELLS)
    points = _points(confidence)
    cell = cell_of(confidence, N_CELLS)
    kernel = reflected_kernel(points, width)
    resamples = Resamples(len(confidence), N_RESAMPLES, clusters=clusters)
    groups = resamples.groups
    missed, mass = (groups.sums_by(cell, N_CELLS, values) @ kernel.T for values in (correct - confidence, None))
    drawn = points + resamples.resample(missed) / np.maximum(resamples.resample(mass), np.finfo(float).tiny)
    accuracy = points + missed.sum(axis=0) / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    seen = mass.sum(axis=0) * width * np.sqrt(2.0 * np.pi)  # a row at the kernel's middle counts 1
    held = seen >= min(FEW_ROWS, len(confidence) / 2)
    accuracy, low, high = (np.where(held, np.clip(line, 0.0, 1.0), np.nan) for line in (accuracy, low, high))
    # As among the scores: no calibration error is below the confidence gap.
    draws = reflect(error, resampled_smooth_ece(confidence, correct, resamples), squared=True)
    of_error = interval_of_draws(error, draws, level, 0.0, 1.0)
    interval = not_below(of_error, mean_gap(confidence, correct, resamples, level))
    return SmoothCurve(
        points, accuracy, np.fmin(low, accuracy), np.fmax(high, accuracy), width, interval, level, len(confidence)
    )


def reflected_kernel(points: Floats, width: float) -> Floats:
    """Gaussian kernel at m points for the middle of each of ``N_CELLS`` cells, mirrored at 0 and 1, (m, N_CELLS)."""
    middles = (np.arange(N_CELLS) + 0.5) / N_CELLS
    total = np.zeros((len(points), N_CELLS))
    reach = int(np.ceil(4.0 * width))  # images further away add less than exp(-8)
    for shift in 2.0 * np.arange(-reach, reach + 1):
        for image in (middles + shift, shift - middles):
            total += np.exp(-0.5 * ((points[:, None] - image) / width) ** 2)
    return total / (width * np.sqrt(2.0 * np.pi))


def _points(confidence: Floats) -> Floats:
    low, high = np.clip([confidence.min(), confidence.max()], 0.0, 1.0)
    grids = np.linspace(0.0, 1.0, N_POINTS), sigmoid(np.linspace(*LOG_ODDS_ENDS, N_POINTS))
    points = np.unique(np.concatenate(grids))
    return np.unique(np.r_[low, points[(points > low) & (points < high)], high])


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
