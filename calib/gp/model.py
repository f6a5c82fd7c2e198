"""The sparse variational Gaussian process, as a GPflow model."""

from __future__ import annotations

import gpflow
import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import positive, to_default_float, triangular
from tensorflow_probability import bijectors

from calib.gp.features import SHORTEST, chebyshev_features
from calib.gp.objective import GridLikelihood
from calib.gp.posterior import JITTER, Posterior
from calib.numerics import Floats


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
    """

    def __init__(
        self, likelihood: GridLikelihood, inducing_inputs: Floats, space: str, covariance: str, variational: str
    ):
        super().__init__()
        self._likelihood = likelihood
        self._nodes = tf.constant(likelihood.grid.nodes[:, None])
        self.rbf = _rbf(likelihood, space, covariance)
        self.white = gpflow.kernels.White(0.01)
        self.inducing = gpflow.inducing_variables.InducingPoints(inducing_inputs[:, None])
        m = len(inducing_inputs)
        self.q_mu = Parameter(tf.zeros((m, 1), gpflow.default_float()))
        if variational == "diagonal":
            self.q_sqrt = Parameter(tf.ones((m, 1), gpflow.default_float()), transform=positive())
        else:
            self.q_sqrt = Parameter(tf.eye(m, batch_shape=[1], dtype=gpflow.default_float()), transform=triangular())
        self._features = None
        if covariance == "full":
            points, weights = chebyshev_features(likelihood.grid)
            self._features = tf.constant(points[:, None]), tf.constant(weights)

    def maximum_log_likelihood_objective(self) -> tf.Tensor:
        """Expected log-likelihood of the calibration set minus KL[q(v) || p(v)], in nats."""
        w, noise = self.inducing.Z, self.white.variance
        k_uu = self.rbf(w) + (noise + JITTER) * tf.eye(w.shape[0], dtype=w.dtype)
        projection = tf.linalg.triangular_solve(tf.linalg.cholesky(k_uu), self.rbf(w, self._nodes))
        shift = tf.linalg.matvec(projection, self.q_mu[:, 0], transpose_a=True)
        spread = self._s_root_transposed() @ projection
        variance = self.rbf.variance + noise + tf.reduce_sum(spread**2 - projection**2, axis=0)
        kl = gpflow.kullback_leiblers.gauss_kl(self.q_mu, self.q_sqrt)
        if self._features is None:
            return self._likelihood.diagonal(shift, variance) - kl
        points, weights = self._features
        features = tf.concat([weights, tf.transpose(projection), tf.transpose(spread)], axis=1)
        identity = tf.linalg.diag(tf.ones_like(w[:, 0]))
        blocks = [self.rbf(points), -identity, identity]
        gram = tf.linalg.LinearOperatorBlockDiag([tf.linalg.LinearOperatorFullMatrix(b) for b in blocks]).to_dense()
        return self._likelihood.full(shift, variance, noise, features, gram) - kl

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

    def _s_root_transposed(self) -> tf.Tensor:
        if len(self.q_sqrt.shape) == 2:
            return tf.linalg.diag(self.q_sqrt[:, 0])
        return tf.transpose(self.q_sqrt[0])


def _rbf(likelihood: GridLikelihood, space: str, covariance: str) -> gpflow.kernels.Kernel:
    """The paper's kernel and start; the grid must resolve the lengthscale, hence its lower bound."""
    grid = likelihood.grid
    width = grid.high - grid.low
    shortest = SHORTEST * width if covariance == "full" else 2.0 * grid.spacing
    kernel = gpflow.kernels.SquaredExponential()
    if space == "logits":
        kernel.lengthscales = Parameter(max(10.0, width / 10.0), transform=positive(lower=shortest))
    else:
        kernel.lengthscales = Parameter(0.5, transform=_between(shortest, 10.0))
        kernel.variance = Parameter(1.0, transform=_between(0.0, 5.0))
    return kernel


def _between(low: float, high: float) -> bijectors.Bijector:
    return bijectors.Sigmoid(to_default_float(low), to_default_float(high))
