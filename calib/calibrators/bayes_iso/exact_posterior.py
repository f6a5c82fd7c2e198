"""Posterior of a monotone map over a few pools of scores, by recursion over all orders of picking them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.isotonic import Tally
from calib.numerics import Floats, Ints, sigmoid

N_CELLS = 22
"""Cells of [0, 1], between which the recursion tells values apart; within one, a value follows its own labels."""

IMPOSSIBLE = 100.0
"""Nats of likelihood that no labels lose to a monotone map by chance."""

_FINE = np.linspace(-20.0, 20.0, 2001)
"""Log-odds at which the density of cells is tabulated."""


@dataclass(frozen=True, eq=False)
class KnotsPosterior:
    """The posterior of the values of a map at m knots.

    Attributes
    ----------
    tally : the pools of pairs behind the knots.
    edges : (n_cells + 1,) ends of cells of [0, 1]; the outermost cells are the points 0 and 1 themselves.
    cells : (m, n_cells) posterior probability of each cell, for each knot.
    """

    tally: Tally
    edges: Floats
    cells: Floats

    @property
    def mean(self) -> Floats:
        """Posterior mean, (m,), non-decreasing."""
        from scipy.optimize import isotonic_regression

        means = np.sum(self.cells * means_in_cells(self.tally, self.edges), axis=1)
        # Two knots within one cell follow their own labels alone, and may be in the wrong order.
        return isotonic_regression(means, weights=self.tally.counts).x

    def quantile(self, share: float) -> Floats:
        """The value that each knot's is below with this probability, (m,), non-decreasing."""
        reached = np.cumsum(self.cells, axis=1)
        cell = np.minimum((reached < share).sum(axis=1), self.cells.shape[1] - 1)
        rows = np.arange(len(cell))
        inside = self.cells[rows, cell]
        part = np.clip((share - reached[rows, cell] + inside) / inside, 0.0, 1.0)
        return np.maximum.accumulate(self._within(cell, part))

    def _within(self, cell: Ints, part: Floats) -> Floats:
        """The value in a cell of each knot that its own labels' density there is below with probability ``part``."""
        from scipy.special import betainc, betaincinv

        ones = 1 + self.tally.positives
        zeros = 1 + self.tally.counts - self.tally.positives
        low = self.edges[cell]
        high = self.edges[cell + 1]
        below, upto = (betainc(ones, zeros, end) for end in (low, high))
        return np.clip(betaincinv(ones, zeros, below + part * (upto - below)), low, high)


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
    return tally.pooled(np.flatnonzero(~merged))


def knots_posterior(tally: Tally) -> KnotsPosterior:
    """The posterior under the prior of section 4.2 without any bounds, exact but for the cells.

    Parameters
    ----------
    tally : at most some hundred pools of pairs.
    """
    edges = cell_edges(tally)
    chances = shares_in_cells(1 + tally.positives, 1 + tally.counts - tally.positives, edges)
    return KnotsPosterior(
        tally, edges, marginals(*recursion(chances / chances.max(axis=1, keepdims=True), edges))
    )


def cell_edges(tally: Tally) -> Floats:
    """Ends of cells of [0, 1]: half of them even in log-odds, half where the labels are.

    There are the pools' own posteriors, on average, taken with a quarter of the counts and so twice as wide, for a map
    may have to pass beside what a pool says by itself. Even cells reach to the logarithm of the number of pairs.
    """
    from scipy.special import betainc

    probs = sigmoid(_FINE)
    ones = 1 + tally.positives[:, None] / 4
    zeros = 1 + (tally.counts - tally.positives)[:, None] / 4
    share_below = betainc(ones, zeros, probs).mean(axis=0)
    widest = np.log(tally.counts.sum() + 2)
    log_odds = np.clip((_FINE / widest + 1) / 2, 0.0, 1.0)
    inner = np.interp(np.arange(1, N_CELLS) / N_CELLS, (share_below + log_odds) / 2, probs)
    return np.concatenate([[0.0, 0.0], np.unique(inner), [1.0, 1.0]])


def means_in_cells(tally: Tally, edges: Floats) -> Floats:
    """Mean of each pool's value in each cell as its own labels have it, (m, n_cells)."""
    ones = 1 + tally.positives
    zeros = 1 + tally.counts - tally.positives
    mass = shares_in_cells(ones, zeros, edges)
    first = shares_in_cells(ones + 1, zeros, edges)
    means = first / mass * (ones / (ones + zeros))[:, None]
    return np.clip(means, edges[:-1], edges[1:])


