"""Cross-fitted losses of maps of the outputs."""

from __future__ import annotations

import numpy as np

from calib.calibrators.by_group import depart, fit_affine, fit_departures
from calib.metrics.estimate import Estimate, Rows
from calib.metrics.recalibration import fit_logistic, fit_spline, spline_basis
from calib.numerics import Floats, Ints, log_softmax, softplus

GROUP_SPREAD = 0.35
"""Standard deviation of the departures of groups from the map that they share."""


def slope_estimate(logits: Floats, labels: Ints, sample: Rows) -> Estimate:
    """Slope on the logits, 1 / T of temperature scaling, with its sandwich influence."""
    slope = fit_affine(logits, labels, sample.weights, with_offsets=False).slope
    probs = np.exp(log_softmax(slope * logits))
    mean = np.einsum("ij,ij->i", probs, logits)
    spread = np.einsum("ij,ij->i", probs, logits**2) - mean**2
    score = logits[np.arange(len(labels)), labels] - mean
    return sample.estimate(slope, score / max(float(sample.weights @ spread), 1e-300))


def affine_losses(
    logits: Floats, labels: Ints, weights: Floats, folds: Ints, with_offsets: bool
) -> Floats:
    """Cross-fitted loss of each row under an affine map of the logits."""
    losses = np.zeros(len(labels))
    for fold in range(folds.max() + 1):
        inside = folds == fold
        fitted = fit_affine(logits[~inside], labels[~inside], weights[~inside], with_offsets)
        scores = log_softmax(fitted.slope * logits[inside] + fitted.offsets)
        losses[inside] = -scores[np.arange(len(scores)), labels[inside]]
    return losses


def binary_maps(
    log_odds: Floats, outcome: Floats, sample: Rows, folds: Ints
) -> tuple[Floats, Floats, Floats]:
    """Cross-fitted log-odds of each row: under a line, and under a natural spline of the log-odds; losses of the line.

    Where a fit does not exist, as of separated outcomes, the rows of its fold keep the log-odds they have.
    """
    line, spline = log_odds.copy(), log_odds.copy()
    for fold in range(folds.max() + 1):
        inside = np.flatnonzero(folds == fold)
        outside = np.flatnonzero(folds != fold)
        if len(outside) < 2 or np.ptp(log_odds[outside]) == 0.0:
            continue
        rest = sample.take(outside, outcome[outside] > 0)
        design = np.column_stack([np.ones(len(outside)), log_odds[outside]])
        coef = fit_logistic(design, outcome[outside], rest).coef
        if np.isfinite(coef).all():
            line[inside] = coef[0] + coef[1] * log_odds[inside]
            spline[inside] = line[inside]
        curve = fit_spline(log_odds[outside], outcome[outside], rest)
        if np.isfinite(curve.fit.coef).all():
            spline[inside] = spline_basis(log_odds[inside], curve.knots) @ curve.fit.coef
    return line, spline, log_loss(line, outcome)


def log_loss(log_odds: Floats, outcome: Floats) -> Floats:
    """Loss of each row."""
    return softplus(log_odds) - outcome * log_odds


def departed_losses(
    log_odds: Floats, outcome: Floats, weights: Floats, folds: Ints, code: Ints
) -> Floats:
    """Cross-fitted loss of each row with a departure of its group from the map that groups share.

    Parameters
    ----------
    log_odds : (n,) of the shared map, itself cross-fitted.
    code : (n,) number of each row's group.
    """
    labels = outcome.astype(np.int64)
    logits = np.column_stack([np.zeros(len(log_odds)), log_odds])
    losses = np.zeros(len(labels))
    for fold in range(folds.max() + 1):
        inside = np.flatnonzero(folds == fold)
        rest = np.flatnonzero(folds != fold)
        maps = fit_departures(logits[rest], labels[rest], weights[rest], code[rest], GROUP_SPREAD)
        scores = depart(logits[inside], code[inside], maps)
        losses[inside] = -scores[np.arange(len(inside)), labels[inside]]
    return losses
