"""The latent function of a fitted GPcalib over its inputs, and its effect on the confidences of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeVar

import numpy as np

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.data.samples import TrueFunction, sample_named
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, softmax

T = TypeVar("T")
MOST_ENTRIES = 1_000_000
"""Logits a curve is computed from: with 10,000 x 1000 of them every tenth row, which moves no line visibly."""
MOST_ROWS = 10_000


def spaced_rows(logits: Floats, labels: Ints, most: int = MOST_ENTRIES) -> tuple[Floats, Ints, int]:
    """About ``most`` logits of evenly spaced rows, their labels, and the step from one row to the next."""
    every = max(1, -(-logits.size // most), -(-len(logits) // MOST_ROWS))
    return logits[::every], labels[::every], every


def of_rows(
    compute: Callable[..., T],
    gp: GPCalib,
    temperature: float | None,
    sample: str | None,
    *more: Any,
    data: Mapping[str, Any],
) -> T:
    """:func:`latent_curve` or :func:`study_effect` of the rows among a worker's arrays, with the truth of a sample."""
    truth = None if sample is None else sample_named(sample).true_latent
    return compute(gp, data["logits"], data["labels"], temperature, truth, *more)


Space = Literal["logits", "probs"]
N_BINS = 60
SMALLEST_PROBABILITY = 1e-4
"""Lower end of the curve in probability space: ln p has none at 0."""
UNDECIDED, MARGIN = 0.01, 0.1
"""Share of the weights p (1 - p) that lies beyond the picture, and the room around the rest as a share of its width."""


@dataclass(frozen=True, eq=False)
class LatentCurve:
    """The latent function of GPcalib beside its prior mean and temperature scaling.

    ``softmax(g(z) + c) = softmax(g(z))`` for any constant c, so latents mean something only up to a shift (Wenger et
    al. 2020, section S3.7). Every curve and every drawn function here is shifted until it agrees with the prior mean
    on average over the calibration inputs, each weighed by p (1 - p) of its probability: where a latent decides
    something. Two curves of the same space and data may therefore be laid over each other; a function of logits and
    one of probabilities may not.

    Attributes
    ----------
    inputs : (n_points,) increasing; logits, or probabilities where ``space`` is "probs".
    mean, sd : (n_points,) of the posterior.
    space : what the kernel acts on.
    prior, prior_name : (n_points,) the prior mean, and how it is called.
    temperature : (n_points,) temperature scaling; None if no temperature was given.
    temperature_outside : share of the weights p (1 - p) of inputs at which temperature scaling lies outside the band
        of two standard deviations; None if no temperature was given.
    truth : (n_points,) perfect calibration, where it is known.
    inducing : (m,) the trained inducing inputs that lie in the picture, increasing.
    density_edges, density_label, density_other : (n_bins + 1,) edges of two histograms of the calibration inputs, and
        (n_bins,) counts of those of the true class and of all other classes; the outermost hold all beyond.
    every : 1 if all calibration rows are counted, n if every n-th.
    """

    inputs: Floats
    mean: Floats
    sd: Floats
    space: Space
    prior: Floats
    prior_name: str
    temperature: Floats | None
    temperature_outside: float | None
    truth: Floats | None
    inducing: Floats
    density_edges: Floats
    density_label: Floats
    density_other: Floats
    every: int


