"""The scaled sigma-model, for classifiers whose sigmoid(log-odds) is far from the truth."""

from __future__ import annotations

import numpy as np

from calib.calibrators.imax.density import LogOddsDensity
from calib.numerics import Floats, sigmoid, softplus

MAX_STEPS = 50


def matched_sigmoid(density: LogOddsDensity) -> tuple[float, float]:
    """Slope and intercept of the ``sigmoid(slope * log-odds + intercept)`` nearest to the kernel densities.

    Nearest in mean Kullback-Leibler divergence of the label (Patel et al. 2020, section S3.3), found by Newton's
    method with step halving: the divergence is convex. A slope that is not positive would turn the bins around, and
    one outcome alone says nothing about the other: the model is then left as it is, with slope 1 and intercept 0.
    """
    joint = density.joint()
    held = joint.sum(axis=0) > 0
    joint, points = joint[:, held], density.middles[held]
    if density.share_label in (0.0, 1.0):
        return 1.0, 0.0
    design = np.stack([points, np.ones_like(points)])
    weights = np.array([1.0, 0.0])
    loss = _loss(weights, design, joint)
    for _ in range(MAX_STEPS):
        probs = sigmoid(weights @ design)
        mass = joint.sum(axis=0)
        gradient = design @ (mass * probs - joint[1])
        curvature = (design * (mass * probs * (1.0 - probs))) @ design.T + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while (trial := _loss(weights - step, design, joint)) > loss and np.abs(step).max() > 1e-12:
            step = step / 2
        if not trial < loss - 1e-14:
            break
        weights, loss = weights - step, trial
    slope, intercept = (float(weight) for weight in weights)
    return (slope, intercept) if slope > 0 else (1.0, 0.0)


def sigmoid_divergence(density: LogOddsDensity, slope: float = 1.0, intercept: float = 0.0) -> float:
    """Mean divergence (Kullback-Leibler, nats) of ``sigmoid(slope * log-odds + intercept)`` from the densities."""
    joint = density.joint()
    mass = joint.sum(axis=0)
    held = joint > 0
    left = -float(np.sum(joint[held] * np.log((joint / np.where(mass > 0, mass, 1.0))[held])))
    design = np.stack([density.middles, np.ones_like(mass)])
    return max(_loss(np.array([slope, intercept]), design, joint) - left, 0.0)


def _loss(weights: Floats, design: Floats, joint: Floats) -> float:
    """Mean cross-entropy in nats."""
    score = weights @ design
    return float(joint[0] @ softplus(score) + joint[1] @ softplus(-score))
