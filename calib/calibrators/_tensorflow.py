"""Devices of TensorFlow, and the loss of temperature and vector scaling on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from calib.errors import CalibrationError
from calib.hardware import Ran, cpu_description, no_gpu_note
from calib.numerics import Floats, Ints

# TensorFlow reports every start-up detail on stderr unless told before it is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

T = TypeVar("T")

OUT_OF_MEMORY = (
    "out of memory",
    "out_of_memory",
    "oom when allocating",
    "failed to allocate",
    "dst tensor is not init",
)
"""How TensorFlow words it, in lower case, where it does not raise ResourceExhaustedError; the last: a failed copy."""


@dataclass(frozen=True)
class Device:
    """A device that can fit.

    Attributes
    ----------
    name : TensorFlow's name for it.
    kind : "cpu" or "gpu".
    description : what a person calls it, such as "CPU (2 cores)" or the GPU's model.
    """

    name: str
    kind: str
    description: str


def list_devices() -> list[Device]:
    """The devices of this machine, GPUs first; there is always a CPU."""
    return [*_gpus(), Device("/CPU:0", "cpu", cpu_description())]


def choose(preference: str = "auto") -> Device:
    """The first GPU for "auto" and "gpu" where there is one, else the CPU; never fails.

    GPU memory is set to grow on demand and TensorFlow to one thread, as far as it has not started yet: on
    matrices of this size a second thread costs more than it gives.
    """
    _limit_threads()
    _grow_memory()  # for the CPU too: whatever runs first starts every device, and then it is too late
    devices = list_devices()
    return devices[-1] if preference == "cpu" else devices[0]


def run(compute: Callable[[Device], T], preference: str, shape: tuple[int, int]) -> Ran[T]:
    """Run a computation on the preferred device; where a GPU's memory is not enough, again on the CPU.

    Parameters
    ----------
    compute : called with the device, inside ``tf.device``; a second call must start afresh.
    preference : "auto", "cpu" or "gpu".
    shape : (n, n_classes) of the calibration set, for the sentence about it.

    Raises
    ------
    CalibrationError
        If the CPU's memory is not enough either.
    """
    chosen = choose(preference)
    size = f"{shape[0]:,} rows x {shape[1]:,} classes"
    note = no_gpu_note() if preference == "gpu" and chosen.kind == "cpu" else ""
    if chosen.kind == "gpu":
        try:
            return Ran(_on(chosen, compute), chosen.description)
        except Exception as error:
            if not out_of_memory(error):
                raise
        # Not inside the handler: until it ends, the error holds the tensors that fill the GPU.
        gpu, chosen = chosen, choose("cpu")
        note = (
            f"The GPU ({gpu.description}) ran out of memory on {size}, so the fit ran on the {chosen.description}. "
            "Use fewer calibration rows, or end what else uses the GPU, to fit on it."
        )
    try:
        return Ran(_on(chosen, compute), chosen.description, note)
    except tf.errors.ResourceExhaustedError as error:
        raise CalibrationError(
            f"The fit on {size} needs more memory than this machine has; use fewer calibration rows."
        ) from error


def out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, says that a device's memory was not enough."""
    while error is not None:
        if isinstance(error, tf.errors.ResourceExhaustedError):
            return True
        if isinstance(error, (tf.errors.OpError, RuntimeError)) and any(s in str(error).lower() for s in OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _on(device: Device, compute: Callable[[Device], T]) -> T:
    with tf.device(device.name):
        return compute(device)


def _gpus() -> list[Device]:
    devices = []
    for index, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        try:
            model = tf.config.experimental.get_device_details(gpu).get("device_name", "GPU")
        except (RuntimeError, ValueError):
            model = "GPU"
        devices.append(Device(f"/GPU:{index}", "gpu", str(model)))
    return devices


def _limit_threads() -> None:
    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        return  # TensorFlow has started already; its threads stay as they are.


def _grow_memory() -> None:
    try:
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError:
        return  # The GPU is in use already; its memory stays as it is.


class TensorFlowCrossEntropy:
    """Mean cross-entropy of ``softmax(scale * logits + bias)``, and its gradient; float64 on any device.

    The same function of the same arrays as :class:`calib.calibrators.minimisation.NumPyCrossEntropy`.

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
