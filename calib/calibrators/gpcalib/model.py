"""The sparse variational Gaussian process of GPcalib, as a GPflow model.

TensorFlow registers every custom gradient, and TensorFlow Probability caches every result of its transforms, for the
life of the process together with their graphs. The bijectors here have neither, so that a fit leaves nothing behind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import tensorflow as tf
from check_shapes import set_rewrite_docstrings
from tensorflow_probability import bijectors

from calib.calibrators.gpcalib.interpolation import SHORTEST, chebyshev_features
from calib.calibrators.gpcalib.likelihood import EarlierLikelihood, GridLikelihood
from calib.calibrators.gpcalib.posterior import JITTER, Posterior
from calib.calibrators.gpcalib.quadratic_likelihood import N_POINTS, QuadraticLikelihood
from calib.numerics import Floats

set_rewrite_docstrings(None)  # GPflow's docstrings, to which its import would add the shapes for most of its time
import gpflow  # noqa: E402
from gpflow.base import Parameter  # noqa: E402
from gpflow.utilities import to_default_float  # noqa: E402


class _Forgetful(bijectors.Bijector):
    """A bijector without a cache of its results."""

    def forward(self, x: Any, name: str = "forward", **kwargs: Any) -> tf.Tensor:
        return self._forward(tf.convert_to_tensor(x))

    def inverse(self, y: Any, name: str = "inverse", **kwargs: Any) -> tf.Tensor:
        return self._inverse(tf.convert_to_tensor(y))


class _Softplus(_Forgetful, bijectors.Softplus):
    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.math.softplus(x) + self.low  # the parent's has a custom gradient


class _Sigmoid(_Forgetful, bijectors.Sigmoid):
    pass


class _FillTriangular(_Forgetful, bijectors.FillTriangular):
    pass


def above(low: float = 0.0) -> bijectors.Bijector:
    """From all numbers onto those above ``low``."""
    return _Softplus(low=to_default_float(low))


def between(low: float, high: float) -> bijectors.Bijector:
    """From all numbers onto those between ``low`` and ``high``."""
    return _Sigmoid(to_default_float(low), to_default_float(high))


def triangular() -> bijectors.Bijector:
    """From vectors of length ``m (m + 1) / 2`` onto lower triangular matrices."""
    return _FillTriangular()


SHORTEST_ON_GRID = 1.0 / 128.0
"""Smallest lengthscale over the range of the inputs: two nodes of the coarsest grid."""


class LatentGP(gpflow.models.BayesianModel, gpflow.models.InternalDataTrainingLossMixin):
    """One latent function with an RBF plus white-noise kernel and M trained inducing inputs.

    The inducing variables are whitened, ``u = mu + L v`` with ``L L^T = K_uu``, and q(v) = N(m, S). The white
    noise is in K_uu and in the marginal variances, and zero between the data and the inducing variables.

    Parameters
    ----------
    likelihood : the calibration set.
    inducing_inputs : (m,) where they start. With a diagonal S their order matters: the first take up what
        the later ones then need not, so the inputs that decide most belong first.
    space : "logits" or "probs"; sets where the kernel parameters start and their bounds.
    covariance : "diagonal" or "full" latent covariance of a row's classes.
    variational : "diagonal" or "full" S.
    earlier : likelihood of earlier calibration rows, on the range of the likelihood's grid.
    """

    def __init__(
        self,
        likelihood: GridLikelihood,
        inducing_inputs: Floats,
        space: str,
        covariance: str,
        variational: str,
        earlier: QuadraticLikelihood | None = None,
    ):
        super().__init__()
        self._likelihood = likelihood
        self._earlier = None if earlier is None else EarlierLikelihood(earlier)
        self._nodes = tf.constant(likelihood.grid.nodes[:, None])
        self.rbf = _rbf(likelihood, space, covariance)
        self.white = gpflow.kernels.White()
        self.white.variance = Parameter(0.01, transform=above())
        self.inducing = gpflow.inducing_variables.InducingPoints(inducing_inputs[:, None])
        m = len(inducing_inputs)
        self.q_mu = Parameter(tf.zeros((m, 1), gpflow.default_float()))
        if variational == "diagonal":
            self.q_sqrt = Parameter(tf.ones((m, 1), gpflow.default_float()), transform=above())
        else:
            self.q_sqrt = Parameter(tf.eye(m, batch_shape=[1], dtype=gpflow.default_float()), transform=triangular())
        self._features = None
        if covariance == "full":
            points, weights = chebyshev_features(likelihood.grid)
            self._features = tf.constant(points[:, None]), tf.constant(weights)

    def maximum_log_likelihood_objective(self) -> tf.Tensor:
        """Expected log-likelihood of all calibration rows minus KL[q(v) || p(v)], in nats."""
        expected = self._expected_log_likelihood(self._moments(self._nodes))
        if self._earlier is not None:
            # No log-likelihood exceeds 0. Its expansion can, far off: confident mistakes give it hardly any curvature.
            expected += tf.minimum(self._earlier_log_likelihood(self._earlier), 0.0)
        return expected - gpflow.kullback_leiblers.gauss_kl(self.q_mu, self.q_sqrt)

    def quadratic_likelihood(self) -> QuadraticLikelihood:
        """Second-order expansion of the likelihood of all rows, earlier ones included, about the current state."""
        at = self._moments(self._nodes)
        with tf.GradientTape() as tape:
            tape.watch(at.shift)
            value = self._expected_log_likelihood(at)
        grid = self._likelihood.grid
        points, weights = chebyshev_features(grid, N_POINTS)
        curvature, variance_slope = (
            part.numpy() for part in self._likelihood.curvature(at.shift, tf.constant(weights))
        )
        shift = self._moments(tf.constant(points[:, None])).shift.numpy()
        slope = weights.T @ tape.gradient(value, at.shift).numpy() + curvature @ shift
        likelihood = QuadraticLikelihood(grid.low, grid.high, 0.0, slope, curvature, variance_slope)
        # The constant is what makes the expansion exact here, whichever covariance it is for.
        constant = float(value - self._earlier_log_likelihood(EarlierLikelihood(likelihood)))
        likelihood = replace(likelihood, constant=constant)
        return likelihood if self._earlier is None else likelihood + self._earlier.expansion

    def return_to_prior(self) -> None:
        """Reset the posterior to the prior mean with hardly any variance."""
        self.q_mu.assign(tf.zeros_like(self.q_mu))
        self.rbf.variance.assign(1e-6)

    def posterior(self) -> Posterior:
        """The current state as plain arrays."""
        q_sqrt = self.q_sqrt.numpy()
        return Posterior(
            variance=float(self.rbf.variance.numpy()),
            lengthscale=float(self.rbf.lengthscales.numpy()),
            noise_variance=float(self.white.variance.numpy()),
            inducing_inputs=self.inducing.Z.numpy()[:, 0],
            q_mean=self.q_mu.numpy()[:, 0],
            q_sqrt=q_sqrt[:, 0] if q_sqrt.ndim == 2 else q_sqrt[0],
        )

    def _moments(self, inputs: tf.Tensor) -> _Moments:
        w, noise = self.inducing.Z, self.white.variance
        k_uu = self.rbf(w) + (noise + JITTER) * tf.eye(w.shape[0], dtype=w.dtype)
        projection = tf.linalg.triangular_solve(tf.linalg.cholesky(k_uu), self.rbf(w, inputs))
        shift = tf.linalg.matvec(projection, self.q_mu[:, 0], transpose_a=True)
        spread = self._s_root_transposed() @ projection
        variance = self.rbf.variance + noise + tf.reduce_sum(spread**2 - projection**2, axis=0)
        return _Moments(shift, variance, projection, spread)

    def _expected_log_likelihood(self, at: _Moments) -> tf.Tensor:
        """Of the rows at hand, from the moments at the nodes."""
        if self._features is None:
            return self._likelihood.diagonal(at.shift, at.variance)
        points, weights = self._features
        features = tf.concat([weights, tf.transpose(at.projection), tf.transpose(at.spread)], axis=1)
        identity = tf.eye(at.projection.shape[0], dtype=weights.dtype)
        blocks = [self.rbf(points), -identity, identity]
        gram = tf.linalg.LinearOperatorBlockDiag([tf.linalg.LinearOperatorFullMatrix(b) for b in blocks]).to_dense()
        return self._likelihood.full(at.shift, at.variance, self.white.variance, features, gram)

    def _earlier_log_likelihood(self, earlier: EarlierLikelihood) -> tf.Tensor:
        at = self._moments(earlier.points)
        if self._features is None:
            return earlier.diagonal(at.shift, at.variance)
        explained = tf.matmul(at.projection, at.projection, transpose_a=True)
        left = tf.matmul(at.spread, at.spread, transpose_a=True)
        return earlier.full(at.shift, self.rbf(earlier.points) - explained + left, self.white.variance)

    def _s_root_transposed(self) -> tf.Tensor:
        if len(self.q_sqrt.shape) == 2:
            return tf.linalg.diag(self.q_sqrt[:, 0])
        return tf.transpose(self.q_sqrt[0])


class _Moments(NamedTuple):
    """Posterior of the shift at n inputs: mean, marginal variance, and two (m, n) parts of its covariance.

    Without white noise that is ``prior - projection^T projection + spread^T spread``.
    """

    shift: tf.Tensor
    variance: tf.Tensor
    projection: tf.Tensor
    spread: tf.Tensor


def _rbf(likelihood: GridLikelihood, space: str, covariance: str) -> gpflow.kernels.Kernel:
    """The paper's kernel and start; the grid must resolve the lengthscale, hence its lower bound.

    That stays where the grid is refined: a finer one is there to follow the same functions, not wilder ones.
    """
    width = likelihood.grid.high - likelihood.grid.low
    shortest = width * (SHORTEST if covariance == "full" else SHORTEST_ON_GRID)
    kernel = gpflow.kernels.SquaredExponential()
    if space == "logits":
        kernel.variance = Parameter(1.0, transform=above())
        kernel.lengthscales = Parameter(max(10.0, width / 10.0), transform=above(shortest))
    else:
        kernel.lengthscales = Parameter(0.5, transform=between(shortest, 10.0))
        kernel.variance = Parameter(1.0, transform=between(0.0, 5.0))
    return kernel
