"""How bounded and triangular parameters are written for an optimiser that knows neither, leaving nothing behind.

TensorFlow registers every custom gradient, and TensorFlow Probability remembers every result of its transforms, for
the life of the process and with the graph they lie in: with those of GPflow, each fit would leave its graph behind.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.utilities import to_default_float
from tensorflow_probability import bijectors


class _Forgetful(bijectors.Bijector):
    """Goes past the parent's memory of earlier results."""

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
