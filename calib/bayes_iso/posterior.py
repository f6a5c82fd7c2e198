"""Sampled maps weighted by how likely they make the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.bayes_iso.bounds import Bounds
from calib.bayes_iso.groups import Groups
from calib.bayes_iso.prior import sample_maps
from calib.numerics import Floats, Ints, blocks

BAND = (0.05, 0.95)
"""Posterior shares below the lower and the upper edge of the band."""

_BLOCK = 150_000  # values of maps that are sampled at once; another size draws other maps
_NEGLIGIBLE = 25.0  # nats below the best map, where a map has 1e-11 of its weight
_SMALLEST = np.finfo(float).tiny  # where a value has been rounded to 0 or 1


@dataclass(frozen=True, eq=False)
class Posterior:
    """Maps that stand for the posterior.

    Attributes
    ----------
    maps : (k, m) values at the m groups, each row non-decreasing; sampled maps of no weight are left out.
    weights : (k,) summing to one.
    n_maps : how many were sampled.
    """

    maps: Floats
    weights: Floats
    n_maps: int

    @property
    def mean(self) -> Floats:
        """Posterior mean, shape (m,)."""
        return self.weights @ self.maps

    @property
    def effective_maps(self) -> float:
        """How many equally weighted maps these are worth: the inverse of the sum of squared weights."""
        return float(1 / np.sum(self.weights**2))

    @property
    def dominated(self) -> bool:
        """Whether one map outweighs all others together (Allikivi and Kull 2019, section 5.3)."""
        return bool(self.weights.max() > 0.5)

    def band(self, columns: Ints) -> tuple[Floats, Floats]:
        """Values that the posterior is below with the chances of :data:`BAND`, at some of the groups."""
        values = self.maps[:, columns]
        order = np.argsort(values, axis=0)
        reached = np.cumsum(self.weights[order], axis=0)
        low, high = (
            values[
                order[np.argmax(reached >= share * reached[-1], axis=0), np.arange(len(columns))],
                np.arange(len(columns)),
            ]
            for share in BAND
        )
        return low, high

    def draw(self, n: int, columns: Ints, rng: np.random.Generator) -> Floats:
        """``n`` maps as the posterior has them, at some of the groups; shape (n, len(columns))."""
        return self.maps[rng.choice(len(self.weights), n, p=self.weights)][:, columns]


def log_likelihood(maps: Floats, groups: Groups) -> Floats:
    """Logarithm of the chance of all labels under each map, shape (k,); equation 3 of the paper."""
    positives, negatives = groups.positives, groups.negatives
    # Most groups hold one outcome, whose chance is |value - 0| or |value - 1|.
    chance = np.abs(maps - (positives == 0))
    np.maximum(chance, _SMALLEST, out=chance)
    score = np.log(chance, out=chance) @ np.where(positives == 0, negatives, positives)
    mixed = np.flatnonzero((positives > 0) & (negatives > 0))
    return score + np.log(np.maximum(1 - maps[:, mixed], _SMALLEST)) @ negatives[mixed]


def sample_posterior(groups: Groups, bounds: Bounds, n_maps: int, rng: np.random.Generator) -> Posterior:
    """Maps drawn from the prior within the bounds, weighted by likelihood (algorithm 1 of the paper)."""
    kept, best = [], -np.inf
    for block in blocks(n_maps, len(groups), _BLOCK):
        maps = sample_maps(block.stop - block.start, bounds, rng)
        score = log_likelihood(maps, groups)
        best = max(best, float(score.max()))
        near = score > best - _NEGLIGIBLE
        kept.append((maps[near], score[near]))
    # What looked likely before the best map was found may not be.
    kept = [(maps[score > best - _NEGLIGIBLE], score[score > best - _NEGLIGIBLE]) for maps, score in kept]
    weights = np.exp(np.concatenate([score for _, score in kept]) - best)
    return Posterior(np.concatenate([maps for maps, _ in kept]), weights / weights.sum(), n_maps)
