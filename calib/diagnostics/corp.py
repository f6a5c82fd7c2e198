"""Reliability by isotonic regression, which needs no bins (CORP), and consistency bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.diagnostics.reliability import ReliabilityCurve, independent_rows
from calib.metrics.confidence import (
    target_pair,
)
from calib.metrics.corp_terms import (
    Decomposition,
    calibrated_outcomes,
    corp,
    ordered_cells,
    recalibrate,
)
from calib.numerics import Floats, Ints

MAX_POINTS = 200


@dataclass(frozen=True, eq=False)
class CorpCurve:
    """Steps of the isotonic regression of outcomes on confidences.

    Attributes
    ----------
    confidence : (m,) first and last confidence of each step, non-decreasing; at most 200 points.
    accuracy : (m,) accuracy of the step, non-decreasing.
    count : (m,) rows in the step.
    parts : decomposition of the Brier score of the confidences.
    n : number of rows.
    """

    confidence: Floats
    accuracy: Floats
    count: Ints
    parts: Decomposition
    n: int


def corp_curve(
    probs: Any, labels: Any, target: int | None = None, weights: Any = None
) -> CorpCurve:
    """CORP reliability diagram (Dimitriadis, Gneiting and Jordan 2021, figure 2).

    Each step pools as many rows as monotonicity asks for, so that there are no bins to choose. Where there are more
    than 100 steps, points are left out evenly.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    target : a class k, for p_k against label k; None for the predicted class.
    weights : (n,) weight of each row, or None.
    """
    pair = target_pair(probs, labels, target)
    if weights is not None:
        weights = weights / weights.mean()
    again = recalibrate(*pair, weights)
    first = np.flatnonzero(np.r_[True, np.diff(again.frequency) > 0])
    last = np.r_[first[1:], len(again.frequency)] - 1
    count = np.round(np.add.reduceat(again.count, first)).astype(np.int64)
    point = np.stack([first, last], axis=1).ravel()
    step = np.repeat(np.arange(len(first)), 2)
    kept = np.r_[True, np.diff(point) > 0]
    if kept.sum() > MAX_POINTS:
        kept = np.unique(np.linspace(0, len(point) - 1, MAX_POINTS).astype(np.int64))
    point = point[kept]
    step = step[kept]
    return CorpCurve(
        again.confidence[point],
        again.frequency[point],
        count[step],
        corp(*pair, weights=weights),
        len(pair[0]),
    )


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
    curve: ReliabilityCurve, confidence: Floats, level: float = 0.95, weights: Floats | None = None
) -> ConsistencyBand:
    """Band of the accuracies in the bins of a curve made from these (n,) confidences.

    With weights chance is that of as many equal rows as tell the same in each bin.
    """
    fine = ordered_cells(confidence, MAX_CELLS)
    pairs, cell = np.unique(curve.bin_of_row * (fine.max() + 1) + fine, return_inverse=True)
    _, _, right = calibrated_outcomes(confidence, cell, N_SAMPLES)
    first = np.searchsorted(pairs // (fine.max() + 1), np.arange(len(curve.count)))
    drawn = np.add.reduceat(right, first, axis=1) / curve.count
    if weights is not None:
        bins = curve.bin_of_row
        m = len(curve.count)
        mean = np.bincount(bins[bins >= 0], confidence[bins >= 0], m) / curve.count
        rows = independent_rows(bins, m, confidence > 0.5, weights=weights)
        drawn = curve.confidence + (drawn - mean) * np.sqrt(curve.count / rows)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return ConsistencyBand(curve.confidence, low, high, level)
