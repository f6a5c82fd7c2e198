"""The iterations of I-Max, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.imax.starts import equal_mass_edges, equal_size_edges, kmeans_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.calibrators.imax.updates import centres_of, edges_between, information_bound
from calib.numerics import Floats, Ints

MAX_STEPS = 1000


@dataclass(frozen=True, eq=False)
class EdgeTrace:
    """Edges and bound at every step, from one start to the fixpoint.

    Attributes
    ----------
    start : "kmeans", "equal_mass" or "equal_size".
    edges : one array per step, the start first and the result last; each holds the increasing inner edges of
        the bins in log-odds. Almost always ``n_bins - 1``; fewer where there are fewer distinct log-odds.
    bound : (n_steps,) the lower bound of the mutual information between bin and label under
        P(y = 1 | log-odds) = sigmoid(log-odds), in nats, with the edges of that step; it never falls.
    converged : whether another step would change nothing; False where ``max_steps`` came first.
    """

    start: str
    edges: tuple[Floats, ...]
    bound: Floats
    converged: bool


def best_traces(
    sums: SigmoidSums, n_bins: int, n_starts: int = 3, random_state: int = 0, max_steps: int = MAX_STEPS
) -> tuple[EdgeTrace, ...]:
    """The iterations from several starts, the one with the highest bound first.

    The starts are k-means++, equal mass and equal size, in this order, and k-means++ again for any further.
    """
    generator = np.random.default_rng(random_state)
    traces = []
    for number in range(n_starts):
        if number == 1:
            start, edges = "equal_mass", equal_mass_edges(sums, n_bins)
        elif number == 2:
            start, edges = "equal_size", equal_size_edges(n_bins)
        else:
            start, edges = "kmeans", kmeans_edges(sums, n_bins, generator)
        traces.append(iterate(sums, n_bins, edges, start, max_steps))
    return tuple(sorted(traces, key=lambda trace: -trace.bound[-1]))


def iterate(sums: SigmoidSums, n_bins: int, edges: Floats, start: str = "", max_steps: int = MAX_STEPS) -> EdgeTrace:
    """Update centres and edges in turn until the bins no longer change (Patel et al. 2020, section 3.3).

    A step costs O(n_bins log n). Empty bins are first placed elsewhere, see :func:`fill_empty_bins`.
    """
    edges, cuts = fill_empty_bins(sums, edges, n_bins)
    passed, bounds = [], []
    converged = False
    for _ in range(max_steps):
        centres = centres_of(sums, cuts)
        passed.append(edges)
        bounds.append(information_bound(*sums.between(cuts), centres))
        edges, before = edges_between(centres), cuts
        cuts = sums.positions(edges)
        if (cuts[1:] == cuts[:-1]).any():
            edges, cuts = fill_empty_bins(sums, edges, n_bins)
        if np.array_equal(cuts, before):
            converged = True
            break
    # The last update moved the edges between the same neighbours only: the bins and the bound are the same.
    passed.append(edges)
    bounds.append(information_bound(*sums.between(cuts), centres_of(sums, cuts)))
    return EdgeTrace(start, tuple(passed), np.array(bounds), converged)


def fill_empty_bins(sums: SigmoidSums, edges: Floats, n_bins: int) -> tuple[Floats, Ints]:
    """Drop empty bins, and split the bins where a split raises the bound most until there are ``n_bins`` again.

    Returns
    -------
    edges : at most (n_bins - 1,) increasing log-odds; fewer where there are fewer distinct log-odds.
    cuts : the positions of their ends, ``sums.positions(edges)``.
    """
    cuts = sums.positions(edges)
    inner = cuts[1:-1]
    edges = edges[(inner > cuts[:-2]) & (inner < cuts[-1])]
    cuts = sums.positions(edges)
    while len(edges) + 1 < n_bins:
        centres = centres_of(sums, cuts)
        middles = sums.log_odds.searchsorted(centres)
        halves = np.sort(np.concatenate([cuts, middles]))
        remaining = _remaining_entropy(*sums.between(halves))
        gain = _remaining_entropy(*sums.between(cuts)) - remaining[::2] - remaining[1::2]
        gain[(middles == cuts[:-1]) | (middles == cuts[1:])] = -np.inf
        widest = int(np.argmax(gain))
        if not gain[widest] > 0:
            break
        edges = np.insert(edges, widest, centres[widest])
        cuts = np.insert(cuts, widest + 1, middles[widest])
    return edges, cuts


def _remaining_entropy(one: Floats, zero: Floats) -> Floats:
    """Entropy of the label that is left in each bin, times the bin's mass."""
    total = one + zero
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = one * np.log(one / total) + zero * np.log(zero / total)
    return -np.where(total > 0, parts, 0.0)
