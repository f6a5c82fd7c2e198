"""Recalibration by group: an intercept for each group, shrunk towards the map that all groups share.

A group's own map follows few rows closely; the shared one misses what is particular to it. A logistic regression with a
normally distributed intercept for each group (Breslow and Clayton 1993, JASA 88) lies between: how far the intercepts
spread is estimated from all groups, and each is shrunk the more, the fewer rows the group has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.decisions.recalibration import log_odds, recalibrate
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import check_event
from calib.metrics.estimate import Rows
from calib.numerics import PROBABILITY_FLOOR, Floats, Ints, log_odds_of, sigmoid

NODES = 15
"""Of the Gauss-Hermite quadrature, as in lme4's ``glmer(nAGQ = 15)``."""
LEAST_SPREAD, MOST_SPREAD = 1e-3, 5.0
"""Standard deviations of the intercepts between which the likelihood is searched; at the lower end it counts as 0."""
STEPS = 50


@dataclass(frozen=True, eq=False)
class GroupRecalibration:
    """The map that groups share, and how far each departs from it.

    Attributes
    ----------
    names : (G,) sorted names of the groups.
    rows, events : (G,) of the rows fitted to.
    intercept, slope : of the shared map ``logit P(event) = intercept + slope logit p``, without groups.
    centre, group_slope : the same with intercepts for groups, of a group that does not depart.
    offsets : (G,) departures of the groups in log-odds, shrunk.
    spread : standard deviation of the departures; 0 where groups show none, and all offsets are 0.
    floor : probabilities count as at least this and at most one minus this.
    """

    names: tuple[str, ...]
    rows: Ints
    events: Ints
    intercept: float
    slope: float
    centre: float
    group_slope: float
    offsets: Floats
    spread: float
    floor: float

    def shared(self, probs: Any) -> Floats:
        """Probabilities by the map without groups, (n,) for (n,) raw ones."""
        return sigmoid(self.intercept + self.slope * log_odds_of(np.asarray(probs, dtype=float), self.floor))

    def by_group(self, probs: Any, groups: Any) -> Floats:
        """Probabilities by each row's group, (n,); of a group that is new, as of one that does not depart."""
        names, of_row = np.unique(np.asarray(groups).astype(str), return_inverse=True)
        known = dict(zip(self.names, self.offsets.tolist(), strict=True))
        offset = np.array([known.get(str(name), 0.0) for name in names])[of_row]
        score = log_odds_of(np.asarray(probs, dtype=float), self.floor)
        return sigmoid(self.centre + self.group_slope * score + offset)


def recalibrate_groups(probs: Any, labels: Any, groups: Any) -> GroupRecalibration:
    """Fit the shared map, and an intercept for each group.

    Intercept, slope and the spread of the departures have the highest marginal likelihood, an integral over each
    group's departure by adaptive Gauss-Hermite quadrature (Pinheiro and Bates 1995, J. Comput. Graph. Stat. 4); a
    group's offset is the mode of its departure. With few groups this spread is too small on average, which shrinks
    more.

    Parameters
    ----------
    probs, labels : (n,) raw probabilities of the event, and 1 where it happened.
    groups : (n,) name of each row's group.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or one outcome is missing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score, group = rng.normal(-1, 1, 4000), rng.integers(4, size=4000)
    >>> event = rng.random(4000) < sigmoid(score + 0.8 * (group == 3))
    >>> found = recalibrate_groups(sigmoid(score), event, group)
    >>> found.offsets.argmax(), bool(found.offsets[3] - found.offsets[:3].mean() < 0.8)  # shrunk
    (np.int64(3), True)
    """
    said, came = check_event(probs, labels)
    names, group = np.unique(_names(groups, len(said)), return_inverse=True)
    score, _, floor = log_odds(said)
    a, b = recalibrate(score, came)
    rows, events = np.bincount(group), np.bincount(group, weights=came).astype(int)
    fit = _Intercepts(score, came.astype(float), group, len(names))
    centre, slope, spread = fit.maximum(a, b)
    offsets = fit.modes(centre, slope, spread) if spread else np.zeros(len(names))
    if not spread:
        centre, slope = a, b
    return GroupRecalibration(tuple(map(str, names)), rows, events, a, b, centre, slope, offsets, spread, floor)


@dataclass(frozen=True, eq=False)
class GroupGain:
    """Intercepts for groups beside the shared map, on rows that neither was fitted to.

    Attributes
    ----------
    made : both maps.
    n : rows judged on.
    log_loss, brier : mean by groups minus mean by the shared map, paired by row; below 0 groups pay.
    shared_loss : mean log loss of the shared map.
    """

    made: GroupRecalibration
    n: int
    log_loss: Interval
    brier: Interval
    shared_loss: float

    @property
    def pays(self) -> bool | None:
        """Whether intercepts for groups have a lower log loss; None where that is undecided."""
        return None if self.log_loss.low <= 0.0 <= self.log_loss.high else self.log_loss.high < 0.0


