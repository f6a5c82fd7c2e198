"""Shares of rows and their linear combinations, such as net benefit and cost, with intervals for clusters and weights.

A combination of shares, ``sum_k c_k s_k``, has the interval of Zou, Huang and Zhang (2009): the shares' own Wilson
intervals put together, here with the shares' correlations (Zou 2007). It holds with few events, where an estimate plus
or minus two standard errors is too short, and where a share is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval, drawn_units
from calib.metrics.confidence import check_weights
from calib.numerics import Floats, Ints

JOINT_DRAWS = 10_000
"""Normal draws from which the quantile of the largest of several deviations is taken."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of rows and how they vary together.

    Attributes
    ----------
    value : (k,) shares.
    covariance : (k, k) of their estimates.
    n_effective : independent rows of equal weight that would tell as much of a share that is 0 or 1; of all or (k,).
    most : of any other share: rows that tell as much are never more than these. Infinite for means of other values.
    degrees : number of clusters less one; infinite where rows are independent.
    """

    value: Floats
    covariance: Floats
    n_effective: float | Floats
    most: float
    degrees: float

    def critical(self, level: float = 0.95) -> float:
        """Quantile of the standardised deviation: the normal one, with clusters Student's t."""
        from scipy.special import ndtri, stdtrit

        upper = 0.5 + level / 2.0
        return float(ndtri(upper) if np.isinf(self.degrees) else stdtrit(self.degrees, upper))

    def with_rows_of(self, changed: slice | list[int]) -> Shares:
        """Let kinds of rows that none is tell as much as the rows do that some of the shares are of.

        In clusters alone, each would count once: of 60 clusters none would then rule out a change in 6 % of rows.

        Parameters
        ----------
        changed : shares of rows that change in any way; the one that tells least counts.
        """
        share, variance = self.value[changed], np.diagonal(self.covariance)[changed]
        known = variance > 0
        rows = share[known] * (1.0 - share[known]) / variance[known]
        least = float(rows.min()) if len(rows) else self.n_effective
        return replace(self, n_effective=np.clip(least, self.n_effective, np.maximum(self.most, self.n_effective)))

    def of_share(self, k: int, level: float = 0.95) -> Interval:
        """One share with its Wilson interval."""
        value, low, high = self.combine(np.eye(len(self.value))[k], self.critical(level))
        return Interval(float(value), float(low), float(high))

    def combine(self, coefficients: npt.ArrayLike, critical: float | Floats) -> tuple[Floats, Floats, Floats]:
        """Combinations of the shares with their intervals (Zou, Huang and Zhang 2009).

        Parameters
        ----------
        coefficients : (..., k) factors of the shares.
        critical : quantile of the standardised deviation, as :meth:`critical` gives.

        Returns
        -------
        (value, low, high) : arrays of shape (...)
        """
        factors = np.asarray(coefficients, dtype=float)
        below, above = self._reach(float(critical))
        value = factors @ self.value
        down = np.where(factors > 0, below, above) * factors
        up = np.where(factors > 0, above, below) * factors
        joint = self._correlation()
        low, high = (np.sqrt(np.maximum(np.einsum("...k,kl,...l->...", d, joint, d), 0.0)) for d in (down, up))
        return value, value - low, value + high

    def joint_critical(self, coefficients: Floats, level: float = 0.95, random_state: int = 0) -> float:
        """Quantile of the largest standardised deviation of several combinations, for a band that holds all of them.

        It is that of normal draws with the combinations' correlation, with clusters divided by a chi draw for Student's
        t. Combinations that do not vary are left out.
        """
        covariance = coefficients @ self.covariance @ coefficients.T
        spread = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        varies = spread > 1e-12 * max(float(spread.max(initial=0.0)), 1e-300)
        if not varies.any():
            return self.critical(level)
        correlation = covariance[np.ix_(varies, varies)] / np.outer(spread[varies], spread[varies])
        values, vectors = np.linalg.eigh(correlation)
        kept = values > 1e-10 * values[-1]
        root = vectors[:, kept] * np.sqrt(values[kept])
        generator = np.random.default_rng(random_state)
        largest = np.abs(generator.normal(size=(JOINT_DRAWS, root.shape[1])) @ root.T).max(axis=1)
        if np.isfinite(self.degrees):
            largest /= np.sqrt(generator.chisquare(self.degrees, JOINT_DRAWS) / self.degrees)
        return max(float(np.quantile(largest, level)), self.critical(level))

    def _reach(self, critical: float) -> tuple[Floats, Floats]:
        """How far each share's Wilson interval reaches below and above it, with its own effective number of rows."""
        share, variance = self.value, np.diagonal(self.covariance)
        coin = share * (1.0 - share)
        known = (variance > 0) & (coin > 1e-12)
        rows = np.where(known, np.clip(coin / np.where(known, variance, 1.0), 1.0, self.most), self.n_effective)
        square = critical**2
        centre = (share + square / (2.0 * rows)) / (1.0 + square / rows)
        half = critical * np.sqrt(np.maximum(coin, 0.0) / rows + square / (4.0 * rows**2)) / (1.0 + square / rows)
        return np.clip(share - (centre - half), 0.0, share), np.clip(centre + half - share, 0.0, 1.0 - share)

    def _correlation(self) -> Floats:
        spread = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        product = np.outer(spread, spread)
        joint = np.where(product > 0, self.covariance / np.where(product > 0, product, 1.0), 0.0)
        np.fill_diagonal(joint, 1.0)
        return joint


