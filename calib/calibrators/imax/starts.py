"""Edges to start from, two of which are binning schemes of their own."""

from __future__ import annotations

import numpy as np

from calib.calibrators.imax.sums import SigmoidSums
from calib.calibrators.imax.updates import edges_between
from calib.numerics import Floats

CELLS = 1024
"""k-means++ draws among the centres of so many cells; the divergence hardly changes within one."""


def equal_size_edges(n_bins: int) -> Floats:
    """Inner edges of bins that are equally wide in probability, (n_bins - 1,) log-odds."""
    parts = np.arange(1, n_bins)
    return np.log(parts) - np.log(n_bins - parts)


def equal_mass_edges(sums: SigmoidSums, n_bins: int) -> Floats:
    """Inner edges of bins that hold about equally many pairs, at most (n_bins - 1,) log-odds.

    Equal log-odds stay together, which may leave fewer edges; no bin is empty.
    """
    ordered = sums.log_odds
    below = sums.one - sums.zero + sums.zero[0]
    # Half a pair less than wanted, so that a rounding error of the sums does not count.
    cuts = below.searchsorted(np.arange(1, n_bins) * sums.n_pairs // n_bins - 0.5)
    cuts = np.maximum(cuts, ordered.searchsorted(ordered[0], side="right"))
    return np.unique(ordered[cuts[cuts < len(ordered)]])


def kmeans_edges(sums: SigmoidSums, n_bins: int, generator: np.random.Generator) -> Floats:
    """Edges between centres drawn by greedy k-means++ with the Jensen-Shannon divergence (section S3.2).

    A point is drawn with probability proportional to its divergence from the nearest centre, the mixture taken in
    probability space; of 2 + int(log n_bins) candidates the one that leaves the least divergence becomes a centre.
    Fewer distinct points than bins give fewer edges.
    """
    points, weights = _cells(sums)
    n_candidates = 2 + int(np.log(n_bins))
    first = generator.choice(len(points), p=weights / weights.sum())
    chosen = [first]
    nearest = divergence(points, points[first])
    while len(chosen) < n_bins:
        potential = np.cumsum(weights * nearest)
        if not potential[-1] > 0:
            break
        drawn = potential.searchsorted(generator.random(n_candidates) * potential[-1], side="right")
        drawn = np.minimum(drawn, len(points) - 1)
        left = np.minimum(nearest, divergence(points, points[drawn][:, None]))
        best = int(np.argmin(left @ weights))
        chosen.append(int(drawn[best]))
        nearest = left[best]
    return edges_between(np.unique(points[chosen]))


def divergence(first: Floats, second: Floats) -> Floats:
    """Jensen-Shannon divergence in nats of the Bernoulli distributions with these log-odds; broadcasts."""
    p, q = _sigmoids(first), _sigmoids(second)
    mixed = _entropy((p[0] + q[0]) / 2, (p[1] + q[1]) / 2)
    return np.maximum(mixed - (_entropy(*p) + _entropy(*q)) / 2, 0.0)


def _sigmoids(log_odds: Floats) -> tuple[Floats, Floats]:
    small = np.exp(-np.abs(log_odds))
    large = 1.0 / (1.0 + small)
    small = small * large
    positive = log_odds >= 0
    return np.where(positive, large, small), np.where(positive, small, large)


def _entropy(one: Floats, zero: Floats) -> Floats:
    return -(one * np.log(one) + zero * np.log(zero))


def _cells(sums: SigmoidSums) -> tuple[Floats, Floats]:
    """Log-odds of the mean probability in narrow cells, and how many pairs each stands for."""
    low, high = sums.log_odds[0], sums.log_odds[-1]
    cuts = np.unique(sums.positions(np.linspace(low, high, CELLS + 1)[1:-1]))
    one, zero = sums.between(cuts)
    return np.log(one) - np.log(zero), one + zero
