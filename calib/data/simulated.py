"""Simulated data sets whose true calibration function is known, so that pictures can draw the truth."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, Ints, softmax

BEND = 4.0
"""Logit above which the simulated model begins to exaggerate."""

CURVATURE = 0.06
"""How fast it exaggerates: the factor of the squared excess over :data:`BEND`."""


def exaggerate(logits: Floats) -> Floats:
    """Logits as an overconfident model reports them: ``h(l) = l + 0.06 max(l - 4, 0)^2``.

    Strictly increasing, so no ranking changes, and the identity up to :data:`BEND`, so that no single
    temperature can undo it.
    """
    excess = np.maximum(logits - BEND, 0.0)
    return logits + CURVATURE * excess**2


def undo_exaggeration(logits: Floats) -> Floats:
    """The inverse of :func:`exaggerate`: the latent function of a perfect calibrator, up to a shift.

    Above the bend, ``h(l) - 4 = e + c e^2`` with the excess e = l - 4, a quadratic equation with the one
    positive root used here, in the form that does not cancel for small excesses.
    """
    excess = np.maximum(logits - BEND, 0.0)
    root = 2 * excess / (1 + np.sqrt(1 + 4 * CURVATURE * excess))
    return np.minimum(logits, BEND) + root


def exaggerated_logits(n: int, n_classes: int, seed: int) -> tuple[Floats, Ints]:
    """Logits of an overconfident classifier with a perfectly calibrated core.

    Every row has standard normal logits, one favoured class raised to ``log(n_classes) + U(0, 8)`` and three
    rivals between 0.5 and 5 below it. Labels are drawn from the softmax of these, which makes them perfectly
    calibrated by construction; what is returned has passed through :func:`exaggerate`.

    Returns
    -------
    logits : (n, n_classes) float32
    labels : (n,) integers
    """
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((n, n_classes), dtype=np.float32)
    favoured = rng.integers(n_classes, size=n)
    strength = np.log(n_classes) + rng.uniform(0, 8, size=n)
    # Steps below n_classes / 3 keep the favoured class and its three rivals apart.
    step = rng.integers(1, n_classes // 3, size=n)
    rows = np.arange(n)
    for rival in range(1, 4):
        logits[rows, (favoured + rival * step) % n_classes] = strength - rng.uniform(0.5, 5, size=n)
    logits[rows, favoured] = strength
    # One uniform number per row against the cumulated probabilities: a tenth of the cost of n * K Gumbels.
    cumulated = np.cumsum(softmax(logits), axis=1, dtype=np.float64)
    labels = np.sum(cumulated < rng.uniform(size=(n, 1)) * cumulated[:, -1:], axis=1)
    return exaggerate(logits).astype(np.float32, copy=False), labels


def bayes_iso_scores(n_per_class: int, seed: int) -> tuple[Floats, Ints]:
    """Scores of the synthetic binary task of Allikivi and Kull (2019), section 5.1, table 1.

    Negatives come from Beta(1, 3), positives from Beta(1.5, 3) and Beta(30, 3) in equal parts by chance; the
    classes are exactly balanced.

    Returns
    -------
    scores : (2 * n_per_class,) floats in (0, 1), the probability the simulated model gives to class 1
    labels : (2 * n_per_class,) of 0 and 1, in random order
    """
    rng = np.random.default_rng(seed)
    second = rng.random(n_per_class) < 0.5
    positives = np.where(second, rng.beta(30, 3, n_per_class), rng.beta(1.5, 3, n_per_class))
    scores = np.concatenate([rng.beta(1, 3, n_per_class), positives])
    labels = np.repeat([0, 1], n_per_class)
    order = rng.permutation(2 * n_per_class)
    return scores[order], labels[order]


def bayes_iso_map(scores: Floats) -> Floats:
    """True probability of class 1 at each score of :func:`bayes_iso_scores`.

    The common factor (1 - s)^2 of the three densities cancels in their ratio, which leaves
    ``r(s) = 1.09375 sqrt(s) + 2480 s^29`` for positives against negatives (half the ratio of
    1 / B(1.5, 3) = 6.5625 and of 1 / B(30, 3) = 14880 to 1 / B(1, 3) = 3), and r / (1 + r).
    """
    ratio = 1.09375 * np.sqrt(scores) + 2480.0 * np.asarray(scores) ** 29
    return ratio / (1 + ratio)