def latent_curve(
    gp: GPCalib,
    logits: Floats,
    labels: Ints,
    temperature: float | None = None,
    truth: TrueFunction | None = None,
    n_points: int = 200,
) -> LatentCurve:
    """The latent function of a fitted GPcalib where its calibration data decide a probability.

    Logits beyond which p (1 - p) of their probabilities sums to less than 1 % are left out; the outermost cells of the
    histograms hold them.

    Parameters
    ----------
    gp : fitted.
    logits, labels : (n, n_classes) and (n,) the calibration set.
    temperature : for the line of temperature scaling; None leaves it out.
    truth : the perfect latent function of logits, up to a shift, where it is known.
    n_points : resolution of the curve.
    """
    logits, labels, every = spaced_rows(logits, labels)
    space: Space = "logits" if gp.inputs == "logits" else "probs"
    entries = gp.kernel_inputs(logits)[0]
    data = entries.ravel()
    of_label = entries[np.arange(len(entries)), labels]
    weights = _influence(logits)
    low, high = _range(data, weights)
    points = (
        np.linspace(low, high, n_points)
        if space == "logits"
        else np.geomspace(SMALLEST_PROBABILITY, 1, n_points)
    )
    unit = gp.scale_ if space == "logits" else 1.0

    collected = gp.grid().stencil(data[None, :]).collect(weights[None, :])[0]
    draws = gp.shift_draws_ - (gp.shift_draws_ @ collected)[:, None]
    shift = gp.shift_mean_ - gp.shift_mean_ @ collected
    prior = prior_mean(points, space)
    stencil = gp.grid().stencil(points)
    mean = prior + stencil.interpolate(shift)
    sd = np.std([stencil.interpolate(draw) for draw in draws], axis=0)
    line = outside = None
    if temperature is not None:
        inputs = data if space == "logits" else np.maximum(data, SMALLEST_PROBABILITY)
        anchor = weights @ prior_mean(inputs, space)
        line = prior + (gp.scale_ / temperature - 1.0) * (prior - anchor)
        beyond = np.interp(data, points, np.abs(line - mean) > 2 * sd)
        outside = float(weights @ (beyond > 0.5))
    perfect = None
    if truth is not None and space == "logits":
        perfect = truth(points * unit) - float(weights @ (truth(data * unit) - data))
    inducing = np.sort(gp.inducing_inputs_)
    edges = np.linspace(low, high, N_BINS + 1)
    label = np.histogram(np.clip(of_label, low, high), edges)[0]
    return LatentCurve(
        inputs=points * unit,
        mean=mean,
        sd=sd,
        space=space,
        prior=prior,
        prior_name=prior_name(gp),
        temperature=line,
        temperature_outside=outside,
        truth=perfect,
        inducing=inducing[(inducing >= points[0]) & (inducing <= points[-1])] * unit,
        density_edges=edges * unit,
        density_label=label,
        density_other=np.histogram(np.clip(data, low, high), edges)[0] - label,
        every=every,
    )


def _influence(logits: Floats) -> Floats:
    """Weights of all entries (n * n_classes,) that sum to one: p (1 - p) of each probability, as good as level at 0."""
    probs = softmax(logits)
    weights = (probs * (1 - probs)).ravel() + 1e-12
    return weights / weights.sum()


def _range(data: Floats, weights: Floats) -> tuple[float, float]:
    """Limits of the picture: around all but ``UNDECIDED`` of the weights of inputs.

    Beyond, where logits of -2500 may lie, a curve matters to no probability, and lines that are equal may lie apart.
    """
    order = np.argsort(data)
    below = np.cumsum(weights[order])
    ends = np.searchsorted(below, [UNDECIDED / 2, 1 - UNDECIDED / 2])
    low, high = (float(end) for end in data[order][np.minimum(ends, len(data) - 1)])
    room = MARGIN * (high - low)
    low = max(low - room, float(data.min()))
    high = min(high + room, float(data.max()))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def prior_mean(inputs: Floats, space: str) -> Floats:
    """``mu(z) = z`` or ``mu(p) = ln p``: the model is calibrated already (Wenger et al. 2020, section 3)."""
    return inputs.copy() if space == "logits" else np.log(inputs)


def prior_name(calibrator: GPCalib) -> str:
    """The prior mean in a word or two."""
    scale = calibrator.scale_
    if calibrator.inputs == "logits":
        return "identity" if scale == 1.0 else f"prior z / {scale:g}"
    return "ln prior" if scale == 1.0 else f"ln prior at T = {scale:g}"


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
        draws=probs_by_draw(gp, logits, top)[order],
        right=(labels == top)[order],
        temperature=scaled,
        truth=true,
        changed=int((probs.max(axis=1) > probs[index, top]).sum()),
        every=every,
    )


def probs_by_draw(gp: GPCalib, logits: Floats, classes: Ints) -> Floats:
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
        at_class = window.stencil(inputs[index, classes[block]])
        grown = sum(
            w[:, None] * local[at_class.first + node] for node, w in enumerate(at_class.weights)
        )
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
        """Return whether the change is larger than two of its standard deviations."""
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
