"""Geometric separation of test rows: accuracy by separation, and what decides that of single inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.calibrators.geometric import MAPS, SuccessMap, fit_success_map
from calib.calibrators.geometric.search import TrainingSet, exact, nearest
from calib.diagnostics.histograms import Frequencies, SidedCounts, frequencies, sided_counts
from calib.diagnostics.reliability import default_bins
from calib.metrics.bootstrap import Interval, share_interval
from calib.numerics import Floats, Ints, blocks, softmax

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RightShare:
    """Number of rows, of correct ones, and their share with its 95 % Wilson interval (NaN for no rows)."""

    rows: int
    right: int
    rate: Interval

    @classmethod
    def from_correct(cls, right: Bools) -> RightShare:
        """Count (m,) rows."""
        rows = len(right)
        hits = int(right.sum())
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
        threshold = float(
            np.sort(separation)[len(separation) // 2]
        )  # a value that occurs: means of infinities do not
        safe = separation > 0
        inside = separation >= threshold
        shares = (
            RightShare.from_correct(right[group]) for group in (slice(None), safe, ~safe, inside)
        )
        everyone, of_safe, of_dangerous, of_inside = shares
        return cls(everyone, of_safe, of_dangerous, of_inside, threshold)


def success_rates(separation: Floats, right: Bools, n_bins: int) -> Frequencies:
    """Accuracy in at most ``n_bins`` bins of separation (Chouraqui et al. 2023, figure 5).

    Parameters
    ----------
    separation, right : (n,) separations, which may be infinite, and whether each prediction was right.
    """
    finite = within_finite(separation)
    edges = np.unique(np.sort(finite)[np.arange(1, n_bins) * len(finite) // n_bins])
    return frequencies(finite, right, edges)


def within_finite(separation: Floats) -> Floats:
    """Separations with infinite ones moved to the least or largest finite one; to -1 and 1 where there is none."""
    finite = separation[np.isfinite(separation)]
    low, high = (finite.min(), finite.max()) if len(finite) else (-1.0, 1.0)
    return np.clip(separation, low, high)


@dataclass(frozen=True)
class Explanation:
    """Training rows that decide the separations of one input; None where there is none.

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
        """Return whether the nearest training input is of the predicted class (definition 1); a tie is dangerous."""
        return self.fast > 0


def explain(training: TrainingSet, feature: Any, predicted: int) -> Explanation:
    """Say what decides the separations of one input (...), for which a class is predicted."""
    result = exact(
        training, *training.queries(np.asarray(feature).reshape(1, -1), np.array([predicted]))
    )
    fields: dict[str, Any] = {
        name: float(getattr(result, name)[0]) for name in ("same", "other", "fast", "exact")
    }
    for name in ("same_row", "other_row", "deciding_same_row", "deciding_other_row"):
        row = int(getattr(result, name)[0])
        fields[name] = row if row >= 0 else None
    return Explanation(**fields)


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
    sides, rates, histogram : of the same rows; the histogram tells safe from dangerous ones.
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
    rates: Frequencies
    histogram: SidedCounts
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
    finite = learned.separation[np.isfinite(learned.separation)]
    limits = (float(finite.min()), float(finite.max())) if len(finite) else (-1.0, 1.0)
    within = np.clip(learned.separation, *limits)
    right = predicted == labels
    histogram = sided_counts(within_finite(test.separation), right, 0.0)
    return SeparationStudy(
        test,
        learned,
        predicted,
        labels,
        confidence,
        Sides.from_separations(test.separation, right),
        success_rates(test.separation, right, default_bins(len(test.rows))),
        histogram,
        np.linspace(histogram.edges[0], histogram.edges[-1], POINTS),
        {name: fit_success_map(name, within, other_predicted == other_labels) for name in MAPS},
        limits,
        {way: listed(way, test.separation, right, confidence) for way in WAYS},
    )


def listed(way: str, separation: Floats, right: Bools, confidence: Floats) -> Ints:
    """Places of rows in the order of one of ``WAYS``, at most ``LISTED``; all arrays are (m,)."""
    if way == "Lowest separation":
        keys = separation
        group = np.ones(len(right), dtype=bool)
    elif way == "Wrong and most confident":
        keys, group = -confidence, ~right
    else:
        keys = -separation
        group = ~right & (separation > 0)
    places = np.flatnonzero(group)
    return places[np.argsort(keys[places], kind="stable")[:LISTED]]


