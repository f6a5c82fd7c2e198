"""The posterior at a few pooled ranks, summed exactly over values and sampled over orders of picking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.bayes_iso.importance_sampling import Posterior
from calib.calibrators.bayes_iso.value_grid import ValueGrid, value_grid
from calib.calibrators.pooled_scores import Groups
from calib.numerics import Ints

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
