"""Nearest training inputs of the predicted class and of the others, D(x, F) and D(x, O)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calib.calibrators.geometric.training_set import Outline, SquaredDistances, TrainingSet, pairwise_l2
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, blocks

DISTANCES = ("l2", "l1", "linf")

BLOCK_ELEMENTS = 16_000_000
"""About this many distances are held at once: 64 MB in float32."""

MOST_OPEN = 1 / 256
"""Share of the training inputs up to which looking at each costs less than all distances by BLAS."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """What the training set has around each of n inputs.

    Attributes
    ----------
    same, other : (n,) float64 distance to the nearest training input of the predicted class, and of another class;
        inf where there is none.
    same_row, other_row : (n,) their row numbers; -1 where there is none.
    """

    same: Floats
    other: Floats
    same_row: Ints
    other_row: Ints

    @classmethod
    def empty(cls, n: int) -> Nearest:
        """As for n inputs of which nothing is known yet."""
        return cls(np.full(n, np.inf), np.full(n, np.inf), np.full(n, -1), np.full(n, -1))

    @property
    def fast(self) -> Floats:
        """Fast separation (n,): half of D(x, O) - D(x, F); -inf without F, +inf without O."""
        fast = np.full(len(self.same), -np.inf)
        held = self.same_row >= 0
        fast[held] = (self.other[held] - self.same[held]) / 2.0
        return fast


def nearest(training: TrainingSet, features: Floats, predicted: Ints, distance: str = "l2") -> Nearest:
    """Nearest training inputs of the predicted class and of the others.

    Parameters
    ----------
    training : the training set.
    features : (n, d) as :meth:`TrainingSet.queries` returns them.
    predicted : (n,) the class predicted for each.
    distance : "l2", "l1" or "linf".
    """
    if distance not in DISTANCES:
        raise CalibrationError(f"distance={distance!r} is not one of {', '.join(DISTANCES)}.")
    result = Nearest.empty(len(features))
    all_rows = np.arange(len(features))
    if distance == "l2":
        left: Ints = all_rows
        if training.outline is not None:
            left = _by_outline(result, training, training.outline, features, predicted)
        for rows, columns, squared, error in distance_blocks(training, training.squared, features, predicted, left):
            record_nearest(result, training, features, rows, columns, squared, error)
    else:
        for rows, columns in class_runs(training, predicted, np.argsort(predicted, kind="stable")):
            _scan(result, training, features, rows, columns, distance)
    return result


def distance_blocks(
    training: TrainingSet, by: SquaredDistances | Outline, features: Floats, predicted: Ints, which: Ints
) -> Iterator[tuple[Ints, slice, Floats, Floats]]:
    """Squared distances, or lower bounds of them, from some inputs to all training inputs, block by block.

    Yields rows (m,) that share one predicted class, that class's columns, the values (m, N), which the caller may
    change, and a bound (m,) on how far they are off. Classes share a BLAS call, so many of them cost no more than one.
    """
    order = which[np.argsort(predicted[which], kind="stable")]
    step = max(16, BLOCK_ELEMENTS // len(training.order))
    memory = np.empty((min(step, len(order)), len(training.order)), training.features.dtype)  # fresh pages are slow
    for part in blocks(len(order), entries=step):
        block = order[part]
        values, error = by.block(features[block], memory[: len(block)])
        done = 0
        for rows, columns in class_runs(training, predicted, block):
            part = slice(done, done + len(rows))
            yield rows, columns, values[part], error[part]
            done = part.stop


def class_runs(training: TrainingSet, predicted: Ints, ordered: Ints) -> Iterator[tuple[Ints, slice]]:
    """Split rows, ordered by their predicted class, where the class changes; yields them with its columns."""
    if len(ordered):
        for rows in np.split(ordered, np.flatnonzero(np.diff(predicted[ordered])) + 1):
            yield rows, training.columns_of(predicted[rows[0]])


def record_nearest(
    result: Nearest,
    training: TrainingSet,
    features: Floats,
    rows: Ints,
    columns: slice,
    squared: Floats,
    error: Floats,
) -> None:
    """Write the nearest inputs of some rows of one predicted class; sets ``squared`` to inf in that class's columns."""
    for span, target in _sides(result, squared, columns):
        at, column = _below(span, span.min(axis=1) + 2 * error)
        _settle(target, training, features, rows, at, target.first + column)


