"""Rows that a validation needs for intervals of O:E, slope, AUROC or net benefit of the required width.

Riley, Debray, Collins et al., Minimum sample size for external validation of a clinical prediction model with a binary
outcome, Statistics in Medicine 2021 (doi 10.1002/sim.9025). Rows are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import asinh, ceil, sqrt
from typing import Any

import numpy as np

from calib.arrays import check_number
from calib.errors import CalibrationError
from calib.metrics.confidence import check_event
from calib.metrics.estimate import Rows
from calib.metrics.scoring_rules import auroc
from calib.numerics import Floats, log_odds_of, sigmoid
from calib.parameters import short_repr

Z = 1.96
"""Of an interval of 95 %, as the paper rounds it."""
WIDTHS = {"O:E": 0.2, "slope": 0.2, "AUROC": 0.1, "net benefit": 0.2}
"""Widths of intervals that the paper's examples ask for: upper minus lower end; of the standardised net benefit."""
MOST_ROWS = 1e18
"""A target that needs more is one that the rows at hand do not determine, such as the slope of risks that are alike."""


@dataclass(frozen=True)
class Needed:
    """Rows that one target needs, and how many events are to be expected among them.

    Attributes
    ----------
    target : {"O:E", "slope", "AUROC", "net benefit"}
        What the interval is of.
    width : float
        Wanted width of that interval, upper minus lower end.
    rows : int
        Rows that the validation needs for it.
    events : int
        Events that are to be expected among them.
    """

    target: str
    width: float
    rows: int
    events: int


def rows_for_o_e(rate: float, width: float) -> float:
    """For O:E around 1: ``SE(ln O:E)^2 = (1 - rate) / (n rate)`` and ``2 sinh(z SE) = width``."""
    return (1.0 - rate) / (rate * (asinh(width / 2.0) / Z) ** 2)


def rows_for_slope(probs: Floats, width: float) -> float:
    """From the Fisher information of a recalibration with a slope of 1, averaged over the log-odds."""
    score = log_odds_of(probs)
    chance = sigmoid(score)
    weight = chance * (1.0 - chance)
    centre = weight @ score / max(weight.sum(), 1e-300)
    information = float(np.mean(weight * (score - centre) ** 2))
    return 1.0 / max((width / (2.0 * Z)) ** 2 * information, 1e-300)


def rows_for_auroc(rate: float, concordance: float, width: float) -> float:
    """The positive root of ``SE^2 rate (1 - rate) n^2 - product (spread / 2) n - product (1 - spread) = 0``.

    The variance is that of Newcombe (2006), method 4.
    """
    spread = (1.0 - concordance) / (2.0 - concordance) + concordance / (1.0 + concordance)
    product = concordance * (1.0 - concordance)
    a = (width / (2.0 * Z)) ** 2 * rate * (1.0 - rate)
    b = product * spread / 2.0
    c = product * (1.0 - spread)
    return (b + sqrt(b**2 + 4.0 * a * c)) / (2.0 * a)


def rows_for_net_benefit(
    rate: float, sensitivity: float, specificity: float, threshold: float, width: float
) -> float:
    """For the standardised net benefit, which is net benefit over event rate."""
    odds = (1.0 - rate) / rate * threshold / (1.0 - threshold)
    variance = sensitivity * (1.0 - sensitivity) / rate
    variance += odds**2 * specificity * (1.0 - specificity) / (1.0 - rate)
    variance += odds**2 * (1.0 - specificity) ** 2 / (rate * (1.0 - rate))
    return variance / (width / (2.0 * Z)) ** 2


def rows_needed(
    probs: Any,
    labels: Any,
    threshold: float | None = None,
    widths: dict[str, float] | None = None,
    clusters: Any = None,
) -> list[Needed]:
    """Compute the rows and events that each target needs, for data like those at hand.

    Event rate, distribution of the log-odds, AUROC, sensitivity and specificity are taken from these rows. The slope is
    taken as 1, which needs the most rows where the model is overconfident.

    Parameters
    ----------
    probs : array_like of shape (m,)
        Probabilities of the event.
    labels : array_like of shape (m,)
        1 where it happened, or the second of two.
    threshold : float or None, default None
        Probability from which on is acted; None leaves the net benefit out.
    widths : dict of str to float or None, default None
        Widths of the intervals, by "O:E", "slope", "AUROC" and "net benefit"; those of ``WIDTHS`` unless
        given.
    clusters : array_like of shape (m,) or None, default None
        What rows that belong together share. The rows of O:E are then multiplied by its design effect.

    Returns
    -------
    list of Needed
        Without targets that these rows do not determine.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, all outcomes are equal, or the threshold is none.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.decisions import rows_needed
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(0.05, 0.5, 500)
    >>> needed = rows_needed(risk, rng.random(500) < risk)
    >>> [need.target for need in needed]
    ['O:E', 'slope', 'AUROC']
    """
    predicted, observed = check_event(probs, labels)
    if not 0 < observed.sum() < len(observed):
        raise CalibrationError(
            "All outcomes are equal, so that no number of rows follows; give rows of both kinds."
        )
    if unknown := sorted(set(widths or {}) - set(WIDTHS)):
        raise CalibrationError(
            f"Widths are of {', '.join(WIDTHS)}; got {', '.join(map(short_repr, unknown))}."
        )
    requested = {**WIDTHS, **(widths or {})}
    if threshold is not None:
        check_number("threshold", threshold, 0, 1, ends=False)
    rate = float(observed.mean())
    inner = predicted[(predicted > 0.0) & (predicted < 1.0)]
    concordance = auroc(predicted, observed)
    observed_to_expected = observed.sum() / max(predicted.sum(), 1e-300)
    residual = (
        observed - predicted * observed_to_expected
    )  # whose variance over clusters is larger (Kish 1965)
    of_rows, of_clusters = (
        Rows.of(len(predicted), members).mean_of(residual).error for members in (None, clusters)
    )
    effect = max(1.0, float(of_clusters / max(of_rows, 1e-300)) ** 2)
    targets: dict[str, Callable[[float], float]] = {
        "O:E": lambda width: _up(rows_for_o_e(rate, width)) * effect
    }
    if len(inner):
        targets["slope"] = lambda width: rows_for_slope(inner, width)
    if concordance is not None and 0.0 < concordance < 1.0:
        targets["AUROC"] = lambda width: rows_for_auroc(rate, concordance, width)
    if threshold is not None:
        acted = predicted >= threshold
        sensitivity = float(acted[observed].mean())
        specificity = float((~acted[~observed]).mean())
        targets["net benefit"] = lambda width: rows_for_net_benefit(
            rate, sensitivity, specificity, threshold, width
        )
    needs = {target: of(requested[target]) for target, of in targets.items()}
    rows = {target: _up(needed) for target, needed in needs.items() if needed <= MOST_ROWS}
    return [
        Needed(target, requested[target], n, ceil(n * rate)) for target, n in rows.items() if n > 0
    ]


def _up(rows: float) -> int:
    """Whole rows, upwards; a whole number stays what it is in spite of rounding."""
    return ceil(rows - 1e-9)
