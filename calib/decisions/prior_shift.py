"""Another base rate: probabilities for a known one, and its estimate from rows without labels.

Under a shift of the base rate the classes become more or less frequent and each looks as before: the distribution of
inputs within a class is the same. The calibrated probabilities of the old rate then give those of the new one (Saerens,
Latinne and Decaestecker 2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import check_labels
from calib.decisions.recalibration import recalibrate, recalibrate_classes
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval, drawn_units, interval_of_draws
from calib.metrics.confidence import check_event, check_probs
from calib.metrics.estimate import check_clusters
from calib.metrics.risk_model import default_floor
from calib.numerics import Floats, Ints, log_odds_of, sigmoid

FEW_LABELS = 20.0
"""The likelihood is called flat where it tells less of a rate than so many rows with labels."""
MAX_STEPS = 10_000
Refit = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, eq=False)
class NewRate:
    """Base rates of new rows without labels.

    Attributes
    ----------
    rates : one interval for the event, or one for each of K classes.
    old_rates : the same among the calibration rows, (1,) or (K,).
    equivalent_labels : rows with labels that would tell as much of the rate as the likelihood of the new rows does;
        with K classes the fewest of any class. It leaves out what the calibrator does not know.
    n_new, n_calibration : rows without and with labels.
    """

    rates: tuple[Interval, ...]
    old_rates: Floats
    equivalent_labels: float
    n_new: int
    n_calibration: int

    @property
    def rate(self) -> Interval:
        """The event's rate, or that of the last of K classes."""
        return self.rates[-1]

    @property
    def flat(self) -> bool:
        """Whether the new rows say too little: the likelihood hardly changes with the rate."""
        return self.equivalent_labels < FEW_LABELS


def shift_prior(probs: Any, old_rate: Any, new_rate: Any) -> Floats:
    """Calibrated probabilities for another base rate (Saerens et al. 2002, equation 2.4).

    ``p'_k`` is proportional to ``p_k new_k / old_k``; for an event, its log-odds move by the difference of the rates'.

    Parameters
    ----------
    probs : (n,) probabilities of an event, or (n, K) of K classes.
    old_rate, new_rate : base rates, a number each, or (K,) summing to 1. The old one is that of the rows on which the
        probabilities were calibrated; a new one may be 0 or 1. A row that is certain of a class with a new rate of 0
        stays so.

    Returns
    -------
    array of the shape of probs

    Raises
    ------
    CalibrationError
        If rates are no rates or do not fit the probabilities.

    Examples
    --------
    >>> float(round(shift_prior([0.5], 0.5, 0.1)[0], 12))
    0.1
    """
    said = np.asarray(probs, dtype=float)
    old, new = check_rates(old_rate, said), check_rates(new_rate, said)
    if not np.all((old > 0) & (old < 1)):
        raise CalibrationError(f"The old base rate must lie between 0 and 1, ends excluded; got {old_rate}.")
    if said.ndim == 1:
        event, rest = said * (new[0] / old[0]), (1.0 - said) * ((1.0 - new[0]) / (1.0 - old[0]))
        total = event + rest
        return np.where(total > 0, event / np.where(total > 0, total, 1.0), said)
    shifted = said * (new / old)
    total = shifted.sum(axis=1, keepdims=True)
    return np.where(total > 0, shifted / np.where(total > 0, total, 1.0), said)


def likeliest_rate(probs: Any, old_rate: Any) -> Any:
    """The base rate under which rows without labels are most likely (Saerens et al. 2002, section 2.2).

    It is the fixed point of their EM steps, in which the new rate is the mean of the shifted probabilities. The
    log-likelihood is concave, so that for an event the zero of its slope is the same; for K classes the steps run until
    no rate moves by more than 1e-12.

    Parameters
    ----------
    probs : (n,) calibrated probabilities of an event, or (n, K) of K classes, of the new rows.
    old_rate : base rate of the rows on which they were calibrated, a number or (K,).

    Returns
    -------
    float, or (K,) array

    Raises
    ------
    CalibrationError
        If rates are no rates or do not fit the probabilities.
    """
    said = np.asarray(probs, dtype=float)
    old = check_rates(old_rate, said)
    if said.ndim == 1:
        return _of_event(np.column_stack([(1.0 - said) / (1.0 - old[0]), said / old[0]]), np.ones(len(said)))
    return _of_classes(said / old, np.ones(len(said)), old)


