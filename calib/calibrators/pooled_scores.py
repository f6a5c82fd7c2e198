"""Calibration pairs grouped by score, and thinning of piecewise linear maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.numerics import Floats, Ints

SAME_SHARE = 1e-10
"""A sum of very many shares errs by less: one so little below a level has reached it."""

IMPOSSIBLE = 100.0
"""Nats of likelihood that no labels lose to a monotone map by chance."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Sorted calibration pairs, those with equal scores as one group: a map must give them one value.

    Attributes
    ----------
    log_odds : (m,) strictly increasing scores.
    counts : (m,) how many pairs have that score.
    positives : (m,) the sum of their targets: how many are positive, unless the targets are softened.
    """

    log_odds: Floats
    counts: Ints
    positives: Floats

    @property
    def negatives(self) -> Floats:
        """Pairs of the other outcome, shape (m,)."""
        return self.counts - self.positives

    @property
    def ends(self) -> Ints:
        """Pairs in each group and all before it, shape (m,)."""
        return np.cumsum(self.counts)

    def part(self, start: int, stop: int) -> Groups:
        """Groups ``start`` to ``stop - 1``."""
        rows = slice(start, stop)
        return Groups(self.log_odds[rows], self.counts[rows], self.positives[rows])

    def __len__(self) -> int:
        return len(self.log_odds)


def group_ties(log_odds: Floats, targets: Floats) -> Groups:
    """Groups of (n,) pairs, their targets 0 and 1 or those two softened, in increasing order of score.

    Sorting the scores alone takes a fraction of the time and memory of sorting pairs; one class against the rest has
    few positives, which are then looked up.
    """
    scores = np.sort(log_odds)
    starts = np.flatnonzero(np.concatenate([[True], scores[1:] > scores[:-1]]))
    scores, counts = scores[starts], np.diff(starts, append=len(scores))
    low, high = float(targets.min()), float(targets.max())
    found = np.searchsorted(scores, log_odds[targets > low])
    return Groups(scores, counts, low * counts + (high - low) * np.bincount(found, minlength=len(scores)))


def group_around(
    log_odds: Floats, positives: npt.NDArray[np.bool_], targets: tuple[float, float], parts: Sequence[int]
) -> Groups:
    """The groups of (n,) pairs, with negatives merged between those that isotonic fits, windows and cuts tell apart.

    Scores of positives have groups of their own, and so have those at :func:`even_cuts` into any of ``parts``, the
    ones next below all these, the lowest and the highest. What lies between is of negatives alone: one group with the
    mean of its scores. One class against the rest has few positives, so these are few groups of very many pairs.

    Parameters
    ----------
    log_odds, positives : pairs with both outcomes; the scores are sorted in place.
    targets : of a negative and of a positive.
    parts : into how many the groups will be cut.
    """
    (low, high), n = targets, len(log_odds)
    hits = np.sort(log_odds[positives])
    log_odds.sort()
    cuts = [log_odds[balanced_cuts(log_odds, hits, n_parts, targets)] for n_parts in parts]
    # With the scores on either side of a cut, where rounding may put it instead.
    apart = np.unique(np.concatenate([hits, *cuts, log_odds[[0, -1]]]))
    starts = np.searchsorted(log_odds, apart)
    starts = np.union1d(starts, np.searchsorted(log_odds, log_odds[starts[1:] - 1]))
    starts = np.union1d(starts, np.searchsorted(log_odds, log_odds[starts], side="right"))[:-1]
    if len(starts) <= max(parts):  # so few that each score is a part: none may be merged
        starts = np.flatnonzero(np.append(True, log_odds[1:] > log_odds[:-1]))
    counts = np.diff(starts, append=n)
    first, last = log_odds[starts], log_odds[starts + counts - 1]
    scores = np.where(first == last, first, np.add.reduceat(log_odds, starts) / counts)
    n_hits = np.diff(np.searchsorted(hits, first), append=len(hits))
    return Groups(scores, counts, low * counts + (high - low) * n_hits)


def pool(groups: Groups, cuts: Ints) -> Groups:
    """Groups merged between the given cuts, each with the mean score of its pairs.

    Parameters
    ----------
    cuts : (k,) strictly increasing positions in 1..m-1 at which a new pool begins.
    """
    starts = np.concatenate([[0], cuts])
    counts = groups.counts
    total = np.add.reduceat(counts, starts)
    scores = np.add.reduceat(groups.log_odds * counts, starts) / total
    return Groups(scores, total, np.add.reduceat(groups.positives, starts))


def even_cuts(groups: Groups, n_parts: int) -> Ints:
    """Where to cut the groups into parts that hold like shares of the positives and of the negatives.

    By ranks alone, all that matters about a rare class would fall into one part.

    Returns
    -------
    Strictly increasing positions in 1..m-1, at most ``n_parts - 1``.
    """
    if len(groups) <= n_parts:
        return np.arange(1, len(groups))
    mass = np.cumsum(groups.positives / groups.positives.sum() + groups.negatives / groups.negatives.sum())
    levels = mass[-1] * (np.arange(1, n_parts) / n_parts - SAME_SHARE)
    cuts = np.unique(np.searchsorted(mass, levels) + 1)
    return cuts[cuts < len(groups)]


def balanced_cuts(scores: Floats, hits: Floats, n_bins: int, targets: tuple[float, float] = (0.0, 1.0)) -> Ints:
    """The same cuts of single pairs: where sorted scores are cut so that bins hold like shares of both outcomes.

    A cut is the first score below which half the sum of both shares is at least a multiple of 1 / n_bins.

    Parameters
    ----------
    scores : (n,) sorted; hits : those of the positives, sorted. Both outcomes occur.
    targets : what a negative and a positive count for.

    Returns
    -------
    Increasing positions in 1..n-1, between different scores.
    """
    (low, high), n = targets, len(scores)
    total = low * n + (high - low) * len(hits)
    levels = np.arange(1, n_bins) / n_bins
    below, above = np.zeros(n_bins - 1, dtype=np.intp), np.full(n_bins - 1, n)
    while (above - below > 1).any():  # shares rise with the position: bisection
        middle = (below + above) // 2
        start, found = np.searchsorted(scores, scores[middle]), np.searchsorted(hits, scores[middle])  # of ties
        positive = low * start + (high - low) * found
        share = (positive / total + (start - positive) / (n - total)) / 2
        below, above = np.where(share < levels, middle, below), np.where(share < levels, above, middle)
    return np.unique(above[above < n])


def isotonic_fit(groups: Groups) -> Floats:
    """Isotonic regression of the labels, shape (m,)."""
    return isotonic_means(groups.positives / groups.counts, groups.counts)


def isotonic_means(values: Floats, weights: Floats | Ints) -> Floats:
    """Non-decreasing values (m,) closest to those given, by weighted least squares.

    This is the routine that scikit-learn calls, without its checks, which cost ten times as much as the regression of
    a bootstrap resample.
    """
    from scipy.optimize import isotonic_regression

    return isotonic_regression(values, weights=weights).x


def merge_violators(groups: Groups) -> Groups:
    """Groups that an isotonic fit pools become one where their labels rule out any monotone map.

    That is where their likelihood falls by more than :data:`IMPOSSIBLE` nats from their own frequencies to the pooled
    one; otherwise a map is left to find its way between them.
    """
    from scipy.special import rel_entr

    fit = isotonic_fit(groups)
    starts = np.flatnonzero(np.concatenate([[True], fit[1:] != fit[:-1]]))
    counts, positives, negatives = groups.counts, groups.positives, groups.negatives
    lost = rel_entr(positives, counts * fit) + rel_entr(negatives, counts * (1 - fit))
    torn = np.add.reduceat(lost, starts) > IMPOSSIBLE
    merged = np.repeat(torn, np.diff(starts, append=len(groups)))
    merged[starts] = False
    return pool(groups, np.flatnonzero(~merged)[1:])


TOLERANCE = 1e-6
"""Squared error over p (1 - p) that thinning may make: about twice what it can add to a log-loss, in nats."""


def thin(knots: Floats, values: Floats, tolerance: float = TOLERANCE) -> Ints:
    """Positions of the knots to keep so that lines between them stay close to the map.

    Starts with the two ends and adds the worst knot of every segment until none is off by more than
    ``sqrt(tolerance p (1 - p))``, as Douglas and Peucker (1973) simplify curves.

    Parameters
    ----------
    knots : (m,) strictly increasing; values : (m,) in (0, 1).

    Returns
    -------
    Increasing positions in 0..m-1, the first and the last among them.
    """
    allowed = np.sqrt(tolerance * values * (1 - values))
    kept = np.unique([0, len(knots) - 1])
    while True:
        off = np.abs(np.interp(knots, knots[kept], values[kept]) - values) / allowed
        if len(kept) == len(knots) or off.max() <= 1:
            return kept
        starts = kept[:-1]
        worst = np.maximum.reduceat(off[:-1], starts)
        segment = np.searchsorted(kept, np.arange(len(knots) - 1), side="right") - 1
        added = np.flatnonzero((off[:-1] == worst[segment]) & (off[:-1] > 1))
        kept = np.union1d(kept, added)
