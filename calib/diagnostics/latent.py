"""The latent function of a fitted GPcalib over its own inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from calib.calibrators.gpcalib import GPCalib
from calib.data.samples import TrueFunction, true_latent
from calib.numerics import Floats, Ints, softmax

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
    truth = None if sample is None else true_latent(sample)
    return compute(gp, data["logits"], data["labels"], temperature, truth, *more)


Space = Literal["logits", "probs"]
N_BINS = 60
SMALLEST_PROBABILITY = 1e-4
"""Where the curve begins in probability space: ln p has no end at 0."""
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
        known = data if space == "logits" else np.maximum(data, SMALLEST_PROBABILITY)
        anchor = weights @ prior_mean(known, space)
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
    """Where the picture begins and ends: around all but ``UNDECIDED`` of the weights of inputs.

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
