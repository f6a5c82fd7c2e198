"""Non-parametric Bayesian isotonic calibration (Allikivi and Kull, 2019): exact at knots, or sampled maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calib.base import POSITIVE
from calib.calibrators.bayes_iso.exact_posterior import knots_posterior, merge_violators
from calib.calibrators.isotonic import Tally, interpolate
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest
from calib.calibrators.step_maps import even_cuts, shares_below
from calib.calibrators.steps import Step, lines
from calib.numerics import Floats, Ints, blocks
from calib.parameters import param

Bounds = tuple[Floats, Floats]
"""Lower and upper bounds, each (m,) and non-decreasing, the first nowhere above the second."""


def pav_bounds(tally: Tally) -> Bounds:
    """Bounds as the authors' published code computes them.

    The mean label of the N / 20 ranks strictly beyond a group, or its isotonic fit where that lies farther out, with a
    slack of 1 / sqrt(N); nothing is beyond the outermost groups, whose bounds are 0 and 1. With those that the paper
    describes in section 4.3, means of N / 10 ranks, the excess loss is the same at 100 pairs and twice that at 3,000.
    """
    from scipy.optimize import isotonic_regression

    ends = np.cumsum(tally.counts)
    starts = ends - tally.counts
    n = ends[-1]
    size = max(1, n // 20)
    fit = isotonic_regression(tally.positives / tally.counts, weights=tally.counts).x
    upper = np.maximum(_mean_label(tally, ends[:-1], np.minimum(ends[:-1] + size, n)), fit[:-1])
    lower = np.minimum(_mean_label(tally, np.maximum(starts[1:] - size, 0), starts[1:]), fit[1:])
    slack = 1 / np.sqrt(n)
    lower = np.append(0.0, lower - slack)
    upper = np.append(upper + slack, 1.0)
    # Extended, never narrowed: a lower bound falls to the lowest that follows, an upper one rises.
    lower = np.minimum.accumulate(lower[::-1])[::-1]
    upper = np.maximum.accumulate(upper)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def _mean_label(tally: Tally, starts: Floats, stops: Floats) -> Floats:
    """Mean label of the ranks from each start to each stop; within a group its positives are spread evenly."""
    ends, positives = (
        np.append(0.0, np.cumsum(column)) for column in (tally.counts, tally.positives)
    )
    return (np.interp(stops, ends, positives) - np.interp(starts, ends, positives)) / (
        stops - starts
    )


def sample_maps(n_maps: int, bounds: Bounds, rng: np.random.Generator) -> Floats:
    """Maps drawn from the prior: a rank, a value between its neighbours', and so on to the left and to the right.

    Within an open range of ranks one is drawn uniformly, and its value uniformly between the values at the ends of the
    range, but inside the bounds. All open ranges of all maps are split at once, level by level: about 3 log2(m) passes
    over flat arrays in place of n_maps * m calls.

    Parameters
    ----------
    n_maps : how many.
    bounds : lower and upper, each (m,) and non-decreasing.

    Returns
    -------
    (n_maps, m) array, each row non-decreasing
    """
    lower, upper = bounds
    m = len(lower)
    maps = np.empty(n_maps * m)
    # Of each open range: where its first rank lies in ``maps``, which rank that is, how many there are, and the values
    # on either side.
    place = np.arange(0, n_maps * m, m, dtype=np.int32)
    rank = np.zeros(n_maps, dtype=np.int32)
    size = np.full(n_maps, m, dtype=np.int32)
    low = np.zeros(n_maps)
    high = np.ones(n_maps)
    while len(place):
        pick = (rng.random(len(size)) * size).astype(np.int32)
        picked = rank + pick
        least = np.maximum(low, lower[picked])
        most = np.minimum(high, upper[picked])
        value = least + rng.random(len(size)) * (most - least)
        maps[place + pick] = value
        rest = size - pick - 1
        remaining = np.flatnonzero(pick)
        right = np.flatnonzero(rest)
        step = pick[right] + 1
        place = np.concatenate([place[remaining], place[right] + step])
        rank = np.concatenate([rank[remaining], rank[right] + step])
        size = np.concatenate([pick[remaining], rest[right]])
        low = np.concatenate([low[remaining], value[right]])
        high = np.concatenate([value[remaining], high[right]])
    return maps.reshape(n_maps, m)


_BLOCK = 150_000  # values of maps that are sampled at once; another size draws other maps
_NEGLIGIBLE = 25.0  # nats below the best map, where a map has 1e-11 of its weight
_SMALLEST = np.finfo(float).tiny  # where a value has been rounded to 0 or 1


def log_likelihood(maps: Floats, tally: Tally) -> Floats:
    """Logarithm of the chance of all labels under each map, shape (k,); equation 3 of the paper."""
    positives = tally.positives
    negatives = tally.counts - tally.positives
    # Most groups hold one outcome, whose chance is |value - 0| or |value - 1|.
    chance = np.abs(maps - (positives == 0))
    np.maximum(chance, _SMALLEST, out=chance)
    score = np.log(chance, out=chance) @ np.where(positives == 0, negatives, positives)
    mixed = np.flatnonzero((positives > 0) & (negatives > 0))
    return score + np.log(np.maximum(1 - maps[:, mixed], _SMALLEST)) @ negatives[mixed]


def sample_posterior(
    tally: Tally, bounds: Bounds, n_maps: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Maps drawn from the prior within the bounds, and their shares of the likelihood (algorithm 1 of the paper).

    Maps far less likely than the best of those before them are left out: of the ``n_maps`` that are sampled, k are
    returned, as (k, m) values at the groups, each row non-decreasing, and (k,) weights that sum to one.
    """
    batches = []
    best = -np.inf
    for block in blocks(n_maps, len(tally.scores), _BLOCK):
        maps = sample_maps(block.stop - block.start, bounds, rng)
        score = log_likelihood(maps, tally)
        best = max(best, float(score.max()))
        near = score > best - _NEGLIGIBLE
        batches.append((maps[near], score[near]))
    maps, score = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    weights = np.exp(score - best)
    return maps, weights / weights.sum()


