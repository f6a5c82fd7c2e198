"""The GPcalib objective the direct way, as a GPflow user would write it."""

from __future__ import annotations

import gpflow
import tensorflow as tf
from scipy.optimize import OptimizeResult

from calib.calibrators.gpcalib.posterior import Posterior
from calib.numerics import Floats, Ints


class PlainModel(gpflow.models.SVGP):
    """The latent function at every one of the n * n_classes logits, and the paper's kernel and start.

    Parameters
    ----------
    logits, labels : the calibration set.
    inducing_inputs : (m,) where they start.
    """

    def __init__(self, logits: Floats, labels: Ints, inducing_inputs: Floats):
        kernel = gpflow.kernels.SquaredExponential(1.0, 10.0) + gpflow.kernels.White(0.01)
        super().__init__(
            kernel,
            gpflow.likelihoods.Gaussian(),
            inducing_inputs[:, None],
            q_diag=True,
            whiten=True,
        )
        gpflow.set_trainable(self.likelihood, False)
        self.logits = tf.constant(logits)
        self.inputs = tf.reshape(self.logits, (-1, 1))
        self.labels = tf.constant(labels)

    def maximum_log_likelihood_objective(self) -> tf.Tensor:  # type: ignore[override]
        """Taylor-approximated expected log-likelihood minus the divergence from the prior."""
        shift, variance = (
            tf.reshape(moment, self.logits.shape) for moment in self.predict_f(self.inputs)
        )
        latent = self.logits + shift
        probs = tf.nn.softmax(latent)
        log_likelihood = -tf.nn.sparse_softmax_cross_entropy_with_logits(self.labels, latent)
        correction = 0.5 * tf.reduce_sum(probs * (probs - 1.0) * variance, axis=1)
        return tf.reduce_sum(log_likelihood + correction) - self.prior_kl()

    def objective(self) -> float:
        """The objective at the current parameters, in nats."""
        return float(self.maximum_log_likelihood_objective().numpy())

    def put(self, posterior: Posterior) -> None:
        """Take over the parameters of another fit with a diagonal S."""
        rbf, white = self.kernel.kernels
        rbf.variance.assign(posterior.variance)
        rbf.lengthscales.assign(posterior.lengthscale)
        white.variance.assign(posterior.noise_variance)
        self.inducing_variable.Z.assign(posterior.inducing_inputs[:, None])
        self.q_mu.assign(posterior.q_mean[:, None])
        self.q_sqrt.assign(posterior.q_sqrt[:, None])

    def train(self, xla: bool, memory: int) -> OptimizeResult:
        """L-BFGS with the paper's tolerances and so many pairs of memory, on a traced or an XLA-compiled function."""
        return gpflow.optimizers.Scipy().minimize(
            lambda: -self.maximum_log_likelihood_objective(),
            self.trainable_variables,
            tf_fun_args={"jit_compile": True} if xla else {},
            options={"maxiter": 1000, "ftol": 2.2e-9, "maxcor": memory},
        )
