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

KERNELS = ("rbf", "matern52", "matern32", "rational_quadratic")


@dataclass(frozen=True, eq=False)
class Posterior:
    """Sparse variational posterior of the shift ``a = g - mu`` (Wenger et al. 2020, section S2.1, whitened).

    Attributes
    ----------
    variance, lengthscale, noise_variance : kernel parameters.
    inducing_inputs : (m,)
    q_mean : (m,) mean of the whitened inducing variables.
    q_sqrt : (m,) their standard deviations, or (m, m) a lower-triangular root of their covariance.
    kernel : one of :data:`KERNELS`. Derivatives are written out for the RBF kernel alone.
    alpha : exponent of the rational quadratic kernel.
    """

    variance: float
    lengthscale: float
    noise_variance: float
    inducing_inputs: Floats
    q_mean: Floats
    q_sqrt: Floats
    kernel: str = "rbf"
    alpha: float = 1.0

    def correlation(self, distance: Floats) -> Floats:
        """Noise-free correlation of the prior at two inputs that lie ``distance``, of any shape.

        The formulas are those of Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 4.2.
        """
        scaled = np.abs(distance) / self.lengthscale
        if self.kernel == "matern32":
            return (1.0 + np.sqrt(3.0) * scaled) * np.exp(-np.sqrt(3.0) * scaled)
        if self.kernel == "matern52":
            polynomial = 1.0 + np.sqrt(5.0) * scaled + 5.0 / 3.0 * scaled**2
            return polynomial * np.exp(-np.sqrt(5.0) * scaled)
        if self.kernel == "rational_quadratic":
            return (1.0 + scaled**2 / (2.0 * self.alpha)) ** -self.alpha
        return np.exp(-0.5 * scaled**2)

    def shift(self, inputs: Floats) -> Floats:
        """Posterior mean minus prior mean, shape of the one-dimensional ``inputs``."""
        return Moments(self, inputs).shift

    def covariance(self, inputs: Floats) -> Floats:
        """Joint covariance of the noise-free latent function at ``inputs``, shape (n, n)."""
        at = Moments(self, inputs)
        return Gram(self, inputs).matrix - at.projection.T @ at.projection + at.spread.T @ at.spread

    def spread(self, projection: Floats) -> Floats:
        """``S^(T/2)`` times a projection, shape (m, n)."""
        return (
            self.q_sqrt[:, None] * projection
            if self.q_sqrt.ndim == 1
            else self.q_sqrt.T @ projection
        )


