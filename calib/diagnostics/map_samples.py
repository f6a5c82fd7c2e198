"""Bayes-Iso's prior over maps, and maps fitted to replicates of simulated labels (Allikivi and Kull 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.calibrators.bayes_iso import N_KNOTS, BayesIsoMap, pav_bounds, sample_maps
from calib.calibrators.isotonic import Tally
from calib.calibrators.step_maps import even_cuts, shares_below
from calib.data.samples import sample_named
from calib.diagnostics.calibration_maps import class_map, class_pairs
from calib.numerics import Floats, sigmoid
from calib.registry import calibrator

N_DRAWS = 200
N_REPLICATES = 10
N_POINTS = 100
"""Probabilities at which replicated maps are drawn."""


@dataclass(frozen=True, eq=False)
class PriorDraws:
    """Maps drawn from Bayes-Iso's prior over at most 64 pools of scores (figure 4).

    Attributes
    ----------
    ranks : (m,) share of pairs below the middle of each pool.
    prior, bounded : (200, m) maps of the prior, and of the prior within the bounds that the labels give.
    lower, upper : (m,) these bounds.
    mean, low, high : (m,) posterior mean and ends of its 90 % band.
    """

    ranks: Floats
    prior: Floats
    bounded: Floats
    lower: Floats
    upper: Floats
    mean: Floats
    low: Floats
    high: Floats


def prior_draws(
    target: int | None, posterior: BayesIsoMap, *, data: Mapping[str, Any]
) -> PriorDraws:
    """Draw 200 maps before the labels are seen, and 200 within the bounds that are made of them.

    Parameters
    ----------
    target : the class; None for all classes pooled.
    posterior : of the fitted calibrator for the same pairs.
    data : "logits" and "labels" of the calibration rows.

    Examples
    --------
    >>> import calib
    >>> rows, _ = calib.load_sample("simulated-binary").split(300)
    >>> known = calib.calibrator("bayes_iso").fit(rows).maps_[0]
    >>> draws = prior_draws(1, known, data={"logits": rows.logits, "labels": rows.labels})
    >>> bool(draws.bounded.std(axis=0).mean() < draws.prior.std(axis=0).mean())
    True
    """
    tally = Tally.of(*class_pairs(data["logits"], data["labels"], target))
    pools = tally.pooled(np.append(0, even_cuts(shares_below(tally), N_KNOTS)))
    m = len(pools.scores)
    lower, upper = pav_bounds(pools)
    rng = np.random.default_rng(0)
    seen = (posterior.mean, posterior.low, posterior.high)
    return PriorDraws(
        (np.cumsum(pools.counts) - pools.counts / 2) / pools.counts.sum(),
        sample_maps(N_DRAWS, (np.zeros(m), np.ones(m)), rng),
        sample_maps(N_DRAWS, (lower, upper), rng),
        lower,
        upper,
        *(np.interp(pools.scores, posterior.log_odds, part) for part in seen),
    )


@dataclass(frozen=True, eq=False)
class Replicates:
    """Maps of one method on replicates of the labels (figures 5 and 6).

    Attributes
    ----------
    probs, truth : (m,) probabilities of the raw model, and the true ones there.
    maps : (10, m) fitted maps.
    """

    probs: Floats
    truth: Floats
    maps: Floats

    @property
    def error(self) -> float:
        """Root mean squared error of all maps, between the 1 % and the 99 % point of the scores."""
        return float(np.sqrt(np.mean((self.maps - self.truth) ** 2)))


def replicate_maps(
    method: str, params: Mapping[str, Any], sample: str, *, data: Mapping[str, Any]
) -> Replicates:
    """Fit a method to ten draws of the labels from the true map of a simulated sample of two classes.

    Parameters
    ----------
    method, params : registry name and parameters.
    sample : whose true map is known.
    data : "logits" (n, 2) of the calibration rows.

    Examples
    --------
    >>> import calib
    >>> rows, _ = calib.load_sample("simulated-binary").split(300)
    >>> replicate_maps("isotonic", {}, "simulated-binary", data={"logits": rows.logits}).error < 0.15
    True
    """
    logits = data["logits"]
    log_odds = logits[:, 1] - logits[:, 0]
    true = sample_named(sample).true_map
    assert true is not None
    low, high = np.quantile(log_odds, [0.01, 0.99])
    grid = np.linspace(low, high, N_POINTS)
    chance = true(sigmoid(log_odds))
    maps = []
    for seed in range(N_REPLICATES):
        labels = (np.random.default_rng(seed).random(len(chance)) < chance).astype(int)
        maps.append(class_map(calibrator(method, **params).fit(logits, labels), grid))
    return Replicates(sigmoid(grid), true(sigmoid(grid)), np.array(maps))
