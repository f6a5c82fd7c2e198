"""Table of a fitted latent function, and calibrated probabilities from it, in NumPy alone."""

from __future__ import annotations

import numpy as np

from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.posterior import Posterior
from calib.numerics import Floats

LARGEST_SHIFT = 300.0
"""Bound on shifts inside exponentials, so that no product of two of them overflows."""

NEGLIGIBLE_NOISE = 1e-4
"""White-noise variance below which no probability moves by more than 5e-5 of itself."""


def draw_shifts(posterior: Posterior, inputs: Floats, n_draws: int, seed: int) -> Floats:
    """Whole functions from the joint posterior at ``inputs``, by scrambled Sobol points.

    Returns
    -------
    (n_draws, len(inputs)) shifts, without white noise.
    """
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    values, vectors = np.linalg.eigh(posterior.covariance(inputs))
    keep = values > 1e-10 * max(values[-1], 1e-300)
    # Largest first: the early Sobol dimensions are the most even.
    roots = (vectors[:, keep] * np.sqrt(values[keep]))[:, ::-1]
    # The sign of an eigenvector is arbitrary; fixing it makes the draws the same on every machine.
    roots *= np.where(roots[np.abs(roots).argmax(axis=0), np.arange(roots.shape[1])] < 0, -1.0, 1.0)
    points = Sobol(roots.shape[1], rng=np.random.default_rng(seed)).random_base2(
        max(1, int(np.ceil(np.log2(n_draws))))
    )
    normals = ndtri(np.clip(points[:n_draws], 1e-12, 1.0 - 1e-12))
    return posterior.shift(inputs) + normals @ roots.T


SMALLEST_SLOPE = 0.01


def monotone_shifts(shifts: Floats, grid: Grid, space: str) -> Floats:
    """Nearest shifts (least squares on the nodes) with which ``mu + a`` rises everywhere.

    The grid must interpolate linearly: cubic interpolation can overshoot between nodes. Prediction
    interpolates either ``a`` or ``exp(a)``; with a segment of length h and mu' the slope of the prior mean at
    its right end, where it is least, both rise if ``a`` falls by at most ``log(1 + h (mu' - slope))``.

    Parameters
    ----------
    shifts : (..., grid.size)
    space : "logits" (mu' = 1) or "probs" (mu' = 1 / p).
    """
    from scipy.optimize import isotonic_regression

    prior_slope = np.ones(grid.size - 1) if space == "logits" else 1.0 / grid.nodes[1:]
    falls = np.log1p(np.diff(grid.nodes) * (prior_slope - SMALLEST_SLOPE))
    allowed = np.concatenate([[0.0], np.cumsum(falls)])
    projected = [isotonic_regression(shift + allowed).x for shift in np.atleast_2d(shifts)]
    return (np.array(projected) - allowed).reshape(shifts.shape)


def keep_predicted(probs: Floats, logits: Floats) -> None:
    """Undo, in place, what rounding did to rows whose two largest logits are next to equal.

    With a rising function the largest logit has the largest probability; where logits differ by less than about 1e-11,
    interpolation can round the two into the other order. Its probability is then raised to the next float above.

    Parameters
    ----------
    probs, logits : (n, n_classes)
    """
    rows = np.arange(len(probs))
    top = logits.argmax(axis=1)
    highest = probs.argmax(axis=1)
    turned = np.flatnonzero(logits[rows, highest] < logits[rows, top])
    probs[turned, top[turned]] = np.nextafter(probs[turned, highest[turned]], 2.0)


REVERTED = {"rbf": 6.5, "matern52": 12.0, "matern32": 14.0, "rational_quadratic": np.inf}
"""Lengthscales after which a kernel has fallen below 1e-9; the rational quadratic one falls by a power."""

MOST_NODES = 2048
STEEP = 0.5
"""Largest change of a shift between neighbouring nodes: the cubic through ``exp(a)`` is then right to 0.2 % and
positive. Where it cannot be had, a straight line is positive."""

WIDEST = 3.0
"""Largest standard deviation of the draws in log-odds: a factor of 20 in the odds."""


