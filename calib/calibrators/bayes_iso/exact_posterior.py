"""Posterior of a map over a few pooled scores, exact on a grid of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.bayes_iso.importance_sampling import Posterior
from calib.calibrators.pooled_scores import Groups
from calib.numerics import Floats, Ints, logsumexp, sigmoid

N_VALUES = 96

_FINE = np.linspace(-20.0, 20.0, 2001)  # log-odds at which the density of the grid is tabulated
_WITHIN = (np.arange(4) + 0.5) / 4  # where within a cell likelihoods are averaged


@dataclass(frozen=True, eq=False)
class ValueGrid:
    """Cells of [0, 1] and the chance of each group's labels in them.

    Attributes
    ----------
    edges : (n_values + 1,) from 0 to 1.
    log_chances : (m, n_values) logarithm of each group's likelihood, averaged over each cell, less its largest one.
    log_scale : the sum of what was taken away.
    """

    edges: Floats
    log_chances: Floats
    log_scale: float

    @property
    def widths(self) -> Floats:
        """Prior chance of each cell, shape (n_values,)."""
        return np.diff(self.edges)

    def spread(self, cells: Ints, rng: np.random.Generator) -> Floats:
        """Values drawn evenly within cells, each row sorted so that two in one cell are in order."""
        values = self.edges[cells] + rng.random(cells.shape) * self.widths[cells]
        values.sort(axis=1)
        return values


def value_grid(groups: Groups) -> ValueGrid:
    """A grid for the values of a map over few groups.

    Half of its cells are spread evenly in ``arcsin(sqrt(p))``, in which a frequency is equally uncertain everywhere,
    and half where the groups' own posteriors are, on average. These are taken with a quarter of the counts and so
    twice as wide, for a map may have to pass beside what a group says by itself.
    """
    from scipy.special import betainc

    p = sigmoid(_FINE)
    own = betainc(1 + groups.positives[:, None] / 4, 1 + groups.negatives[:, None] / 4, p).mean(axis=0)
    reached = (own + 2 / np.pi * np.arcsin(np.sqrt(p))) / 2
    inner = np.interp(np.arange(1, N_VALUES) / N_VALUES, reached, p)
    edges = np.unique(np.concatenate([[0.0], inner, [1.0]]))
    points = edges[:-1, None] + _WITHIN * np.diff(edges)[:, None]
    positives, negatives = groups.positives[:, None, None], groups.negatives[:, None, None]
    log_chances = logsumexp(positives * np.log(points) + negatives * np.log1p(-points)) - np.log(len(_WITHIN))
    top = log_chances.max(axis=1)
    return ValueGrid(edges, log_chances - top[:, None], float(top.sum()))


N_TREES = 32
"""Orders of picking that are averaged over."""

_NONE = -1


@dataclass(frozen=True)
class Node:
    """A knot picked within an open range, and those picked next to its left and right; -1 where none is left."""

    knot: int
    left: int
    right: int


def random_tree(n_knots: int, first: int, rng: np.random.Generator) -> list[Node]:
    """An order of picking as the prior has it once the ``first`` knot is picked.

    Every node comes after those below it, and so the root last.
    """
    nodes: list[Node] = []

    def pick(knot: int, start: int, stop: int) -> int:
        nodes.append(Node(knot, split(start, knot), split(knot + 1, stop)))
        return knot

    def split(start: int, stop: int) -> int:
        return _NONE if start == stop else pick(int(rng.integers(start, stop)), start, stop)

    pick(first, 0, n_knots)
    return nodes


def knots_posterior(groups: Groups, n_maps: int, rng: np.random.Generator) -> Posterior:
    """Maps over few groups drawn from the posterior itself, under the prior of section 4.2 without any bounds.

    Once the order in which ranks are picked is fixed, the prior is a tree: a knot's value is uniform between the values
    of the two knots above it that enclose it. On a grid of values the chance of the labels is then a product of
    matrices, and maps are drawn from the posterior downwards from the root, independently of each other. Orders are
    drawn from the prior and weighted by the chance of the labels under each.

    Parameters
    ----------
    groups : at most some hundred.
    n_maps : how many to draw, shared equally by :data:`N_TREES` orders.
    """
    grid = value_grid(groups)
    evidence, maps = [], []
    # The first pick matters most: every knot has its turn.
    for first in ((np.arange(N_TREES) + rng.random()) * len(groups) / N_TREES).astype(int):
        tree = TreePosterior(random_tree(len(groups), int(first), rng), grid)
        evidence.append(tree.log_evidence)
        maps.append(grid.spread(tree.draw(-(-n_maps // N_TREES), rng), rng))
    weights = np.exp(np.array(evidence) - max(evidence))
    each = np.repeat(weights / weights.sum(), len(maps[0])) / len(maps[0])
    return Posterior(np.concatenate(maps), each, len(each))


class TreePosterior:
    """The posterior of values on a grid, given the order in which knots are picked."""

    def __init__(self, nodes: list[Node], grid: ValueGrid):
        self.nodes, self.chances = nodes, np.exp(grid.log_chances) * grid.widths
        # below[k][a, b]: the chance of the labels from knot k downwards between values a and b, up to a factor.
        cumulated = np.concatenate([[0.0], np.cumsum(grid.widths)])
        width = cumulated[None, 1:] - cumulated[:-1, None]
        ordered = np.triu(np.ones(width.shape))
        density = np.divide(ordered, width, out=np.zeros(width.shape), where=ordered > 0)
        self.below = {_NONE: ordered}
        self.log_evidence = grid.log_scale
        for node in nodes:
            matrix = (self.below[node.left] * self.chances[node.knot]) @ self.below[node.right]
            matrix *= density
            top = matrix.max()
            self.below[node.knot] = matrix / top
            self.log_evidence += float(np.log(top))
        self.log_evidence += float(np.log(self.below[nodes[-1].knot][0, -1]))

    def draw(self, n: int, rng: np.random.Generator) -> Ints:
        """Grid positions of ``n`` posterior maps, shape (n, n_knots)."""
        n_knots, n_values = self.chances.shape
        drawn = np.empty((n, n_knots), dtype=np.int64)
        # Positions of the values that enclose each knot; the ends of the grid where nothing else does.
        floor = {self.nodes[-1].knot: np.zeros(n, dtype=np.int64)}
        ceiling = {self.nodes[-1].knot: np.full(n, n_values - 1)}
        for node in reversed(self.nodes):
            low, high = floor.pop(node.knot), ceiling.pop(node.knot)
            # No value outside this window is possible for any of the maps.
            window = slice(low.min(), high.max() + 1)
            chance = self.below[node.left][low, window] * self.below[node.right].T[high, window]
            chance *= self.chances[node.knot, window]
            chance = np.cumsum(chance, axis=1)
            value = window.start + np.sum(chance <= rng.random((n, 1)) * chance[:, -1:], axis=1)
            drawn[:, node.knot] = value
            floor[node.left], ceiling[node.left] = low, value
            floor[node.right], ceiling[node.right] = value, high
        return drawn