N_KNOTS = 64
"""Most pools of scores."""

FINEST = 65_536
"""Parts of the scores within which negatives may be pooled."""

MOST_SHOWN = 100
"""Scores at which the posterior band is kept for the picture."""

BAND = (0.05, 0.95)
"""Posterior probabilities of a value below the lower and below the upper edge of the band."""


@dataclass(frozen=True, eq=False)
class BayesIsoMap:
    """The posterior mean at increasing ``knots``, linear between and constant beyond them; and what a picture shows.

    Attributes
    ----------
    knots, values : (k,) log-odds and posterior means.
    log_odds : (n_shown,) some of the calibration pairs' scores, the outermost two among them.
    low, high : (n_shown,) 5 % and 95 % points of the posterior.
    n_maps : how many maps were sampled; 0 at knots, whose posterior is exact.
    effective_maps : how many equally weighted ones they are worth.
    dominated : whether one map outweighs all others together (section 5.3).
    """

    knots: Floats
    values: Floats
    log_odds: Floats
    low: Floats
    high: Floats
    n_maps: int
    effective_maps: float
    dominated: bool

    @property
    def mean(self) -> Floats:
        """Posterior mean at the shown scores, (n_shown,)."""
        return self.apply(self.log_odds)

    def apply(self, log_odds: Floats) -> Floats:
        return interpolate(log_odds, self.knots, self.values)

    def steps(self) -> list[Step]:
        return [lines(self.knots, self.values)]


def at_knots(tally: Tally, places: Ints) -> dict[str, Any]:
    """The exact posterior over pools of neighbouring scores, which needs no bounds and no sampling."""
    pools = merge_violators(tally.pooled(np.append(0, even_cuts(shares_below(tally), N_KNOTS))))
    posterior = knots_posterior(pools)
    low, high = (
        np.interp(tally.scores[places], pools.scores, posterior.quantile(share)) for share in BAND
    )
    return {
        "knots": pools.scores,
        "values": posterior.mean,
        "low": low,
        "high": high,
        "n_maps": 0,
        "effective_maps": 0.0,
        "dominated": False,
    }


