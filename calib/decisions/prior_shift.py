"""Another base rate: probabilities and cuts for a known one, and its estimate from rows without labels.

Under a shift of the base rate the classes become more or less frequent and each looks as before: the distribution of
inputs within a class is the same. The calibrated probabilities of the old rate then give those of the new one (Saerens,
Latinne and Decaestecker 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.decisions.recalibration import recalibrate
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval, drawn_units, interval_of_draws
from calib.metrics.confidence import check_event
from calib.metrics.estimate import check_clusters
from calib.metrics.risk_model import default_floor
from calib.numerics import Floats, Ints, log_odds_of, sigmoid

FEW_LABELS = 20.0
"""The likelihood is called flat where it tells less of a rate than so many rows with labels."""


@dataclass(frozen=True, eq=False)
class NewRate:
    """Rate of an event among new rows without labels.

    Attributes
    ----------
    rate : with its interval.
    old_rate : the same among the calibration rows.
    equivalent_labels : rows with labels that would tell as much of the rate as the likelihood of the new rows does. It
        leaves out what the calibrator does not know.
    n_new, n_calibration : rows without and with labels.
    """

    rate: Interval
    old_rate: float
    equivalent_labels: float
    n_new: int
    n_calibration: int

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
    old, new = _check_rates(old_rate, said), _check_rates(new_rate, said)
    if not np.all((old > 0) & (old < 1)):
        raise CalibrationError(f"The old base rate must lie between 0 and 1, ends excluded; got {old_rate}.")
    classes = np.stack([1.0 - said, said], axis=1) if said.ndim == 1 else said
    ratio = np.append(1.0 - new, new) / np.append(1.0 - old, old) if said.ndim == 1 else new / old
    shifted = classes * ratio
    total = shifted.sum(axis=1, keepdims=True)
    shifted = np.where(total > 0, shifted / np.where(total > 0, total, 1.0), classes)
    return shifted[:, 1] if said.ndim == 1 else shifted


def cut_at_rate(cut: float, old_rate: float, new_rate: float) -> float:
    """Where a probability that is calibrated for the old rate reaches a cut on the one for the new rate.

    Its log-odds are ``logit cut + logit old - logit new`` (Saerens et al. 2002, equation 2.4, solved for the
    probability). The cut that costs ask for at the new rate is :attr:`calib.decisions.outcomes.Costs.cut`.

    Raises
    ------
    CalibrationError
        Unless both rates lie between 0 and 1, ends excluded.

    Examples
    --------
    >>> round(cut_at_rate(0.5, 0.5, 0.1), 6)
    0.9
    """
    for name, rate in (("old", old_rate), ("new", new_rate)):
        if not 0.0 < rate < 1.0:
            raise CalibrationError(f"The {name} base rate must lie between 0 and 1, ends excluded; got {rate:g}.")
    return float(shift_prior([cut], new_rate, old_rate)[0])


def likeliest_rate(probs: Any, old_rate: float) -> float:
    """The rate of an event under which rows without labels are most likely (Saerens et al. 2002, section 2.2).

    It is the fixed point of their EM steps, in which the new rate is the mean of the shifted probabilities. The
    log-likelihood is concave, so that the zero of its slope is the same.

    Parameters
    ----------
    probs : (n,) calibrated probabilities of the event, of the new rows.
    old_rate : of the rows on which they were calibrated.

    Raises
    ------
    CalibrationError
        If the rate is no rate.
    """
    said = np.asarray(probs, dtype=float)
    (old,) = _check_rates(old_rate, said)
    return _likeliest(_ratios(said, old), np.ones(len(said)))


def estimate_rate(
    probs: Any,
    labels: Any,
    new_probs: Any,
    *,
    clusters: Any = None,
    new_clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 400,
    random_state: int = 0,
) -> NewRate:
    """Rate of an event among rows without labels, with an interval that holds what the calibrator does not know.

    The probabilities are calibrated on the rows with labels, by a slope and an intercept of the log-odds (Platt); the
    new rate is :func:`likeliest_rate` of the new rows.
    For the interval both are drawn again with replacement, and the calibrator is fitted again to each resample. How
    often such intervals held the true rate in simulations, and how often those of the new rows' likelihood alone did,
    is in docs/benchmarks.md.

    Parameters
    ----------
    probs, labels : of the calibration rows, (n,) probabilities of the event and 1 where it happened.
    new_probs : (m,) raw probabilities of the new rows, by the same model.
    clusters, new_clusters : (n,) and (m,) what rows that belong together share; they are drawn together.
    level : coverage of the interval.
    n_resamples, random_state : of the bootstrap.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or all calibration rows have the same outcome.

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
    said, came = check_event(probs, labels)
    new, _ = check_event(new_probs, np.zeros(np.shape(new_probs)))
    if came.all() or not came.any():
        raise CalibrationError(
            "The rate takes calibration rows with the event and rows without; these are of one kind."
        )
    floor = default_floor(np.concatenate([said, new]))
    score, new_score = log_odds_of(said, floor), log_odds_of(new, floor)

    def ratios_of(rows: Any) -> Floats:
        intercept, slope = recalibrate(score[rows], came[rows])
        return _ratios(sigmoid(intercept + slope * new_score), float(came[rows].mean()))

    ratios = ratios_of(slice(None))
    value = _likeliest(ratios, np.ones(len(new)))
    generator, draws = np.random.default_rng(random_state), []
    units, new_units = _units(len(said), clusters), _units(len(new), new_clusters)
    for _ in range(n_resamples):
        rows, new_counts = np.repeat(np.arange(len(said)), _counts(units, generator)), _counts(new_units, generator)
        if 0 < came[rows].sum() < len(rows):  # with few events some resamples have none, and tell nothing
            draws.append(_likeliest(ratios_of(rows), new_counts))
    rate = interval_of_draws(value, np.array(draws), level, 0.0, 1.0)
    return NewRate(rate, float(came.mean()), _equivalent_labels(ratios, value), len(new), len(said))


