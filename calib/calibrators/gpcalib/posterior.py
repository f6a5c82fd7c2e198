"""The fitted latent function in NumPy: posterior, draws, and the tables that prediction reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.gpcalib.interpolation import Grid
from calib.numerics import Floats

JITTER = 1e-6
"""Added to the diagonal of K_uu beside the white noise, which tends to fall to nothing."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Sparse variational posterior of the shift ``a = g - mu`` (Wenger et al. 2020, section S2.1, whitened).

    Attributes
    ----------
    variance, lengthscale, noise_variance : kernel parameters.
    inducing_inputs : (m,)
    q_mean : (m,) mean of the whitened inducing variables.
    q_sqrt : (m,) their standard deviations, or (m, m) a lower-triangular root of their covariance.
    """

    variance: float
    lengthscale: float
    noise_variance: float
    inducing_inputs: Floats
    q_mean: Floats
    q_sqrt: Floats

    def kernel(self, left: Floats, right: Floats) -> Floats:
        """Noise-free covariance of the prior, shape (len(left), len(right))."""
        scaled = (left[:, None] - right[None, :]) / self.lengthscale
        return self.variance * np.exp(-0.5 * scaled**2)

    def shift(self, inputs: Floats) -> Floats:
        """Posterior mean minus prior mean, shape of the one-dimensional ``inputs``."""
        return self.q_mean @ self._projection(inputs)

    def covariance(self, inputs: Floats) -> Floats:
        """Joint covariance of the noise-free latent function at ``inputs``, shape (n, n)."""
        projection = self._projection(inputs)
        spread = self.spread(projection)
        return self.kernel(inputs, inputs) - projection.T @ projection + spread.T @ spread

    def _projection(self, inputs: Floats) -> Floats:
        """``L^-1 K_uf`` with ``L L^T = K_uu``, shape (m, n)."""
        k_uu = self.kernel(self.inducing_inputs, self.inducing_inputs)
        k_uu[np.diag_indices_from(k_uu)] += self.noise_variance + JITTER
        return np.linalg.solve(np.linalg.cholesky(k_uu), self.kernel(self.inducing_inputs, inputs))

    def spread(self, projection: Floats) -> Floats:
        """``S^(T/2)`` times a projection, shape (m, n)."""
        return self.q_sqrt[:, None] * projection if self.q_sqrt.ndim == 1 else self.q_sqrt.T @ projection


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
    points = Sobol(roots.shape[1], rng=np.random.default_rng(seed)).random_base2(max(1, int(np.ceil(np.log2(n_draws)))))
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
    top, highest = logits.argmax(axis=1), probs.argmax(axis=1)
    turned = np.flatnonzero(logits[rows, highest] < logits[rows, top])
    probs[turned, top[turned]] = np.nextafter(probs[turned, highest[turned]], 2.0)


REVERTED = 6.5
"""Lengthscales after which the RBF kernel has fallen below 1e-9."""

MOST_NODES = 2048
STEEP = 0.5
"""Largest change of a shift between neighbouring nodes: the cubic through ``exp(a)`` is then right to 0.2 % and
positive. Where it cannot be had, a straight line is positive."""

WIDEST = 3.0
"""Largest standard deviation of the draws in log-odds: a factor of 20 in the odds."""


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
    posterior: Posterior, low: float, high: float, space: str, n_draws: int, seed: int, monotone: bool
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
    draws: Floats = shift + _limited(deviations, posterior, smooth)
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


def _limited(deviations: Floats, posterior: Posterior, grid: Grid) -> Floats:
    """Deviations of draws from their mean, scaled down to a standard deviation of at most :data:`WIDEST`.

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
        # With a lengthscale beyond the data's range the function is all but straight outside it.
        reach = min(REVERTED * posterior.lengthscale, 3.0 * (high - low) + 10.0)
    spacing = min(posterior.lengthscale / 10.0, max(high - low, 1.0) / 64.0)
    size = int(np.clip(np.ceil((high - low + 2.0 * reach) / spacing) + 1, 64, MOST_NODES))
    return Grid(low - reach, high + reach, size)
