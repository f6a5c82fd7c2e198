"""Importance sampling of monotone maps: prior, bounds and likelihood weights."""

from __future__ import annotations

import numpy as np

from calib.calibrators.isotonic import Tally
from calib.numerics import Floats, blocks

Bounds = tuple[Floats, Floats]
"""Lower and upper bounds, each (m,) and non-decreasing, the first nowhere above the second."""


def pav_bounds(tally: Tally) -> Bounds:
    """Bounds as the authors' published code computes them.

    The mean label of the N / 20 ranks strictly beyond a group, or its isotonic fit where that lies farther out, with a
    slack of 1 / sqrt(N); nothing is beyond the outermost groups, whose bounds are 0 and 1. With those that the paper
    describes in section 4.3, means of N / 10 ranks, the excess loss is the same at 100 pairs and twice that at 3,000.
    """
    from scipy.optimize import isotonic_regression

    ends = np.cumsum(tally.counts)
    starts = ends - tally.counts
    n = ends[-1]
    size = max(1, n // 20)
    fit = isotonic_regression(tally.positives / tally.counts, weights=tally.counts).x
    upper = np.maximum(_mean_label(tally, ends[:-1], np.minimum(ends[:-1] + size, n)), fit[:-1])
    lower = np.minimum(_mean_label(tally, np.maximum(starts[1:] - size, 0), starts[1:]), fit[1:])
    slack = 1 / np.sqrt(n)
    lower = np.append(0.0, lower - slack)
    upper = np.append(upper + slack, 1.0)
    # Extended, never narrowed: a lower bound falls to the lowest that follows, an upper one rises.
    lower = np.minimum.accumulate(lower[::-1])[::-1]
    upper = np.maximum.accumulate(upper)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def _mean_label(tally: Tally, starts: Floats, stops: Floats) -> Floats:
    """Mean label of the ranks from each start to each stop; within a group its positives are spread evenly."""
    ends, positives = (np.append(0.0, np.cumsum(each)) for each in (tally.counts, tally.positives))
    return (np.interp(stops, ends, positives) - np.interp(starts, ends, positives)) / (
        stops - starts
    )


def sample_maps(n_maps: int, bounds: Bounds, rng: np.random.Generator) -> Floats:
    """Maps drawn from the prior: a rank, a value between its neighbours', and so on to the left and to the right.

    Within an open range of ranks one is drawn uniformly, and its value uniformly between the values at the ends of the
    range, but inside the bounds. All open ranges of all maps are split at once, level by level: about 3 log2(m) passes
    over flat arrays in place of n_maps * m calls.

    Parameters
    ----------
    n_maps : how many.
    bounds : lower and upper, each (m,) and non-decreasing.

    Returns
    -------
    (n_maps, m) array, each row non-decreasing
    """
    lower, upper = bounds
    m = len(lower)
    maps = np.empty(n_maps * m)
    # Of each open range: where its first rank lies in ``maps``, which rank that is, how many there are, and the values
    # on either side.
    place = np.arange(0, n_maps * m, m, dtype=np.int32)
    rank = np.zeros(n_maps, dtype=np.int32)
    size = np.full(n_maps, m, dtype=np.int32)
    low = np.zeros(n_maps)
    high = np.ones(n_maps)
    while len(place):
        pick = (rng.random(len(size)) * size).astype(np.int32)
        picked = rank + pick
        least = np.maximum(low, lower[picked])
        most = np.minimum(high, upper[picked])
        value = least + rng.random(len(size)) * (most - least)
        maps[place + pick] = value
        rest = size - pick - 1
        left = np.flatnonzero(pick)
        right = np.flatnonzero(rest)
        step = pick[right] + 1
        place = np.concatenate([place[left], place[right] + step])
        rank = np.concatenate([rank[left], rank[right] + step])
        size = np.concatenate([pick[left], rest[right]])
        low = np.concatenate([low[left], value[right]])
        high = np.concatenate([value[left], high[right]])
    return maps.reshape(n_maps, m)


_BLOCK = 150_000  # values of maps that are sampled at once; another size draws other maps
_NEGLIGIBLE = 25.0  # nats below the best map, where a map has 1e-11 of its weight
_SMALLEST = np.finfo(float).tiny  # where a value has been rounded to 0 or 1


def log_likelihood(maps: Floats, tally: Tally) -> Floats:
    """Logarithm of the chance of all labels under each map, shape (k,); equation 3 of the paper."""
    positives = tally.positives
    negatives = tally.counts - tally.positives
    # Most groups hold one outcome, whose chance is |value - 0| or |value - 1|.
    chance = np.abs(maps - (positives == 0))
    np.maximum(chance, _SMALLEST, out=chance)
    score = np.log(chance, out=chance) @ np.where(positives == 0, negatives, positives)
    mixed = np.flatnonzero((positives > 0) & (negatives > 0))
    return score + np.log(np.maximum(1 - maps[:, mixed], _SMALLEST)) @ negatives[mixed]


def sample_posterior(
    tally: Tally, bounds: Bounds, n_maps: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Maps drawn from the prior within the bounds, and their shares of the likelihood (algorithm 1 of the paper).

    Maps far less likely than the best of those before them are left out: of the ``n_maps`` that are sampled, k are
    returned, as (k, m) values at the groups, each row non-decreasing, and (k,) weights that sum to one.
    """
    kept = []
    best = -np.inf
    for block in blocks(n_maps, len(tally.scores), _BLOCK):
        maps = sample_maps(block.stop - block.start, bounds, rng)
        score = log_likelihood(maps, tally)
        best = max(best, float(score.max()))
        near = score > best - _NEGLIGIBLE
        kept.append((maps[near], score[near]))
    maps, score = (np.concatenate(each) for each in zip(*kept, strict=True))
    weights = np.exp(score - best)
    return maps, weights / weights.sum()
