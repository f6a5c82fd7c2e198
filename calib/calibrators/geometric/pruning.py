"""Exact separation by a pruned search over pairs (Chouraqui et al. 2023, definition 4).

The definition is a minimum over x'' in O of a maximum over x' in F. A maximum over some of F bounds the whole one from
below, so an x'' whose partial maximum is not below the best whole one so far cannot be the minimum:

1. x'' with d(x, x'') > D(x, F) + 2 best go: with the nearest x' alone they reach (d(x, x'') - D(x, F)) / 2 > best;
2. those left are screened with a few x' from near x, and with those that won for the nearest x'';
3. whole maxima are taken in order of these bounds, until no bound lies below the best.

Blocks of inputs go through these steps together, on bounds of the squared distances: by outlines of the rows, or where
these tell too little on approximate distances with bounds on their rounding error. Of each maximum, the few pairs that
the bounds leave open are computed from their differences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from calib.calibrators.geometric.neighbours import (
    MOST_OPEN,
    Nearest,
    distance_blocks,
    nearest_by_bounds,
    record_nearest,
)
from calib.calibrators.geometric.training_set import Outline, SquaredDistances, TrainingSet, as_factors, pairwise_l2
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks


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
    squared = np.where(gaps > 0, longest, shortest)
    tiny = np.finfo(squared.dtype).tiny
    np.maximum(squared, tiny, out=squared)
    with np.errstate(over="ignore"):  # tiny distances of huge gaps; such a quotient is infinite, and set below
        values: Floats = np.divide(gaps, np.sqrt(squared, out=squared), out=squared)
    values *= 0.5
    if shortest.size and shortest.min() < tiny:
        values[shortest < tiny] = -np.inf
    return values


SCREEN_NEAREST = 8
SCREEN_WINNERS = 4
"""How many x' near x, and how many winners for the nearest x'', screen the other x''."""

PART_ENTRIES = 250_000
"""Bounds are taken on about so many pairs of x' and x'' at a time, which stay near the processor."""

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
    result = Exact(np.full(n, np.inf), np.full(n, -1), np.full(n, -1), Nearest.empty(n))
    left: list[Ints] = [np.arange(n)]
    if (outline := training.outline) is not None:
        left = [np.empty(0, dtype=np.int64)]
        for rows, columns, low, error in distance_blocks(training, outline, features, predicted, np.arange(n)):
            same = low[:, columns].copy()
            if not nearest_by_bounds(result.nearest, training, features, rows, columns, low, error):
                left.append(rows)
            elif _has_two_sides(columns, training):
                for part in blocks(len(rows), low.shape[1], MEMORY_ENTRIES):
                    search = _Search(
                        training, features, rows[part], columns, outline, same[part], low[part], error[part], result
                    )
                    if not search.run():
                        left.append(rows[part])
    squared = training.squared
    for rows, columns, whole, error in distance_blocks(training, squared, features, predicted, np.concatenate(left)):
        same = whole[:, columns].copy()
        record_nearest(result.nearest, training, features, rows, columns, whole, error)
        if _has_two_sides(columns, training):
            for part in blocks(len(rows), whole.shape[1], MEMORY_ENTRIES):
                _Search(
                    training, features, rows[part], columns, squared, same[part], whole[part], error[part], result
                ).run()
    # |fast| <= |exact| with the same sign (proposition 2), also after rounding.
    fast, value = result.nearest.fast, result.separation
    result.separation[:] = np.where(fast > 0, np.maximum(value, fast), np.minimum(value, fast))
    return result


def _has_two_sides(columns: slice, training: TrainingSet) -> bool:
    return 0 < columns.stop - columns.start < len(training.order)


