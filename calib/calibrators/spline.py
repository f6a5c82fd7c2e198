"""Spline calibration: a smooth rising map of the log-odds, shrunk to a straight line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from calib.base import POSITIVE, Progress
from calib.calibrators._folds import FEWEST, FOLDS, deal, row_units
from calib.calibrators.isotonic import Tally
from calib.calibrators.minimisation import newton
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest
from calib.calibrators.step_maps import even_cuts, shares_below
from calib.calibrators.steps import Step
from calib.numerics import Floats, Ints, sigmoid, softplus

STRENGTHS = 10.0 ** np.arange(5.0, -2.5, -0.5)
"""Penalties tried, from all but straight lines to all but free."""

RIDGE = 0.01
"""Penalty on the distance from the identity, in value at the middle score and in the mean slope by :data:`SPREAD`."""

SPREAD = (0.16, 0.5, 0.84)
"""Shares of both outcomes below the scores by which scores are standardised; of a normal distribution, one standard
deviation apart. A standard deviation itself would be that of a few log-odds of -700, which stand for zeros."""

N_KNOTS = 16
"""Most knots."""

MOST_POOLS = 2048
"""Different scores that are fitted to; neighbours are pooled above it, at the mean of their scores."""

FARTHEST = 1e5
"""Distance from the middle score, in standardised units, beyond which all scores are fitted as one."""

CLOSEST = 1e-9
"""Least distance of neighbouring knots as a share of the range; nearer ones are one knot to rounding."""

HEAVIEST = 1e9
"""Largest weight of a pair; where there are larger ones all are divided alike, or rounding would leave no penalty."""

TOLERANCE = 1e-6
"""The search ends where a step promises less than the square of this, in nats of a pair."""


@dataclass(frozen=True, eq=False)
class SplineMap:
    """Log-odds whose slope is ``slopes`` at increasing ``knots``, linear between and constant beyond them.

    So it is a quadratic spline, with straight lines beyond its knots, and rises where no slope is negative.
    ``intercept`` is its value at the first knot.
    """

    knots: Floats
    slopes: Floats
    intercept: float

    @property
    def values(self) -> Floats:
        """Log-odds at the knots, (k,)."""
        steps = np.diff(self.knots) * (self.slopes[1:] + self.slopes[:-1]) / 2
        return self.intercept + np.append(0.0, np.cumsum(steps))

    def apply(self, log_odds: Floats) -> Floats:
        return sigmoid(self.score(log_odds))

    def score(self, log_odds: Floats) -> Floats:
        """Log-odds that the map gives to an array of any shape."""
        knots = self.knots
        slopes = self.slopes
        values = self.values
        cell = np.clip(np.searchsorted(knots, log_odds, side="right"), 1, len(knots) - 1) - 1
        width = np.diff(knots)[cell]
        along = np.clip(log_odds, knots[0], knots[-1]) - knots[cell]
        score = values[cell] + along * (slopes[cell] + np.diff(slopes)[cell] * (along / width) / 2)
        # Rounding may not change the order of two scores.
        score = np.clip(score, values[cell], values[cell + 1])
        score += slopes[0] * np.minimum(log_odds - knots[0], 0.0)
        return score + slopes[-1] * np.maximum(log_odds - knots[-1], 0.0)

    def steps(self) -> list[Step]:
        knots = self.knots
        values = self.values
        slopes = self.slopes
        bends = np.concatenate([[0.0], np.diff(slopes) / (2 * np.diff(knots)), [0.0]])
        curve = {
            "step": "piecewise",
            "breaks": knots,
            "origins": np.append(knots[:1], knots),
            "coefficients": np.stack(
                [np.append(values[:1], values), np.append(slopes[:1], slopes), bends]
            ),
        }
        return [curve, {"step": "sigmoid"}]


def spline_map(
    log_odds: Floats, positives: Bools, weights: Floats | None = None, folds: Ints | None = None
) -> SplineMap:
    """The spline with the least cross-entropy plus penalty, whose strength has the least loss on rows held out.

    Parameters
    ----------
    log_odds, positives : (m,) pairs with both outcomes.
    weights : (m,) how much each counts, above zero; 1 if None.
    folds : (m,) number of the fold of each pair; None for the strongest penalty, which is all but a straight line.
    """
    if weights is not None:
        weights = weights / max(1.0, float(weights.max()) / HEAVIEST)
    tally = Tally.of(log_odds, positives, weights)
    shares = shares_below(tally)
    starts = np.append(0, even_cuts(shares, MOST_POOLS))
    shares += (
        np.diff(shares, append=1.0) / 2
    )  # the middle of each score's own share: the same from either class
    low, centre, high = np.interp(SPREAD, shares, tally.scores).tolist()
    knots = np.interp(np.linspace(0.0, 1.0, N_KNOTS), shares, tally.scores)
    cuts = tally.scores[starts[1:]]
    pools = tally.pooled(starts)
    del tally, shares  # of very many pairs
    spread = (high - low) / 2 or float(pools.scores.std()) or 1.0
    reach = centre - FARTHEST * spread, centre + FARTHEST * spread
    scores = np.clip(pools.scores, *reach)
    knots = np.clip(knots, *reach)
    knots = knots[np.diff(knots, prepend=-np.inf) > CLOSEST * np.ptp(knots)]
    if len(knots) == 1:
        knots = knots[0] + np.array([-0.5, 0.5])
    problem = Problem.of((knots - centre) / spread, (scores - centre) / spread, centre, spread)
    strength = float(STRENGTHS[0])
    if folds is not None:
        n_folds = int(folds.max()) + 1
        row_weights = np.ones(len(log_odds)) if weights is None else weights
        cells = (
            np.searchsorted(cuts, log_odds, side="right") + len(scores) * folds
        )  # of each fold and pool
        sums = (
            np.bincount(cells, of, n_folds * len(scores)).astype(float)
            for of in (row_weights, row_weights * positives)
        )
        strength = problem.best_strength(*(of.reshape(n_folds, -1) for of in sums))
    intercept, *slopes = problem.fitted(pools.counts, pools.positives, strength, problem.identity)
    return SplineMap(knots, np.array(slopes) / spread, float(intercept))


@dataclass(frozen=True, eq=False)
class Problem:
    """Penalised logistic regression on the value at the first of k knots and the slopes at all of them.

    Scores are standardised, see :data:`SPREAD`.

    Attributes
    ----------
    design : (m, k + 1) what each coefficient adds to the log-odds of each of m pools.
    identity : (k + 1,) the coefficients of the identity.
    roughness : (k + 1, k + 1) quadratic form of ``(k - 1) sum_j (slope_(j+1) - slope_j)^2``.
    ridge : (k + 1, k + 1) quadratic form of the distance from the identity.
    """

    design: Floats
    identity: Floats
    roughness: Floats
    ridge: Floats

    @classmethod
    def of(cls, knots: Floats, scores: Floats, centre: float, spread: float) -> Self:
        """The problem on pools with these scores; ``centre`` and ``spread`` are what was standardised by."""
        size = len(knots)
        columns = [
            SplineMap(knots, slopes, 0.0).score(np.append(scores, 0.0)) for slopes in np.eye(size)
        ]
        design = np.column_stack([np.ones(len(scores) + 1), *columns])
        at_middle = design[-1]
        mean_slope = np.append(0.0, np.full(size, 1 / size))
        changes = np.diff(np.eye(size + 1)[1:], axis=0)
        return cls(
            design[:-1],
            np.append(centre + spread * knots[0], np.full(size, spread)),
            (size - 1) * changes.T @ changes,
            RIDGE * (np.outer(at_middle, at_middle) + np.outer(mean_slope, mean_slope)),
        )

    def fitted(self, counts: Floats, positives: Floats, strength: float, start: Floats) -> Floats:
        """Coefficients of the least loss plus penalty with no negative slope."""
        total = counts.sum()
        penalty = strength * self.roughness + self.ridge

        def objective(at: Floats) -> tuple[float, Floats, Floats]:
            score = self.design @ at
            away = penalty @ (at - self.identity)
            chance = sigmoid(score)
            value = counts @ softplus(score) - positives @ score + 0.5 * (at - self.identity) @ away
            gradient = self.design.T @ (counts * chance - positives) + away
            curvature = (self.design.T * (counts * chance * (1 - chance))) @ self.design + penalty
            return float(value) / total, gradient / total, curvature / total

        lowest = np.append(-np.inf, np.zeros(len(start) - 1))
        return newton(objective, start, TOLERANCE, low=lowest)[0]

    def best_strength(self, counts: Floats, positives: Floats) -> float:
        """The strength with the least loss on the folds held out in turn, from sums by fold and pool."""
        losses = np.zeros(len(STRENGTHS))
        for in_fold, ones in zip(counts, positives, strict=True):
            others = (counts.sum(axis=0) - in_fold, positives.sum(axis=0) - ones)
            at = self.identity
            for place, strength in enumerate(STRENGTHS):
                at = self.fitted(*others, strength, at)
                score = self.design @ at
                losses[place] += in_fold @ softplus(score) - ones @ score
        return float(STRENGTHS[int(np.argmin(losses))])


@dataclass(eq=False, repr=False, kw_only=True)
class SplineCalibration(OneVsRest):
    """A spline of the log-odds that rises and is as smooth as the calibration rows ask for.

    The log-odds of the class are a function f of the model's log-odds whose slope is linear between knots and never
    negative there, so that it never falls. Knots cut the scores into parts with like shares of both outcomes. f has the
    least cross-entropy plus a penalty on the squared changes of its slope from knot to knot (as in Eilers and Marx,
    Flexible Smoothing with B-splines and Penalties, Statistical Science 1996) and a small ridge that pulls it to the
    identity. With a large penalty it is Platt scaling. Lucena, Spline-Based Probability Calibration, 2018, shrinks the
    coefficients of a basis instead, and so to a map that is not even a line; here nothing but bends are penalised.

    The penalty has the least log loss in five folds of the rows, whole clusters in one, and the map is refitted to all
    rows. Above 2,048 different scores the spline is fitted to pools of neighbours.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = SplineCalibration().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    traits: ClassVar[frozenset[str]] = frozenset({POSITIVE})
    map_type: ClassVar[type[Map]] = SplineMap

    def _fit(
        self,
        logits: Floats,
        labels: Ints,
        *,
        progress: Progress,
        weights: Floats | None = None,
        clusters: npt.NDArray[Any] | None = None,
    ) -> None:
        folds = deal(row_units(len(logits), clusters), self.random_state)
        n = len(folds) if weights is None else float(weights.sum())
        self._folds = folds if n >= FEWEST and len(np.unique(folds)) == FOLDS else None
        super()._fit(logits, labels, progress=progress, weights=weights)
        del self._folds

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        folds = self._folds
        if folds is not None:
            folds = np.repeat(
                folds, len(log_odds) // len(folds)
            )  # pairs of a row follow one another
        return spline_map(log_odds, positives, weights, folds)
