"""Exact separation by a pruned search over pairs (Chouraqui et al. 2023, definition 4).

The definition is a minimum over x'' in O of a maximum over x' in F. A maximum over some of F bounds the whole one from
below, so an x'' whose partial maximum is not below the best whole one so far cannot be the minimum:

1. x'' with d(x, x'') > D(x, F) + 2 best go: with the nearest x' alone they reach (d(x, x'') - D(x, F)) / 2 > best;
2. those left are screened with a few x' from near x, and with those that won for the nearest x'';
3. whole maxima are taken in order of these bounds, until no bound lies below the best.

All this is done on approximate distances with bounds on their rounding error. The pairs that these leave open, a
handful, are computed again from their differences.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calib.calibrators.geometric.neighbours import Nearest, blocks, distance_blocks, record_nearest
from calib.calibrators.geometric.training_set import TrainingSet
from calib.numerics import MEMORY_ENTRIES, Floats, Ints


def bisector_distances(
    features: Floats, rows: Ints, train_features: Floats, same_rows: Ints, other_rows: Ints
) -> Floats:
    """Signed distance of x from the plane half-way between x' and x'', positive on the side of x', in float64.

    The paper's (d²(x, x'') - d²(x, x')) / (2 d(x', x'')) is (x' - x'')·((x - x') + (x - x'')) / (2 |x' - x''|), which
    does not cancel where x' and x'' are near. Pairs at zero distance have no plane: -inf, which no maximum takes.

    Parameters
    ----------
    features : (n, d) inputs; ``rows`` (m,) names x in each of m triples.
    train_features : (N, d) training inputs; ``same_rows`` (m,) names x', ``other_rows`` (m,) names x''.
    """
    values = np.full(len(rows), -np.inf)
    for part in blocks(len(rows), features.shape[1]):
        inputs = features[rows[part]].astype(np.float64)
        same = train_features[same_rows[part]].astype(np.float64)
        other = train_features[other_rows[part]].astype(np.float64)
        normals = same - other
        np.subtract(inputs, same, out=same)
        np.subtract(inputs, other, out=other)
        same += other
        lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
        products = np.einsum("ij,ij->i", normals, same)
        np.divide(products, 2.0 * lengths, out=values[part], where=lengths > 0)
    return values


def lowest_bisector(gaps: Floats, shortest: Floats, longest: Floats) -> Floats:
    """Least that ``gap / (2 d)`` can be, -inf where the two may lie at zero distance.

    Parameters
    ----------
    gaps : (m, k) d²(x, x'') - d²(x, x') at the least.
    shortest, longest : (m, k) d²(x', x'') at the least and at the most.
    """
    apart = shortest > 0
    squared = np.where(gaps > 0, longest, shortest)
    return np.divide(gaps, 2 * np.sqrt(squared, where=apart, out=squared), where=apart, out=np.full_like(gaps, -np.inf))


SCREEN_NEAREST = 8
SCREEN_WINNERS = 8
"""How many x' near x, and how many winners for the nearest x'', screen the other x''."""

MAXIMA_PER_ROUND = 4
"""Whole maxima taken for one input before its best is looked at again."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Exact separations and the pairs they come from.

    Attributes
    ----------
    separation : (n,) float64; -inf without F, +inf without O.
    same_row, other_row : (n,) row numbers of x' and x''; -1 where no pair decides.
    nearest : the nearest training inputs.
    """

    separation: Floats
    same_row: Ints
    other_row: Ints
    nearest: Nearest


def exact(training: TrainingSet, features: Floats, predicted: Ints) -> Exact:
    """Exact separation (L2) of inputs as :meth:`TrainingSet.queries` returns them."""
    n = len(features)
    result = Exact(np.empty(n), np.full(n, -1), np.full(n, -1), Nearest.empty(n))
    for rows, columns, squared, error in distance_blocks(training, training.squared, features, predicted, np.arange(n)):
        same = squared[:, columns].copy()
        record_nearest(result.nearest, training, features, rows, columns, squared, error)
        if 0 < same.shape[1] < squared.shape[1]:
            _Search(training, features, rows, columns, same, squared, error, result).run()
        else:
            result.separation[rows] = np.inf if same.shape[1] else -np.inf
    return result


@dataclass(eq=False)
class _Search:
    """The pruned search for some inputs of one predicted class.

    ``same`` (m, |F|) and ``other`` (m, N) are approximate squared distances from the inputs, the latter inf in the
    columns of F; ``best`` (m,) is above each separation; ``open_pairs`` holds what may decide: input, column of F,
    column of x'', lower bound of the maximum of that x''.
    """

    training: TrainingSet
    features: Floats
    rows: Ints
    columns: slice
    same: Floats
    other: Floats
    error: Floats
    result: Exact
    best: Floats = field(init=False)
    open_pairs: list[tuple[Ints, Ints, Ints, Floats]] = field(init=False, default_factory=list)

    def run(self) -> None:
        """Write the separations of the inputs."""
        near, rows = self.result.nearest, self.rows
        # The definition's value is negative for dangerous inputs and at most D(x, O) for safe ones (proposition 3).
        self.best = np.where(near.same[rows] < near.other[rows], near.other[rows], 0.0)
        places = range(len(rows))
        first = self.training.column_of[near.other_row[rows]]
        screens = self._whole_maxima(np.arange(len(rows)), first)
        pending = [self._screened(i, screens[i], first[i]) for i in places]
        while pending_rows := [i for i in places if len(pending[i][0])]:
            inputs, columns = [], []
            for i in pending_rows:
                candidates, bounds = pending[i]
                left = bounds < self.best[i]
                candidates, bounds = candidates[left], bounds[left]
                inputs.append(np.full(len(candidates[:MAXIMA_PER_ROUND]), i))
                columns.append(candidates[:MAXIMA_PER_ROUND])
                pending[i] = candidates[MAXIMA_PER_ROUND:], bounds[MAXIMA_PER_ROUND:]
            self._whole_maxima(np.concatenate(inputs), np.concatenate(columns))
        self._settle()

    def _whole_maxima(self, inputs: Ints, columns: Ints) -> Floats:
        """Bound the maximum over F for pairs of an input and the column of an x''; returns winners (m, k) in F."""
        squared = self.training.squared
        n_winners = min(SCREEN_WINNERS, self.same.shape[1])
        winners = np.empty((len(inputs), n_winners), dtype=np.int64)
        for pairs in blocks(len(inputs), self.same.shape[1], MEMORY_ENTRIES):
            i, column = inputs[pairs], columns[pairs]
            apart = squared.between(squared.points[column], squared.norms[column], self.columns)
            shortest, longest = apart - squared.error_between_points, apart + squared.error_between_points
            gaps = self.other[i, column][:, None] - self.same[i]
            wrong = 2 * self.error[i, None]
            low = lowest_bisector(gaps - wrong, shortest, longest)
            high = -lowest_bisector(-gaps - wrong, shortest, longest)
            lowest = low.max(axis=1)
            np.minimum.at(self.best, i, high.max(axis=1))
            pair, same = np.nonzero(high >= lowest[:, None])
            self.open_pairs.append((i[pair], same, column[pair], lowest[pair]))
            winners[pairs] = np.argpartition(low, -n_winners, axis=1)[:, -n_winners:]
        return winners

    def _screened(self, i: int, winners: Ints, first: int) -> tuple[Ints, Floats]:
        """Columns of the x'' that may still decide the i-th input, with a lower bound each, in its order."""
        reach = self.result.nearest.same[self.rows[i]] + 2.0 * max(self.best[i], 0.0)
        columns: Ints = np.flatnonzero(self.other[i] <= reach * reach + self.error[i])
        columns = columns[columns != first]
        k = min(SCREEN_NEAREST, self.same.shape[1])
        screen = np.concatenate([winners, np.argpartition(self.same[i], k - 1)[:k]])
        if (outline := self.training.outline) is not None:
            low, high = outline.bounds(columns, self.columns.start + screen)
            columns, _ = self._left(i, columns, screen, low, high)
        squared = self.training.squared
        apart = squared.between(squared.points[columns], squared.norms[columns], self.columns.start + screen)
        wrong = squared.error_between_points
        columns, bounds = self._left(i, columns, screen, apart - wrong, apart + wrong)
        order = np.argsort(bounds)
        return columns[order], bounds[order]

    def _left(self, i: int, columns: Ints, screen: Ints, shortest: Floats, longest: Floats) -> tuple[Ints, Floats]:
        """Columns whose lower bound, by the x' of the screen, is below the best; and these bounds."""
        gaps = (self.other[i, columns] - 2 * self.error[i])[:, None] - self.same[i, screen]
        bounds = lowest_bisector(gaps, shortest, longest).max(axis=1)
        left = bounds < self.best[i]
        return columns[left], bounds[left]

    def _settle(self) -> None:
        """Compute what is left open from differences and write it."""
        i, same, other, lowest = (np.concatenate(parts) for parts in zip(*self.open_pairs, strict=True))
        left = lowest <= self.best[i]
        i, same, other = i[left], self.training.order[self.columns][same[left]], other[left]
        values = bisector_distances(
            self.features, self.rows[i], self.training.features, same, self.training.order[other]
        )
        # The maximum of each x'' is the last of its group, the minimum of these the first of its input.
        order = np.lexsort((values, other, i))
        last = np.append((np.diff(other[order]) != 0) | (np.diff(i[order]) != 0), True)
        maxima = order[last]
        maxima = maxima[np.lexsort((values[maxima], i[maxima]))]
        decides = maxima[np.searchsorted(i[maxima], np.arange(len(self.rows)))]
        fast = self.result.nearest.fast[self.rows]
        value = values[decides]
        # |fast| <= |exact| with the same sign (proposition 2), also after rounding.
        self.result.separation[self.rows] = np.where(fast > 0, np.maximum(value, fast), np.minimum(value, fast))
        self.result.same_row[self.rows] = same[decides]
        self.result.other_row[self.rows] = self.training.order[other[decides]]
