"""The loss of temperature and vector scaling on the device that TensorFlow is told to use."""

from __future__ import annotations

import tensorflow as tf

from calib.numerics import Floats, Ints


class TensorFlowCrossEntropy:
    """Mean cross-entropy of ``softmax(scale * logits + bias)``, and its gradient; float64 on any device.

    The same function of the same arrays as :class:`calib.calibrators.scaling.NumPyCrossEntropy`.

    Parameters
    ----------
    logits : (n, n_classes) array, copied once to the device of the surrounding ``tf.device``.
    labels : (n,) integers in [0, n_classes).
    """

    def __init__(self, logits: Floats, labels: Ints):
        self._logits = tf.constant(logits, tf.float64)
        self._labels = tf.constant(labels, tf.int64)

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Value in nats and gradients in scale and bias; the four arrays have shape (n_classes,)."""
        with tf.device(self._logits.device):
            value, by_scale, by_bias = _value_and_gradient(
                self._logits, self._labels, tf.constant(scale, tf.float64), tf.constant(bias, tf.float64)
            )
        return float(value), by_scale.numpy(), by_bias.numpy()


@tf.function(autograph=False, reduce_retracing=True)
def _value_and_gradient(
    logits: tf.Tensor, labels: tf.Tensor, scale: tf.Tensor, bias: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    # One kernel gives the losses and the residuals softmax - onehot; a gradient tape would keep copies of both.
    loss, residual = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=logits * scale + bias, labels=labels)
    return tf.reduce_mean(loss), tf.reduce_mean(residual * logits, axis=0), tf.reduce_mean(residual, axis=0)
