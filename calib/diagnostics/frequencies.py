"""How often something happens at a score of any range, in bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.metrics.bootstrap import wilson_interval
from calib.metrics.confidence import (
    Bools,
)
from calib.numerics import Floats, Ints


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
    ordered = scores[order]
    ends = np.append(np.searchsorted(scores[order], edges), len(scores))
    starts = np.append(0, ends[:-1])
    count = ends - starts
    hits = np.add.reduceat(positives[order].astype(int), starts)
    middles = (ordered[(starts + ends - 1) // 2] + ordered[(starts + ends) // 2]) / 2
    return Frequencies(edges, middles, count, hits, *wilson_interval(hits, count))