def _check_rates(rates: Any, probs: Floats) -> Floats:
    """Base rates as an array: (1,) of an event for (n,) probabilities, (K,) for (n, K)."""
    found = np.atleast_1d(np.asarray(rates, dtype=float))
    wanted = 1 if probs.ndim == 1 else probs.shape[-1]
    if found.shape != (wanted,) or not np.all((found >= 0) & (found <= 1)):
        raise CalibrationError(f"Base rates must be {wanted} numbers from 0 to 1 for these probabilities; got {rates}.")
    if wanted > 1 and abs(found.sum() - 1.0) > 1e-6:
        raise CalibrationError(f"The classes' base rates must sum to 1; these sum to {found.sum():.6g}.")
    return found


def _units(n: int, clusters: Any) -> tuple[Ints, int, bool]:
    return drawn_units(n, None if clusters is None else check_clusters(clusters, n))


def _counts(units: tuple[Ints, int, bool], generator: np.random.Generator) -> Ints:
    """How often a resample holds each row, (n,), whole clusters together."""
    unit, n_units, clustered = units
    drawn = generator.integers(n_units, size=n_units - clustered)
    return np.bincount(drawn, minlength=n_units)[unit]


def _ratios(probs: Floats, old: float) -> Floats:
    """(n, 2) ``p / old`` of the event's absence and of the event: likelihoods up to a factor of each row."""
    return np.column_stack([(1.0 - probs) / (1.0 - old), probs / old])


def _likeliest(ratios: Floats, counts: Any) -> float:
    """Likeliest rate, from (n, 2) ratios and (n,) counts of rows.

    The log-likelihood is concave in the rate: it is highest where its slope is 0, or at an end.
    """
    from scipy.optimize import brentq

    rest, event = ratios.T

    def slope(rate: float) -> float:
        return float(np.sum(counts * (event - rest) / np.maximum(rest + rate * (event - rest), 1e-300)))

    if slope(0.0) <= 0.0:
        return 0.0
    return 1.0 if slope(1.0) >= 0.0 else float(brentq(slope, 0.0, 1.0, xtol=1e-14, rtol=1e-12))


def _equivalent_labels(ratios: Floats, rate: float) -> float:
    """Rows with labels whose Fisher information of the rate is that of the new rows.

    The latter is ``sum_i ((r_i1 - r_i0) / (r_i0 + rate (r_i1 - r_i0)))^2``; that of N labels ``N / (rate (1 - rate))``.
    """
    n, (rest, event) = len(ratios), ratios.T
    rate = float(np.clip(rate, 1.0 / n, 1.0 - 1.0 / n))
    slopes = (event - rest) / np.maximum(rest + rate * (event - rest), 1e-300)
    return float(slopes @ slopes) * rate * (1.0 - rate)
