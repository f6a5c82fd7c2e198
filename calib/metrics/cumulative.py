"""Calibration tested without bins: the sums of what came true minus what was said, in the order of what was said."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.metrics.confidence import check_weights, scikit_words, target_pair

_TERMS = 100
"""Of a series whose terms fall like exp(-k²)."""


@dataclass(frozen=True)
class CumulativeTest:
    """How far the cumulated differences go, and how often those of a calibrated model go as far.

    Attributes
    ----------
    kolmogorov, kuiper : float
        Largest absolute value, and range, of the cumulated differences over the sum of the weights, as probabilities.
        They are called ECCE-MAD and ECCE-R too.
    kolmogorov_p, kuiper_p : float
        Share of samples of a calibrated model in which each is at least as large, for many independent rows. Where all
        that is said is 0 or 1 they are 1 if all came true so, else 0.
    n : int
        Rows.
    """

    kolmogorov: float
    kuiper: float
    kolmogorov_p: float
    kuiper_p: float
    n: int


@scikit_words
def cumulative_test(
    probs: Any, labels: Any, target: int | None = None, weights: Any = None
) -> CumulativeTest:
    """Test of calibration by cumulated differences, with no bins to choose.

    The differences w (y - p) are cumulated in the order of p. Of a calibrated model they are a random walk, which in
    units of the root of sum w² p (1 - p) is close to a Brownian motion: its largest absolute value and its range are
    those of Kolmogorov and Smirnov and of Kuiper (Arrieta-Ibarra et al., 2022, "Metrics of calibration for
    probabilistic predictions", JMLR 23; the distribution of the range is Feller's, 1951).

    Parameters
    ----------
    probs : array_like of shape (n, n_classes) or (n,)
        Probabilities of all classes, or of one statement for each row.
    labels : array_like of shape (n,)
        Integers in [0, n_classes); of one probability for each row, whether it came true.
    target : int or None, default None
        Class whose probability is tested; None for the confidence in the predicted class.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike. The statistics are those of rows repeated as often as their weights
        say. The p-values take each row as drawn once, so that the unit of the weights changes nothing.

    Returns
    -------
    CumulativeTest
        Both statistics with their p-values.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or are no probabilities.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> risk = generator.random(2000)
    >>> happened = generator.random(2000) < risk
    >>> cumulative_test(risk, happened).kuiper_p > 0.05, cumulative_test(risk**2, happened).kuiper_p < 1e-6
    (True, True)
    """
    said, came = target_pair(probs, labels, target)
    checked = check_weights(weights, len(said))
    weight = np.ones(len(said)) if checked is None else checked
    order = np.argsort(said, kind="stable")
    walk = np.cumsum((weight * (came - said))[order])
    last = np.flatnonzero(
        np.diff(said[order], append=np.inf)
    )  # rows that say the same have no order
    walk = np.concatenate([[0.0], walk[last]])
    unit = math.sqrt(float(weight**2 @ (said * (1.0 - said))))
    total = float(weight.sum())
    farthest = float(np.abs(walk).max())
    span = float(np.ptp(walk))
    if unit > 0:
        ps = brownian_beyond(farthest / unit), brownian_range_beyond(span / unit)
    else:  # all that is said is 0 or 1, which a calibrated model never misses
        ps = (float(not farthest),) * 2
    return CumulativeTest(farthest / total, span / total, *ps, len(said))


def brownian_beyond(distance: float) -> float:
    """Probability that the largest absolute value of a Brownian motion on [0, 1] exceeds a distance."""
    if distance <= 0.0:
        return 1.0
    odd = 2 * np.arange(_TERMS) + 1
    inside = (4 / np.pi) * np.sum(
        (-1.0) ** np.arange(_TERMS) / odd * np.exp(-((odd * np.pi / distance) ** 2) / 8)
    )
    return float(np.clip(1.0 - inside, 0.0, 1.0))


def brownian_range_beyond(distance: float) -> float:
    """Probability that the range of a Brownian motion on [0, 1] exceeds a distance (Feller, 1951)."""
    if distance <= 0.0:
        return 1.0
    half = (np.arange(1, _TERMS + 1) - 0.5) * np.pi
    inside = np.sum((8 / distance**2 + 2 / half**2) * np.exp(-2 * (half / distance) ** 2))
    return float(np.clip(1.0 - inside, 0.0, 1.0))