def judge_groups(
    made: GroupRecalibration,
    probs: Any,
    labels: Any,
    groups: Any,
    weights: Any = None,
    weight_kind: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> GroupGain:
    """What intercepts for groups change in log loss and Brier score on held-out rows.

    Parameters
    ----------
    made : of :func:`recalibrate_groups`.
    probs, labels, groups : (n,) raw probabilities, outcomes and groups of other rows.
    weights, weight_kind, clusters : as in :func:`calib.metrics.risk_model`.
    level : coverage of the intervals, which are those of a mean of differences.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together.
    """
    said, came = check_event(probs, labels)
    kept, rows = Rows.checked(came, weights, weight_kind, clusters)
    said, came, group = said[kept], came[kept], _names(groups, len(kept))[kept]
    before, after = made.shared(said), made.by_group(said, group)
    losses = [-np.log(np.maximum(np.where(came, p, 1.0 - p), PROBABILITY_FLOOR)) for p in (before, after)]  # the NLL
    squares = [(p - came) ** 2 for p in (before, after)]
    log_loss, brier = (rows.mean_of(new - old).interval(level) for old, new in (losses, squares))
    return GroupGain(made, len(said), log_loss, brier, rows.mean(losses[0]))


def _names(groups: Any, n: int) -> npt.NDArray[np.str_]:
    array = np.asarray(groups)
    if array.shape != (n,):
        raise CalibrationError(f"There must be one group for each of {n:,} rows; got shape {array.shape}.")
    return array.astype(str)


class _Intercepts:
    """Marginal likelihood of a logistic regression with normal intercepts of groups."""

    def __init__(self, score: Floats, came: Floats, group: Ints, n_groups: int):
        self._score, self._came, self._group, self._n_groups = score, came, group, n_groups
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        self._nodes, self._log_weights = nodes, np.log(weights) + nodes**2 / 2.0

    def maximum(self, a: float, b: float) -> tuple[float, float, float]:
        """Intercept, slope and spread of the highest likelihood; a spread of 0 where groups show no departure."""
        from scipy.optimize import minimize

        bounds = [(None, None), (None, None), (np.log(LEAST_SPREAD), np.log(MOST_SPREAD))]
        scale = len(self._score)
        found = minimize(
            lambda x: -self.log_likelihood(x[0], x[1], np.exp(x[2])) / scale,
            [a, b, np.log(0.3)], method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-7},
        )  # fmt: skip
        centre, slope, spread = float(found.x[0]), float(found.x[1]), float(np.exp(found.x[2]))
        if spread < 2 * LEAST_SPREAD or -found.fun * scale <= self.log_likelihood(a, b, LEAST_SPREAD):
            return a, b, 0.0
        return centre, slope, spread

    def modes(self, a: float, b: float, spread: float) -> Floats:
        """The likeliest departure of each group, (G,), by Newton's method: the log-density is concave."""
        return self._modes(a + b * self._score, spread)[0]

    def log_likelihood(self, a: float, b: float, spread: float) -> float:
        """Log-likelihood of all rows, integrated over the departures of the groups."""
        line = a + b * self._score
        mode, width = self._modes(line, spread)
        at = mode[:, None] + width[:, None] * self._nodes
        terms = np.empty_like(at)
        for place in range(NODES):
            terms[:, place] = self._of_groups(line, at[:, place])
        terms += self._log_weights - at**2 / (2.0 * spread**2)
        highest = terms.max(axis=1)
        total = highest + np.log(np.exp(terms - highest[:, None]).sum(axis=1)) + np.log(width / spread)
        return float(total.sum()) - 0.5 * self._n_groups * float(np.log(2.0 * np.pi))

    def _modes(self, line: Floats, spread: float) -> tuple[Floats, Floats]:
        """Modes of the departures, and the standard deviations of normals there."""
        mode, precision = np.zeros(self._n_groups), 1.0 / spread**2
        for _ in range(STEPS):
            chance = sigmoid(line + mode[self._group])
            gradient = self._sums(self._came - chance) - precision * mode
            curvature = self._sums(chance * (1.0 - chance)) + precision
            step = np.clip(gradient / curvature, -1.0, 1.0)
            mode = mode + step
            if np.abs(step).max() < 1e-10:
                break
        return mode, 1.0 / np.sqrt(curvature)

    def _of_groups(self, line: Floats, departure: Floats) -> Floats:
        z = line + departure[self._group]
        return self._sums(self._came * z - np.maximum(z, 0.0) - np.log1p(np.exp(-np.abs(z))))

    def _sums(self, values: Floats) -> Floats:
        sums: Floats = np.bincount(self._group, weights=values, minlength=self._n_groups).astype(np.float64, copy=False)
        return sums