def estimate_rate(
    probs: Any,
    labels: Any,
    new_probs: Any,
    *,
    refit: Refit | None = None,
    clusters: Any = None,
    new_clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 400,
    random_state: int = 0,
) -> NewRate:
    """Base rate of rows without labels, with an interval that holds what the calibrator does not know.

    The probabilities are calibrated on the rows with labels; the new rate is :func:`likeliest_rate` of the new rows.
    For the interval both are drawn again with replacement, and the calibrator is fitted again to each resample. How
    often such intervals held the true rate in simulations, and how often those of the new rows' likelihood alone did,
    is in docs/benchmarks.md.

    Parameters
    ----------
    probs, labels : of the calibration rows: (n,) probabilities of an event with 0 and 1, or (n, K) with (n,) classes.
    new_probs : (m,) or (m, K) raw probabilities of the new rows, by the same model.
    refit : gives calibrated probabilities of new rows, from (probs, labels, new_probs), fitted to the first two. None
        fits a slope and an intercept to the log-odds (Platt), with K classes a slope and K intercepts to the
        log-probabilities.
    clusters, new_clusters : (n,) and (m,) what rows that belong together share; they are drawn together.
    level : coverage of the intervals.
    n_resamples, random_state : of the bootstrap.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or a class has no calibration row.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(2000) < 0.3
    >>> score = rng.normal(2.0 * labels, 1.0)
    >>> new = rng.normal(2.0 * (rng.random(2000) < 0.1), 1.0)
    >>> found = estimate_rate(sigmoid(score), labels, sigmoid(new))
    >>> found.rate.low < 0.1 < found.rate.high, found.flat
    (True, False)
    """
    generator = np.random.default_rng(random_state)
    binary = np.asarray(probs).ndim == 1
    if binary:
        said, came = check_event(probs, labels)
        new, _ = check_event(new_probs, np.zeros(np.shape(new_probs)))
        known: Ints = came.astype(int)
    else:
        said, new = check_probs(probs).astype(float), check_probs(new_probs).astype(float)
        known = check_labels(labels, said.shape)
        if said.shape[1] != new.shape[1]:
            raise CalibrationError(f"The new rows have {new.shape[1]} classes, the calibration rows {said.shape[1]}.")
    n_classes = 2 if binary else said.shape[1]
    old = np.bincount(known, minlength=n_classes) / len(known)
    if not old.all():
        raise CalibrationError(
            f"No calibration row has class {int(np.argmin(old))}, so that its rate cannot be estimated; add such rows."
        )
    resample, drawn = (_Draws(n, units, generator) for n, units in ((len(said), clusters), (len(new), new_clusters)))
    if refit is None and binary:
        floor = default_floor(np.concatenate([said, new]))
        said, new = (np.clip(each, floor, 1.0 - floor) for each in (said, new))
    fit = refit or (_platt if binary else recalibrate_classes)
    value, draws, ratios = _refitted(fit, said, known, new, resample, drawn, n_resamples, n_classes)
    equivalent = _equivalent_labels(ratios, value)
    rates = tuple(interval_of_draws(float(value[k]), draws[:, k], level, 0.0, 1.0) for k in range(n_classes))
    return NewRate(rates[1:] if binary else rates, old[1:] if binary else old, equivalent, len(new), len(said))


def check_rates(rates: Any, probs: Floats) -> Floats:
    """Base rates as an array: (1,) of an event for (n,) probabilities, (K,) for (n, K).

    Raises
    ------
    CalibrationError
        If they are no rates or do not fit the probabilities.
    """
    found = np.atleast_1d(np.asarray(rates, dtype=float))
    wanted = 1 if probs.ndim == 1 else probs.shape[-1]
    if found.shape != (wanted,) or not np.all((found >= 0) & (found <= 1)):
        raise CalibrationError(f"Base rates must be {wanted} numbers from 0 to 1 for these probabilities; got {rates}.")
    if wanted > 1 and abs(found.sum() - 1.0) > 1e-6:
        raise CalibrationError(f"The classes' base rates must sum to 1; these sum to {found.sum():.6g}.")
    return found