def _by_outline(result: Nearest, training: TrainingSet, outline: Outline, features: Floats, predicted: Ints) -> Ints:
    """Write the nearest inputs where lower bounds leave few to look at; returns the rows where they do not."""
    left = []
    for rows, columns, low, error in distance_blocks(training, outline, features, predicted, np.arange(len(features))):
        if not nearest_by_bounds(result, training, features, rows, columns, low, error):
            left.append(rows)
    return np.concatenate(left) if left else np.empty(0, dtype=np.int64)


def nearest_by_bounds(
    result: Nearest, training: TrainingSet, features: Floats, rows: Ints, columns: slice, low: Floats, error: Floats
) -> bool:
    """Write the nearest inputs of some rows of one predicted class, where lower bounds leave few to look at.

    Sets ``low`` to inf in that class's columns. Returns whether they did.
    """
    for span, target in _sides(result, low, columns):
        guess = training.order[target.first + span.argmin(axis=1)]
        limit = pairwise_l2(features, rows, training.features, guess) ** 2 + error
        at, column = _below(span, limit.astype(low.dtype))
        if len(at) > MOST_OPEN * low.size:
            return False
        _settle(target, training, features, rows, at, target.first + column)
    return True


@dataclass(frozen=True, eq=False)
class _Target:
    """Where the nearest inputs of one side go, and the first column of that side."""

    least: Floats
    row: Ints
    first: int


def _sides(result: Nearest, values: Floats, columns: slice) -> Iterator[tuple[Floats, _Target]]:
    """The values (m, k) of F, and then of O, in all columns with inf for those of F; an empty side is left out."""
    if columns.stop > columns.start:
        yield values[:, columns], _Target(result.same, result.same_row, columns.start)
    values[:, columns] = np.inf
    if columns.stop - columns.start < values.shape[1]:
        yield values, _Target(result.other, result.other_row, 0)


def _below(values: Floats, limit: Floats) -> tuple[Ints, Ints]:
    """Row and column of all values up to each row's limit, by row."""
    at, column = np.divmod(np.flatnonzero(values <= limit[:, None]), values.shape[1])
    return at, column


def _settle(target: _Target, training: TrainingSet, features: Floats, rows: Ints, at: Ints, columns: Ints) -> None:
    """Write the nearest of some training inputs: ``columns`` for the inputs ``rows[at]``, at least one for each."""
    train_rows = training.order[columns]
    distances = pairwise_l2(features, rows[at], training.features, train_rows)
    # By input, then distance, then row number: the first of each input is its nearest.
    order = np.lexsort((train_rows, distances, at))
    firsts = order[np.searchsorted(at, np.arange(len(rows)))]
    target.least[rows], target.row[rows] = distances[firsts], train_rows[firsts]


def _scan(result: Nearest, training: TrainingSet, features: Floats, rows: Ints, columns: slice, distance: str) -> None:
    """Write the nearest inputs of some rows of one predicted class, by differences alone."""
    same, other = (result.same, result.same_row), (result.other, result.other_row)
    spans = (
        (columns.start, columns.stop, same),
        (0, columns.start, other),
        (columns.stop, len(training.order), other),
    )
    for first, last, (least, row) in spans:
        for part in blocks(last - first, features.shape[1]):
            train_rows = training.order[first:last][part]
            block = training.features[train_rows]
            gaps = np.empty_like(block)
            for i in rows:
                np.abs(np.subtract(block, features[i], out=gaps), out=gaps)
                values = gaps.sum(axis=1) if distance == "l1" else gaps.max(axis=1, initial=0.0)
                j = int(np.argmin(values))
                if values[j] < least[i]:
                    least[i], row[i] = values[j], train_rows[j]
