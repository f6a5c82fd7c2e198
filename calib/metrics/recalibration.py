"""Recalibration of risks: calibration in the large, intercept and slope, a spline; and isotonic, with CORP's terms.

The first are logistic regressions of the outcome on functions of the log-odds of the risk (Cox 1958; Miller et al.
1993; Harrell 2015, section 2.4.5), fitted to convergence by Newton's method. The last is the CORP decomposition of the
Brier score, with draws of the outcomes of a calibrated model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.metrics.binning import equal_mass_edges
from calib.metrics.confidence import Bools, check_weights, scikit_names, target_pair, weighted_mean
from calib.metrics.estimate import Estimate, Rows
from calib.numerics import Floats, Ints, are_distinct, bin_index, log_odds_of, sigmoid, softplus

MAX_STEPS = 100
STEPS_ALIKE = 15
"""Newton steps of many fits at once; the few that take more are fitted one by one."""
LARGE = 30.0
"""A coefficient of standardised columns beyond which outcomes are taken to be separated.

Splines with knots that are close together pass it too: between few risks their curve swings by 15 points.
"""
LONGEST_STEP = 10.0
"""Largest step in log-odds; where risks are nearly 0 or 1 the information is nearly 0 and Newton's step unbounded."""
KNOTS = {5: (0.05, 0.275, 0.5, 0.725, 0.95), 3: (0.1, 0.5, 0.9)}
"""Quantiles of the log-odds at which knots lie (Harrell 2015, table 2.3)."""
EVENTS_OF_5 = 100
"""Fewer events, or fewer non-events, get three knots."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A weighted logistic regression.

    Attributes
    ----------
    estimate : of the k coefficients of maximum likelihood, whose covariance is the sandwich with ``G / (G - 1)``; NaN
        where they do not exist, because outcomes are separated.
    model_cov : (k, k) inverse Fisher information.
    """

    estimate: Estimate
    model_cov: Floats

    @property
    def coef(self) -> Floats:
        """(k,) coefficients."""
        return np.asarray(self.estimate.value)


def fit_logistic(
    design: Floats, event: Bools | Floats, sample: Rows, offset: Floats | None = None
) -> LogisticFit:
    """Maximum likelihood of ``logit P(event) = offset + design @ coef`` by Newton's method with step halving.

    Parameters
    ----------
    design : (n, k) columns, of full rank, which a constant is one of.
    event : (n,) outcomes, or mean outcomes of rows that stand for several.
    sample : how these rows count.
    offset : (n,) part with a coefficient of 1, or None.
    """
    n, k = design.shape
    w = sample.weights
    if event.max() == 0 or event.min() == 1:  # the likelihood grows with the constant without end
        return _unknown(k)
    offset = np.zeros(n) if offset is None else offset
    # Columns of size 1 keep the information matrix well-conditioned.
    size = np.sqrt(np.maximum((w @ design**2) / w.sum(), 1e-300))
    x = design / size
    coef = np.zeros(k)
    best = _log_likelihood(offset, event, w)
    for _ in range(MAX_STEPS):
        risk = sigmoid(offset + x @ coef)
        information = (x * (w * risk * (1.0 - risk))[:, None]).T @ x
        try:
            step = np.linalg.solve(information, x.T @ (w * (event - risk)))
        except np.linalg.LinAlgError:
            break
        step = step * min(1.0, LONGEST_STEP / max(float(np.abs(x @ step).max()), 1e-300))
        for _ in range(30):
            likelihood = _log_likelihood(offset + x @ (coef + step), event, w)
            if likelihood >= best - 1e-12 * abs(best):
                break
            step = step / 2.0
        coef = coef + step
        best = likelihood
        if np.abs(coef).max() > LARGE * (1.0 + np.abs(offset).max()):
            break
        if np.abs(step).max() <= 1e-11 * (1.0 + np.abs(coef).max()):
            risk = sigmoid(offset + x @ coef)
            information = (x * (w * risk * (1.0 - risk))[:, None]).T @ x
            try:
                model = np.linalg.inv(information)
            except np.linalg.LinAlgError:
                break
            estimate = sample.estimate(coef / size, (x * (event - risk)[:, None]) @ model / size)
            return LogisticFit(estimate, model / np.outer(size, size))
    return _unknown(k)


