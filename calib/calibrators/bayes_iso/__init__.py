"""Non-parametric Bayesian isotonic calibration (Allikivi and Kull, 2019), sampled plainly, in blocks or at knots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import GIVES_UNCERTAINTY
from calib.calibrators.bayes_iso.exact_posterior import knots_posterior
from calib.calibrators.bayes_iso.importance_sampling import BOUNDS, sample_posterior
from calib.calibrators.isotonic import interpolate
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, knots_and_values, maps_of
from calib.calibrators.pooled_scores import (
    Groups,
    even_cuts,
    group_around,
    group_ties,
    isotonic_means,
    merge_violators,
    pool,
    thin,
)
from calib.numerics import Floats, Ints
from calib.parameters import ROUNDING, Array, Count, Number, State, Text, Truth, param

N_KNOTS = (64, 128)
"""Fewest and most pools of scores; between, one for each hundred pairs, so that a sudden rise stays sudden."""

BLOCK_SIZE = 1000

MOST_PLAIN = 100
"""Scores up to which ``auto`` samples plainly, which is quicker there and no worse on held-out rows."""

MOST_PLAIN_PAIRS = 1000
"""Pairs up to which it does: with more, few scores or not, the labels leave hardly a map of thousands likely."""

N_SAMPLES = 5
"""Maps that are kept for the picture."""


@dataclass(frozen=True, eq=False)
class MapPosterior:
    """What a scheme found about one map of m groups.

    Attributes
    ----------
    knots, mean : (k,) scores and the posterior mean there, k at most m.
    low, high : (n_shown,) the band at the shown groups.
    samples : (N_SAMPLES, n_shown) maps as the posterior has them, there.
    n_maps, effective_maps, dominated : as of
        :class:`~calib.calibrators.bayes_iso.importance_sampling.Posterior`; of blocks, the worst one's.
    """

    knots: Floats
    mean: Floats
    low: Floats
    high: Floats
    samples: Floats
    n_maps: int
    effective_maps: float
    dominated: bool


def plain(groups: Groups, bounds: str, n_maps: int, shown: Ints, rng: np.random.Generator) -> MapPosterior:
    """Maps over all ranks at once, as the paper has it."""
    posterior = sample_posterior(groups, BOUNDS[bounds](groups), n_maps, rng)
    return MapPosterior(
        groups.log_odds,
        posterior.mean,
        *posterior.band(shown),
        posterior.draw(N_SAMPLES, shown, rng),
        posterior.n_maps,
        posterior.effective_maps,
        posterior.dominated,
    )


def blocks(groups: Groups, bounds: str, n_maps: int, shown: Ints, rng: np.random.Generator) -> MapPosterior:
    """Plain sampling within blocks of about 1000 scores, pooled where they do not rise (paper, section 6).

    The blocks share the work: where there are more than three, each samples fewer maps, but 300 at least.
    """
    edges = np.linspace(0, len(groups), max(1, round(len(groups) / BLOCK_SIZE)) + 1).astype(int)
    n_each = min(n_maps, max(300, 3 * n_maps // (len(edges) - 1)))
    parts = []
    for start, stop in pairwise(edges):
        inside = shown[(shown >= start) & (shown < stop)] - start
        parts.append(plain(groups.part(start, stop), bounds, n_each, inside, rng))
    low, high, *samples = (
        isotonic_means(np.concatenate(pieces), groups.counts[shown])
        for pieces in zip(*((part.low, part.high, *part.samples) for part in parts), strict=True)
    )
    return MapPosterior(
        groups.log_odds,
        isotonic_means(np.concatenate([part.mean for part in parts]), groups.counts),
        low,
        high,
        np.array(samples),
        n_each,
        min(part.effective_maps for part in parts),
        any(part.dominated for part in parts),
    )


def n_pools(n_pairs: int) -> int:
    """How many pools of scores so many pairs have."""
    return int(np.clip(n_pairs // 100, *N_KNOTS))


def knots(groups: Groups, bounds: str, n_maps: int, shown: Ints, rng: np.random.Generator) -> MapPosterior:
    """Maps over pools of neighbouring scores, drawn from the posterior itself, which needs no bounds."""
    pools = merge_violators(pool(groups, even_cuts(groups, n_pools(int(groups.ends[-1])))))
    posterior = knots_posterior(pools, n_maps, rng)
    everywhere = np.arange(len(pools))
    curves = [*posterior.band(everywhere), *posterior.draw(N_SAMPLES, everywhere, rng)]
    low, high, *samples = (np.interp(groups.log_odds[shown], pools.log_odds, curve) for curve in curves)
    return MapPosterior(
        pools.log_odds,
        posterior.mean,
        low,
        high,
        np.array(samples),
        posterior.n_maps,
        posterior.effective_maps,
        posterior.dominated,
    )


SCHEMES: dict[str, Callable[..., MapPosterior]] = {"plain": plain, "blocks": blocks, "knots": knots}


def chosen(scheme: str, groups: Groups) -> str:
    """The scheme itself, or for ``auto`` the one that did best on held-out rows at this size."""
    if scheme != "auto":
        return scheme
    few = len(groups) <= MOST_PLAIN and groups.ends[-1] <= MOST_PLAIN_PAIRS
    return "plain" if few else "knots"


def takes_merged(scheme: str, bounds: str, n_pairs: int) -> bool:
    """Whether neighbouring negatives may be one group: not where maps or the paper's windows are of single scores."""
    return bounds == "pav" and (scheme == "knots" or (scheme == "auto" and n_pairs > MOST_PLAIN_PAIRS))


