"""How maps are sampled, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.bayes_iso.bounds import BOUNDS
from calib.bayes_iso.groups import Groups
from calib.bayes_iso.posterior import sample_posterior
from calib.bayes_iso.thinning import thin
from calib.numerics import Floats, Ints

N_SHOWN = 5
"""Sampled maps that are kept for the picture."""

MOST_POINTS = 100
"""Points at which the band, the bounds and the sampled maps are kept."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What one scheme has found.

    Attributes
    ----------
    log_odds, mean : (m,) the posterior mean at each of the scheme's groups.
    low, high, lower_bound, upper_bound : (n_points,) band and bounds at the shown groups.
    samples : (N_SHOWN, n_points) a few maps there.
    effective_maps, dominated : of the posterior's weights.
    """

    log_odds: Floats
    mean: Floats
    low: Floats
    high: Floats
    lower_bound: Floats
    upper_bound: Floats
    samples: Floats
    effective_maps: float
    dominated: bool


def fit_plain(groups: Groups, shown: Ints, bounds: str, n_maps: int, rng: np.random.Generator) -> Fit:
    """All maps over all ranks, as the paper has it."""
    limits = BOUNDS[bounds](groups)
    posterior = sample_posterior(groups, limits, n_maps, rng)
    return Fit(
        groups.log_odds,
        posterior.mean,
        *posterior.band(shown),
        limits[0][shown],
        limits[1][shown],
        posterior.draw(N_SHOWN, shown, rng),
        posterior.effective_maps,
        posterior.dominated,
    )


def shown_groups(groups: Groups) -> Ints:
    """Positions of at most :data:`MOST_POINTS` groups, evenly spread over the ranks, the first and last among them."""
    wanted = np.linspace(1, groups.ends[-1], MOST_POINTS)
    return np.unique(np.searchsorted(groups.ends, wanted))


def fit_map(groups: Groups, scheme: str, bounds: str, n_maps: int, seed: int) -> dict[str, Any]:
    """One calibration map as plain arrays: thinned for prediction, and at some scores for the picture.

    Parameters
    ----------
    groups : the calibration pairs.
    scheme, bounds, n_maps, seed : as the parameters of the calibrator.
    """
    shown = shown_groups(groups)
    fit = fit_plain(groups, shown, bounds, n_maps, np.random.default_rng(seed))
    kept = thin(fit.log_odds, fit.mean)
    return {
        "knots": fit.log_odds[kept],
        "values": fit.mean[kept],
        "log_odds": groups.log_odds[shown],
        "ranks": (groups.ends[shown] - groups.counts[shown] / 2) / groups.ends[-1],
        "low": fit.low,
        "high": fit.high,
        "lower_bound": fit.lower_bound,
        "upper_bound": fit.upper_bound,
        "samples": fit.samples,
        "n_maps": n_maps,
        "effective_maps": fit.effective_maps,
        "dominated": fit.dominated,
        "scheme": "plain",
    }
