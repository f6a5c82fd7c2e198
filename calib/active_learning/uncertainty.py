"""How unsure a prediction is, from 0 for a certain one to 1 for a uniform one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calib.numerics import Floats


def normalised_entropy(probs: Floats) -> Floats:
    """``- sum_k p_k ln p_k / ln K`` of each row, shape (n,) (Wenger et al. 2020, section 5; Settles 2010)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(probs > 0, probs * np.log(probs), 0.0)
    return np.abs(terms.sum(axis=1)) / np.log(probs.shape[1])


def least_confidence(probs: Floats) -> Floats:
    """``(1 - max_k p_k) K / (K - 1)`` of each row, shape (n,) (Settles 2010, section 3.1)."""
    n_classes = probs.shape[1]
    return (1.0 - probs.max(axis=1)) * n_classes / (n_classes - 1)


def small_margin(probs: Floats) -> Floats:
    """One minus the distance between the two largest probabilities of each row, shape (n,) (Settles 2010, 3.1)."""
    top = np.partition(probs, -2, axis=1)[:, -2:]
    return 1.0 - (top[:, 1] - top[:, 0])


UNCERTAINTY: dict[str, Callable[[Floats], Floats]] = {
    "entropy": normalised_entropy,
    "least_confidence": least_confidence,
    "margin": small_margin,
}
"""By the name used in plans."""
