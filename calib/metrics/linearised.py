"""Standard errors of statistics of weighted and clustered rows by linearisation.

A statistic's influence is what one row adds to it, to first order. Sums of influences over independent units, rows or
clusters, give the variance of any smooth statistic: the sandwich estimator of a regression, DeLong's variance of the
AUROC and the variance of a ratio are the same sum (Binder 1983; Shao and Tu 1995, chapter 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.metrics.bootstrap import UNKNOWN, Interval, drawn_units, effective_count
from calib.metrics.confidence import Bools, check_weights, effective_sample_size
from calib.numerics import Floats, Ints

if TYPE_CHECKING:
    from calib.data.options import WeightKind

NORMAL_FROM = 40
"""So many independent units or more are judged by the normal distribution, fewer by Student's t."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Which rows count how much, and which of them belong together.

    Attributes
    ----------
    weights : (n,) positive; frequencies as they are, other weights with a mean of 1, ones without weights.
    kind : what the weights mean, or None without weights.
    unit : (n,) number of each row's independent unit.
    n_units : how many there are.
    clustered : whether units are clusters.
    n_telling : units by which intervals choose Student's t; see :meth:`quantile`.
    """

    weights: Floats
    kind: WeightKind | None
    unit: Ints
    n_units: int
    clustered: bool
    n_telling: int

    @classmethod
    def from_rows(
        cls, event: Bools, weights: Any = None, kind: WeightKind | None = None, clusters: npt.NDArray[Any] | None = None
    ) -> Sample:
        """The sample of rows with (n,) outcomes, whose weights, if any, are above 0."""
        n = len(event)
        weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
        if kind is not None and kind != "frequency":
            weights = weights / weights.mean()
        unit, n_units, clustered = drawn_units(n, clusters)
        if kind == "frequency" and not clustered:
            n_units = round(weights.sum())
        of_outcomes = [len(np.unique(unit[part])) for part in (event, ~event) if part.any()]
        return cls(weights, kind, unit, n_units, clustered, min(of_outcomes) if clustered else n_units)

    @property
    def total(self) -> float:
        """Sum of the weights: the number of rows, of frequencies that of the rows they stand for."""
        return float(self.weights.sum())

    @property
    def is_simple(self) -> bool:
        """Whether the sample is that many independent rows of equal weight, written once or by frequency."""
        return not self.clustered and self.kind in (None, "frequency")

    def mean(self, values: npt.NDArray[Any]) -> float:
        """Weighted mean of (n,) values."""
        return float(self.weights @ values) / self.total

    def effective_rows(self, outcome: Bools) -> float:
        """Independent rows of equal weight that would tell as much of the event rate (Kish 1965, 8.2 and 11.7)."""
        if self.is_simple:
            return self.total
        kish = self.total if self.kind in (None, "frequency") else effective_sample_size(self.weights)
        if not self.clustered:
            return kish
        weights = self.weights * (kish / self.total)
        rows = np.bincount(self.unit, weights=weights, minlength=self.n_units)
        return effective_count(np.bincount(self.unit, weights=weights * outcome, minlength=self.n_units), rows)

    def covariance(self, influence: Floats) -> Floats:
        """Covariance (k, k) of k statistics from what each row adds to them per unit of weight, (n, k).

        ``G / (G - 1) sum_g u_g u_g'`` over G units, with ``u_g = sum_{i in g} w_i u_i``; a row that stands for several
        is as many units. Influences have a weighted mean of 0.
        """
        if self.n_units < 2:
            return np.full((influence.shape[1],) * 2, np.nan)
        if self.clustered:
            weighted = self.weights[:, None] * influence
            of_unit: npt.NDArray[Any] = np.stack(
                [np.bincount(self.unit, column, self.n_units) for column in weighted.T], axis=1
            )
        else:
            weights = np.sqrt(self.weights) if self.kind == "frequency" else self.weights
            of_unit = weights[:, None] * influence
        return self.n_units / (self.n_units - 1) * (of_unit.T @ of_unit)

    def error(self, influence: Floats) -> float:
        """Standard error of one statistic from its influences (n,); see :meth:`covariance`."""
        return float(np.sqrt(self.covariance(influence[:, None])[0, 0]))

    def quantile(self, level: float = 0.95) -> float:
        """Half the width of a central interval in standard errors: of Student's t with m - 1 df for m below 40.

        m is the number of units; of clusters, those with the event or those with rows without it, whichever are fewer.
        """
        if self.n_telling >= NORMAL_FROM:
            return NormalDist().inv_cdf(0.5 + level / 2.0)
        from scipy.special import stdtrit

        return float(stdtrit(max(self.n_telling - 1, 1), 0.5 + level / 2.0))

    def units_with(self, chosen: Bools) -> int:
        """How many units have any of the chosen rows, a boolean for each; rows that stand for several as many."""
        if self.clustered:
            return len(np.unique(self.unit[chosen]))
        return round(float(self.weights[chosen].sum())) if self.kind == "frequency" else int(chosen.sum())

    def interval(
        self,
        value: float,
        error: float,
        level: float = 0.95,
        scale: tuple[Callable[[Any], Any], Callable[[Any], Any], float] | None = None,
    ) -> Interval:
        """Interval of a value with its standard error, symmetric on a scale.

        Parameters
        ----------
        scale : (to it, from it, its slope at the value), or None for the value's own.
        """
        if not (np.isfinite(value) and np.isfinite(error)):
            return UNKNOWN
        half = self.quantile(level) * error
        if scale is None:
            return Interval(value, value - half, value + half)
        to, back, slope = scale
        low, high = back(to(value) + half * slope * np.array([-1.0, 1.0]))
        return Interval(value, float(low), float(high))


def check_sample(
    n: int, weights: Any, kind: WeightKind | None, clusters: Any
) -> tuple[Floats | None, npt.NDArray[Any] | None]:
    """Weights and clusters as (n,) arrays, or None each.

    Raises
    ------
    CalibrationError
        Unless weights come with what they mean, and clusters are n.
    """
    from calib.data.options import WEIGHT_KINDS

    checked = check_weights(weights, n)
    if checked is not None and kind not in WEIGHT_KINDS:
        raise CalibrationError(
            f"Weights need weight_kind, one of {', '.join(WEIGHT_KINDS)}; got {kind!r}. What they mean decides how "
            "they enter an interval."
        )
    if clusters is None:
        return checked, None
    members = np.asarray(clusters)
    if members.shape != (n,):
        raise CalibrationError(f"Clusters must be ({n},) values, one for each row; got shape {members.shape}.")
    return checked, members
