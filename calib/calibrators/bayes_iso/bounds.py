"""Bounds between which maps are sampled, learned from the labels of neighbouring ranks."""

from __future__ import annotations

import numpy as np

from calib.calibrators.pooled_scores import Groups, isotonic_fit
from calib.numerics import Floats, Ints

Bounds = tuple[Floats, Floats]
"""Lower and upper bounds, each (m,) and non-decreasing, the first nowhere above the second."""


def paper_bounds(groups: Groups) -> Bounds:
    """Bounds as Allikivi and Kull (2019) describe them in section 4.3.

    The mean label of the B = N / 10 ranks that begin with a pair bounds its map from above but for its standard error,
    and that of the B ranks that end with it bounds it from below: mean +- 1 / sqrt(B). Windows are cut short at the
    ends of the ranking, and hold at least the pair's whole group.
    """
    ends, counts = groups.ends, groups.counts
    n = int(ends[-1])
    size = max(1.0, n / 10)
    starts = ends - counts
    after = np.minimum(np.maximum(ends, starts + size), n)
    before = np.maximum(np.minimum(starts, ends - size), 0)
    upper = _mean_label(groups, starts, after) + 1 / np.sqrt(after - starts)
    lower = _mean_label(groups, before, ends) - 1 / np.sqrt(ends - before)
    return _monotone(lower, upper)


def pav_bounds(groups: Groups) -> Bounds:
    """Bounds as the authors' published code computes them, which differ from the paper's.

    The mean label of the N / 20 ranks strictly beyond a group, or its isotonic fit where that lies farther out, with a
    slack of 1 / sqrt(N); nothing is beyond the outermost groups, whose bounds are 0 and 1.
    """
    ends, counts = groups.ends, groups.counts
    n = int(ends[-1])
    size = max(1, n // 20)
    starts = ends - counts
    fit = isotonic_fit(groups)
    upper = np.maximum(_mean_label(groups, ends[:-1], np.minimum(ends[:-1] + size, n)), fit[:-1])
    lower = np.minimum(_mean_label(groups, np.maximum(starts[1:] - size, 0), starts[1:]), fit[1:])
    slack = 1 / np.sqrt(n)
    return _monotone(np.append(0.0, lower - slack), np.append(upper + slack, 1.0))


BOUNDS = {"paper": paper_bounds, "pav": pav_bounds}


def _mean_label(groups: Groups, starts: Floats | Ints, stops: Floats | Ints) -> Floats:
    """Mean label of the ranks from each start to each stop; within a group its positives are spread evenly."""
    ends = np.concatenate([[0], groups.ends])
    found = np.concatenate([[0], np.cumsum(groups.positives)])
    return (np.interp(stops, ends, found) - np.interp(starts, ends, found)) / (stops - starts)


def _monotone(lower: Floats, upper: Floats) -> Bounds:
    # Extended, never narrowed: a lower bound falls to the lowest that follows, an upper one rises.
    lower = np.minimum.accumulate(lower[::-1])[::-1]
    upper = np.maximum.accumulate(upper)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
