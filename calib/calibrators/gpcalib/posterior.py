"""The posterior of GPcalib's latent function, its moments, and their derivatives carried back to it.

The derivatives are written out by reverse accumulation, through the Cholesky factor of the prior covariance to the
kernel (Wenger et al. 2020, section S2.1).
"""

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
    q_mean, q_sqrt : (m,) means and standard deviations of the whitened inducing variables.
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
        return Moments(self, inputs).shift

    def covariance(self, inputs: Floats) -> Floats:
        """Joint covariance of the noise-free latent function at ``inputs``, shape (n, n)."""
        projection = Moments(self, inputs).projection
        return self.kernel(inputs, inputs) + (projection.T * (self.q_sqrt**2 - 1)) @ projection


class Moments:
    """Posterior of the shift at n inputs, and the derivatives of a value by it, which are added up here.

    Attributes
    ----------
    shift, variance : (n,) mean, and marginal variance with white noise.
    projection : (m, n), ``L^-1 K_uf`` with ``L L^T = K_uu``.
    by_shift, by_variance : (n,) derivatives.
    """

    def __init__(self, posterior: Posterior, inputs: Floats):
        self.posterior = q = posterior
        self._among = q.inducing_inputs[:, None] - q.inducing_inputs
        self._apart = q.inducing_inputs[:, None] - inputs
        self._prior, self._correlation = (
            np.exp((-0.5 / q.lengthscale**2) * apart**2) for apart in (self._among, self._apart)
        )
        k_uu = q.variance * self._prior + np.diag(np.full(len(q.q_mean), q.noise_variance + JITTER))
        self._inverse = np.linalg.inv(np.linalg.cholesky(k_uu))
        self.projection = self._inverse @ (q.variance * self._correlation)
        self.shift = q.q_mean @ self.projection
        self.variance = q.variance + q.noise_variance + (q.q_sqrt**2 - 1) @ self.projection**2
        self.by_shift, self.by_variance = np.zeros(len(inputs)), np.zeros(len(inputs))

    def divergence(self) -> float:
        """KL[q(v) || p(v)] in nats; it belongs to every value, and :meth:`gradient` has its derivatives."""
        mean, variances = self.posterior.q_mean, self.posterior.q_sqrt**2
        return 0.5 * float(mean @ mean + variances.sum() - len(mean) - np.log(variances).sum())

    def gradient(self) -> Posterior:
        """Derivatives of the value minus the divergence by all fields of the posterior."""
        q, by_variance = self.posterior, self.by_variance
        by_projection = np.outer(q.q_mean, self.by_shift)
        by_projection += 2.0 * by_variance * (q.q_sqrt**2 - 1)[:, None] * self.projection
        # Backwards through A = L^-1 K_uf, and through the Cholesky factor (Murray, arXiv:1602.07527, equation 10).
        by_k_uf = self._inverse.T @ by_projection
        lower = by_projection @ self.projection.T
        lower = np.tril(lower) - np.diag(0.5 * np.diagonal(lower))
        by_k_uu = -self._inverse.T @ lower @ self._inverse
        by_k_uu = 0.5 * (by_k_uu + by_k_uu.T)
        through, among = by_k_uf * self._correlation, by_k_uu * self._prior
        bent, bent_among = (q.variance * each for each in (through * self._apart, among * self._among))
        by_distance = float((bent * self._apart).sum() + (bent_among * self._among).sum())
        total = float(by_variance.sum())
        return Posterior(
            variance=float(through.sum() + among.sum()) + total,  # also where the variance has become 0
            lengthscale=by_distance / q.lengthscale**3,
            noise_variance=float(np.trace(by_k_uu)) + total,
            inducing_inputs=-(bent.sum(axis=1) + 2.0 * bent_among.sum(axis=1)) / q.lengthscale**2,
            q_mean=self.projection @ self.by_shift - q.q_mean,
            q_sqrt=2.0 * q.q_sqrt * (self.projection**2 @ by_variance) - q.q_sqrt + 1.0 / q.q_sqrt,
        )
