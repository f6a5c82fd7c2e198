"""Where a fit runs: NumPy on the processor, or TensorFlow on a GPU where there is one and the data are big."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from calib import hardware
from calib.hardware import cpu_description
from calib.numerics import Floats, Ints, blocks, row_maxima

T = TypeVar("T")

WORTH_A_GPU = 100_000_000
"""Logits from which ``device="auto"`` takes a GPU: NumPy takes a second for each pass, TensorFlow 6 s to start."""

OUT_OF_MEMORY = (
    "out of memory",
    "out_of_memory",
    "oom when allocating",
    "failed to allocate",
    "dst tensor is not init",
)
"""How TensorFlow words it, in lower case, where it does not raise ResourceExhaustedError; the last: a failed copy."""


@dataclass(frozen=True)
class Ran(Generic[T]):
    """What a computation gave.

    Attributes
    ----------
    result : what it returned.
    device : where it ran, in words.
    note : a sentence where that is not what was asked for, else empty.
    """

    result: T
    device: str
    note: str


def wants_gpu(device: str, n_logits: int) -> bool:
    """Whether a fit to so many logits tries a GPU; asking starts nothing.

    Parameters
    ----------
    device : one of :data:`calib.hardware.DEVICES`.
    n_logits : rows times classes.
    """
    wanted = device == "gpu" or (device == "auto" and n_logits >= WORTH_A_GPU)
    return wanted and hardware.gpu_present() and find_spec("tensorflow") is not None


def run(compute: Callable[[bool], T], device: str, shape: tuple[int, ...]) -> Ran[T]:
    """Compute on a GPU where that is wanted and possible, else on the processor; also where its memory is not enough.

    Parameters
    ----------
    compute : called with whether it is on a GPU, then inside ``tf.device``; a second call must start afresh.
    device : one of :data:`calib.hardware.DEVICES`.
    shape : (n, n_classes) of the calibration set.
    """
    gpu = first_gpu() if wants_gpu(device, shape[0] * shape[1]) else None
    note = no_gpu_note() if device == "gpu" else ""
    if gpu is not None:
        place, model = gpu
        try:
            with tensorflow().device(place):
                return Ran(compute(True), model, "")
        except Exception as error:
            if not out_of_memory(error):
                raise
        # Not inside the handler: until it ends, the error holds the tensors that fill the GPU.
        note = (
            f"The GPU ({model}) ran out of memory on {shape[0]:,} rows x {shape[1]:,} classes, so the fit ran on the "
            f"{cpu_description()}. Use fewer calibration rows, or end what else uses the GPU, to fit on it."
        )
    return Ran(compute(False), cpu_description(), note)


def no_gpu_note() -> str:
    """What to say of a fit that should have run on a GPU and ran on the processor."""
    if not hardware.gpu_present():
        return f"No NVIDIA GPU was found, so the fit ran on the {cpu_description()}."
    if find_spec("tensorflow") is None:
        return (
            f"A fit on a GPU needs TensorFlow, which is not installed, so it ran on the {cpu_description()}. "
            'It comes with: pip install "calib-studio[gpu]".'
        )
    return (
        f"TensorFlow cannot use this machine's GPU, so the fit ran on the {cpu_description()}. "
        'Its CUDA libraries come with: pip install "calib-studio[gpu]".'
    )


@cache
def tensorflow() -> Any:
    """TensorFlow, quiet, with one thread and GPU memory that grows as needed, unless it has started already."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read when it is imported
    import tensorflow as tf

    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)  # a second thread costs more than it gives
        tf.config.threading.set_inter_op_parallelism_threads(1)
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError:  # it has started
        pass
    return tf


def first_gpu() -> tuple[str, str] | None:
    """TensorFlow's name of its first GPU, and the model; None without one."""
    tf = tensorflow()
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return None
    try:
        details = tf.config.experimental.get_device_details(gpus[0])
    except (RuntimeError, ValueError):
        details = {}
    return "/GPU:0", str(details.get("device_name", "GPU"))