class Moments:
    """Posterior of the shift at n inputs, and the derivatives of a value by it, which are added up here.

    The covariance without white noise is ``prior - projection^T projection + spread^T spread``.

    Attributes
    ----------
    shift, variance : (n,) mean, and marginal variance with white noise.
    projection, spread : (m, n), ``L^-1 K_uf`` and ``S^(T/2)`` times that.
    by_shift, by_variance : (n,) derivatives.
    by_noise : derivative by the noise variance beside that in ``variance`` and K_uu.
    """

    def __init__(self, posterior: Posterior, inputs: Floats):
        self.posterior = q = posterior
        self._prior = Gram(q, q.inducing_inputs)
        k_uu = self._prior.matrix + np.diag(np.full(len(q.q_mean), q.noise_variance + JITTER))
        self._inverse = np.linalg.inv(np.linalg.cholesky(k_uu))
        self._apart = q.inducing_inputs[:, None] - inputs
        self._correlation = q.correlation(self._apart)
        self.projection = self._inverse @ (q.variance * self._correlation)
        self.spread = q.spread(self.projection)
        self.shift = q.q_mean @ self.projection
        self.variance = (
            q.variance + q.noise_variance + (self.spread**2 - self.projection**2).sum(axis=0)
        )
        self.by_shift, self.by_variance, self.by_noise = (
            np.zeros(len(inputs)),
            np.zeros(len(inputs)),
            0.0,
        )
        self._by_amplitude, self._by_lengthscale = 0.0, 0.0
        self._by_projection = np.zeros_like(self.projection)
        self._by_root = np.zeros_like(q.q_sqrt)

    def divergence(self) -> float:
        """KL[q(v) || p(v)] in nats; it belongs to every value, and :meth:`gradient` has its derivatives."""
        mean, root = self.posterior.q_mean, self.posterior.q_sqrt
        deviations = root if root.ndim == 1 else np.diagonal(root)
        log_determinant = float(np.log(deviations**2).sum())
        return 0.5 * float(mean @ mean + (root**2).sum() - len(mean) - log_determinant)

    def add_covariance(self, part: slice, derivative: Floats) -> None:
        """Add the symmetric derivative by the covariance at some inputs, but for that by its prior."""
        self._by_projection[:, part] -= 2.0 * self.projection[:, part] @ derivative
        self._add_spread(part, 2.0 * self.spread[:, part] @ derivative)

    def add_features(self, part: slice, by_projection: Floats, by_root: Floats) -> None:
        """Add derivatives by the projection, (m, n_part), and by the root of S."""
        self._by_projection[:, part] += by_projection
        self._by_root += by_root if self._by_root.ndim == 2 else np.diagonal(by_root)

    def add_prior(self, gram: Gram, derivative: Floats) -> None:
        """Add the derivative by a prior covariance, which depends on the kernel's parameters alone."""
        by_amplitude, by_lengthscale, _ = gram.pulled_back(derivative)
        self._by_amplitude += by_amplitude
        self._by_lengthscale += by_lengthscale

    def gradient(self) -> Posterior:
        """Derivatives of the value minus the divergence by all fields of the posterior."""
        q, by_variance = self.posterior, self.by_variance
        self._add_spread(slice(None), 2.0 * by_variance * self.spread)
        by_projection = self._by_projection + np.outer(q.q_mean, self.by_shift)
        by_projection -= 2.0 * by_variance * self.projection
        # Backwards through A = L^-1 K_uf, and through the Cholesky factor (Murray, arXiv:1602.07527, equation 10).
        by_k_uf = self._inverse.T @ by_projection
        lower = by_projection @ self.projection.T
        lower = np.tril(lower) - np.diag(0.5 * np.diagonal(lower))
        by_k_uu = -self._inverse.T @ lower @ self._inverse
        by_k_uu = 0.5 * (by_k_uu + by_k_uu.T)
        through = by_k_uf * self._correlation
        bent = q.variance * through * self._apart
        amplitude, lengthscale, inducing = self._prior.pulled_back(by_k_uu)
        amplitude += float(through.sum())  # also where the variance has become 0
        lengthscale += float((bent * self._apart).sum()) / q.lengthscale**3
        total = float(by_variance.sum())
        root = q.q_sqrt
        inverse = 1.0 / root if root.ndim == 1 else np.diag(1.0 / np.diagonal(root))
        return Posterior(
            variance=amplitude + self._by_amplitude + total,
            lengthscale=lengthscale + self._by_lengthscale,
            noise_variance=float(np.trace(by_k_uu)) + total + self.by_noise,
            inducing_inputs=inducing - bent.sum(axis=1) / q.lengthscale**2,
            q_mean=self.projection @ self.by_shift - q.q_mean,
            q_sqrt=self._by_root - root + inverse,
        )

    def _add_spread(self, part: slice, by_spread: Floats) -> None:
        """Go back from the spread to the projection and the root."""
        root = self.posterior.q_sqrt
        projection = self.projection[:, part]
        if root.ndim == 1:
            self._by_root += (projection * by_spread).sum(axis=1)
            self._by_projection[:, part] += root[:, None] * by_spread
        else:
            self._by_root += np.tril(projection @ by_spread.T)
            self._by_projection[:, part] += root @ by_spread


class Gram:
    """The prior covariance of the latent function between some points, and the way back from its derivatives."""

    def __init__(self, posterior: Posterior, points: Floats):
        self._posterior = posterior
        self._apart = points[:, None] - points
        self._correlation = posterior.correlation(self._apart)
        self.matrix = posterior.variance * self._correlation

    def pulled_back(self, derivative: Floats) -> tuple[float, float, Floats]:
        """Derivatives by the kernel's variance, its lengthscale and the points, from a symmetric one by the matrix."""
        lengthscale = self._posterior.lengthscale
        bent = derivative * self.matrix * self._apart
        by_lengthscale = float((bent * self._apart).sum()) / lengthscale**3
        by_variance = float(
            (derivative * self._correlation).sum()
        )  # also where the variance has become 0
        return by_variance, by_lengthscale, -2.0 * bent.sum(axis=1) / lengthscale**2
