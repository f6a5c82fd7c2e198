"""Another base rate: probabilities and cuts for a known one, and its estimate from rows without labels.

Under a shift of the base rate the classes become more or less frequent and each looks as before: the distribution of
inputs within a class is the same. The calibrated probabilities of the old rate then give those of the new one (Saerens,
Latinne and Decaestecker 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import as_numbers, check_number
from calib.decisions.judgement import resampled
from calib.decisions.recalibration import recalibrate
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval, interval_of_draws
from calib.metrics.confidence import (
    check_event,
    check_probs,
    check_range,
    check_weights,
    weighted_mean,
)
from calib.metrics.risk_panel import default_floor
from calib.numerics import Floats, log_odds_of, sigmoid


@dataclass(frozen=True, eq=False)
class NewRate:
    """Rate of an event among new rows without labels.

    Attributes
    ----------
    rate : Interval
        Rate of the event, with its interval.
    n_new : int
        How many rows these are.
    """

    rate: Interval
    n_new: int


def shift_prior(probs: Any, old_rate: Any, new_rate: Any) -> Floats:
    """Calibrated probabilities for another base rate (Saerens et al. 2002, equation 2.4).

    ``p'_k`` is proportional to ``p_k new_k / old_k``; for an event, its log-odds move by the difference of the rates'.

    Parameters
    ----------
    probs : array_like of shape (n,) or (n, K)
        Probabilities of an event, or of K classes.
    old_rate, new_rate : float or array_like of shape (K,)
        Base rates, a number each, or one for each class that sum to 1. The old one is that of the rows on which the
        probabilities were calibrated; a new one may be 0 or 1. A row that is certain of a class with a new rate of 0
        stays so.

    Returns
    -------
    ndarray
        In the shape of ``probs``.

    Raises
    ------
    CalibrationError
        If rates are no rates or do not fit the probabilities.

    Examples
    --------
    >>> float(round(shift_prior([0.5], 0.5, 0.1)[0], 12))
    0.1
    """
    predicted = as_numbers(probs, "probabilities").astype(float)
    predicted = check_range(predicted) if predicted.ndim == 1 else check_probs(predicted)
    old = _check_rates(old_rate, predicted)
    new = _check_rates(new_rate, predicted)
    if not np.all((old > 0) & (old < 1)):
        raise CalibrationError(
            f"The old base rate must lie between 0 and 1, ends excluded; got {old_rate}."
        )
    old = np.maximum(old, np.finfo(float).tiny)  # of which a ratio is finite
    classes = np.stack([1.0 - predicted, predicted], axis=1) if predicted.ndim == 1 else predicted
    ratio = (
        np.append(1.0 - new, new) / np.append(1.0 - old, old) if predicted.ndim == 1 else new / old
    )
    shifted = classes * ratio
    total = shifted.sum(axis=1, keepdims=True)
    shifted = np.where(total > 0, shifted / np.where(total > 0, total, 1.0), classes)
    return shifted[:, 1] if predicted.ndim == 1 else shifted


def cut_at_rate(cut: float, old_rate: float, new_rate: float) -> float:
    """Return the cut on a probability calibrated for the old rate that is a cut on the one for the new rate.

    Examples
    --------
    >>> round(cut_at_rate(0.5, 0.5, 0.1), 6)
    0.9
    """
    check_number("cut", cut, 0, 1)
    for name, rate in (("old_rate", old_rate), ("new_rate", new_rate)):
        check_number(name, rate, 0, 1, ends=False)
    return float(shift_prior([cut], new_rate, old_rate)[0])


def likeliest_rate(probs: Any, old_rate: float, counts: Any = None) -> float:
    """Return the rate of an event under which rows without labels are most likely (Saerens et al. 2002, section 2.2).

    It is the fixed point of their EM steps, in which the new rate is the mean of the shifted probabilities. The
    log-likelihood is concave in the rate: it is highest where its slope is 0, or at an end.

    Parameters
    ----------
    probs : (n,) calibrated probabilities of the event, of the new rows.
    old_rate : rate of the rows on which they were calibrated.
    counts : (n,) how often each row counts; None counts each once.
    """
    from scipy.optimize import brentq

    predicted = _of_event(probs)
    check_number("old_rate", old_rate, 0, 1, ends=False)
    rows = 1.0 if counts is None else check_weights(counts, len(predicted))
    rest, event = (
        (1.0 - predicted) / (1.0 - old_rate),
        predicted / old_rate,
    )  # likelihoods up to a factor of each row

    def slope(rate: float) -> float:
        return float(
            np.sum(rows * (event - rest) / np.maximum(rest + rate * (event - rest), 1e-300))
        )

    if slope(0.0) <= 0.0:
        return 0.0
    return 1.0 if slope(1.0) >= 0.0 else float(brentq(slope, 0.0, 1.0, xtol=1e-14, rtol=1e-12))


def estimate_rate(
    probs: Any,
    labels: Any,
    new_probs: Any,
    *,
    clusters: Any = None,
    weights: Any = None,
    n_resamples: int = 400,
) -> NewRate:
    """Rate of an event among rows without labels, with a 95 % interval that holds what the calibrator does not know.

    The probabilities are calibrated on the rows with labels, by a slope and an intercept of the log-odds (Platt); the
    new rate is :func:`likeliest_rate` of the new rows.
    For the interval both are drawn again with replacement, and the calibrator is fitted again to each resample. How
    often such intervals held the true rate in simulations, and how often those of the new rows' likelihood alone did,
    is in docs/benchmarks.md.

    Parameters
    ----------
    probs : array_like of shape (n,)
        Raw probabilities of the event, of the calibration rows.
    labels : array_like of shape (n,)
        1 where the event happened, 0 elsewhere.
    new_probs : array_like of shape (m,)
        Raw probabilities of the new rows, by the same model; they count as independent.
    clusters : array_like of shape (n,) or None, default None
        What calibration rows that belong together share; they are drawn together.
    weights : array_like of shape (n,) or None, default None
        How much each calibration row counts: the inverse of its probability to be sampled. The new rows count alike.
    n_resamples : int, default 400
        Resamples of the bootstrap.

    Returns
    -------
    NewRate
        The rate with its interval.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, all calibration rows have the same outcome, or an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(2000) < 0.3
    >>> score = rng.normal(2.0 * labels, 1.0)
    >>> new = rng.normal(2.0 * (rng.random(2000) < 0.1), 1.0)
    >>> found = estimate_rate(sigmoid(score), labels, sigmoid(new))
    >>> found.rate.low < 0.1 < found.rate.high
    True
    """
    predicted, observed = check_event(probs, labels)
    new = _of_event(new_probs)
    if observed.all() or not observed.any():
        raise CalibrationError(
            "The rate takes calibration rows with the event and rows without; these are of one kind."
        )
    weight = check_weights(weights, len(predicted))
    floor = default_floor(np.concatenate([predicted, new]))
    score = log_odds_of(predicted, floor)
    new_score = log_odds_of(new, floor)

    def rate_of(rows: Any, counts: Any = None) -> float:
        """The rate of new rows that count so often, by some of the rows with labels."""
        part_weight = None if weight is None else weight[rows]
        intercept, slope = recalibrate(score[rows], observed[rows], part_weight)
        old = weighted_mean(observed[rows], part_weight)
        return likeliest_rate(sigmoid(intercept + slope * new_score), old, counts)

    draws = []
    old_draws = resampled(len(predicted), clusters, n_resamples, 0)
    new_draws = resampled(len(new), None, n_resamples, 1)
    for old, counts in zip(old_draws, new_draws, strict=True):
        rows = np.repeat(np.arange(len(predicted)), old)
        if (
            0 < observed[rows].sum() < len(rows)
        ):  # with few events some resamples have none, and tell nothing
            draws.append(rate_of(rows, counts))
    rate = interval_of_draws(rate_of(slice(None)), np.array(draws), low=0.0, high=1.0)
    return NewRate(rate, len(new))


def _of_event(probs: Any) -> Floats:
    """Probabilities of an event, of rows without labels."""
    array = as_numbers(probs, "probabilities")
    return check_event(array, np.zeros(array.shape[:1], dtype=int))[0]


def _check_rates(rates: Any, probs: Floats) -> Floats:
    """Base rates as an array: (1,) of an event for (n,) probabilities, (K,) for (n, K)."""
    array = np.atleast_1d(as_numbers(rates, "base rates")).astype(float)
    n_rates = 1 if probs.ndim == 1 else probs.shape[-1]
    if array.shape != (n_rates,) or not np.all((array >= 0) & (array <= 1)):
        raise CalibrationError(
            f"Base rates must be {n_rates} numbers from 0 to 1 for these probabilities; got {rates}."
        )
    if n_rates > 1 and abs(array.sum() - 1.0) > 1e-6:
        raise CalibrationError(
            f"The classes' base rates must sum to 1; these sum to {array.sum():.6g}."
        )
    return array