def tabulate(
    posterior: Posterior,
    low: float,
    high: float,
    space: str,
    n_draws: int,
    seed: int,
    monotone: bool,
) -> tuple[Grid, Floats, Floats]:
    """A posterior for prediction, on a grid that reaches past the calibration data.

    Parameters
    ----------
    low, high : range of the calibration inputs.
    space : "logits" or "probs".
    n_draws, seed : how many functions to draw, and the seed of the Sobol scrambling.
    monotone : whether the mean and each draw are made to rise.

    Returns
    -------
    grid : the nodes and how to interpolate between them.
    shift : (grid.size,) posterior mean minus prior mean; like each draw up to a constant, so that its mean over the
        calibration range is 0. The common offset is often very uncertain, and changes no probability.
    draws : (n_draws, grid.size) shifts of whole functions drawn from the posterior, no wider than :data:`WIDEST`.
    """
    smooth = _grid(posterior, low, high, space)
    shift = posterior.shift(smooth.nodes)
    deviations = draw_shifts(posterior, smooth.nodes, n_draws, seed) - shift
    draws: Floats = shift + _limited(deviations, posterior, smooth)
    average = smooth.stencil(np.linspace(low, high, 64)[None, :]).collect(
        np.full((1, 64), 1.0 / 64.0)
    )[0]
    shift -= shift @ average
    draws -= (draws @ average)[:, None]
    finer = _finer(draws, smooth, monotone)
    if finer != smooth:
        shift = smooth.interpolate(shift, finer.nodes)
        draws = np.array([smooth.interpolate(draw, finer.nodes) for draw in draws])
    if monotone:
        shift = monotone_shifts(shift, finer, space)
        draws = monotone_shifts(draws, finer, space)
    return finer, shift, draws


def _limited(deviations: Floats, posterior: Posterior, grid: Grid) -> Floats:
    """Deviations of draws from their mean, scaled down to a standard deviation of at most :data:`WIDEST`.

    The objective is of second order: where a class has next to no probability it does not see the variance of its
    latent value, even one that lets it overtake the other classes in every tenth function. Where outputs span a
    hundred logits the kernel variance goes to hundreds, and the draws would be full of such functions.
    Deviations count from their median at the inducing inputs, which lie where the data are.
    """
    at_data = np.array(
        [grid.interpolate(deviation, posterior.inducing_inputs) for deviation in deviations]
    )
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
        low = 0.0
        high = 1.0
        reach = 0.0
    else:
        # With a lengthscale beyond the data's range the function is all but straight outside it.
        reach = min(REVERTED[posterior.kernel] * posterior.lengthscale, 3.0 * (high - low) + 10.0)
    spacing = min(posterior.lengthscale / 10.0, max(high - low, 1.0) / 64.0)
    size = int(np.clip(np.ceil((high - low + 2.0 * reach) / spacing) + 1, 64, MOST_NODES))
    return Grid(low - reach, high + reach, size)


def predict_draws(t: Floats, mu: Floats, grid: Grid, shift_draws: Floats) -> Floats:
    """Average softmax over whole functions drawn from the joint posterior, (n, n_classes).

    With ``Z_nq`` the normaliser of row n under draw q and ``r_n(t) = sum_q exp(a_q(t)) / Z_nq``, the average
    is ``exp(mu_nk) r_n(t_nk)``: two matrix products on the grid instead of n * n_classes * n_draws exponentials.

    Parameters
    ----------
    t, mu : (n, n_classes) kernel inputs and prior means.
    shift_draws : (n_draws, grid.size) functions ``a_q`` at the nodes.
    """
    nodes, window = grid.window(t.min(), t.max())
    growth = np.exp(np.clip(shift_draws[:, nodes], -LARGEST_SHIFT, LARGEST_SHIFT))
    mass = np.exp(mu - mu.max(axis=1, keepdims=True))
    stencil = window.stencil(t)
    ratio = (1.0 / (stencil.collect(mass) @ growth.T)) @ growth
    probs = mass * stencil.interpolate(ratio)
    probs /= probs.sum(axis=1, keepdims=True)
    return probs


def add_white_noise(probs: Floats, noise_variance: float) -> Floats:
    """Probabilities after independent noise of this variance on every latent value, to first order in it.

    With s the softmax, ``d^2 log s_k / d g_k^2`` leads to ``p_k ~ s_k exp(v (1 - 2 s_k) / 2)``. The variance is
    capped at 1, up to where ``s exp(-v s)`` rises in s, so the ranking is kept.
    """
    spread = probs * np.exp(min(noise_variance, 1.0) * (0.5 - probs))
    return spread / spread.sum(axis=1, keepdims=True)
