"""Histograms of scores in the scale of an axis, and frequencies of outcomes in bins of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.metrics.bootstrap import wilson_interval
from calib.metrics.confidence import (
    Bools,
    top_label,
)
from calib.numerics import Floats, Ints, log_odds_of


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


LOGIT_LIMITS = (-4.0, 12.0)
"""Ends of the log-odds grid: confidences of 0.018 and 0.999994."""


def confidence_histogram(
    probs: Any,
    labels: Any,
    n_bins: int = 50,
    scale: str = "linear",
) -> ConfidenceHistogram:
    """Histogram of the confidence of right and of wrong predictions.

    The grid does not depend on the data, so the histograms of several methods lie on the same one.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    n_bins : number of bins on [0, 1], or between ``LOGIT_LIMITS``.
    scale : "linear" or "logit".
    """
    confidence, correct = top_label(probs, labels)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if scale == "logit":
        edges = np.linspace(*LOGIT_LIMITS, n_bins + 1)
        confidence = log_odds_of(confidence)
    cell = np.searchsorted(edges[1:-1], confidence, side="right") + n_bins * correct
    counts = np.bincount(cell, minlength=2 * n_bins)
    return ConfidenceHistogram(
        edges=edges, right=counts[n_bins:], wrong=counts[:n_bins], scale=scale
    )


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
    low = min(float(values.min()), at)
    high = max(float(values.max()), at)
    width = (high - low) / CELLS or 1.0
    first = int(np.floor((low - at) / width))
    last = int(np.floor((high - at) / width)) + 1
    steps = np.floor((values - at) / width).astype(int)
    steps = np.where(
        values >= at, np.maximum(steps, 0), np.minimum(steps, -1)
    )  # whatever was rounded
    cell = np.clip(steps - first, 0, last - first - 1)
    right, wrong = (np.bincount(cell[rows], minlength=last - first) for rows in (outcome, ~outcome))
    return SidedCounts(at + width * np.arange(first, last + 1), right, wrong, at)


LEAST = 1e-5
"""Probabilities nearer to 0 and 1 are counted there, since their log-odds have no end."""


@dataclass(frozen=True, eq=False)
class ThresholdCounts(SidedCounts):
    """Counts of rows on both sides of a threshold, in units of ``scale``, "linear" or "logit"."""

    threshold: float
    scale: str


def threshold_counts(
    probs: Floats, outcome: Bools, threshold: float, scale: str = "linear"
) -> ThresholdCounts:
    """Count (n,) rows by probability, and whether what it is about came true, on both sides of a threshold."""
    counts = sided_counts(_place(probs, scale), outcome, float(_place(threshold, scale)))
    return ThresholdCounts(counts.edges, counts.right, counts.wrong, counts.at, threshold, scale)


def _place(probability: Floats | float, scale: str) -> Floats:
    values = np.asarray(probability, dtype=float)
    return values if scale == "linear" else log_odds_of(values, LEAST)


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Frequency of an outcome in bins of a score of any range; no bin is empty.

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
        """Bins whose intervals exclude (n_bins,) mean probabilities, as a mask."""
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
    ordered = scores[order]
    ends = np.append(np.searchsorted(scores[order], edges), len(scores))
    starts = np.append(0, ends[:-1])
    count = ends - starts
    hits = np.add.reduceat(positives[order].astype(int), starts)
    middles = (ordered[(starts + ends - 1) // 2] + ordered[(starts + ends) // 2]) / 2
    return Frequencies(edges, middles, count, hits, *wilson_interval(hits, count))
