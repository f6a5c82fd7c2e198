"""How often a class is the label at each of its scores, and whether a map says the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.metrics.bootstrap import wilson_interval
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class ClassFrequencies:
    """Pairs of one class in bins of its log-odds; no bin is empty.

    Attributes
    ----------
    edges : (n_bins - 1,) increasing log-odds; a pair at an edge belongs above it.
    log_odds : (n_bins,) median of each bin's pairs.
    count, positives : (n_bins,) its pairs, and those whose label is the class.
    low, high : (n_bins,) 95 % Wilson interval of the frequency.
    """

    edges: Floats
    log_odds: Floats
    count: Ints
    positives: Ints
    low: Floats
    high: Floats

    @property
    def frequency(self) -> Floats:
        """Share of positives in each bin."""
        return self.positives / self.count

    def means(self, log_odds: Floats, probs: Floats) -> Floats:
        """Mean probability in each bin, of the same pairs in the same order, shape (n_bins,)."""
        bins = np.searchsorted(self.edges, log_odds, side="right")
        return np.bincount(bins, weights=probs, minlength=len(self.count)) / self.count

    def outside(self, means: Floats) -> npt.NDArray[np.bool_]:
        """Which of (n_bins,) mean probabilities the intervals exclude."""
        return (means < self.low) | (means > self.high)


def class_frequencies(log_odds: Floats, positives: npt.NDArray[np.bool_], edges: Floats) -> ClassFrequencies:
    """Frequencies of a class between edges that other pairs gave; empty bins join their neighbours.

    Parameters
    ----------
    log_odds, positives : (n,) n at least 1.
    edges : as from :func:`balanced_edges`, best of pairs that are not these: edges chosen by the outcomes that are
        then counted would bias the frequencies.
    """
    count = np.bincount(np.searchsorted(edges, log_odds, side="right"), minlength=len(edges) + 1)
    edges = edges[count[:-1] > 0]
    if len(edges) and not count[-1]:
        edges = edges[:-1]
    order = np.argsort(log_odds, kind="stable")
    ordered, ends = log_odds[order], np.append(np.searchsorted(log_odds[order], edges), len(log_odds))
    starts = np.append(0, ends[:-1])
    count, hits = ends - starts, np.add.reduceat(positives[order].astype(int), starts)
    low, high = wilson_interval(hits, count)
    middles = (ordered[(starts + ends - 1) // 2] + ordered[(starts + ends) // 2]) / 2
    return ClassFrequencies(edges, middles, count, hits, low, high)


def balanced_edges(log_odds: Floats, positives: npt.NDArray[np.bool_], n_bins: int) -> Floats:
    """Edges of bins with the same mass of pairs, where positives together weigh as much as all others together.

    Of balanced classes these are bins of equal mass. Of a rare class most of those would hold no positive pair, and
    all that is to be seen would lie in the last.

    Returns
    -------
    (n_bins - 1,) increasing log-odds, or fewer where scores are tied
    """
    n_positive = int(positives.sum())
    sizes = np.where(positives, n_positive, len(positives) - n_positive)
    order = np.argsort(log_odds, kind="stable")
    mass = np.cumsum(1.0 / sizes[order])
    cuts = np.searchsorted(mass, np.arange(1, n_bins) / n_bins * mass[-1])
    edges = np.unique(log_odds[order][cuts])
    return edges[edges > log_odds.min()]


def most_by_chance(n: int, miss: float = 0.05, level: float = 0.95) -> int:
    """How many of ``n`` independent intervals may miss, each with chance ``miss``, before that is no chance any more.

    The ``level`` quantile of the binomial distribution.
    """
    chance = (1.0 - miss) ** n
    below, k = chance, 0
    while below < level:
        chance *= (n - k) / (k + 1) * miss / (1.0 - miss)
        k += 1
        below += chance
    return k
