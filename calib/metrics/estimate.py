"""Estimates with their intervals: a value, and what each independent unit adds to it.

What one row adds to a statistic, to first order, is its influence. The sum of squared influences over independent
units, rows or clusters, is the variance of any smooth statistic: the sandwich estimator of a regression, DeLong's
variance of the AUROC and the variance of a ratio are the same sum (Binder 1983; Shao and Tu 1995, chapter 2). Weights
scale an influence, clusters add it up, and the influence of a difference is the difference of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.arrays import as_array
from calib.errors import CalibrationError
from calib.metrics.bootstrap import (
    UNKNOWN,
    Groups,
    Interval,
    check_level,
    drawn_units,
)
from calib.metrics.confidence import Bools, check_weights, effective_sample_size
from calib.numerics import LARGEST, Floats, Ints, log_odds_of, sigmoid

if TYPE_CHECKING:
    from calib.data.options import WeightKind

NORMAL_FROM = 40
"""Number of independent units from which the normal distribution is used, below it Student's t."""
JOINT_DRAWS = 10_000
"""Normal draws from which the quantile of the largest of several deviations is taken."""


def degrees_of(n_units: float) -> float:
    """Degrees of freedom of the intervals of a statistic of so many independent units."""
    return np.inf if n_units >= NORMAL_FROM else max(n_units - 1, 1)


@dataclass(frozen=True)
class Scale:
    """A scale on which an interval is symmetric: the way to it, the way back, and its slope at a value."""

    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    slope: Callable[[float], float]


LOG = Scale(np.log, np.exp, lambda value: 1.0 / value)
LOGIT = Scale(log_odds_of, sigmoid, lambda value: 1.0 / (value * (1.0 - value)))


@dataclass(frozen=True, eq=False)
class Estimate:
    """A statistic of rows, or k statistics of the same rows.

    Attributes
    ----------
    value : float or array of shape (k,)
        The statistic.
    influence : array of shape (units,) or (units, k)
        What each independent unit adds; the sum of squares is the variance.
    degrees : float
        Degrees of freedom of Student's t by which intervals are made; infinite for the normal distribution.
    """

    value: Any
    influence: Floats
    degrees: float = np.inf

    @property
    def covariance(self) -> Floats:
        """(k, k) of k statistics."""
        return self.influence.T @ self.influence

    @property
    def error(self) -> Any:
        """Standard error, or (k,) of them."""
        return np.sqrt((self.influence**2).sum(axis=0))

    def __getitem__(self, place: int) -> Estimate:
        return Estimate(float(self.value[place]), self.influence[:, place], self.degrees)

    def __sub__(self, other: Estimate) -> Estimate:
        """The difference, paired by unit, to another estimate of the same rows."""
        return Estimate(
            self.value - other.value,
            self.influence - other.influence,
            min(self.degrees, other.degrees),
        )

    def critical(self, level: float = 0.95) -> float:
        """Half the width of a central interval, in standard errors.

        Parameters
        ----------
        level : float
            Probability with which intervals hold the truth.

        Returns
        -------
        float
            A quantile of the normal or of Student's distribution.
        """
        from scipy.special import ndtri, stdtrit

        check_level(level)
        upper = 0.5 + level / 2.0
        return float(ndtri(upper) if np.isinf(self.degrees) else stdtrit(self.degrees, upper))

    def joint_critical(self, level: float = 0.95, errors: Floats | None = None) -> float:
        """The same for intervals of k statistics that hold all of them together.

        It is a quantile of the largest of k normal deviations that vary together as the statistics do, which are as
        many sums of the influences times normal draws (the multiplier bootstrap); with few units they are divided by a
        chi draw for Student's t. Statistics that do not vary are left out.

        Parameters
        ----------
        level : float
            Probability with which all intervals hold their truths.
        errors : array of shape (k,), optional
            Standard errors in place of those of the statistics.

        Returns
        -------
        float
            The quantile, in standard errors.
        """
        single = self.critical(level)
        spread = self.error if errors is None else errors
        varies = spread > 1e-12 * max(float(spread.max(initial=0.0)), 1e-300)
        if not varies.any():
            return single
        standard = self.influence[:, varies] / spread[varies]
        values, vectors = np.linalg.eigh(standard.T @ standard)
        positive = values > 1e-10 * values[-1]
        root = vectors[:, positive] * np.sqrt(values[positive])
        generator = np.random.default_rng(0)
        largest = np.abs(generator.normal(size=(JOINT_DRAWS, root.shape[1])) @ root.T).max(axis=1)
        if np.isfinite(self.degrees):
            largest /= np.sqrt(generator.chisquare(self.degrees, JOINT_DRAWS) / self.degrees)
        return max(float(np.quantile(largest, level)), single)

    def interval(
        self,
        level: float = 0.95,
        scale: Scale | None = None,
        critical: float | None = None,
        error: float | None = None,
    ) -> Interval:
        """Interval of one statistic.

        Parameters
        ----------
        level : float
            Probability with which intervals hold the truth.
        scale : Scale, optional
            Where it is symmetric; the statistic's own scale if left out.
        critical : float, optional
            Half its width in standard errors, in place of that of ``level``.
        error : float, optional
            Standard error in place of the statistic's own, as that of a fitted model.

        Returns
        -------
        Interval
            Value, low and high end; NaN where they are not known.
        """
        error = float(self.error) if error is None else error
        value = float(self.value)
        if not np.isfinite(value):
            return UNKNOWN
        if not np.isfinite(error):  # as of a single row, which shows nothing of how rows differ
            return UNKNOWN._replace(value=value)
        half = (self.critical(level) if critical is None else critical) * error
        if scale is None:
            return Interval(value, value - half, value + half)
        low, high = scale.back(scale.to(value) + half * scale.slope(value) * np.array([-1.0, 1.0]))
        return Interval(value, float(low), float(high))


