"""Bayes-Iso written out map by map, rank by rank, as the paper tells it."""

from __future__ import annotations

import numpy as np
from scipy.integrate import dblquad

from calib.calibrators.isotonic import Tally


def tally_of(positives: list[float], negatives: list[float]) -> Tally:
    """Labels at the scores 0, 1, 2 ..."""
    counts = np.add(positives, negatives).astype(float)
    return Tally(np.arange(len(counts), dtype=float), counts, np.array(positives, dtype=float))


def posterior_mean_of_two(
    positives: tuple[int, int], negatives: tuple[int, int]
) -> tuple[float, float]:
    """Posterior mean of a map over two scores, by numerical integration.

    Either value is picked first, uniformly, and the other uniformly in what is left: the prior's density at x < y is
    (1 / (1 - x) + 1 / y) / 2.
    """

    def integral(factor) -> float:
        def integrand(y: float, x: float) -> float:
            likelihood = (
                x ** positives[0]
                * (1 - x) ** negatives[0]
                * y ** positives[1]
                * (1 - y) ** negatives[1]
            )
            return factor(x, y) * likelihood * (1 / (1 - x) + 1 / y) / 2

        return dblquad(integrand, 0, 1, lambda x: x, 1)[0]

    total = integral(lambda x, y: 1.0)
    return integral(lambda x, y: x) / total, integral(lambda x, y: y) / total
