"""Logistic regression on few features and very many rows, with soft targets."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, blocks

PRIOR_SD = 1000.0
"""A Gaussian prior of this standard deviation on each slope, per standard deviation of its feature."""

PILOT_ROWS = 250_000
"""Rows drawn to find a start, where there are more than four times as many."""

NOTHING = 1e-11
"""Gain of a step, per nat of the loss, that a pass over the rows would not show."""

NEWTON = "Fit it again on all rows, old and new: about ten passes over the scores, wherever they start."
"""What methods say of more rows whose fit is one of :func:`fit_logistic`."""

_MAX_STEPS = 100


def fit_logistic(features: Floats, targets: Floats) -> tuple[Floats, float, float]:
    """Slopes and intercept that minimise the cross-entropy of ``sigmoid(slopes @ features + intercept)``.

    Newton's method with step halving: the loss is convex, and with one to three unknowns it takes about ten
    passes over the data, whatever the scale of the features. Of very many rows a part drawn at random finds a start
    from which three or four are enough. scikit-learn's LogisticRegression takes no soft
    targets without doubling the rows. The weak prior only matters on separable data, where the slope would
    grow without end.

    Parameters
    ----------
    features : (d, m) array; d may be 0 for the intercept alone.
    targets : (m,) values in [0, 1], with a mean strictly between.

    Returns
    -------
    slopes : (d,) array
    intercept : float
    loss : float, the summed cross-entropy in nats plus the prior's term.
    """
    d = len(features)
    centre = features.mean(axis=1) if d else np.empty(0)
    squares = np.zeros(d)
    for block in blocks(len(targets)):
        squares += np.square(features[:, block] - centre[:, None]).sum(axis=1)
    spread = np.sqrt(squares / len(targets))
    spread[spread == 0] = 1.0
    weights: Floats = np.zeros(d + 1)
    mean = float(targets.mean())
    weights[d] = np.log(mean / (1 - mean))
    at = None
    if len(targets) > 4 * PILOT_ROWS:
        rows = np.random.default_rng(0).integers(len(targets), size=PILOT_ROWS)
        part = features[:, rows], targets[rows], centre, spread
        if np.ptp(targets[rows]) > 0:
            start, _ = _descend(weights, _expand(weights, *part), *part)
            at = _expand(start, features, targets, centre, spread)
            # A part may be separable where the whole is not: its start is then worse than the intercept alone.
            alone = -len(targets) * (mean * np.log(mean) + (1 - mean) * np.log(1 - mean))
            weights, at = (start, at) if at[0] < alone else (weights, None)
    at = at or _expand(weights, features, targets, centre, spread)
    weights, loss = _descend(weights, at, features, targets, centre, spread)
    slopes = weights[:d] / spread
    return slopes, float(weights[d] - slopes @ centre), loss


def _descend(
    weights: Floats,
    at: tuple[float, Floats, Floats],
    features: Floats,
    targets: Floats,
    centre: Floats,
    spread: Floats,
) -> tuple[Floats, float]:
    """Newton's method from some weights, with :func:`_expand` there: the weights where it ends, and their loss."""
    loss, gradient, curvature = at
    for _ in range(_MAX_STEPS):
        direction = -np.linalg.solve(curvature, gradient)
        promised = -float(gradient @ direction)
        if promised < NOTHING * (1 + loss):
            return weights + direction, loss  # what the step gains is lost in the rounding of the sum
        size = 1.0
        while True:
            trial = weights + size * direction
            next_loss, next_gradient, next_curvature = _expand(trial, features, targets, centre, spread)
            if next_loss <= loss - 1e-4 * size * promised or size < 1e-6:
                break
            size /= 2
        if next_loss > loss:
            break  # rounding is all that is left to gain
        weights, loss, gradient, curvature = trial, next_loss, next_gradient, next_curvature
    return weights, loss


def fit_rising(features: Floats, targets: Floats) -> tuple[Floats, float]:
    """Slopes of zero or more and the intercept that minimise the cross-entropy; of one or two features.

    The loss is convex: where the free optimum has a negative slope, the best allowed one has a slope of zero. Kull et
    al. (2017) drop the negative one's feature; trying each also settles the case of two negatives.

    Parameters
    ----------
    features : (2, m) or (1, m) array; targets : (m,) as in :func:`fit_logistic`.
    """
    slopes, intercept, _ = fit_logistic(features, targets)
    if (slopes >= 0).all():
        return slopes, intercept
    slopes, (_, intercept, least) = np.zeros(len(features)), fit_logistic(features[:0], targets)
    for kept in range(len(features)):
        slope, at_zero, loss = fit_logistic(features[kept : kept + 1], targets)
        if slope[0] >= 0 and loss <= least:
            slopes, intercept, least = np.zeros(len(features)), at_zero, loss
            slopes[kept] = slope[0]
    return slopes, intercept


def _expand(
    weights: Floats, features: Floats, targets: Floats, centre: Floats, spread: Floats
) -> tuple[float, Floats, Floats]:
    """Loss, gradient and curvature at the weights of the standardised features, in one pass."""
    d = len(features)
    prior = np.append(np.full(d, PRIOR_SD**-2), 0.0)
    loss = 0.5 * float(prior @ weights**2)
    gradient = prior * weights
    curvature = np.diag(prior + np.append(np.zeros(d), 1e-12))
    for block in blocks(len(targets)):
        target = targets[block]
        design = np.ones((d + 1, len(target)))
        np.subtract(features[:, block], centre[:, None], out=design[:d])
        design[:d] /= spread[:, None]
        score = weights @ design
        small = np.exp(-np.abs(score))
        larger = 1.0 / (1.0 + small)
        smaller = small * larger
        loss += float(np.maximum(score, 0.0).sum() + np.log1p(small).sum() - target @ score)
        gradient = gradient + design @ (np.where(score >= 0, larger, smaller) - target)
        smaller *= larger
        curvature += (design * smaller) @ design.T
    return loss, gradient, curvature
