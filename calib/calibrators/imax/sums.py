"""Sorted log-odds with running sums, for bins of any edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import Floats, Ints, blocks

LARGEST_LOG_ODDS = 700.0
"""Beyond it the smaller of the two probabilities is no number of its own in double precision."""


@dataclass(frozen=True, eq=False)
class SigmoidSums:
    """Log-odds in order, and sums of P(1 | log-odds) = sigmoid(log-odds) and of its complement.

    The first is summed from the lowest log-odds upwards and the second from the highest downwards, so that
    terms only grow along a sum and a difference of two of its values keeps its digits.

    Attributes
    ----------
    log_odds : (n,) increasing, within +-700.
    one : (n + 1,) sums of P(1 | log-odds), times the weights if there are any, below each position.
    zero : (n + 1,) sums of P(0 | log-odds), likewise, from each position on.
    """

    log_odds: Floats
    one: Floats
    zero: Floats

    @classmethod
    def from_log_odds(cls, log_odds: Floats) -> SigmoidSums:
        """Sort log-odds of any shape and sum them up."""
        return cls._summed(np.sort(log_odds, axis=None), None)

    @classmethod
    def from_weighted(cls, log_odds: Floats, weights: Floats | Ints) -> SigmoidSums:
        """The same of increasing (n,) log-odds that stand for ``weights`` pairs each, all positive."""
        return cls._summed(log_odds.copy(), weights)

    @classmethod
    def _summed(cls, ordered: Floats, weights: Floats | Ints | None) -> SigmoidSums:
        np.clip(ordered, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS, out=ordered)
        n = len(ordered)
        one, zero = np.zeros(n + 1), np.zeros(n + 1)
        for block in blocks(n):
            small = np.exp(-np.abs(ordered[block]))
            large = 1.0 / (1.0 + small)
            small *= large
            if weights is not None:
                small *= weights[block]
                large *= weights[block]
            positive = ordered[block] >= 0
            one[block.start + 1 : block.stop + 1] = np.where(positive, large, small)
            zero[block] = np.where(positive, small, large)
        np.cumsum(one, out=one)
        np.cumsum(zero[::-1], out=zero[::-1])
        return cls(ordered, one, zero)

    @property
    def n_pairs(self) -> int:
        """Number of pairs; what is said of 1 and of 0 sums to one for each."""
        return round(float(self.one[-1] + self.zero[0]))

    def positions(self, edges: Floats) -> Ints:
        """Where inner edges cut the sorted log-odds, with both ends: (n_edges + 2,) positions from 0 to n."""
        cuts = np.empty(len(edges) + 2, dtype=np.intp)
        cuts[0], cuts[-1] = 0, len(self.log_odds)
        cuts[1:-1] = self.log_odds.searchsorted(edges)
        return cuts

    def between(self, cuts: Ints) -> tuple[Floats, Floats]:
        """Sums of P(1 | log-odds) and of P(0 | log-odds) in each of the (n_cuts - 1,) bins."""
        one, zero = self.one[cuts], self.zero[cuts]
        return one[1:] - one[:-1], zero[:-1] - zero[1:]

    def counts(self, cuts: Ints) -> Ints:
        """Number of pairs in each of the (n_cuts - 1,) bins."""
        return np.rint(np.add(*self.between(cuts))).astype(np.int64)
