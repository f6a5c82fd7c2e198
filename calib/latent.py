"""What a Gaussian-process calibrator learned, as numbers a picture or a table can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calib.base import CalibrationError, Calibrator, check_labels, check_logits
from calib.calibrators.gpcalib import GPCalib
from calib.numerics import Floats, Ints, softmax

Space = Literal["logits", "probs"]


@dataclass(frozen=True, eq=False)
class LatentCurve:
    """The latent function of GPcalib beside the identity and temperature scaling.

    ``softmax(g(z) + c) = softmax(g(z))`` for any constant c, so latents mean something only up to a shift:
    every curve here is shifted until it agrees with the prior mean on average over the calibration data
    (Wenger et al. 2020, section S3.7).

    Attributes
    ----------
    inputs : (n_points,) increasing; logits, or probabilities where ``space`` is "probs".
    mean, sd : (n_points,) posterior mean and standard deviation of the latent function.
    identity : (n_points,) the prior mean: what an uncalibrated model would have.
    temperature : (n_points,) the line z / T (ln p / T in probability space); None if no temperature was given.
    inducing_inputs : (n_inducing,) in increasing order.
    inducing_mean, inducing_sd : (n_inducing,) the latent function there.
    density_edges : (n_bins + 1,) edges of the two histograms.
    density_label : (n_bins,) counts of calibration inputs of the true class.
    density_other : (n_bins,) counts of the inputs of all other classes.
    space : what the kernel acts on.
    objective_trace : (n_iter,) the objective at each iteration of the fit, in nats; higher is better.
    title : how the curve is called in a legend.
    """

    inputs: Floats
    mean: Floats
    sd: Floats
    identity: Floats
    temperature: Floats | None
    inducing_inputs: Floats
    inducing_mean: Floats
    inducing_sd: Floats
    density_edges: Floats
    density_label: Floats
    density_other: Floats
    space: Space
    objective_trace: Floats
    title: str


N_BINS = 60
SMALLEST_PROBABILITY = 1e-4
"""Where the curve begins in probability space: ln p has no end at 0."""

MOST_ENTRIES = 2_000_000
NEAR = 0.05
MOST_NEAR_ROWS = 200


def latent_curve(
    calibrator: Calibrator, logits: Any, labels: Any, temperature: float | None = None, n_points: int = 200
) -> LatentCurve:
    """The latent function of a fitted GPcalib over the range of its calibration data.

    Parameters
    ----------
    calibrator : a fitted :class:`~calib.calibrators.gpcalib.GPCalib`.
    logits, labels : (n, n_classes) and (n,) the calibration set.
    temperature : for the line of temperature scaling; None leaves it out.
    n_points : resolution of the curve.

    Raises
    ------
    CalibrationError
        If the calibrator is not fitted or the arrays do not belong to it.
    """
    calibrator, logits = _checked(calibrator, logits)
    labels = check_labels(labels, logits.shape)
    space, grid = calibrator.inputs, calibrator.grid()
    rows = slice(None, None, max(1, logits.size // MOST_ENTRIES))
    entries = calibrator.kernel_inputs(logits[rows])[0]
    data = entries.ravel()
    low, high = float(data.min()), float(data.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    points = np.linspace(low, high, n_points) if space == "logits" else np.geomspace(SMALLEST_PROBABILITY, 1, n_points)

    shift = grid.interpolate(calibrator.shift_mean_, points)
    offset = float(grid.interpolate(calibrator.shift_mean_, data).mean())
    draws = _centred_draws(calibrator, data)
    identity = _prior_mean(points, space)
    inducing = np.sort(calibrator.inducing_inputs_)
    inducing = inducing if space == "logits" else np.clip(inducing, SMALLEST_PROBABILITY, 1.0)
    edges = np.linspace(low, high, N_BINS + 1)
    unit = calibrator.scale_ if space == "logits" else 1.0
    label = np.histogram(entries[np.arange(len(entries)), labels[rows]], edges)[0]
    return LatentCurve(
        inputs=points * unit,
        mean=identity + shift - offset,
        sd=_sd(calibrator, draws, points),
        identity=identity,
        temperature=None
        if temperature is None
        else _temperature_line(points, data, temperature / calibrator.scale_, space),
        inducing_inputs=inducing * unit,
        inducing_mean=_prior_mean(inducing, space) + grid.interpolate(calibrator.shift_mean_, inducing) - offset,
        inducing_sd=_sd(calibrator, draws, inducing),
        density_edges=edges * unit,
        density_label=label,
        density_other=np.histogram(data, edges)[0] - label,
        space="logits" if space == "logits" else "probs",
        objective_trace=calibrator.objective_trace_,
        title="GPcalib",
    )


def confidence_effect(
    calibrator: Calibrator, logits: Any, levels: tuple[float, ...] = (0.6, 0.9, 0.99)
) -> list[tuple[float, float, float]]:
    """What calibration does to a confidence: (before, after, sd) near each level.

    For the rows whose raw confidence is nearest to a level, and no farther than 0.05 or half the way to 1: their
    mean raw confidence, the mean calibrated probability of the same classes, and its posterior standard
    deviation over the drawn functions. A level that no row is near is left out.
    """
    calibrator, logits = _checked(calibrator, logits)
    raw = softmax(logits)
    confidence = raw.max(axis=1)
    effects = []
    for level in levels:
        distance = np.abs(confidence - level)
        near = np.argsort(distance, kind="stable")[:MOST_NEAR_ROWS]
        near = near[distance[near] <= min(NEAR, (1.0 - level) / 2.0)]
        if not len(near):
            continue
        top = raw[near].argmax(axis=1)
        after = _per_draw(calibrator, logits[near], top)
        effects.append((float(confidence[near].mean()), float(after.mean()), float(after.std())))
    return effects


def _per_draw(calibrator: GPCalib, logits: Floats, classes: Ints) -> Floats:
    """Mean probability of the given classes under each drawn function, shape (n_draws,)."""
    inputs, prior = calibrator.kernel_inputs(logits)
    grid, rows = calibrator.grid(), np.arange(len(logits))
    return np.array(
        [softmax(prior + grid.interpolate(draw, inputs))[rows, classes].mean() for draw in calibrator.shift_draws_]
    )


def _centred_draws(calibrator: GPCalib, data: Floats) -> Floats:
    """Drawn shifts on the grid, each with mean zero over the data."""
    grid = calibrator.grid()
    weights = grid.stencil(data[None, :]).collect(np.full((1, data.size), 1.0 / data.size))[0]
    return calibrator.shift_draws_ - (calibrator.shift_draws_ @ weights)[:, None]


def _sd(calibrator: GPCalib, draws: Floats, points: Floats) -> Floats:
    grid = calibrator.grid()
    return np.std([grid.interpolate(draw, points) for draw in draws], axis=0)


def _prior_mean(points: Floats, space: str) -> Floats:
    return points.copy() if space == "logits" else np.log(points)


def _temperature_line(points: Floats, data: Floats, temperature: float, space: str) -> Floats:
    flattening = 1.0 / temperature - 1.0
    prior = _prior_mean(points, space)
    anchor = float(_prior_mean(np.maximum(data, SMALLEST_PROBABILITY) if space == "probs" else data, space).mean())
    return prior + flattening * (prior - anchor)


def _checked(calibrator: Calibrator, logits: Any) -> tuple[GPCalib, Floats]:
    if not isinstance(calibrator, GPCalib) or not calibrator.fitted:
        raise CalibrationError("A latent function needs a fitted GPCalib; call fit(logits, labels) first.")
    logits = check_logits(logits)
    if logits.shape[1] != calibrator.n_classes_:
        raise CalibrationError(
            f"The calibrator was fitted on {calibrator.n_classes_} classes, but these logits have {logits.shape[1]}."
        )
    return calibrator, logits
