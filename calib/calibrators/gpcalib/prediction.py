"""Calibrated probabilities from functions on a grid, in NumPy alone; no row depends on the others of its block."""

from __future__ import annotations

import numpy as np

from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.posterior import LatentTable
from calib.numerics import Floats, one_vs_rest_log_odds, softmax, softplus

LARGEST_SHIFT = 300.0
"""Bound on shifts inside exponentials, so that no product of two of them overflows."""

NEGLIGIBLE_NOISE = 1e-4
"""White-noise variance below which no probability moves by more than 5e-5 of itself."""


def predict(
    way: str, t: Floats, mu: Floats, table: LatentTable, noise_variance: float, n_draws: int, seed: int
) -> Floats:
    """Probabilities of a block of rows, shape (n, n_classes).

    Parameters
    ----------
    way : "mean" (softmax of the posterior mean, the paper's "mean approximation"), "delta", "mc" or "draws".
    t, mu : (n, n_classes) kernel inputs and prior means.
    table : the latent function on its grid.
    noise_variance : of the white noise, which ``table`` leaves out.
    n_draws, seed : of "mc"; the functions of "draws" are in the table.
    """
    if way == "draws":
        probs = predict_draws(t, mu, table.grid, table.draws)
        return add_white_noise(probs, noise_variance) if noise_variance > NEGLIGIBLE_NOISE else probs
    stencil = table.grid.stencil(t)
    latents = mu + stencil.interpolate(table.shift)
    if way == "mean":
        return softmax(latents)
    variance = np.maximum(stencil.interpolate(table.variance + noise_variance), 0.0)
    return predict_delta(latents, variance) if way == "delta" else predict_monte_carlo(latents, variance, n_draws, seed)


def predict_delta(latents: Floats, variance: Floats) -> Floats:
    """Expected softmax under independent Gaussian latents, to second order in their variance.

    With s the softmax of the mean, ``d^2 log s_k / d g_k^2`` leads to ``p_k ~ s_k exp(v_k (1 - 2 s_k) / 2)``.
    That grows with v without end, where the expected probability levels off: from ``v = -log s`` on (or
    ``-log(1 - s)``) it is governed by the latents that take the whole probability, and v counts no further.
    """
    level = softplus(np.abs(one_vs_rest_log_odds(latents)))  # also where 1 - s has no digits left
    return softmax(latents + np.minimum(variance, level) * (0.5 - softmax(latents)))


def predict_monte_carlo(latents: Floats, variance: Floats, n_draws: int, seed: int) -> Floats:
    """Average softmax over independent Gaussian latents.

    All rows see the same (n_draws, n_classes) standard normals: the answer does not depend on the batch and
    memory does not grow with the number of draws.
    """
    generator = np.random.default_rng(seed)
    sd = np.sqrt(variance)
    total = np.zeros_like(latents)
    for _ in range(n_draws):
        total += softmax(latents + sd * generator.standard_normal(latents.shape[1]))
    return total / n_draws


def predict_draws(t: Floats, mu: Floats, grid: Grid, shift_draws: Floats) -> Floats:
    """Average softmax over whole functions drawn from the joint posterior; ``t`` and ``mu`` as in :func:`predict`.

    With ``Z_nq`` the normaliser of row n under draw q and ``r_n(t) = sum_q exp(a_q(t)) / Z_nq``, the average
    is ``exp(mu_nk) r_n(t_nk)``: two matrix products on the grid instead of n * n_classes * n_draws exponentials.

    Parameters
    ----------
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
    """Probabilities after independent noise of this variance on every latent value, as in :func:`predict_delta`.

    The variance is capped at 1, up to where ``s exp(-v s)`` rises in s, so the ranking is kept.
    """
    spread = probs * np.exp(min(noise_variance, 1.0) * (0.5 - probs))
    return spread / spread.sum(axis=1, keepdims=True)
