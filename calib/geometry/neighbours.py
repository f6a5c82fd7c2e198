"""The nearest training inputs of the predicted class and of the others: D(x, F) and D(x, O)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calib.base import CalibrationError
from calib.geometry.squared_distances import pairwise_l2
from calib.geometry.training_set import TrainingSet
from calib.numerics import Floats, Ints

DISTANCES = ("l2", "l1", "linf")

BLOCK_ELEMENTS = 16_000_000
"""About this many distances are held at once: 64 MB in float32."""

CACHED_ELEMENTS = 65_536
"""Differences of about this many numbers stay in the processor's cache."""


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
    found = Nearest.empty(len(features))
    if distance == "l2":
        for rows, columns, squared, error in squared_blocks(training, features, predicted):
            record_nearest(found, training, features, rows, columns, squared, error)
    else:
        for rows, columns in class_runs(training, predicted, np.argsort(predicted, kind="stable")):
            _scan(found, training, features, rows, columns, distance)
    return found


def squared_blocks(
    training: TrainingSet, features: Floats, predicted: Ints
) -> Iterator[tuple[Ints, slice, Floats, Floats]]:
    """Squared distances from all inputs to all training inputs, block by block.

    Yields rows (m,) that share one predicted class, that class's columns, approximate squared distances (m, N), which
    the caller may change, and a bound (m,) on how far they are off. Classes share a BLAS call, so many of them cost
    no more than one.
    """
    order = np.argsort(predicted, kind="stable")
    step = max(16, BLOCK_ELEMENTS // len(training.order))
    memory = np.empty((min(step, len(order)), len(training.order)), training.features.dtype)  # fresh pages are slow
    for start in range(0, len(order), step):
        block = order[start : start + step]
        squared, error = training.squared.block(features[block], memory[: len(block)])
        done = 0
        for rows, columns in class_runs(training, predicted, block):
            part = slice(done, done + len(rows))
            yield rows, columns, squared[part], error[part]
            done = part.stop


def class_runs(training: TrainingSet, predicted: Ints, ordered: Ints) -> Iterator[tuple[Ints, slice]]:
    """Split rows, ordered by their predicted class, where the class changes; yields them with its columns."""
    if len(ordered):
        for rows in np.split(ordered, np.flatnonzero(np.diff(predicted[ordered])) + 1):
            yield rows, training.columns_of(predicted[rows[0]])


def record_nearest(
    found: Nearest,
    training: TrainingSet,
    features: Floats,
    rows: Ints,
    columns: slice,
    squared: Floats,
    error: Floats,
) -> None:
    """Write the nearest inputs of some rows of one predicted class; sets ``squared`` to inf in that class's columns."""
    if columns.stop > columns.start:
        found.same[rows], found.same_row[rows] = _settled(
            training, features, rows, columns.start, squared[:, columns], error
        )
    squared[:, columns] = np.inf
    if columns.stop - columns.start < squared.shape[1]:
        found.other[rows], found.other_row[rows] = _settled(training, features, rows, 0, squared, error)


def _settled(
    training: TrainingSet, features: Floats, rows: Ints, first: int, squared: Floats, error: Floats
) -> tuple[Floats, Ints]:
    """Least distance (m,) and its row number, among all that the rounding error leaves open."""
    limit = squared.min(axis=1) + 2 * error
    at, column = np.divmod(np.flatnonzero(squared <= limit[:, None]), squared.shape[1])
    train_rows = training.order[first + column]
    distances = pairwise_l2(features, rows[at], training.features, train_rows)
    # By input, then distance, then row number: the first of each input is its nearest.
    order = np.lexsort((train_rows, distances, at))
    firsts = order[np.searchsorted(at, np.arange(len(rows)))]
    return distances[firsts], train_rows[firsts]


def _scan(found: Nearest, training: TrainingSet, features: Floats, rows: Ints, columns: slice, distance: str) -> None:
    """Write the nearest inputs of some rows of one predicted class, by differences alone."""
    step = max(1, CACHED_ELEMENTS // max(features.shape[1], 1))
    same, other = (found.same, found.same_row), (found.other, found.other_row)
    spans = (
        (columns.start, columns.stop, same),
        (0, columns.start, other),
        (columns.stop, len(training.order), other),
    )
    for first, last, (least, row) in spans:
        for start in range(first, last, step):
            train_rows = training.order[start : min(start + step, last)]
            block = training.features[train_rows]
            gaps = np.empty_like(block)
            for i in rows:
                np.abs(np.subtract(block, features[i], out=gaps), out=gaps)
                values = gaps.sum(axis=1) if distance == "l1" else gaps.max(axis=1, initial=0.0)
                j = int(np.argmin(values))
                if values[j] < least[i]:
                    least[i], row[i] = values[j], train_rows[j]
