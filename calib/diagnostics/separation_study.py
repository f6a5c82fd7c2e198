"""Separations of the rows of a split and of single inputs, from a worker's arrays: all that the Geometry page draws.

The arrays are ``features``, ``logits`` and ``labels`` of the test rows, the same of the calibration rows with
``calibration_`` before their names, ``train_features`` and ``train_labels``.
Reductions of the training set are measured on predictions, as ``calibration`` and ``test``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np

from calib.base import Progress, silent
from calib.calibrators.geometric import MAPS, Geometric, fit_success_map
from calib.calibrators.geometric.reductions import REDUCTIONS
from calib.calibrators.geometric.search import TrainingSet, nearest
from calib.calibrators.geometric.success_map import SuccessMap
from calib.data import Predictions
from calib.diagnostics.reliability import default_bins
from calib.diagnostics.separation import (
    EXACT,
    Bools,
    DecidingPlane,
    Explanation,
    PrincipalPlane,
    SeparationHistogram,
    Sides,
    SuccessRates,
    Timed,
    explain_among,
    principal_plane,
    separation_histogram,
    success_rates,
    timed_separation,
)
from calib.evaluation import Evaluation, score_intervals
from calib.metrics.binning import bin_edges
from calib.metrics.bootstrap import Interval, interval_of_draws, reflect
from calib.numerics import Floats, Ints, bin_index, softmax
from calib.registry import extras_for

Arrays = Mapping[str, Any]

POINTS = 200
LISTED = 50
MOST_DOTS = 2000
LEAST_CORRELATED = 30
"""Rows from which a correlation is said; of fewer it may be anything."""
WAYS = ("Lowest separation", "Wrong and most confident", "Wrong though safe")
"""Orders of test rows that are worth a look."""


@dataclass(frozen=True, eq=False)
class SeparationStudy:
    """A split under one kind of separation.

    Attributes
    ----------
    test, learned : separations of the test rows, and of the calibration rows that maps are learned from.
    sides, rates, histogram : of the test rows.
    grid : (POINTS,) separations at which maps are drawn: all that test rows have.
    maps : each of ``MAPS``, learned between the ``limits`` of the calibration rows.
    listed : of each of ``WAYS`` the first rows with their separations, at most ``LISTED``.
    """

    test: Timed
    learned: Timed
    sides: Sides
    rates: SuccessRates
    histogram: SeparationHistogram
    grid: Floats
    maps: dict[str, SuccessMap]
    limits: tuple[float, float]
    listed: dict[str, tuple[Ints, Floats]]

    def map_at(self, name: str, separation: Floats) -> Floats:
        """Success rate that a map gives separations."""
        return self.maps[name].apply(np.clip(separation, *self.limits))


def study_separations(kind: str, seconds: float, *, data: Arrays) -> SeparationStudy:
    """Measure the separations of both parts, each for some seconds at most, and learn the maps.

    Parameters
    ----------
    kind : "l2", "l1", "linf" or "exact".
    seconds : as for :func:`calib.diagnostics.separation.timed_separation`.
    """
    training = _training(data)
    test, right, confidence = _measured(training, kind, seconds, data)
    learned, learned_right, _ = _measured(training, kind, seconds, data, "calibration_")
    known = learned.separation[np.isfinite(learned.separation)]
    limits = (float(known.min()), float(known.max())) if len(known) else (-1.0, 1.0)
    within = np.clip(learned.separation, *limits)
    histogram = separation_histogram(test.separation, right)
    return SeparationStudy(
        test, learned,
        Sides.from_separations(test.separation, right),
        success_rates(test.separation, right, default_bins(len(test.rows))),
        histogram,
        np.linspace(histogram.edges[0], histogram.edges[-1], POINTS),
        {name: fit_success_map(name, within, learned_right) for name in MAPS},
        limits,
        {way: listed(way, test.rows, test.separation, right, confidence) for way in WAYS},
    )  # fmt: skip


def listed(way: str, rows: Ints, separation: Floats, right: Bools, confidence: Floats) -> tuple[Ints, Floats]:
    """Rows in the order of one of ``WAYS`` with their separations, at most ``LISTED``; all arrays are (m,)."""
    if way == "Lowest separation":
        keys, group = separation, np.ones(len(rows), dtype=bool)
    elif way == "Wrong and most confident":
        keys, group = -confidence, ~right
    else:
        keys, group = -separation, ~right & (separation > 0)
    order = np.argsort(keys[group], kind="stable")[:LISTED]
    return rows[group][order], separation[group][order]


@dataclass(frozen=True, eq=False)
class SeparationCosts:
    """Fast separation beside the exact one.

    Attributes
    ----------
    fast, exact : separations of the test rows.
    n : rows for which both are finite.
    correlation : between both; None where there are fewer than ``LEAST_CORRELATED`` rows, or no spread.
    share : of the size of exact separations that fast ones have; None where these are all 0.
    dots : row, fast and exact separation and whether the prediction is right, of at most ``MOST_DOTS`` rows.
    """

    fast: Timed
    exact: Timed
    n: int
    correlation: float | None
    share: float | None
    dots: tuple[Ints, Floats, Floats, Bools]

    @classmethod
    def from_timed(cls, fast: Timed, exact: Timed, right: Bools) -> SeparationCosts:
        """Compare separations, given whether the predictions of the exact one's (m,) rows are right."""
        both = np.isfinite(exact.fast) & np.isfinite(exact.separation)
        a, b = exact.fast[both], exact.separation[both]
        known = len(a) >= LEAST_CORRELATED and a.std() > 0 and b.std() > 0
        size, larger = np.abs(a).sum(), np.abs(b).sum()
        finite = np.flatnonzero(np.isfinite(exact.separation))
        shown = finite[np.unique(np.linspace(0, len(finite) - 1, MOST_DOTS).astype(int))] if len(finite) else finite
        return cls(
            fast,
            exact,
            len(a),
            float(np.corrcoef(a, b)[0, 1]) if known else None,
            float(size / larger) if larger > 0 else None,
            (exact.rows[shown], exact.fast[shown], exact.separation[shown], right[shown]),
        )


