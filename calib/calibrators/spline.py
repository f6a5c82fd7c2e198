"""Spline calibration: a smooth map of the log-odds, shrunk to a straight line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import Callback
from calib.calibrators.isotonic import interpolate
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, maps_of
from calib.numerics import Floats, Ints, log_odds_of, sigmoid, softplus
from calib.parameters import Array, State, Truth, param

if TYPE_CHECKING:
    from calib.calibrators.pooled_scores import Groups

STRENGTHS = 10.0 ** np.arange(5.0, -2.5, -0.5)
"""Penalties tried, from all but straight lines to all but free; on the integral over scores in standard deviations."""

RIDGE = 0.01
"""Penalty on the distance from the identity at the mean score, in value and in slope by standard deviation."""

MOST_POOLS = 2048
"""Different scores that are fitted to; neighbours are pooled above it, at the mean of their scores."""

MOST_POINTS = 256
"""Points of a map that was kept from falling."""

CLOSEST = 1e-9
"""Least distance of neighbouring knots as a share of the range; nearer ones are one knot to rounding."""

_MAX_STEPS = 100


@dataclass(eq=False, repr=False, kw_only=True)
class SplineCalibration(BinaryCalibrator):
    """A natural cubic spline of the log-odds, as smooth as the calibration rows ask for.

    The log-odds of the class are ``a + (1 + b) x + f(x)`` of the model's log-odds x, with the least cross-entropy plus
    ``penalty / 2`` times the integral of ``f''^2`` (Green and Silverman, Nonparametric Regression and Generalized
    Linear Models, 1994, chapters 2 and 5) and a small ridge on a and b. With a large penalty it is Platt scaling.
    Lucena, Spline-Based Probability Calibration, 2018, shrinks the coefficients of a basis instead, and so to a map
    that is not even a line; here nothing but curvature is penalised.

    The penalty has the least log loss in five folds of the rows, whole clusters in one, and the map is refitted to all
    rows. Above 2,048 different scores the spline is fitted to pools of neighbours. With ``monotone`` the map never
    falls: where the spline does, it is replaced by the closest map that does not, which is level there. Without it, it
    may fall.
    """

    n_knots: int = param(12, low=2, high=50, help="Most knots, placed where both outcomes are; the ends are two.")
    monotone: bool = param(True, help="Never let a higher score get a lower probability; level where the spline falls.")

    mirrored: ClassVar[bool] = False  # seen from the other class, knots lie elsewhere
    more_rows: ClassVar[str] = "Fit it again on all rows, old and new: knots and penalty are chosen anew."
    positive: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"clusters"})
    state: ClassVar[State] = {
        "maps_": maps_of(
            knots=Array("knots", order="rising"),
            values=Array("knots"),
            curvatures=Array("knots"),
        ),
        "by_folds_": Truth().or_absent(True),
    }

    def notes(self) -> list[str]:
        from calib.calibrators._folds import FEWEST, FOLDS

        lines = sum(bool(state) and len(state["knots"]) == 2 for state in self.maps_)
        if not lines:
            return super().notes()
        which = (
            "The map is a straight line" if len(self.maps_) == 1 else f"{lines} of {len(self.maps_)} maps are straight"
        )
        why = (
            f"in {FOLDS} folds of the calibration rows no curve has a smaller loss"
            if self.by_folds_
            else f"a curve is chosen from {FOLDS} folds, which take {FEWEST} rows and {FOLDS} clusters"
        )
        return [*super().notes(), f"{which} on the log-odds, as of Platt scaling: {why}."]

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        self._clusters = extras.get("clusters")
        try:
            super()._fit(logits, labels, callback, **extras)
        finally:
            del self._clusters

    def _count(self, n_rows: int, n_pairs: int) -> None:
        from calib.calibrators._folds import FEWEST, FOLDS

        super()._count(n_rows, n_pairs)
        clusters = getattr(self, "_clusters", None)
        self.by_folds_ = n_rows >= FEWEST and (clusters is None or len(np.unique(clusters)) >= FOLDS)

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        from calib.calibrators.pooled_scores import even_cuts, group_ties, pool

        groups = group_ties(log_odds, self.targets(positives))
        cuts = even_cuts(groups, MOST_POOLS)
        pools = pool(groups, cuts)
        inner = groups.log_odds[even_cuts(groups, self.n_knots - 1)]
        basis = Basis.from_knots(np.unique(np.concatenate([groups.log_odds[[0, -1]], inner])), pools)
        total = Sums(pools.counts.astype(float), pools.positives)
        pool_of = np.searchsorted(groups.log_odds[cuts], log_odds, side="right")
        strength = _best_strength(basis, total, self._folds(pool_of, positives, len(pools)))
        knots, (values, curvatures) = basis.knots, basis.at_knots(basis.fitted(total, strength, basis.start))
        falls = self.monotone and least_slope(knots, values, curvatures) < 0
        if np.isinf(strength):
            if falls:
                values, _ = basis.at_knots(basis.fitted(total, strength, basis.start, level=True))
            knots, values = knots[[0, -1]], values[[0, -1]]
        elif falls:
            knots, values = flattened(knots, values, curvatures, pools)
        else:
            return {"knots": knots, "values": values, "curvatures": curvatures}
        return {"knots": knots, "values": values, "curvatures": np.zeros(len(knots))}

    def _folds(self, pool_of: Ints, positives: npt.NDArray[np.bool_], n_pools: int) -> list[Sums]:
        """The sums of each fold of the rows, whose pairs stay together; none where rows or clusters are too few."""
        from calib.calibrators._folds import FOLDS, fold_of_rows

        if not self.by_folds_:
            return []
        outcomes = positives.reshape(self.n_rows_, -1)  # of a row one after the other, where classes share the map
        of_row = fold_of_rows(self.n_rows_, random_state=self.random_state, clusters=getattr(self, "_clusters", None))
        fold = np.repeat(of_row, outcomes.shape[1])
        cell, size = fold * n_pools + pool_of, FOLDS * n_pools
        parts = (np.bincount(cell, of, minlength=size).reshape(FOLDS, -1) for of in (None, self.targets(positives)))
        return [Sums(counts.astype(float), hits) for counts, hits in zip(*parts, strict=True)]

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return sigmoid(spline(state["knots"], state["values"], state["curvatures"], log_odds))


def spline(knots: Floats, values: Floats, curvatures: Floats, points: Floats) -> Floats:
    """A natural cubic spline with these values and second derivatives at its knots, straight beyond them.

    Green and Silverman (1994), section 2.4.1.

    Parameters
    ----------
    knots : (k,) increasing, k at least 2; values, curvatures : (k,), the first and the last curvature 0.
    points : array of any shape.
    """
    if not curvatures.any() and (values[1:] >= values[:-1]).all():
        inside = interpolate(points, knots, values)
    else:
        left = np.clip(np.searchsorted(knots, points, side="right") - 1, 0, len(knots) - 2)
        width = np.diff(knots)[left]
        up = (np.clip(points, knots[0], knots[-1]) - knots[left]) / width
        down = 1 - up
        inside = values[left] + up * (values[left + 1] - values[left])
        inside += width**2 / 6 * ((down**3 - down) * curvatures[left] + (up**3 - up) * curvatures[left + 1])
    first, last = slopes(knots, values, curvatures)[[0, -1], [0, 2]]
    return inside + first * np.minimum(points - knots[0], 0.0) + last * np.maximum(points - knots[-1], 0.0)


def slopes(knots: Floats, values: Floats, curvatures: Floats) -> Floats:
    """Slope between neighbouring knots, shape (k - 1, 3): at the left one, the least, and at the right one."""
    width, left, right = np.diff(knots), curvatures[:-1], curvatures[1:]
    chord = np.diff(values) / width
    ends = chord - width / 6 * (2 * left + right), chord + width / 6 * (left + 2 * right)
    # The slope is a parabola in between; it has a minimum there where the curvature rises through zero.
    turns = (left < 0) & (right > 0)
    lowest = ends[0] - np.divide(left**2 * width, 2 * (right - left), out=np.zeros_like(width), where=turns)
    return np.stack([ends[0], np.where(turns, lowest, np.minimum(*ends)), ends[1]], axis=1)


def least_slope(knots: Floats, values: Floats, curvatures: Floats) -> float:
    """The least slope of a natural cubic spline anywhere."""
    return float(slopes(knots, values, curvatures)[:, 1].min())


def flattened(knots: Floats, values: Floats, curvatures: Floats, pools: Groups) -> tuple[Floats, Floats]:
    """The map closest to a spline among those that never fall: points between which it is linear, and its values there.

    Closest in the squared distance of the probabilities over the pairs, whose mean stays. Where the spline falls, it
    becomes level.
    """
    from calib.calibrators.pooled_scores import Groups, even_cuts, isotonic_fit, pool

    points = pool(pools, even_cuts(pools, MOST_POINTS))
    score = spline(knots, values, curvatures, points.log_odds)
    probs = isotonic_fit(Groups(points.log_odds, points.counts, points.counts * sigmoid(score)))
    rising = np.clip(log_odds_of(probs), score.min(), score.max())
    return points.log_odds, np.maximum.accumulate(rising)


@dataclass(frozen=True, eq=False)
class Sums:
    """Pairs in each of m pools, and the sum of their targets."""

    counts: Floats
    positives: Floats

    def loss(self, score: Floats) -> float:
        """Summed cross-entropy in nats at (m,) log-odds."""
        return float(self.counts @ softplus(score) - self.positives @ score)


@dataclass(frozen=True, eq=False)
class Basis:
    """Natural cubic splines as a line and weighted curves, each of which adds its squared weight to the penalty.

    Attributes
    ----------
    knots : (k,) increasing log-odds.
    centre, spread : mean and standard deviation of the scores; curves are functions of scores in these units.
    design : (m, k) value at each pool of 1, of the score and of the k - 2 curves.
    knot_values, knot_curvatures : (k, k) the same at the knots, and second derivatives.
    """

    knots: Floats
    centre: float
    spread: float
    design: Floats
    knot_values: Floats
    knot_curvatures: Floats

    @classmethod
    def from_knots(cls, knots: Floats, pools: Groups) -> Basis:
        """The basis on the scores of some pools."""
        knots = knots[np.diff(knots, prepend=-np.inf) > CLOSEST * np.ptp(knots)]
        if len(knots) == 1:
            knots = knots[0] + np.array([-0.5, 0.5])
        centre = float(np.average(pools.log_odds, weights=pools.counts))
        spread = float(np.sqrt(np.average((pools.log_odds - centre) ** 2, weights=pools.counts))) or 1.0
        points = (knots - centre) / spread
        size, width = len(knots), np.diff(points)
        # Q and R of Green and Silverman, section 2.1.2: Q' values = R curvatures, and the integral is curvatures' R
        # curvatures. Curves are 0 at both ends; what they lack is a line.
        inner = np.arange(size - 2)
        q = np.zeros((size, size - 2))
        q[inner, inner], q[inner + 2, inner] = 1 / width[:-1], 1 / width[1:]
        q[inner + 1, inner] = -1 / width[:-1] - 1 / width[1:]
        r = np.diag((width[:-1] + width[1:]) / 3) + np.diag(width[1:-1] / 6, 1) + np.diag(width[1:-1] / 6, -1)
        curvatures, values = np.zeros((size, size)), np.zeros((size, size))
        curvatures[1:-1, 2:] = np.linalg.inv(np.linalg.cholesky(r)).T
        values[:, :2] = np.stack([np.ones(size), points], axis=1)
        values[1:-1, 2:] = np.linalg.solve(q[1:-1].T, r @ curvatures[1:-1, 2:])
        scores = (pools.log_odds - centre) / spread
        design = np.stack(
            [spline(points, *column, scores) for column in zip(values.T, curvatures.T, strict=True)], axis=1
        )
        return cls(knots, centre, spread, design, values, curvatures / spread**2)

    @property
    def start(self) -> Floats:
        """The weights of the identity."""
        return np.append([self.centre, self.spread], np.zeros(len(self.knots) - 2))

    def at_knots(self, weights: Floats) -> tuple[Floats, Floats]:
        """Values and second derivatives at the knots."""
        used = slice(len(weights))
        return self.knot_values[:, used] @ weights, self.knot_curvatures[:, used] @ weights

    def fitted(self, sums: Sums, strength: float, start: Floats, level: bool = False) -> Floats:
        """Weights of the least penalised loss, (k,), by Newton's method with step halving; the objective is convex.

        Parameters
        ----------
        strength : penalty on curvature; infinite for a line.
        start : (k,) weights to start from.
        level : whether the slope is held at zero too.
        """
        used = 1 if level else 2 if np.isinf(strength) else len(start)
        design, weights = self.design[:, :used], start[:used].copy()
        weight, target = np.full(used, strength), self.start[:used]
        weight[:2] = RIDGE

        def objective(at: Floats) -> float:
            return sums.loss(design @ at) + 0.5 * float(weight @ (at - target) ** 2)

        loss = objective(weights)
        for _ in range(_MAX_STEPS):
            chance = sigmoid(design @ weights)
            gradient = design.T @ (sums.counts * chance - sums.positives) + weight * (weights - target)
            curvature = (design.T * (sums.counts * chance * (1 - chance))) @ design + np.diag(weight)
            step = np.linalg.solve(curvature, gradient)
            promised, size = float(gradient @ step), 1.0
            while (lower := objective(weights - size * step)) > loss - 1e-4 * size * promised and size > 1e-6:
                size /= 2
            if lower > loss:
                break  # rounding is all that is left to gain
            weights, loss = weights - size * step, lower
            if promised < 1e-14 * (1 + loss):
                break
        return np.append(weights, np.zeros(len(self.knots) - used))


def _best_strength(basis: Basis, total: Sums, folds: list[Sums]) -> float:
    """The penalty with the least loss on rows outside the fit; infinity, which is a line, without folds."""
    strengths = (np.inf, *STRENGTHS)
    losses = np.zeros(len(strengths))
    for fold in folds:
        others, weights = Sums(total.counts - fold.counts, total.positives - fold.positives), basis.start
        for place, strength in enumerate(strengths):
            weights = basis.fitted(others, strength, weights)
            losses[place] += fold.loss(basis.design @ weights)
    return float(strengths[int(np.argmin(losses))])
