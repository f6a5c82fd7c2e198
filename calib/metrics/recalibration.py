"""Logistic recalibration of risks: calibration in the large, intercept and slope, and a restricted cubic spline.

All are logistic regressions of the outcome on functions of the log-odds of the risk (Cox 1958; Miller et al. 1993;
Harrell 2015, section 2.4.5), fitted to convergence by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.metrics.confidence import Bools
from calib.metrics.estimate import Estimate, Rows
from calib.numerics import Floats, Ints, sigmoid, softplus

MAX_STEPS = 100
STEPS_ALIKE = 15
"""Newton steps of many fits at once; the few that take more are fitted one by one."""
LARGE = 30.0
"""A coefficient of standardised columns beyond which outcomes are taken to be separated."""
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
            found = _log_likelihood(offset + x @ (coef + step), event, w)
            if found >= best - 1e-12 * abs(best):
                break
            step = step / 2.0
        coef = coef + step
        best = found
        if np.abs(coef).max() > LARGE * (1.0 + np.abs(offset).max()):
            break
        if np.abs(step).max() <= 1e-11 * (1.0 + np.abs(coef).max()):
            risk = sigmoid(offset + x @ coef)
            information = (x * (w * risk * (1.0 - risk))[:, None]).T @ x
            try:
                model = np.linalg.inv(information)
            except np.linalg.LinAlgError:
                break
            found_at = sample.estimate(coef / size, (x * (event - risk)[:, None]) @ model / size)
            return LogisticFit(found_at, model / np.outer(size, size))
    return _unknown(k)


def fit_alike(design: Floats, outcome: Floats, weights: Floats, start: Floats) -> Floats:
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
    found = converged & (np.abs(coef).max(axis=1) <= LARGE)
    return np.where(found[:, None], coef / size, np.nan)


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
    for knots in [*(each for each in places if (np.diff(each) > 0).all()), np.empty(0)]:
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