def compare_separations(seconds: float, *, data: Arrays) -> SeparationCosts:
    """Fast and exact separations of the test rows, each measured for some seconds at most."""
    training = _training(data)
    fast, _, _ = _measured(training, "l2", seconds, data)
    exact, right, _ = _measured(training, EXACT, seconds, data)
    return SeparationCosts.from_timed(fast, exact, right)


@dataclass(frozen=True, eq=False)
class ExplainedInput:
    """Why a test row has the separation it has.

    Attributes
    ----------
    why : what decides.
    separation : of the kind asked for.
    away : distance of each training row that decides.
    plane : through the input and the pair that decides; None where there is no such pair.
    """

    why: Explanation
    separation: float
    away: dict[int, float]
    plane: DecidingPlane | None


def explain_input(number: int, kind: str, *, data: Arrays) -> ExplainedInput:
    """Say what decides the separation of a test row."""
    training = _training(data)
    feature, predicted = data["features"][[number]], np.array([int(np.argmax(data["logits"][number]))])
    why = explain_among(training, feature[0], int(predicted[0]))
    separation = why.fast if kind == "l2" else why.exact
    if kind not in ("l2", EXACT):
        separation = float(nearest(training, *training.queries(feature, predicted), kind).fast[0])
    flat, pair = _flat(training, feature), (why.deciding_same_row, why.deciding_other_row)
    rows = sorted({row for row in (why.same_row, why.other_row, *pair) if row is not None})
    deciding = [row for row in pair if row is not None]
    away = np.linalg.norm(training.features[rows].astype(np.float64) - flat, axis=1)
    plane = DecidingPlane.through(flat, *training.features[deciding]) if len(deciding) == 2 else None
    return ExplainedInput(why, separation, dict(zip(rows, away.tolist(), strict=True)), plane)


def plane_of_training(*, data: Arrays) -> PrincipalPlane:
    """The training set on its first two principal components."""
    return principal_plane(_training(data))


@dataclass(frozen=True, eq=False)
class PlacedInput:
    """A test row on the plane of the training set's principal components.

    Attributes
    ----------
    place : (2,) of the input.
    spots : (r, 2) of some training rows.
    n_outside : training inputs drawn within the zone of exact separation that lie outside it in truth.
    """

    place: Floats
    spots: Floats
    n_outside: int


def place_input(number: int, plane: PrincipalPlane, rows: Sequence[int], exact: float, *, data: Arrays) -> PlacedInput:
    """Place a test row and some training rows; ``exact`` is its separation."""
    training = _training(data)
    flat = _flat(training, data["features"][[number]])
    place = plane.place(flat[None])[0]
    seen = np.linalg.norm(plane.places - place, axis=1) < abs(exact)
    true = np.linalg.norm(training.features[plane.rows[seen]].astype(np.float64) - flat, axis=1)
    spots = plane.place(training.features[list(rows)])
    return PlacedInput(place, spots, int(np.count_nonzero(true >= abs(exact))))


def _training(data: Arrays) -> TrainingSet:
    return TrainingSet.from_arrays(data["train_features"], data["train_labels"])


def _flat(training: TrainingSet, feature: Any) -> Floats:
    """(d,) of one input (1, ...), in the training set's precision."""
    return np.asarray(feature).reshape(-1).astype(training.features.dtype)


def _measured(
    training: TrainingSet, kind: str, seconds: float, data: Arrays, part: str = ""
) -> tuple[Timed, Bools, Floats]:
    """Separations of the rows of a part, and of those reached whether they are right and how confident."""
    logits, labels = data[f"{part}logits"], data[f"{part}labels"]
    predicted = np.argmax(logits, axis=1)
    timed = timed_separation(training, *training.queries(data[f"{part}features"], predicted), kind, seconds)
    right = predicted[timed.rows] == labels[timed.rows]
    return timed, right, softmax(logits[timed.rows]).max(axis=1)


