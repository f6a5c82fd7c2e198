"""Geometric separation of test rows: accuracy by separation, and what decides that of single inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.calibrators.geometric import MAPS, fit_success_map
from calib.calibrators.geometric.search import TrainingSet, exact, nearest
from calib.calibrators.geometric.success_map import SuccessMap
from calib.diagnostics.reliability import default_bins
from calib.metrics.bootstrap import Interval, share_interval, wilson_interval
from calib.numerics import Floats, Ints, softmax

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


def explain(training: TrainingSet, feature: Any, predicted: int) -> Explanation:
    """Say what decides the separations of one input (...), for which a class is predicted."""
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


EXACT = "exact"
SEARCHED = {"l2": 2e9, "l1": 1e9, "linf": 1e9, EXACT: 2e8}
"""Numbers of training inputs that all inputs together are held against, about a second's worth, by kind."""
LEAST = 60
"""Inputs that are looked at however large the training set: rates of fewer say nothing."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Separations of inputs, or of a random draw of them where the training set is large.

    Attributes
    ----------
    rows : (m,) row numbers, ascending.
    separation : (m,) may be infinite.
    n : how many inputs there were.
    """

    rows: Ints
    separation: Floats
    n: int


def measured_separation(
    training: TrainingSet, features: Any, predicted: Ints, kind: str, random_state: int = 0
) -> Measured:
    """Separations of as many inputs, drawn at random, as can be held against the training set in about a second.

    Parameters
    ----------
    training : the training set.
    features, predicted : (n, ...) and (n,) the inputs, and the class predicted for each.
    kind : "l2", "l1" or "linf" for fast separation, or "exact".
    random_state : seed of the draw.
    """
    n = len(predicted)
    most = max(LEAST, int(SEARCHED[kind] // training.features.size))
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng(random_state).choice(n, most, replace=False))
    queries = training.queries(features[rows], predicted[rows])
    if kind == EXACT:
        return Measured(rows, exact(training, *queries).exact, n)
    return Measured(rows, nearest(training, *queries, kind).fast, n)


Arrays = Mapping[str, Any]

POINTS = 200
LISTED = 50
WAYS = ("Lowest separation", "Wrong and most confident", "Wrong though safe")
"""Orders of test rows that are worth a look."""


@dataclass(frozen=True, eq=False)
class SeparationStudy:
    """A split under one kind of separation.

    Attributes
    ----------
    test, learned : separations of the test rows, and of the calibration rows that maps are learned from.
    predicted, labels, confidence : (m,) of the test rows that were measured.
    sides, rates, histogram : of the same rows.
    grid : (POINTS,) separations at which maps are drawn: all that test rows have.
    maps : each of ``MAPS``, learned between the ``limits`` of the calibration rows.
    listed : of each of ``WAYS`` the places of the first rows among those measured, at most ``LISTED``.
    """

    test: Measured
    learned: Measured
    predicted: Ints
    labels: Ints
    confidence: Floats
    sides: Sides
    rates: SuccessRates
    histogram: SeparationHistogram
    grid: Floats
    maps: dict[str, SuccessMap]
    limits: tuple[float, float]
    listed: dict[str, Ints]

    def map_at(self, name: str, separation: Floats) -> Floats:
        """Success rate that a map gives separations."""
        return self.maps[name].apply(np.clip(separation, *self.limits))


def study_separations(kind: str, *, data: Arrays) -> SeparationStudy:
    """Measure the separations of both parts and learn the maps.

    Parameters
    ----------
    kind : "l2", "l1", "linf" or "exact".
    """
    training = _training(data)
    test, predicted, labels, confidence = _measured(training, kind, data)
    learned, other_predicted, other_labels, _ = _measured(training, kind, data, "calibration_")
    known = learned.separation[np.isfinite(learned.separation)]
    limits = (float(known.min()), float(known.max())) if len(known) else (-1.0, 1.0)
    within, right = np.clip(learned.separation, *limits), predicted == labels
    histogram = separation_histogram(test.separation, right)
    return SeparationStudy(
        test, learned, predicted, labels, confidence,
        Sides.from_separations(test.separation, right),
        success_rates(test.separation, right, default_bins(len(test.rows))),
        histogram,
        np.linspace(histogram.edges[0], histogram.edges[-1], POINTS),
        {name: fit_success_map(name, within, other_predicted == other_labels) for name in MAPS},
        limits,
        {way: listed(way, test.separation, right, confidence) for way in WAYS},
    )  # fmt: skip


def listed(way: str, separation: Floats, right: Bools, confidence: Floats) -> Ints:
    """Places of rows in the order of one of ``WAYS``, at most ``LISTED``; all arrays are (m,)."""
    if way == "Lowest separation":
        keys, group = separation, np.ones(len(right), dtype=bool)
    elif way == "Wrong and most confident":
        keys, group = -confidence, ~right
    else:
        keys, group = -separation, ~right & (separation > 0)
    places = np.flatnonzero(group)
    return places[np.argsort(keys[places], kind="stable")[:LISTED]]


@dataclass(frozen=True, eq=False)
class ExplainedInput:
    """Why a test row has the separation it has.

    Attributes
    ----------
    number, predicted, label, confidence : of the row, and what the raw model says of it.
    why : what decides.
    separation : of the kind asked for.
    away : distance of each training row that decides.
    """

    number: int
    predicted: int
    label: int
    confidence: float
    why: Explanation
    separation: float
    away: dict[int, float]


def explain_input(number: int, kind: str, *, data: Arrays) -> ExplainedInput:
    """Say what decides the separation of a test row."""
    training = _training(data)
    feature, probs = data["features"][[number]], softmax(np.asarray(data["logits"][[number]], dtype=float))[0]
    predicted = int(probs.argmax())
    why = explain(training, feature[0], predicted)
    separation = why.fast if kind == "l2" else why.exact
    if kind not in ("l2", EXACT):
        separation = float(nearest(training, *training.queries(feature, np.array([predicted])), kind).fast[0])
    rows = sorted({
        row
        for row in (why.same_row, why.other_row, why.deciding_same_row, why.deciding_other_row)
        if row is not None
    })  # fmt: skip
    flat = np.asarray(feature).reshape(-1).astype(training.features.dtype)
    away = np.linalg.norm(training.features[rows].astype(np.float64) - flat, axis=1)
    return ExplainedInput(
        number, predicted, int(data["labels"][number]), float(probs[predicted]), why, separation,
        dict(zip(rows, away.tolist(), strict=True)),
    )  # fmt: skip


def _training(data: Arrays) -> TrainingSet:
    return TrainingSet.from_arrays(data["train_features"], data["train_labels"])


def _measured(training: TrainingSet, kind: str, data: Arrays, part: str = "") -> tuple[Measured, Ints, Ints, Floats]:
    """Separations of the rows of a part; and of those the predicted classes, the labels and the confidences."""
    logits = data[f"{part}logits"]
    found = measured_separation(training, data[f"{part}features"], np.argmax(logits, axis=1), kind)
    probs = softmax(np.asarray(logits[found.rows], dtype=float))
    return found, probs.argmax(axis=1), data[f"{part}labels"][found.rows], probs.max(axis=1)