def shares_in_cells(ones: Floats, zeros: Floats, edges: Floats) -> Floats:
    """Share of Beta(ones, zeros) in each cell, never zero, (m, n_cells)."""
    from scipy.special import betainc, betaincc

    below, above = (
        function(ones[:, None], zeros[:, None], edges) for function in (betainc, betaincc)
    )
    # The smaller of the two tails keeps its digits.
    mass = np.where(below[:, :-1] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))
    return np.maximum(mass, np.finfo(float).tiny)


def recursion(chances: Floats, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Probability of the labels of every range of knots between any two enclosing cells.

    The prior picks a knot of an open range, each with the same probability, gives it a value uniform between those that
    enclose the range, and goes on to either side. So F[i..j](a, b), the probability of the labels of knots i to j
    between cells a and b, is the mean over k of the sum over cells v of ``F[i..k-1](a, v) c_k(v) F[k+1..j](v, b)``
    over the distance from a to b: all orders of picking are summed, without drawing any. Of two values in one cell
    either is the larger with probability 1/2, and the distance counts the parts of both cells that lie between.

    Parameters
    ----------
    chances : (m, n_cells) of each pool's labels in each cell; a factor of each pool may be left out.
    edges : (n_cells + 1,) ends of the cells.

    Returns
    -------
    lower : (m, m, n_cells, n_cells), ``lower[i, k, v, a] = F[i..k-1](a, v) c_k(v)`` for i <= k.
    upper : (m, m, n_cells, n_cells), ``upper[j, k, v, b] = F[k+1..j](v, b)`` for k <= j.
    density : (n_cells, n_cells) one over the distance from a to b, times the probability that a is below b.

    Factors of the pools are chosen anew so that all are of order one.
    """
    m, n_cells = chances.shape
    ordered = np.triu(np.ones((n_cells, n_cells))) - np.eye(n_cells) / 2
    ordered[0, 0] = ordered[-1, -1] = 1.0
    distance = (ordered * np.diff(edges)) @ ordered
    density = np.divide(ordered, distance, out=np.zeros_like(ordered), where=distance > 0)
    lower, upper = np.zeros((2, m, m, n_cells, n_cells))
    for i in range(m):
        lower[i, i] = ordered.T * chances[i, :, None]
    for j in range(m):
        upper[j, j] = ordered
        for i in range(j, -1, -1):
            knots = slice(i, j + 1)
            between = lower[i, knots].reshape(-1, n_cells).T @ upper[j, knots].reshape(-1, n_cells)
            between *= density / (j + 1 - i)
            if i > 0:
                upper[j, i - 1] = between
            if j + 1 < m:
                lower[i, j + 1] = between.T * chances[j + 1, :, None]
        scale = between.max()
        lower[: j + 1, j] /= scale
        upper[j, :j] /= scale
        if j + 1 < m:
            lower[: j + 1, j + 1] /= scale
    return lower, upper, density


def marginals(lower: Floats, upper: Floats, density: Floats) -> Floats:
    """Posterior probability of each cell for each knot, (m, n_cells), from what :func:`recursion` returns.

    The recursion goes backwards, as the derivative of its result by ``c_k(v)``: ``outside`` is that by F[i..j](a, b).
    The factor ``c_k(v)``, as it was scaled, is ``lower[k, k, v, 0]``.
    """
    m = len(lower)
    n_cells = len(density)
    by_upper = np.zeros_like(upper)
    masses = np.zeros((m, n_cells))
    for i in range(m):
        by_lower = np.zeros((m, n_cells, n_cells))
        for j in range(m - 1, i - 1, -1):
            outside = np.zeros((n_cells, n_cells))
            if i == 0 and j == m - 1:
                outside[0, -1] = 1.0
            if j + 1 < m:
                outside += (by_lower[j + 1] * lower[j + 1, j + 1, :, :1]).T
            if i > 0:
                outside += by_upper[j, i - 1]
            outside *= density / (j + 1 - i)
            knots = slice(i, j + 1)
            split = slice(i, j)
            by_lower[knots] += (upper[j, knots].reshape(-1, n_cells) @ outside.T).reshape(
                -1, n_cells, n_cells
            )
            by_upper[j, split] += (lower[i, split].reshape(-1, n_cells) @ outside).reshape(
                -1, n_cells, n_cells
            )
        masses[i:] += np.sum(by_lower[i:] * lower[i, i:], axis=2)
    return masses / masses.sum(axis=1, keepdims=True)
