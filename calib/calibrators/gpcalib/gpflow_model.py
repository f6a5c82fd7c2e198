"""The objective of GPcalib in TensorFlow, as a GPflow model: for a GPU, and the reference of the form in NumPy.

TensorFlow registers every custom gradient, and TensorFlow Probability caches every result of its transforms, for the
life of the process together with their graphs. The bijectors here have neither, so that a fit leaves nothing behind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from check_shapes import set_rewrite_docstrings
from tensorflow_probability import bijectors

from calib.calibrators.gpcalib.interpolation import chebyshev_features
from calib.calibrators.gpcalib.objective import SMALLEST_SUM, Interval, Objective
from calib.calibrators.gpcalib.posterior import JITTER
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.calibrators.gpcalib.statistics import GridStatistics, QuadraticLikelihood
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


def onto(interval: Interval) -> bijectors.Bijector:
    """From all numbers onto those of an interval."""
    if np.isfinite(interval.high):
        return _Sigmoid(to_default_float(interval.low), to_default_float(interval.high))
    return _Softplus(low=to_default_float(interval.low))


def triangular() -> bijectors.Bijector:
    """From vectors of length ``m (m + 1) / 2`` onto lower triangular matrices."""
    return _FillTriangular()


class LatentGP(gpflow.models.BayesianModel, gpflow.models.InternalDataTrainingLossMixin):
    """The model of an :class:`calib.calibrators.gpcalib.objective.Objective`, on the current device.

    Parameters
    ----------
    objective : whose calibration set, kind and start these are.
    """

    def __init__(self, objective: Objective):
        super().__init__()
        parametrisation, start = objective.parametrisation, objective.parametrisation.posterior(objective.start)
        self._parametrisation = parametrisation
        self._likelihood = GridLikelihood(objective.statistics)
        self._earlier = None if objective.earlier is None else EarlierLikelihood(objective.earlier)
        grid = objective.statistics.grid
        self._nodes = tf.constant(grid.nodes[:, None])
        self.rbf = gpflow.kernels.SquaredExponential()
        self.rbf.variance = Parameter(start.variance, transform=onto(parametrisation.variance))
        self.rbf.lengthscales = Parameter(start.lengthscale, transform=onto(parametrisation.lengthscale))
        self.white = gpflow.kernels.White()
        self.white.variance = Parameter(start.noise_variance, transform=onto(parametrisation.noise))
        self.inducing = gpflow.inducing_variables.InducingPoints(start.inducing_inputs[:, None])
        self.q_mu = Parameter(start.q_mean[:, None])
        if parametrisation.full:
            self.q_sqrt = Parameter(start.q_sqrt[None], transform=triangular())
        else:
            self.q_sqrt = Parameter(start.q_sqrt[:, None], transform=onto(parametrisation.spread))
        self._features = None
        if objective.covariance == "full":
            points, weights = chebyshev_features(grid)
            self._features = tf.constant(points[:, None]), tf.constant(weights)
        self._compiled = tf.function(self._value_and_gradients, autograph=False)

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Value in nats and gradient at free numbers, (p,) as those of the objective."""
        for variable, part in zip(self._variables, self._parametrisation.parts(vector), strict=True):
            if variable is self.q_sqrt.unconstrained_variable and self._parametrisation.full:
                part = triangular().inverse(self._parametrisation.triangle(part)[None])
            variable.assign(tf.reshape(part, variable.shape))
        value, gradients = self._compiled()
        if self._parametrisation.full:
            by_root = triangular().forward(gradients[-1]).numpy()[0]
            gradients[-1] = by_root[np.tril_indices(len(by_root))]
        return float(value), np.concatenate([np.ravel(gradient) for gradient in gradients])

    def maximum_log_likelihood_objective(self) -> tf.Tensor:
        """Expected log-likelihood of all calibration rows minus KL[q(v) || p(v)], in nats."""
        expected = self._expected_log_likelihood(self._moments(self._nodes))
        if self._earlier is not None:
            expected += tf.minimum(self._earlier_log_likelihood(self._earlier), 0.0)
        return expected - gpflow.kullback_leiblers.gauss_kl(self.q_mu, self.q_sqrt)

    @property
    def _variables(self) -> list[tf.Variable]:
        """In the order of the vector's parts."""
        kernel = (self.rbf.variance, self.rbf.lengthscales, self.white.variance)
        parameters = (*kernel, self.inducing.Z, self.q_mu, self.q_sqrt)
        return [parameter.unconstrained_variable for parameter in parameters]

    def _value_and_gradients(self) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            value = self.maximum_log_likelihood_objective()
        return value, tape.gradient(value, self._variables)

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


