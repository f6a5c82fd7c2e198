"""Affine maps of logits, their cross-fitted losses, and what maps by group add to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calib.metrics.estimate import Estimate, Rows
from calib.metrics.recalibration import fit_logistic, fit_spline, spline_basis
from calib.numerics import Floats, Ints, log_softmax, softplus

STEPS = 30
PRIOR = 1.0
"""Curvature that keeps the offset of a class without rows where it is; one row's worth."""
GROUP_PRIOR = 4.0
"""Inverse variance of a group's own shift of log-odds: a standard deviation of 0.5."""


class AffineMap(NamedTuple):
    """``slope * logits + offsets``."""

    slope: float
    offsets: Floats


def fit_affine(
    logits: Floats, labels: Ints, weights: Floats, with_offsets: bool = True
) -> AffineMap:
    """Maximum likelihood of one slope and, if wanted, an offset for each class, by Newton's method.

    Parameters
    ----------
    logits : (n, K) finite.
    labels, weights : (n,).
    with_offsets : whether classes have offsets; without them the slope is an inverse temperature.
    """
    n, k = logits.shape
    at, total = np.arange(n), float(weights.sum())
    slope = 1.0
    offsets: Floats = np.zeros(k)
    best = np.inf
    step: Floats = np.zeros(1 + k)
    for _ in range(STEPS):
        for _ in range(20):
            trial = AffineMap(slope + step[0], offsets + step[1:])
            scores = log_softmax(trial.slope * logits + trial.offsets)
            loss = -float(weights @ scores[at, labels]) + PRIOR / 2.0 * float(
                trial.offsets @ trial.offsets
            )
            if loss <= best + 1e-9 * abs(best):
                break
            step *= 0.5
        slope, offsets = trial
        if np.abs(step).max() < 1e-6 and best < np.inf:
            break
        best = loss
        probs = np.exp(scores)
        mean = np.einsum("ij,ij->i", probs, logits)
        weighted = probs * weights[:, None]
        curvature = float(weights @ (np.einsum("ij,ij->i", probs, logits**2) - mean**2))
        pull = float(weights @ (logits[at, labels] - mean))
        if not with_offsets:
            step[0] = np.clip(pull / max(curvature, 1e-9 * total), -1.0, 1.0)
            continue
        hessian = np.empty((1 + k, 1 + k))
        hessian[0, 0] = curvature + 1e-9 * total
        hessian[0, 1:] = hessian[1:, 0] = np.einsum("ij,ij->j", weighted, logits - mean[:, None])
        hessian[1:, 1:] = np.diag(weighted.sum(axis=0) + PRIOR) - weighted.T @ probs
        gradient = np.concatenate(
            [[pull], np.bincount(labels, weights, k) - weighted.sum(axis=0) - PRIOR * offsets]
        )
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
    return AffineMap(slope, offsets)


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


def shifted_by_group(
    log_odds: Floats, outcome: Floats, weights: Floats, folds: Ints, code: Ints
) -> Floats:
    """Cross-fitted log-odds with a shift for each group, L2-penalised towards none.

    Parameters
    ----------
    log_odds : (n,) of the map that groups share, itself cross-fitted.
    code : (n,) number of each row's group.
    """
    shifted = log_odds.copy()
    n_groups = int(code.max()) + 1
    for fold in range(folds.max() + 1):
        inside = folds == fold
        eta, y, w, group = log_odds[~inside], outcome[~inside], weights[~inside], code[~inside]
        shift = np.zeros(n_groups)
        for _ in range(STEPS):
            risk = 1.0 / (1.0 + np.exp(-(eta + shift[group])))
            pull = np.bincount(group, w * (y - risk), n_groups) - GROUP_PRIOR * shift
            step = pull / (np.bincount(group, w * risk * (1.0 - risk), n_groups) + GROUP_PRIOR)
            shift += np.clip(step, -2.0, 2.0)
            if np.abs(step).max() < 1e-8:
                break
        shifted[inside] += shift[code[inside]]
    return shifted
