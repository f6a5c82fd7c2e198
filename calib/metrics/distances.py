"""ICI, E50, E90 and Emax: distances of risks from the rates observed at them (Austin and Steyerberg 2019).

The observed rate comes from a smoother that stays within [0, 1]. It is loess in R's form where that can be used: many
tables have so few events that loess falls below 0 or rises above 1, and the distances would then mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from calib.metrics.bootstrap import groups_of_units
from calib.metrics.confidence import Bools
from calib.metrics.estimate import Rows
from calib.metrics.loess import Loess
from calib.metrics.recalibration import fit_spline, weighted_quantile
from calib.numerics import Floats, Ints, log_odds_of

SIMULATIONS = 500
"""Sets of outcomes drawn from the risks, for what a calibrated model would have."""
GRID = 500
"""Cells into which risks are put for resampling: of equal width, and of equal numbers of rows besides."""
FEW_RISKS = 10
"""Up to this many different risks each can have a rate of its own."""
EXACT = 1e-6
"""By how much loess may miss a straight line, or [0, 1]; local fits that are not singular miss it by rounding alone."""


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
    return Distances(float(weights @ gap / weights.sum()), float(e50), float(e90), float(gap[order[-1]]))


@dataclass(frozen=True)
class Smoother:
    """How the observed rate at each risk is estimated.

    Attributes
    ----------
    kind : "loess", in the form of R's defaults; "groups", the rate of the rows of each risk; or "spline", that of
        :func:`calib.metrics.recalibration.fit_spline` on the log-odds.
    floor : risks count as at least this, and at most one minus this, in log-odds.
    """

    kind: Literal["loess", "groups", "spline"]
    floor: float

    @classmethod
    def suited(cls, x: Floats, weights: Floats | Ints, outcome: Floats, floor: float) -> Smoother:
        """Loess where it can be used; elsewhere groups of up to ten different risks, and the spline of more.

        Loess cannot be used where its curve leaves [0, 1], and where a local fit is singular, because it sees fewer
        than three different risks: it then misses even outcomes that equal the risks.

        Parameters
        ----------
        x, weights, outcome : (k,) different risks, increasing; the rows at each and their mean outcome.
        floor : as of the object.
        """
        if len(x) == 1:
            return cls("groups", floor)
        loess = Loess.from_risks(x, weights)
        curve = loess.at(x, outcome)
        within = curve.min() >= -EXACT and curve.max() <= 1.0 + EXACT
        if within and np.abs(loess.at(x, x) - x).max() <= EXACT:
            return cls("loess", floor)
        return cls("groups" if len(x) <= FEW_RISKS else "spline", floor)

    def through(self, x: Floats, weights: Floats | Ints) -> Callable[[Floats], Floats]:
        """From mean outcomes at (k,) different risks to observed rates there, within [0, 1], both (k,)."""
        if self.kind == "groups" or len(x) == 1:
            return lambda outcome: outcome
        if self.kind == "spline":
            return lambda outcome: self._spline(x, weights, outcome)
        loess = Loess.from_risks(x, weights)
        return lambda outcome: np.clip(loess.at(x, outcome), 0.0, 1.0)

    def _spline(self, x: Floats, weights: Floats | Ints, outcome: Floats) -> Floats:
        """Rates of the spline; of loess, cut to [0, 1], where no fit is found.

        Where risks separate the outcomes no fit exists: the likelihood grows towards a step, which gives each risk the
        rate of its own rows (Albert and Anderson 1984, Biometrika 71).
        """
        events = weights * outcome
        if not 0.0 < events.sum() < weights.sum():
            return outcome
        with_event, without = np.flatnonzero(outcome > 0.0), np.flatnonzero(outcome < 1.0)
        if with_event[0] >= without[-1] or without[0] >= with_event[-1]:
            return outcome
        rows = np.concatenate([weights - events, events])
        there = rows > 0
        event = np.repeat([False, True], len(x))[there]
        log_odds = log_odds_of(x, self.floor)
        sample = Rows.with_outcome(event, rows[there], "frequency")
        rates = fit_spline(np.tile(log_odds, 2)[there], event, sample).at(log_odds)[0]
        if np.isfinite(rates).all():
            return rates
        return np.clip(Loess.from_risks(x, weights).at(x, outcome), 0.0, 1.0)


def narrow_cells(risk: Floats) -> Ints:
    """Numbers of narrow cells of (n,) risks, rising with the risk; a cell of its own for each of few different risks.

    Cells are neither wider than 1/500 of the range nor hold more than 1/500 of the rows, ties aside.
    """
    distinct, index = np.unique(risk, return_inverse=True)
    if len(distinct) <= 2 * GRID:
        return index
    edges = np.unique(
        np.r_[np.linspace(distinct[0], distinct[-1], GRID + 1), np.quantile(risk, np.arange(GRID) / GRID)]
    )
    return np.unique(np.searchsorted(edges[1:-1], risk, side="right"), return_inverse=True)[1]


def calibrated_distances(
    risk: Floats, sample: Rows, cell: Ints, x: Floats, smoother: Smoother, random_state: int
) -> Floats:
    """Distances (m, 4) where outcomes are drawn from the risks, row by row and independently."""
    generator = np.random.default_rng(random_state)
    w = sample.weights
    rows = np.bincount(cell, weights=w)
    rates = smoother.through(x, rows)
    counts = np.maximum(np.rint(w), 1).astype(np.int64) if sample.kind == "frequency" else None
    found = np.empty((SIMULATIONS, 4))
    for draw in found:
        if counts is None:
            drawn = w * (generator.random(len(risk)) < risk)
        else:
            drawn = w * generator.binomial(counts, risk) / counts
        draw[:] = distances(x, rates(np.bincount(cell, weights=drawn) / rows), rows)
    return found


def resampled_distances(
    event: Bools, sample: Rows, cell: Ints, x: Floats, smoother: Smoother, n_resamples: int, random_state: int
) -> Floats:
    """Distances (n_resamples, 4) in resamples of rows or of whole clusters, with the curve fitted anew."""
    w, n_cells = sample.weights, len(x)
    if not n_resamples:
        return np.empty((0, 4))

    def refitted(sums: Floats) -> Floats:
        found = np.empty((len(sums), 4))
        for draw, (rows, events) in zip(found, sums, strict=True):
            held = rows > 0
            rates = smoother.through(x[held], rows[held])
            draw[:] = distances(x[held], rates(events[held] / rows[held]), rows[held])
        return found

    if sample.is_simple:  # cells and outcomes are all that is left of rows of equal weight
        counts = np.bincount(cell + n_cells * event, weights=w, minlength=2 * n_cells)
        drawn = np.random.default_rng(random_state).multinomial(round(w.sum()), counts / counts.sum(), n_resamples)
        without, with_event = drawn[:, :n_cells].astype(float), drawn[:, n_cells:].astype(float)
        return refitted(np.stack([without + with_event, with_event], axis=1))
    groups = groups_of_units(len(event), sample.unit if sample.clustered else None)
    sums = np.stack([groups.sums_by(cell, n_cells, part) for part in (w, w * event)], axis=1)
    return refitted(groups.resampled(sums, n_resamples, random_state))