class GridLikelihood:
    """Approximate expected log-likelihood of a calibration set, given the posterior on the grid.

    Parameters
    ----------
    statistics : the calibration set; held as constants on the current device.
    """

    def __init__(self, statistics: GridStatistics):
        self._sums = tf.constant(statistics.sums)
        self._squares = tf.constant(statistics.squares)
        self._label_weights = tf.constant(statistics.label_weights)
        self._label_prior = statistics.label_prior

    def diagonal(self, shift: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
        """As :func:`calib.calibrators.gpcalib.objective.diagonal`, from the shift and its variance at the nodes."""
        shift = _bounded(shift)
        growth = tf.exp(shift)
        total, weighted = tf.unstack(self._sums @ tf.stack([growth, growth * variance], axis=1), axis=1)
        total = tf.maximum(total, SMALLEST_SUM)
        squared = tf.linalg.matvec(self._squares, growth * growth * variance)
        second = tf.reduce_sum((squared / total - weighted) / total)
        return self._log_likelihood(shift, total) + _at_most_zero(0.5 * second)

    def full(
        self, shift: tf.Tensor, variance: tf.Tensor, noise: tf.Tensor, features: tf.Tensor, gram: tf.Tensor
    ) -> tf.Tensor:
        """As :func:`calib.calibrators.gpcalib.objective.full`.

        Parameters
        ----------
        noise : variance of the white noise, which is independent between classes.
        features, gram : (grid, f) and (f, f) with noise-free covariance ``features @ gram @ features.T``.
        """
        shift = _bounded(shift)
        growth = tf.exp(shift)
        columns = tf.concat([tf.ones_like(shift)[:, None], variance[:, None], features], axis=1)
        collected = self._sums @ (growth[:, None] * columns)
        total = tf.maximum(collected[:, 0], SMALLEST_SUM)
        expected = collected[:, 1:] / total[:, None]
        variances, means = expected[:, 0], expected[:, 1:]
        quadratic = tf.reduce_sum((means @ gram) * means)
        white = noise * tf.reduce_sum(tf.linalg.matvec(self._squares, growth * growth) / total**2)
        second = quadratic + white - tf.reduce_sum(variances)
        return self._log_likelihood(shift, total) + _at_most_zero(0.5 * second)

    def _log_likelihood(self, shift: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
        at_labels = self._label_prior + tf.tensordot(self._label_weights, shift, 1)
        return _at_most_zero(at_labels - tf.reduce_sum(tf.math.log(total)))


def _at_most_zero(value: tf.Tensor) -> tf.Tensor:
    return tf.minimum(value, tf.zeros_like(value))


def _bounded(shift: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(shift, -LARGEST_SHIFT, LARGEST_SHIFT)


class EarlierLikelihood:
    """Expected log-likelihood of earlier rows, from its second-order expansion.

    Parameters
    ----------
    expansion : of the earlier rows' likelihood; held as constants on the current device.
    """

    def __init__(self, expansion: QuadraticLikelihood):
        self.points = tf.constant(expansion.points[:, None])
        self._constant = expansion.constant
        self._slope = tf.constant(expansion.slope)
        self._curvature = tf.constant(expansion.curvature)
        self._variance_slope = tf.constant(expansion.variance_slope)

    def diagonal(self, shift: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
        """With independent latent values in a row, from the shift and its marginal variance at the points."""
        return self._at(shift) + tf.tensordot(self._variance_slope, variance, 1)

    def full(self, shift: tf.Tensor, covariance: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        """With the covariance of a row's classes, which holds no white noise, and the variance of that."""
        white = noise * tf.reduce_sum(self._variance_slope)
        return self._at(shift) - 0.5 * tf.reduce_sum(self._curvature * covariance) + white

    def _at(self, shift: tf.Tensor) -> tf.Tensor:
        bend = tf.linalg.matvec(self._curvature, shift)
        return self._constant + tf.tensordot(self._slope - 0.5 * bend, shift, 1)
