"""The effect on confidences in summary: over bins of rows, and near one confidence."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from calib.diagnostics.latent_baseline import Scale
from calib.diagnostics.latent_effect import ConfidenceEffect
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import Floats, Ints

BAND_LEVELS = tuple(NormalDist().cdf(width) for width in (-2, -1, 1, 2))
"""Shares of the drawn functions below the ends of the bands, as of a normal distribution."""

N_CELLS = 16
LOGIT_ENDS = (5e-4, 1.0 - 5e-4)
NEAR = 0.05
MOST_NEAR_ROWS = 200


@dataclass(frozen=True, eq=False)
class EffectCurve:
    """Means over bins of rows with a similar raw confidence; every array has shape (m,).

    Attributes
    ----------
    before, after : mean confidence before and after.
    sd : posterior standard deviation of ``after``, over the drawn functions.
    bands : (low, high) that hold 95 and 68 % of the drawn functions.
    accuracy, accuracy_low, accuracy_high : share of right predictions with its 95 % Wilson interval.
    count : rows of each bin.
    temperature, truth : means of these; None where there are none.
    scale : the axis on which the bins are about equally wide.
    """

    before: Floats
    after: Floats
    sd: Floats
    bands: tuple[tuple[Floats, Floats], ...]
    accuracy: Floats
    accuracy_low: Floats
    accuracy_high: Floats
    count: Ints
    temperature: Floats | None
    truth: Floats | None
    scale: Scale


def effect_curve(effect: ConfidenceEffect, scale: Scale = "linear") -> EffectCurve:
    """Average the effect over bins of equal width on ``scale``, joined until each holds 2 % of the rows (at least 5).

    On the logit scale, bins end at 0.9995: higher confidences make one bin.
    """
    places = effect.before if scale == "linear" else _log_odds(np.clip(effect.before, *LOGIT_ENDS))
    starts = _starts(places, least=max(5, len(places) // 50))
    count = np.diff(np.r_[starts, len(places)])

    def mean(values: Floats) -> Floats:
        return np.add.reduceat(values, starts, axis=0, dtype=np.float64) / (
            count if values.ndim == 1 else count[:, None]
        )

    draws = mean(effect.draws)
    wide_low, low, high, wide_high = np.quantile(draws, BAND_LEVELS, axis=1)
    right = np.add.reduceat(effect.right, starts, dtype=np.int64)
    accuracy_low, accuracy_high = wilson_interval(right, count, 0.95)
    return EffectCurve(
        before=mean(effect.before),
        after=mean(effect.after),
        sd=draws.std(axis=1),
        bands=((wide_low, wide_high), (low, high)),
        accuracy=right / count,
        accuracy_low=accuracy_low,
        accuracy_high=accuracy_high,
        count=count,
        temperature=None if effect.temperature is None else mean(effect.temperature),
        truth=None if effect.truth is None else mean(effect.truth),
        scale=scale,
    )


def _starts(places: Floats, least: int) -> Ints:
    """First row of each bin of sorted ``places``: equal widths, neighbours joined until each has ``least`` rows."""
    edges = np.linspace(places[0], places[-1], N_CELLS + 1)[1:-1]
    starts = [0]
    for start in np.searchsorted(places, edges):
        if start - starts[-1] >= least and len(places) - start >= least:
            starts.append(int(start))
    return np.array(starts)


def _log_odds(probs: Floats) -> Floats:
    return np.log(probs) - np.log1p(-probs)


@dataclass(frozen=True)
class EffectNear:
    """What becomes of one confidence, by the rows nearest to it.

    Attributes
    ----------
    before : the confidence asked for, or the mean of the rows where they all lie to one side of it.
    after, sd : the confidence after, and its posterior standard deviation over the drawn functions.
    accuracy, accuracy_low, accuracy_high : share of right predictions with its 95 % Wilson interval.
    count : how many rows.
    temperature : what temperature scaling makes of it; None if no temperature was given.
    """

    before: float
    after: float
    sd: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    count: int
    temperature: float | None


def effect_near(effect: ConfidenceEffect, level: float) -> EffectNear | None:
    """The effect at one confidence: a least-squares line through the 200 rows nearest to it, read off at ``level``.

    The line, and not the mean of the rows, because there are more rows on the side of the higher confidences. No row
    is farther than 0.05 or half the way to 1; None where there is no such row.
    """
    distance = np.abs(effect.before - level)
    near = np.argsort(distance, kind="stable")[:MOST_NEAR_ROWS]
    near = near[distance[near] <= min(NEAR, (1.0 - level) / 2.0)]
    if not len(near):
        return None
    weights = _line_weights(effect.before[near], level)
    right = int(effect.right[near].sum())
    low, high = wilson_interval(right, len(near), 0.95)
    return EffectNear(
        before=float(weights @ effect.before[near]),
        after=float(weights @ effect.after[near]),
        sd=float((weights @ effect.draws[near]).std()),
        accuracy=right / len(near),
        accuracy_low=float(low),
        accuracy_high=float(high),
        count=len(near),
        temperature=None if effect.temperature is None else float(weights @ effect.temperature[near]),
    )


def _line_weights(places: Floats, at: float) -> Floats:
    """Weights w with ``w @ values`` the least-squares line through (places, values), read off at ``at``.

    Beyond all places nothing is extrapolated: the weights are then those of the mean.
    """
    weights = np.full(len(places), 1.0 / len(places))
    away = places - places.mean()
    spread = float(away @ away)
    if places.min() < at < places.max() and spread > 0.0:
        weights += (at - places.mean()) * away / spread
    return weights
