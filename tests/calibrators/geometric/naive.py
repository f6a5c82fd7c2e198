"""The definitions of geometric separation, one pair at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

NORMS: dict[str, Callable[[np.ndarray], float]] = {
    "l1": lambda gap: float(np.abs(gap).sum()),
    "l2": lambda gap: math.sqrt(math.fsum(gap * gap)),
    "linf": lambda gap: float(np.abs(gap).max()),
}


def to_sets(train, labels, x, label, distance="l2"):
    """D(x, F) and D(x, O); inf for an empty set."""
    norm = NORMS[distance]
    same = [norm(x - t) for t, c in zip(train, labels, strict=True) if c == label]
    other = [norm(x - t) for t, c in zip(train, labels, strict=True) if c != label]
    return min(same, default=np.inf), min(other, default=np.inf)


def fast(train, labels, x, label, distance="l2"):
    """Chouraqui et al. 2023, definition 5."""
    same, other = to_sets(train, labels, x, label, distance)
    return -np.inf if np.isinf(same) else (other - same) / 2


def exact(train, labels, x, label):
    """Chouraqui et al. 2023, definition 4, without pairs at zero distance."""
    norm = NORMS["l2"]
    same = [t for t, c in zip(train, labels, strict=True) if c == label]
    other = [t for t, c in zip(train, labels, strict=True) if c != label]
    if not same:
        return -np.inf
    return min(
        (
            max(
                (
                    (norm(x - b) ** 2 - norm(x - a) ** 2) / (2 * norm(a - b))
                    for a in same
                    if norm(a - b) > 0
                ),
                default=-np.inf,
            )
            for b in other
        ),
        default=np.inf,
    )
