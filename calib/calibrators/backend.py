"""Device of a fit: NumPy on the processor, or TensorFlow on a GPU where there is one and the data are big."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from calib.numerics import Floats, Ints, blocks, row_maxima

T = TypeVar("T")

DEVICES = ("auto", "cpu", "gpu")
"""Values of the parameter ``device``."""

_CPU = "CPU"
"""First word of the description of a processor; a GPU's is its name."""

WORTH_A_GPU = 20_000_000
"""Logits from which ``device="auto"`` takes a GPU: vector scaling then takes NumPy 10 s, and TensorFlow 8 to start."""

OUT_OF_MEMORY = re.compile(
    "out.of.memory|oom when allocating|failed to allocate|dst tensor is not init", re.IGNORECASE
)
"""Messages of TensorFlow about memory; the last: a failed copy."""


def cpu_description() -> str:
    """The processor in words, with the cores that this process may use: "CPU (2 cores)"."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return f"{_CPU} ({cores} core{'s' if cores > 1 else ''})"


def device_of(fitted: object) -> str:
    """Describe the device of a fit; a method that has no choice computes on the processor."""
    return str(getattr(fitted, "device_", cpu_description()))


def on_cpu(fitted: object) -> bool:
    """Return whether a calibrator was fitted on the processor."""
    return device_of(fitted).partition(" ")[0] == _CPU


def gpu_present(root: Path = Path("/")) -> bool:
    """Return whether the machine has an NVIDIA GPU that is not hidden; TensorFlow may yet lack its libraries."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None and visible.strip()[:1] in (
        "",
        "-",
    ):
        return False
    under_windows = root / "usr/lib/wsl/lib/libcuda.so.1"
    return any(root.glob("dev/nvidia[0-9]*")) or under_windows.exists()


def wants_gpu(device: str, n_logits: int) -> bool:
    """Return whether a fit to so many logits tries a GPU; asking starts nothing.

    Parameters
    ----------
    device : one of :data:`DEVICES`.
    n_logits : rows times classes.
    """
    use_gpu = device == "gpu" or (device == "auto" and n_logits >= WORTH_A_GPU)
    return use_gpu and gpu_present() and find_spec("tensorflow") is not None


def run(compute: Callable[[bool], T], device: str, shape: tuple[int, ...]) -> tuple[T, str, str]:
    """Compute on a GPU where that is wanted and possible, else on the processor; also where its memory is not enough.

    Parameters
    ----------
    compute : called with whether it is on a GPU, then inside ``tf.device``; a second call must start afresh.
    device : one of :data:`DEVICES`.
    shape : (n, n_classes) of the calibration set.

    Returns
    -------
    What it returned, where it ran in words, and a sentence where that is not what was asked for, else "".
    """
    gpu = first_gpu() if wants_gpu(device, shape[0] * shape[1]) else None
    note = no_gpu_note() if device == "gpu" else ""
    if gpu is not None:
        place, model = gpu
        try:
            with tensorflow().device(place):
                return compute(True), model, ""
        except Exception as error:
            if not out_of_memory(error):
                raise
        # Not inside the handler: until it ends, the error holds the tensors that fill the GPU.
        note = (
            f"The GPU ({model}) ran out of memory on {shape[0]:,} rows x {shape[1]:,} classes, so the fit ran on the "
            f"{cpu_description()}. Use fewer calibration rows, or end what else uses the GPU, to fit on it."
        )
    return compute(False), cpu_description(), note


def no_gpu_note() -> str:
    """Sentence about a fit that should have run on a GPU and ran on the processor."""
    if not gpu_present():
        return f"No NVIDIA GPU was found, so the fit ran on the {cpu_description()}."
    return (
        f"The fit ran on the {cpu_description()}: a fit on this machine's GPU needs TensorFlow and its CUDA libraries. "
        'They come with: pip install "calib-studio[gpu]".'
    )


@cache
def tensorflow() -> Any:
    """TensorFlow, quiet, with one thread and GPU memory that grows as needed, unless it has started already."""
    # Read when it is imported. That there is no GPU is an error to TensorFlow, and none to us.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2" if gpu_present() else "3")
    import tensorflow as tf

    try:
        tf.config.threading.set_intra_op_parallelism_threads(
            1
        )  # a second thread costs more than it gives
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
    """Return whether an error, or one that led to it, means that a device's memory was not enough."""
    while error is not None:
        if OUT_OF_MEMORY.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


