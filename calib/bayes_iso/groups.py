"""Calibration pairs with equal scores, taken together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import Floats, Ints


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
    """Groups of (n,) pairs, their targets 0 and 1 or softened, in increasing order of score."""
    order = np.argsort(log_odds)
    scores = log_odds[order]
    starts = np.flatnonzero(np.concatenate([[True], scores[1:] > scores[:-1]]))
    positives = np.add.reduceat(targets[order].astype(float), starts)
    return Groups(scores[starts], np.diff(starts, append=len(scores)), positives)


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