def sampled(
    tally: Tally, bounds: Bounds, n_maps: int, places: Ints, rng: np.random.Generator
) -> dict[str, Any]:
    """The posterior over maps of all scores, sampled within the bounds."""
    maps, weights = sample_posterior(tally, bounds, n_maps, rng)
    inside = maps[:, places]
    low, high = np.quantile(inside, BAND, axis=0, weights=weights, method="inverted_cdf")
    return {
        "knots": tally.scores,
        "values": np.maximum.accumulate(weights @ maps),  # rounding may turn two values around
        "low": low,
        "high": high,
        "n_maps": n_maps,
        "effective_maps": float(1 / np.sum(weights**2)),
        "dominated": bool(weights.max() > 0.5),
    }


@dataclass(eq=False, repr=False, kw_only=True)
class BayesIso(OneVsRest):
    """The average of all monotone maps, each weighted by how likely it makes the labels.

    Allikivi and Kull, Non-parametric Bayesian Isotonic Calibration: Fighting Over-confidence in Binary Classification,
    ECML PKDD 2019. The prior picks a rank, gives it a value between those of its neighbours, and goes on to the left
    and right. Equal scores share a value; between scores the average map is linear, and constant beyond them. It is
    kept at least 1 / (m + 2) away from 0 and 1, m the number of calibration pairs.

    The average over maps at up to 64 pools of scores (``knots``) is summed over all orders of picking, exact but for
    cells of the values, and nothing is sampled. The paper samples maps over all scores (``plain``), which degenerates
    with many pairs: one map gets all the weight.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = BayesIso(n_maps=100).fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    scheme: str = param(
        "knots",
        choices=("knots", "plain"),
        help="Average exactly over maps at pooled scores, or sample maps over all scores as the paper does.",
    )
    n_maps: int = param(
        10_000, low=100, high=1_000_000, help="Number of maps to sample; knots need none."
    )

    traits: ClassVar[frozenset[str]] = frozenset({POSITIVE})
    map_type: ClassVar[type[Map]] = BayesIsoMap
    mirrored: ClassVar[bool] = False  # seen from the other class, maps have other knots
    weighted: ClassVar[bool] = False

    def notes(self) -> list[str]:
        notes = super().notes()
        sampled = [
            fitted_map for fitted_map in self.maps_ if fitted_map is not None and fitted_map.n_maps
        ]
        if not sampled:
            return notes
        several = len(sampled) > 1
        dominated = sum(fitted_map.dominated for fitted_map in sampled)
        if dominated:
            where = f" for {dominated} of {len(sampled)} classes" if several else ""
            notes.append(
                f"One of the sampled maps outweighs all others together{where}, so the average rests on hardly more "
                "than one map. Take scheme='knots', or sample more maps."
            )
        effective = min(fitted_map.effective_maps for fitted_map in sampled)
        notes.append(
            f"{self.n_maps:,} maps were sampled{' for each class' if several else ''}; their effective sample size is "
            f"{effective:,.0f}{' at least' if several else ''}."
        )
        return notes

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        tally = Tally.of(log_odds, positives)
        if self.scheme == "knots":
            tally = tally.pooled(tally.runs(max(1, len(tally.scores) // FINEST)))
        inner = even_cuts(shares_below(tally), MOST_SHOWN - 1)
        places = np.unique(np.concatenate([[0], inner, [len(tally.scores) - 1]]))
        if self.scheme == "knots":
            columns = at_knots(tally, places)
        else:
            rng = np.random.default_rng(self.random_state)
            columns = sampled(tally, pav_bounds(tally), self.n_maps, places, rng)
        columns["values"] = np.clip(columns["values"], self.margin_, 1 - self.margin_)
        return BayesIsoMap(log_odds=tally.scores[places], **columns)
