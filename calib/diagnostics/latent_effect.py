"""What GPcalib does to the confidences of rows, with what its posterior leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.data.samples import TrueFunction
from calib.diagnostics.latent import spaced_rows
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, softmax

Scale = Literal["linear", "logit"]
MOST_DRAWS = 256
"""The first of a scrambled Sobol sequence are spread as evenly as all; more would only take memory."""
MOST_ENTRIES_OF_EFFECT = 2_000_000
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
    gp: GPCalib,
    logits: Floats,
    labels: Ints,
    temperature: float | None = None,
    truth: TrueFunction | None = None,
) -> ConfidenceEffect:
    """Follow each row's predicted class through the calibration.

    Parameters
    ----------
    gp : fitted.
    logits, labels : (n, n_classes) and (n,) rows that it was not fitted on.
    temperature, truth : for values to compare with.
    """
    logits, labels, every = spaced_rows(logits, labels, MOST_ENTRIES_OF_EFFECT)
    top = logits.argmax(axis=1)
    index = np.arange(len(top))
    before = softmax(logits)[index, top]
    order = np.argsort(before, kind="stable")
    probs = gp.probs_from_logits(logits)
    scaled = None if temperature is None else softmax(logits / temperature)[index, top][order]
    true = None if truth is None else softmax(truth(logits))[index, top][order]
    return ConfidenceEffect(
        before=before[order],
        after=probs[index, top][order],
        draws=under_each_draw(gp, logits, top)[order],
        right=(labels == top)[order],
        temperature=scaled,
        truth=true,
        changed=int((probs.max(axis=1) > probs[index, top]).sum()),
        every=every,
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
MOST_BINS, LEAST_IN_BIN = 16, 25


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
    scale : of the axes on which it is drawn.
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
    """Average the effect over at most 16 bins of about equally many rows, 25 or more."""
    n = len(effect.before)
    n_bins = int(np.clip(n // LEAST_IN_BIN, 1, MOST_BINS))
    starts = np.arange(n_bins) * n // n_bins
    count = np.diff(np.append(starts, n))

    def mean(values: Floats) -> Floats:
        return (np.add.reduceat(values, starts, axis=0, dtype=np.float64).T / count).T

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
        start, stop = np.searchsorted(
            effect.before, [low, high if high < 1.0 else np.inf], side="right"
        )
        if stop - start < FEWEST_ROWS:
            continue
        rows = slice(start, stop)
        change = float((effect.after[rows] - effect.before[rows]).mean())
        sd = float(effect.draws[rows].mean(axis=0, dtype=np.float64).std())
        groups.append(GroupChange(low, high, int(stop - start), change, sd))
    return groups


@dataclass(frozen=True, eq=False)
class EffectStudy:
    """The effect on rows as a page tells it.

    Attributes
    ----------
    changes : by ranges of raw confidence.
    curve : in bins.
    n_rows, changed : number of rows, and of those whose predicted class changes.
    """

    changes: list[GroupChange]
    curve: EffectCurve
    n_rows: int
    changed: int


def study_effect(
    gp: GPCalib,
    logits: Floats,
    labels: Ints,
    temperature: float | None,
    truth: TrueFunction | None,
    scale: Scale,
) -> EffectStudy:
    """:func:`confidence_effect`, told in ranges and in bins."""
    effect = confidence_effect(gp, logits, labels, temperature, truth)
    return EffectStudy(
        changes(effect), effect_curve(effect, scale), len(effect.before), effect.changed
    )
