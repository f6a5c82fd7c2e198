"""The expected log-likelihood on the grid, in TensorFlow (Wenger et al. 2020, section S2.2).

It is a second-order Taylor approximation, so what is maximised is called the objective, not a bound.
"""

from __future__ import annotations

import tensorflow as tf

from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.calibrators.gpcalib.quadratic_likelihood import QuadraticLikelihood
from calib.calibrators.gpcalib.statistics import GridStatistics

SMALLEST_SUM = 1e-290
"""Floor of a row's normaliser; the logarithm of less is not finite."""


class GridLikelihood:
    """Approximate expected log-likelihood of a calibration set, given the posterior on the grid.

    Parameters
    ----------
    statistics : the calibration set; held as constants on the current device.
    """

    def __init__(self, statistics: GridStatistics):
        self.grid, self.n_rows = statistics.grid, statistics.n_rows
        self._sums = tf.constant(statistics.sums)
        self._squares = tf.constant(statistics.squares)
        self._label_weights = tf.constant(statistics.label_weights)
        self._label_prior = statistics.label_prior

    def diagonal(self, shift: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
        """``sum_n [log s_ny + (sum_k s_nk^2 v_nk - s_nk v_nk) / 2]``, s = softmax of the posterior mean.

        Parameters
        ----------
        shift : (grid,) posterior mean minus prior mean.
        variance : (grid,) marginal variance with white noise.
        """
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
        """The same with the covariance of a row's classes: ``s^T C s`` instead of ``sum_k s_k^2 v_k``.

        Parameters
        ----------
        shift, variance : as in :meth:`diagonal`.
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

    def curvature(self, shift: tf.Tensor, features: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Curvature of the log-likelihood in the shift, and its derivative by the variance.

        Parameters
        ----------
        shift : as in :meth:`diagonal`.
        features : (grid, f) functions at the nodes.

        Returns
        -------
        (f, f) ``features^T (sum_n diag(s_n) - s_n s_n^T) features`` with a row's classes spread over the nodes, and
        (f,) ``features^T`` times the derivative of :meth:`diagonal` by the variance.
        """
        growth = tf.exp(_bounded(shift))
        total = tf.maximum(tf.linalg.matvec(self._sums, growth), SMALLEST_SUM)
        means = (self._sums @ (growth[:, None] * features)) / total[:, None]
        mass = growth * tf.linalg.matvec(self._sums, 1.0 / total, transpose_a=True)
        squared = growth**2 * tf.linalg.matvec(self._squares, 1.0 / total**2, transpose_a=True)
        bend = tf.matmul(features, mass[:, None] * features, transpose_a=True) - tf.matmul(
            means, means, transpose_a=True
        )
        return bend, 0.5 * tf.linalg.matvec(features, squared - mass, transpose_a=True)

    def _log_likelihood(self, shift: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
        at_labels = self._label_prior + tf.tensordot(self._label_weights, shift, 1)
        return _at_most_zero(at_labels - tf.reduce_sum(tf.math.log(total)))


def _at_most_zero(value: tf.Tensor) -> tf.Tensor:
    # So it is exactly, for a log-likelihood and for its second-order term. Interpolated between nodes, wild functions
    # can exceed it without end, until the optimiser climbs to infinity; bounded, they are found out afterwards.
    return tf.minimum(value, tf.zeros_like(value))


def _bounded(shift: tf.Tensor) -> tf.Tensor:
    # A line search may try absurd values; they must give a bad number, not a NaN.
    return tf.clip_by_value(shift, -LARGEST_SHIFT, LARGEST_SHIFT)


class EarlierLikelihood:
    """Expected log-likelihood of earlier rows, from its second-order expansion.

    Parameters
    ----------
    expansion : of the earlier rows' likelihood; held as constants on the current device.
    """

    def __init__(self, expansion: QuadraticLikelihood):
        self.expansion = expansion
        self.points = tf.constant(expansion.points[:, None])
        self._constant = expansion.constant
        self._slope = tf.constant(expansion.slope)
        self._curvature = tf.constant(expansion.curvature)
        self._variance_slope = tf.constant(expansion.variance_slope)

    def diagonal(self, shift: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
        """With independent latent values in a row.

        Parameters
        ----------
        shift : (n_points,) posterior mean minus prior mean at :attr:`points`.
        variance : (n_points,) marginal variance with white noise.
        """
        return self._at(shift) + tf.tensordot(self._variance_slope, variance, 1)

    def full(self, shift: tf.Tensor, covariance: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        """With the covariance of a row's classes.

        Parameters
        ----------
        shift : as in :meth:`diagonal`.
        covariance : (n_points, n_points) without white noise.
        noise : variance of the white noise.
        """
        white = noise * tf.reduce_sum(self._variance_slope)
        return self._at(shift) - 0.5 * tf.reduce_sum(self._curvature * covariance) + white

    def _at(self, shift: tf.Tensor) -> tf.Tensor:
        bend = tf.linalg.matvec(self._curvature, shift)
        return self._constant + tf.tensordot(self._slope - 0.5 * bend, shift, 1)
