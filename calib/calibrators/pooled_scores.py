"""Neighbouring scores pooled."""

from __future__ import annotations

import numpy as np

from calib.calibrators.isotonic import Tally
from calib.numerics import Ints

FINEST = 65_536
"""Parts of the scores within which negatives may be merged."""

IMPOSSIBLE = 100.0
"""Nats of likelihood that no labels lose to a monotone map by chance."""


def pooled(tally: Tally, starts: Ints) -> Tally:
    """Neighbours as one, each with the mean score of its pairs.

    Parameters
    ----------
    starts : (k,) increasing positions at which a pool begins, the first 0.
    """
    counts, scores, positives = (
        np.add.reduceat(each, starts) for each in (tally.counts, tally.scores * tally.counts, tally.positives)
    )
    return Tally(scores / counts, counts, positives)


def merge_negatives(tally: Tally) -> Tally:
    """Neighbours of negatives alone as one, up to a :data:`FINEST`-th of all scores together.

    One class against the rest has few positives, so these are few pools of very many pairs.
    """
    held = tally.positives > 0
    begins = held.copy()
    begins[1:] |= held[:-1]
    begins[:: max(1, len(held) // FINEST)] = True
    return pooled(tally, np.flatnonzero(begins))


def merge_violators(tally: Tally) -> Tally:
    """Pools that an isotonic fit makes equal become one where their labels rule out any monotone map.

    That is where their likelihood falls by more than :data:`IMPOSSIBLE` nats from their own frequencies to the common
    one; otherwise a map is left to find its way between them.
    """
    from scipy.optimize import isotonic_regression
    from scipy.special import rel_entr

    fit = isotonic_regression(tally.positives / tally.counts, weights=tally.counts).x
    starts = np.flatnonzero(np.append(True, fit[1:] != fit[:-1]))
    lost = rel_entr(tally.positives, tally.counts * fit)
    lost += rel_entr(tally.counts - tally.positives, tally.counts * (1 - fit))
    torn = np.add.reduceat(lost, starts) > IMPOSSIBLE
    merged = np.repeat(torn, np.diff(starts, append=len(fit)))
    merged[starts] = False
    return pooled(tally, np.flatnonzero(~merged))
