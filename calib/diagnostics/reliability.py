"""Reliability in bins, by isotonic regression (CORP) and by rank; bands of curves, and histograms of confidences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import Calibrator
from calib.errors import CalibrationError
from calib.evaluation.scores import ece_interval
from calib.evaluation.view import TOP_LABEL
from calib.formatting import Displayed, number, percent, plural
from calib.metrics.binning import bins_of
from calib.metrics.bootstrap import Interval, drawn_units, effective_count, wilson_interval
from calib.metrics.calibration_error import ece
from calib.metrics.confidence import (
    Bools,
    check_weights,
    effective_sample_size,
    target_pair,
    top_label,
    weighted_mean,
)
from calib.metrics.corp import (
    Decomposition,
    calibrated_outcomes,
    corp,
    isotonic,
    ordered_cells,
    recalibrate,
)
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, log_odds_of


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityCurve(Displayed):
    """Mean confidence against accuracy in bins; empty bins are left out.

    Attributes
    ----------
    confidence : (m,) mean confidence of each bin, increasing.
    accuracy : (m,) share of right predictions in each bin (for a class: share of rows of that class).
    count : (m,) rows in each bin.
    low, high : (m,) Wilson interval of each accuracy.
    edges : (n_bins + 1,) nominal edges, of the empty bins too.
    bin_of_row : (n,) for each row, which of the m bins it lies in.
    ece : :func:`calib.ece` of the same rows, whatever the bins of the curve.
    binning, level : how it was made.
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


