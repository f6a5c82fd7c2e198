"""The latent function as a GPflow model, which TensorFlow computes on its current device.

The model is that of Wenger et al. 2020, sections S2.1 and S2.2: ``gpflow.models.SVGP`` in one dimension with a kernel
plus white noise, and a likelihood of ours, which couples all logits of a row by the softmax. Derivatives are
TensorFlow's. Importing this module imports GPflow.
"""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from scipy.optimize import Bounds
from tensorflow_probability import bijectors

from calib.calibrators.gpcalib.objective import LARGEST_VARIANCE, SMALLEST_SUM, Objective
from calib.calibrators.gpcalib.posterior import Posterior
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.calibrators.gpcalib.statistics import GridStatistics, QuadraticLikelihood
from calib.numerics import Floats

KERNELS = {
    "rbf": gpflow.kernels.SquaredExponential,
    "matern52": gpflow.kernels.Matern52,
    "matern32": gpflow.kernels.Matern32,
    "rational_quadratic": gpflow.kernels.RationalQuadratic,
}


N_DRAWS = 64
"""Functions that a Monte Carlo likelihood averages over; half of them mirror the others."""
JITTER = 1e-6
"""Added to the covariance at the nodes, as a share of its largest variance, before its root is taken."""


class SharedSoftmax(gpflow.base.Module):
    """Likelihood of a calibration set under one latent function, to second order in its covariance or by Monte Carlo.

    A softmax over a row sums over its classes, so it is computed from the function at the nodes of a grid; see
    :class:`~calib.calibrators.gpcalib.statistics.GridStatistics`.

    Parameters
    ----------
    statistics : the calibration set.
    covariance : "diagonal" or "full" latent covariance of a row's classes.
    sampled : average over drawn functions, always the same normal numbers, in place of the expansion.
    """

    def __init__(self, statistics: GridStatistics, covariance: str, sampled: bool = False):
        super().__init__()
        half = np.random.default_rng(0).normal(size=(statistics.grid.size, N_DRAWS // 2))
        self._normal = tf.constant(np.hstack([half, -half])) if sampled else None
        self._statistics = statistics
        self._full = covariance == "full"
        self._sums = _on_device(statistics.sums, dense=self._full)
        self._squares = _on_device(statistics.squares)
        self._label_weights = tf.constant(statistics.label_weights)

    def expected(self, shift: tf.Tensor, variance: tf.Tensor, covariance: Any) -> tf.Tensor:
        """``sum_n [log s_ny + (s_n^T C_n s_n - s_n . diag C_n) / 2]`` in nats, s = softmax of the posterior mean.

        Parameters
        ----------
        shift, variance : (grid,) posterior mean minus prior mean, and marginal variance.
        covariance : (grid, grid) without white noise, and the white noise's variance; None where C_n is diagonal.
        """
        if self._normal is not None:
            return self._sampled(shift, *covariance)
        shift = tf.clip_by_value(shift, -LARGEST_SHIFT, LARGEST_SHIFT)
        growth = tf.exp(shift)
        marginal = variance if covariance is None else covariance[1] * tf.ones_like(variance)
        collected = _product(self._sums, tf.stack([growth, growth * variance], axis=1))
        total = tf.maximum(collected[:, 0], SMALLEST_SUM)
        squared = _product(self._squares, (growth**2 * marginal)[:, None])[:, 0]
        second = tf.reduce_sum((squared / total - collected[:, 1]) / total)
        if covariance is not None:
            rows = self._sums / total[:, None]
            pairs = tf.matmul(rows, rows, transpose_a=True) * growth[:, None] * growth
            second += tf.reduce_sum(pairs * covariance[0])
        first = self._statistics.label_prior - tf.reduce_sum(tf.math.log(total))
        first += tf.tensordot(self._label_weights, shift, 1)
        # Both are at most 0; see calib.calibrators.gpcalib.objective.expected_log_likelihood.
        return tf.minimum(first, 0.0) + tf.minimum(0.5 * second, 0.0)

    def _sampled(self, shift: tf.Tensor, covariance: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        """Mean of ``sum_n log softmax`` over functions drawn at the nodes, with white noise to second order."""
        jitter = JITTER * tf.reduce_max(tf.linalg.diag_part(covariance)) + 1e-10
        root = tf.linalg.cholesky(covariance + jitter * tf.eye(len(covariance), dtype=shift.dtype))
        drawn = shift[:, None] + tf.matmul(root, self._normal)
        drawn = tf.clip_by_value(drawn, -LARGEST_SHIFT, LARGEST_SHIFT)
        total = tf.maximum(_product(self._sums, tf.exp(drawn)), SMALLEST_SUM)
        scores = tf.linalg.matvec(drawn, self._label_weights, transpose_a=True)
        value = tf.reduce_mean(scores - tf.reduce_sum(tf.math.log(total), axis=0))
        growth = tf.exp(tf.clip_by_value(shift, -LARGEST_SHIFT, LARGEST_SHIFT))[:, None]
        total = tf.maximum(_product(self._sums, growth), SMALLEST_SUM)
        squared = _product(self._squares, growth**2)
        second = noise * tf.reduce_sum((squared / total - total) / total)
        value = self._statistics.label_prior + value + tf.minimum(0.5 * second, 0.0)
        return tf.minimum(value, 0.0)


class LatentFunction(gpflow.models.SVGP):
    """GPflow's sparse variational model of the latent function, with the paper's start.

    Parameters
    ----------
    objective : NumPy's objective of the same calibration set: its rows, start, bounds and earlier rows are the model's.
    kernel : a key of :data:`KERNELS`.
    sampled : whether the likelihood is a Monte Carlo average.

    Attributes
    ----------
    start : free numbers where the search begins, (p,).
    bounds : of the free numbers, for the optimiser.
    """

    def __init__(self, objective: Objective, kernel: str, sampled: bool = False):
        parametrisation = objective.parametrisation
        at = parametrisation.posterior(objective.start)
        low, high = parametrisation.low[:3], parametrisation.high[:3]
        smooth, white = KERNELS[kernel](), gpflow.kernels.White()
        smooth.variance = _between(at.variance, low[0], high[0])
        smooth.lengthscales = _between(at.lengthscale, low[1], high[1])
        white.variance = _between(at.noise_variance, low[2], high[2])
        full = parametrisation.full
        super().__init__(
            smooth + white,
            SharedSoftmax(objective.statistics, objective.covariance, sampled),
            at.inducing_inputs[:, None],
            q_diag=not full,
            q_mu=at.q_mean[:, None],
            q_sqrt=at.q_sqrt[None] if full else at.q_sqrt[:, None],
            whiten=True,
        )
        self._name, self._smooth, self._white = kernel, smooth, white
        self._full_covariance = sampled or objective.covariance == "full"
        self._earlier = objective.earlier
        self._n_nodes = objective.statistics.grid.size
        inputs = objective.statistics.grid.nodes
        if objective.earlier is not None:
            inputs = np.concatenate([inputs, objective.earlier.points])
        self._inputs = tf.constant(inputs[:, None])
        free = [smooth.variance, smooth.lengthscales, white.variance]
        free += [self.inducing_variable.Z, self.q_mu, self.q_sqrt]
        free += [smooth.alpha] if kernel == "rational_quadratic" else []
        self._variables = [parameter.unconstrained_variable for parameter in free]
        optimiser = gpflow.optimizers.Scipy()
        self.start: Floats = optimiser.initial_parameters(self._variables).numpy()
        self.bounds = Bounds(ub=[LARGEST_VARIANCE, *[np.inf] * (len(self.start) - 1)])
        self._loss = optimiser.eval_func(
            lambda: -self.maximum_log_likelihood_objective(),
            self._variables,
            tf_fun_args={},
            compile=True,
        )

    def maximum_log_likelihood_objective(self) -> tf.Tensor:  # type: ignore[override]
        """Expected log-likelihood minus the divergence from the prior, in nats."""
        nodes, points = slice(0, self._n_nodes), slice(self._n_nodes, None)
        shift, spread = self.predict_f(self._inputs, full_cov=self._full_covariance)
        shift = shift[:, 0]
        if self._full_covariance:
            noise = self._white.variance
            variance = tf.linalg.diag_part(spread[0])
            covariance = spread[0] - noise * tf.eye(len(self._inputs), dtype=spread.dtype)
            of_nodes = covariance[nodes, nodes], noise
        else:
            variance, of_nodes = spread[:, 0], None
        value = self.likelihood.expected(shift[nodes], variance[nodes], of_nodes)
        if self._earlier is not None:
            of_points = covariance[points, points] if self._full_covariance else None
            value += self._of_earlier(self._earlier, shift[points], variance[points], of_points)
        return value - self.prior_kl()

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Value in nats and gradient, (p,), at free numbers; NaN where the kernel matrix is none."""
        try:
            loss, gradient = self._loss(vector)
        except tf.errors.InvalidArgumentError:
            return np.nan, np.full_like(vector, np.nan)
        return -float(loss), -gradient

    def posterior_at(self, vector: Floats) -> Posterior:
        """The posterior that free numbers stand for."""
        optimiser = gpflow.optimizers.Scipy
        optimiser.assign_tensors(
            self._variables, optimiser.unpack_tensors(self._variables, tf.constant(vector))
        )
        root = self.q_sqrt.numpy()
        smooth = self._smooth
        return Posterior(
            variance=float(smooth.variance.numpy()),
            lengthscale=float(smooth.lengthscales.numpy()),
            noise_variance=float(self._white.variance.numpy()),
            inducing_inputs=self.inducing_variable.Z.numpy()[:, 0],
            q_mean=self.q_mu.numpy()[:, 0],
            q_sqrt=root[0] if root.ndim == 3 else root[:, 0],
            kernel=self._name,
            alpha=float(smooth.alpha.numpy()) if self._name == "rational_quadratic" else 1.0,
        )

    def _of_earlier(
        self, earlier: QuadraticLikelihood, shift: tf.Tensor, variance: tf.Tensor, covariance: Any
    ) -> tf.Tensor:
        """Log-likelihood of earlier rows from their expansion; none exceeds 0."""
        bend = tf.linalg.matvec(tf.constant(earlier.curvature), shift)
        value = earlier.constant + tf.reduce_sum((earlier.slope - 0.5 * bend) * shift)
        if covariance is None:
            value += tf.reduce_sum(earlier.variance_slope * variance)
        else:
            value += self._white.variance * earlier.variance_slope.sum()
            value -= 0.5 * tf.reduce_sum(earlier.curvature * covariance)
        return tf.minimum(value, 0.0)


def _between(value: float, low: float, high: float) -> gpflow.Parameter:
    """A positive parameter between two ends, as :class:`calib.calibrators.gpcalib.objective.Parametrisation` has it."""
    low, high = np.float64(low), np.float64(high)
    if np.isfinite(high):
        return gpflow.Parameter(value, transform=bijectors.Sigmoid(low, high))
    return gpflow.Parameter(
        value, transform=bijectors.Chain([bijectors.Shift(low), bijectors.Softplus()])
    )


def _on_device(matrix: Any, dense: bool = False) -> Any:
    """A matrix of NumPy or SciPy in the memory of the current device."""
    if isinstance(matrix, np.ndarray) or dense:
        return tf.constant(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
    entries = matrix.tocoo()
    places = np.stack([entries.row, entries.col], axis=1).astype(np.int64)
    return tf.sparse.reorder(tf.SparseTensor(places, entries.data, entries.shape))


def _product(matrix: Any, columns: tf.Tensor) -> tf.Tensor:
    if isinstance(matrix, tf.SparseTensor):
        return tf.sparse.sparse_dense_matmul(matrix, columns)
    return tf.matmul(matrix, columns)