def _best_of_parts(values: Floats, n_parts: int) -> Ints:
    """Where (m, k) rows are largest in each of ``n_parts`` parts that cover the row, (m, at most n_parts)."""
    width = -(-values.shape[1] // n_parts)
    starts = np.unique(np.linspace(0, values.shape[1] - width, n_parts).astype(int))
    return np.stack([start + values[:, start : start + width].argmax(axis=1) for start in starts], axis=1)


@dataclass(eq=False)
class _Search:
    """The pruned search for some inputs of one predicted class.

    ``by`` gave ``low`` (m, N) and ``same`` (m, |F|), squared distances at the least, too large by ``low_error`` (m,) at
    most: those of outlines, or approximate ones. ``low`` is inf in the columns of F. ``best`` (m,) is above each
    separation.
    """

    training: TrainingSet
    features: Floats
    rows: Ints
    columns: slice
    by: Outline | SquaredDistances
    same: Floats
    low: Floats
    low_error: Floats
    result: Exact
    best: Floats = field(init=False)

    def run(self) -> bool:
        """Write the separations of the inputs; False if bounds by outlines leave too much to look at."""
        near, rows = self.result.nearest, self.rows
        self.result.separation[rows] = np.inf
        # The definition's value is negative for dangerous inputs and at most D(x, O) for safe ones (proposition 3).
        self.best = np.where(near.same[rows] < near.other[rows], near.other[rows], 0.0)
        first = self.training.column_of[near.other_row[rows]]
        winners = self._whole_maxima(np.arange(len(rows)), first)
        if winners is None:
            return False
        screens = np.concatenate([winners, _best_of_parts(-self.same, SCREEN_NEAREST)], axis=1) + self.columns.start
        inputs, columns, bounds = self._screened(screens, first)
        order = np.lexsort((bounds, inputs))
        columns, bounds = columns[order], bounds[order]
        ends = np.cumsum(np.bincount(inputs, minlength=len(rows)))
        places = np.append(0, ends[:-1])[:, None] + np.arange(MAXIMA_PER_ROUND)
        while True:
            at, which = np.nonzero(places < ends[:, None])
            pairs = places[at, which]
            below = bounds[pairs] < self.best[at]
            if not below.any():
                return True
            if self._whole_maxima(at[below], columns[pairs[below]]) is None:
                return False
            places += MAXIMA_PER_ROUND

    def _whole_maxima(self, inputs: Ints, columns: Ints) -> Ints | None:
        """Take the maximum over F for pairs of an input and a column of an x''; returns x' that may win, columns of F.

        Bounds name a few x' for each pair; their values rule out all others but those that are computed then. None if
        bounds by outlines leave too many of these.
        """
        training, by = self.training, self.by
        order, rows, points = training.order[self.columns], self.rows, training.features
        to_other = np.square(pairwise_l2(self.features, rows[inputs], points, training.order[columns]))
        winners: list[Ints] = []
        for pairs in blocks(len(inputs), len(order), PART_ENTRIES):
            i, column = inputs[pairs], columns[pairs]
            products = as_factors(by.points[column]) @ by.points[self.columns].T
            gaps = self.same[i]
            gaps -= (to_other[pairs] + 2 * self.low_error[i]).astype(gaps.dtype)[:, None]
            high = -lowest_bisector(gaps, *by.bounds(products, column, self.columns))
            won = _best_of_parts(high, SCREEN_WINNERS)
            winners.append(won)
            pair, same = np.arange(len(i)).repeat(won.shape[1]), order[won.ravel()]
            values = bisector_distances(self.features, rows[i[pair]], points, same, training.order[column[pair]])
            least = values.reshape(won.shape).max(axis=1).astype(high.dtype)
            np.put_along_axis(high, won, -np.inf, axis=1)
            left, place = np.divmod(np.flatnonzero(high >= least[:, None]), len(order))
            if isinstance(by, Outline) and len(left) > MOST_OPEN * high.size:
                return None
            pair, same = np.append(pair, left), np.append(same, order[place])
            left_values = bisector_distances(
                self.features, rows[i[left]], points, order[place], training.order[column[left]]
            )
            self._record(i, column, pair, same, np.append(values, left_values))
        return np.concatenate(winners)

    def _record(self, inputs: Ints, columns: Ints, pair: Ints, same_rows: Ints, values: Floats) -> None:
        """Write what decides of some pairs: the largest of the values of each, and the least of these of each input."""
        order = np.lexsort((values, pair))
        largest = order[np.searchsorted(pair[order], np.arange(len(inputs)), side="right") - 1]
        maxima = values[largest]
        np.minimum.at(self.best, inputs, maxima)
        order = np.lexsort((maxima, inputs))
        at, first = np.unique(inputs[order], return_index=True)
        least, rows = order[first], self.rows[at]
        lower = maxima[least] < self.result.separation[rows]
        least, rows = least[lower], rows[lower]
        self.result.separation[rows] = maxima[least]
        self.result.same_row[rows] = same_rows[largest[least]]
        self.result.other_row[rows] = self.training.order[columns[least]]

    def _screened(self, screens: Ints, first: Ints) -> tuple[Ints, Ints, Floats]:
        """Inputs and columns of the x'' that may still decide, with a lower bound each.

        Parameters
        ----------
        screens : (m, k) columns of some x' for each input.
        first : (m,) the columns of x'' that are done.
        """
        squared, near = self.training.squared, self.result.nearest.same[self.rows]
        reach = np.square(near + 2.0 * np.maximum(self.best, 0.0)) + self.low_error
        found = np.flatnonzero(self.low <= reach.astype(self.low.dtype)[:, None])
        at, columns = np.divmod(found, self.low.shape[1])
        done = columns == first[at]
        at, columns = at[~done], columns[~done]
        inputs = squared.centred(self.features[self.rows])
        error = squared.error(inputs[:, -2])
        # Approximate distances from each input to its screen, at the most, are taken once for all x''.
        to_screen = np.matmul(as_factors(squared.points[screens]), inputs[:, :, None])[:, :, 0] + error[:, None]
        if isinstance(self.by, Outline):
            to_others = self.low[at, columns] - self.low_error[at]
            at, columns, _ = self._left(self.by, at, columns, to_others, screens, to_screen)
        to_others = np.empty(len(at), self.low.dtype)
        factors = as_factors(inputs)
        for part in blocks(len(at), inputs.shape[1], PART_ENTRIES):
            to_others[part] = np.einsum("ij,ij->i", factors[at[part]], squared.points[columns[part]])
        return self._left(squared, at, columns, to_others - error[at], screens, to_screen)

    def _left(
        self,
        by: Outline | SquaredDistances,
        at: Ints,
        columns: Ints,
        to_others: Floats,
        screens: Ints,
        to_screen: Floats,
    ) -> tuple[Ints, Ints, Floats]:
        """Inputs and columns whose lower bound, by the x' of the screen, is below the best; and these bounds.

        Parameters
        ----------
        by : bounds the squared distances between the columns and the screen.
        at, columns : (k,) each, by input.
        to_others : (k,) squared distances of the inputs from the columns at the least.
        screens, to_screen : (m, n_screen) columns of F and squared distances of each input from them at the most.
        """
        factors = as_factors(by.points[screens])
        bounds = np.empty(len(at), self.low.dtype)
        for part in blocks(len(at), screens.shape[1], PART_ENTRIES):
            i, column = at[part], columns[part]
            products = np.empty((len(i), screens.shape[1]), bounds.dtype)
            edges = np.append(np.flatnonzero(np.diff(i, prepend=-1)), len(i)).tolist()
            for start, stop in pairwise(edges):
                np.matmul(by.points[column[start:stop]], factors[i[start]].T, out=products[start:stop])
            gaps = to_others[part, None] - to_screen[i]
            bounds[part] = lowest_bisector(gaps, *by.bounds(products, column, screens[i])).max(axis=1)
        left = bounds < self.best[at]
        return at[left], columns[left], bounds[left]
