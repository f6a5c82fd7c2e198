"""The formulas of I-Max with one term at a time, in exact-as-possible arithmetic."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.special import expit, logit, softplus


def bins_of(log_odds: np.ndarray, edges: np.ndarray) -> list[list[float]]:
    """The values in each bin, ``low <= value < high``."""
    ends = [-np.inf, *edges, np.inf]
    return [[x for x in log_odds.ravel() if low <= x < high] for low, high in pairwise(ends)]


def centres(log_odds: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Patel et al. 2020, eq. 6: logit of the mean probability of each bin."""
    return np.array([logit(np.mean(expit(inside))) for inside in bins_of(log_odds, edges)])


def edges(centres: np.ndarray) -> np.ndarray:
    """Patel et al. 2020, eq. 6: where the expected log-likelihoods of two neighbours are equal."""
    found = []
    for a, b in pairwise(centres):
        found.append(math.log(softplus(b) - softplus(a)) - math.log(softplus(-a) - softplus(-b)))
    return np.array(found)


def bound(log_odds: np.ndarray, edges: np.ndarray, centres: np.ndarray) -> float:
    """Patel et al. 2020, eq. 5 with the label's entropy, in nats."""
    n = log_odds.size
    bins = bins_of(log_odds, edges)
    joint = [
        [sum(expit(-x) for x in inside) / n, sum(expit(x) for x in inside) / n] for inside in bins
    ]
    total = 0.0
    for y in (0, 1):
        p_y = sum(masses[y] for masses in joint)
        for masses, centre in zip(joint, centres, strict=True):
            total -= masses[y] * math.log(p_y * (1 + math.exp((1 - 2 * y) * centre)))
    return total


def information(joint: np.ndarray) -> float:
    """Mutual information of a table of masses, in nats."""
    total = 0.0
    for y in range(joint.shape[0]):
        for m in range(joint.shape[1]):
            if joint[y, m] > 0:
                total += joint[y, m] * math.log(joint[y, m] / (joint[y].sum() * joint[:, m].sum()))
    return total


def model_information(log_odds: np.ndarray, edges: np.ndarray) -> float:
    """I(bin; y) in nats where P(y = 1 | log-odds) = sigmoid(log-odds)."""
    bins = bins_of(log_odds, edges)
    joint = np.array(
        [[np.sum(expit(-np.array(x))) for x in bins], [np.sum(expit(np.array(x))) for x in bins]]
    )
    return information(joint / joint.sum())
