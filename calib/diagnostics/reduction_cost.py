"""Speed and calibration error of reduced training sets (Chouraqui et al. 2023, section 5)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np

from calib.base import Callback, no_callback
from calib.calibrators.geometric import Geometric
from calib.calibrators.geometric.reductions import REDUCTIONS
from calib.data import Predictions
from calib.evaluation import Evaluation, score_intervals
from calib.metrics.binning import bin_edges
from calib.metrics.bootstrap import Interval, interval_of_draws, reflect
from calib.numerics import Floats, bin_index
from calib.registry import extras_for

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
    calibration: Predictions, test: Predictions, reduction: str, factor: int, callback: Callback = no_callback
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
            train_features=calibration.train_features, train_labels=calibration.train_labels, callback=callback,
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
