"""Intervals: Wilson for proportions, the bootstrap for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calib.arrays import as_array, check_number
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints

MAX_GROUPS = 2000
"""Above this many rows random groups of them take their place; see :func:`groups_of_units`."""
MOST_RESAMPLES = 100_000
"""Of one call; the ends of a 95 % interval no longer move by then."""


class Interval(NamedTuple):
    """An estimate with its interval; ``low <= value <= high``, NaN where they do not exist.

    A single row has a value without ends: it shows nothing of how rows differ.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Ends of the interval.
    """

    value: float
    low: float
    high: float


UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))
"""Of what does not exist."""


def check_level(level: Any) -> None:
    """Refuse a coverage that does not lie between 0 and 1."""
    check_number("level", level, 0, 1, ends=False)


def wilson_interval(
    count_right: npt.ArrayLike, count: npt.ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Wilson's score interval of a proportion (Wilson 1927).

    It stays inside [0, 1] and does not collapse when all are right or all are wrong. Counts of 0 give (0, 1).
    For the mean of values in [0, 1] give their sum as ``count_right``: the interval is then conservative, because
    no such variable varies more than a coin of the same mean.

    Parameters
    ----------
    count_right, count : numbers or arrays of the same shape, ``0 <= count_right <= count``.
    level : coverage, between 0 and 1.
    """
    check_level(level)
    right = np.asarray(count_right, dtype=float)
    n = np.asarray(count, dtype=float)
    z2 = NormalDist().inv_cdf(0.5 + level / 2.0) ** 2
    share = right / np.maximum(n, 1.0)
    centre = (right + z2 / 2.0) / (n + z2)
    half = np.sqrt(z2 * n * share * (1.0 - share) + z2**2 / 4.0) / (n + z2)
    # Rounding must not push an exact 0 or 1 outside its own interval.
    low = np.where(n > 0, np.clip(centre - half, 0.0, share), 0.0)
    high = np.where(n > 0, np.clip(centre + half, share, 1.0), 1.0)
    return low, high


def share_interval(count_right: float, count: float, level: float = 0.95) -> Interval:
    """One proportion with :func:`wilson_interval`; unknown where there are no rows."""
    if not count:
        return UNKNOWN
    low, high = wilson_interval(count_right, count, level)
    return Interval(count_right / count, float(low), float(high))


