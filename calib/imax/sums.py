"""Sorted log-odds with running sums, so that any bin costs two look-ups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import Floats, Ints

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
    def of(cls, log_odds: Floats) -> SigmoidSums:
        """Sort log-odds of any shape and sum them up."""
        ordered = np.sort(log_odds, axis=None)
        np.clip(ordered, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS, out=ordered)
        return cls._summed(ordered, None)

    @classmethod
    def of_weighted(cls, log_odds: Floats, weights: Floats) -> SigmoidSums:
        """The same of increasing (n,) log-odds that stand for ``weights`` pairs each, all positive."""
        return cls._summed(np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS), weights)

    @classmethod
    def _summed(cls, ordered: Floats, weights: Floats | None) -> SigmoidSums:
        n = len(ordered)
        small = np.exp(-np.abs(ordered))
        large = 1.0 / (1.0 + small)
        small *= large
        middle = int(np.searchsorted(ordered, 0.0))
        one, zero = np.zeros(n + 1), np.zeros(n + 1)
        one[1:], zero[:-1] = small, small
        one[1 + middle :], zero[:middle] = large[middle:], large[:middle]
        if weights is not None:
            one[1:] *= weights
            zero[:-1] *= weights
        np.cumsum(one, out=one)
        np.cumsum(zero[::-1], out=zero[::-1])
        return cls(ordered, one, zero)

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
