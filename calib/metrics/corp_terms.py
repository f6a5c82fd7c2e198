"""The CORP decomposition of the Brier score, and draws of the outcomes that a calibrated model would have had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.metrics.binning import equal_mass_edges
from calib.metrics.confidence import Bools, check_weights, scikit_words, target_pair, weighted_mean
from calib.numerics import Floats, Ints, are_apart, bin_index, log_odds_of


@dataclass(frozen=True)
class Decomposition:
    """``score = miscalibration - discrimination + uncertainty``, to rounding.

    Attributes
    ----------
    score : float
        Mean squared error of the confidences as forecasts of "this prediction is right".
    miscalibration : float
        By how much the best monotone recalibration would lower it; 0 or above.
    discrimination : float
        By how much that recalibration is better than saying the accuracy to every row; 0 or above.
    uncertainty : float
        Score of saying the accuracy to every row; no method that keeps the accuracy changes it.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Best monotone recalibration of a sample.

    Attributes
    ----------
    confidence : (m,) distinct confidences.
    count : (m,) rows of each, or the sum of their weights.
    frequency : (m,) recalibrated confidences.
    """

    confidence: Floats
    count: Ints | Floats
    frequency: Floats


@scikit_words
def corp(probs: Any, labels: Any, target: int | None = None, weights: Any = None) -> Decomposition:
    """CORP decomposition of the Brier score (Dimitriadis, Gneiting and Jordan 2021, eq. 4).

    "Consistent, optimally binned, reproducible, by pool-adjacent-violators": isotonic regression takes the place of
    bins, so that nothing is to be chosen and no term can be negative.

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    target : int or None, default None
        Class k, to decompose the score of p_k as a forecast of label k; None for the predicted class.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    Decomposition
        The score and its three parts.

    Raises
    ------
    CalibrationError
        If there is no such class, or the arrays do not fit together.
    """
    confidence, correct = target_pair(probs, labels, target)
    again = recalibrate(confidence, correct, weights)
    rate = weighted_mean(correct, weights)
    score = weighted_mean((confidence - correct) ** 2, weights)
    # Rows whose forecast f is their own frequency have a squared error of f (1 - f) on average.
    recalibrated = weighted_mean(again.frequency * (1.0 - again.frequency), again.count)
    uncertainty = rate * (1.0 - rate)
    # No term is below 0, because recalibration is the best monotone map; rounding must not say otherwise.
    return Decomposition(
        score, max(score - recalibrated, 0.0), max(uncertainty - recalibrated, 0.0), uncertainty
    )


def recalibrate(confidence: Floats, outcome: Bools, weights: Any = None) -> Recalibration:
    """Isotonic regression on the distinct confidences, non-decreasing; rows that tie get one value.

    Confidences tie as the scores of a calibrator do (:func:`~calib.numerics.are_apart`).

    Parameters
    ----------
    confidence : (n,) floats.
    outcome : (n,) booleans.
    weights : (n,) weight of each row; None counts all alike.
    """
    weight = check_weights(weights, len(confidence))
    distinct, index = np.unique(confidence, return_inverse=True)
    begins = are_apart(log_odds_of(distinct))
    distinct = distinct[begins]
    index = (np.cumsum(begins) - 1)[index]
    count = np.bincount(index, weight)
    right = np.bincount(index, outcome if weight is None else weight * outcome)
    weighty = count > 0
    distinct = distinct[weighty]
    count = count[weighty]
    right = right[weighty]
    return Recalibration(distinct, count, isotonic(right, count))


def isotonic(right: Floats | Ints, count: Floats | Ints) -> Floats:
    """Non-decreasing frequencies (m,) closest to ``right / count``, in an order given; counts must be positive.

    Least squares; the same map minimises every proper score (Brümmer and du Preez 2013).
    """
    from scipy.optimize import isotonic_regression

    return np.clip(isotonic_regression(right / count, weights=count).x, 0.0, 1.0)


def ordered_cells(confidence: Floats, most: int) -> Ints:
    """Numbers of at most ``most`` groups of neighbouring confidences, shape (n,), rising with the confidence.

    One for each distinct confidence where there are so few, and about equally many rows in each otherwise.
    """
    distinct, index = np.unique(confidence, return_inverse=True)
    if len(distinct) > most:
        inside = bin_index(confidence, equal_mass_edges(confidence, most))
        index = np.unique(inside, return_inverse=True)[1]
    return index


def calibrated_outcomes(
    confidence: Floats, cell: Ints, n_samples: int
) -> tuple[Ints, Floats, Ints]:
    """Right predictions in groups of rows when each row is right with the probability that it says.

    The confidences stay and the outcomes are drawn (Bröcker and Smith 2007), for a group at once: a binomial number at
    the group's mean. Groups must be narrow, because the spread of a group's confidences is taken for chance.

    Parameters
    ----------
    confidence : (n,) floats.
    cell : (n,) numbers of the groups, in [0, n_cells), each with at least one row.
    n_samples : how often the outcomes are drawn.

    Returns
    -------
    (count, mean, right) : (n_cells,) rows and (n_cells,) mean confidence of each group, and (n_samples, n_cells) draws.
    """
    count = np.bincount(cell)
    mean = np.clip(np.bincount(cell, weights=confidence) / count, 0.0, 1.0)
    right = np.random.default_rng(0).binomial(count, mean, size=(n_samples, len(count)))
    return count, mean, right
