"""Reliability in bins: mean confidence against accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.formatting import number, percent, plural
from calib.metrics.binning import bins_of
from calib.metrics.bootstrap import drawn_units, effective_count, wilson_interval
from calib.metrics.calibration_error import ece
from calib.metrics.confidence import (
    Bools,
    check_weights,
    effective_sample_size,
    scikit_words,
    scored_pair,
    target_pair,
    weighted_mean,
)
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityCurve:
    """Mean confidence against accuracy in bins; empty bins, and those of rows without weight, are left out.

    Attributes
    ----------
    confidence : ndarray of shape (m,)
        Mean confidence of each bin, increasing.
    accuracy : ndarray of shape (m,)
        Share of right predictions in each bin (for a class: share of rows of that class).
    count : ndarray of int of shape (m,)
        Rows in each bin.
    low, high : ndarray of shape (m,)
        Wilson interval of each accuracy.
    edges : ndarray of shape (n_bins + 1,)
        Nominal edges, of the empty bins too.
    bin_of_row : ndarray of int of shape (n,)
        For each row, which of the m bins it lies in; -1 where all rows of its bin have a weight of 0.
    ece : float
        :func:`calib.ece` of the same values and outcomes with their weights, whatever the bins of the curve.
    binning : str
        How the bins were made.
    level : float
        Coverage of the intervals.
    n : int
        Number of rows.
    mean_confidence, mean_accuracy : float
        Means over all rows.
    target : int or None
        Class whose probability is shown; None for the predicted class.
    """

    confidence: Floats
    accuracy: Floats
    count: Ints
    low: Floats
    high: Floats
    edges: Floats
    bin_of_row: Ints
    ece: float
    binning: str
    level: float
    n: int
    mean_confidence: float
    mean_accuracy: float
    target: int | None = None

    def __repr__(self) -> str:
        return (
            f"<ReliabilityCurve of {plural(self.n, 'row')} in {plural(len(self.count), 'bin')} ({self.binning}): "
            f"ECE {number(self.ece)}, mean confidence {percent(self.mean_confidence)}, "
            f"accuracy {percent(self.mean_accuracy)}>"
        )

    @property
    def gap(self) -> Floats:
        """Confidence minus accuracy of each bin; positive is overconfident."""
        return self.confidence - self.accuracy


@scikit_words
def reliability_curve(
    probs: Any = None,
    labels: Any = None,
    n_bins: int = 15,
    binning: str = "equal_width",
    target: int | None = None,
    level: float = 0.95,
    clusters: Any = None,
    weights: Any = None,
    *,
    confidence: Any = None,
    correct: Any = None,
) -> ReliabilityCurve:
    """Bin confidences and compare each bin's mean confidence with its accuracy (DeGroot and Fienberg 1983).

    Parameters
    ----------
    probs, labels : array_like
        Probabilities and labels as for :func:`calib.ece`: of two classes the event's count.
    n_bins : int, default 15
        Number of bins; :func:`default_bins` suits equal-mass pictures.
    binning : {"equal_width", "equal_mass", "kmeans", "imax"}, default "equal_width"
        How bins are made; those of equal width lie on [0, 1].
    target : int or None, default None
        Class k, to bin p_k against the indicator of label k; None for what :func:`calib.ece` looks at.
    level : float, default 0.95
        Coverage of the Wilson intervals.
    clusters : array_like of shape (n,) or None, default None
        What rows that belong together share; a bin's interval is then that of as many independent rows as vary like its
        clusters (:func:`calib.metrics.bootstrap.effective_count`).
    weights : array_like of shape (n,) or None, default None
        Weight of each row in the bins' edges and means and in the ECE; intervals are then those of as many equal rows
        (:func:`calib.metrics.confidence.effective_sample_size`). Counts stay those of rows.
    confidence, correct : array_like of shape (n,) or None, default None
        Confidences in predictions and whether these were right, in place of ``probs`` and ``labels``.

    Returns
    -------
    ReliabilityCurve
        Bins that hold rows, by increasing confidence.

    Raises
    ------
    CalibrationError
        For unknown options or arrays that do not fit together.
    """
    if target is None:
        confidence, correct = scored_pair(probs, labels, confidence, correct)
    else:
        confidence, correct = target_pair(probs, labels, target)
    bins = bins_of(confidence, correct, n_bins, binning, weights)
    held = bins.nonempty
    count = bins.count[held]
    weight = check_weights(weights, len(correct))
    independent = independent_rows(bins.index, len(bins.count), correct, clusters, weight)[held]
    low, high = wilson_interval(bins.outcome[held] * independent, independent, level)
    position = np.where(bins.mass > 0, np.cumsum(bins.mass > 0) - 1, -1)
    return ReliabilityCurve(
        confidence=bins.value[held],
        accuracy=bins.outcome[held],
        count=count,
        low=low,
        high=high,
        edges=bins.edges,
        bin_of_row=position[bins.index],
        ece=ece(confidence, correct, weights=weights),
        binning=binning,
        level=level,
        n=len(confidence),
        mean_confidence=weighted_mean(confidence, weights),
        mean_accuracy=weighted_mean(correct, weights),
        target=target,
    )


def independent_rows(
    cell: Ints, n_cells: int, correct: Bools, clusters: Any = None, weights: Floats | None = None
) -> Floats:
    """Rows in each cell, (n_cells,), or as many independent equal ones as tell the same of the accuracy there."""
    unit, n_units, clustered = drawn_units(len(correct), clusters)
    count = np.bincount(cell, minlength=n_cells).astype(float)
    if not clustered and weights is None:
        return count
    for k in np.flatnonzero(np.bincount(cell, weights, n_cells)):
        rows = np.flatnonzero(cell == k)
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        count[k] = effective_sample_size(weight)
        if clustered:
            sums = (
                np.bincount(unit[rows], values, n_units)
                for values in (weight * correct[rows], weight)
            )
            count[k] = min(count[k], effective_count(*sums))
    return count


def default_bins(n: int) -> int:
    """Number of equal-mass bins for a picture of n rows: about n^(1/3), so that both bias and noise shrink."""
    return max(2, round(n ** (1.0 / 3.0)))