MOST_SHOWN = 100
"""Scores at which the posterior band, the bounds and the sampled maps are kept."""

CURVE = Array("shown", low=-ROUNDING, high=1 + ROUNDING)
"""The condition on one of them; interpolation may leave [0, 1] by its rounding."""


@dataclass(eq=False, repr=False, kw_only=True)
class BayesIso(BinaryCalibrator):
    """The average of many monotone maps, each weighted by how likely it makes the labels.

    Allikivi and Kull, Non-parametric Bayesian Isotonic Calibration: Fighting Over-confidence in Binary Classification,
    ECML PKDD 2019. The prior picks a rank, gives it a value between those of its neighbours, and goes on to the left
    and right. Equal scores share a value; between scores the average map is linear, and constant beyond them. It is
    kept at least 1 / (m + 2) away from 0 and 1, m the number of calibration pairs.

    Plain sampling degenerates with many pairs: one map gets all the weight. ``blocks`` samples blocks of ranks one by
    one, as the paper proposes; ``knots`` draws from the exact posterior at 64 to 128 pools of scores, and is what
    ``auto`` takes above 100 scores or 1000 pairs.
    """

    n_maps: int = param(10_000, low=100, high=1_000_000, help="Number of maps to sample.")
    bounds: str = param(
        "pav",
        choices=("pav", "paper"),
        help="Bounds of the sampled maps: around the isotonic fit, as in the authors' code, or as in the paper.",
    )
    scheme: str = param(
        "auto",
        choices=("auto", "plain", "blocks", "knots"),
        help="Sample maps over all scores as the paper does, over blocks of scores, or over pooled scores.",
    )

    mirrored: ClassVar[bool] = False  # seen from the other class, other maps are sampled
    positive: ClassVar[bool] = True
    state: ClassVar[State] = {
        "maps_": maps_of(
            **knots_and_values(),
            log_odds=Array("shown", order="rising"),
            ranks=Array("shown", low=0, high=1, order="ascending"),
            low=CURVE,
            high=CURVE,
            lower_bound=CURVE,
            upper_bound=CURVE,
            samples=Array("samples", "shown", low=-ROUNDING, high=1 + ROUNDING),
            n_maps=Count(1),
            effective_maps=Number(0),
            dominated=Truth(),
            scheme=Text(*SCHEMES),
        )
    }

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {GIVES_UNCERTAINTY}

    def notes(self) -> list[str]:
        fitted = [state for state in self.maps_ if state]
        notes = super().notes()
        if not fitted:
            return notes
        worst = min(fitted, key=lambda state: state["effective_maps"])
        each = "" if len(fitted) == 1 else " for each class"
        dominated = sum(state["dominated"] for state in fitted)
        if dominated:
            where = "" if len(fitted) == 1 else f" for {dominated} of {len(fitted)} classes"
            block = " of some block of scores" if worst["scheme"] == "blocks" else ""
            notes.append(
                f"One of the sampled maps{block} outweighs all others together{where}, so the average rests on hardly "
                "more than one map. Take scheme='knots', or sample more maps."
            )
        notes.append(
            f"{worst['n_maps']:,} maps were sampled{each} (scheme {worst['scheme']}); their effective sample size is "
            f"{worst['effective_maps']:,.0f}{' at least' if each else ''}."
        )
        return notes

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        n = len(log_odds)
        if takes_merged(self.scheme, self.bounds, n):
            levels = self.target_levels(int(positives.sum()), n)
            groups = group_around(log_odds, positives, levels, (MOST_SHOWN - 1, n_pools(n)))
        else:
            groups = group_ties(log_odds, self.targets(positives))
        shown = np.unique(np.concatenate([[0], even_cuts(groups, MOST_SHOWN - 1), [len(groups) - 1]]))
        scheme = chosen(self.scheme, groups)
        rng = np.random.default_rng(self.random_state)
        posterior = SCHEMES[scheme](groups, self.bounds, self.n_maps, shown, rng)
        lower, upper = BOUNDS[self.bounds](groups)
        mean = self.bounded(posterior.mean)
        kept = thin(posterior.knots, mean)
        return {
            "knots": posterior.knots[kept],
            "values": mean[kept],
            "log_odds": groups.log_odds[shown],
            "ranks": (groups.ends[shown] - groups.counts[shown] / 2) / n,
            "low": posterior.low,
            "high": posterior.high,
            "lower_bound": lower[shown],
            "upper_bound": upper[shown],
            "samples": posterior.samples,
            "n_maps": posterior.n_maps,
            "effective_maps": posterior.effective_maps,
            "dominated": posterior.dominated,
            "scheme": scheme,
        }

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return interpolate(log_odds, state["knots"], state["values"])
