"""Logistic regression on few features and very many rows, with soft targets; base of the maps that are such curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.base import Progress
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest, platt_targets
from calib.numerics import Floats, Ints, blocks

PRIOR_SD = 1000.0
"""A Gaussian prior of this standard deviation on each slope, per standard deviation of its feature."""

NOTHING = 1e-11
"""Gain of a step, per nat of the loss, that a pass over the rows would not show."""

_MAX_STEPS = 100


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticCurves(OneVsRest):
    """Base of methods whose maps are logistic regressions on functions of the log-odds.

    Where no negative has a higher score than a positive, likelihood asks for an infinite slope. Such maps are fitted to
    Platt's targets instead (:func:`targets_of`), and :meth:`notes` says so.
    """

    def notes(self) -> list[str]:
        if not self.separable_maps_:
            return super().notes()
        of = "" if len(self.maps_) == 1 else f" for {self.separable_maps_} of {len(self.maps_)} maps"
        return [
            *super().notes(),
            f"The calibration rows are separable by their scores{of}: the likelihood has no maximum, so Platt's "
            "smoothed targets take the place of 0 and 1. How sure the probabilities are depends on these; calibrate "
            "with more rows.",
        ]

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None) -> None:
        self.separable_maps_ = 0
        super()._fit(logits, labels, progress=progress, weights=weights)

    def _learned(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map | None:
        self.separable_maps_ += separable(log_odds, positives)
        return super()._learned(log_odds, positives, weights)


def separable(log_odds: Floats, positives: Bools) -> bool:
    """Whether both outcomes occur, at different scores, and no negative has a higher score than a positive."""
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
    each = np.ones(len(positives)) if weights is None else weights
    low, high = platt_targets(float(each[positives].sum()), float(each[~positives].sum()))
    return np.where(positives, high, low)


def fit_logistic(
    features: Floats, targets: Floats | Bools, weights: Floats | None = None, start: Floats | None = None
) -> tuple[Floats, float, float]:
    """Slopes and intercept that minimise the cross-entropy of ``sigmoid(slopes @ features + intercept)``.

    Newton's method with step halving: the loss is convex, and with one to three unknowns it takes five to ten
    passes over the data, whatever the scale of the features. scikit-learn's LogisticRegression takes no soft
    targets without doubling the rows. The weak prior only matters on separable data, where the slope would
    grow without end.

    Parameters
    ----------
    features : (d, m) array; d may be 0 for the intercept alone.
    targets : (m,) values in [0, 1], with a mean strictly between.
    weights : (m,) how much each row counts, of which ratios alone matter; 1 if None.
    start : (d + 1,) slopes and intercept to begin at, where they are better than the mean alone.

    Returns
    -------
    slopes : (d,) array
    intercept : float
    loss : float, the cross-entropy in nats summed with weights of a mean of one, plus the prior's term.
    """
    d = len(features)
    if weights is not None:
        weights = weights / weights.mean()  # so that the prior and the end of the search mean the same on any scale
    mean = float(np.average(targets, weights=weights))
    centre = np.array([np.average(feature, weights=weights) for feature in features])
    spread = np.sqrt(_mean_squares(features, centre, weights))
    spread[spread == 0] = 1.0
    of_mean = np.append(np.zeros(d), np.log(mean / (1 - mean)))
    at = of_mean if start is None else np.append(start[:d] * spread, start[d] + start[:d] @ centre)
    loss, gradient, curvature = _expand(at, features, targets, weights, centre, spread)
    entropy = -(mean * np.log(mean) + (1 - mean) * np.log1p(-mean))
    if start is not None and loss > entropy * len(targets):
        at = of_mean
        loss, gradient, curvature = _expand(at, features, targets, weights, centre, spread)
    for _ in range(_MAX_STEPS):
        direction = -np.linalg.solve(curvature, gradient)
        promised = -float(gradient @ direction)
        if promised < NOTHING * (1 + loss):
            at = at + direction  # what the step gains is lost in the rounding of the sum
            break
        size = 1.0
        while True:
            trial = at + size * direction
            expansion = _expand(trial, features, targets, weights, centre, spread)
            if expansion[0] <= loss - 1e-4 * size * promised or size < 1e-6:
                break
            size /= 2
        if expansion[0] > loss:
            break  # rounding is all that is left to gain
        at, (loss, gradient, curvature) = trial, expansion
    slopes = at[:d] / spread
    return slopes, float(at[d] - slopes @ centre), loss


def fit_rising(
    features: Floats, targets: Floats | Bools, weights: Floats | None = None, start: Floats | None = None
) -> tuple[Floats, float]:
    """Slopes of zero or more and the intercept that minimise the cross-entropy; of one or two features.

    Where a slope comes out negative the minimum lies where one of them is zero, or both.

    Parameters
    ----------
    features : (2, m) or (1, m) array; the others as in :func:`fit_logistic`.
    """
    slopes, intercept, _ = fit_logistic(features, targets, weights, start)
    if (slopes >= 0).all():
        return slopes, intercept
    slopes, (_, intercept, least) = np.zeros(len(features)), fit_logistic(features[:0], targets, weights)
    for kept in range(len(features)):
        slope, at_zero, loss = fit_logistic(features[kept : kept + 1], targets, weights)
        if slope[0] >= 0 and loss <= least:
            slopes, intercept, least = np.zeros(len(features)), at_zero, loss
            slopes[kept] = slope[0]
    return slopes, intercept


def _mean_squares(features: Floats, centre: Floats, weights: Floats | None) -> Floats:
    """Mean square of each feature around its centre, without an array of their size."""
    parts = [
        np.sum((features[:, block] - centre[:, None]) ** 2 * (1.0 if weights is None else weights[block]), axis=1)
        for block in blocks(features.shape[1])
    ]
    return np.sum(parts, axis=0) / features.shape[1]


def _expand(
    at: Floats, features: Floats, targets: Floats | Bools, weights: Floats | None, centre: Floats, spread: Floats
) -> tuple[float, Floats, Floats]:
    """Loss, gradient and curvature at some coefficients of the standardised features, in one pass."""
    d = len(features)
    prior = np.append(np.full(d, PRIOR_SD**-2), 0.0)
    loss = 0.5 * float(prior @ at**2)
    gradient = prior * at
    curvature = np.diag(prior + np.append(np.zeros(d), 1e-12))
    for block in blocks(len(targets)):
        target, weight = targets[block], 1.0 if weights is None else weights[block]
        design = np.ones((d + 1, len(target)))
        np.subtract(features[:, block], centre[:, None], out=design[:d])
        design[:d] /= spread[:, None]
        score = at @ design
        small = np.exp(-np.abs(score))
        larger = 1.0 / (1.0 + small)
        smaller = small * larger
        losses = np.maximum(score, 0.0) + np.log1p(small) - target * score
        loss += float(np.sum(weight * losses))
        gradient = gradient + design @ (weight * (np.where(score >= 0, larger, smaller) - target))
        curvature += (design * (weight * smaller * larger)) @ design.T
    return loss, gradient, curvature