class _Draws:
    """How often resamples hold each row, whole clusters together."""

    def __init__(self, n: int, clusters: Any, generator: np.random.Generator):
        self._unit, self._n_units, clustered = drawn_units(n, None if clusters is None else check_clusters(clusters, n))
        self._n_drawn, self._generator = self._n_units - clustered, generator

    def counts(self) -> Ints:
        """(n,) of one resample."""
        drawn = self._generator.integers(self._n_units, size=self._n_drawn)
        return np.bincount(drawn, minlength=self._n_units)[self._unit]


def _platt(probs: Floats, labels: Ints, new: Floats) -> Floats:
    intercept, slope = recalibrate(log_odds_of(probs), labels == 1)
    return sigmoid(intercept + slope * log_odds_of(new))


def _refitted(
    refit: Refit, probs: Floats, labels: Ints, new: Floats, resample: _Draws, drawn: _Draws, n_resamples: int, k: int
) -> tuple[Floats, Floats, Floats]:
    """New rates of all classes, (k,), draws of them, and the new rows' likelihood ratios, (m, k)."""

    def ratios_of(rows: Any) -> tuple[Floats, Floats]:
        said = np.asarray(refit(probs[rows], labels[rows], new), dtype=float)
        if said.shape != new.shape:
            raise CalibrationError(f"`refit` must give probabilities of shape {new.shape}; it gave {said.shape}.")
        old = np.bincount(labels[rows], minlength=k) / len(labels[rows])
        columns = np.column_stack([1.0 - said, said]) if said.ndim == 1 else said
        return columns / np.maximum(old, 1.0 / (2 * len(labels))), old

    def likeliest(ratios: Floats, counts: Any, start: Floats, tolerance: float = 1e-12) -> Floats:
        if k > 2:
            return _of_classes(ratios, counts, start, tolerance)
        rate = _of_event(ratios, counts)
        return np.array([1.0 - rate, rate])

    ratios, old = ratios_of(slice(None))
    value = likeliest(ratios, np.ones(len(new)), old)
    draws = []
    for _ in range(n_resamples):
        rows = np.repeat(np.arange(len(labels)), resample.counts())
        new_counts = drawn.counts()
        if k > 2 or 0 < labels[rows].sum() < len(rows):  # with few events some resamples have none, and tell nothing
            draws.append(likeliest(ratios_of(rows)[0], new_counts, 0.9 * value + 0.1 * old, tolerance=1e-7))
    return value, np.array(draws), ratios


def _of_event(ratios: Floats, counts: Any) -> float:
    """Likeliest rate of an event, from (n, 2) ``p / old`` of its absence and of it and (n,) counts of rows.

    The log-likelihood is concave in the rate: it is highest where its slope is 0, or at an end.
    """
    from scipy.optimize import brentq

    rest, event = ratios.T

    def slope(rate: float) -> float:
        return float(np.sum(counts * (event - rest) / np.maximum(rest + rate * (event - rest), 1e-300)))

    if slope(0.0) <= 0.0:
        return 0.0
    return 1.0 if slope(1.0) >= 0.0 else float(brentq(slope, 0.0, 1.0, xtol=1e-14, rtol=1e-12))


def _of_classes(ratios: Floats, counts: Floats, start: Floats, tolerance: float = 1e-12) -> Floats:
    """Likeliest rates of K classes, (K,), by EM steps from (n, K) ``p_k / old_k`` and (n,) counts of rows."""
    rates = start / start.sum()
    for _ in range(MAX_STEPS):
        mixed = ratios @ rates
        moved = rates * ((counts / np.maximum(mixed, 1e-300)) @ ratios) / counts.sum()
        moved /= moved.sum()
        if np.abs(moved - rates).max() <= tolerance:
            return moved
        rates = moved
    return rates


def _equivalent_labels(ratios: Floats, rates: Floats) -> float:
    """Rows with labels whose Fisher information of a rate is that of the new rows, the fewest of any class.

    Along the line to a class alone the information of its rate is ``sum_i (r_ik / sum_j rate_j r_ij - 1)^2 /
    (1 - rate_k)^2``; that of N labels is ``N / (rate_k (1 - rate_k))``.
    """
    n = len(ratios)
    rates = np.clip(rates, 1.0 / n, 1.0 - 1.0 / n)
    relative = ratios / np.maximum(ratios @ rates, 1e-300)[:, None] - 1.0
    return float(np.min((relative**2).sum(axis=0) * rates / (1.0 - rates)))