def effective_count(right: npt.NDArray[Any], rows: npt.NDArray[Any]) -> float:
    """Independent rows that would tell as much of a proportion as these do in their clusters (Kish 1965, section 8.2).

    The variance of the proportion between clusters is that of a ratio,
    ``G / (G - 1) sum_g (right_g - p rows_g)^2 / n^2``. Where all are right, or none, nothing varies and each cluster
    counts once.

    Parameters
    ----------
    right, rows : (G,) right rows and rows of each cluster.
    """
    right = right[rows > 0]
    rows = rows[rows > 0]
    n = float(rows.sum())
    n_clusters = len(rows)
    share = right.sum() / n
    if n_clusters < 2 or not 0.0 < share < 1.0:
        return float(n_clusters)
    variance = n_clusters / (n_clusters - 1) * float(np.sum((right - share * rows) ** 2)) / n**2
    return float(np.clip(share * (1.0 - share) / variance, 1.0, n)) if variance > 0 else n


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of rows into groups that are drawn together, and sums over them.

    Attributes
    ----------
    group : (n,) number of each row's group.
    n_groups : number of groups.
    clustered : whether they are of whole clusters.
    """

    group: Ints
    n_groups: int
    clustered: bool = False

    def sums(self, values: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """Sums of (n,) values over each group, shape (n_groups,); row counts for None."""
        return np.bincount(self.group, weights=values, minlength=self.n_groups)

    def sums_by(
        self, index: Ints, n_index: int, values: npt.NDArray[Any] | None
    ) -> npt.NDArray[Any]:
        """Sums over each group and each value of ``index``, shape (n_groups, n_index); row counts for None."""
        cell = self.group * n_index + index
        return np.bincount(cell, weights=values, minlength=self.n_groups * n_index).reshape(
            self.n_groups, n_index
        )

    def counts(self, n_resamples: int) -> Floats:
        """Times that every resample has each group, (n_resamples, n_groups).

        As many groups are drawn with replacement as there are, and of clusters one fewer: as many would give variances
        too small by one part in their number (McCarthy and Snowden 1985; Rao and Wu 1988).
        """
        generator = np.random.default_rng(0)
        n_drawn = self.n_groups - self.clustered
        counts = np.empty((n_resamples, self.n_groups))
        for row in counts:
            row[:] = np.bincount(
                generator.integers(self.n_groups, size=n_drawn), minlength=self.n_groups
            )
        return counts

    def resampled(self, sums: npt.NDArray[Any], n_resamples: int) -> Floats:
        """Sums over rows in every resample, (n_resamples, ...), from those of groups, (n_groups, ...)."""
        return np.asarray(np.tensordot(self.counts(n_resamples), sums, 1))


def drawn_units(n: int, clusters: Any) -> tuple[Ints, int, bool]:
    """Units that a resample draws: the number of each row's unit, their count, and whether they are clusters.

    The one place where it is decided whether rows or clusters count. A single cluster shows nothing of how clusters
    differ, so that its rows are drawn.

    Parameters
    ----------
    n : number of rows.
    clusters : (n,) what rows that belong together share, or None.
    """
    if clusters is not None:
        of_rows = as_array(clusters, "clusters")
        if of_rows.shape != (n,):
            raise CalibrationError(
                f"Clusters must be ({n},) values, one for each row; got shape {of_rows.shape}."
            )
        try:
            distinct, unit = np.unique(of_rows, return_inverse=True)
        except TypeError as error:
            raise CalibrationError(
                "Clusters are of several types, which cannot be told apart for sure; give all as texts or as numbers."
            ) from error
        if len(distinct) > 1:
            return unit, len(distinct), True
    return np.arange(n), n, False


def groups_of_units(n: int, clusters: npt.NDArray[Any] | None = None) -> Groups:
    """Each of n rows as a group, or each cluster; at most ``MAX_GROUPS`` random groups of them, equal in size to one.

    For sums of independent rows such groups have the same variance, known from 2000 of them to 2 %, and cost the same
    for any n. Rows of one cluster resemble each other, so that intervals from single rows would be too narrow.
    """
    unit, n_units, clustered = drawn_units(n, clusters)
    if n_units <= MAX_GROUPS:
        return Groups(unit, n_units, clustered)
    mixed = np.random.default_rng(0).permutation(np.arange(n_units) % MAX_GROUPS)
    return Groups(mixed[unit], MAX_GROUPS, clustered)


def reflect(estimate: float, resampled: Floats) -> Floats:
    """Values that a norm of gaps may have in truth: squared bootstrap values reflected at its square.

    What resampling does to the estimate, sampling did to the truth (the basic bootstrap). A calibration error is biased
    upwards, and its bootstrap values again by as much, so that a percentile interval can lie wholly above the estimate;
    reflected values lie below it, where the truth is. The variance of a bin adds to its squared gap, so that the bias
    is a shift of squares.

    Parameters
    ----------
    estimate : value on the sample.
    resampled : (n_resamples,) values on resamples.
    """
    return np.sqrt(np.maximum(2.0 * estimate**2 - resampled**2, 0.0))


def interval_of_draws(
    estimate: float, draws: Floats, level: float = 0.95, low: float = -np.inf, high: float = np.inf
) -> Interval:
    """Central interval of draws, stretched to hold the estimate and cut to [low, high]; NaN draws are left out.

    Parameters
    ----------
    estimate : value on the sample.
    draws : values that it may have.
    level : share of the draws that the interval holds.
    low : least possible value.
    high : largest possible value.

    Returns
    -------
    Interval
        The estimate with its ends; all NaN where the estimate or every draw is.
    """
    check_level(level)
    finite = draws[np.isfinite(draws)]
    if not np.isfinite(estimate) or not len(finite):
        return UNKNOWN
    tail = (1.0 - level) / 2.0
    bottom, top = np.quantile(finite, [tail, 1.0 - tail])
    return Interval(
        float(estimate),
        float(max(low, min(estimate, bottom))),
        float(min(high, max(estimate, top))),
    )


def folded(value: float, signed: Interval) -> Interval:
    """Interval of a size from that of the signed quantity; ``value`` is the size."""
    near, far = sorted([abs(signed.low), abs(signed.high)])
    return Interval(value, 0.0 if signed.low <= 0.0 <= signed.high else near, far)


def cut(interval: Interval, least: float, most: float) -> Interval:
    """An interval without what no estimate can be; it goes on holding the estimate."""
    value, low, high = interval
    return Interval(value, max(min(low, value), least), min(max(high, value), most))


def not_below(interval: Interval, bound: Interval) -> Interval:
    """Interval of a quantity whose truth is at least that of another one: both of its ends are at least the other's."""
    value, low, high = interval
    return Interval(value, min(value, max(low, bound.low)), max(high, bound.high))