@dataclass(frozen=True, eq=False)
class Rows:
    """Weights of rows, and the clusters that they belong to.

    Attributes
    ----------
    weights : (n,) positive; frequencies as they are, other weights with a mean of 1, ones without weights.
    kind : what the weights mean, or None without weights.
    unit : (n,) number of each row's independent unit.
    n_units : how many there are.
    clustered : whether units are clusters.
    n_telling : units that tell of the rarer outcome; below 40 intervals are of Student's t.
    """

    weights: Floats
    kind: WeightKind | None
    unit: Ints
    n_units: int
    clustered: bool
    n_telling: int

    @classmethod
    def with_outcome(
        cls, event: Bools, weights: Any = None, kind: WeightKind | None = None, clusters: Any = None
    ) -> Rows:
        """Rows with (n,) outcomes, whose weights, if any, are above 0."""
        n = len(event)
        weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
        if kind is not None and kind != "frequency":
            weights = weights / weights.mean()
        unit, n_units, clustered = drawn_units(n, clusters)
        if kind == "frequency" and not clustered:
            n_units = round(weights.sum())
        n_telling = n_units
        if clustered:
            n_telling = min(len(np.unique(unit[part])) for part in (event, ~event) if part.any())
        return cls(weights, kind, unit, n_units, clustered, n_telling)

    @classmethod
    def of(cls, n: int, clusters: Any = None) -> Rows:
        """n rows of equal weight, for statistics that are of no outcome."""
        return cls.with_outcome(np.ones(n, dtype=bool), clusters=clusters)

    @classmethod
    def checked(
        cls, event: Bools, weights: Any, kind: WeightKind | None, clusters: Any
    ) -> tuple[Bools, Rows]:
        """Mask of the (n,) rows with a weight above 0, and their weights."""
        from calib.data.options import WEIGHT_KINDS

        n = len(event)
        counted = check_weights(weights, n)
        if counted is not None and kind not in tuple(WEIGHT_KINDS):
            raise CalibrationError(
                f"Weights need weight_kind, one of {', '.join(WEIGHT_KINDS)}; got {kind!r}. What they mean decides how "
                "they enter an interval."
            )
        unit, _, clustered = drawn_units(n, clusters)
        positive = np.full(n, True) if counted is None else counted > 0
        if kind == "frequency" and counted is not None:
            with np.errstate(over="ignore"):
                rows = positive.sum()
                stand_for = as_array(weights, "weights").sum(dtype=float)
            if not rows * (1.0 - 1e-6) <= stand_for <= LARGEST:
                raise CalibrationError(
                    f"By frequency weights {rows:,} rows stand for {stand_for:.3g}; say how many rows each stands for, "
                    'or take weight_kind="sampling".'
                )
        counted, kind = (None, None) if counted is None else (counted[positive], kind)
        return positive, cls.with_outcome(
            event[positive], counted, kind, unit[positive] if clustered else None
        )

    def take(self, part: Any, event: Bools) -> Rows:
        """Some of the rows, with (m,) outcomes; ``part`` is an index or a slice."""
        weights = None if self.kind is None else self.weights[part]
        return Rows.with_outcome(
            event, weights, self.kind, self.unit[part] if self.clustered else None
        )

    @property
    def total(self) -> float:
        """Sum of the weights: the number of rows, of frequencies that of the rows they stand for."""
        return float(self.weights.sum())

    @property
    def is_simple(self) -> bool:
        """True for independent rows of equal weight, written once or by frequency."""
        return not self.clustered and self.kind in (None, "frequency")

    @property
    def degrees(self) -> float:
        """Of freedom of the intervals."""
        return degrees_of(self.n_telling)

    def mean(self, values: npt.NDArray[Any]) -> float:
        """Weighted mean of (n,) values."""
        return float(self.weights @ values) / self.total

    def mean_of(self, values: npt.NDArray[Any]) -> Estimate:
        """The same as an estimate."""
        mean = self.mean(values)
        return self.estimate(mean, (values - mean) / self.total)

    def estimate(self, value: Any, per_row: Floats) -> Estimate:
        """A statistic from what each row adds to it per unit of weight, (n,) or (n, k) with a weighted mean of 0.

        The variance is ``G / (G - 1) sum_g u_g^2`` over G units, with ``u_g = sum_{i in g} w_i u_i``; a row that stands
        for several is as many units.
        """
        if self.n_units < 2:
            return Estimate(value, np.full((1, *per_row.shape[1:]), np.nan), self.degrees)
        influence = self._contributions(per_row)
        if self.clustered:
            sums = np.zeros((self.n_units, *influence.shape[1:]))
            np.add.at(sums, self.unit, influence)
            influence = sums
        return Estimate(value, influence * np.sqrt(self.n_units / (self.n_units - 1)), self.degrees)

    def sums_of_groups(self, per_row: Floats, groups: Groups) -> Floats:
        """Return what each of G groups of units adds to a statistic, (G,); the variance has ``G / (G - 1)``."""
        n_groups = groups.n_groups
        return groups.sums(self._contributions(per_row)) * np.sqrt(n_groups / max(n_groups - 1, 1))

    def _contributions(self, per_row: Floats) -> Floats:
        """Contribution of each row to a statistic, (n,) or (n, k)."""
        repeated = self.kind == "frequency" and not self.clustered
        weights = np.sqrt(self.weights) if repeated else self.weights
        return (weights * per_row.T).T

    @property
    def n_equal(self) -> float:
        """Rows of equal weight that would tell as much, were all independent (Kish 1965, 11.7)."""
        return self.equal_rows(np.full(len(self.weights), True))

    def equal_rows(self, part: Bools) -> float:
        """The same of some of the rows, (n,) booleans."""
        weights = self.weights[part]
        if self.kind in (None, "frequency") or not weights.any():
            return float(weights.sum())
        return effective_sample_size(weights)

    def effective_rows(self, share: Estimate) -> float:
        """Independent rows of equal weight that would tell as much of a share (Kish 1965, 8.2 and 11.7)."""
        if not self.clustered:
            return self.n_equal
        value = float(share.value)
        if not 0.0 < value < 1.0:  # nothing varies, and each cluster counts once
            return float(self.n_units)
        error = float(share.error)
        most = self.n_equal
        return float(np.clip(value * (1.0 - value) / error**2, 1.0, most)) if error else most

    def units_with(self, chosen: Bools) -> int:
        """Count the units with any of the chosen rows, a boolean each; rows that stand for several count as many."""
        if self.clustered:
            return len(np.unique(self.unit[chosen]))
        return (
            round(float(self.weights[chosen].sum()))
            if self.kind == "frequency"
            else int(chosen.sum())
        )

    def rarer_units(self, event: Bools) -> int:
        """Count the units with the rarer of the two outcomes, at least one."""
        return max(1, min(self.units_with(event), self.units_with(~event)))


