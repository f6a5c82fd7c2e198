"""What a latent function does to the probability of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calib.arrays import check_labels
from calib.base import Calibrator
from calib.calibrators.gpcalib import GPCalib
from calib.diagnostics.latent import (
    N_BINS,
    FunctionCurve,
    InducingPoints,
    Truth,
    every_nth_row,
    fitted_gp,
    in_picture,
    prior_name,
)
from calib.numerics import Floats, Ints, log_odds_of, logsumexp, sigmoid, softmax

Scale = Literal["linear", "logit"]

N_POINTS = 140
LEAST_PROBABILITY = 5e-4
"""The curve runs from here to 1 minus this: a logit-scaled axis has no end of its own."""


@dataclass(frozen=True, eq=False)
class PairwiseCurve(FunctionCurve):
    """Two-class probability before and after calibration: one class with p, one other with 1 - p.

    ``q(p) = sigmoid(g(a) - g(b))`` with a and b the kernel inputs of the two: it does not depend on the shift of
    the latents, makes the uncalibrated model the diagonal, and puts functions of logits and of probabilities on
    the same axes. Where the rows are log-probabilities, a = ln p and b = ln(1 - p); where they are logits, both
    lie higher by the mean logit of the true class. With two classes of which one always has logit 0, b = 0.

    Attributes
    ----------
    probs : (n_points,) p, increasing; the other curves are values of q there.
    bands : (low, high) at 2 and at 1 standard deviations of the log-odds over the drawn functions.
    scale : the axis on which the edges of the histograms of all classes' probabilities are evenly spaced.
    """

    probs: Floats
    bands: tuple[tuple[Floats, Floats], ...]
    scale: Scale


@dataclass(frozen=True)
class _Pair:
    """Logits ``own`` and ``other`` of two classes as functions of the log-odds l of the first."""

    origin: float
    other_is_zero: bool

    def logits(self, log_odds: Floats) -> tuple[Floats, Floats]:
        if self.other_is_zero:
            return log_odds, np.zeros_like(log_odds)
        return self.origin - np.logaddexp(0.0, -log_odds), self.origin - np.logaddexp(0.0, log_odds)

    def log_odds(self, logits: Floats) -> Floats:
        """The inverse of the first of :meth:`logits`; NaN for logits that no probability has."""
        if self.other_is_zero:
            return logits
        below = np.where(logits < self.origin, logits - self.origin, np.nan)
        return below - np.log(-np.expm1(below))


def pairwise_curve(
    calibrator: Calibrator,
    logits: Any,
    labels: Any,
    temperature: float | None = None,
    truth: Truth | None = None,
    scale: Scale = "linear",
) -> PairwiseCurve:
    """What a fitted GPcalib does to a probability, see :class:`PairwiseCurve`.

    Parameters
    ----------
    calibrator : a fitted :class:`~calib.calibrators.gpcalib.GPCalib`.
    logits, labels : (n, n_classes) and (n,) the calibration set.
    temperature, truth : for curves to compare with.
    scale : of the axis that the histogram is made for.

    Raises
    ------
    CalibrationError
        If the calibrator is not fitted or the arrays do not belong to it.
    """
    gp = fitted_gp(calibrator)
    labels = check_labels(labels, np.shape(logits))
    rows, logits = every_nth_row(gp, logits)
    labels = labels[rows]
    pair = _pair(logits, labels)
    end = np.log1p(-LEAST_PROBABILITY) - np.log(LEAST_PROBABILITY)
    log_odds = np.linspace(-end, end, N_POINTS)
    inducing, outside = in_picture(_log_odds_of_inducing(gp, pair), -end, end)
    mean, bands = _calibrated(gp, pair, log_odds)
    edges = np.linspace(-end, end, N_BINS + 1) if scale == "logit" else np.linspace(0.0, 1.0, N_BINS + 1)
    edges = sigmoid(edges) if scale == "logit" else edges
    # What lies beyond the ends is counted in the last bins.
    probs = np.clip(softmax(logits), edges[0], edges[-1])
    label = np.histogram(probs[np.arange(len(probs)), labels], edges)[0]
    return PairwiseCurve(
        probs=sigmoid(log_odds),
        mean=mean,
        bands=bands,
        prior=sigmoid(log_odds / gp.scale_),
        prior_name=prior_name(gp),
        temperature=None if temperature is None else sigmoid(log_odds / temperature),
        truth=_truth(truth, pair, log_odds),
        inducing=InducingPoints(sigmoid(inducing), *_calibrated(gp, pair, inducing), outside),
        density_edges=edges,
        density_label=label,
        density_other=np.histogram(probs, edges)[0] - label,
        every=rows.step,
        scale=scale,
    )


def _pair(logits: Floats, labels: Ints) -> _Pair:
    if logits.shape[1] == 2 and not logits[:, 0].any():
        return _Pair(0.0, other_is_zero=True)
    if np.abs(logsumexp(logits)).max() < 1e-3:
        return _Pair(0.0, other_is_zero=False)
    return _Pair(float(logits[np.arange(len(logits)), labels].mean()), other_is_zero=False)


def _kernel_inputs(gp: GPCalib, pair: _Pair, log_odds: Floats) -> tuple[Floats, Floats]:
    if gp.inputs == "probs":
        return sigmoid(log_odds / gp.scale_), sigmoid(-log_odds / gp.scale_)
    own, other = pair.logits(log_odds)
    return own / gp.scale_, other / gp.scale_


def _calibrated(gp: GPCalib, pair: _Pair, log_odds: Floats) -> tuple[Floats, tuple[tuple[Floats, Floats], ...]]:
    """q of the posterior mean, and its bands at 2 and 1 standard deviations."""
    own, other = (gp.grid().stencil(inputs) for inputs in _kernel_inputs(gp, pair, log_odds))

    def shifted(shift: Floats) -> Floats:
        return log_odds / gp.scale_ + own.interpolate(shift) - other.interpolate(shift)

    mean = shifted(gp.shift_mean_)
    sd = np.std([shifted(draw) for draw in gp.shift_draws_], axis=0)
    return sigmoid(mean), tuple((sigmoid(mean - width * sd), sigmoid(mean + width * sd)) for width in (2, 1))


def _log_odds_of_inducing(gp: GPCalib, pair: _Pair) -> Floats:
    inputs = gp.inducing_inputs_
    if gp.inputs == "logits":
        return pair.log_odds(inputs * gp.scale_)
    inside = np.where((inputs > 0.0) & (inputs < 1.0), inputs, np.nan)
    return log_odds_of(inside) * gp.scale_


def _truth(truth: Truth | None, pair: _Pair, log_odds: Floats) -> Floats | None:
    if truth is None:
        return None
    if truth.latent is not None:
        own, other = pair.logits(log_odds)
        return sigmoid(truth.latent(own) - truth.latent(other))
    return None if truth.map is None else truth.map(sigmoid(log_odds))
