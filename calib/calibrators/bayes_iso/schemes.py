"""Sampling schemes for the posterior of maps: plain, in blocks, and at knots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from calib.calibrators.bayes_iso.exact_posterior import knots_posterior
from calib.calibrators.bayes_iso.importance_sampling import BOUNDS, sample_posterior
from calib.calibrators.pooled_scores import Groups, even_cuts, merge_violators, pool
from calib.numerics import Floats, Ints

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
        _pooled(np.concatenate(pieces), groups.counts[shown])
        for pieces in zip(*((part.low, part.high, *part.samples) for part in parts), strict=True)
    )
    return MapPosterior(
        groups.log_odds,
        _pooled(np.concatenate([part.mean for part in parts]), groups.counts),
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


def _pooled(values: Floats, counts: Ints) -> Floats:
    from scipy.optimize import isotonic_regression

    return isotonic_regression(values, weights=counts).x
