"""Reliability curves in bins: the one binning from which both the picture and the calibration error come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.binning import bins_of
from calib.metrics.bootstrap import (
    Interval,
    Resamples,
    folded,
    interval_of_draws,
    not_below,
    reflect,
    wilson_interval,
)
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.top_label import target_pair
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Mean confidence against accuracy in bins; empty bins are left out.

    Attributes
    ----------
    confidence : (m,) mean confidence of each bin, increasing.
    accuracy : (m,) share of right predictions in each bin (for a class: share of rows of that class).
    count : (m,) rows in each bin.
    low, high : (m,) Wilson interval of each accuracy.
    edges : (n_bins + 1,) nominal edges, of the empty bins too.
    bin_of_row : (n,) for each row, which of the m bins it lies in.
    ece : calibration error of these bins under ``norm``.
    norm, binning, level : how it was made.
    n : number of rows.
    mean_confidence, mean_accuracy : over all rows.
    target : the class whose probability is shown; None for the predicted class.
    """

    confidence: Floats
    accuracy: Floats
    count: Ints
    low: Floats
    high: Floats
    edges: Floats
    bin_of_row: Ints
    ece: float
    norm: float
    binning: str
    level: float
    n: int
    mean_confidence: float
    mean_accuracy: float
    target: int | None = None

    @property
    def gap(self) -> Floats:
        """Confidence minus accuracy of each bin; positive is overconfident."""
        return self.confidence - self.accuracy


def reliability_curve(
    probs: Any,
    labels: Any,
    n_bins: int = 15,
    binning: str = "equal_width",
    norm: float = 1,
    target: int | None = None,
    level: float = 0.95,
) -> ReliabilityCurve:
    """Bin confidences and compare each bin's mean confidence with its accuracy (DeGroot and Fienberg 1983).

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    n_bins : number of bins; :func:`default_bins` suits equal-mass pictures.
    binning : "equal_width" on [0, 1], "equal_mass", "kmeans" or "imax".
    norm : norm of the calibration error, 1, 2 or ``inf``.
    target : a class k, to bin p_k against the indicator of label k; None for the predicted class.
    level : coverage of the Wilson intervals.

    Raises
    ------
    CalibrationError
        For unknown options or arrays that do not fit together.
    """
    confidence, correct = target_pair(probs, labels, target)
    bins = bins_of(confidence, correct, n_bins, binning)
    held = bins.held
    count = bins.count[held]
    low, high = wilson_interval(bins.outcome[held] * count, count, level)
    position = np.cumsum(bins.count > 0) - 1
    return ReliabilityCurve(
        confidence=bins.value[held],
        accuracy=bins.outcome[held],
        count=count,
        low=low,
        high=high,
        edges=bins.edges,
        bin_of_row=position[bins.index],
        ece=norm_of_gaps(bins.gap, bins.weight, norm),
        norm=norm,
        binning=binning,
        level=level,
        n=len(confidence),
        mean_confidence=float(confidence.mean()),
        mean_accuracy=float(correct.mean()),
        target=target,
    )


def ece_interval(
    curve: ReliabilityCurve, confidence: Floats, correct: Any, level: float = 0.95, n_resamples: int = 500
) -> Interval:
    """Bootstrap interval of a curve's ECE in the curve's own bins; see :func:`calib.metrics.reflect`.

    No ECE is below the distance of mean confidence from accuracy, and so is neither end of its interval.

    Parameters
    ----------
    curve : made from the next two with ``norm=1``.
    confidence, correct : (n,) arrays.
    level : coverage.
    n_resamples : bootstrap resamples, from a fixed seed.
    """
    if curve.norm != 1:
        raise CalibrationError(f"The interval is that of the ECE with norm 1; the curve has norm {curve.norm}.")
    resamples = Resamples(curve.n, n_resamples)
    n_bins = len(curve.count)
    excess, rows = (
        resamples.resample(resamples.groups.sums_by(curve.bin_of_row, n_bins, values))
        for values in (confidence - correct, None)
    )
    n_drawn = rows.sum(axis=1)
    drawn = np.abs(excess).sum(axis=1) / n_drawn
    found = interval_of_draws(curve.ece, reflect(curve.ece, drawn, squared=True), level, 0.0, 1.0)
    signed = curve.mean_confidence - curve.mean_accuracy
    gap = interval_of_draws(signed, reflect(signed, excess.sum(axis=1) / n_drawn), level, -1.0, 1.0)
    return not_below(found, folded(abs(signed), gap))


def default_bins(n: int) -> int:
    """Number of equal-mass bins for a picture of n rows: about n^(1/3), so that both bias and noise shrink."""
    return max(2, round(n ** (1.0 / 3.0)))
