"""The fitted latent function in closed form, in NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        spread = self._spread(projection)
        return self.kernel(inputs, inputs) - projection.T @ projection + spread.T @ spread

    def _projection(self, inputs: Floats) -> Floats:
        """``L^-1 K_uf`` with ``L L^T = K_uu``, shape (m, n)."""
        k_uu = self.kernel(self.inducing_inputs, self.inducing_inputs)
        k_uu[np.diag_indices_from(k_uu)] += self.noise_variance + JITTER
        return np.linalg.solve(np.linalg.cholesky(k_uu), self.kernel(self.inducing_inputs, inputs))

    def _spread(self, projection: Floats) -> Floats:
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