def fit_batch(design: Floats, outcome: Floats, weights: Floats, start: Floats) -> Floats:
    """Coefficients (m, k) of m logistic regressions at once, by Newton's method from a curve that is near them all.

    NaN where that has not converged in a few steps, or where outcomes are taken to be separated. The likelihood has one
    maximum at most, so what has converged is that of :func:`fit_logistic`.

    Parameters
    ----------
    design : (m, n, k) columns.
    outcome, weights : (m, n) mean outcomes, and rows at each.
    start : (n,) log-odds of the curve, which need not be of these columns.
    """
    square = np.einsum("mn,mnk->mk", weights, design**2) / weights.sum(axis=1, keepdims=True)
    size = np.sqrt(np.maximum(square, 1e-300))
    x = design / size[:, None]
    transposed = np.ascontiguousarray(x.swapaxes(1, 2))
    eta = np.broadcast_to(start, weights.shape)
    coef = np.zeros_like(size)
    with np.errstate(all="ignore"):
        for _ in range(STEPS_ALIKE):
            risk = sigmoid(eta)
            before = coef
            spread = weights * risk * (1.0 - risk)
            pull = transposed @ (spread * eta + weights * (outcome - risk))[..., None]
            try:
                coef = np.linalg.solve((transposed * spread[:, None]) @ x, pull)[..., 0]
            except np.linalg.LinAlgError:
                return np.full_like(coef, np.nan)
            eta = (x @ coef[..., None])[..., 0]
            # Steps shrink by squares: after one as small as this nothing is left.
            converged = np.abs(coef - before).max(axis=1) <= 1e-8 * (1.0 + np.abs(coef).max(axis=1))
            if converged.all():
                break
    valid = converged & (np.abs(coef).max(axis=1) <= LARGE)
    return np.where(valid[:, None], coef / size, np.nan)


def _unknown(k: int) -> LogisticFit:
    nothing = Estimate(np.full(k, np.nan), np.full((1, k), np.nan))
    return LogisticFit(nothing, np.full((k, k), np.nan))


