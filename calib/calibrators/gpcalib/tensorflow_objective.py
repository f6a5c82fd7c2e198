"""The objective of GPcalib in TensorFlow, for a GPU; its gradient is by automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import tensorflow as tf

from calib.calibrators.gpcalib.interpolation import chebyshev_features
from calib.calibrators.gpcalib.objective import SMALLEST_SUM, Objective
from calib.calibrators.gpcalib.posterior import JITTER, Posterior
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.calibrators.gpcalib.statistics import QuadraticLikelihood
from calib.numerics import Floats

Kernel = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class TensorFlowObjective:
    """Value and gradient of an :class:`~calib.calibrators.gpcalib.objective.Objective`, on the current device.

    Parameters
    ----------
    objective : whose calibration set, kind and free numbers these are; its arrays are copied to the device once.
    """

    def __init__(self, objective: Objective):
        self._parametrisation = objective.parametrisation
        statistics, earlier = objective.statistics, objective.earlier
        self._sums, self._squares = (
            tf.constant(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
            for matrix in (statistics.sums, statistics.squares)
        )
        self._label_weights, self._label_prior = tf.constant(statistics.label_weights), statistics.label_prior
        self._nodes = tf.constant(statistics.grid.nodes)
        self._features = None
        if objective.covariance == "full":
            self._features = [tf.constant(array) for array in chebyshev_features(statistics.grid)]
        self._earlier = earlier
        self._compiled = tf.function(self._value_and_gradient, autograph=False)

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Value in nats and gradient, (p,), at free numbers; NaN where the kernel matrix is none."""
        posterior = self._parametrisation.posterior(vector)
        at = [tf.constant(getattr(posterior, field.name), tf.float64) for field in fields(Posterior)]
        try:
            value, gradient = self._compiled(at)
        except tf.errors.InvalidArgumentError:  # of the Cholesky decomposition
            return np.nan, np.full_like(vector, np.nan)
        derivatives = Posterior(*(part.numpy() for part in gradient))
        return float(value), self._parametrisation.pulled_back(vector, derivatives)

    def _value_and_gradient(self, at: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            tape.watch(at)
            value = self._value(*at)
        return value, tape.gradient(value, at)

    def _value(
        self,
        variance: tf.Tensor,
        lengthscale: tf.Tensor,
        noise: tf.Tensor,
        inducing: tf.Tensor,
        mean: tf.Tensor,
        root: tf.Tensor,
    ) -> tf.Tensor:
        """Expected log-likelihood of all rows minus the divergence, at the fields of a posterior."""
        full = len(root.shape) == 2
        m = inducing.shape[0]

        def kernel(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
            return variance * tf.exp(-0.5 * ((left[:, None] - right) / lengthscale) ** 2)

        lower = tf.linalg.cholesky(kernel(inducing, inducing) + (noise + JITTER) * tf.eye(m, dtype=tf.float64))

        def moments(inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
            projection = tf.linalg.triangular_solve(lower, kernel(inducing, inputs))
            spread = tf.matmul(root, projection, transpose_a=True) if full else root[:, None] * projection
            shift = tf.linalg.matvec(projection, mean, transpose_a=True)
            return shift, variance + noise + tf.reduce_sum(spread**2 - projection**2, axis=0), projection, spread

        value = self._of_rows(*moments(self._nodes), noise, kernel)
        if self._earlier is not None:
            value += tf.minimum(self._of_earlier(self._earlier, moments, noise, kernel), 0.0)
        deviations = tf.linalg.diag_part(root) if full else root
        quadratic = tf.reduce_sum(mean**2) + tf.reduce_sum(root**2)
        return value - 0.5 * (quadratic - m - tf.reduce_sum(tf.math.log(deviations**2)))

    def _of_rows(
        self, shift: tf.Tensor, variance: tf.Tensor, projection: tf.Tensor, spread: tf.Tensor, noise: tf.Tensor,
        kernel: Kernel,
    ) -> tf.Tensor:  # fmt: skip
        """As :func:`calib.calibrators.gpcalib.objective.diagonal` and :func:`~.objective.full`, at the nodes."""
        shift = tf.clip_by_value(shift, -LARGEST_SHIFT, LARGEST_SHIFT)
        growth = tf.exp(shift)
        columns = tf.stack([tf.ones_like(shift), variance], axis=1)
        if self._features is not None:
            columns = tf.concat([columns, self._features[1], tf.transpose(projection), tf.transpose(spread)], axis=1)
        collected = self._sums @ (growth[:, None] * columns)
        total = tf.maximum(collected[:, 0], SMALLEST_SUM)
        expected = collected[:, 1:] / total[:, None]
        uncorrelated = noise * tf.ones_like(variance) if self._features is not None else variance
        second = tf.reduce_sum(tf.linalg.matvec(self._squares, growth**2 * uncorrelated) / total**2 - expected[:, 0])
        if self._features is not None:
            points, weights = self._features
            smooth, explained, left = tf.split(expected[:, 1:], [weights.shape[1], *2 * [projection.shape[0]]], axis=1)
            second += tf.reduce_sum((smooth @ kernel(points, points)) * smooth) + tf.reduce_sum(left**2 - explained**2)
        at_labels = self._label_prior + tf.tensordot(self._label_weights, shift, 1)
        first = at_labels - tf.reduce_sum(tf.math.log(total))
        return tf.minimum(first, 0.0) + tf.minimum(0.5 * second, 0.0)

    def _of_earlier(
        self, earlier: QuadraticLikelihood, moments: Callable[[tf.Tensor], Any], noise: tf.Tensor, kernel: Kernel
    ) -> tf.Tensor:
        """Of earlier rows, from the second-order expansion of their likelihood."""
        points = tf.constant(earlier.points)
        shift, variance, projection, spread = moments(points)
        bend = tf.linalg.matvec(earlier.curvature, shift)
        value = earlier.constant + tf.tensordot(earlier.slope - 0.5 * bend, shift, 1)
        if self._features is None:
            return value + tf.tensordot(tf.constant(earlier.variance_slope), variance, 1)
        explained = tf.matmul(projection, projection, transpose_a=True)
        covariance = kernel(points, points) - explained + tf.matmul(spread, spread, transpose_a=True)
        return value - 0.5 * tf.reduce_sum(earlier.curvature * covariance) + noise * earlier.variance_slope.sum()