NEIGHBOURS = 40
"""Nearest training inputs of the predicted class, and of all others, that a neighbourhood has."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Training inputs around an input, in their two principal axes.

    A place lies in the direction of its projection and at the full distance from the input, so that the circle of the
    zone separates inputs within it from those beyond it. In two dimensions places are the inputs themselves, rotated.

    Attributes
    ----------
    rows : (m,) training rows, nearest first.
    places : (m, 2) where each lies with the input at the origin; the input of the first lies to the right and above.
    same : (m,) whether each is of the predicted class.
    share : part of the squared distances from the input that the two axes have.
    """

    rows: Ints
    places: Floats
    same: Bools
    share: float


def neighbourhood(
    training: TrainingSet, feature: Any, predicted: int, rows: Sequence[int] = ()
) -> Neighbourhood:
    """Return the nearest training inputs of both sides in their two principal axes (Chouraqui et al. 2023, figure 1).

    Parameters
    ----------
    training : the training set.
    feature : (...) the input.
    predicted : the class predicted for it.
    rows : further training rows to include.
    """
    queries, _ = training.queries(np.asarray(feature).reshape(1, -1), np.array([predicted]))
    centre = queries[0].astype(np.float64)
    distance = np.concatenate(
        [
            np.linalg.norm(training.features[part] - centre, axis=1)
            for part in blocks(*training.features.shape)
        ]
    )
    same = training.labels == predicted
    near = [
        side[np.argsort(distance[side], kind="stable")[:NEIGHBOURS]]
        for side in (np.flatnonzero(same), np.flatnonzero(~same))
    ]
    union = np.unique(np.concatenate([*near, np.array(rows, dtype=int)]))
    union = union[np.argsort(distance[union], kind="stable")]
    gaps = training.features[union] - centre
    axes = np.linalg.svd(gaps - gaps.mean(axis=0), full_matrices=False)[2][:2]
    projected = np.zeros((len(union), 2))
    projected[:, : len(axes)] = gaps @ axes.T
    projected *= np.where(projected[0] < 0, -1.0, 1.0)
    length = np.linalg.norm(projected, axis=1, keepdims=True)
    direction = np.divide(projected, length, out=np.zeros_like(projected), where=length > 0)
    total = float(np.sum(gaps**2))
    share = float(np.sum(projected**2)) / total if total else 1.0
    return Neighbourhood(union, direction * distance[union, None], same[union], share)


@dataclass(frozen=True, eq=False)
class ExplainedInput:
    """Explanation of the separation of a test row.

    Attributes
    ----------
    number, predicted, label, confidence : of the row, and what the raw model says of it.
    why : what decides.
    separation : of the kind asked for.
    away : distance of each training row that decides.
    around : training inputs near it, with those that decide.
    """

    number: int
    predicted: int
    label: int
    confidence: float
    why: Explanation
    separation: float
    away: dict[int, float]
    around: Neighbourhood


def explain_input(number: int, kind: str, *, data: Arrays) -> ExplainedInput:
    """Say what decides the separation of a test row."""
    training = _training(data)
    feature = data["features"][[number]]
    probs = softmax(np.asarray(data["logits"][[number]], dtype=float))[0]
    predicted = int(probs.argmax())
    why = explain(training, feature[0], predicted)
    separation = why.fast if kind == "l2" else why.exact
    if kind not in ("l2", EXACT):
        separation = float(
            nearest(training, *training.queries(feature, np.array([predicted])), kind).fast[0]
        )
    rows = sorted(
        {
            row
            for row in (why.same_row, why.other_row, why.deciding_same_row, why.deciding_other_row)
            if row is not None
        }
    )
    flat = np.asarray(feature).reshape(-1).astype(training.features.dtype)
    away = np.linalg.norm(training.features[rows].astype(np.float64) - flat, axis=1)
    return ExplainedInput(
        number,
        predicted,
        int(data["labels"][number]),
        float(probs[predicted]),
        why,
        separation,
        dict(zip(rows, away.tolist(), strict=True)),
        neighbourhood(training, feature[0], predicted, rows),
    )


def _training(data: Arrays) -> TrainingSet:
    return TrainingSet.from_arrays(data["train_features"], data["train_labels"])


def _measured(
    training: TrainingSet, kind: str, data: Arrays, part: str = ""
) -> tuple[Measured, Ints, Ints, Floats]:
    """Separations of the rows of a part; and of those the predicted classes, the labels and the confidences."""
    logits = data[f"{part}logits"]
    measured = measured_separation(
        training, data[f"{part}features"], np.argmax(logits, axis=1), kind
    )
    probs = softmax(np.asarray(logits[measured.rows], dtype=float))
    return measured, probs.argmax(axis=1), data[f"{part}labels"][measured.rows], probs.max(axis=1)
