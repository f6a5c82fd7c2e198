"""Geometric separation of test rows: accuracy by separation, explanations of single inputs, and its cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.calibrators.geometric.search import TrainingSet, exact, nearest
from calib.metrics.bootstrap import Interval, share_interval, wilson_interval
from calib.numerics import Floats, Ints

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SuccessRates:
    """Rows in bins of their separation, of about equally many each.

    Attributes
    ----------
    separation : (n_bins,) mean, of infinite values the least or largest finite one.
    least, largest : (n_bins,) ends of the values within each bin.
    right, rows : (n_bins,) right predictions, and all.
    low, high : (n_bins,) 95 % Wilson interval of the success rate.
    """

    separation: Floats
    least: Floats
    largest: Floats
    right: Ints
    rows: Ints
    low: Floats
    high: Floats

    @property
    def rate(self) -> Floats:
        """Share of right predictions in each bin."""
        return self.right / self.rows


@dataclass(frozen=True)
class RightShare:
    """How many rows there are, how many are right, and the share with its 95 % Wilson interval (NaN for no rows)."""

    rows: int
    right: int
    rate: Interval

    @classmethod
    def from_correct(cls, right: Bools) -> RightShare:
        """Count (m,) rows."""
        rows, hits = len(right), int(right.sum())
        return cls(rows, hits, share_interval(hits, rows))


@dataclass(frozen=True)
class Sides:
    """The rows as definition 1 of Chouraqui et al. (2023) divides them, and those that lie well inside their class.

    Attributes
    ----------
    everyone : all rows.
    safe : rows of positive separation; ``dangerous``, all others.
    inside : rows whose separation is at least ``threshold``, the median of all.
    """

    everyone: RightShare
    safe: RightShare
    dangerous: RightShare
    inside: RightShare
    threshold: float

    @classmethod
    def from_separations(cls, separation: Floats, right: Bools) -> Sides:
        """Count (n,) separations, which may be infinite, with whether the predictions were right."""
        threshold = float(np.sort(separation)[len(separation) // 2])  # a value that occurs: means of infinities do not
        safe, inside = separation > 0, separation >= threshold
        shares = (RightShare.from_correct(right[group]) for group in (slice(None), safe, ~safe, inside))
        everyone, of_safe, of_dangerous, of_inside = shares
        return cls(everyone, of_safe, of_dangerous, of_inside, threshold)


@dataclass(frozen=True, eq=False)
class SeparationHistogram:
    """Counts of separations; no bin holds safe and dangerous rows, since 0 is an edge wherever it is among them.

    Attributes
    ----------
    edges : (n_bins + 1,) of equal width; the end bins also hold infinite values.
    right, wrong : (n_bins,) rows.
    """

    edges: Floats
    right: Ints
    wrong: Ints


def success_rates(separation: Floats, right: Bools, n_bins: int) -> SuccessRates:
    """Success rates in bins of separation (Chouraqui et al. 2023, figure 5).

    Parameters
    ----------
    separation : (n,) may be infinite.
    right : (n,) whether each prediction was right.
    n_bins : at most so many; equal values share a bin.
    """
    finite = within_finite(separation)
    ordered = np.sort(finite)
    cuts = np.unique(ordered[np.arange(1, n_bins) * len(ordered) // n_bins])
    cuts = cuts[cuts > ordered[0]]
    cell = np.searchsorted(cuts, finite, side="right")
    rows = np.bincount(cell, minlength=len(cuts) + 1)
    hits = np.bincount(cell[right], minlength=len(rows))
    low, high = wilson_interval(hits, rows)
    start = np.searchsorted(ordered, cuts, side="left")
    least, largest = ordered[np.r_[0, start]], ordered[np.r_[start, len(ordered)] - 1]
    mean = np.clip(np.bincount(cell, weights=finite) / rows, least, largest)  # rounding must not leave the bin
    return SuccessRates(mean, least, largest, hits, rows, low, high)


def separation_histogram(separation: Floats, right: Bools, n_bins: int = 40) -> SeparationHistogram:
    """Histogram of (n,) separations, which may be infinite, of right and of wrong predictions."""
    finite = within_finite(separation)
    low, high = float(finite.min()), float(finite.max())
    size = max(abs(low), abs(high))
    size = size if size > 1e-300 else 1.0
    # Values that differ by rounding alone have no histogram, and would have too fine a grid.
    width = (high - low if high - low > 1e-9 * size else size) / n_bins
    edges = width * np.arange(np.floor(low / width), np.floor(high / width) + 2)
    cell = np.searchsorted(edges[1:-1], finite, side="right")
    counts = [np.bincount(cell[rows], minlength=len(edges) - 1) for rows in (right, ~right)]
    return SeparationHistogram(edges, *counts)


def within_finite(separation: Floats) -> Floats:
    """Separations with infinite ones moved to the least or largest finite one; to -1 and 1 where there is none."""
    known = separation[np.isfinite(separation)]
    low, high = (known.min(), known.max()) if len(known) else (-1.0, 1.0)
    return np.clip(separation, low, high)


@dataclass(frozen=True)
class Explanation:
    """What decides the separations of one input; rows are of the training set, None where there is none.

    Attributes
    ----------
    same, other : distance (L2) to the nearest training input of the predicted class, and of another class.
    same_row, other_row : their rows.
    fast, exact : the separations.
    deciding_same_row, deciding_other_row : the pair x', x'' that gives the exact value: the plane half-way between
        them bounds the zone.
    """

    same: float
    other: float
    same_row: int | None
    other_row: int | None
    fast: float
    exact: float
    deciding_same_row: int | None
    deciding_other_row: int | None

    @property
    def safe(self) -> bool:
        """Whether the nearest training input is of the predicted class (definition 1); a tie is dangerous."""
        return self.fast > 0


def explain(train_features: Any, train_labels: Any, feature: Any, predicted: int) -> Explanation:
    """Say what decides the separations of one input.

    Parameters
    ----------
    train_features : (N, ...) numbers; images are flattened.
    train_labels : (N,) integers.
    feature : (...) one input.
    predicted : the class predicted for it.
    """
    return explain_among(TrainingSet.from_arrays(train_features, train_labels), feature, predicted)


def explain_among(training: TrainingSet, feature: Any, predicted: int) -> Explanation:
    """The same for a training set that is ready to be searched."""
    result = exact(training, *training.queries(np.asarray(feature).reshape(1, -1), np.array([predicted])))
    rows = (result.same_row, result.other_row, result.deciding_same_row, result.deciding_other_row)
    same_row, other_row, deciding_same, deciding_other = (int(row[0]) if row[0] >= 0 else None for row in rows)
    return Explanation(
        same=float(result.same[0]),
        other=float(result.other[0]),
        same_row=same_row,
        other_row=other_row,
        fast=float(result.fast[0]),
        exact=float(result.exact[0]),
        deciding_same_row=deciding_same,
        deciding_other_row=deciding_other,
    )


MOST_POINTS = 1000
MOST_NUMBERS = 20_000_000
"""At most so many numbers of the training set are looked at for its principal components."""


@dataclass(frozen=True, eq=False)
class DecidingPlane:
    """The plane through an input x, at the origin, and the pair x', x'' that decides its separation.

    The first axis points from x' to x''. All distances among the three are true, and so is that of x from the plane
    half-way between x' and x'', which stands on this one as the line ``axis = border``: their exact separation.

    Attributes
    ----------
    same, other : (2,) coordinates of x' and x''.
    border : where the half-way line cuts the first axis.
    """

    same: Floats
    other: Floats
    border: float

    @classmethod
    def through(cls, feature: Floats, same: Floats, other: Floats) -> DecidingPlane:
        """The plane of three points (d,), of which the last two differ."""
        to_same, to_other = (point.astype(np.float64) - feature for point in (same, other))
        normal = to_other - to_same
        normal /= np.linalg.norm(normal)
        height = float(np.linalg.norm(to_same - (to_same @ normal) * normal))
        ends = np.array([to_same @ normal, height]), np.array([to_other @ normal, height])
        return cls(*ends, float(ends[0][0] + ends[1][0]) / 2)


@dataclass(frozen=True, eq=False)
class PrincipalPlane:
    """Training inputs on their first two principal components.

    Attributes
    ----------
    rows : (m,) rows of the training set that are shown; a seeded draw where there are more.
    places : (m, 2) where they lie.
    mean : (d,) and ``components`` : (2, d), zero where the data have fewer dimensions.
    kept : share of the variance along both.
    """

    rows: Ints
    places: Floats
    mean: Floats
    components: Floats
    kept: float

    def place(self, features: Floats) -> Floats:
        """Inputs (n, d) on the plane, (n, 2); never farther apart than they are."""
        return (features.astype(np.float64) - self.mean) @ self.components.T


def principal_plane(training: TrainingSet) -> PrincipalPlane:
    """First two principal components of the training inputs, or of a seeded draw of up to 1,000."""
    n, d = training.features.shape
    m = min(n, MOST_POINTS, max(2, MOST_NUMBERS // max(d, 1)))
    rows = np.sort(np.random.default_rng(0).choice(n, m, replace=False))
    points = training.features[rows].astype(np.float64)
    mean = points.mean(axis=0)
    points -= mean
    components = np.zeros((2, d))
    # The smaller of both products of the data with themselves has the same largest eigenvalues.
    few_rows = m < d
    values, vectors = np.linalg.eigh(points @ points.T if few_rows else points.T @ points)
    for axis in range(min(2, len(values))):
        if values[-1 - axis] > 1e-12 * max(values[-1], 1e-300):
            direction = points.T @ vectors[:, -1 - axis] if few_rows else vectors[:, -1 - axis]
            components[axis] = direction / np.linalg.norm(direction)
    total = float(np.clip(values, 0, None).sum())
    kept = float(values[-2:].sum()) / total if total > 0 else 1.0
    return PrincipalPlane(rows, points @ components.T, mean, components, kept)


EXACT = "exact"
FIRST = {"l2": 64}
"""Inputs of the first block; BLAS wants some company. Other kinds take them one by one and begin with ``FEW``."""
FEW = 8
GROWTH = 4
"""Beyond ``LEAST`` inputs a block is at most so many times as large as all before it, never larger than ``MOST``."""
MOST = 1024
LEAST = 60
"""Inputs that are looked at whatever the time: rates and correlations of fewer say nothing."""


@dataclass(frozen=True, eq=False)
class Timed:
    """Separations of a seeded draw of inputs.

    Attributes
    ----------
    rows : (m,) row numbers, ascending.
    separation : (m,) may be infinite.
    fast : (m,) fast separations (L2) of the same rows where ``separation`` is exact, else the same numbers.
    n : how many inputs there were.
    cpu_seconds : of this thread, and of the numerical libraries where these were told to use one.
    """

    rows: Ints
    separation: Floats
    fast: Floats
    n: int
    cpu_seconds: float

    @property
    def whole(self) -> bool:
        """Whether all inputs were reached."""
        return len(self.rows) == self.n

    @property
    def per_second(self) -> float:
        """Inputs for each second of processor time."""
        return len(self.rows) / max(self.cpu_seconds, 1e-9)


def timed_separation(
    training: TrainingSet, features: Floats, predicted: Ints, kind: str, seconds: float, random_state: int = 0
) -> Timed:
    """Separations in a seeded order until the time is up; at least ``LEAST`` of them where there are as many.

    Parameters
    ----------
    training : the training set.
    features, predicted : as :meth:`TrainingSet.queries` returns them.
    kind : an entry of ``DISTANCES`` for fast separation, or "exact".
    seconds : wall-clock time after which no further block is begun.
    random_state : seed of the order.
    """
    n = len(features)
    order = np.random.default_rng(random_state).permutation(n)
    if kind in ("l2", EXACT):
        _ = training.points  # made once for all inputs
    fast, separation = np.empty(n), np.empty(n)
    begun, cpu, done, size = time.perf_counter(), time.thread_time(), 0, FIRST.get(kind, FEW)
    while done < n:
        rows = order[done : done + size]
        if kind == EXACT:
            result = exact(training, features[rows], predicted[rows])
            fast[rows], separation[rows] = result.fast, result.exact
        else:
            fast[rows] = separation[rows] = nearest(training, features[rows], predicted[rows], kind).fast
        done += len(rows)
        elapsed = time.perf_counter() - begun
        if elapsed >= seconds and done >= LEAST:
            break
        # No block longer than the time left, judged by the rate so far.
        size = int(np.clip(done / max(elapsed, 1e-9) * (seconds - elapsed), 1, min(GROWTH * done, MOST)))
        size = max(size, LEAST - done)
    spent = time.thread_time() - cpu
    rows = np.sort(order[:done])
    return Timed(rows, separation[rows], fast[rows], n, spent)