class Loss:
    """Mean cross-entropy of ``softmax(scale * logits + bias)``, weighted by row, and its derivatives, in float64.

    NumPy reads the logits in blocks of rows, so that they are all the memory it takes; TensorFlow reads them at once,
    by its functions of NumPy's names, on the device of the surrounding ``tf.device``.

    Parameters
    ----------
    logits, labels, weights : (n, n_classes), (n,) and (n,).
    on_gpu : whether TensorFlow computes.
    """

    def __init__(self, logits: Floats, labels: Ints, weights: Floats, on_gpu: bool = False):
        self.on_gpu, self._xp = on_gpu, tensorflow().experimental.numpy if on_gpu else np
        self._total = float(weights.sum())
        n_classes = logits.shape[1]
        label_logits = weights * logits[np.arange(len(labels)), labels]
        self._label_scores = np.bincount(labels, label_logits, n_classes)
        self._counts = np.bincount(labels, weights, n_classes)
        self._logits, self._weights = (self._xp.asarray(logits), self._xp.asarray(weights))

    def at_temperature(self, inverse: float) -> tuple[float, float, float]:
        """Value, slope and curvature in the one scale 1 / T of all classes; the largest logit of each row is 0."""
        xp = self._xp
        label_total = float(self._label_scores.sum())
        value = -inverse * label_total
        slope = -label_total
        curvature = 0.0
        for logits, weights in self._blocks():
            odds = xp.exp(inverse * logits)
            total = xp.einsum("nk->n", odds)  # quicker than sum on short rows
            odds *= logits
            mean = xp.einsum("nk->n", odds) / total
            value += float(xp.dot(weights, xp.log(total)))
            slope += float(xp.dot(weights, mean))
            variance = (
                xp.einsum("nk,nk->n", odds, logits) / total - mean**2
            )  # of a row's logits by its probabilities
            curvature += float(xp.dot(weights, variance))
        return value / self._total, slope / self._total, curvature / self._total

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Value in nats and gradients in scale and bias; the four arrays have shape (n_classes,)."""
        xp = self._xp
        value = self._of_labels(scale, bias)
        by_scale = -self._label_scores
        by_bias = -self._counts
        for logits, weights in self._blocks():
            in_block, odds, total = self._odds(logits, weights, scale, bias)
            value += in_block
            # Probabilities are these odds over their sum, by which only two vectors of classes are divided.
            shares = weights / total
            by_bias += np.asarray(xp.dot(shares, odds))
            odds *= logits
            by_scale += np.asarray(xp.dot(shares, odds))
        return value / self._total, by_scale / self._total, by_bias / self._total

    def with_curvature(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient (2 n_classes,) in scale and bias, and second derivatives (2 n_classes, 2 n_classes)."""
        value = self._of_labels(scale, bias)
        k = len(scale)
        first = np.zeros(2 * k)
        squares = np.zeros(k)
        curvature = np.zeros((2 * k, 2 * k))
        for logits, weights in self._blocks():
            in_block, probs, total = self._odds(logits, weights, scale, bias)
            value += in_block
            probs /= total[:, None]
            both = np.concatenate([probs * logits, probs], axis=1)
            weighted = weights[:, None] * both
            first += weighted.sum(axis=0)
            squares += np.einsum("nk,nk->k", weighted[:, :k], logits)
            curvature -= weighted.T @ both
        mixed = np.diag(first[:k])
        curvature += np.block([[np.diag(squares), mixed], [mixed, np.diag(first[k:])]])
        gradient = first - np.concatenate([self._label_scores, self._counts])
        return value / self._total, gradient / self._total, curvature / self._total

    def _blocks(self) -> Iterator[tuple[Any, Any]]:
        """Logits and weights of the rows that are read at once."""
        if self.on_gpu:
            yield self._logits, self._weights
        else:
            for rows in blocks(*self._logits.shape):
                yield self._logits[rows], self._weights[rows]

    def _of_labels(self, scale: Floats, bias: Floats) -> float:
        """Part of the summed loss that the labels' own scores contribute."""
        return -float(self._label_scores @ scale + self._counts @ bias)

    def _odds(
        self, logits: Any, weights: Any, scale: Floats, bias: Floats
    ) -> tuple[float, Any, Any]:
        """Summed log-sum-exp of some rows, their odds against the most probable class, and sums of these by row."""
        xp = self._xp
        scores = logits * scale
        scores += bias
        top = xp.max(scores, axis=1, keepdims=True) if self.on_gpu else row_maxima(scores)
        scores -= top
        odds = xp.exp(scores)
        total = xp.einsum("nk->n", odds)
        return float(xp.dot(weights, top[:, 0] + xp.log(total))), odds, total