@dataclass(frozen=True, eq=False)
class Shares(Estimate):
    """Shares of rows, whose combinations, such as net benefit and cost, hold with few events.

    A combination ``sum_k c_k s_k`` has the interval of Zou, Huang and Zhang (2009): the shares' own Wilson intervals
    put together, here with the shares' correlations (Zou 2007). It holds where an estimate plus or minus two standard
    errors is too short, and where a share is 0.

    Attributes
    ----------
    n_effective : independent rows of equal weight that would tell as much of a share that is 0 or 1; of all or (k,).
    most : of any other share: rows that tell as much are never more than these. Infinite for means of other values.
    """

    n_effective: Any = np.nan
    most: float = np.inf

    @property
    def rows(self) -> Floats:
        """Independent rows of equal weight that would tell as much of each share, (k,)."""
        coin = self.value * (1.0 - self.value)
        variance = self.error**2
        varies = (variance > 0) & (coin > 1e-12)
        return np.where(
            varies,
            np.clip(coin / np.where(varies, variance, 1.0), 1.0, self.most),
            self.n_effective,
        )

    def of_share(self, k: int, level: float = 0.95) -> Interval:
        """One share with its Wilson interval."""
        return self.of_combination(np.eye(len(self.value))[k], level)

    def of_combination(self, factors: Any, level: float = 0.95) -> Interval:
        """One combination of the shares, from (k,) factors."""
        return Interval(*(float(part) for part in self.combined(factors, self.critical(level))))

    def combined(self, factors: Any, critical: float) -> tuple[Floats, Floats, Floats]:
        """Value, low and high ends of combinations, each of shape (...), from factors of shape (..., k)."""
        by = np.asarray(factors, dtype=float)
        below, above = self._reach(critical)
        spread = self.error
        standard = self.influence / np.where(spread > 0, spread, 1.0)
        joint = standard.T @ standard
        np.fill_diagonal(joint, 1.0)
        value = by @ self.value
        down = np.where(by > 0, below, above) * by
        up = np.where(by > 0, above, below) * by
        low, high = (
            np.sqrt(np.maximum(np.einsum("...k,kl,...l->...", d, joint, d), 0.0))
            for d in (down, up)
        )
        return value, value - low, value + high

    def _reach(self, critical: float) -> tuple[Floats, Floats]:
        """Reach of each share's Wilson interval below and above it, with its own effective number of rows."""
        share, rows = self.value, self.rows
        square = critical**2
        centre = (share + square / (2.0 * rows)) / (1.0 + square / rows)
        variance = np.maximum(share * (1.0 - share), 0.0) / rows + square / (4.0 * rows**2)
        half = critical * np.sqrt(variance) / (1.0 + square / rows)
        return np.clip(share - (centre - half), 0.0, share), np.clip(
            centre + half - share, 0.0, 1.0 - share
        )


