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

from calib.calibrators.geometric.neighbours import (
    Nearest,
    blocks,
    distance_blocks,
    nearest_by_bounds,
    record_nearest,
)
from calib.calibrators.geometric.training_set import TrainingSet, pairwise_l2
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
SCREEN_WINNERS = 4
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
    left: list[Ints] = [np.arange(n)]
    squared = training.squared
    if training.outline is not None:
        left = [np.empty(0, dtype=np.int64)]
        for rows, columns, low, error in distance_blocks(training, training.outline, features, predicted, np.arange(n)):
            if not nearest_by_bounds(result.nearest, training, features, rows, columns, low, error):
                left.append(rows)
            elif _has_two_sides(columns, training):
                inputs = squared.centred(features[rows])
                same = squared.between(*inputs, columns)
                _Search(training, features, rows, columns, inputs, same, low, error, result).run()
    for rows, columns, whole, error in distance_blocks(training, squared, features, predicted, np.concatenate(left)):
        same = whole[:, columns].copy()
        record_nearest(result.nearest, training, features, rows, columns, whole, error)
        if _has_two_sides(columns, training):
            _Search(
                training, features, rows, columns, squared.centred(features[rows]), same, whole, error, result
            ).run()
    one_sided = np.minimum(result.nearest.same_row, result.nearest.other_row) < 0
    result.separation[one_sided] = result.nearest.fast[one_sided]
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

    ``inputs`` are (m, d) centred inputs and their (m,) squared lengths; ``same`` (m, |F|) approximate squared distances
    from them. ``low`` (m, N) are squared distances at the least, too large by ``low_error`` (m,) at most and inf in the
    columns of F: of outlines, or approximate distances; ``best`` (m,) is above each separation; ``open_pairs`` holds
    what may decide: input, column of F, column of x'', lower bound of the maximum of that x''.
    """

    training: TrainingSet
    features: Floats
    rows: Ints
    columns: slice
    inputs: tuple[Floats, Floats]
    same: Floats
    low: Floats
    low_error: Floats
    result: Exact
    error: Floats = field(init=False)
    best: Floats = field(init=False)
    open_pairs: list[tuple[Ints, Ints, Ints, Floats]] = field(init=False, default_factory=list)

    def run(self) -> None:
        """Write the separations of the inputs."""
        near, rows = self.result.nearest, self.rows
        self.error = self.training.squared.error(self.inputs[1])
        # The definition's value is negative for dangerous inputs and at most D(x, O) for safe ones (proposition 3).
        self.best = np.where(near.same[rows] < near.other[rows], near.other[rows], 0.0)
        places = range(len(rows))
        first = self.training.column_of[near.other_row[rows]]
        screens = self._whole_maxima(np.arange(len(rows)), first)
        screens = np.concatenate([screens, _best_of_parts(-self.same, SCREEN_NEAREST)], axis=1)
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
            if any(map(len, inputs)):
                self._whole_maxima(np.concatenate(inputs), np.concatenate(columns))
        self._settle()

    def _whole_maxima(self, inputs: Ints, columns: Ints) -> Floats:
        """Bound the maximum over F for pairs of an input and a column of an x'', one or more; returns winners in F."""
        squared = self.training.squared
        winners: list[Ints] = []
        from_inputs = pairwise_l2(
            self.features, self.rows[inputs], self.training.features, self.training.order[columns]
        )
        for pairs in blocks(len(inputs), self.same.shape[1], MEMORY_ENTRIES):
            i, column = inputs[pairs], columns[pairs]
            apart = squared.between(squared.points[column], squared.norms[column], self.columns)
            gaps = np.square(from_inputs[pairs]).astype(apart.dtype)[:, None] - self.same[i]
            wrong, wrong_apart = 2 * self.error[i, None], squared.error_between_points
            high = -lowest_bisector(-gaps - wrong, apart - wrong_apart, apart + wrong_apart)
            # At the least the maximum is what any one of them is at the least.
            won = _best_of_parts(high, SCREEN_WINNERS)
            gaps, apart = np.take_along_axis(gaps, won, axis=1), np.take_along_axis(apart, won, axis=1)
            lowest = lowest_bisector(gaps - wrong, apart - wrong_apart, apart + wrong_apart).max(axis=1)
            np.minimum.at(self.best, i, high.max(axis=1))
            pair, same = np.nonzero(high >= lowest[:, None])
            self.open_pairs.append((i[pair], same, column[pair], lowest[pair]))
            winners.append(won)
        return np.concatenate(winners)

    def _screened(self, i: int, screen: Ints, first: int) -> tuple[Ints, Floats]:
        """Columns of the x'' that may still decide the i-th input, with a lower bound each, in its order."""
        reach = self.result.nearest.same[self.rows[i]] + 2.0 * max(self.best[i], 0.0)
        columns: Ints = np.flatnonzero(self.low[i] <= reach * reach + self.low_error[i])
        columns = columns[columns != first]
        if (outline := self.training.outline) is not None:
            low, high = outline.bounds(columns, self.columns.start + screen)
            columns, _ = self._left(i, columns, self.low[i, columns] - self.low_error[i], screen, low, high)
        squared, near = self.training.squared, self.columns.start + screen
        shifted, norms = (
            np.concatenate([a[i : i + 1], b[near]]) for a, b in zip(self.inputs, squared.parts, strict=True)
        )
        from_input, *apart = squared.between(shifted, norms, columns)
        wrong, between = squared.error_between_points, np.transpose(apart)
        columns, bounds = self._left(i, columns, from_input - self.error[i], screen, between - wrong, between + wrong)
        order = np.argsort(bounds)
        return columns[order], bounds[order]

    def _left(
        self, i: int, columns: Ints, other: Floats, screen: Ints, shortest: Floats, longest: Floats
    ) -> tuple[Ints, Floats]:
        """Columns whose lower bound, by the x' of the screen, is below the best; and these bounds.

        Parameters
        ----------
        other : (k,) squared distances of the input from the columns at the least.
        shortest, longest : (k, n_screen) squared distances between the columns and the screen.
        """
        gaps = (other - self.error[i])[:, None] - self.same[i, screen]
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
