"""The synthetic task of Allikivi and Kull (2019), section 5.1, and exactly what a map loses there against the truth."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import logit
from scipy.stats import beta

from calib.base import Calibrator
from calib.data.samples import bayes_iso_map, bayes_iso_scores
from calib.diagnostics.calibration_maps import class_map
from calib.numerics import Floats, Ints

N_CELLS = 100_000


def calibration_set(n: int, seed: int) -> tuple[Floats, Ints]:
    """Logits (n, 2) and labels (n,), exactly half of them positive."""
    scores, labels = bayes_iso_scores(n // 2, seed)
    return np.stack([np.zeros(n), logit(scores)], axis=1), labels


@cache
def _cells() -> tuple[Floats, Floats, Floats]:
    """Log-odds and true map in the middle of equal cells of scores, and the share of test rows in each."""
    edges = np.linspace(0, 1, N_CELLS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    reached = beta.cdf(edges, 1, 3) / 2 + beta.cdf(edges, 1.5, 3) / 4 + beta.cdf(edges, 30, 3) / 4
    return logit(middle), bayes_iso_map(middle), np.diff(reached)


def excess(calibrator: Calibrator) -> tuple[float, float]:
    """Binary Brier score and log-loss of a fitted calibrator, less those of the true map, for unlimited test rows.

    The difference of a proper score from its best is a divergence from the truth, integrated over the known density.
    Probabilities are clipped at 1e-15 as everywhere.
    """
    log_odds, truth, share = _cells()
    probs = np.clip(class_map(calibrator, log_odds), 1e-15, 1 - 1e-15)
    divergence = truth * np.log(truth / probs) + (1 - truth) * np.log((1 - truth) / (1 - probs))
    return float(share @ (probs - truth) ** 2), float(share @ divergence)


def ideal() -> tuple[float, float]:
    """Brier score and log-loss of the true map."""
    _, truth, share = _cells()
    entropy = -truth * np.log(truth) - (1 - truth) * np.log(1 - truth)
    return float(share @ (truth * (1 - truth))), float(share @ entropy)