def reliability_curve(
    probs: Any,
    labels: Any,
    n_bins: int = 15,
    binning: str = "equal_width",
    target: int | None = None,
    level: float = 0.95,
    clusters: Any = None,
    weights: Any = None,
) -> ReliabilityCurve:
    """Bin confidences and compare each bin's mean confidence with its accuracy (DeGroot and Fienberg 1983).

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    n_bins : number of bins; :func:`default_bins` suits equal-mass pictures.
    binning : "equal_width" on [0, 1], "equal_mass", "kmeans" or "imax".
    target : a class k, to bin p_k against the indicator of label k; None for the predicted class.
    level : coverage of the Wilson intervals.
    clusters : (n,) what rows that belong together share; a bin's interval is then that of as many independent rows as
        vary like its clusters (:func:`calib.metrics.bootstrap.effective_count`).
    weights : (n,) weight of each row in the means of its bin and in the ECE; intervals are then those of as many
        equal rows (:func:`calib.metrics.effective_sample_size`). Counts stay those of rows.

    Raises
    ------
    CalibrationError
        For unknown options or arrays that do not fit together.
    """
    confidence, correct = target_pair(probs, labels, target)
    bins = bins_of(confidence, correct, n_bins, binning, weights)
    held = bins.nonempty
    count = bins.count[held]
    weight = check_weights(weights, len(correct))
    independent = independent_rows(bins.index, len(bins.count), correct, clusters, weight)[held]
    low, high = wilson_interval(bins.outcome[held] * independent, independent, level)
    position = np.maximum(np.cumsum(bins.mass > 0) - 1, 0)
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
    for k in np.flatnonzero(count):
        rows = np.flatnonzero(cell == k)
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        count[k] = effective_sample_size(weight)
        if clustered:
            sums = (np.bincount(unit[rows], values, n_units) for values in (weight * correct[rows], weight))
            count[k] = min(count[k], effective_count(*sums))
    return count


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often something happens in bins of a score of any range; no bin is empty.

    Attributes
    ----------
    edges : (n_bins - 1,) increasing scores; a row at an edge belongs above it.
    score : (n_bins,) median of each bin's rows.
    count, positives : (n_bins,) its rows, and those in which it happened.
    low, high : (n_bins,) 95 % Wilson interval of the frequency.
    """

    edges: Floats
    score: Floats
    count: Ints
    positives: Ints
    low: Floats
    high: Floats

    @property
    def frequency(self) -> Floats:
        """Share of positives in each bin."""
        return self.positives / self.count

    def means(self, scores: Floats, values: Floats) -> Floats:
        """Mean value in each bin, of the same rows in the same order, shape (n_bins,)."""
        bins = np.searchsorted(self.edges, scores, side="right")
        return np.bincount(bins, weights=values, minlength=len(self.count)) / self.count

    def outside(self, means: Floats) -> Bools:
        """Which of (n_bins,) mean probabilities the intervals exclude."""
        return (means < self.low) | (means > self.high)


def frequencies(scores: Floats, positives: Bools, edges: Floats) -> Frequencies:
    """Frequencies between edges; empty bins join their neighbours.

    Parameters
    ----------
    scores, positives : (n,) n at least 1.
    edges : increasing, chosen without the outcomes of these rows: they would bias the frequencies.
    """
    count = np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1)
    edges = edges[count[:-1] > 0]
    if len(edges) and not count[-1]:
        edges = edges[:-1]
    order = np.argsort(scores, kind="stable")
    ordered, ends = scores[order], np.append(np.searchsorted(scores[order], edges), len(scores))
    starts = np.append(0, ends[:-1])
    count, hits = ends - starts, np.add.reduceat(positives[order].astype(int), starts)
    middles = (ordered[(starts + ends - 1) // 2] + ordered[(starts + ends) // 2]) / 2
    return Frequencies(edges, middles, count, hits, *wilson_interval(hits, count))


@dataclass(frozen=True)
class Binned:
    """A curve with the interval of its ECE."""

    curve: ReliabilityCurve
    interval: Interval


def binned_curve(confidence: Floats, correct: Bools, n_bins: int, binning: str, clusters: Any = None) -> Binned:
    """:func:`reliability_curve` with :func:`ece_interval`."""
    curve = reliability_curve(confidence, correct, n_bins=n_bins, binning=binning, clusters=clusters)
    return Binned(curve, ece_interval(confidence, correct, clusters=clusters))


def default_bins(n: int) -> int:
    """Number of equal-mass bins for a picture of n rows: about n^(1/3), so that both bias and noise shrink."""
    return max(2, round(n ** (1.0 / 3.0)))


@dataclass(frozen=True, eq=False)
class ConfidenceHistogram:
    """Counts of confidences on a common fine grid, right and wrong predictions apart; small at any n.

    Attributes
    ----------
    edges : (n_bins + 1,) in the units of ``scale``; the end bins also hold everything beyond.
    right, wrong : (n_bins,) counts.
    scale : "linear" (edges are confidences) or "logit" (edges are log-odds of the confidence).
    """

    edges: Floats
    right: Ints
    wrong: Ints
    scale: str

    @property
    def count(self) -> Ints:
        """Rows in each bin, right and wrong together."""
        return self.right + self.wrong

    def density(self, which: str) -> Floats:
        """Density of the "right" or "wrong" predictions per unit of the scale; zeros where there are none."""
        count = self.right if which == "right" else self.wrong
        return count / (max(1, count.sum()) * np.diff(self.edges))


LOGIT_LIMITS = TOP_LABEL.logit_limits
"""Ends of the log-odds grid: confidences of 0.018 and 0.999994."""


def confidence_histogram(
    probs: Any,
    labels: Any,
    n_bins: int = 50,
    scale: str = "linear",
    logit_limits: tuple[float, float] = LOGIT_LIMITS,
) -> ConfidenceHistogram:
    """Histogram of the confidence of right and of wrong predictions.

    The grid does not depend on the data, so the histograms of several methods lie on the same one.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    n_bins : number of bins on [0, 1], or between the ends of the log-odds.
    scale : "linear" or "logit".
    logit_limits : these ends.
    """
    if scale not in ("linear", "logit"):
        raise CalibrationError(f"There is no scale {scale!r}; choose 'linear' or 'logit'.")
    confidence, correct = top_label(probs, labels)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if scale == "logit":
        edges = np.linspace(*logit_limits, n_bins + 1)
        confidence = log_odds_of(confidence)
    cell = np.searchsorted(edges[1:-1], confidence, side="right") + n_bins * correct
    counts = np.bincount(cell, minlength=2 * n_bins)
    return ConfidenceHistogram(edges=edges, right=counts[n_bins:], wrong=counts[:n_bins], scale=scale)


CELLS = 44


@dataclass(frozen=True, eq=False)
class SidedCounts:
    """Counts in cells of equal width, one of which begins at a place, so that each lies on one side of it.

    Attributes
    ----------
    edges : (m + 1,)
    right, wrong : (m,) rows with the outcome, and those without.
    at : the place.
    """

    edges: Floats
    right: Ints
    wrong: Ints
    at: float

    @property
    def reached(self) -> Bools:
        """(m,) whether a cell lies at or above the place."""
        return self.edges[:-1] >= self.at - 1e-9 * (self.edges[-1] - self.edges[0])


def sided_counts(values: Floats, outcome: Bools, at: float) -> SidedCounts:
    """Count (n,) rows in about 44 cells on both sides of a place, which need not lie between their values.

    Examples
    --------
    >>> found = sided_counts(np.array([0.1, 0.3, 0.5, 0.9]), np.array([False, False, True, True]), 0.5)
    >>> int(found.right[found.reached].sum()), int(found.wrong[~found.reached].sum())
    (2, 2)
    """
    low, high = min(float(values.min()), at), max(float(values.max()), at)
    width = (high - low) / CELLS or 1.0
    first, last = int(np.floor((low - at) / width)), int(np.floor((high - at) / width)) + 1
    steps = np.floor((values - at) / width).astype(int)
    steps = np.where(values >= at, np.maximum(steps, 0), np.minimum(steps, -1))  # whatever was rounded
    cell = np.clip(steps - first, 0, last - first - 1)
    right, wrong = (np.bincount(cell[rows], minlength=last - first) for rows in (outcome, ~outcome))
    return SidedCounts(at + width * np.arange(first, last + 1), right, wrong, at)


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


def corp_curve(probs: Any, labels: Any, target: int | None = None) -> CorpCurve:
    """CORP reliability diagram (Dimitriadis, Gneiting and Jordan 2021, figure 2).

    Each step pools as many rows as monotonicity asks for, so that there are no bins to choose. Where there are more
    than 100 steps, points are left out evenly.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    target : a class k, for p_k against label k; None for the predicted class.
    """
    pair = target_pair(probs, labels, target)
    again = recalibrate(*pair)
    first = np.flatnonzero(np.r_[True, np.diff(again.frequency) > 0])
    last = np.r_[first[1:], len(again.frequency)] - 1
    count = np.add.reduceat(again.count, first)
    point, step = np.stack([first, last], axis=1).ravel(), np.repeat(np.arange(len(first)), 2)
    kept = np.r_[True, np.diff(point) > 0]
    if kept.sum() > MAX_POINTS:
        kept = np.unique(np.linspace(0, len(point) - 1, MAX_POINTS).astype(np.int64))
    point, step = point[kept], step[kept]
    return CorpCurve(again.confidence[point], again.frequency[point], count[step], corp(*pair), len(pair[0]))


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


def binned_consistency(curve: ReliabilityCurve, confidence: Floats, level: float = 0.95) -> ConsistencyBand:
    """Band of the accuracies in the bins of a curve made from these (n,) confidences."""
    fine = ordered_cells(confidence, MAX_CELLS)
    pairs, cell = np.unique(curve.bin_of_row * (fine.max() + 1) + fine, return_inverse=True)
    _, _, right = calibrated_outcomes(confidence, cell, N_SAMPLES)
    first = np.searchsorted(pairs // (fine.max() + 1), np.arange(len(curve.count)))
    return _band(curve.confidence, np.add.reduceat(right, first, axis=1) / curve.count, level)


def corp_consistency(confidence: Floats, level: float = 0.95) -> ConsistencyBand:
    """Band of the isotonic regression, on at most 500 groups of neighbours (Dimitriadis et al. 2021, section 3)."""
    count, mean, right = calibrated_outcomes(confidence, ordered_cells(confidence, MAX_CELLS), N_SAMPLES)
    drawn = np.stack([isotonic(sample, count) for sample in right])
    kept = np.unique(np.linspace(0, len(count) - 1, min(MAX_POINTS, len(count))).astype(np.int64))
    return _band(mean[kept], drawn[:, kept], level)


def _band(confidence: Floats, drawn: Floats, level: float) -> ConsistencyBand:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return ConsistencyBand(confidence, low, high, level)


LAST_RANKS = (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Where groups of ranks end: few labels lie far down, and no single rank there is told from another."""


