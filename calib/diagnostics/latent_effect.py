"""The effect of a latent function on the confidences of rows, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from calib.arrays import check_labels
from calib.base import Calibrator
from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.diagnostics.latent import Truth, every_nth_row, fitted_gp
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, log_odds_of, softmax

Scale = Literal["linear", "logit"]

MOST_DRAWS = 256
"""The first of a scrambled Sobol sequence are spread as evenly as all; more would only take memory."""

MOST_ENTRIES = 2_000_000
"""Logits the effect is computed from: more than for a curve, as bins of rows are noisier than a shift."""


@dataclass(frozen=True, eq=False)
class ConfidenceEffect:
    """Rows ordered by the confidence of the raw model, and what becomes of the class it predicts.

    Attributes
    ----------
    before : (n,) raw confidence, increasing.
    after : (n,) calibrated probability of the same class, as ``predict_proba`` gives it.
    draws : (n, n_draws) float32, the same under each function drawn from the posterior.
    right : (n,) whether the raw prediction is right.
    temperature : (n,) what temperature scaling makes of it; None if no temperature was given.
    truth : (n,) the true probability; None where unknown.
    changed : rows whose predicted class is another after calibration.
    every : 1 if these are all rows, m if every m-th.
    """

    before: Floats
    after: Floats
    draws: Floats
    right: Any
    temperature: Floats | None
    truth: Floats | None
    changed: int
    every: int


def confidence_effect(
    calibrator: Calibrator,
    logits: Any,
    labels: Any,
    temperature: float | None = None,
    truth: Truth | None = None,
) -> ConfidenceEffect:
    """Follow each row's predicted class through the calibration.

    Parameters
    ----------
    calibrator : a fitted :class:`~calib.calibrators.gpcalib.GPCalib`.
    logits, labels : (n, n_classes) and (n,) rows that it was not fitted on.
    temperature, truth : for values to compare with.

    Raises
    ------
    CalibrationError
        If the calibrator is not fitted or the arrays do not belong to it.
    """
    gp = fitted_gp(calibrator)
    labels = check_labels(labels, np.shape(logits))
    rows, logits = every_nth_row(gp, logits, MOST_ENTRIES)
    top = logits.argmax(axis=1)
    index = np.arange(len(top))
    before = softmax(logits)[index, top]
    order = np.argsort(before, kind="stable")
    probs = gp.predict_proba(logits)
    scaled = None if temperature is None else softmax(logits / temperature)[index, top][order]
    true = None if truth is None else truth.probabilities(logits)
    return ConfidenceEffect(
        before=before[order],
        after=probs[index, top][order],
        draws=under_each_draw(gp, logits, top)[order],
        right=(labels[rows] == top)[order],
        temperature=scaled,
        truth=None if true is None else true[index, top][order],
        changed=int((probs.max(axis=1) > probs[index, top]).sum()),
        every=rows.step,
    )


def under_each_draw(gp: GPCalib, logits: Floats, classes: Ints) -> Floats:
    """Probability of one class of each row under each drawn function, shape (n, n_draws), float32.

    The numerator and the normaliser of the softmax both come from ``exp(a)`` on the grid, as in
    :func:`calib.calibrators.gpcalib.prediction.predict_draws`, whose average over the draws this is.
    """
    growth = np.exp(np.clip(gp.shift_draws_[:MOST_DRAWS], -LARGEST_SHIFT, LARGEST_SHIFT)).T
    probs = np.empty((len(logits), growth.shape[1]), dtype=np.float32)
    for block in blocks(len(logits), max(logits.shape[1], len(growth)), PREDICTED_ENTRIES):
        inputs, prior = gp.kernel_inputs(logits[block])
        mass = np.exp(prior - prior.max(axis=1, keepdims=True))
        index = np.arange(len(mass))
        nodes, window = gp.grid().window(inputs.min(), inputs.max())
        local = growth[nodes]
        own = window.stencil(inputs[index, classes[block]])
        grown = sum(w[:, None] * local[own.first + node] for node, w in enumerate(own.weights))
        total = window.stencil(inputs).collect(mass) @ local
        probs[block] = mass[index, classes[block], None] * grown / total
    return probs


BAND_LEVELS = tuple(NormalDist().cdf(width) for width in (-2, -1, 1, 2))
"""Shares of the drawn functions below the ends of the bands, as of a normal distribution."""

N_CELLS = 16
LOGIT_FLOOR = 5e-4
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
    places = effect.before if scale == "linear" else log_odds_of(effect.before, LOGIT_FLOOR)
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


GROUPS = ((0.9, 1.0), (0.5, 0.9), (0.0, 0.5))
"""Raw confidences that are spoken of together, the most confident first: above the first and up to the second."""

FEWEST_ROWS = 5


@dataclass(frozen=True)
class GroupChange:
    """The mean change of the confidences in one range.

    Attributes
    ----------
    low, high : raw confidences in (low, high].
    count : rows in the range.
    change, sd : mean change of their confidence, and its posterior standard deviation.
    """

    low: float
    high: float
    count: int
    change: float
    sd: float

    @property
    def certain(self) -> bool:
        """Whether the change is larger than two of its standard deviations."""
        return abs(self.change) > 2.0 * self.sd


def changes(effect: ConfidenceEffect) -> list[GroupChange]:
    """The mean change above 0.9, from 0.5 to 0.9 and below 0.5; ranges with fewer than 5 rows are left out."""
    groups = []
    for low, high in GROUPS:
        # Rows are ordered, and rounding may lift a confidence above 1.
        start, stop = np.searchsorted(effect.before, [low, high if high < 1.0 else np.inf], side="right")
        if stop - start < FEWEST_ROWS:
            continue
        rows = slice(start, stop)
        change = float((effect.after[rows] - effect.before[rows]).mean())
        sd = float(effect.draws[rows].mean(axis=0, dtype=np.float64).std())
        groups.append(GroupChange(low, high, int(stop - start), change, sd))
    return groups


LEVELS = (*(k / 100 for k in range(1, 100)), 0.995, 0.998, 0.999, 0.9995, 0.9999)
"""Raw confidences that can be followed, where the rows have such."""


@dataclass(frozen=True, eq=False)
class EffectStudy:
    """The effect on rows as a page tells it.

    Attributes
    ----------
    changes : by ranges of raw confidence.
    curve : in bins.
    near : at each of ``LEVELS`` that lies between the rows' confidences, or at the highest of these; None where no row
        is near.
    middle : median raw confidence.
    n_rows, changed, every : number of rows, those whose predicted class changes, and 1 if these are all rows.
    """

    changes: list[GroupChange]
    curve: EffectCurve
    near: dict[float, EffectNear | None]
    middle: float
    n_rows: int
    changed: int
    every: int


def study_effect(
    calibrator: Calibrator, logits: Any, labels: Any, temperature: float | None, truth: Truth | None, scale: Scale
) -> EffectStudy:
    """:func:`confidence_effect`, told in ranges, in bins of ``scale`` and at single confidences."""
    effect = confidence_effect(calibrator, logits, labels, temperature, truth)
    before = effect.before
    levels = [level for level in LEVELS if before[0] <= level <= before[-1]] or [float(f"{before[-1]:.3g}")]
    return EffectStudy(
        changes=changes(effect),
        curve=effect_curve(effect, scale),
        near={level: effect_near(effect, level) for level in levels},
        middle=float(before[len(before) // 2]),
        n_rows=len(before),
        changed=effect.changed,
        every=effect.every,
    )
