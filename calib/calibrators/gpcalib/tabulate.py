"""From a posterior in closed form to the few arrays that prediction needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.monotone import monotone_shifts
from calib.calibrators.gpcalib.posterior import Posterior, draw_shifts
from calib.numerics import Floats

REVERTED = 6.5
"""Lengthscales after which the RBF kernel has fallen below 1e-9."""

MOST_NODES = 2048
STEEP = 0.5
"""Largest change of a shift between neighbouring nodes: the cubic through ``exp(a)`` is then right to 0.2 %, and
where it cannot be had, a straight line at least stays positive."""

WIDEST = 3.0
"""Posterior standard deviation up to which a draw is believed: a factor of 20 in the odds."""


@dataclass(frozen=True, eq=False)
class LatentTable:
    """The latent function on a grid that reaches past the calibration data.

    Attributes
    ----------
    grid : the nodes and how to interpolate between them.
    shift : (grid.size,) posterior mean minus prior mean; like each draw up to a constant, so that its mean over
        the calibration range is 0. The common offset is often very uncertain, and changes no probability.
    variance : (grid.size,) posterior variance without white noise.
    draws : (n_draws, grid.size) shifts of whole functions drawn from the posterior, no wider than :data:`WIDEST`.
    """

    grid: Grid
    shift: Floats
    variance: Floats
    draws: Floats


def tabulate(
    posterior: Posterior, low: float, high: float, space: str, *, n_draws: int, seed: int, monotone: bool
) -> LatentTable:
    """Tabulate a posterior for prediction.

    Parameters
    ----------
    low, high : range of the calibration inputs.
    space : "logits" or "probs".
    n_draws, seed : how many functions to draw, and the seed of the Sobol scrambling.
    monotone : whether the mean and each draw are made to rise.
    """
    smooth = _grid(posterior, low, high, space)
    shift = posterior.shift(smooth.nodes)
    variance = np.maximum(np.diagonal(posterior.covariance(smooth.nodes)), 0.0)
    deviations = draw_shifts(posterior, smooth.nodes, n_draws, seed) - shift
    draws: Floats = shift + _believed(deviations, posterior, smooth)
    average = smooth.stencil(np.linspace(low, high, 64)[None, :]).collect(np.full((1, 64), 1.0 / 64.0))[0]
    shift -= shift @ average
    draws -= (draws @ average)[:, None]
    finer = _finer(draws, smooth, monotone)
    if finer != smooth:
        shift, variance = smooth.interpolate(shift, finer.nodes), smooth.interpolate(variance, finer.nodes)
        draws = np.array([smooth.interpolate(draw, finer.nodes) for draw in draws])
    if monotone:
        shift, draws = monotone_shifts(shift, finer, space), monotone_shifts(draws, finer, space)
    return LatentTable(finer, shift, np.maximum(variance, 0.0), draws)


def _believed(deviations: Floats, posterior: Posterior, grid: Grid) -> Floats:
    """Deviations of draws from their mean, made smaller where the posterior is too wide to be meant.

    The objective is of second order: where a class has next to no probability it does not see the variance of its
    latent value, even one that lets it overtake the other classes in every tenth function. Where outputs span a
    hundred logits the kernel variance goes to hundreds, and the draws would be full of such functions.
    Deviations count from their median at the inducing inputs, which lie where the data are.
    """
    at_data = np.array([grid.interpolate(deviation, posterior.inducing_inputs) for deviation in deviations])
    deviations = deviations - np.median(at_data, axis=1, keepdims=True)
    sd = deviations.std(axis=0)
    return deviations * (WIDEST / np.maximum(sd, WIDEST))


def _finer(draws: Floats, grid: Grid, monotone: bool) -> Grid:
    """A grid on which ``exp(a)`` is interpolated as well as ``a`` is on this one."""
    steepest = float(np.abs(np.diff(draws, axis=1)).max())
    if not monotone and steepest <= STEEP:
        return grid
    size = grid.size * max(4 if monotone else 1, int(np.ceil(steepest / STEEP)))
    linear = monotone or size > MOST_NODES
    return Grid(grid.low, grid.high, min(size, MOST_NODES), order=1 if linear else 3)


def _grid(posterior: Posterior, low: float, high: float, space: str) -> Grid:
    """Ten nodes per lengthscale, and far enough beyond the data for the posterior to return to the prior."""
    if space == "probs":
        low, high, reach = 0.0, 1.0, 0.0
    else:
        # A function that bends over more than the data's range is as good as straight beyond it.
        reach = min(REVERTED * posterior.lengthscale, 3.0 * (high - low) + 10.0)
    spacing = min(posterior.lengthscale / 10.0, max(high - low, 1.0) / 64.0)
    size = int(np.clip(np.ceil((high - low + 2.0 * reach) / spacing) + 1, 64, MOST_NODES))
    return Grid(low - reach, high + reach, size)