MOST_ROWS = 1000
"""Calibration rows, and test rows, that are looked at; more would make the intervals narrower but the wait longer."""
MOST_NUMBERS = 2_000_000
"""Numbers of the training set that are looked at: k-means on more takes minutes."""
REPEATS = 3
"""Predictions are timed so often; the quickest says what they cost, all else is other programs."""
N_BINS = 15
OF_ONE_IMAGE = ("mean_pool", "max_pool", "bilinear")


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """One reduction by t.

    Attributes
    ----------
    reduction, factor : its name and t; "none" has 1.
    rows, numbers : training rows left, and numbers of each.
    ece : top-label ECE (15 bins) on the test rows, with its bootstrap interval.
    ece_draws : (n_resamples,) what it may be in truth; the same resamples for all of one test set.
    per_second : predictions for each second of processor time, everything included.
    """

    reduction: str
    factor: int
    rows: int
    numbers: int
    ece: Interval
    ece_draws: Floats
    per_second: float

    def difference(self, baseline: Tradeoff) -> Interval:
        """Interval of this ECE minus another one's on the same test rows."""
        return interval_of_draws(self.ece.value - baseline.ece.value, self.ece_draws - baseline.ece_draws)


def offered_reductions(features: Any) -> list[str]:
    """Reductions that features (n, ...) can have; those of images read rows of numbers as square images."""
    shape = np.shape(features)
    square = len(shape) == 2 and isqrt(shape[1]) ** 2 == shape[1]
    images = len(shape) == 3 or (len(shape) == 4 and shape[3] in (1, 3, 4))
    return [name for name in REDUCTIONS if name != "none" and (images or square or name not in OF_ONE_IMAGE)]


def subsets(calibration: Predictions, test: Predictions, random_state: int = 0) -> tuple[Predictions, Predictions]:
    """Both parts with so few rows, and so small a training set, that each reduction takes about a second.

    Parameters
    ----------
    calibration, test : with features and the same training set.
    random_state : seed of the draws.
    """
    generator = np.random.default_rng(random_state)
    training = extras_for(Geometric(), calibration)
    train, labels = training["train_features"], training["train_labels"]
    most = max(100, MOST_NUMBERS // max(1, int(np.prod(train.shape[1:]))))
    chosen = _draw(generator, len(train), most)
    train, labels = (train, labels) if len(chosen) == len(train) else (train[chosen], labels[chosen])
    parts = [part.take(_draw(generator, len(part), MOST_ROWS)) for part in (calibration, test)]
    first, second = (replace(part, train_features=train, train_labels=labels) for part in parts)
    return first, second


def _draw(generator: np.random.Generator, n: int, most: int) -> np.ndarray:
    return np.arange(n) if n <= most else np.sort(generator.choice(n, most, replace=False))


def measure_reduction(
    calibration: Predictions, test: Predictions, reduction: str, factor: int, progress: Progress = silent
) -> Tradeoff:
    """Fit :class:`Geometric` with fast separation and an isotonic map, and see how fast and how calibrated it is.

    Parameters
    ----------
    calibration, test : with features and a training set.
    reduction, factor : as in :func:`calib.calibrators.geometric.reductions.reduce_training`.
    """
    from threadpoolctl import threadpool_limits

    fitted = Geometric(reduction=reduction, factor=factor)
    with threadpool_limits(1, "blas"):  # so that the time of this thread is all the time there is
        fitted.fit(
            calibration.logits, calibration.labels, features=calibration.features,
            train_features=calibration.train_features, train_labels=calibration.train_labels, progress=progress,
        )  # fmt: skip
        spent = []
        for _ in range(REPEATS):
            begun = time.thread_time()
            fitted.predict_confidence(test.logits, features=test.features)
            spent.append(time.thread_time() - begun)
        verdict = Evaluation.from_predictions(fitted, test, "top-label")
    rows, numbers = fitted.carried_
    per_second = len(test) / max(min(spent), 1e-9)
    return Tradeoff(reduction, factor, rows, numbers, *_resampled_ece(verdict), per_second)


def measured_of_rows(reduction: str, factor: int, *, data: Mapping[str, Any]) -> Tradeoff:
    """:func:`measure_reduction` on the ``calibration`` and ``test`` rows that a worker was given."""
    return measure_reduction(data["calibration"], data["test"], reduction, factor)


def _resampled_ece(verdict: Evaluation) -> tuple[Interval, Floats]:
    """The ECE with its interval as :func:`calib.evaluation.score_intervals` has it, and draws for differences."""
    confidence = verdict.confidence
    index = bin_index(confidence, bin_edges(confidence, N_BINS, "equal_width"))
    resamples = verdict.resamples()
    gaps = resamples.groups.sums_by(index, N_BINS, confidence - verdict.correct)
    value = float(np.abs(gaps.sum(axis=0)).sum()) / len(verdict)
    again = np.abs(resamples.resample(gaps)).sum(axis=1) / resamples.resample(resamples.groups.sums(None))
    draws = reflect(value, again, squared=True)
    return score_intervals(verdict)["ECE"], draws