def _log_likelihood(log_odds: Floats, event: Bools | Floats, weights: Floats) -> float:
    return float(weights @ (event * log_odds - softplus(log_odds)))


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Recalibration of the log-odds of a risk, with both fits.

    Attributes
    ----------
    in_the_large : fit of ``logit P = a + log-odds``, the slope fixed at 1; its coefficient is called calibration in the
        large, and "intercept" by the packages CalibrationCurves and probcal.
    joint : fit of ``logit P = a + b log-odds``; (a, b) are "Intercept" and "Slope" of rms.
    """

    in_the_large: LogisticFit
    joint: LogisticFit


def recalibrate_logistic(log_odds: Floats, event: Bools, sample: Rows) -> Recalibration:
    """Calibration in the large, and intercept and slope.

    Parameters
    ----------
    log_odds : (n,) finite log-odds of the risks.
    event : (n,) outcomes.
    sample : how these rows count.
    """
    ones = np.ones((len(event), 1))
    large = fit_logistic(ones, event, sample, log_odds)
    flat = np.ptp(log_odds) == 0.0
    joint = (
        fit_logistic(np.column_stack([ones, log_odds]), event, sample) if not flat else _unknown(2)
    )
    return Recalibration(large, joint)


@dataclass(frozen=True, eq=False)
class Spline:
    """Logistic regression on a restricted cubic spline of the log-odds: linear beyond the outer knots.

    Attributes
    ----------
    knots : (k,) in log-odds; none where the curve is a straight line in log-odds, for want of different risks.
    fit : coefficients of 1, the log-odds and k - 2 spline terms.
    cov : (k, k) that the band is of: the inverse information of independent rows, the sandwich otherwise.
    """

    knots: Floats
    fit: LogisticFit
    cov: Floats

    def at(self, log_odds: Floats) -> tuple[Floats, Floats, Floats]:
        """Recalibrated risk and the ends of its 95 % interval at (m,) log-odds."""
        basis = spline_basis(log_odds, self.knots)
        eta = basis @ self.fit.coef
        half = self.fit.estimate.critical() * np.sqrt(
            np.maximum(np.einsum("mi,ij,mj->m", basis, self.cov, basis), 0.0)
        )
        return sigmoid(eta), sigmoid(eta - half), sigmoid(eta + half)


def spline_basis(log_odds: Floats, knots: Floats) -> Floats:
    """Columns 1, the log-odds and the spline's terms, divided by the squared distance of the outer knots.

    Harrell (2015), equation 2.25; the same columns as Hmisc's ``rcspline.eval``.

    Parameters
    ----------
    log_odds : (..., n) values.
    knots : (k,) rising knots, or (k, m, 1) those of m splines, whose columns are (m, n, k).
    """
    columns = [np.ones_like(log_odds), log_odds]
    if len(knots) > 2:
        *inner, before, last = knots
        *cubes, from_before, from_last = [np.maximum(log_odds - knot, 0.0) ** 3 for knot in knots]
        for knot, cube in zip(inner, cubes, strict=True):
            beyond = (from_before * (last - knot) - from_last * (before - knot)) / (last - before)
            columns.append((cube - beyond) / (last - knots[0]) ** 2)
    return np.stack(columns, axis=-1)


def fit_spline(
    log_odds: Floats, event: Bools | Floats, sample: Rows, n_knots: int | None = None
) -> Spline:
    """Restricted cubic spline with 5 knots, or 3 where there are fewer than 100 events or non-events, by weight.

    Where quantiles repeat, or lie so close together that no fit is found, three knots are tried and then none.

    Parameters
    ----------
    log_odds, event : (n,) finite log-odds of the risks, and outcomes as of :func:`fit_logistic`.
    sample : how these rows count.
    n_knots : 5 or 3, or None to choose.
    """
    few = min(sample.weights @ event, sample.weights @ (1.0 - event)) < EVENTS_OF_5
    tried = {5, 3} if n_knots is None and not few else {n_knots or 3}
    order = np.argsort(log_odds, kind="stable")
    flat = np.ptp(log_odds) == 0.0
    places = [
        weighted_quantile(log_odds[order], sample.weights[order], np.array(KNOTS[k]))
        for k in sorted(tried)[::-1]
    ]
    for knots in [
        *(quantiles for quantiles in places if (np.diff(quantiles) > 0).all()),
        np.empty(0),
    ]:
        fit = _unknown(2) if flat else fit_logistic(spline_basis(log_odds, knots), event, sample)
        if np.isfinite(fit.coef).all():
            break
    return Spline(knots, fit, fit.model_cov if sample.is_simple else fit.estimate.covariance)


def weighted_quantile(values: Floats, weights: Floats | Ints, shares: Floats) -> Floats:
    """Quantiles of sorted values, each repeated as often as its weight says; type 7 of Hyndman and Fan (1996).

    Parameters
    ----------
    values, weights : (n,) sorted values and their positive weights; of weights that are no whole numbers the parts
        beyond a whole number belong to the next value.
    shares : (m,) in [0, 1].
    """
    upto = np.cumsum(weights)
    place = shares * (upto[-1] - 1.0) if upto[-1] > 1 else np.zeros_like(shares)
    first = np.floor(place + 1e-9)
    last = len(values) - 1
    low, high = (
        values[np.minimum(np.searchsorted(upto, at * (1 + 1e-12), side="right"), last)]
        for at in (first, np.minimum(first + 1.0, upto[-1] - 1.0))
    )
    return low + np.clip(place - first, 0.0, 1.0) * (high - low)


@dataclass(frozen=True)
class Decomposition:
    """``score = miscalibration - discrimination + uncertainty``, to rounding.

    Attributes
    ----------
    score : float
        Mean squared error of the confidences as forecasts of "this prediction is right".
    miscalibration : float
        By how much the best monotone recalibration would lower it; 0 or above.
    discrimination : float
        By how much that recalibration is better than saying the accuracy to every row; 0 or above.
    uncertainty : float
        Score of saying the accuracy to every row; no method that keeps the accuracy changes it.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True, eq=False)
class IsotonicRecalibration:
    """Best monotone recalibration of a sample.

    Attributes
    ----------
    confidence : (m,) distinct confidences.
    count : (m,) rows of each, or the sum of their weights.
    frequency : (m,) recalibrated confidences.
    """

    confidence: Floats
    count: Ints | Floats
    frequency: Floats