def shares_of_rows(cell: Ints, patterns: npt.NDArray[Any], weights: Any = None, clusters: Any = None) -> Shares:
    """Weighted shares of rows with each of k properties.

    Weights are sampling or exposure weights: the share is a ratio of two sums, and its variance the linearised one,
    ``sum_i w_i^2 (x_i - s)^2 / (sum_i w_i)^2``; with G clusters the sums run over clusters and have the factor
    ``G / (G - 1)`` (Cochran 1977, sections 6.3 and 9A). Rows with a frequency weight must be repeated instead.

    Parameters
    ----------
    cell : (n,) each row's kind, in [0, m).
    patterns : (m, k) whether rows of each kind have each property; or other numbers from 0 to 1, whose means are meant.
    weights : (n,) numbers from 0 upwards; None counts all alike.
    clusters : (n,) what rows that belong together share, or None; a single cluster counts as none.
    """
    n, table = len(cell), patterns.astype(float)
    weight = check_weights(weights, n)
    unit, n_units, clustered = drawn_units(n, None if clusters is None else check_clusters(clusters, n))
    m = len(table)
    sums = np.bincount(cell, weights=weight, minlength=m)
    total = float(sums.sum())
    value = sums @ table / total
    most = float(n) if np.isin(table, (0.0, 1.0)).all() else float("inf")
    deviations = table - value
    if clustered:
        by_cluster = np.bincount(unit * m + cell, weights=weight, minlength=n_units * m).reshape(n_units, m)
        moved = by_cluster @ deviations
        covariance = n_units / (n_units - 1) * (moved.T @ moved) / total**2
        return Shares(value, covariance, float(n_units), most, n_units - 1.0)
    squares = sums if weight is None else np.bincount(cell, weights=weight**2, minlength=m)
    covariance = (deviations * squares[:, None]).T @ deviations / total**2
    return Shares(value, covariance, total**2 / float(squares.sum()), most, float("inf"))


