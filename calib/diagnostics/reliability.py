"""Reliability diagrams: dots of bins, isotonic regression without bins (CORP), consistency band, counts of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.evaluation import Evaluation
from calib.formatting import number, percent, plural
from calib.metrics.binning import bins_of
from calib.metrics.bootstrap import drawn_units, effective_count, wilson_interval
from calib.metrics.calibration_error import ece
from calib.metrics.confidence import (
    Bools,
    check_weights,
    effective_sample_size,
    scikit_names,
    scored_pair,
    target_pair,
    weighted_mean,
)
from calib.metrics.recalibration import (
    Decomposition,
    calibrated_outcomes,
    corp,
    ordered_cells,
    recalibrate,
)
from calib.numerics import Floats, Ints, sigmoid


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
        95 % Wilson interval of each accuracy.
    edges : ndarray of shape (n_bins + 1,)
        Nominal edges, of the empty bins too.
    bin_of_row : ndarray of int of shape (n,)
        For each row, which of the m bins it lies in; -1 where all rows of its bin have a weight of 0.
    ece : float
        :func:`calib.ece` of the same values and outcomes with their weights, whatever the bins of the curve.
    binning : str
        How the bins were made.
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


@scikit_names
def reliability_curve(
    probs: Any = None,
    labels: Any = None,
    n_bins: int = 15,
    binning: str = "equal_width",
    target: int | None = None,
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

    Examples
    --------
    >>> import calib
    >>> curve = calib.reliability_curve([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2)
    >>> curve.confidence.round(2), curve.accuracy
    (array([0.15, 0.85]), array([0., 1.]))
    """
    if target is None:
        confidence, correct = scored_pair(probs, labels, confidence, correct)
    else:
        confidence, correct = target_pair(probs, labels, target)
    bins = bins_of(confidence, correct, n_bins, binning, weights)
    nonempty = bins.nonempty
    count = bins.count[nonempty]
    weight = check_weights(weights, len(correct))
    independent = independent_rows(bins.index, len(bins.count), correct, clusters, weight)[nonempty]
    low, high = wilson_interval(bins.outcome[nonempty] * independent, independent)
    position = np.where(bins.mass > 0, np.cumsum(bins.mass > 0) - 1, -1)
    return ReliabilityCurve(
        confidence=bins.value[nonempty],
        accuracy=bins.outcome[nonempty],
        count=count,
        low=low,
        high=high,
        edges=bins.edges,
        bin_of_row=position[bins.index],
        ece=ece(confidence, correct, weights=weights),
        binning=binning,
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


def corp_curve(confidence: Floats, correct: Bools, weights: Floats | None = None) -> CorpCurve:
    """CORP reliability diagram (Dimitriadis, Gneiting and Jordan 2021, figure 2).

    Each step pools as many rows as monotonicity asks for, so that there are no bins to choose. Where there are more
    than 100 steps, points are left out evenly.

    Parameters
    ----------
    confidence, correct : (n,) probabilities and outcomes.
    weights : (n,) weight of each row, or None.
    """
    if weights is not None:
        weights = weights / weights.mean()
    again = recalibrate(confidence, correct, weights)
    first = np.flatnonzero(np.r_[True, np.diff(again.frequency) > 0])
    last = np.r_[first[1:], len(again.frequency)] - 1
    count = np.round(np.add.reduceat(again.count, first)).astype(np.int64)
    point = np.stack([first, last], axis=1).ravel()
    step = np.repeat(np.arange(len(first)), 2)
    places = np.r_[True, np.diff(point) > 0]
    if places.sum() > MAX_POINTS:
        places = np.unique(np.linspace(0, len(point) - 1, MAX_POINTS).astype(np.int64))
    point = point[places]
    step = step[places]
    return CorpCurve(
        again.confidence[point],
        again.frequency[point],
        count[step],
        corp(confidence, correct, weights=weights),
        len(confidence),
    )


N_SAMPLES = 400
MAX_CELLS = 500


@dataclass(frozen=True, eq=False)
class ConsistencyBand:
    """Range of the accuracy under perfect calibration, point by point (Bröcker and Smith 2007).

    A curve that leaves the band here and there says little; one that leaves it for long is miscalibrated.

    Attributes
    ----------
    confidence : (m,) non-decreasing.
    low, high : (m,) the middle 95 % of the accuracies that chance gives a calibrated model; NaN where unknown.
    """

    confidence: Floats
    low: Floats
    high: Floats


def binned_consistency(
    curve: ReliabilityCurve, confidence: Floats, weights: Floats | None = None
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
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return ConsistencyBand(curve.confidence, low, high)


LEVELS = 20
"""Most distinct scores that have a dot of their own."""
COUNT_EDGES = np.unique(np.r_[np.linspace(0.0, 1.0, 501), sigmoid(np.linspace(-14.0, 14.0, 281))])
"""Probabilities between which rows are counted, fine enough for linear axes and for log-odds."""


@dataclass(frozen=True, eq=False)
class DiagramParts:
    """Contents of a reliability diagram of one model.

    Attributes
    ----------
    curve : mean confidence and accuracy in bins, or of each level where scores have at most 20.
    band : consistency band (95 %) of a calibrated model at these dots.
    line : isotonic regression (CORP).
    rows, right : counts between ``COUNT_EDGES`` of all rows, and of those that are correct or have the event.
    """

    curve: ReliabilityCurve
    band: ConsistencyBand
    line: CorpCurve
    rows: Ints
    right: Ints


def diagram_parts(
    confidence: Floats,
    correct: Bools,
    n_bins: int | None = None,
    binning: str = "equal_mass",
    clusters: Any = None,
    weights: Any = None,
    target: int | None = None,
) -> DiagramParts:
    """Compute all that a reliability diagram shows.

    Parameters
    ----------
    confidence, correct : (n,) probabilities and outcomes.
    n_bins : number of bins; None takes the levels of scores where there are at most 20, else about the third root of n.
    binning : as for :func:`calib.reliability_curve`.
    clusters, weights : (n,) of each row, or None.
    target : class whose probability is shown, for the titles of the axes.
    """
    n_levels = len(np.unique(confidence)) if n_bins is None and binning == "equal_mass" else 0
    by_level = 0 < n_levels <= LEVELS
    curve = reliability_curve(
        confidence,
        correct,
        # k-means with a centre for each distinct value has a bin for each.
        n_bins=n_levels if by_level else n_bins or default_bins(len(correct)),
        binning="kmeans" if by_level else binning,
        clusters=clusters,
        weights=weights,
    )
    curve = replace(curve, binning="levels" if by_level else binning, target=target)
    return DiagramParts(
        curve,
        binned_consistency(curve, confidence, weights=weights),
        corp_curve(confidence, correct, weights=weights),
        np.histogram(confidence, COUNT_EDGES)[0],
        np.histogram(confidence[np.asarray(correct, dtype=bool)], COUNT_EDGES)[0],
    )


def evaluation_diagram(evaluation: Evaluation) -> DiagramParts:
    """Contents of the diagram that pages and reports show before anything is chosen."""
    return diagram_parts(*evaluation.pair, clusters=evaluation.clusters, weights=evaluation.weights)
