"""Smooth reliability curves: a kernel in place of bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.evaluation.bootstrap import N_RESAMPLES
from calib.evaluation.smooth import resampled_smooth_ece
from calib.metrics.bootstrap import Interval, Resamples, folded, interval_of_draws, not_below, reflect
from calib.metrics.smooth import cell_of, smooth_ece
from calib.metrics.top_label import Bools, target_pair
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


def smooth_curve(probs: Any, labels: Any, target: int | None = None, level: float = 0.95) -> SmoothCurve:
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
    """
    confidence, correct = target_pair(probs, labels, target)
    error = smooth_ece(confidence, correct)
    width = max(error, 1.0 / N_CELLS)
    points = _points(confidence)
    cell = cell_of(confidence, N_CELLS)
    kernel = reflected_kernel(points, width)
    resamples = Resamples(len(confidence), N_RESAMPLES)
    groups = resamples.groups
    missed, mass = (groups.sums_by(cell, N_CELLS, values) @ kernel.T for values in (correct - confidence, None))
    drawn = points + resamples.resample(missed) / np.maximum(resamples.resample(mass), np.finfo(float).tiny)
    accuracy = points + missed.sum(axis=0) / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    seen = mass.sum(axis=0) * width * np.sqrt(2.0 * np.pi)  # a row at the kernel's middle counts 1
    held = seen >= min(FEW_ROWS, len(confidence) / 2)
    accuracy, low, high = (np.where(held, np.clip(line, 0.0, 1.0), np.nan) for line in (accuracy, low, high))
    interval = _error_interval(error, confidence, correct, resamples, level)
    return SmoothCurve(
        points, accuracy, np.fmin(low, accuracy), np.fmax(high, accuracy), width, interval, level, len(confidence)
    )


def _error_interval(error: float, confidence: Floats, correct: Bools, resamples: Resamples, level: float) -> Interval:
    """Interval of the smooth ECE, as among the scores: no calibration error is below the confidence gap."""
    draws = reflect(error, resampled_smooth_ece(confidence, correct, resamples), squared=True)
    excess, rows = (resamples.resample(resamples.groups.sums(values)) for values in (confidence - correct, None))
    gap = float((confidence - correct).mean())
    signed = interval_of_draws(gap, reflect(gap, excess / rows), level)
    return not_below(interval_of_draws(error, draws, level, 0.0, 1.0), folded(abs(gap), signed))


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