@scikit_names
def corp(probs: Any, labels: Any, target: int | None = None, weights: Any = None) -> Decomposition:
    """CORP decomposition of the Brier score (Dimitriadis, Gneiting and Jordan 2021, eq. 4).

    "Consistent, optimally binned, reproducible, by pool-adjacent-violators": isotonic regression takes the place of
    bins, so that nothing is to be chosen and no term can be negative.

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    target : int or None, default None
        Class k, to decompose the score of p_k as a forecast of label k; None for the predicted class.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    Decomposition
        The score and its three parts.

    Raises
    ------
    CalibrationError
        If there is no such class, or the arrays do not fit together.

    Examples
    --------
    >>> from calib.metrics import corp
    >>> parts = corp([0.2, 0.2, 0.2, 0.8, 0.8, 0.8], [0, 0, 1, 0, 1, 1])
    >>> round(parts.miscalibration, 3), round(parts.discrimination, 3), round(parts.uncertainty, 3)
    (0.018, 0.028, 0.25)
    """
    confidence, correct = target_pair(probs, labels, target)
    again = recalibrate(confidence, correct, weights)
    rate = weighted_mean(correct, weights)
    score = weighted_mean((confidence - correct) ** 2, weights)
    # Rows whose forecast f is their own frequency have a squared error of f (1 - f) on average.
    recalibrated = weighted_mean(again.frequency * (1.0 - again.frequency), again.count)
    uncertainty = rate * (1.0 - rate)
    # No term is below 0, because recalibration is the best monotone map; rounding must not say otherwise.
    return Decomposition(
        score, max(score - recalibrated, 0.0), max(uncertainty - recalibrated, 0.0), uncertainty
    )


def recalibrate(confidence: Floats, outcome: Bools, weights: Any = None) -> IsotonicRecalibration:
    """Isotonic regression on the distinct confidences, non-decreasing; rows that tie get one value.

    Confidences tie as the scores of a calibrator do (:func:`~calib.numerics.are_distinct`).

    Parameters
    ----------
    confidence : (n,) floats.
    outcome : (n,) booleans.
    weights : (n,) weight of each row; None counts all alike.
    """
    weight = check_weights(weights, len(confidence))
    distinct, index = np.unique(confidence, return_inverse=True)
    begins = are_distinct(log_odds_of(distinct))
    distinct = distinct[begins]
    index = (np.cumsum(begins) - 1)[index]
    count = np.bincount(index, weight)
    right = np.bincount(index, outcome if weight is None else weight * outcome)
    weighty = count > 0
    distinct = distinct[weighty]
    count = count[weighty]
    right = right[weighty]
    return IsotonicRecalibration(distinct, count, isotonic(right, count))


def isotonic(right: Floats | Ints, count: Floats | Ints) -> Floats:
    """Non-decreasing frequencies (m,) closest to ``right / count``, in an order given; counts must be positive.

    Least squares; the same map minimises every proper score (Brümmer and du Preez 2013).
    """
    from scipy.optimize import isotonic_regression

    return np.clip(isotonic_regression(right / count, weights=count).x, 0.0, 1.0)


def ordered_cells(confidence: Floats, most: int) -> Ints:
    """Numbers of at most ``most`` groups of neighbouring confidences, shape (n,), rising with the confidence.

    One for each distinct confidence where there are so few, and about equally many rows in each otherwise.
    """
    distinct, index = np.unique(confidence, return_inverse=True)
    if len(distinct) > most:
        inside = bin_index(confidence, equal_mass_edges(confidence, most))
        index = np.unique(inside, return_inverse=True)[1]
    return index


def calibrated_outcomes(
    confidence: Floats, cell: Ints, n_samples: int
) -> tuple[Ints, Floats, Ints]:
    """Right predictions in groups of rows when each row is right with the probability that it says.

    The confidences stay and the outcomes are drawn (Bröcker and Smith 2007), for a group at once: a binomial number at
    the group's mean. Groups must be narrow, because the spread of a group's confidences is taken for chance.

    Parameters
    ----------
    confidence : (n,) floats.
    cell : (n,) numbers of the groups, in [0, n_cells), each with at least one row.
    n_samples : how often the outcomes are drawn.

    Returns
    -------
    (count, mean, right) : (n_cells,) rows and (n_cells,) mean confidence of each group, and (n_samples, n_cells) draws.
    """
    count = np.bincount(cell)
    mean = np.clip(np.bincount(cell, weights=confidence) / count, 0.0, 1.0)
    right = np.random.default_rng(0).binomial(count, mean, size=(n_samples, len(count)))
    return count, mean, right
