"""What the Geometry page shows of a split, on a worker's arrays: separations of both parts, and what decides one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.calibrators.geometric import MAPS, fit_success_map
from calib.calibrators.geometric.search import TrainingSet, nearest
from calib.calibrators.geometric.success_map import SuccessMap
from calib.diagnostics.reliability import default_bins
from calib.diagnostics.separation import (
    EXACT,
    Bools,
    Explanation,
    Measured,
    SeparationHistogram,
    Sides,
    SuccessRates,
    explain,
    measured_separation,
    separation_histogram,
    success_rates,
)
from calib.numerics import Floats, Ints, softmax

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