def shares_at_rates(
    cell: Ints, patterns: npt.NDArray[Any], kind: Ints, rates: npt.ArrayLike, weights: Any = None, clusters: Any = None
) -> Shares:
    """Shares of rows as they would be at other rates of the classes, each of which looks as it does here.

    ``sum_k rate_k s_k`` with the share ``s_k`` among the rows of class k: post-stratification with known rates. The
    variance is that of the shares within the classes, ``sum_k rate_k^2 sum_i w_i^2 (x_i - s_k)^2 / (sum_i w_i)^2``,
    with sums over clusters as in :func:`shares_of_rows` (Cochran 1977, sections 5.3 and 5A.9, given the counts). Of a
    share that is 0 or 1, the class that tells least of it decides: ``n_k / rate_k`` rows.

    Parameters
    ----------
    cell, patterns, weights, clusters : as in :func:`shares_of_rows`.
    kind : (m,) class of each kind of rows, in [0, K).
    rates : (K,) rates of the classes, which sum to 1.

    Raises
    ------
    CalibrationError
        If a class with a rate above 0 has no row.

    Examples
    --------
    >>> cell = np.array([0, 0, 0, 1, 2, 3])  # of three rows without the event one is acted on; of two with it one
    >>> found = shares_at_rates(cell, np.array([[0], [1], [0], [1]]), np.array([0, 0, 1, 1]), [0.9, 0.1])
    >>> round(float(found.value[0]), 6)  # 0.9 / 4 + 0.1 / 2
    0.275
    """
    n, table, share = len(cell), patterns.astype(float), np.asarray(rates, dtype=float)
    weight = check_weights(weights, n)
    unit, n_units, clustered = drawn_units(n, None if clusters is None else check_clusters(clusters, n))
    m, k = len(table), len(share)
    sums = np.bincount(cell, weights=weight, minlength=m).astype(float)
    total = np.bincount(kind, weights=sums, minlength=k)
    if (absent := np.flatnonzero((total == 0) & (share > 0))).size:
        raise CalibrationError(
            f"No row has class {int(absent[0])}, whose rate is {share[absent[0]]:g}, so that nothing is known of it; "
            "give rows of that class, or a rate of 0."
        )
    of_class = np.where(total > 0, total, 1.0)
    means = np.zeros((k, table.shape[1]))
    np.add.at(means, kind, (sums / of_class[kind])[:, None] * table)
    moved = (share / of_class)[kind][:, None] * (table - means[kind])
    if clustered:
        by_cluster = np.bincount(unit * m + cell, weights=weight, minlength=n_units * m).reshape(n_units, m) @ moved
        covariance = n_units / (n_units - 1) * (by_cluster.T @ by_cluster)
    else:
        squares = sums if weight is None else np.bincount(cell, weights=weight**2, minlength=m)
        covariance = (moved * squares[:, None]).T @ moved
    rows = _rows_of_classes(kind[cell], k, weight, unit if clustered else None)
    tells = np.where(share > 0, rows / np.where(share > 0, share, 1.0), np.inf)
    high, low = np.full(means.shape, -np.inf), np.full(means.shape, np.inf)
    np.maximum.at(high, kind, table)
    np.minimum.at(low, kind, table)
    least = np.where(high > low, tells[:, None], np.inf).min(axis=0)
    least = np.where(np.isfinite(least), least, tells.min())
    degrees = n_units - 1.0 if clustered else float("inf")
    return Shares(share @ means, covariance, least, float("inf"), degrees)


def _rows_of_classes(label: Ints, k: int, weight: Floats | None, unit: Ints | None) -> Floats:
    """Independent rows of equal weight, or clusters, that each of k classes has."""
    if unit is not None:
        pairs = np.unique(np.column_stack([label, unit]), axis=0)[:, 0]
        return np.bincount(pairs, minlength=k).astype(float)
    if weight is None:
        return np.bincount(label, minlength=k).astype(float)
    sums, squares = (np.bincount(label, weights=w, minlength=k) for w in (weight, weight**2))
    return np.where(squares > 0, sums**2 / np.where(squares > 0, squares, 1.0), 0.0)


def check_clusters(clusters: Any, n: int) -> npt.NDArray[Any]:
    """Clusters as an (n,) array.

    Raises
    ------
    CalibrationError
        If there is not one for each row.
    """
    array = np.asarray(clusters)
    if array.shape != (n,):
        raise CalibrationError(f"Clusters must have shape ({n},), one for each row; got {array.shape}.")
    return array
