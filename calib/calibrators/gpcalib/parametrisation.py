"""The free numbers of GPcalib's optimiser, mapped onto bounded parameters, with the derivatives of the mapping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.gpcalib.posterior import Posterior
from calib.numerics import Floats, sigmoid, softplus


@dataclass(frozen=True)
class Interval:
    """Where a parameter may lie: above ``low``, or between ``low`` and ``high``; free numbers are mapped onto it.

    Above ``low`` it is ``low + softplus(x)``, between the two ``low + (high - low) sigmoid(x)``.
    """

    low: float = 0.0
    high: float = np.inf

    def of(self, free: Floats) -> Floats:
        """Parameters from free numbers."""
        bounded = np.isfinite(self.high)
        return self.low + ((self.high - self.low) * sigmoid(free) if bounded else softplus(free))

    def slope(self, free: Floats) -> Floats:
        """Derivative of :meth:`of`."""
        rising = sigmoid(free)
        return (self.high - self.low) * rising * sigmoid(-free) if np.isfinite(self.high) else rising

    def free(self, values: Floats) -> Floats:
        """The inverse of :meth:`of`."""
        above = values - self.low
        if np.isfinite(self.high):
            return np.log(above) - np.log(self.high - values)
        return above + np.log(-np.expm1(-above))


@dataclass(frozen=True)
class Parametrisation:
    """The free numbers over which the optimiser searches, and the posterior that they stand for.

    A vector holds the kernel's variance, its lengthscale, the noise variance, the m inducing inputs, the mean and the
    root of the covariance of the whitened inducing variables: m standard deviations, or the m (m + 1) / 2 entries of a
    lower triangle, row by row.
    """

    n_inducing: int
    variance: Interval
    lengthscale: Interval
    full: bool
    noise: Interval = Interval()
    spread: Interval = Interval()

    def parts(self, vector: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """A vector's parts, in the order above."""
        m = self.n_inducing
        return vector[0], vector[1], vector[2], vector[3 : 3 + m], vector[3 + m : 3 + 2 * m], vector[3 + 2 * m :]

    def posterior(self, vector: Floats) -> Posterior:
        """The posterior that a vector stands for."""
        variance, lengthscale, noise, inducing, mean, root = self.parts(vector)
        return Posterior(
            variance=float(self.variance.of(variance)),
            lengthscale=float(self.lengthscale.of(lengthscale)),
            noise_variance=float(self.noise.of(noise)),
            inducing_inputs=inducing.copy(),
            q_mean=mean.copy(),
            q_sqrt=self.triangle(root) if self.full else self.spread.of(root),
        )

    def vector(self, posterior: Posterior) -> Floats:
        """The inverse of :meth:`posterior`."""
        root = posterior.q_sqrt
        kernel = [
            self.variance.free(np.array([posterior.variance])),
            self.lengthscale.free(np.array([posterior.lengthscale])),
            self.noise.free(np.array([posterior.noise_variance])),
        ]
        free_root = root[np.tril_indices(len(root))] if self.full else self.spread.free(root)
        return np.concatenate([*kernel, posterior.inducing_inputs, posterior.q_mean, free_root])

    def pulled_back(self, vector: Floats, gradient: Posterior) -> Floats:
        """Gradient by the free numbers from that by the fields of the posterior."""
        variance, lengthscale, noise, _, _, root = self.parts(vector)
        by_root = gradient.q_sqrt
        kernel = [
            gradient.variance * self.variance.slope(variance),
            gradient.lengthscale * self.lengthscale.slope(lengthscale),
            gradient.noise_variance * self.noise.slope(noise),
        ]
        free_root = by_root[np.tril_indices(len(by_root))] if self.full else by_root * self.spread.slope(root)
        return np.concatenate([kernel, gradient.inducing_inputs, gradient.q_mean, free_root])

    def triangle(self, entries: Floats) -> Floats:
        """The lower triangular matrix, (m, m), of its entries row by row."""
        matrix = np.zeros((self.n_inducing, self.n_inducing))
        matrix[np.tril_indices(self.n_inducing)] = entries
        return matrix
