"""Calibration without bins: distances from a smooth curve (ICI), and tests of the cumulated differences (Kuiper).

ICI, E50, E90 and Emax are distances of risks from the rates observed at them (Austin and Steyerberg 2019). The observed
rate is that of a restricted cubic spline on the log-odds, which stays within [0, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calib.metrics.bootstrap import groups_of_units
from calib.metrics.confidence import Bools, check_weights, scikit_names, target_pair
from calib.metrics.estimate import Rows
from calib.metrics.recalibration import (
    EVENTS_OF_5,
    KNOTS,
    fit_batch,
    fit_spline,
    spline_basis,
    weighted_quantile,
)
from calib.numerics import Floats, Ints, blocks, log_odds_of, sigmoid

SIMULATIONS = 300
"""Sets of outcomes drawn from the risks, for what a calibrated model would have."""
GRID = 200
"""Cells into which risks are put for resampling: of equal width, and of equal numbers of rows besides."""


class Distances(NamedTuple):
    """Distances |p - c(p)| of risks from a calibration curve, over the rows."""

    ici: float
    e50: float
    e90: float
    emax: float


def distances(x: Floats, curve: Floats, weights: Floats | Ints) -> Distances:
    """Mean, median, 0.9 quantile and maximum of the distances of (k,) risks from a curve at them.

    Parameters
    ----------
    x, curve : (k,) risks, and the curve at each.
    weights : (k,) rows at each.
    """
    gap = np.abs(x - curve)
    order = np.argsort(gap)
    e50, e90 = weighted_quantile(gap[order], weights[order], np.array([0.5, 0.9]))
    return Distances(
        float(weights @ gap / weights.sum()), float(e50), float(e90), float(gap[order[-1]])
    )


def observed_rates(x: Floats, rows: Floats | Ints, outcome: Floats, floor: float) -> Floats:
    """Rates observed at (k,) different risks, within [0, 1], from the rows at each and their mean outcome.

    Where risks separate the outcomes, or all are the same, there is no spline, and each risk has the rate of its own
    rows, the step that the likelihood grows towards (Albert and Anderson 1984, Biometrika 71).

    Parameters
    ----------
    floor : risks count as at least this, and at most one minus this, in log-odds.
    """
    log_odds = log_odds_of(x, floor)
    repeated = Rows.with_outcome(np.ones(len(x), dtype=bool), rows, "frequency")
    rates = fit_spline(log_odds, outcome, repeated).at(log_odds)[0]
    return rates if np.isfinite(rates).all() else outcome


def distances_of_draws(
    x: Floats, rows: Floats, events: Floats, floor: float, near: Floats
) -> Floats:
    """Distances (m, 4) of (k,) risks from the curves of m draws, each that of :func:`observed_rates`.

    Curves are fitted many at once; those that this leaves open, as where outcomes are separated, one by one.

    Parameters
    ----------
    rows, events : (m, k) rows and events of each draw at each risk, some of which may have no rows.
    floor : of the risks in log-odds.
    near : (k,) curve that those of all draws are near to.
    """
    log_odds = log_odds_of(x, floor)
    start = log_odds_of(near, floor)
    table = np.empty((len(rows), 4))
    for block in blocks(len(rows), len(x) * max(KNOTS)):
        outcome = events[block] / np.maximum(rows[block], 1e-300)
        few = (
            np.minimum(events[block].sum(axis=1), (rows[block] - events[block]).sum(axis=1))
            < EVENTS_OF_5
        )
        curves = np.full_like(outcome, np.nan)
        unfitted = np.ones_like(few)
        for shares in (*KNOTS.values(), ()):
            tried = np.flatnonzero(unfitted & ~few if len(shares) == 5 else unfitted)
            weights = rows[block][tried]
            knots = [weighted_quantile(log_odds, of_draw, np.array(shares)) for of_draw in weights]
            rising = (np.diff(np.reshape(knots, (len(tried), len(shares)))) > 0).all(axis=1)
            if not rising.any():
                continue
            tried = tried[rising]
            weights = weights[rising]
            design = spline_basis(
                np.broadcast_to(log_odds, weights.shape), np.array(knots)[rising].T[..., None]
            )
            coef = fit_batch(design, outcome[tried], weights, start)
            curves[tried] = sigmoid((design @ coef[..., None])[..., 0])
            unfitted[tried] = False
        for draw, weights, observed, curve in zip(
            table[block], rows[block], outcome, curves, strict=True
        ):
            occupied = weights > 0
            if np.isnan(curve[0]):
                curve[occupied] = observed_rates(
                    x[occupied], weights[occupied], observed[occupied], floor
                )
            draw[:] = distances(x[occupied], curve[occupied], weights[occupied])
    return table


def narrow_cells(risk: Floats) -> Ints:
    """Numbers of narrow cells of (n,) risks, rising with the risk; a cell of its own for each of few different risks.

    Cells are neither wider than 1/200 of the range nor hold more than 1/200 of the rows, ties aside.
    """
    distinct, index = np.unique(risk, return_inverse=True)
    if len(distinct) <= 2 * GRID:
        return index
    edges = np.unique(
        np.r_[
            np.linspace(distinct[0], distinct[-1], GRID + 1),
            np.quantile(risk, np.arange(GRID) / GRID),
        ]
    )
    return np.unique(np.searchsorted(edges[1:-1], risk, side="right"), return_inverse=True)[1]


def calibrated_distances(risk: Floats, sample: Rows, cell: Ints, x: Floats, floor: float) -> Floats:
    """Distances (m, 4) where outcomes are drawn from the risks, row by row and independently."""
    generator = np.random.default_rng(0)
    w = sample.weights
    rows = np.bincount(cell, weights=w)
    counts = np.maximum(np.rint(w), 1).astype(np.int64) if sample.kind == "frequency" else None
    events = np.empty((SIMULATIONS, len(x)))
    for draw in events:
        if counts is None:
            drawn = w * (generator.random(len(risk)) < risk)
        else:
            drawn = w * generator.binomial(counts, risk) / counts
        draw[:] = np.bincount(cell, weights=drawn)
    return distances_of_draws(x, np.broadcast_to(rows, events.shape), events, floor, near=x)


def resampled_distances(
    event: Bools, sample: Rows, cell: Ints, x: Floats, floor: float, n_resamples: int
) -> Floats:
    """Distances (n_resamples, 4) in resamples of rows or of whole clusters, with the curve fitted anew."""
    w = sample.weights
    n_cells = len(x)
    all_rows, all_events = (np.bincount(cell, weights=part) for part in (w, w * event))
    near = observed_rates(x, all_rows, all_events / all_rows, floor)
    if sample.is_simple:  # cells and outcomes are all that is left of rows of equal weight
        counts = np.bincount(cell + n_cells * event, weights=w, minlength=2 * n_cells)
        drawn = np.random.default_rng(0).multinomial(
            round(w.sum()), counts / counts.sum(), n_resamples
        )
        without = drawn[:, :n_cells].astype(float)
        with_event = drawn[:, n_cells:].astype(float)
        return distances_of_draws(x, without + with_event, with_event, floor, near)
    groups = groups_of_units(len(event), sample.unit if sample.clustered else None)
    sums = np.stack([groups.sums_by(cell, n_cells, part) for part in (w, w * event)], axis=1)
    rows, events = groups.resampled(sums, n_resamples).swapaxes(0, 1)
    return distances_of_draws(x, rows, events, floor, near)


_TERMS = 100
"""Of a series whose terms fall like exp(-k²)."""


@dataclass(frozen=True)
class CumulativeTest:
    """Largest cumulated difference, and how often that of a calibrated model is as large.

    Attributes
    ----------
    kolmogorov, kuiper : float
        Largest absolute value, and range, of the cumulated differences over the sum of the weights, as probabilities.
        They are called ECCE-MAD and ECCE-R too.
    kolmogorov_p, kuiper_p : float
        Share of samples of a calibrated model in which each is at least as large, for many independent rows. Where all
        that is said is 0 or 1 they are 1 if all came true so, else 0.
    n : int
        Rows.
    """

    kolmogorov: float
    kuiper: float
    kolmogorov_p: float
    kuiper_p: float
    n: int


@scikit_names
def cumulative_test(
    probs: Any, labels: Any, target: int | None = None, weights: Any = None
) -> CumulativeTest:
    """Test of calibration by cumulated differences, with no bins to choose.

    The differences w (y - p) are cumulated in the order of p. Of a calibrated model they are a random walk, which in
    units of the root of sum w² p (1 - p) is close to a Brownian motion: its largest absolute value and its range are
    those of Kolmogorov and Smirnov and of Kuiper (Arrieta-Ibarra et al., 2022, "Metrics of calibration for
    probabilistic predictions", JMLR 23; the distribution of the range is Feller's, 1951).

    Parameters
    ----------
    probs : array_like of shape (n, n_classes) or (n,)
        Probabilities of all classes, or of one statement for each row.
    labels : array_like of shape (n,)
        Integers in [0, n_classes); of one probability for each row, whether it came true.
    target : int or None, default None
        Class whose probability is tested; None for the confidence in the predicted class.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike. The statistics are those of rows repeated as often as their weights
        say. The p-values take each row as drawn once, so that the unit of the weights changes nothing.

    Returns
    -------
    CumulativeTest
        Both statistics with their p-values.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or are no probabilities.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> risk = generator.random(2000)
    >>> happened = generator.random(2000) < risk
    >>> cumulative_test(risk, happened).kuiper_p > 0.05, cumulative_test(risk**2, happened).kuiper_p < 1e-6
    (True, True)
    """
    predicted, observed = target_pair(probs, labels, target)
    checked = check_weights(weights, len(predicted))
    weight = np.ones(len(predicted)) if checked is None else checked
    order = np.argsort(predicted, kind="stable")
    walk = np.cumsum((weight * (observed - predicted))[order])
    last = np.flatnonzero(
        np.diff(predicted[order], append=np.inf)
    )  # rows that say the same have no order
    walk = np.concatenate([[0.0], walk[last]])
    unit = math.sqrt(float(weight**2 @ (predicted * (1.0 - predicted))))
    total = float(weight.sum())
    farthest = float(np.abs(walk).max())
    span = float(np.ptp(walk))
    if unit > 0:
        ps = brownian_beyond(farthest / unit), brownian_range_beyond(span / unit)
    else:  # all that is said is 0 or 1, which a calibrated model never misses
        ps = (float(not farthest),) * 2
    return CumulativeTest(farthest / total, span / total, *ps, len(predicted))


def brownian_beyond(distance: float) -> float:
    """Probability that the largest absolute value of a Brownian motion on [0, 1] exceeds a distance."""
    if distance <= 0.0:
        return 1.0
    odd = 2 * np.arange(_TERMS) + 1
    inside = (4 / np.pi) * np.sum(
        (-1.0) ** np.arange(_TERMS) / odd * np.exp(-((odd * np.pi / distance) ** 2) / 8)
    )
    return float(np.clip(1.0 - inside, 0.0, 1.0))


def brownian_range_beyond(distance: float) -> float:
    """Probability that the range of a Brownian motion on [0, 1] exceeds a distance (Feller, 1951)."""
    if distance <= 0.0:
        return 1.0
    half = (np.arange(1, _TERMS + 1) - 0.5) * np.pi
    inside = np.sum((8 / distance**2 + 2 / half**2) * np.exp(-2 * (half / distance) ** 2))
    return float(np.clip(1.0 - inside, 0.0, 1.0))