def share_of_rows(hit: Bools, weights: Any = None, clusters: Any = None) -> Shares:
    """:func:`shares_of_rows` of the one share of (n,) rows that have a property."""
    return shares_of_rows(hit.astype(np.int64), np.array([[0], [1]]), weights, clusters)


def rows_by_correlation(hit: Bools, weights: Any = None, clusters: Any = None) -> float:
    """Return the independent rows that would tell as much of a share, by the correlation of rows within a cluster.

    The correlation is that of Fleiss and Cuzick (1979). Where clusters are of uneven size it knows better than the
    variance between clusters, which a few large ones dominate. Without clusters each row counts.
    """
    n = len(hit)
    unit, n_units, clustered = drawn_units(n, clusters)
    if not clustered:
        return float(n)
    rows = np.bincount(unit)
    hits = np.bincount(unit, hit)
    share = hit.mean()
    chance = (n - n_units) * share * (1.0 - share)
    correlation = 1.0 - (hits * (rows - hits) / rows).sum() / chance if chance else 1.0
    weight = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    alone = (weight**2).sum()
    together = (np.bincount(unit, weight) ** 2).sum()
    return float(weight.sum() ** 2 / (alone + max(correlation, 0.0) * (together - alone)))


def shares_of_rows(
    cell: Ints,
    patterns: npt.NDArray[Any],
    weights: Any = None,
    clusters: Any = None,
    related: Sequence[Shares] = (),
) -> Shares:
    """Weighted shares of rows with each of k properties.

    Weights are sampling or exposure weights: the share is a ratio of two sums, and its variance the linearised one,
    ``sum_i w_i^2 (x_i - s)^2 / (sum_i w_i)^2``; with G clusters the sums run over clusters and have the factor
    ``G / (G - 1)`` (Cochran 1977, sections 6.3 and 9A). Rows with a frequency weight must be repeated instead. Rows of
    one kind count as one unit, whose influence is multiplied by the root of their number.

    Parameters
    ----------
    cell : (n,) each row's kind, in [0, m).
    patterns : (m, k) whether rows of each kind have each property; or other numbers from 0 to 1, whose means are meant.
    weights : (n,) numbers from 0 upwards; None counts all alike.
    clusters : (n,) what rows that belong together share, or None; a single cluster counts as none.
    related : other shares of these rows, each one or m that repeat. A share that is 0 or 1 counts as seen on as many
        independent rows as the clusters are worth for the fewest of them, and on no fewer than there are clusters. If
        each cluster counted once, 60 clusters without a change would not rule out a change in 6 % of rows.

    Examples
    --------
    >>> shares_of_rows(np.array([0, 0, 0, 1]), np.array([[0], [1]])).value
    array([0.25])
    """
    n = len(cell)
    m = len(patterns)
    table = patterns.astype(float)
    weight = check_weights(weights, n)
    unit, n_units, clustered = drawn_units(n, clusters)
    sums = np.bincount(cell, weight, m).astype(float)
    total = sums.sum()
    squares = sums if weight is None else np.bincount(cell, weight**2, m)
    if not total:
        raise CalibrationError(
            "No row counts, so that no share is known; give rows with weights above 0."
        )
    value = sums @ table / total
    per_row = (table - value) / total
    if clustered:
        in_clusters = np.bincount(unit * m + cell, weight, n_units * m).reshape(n_units, m)
        influence = in_clusters @ per_row * np.sqrt(n_units / (n_units - 1))
    else:
        influence = np.sqrt(squares)[:, None] * per_row
    rows = np.full(table.shape[1], n_units if clustered else total**2 / squares.sum(), dtype=float)
    if related:
        fewest = np.min(np.broadcast_arrays(*(shares.rows for shares in related)), axis=0)
        rows = np.maximum(np.resize(fewest, rows.shape), rows)
    most = float(n) if np.isin(table, (0.0, 1.0)).all() else np.inf
    return Shares(
        value,
        influence,
        n_units - 1.0 if clustered else np.inf,
        rows,
        most,
    )
