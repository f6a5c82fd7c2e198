"""The expected log-likelihood of earlier calibration rows, from their summary, in TensorFlow."""

from __future__ import annotations

import tensorflow as tf

from calib.calibrators.gpcalib.laplace_summary import Summary


class PastLikelihood:
    """What :class:`~calib.calibrators.gpcalib.likelihood.GridLikelihood` is for rows at hand, for rows that are gone.

    Parameters
    ----------
    summary : of the earlier rows; held as constants on the current device.
    """

    def __init__(self, summary: Summary):
        self.summary = summary
        self.points = tf.constant(summary.points[:, None])
        self._constant = summary.constant
        self._slope = tf.constant(summary.slope)
        self._curvature = tf.constant(summary.curvature)
        self._variance_slope = tf.constant(summary.variance_slope)

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