@dataclass(frozen=True, eq=False)
class RankReliability:
    """Ranks, or groups of neighbouring ones; arrays have one entry for each.

    Attributes
    ----------
    first, last : the ranks of a group, from 1.
    predicted : mean probability that the label has one of these ranks.
    observed : share of rows whose label has.
    low, high : its 95 % Wilson interval, for independent rows.
    n_rows : number of rows.
    """

    first: Ints
    last: Ints
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    n_rows: int

    @property
    def names(self) -> list[str]:
        """Each group's ranks in words: 3, or 6–10."""
        return [f"{a}" if a == b else f"{a:,}–{b:,}" for a, b in zip(self.first, self.last, strict=True)]

    @property
    def off(self) -> Bools:
        """Where the prediction lies outside the interval of what was observed."""
        return (self.predicted < self.low) | (self.predicted > self.high)


def ranks_of_rows(calibrator: Calibrator, *, data: Mapping[str, Any]) -> RankReliability:
    """Predicted and observed frequency of each rank by a fitted method, over a worker's logits and labels.

    Equal probabilities are ordered by their logits, equal logits by their class.
    """
    logits, labels = data["logits"], data["labels"]
    n, n_classes = logits.shape
    predicted, observed = np.zeros(n_classes), np.zeros(n_classes)
    for rows in blocks(n, n_classes, PREDICTED_ENTRIES):  # some rows at a time
        probs = calibrator.predict_proba(logits[rows])
        order = np.lexsort((-logits[rows], -probs), axis=1)
        predicted += np.take_along_axis(probs, order, axis=1).sum(axis=0)
        rank_of_label = (order == labels[rows][:, None]).argmax(axis=1)
        observed += np.bincount(rank_of_label, minlength=n_classes)
    last = np.array([rank for rank in LAST_RANKS if rank < n_classes] + [n_classes])
    first = np.r_[1, last[:-1] + 1]
    predicted, observed = np.add.reduceat(predicted, first - 1), np.add.reduceat(observed, first - 1)
    low, high = wilson_interval(observed, np.full(len(observed), n))
    return RankReliability(first, last, predicted / n, observed / n, low, high, n)
