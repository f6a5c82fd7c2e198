"""Calibration pairs grouped by score, and thinning of piecewise linear maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import Floats, Ints

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
    cuts = np.unique(np.searchsorted(mass, mass[-1] * np.arange(1, n_parts) / n_parts) + 1)
    return cuts[cuts < len(groups)]


def isotonic_fit(groups: Groups) -> Floats:
    """Isotonic regression of the labels, shape (m,)."""
    from scipy.optimize import isotonic_regression

    return isotonic_regression(groups.positives / groups.counts, weights=groups.counts).x


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