def out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, says that a device's memory was not enough."""
    errors = tensorflow().errors
    while error is not None:
        if isinstance(error, errors.ResourceExhaustedError):
            return True
        if isinstance(error, (errors.OpError, RuntimeError)) and any(s in str(error).lower() for s in OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


class Loss(Protocol):
    """Mean cross-entropy of ``softmax(scale * logits + bias)``, weighted by row, and its derivatives.

    Made from (n, n_classes) logits, (n,) labels and (n,) weights.
    """

    def at_temperature(self, inverse: float) -> tuple[float, float, float]:
        """Value, slope and curvature in the one scale 1 / T of all classes; the largest logit of each row is 0."""
        ...

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Value in nats and gradients in scale and bias; the four arrays have shape (n_classes,)."""
        ...


class NumPyLoss:
    """The loss in NumPy, on blocks of rows, so that it takes no memory beside the logits; see :class:`Loss`."""

    def __init__(self, logits: Floats, labels: Ints, weights: Floats):
        self._logits, self._labels, self._weights, self._total = logits, labels, weights, float(weights.sum())
        own, n_classes = weights * logits[np.arange(len(labels)), labels], logits.shape[1]
        self._own, self._counts = np.zeros(n_classes), np.zeros(n_classes)
        self._own += np.bincount(labels, own, n_classes)
        self._counts += np.bincount(labels, weights, n_classes)

    def at_temperature(self, inverse: float) -> tuple[float, float, float]:
        """See :class:`Loss`; the curvature is the variance of a row's logits under its probabilities."""
        own = float(self._own.sum())
        value, slope, curvature = -inverse * own, -own, 0.0
        for rows in blocks(*self._logits.shape):
            logits, weights = self._logits[rows], self._weights[rows]
            odds = inverse * logits
            np.exp(odds, out=odds)
            total = np.einsum("nk->n", odds)  # quicker than sum on short rows
            odds *= logits
            mean = np.einsum("nk->n", odds) / total
            value += float(weights @ np.log(total))
            slope += float(weights @ mean)
            curvature += float(weights @ (np.einsum("nk,nk->n", odds, logits) / total - mean**2))
        return value / self._total, slope / self._total, curvature / self._total

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """See :class:`Loss`."""
        value, by_scale, by_bias = 0.0, -self._own, -self._counts
        for rows in blocks(*self._logits.shape):
            in_block, odds, total = self._odds(rows, scale, bias)
            value += in_block
            # Probabilities are these odds over their sum, by which only two vectors of classes are divided.
            shares = self._weights[rows] / total
            by_bias += shares @ odds
            odds *= self._logits[rows]
            by_scale += shares @ odds
        return value / self._total, by_scale / self._total, by_bias / self._total

    def with_curvature(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient (2 n_classes,) in scale and bias, and second derivatives (2 n_classes, 2 n_classes)."""
        value, k = 0.0, len(scale)
        first, squares, curvature = np.zeros(2 * k), np.zeros(k), np.zeros((2 * k, 2 * k))
        for rows in blocks(*self._logits.shape):
            in_block, probs, total = self._odds(rows, scale, bias)
            logits, weights = self._logits[rows], self._weights[rows, None]
            value += in_block
            probs /= total[:, None]
            both = np.concatenate([probs * logits, probs], axis=1)
            weighted = weights * both
            first += weighted.sum(axis=0)
            squares += np.einsum("nk,nk->k", weighted[:, :k], logits)
            curvature -= weighted.T @ both
        of_scale, of_bias = np.arange(k), np.arange(k, 2 * k)
        curvature[of_scale, of_scale] += squares
        curvature[of_scale, of_bias] += first[:k]
        curvature[of_bias, of_scale] += first[:k]
        curvature[of_bias, of_bias] += first[k:]
        gradient = first - np.concatenate([self._own, self._counts])
        return value / self._total, gradient / self._total, curvature / self._total

    def _odds(self, rows: slice, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Summed loss of some rows, their odds against the most probable class, (m, n_classes), and sums of these."""
        labels, weights = self._labels[rows], self._weights[rows]
        scores = self._logits[rows] * scale
        scores += bias
        scores -= row_maxima(scores)
        own = scores[np.arange(len(labels)), labels]
        odds = np.exp(scores, out=scores)
        total = np.einsum("nk->n", odds)
        return float(weights @ (np.log(total) - own)), odds, total


class TensorFlowLoss:
    """The loss on the device of the surrounding ``tf.device``, in float64; see :class:`Loss`."""

    def __init__(self, logits: Floats, labels: Ints, weights: Floats):
        tf = tensorflow()
        self._rows = tf.constant(logits), tf.constant(labels), tf.constant(weights / weights.sum())
        self._at_temperature, self._gradient = _compiled()

    def at_temperature(self, inverse: float) -> tuple[float, float, float]:
        """See :class:`Loss`."""
        value, slope, curvature = self._at_temperature(*self._rows, tensorflow().constant(inverse, "float64"))
        return float(value), float(slope), float(curvature)

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """See :class:`Loss`."""
        value, by_scale, by_bias = self._gradient(*self._rows, *map(tensorflow().constant, (scale, bias)))
        return float(value), by_scale.numpy(), by_bias.numpy()


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The derivatives of the loss as functions of tensors, by one temperature and by a scale and bias for each class.

    Weights sum to one. One kernel gives losses and residuals, of which a gradient tape would keep copies.
    """
    tf = tensorflow()
    kernel = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits

    @tf.function(autograph=False, reduce_retracing=True)
    def at_temperature(logits: Any, labels: Any, weights: Any, inverse: Any) -> tuple[Any, Any, Any]:
        loss, residual = kernel(features=inverse * logits, labels=labels)
        slope = tf.reduce_sum(residual * logits, axis=1)
        mean = slope + tf.gather(logits, labels, axis=1, batch_dims=1)
        variance = tf.reduce_sum(tf.nn.softmax(inverse * logits) * (logits - mean[:, None]) ** 2, axis=1)
        return tuple(tf.tensordot(weights, of_rows, 1) for of_rows in (loss, slope, variance))

    @tf.function(autograph=False, reduce_retracing=True)
    def gradient(logits: Any, labels: Any, weights: Any, scale: Any, bias: Any) -> tuple[Any, Any, Any]:
        loss, residual = kernel(features=logits * scale + bias, labels=labels)
        residual *= weights[:, None]
        by_scale, by_bias = tf.reduce_sum(residual * logits, axis=0), tf.reduce_sum(residual, axis=0)
        return tf.tensordot(weights, loss, 1), by_scale, by_bias

    return at_temperature, gradient


def loss_on(on_gpu: bool) -> type[NumPyLoss] | type[TensorFlowLoss]:
    """The loss for a GPU, or for the processor, on which NumPy is the quicker one."""
    return TensorFlowLoss if on_gpu else NumPyLoss


def counted(logits: Floats, labels: Ints, weights: Floats | None) -> tuple[Floats, Ints, Floats]:
    """The rows that have a weight, and their weights, which are 1 where none are given."""
    if weights is None:
        return logits, labels, np.ones(len(labels))
    if weights.all():
        return logits, labels, weights
    kept = weights > 0
    return logits[kept], labels[kept], weights[kept]
