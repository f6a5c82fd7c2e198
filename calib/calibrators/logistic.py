"""Logistic regression on few features and very many rows, with soft targets; base of the maps that are such curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.base import Progress
from calib.calibrators.minimisation import newton
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest, platt_targets
from calib.numerics import Floats, Ints, blocks

PRIOR_SD = 1000.0
"""A Gaussian prior of this standard deviation on each slope, per standard deviation of its feature."""

TOLERANCE = 1e-6
"""The search ends where a step promises less than the square of this, in nats of a row."""

EVERY, ENOUGH = 29, 30
"""The search starts where that on every 29th row ended, if these have 30 of each outcome; a prime, for all classes."""


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticCurves(OneVsRest):
    """Base of methods whose maps are logistic regressions on functions of the log-odds.

    Where no negative has a higher score than a positive, likelihood asks for an infinite slope. Such maps are fitted to
    Platt's targets instead (:func:`targets_of`), and :meth:`notes` says so.
    """

    def notes(self) -> list[str]:
        if not self.separable_maps_:
            return super().notes()
        of = (
            "" if len(self.maps_) == 1 else f" for {self.separable_maps_} of {len(self.maps_)} maps"
        )
        return [
            *super().notes(),
            f"The calibration rows are separable by their scores{of}: the likelihood has no maximum, so Platt's "
            "smoothed targets take the place of 0 and 1. How sure the probabilities are depends on these; calibrate "
            "with more rows.",
        ]

    def _fit(
        self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None
    ) -> None:
        self.separable_maps_ = 0
        super()._fit(logits, labels, progress=progress, weights=weights)

    def _learned(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map | None:
        self.separable_maps_ += separable(log_odds, positives)
        return super()._learned(log_odds, positives, weights)


def separable(log_odds: Floats, positives: Bools) -> bool:
    """Return whether both outcomes occur, at different scores, and no negative has a higher score than a positive."""
    if positives.all() or not positives.any():
        return False
    of_positives = log_odds[positives]
    lowest = of_positives.min()
    negatives_above = np.count_nonzero(log_odds > lowest) - np.count_nonzero(of_positives > lowest)
    return negatives_above == 0 and bool(log_odds.min() < log_odds.max())


def targets_of(
    log_odds: Floats, positives: Bools, weights: Floats | None, platt_correction: bool = False
) -> Floats | Bools:
    """Targets of a regression, (m,): 0 and 1, or Platt's where that is wanted or the pairs are separable."""
    if not (platt_correction or separable(log_odds, positives)):
        return positives
    row_weights = np.ones(len(positives)) if weights is None else weights
    low, high = platt_targets(
        float(row_weights[positives].sum()), float(row_weights[~positives].sum())
    )
    return np.where(positives, high, low)


def fit_logistic(
    features: Floats, targets: Floats | Bools, weights: Floats | None = None, rising: bool = False
) -> tuple[Floats, float]:
    """Slopes and intercept that minimise the cross-entropy of ``sigmoid(slopes @ features + intercept)``.

    By Newton's method, which takes five to ten passes over few rows and about four over many, whatever the scale of
    the features. scikit-learn's LogisticRegression takes no soft targets without doubling the rows. The weak prior only
    matters on separable data, where the slope would grow without end.

    Parameters
    ----------
    features : (d, m) array; d may be 0 for the intercept alone.
    targets : (m,) values in [0, 1], with a mean strictly between.
    weights : (m,) how much each row counts, of which ratios alone matter; 1 if None.
    rising : whether no slope may be negative.

    Returns
    -------
    slopes : (d,) array
    intercept : float
    """
    d, m = features.shape
    weights = np.full(m, 1 / m) if weights is None else weights / weights.sum()
    mean = float(weights @ targets)
    centre = features @ weights
    spread = np.sqrt((features - centre[:, None]) ** 2 @ weights)
    spread[spread == 0] = 1.0
    prior = np.append(np.full(d, PRIOR_SD**-2 / m), 0.0)

    def objective(at: Floats) -> tuple[float, Floats, Floats]:
        """Mean loss, its gradient and curvature at some coefficients of the standardised features, in one pass."""
        loss = 0.5 * float(prior @ at**2)
        gradient = prior * at
        curvature = np.diag(prior)
        for block in blocks(m):
            target = targets[block]
            weight = weights[block]
            design = np.ones((d + 1, len(target)))
            np.subtract(features[:, block], centre[:, None], out=design[:d])
            design[:d] /= spread[:, None]
            score = at @ design
            small = np.exp(-np.abs(score))
            larger = 1.0 / (1.0 + small)
            smaller = small * larger
            loss += float(
                np.sum(weight * (np.maximum(score, 0.0) + np.log1p(small) - target * score))
            )
            gradient = gradient + design @ (
                weight * (np.where(score >= 0, larger, smaller) - target)
            )
            curvature = curvature + (design * (weight * smaller * larger)) @ design.T
        return loss, gradient, curvature

    start = np.append(np.zeros(d), np.log(mean / (1 - mean)))
    some = targets[::EVERY]
    if ENOUGH < some.sum() < len(some) - ENOUGH:
        slopes, intercept = fit_logistic(features[:, ::EVERY], some, weights[::EVERY], rising)
        start = np.append(slopes * spread, intercept + slopes @ centre)
    lowest = np.append(np.full(d, 0.0 if rising else -np.inf), -np.inf)
    at, _, _ = newton(objective, start, TOLERANCE, low=lowest)
    slopes = at[:d] / spread
    return slopes, float(at[d] - slopes @ centre)
